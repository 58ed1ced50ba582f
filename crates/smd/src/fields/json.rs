//! FieldsV1, the JSON form of a set (structured-merge-diff `fieldpath/serialize.go` and `serialize-pe.go`).
//!
//! Reading and writing go through serde without a tree in between, so a set can come from bytes or from a
//! [`serde_json::Value`] and go to either. Only text keeps upstream's order of keys (numbers by their value).

use std::fmt::{self, Formatter};

use kubewright_core::json::Sorted;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use super::{FieldSet, PathElement};

/// The deepest nesting of a set that is read. JSON is not read deeper either.
pub const MAX_DEPTH: usize = 128;

/// The most nodes that a set may have when it is read. A request body of 3 MiB cannot hold as many.
pub const MAX_NODES: usize = 1 << 20;

/// Why a text is no path element.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ElementError {
    /// Shorter than its type.
    #[error("key must be 2 characters long:")]
    TooShort,
    /// The second character is no colon.
    #[error("missing colon: {text}")]
    MissingColon {
        /// The whole text.
        text: String,
    },
    /// The type is none of `f`, `k`, `v` and `i`. Readers of sets skip such elements.
    #[error("unknown path element type")]
    UnknownType,
    /// What follows the type does not read.
    #[error("parsing key as path element: {text}: {reason}")]
    Malformed {
        /// The whole text.
        text: String,
        /// What the JSON or number reader says.
        reason: String,
    },
}

impl PathElement {
    /// Reads the form that FieldsV1 has as keys, such as `f:spec` or `k:{"name":"a"}`.
    ///
    /// # Errors
    /// Where the text has no or an unknown type, or does not read.
    pub fn parse(text: &str) -> Result<Self, ElementError> {
        let (ty, rest) = match text.as_bytes() {
            [] | [_] => return Err(ElementError::TooShort),
            [ty, b':', ..] => (*ty, &text[2..]),
            _ => {
                return Err(ElementError::MissingColon {
                    text: text.to_owned(),
                });
            }
        };
        let malformed = |reason: String| ElementError::Malformed {
            text: text.to_owned(),
            reason,
        };
        match ty {
            b'f' => Ok(Self::field(rest)),
            b'v' => serde_json::from_str(rest)
                .map(Self::Value)
                .map_err(|error| malformed(error.to_string())),
            b'k' => {
                let keys: serde_json::Map<String, Value> =
                    serde_json::from_str(rest).map_err(|error| malformed(error.to_string()))?;
                Ok(Self::key(keys))
            }
            b'i' => rest
                .parse()
                .map(Self::Index)
                .map_err(|_| malformed("invalid syntax".to_owned())),
            _ => Err(ElementError::UnknownType),
        }
    }

    /// Writes the form that FieldsV1 has as keys.
    pub fn encode(&self) -> String {
        if let Self::Field(name) = self {
            return ["f:", name].concat();
        }
        let mut text = String::new();
        self.encode_into(&mut text);
        text
    }

    fn encode_into(&self, text: &mut String) {
        match self {
            Self::Field(name) => {
                text.push_str("f:");
                text.push_str(name);
            }
            Self::Key(keys) => {
                text.push_str("k:{");
                for (index, (name, value)) in keys.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    write_string(text, name);
                    text.push(':');
                    write_value(text, value);
                }
                text.push('}');
            }
            Self::Value(value) => {
                text.push_str("v:");
                write_value(text, value);
            }
            Self::Index(index) => {
                text.push_str("i:");
                text.push_str(&index.to_string());
            }
        }
    }
}

fn write_string(text: &mut String, name: &str) {
    // Strings always have a JSON form.
    text.push_str(&serde_json::to_string(name).unwrap_or_default());
}

/// JSON as Go's encoder writes it: three characters of HTML are escaped.
pub(crate) fn write_value(text: &mut String, value: &Value) {
    let json = serde_json::to_string(&Sorted(value)).unwrap_or_default();
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        text.push_str(&json);
        return;
    }
    for letter in json.chars() {
        match letter {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            _ => text.push(letter),
        }
    }
}

impl FieldSet {
    /// Reads FieldsV1 from a JSON text.
    ///
    /// # Errors
    /// Where the text is no JSON, no FieldsV1, or exceeds [`MAX_DEPTH`] or [`MAX_NODES`].
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Reads FieldsV1 from a JSON value.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_value(value: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(value)
    }

    /// Reads FieldsV1 that is written as [`to_value`](Self::to_value) writes it; `None` where it is written in another way, or is
    /// none.
    pub(crate) fn from_written(value: &Value) -> Option<Self> {
        let mut nodes = 0;
        let (set, own) = Self::from_members(value.as_object()?, 0, &mut nodes)?;
        (own == Own::Without).then_some(set)
    }

