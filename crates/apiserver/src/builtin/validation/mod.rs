//! Validation of built-in kinds: what the table of kinds cannot say.
//!
//! Messages are those of upstream's `field.Error`s word for word, since clients and tests match them. Every function
//! takes the decoded, defaulted object and returns all that is wrong; types are the concern of decoding, so a value of the
//! wrong type is passed over here.

pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod objects;

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

/// A field that may not change. Upstream: `FieldImmutableErrorMsg` in apimachinery.
const IMMUTABLE: &str = "field is immutable";
/// Upstream: `IsNegativeErrorMsg` in apimachinery.
const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// Adds what a second validator found, without what the first said already: upstream reports each fault of a field once,
/// and the words of the rule written for the kind win over those of a general one.
pub(crate) fn merge(errors: &mut Vec<FieldError>, more: Vec<FieldError>) {
    for error in more {
        if !errors
            .iter()
            .any(|known| known.kind == error.kind && known.path == error.path)
        {
            errors.push(error);
        }
    }
}

/// Reports every message about one value.
fn invalid_each(errors: &mut Vec<FieldError>, path: &FieldPath, value: &str, messages: Vec<String>) {
    errors.extend(
        messages
            .into_iter()
            .map(|message| FieldError::invalid(path.clone(), value, message)),
    );
}

/// Reports a value that is not one of `supported`. Absent and empty pass, since defaulting or a requirement sees to them.
fn supported(errors: &mut Vec<FieldError>, path: FieldPath, value: Option<&Value>, supported: &[&str]) {
    if let Some(text) = value
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty() && !supported.contains(text))
    {
        errors.push(FieldError::not_supported(path, text, supported));
    }
}

/// Reports a negative number.
fn not_negative(errors: &mut Vec<FieldError>, path: FieldPath, value: Option<&Value>) {
    if let Some(number) = value.and_then(Value::as_i64).filter(|number| *number < 0) {
        errors.push(FieldError::invalid(path, number, NOT_NEGATIVE));
    }
}

/// Reports a string that is absent or empty.
fn required(errors: &mut Vec<FieldError>, path: FieldPath, value: Option<&Value>, detail: &str) -> bool {
    let is_there = value.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if !is_there {
        errors.push(FieldError::required(path, detail));
    }
    is_there
}

/// Reports fields of the object at `pointer` that differ from the stored object.
fn immutable(errors: &mut Vec<FieldError>, new: &Value, old: &Value, pointer: &str) {
    let (new, old) = (new.pointer(pointer), old.pointer(pointer));
    if !super::value::semantically_equal(new, old) {
        let path = FieldPath::new(pointer.trim_start_matches('/').replace('/', "."));
        errors.push(FieldError::invalid(
            path,
            new.cloned().unwrap_or_default(),
            IMMUTABLE,
        ));
    }
}

#[cfg(test)]
mod tests;
