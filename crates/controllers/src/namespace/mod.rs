//! The end of namespaces (kubernetes `pkg/controller/namespace/deletion/namespaced_resources_deleter.go`).
//!
//! A namespace that is being deleted is emptied: every resource that discovery knows is deleted as a collection, pods
//! before all else (KEP-5080). What has finalizers or a grace period stays for a while; then the conditions say what
//! is left, and everything is looked at again, the more seldom the longer it takes. No worker waits for one namespace while
//! another could be emptied. When nothing is left, the finalizer in the spec goes.

mod conditions;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kubewright_client::discovery::{DiscoveredResource, Discovery};
use kubewright_client::{
    Api, Client, DeleteOptions, DynamicApi, Error as ClientError, ListOptions, PropagationPolicy,
    WriteOptions,
};
use kubewright_core::{ObjectMeta, Scope};
use kubewright_runtime::{
    Context, Controller, Error, Outcome, Predicate, Reconciler, Request, Right, Verb, WatchOptions,
};

use crate::update::{Part, set_status, update};
use conditions::{Findings, Left};

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::new("namespace-controller", Namespaces)
        // Its own writes of conditions are no news to it.
        .for_with::<Namespace>(
            WatchOptions::<Namespace>::new().predicate(Predicate::metadata_changed(|metadata| {
                metadata.deletion_timestamp.clone()
            })),
        )
        .concurrency(10)
        .right(Right::to_resource("", "namespaces/finalize", [Verb::Update]))
        .right(Right::to_resource("", "namespaces/status", [Verb::Update]))
        .right(Right::to_resource(
            "*",
            "*",
            [Verb::List, Verb::Delete, Verb::DeleteCollection],
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
        let findings = empty(ctx.client(), request.name()).await?;
        report(ctx.client(), &namespace, &findings).await?;
        if findings.is_clean() {
            finalize(ctx.client(), &namespace).await?;
            return Ok(Outcome::done());
        }
        let since = namespace.metadata.deletion_timestamp.as_ref().map(|time| time.0);
        let delay = next_look(since.unwrap_or_default(), jiff::Timestamp::now());
        Ok(Outcome::requeue_after(delay))
    }
}

/// When a namespace that has been ending since then is looked at again: soon at first, for most are empty within a moment.
fn next_look(since: jiff::Timestamp, now: jiff::Timestamp) -> Duration {
    let elapsed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    (elapsed / PATIENCE).clamp(SOONEST, LATEST)
}

/// Deletes everything in a namespace.
async fn empty(client: &Client, namespace: &str) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let (discovery, failures) = client.discover().await?.into_parts();
    findings.discovery(&discovery, &failures);
    let (pods, others): (Vec<_>, Vec<_>) = resources(&discovery).partition(|found| {
        found.resource.group.is_empty()
            && found.resource.plural == <Pod as k8s_openapi::Resource>::URL_PATH_SEGMENT
    });
    for phase in [pods, others] {
        for found in phase {
            match empty_resource(client, namespace, found).await {
                Ok(None) => {}
                Ok(Some(left)) => findings.left.push(left),
                // The kind went while its objects were being deleted, and they with it.
                Err(error) if error.is_not_found() => {}
                Err(error) => findings.failed(&found.resource, &error),
            }
        }
        if !findings.left.is_empty() {
            break;
        }
    }
    Ok(findings)
}

/// What can be emptied: namespaced resources with the verbs for it.
fn resources(discovery: &Discovery) -> impl Iterator<Item = &DiscoveredResource> {
    discovery.preferred_resources().filter(|found| {
        found.resource.scope == Scope::Namespaced
            && found.supports("list")
            && (found.supports("deletecollection") || found.supports("delete"))
    })
}

/// Deletes all objects of a resource; what is left of them afterwards. What is being deleted already is not deleted again.
async fn empty_resource(
    client: &Client,
    namespace: &str,
    found: &DiscoveredResource,
) -> Result<Option<Left>, ClientError> {
    let api = DynamicApi::dynamic_namespaced(client, &found.resource, namespace);
    let metadata = api.metadata_only();
    let options = DeleteOptions {
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteOptions::default()
    };
    let mut left = metadata.list(&ListOptions::default()).await?.items;
    if left.iter().any(|object| is_standing(&object.metadata)) {
        if found.supports("deletecollection") {
            api.delete_collection(&options, &ListOptions::default()).await?;
        } else {
            left.retain(|object| is_standing(&object.metadata));
            for object in &left {
                let name = object.metadata.name.as_deref().unwrap_or_default();
                match api.delete(name, &options).await {
                    Err(error) if !error.is_not_found() => return Err(error),
                    _ => {}
                }
            }
        }
        left = metadata.list(&ListOptions::default()).await?.items;
    }
    Ok(if left.is_empty() {
        None
    } else {
        Some(Left::new(
            &found.resource,
            left.iter().map(|object| &object.metadata),
        ))
    })
}

fn is_standing(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_none()
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
    let known = serde_json::to_value(namespace)?;
    let fields = serde_json::json!({"conditions": conditions});
    let change = |namespace: &mut serde_json::Value| set_status(namespace, &fields);
    update::<Namespace>(client, &known, Part::Status, change).await
}

/// Takes the finalizer out of the spec, after which the server lets go of the namespace.
async fn finalize(client: &Client, namespace: &Namespace) -> Result<(), Error> {
    let api = Api::<Namespace>::cluster(client);
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
/// The share of the time it has taken so far after which a namespace is looked at again: an eighth.
const PATIENCE: u32 = 8;
const SOONEST: Duration = Duration::from_millis(50);
const LATEST: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn looks_become_rarer_and_never_stop() {
        let since = Timestamp::from_second(1000).unwrap();
        for (elapsed, expect) in [
            (-5_000, 50),
            (0, 50),
            (400, 50),
            (800, 100),
            (8_000, 1000),
            (1_000_000, 5000),
        ] {
            let now = since + jiff::SignedDuration::from_millis(elapsed);
            assert_eq!(next_look(since, now), Duration::from_millis(expect), "{elapsed}");
        }
    }
}
