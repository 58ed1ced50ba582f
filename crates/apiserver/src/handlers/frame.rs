//! The events of a watch as bytes: lines of JSON, or protobuf with the length of each event before it.
//!
//! In protobuf an event is a bare `WatchEvent` whose object has an envelope of its own, after four bytes of length, the highest first
//! (apimachinery pkg/runtime/serializer/protobuf `LengthDelimitedFramer`, pkg/util/framer).

use bytes::Bytes;
use kubewright_core::WatchEventKind;
use kubewright_kinds::protobuf;
use serde_json::{Value, json};

use super::response::{Rendering, encode, protobuf_of};
use crate::error::{ApiError, ApiResult};
use crate::registry::Resource;
use crate::request::media::Encoding;
use crate::storage::StoredObject;

impl Rendering<'_> {
    /// An event with an object in the served version. `is_first` says whether a Table still has to name its columns.
    ///
    /// # Errors
    /// 500 for an object that protobuf cannot hold.
    pub(super) fn frame(&self, kind: &str, object: &Value, is_first: bool) -> ApiResult<Bytes> {
        let object = self.event_object(object, is_first);
        if self.accepted.encoding != Encoding::Protobuf {
            return Ok(line(kind, &object));
        }
        delimited(kind, &self.encode(&object)?)
    }
}

/// An event with a stored object as the protobuf that is kept of it.
///
/// # Errors
/// 500 for an object that is not of its kind.
pub(super) fn stored(resource: &Resource, kind: &str, object: &StoredObject) -> ApiResult<Bytes> {
    let sealed = protobuf_of(resource, object)?.seal(
        &resource.api_version(),
        &resource.kind,
        &object.revision().to_string(),
    );
    delimited(kind, &sealed)
}

/// The event by which a watch tells that it has failed.
pub(super) fn failure(encoding: Encoding, error: &ApiError) -> Bytes {
    let kind = WatchEventKind::Error.as_str();
    let status = serde_json::to_value(error.status()).unwrap_or_default();
    if encoding == Encoding::Protobuf
        && let Ok(encoded) = encode(encoding, &status)
        && let Ok(frame) = delimited(kind, &encoded)
    {
        return frame;
    }
    line(kind, &status)
}

fn line(kind: &str, object: &Value) -> Bytes {
    let mut text = serde_json::to_vec(&json!({"type": kind, "object": object})).unwrap_or_default();
    text.push(b'\n');
    text.into()
}

fn delimited(kind: &str, object: &[u8]) -> ApiResult<Bytes> {
    let event = protobuf::encode_watch_event(kind, object);
    let length = u32::try_from(event.len()).map_err(kubewright_core::Status::internal_error)?;
    Ok([&length.to_be_bytes()[..], &event].concat().into())
}

#[cfg(test)]
mod tests {
    use kubewright_core::Status;

    use super::*;

    #[test]
    fn failures_in_both_encodings() {
        let error = ApiError::from(Status::expired("too old resource version: 1 (2)"));
        let text = failure(Encoding::Json, &error);
        assert!(text.starts_with(b"{") && text.ends_with(b"}\n"));
        let event: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );

        let frame = failure(Encoding::Protobuf, &error);
        let (length, message) = frame.split_first_chunk().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, message.len());
        let (kind, object) = protobuf::decode_watch_event(message).unwrap();
        let decoded = protobuf::decode(object).unwrap();
        assert_eq!(kind, "ERROR");
        assert_eq!(decoded.value["kind"], event["object"]["kind"]);
        assert_eq!(decoded.value["message"], event["object"]["message"]);
    }
}
