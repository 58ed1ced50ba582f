//! From protobuf to JSON values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value as Json};

use super::envelope::{Envelope, open_envelope};
use super::time::{self, Precision};
use super::wire::{Malformed, Reader, WireType};
use super::{MAGIC, MAX_ADDED_ZEROS, MAX_DEPTH, schema_type, type_of};
use crate::load::wire_path;
use crate::model::{Field, Presence, Type, Value};
use crate::zeros::{TooManyZeros, Zeros};

/// A decoded object.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// `apiVersion` from the envelope.
    pub api_version: String,
    /// `kind` from the envelope.
    pub kind: String,
    /// The object, with `apiVersion` and `kind` in it.
    pub value: Json,
}

/// Why bytes could not be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes do not start with [`MAGIC`].
    #[error("the data does not start with the prefix of Kubernetes protobuf")]
    NoMagic,
    /// The envelope names a kind that is not a built-in one.
    #[error("no built-in kind {kind:?} in {api_version:?}")]
    UnknownKind {
        /// `apiVersion` from the envelope.
        api_version: String,
        /// `kind` from the envelope.
        kind: String,
    },
    /// The bytes are no protobuf.
    #[error("{message}: {reason}")]
    Malformed {
        /// The type of the message around the fault.
        message: &'static str,
        /// What is wrong.
        reason: &'static str,
    },
    /// A field holds what its type cannot.
    #[error("{message}: field {field:?} holds no {expected}")]
    Invalid {
        /// The type of the message with the field.
        message: &'static str,
        /// The field's JSON name.
        field: &'static str,
        /// What it should hold.
        expected: &'static str,
    },
    /// Messages nest deeper than [`MAX_DEPTH`].
    #[error("{message}: nested deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// The type of the message at the limit.
        message: &'static str,
    },
    /// The sender left out more fields than [`MAX_ADDED_ZEROS`] allows for.
    #[error("{message}: too many fields are missing")]
    TooManyMissing {
        /// The type of the message at the limit.
        message: &'static str,
    },
}

/// Decodes an object with its envelope. Tags that the table does not know are passed over.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut decoder = Decoder {
        zeros: Zeros::new(MAX_ADDED_ZEROS.saturating_add(bytes.len())),
    };
    decoder.envelope(bytes, 0)
}

/// Decodes an object that has no envelope. The value has no `apiVersion` and `kind`.
pub fn decode_message(object: &Type, bytes: &[u8]) -> Result<Json, DecodeError> {
    let mut decoder = Decoder {
        zeros: Zeros::new(MAX_ADDED_ZEROS.saturating_add(bytes.len())),
    };
    let mut members = Map::new();
    decoder.message(object, bytes, &mut members, 0)?;
    decoder.add_zeros(object, &mut members)?;
    Ok(Json::Object(members))
}

/// The field with tag 1 of a message that holds only that: embedded JSON or an embedded object.
pub(super) fn raw_bytes<'a>(message: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut raw = &[][..];
    while !reader.is_empty() {
        match reader.key().map_err(|m| malformed(message, m))? {
            (1, WireType::Length) => raw = reader.bytes().map_err(|m| malformed(message, m))?,
            (_, other) => reader.skip(other).map_err(|m| malformed(message, m))?,
        }
    }
    Ok(raw)
}

pub(super) fn malformed(message: &'static str, fault: Malformed) -> DecodeError {
    let reason = match fault {
        Malformed::Truncated => "the data ends inside a value",
        Malformed::Varint => "a number of more than 64 bits",
        Malformed::Key => "an impossible tag or wire type",
    };
    DecodeError::Malformed { message, reason }
}

/// What a tag leads to.
enum Target {
    Field(&'static Field),
    /// A message whose fields are the owner's in JSON.
    Inlined(u8),
    Unknown,
}

/// Where a value is, for errors.
#[derive(Clone, Copy)]
struct Place {
    message: &'static str,
    field: &'static str,
}

impl Place {
    fn invalid(self, expected: &'static str) -> DecodeError {
        DecodeError::Invalid {
            message: self.message,
            field: self.field,
            expected,
        }
    }

