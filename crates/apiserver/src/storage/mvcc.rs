//! The state machine: all objects, the revision, the recent changes.
//!
//! The objects are in a persistent ordered map: a [`Snapshot`] is a pointer, whatever the size, and stays as it is while writes go on.
//! The history allows to go back from a snapshot: the state at an earlier revision is the snapshot with the later events undone.

use std::collections::BTreeMap;
use std::ops::Bound;

use imbl::OrdMap;

use super::history::History;
use super::{
    Change, Cursor, Encoded, Event, Key, KeyPrefix, Limits, Remaining, Revision, StorageError, StoredObject,
};

/// A multi-version store without lock, clock or async: every method takes microseconds.
///
/// It is the store itself behind [`MemoryStorage`](super::MemoryStorage), where [`create`](Mvcc::create),
/// [`update`](Mvcc::update) and [`delete`](Mvcc::delete) count the revisions, and a replica behind
/// [`WatchCache`](super::WatchCache), where [`observe`](Mvcc::observe) and [`replace`](Mvcc::replace) take them from elsewhere.
#[derive(Debug)]
pub struct Mvcc {
    objects: OrdMap<Key, StoredObject>,
    revision: Revision,
    history: History,
}

impl Mvcc {
    /// An empty store at revision 1, so that the list of an empty store has a version.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut empty = Self::replica(limits);
        empty.revision = Revision(1);
        empty
    }

    /// A replica that knows nothing yet; its revision is 0 until the first [`replace`](Mvcc::replace).
    #[must_use]
    pub fn replica(limits: Limits) -> Self {
        Self {
            objects: OrdMap::new(),
            revision: Revision(0),
            history: History::new(limits, Revision(0)),
        }
    }

    /// A store with these objects, as they were at `revision`; its history begins there. Two objects with one key: the later counts.
    #[must_use]
    pub fn restore(
        limits: Limits,
        objects: impl IntoIterator<Item = StoredObject>,
        revision: Revision,
    ) -> Self {
        let mut restored = Self::replica(limits);
        restored.reset(objects, revision);
        restored
    }

    /// The revision of the last write.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// How many events are kept, and how many bytes of memory exist because of them at most.
    #[must_use]
    pub fn history_size(&self) -> (usize, usize) {
        self.history.size()
    }

    /// An object at the present state.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&StoredObject> {
        self.objects.get(key)
    }

    /// Stores an object where there is none.
    ///
    /// # Errors
    ///
    /// [`StorageError::AlreadyExists`].
    pub fn create(&mut self, key: Key, value: Encoded) -> Result<Event, StorageError> {
        if let Some(current) = self.objects.get(&key) {
            return Err(StorageError::AlreadyExists {
                current: current.clone(),
            });
        }
        let revision = self.revision.next();
        Ok(self.commit(Event::added(StoredObject::new(key, value, revision, revision))))
    }

    /// Replaces an object that is still at `expected`.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotFound`] or [`StorageError::Conflict`].
    pub fn update(&mut self, key: Key, expected: Revision, value: Encoded) -> Result<Event, StorageError> {
        let current = self.expect(&key, expected)?;
        let object = StoredObject::new(key, value, self.revision.next(), current.create_revision());
        Ok(self.commit(Event::modified(object, Some(current))))
    }

    /// Removes an object that is still at `expected`.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotFound`] or [`StorageError::Conflict`].
    pub fn delete(&mut self, key: &Key, expected: Revision) -> Result<Event, StorageError> {
        let current = self.expect(key, expected)?;
        Ok(self.commit(Event::deleted(current, self.revision.next())))
    }

    fn expect(&self, key: &Key, expected: Revision) -> Result<StoredObject, StorageError> {
        match self.objects.get(key) {
            None => Err(StorageError::NotFound { key: key.clone() }),
            Some(current) if current.revision() != expected => Err(StorageError::Conflict {
                expected,
                current: current.clone(),
            }),
            Some(current) => Ok(current.clone()),
        }
    }

    fn commit(&mut self, event: Event) -> Event {
        self.revision = event.revision();
        if event.change() == Change::Deleted {
            self.objects.remove(event.object().key());
        } else {
            self.objects
                .insert(event.object().key().clone(), event.object().clone());
        }
        self.history.push(&event);
        event
    }

    /// Takes over a change that another store made. Gives the event as this replica's watchers see it, or `None` when the change is
    /// known already.
    ///
    /// What the change was is judged by what the replica holds, so that its watchers see each object added, modified and deleted in
    /// turn.
    pub fn observe(&mut self, event: &Event) -> Option<Event> {
        let (object, revision) = (event.object(), event.revision());
        if revision < self.revision {
            return None;
        }
        let seen = match (event.change(), self.objects.get(object.key()).cloned()) {
            (_, Some(held)) if held.revision() >= revision => return None,
            (Change::Deleted, None) => {
                self.revision = revision;
                return None;
            }
            (Change::Deleted, Some(held)) => match event.previous() {
                Some(previous) if previous.same_version(&held) => event.clone(),
                _ => Event::deleted(held, revision),
            },
            (Change::Added, None) => event.clone(),
            (_, None) => Event::added(object.clone()),
            (Change::Modified, Some(held)) if event.previous().is_some_and(|p| p.same_version(&held)) => {
                event.clone()
            }
            (_, Some(held)) => Event::modified(object.clone(), Some(held)),
        };
        Some(self.commit(seen))
    }

    /// Learns that nothing else happened up to `revision`.
    pub fn advance(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }

    /// Takes over the whole state of another store, after changes were missed: the [`Difference`] to the present state, which must be
    /// the one it was made from. Gives the events that were made of it.
    ///
    /// Revisions strictly between the two states cannot be listed or watched from afterwards.
    pub fn replace(&mut self, difference: Difference) -> Vec<Event> {
        match difference {
            Difference::Restart { objects, revision } => {
                self.reset(objects, revision);
                Vec::new()
            }
            Difference::Events { events, revision } => {
                self.history.gap(self.revision, revision);
                for event in &events {
                    self.commit(event.clone());
                }
                self.revision = revision;
                events
            }
        }
    }

    fn reset(&mut self, objects: impl IntoIterator<Item = StoredObject>, revision: Revision) {
        self.objects = objects
            .into_iter()
            .map(|object| (object.key().clone(), object))
            .collect();
        self.revision = revision;
        self.history.reset(revision);
        for key in self.objects.keys() {
            self.history.count(key);
        }
    }

    /// The present state, for reading at leisure.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            objects: self.objects.clone(),
            revision: self.revision,
            seq: self.history.seq(),
        }
    }

    #[cfg(test)]
    pub(super) fn topic_count(&self) -> usize {
        self.history.topic_count()
    }

    #[cfg(test)]
    pub(super) fn topic_len(&self, prefix: &KeyPrefix) -> usize {
        self.history.topic_len(prefix)
    }

    /// How many objects exist in the range.
    #[must_use]
    pub fn count(&self, prefix: &KeyPrefix) -> usize {
        self.history.live(prefix)
    }

    /// Keeps the history of a range in a form that a sleeping watcher of it can come back to, until [`Mvcc::unpin`]. Every watcher
    /// needs a pin before it gets its cursor.
    pub fn pin(&mut self, prefix: &KeyPrefix) {
        self.history.pin(prefix);
    }

    /// Ends what one call of [`Mvcc::pin`] began.
    pub fn unpin(&mut self, prefix: &KeyPrefix) {
        self.history.unpin(prefix);
    }

    /// The place behind the changes up to `revision`, which may lie in the future.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`] when later changes are gone or were never seen.
    pub fn position(&self, prefix: &KeyPrefix, revision: Revision) -> Result<Cursor, StorageError> {
        self.history.position(prefix, revision)
    }

    /// Hands up to `max` changes of the range behind the cursor to `out` and moves the cursor.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`] when changes behind the cursor are gone.
    pub fn read(
        &self,
        prefix: &KeyPrefix,
        cursor: &mut Cursor,
        max: usize,
        out: impl FnMut(Event),
    ) -> Result<(), StorageError> {
        self.history.read(prefix, cursor, u64::MAX, max, out)
    }

    /// Whether the cursor is behind the last change of the range.
    #[must_use]
    pub fn at_end(&self, prefix: &KeyPrefix, cursor: &Cursor) -> bool {
        self.history.at_end(prefix, cursor)
    }

    /// Whether the state of the range at `revision` can be told; a revision of the future can.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`].
    pub fn check(&self, prefix: &KeyPrefix, revision: Revision) -> Result<(), StorageError> {
        self.history.check(prefix, revision)
    }

    /// Collects up to `max` of the changes between the cursor and the snapshot into `undo`. When none is left, the answer is `true`,
    /// and the snapshot with `undo` is the state at the revision of the cursor. In pieces, since a caller will not hold a lock for
    /// all of them.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`] when the changes are gone.
    pub fn collect_undo(
        &self,
        prefix: &KeyPrefix,
        snapshot: &Snapshot,
        cursor: &mut Cursor,
        max: usize,
        undo: &mut Undo,
    ) -> Result<bool, StorageError> {
        let mut given = 0;
        self.history.read(prefix, cursor, snapshot.seq, max, |event| {
            given += 1;
            // The first change after the revision tells the state at the revision.
            undo.0
                .entry(event.object().key().clone())
                .or_insert_with(|| event.previous().cloned());
        })?;
        Ok(given < max)
    }

    /// Discards the history before `before` (at most up to the present), up to `max` events at a time. Gives whether it is done.
    pub fn compact(&mut self, before: Revision, max: usize) -> bool {
        self.history.compact(before.min(self.revision), max)
    }
}

