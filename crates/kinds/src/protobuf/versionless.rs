//! Objects that are encoded once and sent with a version that is learnt later.
//!
//! `metadata.resourceVersion` is the one field of a stored object that its store alone knows, and that another revision of the
//! same bytes shows otherwise. [`Versionless`] keeps a message with the place of that field, so that a get, a page of a list and
//! every event of a watch are copies.

use serde_json::Value as Json;

use super::decode::DecodeError;
use super::encode::{EncodeError, encode_message};
use super::envelope::list_parts;
use super::wire::{Malformed, Reader, WireType};
use super::{MAGIC, decode};
use crate::Type;

/// The message of one object, without its envelope, and where its version goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versionless {
    bytes: Box<[u8]>,
    /// `None` for a type without `metadata`, which shows no version.
    place: Option<Place>,
}

/// Where the version goes, as offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// The length of `metadata`, which grows with the version.
    length_at: usize,
    /// The content of `metadata`.
    metadata: std::ops::Range<usize>,
    /// The whole field that is replaced, its key included; empty where there is none.
    version: std::ops::Range<usize>,
}

impl Versionless {
    /// Encodes an object. A version that it shows is left out.
    ///
    /// # Errors
    ///
    /// What [`encode_message`] has to say of the object.
    pub fn encode(object: &Type, value: &Json) -> Result<Self, EncodeError> {
        let bytes = encode_message(object, value)?;
        let place = object.field("metadata").and_then(|field| {
            // What was just written can be read.
            Place::find(&bytes, field.tag).ok().flatten()
        });
        Ok(Self {
            bytes: bytes.into(),
            place,
        })
    }

    /// The memory that the encoding takes, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes the bare message with this version has.
    fn message_len(&self, version: &str) -> usize {
        let Some(place) = &self.place else {
            return self.bytes.len();
        };
        let metadata = place.metadata_len(version);
        self.bytes.len() - (place.metadata.end - place.length_at) + varint_len(metadata) + metadata
    }

    fn write_message(&self, version: &str, out: &mut Vec<u8>) {
        let Some(place) = &self.place else {
            out.extend_from_slice(&self.bytes);
            return;
        };
        out.extend_from_slice(&self.bytes[..place.length_at]);
        put_varint(out, place.metadata_len(version));
        out.extend_from_slice(&self.bytes[place.metadata.start..place.version.start]);
        put_field(out, RESOURCE_VERSION_TAG, version.as_bytes());
        out.extend_from_slice(&self.bytes[place.version.end..]);
    }

    /// The object with this version, in its envelope.
    #[must_use]
    pub fn seal(&self, api_version: &str, kind: &str, version: &str) -> Vec<u8> {
        let length = self.message_len(version);
        let mut out = open(api_version, kind, length);
        self.write_message(version, &mut out);
        close(&mut out);
        out
    }
}

/// A list in its envelope, from items and the versions they show. `kind` is the list's, such as `PodList`; `metadata` its
/// `ListMeta`.
///
/// # Errors
///
/// [`EncodeError::UnknownKind`] when `kind` is no built-in list, and what [`encode_message`] has to say of `metadata`.
pub fn seal_list<'a, I>(
    api_version: &str,
    kind: &str,
    metadata: &Json,
    items: I,
) -> Result<Vec<u8>, EncodeError>
where
    I: Iterator<Item = (&'a Versionless, &'a str)> + Clone,
{
    let parts = list_parts(api_version, kind, metadata)?;
    let item_len = |length: usize| key_len(parts.items_tag) + varint_len(length) + length;
    let length = item_len_of(parts.metadata_tag, parts.metadata.len())
        + items
            .clone()
            .map(|(item, version)| item_len(item.message_len(version)))
            .sum::<usize>();
    let mut out = open(api_version, kind, length);
    put_field(&mut out, parts.metadata_tag, &parts.metadata);
    for (item, version) in items {
        put_key(&mut out, parts.items_tag);
        put_varint(&mut out, item.message_len(version));
        item.write_message(version, &mut out);
    }
    close(&mut out);
    Ok(out)
}

/// `ObjectMeta.resourceVersion` (apimachinery pkg/apis/meta/v1/generated.proto).
const RESOURCE_VERSION_TAG: u32 = 6;

impl Place {
    fn find(bytes: &[u8], metadata_tag: u32) -> Result<Option<Self>, DecodeError> {
        let malformed = |fault: Malformed| decode::malformed("ObjectMeta", fault);
        let mut reader = Reader::new(bytes);
        let offset = |reader: &Reader<'_>| bytes.len() - reader.remaining();
        while !reader.is_empty() {
            let (tag, wire_type) = reader.key().map_err(malformed)?;
            if (tag, wire_type) != (metadata_tag, WireType::Length) {
                reader.skip(wire_type).map_err(malformed)?;
                continue;
            }
            let length_at = offset(&reader);
            let content = reader.bytes().map_err(malformed)?;
            let end = offset(&reader);
            let start = end - content.len();
            let version = version_field(content).map_err(malformed)?;
            return Ok(Some(Self {
                length_at,
                metadata: start..end,
                version: start + version.start..start + version.end,
            }));
        }
        Ok(None)
    }