    fn malformed(self, fault: Malformed) -> DecodeError {
        malformed(self.message, fault)
    }
}

struct Decoder {
    zeros: Zeros,
}

impl Decoder {
    fn envelope(&mut self, bytes: &[u8], depth: usize) -> Result<Decoded, DecodeError> {
        let Envelope {
            api_version,
            kind,
            raw,
        } = open_envelope(bytes)?;
        let Some(object) = type_of(&api_version, &kind) else {
            return Err(DecodeError::UnknownKind { api_version, kind });
        };
        let mut members = Map::new();
        self.message(object, raw, &mut members, depth)?;
        self.add_zeros(object, &mut members)?;
        members.insert("apiVersion".to_owned(), Json::from(api_version.as_str()));
        members.insert("kind".to_owned(), Json::from(kind.as_str()));
        Ok(Decoded {
            api_version,
            kind,
            value: Json::Object(members),
        })
    }

    /// Reads a message into `members`, which may hold what an earlier part of the same message left there.
    fn message(
        &mut self,
        object: &Type,
        bytes: &[u8],
        members: &mut Map<String, Json>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep { message: object.name });
        }
        self.level(object, bytes, &[], members, depth)
    }

    /// Reads the fields of one level of inlining, `path` being the tags that lead there.
    fn level(
        &mut self,
        object: &Type,
        bytes: &[u8],
        path: &[u8],
        members: &mut Map<String, Json>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut next = 0;
        while !reader.is_empty() {
            let (tag, wire_type) = reader.key().map_err(|m| malformed(object.name, m))?;
            match find(object, path, tag, &mut next) {
                Target::Field(field) => self.field(object, field, wire_type, &mut reader, members, depth)?,
                Target::Inlined(wrapper) if wire_type == WireType::Length => {
                    let bytes = reader.bytes().map_err(|m| malformed(object.name, m))?;
                    let inner = [path, &[wrapper]].concat();
                    self.level(object, bytes, &inner, members, depth)?;
                }
                Target::Inlined(_) => return Err(wrong_wire_type(object.name)),
                Target::Unknown => reader.skip(wire_type).map_err(|m| malformed(object.name, m))?,
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        object: &Type,
        field: &'static Field,
        wire_type: WireType,
        reader: &mut Reader<'_>,
        members: &mut Map<String, Json>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let place = Place {
            message: object.name,
            field: field.name,
        };
        match field.value {
            Value::Array(_) if field.list_message => {
                let bytes = length(place, wire_type, reader)?;
                members.insert(field.name.to_owned(), strings(place, bytes)?);
            }
            Value::Array(item) => {
                let Json::Array(items) = member(members, field.name, || Json::Array(Vec::new())) else {
                    return Ok(());
                };
                self.item(place, item, wire_type, reader, items, depth)?;
            }
            Value::Map(item) => {
                let entry = length(place, wire_type, reader)?;
                let Json::Object(entries) = member(members, field.name, || Json::Object(Map::new())) else {
                    return Ok(());
                };
                let (key, value) = self.entry(place, item, entry, depth)?;
                entries.insert(key, value);
            }
            Value::Object(id) => {
                let bytes = length(place, wire_type, reader)?;
                let Json::Object(inner) = member(members, field.name, || Json::Object(Map::new())) else {
                    return Ok(());
                };
                self.message(id.get(), bytes, inner, depth + 1)?;
                self.add_zeros(id.get(), inner)?;
                if inner.is_empty() && field.presence == Presence::OmitZero {
                    members.remove(field.name);
                }
            }
            ref kind => {
                let value = self.value(place, kind, wire_type, reader, depth)?;
                let omits_zero = field.presence == Presence::OmitZero || is_omitted_bytes(field);
                let omitted = omits_zero && is_zero(&value);
                if omitted || value.is_null() {
                    members.remove(field.name);
                } else {
                    members.insert(field.name.to_owned(), value);
                }
            }
        }
        Ok(())
    }

    /// One item of a list, or several where numbers are packed.
    fn item(
        &mut self,
        place: Place,
        item: &Value,
        wire_type: WireType,
        reader: &mut Reader<'_>,
        items: &mut Vec<Json>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let unpacked = match item {
            Value::Boolean | Value::Int32 | Value::Int64 => WireType::Varint,
            Value::Double => WireType::Fixed64,
            _ => WireType::Length,
        };
        if wire_type == WireType::Length && unpacked != WireType::Length {
            let mut packed = Reader::new(reader.bytes().map_err(|m| place.malformed(m))?);
            while !packed.is_empty() {
                items.push(self.value(place, item, unpacked, &mut packed, depth)?);
            }
            return Ok(());
        }
        items.push(self.value(place, item, wire_type, reader, depth)?);
        Ok(())
    }

    /// One entry of a map. A key or value that is missing is zero.
    fn entry(
        &mut self,
        place: Place,
        item: &Value,
        bytes: &[u8],
        depth: usize,
    ) -> Result<(String, Json), DecodeError> {
        let mut reader = Reader::new(bytes);
        let (mut key, mut value) = (String::new(), None);
        while !reader.is_empty() {
            let (tag, wire_type) = reader.key().map_err(|m| place.malformed(m))?;
            match tag {
                1 => key = text(place, length(place, wire_type, &mut reader)?)?.to_owned(),
                2 => value = Some(self.value(place, item, wire_type, &mut reader, depth)?),
                _ => reader.skip(wire_type).map_err(|m| place.malformed(m))?,
            }
        }
        let value = match value {
            Some(value) => value,
            None => self
                .zeros
                .zero(item)
                .map_err(|TooManyZeros| DecodeError::TooManyMissing {
                    message: place.message,
                })?,
        };
        Ok((key, value))
    }

    /// One value. `null` for the zero of a time or of embedded JSON.
    fn value(
        &mut self,
        place: Place,
        kind: &Value,
        wire_type: WireType,
        reader: &mut Reader<'_>,
        depth: usize,
    ) -> Result<Json, DecodeError> {
        let wanted = match kind {
            Value::Boolean | Value::Int32 | Value::Int64 => WireType::Varint,
            Value::Double => WireType::Fixed64,
            _ => WireType::Length,
        };
        if wire_type != wanted {
            return Err(wrong_wire_type(place.message));
        }
        let fault = |m| place.malformed(m);
        match kind {
            Value::Boolean => Ok(Json::Bool(reader.varint().map_err(fault)? != 0)),
            // Go cuts to the type's width.
            Value::Int32 => Ok(Json::from(reader.varint().map_err(fault)? as u32 as i32)),
            Value::Int64 => Ok(Json::from(reader.varint().map_err(fault)?.cast_signed())),
            Value::Double => {
                let number = f64::from_bits(reader.fixed64().map_err(fault)?);
                serde_json::Number::from_f64(number)
                    .map(Json::Number)
                    .ok_or_else(|| place.invalid("finite number"))
            }
            _ => self.message_value(place, kind, reader.bytes().map_err(fault)?, depth),
        }
    }

    fn message_value(
        &mut self,
        place: Place,
        kind: &Value,
        bytes: &[u8],
        depth: usize,
    ) -> Result<Json, DecodeError> {
        match kind {
            Value::String => Ok(Json::from(text(place, bytes)?)),
            Value::Bytes => Ok(Json::String(BASE64.encode(bytes))),
            Value::Object(id) => {
                let mut inner = Map::new();
                self.message(id.get(), bytes, &mut inner, depth + 1)?;
                self.add_zeros(id.get(), &mut inner)?;
                Ok(Json::Object(inner))
            }
            Value::Array(_) => strings(place, bytes),
            Value::Time => timestamp(place, bytes, Precision::Seconds),
            Value::MicroTime => timestamp(place, bytes, Precision::Micros),
            Value::Quantity => quantity(place, bytes),
            Value::IntOrString => int_or_string(place, bytes),
            Value::RawExtension | Value::Json | Value::FieldsV1 => self.embedded(place, bytes, depth),
            Value::SchemaOrArray => self.schema_union(place, bytes, depth, Alternative::Schemas),
            Value::SchemaOrBool => self.schema_union(place, bytes, depth, Alternative::Allows),
            Value::SchemaOrStringArray => self.schema_union(place, bytes, depth, Alternative::Strings),
            _ => Err(place.invalid("value that protobuf can hold")),
        }
    }

    /// Embedded JSON, or an object with an envelope of its own.
    fn embedded(&mut self, place: Place, bytes: &[u8], depth: usize) -> Result<Json, DecodeError> {
        let raw = raw_bytes(place.message, bytes)?;
        if raw.is_empty() {
            return Ok(Json::Null);
        }
        if raw.starts_with(&MAGIC) {
            return if depth < MAX_DEPTH {
                Ok(self.envelope(raw, depth + 1)?.value)
            } else {
                Err(DecodeError::TooDeep {
                    message: place.message,
                })
            };
        }
        serde_json::from_slice(raw).map_err(|_| place.invalid("JSON"))
    }

    fn schema_union(
        &mut self,
        place: Place,
        bytes: &[u8],
        depth: usize,
        alternative: Alternative,
    ) -> Result<Json, DecodeError> {
        let Some(schema) = schema_type() else {
            return Ok(Json::Null);
        };
        let kind = Value::Object(schema.id());
        let (schema_tag, other_tag) = if alternative == Alternative::Allows {
            (2, 1)
        } else {
            (1, 2)
        };
        let mut reader = Reader::new(bytes);
        let (mut schema, mut items, mut allows) = (None, Vec::new(), false);
        while !reader.is_empty() {
            let (tag, wire_type) = reader.key().map_err(|m| place.malformed(m))?;
            if tag == schema_tag {
                schema = Some(self.value(place, &kind, wire_type, &mut reader, depth)?);
            } else if tag == other_tag {
                match alternative {
                    Alternative::Schemas => {
                        items.push(self.value(place, &kind, wire_type, &mut reader, depth)?)
                    }
                    Alternative::Strings => {
                        items.push(self.value(place, &Value::String, wire_type, &mut reader, depth)?);
                    }
                    Alternative::Allows => {
                        allows = self.value(place, &Value::Boolean, wire_type, &mut reader, depth)?
                            == Json::Bool(true);
                    }
                }
            } else {
                reader.skip(wire_type).map_err(|m| place.malformed(m))?;
            }
        }
        // Go prefers the list where there is one, and the schema to the boolean.
        Ok(match (schema, alternative) {
            _ if !items.is_empty() => Json::Array(items),
            (Some(schema), _) => schema,
            (None, Alternative::Allows) => Json::Bool(allows),
            (None, _) => Json::Null,
        })
    }

    /// Adds the zeros that Go writes, where the sender left them out.
    fn add_zeros(&mut self, object: &Type, members: &mut Map<String, Json>) -> Result<(), DecodeError> {
        let missing = |TooManyZeros| DecodeError::TooManyMissing { message: object.name };
        self.zeros.fill(object, members).map_err(missing)
    }
}

/// What a union of `apiextensions.k8s.io` may hold instead of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alternative {
    Schemas,
    Allows,
    Strings,
}

