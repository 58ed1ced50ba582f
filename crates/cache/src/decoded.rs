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
}

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
        let has_room = || part != Part::Metadata && self.used().saturating_add(bytes) <= self.bytes;
        bytes <= self.bytes && (again || has_room())
    }

    /// Notes a form that was just decoded, and drops old ones to stay within the budget.
    pub(crate) fn keep(&self, record: &Arc<Record>, part: Part, bytes: usize) {
        let mut evicted = Vec::new();
        let mut kept = self.kept.lock();
        kept.queue.push_back((Arc::downgrade(record), part, bytes));
        kept.bytes += bytes;
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
        self.kept.lock().bytes
    }
}
