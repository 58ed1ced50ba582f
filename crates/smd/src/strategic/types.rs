//! What a strategic merge patch has to know about types: `patchStrategy` and `patchMergeKey` of each field.

use std::borrow::Cow;

use serde_json::{Map, Value};
use thiserror::Error;

/// How the values of a field are merged: the `x-kubernetes-patch-strategy` of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// None is declared: maps are merged, lists replaced.
    #[default]
    Unset,
    /// Maps and lists are merged.
    Merge,
    /// Maps and lists are replaced.
    Replace,
}

impl Strategy {
    /// Reads a declaration such as `merge,retainKeys`. `retainKeys` matters to whoever *makes* patches only.
    pub fn parse(declaration: &str) -> Self {
        let mut words = declaration.split(',');
        if words.clone().any(|word| word == "merge") {
            Self::Merge
        } else if words.any(|word| word == "replace") {
            Self::Replace
        } else {
            Self::Unset
        }
    }
}

/// A field as a strategic merge patch sees it.
#[derive(Debug, Clone)]
pub struct Field<T> {
    /// The type of the field; of its items, if it is a list.
    pub types: T,
    /// How its values are merged.
    pub strategy: Strategy,
    /// The member that identifies an item of the list.
    pub merge_key: Option<Cow<'static, str>>,
}

/// A type, and the way from it to the types of its fields.
pub trait MergeTypes: Sized {
    /// Looks up a field whose value is an object.
    ///
    /// # Errors
    /// Where the type has no such field.
    fn object_field(&self, name: &str) -> Result<Field<Self>, LookupError>;

    /// Looks up a field whose value is a list; the type returned is that of the items.
    ///
    /// # Errors
    /// Where the type has no such field.
    fn list_field(&self, name: &str) -> Result<Field<Self>, LookupError>;

    /// The Go kind of the type, for error texts.
    fn kind_name(&self) -> &str {
        "struct"
    }
}

/// A field of a patch that the type does not have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The type has fields, but not this one.
    #[error("unable to find api field in struct {type_name} for the json field \"{field}\"")]
    NoSuchField {
        /// The type's short name.
        type_name: String,
        /// The field asked for.
        field: String,
    },
    /// The type is a map or a scalar.
    #[error("merging an object in json but data type is not struct, instead is: {kind}")]
    NotAStruct {
        /// The Go kind of the type.
        kind: String,
    },
}

/// Types read from the schemas of an OpenAPI v3 document (`components.schemas`), by their
/// `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
#[derive(Debug, Clone, Copy)]
pub struct OpenApiTypes<'a> {
    components: &'a Map<String, Value>,
    name: &'a str,
    /// `None` below fields of free form, where every field is let through.
    schema: Option<&'a Value>,
}

impl<'a> OpenApiTypes<'a> {
    /// The type of a name such as `io.k8s.api.core.v1.Pod`, or `None` if the document lacks it.
    pub fn new(components: &'a Map<String, Value>, name: &str) -> Option<Self> {
        let (name, schema) = components.get_key_value(name)?;
        Some(Self {
            components,
            name,
            schema: Some(schema),
        })
    }

    fn field(&self, name: &str, items: bool) -> Result<Field<Self>, LookupError> {
        let Some(schema) = self.schema else {
            return Ok(Field {
                types: *self,
                strategy: Strategy::Unset,
                merge_key: None,
            });
        };
        let Some(field) = schema
            .get("properties")
            .and_then(|properties| properties.get(name))
        else {
            return Err(match schema.get("additionalProperties") {
                Some(_) => LookupError::NotAStruct {
                    kind: "map".to_owned(),
                },
                None => {
                    let type_name = self.name.rsplit('.').next().unwrap_or_default().to_owned();
                    LookupError::NoSuchField {
                        type_name,
                        field: name.to_owned(),
                    }
                }
            });
        };
        let text = |key: &str| field.get(key).and_then(Value::as_str);
        let target = if items { field.get("items") } else { Some(field) };
        Ok(Field {
            types: self.resolve(target),
            strategy: text("x-kubernetes-patch-strategy")
                .map(Strategy::parse)
                .unwrap_or_default(),
            merge_key: text("x-kubernetes-patch-merge-key").map(|key| Cow::Owned(key.to_owned())),
        })
    }

    /// Follows `$ref`, also where it hides in an `allOf` of one, as documents of version 3.0 write it.
    fn resolve(&self, schema: Option<&'a Value>) -> Self {
        let inner = schema
            .and_then(|schema| schema.get("allOf"))
            .and_then(|all| all.get(0))
            .or(schema);
        let reference = inner.and_then(|inner| inner.get("$ref")).and_then(Value::as_str);
        match reference.and_then(|reference| reference.strip_prefix("#/components/schemas/")) {
            Some(name) => Self {
                components: self.components,
                name,
                schema: self.components.get(name),
            },
            None => Self {
                components: self.components,
                name: "",
                schema: inner,
            },
        }
    }
}

impl MergeTypes for OpenApiTypes<'_> {
    fn object_field(&self, name: &str) -> Result<Field<Self>, LookupError> {
        self.field(name, false)
    }

    fn list_field(&self, name: &str) -> Result<Field<Self>, LookupError> {
        self.field(name, true)
    }
}
