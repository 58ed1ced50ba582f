//! How many pods to create, and which to delete.

use std::cmp::Ordering;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::pods;

/// What is to be done.
#[derive(Debug, PartialEq)]
pub(super) enum Plan<'a> {
    Nothing,
    Create(usize),
    Delete(Vec<&'a Pod>),
}

/// Most pods that are created or deleted in one go (upstream's `BurstReplicas`).
const BURST: usize = 500;

/// Compares what there is with what is wanted.
pub(super) fn plan<'a>(active: &[&'a Pod], wanted: usize) -> Plan<'a> {
    match active.len().cmp(&wanted) {
        Ordering::Equal => Plan::Nothing,
        Ordering::Less => Plan::Create((wanted - active.len()).min(BURST)),
        Ordering::Greater => {
            let mut victims = active.to_vec();
            victims.sort_by_cached_key(|pod| worth(pod));
            victims.truncate((active.len() - wanted).min(BURST));
            Plan::Delete(victims)
        }
    }
}

/// What a pod is worth, least first (kubernetes `pkg/controller/controller_utils.go`, `ActivePodsWithRanks`): one without a
/// node, pending or not ready goes first; then the cheaper by `controller.kubernetes.io/pod-deletion-cost`, the one that
/// became ready last, has restarted most often, is youngest. The name decides in the end, to be predictable.
fn worth(pod: &Pod) -> impl Ord + use<> {
    let spec = pod.spec.as_ref();
    let is_assigned = spec.is_some_and(|spec| spec.node_name.as_deref().is_some_and(|node| !node.is_empty()));
    let phase = match pods::phase(pod) {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let ready = pods::ready_since(pod);
    let annotations = pod.metadata.annotations.as_ref();
    let cost = annotations
        .and_then(|annotations| annotations.get(DELETION_COST))
        .and_then(|cost| cost.parse::<i32>().ok())
        .unwrap_or(0);
    let restarts = pod
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_deref())
        .and_then(|statuses| statuses.iter().map(|status| status.restart_count).max())
        .unwrap_or(0);
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let age = std::cmp::Reverse(created.unwrap_or(Timestamp::MAX));
    (
        (is_assigned, phase, ready.is_some(), cost),
        std::cmp::Reverse(ready),
        std::cmp::Reverse(restarts),
        age,
        pod.metadata.name.clone(),
    )
}

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, node: &str, phase: &str, ready: Option<&str>, cost: i32, created: &str) -> Pod {
        let conditions =
            ready.map(|at| json!([{"type": "Ready", "status": "True", "lastTransitionTime": at}]));
        serde_json::from_value(json!({
            "metadata": {"name": name, "creationTimestamp": created,
                "annotations": {"controller.kubernetes.io/pod-deletion-cost": cost.to_string()}},
            "spec": {"nodeName": node, "containers": []},
            "status": {"phase": phase, "conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn the_least_useful_pods_go_first() {
        let (old, new) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let order = [
            pod("unassigned", "", "Pending", None, 0, old),
            pod("pending", "n", "Pending", None, 0, old),
            pod("unready", "n", "Running", None, 0, old),
            pod("cheap", "n", "Running", Some(old), -5, old),
            pod("ready-late", "n", "Running", Some(new), 0, old),
            pod("young", "n", "Running", Some(old), 0, new),
            pod("old", "n", "Running", Some(old), 0, old),
        ];
        let shuffled: Vec<&Pod> = [3, 6, 1, 5, 0, 4, 2].map(|i| &order[i]).to_vec();
        for wanted in 0..order.len() {
            let Plan::Delete(victims) = plan(&shuffled, wanted) else {
                panic!("{wanted}")
            };
            let victims: Vec<_> = victims.iter().map(|pod| pod.metadata.name.clone()).collect();
            let expect: Vec<_> = order[..order.len() - wanted]
                .iter()
                .map(|pod| pod.metadata.name.clone())
                .collect();
            assert_eq!(victims, expect, "{wanted}");
        }
        assert_eq!(plan(&shuffled, 7), Plan::Nothing);
        assert_eq!(plan(&shuffled, 9), Plan::Create(2));
        assert_eq!(plan(&[], 9999), Plan::Create(BURST));
    }
}
