//! Garbage collection: objects whose owners are gone, go (kubernetes `pkg/controller/garbagecollector`).
//!
//! The metadata of all objects of all kinds is watched; watches come and go with the kinds. The [graph](graph) says what to
//! look into; this file asks the server and carries out. Nothing is deleted on the word of a cache: the object and the
//! owners that seem to be gone are read from the server first, and the deletion names the object's uid and version.

mod graph;
mod live;
mod monitors;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use kubewright_client::{DeleteOptions, Error as ClientError, Preconditions, PropagationPolicy};
use kubewright_core::{ApiResource, OwnerReference, Scope};
use kubewright_queue::{Options, ShutDown, WorkQueue};
use kubewright_runtime::{Note, Operator, Right, RunnableContext, Verb};
use parking_lot::Mutex;
use tokio::sync::RwLock;

use graph::{Action, Event, Graph, OwnerState, Task, Uid};
use live::{Found, Live, Resources};
use monitors::Monitors;

/// Adds the garbage collector to an operator.
pub(crate) fn add_to(operator: Operator) -> Operator {
    operator
        .runnable("generic-garbage-collector", run)
        .right(Right::to_resource(
            "*",
            "*",
            [Verb::Get, Verb::List, Verb::Watch, Verb::Patch, Verb::Delete],
        ))
}

/// What monitors and workers share.
struct Collector {
    ctx: RunnableContext,
    graph: Mutex<Graph>,
    queue: WorkQueue<Task>,
    resources: parking_lot::RwLock<Arc<Resources>>,
    /// Held for writing while watches of new kinds are incomplete: what they would tell may keep an object from going.
    complete: RwLock<()>,
}

async fn run(ctx: RunnableContext) -> Result<(), ClientError> {
    let stop = ctx.stop().clone();
    let collector = Arc::new(Collector {
        ctx,
        graph: Mutex::default(),
        queue: WorkQueue::new(Options::default()),
        resources: parking_lot::RwLock::default(),
        complete: RwLock::new(()),
    });
    let mut monitors = Monitors::new(Arc::clone(&collector));
    tokio::select! {
        () = stop.requested() => return Ok(()),
        () = monitors.refresh() => {}
    }
    let workers = join_all((0..WORKERS).map(|_| Arc::clone(&collector).work()));
    let watch = async {
        tokio::select! {
            () = stop.requested() => {}
            () = monitors.run() => {}
        }
        collector.queue.shut_down_with(ShutDown::Now);
    };
    tokio::join!(workers, watch);
    Ok(())
}

/// What follows from looking into a task.
enum Next {
    Done,
    Again(Duration),
    Retry,
}

impl Collector {
    /// Takes a change in.
    fn step(&self, event: Event) {
        let tasks = self.graph.lock().step(event);
        for task in tasks {
            self.queue.add(task);
        }
    }

    async fn work(self: Arc<Self>) {
        while let Some(item) = self.queue.get().await {
            let task = item.key().clone();
            let complete = self.complete.read().await;
            let result = match &task {
                Task::Collect(uid) => self.collect(uid).await,
                Task::Orphan(uid) => self.orphan(uid).await,
            };
            drop(complete);
            match result {
                Ok(Next::Done) => self.queue.forget(&task),
                Ok(Next::Again(delay)) => {
                    self.queue.forget(&task);
                    self.queue.add_after(task, delay);
                }
                Ok(Next::Retry) => drop(self.queue.add_rate_limited(task)),
                Err(error) => {
                    tracing::debug!(?task, %error, "garbage collection failed; it is tried again");
                    self.queue.add_rate_limited(task);
                }
            }
        }
    }

    /// Whether an object is garbage, and away with it if so.
    async fn collect(&self, uid: &Uid) -> Result<Next, ClientError> {
        let resources = Arc::clone(&self.resources.read());
        let Some(known) = self.graph.lock().object(uid).cloned() else {
            return Ok(Next::Done);
        };
        let mut live = match Live::get(&self.ctx, &resources, &known).await? {
            Found::Live(live) => live,
            Found::Gone => {
                // Its watch will say so too, but its dependants need not wait for that.
                self.step(Event::Gone(Arc::clone(uid)));
                return Ok(Next::Done);
            }
            Found::Unknown => return Ok(Next::Retry),
        };
        let mut states = Vec::new();
        for owner in live.owners() {
            match self.owner(&resources, &live, owner).await? {
                OwnerFound::State(state) => states.push(state),
                // Nothing is known of it, so nothing may be done: the kind may come back.
                OwnerFound::Unknown => return Ok(Next::Retry),
                // Nothing but a change of the object makes this better, and then it is looked into anyway.
                OwnerFound::Misplaced => {
                    self.misplaced(&live, owner);
                    return Ok(Next::Done);
                }
            }
        }
        let action = self.graph.lock().decide(&live.object, &states);
        match action {
            Action::Nothing => {}
            Action::Recheck => return Ok(Next::Again(RECHECK)),
            Action::RemoveOwners(owners) => live.remove_owners(&owners).await?,
            Action::Delete(policy) => self.delete(&live, policy).await?,
            Action::UnblockAndDelete(policy) => {
                live.unblock().await?;
                self.delete(&live, policy).await?;
            }
            Action::Wait(dependants) => {
                for dependant in dependants {
                    self.queue.add(Task::Collect(dependant));
                }
            }
            Action::RemoveForegroundFinalizer => live.remove_finalizer(graph::FOREGROUND).await?,
        }
        Ok(Next::Done)
    }

