//! A place in an object: the value there and the path to it, which is rendered only for a message.
//!
//! Validators walk thousands of fields of which hardly one is wrong, so a path is a chain of borrowed steps instead of a text.
//! Reads see values as Go does: absent, `null` and the zero value are one thing, except to [`Field::exists`], which is a
//! comparison of a pointer with nil.

use std::collections::BTreeSet;

use kubewright_core::json::by_name;
use kubewright_core::{FieldError, FieldErrorKind, FieldPath, Quantity};
use serde_json::Value;

use super::super::value::is_zero;
use super::{IMMUTABLE, NOT_NEGATIVE};

/// What validators add their findings to.
pub(crate) type Errors = Vec<FieldError>;

/// A value and where it stands. `'p` is the life of the path, `'v` that of the object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'p, 'v> {
    /// The value; `null` where there is none.
    pub(crate) value: &'v Value,
    parent: Option<&'p Self>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    /// The start of a path, which may itself be long.
    Root(&'p str),
    Child(&'p str),
    Index(usize),
    Key(&'p str),
}

static NULL: Value = Value::Null;

impl<'p, 'v> Field<'p, 'v> {
    /// A field of `object`, named by a path of its own.
    pub(crate) fn root(path: &'p str, value: &'v Value) -> Self {
        Self {
            value,
            parent: None,
            step: Step::Root(path),
        }
    }

    /// A top-level field of an object.
    pub(crate) fn of(object: &'v Value, name: &'p str) -> Self {
        Self::root(name, object.get(name).unwrap_or(&NULL))
    }

    /// A field of this one, or of one further in: the names of several steps are joined by dots.
    pub(crate) fn get<'s>(&'s self, names: &'s str) -> Field<'s, 'v> {
        let mut names_in_turn = names.split('.');
        let value = names_in_turn.try_fold(self.value, |value, name| value.get(name));
        self.at(Step::Child(names), value.unwrap_or(&NULL))
    }

    /// An entry of this map.
    pub(crate) fn key<'s>(&'s self, key: &'s str) -> Field<'s, 'v> {
        self.at(Step::Key(key), self.value.get(key).unwrap_or(&NULL))
    }

    /// An item of this list.
    pub(crate) fn index(&self, index: usize) -> Field<'_, 'v> {
        self.at(Step::Index(index), self.value.get(index).unwrap_or(&NULL))
    }

    fn at<'s>(&'s self, step: Step<'s>, value: &'v Value) -> Field<'s, 'v> {
        Field {
            value,
            parent: Some(self),
            step,
        }
    }

    /// The same place with another value.
    pub(crate) fn with<'w>(&self, value: &'w Value) -> Field<'p, 'w>
    where
        'v: 'w,
    {
        Field {
            value,
            parent: self.parent,
            step: self.step,
        }
    }

    /// The items of this list.
    pub(crate) fn items<'s>(&'s self) -> impl ExactSizeIterator<Item = Field<'s, 'v>> {
        self.list()
            .iter()
            .enumerate()
            .map(move |(index, value)| self.at(Step::Index(index), value))
    }

    /// The entries of this map.
    pub(crate) fn entries<'s>(&'s self) -> impl Iterator<Item = (&'v str, Field<'s, 'v>)>
    where
        'v: 's,
    {
        let entries = self.value.as_object().into_iter().flat_map(by_name);
        entries.map(move |(key, value)| (key.as_str(), self.at(Step::Key(key), value)))
    }

    /// Whether there is anything but `null`.
    pub(crate) fn exists(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether there is anything but the zero value.
    pub(crate) fn is_set(&self) -> bool {
        !self.is_empty()
    }

    /// Whether there is nothing but the zero value.
    pub(crate) fn is_empty(&self) -> bool {
        is_zero(self.value)
    }

    /// The text, or the empty one.
    pub(crate) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The number, or zero.
    pub(crate) fn int(&self) -> i64 {
        self.value.as_i64().unwrap_or(0)
    }

    /// Whether this is `true`.
    pub(crate) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    /// The list, or an empty one.
    pub(crate) fn list(&self) -> &'v [Value] {
        self.value.as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The texts of a list.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        self.list().iter().map(|item| item.as_str().unwrap_or_default())
    }

    /// How many entries a list or map has.
    pub(crate) fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(entries) => entries.len(),
            _ => 0,
        }
    }

    /// The quantity, unless there is none that can be read.
    pub(crate) fn quantity(&self) -> Option<Quantity> {
        quantity(self.value)
    }

    /// The path as text.
    pub(crate) fn path(&self) -> FieldPath {
        match (self.parent, self.step) {
            (None, _) => FieldPath::new(match self.step {
                Step::Root(path) | Step::Child(path) | Step::Key(path) => path,
                Step::Index(_) => "",
            }),
            (Some(parent), Step::Child(name) | Step::Root(name)) => parent.path().child(name),
            (Some(parent), Step::Index(index)) => parent.path().index(index),
            (Some(parent), Step::Key(key)) => parent.path().key(key),
        }
    }

    /// Reports that the field must be set.
    pub(crate) fn required(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError::required(self.path(), detail));
    }

    /// Reports the field unless it is set; returns whether it is.
    pub(crate) fn must_be_set(&self, errors: &mut Errors) -> bool {
        if !self.is_set() {
            self.required(errors, "");
        }
        self.is_set()
    }

    /// Reports a malformed value.
    pub(crate) fn invalid(&self, errors: &mut Errors, detail: impl Into<String>) {
        self.invalid_as(errors, self.value.clone(), detail);
    }

    /// Reports a malformed value under another value than the one that is there.
    pub(crate) fn invalid_as(&self, errors: &mut Errors, value: impl Into<Value>, detail: impl Into<String>) {
        errors.push(FieldError::invalid(self.path(), value, detail));
    }

    /// Reports a malformed value without showing it.
    pub(crate) fn invalid_unshown(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError {
            bad_value: None,
            ..FieldError::invalid(self.path(), Value::Null, detail)
        });
    }

    /// Reports each message about the value that is there, or else about the empty text.
    pub(crate) fn invalid_each(&self, errors: &mut Errors, messages: Vec<String>) {
        for message in messages {
            self.invalid_as(errors, self.shown(), message);
        }
    }

    /// The value as messages show it that tell also of what is absent.
    fn shown(&self) -> Value {
        match self.value {
            Value::Null => "".into(),
            value => value.clone(),
        }
    }

    /// Reports a field that may not be set.
    pub(crate) fn forbidden(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError::forbidden(self.path(), detail));
    }

    /// Reports a value that was there before.
    pub(crate) fn duplicate(&self, errors: &mut Errors) {
        self.duplicate_as(errors, self.value.clone());
    }

    /// Reports a value that was there before, in other words than its own.
    pub(crate) fn duplicate_as(&self, errors: &mut Errors, value: impl Into<Value>) {
        errors.push(FieldError::duplicate(self.path(), value));
    }

    /// Reports a name of something that there is not.
    pub(crate) fn not_found(&self, errors: &mut Errors, detail: impl Into<String>) {
        errors.push(FieldError {
            kind: FieldErrorKind::NotFound,
            path: self.path(),
            bad_value: Some(self.text().into()),
            detail: detail.into(),
        });
    }

    /// Reports a text that is longer than `max` bytes.
    pub(crate) fn too_long(&self, errors: &mut Errors, max: usize) {
        errors.push(FieldError::too_long(self.path(), max));
    }

    /// Reports a value that is none of those known.
    pub(crate) fn not_supported(&self, errors: &mut Errors, supported: &[&str]) {
        errors.push(FieldError::not_supported(self.path(), self.shown(), supported));
    }

    /// The same, of another value than the one that is there.
    pub(crate) fn not_supported_as(&self, errors: &mut Errors, value: &str, supported: &[&str]) {
        errors.push(FieldError::not_supported(self.path(), value, supported));
    }

    /// Reports a text that is not one of `supported`; whatever is absent passes.
    pub(crate) fn one_of(&self, errors: &mut Errors, supported: &[&str]) {
        if self.exists() && !supported.contains(&self.text()) {
            self.not_supported(errors, supported);
        }
    }

    /// Reports a text that is absent or not one of `supported`.
    pub(crate) fn required_one_of(&self, errors: &mut Errors, supported: &[&str]) {
        self.check_choice(errors, supported, "");
    }

    /// Reports a text that is empty, under `missing`, or not one of `supported`.
    pub(crate) fn check_choice(&self, errors: &mut Errors, supported: &[&str], missing: &str) {
        if self.check_given(errors, missing) {
            self.one_of(errors, supported);
        }
    }

    /// Reports a text that is absent, though it may be empty, or not one of `supported`.
    pub(crate) fn check_present(&self, errors: &mut Errors, supported: &[&str]) {
        if !self.exists() {
            self.required(errors, "");
        }
        self.one_of(errors, supported);
    }

    /// Reports an empty text; returns whether there is one.
    pub(crate) fn check_given(&self, errors: &mut Errors, detail: &str) -> bool {
        let is_given = !self.text().is_empty();
        if !is_given {
            self.required(errors, detail);
        }
        is_given
    }

    /// Reports a text of more than `max` bytes; returns whether it fits.
    pub(crate) fn check_length(&self, errors: &mut Errors, max: usize) -> bool {
        let fits = self.text().len() <= max;
        if !fits {
            self.too_long(errors, max);
        }
        fits
    }

    /// Reports a list or map of more than `max` entries; returns whether it fits.
    pub(crate) fn check_count(&self, errors: &mut Errors, max: usize) -> bool {
        let count = self.len();
        if count > max {
            errors.push(FieldError::too_many(self.path(), count, max));
        }
        count <= max
    }

    /// Reports which of some fields of this object are negative.
    pub(crate) fn check_counters(&self, errors: &mut Errors, fields: &[&str]) {
        for field in fields {
            self.get(field).not_negative(errors);
        }
    }

    /// Reports a negative number.
    pub(crate) fn not_negative(&self, errors: &mut Errors) {
        if self.int() < 0 {
            self.invalid(errors, NOT_NEGATIVE);
        }
    }

    /// Reports a number outside a range, if there is a number.
    pub(crate) fn within(&self, errors: &mut Errors, range: std::ops::RangeInclusive<i64>) {
        if self.value.as_i64().is_some_and(|number| !range.contains(&number)) {
            self.invalid(errors, inclusive(&range));
        }
    }

    /// Checks the text by one of the rules in [`super::names`].
    pub(crate) fn checked(&self, errors: &mut Errors, check: impl Fn(&str) -> Vec<String>) {
        self.invalid_each(errors, check(self.text()));
    }

    /// The same, unless the text is empty.
    pub(crate) fn checked_if_set(&self, errors: &mut Errors, check: impl Fn(&str) -> Vec<String>) {
        if !self.text().is_empty() {
            self.checked(errors, check);
        }
    }

    /// The same; an empty text is reported as missing.
    pub(crate) fn required_checked(&self, errors: &mut Errors, check: impl Fn(&str) -> Vec<String>) {
        if self.must_be_set(errors) {
            self.checked(errors, check);
        }
    }

    /// Reports a value that differs from the one it had.
    pub(crate) fn immutable(&self, errors: &mut Errors, old: &Field<'_, '_>) {
        if !self.same(old) {
            self.invalid(errors, IMMUTABLE);
        }
    }

    /// The same where upstream declares it by a tag: it does not tell the new value then.
    pub(crate) fn check_unchanged_declared(&self, errors: &mut Errors, old: &Field<'_, '_>) {
        if !self.same(old) {
            self.invalid_as(errors, Value::Null, IMMUTABLE);
        }
    }

    /// Reports which of some fields of this object differ from before.
    pub(crate) fn check_fixed(&self, errors: &mut Errors, old: &Field<'_, '_>, fields: &[&str]) {
        for field in fields {
            self.get(field).immutable(errors, &old.get(field));
        }
    }

    /// Reports an internal error of upstream: data that its conversion should not have let through.
    pub(crate) fn internal(&self, errors: &mut Errors, detail: &str) {
        errors.push(FieldError::internal(self.path(), detail));
    }

    /// Whether two fields hold the same, as [`super::super::value::semantically_equal`] has it.
    pub(crate) fn same(&self, other: &Field<'_, '_>) -> bool {
        super::super::value::semantically_equal(Some(self.value), Some(other.value))
    }
}

