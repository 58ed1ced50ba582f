//! A value within an object, together with the way to it: what most rules of the groups read and report on.

use kubewright_core::{FieldError, FieldErrorKind, FieldPath};
use serde_json::Value;

use super::super::super::value::{is_zero, semantically_equal};
use super::super::{IMMUTABLE, NOT_NEGATIVE};

/// What is wrong with an object.
pub(super) type Errors = Vec<FieldError>;

/// A value and the steps that lead to it. The path is put together when something is wrong, not before: a valid object pays
/// for looking alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'v, 'p> {
    value: &'v Value,
    up: Option<&'p Self>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Index(usize),
    Key(&'p str),
}

static NULL: Value = Value::Null;

impl<'v, 'p> Node<'v, 'p> {
    /// The object itself.
    pub(super) fn root(value: &'v Value) -> Self {
        Self {
            value,
            up: None,
            step: Step::Root,
        }
    }

    /// A field of this object; null if it is absent. Several steps may be joined by dots.
    pub(super) fn get<'b>(&'b self, field: &'b str) -> Node<'v, 'b> {
        Node {
            value: field
                .split('.')
                .try_fold(self.value, |value, field| value.get(field))
                .unwrap_or(&NULL),
            up: Some(self),
            step: Step::Field(field),
        }
    }

    /// The elements of this list.
    pub(super) fn items<'b>(&'b self) -> impl ExactSizeIterator<Item = Node<'v, 'b>> {
        self.list().iter().enumerate().map(move |(index, value)| Node {
            value,
            up: Some(self),
            step: Step::Index(index),
        })
    }

    /// The entries of this map.
    pub(super) fn entries<'b>(&'b self) -> impl Iterator<Item = (&'v str, Node<'v, 'b>)> {
        self.value
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(key, value)| {
                let node = Node {
                    value,
                    up: Some(self),
                    step: Step::Key(key),
                };
                (key.as_str(), node)
            })
    }

    /// An entry of this map.
    pub(super) fn key<'b>(&'b self, key: &'b str) -> Node<'v, 'b> {
        Node {
            value: self.value.get(key).unwrap_or(&NULL),
            up: Some(self),
            step: Step::Key(key),
        }
    }

    pub(super) fn value(&self) -> &'v Value {
        self.value
    }

    /// The elements of this list; none if it is no list.
    pub(super) fn list(&self) -> &'v [Value] {
        self.value.as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// This text, empty if it is none.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// This number, if it is one.
    pub(super) fn int(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// This number, zero if it is none.
    pub(super) fn number(&self) -> i64 {
        self.int().unwrap_or(0)
    }

    pub(super) fn is_true(&self) -> bool {
        self.value.as_bool() == Some(true)
    }

    /// Whether it is absent: a nil pointer in Go.
    pub(super) fn is_nil(&self) -> bool {
        self.value.is_null()
    }

    /// Whether it is there, be it empty.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether it is absent or the zero value of its type.
    pub(super) fn is_empty(&self) -> bool {
        is_zero(self.value)
    }

    pub(super) fn path(&self) -> FieldPath {
        let up = self.up.map(Node::path).unwrap_or_default();
        match self.step {
            Step::Root => up,
            Step::Field(field) => up.child(field),
            Step::Index(index) => up.index(index),
            Step::Key(key) => up.key(key),
        }
    }

    /// Whether two values are the same to Go (see [`semantically_equal`]).
    pub(super) fn equals(&self, other: &Node<'_, '_>) -> bool {
        semantically_equal(Some(self.value), Some(other.value))
    }

    /// The value is malformed.
    pub(super) fn invalid(&self, errors: &mut Errors, detail: impl Into<String>) {
        self.invalid_as(errors, self.value.clone(), detail);
    }

    /// The same, telling of another value than the one found.
    pub(super) fn invalid_as(&self, errors: &mut Errors, value: impl Into<Value>, detail: impl Into<String>) {
        errors.push(FieldError::invalid(self.path(), value, detail));
    }

    /// The same, without the value.
    pub(super) fn invalid_unshown(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError {
            bad_value: None,
            ..FieldError::invalid(self.path(), Value::Null, detail)
        });
    }

    /// Every message tells of the value.
    pub(super) fn invalid_each(&self, errors: &mut Errors, messages: Vec<String>) {
        for message in messages {
            self.invalid(errors, message);
        }
    }

    pub(super) fn required(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError::required(self.path(), detail));
    }

    pub(super) fn forbidden(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError::forbidden(self.path(), detail));
    }

    pub(super) fn duplicate(&self, errors: &mut Errors) {
        errors.push(FieldError::duplicate(self.path(), self.value.clone()));
    }

    pub(super) fn not_supported(&self, errors: &mut Errors, supported: &[&str]) {
        errors.push(FieldError::not_supported(
            self.path(),
            self.value.clone(),
            supported,
        ));
    }

    /// The text is none of these, which is told of an absent one too.
    pub(super) fn invalid_type(&self, errors: &mut Errors, supported: &[&str]) {
        errors.push(FieldError::not_supported(self.path(), self.text(), supported));
    }

    /// A value that is not the node's own is none of these.
    pub(super) fn unsupported_as(&self, errors: &mut Errors, value: &str, supported: &[&str]) {
        errors.push(FieldError::not_supported(self.path(), value, supported));
    }

    /// Whether the text is at most `max` bytes long; reported if not.
    pub(super) fn check_length(&self, errors: &mut Errors, max: usize) -> bool {
        let fits = self.text().len() <= max;
        if !fits {
            errors.push(FieldError::too_long(self.path(), max));
        }
        fits
    }

    /// Whether the list or map has at most `max` entries; reported if not.
    pub(super) fn check_count(&self, errors: &mut Errors, max: usize) -> bool {
        let count = match self.value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        if count > max {
            errors.push(FieldError::too_many(self.path(), count, max));
        }
        count <= max
    }

    /// Whether the text is there; required if not.
    pub(super) fn check_given(&self, errors: &mut Errors, detail: &str) -> bool {
        let is_given = !self.text().is_empty();
        if !is_given {
            self.required(errors, detail);
        }
        is_given
    }

    /// A number that is not below zero, if it is there.
    pub(super) fn check_not_negative(&self, errors: &mut Errors) {
        if self.number() < 0 {
            self.invalid(errors, NOT_NEGATIVE);
        }
    }

    /// The same for some fields of this object.
    pub(super) fn check_counters(&self, errors: &mut Errors, fields: &[&str]) {
        for field in fields {
            self.get(field).check_not_negative(errors);
        }
    }

    /// The text, if it is there, is one of these.
    pub(super) fn check_one_of(&self, errors: &mut Errors, supported: &[&str]) {
        if self.is_set() && !supported.contains(&self.text()) {
            self.not_supported(errors, supported);
        }
    }

    /// The text is there and one of these.
    pub(super) fn check_choice(&self, errors: &mut Errors, supported: &[&str], missing: &str) {
        if self.check_given(errors, missing) {
            self.check_one_of(errors, supported);
        }
    }

    /// The text is there, if only as an empty one, and one of these.
    pub(super) fn check_present(&self, errors: &mut Errors, supported: &[&str]) {
        if self.is_nil() {
            self.required(errors, "");
        }
        self.check_one_of(errors, supported);
    }

    /// The value is the same as before.
    pub(super) fn check_unchanged(&self, errors: &mut Errors, old: &Node<'_, '_>) {
        if !self.equals(old) {
            self.invalid(errors, IMMUTABLE);
        }
    }

    /// The same where upstream declares it by a tag: it does not tell the new value then.
    pub(super) fn check_unchanged_declared(&self, errors: &mut Errors, old: &Node<'_, '_>) {
        if !self.equals(old) {
            self.invalid_as(errors, Value::Null, IMMUTABLE);
        }
    }

    /// Some fields of this object are the same as before.
    pub(super) fn check_fixed(&self, errors: &mut Errors, old: &Node<'_, '_>, fields: &[&str]) {
        for field in fields {
            self.get(field).check_unchanged(errors, &old.get(field));
        }
    }

    /// An internal error of upstream: data that its conversion should not have let through.
    pub(super) fn internal(&self, errors: &mut Errors, detail: &str) {
        errors.push(FieldError {
            kind: FieldErrorKind::Internal,
            bad_value: None,
            ..FieldError::invalid(self.path(), Value::Null, detail)
        });
    }
}
