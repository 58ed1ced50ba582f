//! From JSON values to protobuf.

use serde_json::Value as Json;

/// Why an object could not be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The kind is not a built-in one.
    #[error("no built-in kind {kind} in {api_version}")]
    UnknownKind {
        /// The `apiVersion` asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
    },
}

/// Encodes an object with its envelope.
pub fn encode(api_version: &str, kind: &str, value: &Json) -> Result<Vec<u8>, EncodeError> {
    let _ = value;
    Err(EncodeError::UnknownKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })
}
