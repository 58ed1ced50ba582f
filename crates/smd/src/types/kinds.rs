//! The built-in types, from the table of kinds.

use kubewright_kinds::{Field, ListType, MapType, Presence, Type, TypeId, Value};
use serde_json::{Map, Value as Json};

use super::{Keys, ListRef, MapRef, Members, Relationship, Repr, Scalar, TypeRef};

/// A value of the table, with what its field says about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    value: Value,
    list: Relationship,
    keys: Keys<'static>,
    map: MapType,
}

impl Kind {
    pub(super) fn root(ty: &'static Type) -> Self {
        Self::of(ty.special.unwrap_or_else(|| Value::Object(ty.id())))
    }

    /// A value without a field: an item of a list, an entry of a map.
    fn of(value: Value) -> Self {
        let map = match value {
            Value::Object(id) => id.get().map_type,
            _ => MapType::Granular,
        };
        Self {
            value,
            list: Relationship::Atomic,
            keys: Keys::Static(&[]),
            map,
        }
    }

    pub(super) fn of_field(field: &'static Field) -> Self {
        let (list, keys) = match (field.list_type, field.merge_key) {
            (Some(ListType::Atomic), _) => (Relationship::Atomic, Keys::Static(&[])),
            (Some(ListType::Set), _) => (Relationship::Associative, Keys::Static(&[])),
            (Some(ListType::Map), _) => (Relationship::Associative, Keys::Static(field.map_keys)),
            // What strategic merge patch knows stands in for what is not declared.
            (None, Some(key)) if field.patch_strategy.merge => (Relationship::Associative, Keys::One(key)),
            (None, None) if field.patch_strategy.merge => (Relationship::Associative, Keys::Static(&[])),
            (None, _) => (Relationship::Atomic, Keys::Static(&[])),
        };
        Self {
            value: field.value,
            list,
            keys,
            // Of the field or of its type; a field may also declare its own part of an atomic type granular.
            map: field.map_type,
        }
    }

    fn below(value: Value) -> TypeRef<'static> {
        TypeRef(Repr::Kind(Self::of(value)))
    }

    pub(super) fn scalar(self) -> Option<Scalar> {
        match self.value {
            Value::String | Value::Bytes => Some(Scalar::String),
            Value::Boolean => Some(Scalar::Boolean),
            Value::Int32 | Value::Int64 | Value::Double => Some(Scalar::Numeric),
            Value::Object(_) | Value::Array(_) | Value::Map(_) | Value::FieldsV1 => None,
            // Times, quantities, numbers or strings, and what may be anything.
            _ => Some(Scalar::Untyped),
        }
    }

    pub(super) fn list(self) -> Option<ListRef<'static>> {
        match self.value {
            Value::Array(item) => Some(ListRef {
                item: Self::below(*item),
                relationship: self.list,
                keys: self.keys,
            }),
            value if is_free(value) => Some(ListRef::UNTYPED),
            _ => None,
        }
    }

    pub(super) fn map(self) -> Option<MapRef<'static>> {
        let relationship = match self.map {
            MapType::Granular => Relationship::Separable,
            MapType::Atomic => Relationship::Atomic,
        };
        let (relationship, members) = match self.value {
            // What declares no members may have any.
            Value::Object(id) if id.get().fields().is_empty() => {
                (relationship, Members::Any(TypeRef::DEDUCED))
            }
            Value::Object(id) => (relationship, Members::Object(id.get())),
            Value::Map(entry) => (relationship, Members::Any(Self::below(*entry))),
            Value::RawExtension => (Relationship::Atomic, Members::Any(TypeRef::UNTYPED)),
            value if value == Value::FieldsV1 || is_free(value) => {
                (relationship, Members::Any(TypeRef::DEDUCED))
            }
            _ => return None,
        };
        Some(MapRef {
            relationship,
            members,
        })
    }

    pub(super) fn zero_value(self) -> Json {
        match self.value {
            Value::Object(id) => zero_object(id),
            _ => Json::Object(Map::new()),
        }
    }
}

/// The default of a field. What Go always writes has its zero value for one in upstream's OpenAPI documents.
pub(super) fn default(field: &Field) -> Option<Json> {
    if let Some(text) = field.default {
        return serde_json::from_str(text).ok();
    }
    if field.presence != Presence::Always {
        return None;
    }
    match field.value {
        Value::String => Some(Json::from("")),
        Value::Boolean => Some(Json::from(false)),
        Value::Int32 | Value::Int64 | Value::Double => Some(Json::from(0)),
        _ => None,
    }
}

/// Whether a value of the type may be of any JSON type.
fn is_free(value: Value) -> bool {
    matches!(
        value,
        Value::RawExtension
            | Value::Json
            | Value::SchemaOrArray
            | Value::SchemaOrBool
            | Value::SchemaOrStringArray
    )
}

/// The zero value of a Go struct. Go structs cannot contain themselves without a pointer, so this ends.
fn zero_object(id: TypeId) -> Json {
    let members = id.get().fields().iter().filter(|field| match field.presence {
        Presence::Always => true,
        // Pointers, lists and maps that must be there: Go writes null for them.
        Presence::Optional => field.required,
        Presence::OmitZero => false,
    });
    let members = members.map(|field| {
        let zero = match field.value {
            _ if field.presence == Presence::Optional => Json::Null,
            Value::Object(id) => zero_object(id),
            Value::String | Value::IntOrString => Json::from(""),
            Value::Boolean => Json::from(false),
            Value::Int32 | Value::Int64 | Value::Double => Json::from(0),
            Value::Quantity => Json::from("0"),
            _ => Json::Null,
        };
        (field.name.to_owned(), zero)
    });
    Json::Object(members.collect())
}
