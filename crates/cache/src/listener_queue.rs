//! What one handler has not been told yet, as a state machine.
//!
//! Changes come in parcels that all handlers share, so a handler that keeps up costs a pointer for each parcel, however
//! many handlers there are. What a slow handler leaves is taken out of the parcels and merged: one entry for a key,
//! which says the difference between what the handler knows and what is.
//!
//! Entries wait in two lanes. Fresh changes are in one, in order; what a resync shows again is in the other and gets
//! one call in [`RESYNCED_ONE_IN`] while there are fresh changes. A key with news leaves the lane of the resync: it is
//! in one place only.
//!
//! The initial state of a handler is in the fresh lane, and what changes meanwhile waits behind it, merged where it
//! concerns a key that waits there. So it is never held up by changes, however many, and the mark that ends it comes
//! after each of its objects was told once.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use kubewright_core::ObjectKey;
use kubewright_queue::list::{Linked, Links, List};

use crate::record::Record;
use crate::store::{Change, FinalState, Initial};

/// The queue. Memory is bounded by the number of keys in the store and those the handler still has to be told are gone,
/// by the parcel that is being told, and by [`MAX_UNMERGED`].
#[derive(Debug)]
pub(crate) struct ListenerQueue {
    /// What was not looked at yet; newer than all that is merged.
    parcels: VecDeque<Parcel>,
    /// Changes in parcels.
    unmerged: usize,
    max_unmerged: usize,
    hasher: DefaultHashBuilder,
    index: HashTable<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    fresh: List<FRESH>,
    resynced: List<RESYNCED>,
    /// Fresh deliveries since one of the resync.
    since_resynced: u32,
    /// While a resync is under way: what has changed since it began.
    changed: Option<HashSet<ObjectKey>>,
    longest: usize,
    closed: bool,
}

#[derive(Debug)]
enum Parcel {
    Changes {
        changes: Arc<[Change]>,
        /// How many of them were told.
        told: usize,
        since: Instant,
    },
    /// Everything before this belongs to the initial state.
    Synced,
}

/// One entry of the merged part, in the fresh lane or in that of the resync.
#[derive(Debug)]
struct Slot {
    hash: u64,
    lane: usize,
    /// When the oldest change in it came.
    since: Option<Instant>,
    content: Content,
    links: Links,
}

#[derive(Debug)]
enum Content {
    /// The slot is free.
    Nothing,
    /// See [`Parcel::Synced`].
    Synced,
    Gone(Arc<Record>, FinalState),
    There(Then),
    /// The object that the handler knows is gone, and another is there.
    Replaced(Arc<Record>, FinalState, Arc<Record>, Initial),
}

/// What is there now.
#[derive(Debug)]
enum Then {
    Added(Arc<Record>, Initial),
    Updated { old: Arc<Record>, new: Arc<Record> },
}

/// The next thing to tell.
#[derive(Debug)]
pub(crate) enum Delivery {
    Change(Change),
    Synced,
}

/// How far a handler is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Lag {
    /// Changes that were not merged yet, each of them, and keys with changes that were: those count once, also where an
    /// object was made anew and takes two calls. A key with both counts for both, so the calls to come may be fewer, or
    /// more.
    pub pending: usize,
    /// Keys that a resync will show again.
    pub resynced: usize,
    /// How long the oldest change has waited; `None` when there is none. Resynced keys do not count.
    pub oldest: Option<Duration>,
    /// The most that `pending` and `resynced` ever were together.
    pub longest: usize,
}

impl Default for ListenerQueue {
    fn default() -> Self {
        Self::new(MAX_UNMERGED)
    }
}

impl ListenerQueue {
    /// A queue that merges once more than this many changes wait behind the parcel that is being told.
    pub(crate) fn new(max_unmerged: usize) -> Self {
        Self {
            parcels: VecDeque::new(),
            unmerged: 0,
            max_unmerged,
            hasher: DefaultHashBuilder::default(),
            index: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            fresh: List::default(),
            resynced: List::default(),
            since_resynced: 0,
            changed: None,
            longest: 0,
            closed: false,
        }
    }

