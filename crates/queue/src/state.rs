//! The queue as a state machine: no clock, no lock, no waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::limiter::{MaxOf, RateLimiter};
use crate::list::{Linked, Links, List, NONE};
use crate::metrics::{Metrics, NoMetrics, Snapshot};

/// The priority of keys that nobody gave another.
pub const DEFAULT_PRIORITY: i32 = 0;

/// The priority for keys of an initial list or a resync: behind everything that really changed.
pub const LOW_PRIORITY: i32 = -100;

/// How a queue behaves. Every value is valid.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How low priorities get their turn. Default: [`Aging::default`]. `None` lets high priorities starve low ones.
    pub aging: Option<Aging>,
    /// What a run does to a delayed addition of the same key that is not due yet. Default:
    /// [`Delayed::CancelledByRun`].
    pub delayed: Delayed,
    /// Most distinct keys the queue holds: ready, delayed and in work. Further keys are refused
    /// ([`Added::Full`]); keys it holds always merge. Default: 2^24.
    pub max_keys: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            aging: Some(Aging::default()),
            delayed: Delayed::default(),
            max_keys: 1 << 24,
        }
    }
}

/// A share of the work for keys that have waited long, whatever their priority.
///
/// A key does not climb in priority: a hundred thousand old resyncs never stand before one fresh change. Instead
/// one key in `one_in` that workers take is the one that could have been taken longest, once it has been ready for longer than `after`. What
/// is added while in work can be taken when that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aging {
    /// How long a key must have been ready. Default: 5 s.
    pub after: Duration,
    /// Every how many keys an old one is taken; 0 counts as 1, which means that priorities count among younger ones alone. Default: 8.
    pub one_in: u32,
}

impl Default for Aging {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(5),
            one_in: 8,
        }
    }
}

/// What a run does to a delayed addition of the same key that is not due yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delayed {
    /// It is dropped: a key has one slot, and the earliest time wins. A worker that still wants its delay says so
    /// again, as reconcilers do with each result.
    #[default]
    CancelledByRun,
    /// It stays and leads to another run at its time, as in client-go.
    Kept,
}

/// What became of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The key is now due, or will be, and was not before.
    New,
    /// The key was due or waiting already; its slot has the earlier time and the higher priority of the two.
    Merged,
    /// The queue is shutting down.
    ShuttingDown,
    /// [`Settings::max_keys`] is reached. Something produces keys without bound.
    Full,
}

/// How to shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutDown {
    /// Hand out what is ready, then end. Keys whose delay has not ended are dropped.
    Drain,
    /// End at once. Ready and delayed keys are dropped; what is in work can still finish.
    Now,
}

/// A key for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<K> {
    /// The key. It is given to no other worker before [`QueueState::done`].
    pub key: K,
    /// The highest priority that was asked for since the last run.
    pub priority: i32,
    /// How long it was ready.
    pub waited: Duration,
}

/// The answer to a worker that asks for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Get<K> {
    /// Work.
    Item(Taken<K>),
    /// Nothing is due. Ask again after an addition, after [`QueueState::done`], or at this time.
    Wait(Option<Instant>),
    /// No work will come any more.
    ShutDown,
}

/// Longest delay of an addition; longer ones are cut to this. 100 years.
pub const MAX_DELAY: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Lists a slot can be in: its priority band, and by age (ready keys in order of readiness, or keys in work).
const BAND: usize = 0;
const AGE: usize = 1;

/// Stale entries that the heap of delays may hold beyond the live ones before it is rebuilt.
const STALE_SLACK: usize = 64;