/// What a tag leads to at a level of inlining. Fields come in the order of their tags, so the search starts where the
/// last one ended, at `next`.
fn find(object: &Type, path: &[u8], tag: u32, next: &mut usize) -> Target {
    let order = object.by_tag;
    let level = path.len();
    for at in (*next..order.len()).chain(0..*next) {
        let field = &object.fields[usize::from(order[at])];
        let own = wire_path(field);
        let here =
            own.get(level) == Some(&tag) && own.iter().zip(path).all(|(own, step)| *own == u32::from(*step));
        if !here || field.tag == 0 {
            continue;
        }
        *next = at;
        return match field.inlined_in.get(level) {
            Some(&wrapper) if wrapper != 0 => Target::Inlined(wrapper),
            _ => Target::Field(field),
        };
    }
    Target::Unknown
}

/// The member of this name, put there first if it is missing.
fn member<'a>(members: &'a mut Map<String, Json>, name: &str, new: impl FnOnce() -> Json) -> &'a mut Json {
    members.entry(name).or_insert_with(new)
}

fn wrong_wire_type(message: &'static str) -> DecodeError {
    DecodeError::Malformed {
        message,
        reason: "a field of the wrong wire type",
    }
}

fn length<'a>(place: Place, wire_type: WireType, reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    if wire_type != WireType::Length {
        return Err(wrong_wire_type(place.message));
    }
    reader.bytes().map_err(|m| place.malformed(m))
}