    /// What happened, in order.
    pub(crate) fn push(&mut self, changes: &Arc<[Change]>, now: Instant) {
        if self.closed || changes.is_empty() {
            return;
        }
        if let Some(changed) = &mut self.changed {
            changed.extend(changes.iter().map(|change| change.record().key().clone()));
        }
        self.unmerged += changes.len();
        self.parcels.push_back(Parcel::Changes {
            changes: Arc::clone(changes),
            told: 0,
            since: now,
        });
        let first = self.parcels.front().map_or(0, Parcel::len);
        if self.unmerged - first > self.max_unmerged {
            self.merge_parcels();
        }
        self.longest = self.longest.max(self.len());
    }

    /// What was pushed until now is the initial state.
    pub(crate) fn mark_synced(&mut self) {
        if !self.closed {
            self.parcels.push_back(Parcel::Synced);
        }
    }

    /// What is listed from now on is going to be shown again, piece by piece.
    pub(crate) fn begin_resync(&mut self) {
        self.changed = Some(HashSet::new());
    }

    pub(crate) fn end_resync(&mut self) {
        self.changed = None;
    }

    /// Shows objects again that have no news of their own. What has changed since the resync began is not what it was
    /// when it was listed, and the handler is told of it anyway, or was already.
    pub(crate) fn resync(&mut self, records: &[Arc<Record>]) {
        if self.closed {
            return;
        }
        self.merge_parcels();
        for record in records {
            let has_changed = |changed: &HashSet<_>| changed.contains(record.key());
            if self.changed.as_ref().is_some_and(has_changed) {
                continue;
            }
            let hash = self.hasher.hash_one(record.key());
            if self.find(hash, record.key()).is_none() {
                let shown = Then::Updated {
                    old: Arc::clone(record),
                    new: Arc::clone(record),
                };
                let at = self.insert(hash, Content::There(shown), RESYNCED, None);
                self.resynced.push_back(&mut self.slots, at);
            }
        }
        self.longest = self.longest.max(self.len());
    }

