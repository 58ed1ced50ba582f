//! What is counted of a controller and its queue while they work.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use kubewright_queue::metrics as names;
use kubewright_queue::{DEFAULT_PRIORITY, Metrics, Snapshot};
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;

use super::page::{Kind, Labels, Metric, Page};
use super::{MAX_PRIORITIES, OTHER_PRIORITIES};
use crate::worker::{Counters, Counts};

/// The numbers of the controllers of one name. Told of each key under its queue's lock: it only adds.
#[derive(Debug)]
pub(crate) struct ControllerFigures {
    adds: AtomicU64,
    retries: AtomicU64,
    waited: Histogram,
    worked: Histogram,
    /// How long reconcilers took, and how they ended.
    took: Histogram,
    ends: Counters,
    priorities: Mutex<Weak<Priorities>>,
}

/// The priorities that have had keys in the queues of one name, so that a series does not end whenever its keys are taken. Each of the
/// queues has it; it ends with the last.
#[derive(Debug)]
pub(crate) struct Priorities(Mutex<Seen>);

#[derive(Debug)]
struct Seen {
    /// Those with a series of their own.
    own: BTreeSet<i32>,
    /// Whether there were others.
    others: bool,
}

impl Default for ControllerFigures {
    fn default() -> Self {
        Self {
            adds: AtomicU64::default(),
            retries: AtomicU64::default(),
            waited: Histogram::new(queue_buckets()),
            worked: Histogram::new(queue_buckets()),
            took: Histogram::new(RECONCILE_BUCKETS),
            ends: Counters::default(),
            priorities: Mutex::default(),
        }
    }
}

impl Default for Priorities {
    fn default() -> Self {
        Self(Mutex::new(Seen {
            own: BTreeSet::from([DEFAULT_PRIORITY]),
            others: false,
        }))
    }
}

impl Metrics for ControllerFigures {
    fn added(&self, _: i32) {
        self.adds.fetch_add(1, Ordering::Relaxed);
    }

    fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    fn taken(&self, _: i32, waited: Duration) {
        self.waited.observe(waited.as_secs_f64());
    }

    fn finished(&self, worked: Duration) {
        self.worked.observe(worked.as_secs_f64());
    }
}

impl ControllerFigures {
    /// A reconciler has ended, however it did.
    pub(crate) fn reconciled(&self, took: Duration) {
        self.took.observe(took.as_secs_f64());
    }

    /// Where it is counted how reconcilers end.
    pub(crate) fn ends(&self) -> &Counters {
        &self.ends
    }

    /// For a queue of this name.
    pub(crate) fn priorities(&self) -> Arc<Priorities> {
        let mut known = self.priorities.lock();
        known.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            *known = Arc::downgrade(&new);
            new
        })
    }

    /// What was counted.
    pub(super) fn read(&self, name: &str, page: &mut Page) {
        let queue = || of_queue(name);
        page.count(&ADDS, queue(), self.adds.load(Ordering::Relaxed));
        page.count(&RETRIES, queue(), self.retries.load(Ordering::Relaxed));
        page.histogram(&QUEUE_DURATION, queue(), &self.waited);
        page.histogram(&WORK_DURATION, queue(), &self.worked);
        page.histogram(&RECONCILE_TIME, of_controller(name), &self.took);
        read_ends(name, &self.ends.read(), page);
    }
}

impl Priorities {
    /// What a queue of this name has at present.
    pub(super) fn read_queue(&self, name: &str, snapshot: &Snapshot, page: &mut Page) {
        let mut seen = self.0.lock();
        for (priority, _) in &snapshot.depth {
            if seen.own.len() < MAX_PRIORITIES {
                seen.own.insert(*priority);
            }
            seen.others |= !seen.own.contains(priority);
        }
        let depth = |priority: &str| {
            let mut labels = of_queue(name);
            labels.push(("priority", priority.to_owned()));
            labels
        };
        for priority in &seen.own {
            page.count(&DEPTH, depth(&priority.to_string()), 0);
        }
        if seen.others {
            page.count(&DEPTH, depth(OTHER_PRIORITIES), 0);
        }
        for (priority, keys) in &snapshot.depth {
            let label = match seen.own.contains(priority) {
                true => priority.to_string(),
                false => OTHER_PRIORITIES.to_owned(),
            };
            page.count(&DEPTH, depth(&label), *keys as u64);
        }
        let unfinished = snapshot.unfinished_work.as_secs_f64();
        page.number(&UNFINISHED_WORK, of_queue(name), unfinished);
        let longest = snapshot.longest_running.as_secs_f64();
        page.number(&LONGEST_RUNNING, of_queue(name), longest);
        let active = snapshot.processing as u64;
        page.count(&ACTIVE_WORKERS, of_controller(name), active);
    }
}

