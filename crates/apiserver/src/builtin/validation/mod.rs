//! Validation of built-in kinds: what the table of kinds cannot say.
//!
//! Messages are those of upstream's `field.Error`s word for word, since clients and tests match them. Every function
//! takes the decoded, defaulted object and returns all that is wrong; types are the concern of decoding, so a value of the
//! wrong type is passed over here.

pub(crate) mod addresses;
pub(crate) mod core;
pub(crate) mod declared;
pub(crate) mod diff;
pub(crate) mod field;
pub(crate) mod groups;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod objects;
pub(crate) mod pod;
pub(crate) mod resources;
pub(crate) mod signer;
pub(crate) mod storage;
mod web_url;

use std::collections::HashSet;

use kubewright_core::{FieldError, FieldErrorKind, FieldPath};
use serde_json::Value;

/// A field that may not change. Upstream: `FieldImmutableErrorMsg` in apimachinery.
const IMMUTABLE: &str = "field is immutable";
/// Upstream: `IsNegativeErrorMsg` in apimachinery.
const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// Adds what a second validator found, without what the first said already: upstream reports each fault of a field once,
/// and the words of the rule written for the kind win over those of a general one: what is wrong in another way is not told to be
/// unsupported too. What goes beyond [`MAX_ERRORS`] is left out.
pub(crate) fn merge(errors: &mut Vec<FieldError>, mut more: Vec<FieldError>) {
    errors.truncate(MAX_ERRORS);
    if more.is_empty() {
        return;
    }
    more.truncate(MAX_ERRORS);
    let mut known: HashSet<_> = errors.iter().map(identity).collect();
    let faulty: HashSet<_> = errors.iter().map(|error| &error.path).collect();
    let is_told =
        |error: &FieldError| error.kind == FieldErrorKind::NotSupported && faulty.contains(&error.path);
    let is_new = |error| !is_told(error) && known.insert(identity(error));
    let is_new: Vec<bool> = more.iter().map(is_new).collect();
    let new = more
        .into_iter()
        .zip(is_new)
        .filter_map(|(error, is_new)| is_new.then_some(error));
    errors.extend(new);
    errors.truncate(MAX_ERRORS);
}

/// Two errors with the same one tell of one fault.
fn identity(error: &FieldError) -> (FieldErrorKind, &FieldPath) {
    (error.kind, &error.path)
}

/// As many faults as one answer tells of. A body of a few megabytes has room for a million, and each is told of twice: in the
/// message and as a cause.
pub(crate) const MAX_ERRORS: usize = 1000;

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

/// Reports fields of the object at `pointer` that differ from the stored object.
fn immutable(errors: &mut Vec<FieldError>, new: &Value, old: &Value, pointer: &str) {
    let (new, old) = (
        super::value::pointer(new, pointer),
        super::value::pointer(old, pointer),
    );
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
