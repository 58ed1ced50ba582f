//! What a manager, its queues, informers and clients report, in the text that Prometheus reads.
//!
//! Names and labels are those that dashboards for Kubernetes know:
//!
//! | names | labels | from |
//! |---|---|---|
//! | `workqueue_*` | `name`, `controller`; the depth also by `priority` | controller-runtime `pkg/metrics/workqueue.go` |
//! | `controller_runtime_*` | `controller`, `result` | controller-runtime `pkg/internal/controller/metrics` |
//! | `rest_client_*` | `code`, `method` or `verb`, `host` | component-base `metrics/prometheus/restclient` |
//! | `informer_store_resource_version`, `informer_pending_notifications` | `name` (the operator's), `group`, `version`, `resource`, `handler` (its controller's) | KEP-4346, component-base `metrics/prometheus/clientgo` |
//! | `kubewright_informer_*` | the same | ours: what upstream has no name for |
//!
//! The other names of KEP-4346, `informer_queued_items` and `informer_processing_latency_seconds`, are not here: what an
//! informer reads goes to the store at once, so there is no such queue. Informers of one resource in several scopes are one
//! series, and so are controllers of one name in several managers: counts are added up, of states the worst counts. Handlers
//! are those of controllers.
//!
//! Counters never go back. What a manager has counted stays when it ends, and the next of the same names goes on from there; its
//! gauges end with it. An informer that only a runnable had takes along what it has counted since numbers were last read when the
//! runnable lets go of it or ends, and more where another informer of the resource counts meanwhile.
//!
//! What happens is counted when it happens, what is looked at is read while the text is written. A key of a queue costs a tenth of
//! a microsecond more with metrics than without.

mod controller;
mod page;
mod rest;
mod running;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

pub(crate) use self::controller::{Both, ControllerFigures};
use self::page::Page;
use self::rest::RestFigures;
pub(crate) use self::running::Running;

/// The media type of [`Metrics::encode`]'s text: the Prometheus text format 0.0.4.
pub const CONTENT_TYPE: &str = prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

/// Most priorities of a queue that have a series of their own; what is ready with others is one series, whose `priority` is
/// [`OTHER_PRIORITIES`]. Once there, a series comes with every later queue of its name, and says 0 while it has no keys.
/// (controller-runtime PR 3419.)
pub const MAX_PRIORITIES: usize = 25;

/// See [`MAX_PRIORITIES`].
pub const OTHER_PRIORITIES: &str = "exceeded_cardinality_limit";

/// The numbers of managers, and of the clients they use. A handle: clones are of the same numbers.
///
/// Give it to a manager by [`ManagerOptions::metrics`](crate::ManagerOptions::metrics) and serve [`encode`](Self::encode) where
/// Prometheus asks; serving is the application's. For clients that no manager uses it is a
/// [`RestMetrics`](kubewright_client::RestMetrics).
///
/// ```
/// use kubewright_runtime::metrics::{CONTENT_TYPE, Metrics};
/// use kubewright_runtime::ManagerOptions;
///
/// let metrics = Metrics::new();
/// let options = ManagerOptions { metrics: Some(metrics.clone()), ..ManagerOptions::default() };
/// // Later, for each GET of /metrics:
/// let (content_type, body) = (CONTENT_TYPE, metrics.encode());
/// # assert!(body.is_empty() && content_type.starts_with("text/plain"));
/// ```
#[derive(Clone, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// By name; they stay when their manager ends.
    controllers: Mutex<BTreeMap<String, Arc<ControllerFigures>>>,
    rest: Mutex<RestFigures>,
    sources: Mutex<Sources>,
}

/// What is read with each scrape. Locked while it is read, so that what ends is either there or among what has ended.
#[derive(Default)]
struct Sources {
    running: Vec<Followed>,
    /// What those have counted that are gone: as many series as there were names, however many had them.
    ended: Page,
}

struct Followed {
    source: Arc<dyn Source>,
    /// Its counters when it was last read. A part of it may end before the whole does, and takes its counts along.
    last: Page,
}

impl Followed {
    /// All numbers at present. What is gone since the last time is added to what has ended: whatever ends, no counter falls.
    fn read(&mut self, ended: &mut Page) -> Page {
        let mut page = Page::default();
        self.source.read(&mut page);
        let counters = page.counters();
        ended.add(&self.last.missing_in(&counters));
        self.last = counters;
        page
    }
}

/// Something with numbers that are read when they are asked for.
pub(crate) trait Source: Send + Sync {
    fn read(&self, page: &mut Page);
}

impl Metrics {
    /// No numbers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All numbers, as [`CONTENT_TYPE`]. Series come in the order of their names and labels.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut page = Page::default();
        for (name, figures) in &*self.0.controllers.lock() {
            figures.read(name, &mut page);
        }
        self.0.rest.lock().read(&mut page);
        page.add(&self.0.sources.lock().read());
        page.encode()
    }

    /// What a queue without a manager reports to, for [`Options::metrics`](kubewright_queue::Options::metrics), under the name of a
    /// controller. Its depth and the ages of what is in work are not read.
    #[must_use]
    pub fn queue(&self, name: &str) -> Arc<dyn kubewright_queue::Metrics> {
        self.controller(name)
    }

    /// The numbers of the controller of this name.
    pub(crate) fn controller(&self, name: &str) -> Arc<ControllerFigures> {
        let mut controllers = self.0.controllers.lock();
        Arc::clone(controllers.entry(name.to_owned()).or_default())
    }

    /// Reads a source with each scrape for as long as the result is held.
    pub(crate) fn follow(&self, source: Arc<dyn Source>) -> Scraped {
        self.0.sources.lock().running.push(Followed {
            source: Arc::clone(&source),
            last: Page::default(),
        });
        Scraped {
            metrics: self.clone(),
            source,
        }
    }
}

impl Sources {
    fn read(&mut self) -> Page {
        let mut page = Page::default();
        for followed in &mut self.running {
            page.add(&followed.read(&mut self.ended));
        }
        page.add(&self.ended);
        page
    }
}

/// A source that is read with each scrape. When it is dropped what the source has counted stays, and the rest is read no more.
pub(crate) struct Scraped {
    metrics: Metrics,
    source: Arc<dyn Source>,
}

impl Drop for Scraped {
    fn drop(&mut self) {
        let mut sources = self.metrics.0.sources.lock();
        let Sources { running, ended } = &mut *sources;
        let place = running
            .iter()
            .position(|there| Arc::ptr_eq(&there.source, &self.source));
        let Some(place) = place else { return };
        let mut gone = running.swap_remove(place);
        gone.read(ended);
        ended.add(&gone.last);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controllers: Vec<_> = self.0.controllers.lock().keys().cloned().collect();
        f.debug_struct("Metrics")
            .field("controllers", &controllers)
            .finish_non_exhaustive()
    }
}
