//! The types of built-in kinds, read from the table of kinds.

use std::borrow::Cow;

use kubewright_kinds::{Field as TableField, Type, Value};

use super::types::{Field, LookupError, MergeTypes, Strategy};

/// A type of the table of kinds, or something within one that has no fields of its own.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinTypes(Place);

#[derive(Debug, Clone, Copy)]
enum Place {
    Object(&'static Type),
    /// Any JSON: every field is let through.
    Free,
    /// A map, by the kind of its entries.
    Map(&'static Value),
    Scalar,
}

impl BuiltinTypes {
    /// The type of an object.
    pub fn new(object: &'static Type) -> Self {
        Self(Place::Object(object))
    }

    fn of(value: &'static Value) -> Self {
        Self(match value {
            Value::Object(id) => Place::Object(id.get()),
            Value::Array(item) => return Self::of(item),
            Value::Map(entry) => Place::Map(entry),
            Value::RawExtension
            | Value::Json
            | Value::FieldsV1
            | Value::SchemaOrArray
            | Value::SchemaOrBool => Place::Free,
            _ => Place::Scalar,
        })
    }

    fn field(&self, name: &str) -> Result<Field<Self>, LookupError> {
        let open = |types| Field {
            types,
            strategy: Strategy::Unset,
            merge_key: None,
        };
        match self.0 {
            Place::Object(object) => match object.field(name) {
                Some(field) => Ok(described(field)),
                None => Err(LookupError::NoSuchField {
                    type_name: object.name.rsplit('.').next().unwrap_or_default().to_owned(),
                    field: name.to_owned(),
                }),
            },
            Place::Free => Ok(open(*self)),
            Place::Map(entry) => Ok(open(Self::of(entry))),
            Place::Scalar => Err(LookupError::NotAStruct {
                kind: self.kind_name().to_owned(),
            }),
        }
    }
}

fn described(field: &'static TableField) -> Field<BuiltinTypes> {
    let strategy = match (field.patch_strategy.merge, field.patch_strategy.retain_keys) {
        (true, _) => Strategy::Merge,
        // Retaining keys says nothing of how values are merged.
        (false, _) => Strategy::Unset,
    };
    Field {
        types: BuiltinTypes::of(&field.value),
        strategy,
        merge_key: field.merge_key.map(Cow::Borrowed),
    }
}

impl MergeTypes for BuiltinTypes {
    fn object_field(&self, name: &str) -> Result<Field<Self>, LookupError> {
        self.field(name)
    }

    fn list_field(&self, name: &str) -> Result<Field<Self>, LookupError> {
        self.field(name)
    }

    fn kind_name(&self) -> &str {
        match self.0 {
            Place::Object(_) | Place::Free => "struct",
            Place::Map(_) => "map",
            Place::Scalar => "string",
        }
    }
}
