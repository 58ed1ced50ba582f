//! What the queue waits with: a lock, notifications and a clock.
//!
//! They are apart so that tests can put others in their place, under which every order of the steps of several threads
//! can be played (`tests/interleavings.rs`).

use std::time::Instant;

pub(crate) use parking_lot::Mutex;
pub(crate) use tokio::sync::Notify;

/// The time, by tokio's clock.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Waits for a time of that clock.
pub(crate) async fn sleep_until(deadline: Instant) {
    tokio::time::sleep_until(deadline.into()).await;
}
