//! What can be wrong with a YAML text, and where.

use std::fmt;

use crate::parse::Fault;

/// Why a text could not be read or written. [`Error`] adds the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not YAML at all.
    #[error("{message}")]
    Syntax {
        /// What the parser found.
        message: String,
    },
    /// A mapping names the same key twice.
    #[error("duplicate key {key:?} (first on line {first_line})")]
    DuplicateKey {
        /// The key, as JSON would spell it.
        key: String,
        /// The line of the first occurrence, from 1.
        first_line: usize,
    },
    /// A key that has no JSON spelling: null, a list or a mapping.
    #[error("{found} cannot be a key")]
    UnsupportedKey {
        /// What stands where the key should be.
        found: &'static str,
    },
    /// A scalar does not fit its explicit tag, or has no JSON spelling (`.nan`, `.inf`).
    #[error("cannot read {text:?} as {wanted}")]
    Scalar {
        /// The scalar as written.
        text: String,
        /// The wanted type.
        wanted: &'static str,
    },
    /// The value of a merge key `<<` is neither a mapping nor a list of mappings.
    #[error("a merge key needs a mapping or a list of mappings")]
    Merge,
    /// An alias stands inside the node that its anchor names.
    #[error("anchor '{name}' value contains itself")]
    RecursiveAnchor {
        /// The anchor.
        name: String,
    },
    /// An alias names an anchor that no node before it has.
    #[error("unknown anchor '{name}' referenced")]
    UnknownAnchor {
        /// The anchor.
        name: String,
    },
    /// A named limit of [`Limits`](crate::Limits) was reached.
    #[error("{what} above the limit of {limit}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// The limit that was in force.
        limit: usize,
    },
    /// The text holds several documents where one was wanted.
    #[error("more than one document")]
    SeveralDocuments,
    /// The bytes are not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// The text is valid YAML but does not fit the wanted type.
    #[error("{message}")]
    Type {
        /// What serde said.
        message: String,
    },
    /// The value cannot be written as YAML.
    #[error("cannot write YAML: {message}")]
    Write {
        /// What the writer said.
        message: String,
    },
}

/// A failure with its place: line and column (both from 1; 0 where there is none), the line's text with a
/// caret below the column, and a hint where one is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Box<ErrorKind>,
    line: usize,
    column: usize,
    snippet: Option<String>,
    hint: Option<&'static str>,
    /// What go-yaml would say, where it differs from what is said here.
    told: Option<String>,
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let at = Position {
            line: fault.mark.line + 1,
            column: fault.mark.column + 1,
        };
        let message = fault.why.to_owned();
        let mut error = Self::at(ErrorKind::Syntax { message }, at);
        if fault.why.contains("tab character") || fault.is_at_tab {
            error = error.with_hint("indent with spaces; YAML forbids tabs there");
        }
        error.told = Some(match fault.told_line() {
            0 => format!("yaml: {}", fault.why),
            line => format!("yaml: line {line}: {}", fault.why),
        });
        error
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self {
            kind: Box::new(kind),
            line: 0,
            column: 0,
            snippet: None,
            hint: None,
            told: None,
        }
    }

    pub(crate) fn at(kind: ErrorKind, at: Position) -> Self {
        Self::new(kind).or_at(at)
    }

    /// Gives the error a place unless an inner one is known already.
    pub(crate) fn or_at(mut self, at: Position) -> Self {
        if self.line == 0 {
            (self.line, self.column) = (at.line, at.column);
        }
        self
    }

    pub(crate) fn with_hint(mut self, hint: &'static str) -> Self {
        self.hint.get_or_insert(hint);
        self
    }

    pub(crate) fn with_snippet(mut self, text: &str) -> Self {
        if self.line > 0 && self.snippet.is_none() {
            self.snippet = snippet(text, self.line, self.column);
        }
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The line, from 1; 0 where the failure has no place.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column in characters, from 1; 0 where the failure has no place.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }

    /// The offending line and a caret below the column.
    #[must_use]
    pub fn snippet(&self) -> Option<&str> {
        self.snippet.as_deref()
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint
    }

    /// The failure in the words of go-yaml (go.yaml.in/yaml/v2), as a server gives them to clients.
    ///
    /// It tells the line only where that is not the first, and counts lines from one where a token is wrong, but from zero where
    /// tokens do not fit together.
    #[must_use]
    pub fn in_go_words(&self) -> String {
        match (&self.told, &*self.kind) {
            (Some(told), _) => told.clone(),
            (None, ErrorKind::Merge) => {
                "yaml: map merge requires map or sequence of maps as the value".to_owned()
            }
            (None, ErrorKind::Limit { what: DEPTH, limit }) => format!("yaml: exceeded max depth of {limit}"),
            (None, ErrorKind::Limit { .. }) => "yaml: document contains excessive aliasing".to_owned(),
            (None, ErrorKind::NotUtf8) => "yaml: invalid leading UTF-8 octet".to_owned(),
            (None, kind) => format!("yaml: {kind}"),
        }
    }

    /// The same, of a failure that go-yaml tells of in its own way.
    pub(crate) fn told(mut self, told: String) -> Self {
        self.told = Some(told);
        self
    }

    /// True when a size, depth or alias limit was reached.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(*self.kind, ErrorKind::Limit { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        write!(f, "{}", self.kind)?;
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        if let Some(hint) = self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ErrorKind::Type {
            message: message.to_string(),
        })
    }
}

/// What there is too much of where a text nests too deeply.
pub(crate) const DEPTH: &str = "nesting depth";

/// A place in a text, line and column from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Longest part of a line that a snippet shows, in characters.
const SNIPPET_WIDTH: usize = 120;

fn snippet(text: &str, line: usize, column: usize) -> Option<String> {
    let source = text.lines().nth(line - 1)?;
    // A one-line JSON text can be megabytes long: show the part around the column only.
    let skip = column.saturating_sub(SNIPPET_WIDTH / 2);
    let shown: String = source.chars().skip(skip).take(SNIPPET_WIDTH).collect();
    let gutter = line.to_string();
    let caret = " ".repeat(gutter.len() + 3 + column.saturating_sub(1).saturating_sub(skip));
    Some(format!("{gutter} | {}\n{caret}^", shown.replace('\t', " ")))
}
