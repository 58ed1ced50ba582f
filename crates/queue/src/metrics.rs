//! What a queue reports about itself, under the names that dashboards know.
//!
//! The names and meanings are client-go's `util/workqueue/metrics.go` and controller-runtime's
//! `pkg/metrics/workqueue.go`. This crate knows no metrics library: the owner of a queue implements [`Metrics`] for
//! what happens, and reads [`Snapshot`] when it is scraped for what is.

use std::fmt;
use std::time::Duration;

/// Gauge: keys that are ready to run, by priority.
pub const DEPTH: &str = "workqueue_depth";
/// Counter: additions.
pub const ADDS_TOTAL: &str = "workqueue_adds_total";
/// Histogram: how long a key was ready before a worker took it.
pub const QUEUE_DURATION_SECONDS: &str = "workqueue_queue_duration_seconds";
/// Histogram: how long a worker had a key.
pub const WORK_DURATION_SECONDS: &str = "workqueue_work_duration_seconds";
/// Gauge: the sum of the ages of what is in work.
pub const UNFINISHED_WORK_SECONDS: &str = "workqueue_unfinished_work_seconds";
/// Gauge: the age of the oldest key in work.
pub const LONGEST_RUNNING_PROCESSOR_SECONDS: &str = "workqueue_longest_running_processor_seconds";
/// Counter: delayed and rate-limited additions.
pub const RETRIES_TOTAL: &str = "workqueue_retries_total";

/// Told of every event of a queue. Called under the queue's lock: implementations only count, and never call the
/// queue back. Every method does nothing by default.
pub trait Metrics: fmt::Debug + Send + Sync {
    /// Whether anybody wants to be told. A queue asks once, when it is made, and looks at the clock less often if not.
    /// Default: yes.
    fn is_wanted(&self) -> bool {
        true
    }

    /// A key became due ([`ADDS_TOTAL`]).
    fn added(&self, _priority: i32) {}

    /// A delayed or rate-limited addition was made ([`RETRIES_TOTAL`]).
    fn retried(&self) {}

    /// A worker took a key that was ready for this long ([`QUEUE_DURATION_SECONDS`]).
    fn taken(&self, _priority: i32, _waited: Duration) {}

    /// A worker finished with a key that it had for this long ([`WORK_DURATION_SECONDS`]).
    fn finished(&self, _worked: Duration) {}
}

/// Reports nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl Metrics for NoMetrics {
    fn is_wanted(&self) -> bool {
        false
    }
}

/// The state of a queue at one moment, for gauges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Ready keys by priority, highest first; priorities without keys are left out ([`DEPTH`]).
    pub depth: Vec<(i32, usize)>,
    /// Keys that wait for their time.
    pub delayed: usize,
    /// Keys in work.
    pub processing: usize,
    /// [`UNFINISHED_WORK_SECONDS`].
    pub unfinished_work: Duration,
    /// [`LONGEST_RUNNING_PROCESSOR_SECONDS`].
    pub longest_running: Duration,
}
