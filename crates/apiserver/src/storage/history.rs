//! The recent changes: one ring of events, and the same events by topic.
//!
//! A topic is a range that can be watched: everything, a resource, a resource in a namespace. Each event is in the ring of each of its
//! topics (a pointer each), so a watcher reads events of its own range only, however much happens elsewhere, and falls behind only by
//! what it has not read. The topic of everything gives the order in which events are discarded, oldest first, when there are too
//! many or they hold too much memory.
//!
//! Events are numbered by a sequence apart from their revisions, since several can share a revision (a transaction in etcd), and a
//! place between them must be possible.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::{Change, Event, Key, KeyPrefix, Revision, StorageError};

/// How much history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most events. Default: 100,000.
    pub max_events: usize,
    /// The most memory that may exist because of the history alone, in bytes: superseded states and frames encoded for watchers
    /// (counted as if all were). At least the latest event stays. Default: 64 MiB.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_events: 100_000,
            max_bytes: 64 << 20,
        }
    }
}

/// Of how many interruptions a replica remembers which revisions it missed. Beyond that, the history before the oldest one is
/// compacted.
const MAX_GAPS: usize = 64;

/// The topic of everything; it is never dropped, and the order of its events is the order of discarding.
const ALL: &str = "";

/// A place in the history of a topic: behind everything that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The last event read, in the numbering of the whole history.
    seq: u64,
    /// Events up to this revision are passed over: a watch may begin in the future.
    after: Revision,
    /// The revision of the last event read, or where the reader began.
    seen: Revision,
}

impl Cursor {
    /// Behind the event with this number, which led to `revision`.
    pub(super) const fn behind(seq: u64, revision: Revision) -> Self {
        Self {
            seq,
            after: Revision(0),
            seen: revision,
        }
    }

    /// The revision of the last event read, or where the reader began.
    #[must_use]
    pub const fn seen(&self) -> Revision {
        self.seen
    }
}

/// The latest event that is gone. Readers behind it have missed something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Floor {
    seq: u64,
    revision: Revision,
}

impl Floor {
    fn max(self, other: Self) -> Self {
        Self {
            seq: self.seq.max(other.seq),
            revision: self.revision.max(other.revision),
        }
    }
}

#[derive(Debug, Default)]
struct Topic {
    events: VecDeque<(u64, Event)>,
    floor: Floor,
    /// Watches of this topic. They may be asleep, so nobody could tell them of a floor that rose while they missed nothing: the
    /// topic has to stay.
    pins: usize,
    /// Objects that exist in this range.
    live: usize,
}

impl Topic {
    fn idle(&self) -> bool {
        self.events.is_empty() && self.pins == 0 && self.live == 0
    }

    /// The index of the first event behind `seq`.
    fn behind(&self, seq: u64) -> usize {
        match self.events.back() {
            Some((last, _)) if *last > seq => self.events.partition_point(|(at, _)| *at <= seq),
            _ => self.events.len(),
        }
    }
}

/// The changes that are kept, and how many objects there are in each topic.
#[derive(Debug)]
pub(super) struct History {
    topics: HashMap<Arc<str>, Topic>,
    limits: Limits,
    /// The number of the latest event.
    seq: u64,
    /// What the events kept hold in memory.
    bytes: usize,
    /// Nothing before this revision may be read, even if it could.
    compacted: Revision,
    /// A bound for the floors of the topics that were dropped.
    forgotten: Floor,
    /// Revisions strictly between the two were not seen: a replica lost its connection there and knows only what had changed.
    gaps: VecDeque<(Revision, Revision)>,
}

impl History {
    /// No history: it begins after `revision`.
    pub(super) fn new(limits: Limits, revision: Revision) -> Self {
        Self {
            topics: HashMap::from([(ALL.into(), Topic::default())]),
            limits,
            seq: 0,
            bytes: 0,
            compacted: revision,
            forgotten: Floor::default(),
            gaps: VecDeque::new(),
        }
    }

    /// The number of the latest event.
    pub(super) const fn seq(&self) -> u64 {
        self.seq
    }

