//! Schemas of the standard library's types and of the few others that fields use.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::{Generator, Schema, SchemaNode};
use crate::structural::JsonType;

macro_rules! nodes {
    ($($ty:ty => $node:expr;)+) => {
        $(impl Schema for $ty {
            fn schema(_: &mut Generator) -> SchemaNode {
                $node
            }
        })+
    };
}

macro_rules! like_inner {
    ($($wrapper:ty;)+) => {
        $(impl<T: Schema + ?Sized> Schema for $wrapper {
            fn schema(generator: &mut Generator) -> SchemaNode {
                T::schema(generator)
            }
        })+
    };
}

fn string() -> SchemaNode {
    SchemaNode::of(JsonType::String)
}

fn integer(format: &str) -> SchemaNode {
    SchemaNode::of(JsonType::Integer).with("format", format)
}

/// An integer with the bounds of its Rust type, in the smallest format that holds them.
fn bounded(min: i64, max: u64, format: &str) -> SchemaNode {
    let node = integer(format).with("minimum", min);
    // What exceeds the format needs no bound of its own.
    if i64::try_from(max).is_ok() && format == "int32" && max <= 65_535 {
        node.with("maximum", max)
    } else {
        node
    }
}

nodes! {
    bool => SchemaNode::of(JsonType::Boolean);
    i8 => bounded(-128, 127, "int32");
    i16 => bounded(-32_768, 32_767, "int32");
    i32 => integer("int32");
    i64 => integer("int64");
    isize => integer("int64");
    u8 => bounded(0, 255, "int32");
    u16 => bounded(0, 65_535, "int32");
    u32 => integer("int64").with("minimum", 0).with("maximum", u32::MAX);
    u64 => bounded(0, u64::MAX, "int64");
    usize => bounded(0, u64::MAX, "int64");
    NonZeroU8 => bounded(1, 255, "int32");
    NonZeroU16 => bounded(1, 65_535, "int32");
    NonZeroU32 => integer("int64").with("minimum", 1).with("maximum", u32::MAX);
    NonZeroU64 => bounded(1, u64::MAX, "int64");
    NonZeroI32 => integer("int32");
    NonZeroI64 => integer("int64");
    f32 => SchemaNode::of(JsonType::Number).with("format", "float");
    f64 => SchemaNode::of(JsonType::Number).with("format", "double");
    char => string().with("minLength", 1).with("maxLength", 1);
    str => string();
    String => string();
    IpAddr => string();
    Ipv4Addr => string().with("format", "ipv4");
    Ipv6Addr => string().with("format", "ipv6");
    jiff::Timestamp => string().with("format", "date-time");
    jiff::SignedDuration => string();
    jiff::Span => string();
    jiff::civil::Date => string().with("format", "date");
    Value => SchemaNode::any();
    serde_json::Map<String, Value> => SchemaNode::of(JsonType::Object).with("x-kubernetes-preserve-unknown-fields", true);
    () => SchemaNode::of(JsonType::Object).with("nullable", true);
}

like_inner! {
    Box<T>;
    Arc<T>;
    Rc<T>;
    &T;
}

impl<T: Schema + ToOwned + ?Sized> Schema for Cow<'_, T> {
    fn schema(generator: &mut Generator) -> SchemaNode {
        T::schema(generator)
    }
}

impl<T: Schema> Schema for Option<T> {
    fn schema(generator: &mut Generator) -> SchemaNode {
        T::schema(generator).into_optional()
    }
}

macro_rules! lists {
    ($($ty:ty;)+) => {
        $(impl<T: Schema> Schema for $ty {
            fn schema(generator: &mut Generator) -> SchemaNode {
                SchemaNode::array(generator.schema_of::<T>())
            }
        })+
    };
}

lists! {
    Vec<T>;
    VecDeque<T>;
    [T];
}

impl<T: Schema, const N: usize> Schema for [T; N] {
    fn schema(generator: &mut Generator) -> SchemaNode {
        SchemaNode::array(generator.schema_of::<T>())
            .with("minItems", N)
            .with("maxItems", N)
    }
}

/// A set of scalars is a list of type set; Kubernetes knows no sets of objects.
fn set(items: SchemaNode) -> SchemaNode {
    let scalar = !matches!(
        items.keyword("type").and_then(Value::as_str),
        Some("object" | "array") | None
    );
    let node = SchemaNode::array(items);
    if scalar {
        node.with("x-kubernetes-list-type", "set")
    } else {
        node
    }
}

impl<T: Schema> Schema for BTreeSet<T> {
    fn schema(generator: &mut Generator) -> SchemaNode {
        set(generator.schema_of::<T>())
    }
}

impl<T: Schema, S> Schema for HashSet<T, S> {
    fn schema(generator: &mut Generator) -> SchemaNode {
        set(generator.schema_of::<T>())
    }
}

/// Types that serde writes as strings where they are the keys of a map. Implement it for enums of unit variants.
pub trait MapKey {}

macro_rules! map_keys {
    ($($ty:ty,)+) => { $(impl MapKey for $ty {})+ };
}

map_keys! { String, Cow<'_, str>, Box<str>, Arc<str>, i32, i64, u16, u32, u64, IpAddr, }

impl<K: MapKey, V: Schema> Schema for BTreeMap<K, V> {
    fn schema(generator: &mut Generator) -> SchemaNode {
        SchemaNode::map(generator.schema_of::<V>())
    }
}

impl<K: MapKey, V: Schema, S> Schema for HashMap<K, V, S> {
    fn schema(generator: &mut Generator) -> SchemaNode {
        SchemaNode::map(generator.schema_of::<V>())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check<T: Schema>(expect: Value) {
        assert_eq!(T::schema(&mut Generator::default()).into_value(), expect);
    }

    #[test]
    fn describes() {
        check::<u8>(json!({"type": "integer", "format": "int32", "minimum": 0, "maximum": 255}));
        check::<u64>(json!({"type": "integer", "format": "int64", "minimum": 0}));
        check::<Option<Vec<String>>>(json!({"type": "array", "items": {"type": "string"}}));
        check::<BTreeMap<String, bool>>(
            json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
        );
        check::<BTreeSet<i32>>(
            json!({"type": "array", "items": {"type": "integer", "format": "int32"}, "x-kubernetes-list-type": "set"}),
        );
        check::<Value>(json!({"x-kubernetes-preserve-unknown-fields": true}));
        check::<[bool; 2]>(
            json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}),
        );
    }
}
