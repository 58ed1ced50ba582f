//! Forgiving reads of JSON: an absent field, a null and a field of another type all read as the zero value, which is
//! what the typed objects of upstream's printers hold in those cases.

use jiff::Timestamp;
use serde_json::Value;

use super::format::{age, parse_time};
use crate::builtin::value::pointer;

/// One object on its way to a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// The object in its served version.
    pub(super) object: &'a Value,
    /// When the table is made.
    pub(super) now: Timestamp,
}

impl<'a> Row<'a> {
    /// The cell of the name.
    pub(super) fn name(&self) -> Value {
        self.text("/metadata/name").into()
    }

    /// The cell of the age.
    pub(super) fn age(&self) -> Value {
        self.since("/metadata/creationTimestamp").into()
    }

    /// Time since the instant at `path`, `<unknown>` without one.
    pub(super) fn since(&self, path: &str) -> String {
        age(parse_time(self.text(path)), self.now)
    }

    /// The string at `path`, else an empty one.
    pub(super) fn text(&self, path: &str) -> &'a str {
        text(self.object, path)
    }

    /// The integer at `path`, else 0.
    pub(super) fn int(&self, path: &str) -> i64 {
        int(self.object, path)
    }

    /// The boolean at `path`, else false.
    pub(super) fn flag(&self, path: &str) -> bool {
        flag(self.object, path)
    }

    /// The elements of the array at `path`, else none.
    pub(super) fn items(&self, path: &str) -> &'a [Value] {
        items(self.object, path)
    }

    /// The value at `path` unless it is null.
    pub(super) fn get(&self, path: &str) -> Option<&'a Value> {
        get(self.object, path)
    }

    /// The annotation `key`, else an empty string.
    pub(super) fn annotation(&self, key: &str) -> &'a str {
        self.get("/metadata/annotations")
            .and_then(|annotations| annotations.get(key)?.as_str())
            .unwrap_or_default()
    }

    /// Whether the object is being deleted.
    pub(super) fn deleting(&self) -> bool {
        self.get("/metadata/deletionTimestamp").is_some()
    }
}

/// The value at a JSON pointer unless it is null.
pub(super) fn get<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    pointer(value, path).filter(|value| !value.is_null())
}

/// The string at a JSON pointer, else an empty one.
pub(super) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    pointer(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The integer at a JSON pointer, else 0.
pub(super) fn int(value: &Value, path: &str) -> i64 {
    pointer(value, path).and_then(Value::as_i64).unwrap_or_default()
}

/// The boolean at a JSON pointer, else false.
pub(super) fn flag(value: &Value, path: &str) -> bool {
    pointer(value, path).and_then(Value::as_bool).unwrap_or_default()
}

/// The elements of the array at a JSON pointer, else none.
pub(super) fn items<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    pointer(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// `text`, or `fallback` where it is empty.
pub(super) fn or<'a>(text: &'a str, fallback: &'a str) -> &'a str {
    if text.is_empty() { fallback } else { text }
}