    /// Objects that exist in the range.
    pub(super) fn live(&self, prefix: &KeyPrefix) -> usize {
        self.topics.get(prefix.as_str()).map_or(0, |topic| topic.live)
    }

    /// How many events are kept and how much memory they hold.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.topics.get(ALL).map_or(0, |all| all.events.len()), self.bytes)
    }

    /// Counts an object that was there before the history began.
    pub(super) fn count(&mut self, key: &Key) {
        for text in topics(key) {
            self.with_topic(text, |topic| topic.live += 1);
        }
    }

    /// Appends an event, whose revision is no lower than the last one's, and discards what goes beyond the limits.
    pub(super) fn push(&mut self, event: &Event) {
        self.seq += 1;
        self.bytes += event.retained_bytes();
        let seq = self.seq;
        for text in topics(event.object().key()) {
            self.with_topic(text, |topic| {
                topic.events.push_back((seq, event.clone()));
                match event.change() {
                    Change::Added => topic.live += 1,
                    Change::Modified => {}
                    Change::Deleted => topic.live = topic.live.saturating_sub(1),
                }
            });
        }
        loop {
            let (events, bytes) = self.size();
            if events <= 1 || (events <= self.limits.max_events && bytes <= self.limits.max_bytes) {
                return;
            }
            self.discard_oldest();
        }
    }

    /// Forgets everything and begins after `revision`; every watch that had begun has missed something. The objects must be counted
    /// again.
    pub(super) fn reset(&mut self, revision: Revision) {
        self.seq += 1;
        self.bytes = 0;
        self.compacted = revision;
        self.gaps.clear();
        self.forgotten = Floor {
            seq: self.seq,
            revision,
        };
        for topic in self.topics.values_mut() {
            *topic = Topic {
                floor: self.forgotten,
                pins: topic.pins,
                ..Topic::default()
            };
        }
        self.topics.retain(|text, topic| &**text == ALL || !topic.idle());
    }

    /// Notes that the events from here on, up to `to`, are what had changed between the two revisions, not what happened.
    pub(super) fn gap(&mut self, from: Revision, to: Revision) {
        if from.next() < to {
            self.gaps.push_back((from, to));
        }
        if self.gaps.len() > MAX_GAPS
            && let Some((_, to)) = self.gaps.pop_front()
        {
            self.compacted = self.compacted.max(to);
        }
    }

    /// Keeps the topic of a watch.
    pub(super) fn pin(&mut self, prefix: &KeyPrefix) {
        let floor = self.forgotten;
        self.topics
            .entry(Arc::clone(prefix.shared()))
            .or_insert_with(|| Topic {
                floor,
                ..Topic::default()
            })
            .pins += 1;
    }

    /// Ends what [`History::pin`] began.
    pub(super) fn unpin(&mut self, prefix: &KeyPrefix) {
        if let Some(topic) = self.topics.get_mut(prefix.as_str()) {
            topic.pins = topic.pins.saturating_sub(1);
            self.drop_if_idle(prefix.as_str());
        }
    }

    /// Whether the states from `revision` on are known for the range.
    pub(super) fn check(&self, prefix: &KeyPrefix, revision: Revision) -> Result<(), StorageError> {
        let oldest = self.floor(prefix).revision.max(self.compacted);
        if revision < oldest {
            return Err(StorageError::Compacted {
                requested: revision,
                oldest,
            });
        }
        match self
            .gaps
            .iter()
            .find(|(from, to)| *from < revision && revision < *to)
        {
            Some((_, to)) => Err(StorageError::Compacted {
                requested: revision,
                oldest: *to,
            }),
            None => Ok(()),
        }
    }

    /// The place behind the events up to `revision`.
    pub(super) fn position(&self, prefix: &KeyPrefix, revision: Revision) -> Result<Cursor, StorageError> {
        self.check(prefix, revision)?;
        let seq = match self.topics.get(prefix.as_str()) {
            Some(topic) => {
                let index = topic
                    .events
                    .partition_point(|(_, event)| event.revision() <= revision);
                index
                    .checked_sub(1)
                    .and_then(|last| topic.events.get(last))
                    .map_or(topic.floor.seq, |(seq, _)| *seq)
            }
            None => self.seq,
        };
        Ok(Cursor {
            seq,
            after: revision,
            seen: revision,
        })
    }

    /// Appends up to `max` events behind the cursor, none of them numbered above `until`, and moves the cursor. Nothing is appended
    /// when all were read.
    pub(super) fn read(
        &self,
        prefix: &KeyPrefix,
        cursor: &mut Cursor,
        until: u64,
        max: usize,
        mut out: impl FnMut(Event),
    ) -> Result<(), StorageError> {
        let floor = self.floor(prefix);
        if cursor.seq < floor.seq {
            return Err(StorageError::Compacted {
                requested: cursor.seen,
                oldest: floor.revision.max(self.compacted),
            });
        }
        let Some(topic) = self.topics.get(prefix.as_str()) else {
            return Ok(());
        };
        let mut given = 0;
        for (seq, event) in topic.events.range(topic.behind(cursor.seq)..) {
            if given == max || *seq > until {
                break;
            }
            cursor.seq = *seq;
            if event.revision() > cursor.after {
                cursor.seen = event.revision();
                out(event.clone());
                given += 1;
            }
        }
        Ok(())
    }

    /// Whether every event of the range was read.
    pub(super) fn at_end(&self, prefix: &KeyPrefix, cursor: &Cursor) -> bool {
        self.topics.get(prefix.as_str()).is_none_or(|topic| {
            topic.floor.seq <= cursor.seq && topic.events.back().is_none_or(|(seq, _)| *seq <= cursor.seq)
        })
    }

    /// Makes everything before `before` unreadable and discards up to `max` of the events that nobody may read any more. Gives
    /// whether all are discarded.
    pub(super) fn compact(&mut self, before: Revision, max: usize) -> bool {
        self.compacted = self.compacted.max(before);
        while self.gaps.front().is_some_and(|(_, to)| *to <= self.compacted) {
            self.gaps.pop_front();
        }
        for _ in 0..max {
            let oldest = self.topics.get(ALL).and_then(|all| all.events.front());
            if oldest.is_none_or(|(_, event)| event.revision() > before) {
                return true;
            }
            self.discard_oldest();
        }
        false
    }

    #[cfg(test)]
    pub(super) fn topic_count(&self) -> usize {
        self.topics.len()
    }

    #[cfg(test)]
    pub(super) fn topic_len(&self, prefix: &KeyPrefix) -> usize {
        self.topics
            .get(prefix.as_str())
            .map_or(0, |topic| topic.events.len())
    }

    fn floor(&self, prefix: &KeyPrefix) -> Floor {
        self.topics
            .get(prefix.as_str())
            .map_or(self.forgotten, |topic| topic.floor)
    }

    fn with_topic(&mut self, text: &str, change: impl FnOnce(&mut Topic)) {
        match self.topics.get_mut(text) {
            Some(topic) => change(topic),
            None => {
                let mut topic = Topic {
                    floor: self.forgotten,
                    ..Topic::default()
                };
                change(&mut topic);
                self.topics.insert(text.into(), topic);
            }
        }
    }

    fn discard_oldest(&mut self) {
        let Some((_, event)) = self.topics.get(ALL).and_then(|all| all.events.front()).cloned() else {
            return;
        };
        self.bytes = self.bytes.saturating_sub(event.retained_bytes());
        for text in topics(event.object().key()) {
            if let Some(topic) = self.topics.get_mut(text) {
                if let Some((seq, event)) = topic.events.pop_front() {
                    topic.floor = Floor {
                        seq,
                        revision: event.revision(),
                    };
                }
                self.drop_if_idle(text);
            }
        }
    }

    fn drop_if_idle(&mut self, text: &str) {
        if text != ALL
            && let Some(topic) = self.topics.get(text)
            && topic.idle()
        {
            self.forgotten = self.forgotten.max(topic.floor);
            self.topics.remove(text);
        }
    }
}

/// The topics of a key, the widest first.
fn topics(key: &Key) -> impl Iterator<Item = &str> {
    [Some(ALL), Some(key.resource_prefix()), key.namespace_prefix()]
        .into_iter()
        .flatten()
}
