//! A scheduler that gives each pod the node with the fewest pods. Of what pods ask for it respects the scheduler's name,
//! scheduling gates and the node selector; of what nodes offer, how many pods they take. Pods that no node takes are looked
//! at again when a node changes or a pod that has one does.

use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_cache::{Cached, Lister};
use kubewright_client::{Api, Error as ClientError, Patch, WriteOptions};
use kubewright_core::{ObjectKey, Quantity, StaticResource, Status};
use kubewright_runtime::{
    Context, Controller, Error, Note, Outcome, Predicate, Reconciler, Request, Right, Verb, WatchOptions,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::identity::SCHEDULER;
use crate::pods;

/// The controller.
pub(super) fn controller() -> Controller {
    Controller::new(SCHEDULER, Scheduler::default())
        .for_with::<Pod>(
            WatchOptions::<Pod>::new()
                .predicate(Predicate::resource_version_changed())
                .index(BY_NODE, |pod| {
                    let pod = pod.object().ok();
                    pod.and_then(|pod| place(&pod).map(str::to_owned))
                        .into_iter()
                        .collect()
                }),
        )
        .watches_related::<Node, Pod>(|_, pods| waiting(pods))
        .watches_related::<Pod, Pod>(|pod, pods| {
            // One without a node leaves no room when it goes.
            let has_node = pod.object().is_ok_and(|pod| node_of(&pod).is_some());
            if has_node { waiting(pods) } else { Vec::new() }
        })
        .right(Right::to_subresource::<Pod>("binding", [Verb::Create]))
        .right(Right::to_subresource::<Pod>("status", [Verb::Patch]))
        .right(Right::to::<Pod>([Verb::Patch]))
}

/// The node that a pod takes a place on, or [`WAITING`]; `None` for one that is over.
fn place(pod: &Pod) -> Option<&str> {
    let is_over = matches!(pods::phase(pod), "Succeeded" | "Failed");
    (!is_over).then(|| node_of(pod).unwrap_or(WAITING))
}

fn node_of(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref();
    node.filter(|node| !node.is_empty())
}

/// The pods without a node.
fn waiting(pods: &Lister<Pod>) -> Vec<ObjectKey> {
    let waiting = pods.by_index(BY_NODE, WAITING).unwrap_or_default();
    waiting.iter().map(|pod| pod.key().clone()).collect()
}

#[derive(Default)]
struct Scheduler {
    assumed: Mutex<Assumed>,
}

/// Pods that were bound and that the cache does not show so yet: the answer to a binding is no pod, so reads do not wait for
/// it. At most as many as are bound while the cache is behind.
#[derive(Debug, Default)]
struct Assumed(Vec<(Cached<Pod>, String)>);

impl Assumed {
    /// Forgets those of which the cache knows more: `now` is what it has under the key.
    fn settle(&mut self, now: impl Fn(&ObjectKey) -> Option<Cached<Pod>>) {
        self.0.retain(|(bound, _)| {
            let now = now(bound.key());
            now.is_some_and(|now| now.uid() == bound.uid() && now.object().is_ok_and(|now| is_waiting(&now)))
        });
    }

    /// How many pods a node has, given those that the cache has on it.
    fn load(&self, node: &str, shown: &[Cached<Pod>]) -> usize {
        let hidden = self
            .0
            .iter()
            .filter(|(bound, on)| on == node && !shown.iter().any(|shown| shown.uid() == bound.uid()));
        shown.len() + hidden.count()
    }
}

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
        self.assumed.lock().settle(|key| lister.stale().get(key));
        let mut best: Option<(usize, String)> = None;
        for node in ctx.lister::<Node>()?.list().await? {
            let shown = lister.by_index(BY_NODE, node.name()).await?;
            let load = self.assumed.lock().load(node.name(), &shown);
            if !accepts(&*node.object()?, &pod, load) {
                continue;
            }
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
            Ok(()) => self.assumed.lock().0.push((cached, node.clone())),
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
    node_of(pod).is_none()
        && pods::is_active(pod)
        && spec.scheduler_name.as_deref().unwrap_or(DEFAULT) == DEFAULT
        && spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty)
}

/// Whether a node with so many pods is ready, open, has room and has the labels that the pod wants.
fn accepts(node: &Node, pod: &Pod, load: usize) -> bool {
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
    is_open && is_ready && matches && i64::try_from(load).is_ok_and(|load| load < room(node))
}

