//! The byte budget for decoded objects of one store.
//!
//! A clock with a second chance: decoded forms queue up in the order in which they were made; when they are worth
//! more than the budget, the oldest is dropped, unless it was used since the hand last came by. A use costs one
//! relaxed store and no lock.

use std::any::TypeId;
use std::collections::VecDeque;
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
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    queue: VecDeque<(Weak<Record>, Part, usize)>,
    bytes: usize,
    /// How long the queue may become until entries of records that are gone are looked for.
    full: usize,
}

/// Entries of records that are gone, beyond as many as there are of others.
const GONE_ENTRIES: usize = 256;

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            kept: Mutex::default(),
        }
    }

    /// Whether a form that was just decoded is worth keeping. Most metadata are looked at once, when an object comes, and
    /// a scan of all objects is not to drive out those that are used all the time: what does not come for the second
    /// time (`again`) is kept only if it is an object and there is room.
    pub(crate) fn admits(&self, part: Part, bytes: usize, again: bool) -> bool {
        let has_room =
            || part != Part::Metadata && self.kept.lock().bytes.saturating_add(bytes) <= self.bytes;
        bytes <= self.bytes && (again || has_room())
    }

    /// Notes a form that was just decoded, and drops old ones to stay within the budget.
    pub(crate) fn keep(&self, record: &Arc<Record>, part: Part, bytes: usize) {
        let mut evicted = Vec::new();
        let mut kept = self.kept.lock();
        kept.queue.push_back((Arc::downgrade(record), part, bytes));
        kept.bytes += bytes;
        if kept.queue.len() >= kept.full.max(GONE_ENTRIES) {
            kept.forget_gone();
        }
        // Each entry gets at most one second chance per call, so that this ends.
        let mut chances = kept.queue.len();
        while kept.bytes > self.bytes {
            let Some((weak, part, bytes)) = kept.queue.pop_front() else {
                break;
            };
            let record = weak.upgrade();
            if chances > 0 && record.as_ref().is_some_and(|record| record.was_used()) {
                chances -= 1;
                kept.queue.push_back((weak, part, bytes));
            } else {
                kept.bytes -= bytes;
                if let Some(record) = &record {
                    record.evict(part);
                }
            }
            // The last reference may be this one; the record is freed after the lock.
            evicted.extend(record);
        }
        drop(kept);
    }

    /// The estimated size of what is kept now.
    pub(crate) fn used(&self) -> usize {
        let mut kept = self.kept.lock();
        kept.forget_gone();
        kept.bytes
    }
}

impl Kept {
    fn forget_gone(&mut self) {
        let mut bytes = 0;
        self.queue.retain(|(record, _, size)| {
            let is_there = record.strong_count() > 0;
            bytes += if is_there { *size } else { 0 };
            is_there
        });
        self.bytes = bytes;
        self.full = 2 * self.queue.len() + GONE_ENTRIES;
    }
}
