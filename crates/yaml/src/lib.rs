//! YAML as kubectl reads and writes it.
//!
//! kubectl reads YAML through `sigs.k8s.io/yaml`: a fork of goyaml.v2 turns the text into JSON, and JSON becomes
//! the object. So `yes` is a boolean, `0644` is 420, `1.0` reaches an integer field, timestamps stay strings and
//! a key `5` is the string `"5"`. This crate gives the same values, rejects duplicate keys unless told to report
//! them, and says line and column when something is wrong. What it writes reads back the same with every YAML
//! reader: strings that any of them would take for something else are quoted.
//!
//! It is not a general YAML library: what JSON cannot hold (null keys, `.nan`) is an error, and comments are
//! dropped. It is made for manifests, not for a data path.
//!
//! ```
//! # use std::error::Error;
//! # fn main() -> Result<(), Box<dyn Error>> {
//! use std::collections::BTreeMap;
//!
//! let data: BTreeMap<String, u32> = kubewright_yaml::from_str("mode: 0644\nreplicas: 3\n")?;
//! assert_eq!(data["mode"], 420);
//!
//! let stream = "kind: A\n---\n# nothing here\n---\nkind: B\n";
//! let kinds: Result<Vec<_>, _> = kubewright_yaml::documents(stream).map(|d| d.map(|d| d["kind"].clone())).collect();
//! assert_eq!(kinds?, ["A", "B"]);
//!
//! let label = BTreeMap::from([("enabled", "yes")]);
//! assert_eq!(kubewright_yaml::to_string(&label)?, "enabled: \"yes\"\n");
//!
//! let error = kubewright_yaml::from_str::<BTreeMap<String, String>>("name: on\n").unwrap_err();
//! assert_eq!((error.line(), error.column()), (1, 7));
//! assert_eq!(error.hint(), Some("quote the value to make it a string"));
//! # Ok(())
//! # }
//! ```

mod compose;
mod de;
mod emit;
mod error;
mod natural;
mod parse;
mod resolve;
mod scan;
mod ser;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;

use crate::compose::{Composed, Composer, Value};
pub use crate::error::{Error, ErrorKind};
pub use crate::ser::{json_to_string, to_string, to_string_multi};

/// How a text is read. The default is kubectl's strict reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// What to do about a key that a mapping names twice. Default: [`DuplicateKeys::Reject`].
    pub duplicate_keys: DuplicateKeys,
    /// Bounds on what one text may hold.
    pub limits: Limits,
}

/// What to do about a key that a mapping names twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// Fail, as `yaml.UnmarshalStrict` does.
    #[default]
    Reject,
    /// Keep the last value and list the key in [`Document::duplicates`], as a server does that only warns.
    KeepLast,
}

/// Bounds on one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a text. Default: 3 MiB, the API server's limit for a request body.
    pub bytes: usize,
    /// Deepest nesting of lists and mappings, aliases filled in. Default: 100. Reading recurses, so a value above a few hundred needs
    /// a larger stack.
    pub depth: usize,
    /// Most nodes that the aliases of one document may add up to, and most that may be kept for them (a node counts
    /// once for each anchor on it or above it). Default: 100,000.
    pub alias_nodes: usize,
    /// Most bytes of keys and strings that the aliases of one document may add up to, and most that may be kept for them. Default: 3 MiB,
    /// as much as a text may have.
    pub alias_bytes: usize,
}

impl Limits {
    /// The default limits.
    pub const DEFAULT: Self = Self {
        bytes: 3 << 20,
        depth: 100,
        alias_nodes: 100_000,
        alias_bytes: 3 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What the document says, as JSON.
    pub value: serde_json::Value,
    /// The line on which the document's content starts, from 1.
    pub line: usize,
    /// Keys that were named twice; empty unless [`DuplicateKeys::KeepLast`] was asked for.
    pub duplicates: Vec<DuplicateKey>,
}

/// A key that its mapping named before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DuplicateKey {
    /// The key.
    pub key: String,
    /// The key as Go spells it: a string in quotes, anything else without.
    pub spelling: String,
    /// The line of the later occurrence, from 1.
    pub line: usize,
    /// The column of the later occurrence, from 1.
    pub column: usize,
    /// The line of the earlier occurrence.
    pub first_line: usize,
    /// The line of the later value, which is the one that go-yaml names.
    pub value_line: usize,
}

