//! Errors of single fields, in the words of apimachinery's `field.Error` (pkg/util/validation/field/errors.go).

use std::fmt;

use serde_json::Value;

use crate::{StatusCause, go_json};

/// A path to a field: `spec.containers[0].name`, `metadata.labels[app.kubernetes.io/name]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(String);

impl FieldPath {
    /// The object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path that begins at a top-level field.
    pub fn new(field: impl Into<String>) -> Self {
        Self(field.into())
    }

    /// A field of this one.
    #[must_use]
    pub fn child(&self, field: &str) -> Self {
        if self.0.is_empty() {
            Self(field.to_owned())
        } else {
            Self([&*self.0, ".", field].concat())
        }
    }

    /// An element of this list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of this map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self([&*self.0, "[", key, "]"].concat())
    }

    /// The path as text; upstream prints `<nil>` for the object itself.
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "<nil>" } else { &self.0 }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with a field. The names on the wire are those of `field.ErrorType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// A value that must be there is not.
    Required,
    /// Two values that must differ are the same.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is none of those known.
    NotSupported,
    /// The value is not allowed here, or not now.
    Forbidden,
    /// The value is longer than allowed.
    TooLong,
    /// The list has more elements than allowed.
    TooMany,
    /// The list has fewer elements than needed.
    TooFew,
    /// The value has the wrong type.
    TypeInvalid,
    /// What the value refers to does not exist.
    NotFound,
    /// The server failed.
    Internal,
}

impl FieldErrorKind {
    /// The reason in a `StatusCause`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            // Upstream prints both alike.
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }
}

/// One field that is wrong. Prints as upstream does: `spec.replicas: Invalid value: -1: must be …`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What is wrong.
    pub kind: FieldErrorKind,
    /// Which field.
    pub path: FieldPath,
    /// The value found, where the message shows it.
    pub bad_value: Option<Value>,
    /// Why, and what would be right.
    pub detail: String,
}

impl FieldError {
    /// The server cannot give the field a value, or do what it asks for.
    pub fn internal(path: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Internal,
            path,
            bad_value: None,
            detail: detail.into(),
        }
    }

    /// The field must be set.
    pub fn required(path: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Required,
            path,
            bad_value: None,
            detail: detail.into(),
        }
    }

    /// The value occurs twice.
    pub fn duplicate(path: FieldPath, value: impl Into<Value>) -> Self {
        Self {
            kind: FieldErrorKind::Duplicate,
            path,
            bad_value: Some(value.into()),
            detail: String::new(),
        }
    }

    /// The value is malformed.
    pub fn invalid(path: FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Invalid,
            path,
            bad_value: Some(value.into()),
            detail: detail.into(),
        }
    }

    /// The value has the wrong type.
    pub fn type_invalid(path: FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::TypeInvalid,
            path,
            bad_value: Some(value.into()),
            detail: detail.into(),
        }
    }

    /// The value is none of `supported`.
    pub fn not_supported(path: FieldPath, value: impl Into<Value>, supported: &[impl AsRef<str>]) -> Self {
        let mut detail = String::new();
        for (i, one) in supported.iter().enumerate() {
            detail.push_str(if i == 0 { "supported values: " } else { ", " });
            detail.push_str(&Value::from(one.as_ref()).to_string());
        }
        Self {
            kind: FieldErrorKind::NotSupported,
            path,
            bad_value: Some(value.into()),
            detail,
        }
    }

    /// The field may not be set, or not changed.
    pub fn forbidden(path: FieldPath, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Forbidden,
            path,
            bad_value: None,
            detail: detail.into(),
        }
    }

    /// The value is longer than `max` bytes.
    pub fn too_long(path: FieldPath, max: usize) -> Self {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {bytes}");
        Self {
            kind: FieldErrorKind::TooLong,
            path,
            bad_value: None,
            detail,
        }
    }

    /// The list has `actual` elements, more than `max`.
    pub fn too_many(path: FieldPath, actual: usize, max: usize) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {items}");
        Self {
            kind: FieldErrorKind::TooMany,
            path,
            bad_value: Some(actual.into()),
            detail,
        }
    }

    /// The message without the path: what stands in a `StatusCause`.
    pub fn body(&self) -> String {
        let mut text = self.kind.words().to_owned();
        match (&self.bad_value, self.kind) {
            (_, FieldErrorKind::Required | FieldErrorKind::Forbidden | FieldErrorKind::TooLong)
            | (None, _) => {}
            (Some(value), _) => {
                text.push_str(": ");
                // Upstream quotes texts as Go does, and prints other values as Go's JSON.
                match value {
                    Value::String(value) => go_quote(&mut text, value),
                    other => text.push_str(&go_json(other)),
                }
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    /// The same as part of a `Status`.
    pub fn to_cause(&self) -> StatusCause {
        StatusCause {
            reason: self.kind.reason().to_owned(),
            message: self.body(),
            field: self.path.as_str().to_owned(),
        }
    }
}

/// A text as Go's `%q` quotes it (strconv `Quote`), but that every character above U+00A0 counts as printable.
pub(crate) fn go_quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\0'..='\u{1f}' | '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            '\u{80}'..='\u{a0}' | '\u{ad}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            other => out.push(other),
        }
    }
    out.push('"');
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl std::error::Error for FieldError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let spec = FieldPath::new("spec");
        for (error, expect) in [
            (
                FieldError::required(spec.child("selector"), ""),
                "spec.selector: Required value",
            ),
            (
                FieldError::invalid(spec.child("replicas"), -1, "must be greater than or equal to 0"),
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                FieldError::not_supported(spec.child("type"), "x", &["A", "B"]),
                "spec.type: Unsupported value: \"x\": supported values: \"A\", \"B\"",
            ),
            (
                FieldError::duplicate(spec.child("ports").index(1).child("name"), "http"),
                "spec.ports[1].name: Duplicate value: \"http\"",
            ),
            (
                FieldError::forbidden(FieldPath::root(), "no"),
                "<nil>: Forbidden: no",
            ),
            (
                FieldError::too_long(FieldPath::new("metadata").child("labels").key("a/b"), 63),
                "metadata.labels[a/b]: Too long: may not be more than 63 bytes",
            ),
        ] {
            assert_eq!(error.to_string(), expect);
        }
    }
}
