//! The built-in kinds of Kubernetes as one table, and the codec of Kubernetes protobuf that reads it.
//!
//! What it is: a generated, line-oriented text (`src/table.txt`, Kubernetes 1.37) with every resource that upstream's
//! API server can serve, every type reachable from them, and for each field what structured merge, strategic merge,
//! validation and protobuf need to know. The text is parsed once, at first use, into a few flat arenas whose strings
//! are slices of the text itself.
//!
//! What it is not: it holds no descriptions, no validation logic and no kind-specific code, and it does no I/O. The
//! text is written by `cargo xtask codegen kinds`; never edit it by hand.
//!
//! ```
//! use kubewright_kinds::{Scope, Value, protobuf, table};
//!
//! let deployments = table().resource("apps", "v1", "deployments").unwrap();
//! assert_eq!(deployments.scope, Scope::Namespaced);
//! assert_eq!(deployments.short_names, ["deploy"]);
//!
//! let spec = deployments.object_type().field("spec").unwrap();
//! let Value::Object(spec) = spec.value else { unreachable!() };
//! assert_eq!(spec.get().field("replicas").unwrap().tag, 1);
//!
//! let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
//!     "metadata": {"name": "a"}, "data": {"k": "v"}});
//! let bytes = protobuf::encode("v1", "ConfigMap", &object).unwrap();
//! assert_eq!(protobuf::decode(&bytes).unwrap().value, object);
//! ```

pub mod go;
mod load;
mod model;
pub mod protobuf;
mod zeros;

use std::sync::OnceLock;

pub use crate::model::{
    Field, ListType, MapType, PatchStrategy, Presence, Resource, Scope, Subresource, Table, Type, TypeId,
    Value,
};
pub use crate::zeros::{TooManyZeros, Zeros};

/// The minor version of Kubernetes 1.x that the table describes.
pub const KUBERNETES_MINOR: u8 = 37;

/// The oldest minor version that [`Field::since`] and [`Type::since`] can tell apart: it stands for "this one or before".
pub const OLDEST_MINOR: u8 = 25;

/// The table, parsed at the first call (about a millisecond) and shared by all later ones.
///
/// # Panics
///
/// Never with the checked-in text: a unit test loads it. A text damaged before compilation panics here.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| match load::load(TEXT) {
        Ok(table) => table,
        Err(error) => panic!("the generated table of kinds is damaged: {error}"),
    })
}

const TEXT: &str = include_str!("table.txt");
