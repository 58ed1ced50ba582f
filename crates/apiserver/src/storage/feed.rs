//! How a replica follows a store, as a state machine: items of a watch in, what to do out.

use std::time::Duration;

use super::{Event, Revision, StorageError, StoredObject, WatchItem, WatchStart};

/// How long to wait before the second try to reach the store; doubled with each further one.
const RETRY_FIRST: Duration = Duration::from_millis(50);

/// The longest wait between two tries.
const RETRY_LONGEST: Duration = Duration::from_secs(5);

/// What the replica's owner is to do.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing.
    Continue,
    /// Apply this change.
    Observe(Event),
    /// Nothing else happened up to here.
    Advance(Revision),
    /// This is the whole state.
    Replace(Vec<StoredObject>, Revision),
}

/// Where a replica is in following its store.
#[derive(Debug, Default)]
pub(super) struct Feed {
    /// The objects of a state that has not come to its end.
    collecting: Option<Vec<StoredObject>>,
    /// The next watch has to begin with the state, since changes are missing.
    behind: bool,
    /// Tries since something was received.
    failures: u32,
}

impl Feed {
    /// Where the next watch begins, when the replica is at `known` (0: nowhere).
    pub(super) fn start(&mut self, known: Revision) -> WatchStart {
        if known == Revision(0) || self.behind {
            self.collecting = Some(Vec::new());
            WatchStart::State
        } else {
            self.collecting = None;
            WatchStart::After(known)
        }
    }

    /// Takes an item of the watch. `held` is the replica's own version of an object, which saves memory when the store sent the same
    /// one again.
    pub(super) fn step(
        &mut self,
        item: WatchItem,
        held: impl FnOnce(&StoredObject) -> Option<StoredObject>,
    ) -> Step {
        self.failures = 0;
        match (item, &mut self.collecting) {
            (WatchItem::Event(event), Some(objects)) => {
                let object = event.object();
                let same = held(object).filter(|held| held.same_version(object));
                objects.push(same.unwrap_or_else(|| object.clone()));
                Step::Continue
            }
            (WatchItem::Event(event), None) => Step::Observe(event),
            (WatchItem::Synced(revision), collecting) => {
                self.behind = false;
                collecting.take().map_or(Step::Advance(revision), |objects| {
                    Step::Replace(objects, revision)
                })
            }
            // Within the initial state it says nothing yet.
            (WatchItem::Progress(_), Some(_)) => Step::Continue,
            (WatchItem::Progress(revision), None) => Step::Advance(revision),
        }
    }

    /// Takes the end of the watch and gives how long to wait before the next.
    pub(super) fn fail(&mut self, err: &StorageError) -> Duration {
        // A state that broke off is useless; so is any place in a history that is gone. Of other failures only the connection suffers.
        self.behind |= err.is_compacted() || matches!(err, StorageError::Future { .. });
        self.collecting = None;
        self.failures += 1;
        match self.failures {
            1 => Duration::ZERO,
            tries => (RETRY_FIRST * 2_u32.saturating_pow(tries.min(16) - 2)).min(RETRY_LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Encoded, Key};
    use super::*;

    fn object(name: &str, revision: u64) -> StoredObject {
        let key = Key::new("", "pods", Some("a"), name);
        StoredObject::new(
            key,
            Encoded::from_value(&json!({"metadata": {"name": name}})),
            Revision(revision),
            Revision(2),
        )
    }

    fn added(name: &str, revision: u64) -> WatchItem {
        WatchItem::Event(Event::added(object(name, revision)))
    }

    const COMPACTED: StorageError = StorageError::Compacted {
        requested: Revision(3),
        oldest: Revision(9),
    };
    const LOST: StorageError = StorageError::Unavailable {
        reason: "lost",
        source: None,
    };

    #[test]
    fn collects_the_state_then_follows() {
        let mut feed = Feed::default();
        assert_eq!(feed.start(Revision(0)), WatchStart::State);
        let held = object("a", 3);
        assert!(matches!(
            feed.step(added("a", 3), |_| Some(held.clone())),
            Step::Continue
        ));
        assert!(matches!(
            feed.step(added("b", 4), |_| Some(object("b", 2))),
            Step::Continue
        ));
        assert!(matches!(
            feed.step(WatchItem::Progress(Revision(9)), |_| None),
            Step::Continue
        ));
        let Step::Replace(objects, Revision(5)) = feed.step(WatchItem::Synced(Revision(5)), |_| None) else {
            panic!()
        };
        assert_eq!(
            objects[0].storage_bytes().as_ptr(),
            held.storage_bytes().as_ptr(),
            "what is held is kept"
        );
        assert_eq!(objects[1].revision(), Revision(4));
        assert!(matches!(feed.step(added("c", 6), |_| None), Step::Observe(_)));
        assert!(matches!(
            feed.step(WatchItem::Progress(Revision(7)), |_| None),
            Step::Advance(Revision(7))
        ));
    }

    #[test]
    fn goes_on_where_it_was_unless_history_is_gone() {
        let check = |failures: &[&StorageError], expect: WatchStart| {
            let mut feed = Feed::default();
            for err in failures {
                feed.start(Revision(3));
                feed.fail(err);
            }
            assert_eq!(feed.start(Revision(3)), expect, "{failures:?}");
        };
        check(&[], WatchStart::After(Revision(3)));
        check(&[&LOST], WatchStart::After(Revision(3)));
        check(&[&COMPACTED], WatchStart::State);
        check(&[&COMPACTED, &LOST], WatchStart::State);
    }

    #[test]
    fn waits_longer_with_each_failure() {
        let mut feed = Feed::default();
        let waits: Vec<_> = (0..10).map(|_| feed.fail(&LOST).as_millis()).collect();
        assert_eq!(waits, [0, 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!((0..100).map(|_| feed.fail(&LOST)).max(), Some(RETRY_LONGEST));
        feed.step(added("a", 3), |_| None);
        assert_eq!(feed.fail(&LOST), Duration::ZERO);
    }
}
