//! Handlers that see a part of the objects (client-go `tools/cache/controller.go`, `FilteringResourceEventHandler`).

use std::fmt;

use hashbrown::HashSet;
use kubewright_core::ObjectKey;
use parking_lot::Mutex;

use crate::cached::Cached;
use crate::listener::EventHandler;
use crate::store::{FinalState, Initial};

/// Shows a handler only the objects that a filter lets through.
///
/// An update by which an object comes to pass the filter is an addition to the handler, one by which it ceases to is a
/// deletion of the state that the handler saw last. The filter is asked about new states alone; the keys of what passed
/// are kept, so a deletion is told to whoever was told of the object, whatever it looked like in the end, and a filter
/// that changes its mind makes no inconsistent story. (client-go asks its filter about the deleted state as well, and
/// loses the deletion of an object that ceased to pass while nobody looked.)
///
/// What no handler wants is better not watched at all: see [`WatchScope`](crate::WatchScope) for namespaces and
/// selectors.
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # use kubewright_cache::{Cached, EventHandler, FilteringHandler};
/// fn without_tier<H: EventHandler<Pod>>(handler: H) -> impl EventHandler<Pod> {
///     let no_tier = |pod: &Cached<Pod>| !pod.metadata().labels.iter().flatten().any(|(name, _)| name == "tier");
///     FilteringHandler::new(no_tier, handler)
/// }
/// ```
pub struct FilteringHandler<F, H> {
    filter: F,
    handler: H,
    /// What the handler knows.
    passed: Mutex<HashSet<ObjectKey>>,
}

impl<F, H> FilteringHandler<F, H> {
    /// Shows `handler` what `filter` is true for.
    pub fn new(filter: F, handler: H) -> Self {
        Self {
            filter,
            handler,
            passed: Mutex::default(),
        }
    }
}

impl<K, F, H> EventHandler<K> for FilteringHandler<F, H>
where
    F: Fn(&Cached<K>) -> bool + Send + Sync + 'static,
    H: EventHandler<K>,
{
    fn on_add(&self, object: &Cached<K>, initial: Initial) {
        if (self.filter)(object) {
            self.passed.lock().insert(object.key().clone());
            self.handler.on_add(object, initial);
        }
    }

    fn on_update(&self, old: &Cached<K>, new: &Cached<K>) {
        let passes = (self.filter)(new);
        let key = new.key();
        let passed = {
            let mut known = self.passed.lock();
            if passes {
                !known.insert(key.clone())
            } else {
                known.remove(key)
            }
        };
        match (passed, passes) {
            (true, true) => self.handler.on_update(old, new),
            (false, true) => self.handler.on_add(new, Initial::No),
            (true, false) => self.handler.on_delete(old, FinalState::Known),
            (false, false) => {}
        }
    }

    fn on_delete(&self, object: &Cached<K>, final_state: FinalState) {
        let passed = self.passed.lock().remove(object.key());
        if passed {
            self.handler.on_delete(object, final_state);
        }
    }
}

impl<F, H: fmt::Debug> fmt::Debug for FilteringHandler<F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilteringHandler")
            .field("handler", &self.handler)
            .finish_non_exhaustive()
    }
}
