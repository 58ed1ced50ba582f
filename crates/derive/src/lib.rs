//! Derive macros for custom resources and their schemas.
//!
//! [`macro@Schema`] writes the structural schema of a type, reading serde's attributes so that it says what serde
//! writes. [`macro@CustomResource`] makes the spec of a custom resource into the whole resource. Neither reads files nor
//! the environment. A misspelt attribute is a compile error that names those that exist.
//!
//! The code refers to `::kubewright::schema`; `crate = "kubewright_schema"` in either attribute makes it refer to that
//! crate alone.
//!
//! ```
//! use kubewright_derive::{CustomResource, Schema};
//! use kubewright_schema::CustomResourceExt;
//! use serde::{Deserialize, Serialize};
//!
//! /// What a guestbook shall look like.
//! #[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug)]
//! #[schema(crate = "kubewright_schema")]
//! #[resource(crate = "kubewright_schema", group = "example.com", version = "v1", kind = "Guestbook", short_name = "gb")]
//! struct GuestbookSpec {
//!     /// How many servers answer.
//!     #[schema(minimum = 0, default = 1)]
//!     replicas: Option<i32>,
//! }
//!
//! let crd = Guestbook::crd();
//! assert_eq!(crd["metadata"]["name"], "guestbooks.example.com");
//! let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
//! assert_eq!(schema["properties"]["spec"]["properties"]["replicas"]["default"], 1);
//! ```

mod attributes;
mod case;
mod resource;
mod schema;
mod serde_attributes;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Schema` for a struct or an enum.
///
/// Doc comments become descriptions. Fields are required unless they are an `Option`, or serde or the attribute gives
/// them a default. Attributes, in the words of controller-gen's markers:
///
/// * on fields: `minimum`, `maximum`, `exclusive_minimum`, `exclusive_maximum`, `multiple_of`, `min_length`,
///   `max_length`, `pattern`, `format`, `min_items`, `max_items`, `unique_items`, `min_properties`, `max_properties`,
///   `enum("a", "b")`, `default` (serde's) or `default = value`, `example = value`, `title`, `description`, `nullable`,
///   `optional`, `required`, `immutable`, `list_type`, `map_key` (repeatable), `map_type`, `items(..)` with keywords for
///   the items, `rule(rule = "..", message = "..")` (repeatable), `embedded_resource`, `preserve_unknown_fields`,
///   `int_or_string`, `schemaless`, `schema_with = "path"`;
/// * on types: `crate`, `title`, `description`, `min_properties`, `max_properties`, `map_type`, `rule(..)`,
///   `preserve_unknown_fields`.
///
/// Of serde's, `rename`, `rename_all`, `rename_all_fields`, `default`, `skip`, `flatten`, `tag`, `content`, `untagged`,
/// `transparent`, `from`, `try_from` and `into` are understood. Enums have a structural form if they are
///
/// * unit variants only: a string with `enum`;
/// * written as serde does by default, without unit variants: an object with one of several fields;
/// * tagged from within: an object with the fields of all variants;
/// * untagged, with named fields: the same without a tag, or an integer and a string: `x-kubernetes-int-or-string`.
///
/// Others do not compile, and the error says what to change.
#[proc_macro_derive(Schema, attributes(schema, serde))]
pub fn derive_schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    schema::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a custom resource of the struct that is its spec.
///
/// For `struct GuestbookSpec` with `#[resource(group = "..", version = "..", kind = "Guestbook")]` this writes
/// `struct Guestbook { metadata, spec, status }` with what a resource needs: the traits of `k8s-openapi`, serde's two,
/// and `CustomResourceExt`, which has the definition. The spec must implement `Schema`, serde's two traits, `Clone` and
/// `Debug`.
///
/// Required are `group`, `version` and `kind`. The others: `plural`, `singular`, `list_kind`, `short_name` and
/// `category` (repeatable), `scope = "Namespaced"` (the default) or `"Cluster"`, `status = "Type"`,
/// `scale(spec_path = "..", status_path = "..", selector_path = "..")`,
/// `print_column(name = "..", type = "..", json_path = "..", description = "..", format = "..", priority = 1)`,
/// `selectable_field = ".spec.x"`, `unserved_version`, `deprecated_version = "warning"`, `derive(PartialEq)` for the
/// root type, `crate = ".."`.
#[proc_macro_derive(CustomResource, attributes(resource))]
pub fn derive_custom_resource(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    resource::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