/// What has to be undone to come from a snapshot to an earlier state: the objects as they were then, or that they were not.
#[derive(Debug, Default)]
pub struct Undo(BTreeMap<Key, Option<StoredObject>>);

/// The way from one state to a later one of which only the result is known. See [`Snapshot::difference`].
#[derive(Debug)]
pub enum Difference {
    /// The states have nothing to do with each other.
    Restart {
        /// All objects.
        objects: Vec<StoredObject>,
        /// The new revision.
        revision: Revision,
    },
    /// These events lead there.
    Events {
        /// In the order of their revisions.
        events: Vec<Event>,
        /// The new revision.
        revision: Revision,
    },
}

/// All objects at one revision. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    objects: OrdMap<Key, StoredObject>,
    revision: Revision,
    seq: u64,
}

impl Snapshot {
    /// The revision whose state this is.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Where a watcher goes on that has read all of this snapshot.
    #[must_use]
    pub const fn cursor(&self) -> Cursor {
        Cursor::behind(self.seq, self.revision)
    }

    /// The objects of the range, in order of their keys, from `from` on.
    pub fn range(&self, prefix: &KeyPrefix, from: Bound<&str>) -> impl Iterator<Item = &StoredObject> {
        let from = match from {
            Bound::Included(text) | Bound::Excluded(text) if text >= prefix.as_str() => from,
            _ => Bound::Included(prefix.as_str()),
        };
        let end = prefix.end();
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        // Bounds the wrong way round are nothing to the map; still, not to rely on it costs one comparison.
        let empty =
            matches!((from, to), (Bound::Included(a) | Bound::Excluded(a), Bound::Excluded(b)) if a >= b);
        let objects = (!empty).then(|| self.objects.range::<_, str>((from, to)));
        objects.into_iter().flatten().map(|(_, object)| object)
    }

