//! Values with their types: what fields they have, how they differ, how they are merged.
//!
//! Upstream: structured-merge-diff `typed/`.

mod error;

pub use error::{Mismatch, TypeErrors};
