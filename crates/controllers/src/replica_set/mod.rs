//! Replica sets: as many pods as they ask for (kubernetes `pkg/controller/replicaset/replica_set.go`).
//!
//! Pods that match the selector and have no controller are adopted, those that no longer match are released. The
//! expectations that upstream keeps against stale caches are not needed: reads see the controller's own writes.

mod plan;
mod status;

pub(crate) use status::is_same;

use std::sync::Arc;

use futures_util::future::join_all;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kubewright_cache::{Cached, Lister};
use kubewright_client::{
    DeleteOptions, DynamicApi, Error as ClientError, Patch, Preconditions, WriteOptions,
};
use kubewright_core::{
    DynamicObject, LabelSelector, ObjectKey, ObjectMeta, StaticResource, TypeMeta, owner_reference,
};
use kubewright_runtime::{Context, Controller, Error, Note, Outcome, Reconciler, Request, Right, Verb};
use serde_json::{Value, json};

use crate::adoption::{self, Adopter};
use crate::pods;
use crate::update::{Part, set_status, update};
use crate::workload::Workload;

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::new("replicaset-controller", ReplicaSets)
        .for_::<ReplicaSet>()
        .owns::<Pod>()
        .watches_related::<Pod, ReplicaSet>(adopters)
        .concurrency(5)
        .right(Right::to::<Pod>([Verb::Create, Verb::Patch, Verb::Delete]))
        .right(Right::to_subresource::<ReplicaSet>("status", [Verb::Update]))
}

/// The sets that might adopt a pod without a controller.
fn adopters(pod: &Cached<Pod>, sets: &Lister<ReplicaSet>) -> Vec<ObjectKey> {
    let metadata = pod.metadata();
    if adoption::controller(&metadata).is_some() {
        return Vec::new();
    }
    let labels = metadata.labels.as_ref();
    let mut sets = sets.list_namespace(pod.namespace().unwrap_or_default());
    sets.retain(|set| {
        let selector = Workload::of(set)
            .ok()
            .and_then(|set| LabelSelector::from_spec(&set.spec.selector).ok());
        selector.is_some_and(|selector| {
            selector.matches(|key| labels.and_then(|labels| labels.get(key)).map(String::as_str))
        })
    });
    sets.iter().map(|set| set.key().clone()).collect()
}

struct ReplicaSets;

impl Reconciler for ReplicaSets {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        let Some(cached) = ctx.lister::<ReplicaSet>()?.get(&request.key).await? else {
            return Ok(Outcome::done());
        };
        let workload = Workload::of(&cached)?;
        let set = Arc::clone(&workload.object);
        let selector = LabelSelector::from_spec(&workload.spec.selector).map_err(Error::terminal)?;
        let all = claim(ctx, &set, &selector).await?;
        let active: Vec<&Pod> = all.iter().filter(|pod| pods::is_active(pod)).collect();
        let terminating = all.iter().filter(|pod| pods::is_terminating(pod)).count();
        let wanted = usize::try_from(workload.spec.replicas.unwrap_or(1)).unwrap_or(0);

        let mut failure = None;
        if set.metadata.deletion_timestamp.is_none() {
            failure = match plan::plan(&active, wanted) {
                plan::Plan::Nothing => None,
                plan::Plan::Create(count) => create(ctx, &workload, count).await?,
                plan::Plan::Delete(victims) => delete(ctx, &set, &victims).await?,
            };
        }
        let now = jiff::Timestamp::now();
        let (status, again) = status::status(&workload, &active, terminating, failure.as_ref(), now);
        write_status(ctx, &workload, &status).await?;
        if let Some(failure) = failure {
            return Err(Error::new(failure.message));
        }
        Ok(again.map_or(Outcome::done(), Outcome::requeue_after))
    }
}