    /// What leads from this state to that of another store at `revision`, where it holds `objects`.
    ///
    /// Watchers are shown what has changed, and nothing twice. Deletions, whose revisions nobody knows, are shown at the first revision
    /// that was missed; a later object under the same key is one that was deleted and created again.
    ///
    /// When this is the state of a replica that knows nothing yet, or the other store went back in time, there is nothing to compare
    /// with: the history begins anew.
    #[must_use]
    pub fn difference(&self, mut objects: Vec<StoredObject>, revision: Revision) -> Difference {
        objects.sort_by(|a, b| a.key().cmp(b.key()));
        let (mut removed, mut changed) = (Vec::new(), Vec::new());
        let mut held = self.objects.values().peekable();
        for object in &objects {
            while let Some(gone) = held.next_if(|held| held.key() < object.key()) {
                removed.push(gone);
            }
            match held.next_if(|held| held.key() == object.key()) {
                Some(same) if same.revision() == object.revision() => {}
                Some(before) if before.create_revision() == object.create_revision() => {
                    changed.push(Event::modified(object.clone(), Some(before.clone())));
                }
                Some(before) => {
                    removed.push(before);
                    changed.push(Event::added(object.clone()));
                }
                None => changed.push(Event::added(object.clone())),
            }
        }
        removed.extend(held);
        let other_past = changed.iter().any(|event| event.revision() <= self.revision);
        if self.revision == Revision(0) || revision < self.revision || other_past {
            return Difference::Restart { objects, revision };
        }
        changed.sort_by_key(Event::revision);
        let removed_at = self.revision.next().min(revision);
        let removed = removed
            .into_iter()
            .map(|held| Event::deleted(held.clone(), removed_at));
        Difference::Events {
            events: removed.chain(changed).collect(),
            revision,
        }
    }

