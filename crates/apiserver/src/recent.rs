//! Objects that were written a short while ago, decoded.
//!
//! Who writes an object writes it again soon: a controller sets the status of what it made, a node renews its lease. The state that
//! such a write changes is at hand here and need not be decoded once more. What is kept is bounded, and nothing depends on it.

use parking_lot::Mutex;
use serde_json::Value;

use crate::storage::{Revision, StoredObject};

/// How many objects are kept.
const SLOTS: usize = 128;

/// The longest text of an object that is kept, in bytes. Decoded, it takes several times as much.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// The decoded states of recently written objects. Each has one place where it can be, and drives out who is there.
pub(crate) struct Recent(Box<[Mutex<Option<Slot>>]>);

struct Slot {
    object: StoredObject,
    value: Value,
}

impl Recent {
    /// What [`StoredObject::value`] gives. It is not kept any longer: whoever asks for the state of an object is about to write another
    /// one.
    pub(crate) fn take(&self, object: &StoredObject) -> Value {
        let mut slot = self.slot(object).lock();
        match slot.take_if(|slot| slot.object == *object) {
            Some(slot) => slot.value,
            None => {
                drop(slot);
                object.value()
            }
        }
    }

    /// Keeps the value that an object was encoded from.
    pub(crate) fn put(&self, object: &StoredObject, mut value: Value) {
        if object.storage_bytes().len() > MAX_TEXT_BYTES || !set_version(&mut value, object.revision()) {
            return;
        }
        let slot = Slot {
            object: object.clone(),
            value,
        };
        let before = self.slot(object).lock().replace(slot);
        // Not while the place is locked: it may take a while.
        drop(before);
    }

    fn slot(&self, object: &StoredObject) -> &Mutex<Option<Slot>> {
        // FNV-1a: a place is all that it gives.
        let key = object.key().as_str().bytes();
        let hash = key.fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        &self.0[hash as usize % SLOTS]
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self((0..SLOTS).map(|_| Mutex::new(None)).collect())
    }
}

/// As [`StoredObject::value`] does it. False for what has no metadata: it is stored as another object than it is.
fn set_version(value: &mut Value, revision: Revision) -> bool {
    match value.get_mut("metadata").and_then(Value::as_object_mut) {
        Some(metadata) => {
            metadata.insert("resourceVersion".to_owned(), Value::String(revision.to_string()));
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::{Encoded, Key};

    fn stored(name: &str, revision: u64, value: &Value) -> StoredObject {
        let key = Key::new("", "pods", Some("a"), name);
        StoredObject::new(key, Encoded::from_value(value), Revision(revision), Revision(1))
    }

    #[test]
    fn what_is_kept_is_what_would_be_decoded() {
        let recent = Recent::default();
        let long = "x".repeat(MAX_TEXT_BYTES);
        for value in [
            json!({"metadata": {"name": "b", "resourceVersion": "7"}, "spec": {"a": [1, null]}}),
            json!({"metadata": {}}),
            json!({"metadata": {}, "long": long}),
            json!({"metadata": null}),
            json!({}),
        ] {
            let object = stored("b", 9, &value);
            recent.put(&object, value.clone());
            assert_eq!(recent.take(&object), object.value(), "kept");
            assert_eq!(recent.take(&object), object.value(), "decoded");
        }
    }

    #[test]
    fn other_versions_and_other_objects_are_not_mistaken_for_it() {
        let recent = Recent::default();
        for i in 0..4 * SLOTS {
            let (old, new) = (
                json!({"metadata": {"i": i}}),
                json!({"metadata": {"i": i, "new": true}}),
            );
            let name = i.to_string();
            recent.put(&stored(&name, 5, &old), old);
            let object = stored(&name, 6, &new);
            assert_eq!(recent.take(&object), object.value());
        }
        let kept = recent.0.iter().filter(|slot| slot.lock().is_some()).count();
        assert!((1..=SLOTS).contains(&kept), "{kept}");
    }
}
