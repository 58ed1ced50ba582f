//! Kubernetes protobuf, both ways, driven by the table.
//!
//! A message on the wire is [`MAGIC`] and a `runtime.Unknown` envelope with the object's `apiVersion` and `kind`, and
//! the object as `raw` bytes (apimachinery `pkg/runtime/serializer/protobuf`).

mod decode;
mod encode;

pub use decode::{DecodeError, Decoded, decode};
pub use encode::{EncodeError, encode};

/// The first bytes of every stored or sent protobuf object.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// How deep messages may nest. The deepest built-in kinds need about 20; schemas in a CRD nest without a bound.
pub const MAX_DEPTH: usize = 100;
