//! Sets of fields: who owns what of an object, and FieldsV1, the form in which `managedFields` says so.
//!
//! Upstream: structured-merge-diff `fieldpath/`.
//!
//! ```
//! use kubewright_smd::fields::{FieldSet, Path};
//!
//! let set = FieldSet::from_json(r#"{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}}"#)?;
//! let paths: Vec<String> = set.iter().map(|path| path.to_string()).collect();
//! assert_eq!(paths, [r#".spec.containers[name="a"]"#, r#".spec.containers[name="a"].image"#]);
//! assert!(!set.has(&Path::of_fields(["spec"])));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod element;
mod filter;
mod json;
mod order;
mod set;
#[cfg(test)]
mod tests;

pub use element::{Path, PathElement};
pub use filter::{Filter, Pattern, ResetFields, Step};
pub use json::{ElementError, MAX_DEPTH, MAX_NODES};
pub use order::equal;
pub use set::FieldSet;

pub(crate) use json::write_value;
pub(crate) use order::{is_printable, quote};