/// Empty priority bands that are kept, so that the usual two or three are never rebuilt.
const EMPTY_BANDS: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Ready {
    priority: i32,
    since: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Later {
    at: Instant,
    priority: i32,
    /// Which of all delays it is: what else is noted for the slot was cancelled, even if it was for the same time.
    number: u64,
}

/// All that is known about one key. A key that is neither ready, nor delayed, nor in work has no slot.
#[derive(Debug)]
struct Slot<K> {
    key: Option<K>,
    hash: u64,
    /// Due. While the key is in work this means: run again afterwards; the slot is in no ready list then.
    ready: Option<Ready>,
    later: Option<Later>,
    /// In work since.
    processing: Option<Instant>,
    links: [Links; 2],
}

impl<K> Linked for Slot<K> {
    fn links(&mut self, list: usize) -> &mut Links {
        &mut self.links[list]
    }

    fn next(&self, list: usize) -> u32 {
        self.links[list].next()
    }
}

/// The queue.
///
/// A key is in it once. It becomes ready by [`add`](Self::add), or when a delay ends; [`get`](Self::get) takes the
/// first of the highest priority; until [`done`](Self::done) no other worker gets it, and what is added meanwhile
/// makes it run once more. Times are arguments and should not go backwards. Every call that is given one first makes those keys ready
/// whose delay has ended by then, and they have been so since it ended.
pub struct QueueState<K> {
    settings: Settings,
    /// `None` where nobody wants them.
    metrics: Option<Arc<dyn Metrics>>,
    limiter: Box<dyn RateLimiter<K>>,
    hasher: DefaultHashBuilder,
    index: HashTable<u32>,
    slots: Vec<Slot<K>>,
    free: Vec<u32>,
    /// Ready keys by priority, highest first.
    bands: BTreeMap<Reverse<i32>, List<BAND>>,
    /// How many of these are empty.
    empty_bands: usize,
    /// Ready keys in the order in which they could be taken.
    by_age: List<AGE>,
    processing: List<AGE>,
    /// How many of those in work are ready again.
    again: usize,
    /// Times of delayed keys, in order of asking where they are equal. Entries go stale when a slot's time changes
    /// and are skipped then.
    delays: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    delays_made: u64,
    delayed: usize,
    /// Keys taken by priority since the last one taken by age.
    since_aged: u32,
    shutting_down: bool,
}

impl<K: fmt::Debug> fmt::Debug for QueueState<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueState")
            .field("ready", &self.by_age.len())
            .field("delayed", &self.delayed)
            .field("processing", &self.processing.len())
            .field("shutting_down", &self.shutting_down)
            .finish_non_exhaustive()
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug + Send + 'static> Default for QueueState<K> {
    /// Default settings, [`MaxOf`]'s default limiter, no metrics.
    fn default() -> Self {
        Self::new(
            Settings::default(),
            Box::new(MaxOf::default()),
            Arc::new(NoMetrics),
        )
    }
}

impl<K> QueueState<K> {
    /// How many keys are ready, not counting delayed ones and those in work, as of the last time that was given.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    /// True when no key is ready, as of the last time that was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when the queue is shutting down and nothing is ready or will be.
    pub(crate) fn is_over(&self) -> bool {
        self.shutting_down && self.by_age.is_empty() && self.again == 0
    }
}