/// What is said of a number outside a range (`InclusiveRangeError` in apimachinery).
pub(crate) fn inclusive(range: &std::ops::RangeInclusive<i64>) -> String {
    format!("must be between {} and {}, inclusive", range.start(), range.end())
}

/// A quantity as JSON has it: a text or a number.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// Reports the second and later uses of a name; returns whether it is new.
pub(crate) fn unique<'v>(errors: &mut Errors, seen: &mut BTreeSet<&'v str>, field: &Field<'_, 'v>) -> bool {
    let is_new = seen.insert(field.text());
    if !is_new {
        field.duplicate(errors);
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_and_values() {
        let object = json!({"spec": {"a": [{"b": "x"}], "m": {"k/v": 1}}});
        let spec = Field::of(&object, "spec");
        let (a, m) = (spec.get("a"), spec.get("m"));
        let paths: Vec<String> = a.items().map(|item| item.get("b").path().to_string()).collect();
        assert_eq!(paths, ["spec.a[0].b"]);
        let entries: Vec<(&str, String, i64)> = m
            .entries()
            .map(|(key, entry)| (key, entry.path().to_string(), entry.int()))
            .collect();
        assert_eq!(entries, [("k/v", "spec.m[k/v]".to_owned(), 1)]);
        assert!(!spec.get("c").get("d").exists());
        let mut errors = Errors::new();
        spec.get("c").get("d").required(&mut errors, "");
        a.index(0).get("b").one_of(&mut errors, &["y"]);
        a.index(0).get("b").within(&mut errors, 1..=2);
        m.key("k/v").within(&mut errors, 2..=3);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "spec.c.d: Required value",
                "spec.a[0].b: Unsupported value: \"x\": supported values: \"y\"",
                "spec.m[k/v]: Invalid value: 1: must be between 2 and 3, inclusive",
            ]
        );
    }
}
