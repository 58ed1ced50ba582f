//! A controller at work: its queue and what it follows.

use std::fmt;
use std::sync::Arc;

use kubewright_cache::SharedInformer;
use kubewright_core::{DynamicObject, ObjectKey};
use kubewright_queue::{Metrics, NoMetrics, Options, WorkQueue};
use tokio::sync::watch;

use crate::controller::{Attach, Attached, Controller};
use crate::error::SyncFailure;
use crate::manager::ManagerOptions;
use crate::metrics::{Both, ControllerFigures, Priorities};
use crate::operator::RunnableContext;
use crate::share::Share;
use crate::worker::Counters;
use crate::writes::Writes;

/// A controller with its queue and its sources.
pub(crate) struct RunningController {
    pub(crate) name: String,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) sources: Vec<Attached>,
    pub(crate) concurrency: usize,
    pub(crate) counters: Arc<Counters>,
    /// Where its queue and its reconciler are measured; `None` if they are not.
    pub(crate) figures: Option<Arc<ControllerFigures>>,
    pub(crate) priorities: Option<Arc<Priorities>>,
    /// Which keys this replica works on; `None` if on all.
    pub(crate) share: Option<Share>,
    handovers: Option<Handovers>,
}

/// How the share has changed since the controller began.
struct Handovers {
    generations: watch::Receiver<u64>,
    /// The generation in which it began.
    seen: u64,
}

impl Handovers {
    fn new(generations: watch::Receiver<u64>) -> Self {
        let seen = *generations.borrow();
        Self { generations, seen }
    }
}

impl fmt::Debug for RunningController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningController")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl RunningController {
    pub(crate) fn attach(
        controller: &Controller,
        options: &ManagerOptions,
        env: &RunnableContext,
        writes: &Writes,
    ) -> Self {
        let figures = options
            .metrics
            .as_ref()
            .map(|metrics| metrics.controller(&controller.name));
        let theirs = options
            .queue_metrics
            .as_ref()
            .map(|metrics| metrics(&controller.name));
        let metrics: Arc<dyn Metrics> = match (figures.clone(), theirs) {
            (None, None) => Arc::new(NoMetrics),
            (Some(ours), None) => ours,
            (None, Some(theirs)) => theirs,
            (Some(ours), Some(theirs)) => Arc::new(Both(ours, theirs)),
        };
        let queue = WorkQueue::new(Options {
            settings: options.queue.clone(),
            limiter: (controller.limiter)(),
            metrics,
        });
        let mut sources = controller.sources.iter();
        let primary = sources.find(|source| Some(source.resource()) == controller.primary.as_ref());
        let share = options.shard.as_ref().map(|shard| Share::of(controller, shard));
        // Before anything is passed over because it is another replica's.
        let handovers = share.as_ref().map(|share| Handovers::new(share.generations()));
        let attach = Attach {
            controller,
            queue: &queue,
            informers: &env.informers,
            writes,
            primaries: primary.map(|source| {
                let informer: SharedInformer<DynamicObject> =
                    env.informers.informer_for(source.resource(), source.scope());
                informer.lister()
            }),
            share: share.clone(),
        };
        Self {
            name: controller.name.clone(),
            sources: controller
                .sources
                .iter()
                .map(|source| source.attach(&attach))
                .collect(),
            queue,
            concurrency: controller.concurrency,
            counters: Arc::default(),
            priorities: figures.as_ref().map(|figures| figures.priorities()),
            figures,
            share,
            handovers,
        }
    }

    /// Enqueues what comes over from other replicas, as long as there are any.
    pub(crate) async fn take_over(&self) {
        let Some(handovers) = &self.handovers else { return };
        let mut generations = handovers.generations.clone();
        let mut seen = handovers.seen;
        loop {
            let now = *generations.borrow_and_update();
            if now != seen {
                let sources = self.sources.iter().filter_map(|source| source.take_over.as_ref());
                for take_over in sources {
                    take_over(seen).await;
                }
            }
            seen = now;
            if generations.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until the queue has a key for everything that was there at the start.
    pub(crate) async fn synced(&self) {
        for source in &self.sources {
            source.followed.informer.synced().await;
            if let Some(registration) = &source.registration {
                registration.synced().await;
            }
        }
    }

    pub(crate) fn unsynced(&self) -> Vec<SyncFailure> {
        self.sources
            .iter()
            .filter(|source| !source.followed.informer.has_synced())
            .map(|source| {
                self.failure(source).unwrap_or_else(|| SyncFailure {
                    controller: self.name.clone(),
                    resource: source.followed.informer.resource().group_version_resource(),
                    verb: "",
                    reason: String::new(),
                })
            })
            .collect()
    }

    pub(crate) fn failures(self: &Arc<Self>) -> Vec<SyncFailure> {
        self.sources
            .iter()
            .filter_map(|source| self.failure(source))
            .collect()
    }

    fn failure(&self, source: &Attached) -> Option<SyncFailure> {
        let health = source.followed.informer.health();
        let health = health.borrow();
        let failure = health.failure.as_ref()?;
        Some(SyncFailure {
            controller: self.name.clone(),
            resource: failure.resource.group_version_resource(),
            verb: failure.verb.as_str(),
            reason: failure.error.to_string(),
        })
    }
}
