//! Our informer, with the options that it has by itself.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kubewright_cache::{
    Cached, DecodeError, EventHandler, FinalState, HandlerOptions, Indexed, InformerOptions, Informers,
    Initial, Registration, SharedInformer, WatchScope,
};
use kubewright_client::{Client, Config};
use kubewright_core::ObjectKey;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::gate::{Counter, Gate};
use crate::task::{Look, Task};
use crate::work::{Metadata, Peer, see_node, see_object};

/// Informers over our client.
pub struct Ours {
    informers: Informers,
    started: Option<(SharedInformer<Pod>, Vec<Registration>)>,
}

const NODE_INDEX: &str = "node";

impl Peer for Ours {
    async fn connect(task: &Task) -> Result<Self> {
        let config = Config::new(task.server.parse()?);
        let client = Client::new(config, Arc::new(rustls::crypto::ring::default_provider()))?;
        Ok(Self {
            informers: Informers::new(client, InformerOptions::default()),
            started: None,
        })
    }

    fn begin(&mut self, task: &Task, gate: &Arc<Gate>) -> Result<()> {
        let informer = self.informers.informer::<Pod>(&WatchScope::default());
        if let Some(look) = task.index {
            let added = informer.add_index(NODE_INDEX, move |pod| node(pod, look).into_iter().collect());
            ensure!(added == Indexed::Added, "there is an index of pods already");
        }
        let handlers = (0..task.handlers)
            .map(|_| {
                let handler = Handler {
                    look: task.look,
                    counter: gate.counter(),
                };
                informer.add_handler(handler, HandlerOptions::default())
            })
            .collect();
        self.started = Some((informer, handlers));
        Ok(())
    }

    fn len(&self) -> usize {
        self.informer().map_or(0, |informer| informer.lister().len())
    }

    fn indexed(&self, node: &str) -> usize {
        let found = self
            .informer()
            .map(|informer| informer.lister().by_index(NODE_INDEX, node));
        found.map_or(0, |found| found.map_or(0, |found| found.len()))
    }

    fn told_by_relist(_: u64) -> u64 {
        1
    }

    fn list(&self, namespace: &str) -> Result<(usize, u64)> {
        let objects = self.informer()?.lister().list_namespace(namespace);
        let mut seen = 0;
        for object in &objects {
            seen += see_object(&*object.object()?);
        }
        Ok((objects.len(), seen))
    }

    fn list_fields(&self, namespace: &str) -> Result<Option<(usize, u64)>> {
        let objects = self.informer()?.lister().list_namespace(namespace);
        let mut seen = 0;
        for object in &objects {
            seen += object.project::<Seen>()?.see();
        }
        Ok(Some((objects.len(), seen)))
    }

    fn copies(&self, namespace: &str) -> Result<Vec<Pod>> {
        let objects = self.informer()?.lister().list_namespace(namespace);
        let copy = |object: &Cached<Pod>| Ok(Pod::clone(&*object.object()?));
        objects.iter().map(copy).collect()
    }

    fn names(&self, namespace: &str) -> Vec<String> {
        let objects = self
            .informer()
            .map(|informer| informer.lister().list_namespace(namespace));
        let objects = objects.into_iter().flatten();
        objects.map(|object| object.name().to_owned()).collect()
    }

    fn get(&self, namespace: &str, name: &str) -> Result<u64> {
        let object = self
            .informer()?
            .lister()
            .get(&ObjectKey::namespaced(namespace, name));
        Ok(see_object(&*object.context("the object is there")?.object()?))
    }
}

impl Ours {
    fn informer(&self) -> Result<&SharedInformer<Pod>> {
        let started = self.started.as_ref().context("the informer has started")?;
        Ok(&started.0)
    }
}

struct Handler {
    look: Look,
    counter: Arc<Counter>,
}

/// The node of a pod, by decoding its name alone or all of the pod.
fn node(pod: &Cached<Pod>, look: Look) -> Option<String> {
    match look {
        Look::Field => pod.project::<OnNode>().ok()?.spec.node_name,
        _ => pod.object().ok()?.spec.as_ref()?.node_name.clone(),
    }
}

/// A reader that names the field it needs has nothing else decoded.
#[derive(Deserialize)]
struct OnNode {
    spec: NodeName,
}

#[derive(Deserialize)]
struct NodeName {
    #[serde(rename = "nodeName")]
    node_name: Option<String>,
}

/// The fields that [`see_object`] looks at.
#[derive(Deserialize)]
struct Seen {
    spec: SeenSpec,
    #[serde(default)]
    status: SeenStatus,
}

#[derive(Deserialize)]
struct SeenSpec {
    containers: Vec<SeenContainer>,
}

#[derive(Deserialize)]
struct SeenContainer {
    name: String,
    #[serde(default)]
    env: Vec<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SeenStatus {
    conditions: Vec<IgnoredAny>,
    container_statuses: Vec<SeenImage>,
}

#[derive(Deserialize)]
struct SeenImage {
    #[serde(rename = "imageID")]
    image_id: String,
}

impl Seen {
    /// As [`see_object`].
    fn see(&self) -> u64 {
        let containers = self.spec.containers.iter();
        let spec: usize = containers
            .map(|container| container.name.len() + container.env.len())
            .sum();
        let images = self.status.container_statuses.iter();
        let images: usize = images.map(|container| container.image_id.len()).sum();
        (spec + self.status.conditions.len() + images) as u64
    }
}

impl Handler {
    fn see(&self, pod: &Cached<Pod>) -> Result<u64, DecodeError> {
        Ok(match self.look {
            Look::Metadata => {
                let owners = pod.owners();
                Metadata::named(pod.namespace(), pod.name())
                    .with(pod.labels().iter(), owners.iter().map(|owner| owner.uid.as_str()))
            }
            Look::Field => see_node(pod.project::<OnNode>()?.spec.node_name.as_deref()),
            Look::Object => see_object(&*pod.object()?),
        })
    }

    fn count(&self, seen: Result<u64, DecodeError>) {
        match seen {
            Ok(seen) => self.counter.count(seen),
            Err(error) => eprintln!("{error}"),
        }
    }
}

impl EventHandler<Pod> for Handler {
    fn on_add(&self, object: &Cached<Pod>, _: Initial) {
        self.count(self.see(object));
    }

    fn on_update(&self, old: &Cached<Pod>, new: &Cached<Pod>) {
        if old.same_version(new) {
            return;
        }
        let old = self.see(old);
        self.count(old.and_then(|old| Ok(old.wrapping_add(self.see(new)?))));
    }

    fn on_delete(&self, object: &Cached<Pod>, _: FinalState) {
        self.count(self.see(object));
    }
}
