//! Envelopes and lists around objects that are encoded already.
//!
//! A server that keeps objects in their wire form answers a list without encoding any of them again: the items of a
//! list are bare messages, which is what an envelope holds.

use serde_json::Value as Json;

use super::decode::{DecodeError, raw_bytes, type_meta_of};
use super::encode::{EncodeError, encode_message};
use super::wire::{Malformed, Reader, WireType, Writer};
use super::{MAGIC, type_of};
use crate::table;

/// What an envelope holds, undecoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Envelope<'a> {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// `kind` of the object.
    pub kind: String,
    /// The object as a bare message.
    pub raw: &'a [u8],
}

/// Opens an envelope. The object inside is not looked at.
pub fn open_envelope(bytes: &[u8]) -> Result<Envelope<'_>, DecodeError> {
    let body = bytes.strip_prefix(&MAGIC).ok_or(DecodeError::NoMagic)?;
    let mut reader = Reader::new(body);
    let (mut type_meta, mut raw) = (&[][..], &[][..]);
    while !reader.is_empty() {
        match reader.key().map_err(malformed)? {
            (1, WireType::Length) => type_meta = reader.bytes().map_err(malformed)?,
            (2, WireType::Length) => raw = reader.bytes().map_err(malformed)?,
            (_, other) => reader.skip(other).map_err(malformed)?,
        }
    }
    let (api_version, kind) = type_meta_of(type_meta)?;
    Ok(Envelope {
        api_version,
        kind,
        raw,
    })
}

/// Puts a bare message into an envelope.
pub fn seal_envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    end_envelope(&mut out);
    out.bytes_field(2, raw);
    start_envelope(&mut out, api_version, kind);
    out.into_bytes()
}

/// Encodes a list, envelope and all, from items that are bare messages already. `kind` is the list's, such as `PodList`;
/// `metadata` its `ListMeta`.
pub fn encode_list<'a, I>(
    api_version: &str,
    kind: &str,
    metadata: &Json,
    items: I,
) -> Result<Vec<u8>, EncodeError>
where
    I: IntoIterator<Item = &'a [u8]>,
    I::IntoIter: DoubleEndedIterator,
{
    let ListParts {
        items_tag,
        metadata_tag,
        metadata,
    } = list_parts(api_version, kind, metadata)?;
    let mut out = Writer::default();
    end_envelope(&mut out);
    let before = out.len();
    for item in items.into_iter().rev() {
        out.bytes_field(items_tag, item);
    }
    out.bytes_field(metadata_tag, &metadata);
    out.end_message(2, out.len() - before);
    start_envelope(&mut out, api_version, kind);
    Ok(out.into_bytes())
}

/// What a list consists of besides its items.
pub(super) struct ListParts {
    pub(super) items_tag: u32,
    pub(super) metadata_tag: u32,
    /// The `ListMeta` as a bare message.
    pub(super) metadata: Vec<u8>,
}

/// The parts of a list of this kind.
pub(super) fn list_parts(api_version: &str, kind: &str, metadata: &Json) -> Result<ListParts, EncodeError> {
    let unknown = || EncodeError::UnknownKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    };
    let list = type_of(api_version, kind).ok_or_else(unknown)?;
    let items_tag = list.field("items").ok_or_else(unknown)?.tag;
    let metadata_tag = list.field("metadata").ok_or_else(unknown)?.tag;
    let list_meta = table()
        .type_named("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")
        .ok_or_else(unknown)?;
    let metadata = encode_message(list_meta, metadata).map_err(|e| e.within(|| "metadata".to_owned()))?;
    Ok(ListParts {
        items_tag,
        metadata_tag,
        metadata,
    })
}

/// Encodes one event of a watch, a bare `WatchEvent`. `object` is encoded already, with its envelope.
pub fn encode_watch_event(event_type: &str, object: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    let before = out.len();
    out.bytes_field(1, object);
    out.end_message(2, out.len() - before);
    out.bytes_field(1, event_type.as_bytes());
    out.into_bytes()
}

/// Decodes one event of a watch, a bare `WatchEvent`: its type, and its object with the envelope still around it.
pub fn decode_watch_event(bytes: &[u8]) -> Result<(&str, &[u8]), DecodeError> {
    let mut reader = Reader::new(bytes);
    let (mut event_type, mut object) = ("", &[][..]);
    while !reader.is_empty() {
        match reader.key().map_err(malformed)? {
            (1, WireType::Length) => {
                let text = reader.bytes().map_err(malformed)?;
                let invalid = |_| DecodeError::Invalid {
                    message: "WatchEvent",
                    field: "type",
                    expected: "UTF-8",
                };
                event_type = std::str::from_utf8(text).map_err(invalid)?;
            }
            (2, WireType::Length) => object = raw_bytes("WatchEvent", reader.bytes().map_err(malformed)?)?,
            (_, other) => reader.skip(other).map_err(malformed)?,
        }
    }
    Ok((event_type, object))
}

/// The end of an envelope, which is written first: `contentEncoding` and `contentType`, always empty.
pub(super) fn end_envelope(out: &mut Writer) {
    out.bytes_field(4, b"");
    out.bytes_field(3, b"");
}

/// The start of an envelope, which is written last.
pub(super) fn start_envelope(out: &mut Writer, api_version: &str, kind: &str) {
    let before = out.len();
    out.bytes_field(2, kind.as_bytes());
    out.bytes_field(1, api_version.as_bytes());
    out.end_message(1, out.len() - before);
    out.raw(&MAGIC);
}

fn malformed(fault: Malformed) -> DecodeError {
    super::decode::malformed("Unknown", fault)
}