    /// A page of the range at the state that `undo` leads to: up to `limit` objects from `start` on, and how many come after them.
    /// `known` is the number of objects from `start` on, if it is known; it saves counting.
    #[must_use]
    pub fn page(
        &self,
        prefix: &KeyPrefix,
        start: Option<&str>,
        limit: Option<usize>,
        undo: &Undo,
        known: Option<usize>,
        remaining: Remaining,
    ) -> Page {
        let from = start.map_or(Bound::Unbounded, Bound::Included);
        let limit = limit.unwrap_or(usize::MAX);
        if undo.0.is_empty() {
            return Page::fill(self.range(prefix, from), limit, known, remaining);
        }
        let lower = start.unwrap_or_default().max(prefix.as_str());
        let undone = undo.0.range::<str, _>((Bound::Included(lower), Bound::Unbounded));
        let undone = undone.take_while(|(key, _)| prefix.contains(key));
        Page::fill(merge(self.range(prefix, from), undone), limit, known, remaining)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("revision", &self.revision)
            .field("objects", &self.objects.len())
            .finish()
    }
}

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects.
    pub items: Vec<StoredObject>,
    /// Where to go on, when objects remain.
    pub next: Option<String>,
    /// How many objects come after these, if that was to be counted.
    pub remaining: Option<usize>,
}

impl Page {
    fn fill<'a>(
        mut objects: impl Iterator<Item = &'a StoredObject>,
        limit: usize,
        known: Option<usize>,
        remaining: Remaining,
    ) -> Self {
        let mut items = Vec::with_capacity(known.unwrap_or(0).min(limit));
        items.extend(objects.by_ref().take(limit).cloned());
        let first = objects.next();
        // Right behind the last object rather than at the next: a list that goes on at a later state, since this one was compacted,
        // then misses nothing that was created between the two.
        let next = first.map(|first| match items.last() {
            Some(last) => format!("{}\0", last.key()),
            None => first.key().to_string(),
        });
        let remaining = match (remaining, &next, known) {
            (Remaining::Ignored, ..) => None,
            (Remaining::Counted, None, _) => Some(0),
            (Remaining::Counted, Some(_), Some(known)) => Some(known.saturating_sub(items.len())),
            (Remaining::Counted, Some(_), None) => Some(1 + objects.count()),
        };
        Self {
            items,
            next,
            remaining,
        }
    }
}

