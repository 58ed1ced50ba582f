//! The work queue of a controller: a key is in it once, no two workers ever have the same key, and what changes
//! while a worker has a key makes it run again afterwards.
//!
//! On top of that: delays, rate limits per key and in total, priorities with a share for keys that waited long, an
//! orderly shutdown, and the `workqueue_*` metrics. It behaves as client-go's `util/workqueue` and
//! controller-runtime's priority queue do where they agree; [`Settings`] has a switch where they do not.
//!
//! [`QueueState`] is the queue as a state machine: times are arguments, nothing waits. [`WorkQueue`] is the same
//! behind a lock, with waiting; its clock is tokio's, which tests can pause. Nothing here knows Kubernetes: a key is
//! any value that can be hashed.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use kubewright_queue::{LOW_PRIORITY, Options, WorkQueue};
//! use std::time::Duration;
//!
//! let queue: WorkQueue<&'static str> = WorkQueue::new(Options::default());
//! queue.add_with_priority("resynced", LOW_PRIORITY);
//! queue.add("changed");
//! queue.add("changed");
//!
//! let item = queue.get().await.expect("the queue is open");
//! assert_eq!(*item.key(), "changed");
//! queue.add_after("changed", Duration::from_secs(30));
//! queue.forget(item.key());
//! item.done(); // dropping the item does the same
//!
//! queue.shut_down();
//! assert_eq!(queue.get().await.map(|item| *item.key()), Some("resynced"));
//! assert!(queue.get().await.is_none());
//! # }
//! ```

#![cfg_attr(
    test,
    expect(
        clippy::duplicate_mod,
        reason = "the tests take the queue in a second time, with other locks"
    )
)]

mod limiter;
pub mod list;
pub mod metrics;
mod state;
mod sync;
#[cfg(test)]
mod tests;
mod work_queue;

pub use crate::limiter::{
    DEFAULT_TRACKED_KEYS, Exponential, FastSlow, MaxOf, RateLimiter, TokenBucket, WithMaxWait,
};
pub use crate::metrics::{Metrics, NoMetrics, Snapshot};
pub use crate::state::{
    Added, Aging, DEFAULT_PRIORITY, Delayed, Get, LOW_PRIORITY, MAX_DELAY, QueueState, Settings, ShutDown,
    Taken,
};
pub use crate::work_queue::{Item, Options, WorkQueue};
