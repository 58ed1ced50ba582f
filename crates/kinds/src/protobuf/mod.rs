//! Kubernetes protobuf, both ways, driven by the table.
//!
//! An object on the wire is [`MAGIC`] and a `runtime.Unknown` envelope with its `apiVersion` and `kind`, and the object
//! as `raw` bytes (apimachinery `pkg/runtime/serializer/protobuf`). Events of a watch have no envelope of their own, but
//! the object inside them has: [`encode_watch_event`] and [`decode_watch_event`] take and give it as bytes.
//!
//! Values are what Go's JSON encoder would make of the same object. Upstream's generated encoder writes every field
//! that is no pointer, zero or not; so [`decode`] drops the zeros that Go's `omitempty` drops and keeps the others
//! ([`Presence`](crate::Presence)), and [`encode`] writes them all, in the order of their tags, maps in the order of
//! their keys. What Go encodes, this codec encodes to the same bytes, embedded JSON aside.

mod decode;
mod encode;
mod envelope;
mod time;
mod versionless;
mod wire;

pub use decode::{DecodeError, Decoded, decode, decode_message};
pub use encode::{EncodeError, encode, encode_message};
pub use envelope::{
    Envelope, decode_watch_event, encode_list, encode_watch_event, open_envelope, seal_envelope,
};
pub use versionless::{Versionless, seal_list};

use crate::{Type, table};

/// The first bytes of every stored or sent protobuf object.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// How deep messages may nest. Built-in kinds need about 20 levels; only schemas in a custom resource definition nest
/// without a bound of their own.
pub const MAX_DEPTH: usize = 100;

/// How many zero values [`decode`] adds to an object for fields that the sender left out, beyond one for each byte of
/// input. Go writes these fields, so real objects need few; the bound keeps empty messages from growing without limit.
pub const MAX_ADDED_ZEROS: usize = 4096;

/// The type that the unions of `apiextensions.k8s.io` hold.
fn schema_type() -> Option<&'static Type> {
    table().type_named("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
}

/// The type of a built-in kind by its `apiVersion`.
fn type_of(api_version: &str, kind: &str) -> Option<&'static Type> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    table().kind(group, version, kind)
}
