//! Serde over composed nodes, so that a value that does not fit its type is reported with its place.

use serde::Deserializer;
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::compose::{Entry, Node, Value};
use crate::error::{Error, ErrorKind, Position};

impl<'de> Deserializer<'de> for Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let (at, plain) = (self.at, self.plain);
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(b),
            Value::Int(i) => visitor.visit_i64(i),
            Value::UInt(u) => visitor.visit_u64(u),
            Value::Float(f) => visitor.visit_f64(f),
            Value::Str(s) => visitor.visit_string(s),
            Value::Seq(items) => visitor.visit_seq(Items(items.into_iter())),
            Value::Map(entries) => visitor.visit_map(Entries::new(entries)),
        }
        .map_err(|e| place(e, at, plain))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let at = self.at;
        match self.value {
            Value::Str(text) => {
                let variant: StringDeserializer<Error> = text.into_deserializer();
                visitor.visit_enum(variant)
            }
            Value::Map(entries) if entries.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::new(entries)))
            }
            _ => Err(Error::new(ErrorKind::Type {
                message: "expected a string or a mapping with one key".to_owned(),
            })),
        }
        .map_err(|e| e.or_at(at))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A plain scalar that was read as something other than text is the usual surprise of YAML.
fn place(error: Error, at: Position, plain: bool) -> Error {
    let surprised = plain
        && error.line() == 0
        && matches!(error.kind(), ErrorKind::Type { message } if message.contains("expected a string"));
    let error = error.or_at(at);
    if surprised {
        error.with_hint("quote the value to make it a string")
    } else {
        error
    }
}

struct Items(std::vec::IntoIter<Node>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(node) = self.0.next() else {
            return Ok(None);
        };
        let at = node.at;
        seed.deserialize(node).map(Some).map_err(|e| e.or_at(at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries {
    rest: std::vec::IntoIter<Entry>,
    value: Option<Node>,
}

impl Entries {
    fn new(entries: Vec<Entry>) -> Self {
        Self {
            rest: entries.into_iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(entry) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(entry.value);
        let key = Key(entry.key);
        seed.deserialize(key).map(Some).map_err(|e| e.or_at(entry.at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let node = self.value.take().ok_or_else(|| {
            Error::new(ErrorKind::Type {
                message: "a value was asked for before its key".to_owned(),
            })
        })?;
        let at = node.at;
        seed.deserialize(node).map_err(|e| e.or_at(at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A mapping key: text, or a number or boolean where the map's key type asks for one, as in JSON.
struct Key(String);

macro_rules! parsed_key {
    ($($method:ident $visit:ident $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse::<$type>() {
                Ok(key) => visitor.$visit(key),
                Err(_) => visitor.visit_string(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let variant: StringDeserializer<Error> = self.0.into_deserializer();
        visitor.visit_enum(variant)
    }

    parsed_key! {
        deserialize_bool visit_bool bool;
        deserialize_i8 visit_i64 i64;
        deserialize_i16 visit_i64 i64;
        deserialize_i32 visit_i64 i64;
        deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u64 u64;
        deserialize_u16 visit_u64 u64;
        deserialize_u32 visit_u64 u64;
        deserialize_u64 visit_u64 u64;
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