fn text(place: Place, bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|_| place.invalid("UTF-8"))
}

/// Go omits these with `omitempty`. Messages are never zero in this sense.
fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(flag) => !flag,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(_) | Json::Object(_) => false,
    }
}

/// Go omits empty bytes as it omits an empty list.
fn is_omitted_bytes(field: &Field) -> bool {
    field.value == Value::Bytes && field.presence == Presence::Optional
}

pub(super) fn type_meta_of(bytes: &[u8]) -> Result<(String, String), DecodeError> {
    let place = Place {
        message: "TypeMeta",
        field: "apiVersion",
    };
    let mut reader = Reader::new(bytes);
    let (mut api_version, mut kind) = ("", "");
    while !reader.is_empty() {
        match reader.key().map_err(|m| place.malformed(m))? {
            (1, WireType::Length) => {
                api_version = text(place, reader.bytes().map_err(|m| place.malformed(m))?)?
            }
            (2, WireType::Length) => kind = text(place, reader.bytes().map_err(|m| place.malformed(m))?)?,
            (_, other) => reader.skip(other).map_err(|m| place.malformed(m))?,
        }
    }
    Ok((api_version.to_owned(), kind.to_owned()))
}

/// A list in a message of its own, items at tag 1.
fn strings(place: Place, bytes: &[u8]) -> Result<Json, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut items = Vec::new();
    while !reader.is_empty() {
        match reader.key().map_err(|m| place.malformed(m))? {
            (1, WireType::Length) => {
                items.push(Json::from(text(
                    place,
                    reader.bytes().map_err(|m| place.malformed(m))?,
                )?));
            }
            (_, other) => reader.skip(other).map_err(|m| place.malformed(m))?,
        }
    }
    Ok(Json::Array(items))
}

