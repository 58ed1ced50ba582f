//! Watches over the metadata of every kind, which come and go with the kinds.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hashbrown::HashMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_cache::{
    Cached, EventHandler, FinalState, HandlerOptions, Initial, Registration, SharedInformer, WatchScope,
};
use kubewright_client::View;
use kubewright_core::{ApiResource, DynamicObject, PartialObject};
use tokio::sync::Notify;

use super::Collector;
use super::graph::Event;
use super::live::{Resources, object, uid};

type Metadata = PartialObject<DynamicObject>;

/// The watches of a collector.
pub(super) struct Monitors {
    collector: Arc<Collector>,
    running: HashMap<ApiResource, Monitor>,
    /// Told when a definition changes.
    definitions: Arc<Notify>,
}

struct Monitor {
    informer: SharedInformer<Metadata>,
    registration: Registration,
}

impl Monitors {
    pub(super) fn new(collector: Arc<Collector>) -> Self {
        Self {
            collector,
            running: HashMap::new(),
            definitions: Arc::default(),
        }
    }

    /// Follows the kinds, for ever: at once when a definition changes, otherwise every so often.
    pub(super) async fn run(&mut self) {
        let informers = self.collector.ctx.informers();
        let definitions = informers.informer::<CustomResourceDefinition>(&WatchScope::default());
        let _registration = definitions.add_handler(
            Definitions(Arc::clone(&self.definitions)),
            HandlerOptions::default(),
        );
        let changed = Arc::clone(&self.definitions);
        loop {
            let _ = tokio::time::timeout(REFRESH, changed.notified()).await;
            self.refresh().await;
        }
    }

    /// Watches what the server offers now, and nothing else. Returns when all watches are complete, or were given up on.
    pub(super) async fn refresh(&mut self) {
        let discovery = match self.collector.ctx.client().discover().await {
            Ok(discovery) => discovery,
            Err(error) => {
                tracing::warn!(%error, "garbage collection cannot learn of kinds");
                return;
            }
        };
        let wanted: Vec<ApiResource> = discovery
            .preferred_resources()
            .filter(|found| {
                ["list", "watch", "delete"]
                    .iter()
                    .all(|verb| found.supports(verb))
            })
            .map(|found| found.resource.clone())
            // They have no owners, and come in masses.
            .filter(|resource| resource.plural != "events")
            .collect();
        *self.collector.resources.write() = Arc::new(Resources::new(&discovery));
        // A group that could not be asked keeps its watches.
        let is_kept = |resource: &ApiResource| {
            wanted.contains(resource)
                || discovery
                    .failures
                    .iter()
                    .any(|failure| failure.group_version.group == resource.group)
        };
        let collector = Arc::clone(&self.collector);
        self.running.retain(|resource, _| {
            let keep = is_kept(resource);
            if !keep {
                let objects = collector.graph.lock().of_resource(&resource.group_resource());
                for gone in objects {
                    collector.step(Event::Gone(gone));
                }
            }
            keep
        });
        let new: Vec<_> = wanted
            .into_iter()
            .filter(|resource| !self.running.contains_key(resource))
            .collect();
        if new.is_empty() {
            return;
        }
        let _incomplete = collector.complete.write().await;
        for resource in &new {
            self.running.insert(resource.clone(), self.monitor(resource));
        }
        let synced = new
            .iter()
            .filter_map(|resource| self.running.get(resource))
            .map(async |monitor| {
                monitor.informer.synced().await;
                monitor.registration.synced().await;
            });
        if tokio::time::timeout(SYNC_LIMIT, join_all(synced)).await.is_err() {
            for (resource, monitor) in &self.running {
                if !monitor.informer.has_synced() {
                    let resource = resource.group_version_resource();
                    tracing::warn!(%resource, "garbage collection goes on without knowing these objects");
                }
            }
        }
    }

    fn monitor(&self, resource: &ApiResource) -> Monitor {
        let scope = WatchScope {
            view: View::Metadata,
            ..WatchScope::default()
        };
        let informer: SharedInformer<Metadata> =
            self.collector.ctx.informers().informer_for(resource, &scope);
        let registration = informer.add_handler(
            Objects {
                collector: Arc::clone(&self.collector),
                resource: resource.clone(),
            },
            HandlerOptions::default(),
        );
        Monitor {
            informer,
            registration,
        }
    }
}

/// Tells the collector of objects.
struct Objects {
    collector: Arc<Collector>,
    resource: ApiResource,
}

impl Objects {
    fn observe(&self, found: &Cached<Metadata>) {
        if let Some(object) = object(&self.resource, &found.metadata()) {
            self.collector.step(Event::Observed(object));
        }
    }
}

impl EventHandler<Metadata> for Objects {
    fn on_add(&self, object: &Cached<Metadata>, _: Initial) {
        self.observe(object);
    }

    fn on_update(&self, _: &Cached<Metadata>, new: &Cached<Metadata>) {
        self.observe(new);
    }

    fn on_delete(&self, object: &Cached<Metadata>, _: FinalState) {
        self.collector.step(Event::Gone(uid(object.uid())));
    }
}

/// Notes that definitions changed, whatever they became.
struct Definitions(Arc<Notify>);

impl EventHandler<CustomResourceDefinition> for Definitions {
    fn on_add(&self, _: &Cached<CustomResourceDefinition>, _: Initial) {
        self.0.notify_one();
    }

    fn on_update(&self, _: &Cached<CustomResourceDefinition>, _: &Cached<CustomResourceDefinition>) {
        self.0.notify_one();
    }

    fn on_delete(&self, _: &Cached<CustomResourceDefinition>, _: FinalState) {
        self.0.notify_one();
    }
}

/// How often the server is asked for its kinds when no definition changes: aggregated APIs have none.
const REFRESH: Duration = Duration::from_secs(30);
/// How long new watches may take before garbage collection goes on without them.
const SYNC_LIMIT: Duration = Duration::from_secs(30);
