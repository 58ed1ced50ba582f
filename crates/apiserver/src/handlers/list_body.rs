//! The body of a list of stored objects, sent piece by piece.
//!
//! The objects are in the store already; what is made anew is one piece at a time, when the one before it was taken. So a list of any
//! length costs one piece of memory for each client that reads it, and its first byte leaves at once. The objects stay as they were
//! listed, however long that takes, and are compressed piece by piece for who takes gzip. Upstream does the same since 1.33 (apimachinery pkg/runtime/serializer/json/collections.go).

use std::vec;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream;
use kubewright_net::{Body, TransportError};
use serde_json::Value;

use crate::storage::StoredObject;

/// A piece that has so many bytes takes no further object.
const PIECE_BYTES: usize = 64 << 10;

/// What an item says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemForm {
    /// All of it: the items of lists of custom resources have no Go type that could tell what they are.
    Typed,
    /// Neither `apiVersion` nor `kind`, which the list says: an item of a Go list has none (apimachinery pkg/runtime/codec.go).
    Untyped,
}

impl ItemForm {
    fn len(self, item: &StoredObject) -> usize {
        match self {
            Self::Typed => item.exact_wire_len(),
            Self::Untyped => item.exact_untyped_len(),
        }
    }

    fn write(self, item: &StoredObject, out: &mut BytesMut) {
        match self {
            Self::Typed => item.write_wire(out),
            Self::Untyped => item.write_untyped(out),
        }
    }

    /// The same of a decoded object.
    pub(super) fn shape(self, mut item: Value) -> Value {
        if self == Self::Untyped
            && let Value::Object(fields) = &mut item
        {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        item
    }
}

/// What is left of a list.
struct Pieces {
    form: ItemForm,
    /// What comes before the next object.
    before: Bytes,
    items: vec::IntoIter<StoredObject>,
    is_over: bool,
}

/// The JSON of a list. `metadata` is the list's own.
pub(super) fn json(
    kind: &str,
    api_version: &str,
    metadata: &Value,
    items: Vec<StoredObject>,
    form: ItemForm,
) -> Body {
    let head = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
        Value::from(kind),
        Value::from(api_version),
    );
    let objects: usize = items.iter().map(|item| form.len(item)).sum();
    let commas = items.len().saturating_sub(1);
    let length = head.len() + objects + commas + END.len();
    let mut pieces = Pieces {
        form,
        before: head.into(),
        items: items.into_iter(),
        is_over: false,
    };
    if length <= PIECE_BYTES {
        return pieces.next(length).unwrap_or_default().into();
    }
    let stream = stream::iter(std::iter::from_fn(move || {
        pieces.next(PIECE_BYTES).map(Ok::<_, TransportError>)
    }));
    Body::sized_stream(length as u64, stream)
}

impl Pieces {
    /// The next piece, of about `size` bytes.
    fn next(&mut self, size: usize) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let first = self.items.as_slice().first();
        let first = first.map_or(0, |item| self.form.len(item));
        let mut piece = BytesMut::with_capacity(size.max(self.before.len() + first) + END.len());
        loop {
            let Some(item) = self.items.next() else {
                piece.put_slice(&std::mem::take(&mut self.before));
                piece.put_slice(END);
                self.is_over = true;
                break;
            };
            piece.put_slice(&self.before);
            self.before = Bytes::from_static(b",");
            self.form.write(&item, &mut piece);
            let Some(next) = self.items.as_slice().first() else {
                self.before = Bytes::new();
                continue;
            };
            // One that does not fit is the first of the next piece, rather than that this one is copied to a larger place.
            if piece.len() + 1 + self.form.len(next) > size {
                break;
            }
        }
        Some(piece.freeze())
    }
}

const END: &[u8] = b"]}";

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::*;
    use crate::storage::{Encoded, Key, Revision};

    fn objects(count: u64, size: usize) -> Vec<StoredObject> {
        let object = |i: u64| {
            let name = format!("o{i}");
            let encoded = Encoded::from_value(
                &value!({"apiVersion": "a.io/v1", "kind": "Thing", "metadata": {"name": name}, "data": "x".repeat(size)}),
            );
            let key = Key::new("a.io", "things", None, &name);
            StoredObject::new(key, encoded, Revision(i * 7 + 1), Revision(1))
        };
        (0..count).map(object).collect()
    }

    #[tokio::test]
    async fn lists_come_whole_in_pieces_of_bounded_size() {
        for (count, size) in [
            (0, 0),
            (1, 0),
            (2, 10),
            (1, PIECE_BYTES - 100),
            (1, PIECE_BYTES),
            (3, PIECE_BYTES / 2),
            (3, PIECE_BYTES * 2),
            (500, 100),
            (2000, 1000),
        ] {
            for form in [ItemForm::Typed, ItemForm::Untyped] {
                let items = objects(count, size);
                let expect = value!({
                    "kind": "ThingList", "apiVersion": "a.io/v1", "metadata": {"resourceVersion": "9"},
                    "items": items.iter().map(|item| form.shape(item.value())).collect::<Vec<_>>(),
                });
                let metadata = value!({"resourceVersion": "9"});
                let mut body = json("ThingList", "a.io/v1", &metadata, items, form);
                let told = body.length().expect("a length");
                let mut text = Vec::new();
                let mut count_pieces = 0;
                while let Some(piece) = body.chunk().await.unwrap() {
                    let largest = PIECE_BYTES.max(size + 200);
                    assert!(piece.len() <= largest, "a piece of {} bytes", piece.len());
                    text.extend_from_slice(&piece);
                    count_pieces += 1;
                }
                assert_eq!(text.len() as u64, told);
                assert!(count_pieces <= 2 + text.len() / (PIECE_BYTES / 2).max(size / 2));
                let read = serde_json::from_slice::<Value>(&text).unwrap();
                assert_eq!(read, expect, "{count} of {size}");
            }
        }
    }
}
