//! A scheduler that gives each pod the node with the fewest pods. Of what pods ask for it respects the scheduler's name,
//! scheduling gates and the node selector.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_client::{Api, Error as ClientError, Patch, WriteOptions};
use kubewright_core::{StaticResource, Status};
use kubewright_runtime::{
    Context, Controller, Error, Note, Outcome, Predicate, Reconciler, Request, Right, Verb, WatchOptions,
};
use serde_json::json;

use crate::identity::SCHEDULER;
use crate::pods;

/// The controller.
pub(super) fn controller() -> Controller {
    Controller::new(SCHEDULER, Scheduler)
        .for_with::<Pod>(
            WatchOptions::<Pod>::new()
                .predicate(Predicate::resource_version_changed())
                .index(BY_NODE, |pod| {
                    let pod = pod.object().ok();
                    let node = pod.and_then(|pod| pod.spec.as_ref()?.node_name.clone());
                    node.into_iter().collect()
                }),
        )
        .reads::<Node>()
        .right(Right::to_subresource::<Pod>("binding", [Verb::Create]))
        .right(Right::to_subresource::<Pod>("status", [Verb::Patch]))
        .right(Right::to::<Pod>([Verb::Patch]))
}

struct Scheduler;

impl Reconciler for Scheduler {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        let lister = ctx.lister::<Pod>()?;
        let Some(cached) = lister.get(&request.key).await? else {
            return Ok(Outcome::done());
        };
        let pod = cached.object()?;
        if !is_waiting(&pod) {
            return Ok(Outcome::done());
        }
        let mut best: Option<(usize, String)> = None;
        for node in ctx.lister::<Node>()?.list().await? {
            if !accepts(&*node.object()?, &pod) {
                continue;
            }
            let load = lister.by_index(BY_NODE, node.name()).await?.len();
            let candidate = (load, node.name().to_owned());
            best = Some(match best {
                Some(best) => best.min(candidate),
                None => candidate,
            });
        }
        let api = ctx.api::<Pod>(request.namespace());
        let Some((_, node)) = best else {
            return unschedulable(ctx, &api, &pod).await;
        };
        match bind(&api, &pod, &node).await {
            Ok(()) => {}
            Err(error) if error.is_not_found() || error.is_conflict() => return Ok(Outcome::done()),
            Err(error) => return Err(error.into()),
        }
        let name = request.name();
        let text = format!("Successfully assigned {} to {node}", request.key);
        ctx.events()
            .publish(&*pod, Note::normal("Scheduled", "Binding", text));
        tracing::debug!(pod = name, node, "scheduled");
        Ok(Outcome::done())
    }
}

fn is_waiting(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    spec.node_name.as_deref().unwrap_or_default().is_empty()
        && pods::is_active(pod)
        && spec.scheduler_name.as_deref().unwrap_or(DEFAULT) == DEFAULT
        && spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty)
}

/// Whether a node is ready, open and has the labels that the pod wants.
fn accepts(node: &Node, pod: &Pod) -> bool {
    let is_open = node
        .spec
        .as_ref()
        .is_none_or(|spec| spec.unschedulable != Some(true));
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let is_ready = conditions
        .unwrap_or_default()
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let labels = node.metadata.labels.as_ref();
    let selector = pod.spec.as_ref().and_then(|spec| spec.node_selector.as_ref());
    let matches = selector
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value));
    is_open && is_ready && matches
}

/// Binds a pod to a node; by its spec where the server has no bindings.
async fn bind(api: &Api<Pod>, pod: &Pod, node: &str) -> Result<(), ClientError> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": pod.metadata.namespace, "uid": pod.metadata.uid},
        "target": {"apiVersion": Node::VERSION, "kind": Node::KIND, "name": node},
    });
    let bound: Result<Status, _> = api
        .create_subresource(name, "binding", &binding, &WriteOptions::default())
        .await;
    match bound {
        Ok(_) => Ok(()),
        Err(error) if error.is_method_not_supported() || error.is_not_found() => {
            let patch =
                Patch::Merge(json!({"metadata": {"uid": pod.metadata.uid}, "spec": {"nodeName": node}}));
            api.patch(name, &patch, &WriteOptions::default()).await.map(drop)
        }
        Err(error) => Err(error),
    }
}

/// Says why a pod has no node, and looks again later.
async fn unschedulable(ctx: &Context, api: &Api<Pod>, pod: &Pod) -> Result<Outcome, Error> {
    if pods::condition(pod, "PodScheduled").is_none() {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_NODE,
            "lastTransitionTime": k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::now()),
        });
        let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        match api.patch_status(name, &patch, &WriteOptions::default()).await {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
        ctx.events()
            .publish(pod, Note::warning("FailedScheduling", "Scheduling", NO_NODE));
    }
    Ok(Outcome::requeue_after(AGAIN))
}

const BY_NODE: &str = "spec.nodeName";
const DEFAULT: &str = "default-scheduler";
const NO_NODE: &str = "no node is ready and matches";
const AGAIN: Duration = Duration::from_secs(1);
