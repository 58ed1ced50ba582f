//! The structural schema of a built-in type, written out from the table of kinds.

use kubewright_kinds::{Field, ListType, MapType, Type, Value as Kind, table};
use serde_json::Value;

use super::{Generator, SchemaNode};
use crate::structural::JsonType;

/// The text of a quantity, as controller-gen writes it into every definition.
pub(super) const QUANTITY_PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// What metadata inside other types is for; the rest of it has a meaning in stored objects only.
const EMBEDDED_METADATA: [&str; 5] = ["annotations", "finalizers", "labels", "name", "namespace"];
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The schema of a type of this definition name. A name that the table lacks gives an object that keeps its fields.
pub(super) fn type_node(generator: &mut Generator, name: &str) -> SchemaNode {
    match table().type_named(name) {
        Some(ty) => object_node(generator, ty),
        None => SchemaNode::of(JsonType::Object).with("x-kubernetes-preserve-unknown-fields", true),
    }
}

fn object_node(generator: &mut Generator, ty: &'static Type) -> SchemaNode {
    generator.within(ty.name, |generator| {
        let mut node = SchemaNode::of(JsonType::Object);
        let metadata = ty.name == OBJECT_META;
        for field in ty
            .fields()
            .iter()
            .filter(|field| !metadata || EMBEDDED_METADATA.contains(&field.name))
        {
            node = node.property(field.name, field_node(generator, field));
        }
        if ty.map_type == MapType::Atomic {
            node.with("x-kubernetes-map-type", "atomic")
        } else {
            node
        }
    })
}

fn field_node(generator: &mut Generator, field: &Field) -> SchemaNode {
    let mut node = value_node(generator, field.value);
    if !field.enum_values.is_empty() {
        node = node.with("enum", field.enum_values);
    }
    if let Some(default) = field
        .default
        .and_then(|default| serde_json::from_str::<Value>(default).ok())
        && !is_zero(&default)
    {
        node = node.with("default", default);
    }
    // Bytes, too, are lists to Go, but not to a definition.
    let list_type = field.list_type.filter(|_| matches!(field.value, Kind::Array(_)));
    node = match list_type {
        Some(ListType::Atomic) => node.with("x-kubernetes-list-type", "atomic"),
        Some(ListType::Set) => node.with("x-kubernetes-list-type", "set"),
        Some(ListType::Map) if keys_are_certain(field) => node
            .with("x-kubernetes-list-type", "map")
            .with("x-kubernetes-list-map-keys", field.map_keys),
        // A definition may not name keys that can be absent.
        Some(ListType::Map) | None => node,
    };
    if field.map_type == MapType::Atomic {
        node = node.with("x-kubernetes-map-type", "atomic");
    }
    if field.required {
        node.into_required()
    } else {
        node.into_optional()
    }
}

/// Whether every key of a list is required or has a default, which definitions must promise.
fn keys_are_certain(field: &Field) -> bool {
    let Kind::Array(Kind::Object(item)) = field.value else {
        return false;
    };
    let certain = |key: &&str| {
        item.get()
            .field(key)
            .is_some_and(|key| key.required || key.default.is_some_and(|default| default != "\"\""))
    };
    field.map_keys.iter().all(certain)
}

fn value_node(generator: &mut Generator, value: Kind) -> SchemaNode {
    match value {
        Kind::String => SchemaNode::of(JsonType::String),
        Kind::Boolean => SchemaNode::of(JsonType::Boolean),
        Kind::Int32 => SchemaNode::of(JsonType::Integer).with("format", "int32"),
        Kind::Int64 => SchemaNode::of(JsonType::Integer).with("format", "int64"),
        Kind::Double => SchemaNode::of(JsonType::Number).with("format", "double"),
        Kind::Bytes => SchemaNode::of(JsonType::String).with("format", "byte"),
        Kind::Time | Kind::MicroTime => SchemaNode::of(JsonType::String).with("format", "date-time"),
        Kind::Quantity => SchemaNode::int_or_string().with("pattern", QUANTITY_PATTERN),
        Kind::IntOrString => SchemaNode::int_or_string(),
        Kind::RawExtension | Kind::FieldsV1 => {
            SchemaNode::of(JsonType::Object).with("x-kubernetes-preserve-unknown-fields", true)
        }
        Kind::Object(ty) => object_node(generator, ty.get()),
        Kind::Array(below) => SchemaNode::array(value_node(generator, *below)),
        Kind::Map(below) => SchemaNode::map(value_node(generator, *below)),
        // Json, and the unions of a schema with something else.
        _ => SchemaNode::any(),
    }
}

/// Defaults that are zero values say nothing, and would be written into every object.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
