//! The byte budget for decoded objects of one store.
//!
//! Decoded forms queue up in the order in which they were made. When they are worth more than the budget, the oldest is dropped, unless
//! it was used again in the meantime: such forms have a queue of their own, which others cannot push out of a quarter of the
//! budget, so that a scan of all objects does not drive out what is used all the time (S3-FIFO, Yang et al., SOSP 2023, with a
//! larger first queue, because lists are read twice as well). A use costs one relaxed store and no lock. What is dropped with
//! its record, because nobody has that state of the object any more, leaves the budget at once.

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
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    recent: VecDeque<Entry>,
    /// What `recent` takes, entries of records that are gone included.
    recent_bytes: usize,
    /// What was used after it was decoded.
    again: VecDeque<Entry>,
    /// How many entries there may be until those of records that are gone are looked for.
    full: usize,
}

#[derive(Debug)]
struct Entry {
    record: Weak<Record>,
    part: Part,
    bytes: usize,
}

/// Entries of records that are gone, beyond as many as there are of others.
const GONE_ENTRIES: usize = 256;

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes,
            used: AtomicUsize::new(0),
            queues: Mutex::default(),
        }
    }

    /// Whether a form that was just decoded is worth keeping, in place of others if somebody `comes_back`, or only while there is room. To keep what
    /// nobody comes back for costs as much as to decode it: what is freed at once is written again while it is in the processor's cache.
    pub(crate) fn admits(&self, part: Part, bytes: usize, comes_back: bool) -> bool {
        let has_room = || part != Part::Metadata && self.used().saturating_add(bytes) <= self.bytes;
        bytes <= self.bytes && (comes_back || has_room())
    }

    /// Notes a form that a record has from now on, and drops old ones to stay within the budget.
    pub(crate) fn keep(&self, record: &Arc<Record>, part: Part) {
        let bytes = record.decoded_bytes(part);
        self.used.fetch_add(bytes, Ordering::Relaxed);
        // Freed after the lock.
        let (mut forms, mut records) = (Vec::new(), Vec::new());
        let mut queues = self.queues.lock();
        queues.recent_bytes += bytes;
        queues.recent.push_back(Entry {
            record: Arc::downgrade(record),
            part,
            bytes,
        });
        if queues.len() >= queues.full.max(GONE_ENTRIES) {
            queues.forget_gone();
        }
        // Each entry gets at most one more chance per call, so that this ends.
        let mut chances = queues.len();
        while self.used() > self.bytes {
            let Some(entry) = queues.pop(self.bytes / 4 * 3) else {
                break;
            };
            let Some(record) = entry.record.upgrade() else {
                continue;
            };
            if chances > 0 && record.was_used() {
                chances -= 1;
                queues.again.push_back(entry);
            } else if let Some(form) = record.evict(entry.part) {
                self.gone(entry.bytes);
                forms.push(form);
            }
            // The last reference may be this one.
            records.push(record);
        }
        drop(queues);
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

impl Queues {
    fn len(&self) -> usize {
        self.recent.len() + self.again.len()
    }

    /// The entry whose turn it is to be dropped.
    fn pop(&mut self, most_recent_bytes: usize) -> Option<Entry> {
        if (self.recent_bytes > most_recent_bytes || self.again.is_empty())
            && let Some(entry) = self.recent.pop_front()
        {
            self.recent_bytes -= entry.bytes;
            return Some(entry);
        }
        self.again.pop_front()
    }

    fn forget_gone(&mut self) {
        let is_there = |entry: &Entry| entry.record.strong_count() > 0;
        self.again.retain(is_there);
        self.recent.retain(is_there);
        self.recent_bytes = self.recent.iter().map(|entry| entry.bytes).sum();
        self.full = 2 * self.len() + GONE_ENTRIES;
    }
}