/// The pods that belong to the set, after adopting and releasing. Only those that concern the set are decoded: a pod that
/// cannot be is no other set's trouble.
async fn claim(ctx: &Context, set: &ReplicaSet, selector: &LabelSelector) -> Result<Vec<Pod>, Error> {
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let api = ctx.api::<Pod>(namespace);
    let mut adopter = Adopter::new(set, ctx.api::<ReplicaSet>(namespace));
    let is_ending = set.metadata.deletion_timestamp.is_some();
    let mut claimed = Vec::new();
    for cached in ctx.lister::<Pod>()?.list_namespace(namespace).await? {
        match claim_of(&cached.metadata(), set, selector) {
            Claim::Ours => claimed.push((*cached.object()?).clone()),
            Claim::NoLongerOurs if !is_ending => release(&api, &*cached.object()?, set).await?,
            Claim::Free if !is_ending => {
                let pod = cached.object()?;
                if pods::is_active(&pod) {
                    adopter.check().await?;
                    claimed.extend(adopt(&api, &pod, set).await?);
                }
            }
            Claim::NoLongerOurs | Claim::Free | Claim::Foreign => {}
        }
    }
    Ok(claimed)
}

/// What a pod is to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// Controlled by the set, and selected.
    Ours,
    /// Controlled by the set, but not selected any more.
    NoLongerOurs,
    /// Selected, and without a controller.
    Free,
    /// None of the set's business.
    Foreign,
}

fn claim_of(pod: &ObjectMeta, set: &ReplicaSet, selector: &LabelSelector) -> Claim {
    let labels = pod.labels.as_ref();
    let matches = selector.matches(|key| labels.and_then(|labels| labels.get(key)).map(String::as_str));
    match (adoption::is_owned(pod, set), matches) {
        (true, true) => Claim::Ours,
        (true, false) => Claim::NoLongerOurs,
        (false, true) if adoption::controller(pod).is_none() => Claim::Free,
        (false, _) => Claim::Foreign,
    }
}