fn timestamp(place: Place, bytes: &[u8], precision: Precision) -> Result<Json, DecodeError> {
    if bytes.is_empty() {
        return Ok(Json::Null);
    }
    let mut reader = Reader::new(bytes);
    let (mut seconds, mut nanos) = (0, 0);
    while !reader.is_empty() {
        match reader.key().map_err(|m| place.malformed(m))? {
            (1, WireType::Varint) => seconds = reader.varint().map_err(|m| place.malformed(m))?.cast_signed(),
            (2, WireType::Varint) => nanos = reader.varint().map_err(|m| place.malformed(m))? as u32 as i32,
            (_, other) => reader.skip(other).map_err(|m| place.malformed(m))?,
        }
    }
    time::format(seconds, nanos, precision)
        .map(Json::String)
        .ok_or_else(|| place.invalid("time"))
}

fn quantity(place: Place, bytes: &[u8]) -> Result<Json, DecodeError> {
    let digits = text(place, raw_bytes(place.message, bytes)?)?;
    Ok(Json::from(if digits.is_empty() { "0" } else { digits }))
}

fn int_or_string(place: Place, bytes: &[u8]) -> Result<Json, DecodeError> {
    let mut reader = Reader::new(bytes);
    let (mut is_text, mut number, mut string) = (false, 0_i32, "");
    while !reader.is_empty() {
        match reader.key().map_err(|m| place.malformed(m))? {
            (1, WireType::Varint) => is_text = reader.varint().map_err(|m| place.malformed(m))? == 1,
            (2, WireType::Varint) => number = reader.varint().map_err(|m| place.malformed(m))? as u32 as i32,
            (3, WireType::Length) => string = text(place, reader.bytes().map_err(|m| place.malformed(m))?)?,
            (_, other) => reader.skip(other).map_err(|m| place.malformed(m))?,
        }
    }
    Ok(if is_text {
        Json::from(string)
    } else {
        Json::from(number)
    })
}
