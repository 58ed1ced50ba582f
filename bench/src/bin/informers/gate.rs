//! Knowing when all handlers have seen all.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Opens when every handler has counted as many changes as are wanted.
#[derive(Debug, Default)]
pub struct Gate {
    wanted: AtomicU64,
    arrived: AtomicUsize,
    opened: Notify,
    counters: Mutex<Vec<Arc<Counter>>>,
}

/// What one handler has seen.
#[derive(Debug)]
pub struct Counter {
    gate: Arc<Gate>,
    changes: AtomicU64,
    digest: AtomicU64,
}

impl Gate {
    /// A handler's counter.
    pub fn counter(self: &Arc<Self>) -> Arc<Counter> {
        let counter = Arc::new(Counter {
            gate: Arc::clone(self),
            changes: AtomicU64::new(0),
            digest: AtomicU64::new(0),
        });
        self.counters().push(Arc::clone(&counter));
        counter
    }

    /// From now on each handler is to see so many more changes.
    pub fn want_more(&self, changes: u64) {
        self.arrived.store(0, SeqCst);
        self.wanted.fetch_add(changes, SeqCst);
    }

    /// Waits until they have seen them.
    pub async fn open(&self) {
        self.opened.notified().await;
    }

    /// The sum of all that the handlers have looked at.
    pub fn digest(&self) -> u64 {
        let counters = self.counters();
        counters
            .iter()
            .map(|counter| counter.digest.load(SeqCst))
            .fold(0, u64::wrapping_add)
    }

    /// Handlers that have been told too much or too little.
    pub fn problems(&self) -> Vec<String> {
        let wanted = self.wanted.load(SeqCst);
        let counters = self.counters();
        let counted = counters.iter().map(|counter| counter.changes.load(SeqCst));
        counted
            .filter(|changes| *changes != wanted)
            .map(|changes| format!("a handler was told of {changes} changes and not of {wanted}"))
            .collect()
    }

    fn counters(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Counter>>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counter {
    /// Counts a change, and what was seen of it.
    pub fn count(&self, seen: u64) {
        // Only the handler itself counts.
        self.digest.fetch_add(seen, SeqCst);
        let changes = self.changes.fetch_add(1, SeqCst) + 1;
        if changes == self.gate.wanted.load(SeqCst) {
            let arrived = self.gate.arrived.fetch_add(1, SeqCst) + 1;
            if arrived == self.gate.counters().len() {
                self.gate.opened.notify_one();
            }
        }
    }
}