/// How reconciliations of a controller have ended. A terminal error is an error too, as in controller-runtime.
fn read_ends(name: &str, counts: &Counts, page: &mut Page) {
    let Counts {
        done,
        requeue_after,
        errors,
        terminal_errors,
        panics,
        timeouts,
        // Another replica has the key, and counts what becomes of it.
        revoked: _,
    } = *counts;
    let errors = errors + terminal_errors;
    for (result, count) in [
        ("success", done),
        ("requeue_after", requeue_after),
        ("error", errors),
    ] {
        let mut labels = of_controller(name);
        labels.push(("result", result.to_owned()));
        page.count(&RECONCILES, labels, count);
    }
    page.count(&RECONCILE_ERRORS, of_controller(name), errors);
    page.count(&TERMINAL_ERRORS, of_controller(name), terminal_errors);
    page.count(&RECONCILE_PANICS, of_controller(name), panics);
    page.count(&RECONCILE_TIMEOUTS, of_controller(name), timeouts);
}

pub(super) fn read_concurrency(name: &str, concurrency: usize, page: &mut Page) {
    page.count(&MAX_CONCURRENT, of_controller(name), concurrency as u64);
}

/// Tells two.
#[derive(Debug)]
pub(crate) struct Both(pub(crate) Arc<dyn Metrics>, pub(crate) Arc<dyn Metrics>);

impl Metrics for Both {
    fn is_wanted(&self) -> bool {
        self.0.is_wanted() || self.1.is_wanted()
    }

    fn added(&self, priority: i32) {
        self.0.added(priority);
        self.1.added(priority);
    }

    fn retried(&self) {
        self.0.retried();
        self.1.retried();
    }

    fn taken(&self, priority: i32, waited: Duration) {
        self.0.taken(priority, waited);
        self.1.taken(priority, waited);
    }

    fn finished(&self, worked: Duration) {
        self.0.finished(worked);
        self.1.finished(worked);
    }
}

/// The label `controller` came later, for those who have it everywhere else.
fn of_queue(name: &str) -> Labels {
    vec![("name", name.to_owned()), ("controller", name.to_owned())]
}

fn of_controller(name: &str) -> Labels {
    vec![("controller", name.to_owned())]
}

/// 12 buckets from 10 ns, each ten times the one before, by multiplication, so that the bounds are upstream's to the last
/// digit.
fn queue_buckets() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(10e-9), |bound| Some(bound * 10.0)).take(12)
}

/// Upper bounds for the time of a reconciliation, in seconds.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

const DEPTH: Metric = Metric {
    name: names::DEPTH,
    help: "Keys that are ready to run",
    kind: Kind::Sum,
};
const ADDS: Metric = Metric {
    name: names::ADDS_TOTAL,
    help: "Keys that became due",
    kind: Kind::Counter,
};
const QUEUE_DURATION: Metric = Metric {
    name: names::QUEUE_DURATION_SECONDS,
    help: "How long keys were ready before a worker took them",
    kind: Kind::Histogram,
};
const WORK_DURATION: Metric = Metric {
    name: names::WORK_DURATION_SECONDS,
    help: "How long workers had keys",
    kind: Kind::Histogram,
};
const UNFINISHED_WORK: Metric = Metric {
    name: names::UNFINISHED_WORK_SECONDS,
    help: "The sum of the ages of what is in work: it grows by the number of stuck workers in each second",
    kind: Kind::Sum,
};
const LONGEST_RUNNING: Metric = Metric {
    name: names::LONGEST_RUNNING_PROCESSOR_SECONDS,
    help: "The age of the oldest key in work",
    kind: Kind::Largest,
};
const RETRIES: Metric = Metric {
    name: names::RETRIES_TOTAL,
    help: "Additions with a delay or a rate limit",
    kind: Kind::Counter,
};
const RECONCILES: Metric = Metric {
    name: "controller_runtime_reconcile_total",
    help: "Reconciliations by how they ended",
    kind: Kind::Counter,
};
const RECONCILE_ERRORS: Metric = Metric {
    name: "controller_runtime_reconcile_errors_total",
    help: "Reconciliations that failed",
    kind: Kind::Counter,
};
const TERMINAL_ERRORS: Metric = Metric {
    name: "controller_runtime_terminal_reconcile_errors_total",
    help: "Reconciliations that failed and are not tried again",
    kind: Kind::Counter,
};
const RECONCILE_PANICS: Metric = Metric {
    name: "controller_runtime_reconcile_panics_total",
    help: "Reconciliations that panicked",
    kind: Kind::Counter,
};
const RECONCILE_TIMEOUTS: Metric = Metric {
    name: "controller_runtime_reconcile_timeouts_total",
    help: "Reconciliations that took longer than the controller's limit",
    kind: Kind::Counter,
};
const RECONCILE_TIME: Metric = Metric {
    name: "controller_runtime_reconcile_time_seconds",
    help: "How long reconciliations took",
    kind: Kind::Histogram,
};
const MAX_CONCURRENT: Metric = Metric {
    name: "controller_runtime_max_concurrent_reconciles",
    help: "How many reconciliations may run at a time",
    kind: Kind::Sum,
};
const ACTIVE_WORKERS: Metric = Metric {
    name: "controller_runtime_active_workers",
    help: "How many reconciliations run",
    kind: Kind::Sum,
};