/// Reads a text with one document.
///
/// An empty text reads as null.
///
/// # Errors
///
/// When the text is not YAML, holds more than one document or does not fit `T`.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    from_str_with(text, &Options::default())
}

/// Reads a UTF-8 text with one document.
///
/// # Errors
///
/// As [`from_str`], and when the bytes are not UTF-8.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    from_str(utf8(bytes)?)
}

/// Reads a text with one document, with settings.
///
/// # Errors
///
/// As [`from_str`].
pub fn from_str_with<T: DeserializeOwned>(text: &str, options: &Options) -> Result<T, Error> {
    let mut composed = Composed::documents(text, options);
    let Some(first) = composed.next() else {
        return T::deserialize(serde_json::Value::Null).map_err(serde::de::Error::custom);
    };
    let first = first?;
    if let Some(second) = composed.next() {
        let at = second?.root.at;
        return Err(Error::at(ErrorKind::SeveralDocuments, at)
            .with_hint("split the text at `---`, or read it as a stream")
            .with_snippet(text));
    }
    T::deserialize(first.root).map_err(|e| e.with_snippet(text))
}

/// Reads every document of a stream into `T`. Empty documents are skipped.
///
/// # Errors
///
/// As [`from_str`], for the first document that fails.
pub fn from_str_multi<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    let options = Options::default();
    Composed::documents(text, &options)
        .map(|document| T::deserialize(document?.root).map_err(|e| e.with_snippet(text)))
        .collect()
}

/// The documents of a stream, as JSON. Empty documents are skipped; the first failure ends the stream.
pub fn documents(text: &str) -> impl Iterator<Item = Result<serde_json::Value, Error>> {
    static STRICT: Options = Options {
        duplicate_keys: DuplicateKeys::Reject,
        limits: Limits::DEFAULT,
    };
    documents_with(text, &STRICT).map(|document| document.map(|document| document.value))
}

/// The documents of a stream with their lines and duplicate keys. Empty documents are skipped; the first failure
/// ends the stream.
pub fn documents_with<'a>(
    text: &'a str,
    options: &'a Options,
) -> impl Iterator<Item = Result<Document, Error>> + use<'a> {
    Composed::documents(text, options).map(|document| {
        let Composed { root, duplicates } = document?;
        Ok(Document {
            line: root.at.line,
            value: root.into_json(),
            duplicates,
        })
    })
}

/// Reads bytes that are either JSON or YAML, told apart as kubectl does: JSON starts with `{`.
///
/// JSON is read as JSON, so its numbers and duplicate keys follow `serde_json`; when that fails, the text is tried
/// as YAML, which has flow mappings that look like JSON.
///
/// # Errors
///
/// As [`from_slice`].
pub fn json_or_yaml<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    if bytes.len() <= Limits::DEFAULT.bytes
        && bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return Ok(value);
    }
    from_slice(bytes)
}

impl Composed {
    /// Composes the documents that are not empty.
    fn documents<'a>(
        text: &'a str,
        options: &'a Options,
    ) -> impl Iterator<Item = Result<Self, Error>> + use<'a> {
        let too_long = text.len() > options.limits.bytes;
        let mut composer = Some(Composer::new(if too_long { "" } else { text }, options));
        std::iter::from_fn(move || {
            if too_long {
                composer.take()?;
                let limit = options.limits.bytes;
                return Some(Err(Error::new(ErrorKind::Limit {
                    what: "bytes of text",
                    limit,
                })));
            }
            loop {
                match composer.as_mut()?.next_document() {
                    Ok(None) => return None,
                    Ok(Some(document)) if matches!(document.root.value, Value::Null) => {}
                    Ok(Some(document)) => return Some(Ok(document)),
                    Err(error) => {
                        composer = None;
                        return Some(Err(error.with_snippet(text)));
                    }
                }
            }
        })
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Error::at(ErrorKind::NotUtf8, error::Position { line, column })
            .with_hint("save the file as UTF-8; secrets belong base64-encoded in `data`")
    })
}
