//! Patches of Kubernetes objects: strategic merge, JSON merge and JSON patch; and server-side apply, with the tracking
//! of who owns which fields that it needs.
//!
//! Everything here is a pure function over [`serde_json::Value`]: no I/O, no clock, no knowledge of HTTP. The API
//! server calls it to apply the body of a PATCH request; clients call it to predict what a patch will do.
//!
//! | content type | function | specification |
//! |---|---|---|
//! | `application/strategic-merge-patch+json` | [`strategic::patch`] | apimachinery `pkg/util/strategicpatch` |
//! | `application/merge-patch+json` | [`merge::patch`] | RFC 7386, with evanphx/json-patch's treatment of nulls |
//! | `application/json-patch+json` | [`json::Patch`] | RFC 6902, with evanphx/json-patch's dialect |
//! | `application/apply-patch+yaml` | [`manager::FieldManager::apply`] | KEP-555, structured-merge-diff, apimachinery `pkg/util/managedfields` |
//!
//! Server-side apply from the bottom up: [`fields`] are sets of paths, [`types`] say what lists and maps are, [`typed`]
//! compares, merges and prunes values by them, [`updater`] moves fields between owners, [`managed`] reads and writes
//! the owners, and [`manager`] is what a server calls, for every write.
//!
//! ```
//! use kubewright_smd::merge;
//! use serde_json::json;
//!
//! let live = json!({"metadata": {"labels": {"tier": "web", "old": "yes"}}});
//! let patch = json!({"metadata": {"labels": {"old": null, "team": "a"}}});
//! assert_eq!(merge::patch(live, &patch), json!({"metadata": {"labels": {"tier": "web", "team": "a"}}}));
//! ```

pub mod fields;
mod go;
pub mod json;
pub mod managed;
pub mod manager;
pub mod merge;
pub mod strategic;
pub mod typed;
pub mod types;
pub mod updater;

pub use go::go_print;
