//! The end of namespaces (kubernetes `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).
//!
//! A namespace that is being deleted is emptied: every resource that discovery knows is deleted as a collection, pods
//! before all else (KEP-5080). What has finalizers or a grace period stays for a while; then the conditions say what
//! is left, and the first deletion among it wakes the controller. When nothing is left, the finalizer in the spec goes.

mod conditions;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kubewright_client::discovery::{DiscoveredResource, Discovery};
use kubewright_client::{
    Api, Client, DeleteOptions, DynamicApi, Error as ClientError, ListOptions, Patch, PropagationPolicy,
    WatchEvent, WriteOptions,
};
use kubewright_core::{DynamicObject, PartialObject, Scope};
use kubewright_runtime::{Context, Controller, Error, Outcome, Reconciler, Request, Right, Verb};

use conditions::{Findings, Left};

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::new("namespace-controller", Namespaces)
        .for_::<Namespace>()
        .concurrency(10)
        .right(Right::to_resource("", "namespaces/finalize", [Verb::Update]))
        .right(Right::to_resource("", "namespaces/status", [Verb::Patch]))
        .right(Right::to_resource(
            "*",
            "*",
            [Verb::List, Verb::Watch, Verb::DeleteCollection],
        ))
}

struct Namespaces;

impl Reconciler for Namespaces {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        let Some(cached) = ctx.lister::<Namespace>()?.get(&request.key).await? else {
            return Ok(Outcome::done());
        };
        let namespace = cached.object()?;
        let finalizers = namespace
            .spec
            .as_ref()
            .and_then(|spec| spec.finalizers.as_deref());
        let is_ending = namespace.metadata.deletion_timestamp.is_some();
        if !is_ending || !finalizers.is_some_and(|finalizers| finalizers.iter().any(|f| f == FINALIZER)) {
            return Ok(Outcome::done());
        }
        let (findings, watch) = empty(ctx.client(), request.name()).await?;
        report(ctx.client(), &namespace, &findings).await?;
        if findings.is_clean() {
            finalize(ctx.client(), &namespace).await?;
            return Ok(Outcome::done());
        }
        if let Some((api, version)) = watch {
            wait_for_deletion(&api, version).await?;
        }
        // What a watch cannot tell (another kind, a failure) is looked at again soon.
        let delay = if findings.has_failed() { RETRY } else { AGAIN };
        Ok(Outcome::requeue_after(delay))
    }
}

type Metadata = Api<PartialObject<DynamicObject>>;

/// Deletes everything in a namespace. Also returns a resource that still has something, with the version it was listed at.
async fn empty(client: &Client, namespace: &str) -> Result<(Findings, Option<(Metadata, String)>), Error> {
    let mut findings = Findings::default();
    let mut watch = None;
    let discovery = client.discover().await?;
    findings.discovery(&discovery);
    let (pods, others): (Vec<_>, Vec<_>) = resources(&discovery).partition(|found| {
        found.resource.group.is_empty()
            && found.resource.plural == <Pod as k8s_openapi::Resource>::URL_PATH_SEGMENT
    });
    for phase in [pods, others] {
        for found in phase {
            match empty_resource(client, namespace, found).await {
                Ok(None) => {}
                Ok(Some((left, from))) => {
                    findings.left.push(left);
                    watch.get_or_insert(from);
                }
                // The kind went while its objects were being deleted, and they with it.
                Err(error) if error.is_not_found() => {}
                Err(error) => findings.failed(&found.resource, &error),
            }
        }
        if !findings.left.is_empty() {
            break;
        }
    }
    Ok((findings, watch))
}

/// What can be emptied: namespaced resources with the verbs for it.
fn resources(discovery: &Discovery) -> impl Iterator<Item = &DiscoveredResource> {
    discovery.preferred_resources().filter(|found| {
        found.resource.scope == Scope::Namespaced
            && found.supports("list")
            && (found.supports("deletecollection") || found.supports("delete"))
    })
}

/// Deletes all objects of a resource; what is left of them afterwards.
async fn empty_resource(
    client: &Client,
    namespace: &str,
    found: &DiscoveredResource,
) -> Result<Option<(Left, (Metadata, String))>, ClientError> {
    let api = DynamicApi::dynamic_namespaced(client, &found.resource, namespace);
    let metadata = api.metadata_only();
    let options = DeleteOptions {
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteOptions::default()
    };
    let before = metadata.list(&ListOptions::default()).await?;
    if before.items.is_empty() {
        return Ok(None);
    }
    if found.supports("deletecollection") {
        api.delete_collection(&options, &ListOptions::default()).await?;
    } else {
        for object in &before.items {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            match api.delete(name, &options).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
    }
    let after = metadata.list(&ListOptions::default()).await?;
    if after.items.is_empty() {
        return Ok(None);
    }
    let left = Left::new(&found.resource, after.items.iter().map(|object| &object.metadata));
    Ok(Some((left, (metadata, after.metadata.resource_version))))
}

/// Waits until one of the objects is gone, for a while at most.
async fn wait_for_deletion(api: &Metadata, version: String) -> Result<(), Error> {
    let options = ListOptions {
        resource_version: version,
        timeout_seconds: Some(WAIT.as_secs()),
        ..ListOptions::default()
    };
    let wait = async {
        let mut watch = api.watch(&options).await?;
        while let Some(event) = watch.next().await {
            if matches!(event?, WatchEvent::Deleted(_)) {
                break;
            }
        }
        Ok::<_, ClientError>(())
    };
    match tokio::time::timeout(WAIT, wait).await {
        Ok(Err(error)) if !error.is_expired() && !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes what was found into the conditions, if they say something else.
async fn report(client: &Client, namespace: &Namespace, findings: &Findings) -> Result<(), Error> {
    let now = jiff::Timestamp::now();
    let status = namespace.status.as_ref();
    let present = status
        .and_then(|status| status.conditions.clone())
        .unwrap_or_default();
    let Some(conditions) = findings.conditions(&present, now) else {
        return Ok(());
    };
    let patch = Patch::Merge(serde_json::json!({"status": {"conditions": conditions}}));
    let name = namespace.metadata.name.as_deref().unwrap_or_default();
    let patched = Api::<Namespace>::all(client)
        .patch_status(name, &patch, &WriteOptions::default())
        .await;
    match patched {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Takes the finalizer out of the spec, after which the server lets go of the namespace.
async fn finalize(client: &Client, namespace: &Namespace) -> Result<(), Error> {
    let api = Api::<Namespace>::all(client);
    let name = namespace.metadata.name.as_deref().unwrap_or_default();
    // The conditions may just have been written: another version than the cached one.
    let Some(mut namespace) = api.get_opt(name).await? else {
        return Ok(());
    };
    if let Some(finalizers) = namespace.spec.as_mut().and_then(|spec| spec.finalizers.as_mut()) {
        finalizers.retain(|finalizer| finalizer != FINALIZER);
    }
    let finalized: Result<Namespace, _> = api
        .replace_subresource(name, "finalize", &namespace, &WriteOptions::default())
        .await;
    match finalized {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

const FINALIZER: &str = "kubernetes";
/// How long a deletion is waited for before everything is looked at again.
const WAIT: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(1);
const RETRY: Duration = Duration::from_secs(1);