/// How many pods a node takes: what it says is allocatable, and none if it does not say (kubernetes
/// `pkg/scheduler/framework/plugins/noderesources/fit.go`).
fn room(node: &Node) -> i64 {
    let allocatable = node
        .status
        .as_ref()
        .and_then(|status| status.allocatable.as_ref());
    let pods = allocatable.and_then(|allocatable| allocatable.get("pods")?.0.parse().ok());
    pods.map_or(0, |pods: Quantity| pods.to_units_rounded_up())
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

/// Says why a pod has no node. A change of a node or of a pod on one brings it back.
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
    Ok(Outcome::done())
}

const BY_NODE: &str = "spec.nodeName";
const DEFAULT: &str = "default-scheduler";
/// What the index has for pods without a node; no node has this name.
const WAITING: &str = "";
const NO_NODE: &str = "no node is ready, matches and has room";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_take_as_many_pods_as_they_say() {
        let pod = |spec| serde_json::from_value::<Pod>(json!({"spec": spec})).unwrap();
        let (any, picky) = (pod(json!({})), pod(json!({"nodeSelector": {"disk": "ssd"}})));
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let node = |pods: &str| json!({"allocatable": {"pods": pods}, "conditions": ready});
        for (status, unschedulable, pod, load, expect) in [
            (node("2"), false, &any, 0, true),
            (node("2"), false, &any, 1, true),
            (node("2"), false, &any, 2, false),
            (node("1k"), false, &any, 999, true),
            (node("0"), false, &any, 0, false),
            (json!({"conditions": ready}), false, &any, 0, false),
            (json!({"allocatable": {"pods": "2"}}), false, &any, 0, false),
            (node("2"), true, &any, 0, false),
            (node("2"), false, &picky, 0, false),
        ] {
            let node = json!({"status": status, "spec": {"unschedulable": unschedulable}});
            let node: Node = serde_json::from_value(node).unwrap();
            assert_eq!(
                accepts(&node, pod, load),
                expect,
                "{node:?} with {load} for {pod:?}"
            );
        }
    }

    #[test]
    fn bound_pods_count_before_the_cache_shows_them() {
        let pod = |name: &str, uid: &str, node: &str| {
            let pod = json!({
                "metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": "1"},
                "spec": {"nodeName": node, "containers": []},
            });
            Cached::<Pod>::from_json(pod.to_string().as_bytes()).unwrap()
        };
        let bound = |assumed: &mut Assumed| assumed.0.push((pod("a", "1", ""), "x".to_owned()));
        // what the cache has of the pod, the loads of its node and of another, how many stay assumed
        for (now, loads, stay) in [
            (Some(pod("a", "1", "")), (1, 0), 1),
            (Some(pod("a", "1", "x")), (1, 0), 0),
            (Some(pod("a", "2", "")), (0, 0), 0),
            (None, (0, 0), 0),
        ] {
            let mut assumed = Assumed::default();
            bound(&mut assumed);
            assumed.settle(|_| now.clone());
            let shown = |node: &str| {
                let on = |pod: &Cached<Pod>| pod.object().is_ok_and(|pod| node_of(&pod) == Some(node));
                now.clone().into_iter().filter(on).collect::<Vec<_>>()
            };
            let got = (assumed.load("x", &shown("x")), assumed.load("y", &shown("y")));
            assert_eq!((got, assumed.0.len()), (loads, stay), "{now:?}");
        }
        // The cache moves between the two looks: no pod counts twice.
        let mut assumed = Assumed::default();
        bound(&mut assumed);
        assert_eq!(assumed.load("x", &[pod("a", "1", "x")]), 1);
    }

    #[test]
    fn pods_that_are_over_take_no_place() {
        for (node, phase, expect) in [
            (json!("n"), "Running", Some("n")),
            (json!("n"), "Succeeded", None),
            (json!("n"), "Failed", None),
            (json!(null), "Pending", Some(WAITING)),
            (json!(""), "", Some(WAITING)),
        ] {
            let pod = json!({"spec": {"nodeName": node}, "status": {"phase": phase}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            assert_eq!(place(&pod), expect, "{pod:?}");
        }
    }
}
