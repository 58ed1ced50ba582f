//! From protobuf to JSON values.

use serde_json::Value as Json;

/// A decoded object.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// `apiVersion` from the envelope.
    pub api_version: String,
    /// `kind` from the envelope.
    pub kind: String,
    /// The object, with `apiVersion` and `kind` in it.
    pub value: Json,
}

/// Why bytes could not be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes do not start with [`MAGIC`](super::MAGIC).
    #[error("the data does not start with the prefix of Kubernetes protobuf")]
    NoMagic,
}

/// Decodes an object with its envelope.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let _ = bytes;
    Err(DecodeError::NoMagic)
}
