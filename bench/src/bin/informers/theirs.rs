//! The watcher and the reflector of `kube`, with the settings that they have by themselves.
//!
//! One handler stands where its documentation puts it, behind the reflector in the stream. Several handlers can share a watch by
//! subscribing to the store alone, which its feature `unstable-runtime` offers. It has no indices: the handler keeps one. What an object was
//! before an update, no handler is told.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, watcher};

use crate::gate::{Counter, Gate};
use crate::task::{Look, Task};
use crate::work::{Metadata, Peer, see_node, see_object};

/// A reflector over the client of `kube`.
pub struct Theirs {
    client: kube::Client,
    store: Option<Store<Pod>>,
    nodes: Arc<Mutex<Nodes>>,
}

/// What is on which node.
type Nodes = HashMap<String, HashSet<ObjectRef<Pod>>>;

impl Peer for Theirs {
    async fn connect(task: &Task) -> Result<Self> {
        let config = kube::Config::new(task.server.parse()?);
        Ok(Self {
            client: kube::Client::try_from(config)?,
            store: None,
            nodes: Arc::default(),
        })
    }

    fn begin(&mut self, task: &Task, gate: &Arc<Gate>) -> Result<()> {
        let config = if task.streaming {
            watcher::Config::default().streaming_lists()
        } else {
            watcher::Config::default()
        };
        let events = watcher(kube::Api::all(self.client.clone()), config).default_backoff();
        if task.handlers == 1 {
            let (store, writer) = reflector::store();
            self.store = Some(store);
            let handler = Handler {
                look: task.look,
                counter: gate.counter(),
                nodes: task.index.map(|_| Arc::clone(&self.nodes)),
            };
            tokio::spawn(reflector::reflector(writer, events).for_each(move |event| {
                handler.on_event(event);
                std::future::ready(())
            }));
            return Ok(());
        }
        let (store, writer) = reflector::store_shared(SUBSCRIBERS_BUFFER);
        self.store = Some(store);
        for _ in 0..task.handlers {
            let handler = Handler {
                look: task.look,
                counter: gate.counter(),
                nodes: None,
            };
            let changed = writer.subscribe().context("the store can be subscribed to")?;
            tokio::spawn(changed.for_each(move |pod| {
                handler.see(&pod);
                std::future::ready(())
            }));
        }
        tokio::spawn(reflector::reflector(writer, events).for_each(|event| {
            if let Err(error) = event {
                report(&error);
            }
            std::future::ready(())
        }));
        Ok(())
    }

    fn len(&self) -> usize {
        self.store.as_ref().map_or(0, Store::len)
    }

    fn indexed(&self, node: &str) -> usize {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.get(node).map_or(0, HashSet::len)
    }

    fn told_by_relist(objects: u64) -> u64 {
        objects + 1
    }

    fn list(&self, namespace: &str) -> Result<(usize, u64)> {
        let pods = self.in_namespace(namespace);
        Ok((pods.len(), pods.iter().map(|pod| see_object(pod)).sum()))
    }

    fn copies(&self, namespace: &str) -> Result<Vec<Pod>> {
        let pods = self.in_namespace(namespace);
        Ok(pods.iter().map(|pod| Pod::clone(pod)).collect())
    }

    fn names(&self, namespace: &str) -> Vec<String> {
        let pods = self.in_namespace(namespace);
        pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect()
    }

    fn get(&self, namespace: &str, name: &str) -> Result<u64> {
        let store = self.store.as_ref().context("the reflector has started")?;
        let pod = store.get(&ObjectRef::new(name).within(namespace));
        Ok(see_object(&*pod.context("the object is there")?))
    }
}

impl Theirs {
    fn in_namespace(&self, namespace: &str) -> Vec<Arc<Pod>> {
        let within = |pod: &Pod| pod.metadata.namespace.as_deref() == Some(namespace);
        self.store
            .as_ref()
            .map_or_else(Vec::new, |store| store.state_filter(within))
    }
}

struct Handler {
    look: Look,
    counter: Arc<Counter>,
    nodes: Option<Arc<Mutex<Nodes>>>,
}

impl Handler {
    fn on_event(&self, event: watcher::Result<watcher::Event<Pod>>) {
        match event {
            Ok(watcher::Event::Apply(pod) | watcher::Event::InitApply(pod)) => {
                if let Some(nodes) = &self.nodes
                    && let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref())
                {
                    let mut nodes = nodes.lock().unwrap_or_else(PoisonError::into_inner);
                    // A pod stays on its node.
                    nodes
                        .entry(node.clone())
                        .or_default()
                        .insert(ObjectRef::from_obj(&pod));
                }
                self.see(&pod);
            }
            Ok(watcher::Event::Delete(pod)) => self.see(&pod),
            Ok(watcher::Event::Init | watcher::Event::InitDone) => {}
            Err(error) => report(&error),
        }
    }

    fn see(&self, pod: &Pod) {
        let seen = match self.look {
            Look::Metadata => {
                let metadata = &pod.metadata;
                let labels = metadata.labels.iter().flatten();
                let labels = labels.map(|(key, value)| (key.as_str(), value.as_str()));
                let owners = metadata.owner_references.iter().flatten();
                let name = metadata.name.as_deref().unwrap_or_default();
                Metadata::named(metadata.namespace.as_deref(), name)
                    .with(labels, owners.map(|owner| owner.uid.as_str()))
            }
            Look::Field => see_node(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref())),
            Look::Object => see_object(pod),
        };
        self.counter.count(seen);
    }
}

/// That history is lost belongs to the work.
fn report(error: &watcher::Error) {
    if !matches!(error, watcher::Error::WatchError(status) if status.code == 410) {
        eprintln!("{error}");
    }
}

/// As in the examples of `kube`.
const SUBSCRIBERS_BUFFER: usize = 128;
