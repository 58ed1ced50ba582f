//! From JSON values to protobuf.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use kubewright_core::json::{Sorted, by_name};
use serde_json::{Map, Value as Json};

use super::envelope::{end_envelope, start_envelope};
use super::time::{self, Precision};
use super::wire::{WireType, Writer};
use super::{MAX_DEPTH, schema_type, type_of};
use crate::model::{Field, Presence, Type, Value};

/// Why an object could not be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The kind is not a built-in one.
    #[error("no built-in kind {kind:?} in {api_version:?}")]
    UnknownKind {
        /// The `apiVersion` asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
    },
    /// A value is of another type than the field.
    #[error("{path}: expected {expected}")]
    Mismatch {
        /// Where, such as `spec.containers[0].name`.
        path: String,
        /// What the field holds.
        expected: &'static str,
    },
    /// The field has no place in protobuf, such as those of a `Table`.
    #[error("{path}: the field has no protobuf tag")]
    NoTag {
        /// Where.
        path: String,
    },
    /// Messages nest deeper than [`MAX_DEPTH`].
    #[error("{path}: nested deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// The outermost part of where.
        path: String,
    },
}

impl EncodeError {
    /// Adds a step towards the root in front of the path.
    pub(super) fn within(mut self, step: impl FnOnce() -> String) -> Self {
        match &mut self {
            Self::UnknownKind { .. } => {}
            Self::Mismatch { path, .. } | Self::NoTag { path } | Self::TooDeep { path } => {
                let dot = if path.is_empty() || path.starts_with('[') {
                    ""
                } else {
                    "."
                };
                *path = format!("{}{dot}{path}", step());
            }
        }
        self
    }
}

/// Encodes an object with its envelope.
///
/// Members that the kind does not have are left out, as Go's decoder would leave them; `null` counts as absent.
pub fn encode(api_version: &str, kind: &str, value: &Json) -> Result<Vec<u8>, EncodeError> {
    let object = type_of(api_version, kind).ok_or_else(|| EncodeError::UnknownKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })?;
    let mut out = Writer::default();
    end_envelope(&mut out);
    let before = out.len();
    Encoder { out: &mut out }.root(object, value)?;
    out.end_message(2, out.len() - before);
    start_envelope(&mut out, api_version, kind);
    Ok(out.into_bytes())
}

/// Encodes an object without an envelope.
pub fn encode_message(object: &Type, value: &Json) -> Result<Vec<u8>, EncodeError> {
    let mut out = Writer::default();
    Encoder { out: &mut out }.root(object, value)?;
    Ok(out.into_bytes())
}

struct Encoder<'w> {
    out: &'w mut Writer,
}

type Done = Result<(), EncodeError>;