    /// Nothing is told any more.
    pub(crate) fn close(&mut self) {
        *self = Self {
            longest: self.longest,
            closed: true,
            ..Self::new(self.max_unmerged)
        };
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The next thing to tell.
    pub(crate) fn pop(&mut self) -> Option<Delivery> {
        if self.fresh.is_empty() && self.resynced.is_empty() {
            self.shrink();
            return self.pop_parcel();
        }
        self.merge_parcels();
        let resyncs_turn = self.fresh.is_empty() || self.since_resynced + 1 >= RESYNCED_ONE_IN;
        if resyncs_turn && let Some(at) = self.resynced.front() {
            self.since_resynced = 0;
            return self.tell(at);
        }
        self.since_resynced = self.since_resynced.saturating_add(1);
        let at = self.fresh.front()?;
        self.tell(at)
    }

    pub(crate) fn len(&self) -> usize {
        self.unmerged + self.index.len()
    }

    pub(crate) fn lag(&self, now: Instant) -> Lag {
        let merged = self.fresh.iter(&self.slots).find_map(|slot| slot.since);
        let oldest = merged.or_else(|| self.parcels.iter().find_map(Parcel::since));
        Lag {
            pending: self.len() - self.resynced.len(),
            resynced: self.resynced.len(),
            oldest: oldest.map(|since| now.saturating_duration_since(since)),
            longest: self.longest,
        }
    }

    /// The first change that is not merged: nobody waits before it.
    fn pop_parcel(&mut self) -> Option<Delivery> {
        let Parcel::Changes { changes, told, .. } = self.parcels.front_mut()? else {
            self.parcels.pop_front();
            return Some(Delivery::Synced);
        };
        let change = changes.get(*told)?.clone();
        *told += 1;
        if *told == changes.len() {
            self.parcels.pop_front();
        }
        self.unmerged -= 1;
        Some(Delivery::Change(change))
    }

    fn merge_parcels(&mut self) {
        self.unmerged = 0;
        while let Some(parcel) = self.parcels.pop_front() {
            match parcel {
                Parcel::Changes { changes, told, since } => {
                    for change in &changes[told..] {
                        self.merge(change, since);
                    }
                }
                Parcel::Synced => {
                    let at = self.insert(0, Content::Synced, FRESH, None);
                    self.fresh.push_back(&mut self.slots, at);
                }
            }
        }
    }

    fn merge(&mut self, change: &Change, since: Instant) {
        let key = change.record().key();
        let hash = self.hasher.hash_one(key);
        let at = match self.find(hash, key) {
            Some(at) => {
                if self.slots[at as usize].lane == RESYNCED {
                    self.resynced.remove(&mut self.slots, at);
                    self.slots[at as usize].lane = FRESH;
                    self.slots[at as usize].since = Some(since);
                    self.fresh.push_back(&mut self.slots, at);
                }
                at
            }
            None => {
                let at = self.insert(hash, Content::Nothing, FRESH, Some(since));
                self.fresh.push_back(&mut self.slots, at);
                at
            }
        };
        let slot = &mut self.slots[at as usize];
        slot.content = std::mem::replace(&mut slot.content, Content::Nothing).and_then(change.clone());
        if matches!(slot.content, Content::Nothing) {
            self.fresh.remove(&mut self.slots, at);
            self.release(at);
        }
    }

    /// Takes out what there is to tell of a slot. A deletion and what follows come one after the other.
    fn tell(&mut self, at: u32) -> Option<Delivery> {
        let slot = &mut self.slots[at as usize];
        let delivery = match std::mem::replace(&mut slot.content, Content::Nothing) {
            Content::Nothing => None,
            Content::Synced => Some(Delivery::Synced),
            Content::Gone(last, final_state) => Some(Delivery::Change(Change::Deleted { last, final_state })),
            Content::There(then) => Some(Delivery::Change(then.into())),
            Content::Replaced(last, final_state, new, initial) => {
                slot.content = Content::There(Then::Added(new, initial));
                return Some(Delivery::Change(Change::Deleted { last, final_state }));
            }
        };
        match slot.lane {
            FRESH => self.fresh.remove(&mut self.slots, at),
            _ => self.resynced.remove(&mut self.slots, at),
        }
        self.release(at);
        delivery
    }

    fn find(&self, hash: u64, key: &ObjectKey) -> Option<u32> {
        let found = self
            .index
            .find(hash, |&at| self.slots[at as usize].content.key() == Some(key));
        found.copied()
    }

    /// Makes a slot, which is in no list yet; the mark is not found by a key.
    fn insert(&mut self, hash: u64, content: Content, lane: usize, since: Option<Instant>) -> u32 {
        let is_mark = matches!(content, Content::Synced);
        let slot = Slot {
            hash,
            lane,
            since,
            content,
            links: Links::default(),
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                // A store of 2^32 objects does not fit into any memory.
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        if !is_mark {
            self.index
                .insert_unique(hash, at, |&at| self.slots[at as usize].hash);
        }
        at
    }

    /// Gives a slot back that is in no list.
    fn release(&mut self, at: u32) {
        if let Ok(entry) = self
            .index
            .find_entry(self.slots[at as usize].hash, |&other| other == at)
        {
            entry.remove();
        }
        self.slots[at as usize].content = Content::Nothing;
        self.free.push(at);
    }

    /// A resync, or a burst, passed through here once: its room is not needed again.
    fn shrink(&mut self) {
        if self.slots.len() > KEPT_SLOTS {
            self.slots = Vec::new();
            self.free = Vec::new();
            self.index = HashTable::new();
        }
        if self.parcels.is_empty() && self.parcels.capacity() > KEPT_SLOTS {
            self.parcels = VecDeque::new();
        }
    }

    /// Everything that could grow.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.parcels.capacity() + self.slots.capacity() + self.free.capacity() + self.index.capacity()
    }
}

/// The numbers of the lanes. A slot is in one at a time, so that both use the same links.
const FRESH: usize = 0;
const RESYNCED: usize = 1;

/// While there are fresh changes, every how many calls a resynced key has its turn.
pub(crate) const RESYNCED_ONE_IN: u32 = 8;

/// Changes that may wait unmerged, beyond the parcel that is being told.
const MAX_UNMERGED: usize = 1024;

/// Slots for which an empty queue keeps room.
const KEPT_SLOTS: usize = 1024;

impl Parcel {
    /// How many changes of it were not told.
    fn len(&self) -> usize {
        match self {
            Self::Changes { changes, told, .. } => changes.len() - told,
            Self::Synced => 0,
        }
    }

