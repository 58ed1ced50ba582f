//! How a store publishes its states, and how its writers wait for each other.
//!
//! Both are apart so that tests can play every order of the steps of several threads (`tests/interleavings.rs`): each use
//! is a point where a scheduler may let another thread go on. Outside of tests there is nothing of that.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::{Mutex, MutexGuard};

#[cfg(test)]
use crate::tests::interleavings::{is_scheduled, step};

/// A value that is replaced as a whole. Readers take what is there, without a lock.
pub(crate) struct Published<T>(ArcSwap<T>);

impl<T> Published<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ArcSwap::from_pointee(value))
    }

    pub(crate) fn load(&self) -> Guard<Arc<T>> {
        step();
        self.0.load()
    }

    pub(crate) fn store(&self, value: Arc<T>) {
        step();
        self.0.store(value);
        step();
    }
}

/// Held by whoever makes the next value out of the one that is published.
#[derive(Default)]
pub(crate) struct Writing(Mutex<()>);

impl Writing {
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        // Scheduled threads are played by one, which must not wait for itself.
        #[cfg(test)]
        while is_scheduled() {
            step();
            if let Some(guard) = self.0.try_lock() {
                return guard;
            }
        }
        self.0.lock()
    }
}

#[cfg(not(test))]
const fn step() {}
