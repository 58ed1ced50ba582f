//! OpenAPI documents: the schemas of built-in types and of custom resources, as the API server publishes them under
//! `components.schemas` of the third version and `definitions` of the second.
//!
//! Only schemas are made here. The paths of a document, and the hashes of its address, belong to whoever serves them.

mod builtin;
mod crd;
mod v2;

use std::borrow::Cow;

pub use builtin::{BuiltinSchemas, LIST_META, OBJECT_META};
pub use crd::{CustomResource, Dialect, custom_resource_list_schema, custom_resource_schema, model_name};
pub use v2::builtin_schema_to_v2;

/// A source of descriptions for built-in types. Their texts are upstream's and are not part of this crate.
pub trait Descriptions: Send + Sync {
    /// The description of a type such as `io.k8s.api.core.v1.PodSpec`, or of a field of it by its JSON name.
    fn describe(&self, type_name: &str, field: Option<&str>) -> Option<Cow<'_, str>>;
}

/// No descriptions at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDescriptions;

impl Descriptions for NoDescriptions {
    fn describe(&self, _: &str, _: Option<&str>) -> Option<Cow<'_, str>> {
        None
    }
}

const REFERENCE: &str = "#/components/schemas/";
const GROUP_VERSION_KIND: &str = "x-kubernetes-group-version-kind";

/// A reference that may have siblings: OpenAPI 3.0 ignores what stands beside a bare `$ref`.
fn reference(name: &str) -> serde_json::Value {
    serde_json::json!([{"$ref": format!("{REFERENCE}{name}")}])
}
