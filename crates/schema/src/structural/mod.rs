//! The model of a structural schema, compiled for fast use.

mod check;
mod defaults;
mod definition;
mod parse;
mod surrounding;
mod visit;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

pub use check::check;
pub use definition::{CheckMetadata, check_definition};
pub use visit::each_schema;

use kubewright_core::FieldPath;

use crate::format::Format;
use crate::pattern::Pattern;
use crate::rules::field_path::{Brackets, find};

/// The deepest nesting of schemas that is read. No real definition comes near; a hostile one ends here.
pub const MAX_DEPTH: usize = 128;

/// Why a schema cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A keyword has a value of the wrong JSON type.
    #[error("{path}: expected {expected}")]
    WrongType {
        /// The path of the keyword within the schema.
        path: String,
        /// What the keyword takes.
        expected: &'static str,
    },
    /// A keyword of JSON schema that Kubernetes does not support.
    #[error("{path}: OpenAPIV3Schema '{keyword}' is not supported")]
    Unsupported {
        /// The path of the schema that has it.
        path: String,
        /// The keyword.
        keyword: &'static str,
    },
    /// `items` is a list of schemas.
    #[error("{path}: OpenAPIV3Schema 'items' must be a schema, but is an array")]
    ItemsIsList {
        /// The path of the schema that has it.
        path: String,
    },
    /// Schemas nest deeper than [`MAX_DEPTH`].
    #[error("{path}: schemas are nested deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// The path at which it was noticed.
        path: String,
    },
}

/// A JSON type of OpenAPI v3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum JsonType {
    /// `array`
    Array = 1,
    /// `boolean`
    Boolean = 2,
    /// `integer`
    Integer = 4,
    /// `number`
    Number = 8,
    /// `object`
    Object = 16,
    /// `string`
    String = 32,
}

impl JsonType {
    /// The name in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let all = [
            Self::Array,
            Self::Boolean,
            Self::Integer,
            Self::Number,
            Self::Object,
            Self::String,
        ];
        all.into_iter().find(|one| one.as_str() == name)
    }
}

/// The types that a schema allows, in upstream's order; empty where it names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Types(u8);

impl Types {
    /// What `x-kubernetes-int-or-string` stands for.
    pub(crate) const INT_OR_STRING: Self = Self(JsonType::Integer as u8 | JsonType::String as u8);

    pub(crate) fn of(one: JsonType) -> Self {
        Self(one as u8)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, one: JsonType) -> bool {
        self.0 & one as u8 != 0
    }

    pub(crate) fn only(self) -> Option<JsonType> {
        let all = [
            JsonType::Array,
            JsonType::Boolean,
            JsonType::Integer,
            JsonType::Number,
            JsonType::Object,
            JsonType::String,
        ];
        all.into_iter().find(|one| self.0 == *one as u8)
    }

    /// `integer,string` or the one name.
    pub(crate) fn join(self) -> &'static str {
        match self.only() {
            Some(one) => one.as_str(),
            None if self == Self::INT_OR_STRING => "integer,string",
            None => "",
        }
    }
}

/// How the items of a list are told apart: `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ListType {
    /// One value as a whole. The default.
    #[default]
    Atomic,
    /// By their value.
    Set,
    /// By the members that `x-kubernetes-list-map-keys` names.
    Map,
}

/// Whether a map is one value as a whole: `x-kubernetes-map-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MapType {
    /// Each entry is a value of its own. The default.
    #[default]
    Granular,
    /// One value as a whole.
    Atomic,
}

/// What `additionalProperties` says.
#[derive(Debug, Clone)]
pub enum AdditionalProperties {
    /// Any value, or none at all.
    Allowed(bool),
    /// Values of this schema.
    Schema(Box<StructuralSchema>),
}

/// One rule of `x-kubernetes-validations`, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValidationRule {
    /// The CEL expression.
    pub rule: String,
    /// The text of the error.
    pub message: Option<String>,
    /// A CEL expression that makes the text of the error.
    pub message_expression: Option<String>,
    /// The reason of the error's status cause.
    pub reason: Option<String>,
    /// Where the error is reported, relative to the value.
    pub field_path: Option<String>,
    /// Whether the rule also runs where there is no old value.
    pub optional_old_self: Option<bool>,
}

/// A compiled schema: upstream's `Structural` (apiextensions-apiserver `pkg/apiserver/schema/structural.go`).
///
/// Also the parts under `allOf`, `anyOf`, `oneOf` and `not` are of this type; in a structural schema they only hold
/// value validations. Descriptions are left out: documents are made from the definition itself, see
/// [`openapi`](crate::openapi). A schema is immutable and can be shared between threads.
#[derive(Debug, Clone, Default)]
pub struct StructuralSchema {
    pub(crate) types: Types,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown_fields: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) int_or_string: bool,
    pub(crate) list_type: Option<ListType>,
    pub(crate) map_type: Option<MapType>,
    pub(crate) list_map_keys: Vec<String>,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) additional_properties: Option<AdditionalProperties>,
    pub(crate) items: Option<Box<Self>>,
    pub(crate) required: Vec<String>,
    pub(crate) default: Option<Value>,
    pub(crate) validation: Option<Box<ValueValidation>>,
    pub(crate) rules: Vec<ValidationRule>,
    pub(crate) within: Within,
}

