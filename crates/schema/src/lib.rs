//! Structural schemas: what a custom resource may contain, checked, pruned, completed and described.
//!
//! [`StructuralSchema`] is the compiled form of the `openAPIV3Schema` of a custom resource definition. The API server
//! takes an object through its steps in this order: [`prune`](StructuralSchema::prune),
//! [`drop_nulls`](StructuralSchema::drop_nulls), [`coerce_metadata`](StructuralSchema::coerce_metadata), [`default`](StructuralSchema::default),
//! [`validate`](StructuralSchema::validate).
//!
//! Rules in CEL (`x-kubernetes-validations`) are run by [`Rules`], with a [`RuleCompiler`] that speaks the language.
//!
//! The crate does no I/O, knows no storage and never panics on what it is given: schemas and objects are user input.
//!
//! ```
//! use kubewright_schema::StructuralSchema;
//! use serde_json::json;
//!
//! let schema = StructuralSchema::parse(&json!({
//!     "type": "object",
//!     "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
//!         "size": {"type": "integer", "maximum": 3},
//!         "tier": {"type": "string", "default": "web"},
//!     }}},
//! }))?;
//! let mut object = json!({"kind": "Guestbook", "spec": {"size": 4, "typo": true}});
//! assert_eq!(schema.prune(&mut object), ["spec.typo"]);
//! schema.default(&mut object);
//! assert_eq!(object["spec"]["tier"], "web");
//! let errors = schema.validate(&object, None);
//! assert_eq!(
//!     errors[0].to_string(),
//!     "spec.size: Invalid value: 4: spec.size in body should be less than or equal to 3",
//! );
//! # Ok::<(), kubewright_schema::SchemaError>(())
//! ```

mod apply;
mod defaulting;
mod format;
mod number;
mod object_meta;
pub mod openapi;
mod pattern;
mod prune;
mod resource;
mod rules;
mod structural;
mod types;
mod validate;

pub use format::{Format, is_known_format};
pub use kubewright_core::{FieldError, FieldErrorKind, FieldPath};
pub use object_meta::Malformed;
pub use resource::{CustomResourceExt, Definition, MergeError, PrintColumn, Scale, Scope, Serving, Status};
pub use rules::{
    Evaluation, EvaluationError, MAX_MESSAGE_BYTES, RULE_COST_BUDGET, RuleCompiler, RuleFindings, RuleInput,
    RulePlace, RuleProgram, Rules,
};
pub use structural::{
    AdditionalProperties, CheckMetadata, JsonType, ListType, MAX_DEPTH, MapType, SchemaError,
    StructuralSchema, ValidationRule, check, check_definition, each_schema,
};
pub use types::{Generator, MAX_TYPE_DEPTH, MapKey, Schema, SchemaNode};
pub use validate::MAX_ERRORS;

/// What the code that the derive macros write needs; not an interface.
#[doc(hidden)]
pub mod __private {
    pub use k8s_openapi;
    pub use kubewright_core::ObjectMeta;
    pub use serde;
    pub use serde_json;

    pub use crate::resource::{deserialize_parts, root_schema, serialize_parts};

    /// The status of a resource that has none.
    pub type NoStatus = serde::de::IgnoredAny;
}