    fn metadata_len(&self, version: &str) -> usize {
        self.metadata.len() - self.version.len() + item_len_of(RESOURCE_VERSION_TAG, version.len())
    }
}

/// The field to replace, or the empty place in front of the first field with a higher tag.
fn version_field(content: &[u8]) -> Result<std::ops::Range<usize>, Malformed> {
    let mut reader = Reader::new(content);
    loop {
        let start = content.len() - reader.remaining();
        if reader.is_empty() {
            return Ok(start..start);
        }
        let (tag, wire_type) = reader.key()?;
        if tag > RESOURCE_VERSION_TAG {
            return Ok(start..start);
        }
        reader.skip(wire_type)?;
        if tag == RESOURCE_VERSION_TAG {
            return Ok(start..content.len() - reader.remaining());
        }
    }
}

/// The envelope up to the message of `length` bytes, in a buffer that takes the rest.
fn open(api_version: &str, kind: &str, length: usize) -> Vec<u8> {
    let type_meta = item_len_of(1, api_version.len()) + item_len_of(2, kind.len());
    let total = MAGIC.len() + item_len_of(1, type_meta) + item_len_of(2, length) + END.len();
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&MAGIC);
    put_key(&mut out, 1);
    put_varint(&mut out, type_meta);
    put_field(&mut out, 1, api_version.as_bytes());
    put_field(&mut out, 2, kind.as_bytes());
    put_key(&mut out, 2);
    put_varint(&mut out, length);
    out
}

fn close(out: &mut Vec<u8>) {
    out.extend_from_slice(&END);
}

/// `contentEncoding` and `contentType` of the envelope, always empty.
const END: [u8; 4] = [0x1a, 0, 0x22, 0];

/// The bytes of a field with a payload of `length`.
fn item_len_of(tag: u32, length: usize) -> usize {
    key_len(tag) + varint_len(length) + length
}

fn key_len(tag: u32) -> usize {
    varint_len((tag as usize) << 3)
}

fn varint_len(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_key(out: &mut Vec<u8>, tag: u32) {
    put_varint(out, (tag as usize) << 3 | WireType::Length as usize);
}

fn put_field(out: &mut Vec<u8>, tag: u32, payload: &[u8]) {
    put_key(out, tag);
    put_varint(out, payload.len());
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::encode;
    use super::*;
    use crate::table;

    fn pod(version: &str) -> Json {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "uid": "u", "generation": 1,
            "resourceVersion": version, "labels": {"x": "y".repeat(120)}}, "spec": {"nodeName": "n"}})
    }

    #[test]
    fn what_is_sealed_is_what_is_encoded() {
        let kind = table().kind("", "v1", "Pod").unwrap();
        for (kept, version) in [
            ("", "7"),
            ("9", "1234567890"),
            ("9", ""),
            ("", "18446744073709551615"),
        ] {
            let item = Versionless::encode(kind, &pod(kept)).unwrap();
            let sealed = item.seal("v1", "Pod", version);
            assert_eq!(sealed, encode("v1", "Pod", &pod(version)).unwrap());
            assert_eq!(sealed.capacity(), sealed.len(), "the length was known");
        }
        let widget = table().kind("", "v1", "Status").unwrap();
        let status = json!({"status": "Success", "metadata": {}});
        let item = Versionless::encode(widget, &status).unwrap();
        assert!(item.size() > 0);
    }

    #[test]
    fn lists() {
        let kind = table().kind("", "v1", "Pod").unwrap();
        let item = Versionless::encode(kind, &pod("")).unwrap();
        for versions in [&[][..], &["1"], &["1", "22", "333"]] {
            let metadata = json!({"resourceVersion": "400", "continue": "c"});
            let list = seal_list("v1", "PodList", &metadata, versions.iter().map(|v| (&item, *v))).unwrap();
            let items: Vec<Json> = versions.iter().map(|version| pod(version)).collect();
            let whole = json!({"metadata": metadata, "items": items});
            assert_eq!(list, encode("v1", "PodList", &whole).unwrap());
        }
        let error = seal_list("v1", "Pod", &json!({}), std::iter::empty()).unwrap_err();
        assert!(matches!(error, EncodeError::UnknownKind { .. }));
    }

    proptest! {
        #[test]
        fn lengths_of_varints(value: usize) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            prop_assert_eq!(out.len(), varint_len(value));
            prop_assert_eq!(Reader::new(&out).varint(), Ok(value as u64));
        }
    }
}