    fn since(&self) -> Option<Instant> {
        match self {
            Self::Changes { since, .. } => Some(*since),
            Self::Synced => None,
        }
    }
}

impl Content {
    fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Nothing | Self::Synced => None,
            Self::Gone(record, _)
            | Self::There(Then::Added(record, _) | Then::Updated { new: record, .. })
            | Self::Replaced(record, ..) => Some(record.key()),
        }
    }

    /// What there is to tell after one more change. Nothing is left of an object that came and went unseen.
    fn and_then(self, change: Change) -> Self {
        match (self, change) {
            (Self::Nothing | Self::Synced, Change::Added { new, initial }) => {
                Self::There(Then::Added(new, initial))
            }
            (Self::Nothing | Self::Synced, Change::Updated { old, new }) => {
                Self::There(Then::Updated { old, new })
            }
            (Self::Nothing | Self::Synced, Change::Deleted { last, final_state }) => {
                Self::Gone(last, final_state)
            }
            (Self::Gone(last, final_state), Change::Added { new, initial }) => {
                Self::Replaced(last, final_state, new, initial)
            }
            // The store tells of no update of what it has not.
            (Self::Gone(last, final_state), Change::Updated { new, .. }) => {
                Self::Replaced(last, final_state, new, Initial::No)
            }
            (gone @ Self::Gone(..), Change::Deleted { .. }) => gone,
            (
                Self::There(Then::Added(_, initial)),
                Change::Added { new, .. } | Change::Updated { new, .. },
            ) => Self::There(Then::Added(new, initial)),
            (
                Self::There(Then::Updated { old, .. }),
                Change::Added { new, .. } | Change::Updated { new, .. },
            ) => Self::There(Then::Updated { old, new }),
            (Self::There(Then::Added(..)), Change::Deleted { .. }) => Self::Nothing,
            (Self::There(Then::Updated { .. }), Change::Deleted { last, final_state }) => {
                Self::Gone(last, final_state)
            }
            (
                Self::Replaced(last, final_state, _, initial),
                Change::Added { new, .. } | Change::Updated { new, .. },
            ) => Self::Replaced(last, final_state, new, initial),
            (Self::Replaced(last, final_state, ..), Change::Deleted { .. }) => Self::Gone(last, final_state),
        }
    }
}

impl From<Then> for Change {
    fn from(then: Then) -> Self {
        match then {
            Then::Added(new, initial) => Self::Added { new, initial },
            Then::Updated { old, new } => Self::Updated { old, new },
        }
    }
}

impl Change {
    /// The newest state that it speaks of.
    pub(crate) fn record(&self) -> &Arc<Record> {
        match self {
            Self::Added { new, .. } | Self::Updated { new, .. } => new,
            Self::Deleted { last, .. } => last,
        }
    }
}

impl Linked for Slot {
    fn links(&mut self, _: usize) -> &mut Links {
        &mut self.links
    }

    fn next(&self, _: usize) -> u32 {
        self.links.next()
    }
}