impl<K: Eq + Hash + Clone> QueueState<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(settings: Settings, limiter: Box<dyn RateLimiter<K>>, metrics: Arc<dyn Metrics>) -> Self {
        Self {
            settings,
            metrics: Some(metrics).filter(|metrics| metrics.is_wanted()),
            limiter,
            hasher: DefaultHashBuilder::default(),
            index: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            bands: BTreeMap::new(),
            empty_bands: 0,
            by_age: List::default(),
            processing: List::default(),
            again: 0,
            delays: BinaryHeap::new(),
            delays_made: 0,
            delayed: 0,
            since_aged: 0,
            shutting_down: false,
        }
    }

    /// Makes a key due now.
    pub fn add(&mut self, key: K, priority: i32, now: Instant) -> Added {
        self.promote_due(now);
        match self.slot_for(key) {
            Ok((at, fresh)) => {
                let waiting = self.slots[at as usize].later.is_some();
                let was_ready = self.make_ready(at, priority, now);
                if fresh || !(was_ready || waiting) {
                    Added::New
                } else {
                    Added::Merged
                }
            }
            Err(refused) => refused,
        }
    }

    /// Makes a key due after a delay (at most [`MAX_DELAY`]; zero means now). One that comes after the shutdown is no
    /// retry (client-go `util/workqueue/delaying_queue.go`).
    pub fn add_after(&mut self, key: K, delay: Duration, priority: i32, now: Instant) -> Added {
        if self.shutting_down {
            return Added::ShuttingDown;
        }
        if let Some(metrics) = &self.metrics {
            metrics.retried();
        }
        if delay.is_zero() {
            return self.add(key, priority, now);
        }
        self.promote_due(now);
        let (at, _) = match self.slot_for(key) {
            Ok(found) => found,
            Err(refused) => return refused,
        };
        let slot = &mut self.slots[at as usize];
        if slot.ready.is_some() && self.settings.delayed == Delayed::CancelledByRun {
            // The run that is due already would cancel this delay: it only lends its priority.
            self.make_ready(at, priority, now);
            return Added::Merged;
        }
        let time = now.checked_add(delay.min(MAX_DELAY)).unwrap_or(now);
        let merged = slot.later.is_some();
        let earlier = slot.later.is_none_or(|later| time < later.at);
        if earlier {
            self.delays_made += 1;
        }
        let number = self.delays_made;
        slot.later = Some(match slot.later {
            None => Later {
                at: time,
                priority,
                number,
            },
            Some(later) => Later {
                at: later.at.min(time),
                priority: later.priority.max(priority),
                number: if earlier { number } else { later.number },
            },
        });
        if !merged {
            self.delayed += 1;
        }
        if earlier {
            self.delays.push(Reverse((time, number, at)));
            self.drop_stale_delays();
        }
        if merged { Added::Merged } else { Added::New }
    }

    /// Makes a key due after the delay that the rate limiter asks for.
    pub fn add_rate_limited(&mut self, key: K, priority: i32, now: Instant) -> Added {
        if self.shutting_down {
            return Added::ShuttingDown;
        }
        let delay = self.limiter.when(&key, now);
        self.add_after(key, delay, priority, now)
    }

    /// The next key for a worker.
    pub fn get(&mut self, now: Instant) -> Get<K> {
        self.get_slot(now).1
    }

    /// The same, and the slot of the key if there is one, for [`done_slot`](Self::done_slot).
    pub(crate) fn get_slot(&mut self, now: Instant) -> (u32, Get<K>) {
        self.promote_due(now);
        let Some(at) = self.pick(now) else {
            let nothing = if self.is_over() {
                Get::ShutDown
            } else {
                Get::Wait(self.next_due())
            };
            return (NONE, nothing);
        };
        let slot = &self.slots[at as usize];
        let (Some(ready), Some(key)) = (slot.ready, slot.key.clone()) else {
            return (NONE, Get::Wait(self.next_due()));
        };
        self.unlink(at, ready.priority);
        let slot = &mut self.slots[at as usize];
        slot.ready = None;
        slot.processing = Some(now);
        self.processing.push_back(&mut self.slots, at);
        let waited = now.saturating_duration_since(ready.since);
        if let Some(metrics) = &self.metrics {
            metrics.taken(ready.priority, waited);
        }
        let taken = Taken {
            key,
            priority: ready.priority,
            waited,
        };
        (at, Get::Item(taken))
    }

    /// A worker is finished with a key. It becomes ready again if it was added meanwhile. A key that is not in work
    /// is ignored.
    pub fn done(&mut self, key: &K, now: Instant) {
        self.promote_due(now);
        if let Some(at) = self.find(self.hasher.hash_one(key), key) {
            self.done_slot(at, || now);
        }
    }

    /// The same for whoever kept the slot: it stays the key's as long as the key is in work. Only metrics and delays want the time.
    pub(crate) fn done_slot(&mut self, at: u32, now: impl Fn() -> Instant) {
        if !self.delays.is_empty() {
            self.promote_due(now());
        }
        let slot = &mut self.slots[at as usize];
        let Some(since) = slot.processing.take() else {
            return;
        };
        let again = slot.ready;
        self.again -= usize::from(again.is_some());
        self.processing.remove(&mut self.slots, at);
        if let Some(metrics) = &self.metrics {
            metrics.finished(now().saturating_duration_since(since));
        }
        match again {
            Some(ready) => self.link(at, ready.priority),
            None => self.release_if_idle(at),
        }
    }

    /// The key succeeded: its failures are forgotten. Does not touch the queue itself.
    pub fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    /// How often the key was added with a rate limit since it was last forgotten.
    #[must_use]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.limiter.num_requeues(key)
    }

    /// Stops taking keys. Calling it again is harmless and can only make it stricter.
    pub fn shut_down(&mut self, how: ShutDown, now: Instant) {
        self.promote_due(now);
        self.shutting_down = true;
        for at in 0.. {
            // The slots can go away as a whole with the last key.
            let Some(slot) = self.slots.get_mut(at as usize) else {
                break;
            };
            if slot.later.take().is_some() {
                self.delayed -= 1;
            }
            let dropped = slot.ready.filter(|_| how == ShutDown::Now);
            if let Some(ready) = dropped {
                let linked = slot.processing.is_none();
                slot.ready = None;
                if linked {
                    self.unlink(at, ready.priority);
                } else {
                    self.again -= 1;
                }
            }
            self.release_if_idle(at);
        }
        self.delays.clear();
    }

    /// True once [`shut_down`](Self::shut_down) was called.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// True when the queue is shutting down and nothing is ready or in work.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.shutting_down && self.by_age.is_empty() && self.processing.is_empty()
    }

    /// When the next delay ends.
    pub fn next_due(&mut self) -> Option<Instant> {
        loop {
            let &Reverse((time, number, at)) = self.delays.peek()?;
            if self.slots[at as usize]
                .later
                .is_some_and(|later| later.number == number)
            {
                return Some(time);
            }
            self.delays.pop();
        }
    }

    /// The gauges.
    #[must_use]
    pub fn snapshot(&mut self, now: Instant) -> Snapshot {
        self.promote_due(now);
        let ages = || {
            let since = self
                .processing
                .iter(&self.slots)
                .filter_map(|slot| slot.processing);
            since.map(|since| now.saturating_duration_since(since))
        };
        Snapshot {
            depth: self
                .bands
                .iter()
                .map(|(Reverse(priority), list)| (*priority, list.len()))
                .filter(|(_, len)| *len > 0)
                .collect(),
            delayed: self.delayed,
            processing: self.processing.len(),
            unfinished_work: ages().sum(),
            longest_running: ages().max().unwrap_or_default(),
        }
    }

    /// Returns whether the key was ready before.
    fn make_ready(&mut self, at: u32, priority: i32, now: Instant) -> bool {
        let slot = &mut self.slots[at as usize];
        let mut priority = priority;
        if self.settings.delayed == Delayed::CancelledByRun
            && let Some(later) = slot.later.take()
        {
            self.delayed -= 1;
            priority = priority.max(later.priority);
        }
        let linked = slot.processing.is_none();
        match slot.ready {
            None => {
                slot.ready = Some(Ready { priority, since: now });
                if let Some(metrics) = &self.metrics {
                    metrics.added(priority);
                }
                if linked {
                    self.link(at, priority);
                } else {
                    self.again += 1;
                }
                false
            }
            Some(ready) => {
                if priority > ready.priority {
                    slot.ready = Some(Ready { priority, ..ready });
                    if linked {
                        self.leave_band(at, ready.priority);
                        self.join_band(at, priority);
                    }
                }
                true
            }
        }
    }

    /// Makes the keys ready whose delay has ended, in the order in which they became so.
    pub(crate) fn promote_due(&mut self, now: Instant) {
        while let Some(&Reverse((time, number, at))) = self.delays.peek()
            && time <= now
        {
            self.delays.pop();
            let slot = &mut self.slots[at as usize];
            if let Some(later) = slot.later.take_if(|later| later.number == number) {
                self.delayed -= 1;
                self.make_ready(at, later.priority, time);
            }
        }
    }

    /// The ready key whose turn it is.
    fn pick(&mut self, now: Instant) -> Option<u32> {
        let first = self.bands.values().find_map(List::front)?;
        let Some(aging) = self.settings.aging else {
            return Some(first);
        };
        self.since_aged = self.since_aged.saturating_add(1);
        if self.since_aged < aging.one_in {
            return Some(first);
        }
        let oldest = self.by_age.front()?;
        let since = self.slots[oldest as usize].ready?.since;
        if now.saturating_duration_since(since) < aging.after {
            return Some(first);
        }
        self.since_aged = 0;
        Some(oldest)
    }

    fn link(&mut self, at: u32, priority: i32) {
        self.by_age.push_back(&mut self.slots, at);
        self.join_band(at, priority);
    }

    fn unlink(&mut self, at: u32, priority: i32) {
        self.by_age.remove(&mut self.slots, at);
        self.leave_band(at, priority);
    }

    fn join_band(&mut self, at: u32, priority: i32) {
        let band = match self.bands.entry(Reverse(priority)) {
            Entry::Occupied(band) => {
                let band = band.into_mut();
                self.empty_bands -= usize::from(band.is_empty());
                band
            }
            Entry::Vacant(band) => band.insert(List::default()),
        };
        band.push_back(&mut self.slots, at);
    }

    fn leave_band(&mut self, at: u32, priority: i32) {
        let Some(band) = self.bands.get_mut(&Reverse(priority)) else {
            return;
        };
        band.remove(&mut self.slots, at);
        self.empty_bands += usize::from(band.is_empty());
        if self.empty_bands > EMPTY_BANDS {
            self.bands.retain(|_, list| !list.is_empty());
            self.empty_bands = 0;
        }
    }

    fn find(&self, hash: u64, key: &K) -> Option<u32> {
        self.index
            .find(hash, |&at| self.slots[at as usize].key.as_ref() == Some(key))
            .copied()
    }

    /// The slot of a key, and whether it was made just now.
    fn slot_for(&mut self, key: K) -> Result<(u32, bool), Added> {
        if self.shutting_down {
            return Err(Added::ShuttingDown);
        }
        let hash = self.hasher.hash_one(&key);
        if let Some(at) = self.find(hash, &key) {
            return Ok((at, false));
        }
        let limit = self.settings.max_keys.min(MAX_SLOTS);
        if self.index.len() >= limit {
            return Err(Added::Full);
        }
        let slot = Slot {
            key: Some(key),
            hash,
            ready: None,
            later: None,
            processing: None,
            links: Default::default(),
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                // MAX_SLOTS keeps this below the sentinel of the lists.
                let at = u32::try_from(self.slots.len()).map_err(|_| Added::Full)?;
                self.slots.push(slot);
                at
            }
        };
        self.index
            .insert_unique(hash, at, |&at| self.slots[at as usize].hash);
        Ok((at, true))
    }

    /// Gives the slot back when nothing is known about its key any more.
    fn release_if_idle(&mut self, at: u32) {
        let slot = &mut self.slots[at as usize];
        if slot.key.is_none() || slot.ready.is_some() || slot.later.is_some() || slot.processing.is_some() {
            return;
        }
        slot.key = None;
        if let Ok(entry) = self.index.find_entry(slot.hash, |&other| other == at) {
            entry.remove();
        }
        self.free.push(at);
        if self.index.is_empty() && self.slots.len() > KEPT_SLOTS {
            // Everything is idle: a past burst must not hold its memory for ever.
            self.slots = Vec::new();
            self.free = Vec::new();
            self.index = HashTable::new();
            self.delays = BinaryHeap::new();
        }
    }

    /// Everything that could grow.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.slots.capacity() + self.free.capacity() + self.delays.len() + self.bands.len()
    }

    /// Keeps the heap of delays proportional to what it is for, however often times change.
    fn drop_stale_delays(&mut self) {
        if self.delays.len() > 2 * self.delayed + STALE_SLACK {
            let slots = &self.slots;
            self.delays.retain(|&Reverse((_, number, at))| {
                slots[at as usize]
                    .later
                    .is_some_and(|later| later.number == number)
            });
        }
    }
}

/// Slots are addressed with 32 bits; the last number means "none".
const MAX_SLOTS: usize = u32::MAX as usize - 1;

/// Slots that stay allocated in an idle queue.
const KEPT_SLOTS: usize = 1024;