    fn from_members(
        members: &serde_json::Map<String, Value>,
        depth: usize,
        nodes: &mut usize,
    ) -> Option<(Self, Own)> {
        *nodes += members.len();
        if depth > MAX_DEPTH || *nodes > MAX_NODES {
            return None;
        }
        let mut set = Self {
            nodes: Vec::with_capacity(members.len()),
        };
        let mut own = Own::Without;
        for (name, value) in members {
            let below = value.as_object()?;
            if name == "." {
                if !below.is_empty() {
                    return None;
                }
                own = Own::With;
                continue;
            }
            let element = match name.strip_prefix("f:") {
                Some(name) => PathElement::field(name),
                None => {
                    let element = PathElement::parse(name).ok()?;
                    (element.encode() == *name).then_some(element)?
                }
            };
            let (below, below_own) = Self::from_members(below, depth + 1, nodes)?;
            let member = below_own == Own::With || below.is_empty();
            set.push(element, member, below);
        }
        // What two names stand for, and a field by itself with nothing below it, would be written in another way.
        let written = set.nodes.len() + usize::from(own == Own::With);
        let is_as_written = written == members.len() && (own == Own::Without || !set.is_empty());
        is_as_written.then_some((set, own))
    }

    /// Writes FieldsV1 as upstream does, byte for byte.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let mut scratch = String::new();
        self.write(&mut text, &mut scratch, Own::Without);
        text
    }

    fn write(&self, text: &mut String, scratch: &mut String, own: Own) {
        text.push('{');
        let mut first = own == Own::Without;
        if own == Own::With && !self.is_empty() {
            text.push_str("\".\":{}");
        } else {
            first = true;
        }
        for node in &self.nodes {
            if !first {
                text.push(',');
            }
            first = false;
            scratch.clear();
            node.element.encode_into(scratch);
            write_string(text, scratch);
            text.push(':');
            node.below.write(text, scratch, Own::of(node.member));
        }
        text.push('}');
    }

    /// FieldsV1 as a JSON value.
    pub fn to_value(&self) -> Value {
        self.to_value_with(Own::Without)
    }

    fn to_value_with(&self, own: Own) -> Value {
        let mut members = serde_json::Map::new();
        if own == Own::With && !self.is_empty() {
            members.insert(".".to_owned(), Value::Object(serde_json::Map::new()));
        }
        for node in &self.nodes {
            members.insert(
                node.element.encode(),
                node.below.to_value_with(Own::of(node.member)),
            );
        }
        Value::Object(members)
    }
}

/// Whether a set is written with the `.` that makes its own path a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    With,
    Without,
}

impl Own {
    fn of(member: bool) -> Self {
        if member { Self::With } else { Self::Without }
    }
}

struct WithOwn<'a>(&'a FieldSet, Own);

impl Serialize for WithOwn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(set, own) = *self;
        let mut map = serializer.serialize_map(None)?;
        if own == Own::With && !set.is_empty() {
            map.serialize_entry(".", &WithOwn(&FieldSet::new(), Own::Without))?;
        }
        for node in &set.nodes {
            map.serialize_entry(
                &node.element.encode(),
                &WithOwn(&node.below, Own::of(node.member)),
            )?;
        }
        map.end()
    }
}

impl Serialize for FieldSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WithOwn(self, Own::Without).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FieldSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut nodes = 0;
        let root = Reader {
            depth: 0,
            nodes: &mut nodes,
        };
        root.deserialize(deserializer).map(|(set, _)| set)
    }
}

/// Reads one level: what is below, and whether the path that leads here is a member.
struct Reader<'a> {
    depth: usize,
    nodes: &'a mut usize,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = (FieldSet, bool);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = (FieldSet, bool);

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a map of path elements")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok((FieldSet::new(), true))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        if self.depth > MAX_DEPTH {
            return Err(A::Error::custom(format_args!(
                "fields are nested deeper than {MAX_DEPTH} levels"
            )));
        }
        let mut set = FieldSet::new();
        let mut member = false;
        while let Some(key) = map.next_key_seed(KeySeed)? {
            let element = match key {
                Key::Own => {
                    member = true;
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                Key::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                Key::Element(element) => element,
            };
            *self.nodes += 1;
            if *self.nodes > MAX_NODES {
                return Err(A::Error::custom(format_args!("more than {MAX_NODES} fields")));
            }
            let (below, below_member) = map.next_value_seed(Reader {
                depth: self.depth + 1,
                nodes: &mut *self.nodes,
            })?;
            set.push(element, below_member, below);
        }
        // Who has nothing below is a member, or the writer would not have mentioned it.
        let member = member || set.is_empty();
        Ok((set, member))
    }
}

enum Key {
    /// `.`
    Own,
    /// Of a type that a later version may know.
    Unknown,
    Element(PathElement),
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a path element")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Key, E> {
        if text == "." {
            return Ok(Key::Own);
        }
        match PathElement::parse(text) {
            Ok(element) => Ok(Key::Element(element)),
            Err(ElementError::UnknownType) => Ok(Key::Unknown),
            Err(error) => Err(E::custom(error)),
        }
    }
}
