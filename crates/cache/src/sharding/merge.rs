//! One store for several ranges, each of which is listed and watched by itself.

use std::cmp::Ordering;
use std::num::NonZeroUsize;
use std::sync::Arc;

use hashbrown::HashMap;
use kubewright_core::{ObjectKey, ResourceVersion, ShardField, ShardRange, ShardSelector, shard_hash};

use crate::delta_fifo::{Batch, Delta};
use crate::record::Record;

/// Makes of what happens in each range what happens in the store.
///
/// An object never moves from one range to another, because its uid does not change. A key does, when its object is
/// deleted and made again: the ranges do not wait for each other, so the new object may come before the old one is gone,
/// and a list may bring the old one back. The store has the one of the greater version then. What another range has under
/// the same key is kept aside, in case the one in the store turns out to be what is gone.
#[derive(Debug)]
pub(crate) struct Merge {
    ranges: Vec<Part>,
    /// What is hidden by an object of another range. Almost always empty.
    aside: HashMap<ObjectKey, Vec<(usize, Arc<Record>)>>,
    populated: bool,
}

#[derive(Debug)]
struct Part {
    range: ShardRange,
    /// How far this range has got; `None` until it has been listed.
    version: Option<ResourceVersion>,
    synced: bool,
}

/// What the store shows: as it is, and what this batch changes in it.
struct View<'a> {
    stored: &'a dyn Fn(&ObjectKey) -> Option<Arc<Record>>,
    changed: HashMap<ObjectKey, Option<Arc<Record>>>,
    deltas: Vec<Delta>,
}

impl View<'_> {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Record>> {
        match self.changed.get(key) {
            Some(record) => record.clone(),
            None => (self.stored)(key),
        }
    }

    fn show(&mut self, record: Arc<Record>) {
        self.changed
            .insert(record.key().clone(), Some(Arc::clone(&record)));
        self.deltas.push(Delta::Upsert(record));
    }

    fn hide(&mut self, delta: Delta, key: &ObjectKey) {
        self.changed.insert(key.clone(), None);
        self.deltas.push(delta);
    }
}

impl Merge {
    /// Of all objects, in so many ranges.
    pub(crate) fn new(parts: NonZeroUsize) -> Self {
        let part = |range| Part {
            range,
            version: None,
            synced: false,
        };
        Self {
            ranges: ShardRange::ALL.split(parts).into_iter().map(part).collect(),
            aside: HashMap::new(),
            populated: false,
        }
    }

