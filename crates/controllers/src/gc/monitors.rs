//! Watches over the metadata of every kind, which come and go with the kinds.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hashbrown::{HashMap, HashSet};
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

impl Monitor {
    fn has_synced(&self) -> bool {
        self.informer.has_synced() && self.registration.has_synced()
    }
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
        let (discovery, failures) = match self.collector.ctx.client().discover().await {
            Ok(partial) => partial.into_parts(),
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
        let failed: Vec<&str> = failures
            .iter()
            .map(|failure| failure.group_version.group.as_str())
            .collect();
        let changes = Changes::between(self.running.keys(), &wanted, &failed);
        if changes.is_empty() {
            return;
        }
        // Nothing is collected while what is known is incomplete.
        let collector = Arc::clone(&self.collector);
        let _incomplete = collector.complete.write().await;
        for resource in &changes.start {
            self.running.insert(resource.clone(), self.monitor(resource));
        }
        self.sync(&changes.start).await;
        for (resource, successor) in &changes.replaced {
            // Until the new watch knows what is there, the old one tells what goes.
            let Some(monitor) = self.running.get(successor).filter(|monitor| monitor.has_synced()) else {
                continue;
            };
            // What went while neither watched; for what the new one is about to tell of, nothing follows from this.
            let known = collector.graph.lock().of_resource(&resource.group_resource());
            let there = monitor.informer.lister().list();
            let there: HashSet<&str> = there.iter().map(Cached::uid).collect();
            for gone in known.into_iter().filter(|known| !there.contains(&**known)) {
                collector.step(Event::Gone(gone));
            }
            self.running.remove(resource);
        }
        for resource in &changes.gone {
            self.running.remove(resource);
            let objects = collector.graph.lock().of_resource(&resource.group_resource());
            for gone in objects {
                collector.step(Event::Gone(gone));
            }
        }
    }

    /// Waits until new watches are complete, for a while at most.
    async fn sync(&self, new: &[ApiResource]) {
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

/// What has to be done for the watches to be those that are wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    start: Vec<ApiResource>,
    /// Watches whose objects are seen in another version, with that.
    replaced: Vec<(ApiResource, ApiResource)>,
    /// Watches whose kind is gone, and its objects with it.
    gone: Vec<ApiResource>,
}

impl Changes {
    /// A group in `failed` could not be asked, and keeps its watches.
    fn between<'a>(
        running: impl IntoIterator<Item = &'a ApiResource>,
        wanted: &[ApiResource],
        failed: &[&str],
    ) -> Self {
        let mut changes = Self {
            start: wanted.to_vec(),
            ..Self::default()
        };
        for resource in running {
            changes.start.retain(|start| start != resource);
            if wanted.contains(resource) || failed.contains(&resource.group.as_str()) {
                continue;
            }
            let same = |other: &&ApiResource| other.group_resource() == resource.group_resource();
            match wanted.iter().find(same) {
                Some(successor) => changes.replaced.push((resource.clone(), successor.clone())),
                None => changes.gone.push(resource.clone()),
            }
        }
        changes
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
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

#[cfg(test)]
mod tests {
    use kubewright_core::Scope;

    use super::*;

    fn resources(names: &str) -> Vec<ApiResource> {
        let one = |name: &str| {
            let [plural, version, group] = name.splitn(3, '.').collect::<Vec<_>>().try_into().unwrap();
            ApiResource {
                group: group.into(),
                version: version.into(),
                kind: plural.to_uppercase().as_str().into(),
                plural: plural.into(),
                scope: Scope::Namespaced,
            }
        };
        names.split_whitespace().map(one).collect()
    }

    #[test]
    fn only_objects_of_a_kind_that_is_gone_are_gone() {
        // running, wanted, groups that failed; started, replaced, gone
        for (running, wanted, failed, start, replaced, gone) in [
            ("", "a.v1.x b.v1.x", &[][..], "a.v1.x b.v1.x", "", ""),
            ("a.v1.x", "a.v1.x", &[], "", "", ""),
            ("a.v1.x b.v1.x", "b.v1.x", &[], "", "", "a.v1.x"),
            ("a.v1.x", "a.v2.x", &[], "a.v2.x", "a.v1.x", ""),
            ("a.v1.x a.v2.x", "a.v2.x", &[], "", "a.v1.x", ""),
            ("a.v1.x", "a.v1.y", &[], "a.v1.y", "", "a.v1.x"),
            ("a.v1.x b.v1.y", "", &["x"], "", "", "b.v1.y"),
        ] {
            let changes = Changes::between(&resources(running), &resources(wanted), failed);
            let old: Vec<_> = changes.replaced.iter().map(|(old, _)| old.clone()).collect();
            let got = (changes.start, old, changes.gone);
            let expect = (resources(start), resources(replaced), resources(gone));
            assert_eq!(got, expect, "{running} to {wanted}, {failed:?} failed");
        }
    }
}
