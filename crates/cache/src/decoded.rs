//! The byte budget for decoded objects of one store.
//!
//! A clock with a second chance: decoded forms queue up in the order in which they were made; when they are worth
//! more than the budget, the oldest is dropped, unless it was used since the hand last came by. A use costs one
//! relaxed store and no lock. What is dropped with its record, because nobody has that state of the object any more, leaves the
//! budget at once.

use std::any::TypeId;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::record::Record;

/// Which decoded form of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Metadata,
    /// As this type.
    Object(TypeId),
}

#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
    /// What the decoded forms take that records have now.
    used: AtomicUsize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<(Weak<Record>, Part)>,
    /// How long it may become until entries of records that are gone are looked for.
    full: usize,
}

/// Entries of records that are gone, beyond as many as there are of others.
const GONE_ENTRIES: usize = 256;

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            used: AtomicUsize::new(0),
            queue: Mutex::default(),
        }
    }

    /// Whether a form that was just decoded is worth keeping. Most metadata are looked at once, when an object comes, and
    /// a scan of all objects is not to drive out those that are used all the time: what does not come for the second
    /// time (`again`) is kept only if it is an object and there is room.
    pub(crate) fn admits(&self, part: Part, bytes: usize, again: bool) -> bool {
        let has_room = || part != Part::Metadata && self.used().saturating_add(bytes) <= self.bytes;
        bytes <= self.bytes && (again || has_room())
    }

    /// Notes a form that a record has from now on, and drops old ones to stay within the budget.
    pub(crate) fn keep(&self, record: &Arc<Record>, part: Part) {
        let mut evicted = Vec::new();
        self.used.fetch_add(record.decoded_bytes(part), Ordering::Relaxed);
        let mut queue = self.queue.lock();
        queue.entries.push_back((Arc::downgrade(record), part));
        if queue.entries.len() >= queue.full.max(GONE_ENTRIES) {
            queue.forget_gone();
        }
        // Each entry gets at most one second chance per call, so that this ends.
        let mut chances = queue.entries.len();
        while self.used() > self.bytes {
            let Some((weak, part)) = queue.entries.pop_front() else {
                break;
            };
            let record = weak.upgrade();
            if chances > 0 && record.as_ref().is_some_and(|record| record.was_used()) {
                chances -= 1;
                queue.entries.push_back((weak, part));
            } else if let Some(record) = record {
                if record.evict(part) {
                    self.gone(record.decoded_bytes(part));
                }
                // The last reference may be this one; the record is freed after the lock.
                evicted.push(record);
            }
        }
        drop(queue);
    }

    /// Decoded forms of this estimated size are no more.
    pub(crate) fn gone(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The estimated size of what is kept now.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

impl Queue {
    fn forget_gone(&mut self) {
        self.entries.retain(|(record, _)| record.strong_count() > 0);
        self.full = 2 * self.entries.len() + GONE_ENTRIES;
    }
}
