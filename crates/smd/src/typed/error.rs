//! Where a value does not fit its type.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use crate::go;

/// One place where a value does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The path of the value, as sets print it; empty for the root.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl Display for Mismatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// All places where a value does not fit its type, in upstream's words (structured-merge-diff `typed/helpers.go`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypeErrors(pub Vec<Mismatch>);

impl Display for TypeErrors {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let [one] = &*self.0 {
            return write!(f, "{one}");
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|one| write!(f, "\n  {one}"))
    }
}

impl std::error::Error for TypeErrors {}

impl TypeErrors {
    pub(super) fn push(&mut self, message: impl Into<String>) {
        self.0.push(Mismatch {
            path: String::new(),
            message: message.into(),
        });
    }

    /// Takes in the errors of a value below.
    pub(super) fn append(&mut self, element: &dyn Display, below: Self) {
        if below.0.is_empty() {
            return;
        }
        let element = element.to_string();
        self.0.extend(below.0.into_iter().map(|mut error| {
            error.path.insert_str(0, &element);
            error
        }));
    }

    /// Puts an element before the paths of the errors from `first` on.
    pub(super) fn prefix(&mut self, first: usize, element: &dyn Display) {
        if self.0.len() > first {
            let element = element.to_string();
            for error in &mut self.0[first..] {
                error.path.insert_str(0, &element);
            }
        }
    }

    pub(super) fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

/// A value as upstream's `%v` prints it: the structs around values show.
pub(super) fn shown(value: &Value) -> String {
    format!("&{{{}}}", go::Verb(value))
}

/// A value as upstream's `%#v` prints it.
pub(super) fn shown_as_source(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", go::Source(value))
}