/// Makes the set the pod's controller. The uid guards against another pod of the name.
async fn adopt(api: &kubewright_client::Api<Pod>, pod: &Pod, set: &ReplicaSet) -> Result<Option<Pod>, Error> {
    let mut owners = pod.metadata.owner_references.clone().unwrap_or_default();
    owners.extend(owner_reference(set));
    let patch = Patch::Merge(json!({"metadata": {
        "uid": pod.metadata.uid,
        "resourceVersion": pod.metadata.resource_version,
        "ownerReferences": owners,
    }}));
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    match api.patch(name, &patch, &WriteOptions::default()).await {
        Ok(pod) => Ok(Some(pod)),
        Err(error) if error.is_not_found() || error.is_invalid() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Takes the set out of the pod's owners.
async fn release(api: &kubewright_client::Api<Pod>, pod: &Pod, set: &ReplicaSet) -> Result<(), Error> {
    let mut owners = pod.metadata.owner_references.clone().unwrap_or_default();
    owners.retain(|owner| set.metadata.uid.as_ref() != Some(&owner.uid));
    let patch = Patch::Merge(json!({"metadata": {
        "uid": pod.metadata.uid,
        "resourceVersion": pod.metadata.resource_version,
        "ownerReferences": owners,
    }}));
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    match api.patch(name, &patch, &WriteOptions::default()).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Creates pods in batches that double while all goes well, so that a quota is not met a thousand times.
async fn create(
    ctx: &Context,
    workload: &Workload<ReplicaSet>,
    count: usize,
) -> Result<Option<status::Failure>, Error> {
    let set = &*workload.object;
    let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
    let resource = Pod::api_resource();
    let api = DynamicApi::dynamic_namespaced(ctx.client(), &resource, namespace);
    let pod = pod(workload);
    let (mut left, mut batch) = (count, 1);
    while left > 0 {
        let size = batch.min(left);
        let options = WriteOptions::default();
        let results = join_all((0..size).map(|_| api.create(&pod, &options))).await;
        for result in results {
            match result {
                Ok(created) => ctx.events().publish(
                    set,
                    Note::normal(
                        "SuccessfulCreate",
                        "Create",
                        format!("Created pod: {}", created.metadata.name.unwrap_or_default()),
                    ),
                ),
                // The namespace is going, and this set with it: nothing to be reported or tried again.
                Err(error) if error.is_namespace_terminating() => return Ok(None),
                Err(error) => return Ok(Some(failed(ctx, set, "FailedCreate", "Error creating", &error))),
            }
        }
        left -= size;
        batch *= 2;
    }
    Ok(None)
}

async fn delete(ctx: &Context, set: &ReplicaSet, victims: &[&Pod]) -> Result<Option<status::Failure>, Error> {
    let api = ctx.api::<Pod>(set.metadata.namespace.as_deref().unwrap_or_default());
    let results = join_all(victims.iter().map(|pod| async {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let options = DeleteOptions {
            preconditions: Some(Preconditions {
                uid: pod.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteOptions::default()
        };
        let deleted = api.delete(&name, &options).await;
        (name, deleted)
    }));
    for (name, result) in results.await {
        match result {
            Ok(_) => ctx.events().publish(
                set,
                Note::normal("SuccessfulDelete", "Delete", format!("Deleted pod: {name}")),
            ),
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Ok(Some(failed(ctx, set, "FailedDelete", "Error deleting", &error))),
        }
    }
    Ok(None)
}

fn failed(
    ctx: &Context,
    set: &ReplicaSet,
    reason: &'static str,
    what: &str,
    error: &ClientError,
) -> status::Failure {
    let message = Error::new(error.to_string()).to_string();
    let message = match error.status() {
        Some(status) => status.message.clone(),
        None => message,
    };
    ctx.events().publish(
        set,
        Note::warning(reason, "Reconcile", format!("{what}: {message}")),
    );
    status::Failure { reason, message }
}

/// A pod after the set's template, taken from the bytes so that fields newer than this program's types are kept.
fn pod(workload: &Workload<ReplicaSet>) -> DynamicObject {
    let set = &workload.object;
    let template = &workload.value["spec"]["template"];
    let from = workload.spec.template.metadata.clone();
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let metadata = ObjectMeta {
        generate_name: Some(format!("{name}-")),
        namespace: set.metadata.namespace.clone(),
        labels: from.labels,
        annotations: from.annotations,
        finalizers: from.finalizers,
        owner_references: owner_reference(&**set).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    let resource = Pod::api_resource();
    DynamicObject {
        types: TypeMeta {
            api_version: resource.api_version(),
            kind: resource.kind,
        },
        metadata,
        data: serde_json::Map::from_iter([("spec".to_owned(), template["spec"].clone())]),
    }
}

async fn write_status(ctx: &Context, workload: &Workload<ReplicaSet>, status: &Value) -> Result<(), Error> {
    if status::is_same(&workload.value["status"], status) {
        return Ok(());
    }
    let change = |set: &mut Value| set_status(set, status);
    update::<ReplicaSet>(ctx.client(), &workload.value, Part::Status, change).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_claimed_by_their_metadata_alone() {
        let set = ReplicaSet {
            metadata: ObjectMeta {
                uid: Some("set".to_owned()),
                ..ObjectMeta::default()
            },
            ..ReplicaSet::default()
        };
        let selector = serde_json::from_value(json!({"matchLabels": {"app": "a"}})).unwrap();
        let selector = LabelSelector::from_spec(&selector).unwrap();
        for (owners, label, expect) in [
            (json!([owner("set", true)]), "a", Claim::Ours),
            (json!([owner("set", true)]), "b", Claim::NoLongerOurs),
            (json!([]), "a", Claim::Free),
            (json!([owner("set", false), owner("x", false)]), "a", Claim::Free),
            (json!([owner("x", true)]), "a", Claim::Foreign),
            (json!([]), "b", Claim::Foreign),
        ] {
            // No pod at all, but for its metadata.
            let pod = json!({
                "metadata": {"name": "p", "resourceVersion": "1", "labels": {"app": label}, "ownerReferences": owners},
                "spec": "nothing that could be decoded",
            });
            let pod = Cached::<Pod>::from_json(pod.to_string().as_bytes()).unwrap();
            assert!(pod.object().is_err());
            assert_eq!(
                claim_of(&pod.metadata(), &set, &selector),
                expect,
                "{owners} {label}"
            );
        }
    }

    fn owner(uid: &str, is_controller: bool) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": uid, "uid": uid, "controller": is_controller})
    }
}