    /// What is true of an owner.
    async fn owner(
        &self,
        resources: &Resources,
        live: &Live,
        owner: &OwnerReference,
    ) -> Result<OwnerFound, ClientError> {
        let uid: Uid = owner.uid.as_str().into();
        let namespace = live.object.key.namespace.as_deref();
        let resource = match place(resources.of_owner(owner), namespace) {
            Ok(resource) => resource,
            Err(found) => return Ok(found),
        };
        // A watch has told of it, under the same name: that it is present needs no other proof.
        let seen = self.graph.lock().object(&uid).cloned();
        let seen = seen.filter(|seen| {
            let is_there = resource.scope == Scope::Cluster || seen.key.namespace.as_deref() == namespace;
            seen.resource == resource.group_resource() && *seen.key.name == *owner.name && is_there
        });
        if let Some(seen) = seen {
            return Ok(OwnerFound::State(live::state(seen.deletion)));
        }
        Live::owner_state(&self.ctx, resource, namespace, owner)
            .await
            .map(OwnerFound::State)
    }

    fn misplaced(&self, live: &Live, owner: &OwnerReference) {
        self.ctx.events().publish_about(
            live.reference(),
            Note::warning(
                "OwnerRefInvalidNamespace",
                "GarbageCollection",
                format!(
                    "ownerRef [{}/{}, uid: {}] names a namespaced owner of a cluster-scoped object",
                    owner.kind, owner.name, owner.uid
                ),
            ),
        );
    }

    async fn delete(&self, live: &Live, policy: PropagationPolicy) -> Result<(), ClientError> {
        let options = DeleteOptions {
            preconditions: Some(Preconditions {
                uid: Some(live.object.uid.to_string()),
                resource_version: live.version(),
            }),
            propagation_policy: Some(live.policy().unwrap_or(policy)),
            ..DeleteOptions::default()
        };
        live.delete(&options).await
    }

    /// Lets go of the dependants of an object that is being deleted.
    async fn orphan(&self, uid: &Uid) -> Result<Next, ClientError> {
        let resources = Arc::clone(&self.resources.read());
        let (owner, dependants): (_, Vec<_>) = {
            let graph = self.graph.lock();
            let Some(owner) = graph.object(uid).cloned() else {
                return Ok(Next::Done);
            };
            (owner, graph.dependants(uid).cloned().collect())
        };
        for dependant in dependants {
            match Live::get(&self.ctx, &resources, &dependant).await? {
                Found::Live(live) => live.remove_owners(std::slice::from_ref(uid)).await?,
                Found::Gone => {}
                // It would be collected later if the owner went while this names it.
                Found::Unknown => return Ok(Next::Retry),
            }
        }
        match Live::get(&self.ctx, &resources, &owner).await? {
            Found::Live(live) => live.remove_finalizer(graph::ORPHAN).await?,
            Found::Gone => {}
            Found::Unknown => return Ok(Next::Retry),
        }
        Ok(Next::Done)
    }
}

/// What was found out about an owner.
#[derive(Debug, PartialEq, Eq)]
enum OwnerFound {
    /// This is true of it.
    State(OwnerState),
    /// Its kind is not offered, now or ever.
    Unknown,
    /// It has a namespace and the object has none, so that no owner can be meant
    /// (upstream's `namespacedOwnerOfClusterScopedObjectErr`).
    Misplaced,
}

/// The resource to look for an owner in, given the namespace of what it owns.
fn place<'a>(
    resource: Option<&'a ApiResource>,
    namespace: Option<&str>,
) -> Result<&'a ApiResource, OwnerFound> {
    match resource {
        None => Err(OwnerFound::Unknown),
        Some(resource) if resource.scope == Scope::Namespaced && namespace.is_none() => {
            Err(OwnerFound::Misplaced)
        }
        Some(resource) => Ok(resource),
    }
}

const WORKERS: usize = 5;
/// After what time an object is looked into again whose owner no watch has told of.
const RECHECK: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    use kubewright_core::StaticResource;

    use super::*;

    #[test]
    fn a_cluster_scoped_object_has_no_namespaced_owner() {
        let (map, namespace) = (ConfigMap::api_resource(), Namespace::api_resource());
        for (owner, dependant, expect) in [
            (Some(&map), Some("default"), Ok(&map)),
            (Some(&map), None, Err(OwnerFound::Misplaced)),
            (Some(&namespace), Some("default"), Ok(&namespace)),
            (Some(&namespace), None, Ok(&namespace)),
            (None, None, Err(OwnerFound::Unknown)),
            (None, Some("default"), Err(OwnerFound::Unknown)),
        ] {
            assert_eq!(
                place(owner, dependant),
                expect,
                "{owner:?} of one in {dependant:?}"
            );
        }
    }
}
