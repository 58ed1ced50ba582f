//! Label and field selectors, in the syntax of apimachinery pkg/labels and pkg/fields.

mod field;
mod label;
mod names;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};
pub use names::{label_key_faults, label_value_faults};

/// A selector that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ParseSelectorError {
    /// What is wrong, in upstream's words.
    pub why: String,
}

impl ParseSelectorError {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}