    /// What each range selects.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = ShardSelector> {
        let ranges = self.ranges.iter();
        ranges.map(|part| ShardSelector::new(ShardField::Uid, part.range))
    }

    fn range_of(&self, record: &Record) -> usize {
        let hash = shard_hash(record.uid());
        // They are in order, begin at 0 and leave nothing out.
        self.ranges.partition_point(|part| part.range.start() <= hash) - 1
    }

    /// What a batch of one range is to the store. `get` and `list` read the store, which changes by no other way.
    pub(crate) fn take_in(
        &mut self,
        range: usize,
        batch: Batch,
        get: &dyn Fn(&ObjectKey) -> Option<Arc<Record>>,
        list: &dyn Fn() -> Vec<Arc<Record>>,
    ) -> Batch {
        let mut view = View {
            stored: get,
            changed: HashMap::new(),
            deltas: Vec::with_capacity(batch.deltas.len()),
        };
        for delta in batch.deltas {
            match delta {
                Delta::Upsert(record) => self.upsert(range, record, &mut view),
                Delta::Delete(record) => {
                    let key = record.key().clone();
                    self.remove(range, &key, Delta::Delete(record), &mut view);
                }
                Delta::Lose(record) => {
                    let key = record.key().clone();
                    self.remove(range, &key, Delta::Lose(record), &mut view);
                }
                Delta::Replace(records) => {
                    self.replace(range, records, list(), &mut view);
                    self.ranges[range].synced = true;
                }
                Delta::Populated => {}
            }
        }
        if !self.populated && self.ranges.iter().all(|part| part.synced) {
            self.populated = true;
            view.deltas.push(Delta::Populated);
        }
        let version = batch.version.and_then(|version| {
            self.ranges[range].version = Some(version);
            self.least_version()
        });
        Batch {
            deltas: view.deltas,
            version,
        }
    }

    fn upsert(&mut self, range: usize, record: Arc<Record>, view: &mut View<'_>) {
        let key = record.key();
        match view.get(key).map(|shown| (self.range_of(&shown), shown)) {
            // A list repeats what is here, of whatever range if it cannot be read.
            Some((_, shown)) if Arc::ptr_eq(&shown, &record) => self.forget(range, key),
            Some((other, shown)) if other != range => {
                let is_newer =
                    record.resource_version().compare(&shown.resource_version()) != Some(Ordering::Less);
                self.forget(range, key);
                if is_newer {
                    // One of each range: a server that sends what is of another range must not fill the memory.
                    self.forget(other, key);
                    self.push_aside(other, shown);
                    view.show(record);
                } else {
                    self.push_aside(range, record);
                }
            }
            _ => {
                self.forget(range, key);
                view.show(record);
            }
        }
    }

    fn remove(&mut self, range: usize, key: &ObjectKey, delta: Delta, view: &mut View<'_>) {
        let shown = view.get(key);
        if shown.is_none_or(|shown| self.range_of(&shown) != range) {
            return self.forget(range, key);
        }
        view.hide(delta, key);
        // What another range has under this key.
        if let Some((other, record)) = self.newest_aside(key) {
            self.forget(other, key);
            view.show(record);
        }
    }

    fn push_aside(&mut self, range: usize, record: Arc<Record>) {
        let aside = self.aside.entry(record.key().clone()).or_default();
        aside.push((range, record));
    }

    /// The later one where versions cannot be compared.
    fn newest_aside(&self, key: &ObjectKey) -> Option<(usize, Arc<Record>)> {
        let aside = self.aside.get(key)?.iter();
        let newest = aside.reduce(|newest, other| {
            let version = other.1.resource_version();
            match version.compare(&newest.1.resource_version()) {
                Some(Ordering::Less) => newest,
                _ => other,
            }
        });
        newest.cloned()
    }

    fn replace(
        &mut self,
        range: usize,
        records: Vec<Arc<Record>>,
        stored: Vec<Arc<Record>>,
        view: &mut View<'_>,
    ) {
        let kept: hashbrown::HashSet<&ObjectKey> = records.iter().map(|record| record.key()).collect();
        let aside = self.aside.iter();
        let hidden = aside.filter(|(_, aside)| aside.iter().any(|(of, _)| *of == range));
        let hidden: Vec<_> = hidden.map(|(key, _)| key.clone()).collect();
        for key in hidden.iter().filter(|key| !kept.contains(key)) {
            self.forget(range, key);
        }
        let is_gone = |record: &Arc<Record>| !kept.contains(record.key()) && self.range_of(record) == range;
        let mut vanished: Vec<_> = stored.into_iter().filter(is_gone).collect();
        vanished.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        drop(kept);
        for record in vanished {
            let key = record.key().clone();
            self.remove(range, &key, Delta::Lose(record), view);
        }
        for record in records {
            self.upsert(range, record, view);
        }
    }

    /// Drops what is kept aside for a range.
    fn forget(&mut self, range: usize, key: &ObjectKey) {
        if self.aside.is_empty() {
            return;
        }
        if let Some(aside) = self.aside.get_mut(key) {
            aside.retain(|(of, _)| *of != range);
            if aside.is_empty() {
                self.aside.remove(key);
            }
        }
    }

    /// The version that all ranges have reached.
    fn least_version(&self) -> Option<ResourceVersion> {
        let mut versions = self.ranges.iter().map(|part| part.version.as_ref());
        let first = versions.next()??;
        let least = versions.try_fold(first, |least, version| {
            let version = version?;
            Some(match version.compare(least)? {
                Ordering::Less => version,
                _ => least,
            })
        });
        least.cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::store::{Change, FinalState, Store};
    use crate::tests::{empty_store, record, show};

    const PARTS: usize = 3;

    struct Sharded {
        merge: Merge,
        store: Store,
        told: BTreeMap<String, (String, String)>,
    }

    impl Sharded {
        fn new() -> Self {
            Self {
                merge: Merge::new(NonZeroUsize::new(PARTS).unwrap()),
                store: empty_store(),
                told: BTreeMap::new(),
            }
        }

        fn record(&self, key: &str, uid: &str, version: u64) -> Arc<Record> {
            record(&self.store, key, uid, version)
        }

        fn take_in(&mut self, range: usize, deltas: Vec<Delta>, version: u64) -> Vec<Change> {
            let batch = Batch {
                deltas,
                version: Some(ResourceVersion::new(version.to_string())),
            };
            let (get, list) = (|key: &ObjectKey| self.store.get(key), || self.store.list());
            let batch = self.merge.take_in(range, batch, &get, &list);
            let changes = self.store.apply(batch);
            for change in &changes {
                self.follow(change);
            }
            changes
        }

        /// What a handler knows, if its story fits.
        fn follow(&mut self, change: &Change) {
            let state = |record: &Record| (record.uid().to_owned(), record.version().to_owned());
            match change {
                Change::Added { new, .. } => {
                    assert_eq!(self.told.insert(new.key().to_string(), state(new)), None);
                }
                Change::Updated { old, new } => {
                    let before = self.told.insert(new.key().to_string(), state(new));
                    assert_eq!(before, Some(state(old)));
                }
                Change::Deleted { last, .. } => {
                    let before = self.told.remove(&last.key().to_string()).unwrap();
                    assert_eq!(before.0, last.uid());
                }
            }
        }

        fn stored(&self) -> BTreeMap<String, (String, String)> {
            let list = self.store.list();
            let state = |record: &Arc<Record>| (record.uid().to_owned(), record.version().to_owned());
            list.iter()
                .map(|record| (record.key().to_string(), state(record)))
                .collect()
        }
    }

    /// An uid of a range.
    fn uid(range: usize, number: usize) -> String {
        let merge = Merge::new(NonZeroUsize::new(PARTS).unwrap());
        let part = merge.ranges[range].range;
        let mut uids = (0..).map(|i| format!("{i}-{number}-uid"));
        uids.find(|uid| part.contains(shard_hash(uid))).unwrap()
    }

    #[test]
    fn synced_when_all_are_and_as_far_as_the_last() {
        let mut sharded = Sharded::new();
        for (range, version, expect) in [(1, 30, ""), (0, 20, ""), (2, 40, "20")] {
            let object = sharded.record(&format!("n/{range}"), &uid(range, 0), 1);
            assert!(!sharded.store.is_populated());
            sharded.take_in(range, vec![Delta::Replace(vec![object])], version);
            assert_eq!(sharded.store.version().to_string(), expect);
        }
        assert!(sharded.store.is_populated());
        assert_eq!(sharded.store.len(), 3);
        // A range that is listed again loses what is its own.
        let changes = sharded.take_in(1, vec![Delta::Replace(Vec::new())], 50);
        assert!(
            matches!(&*changes, [Change::Deleted { last, final_state: FinalState::Unknown }] if show(last).starts_with("n/1=")),
            "{changes:?}"
        );
        assert_eq!(sharded.store.version().to_string(), "20");
        sharded.take_in(0, Vec::new(), 60);
        assert_eq!(sharded.store.version().to_string(), "40");
    }

    #[test]
    fn an_object_that_is_made_again_in_another_range() {
        let (old, new) = (uid(0, 0), uid(1, 0));
        let key = "n/a";
        let shown = |sharded: &Sharded| sharded.stored().get(key).map(|(uid, _)| uid.clone());
        let start = || {
            let mut sharded = Sharded::new();
            let first = sharded.record(key, &old, 1);
            sharded.take_in(0, vec![Delta::Replace(vec![first])], 1);
            sharded.take_in(1, vec![Delta::Replace(Vec::new())], 1);
            sharded.take_in(2, vec![Delta::Replace(Vec::new())], 1);
            sharded
        };
        // The creation comes first: the deletion of the old one does no harm to the new one.
        let mut sharded = start();
        let (deleted, made) = (sharded.record(key, &old, 2), sharded.record(key, &new, 3));
        sharded.take_in(1, vec![Delta::Upsert(Arc::clone(&made))], 3);
        assert_eq!(shown(&sharded), Some(new.clone()));
        sharded.take_in(0, vec![Delta::Delete(deleted)], 2);
        assert_eq!(shown(&sharded), Some(new.clone()));
        assert!(sharded.merge.aside.is_empty());
        // A list of the old range that is older than the new object does not bring the old one back.
        let mut sharded = start();
        sharded.take_in(1, vec![Delta::Upsert(made)], 3);
        let stale = sharded.record(key, &old, 1);
        sharded.take_in(0, vec![Delta::Replace(vec![stale])], 1);
        assert_eq!(shown(&sharded), Some(new));
        // Unless the new one turns out not to be there: a backup was restored.
        sharded.take_in(1, vec![Delta::Replace(Vec::new())], 1);
        assert_eq!(shown(&sharded), Some(old));
        assert!(sharded.merge.aside.is_empty());
    }

    #[test]
    fn what_is_aside_comes_back_in_its_newest_state() {
        let key = "n/a";
        let uids: Vec<_> = (0..PARTS).map(|range| uid(range, 0)).collect();
        let mut sharded = Sharded::new();
        for (range, version) in [(2, 9), (1, 8), (0, 3)] {
            let object = sharded.record(key, &uids[range], version);
            sharded.take_in(range, vec![Delta::Upsert(object)], version);
        }
        for (range, version) in [(2, 9), (1, 8), (0, 3)] {
            let shown = sharded.stored()[key].clone();
            assert_eq!(shown, (uids[range].clone(), version.to_string()));
            let gone = sharded.record(key, &uids[range], version);
            sharded.take_in(range, vec![Delta::Delete(gone)], 10);
        }
        assert!(sharded.stored().is_empty() && sharded.merge.aside.is_empty());
    }

    #[test]
    fn what_is_sent_to_the_wrong_range_does_not_pile_up() {
        let (key, foreign) = ("n/a", uid(1, 0));
        let mut sharded = Sharded::new();
        for version in 1..100 {
            let object = sharded.record(key, &foreign, version);
            sharded.take_in(0, vec![Delta::Upsert(object)], version);
            let aside = sharded.merge.aside.values().map(Vec::len).sum::<usize>();
            assert!(aside <= 1, "{aside} at version {version}");
        }
        assert_eq!(sharded.stored()[key], (foreign, "99".to_owned()));
    }

    /// Ranges that follow one server, each at its own pace, end up with what it has, by a story that fits.
    #[test]
    fn ranges_at_their_own_pace() {
        for seed in 0..60 {
            println!("seed {seed}");
            let mut random = fastrand::Rng::with_seed(seed);
            let uids: Vec<Vec<String>> = (0..PARTS)
                .map(|range| (0..6).map(|n| uid(range, n)).collect())
                .collect();
            let mut sharded = Sharded::new();
            // Which uid is under a key since when; and the log of each range.
            let mut truth: BTreeMap<String, (usize, String, u64)> = BTreeMap::new();
            let mut logs: Vec<Vec<Delta>> = (0..PARTS).map(|_| Vec::new()).collect();
            let mut version = 10;
            for range in 0..PARTS {
                sharded.take_in(range, vec![Delta::Replace(Vec::new())], version);
            }
            for _ in 0..400 {
                let key = format!("n/{}", random.u8(0..4));
                version += 1;
                match random.u8(0..10) {
                    0..4 => {
                        let fresh = || {
                            let range = random.usize(0..PARTS);
                            (range, uids[range][random.usize(0..6)].clone(), 0)
                        };
                        let entry = truth.entry(key.clone()).or_insert_with(fresh);
                        entry.2 = version;
                        let (range, uid, _) = entry.clone();
                        logs[range].push(Delta::Upsert(sharded.record(&key, &uid, version)));
                    }
                    4..6 => {
                        if let Some((range, uid, _)) = truth.remove(&key) {
                            logs[range].push(Delta::Delete(sharded.record(&key, &uid, version)));
                        }
                    }
                    6..9 => {
                        let range = random.usize(0..PARTS);
                        let count = random.usize(0..=logs[range].len());
                        let deltas = logs[range].drain(..count).collect();
                        sharded.take_in(range, deltas, version);
                    }
                    // A watch expired: the range is listed, and its log is in the list.
                    _ => {
                        let range = random.usize(0..PARTS);
                        logs[range].clear();
                        let own = truth.iter().filter(|(_, (of, ..))| *of == range);
                        let own = own
                            .map(|(key, (_, uid, at))| sharded.record(key, uid, *at))
                            .collect();
                        sharded.take_in(range, vec![Delta::Replace(own)], version);
                    }
                }
            }
            for (range, log) in logs.into_iter().enumerate() {
                sharded.take_in(range, log, version);
            }
            let expect: BTreeMap<_, _> = truth
                .into_iter()
                .map(|(key, (_, uid, version))| (key, (uid, version.to_string())))
                .collect();
            assert_eq!(sharded.stored(), expect);
            assert_eq!(sharded.told, expect);
            assert!(sharded.merge.aside.is_empty());
        }
    }
}