/// The objects with those of `undone` in their stead.
fn merge<'a>(
    present: impl Iterator<Item = &'a StoredObject>,
    undone: impl Iterator<Item = (&'a Key, &'a Option<StoredObject>)>,
) -> impl Iterator<Item = &'a StoredObject> {
    let (mut present, mut undone) = (present.peekable(), undone.peekable());
    std::iter::from_fn(move || {
        loop {
            let Some((key, _)) = undone.peek() else {
                return present.next();
            };
            match present.peek() {
                Some(object) if object.key() < *key => return present.next(),
                Some(object) if object.key() == *key => drop(present.next()),
                _ => {}
            }
            if let Some((_, Some(before))) = undone.next() {
                return Some(before);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, revision: u64, create_revision: u64) -> StoredObject {
        let encoded = Encoded::from_value(&json!({"metadata": {"name": name}}));
        StoredObject::new(
            Key::new("", "pods", Some("a"), name),
            encoded,
            Revision(revision),
            Revision(create_revision),
        )
    }

    /// A replica that holds `x` and `y` at revision 5.
    fn replica() -> Mvcc {
        Mvcc::restore(
            Limits::default(),
            [object("x", 3, 2), object("y", 5, 5)],
            Revision(5),
        )
    }

    fn all(mvcc: &Mvcc, after: Cursor) -> Vec<String> {
        let (mut seen, mut cursor) = (Vec::new(), after);
        mvcc.read(&KeyPrefix::all(), &mut cursor, usize::MAX, |event| {
            seen.push(format!("{event:?}"))
        })
        .unwrap();
        seen
    }

    #[test]
    fn a_replica_judges_changes_by_what_it_holds() {
        let check = |event: Event, expect: Option<(&str, Option<u64>)>, revision: u64| {
            let mut replica = replica();
            let seen = replica.observe(&event);
            let told = seen.as_ref().map(|seen| {
                (
                    format!("{seen:?}"),
                    seen.previous().map(|before| before.revision().0),
                )
            });
            assert_eq!(
                told,
                expect.map(|(text, before)| (text.to_owned(), before)),
                "{event:?}"
            );
            assert_eq!(replica.revision(), Revision(revision), "{event:?}");
        };
        let modified = |to, from: Option<StoredObject>| Event::modified(object("x", to, 2), from);
        check(
            modified(6, Some(object("x", 3, 2))),
            Some(("MODIFIED core/pods/a/x at 6", Some(3))),
            6,
        );
        // The store had compacted the state before, or another one was before.
        check(
            modified(6, None),
            Some(("MODIFIED core/pods/a/x at 6", Some(3))),
            6,
        );
        check(
            modified(7, Some(object("x", 6, 2))),
            Some(("MODIFIED core/pods/a/x at 7", Some(3))),
            7,
        );
        check(
            Event::added(object("x", 6, 6)),
            Some(("MODIFIED core/pods/a/x at 6", Some(3))),
            6,
        );
        check(
            Event::added(object("z", 6, 6)),
            Some(("ADDED core/pods/a/z at 6", None)),
            6,
        );
        check(
            Event::modified(object("z", 7, 6), Some(object("z", 6, 6))),
            Some(("ADDED core/pods/a/z at 7", None)),
            7,
        );
        check(
            Event::modified(object("z", 7, 6), None),
            Some(("ADDED core/pods/a/z at 7", None)),
            7,
        );
        check(
            Event::deleted(object("x", 3, 2), Revision(6)),
            Some(("DELETED core/pods/a/x at 6", Some(3))),
            6,
        );
        check(
            Event::deleted(object("x", 4, 2), Revision(6)),
            Some(("DELETED core/pods/a/x at 6", Some(3))),
            6,
        );
        check(Event::deleted(object("z", 4, 4), Revision(6)), None, 6);
        // Known already.
        check(modified(3, None), None, 5);
        check(Event::added(object("y", 5, 5)), None, 5);
        check(Event::deleted(object("x", 3, 2), Revision(4)), None, 5);
    }

    #[test]
    fn changes_that_share_a_revision_are_all_seen() {
        let mut replica = replica();
        let start = replica.snapshot().cursor();
        replica.observe(&Event::added(object("p", 6, 6)));
        let between = replica.snapshot().cursor();
        replica.observe(&Event::added(object("q", 6, 6)));
        assert_eq!(
            all(&replica, start),
            ["ADDED core/pods/a/p at 6", "ADDED core/pods/a/q at 6"]
        );
        assert_eq!(all(&replica, between), ["ADDED core/pods/a/q at 6"]);
    }

    #[test]
    fn a_store_with_another_past_is_not_compared_with() {
        let check = |held: Vec<StoredObject>, revision: u64, restart: bool| {
            let difference = replica().snapshot().difference(held, Revision(revision));
            assert_eq!(
                matches!(difference, Difference::Restart { .. }),
                restart,
                "{difference:?}"
            );
        };
        check(vec![object("y", 5, 5), object("x", 3, 2)], 5, false);
        check(vec![object("x", 3, 2)], 9, false);
        check(vec![object("x", 3, 2)], 4, true);
        check(vec![object("x", 4, 2), object("y", 5, 5)], 9, true);
        check(
            vec![object("x", 3, 2), object("y", 5, 5), object("z", 1, 1)],
            9,
            true,
        );
        let first = Mvcc::replica(Limits::default())
            .snapshot()
            .difference(vec![], Revision(1));
        assert!(matches!(first, Difference::Restart { .. }), "nothing was known");
    }

    #[test]
    fn interruptions_are_remembered_up_to_a_limit() {
        let mut replica = replica();
        for round in 1..=100 {
            let difference = replica.snapshot().difference(
                vec![object("x", 3, 2), object("y", 5, 5)],
                Revision(5 + round * 10),
            );
            replica.replace(difference);
        }
        let oldest =
            (0..=1005).find(|revision| replica.check(&KeyPrefix::all(), Revision(*revision)).is_ok());
        assert_eq!(
            oldest,
            Some(5 + 360),
            "the 36 oldest of 100 are beyond the limit of 64"
        );
        assert!(
            replica
                .check(&KeyPrefix::all(), Revision(1000))
                .is_err_and(|err| err.is_compacted())
        );
    }
}