impl Encoder<'_> {
    fn root(&mut self, object: &Type, value: &Json) -> Done {
        let members = value.as_object().ok_or_else(|| {
            let kind = object.name.rsplit('.').next().unwrap_or_default();
            EncodeError::Mismatch {
                path: kind.to_owned(),
                expected: "an object",
            }
        })?;
        self.message(object, members, 0)
    }

    fn message(&mut self, object: &Type, members: &Map<String, Json>, depth: usize) -> Done {
        if depth > MAX_DEPTH {
            return Err(EncodeError::TooDeep { path: String::new() });
        }
        self.level(object, object.by_tag, members, 0, depth)
    }

    /// The fields of one level of inlining, last first. `order` holds the fields of this level and of those inlined
    /// in it, sorted by tag, so that each inlined message is one run.
    fn level(
        &mut self,
        object: &Type,
        order: &[u8],
        members: &Map<String, Json>,
        level: usize,
        depth: usize,
    ) -> Done {
        let inlined = |at: &u8| {
            object.fields[usize::from(*at)]
                .inlined_in
                .get(level)
                .copied()
                .unwrap_or(0)
        };
        let mut rest = order;
        while let Some((last, before)) = rest.split_last() {
            let wrapper = inlined(last);
            if wrapper == 0 {
                let field = &object.fields[usize::from(*last)];
                self.field(field, members.get(field.name), depth)
                    .map_err(|e| e.within(|| field.name.to_owned()))?;
                rest = before;
                continue;
            }
            let start = before
                .iter()
                .rposition(|at| inlined(at) != wrapper)
                .map_or(0, |at| at + 1);
            let written = self.out.len();
            self.level(object, &rest[start..], members, level + 1, depth)?;
            self.out.end_message(wrapper.into(), self.out.len() - written);
            rest = &rest[..start];
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, value: Option<&Json>, depth: usize) -> Done {
        let value = value.filter(|v| !v.is_null());
        if field.tag == 0 {
            // The type of an embedded object is not sent: Go's decoder does not ask for it either.
            let type_meta = matches!(field.name, "apiVersion" | "kind");
            let lost = value.is_some() && !type_meta;
            return if lost {
                Err(EncodeError::NoTag { path: String::new() })
            } else {
                Ok(())
            };
        }
        match (field.value, value) {
            (Value::Array(_), Some(value)) if field.list_message => {
                let written = self.out.len();
                self.array(1, &Value::String, value, depth)?;
                self.out.end_message(field.tag, self.out.len() - written);
                Ok(())
            }
            (Value::Array(item), Some(value)) => self.array(field.tag, item, value, depth),
            (Value::Map(item), Some(value)) => self.map(field.tag, item, value, depth),
            (Value::Array(_) | Value::Map(_) | Value::Bytes, None) => Ok(()),
            (_, None) if field.presence == Presence::Optional => Ok(()),
            (kind, value) => self.value(field.tag, &kind, value, depth),
        }
    }

    fn array(&mut self, tag: u32, item: &Value, value: &Json, depth: usize) -> Done {
        let items = value.as_array().ok_or_else(|| mismatch("a list"))?;
        for (at, value) in items.iter().enumerate().rev() {
            let value = Some(value).filter(|v| !v.is_null());
            self.value(tag, item, value, depth)
                .map_err(|e| e.within(|| format!("[{at}]")))?;
        }
        Ok(())
    }

    fn map(&mut self, tag: u32, item: &Value, value: &Json, depth: usize) -> Done {
        let members = value.as_object().ok_or_else(|| mismatch("a map"))?;
        for (key, value) in by_name(members).rev() {
            let value = Some(value).filter(|v| !v.is_null());
            let written = self.out.len();
            self.value(2, item, value, depth)
                .map_err(|e| e.within(|| format!("[{key}]")))?;
            self.out.bytes_field(1, key.as_bytes());
            self.out.end_message(tag, self.out.len() - written);
        }
        Ok(())
    }

    /// One value with its key. `None` stands for the zero value.
    fn value(&mut self, tag: u32, kind: &Value, value: Option<&Json>, depth: usize) -> Done {
        match kind {
            Value::String => {
                let text = value
                    .map_or(Some(""), Json::as_str)
                    .ok_or_else(|| mismatch("a string"))?;
                self.out.bytes_field(tag, text.as_bytes());
            }
            Value::Boolean => {
                let flag = value
                    .map_or(Some(false), Json::as_bool)
                    .ok_or_else(|| mismatch("a boolean"))?;
                self.out.varint_field(tag, flag.into());
            }
            Value::Int32 => {
                let number = value
                    .map_or(Some(0), Json::as_i64)
                    .filter(|n| i32::try_from(*n).is_ok());
                self.out.varint_field(
                    tag,
                    number
                        .ok_or_else(|| mismatch("a 32-bit integer"))?
                        .cast_unsigned(),
                );
            }
            Value::Int64 => {
                let number = value
                    .map_or(Some(0), Json::as_i64)
                    .ok_or_else(|| mismatch("a 64-bit integer"))?;
                self.out.varint_field(tag, number.cast_unsigned());
            }
            Value::Double => {
                let number = value
                    .map_or(Some(0.0), Json::as_f64)
                    .ok_or_else(|| mismatch("a number"))?;
                self.out.raw(&number.to_bits().to_le_bytes());
                self.out.key(tag, WireType::Fixed64);
            }
            Value::Bytes => {
                let text = value
                    .map_or(Some(""), Json::as_str)
                    .and_then(|text| BASE64.decode(text).ok());
                self.out
                    .bytes_field(tag, &text.ok_or_else(|| mismatch("base64"))?);
            }
            _ => {
                let written = self.out.len();
                self.message_value(kind, value, depth)?;
                self.out.end_message(tag, self.out.len() - written);
            }
        }
        Ok(())
    }

    /// The contents of a value that is a message.
    fn message_value(&mut self, kind: &Value, value: Option<&Json>, depth: usize) -> Done {
        let empty = Map::new();
        match kind {
            Value::Object(id) => {
                let members = value
                    .map_or(Some(&empty), Json::as_object)
                    .ok_or_else(|| mismatch("an object"))?;
                self.message(id.get(), members, depth + 1)
            }
            Value::Array(item) => value.map_or(Ok(()), |value| self.array(1, item, value, depth)),
            Value::Time => self.time(value, Precision::Seconds),
            Value::MicroTime => self.time(value, Precision::Micros),
            Value::Quantity => self.quantity(value),
            Value::IntOrString => self.int_or_string(value),
            Value::RawExtension | Value::Json | Value::FieldsV1 => {
                if let Some(value) = value {
                    // A value always has a text.
                    let text = serde_json::to_vec(&Sorted(value)).unwrap_or_default();
                    self.out.bytes_field(1, &text);
                }
                Ok(())
            }
            Value::SchemaOrArray => match value {
                Some(Json::Array(_)) => self.schemas(2, value, depth),
                _ => self.schemas(1, value, depth),
            },
            Value::SchemaOrBool => {
                if !matches!(value, Some(Json::Bool(_))) {
                    self.schemas(2, value, depth)?;
                }
                let allows = value.is_some_and(|v| v.as_bool().unwrap_or(true));
                self.out.varint_field(1, allows.into());
                Ok(())
            }
            Value::SchemaOrStringArray => match value {
                Some(list @ Json::Array(_)) => self.array(2, &Value::String, list, depth),
                _ => self.schemas(1, value, depth),
            },
            _ => Err(mismatch("a value that protobuf can hold")),
        }
    }

    /// A schema or a list of them.
    fn schemas(&mut self, tag: u32, value: Option<&Json>, depth: usize) -> Done {
        let (Some(value), Some(schema)) = (value, schema_type()) else {
            return Ok(());
        };
        let kind = Value::Object(schema.id());
        match value {
            Json::Array(_) => self.array(tag, &kind, value, depth),
            _ => self.value(tag, &kind, Some(value), depth),
        }
    }

    fn time(&mut self, value: Option<&Json>, precision: Precision) -> Done {
        // Go's zero time is an empty message.
        let Some(value) = value else { return Ok(()) };
        let time = value.as_str().and_then(|text| time::parse(text, precision));
        let (seconds, nanos) = time.ok_or_else(|| mismatch("a time as in RFC 3339"))?;
        self.out.varint_field(2, i64::from(nanos).cast_unsigned());
        self.out.varint_field(1, seconds.cast_unsigned());
        Ok(())
    }

    fn quantity(&mut self, value: Option<&Json>) -> Done {
        match value {
            None => self.out.bytes_field(1, b"0"),
            Some(Json::String(text)) => self.out.bytes_field(1, text.as_bytes()),
            Some(Json::Number(number)) => self.out.bytes_field(1, number.to_string().as_bytes()),
            Some(_) => return Err(mismatch("a quantity")),
        }
        Ok(())
    }

    fn int_or_string(&mut self, value: Option<&Json>) -> Done {
        let zero = Json::from(0);
        let (kind, number, text) = match value.unwrap_or(&zero) {
            Json::String(text) => (1, 0, text.as_str()),
            number => {
                let number = number.as_i64().filter(|n| i32::try_from(*n).is_ok());
                (
                    0,
                    number.ok_or_else(|| mismatch("a 32-bit integer or a string"))?,
                    "",
                )
            }
        };
        self.out.bytes_field(3, text.as_bytes());
        self.out.varint_field(2, number.cast_unsigned());
        self.out.varint_field(1, kind);
        Ok(())
    }
}

fn mismatch(expected: &'static str) -> EncodeError {
    EncodeError::Mismatch {
        path: String::new(),
        expected,
    }
}
