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
//! Counters never go back. What a manager has counted stays when it ends, and so does what informers have that only a runnable had;
//! the next of the same names goes on from there. Gauges end with what they are of.
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

use kubewright_cache::Totals;
use parking_lot::Mutex;

pub(crate) use self::controller::{Both, ControllerFigures, Priorities};
use self::page::Page;
use self::rest::RestFigures;
pub(crate) use self::running::Running;

/// The media type of [`Metrics::encode`]'s text: the Prometheus text format 0.0.4.
pub const CONTENT_TYPE: &str = prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

/// Most priorities of a queue that have a series of their own; what is ready with others is one series, whose `priority` is
/// [`OTHER_PRIORITIES`]. Once there, a series stays while a queue of its name is at work, and says 0 while it has no keys.
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
    /// What informers have counted, by operator; it stays likewise.
    informers: Mutex<BTreeMap<String, Totals>>,
    rest: Mutex<RestFigures>,
    /// Whose gauges are read.
    running: Mutex<Vec<Arc<Running>>>,
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
        for (operator, totals) in &*self.0.informers.lock() {
            running::read_totals(operator, totals, &mut page);
        }
        self.0.rest.lock().read(&mut page);
        for running in &*self.0.running.lock() {
            running.read(&mut page);
        }
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

    /// Where the informers of this operator count.
    pub(crate) fn informers(&self, operator: &str) -> Totals {
        let mut informers = self.0.informers.lock();
        informers.entry(operator.to_owned()).or_default().clone()
    }

    /// Reads the gauges of a manager with each scrape for as long as the result is held.
    pub(crate) fn follow(&self, running: Running) -> Scraped {
        let running = Arc::new(running);
        self.0.running.lock().push(Arc::clone(&running));
        Scraped {
            metrics: self.clone(),
            running,
        }
    }
}

/// A manager that is read with each scrape, until this is dropped.
pub(crate) struct Scraped {
    metrics: Metrics,
    running: Arc<Running>,
}

impl Drop for Scraped {
    fn drop(&mut self) {
        let mut running = self.metrics.0.running.lock();
        running.retain(|other| !Arc::ptr_eq(other, &self.running));
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