/// What there is at a schema or somewhere below it, so that checks pass over what they have no business with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Within {
    /// Resources that are embedded.
    pub(crate) embedded: bool,
    /// Lists of type set or map.
    pub(crate) keyed_lists: bool,
}

/// The keywords that restrict values without shaping them. Apart from the schema since few schemas have any.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueValidation {
    pub(crate) format: Option<Format>,
    /// The name of the format where the schema spells it in another way: hyphens do not count.
    pub(crate) format_name: Option<Box<str>>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Arc<Pattern>>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) all_of: Vec<StructuralSchema>,
    pub(crate) any_of: Vec<StructuralSchema>,
    pub(crate) one_of: Vec<StructuralSchema>,
    pub(crate) not: Option<Box<StructuralSchema>>,
}

/// `maximum` with `exclusiveMaximum`, or the same for the minimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) exclusive: bool,
}

impl StructuralSchema {
    /// Compiles the value of a CRD version's `openAPIV3Schema`.
    ///
    /// Whether the schema is structural is another question: ask [`check`] before a definition is accepted. Patterns
    /// that are no valid expressions compile and then match nothing, as with upstream.
    ///
    /// # Errors
    /// Where a keyword has the wrong type or is not supported by Kubernetes.
    pub fn parse(schema: &Value) -> Result<Self, SchemaError> {
        parse::parse(schema)
    }

    /// What a path such as `.spec.size` of a selectable field leads to, and the path as errors show it.
    ///
    /// # Errors
    /// What is wrong with the path, in upstream's words (apiextensions `pkg/apiserver/schema/cel/validation.go` `ValidFieldPath`).
    pub fn field_at(&self, path: &str) -> Result<(FieldPath, &Self), String> {
        find(path, self, Brackets::Forbidden)
    }

    /// The type, if the schema names one; `None` also for [`is_int_or_string`](Self::is_int_or_string).
    pub fn json_type(&self) -> Option<JsonType> {
        self.types.only()
    }

    /// The schema of each known member.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = (&str, &Self)> {
        self.properties
            .iter()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    /// The schema of one known member.
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// What holds for members that are not [`properties`](Self::properties).
    pub fn additional_properties(&self) -> Option<&AdditionalProperties> {
        self.additional_properties.as_ref()
    }

    /// The schema of the items of a list.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// The schema of a member, known or additional. `None` where the schema does not say.
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// What is here and below, from the parts, which know it already.
    pub(super) fn find_within(&self) -> Within {
        let below = self
            .properties
            .values()
            .chain(self.additional_schema())
            .chain(self.items.as_deref());
        let here = Within {
            embedded: self.embedded_resource,
            keyed_lists: matches!(self.list_type, Some(ListType::Set | ListType::Map)),
        };
        below.fold(here, |all, one| Within {
            embedded: all.embedded || one.within.embedded,
            keyed_lists: all.keyed_lists || one.within.keyed_lists,
        })
    }

    pub(crate) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional_properties {
            Some(AdditionalProperties::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The members that must be present.
    pub fn required(&self) -> &[String] {
        &self.required
    }

    /// The value that takes the place of an absent one.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// Whether null is a value.
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// `x-kubernetes-int-or-string`
    pub fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    /// `x-kubernetes-embedded-resource`
    pub fn is_embedded_resource(&self) -> bool {
        self.embedded_resource
    }

    /// `x-kubernetes-preserve-unknown-fields`
    pub fn preserves_unknown_fields(&self) -> bool {
        self.preserve_unknown_fields
    }

    /// `x-kubernetes-list-type`, if given.
    pub fn list_type(&self) -> Option<ListType> {
        self.list_type
    }

    /// `x-kubernetes-list-map-keys`
    pub fn list_map_keys(&self) -> &[String] {
        &self.list_map_keys
    }

    /// `x-kubernetes-map-type`, if given.
    pub fn map_type(&self) -> Option<MapType> {
        self.map_type
    }

    /// `x-kubernetes-validations`, in order.
    pub fn validation_rules(&self) -> &[ValidationRule] {
        &self.rules
    }

    /// `format` as the schema spells it, where Kubernetes knows it for the type.
    pub(crate) fn format_name(&self) -> Option<&str> {
        let validation = self.validation.as_deref()?;
        match &validation.format_name {
            Some(name) => Some(name),
            None => validation.format.map(Format::as_str),
        }
    }

    /// `format`, where Kubernetes knows it for the type.
    pub fn format(&self) -> Option<Format> {
        self.validation.as_ref()?.format
    }

    /// `maxItems`, for estimates of size.
    pub fn max_items(&self) -> Option<i64> {
        self.validation.as_ref()?.max_items
    }

    /// `maxProperties`, for estimates of size.
    pub fn max_properties(&self) -> Option<i64> {
        self.validation.as_ref()?.max_properties
    }

    /// `maxLength`, for estimates of size.
    pub fn max_length(&self) -> Option<i64> {
        self.validation.as_ref()?.max_length
    }

    /// `enum`, in order; empty where every value is allowed.
    pub fn allowed_values(&self) -> &[Value] {
        self.validation
            .as_ref()
            .map_or(&[], |validation| &validation.allowed)
    }

    /// The schemas under `allOf`, whose rules also apply.
    pub fn all_of(&self) -> &[Self] {
        self.validation
            .as_ref()
            .map_or(&[], |validation| &validation.all_of)
    }
}
