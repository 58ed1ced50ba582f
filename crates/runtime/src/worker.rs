//! The workers of a controller: keys from the queue to the reconciler, and its answers back to the queue.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use kubewright_cache::sharding::InHand;
use kubewright_core::ObjectKey;
use kubewright_queue::WorkQueue;
use tokio::time::Instant;
use tracing::Instrument;

use crate::context::Context;
use crate::controller::AnyReconciler;
use crate::error::Error;
use crate::metrics::ControllerFigures;
use crate::reconcile::{Outcome, Request};
use crate::share::Share;

/// How often a controller's reconciler ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Nothing more to do.
    pub done: u64,
    /// To be looked at again after a time.
    pub requeue_after: u64,
    /// Failed and tried again, panics included.
    pub errors: u64,
    /// Failed and not tried again.
    pub terminal_errors: u64,
    /// Panicked.
    pub panics: u64,
    /// Took longer than the controller's limit.
    pub timeouts: u64,
    /// Dropped because the replica was cut off from those with whom it shares keys out.
    pub revoked: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    done: AtomicU64,
    requeue_after: AtomicU64,
    errors: AtomicU64,
    terminal_errors: AtomicU64,
    panics: AtomicU64,
    timeouts: AtomicU64,
    revoked: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            done: read(&self.done),
            requeue_after: read(&self.requeue_after),
            errors: read(&self.errors),
            terminal_errors: read(&self.terminal_errors),
            panics: read(&self.panics),
            timeouts: read(&self.timeouts),
            revoked: read(&self.revoked),
        }
    }
}

/// How one reconciliation ended.
enum End {
    Answered(Result<Outcome, Error>),
    Panicked,
    TimedOut(Duration),
    /// Others may have the key.
    Revoked,
}

/// What becomes of the key.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Its failures are forgotten.
    Forget,
    /// The same, and it runs again after the time.
    After(Duration),
    /// It failed once more and waits as the limiter says.
    Retry,
}

/// Everything one worker needs; workers of a controller share all of it.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) reconciler: Arc<dyn AnyReconciler>,
    pub(crate) ctx: Context,
    pub(crate) timeout: Option<Duration>,
    pub(crate) counters: Arc<Counters>,
    /// `None` if nobody wants to know how long it takes.
    pub(crate) figures: Option<Arc<ControllerFigures>>,
    /// Which keys this replica works on; `None` if on all.
    pub(crate) share: Option<Share>,
}

impl Worker {
    /// Works until the queue is shut down.
    pub(crate) async fn run(self) {
        while let Some(item) = self.queue.get().await {
            let key = item.key().clone();
            let hand = match &self.share {
                None => None,
                Some(share) => {
                    let Some(hand) = share.begin(&key) else {
                        // It went to another replica while it waited here, and with it what it waits for.
                        self.queue.forget(&key);
                        continue;
                    };
                    Some(hand)
                }
            };
            let span = tracing::info_span!("reconcile", controller = self.ctx.controller(), %key);
            let start = self.figures.as_ref().map(|figures| (figures, Instant::now()));
            let work = async {
                tokio::select! {
                    // First, so that what is revoked does not take another step.
                    biased;
                    () = revoked(hand.as_ref()) => End::Revoked,
                    end = self.reconcile(key.clone()) => end,
                }
            };
            let end = work.instrument(span.clone()).await;
            if let Some((figures, start)) = start {
                figures.reconciled(start.elapsed());
            }
            let next = span.in_scope(|| self.judge(end));
            match next {
                Next::Forget => self.queue.forget(&key),
                Next::After(delay) => {
                    self.queue.forget(&key);
                    self.queue.add_after_with_priority(key, delay, item.priority());
                }
                Next::Retry => {
                    self.queue.add_rate_limited_with_priority(key, item.priority());
                }
            }
        }
    }

    async fn reconcile(&self, key: ObjectKey) -> End {
        let call = self.reconciler.reconcile(&self.ctx, Request { key });
        let call = AssertUnwindSafe(call).catch_unwind();
        let end = match self.timeout {
            None => call.await,
            Some(limit) => match tokio::time::timeout(limit, call).await {
                Ok(end) => end,
                Err(_) => return End::TimedOut(limit),
            },
        };
        end.map_or(End::Panicked, End::Answered)
    }

    /// Counts and logs an end, and says what follows from it.
    fn judge(&self, end: End) -> Next {
        // For this manager, and for all of its name.
        let ends = self.figures.as_ref().map(|figures| figures.ends());
        let count = |counter: fn(&Counters) -> &AtomicU64| {
            for counters in [&*self.counters].into_iter().chain(ends) {
                counter(counters).fetch_add(1, Ordering::Relaxed);
            }
        };
        match end {
            End::Answered(Ok(outcome)) => match outcome.delay() {
                None => {
                    count(|counters| &counters.done);
                    Next::Forget
                }
                Some(delay) => {
                    count(|counters| &counters.requeue_after);
                    Next::After(delay)
                }
            },
            End::Answered(Err(error)) if error.is_terminal() => {
                tracing::error!(%error, "reconciliation failed for good");
                count(|counters| &counters.terminal_errors);
                Next::Forget
            }
            End::Answered(Err(error)) => {
                // Two writers met: that is how optimistic concurrency works, and no news to anybody.
                let is_conflict = error
                    .downcast_ref::<kubewright_client::Error>()
                    .is_some_and(kubewright_client::Error::is_conflict);
                if is_conflict {
                    tracing::debug!(%error, "reconciliation met a conflict; it is tried again");
                } else {
                    tracing::warn!(%error, "reconciliation failed; it is tried again");
                }
                count(|counters| &counters.errors);
                Next::Retry
            }
            End::Panicked => {
                tracing::error!("reconciliation panicked; it is tried again");
                count(|counters| &counters.panics);
                count(|counters| &counters.errors);
                Next::Retry
            }
            End::Revoked => {
                tracing::warn!("the replica was cut off from its ring; the reconciliation is dropped");
                count(|counters| &counters.revoked);
                Next::Forget
            }
            End::TimedOut(limit) => {
                tracing::warn!(?limit, "reconciliation took too long; it is tried again");
                count(|counters| &counters.timeouts);
                count(|counters| &counters.errors);
                Next::Retry
            }
        }
    }
}

/// Waits until a key may not be worked on any more; for ever where keys are not shared out.
async fn revoked(hand: Option<&InHand>) {
    match hand {
        Some(hand) => hand.revoked().await,
        None => std::future::pending().await,
    }
}
