//! Changes as watchers see them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};

use super::{Revision, StoredObject};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It was created.
    Added,
    /// It was replaced.
    Modified,
    /// It was removed.
    Deleted,
}

impl Change {
    /// The `type` of a watch event on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One change. Immutable and cheap to clone: the ring of events and all watchers share one.
#[derive(Clone)]
pub struct Event(Arc<Inner>);

struct Inner {
    change: Change,
    object: StoredObject,
    previous: Option<StoredObject>,
    frame: OnceLock<Bytes>,
}

impl Event {
    /// An object came into being. The event's revision is the object's.
    #[must_use]
    pub fn added(object: StoredObject) -> Self {
        Self::new(Change::Added, object, None)
    }

    /// An object was replaced. The event's revision is that of the new state. `previous` may be missing where a shared store has
    /// compacted it away already.
    #[must_use]
    pub fn modified(object: StoredObject, previous: Option<StoredObject>) -> Self {
        Self::new(Change::Modified, object, previous)
    }

    /// An object, whose last state is given, was removed at `revision`.
    #[must_use]
    pub fn deleted(last: StoredObject, revision: Revision) -> Self {
        Self::new(Change::Deleted, last.at_revision(revision), Some(last))
    }

    fn new(change: Change, object: StoredObject, previous: Option<StoredObject>) -> Self {
        Self(Arc::new(Inner {
            change,
            object,
            previous,
            frame: OnceLock::new(),
        }))
    }

    /// What happened.
    #[must_use]
    pub fn change(&self) -> Change {
        self.0.change
    }

    /// The new state; of a deletion the last state, shown with the revision of the deletion.
    #[must_use]
    pub fn object(&self) -> &StoredObject {
        &self.0.object
    }

    /// The state before; `None` when the object was created.
    #[must_use]
    pub fn previous(&self) -> Option<&StoredObject> {
        self.0.previous.as_ref()
    }

    /// When it happened.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.object.revision()
    }

    /// The line of a JSON watch: `{"type":"ADDED","object":{...}}` and a line feed. Encoded once for all watchers.
    #[must_use]
    pub fn frame(&self) -> &Bytes {
        self.0
            .frame
            .get_or_init(|| encode_frame(self.0.change, &self.0.object))
    }

    /// Memory that exists because of this event alone, in bytes: the state it superseded and the frame it may hold.
    pub(super) fn retained_bytes(&self) -> usize {
        let superseded = self
            .0
            .previous
            .as_ref()
            .map_or(0, |previous| previous.storage_bytes().len());
        EVENT_OVERHEAD + superseded + self.0.object.wire_len()
    }
}

/// What an event and its places in the rings take beside the bytes, roughly.
const EVENT_OVERHEAD: usize = 256;

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} at {}",
            self.0.change.as_str(),
            self.0.object.key(),
            self.revision()
        )
    }
}

/// Appends the line of a JSON watch for a change that is not the event's own: where a selector stops to match, a modification is
/// shown as a deletion; and for the state that a watch begins with, which nobody shares.
pub fn write_frame(change: Change, object: &StoredObject, out: &mut impl BufMut) {
    out.put_slice(br#"{"type":""#);
    out.put_slice(change.as_str().as_bytes());
    out.put_slice(br#"","object":"#);
    object.write_wire(out);
    out.put_slice(b"}\n");
}

fn encode_frame(change: Change, object: &StoredObject) -> Bytes {
    let mut out = BytesMut::with_capacity(FRAME_AROUND + object.wire_len());
    write_frame(change, object, &mut out);
    out.freeze()
}

/// How many bytes a frame has besides its object: `{"type":"MODIFIED","object":` and `}\n`.
pub(crate) const FRAME_AROUND: usize = 30;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Encoded, Key};
    use super::*;

    #[test]
    fn frames_are_lines_encoded_once() {
        let encoded = Encoded::from_value(&json!({"metadata": {"name": "b"}}));
        let object = StoredObject::new(
            Key::new("", "pods", Some("a"), "b"),
            encoded,
            Revision(9),
            Revision(4),
        );
        let check = |event: Event, expect: &str| {
            assert_eq!(event.frame(), expect.as_bytes());
            assert_eq!(event.frame().as_ptr(), event.clone().frame().as_ptr());
            assert!(event.frame().len() <= FRAME_AROUND + object.wire_len());
        };
        check(
            Event::added(object.clone()),
            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\"name\":\"b\"}}}\n",
        );
        check(
            Event::modified(object.clone(), None),
            "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\"name\":\"b\"}}}\n",
        );
        check(
            Event::deleted(object.clone(), Revision(10)),
            "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"10\",\"name\":\"b\"}}}\n",
        );
    }
}
