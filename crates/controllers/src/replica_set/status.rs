//! The status of a replica set (kubernetes `pkg/controller/replicaset/replica_set_utils.go`).

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use crate::pods;
use crate::workload::Workload;

/// Why pods could not be created or deleted.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// The status, and after what time the next pod becomes available.
pub(super) fn status(
    set: &Workload<ReplicaSet>,
    active: &[&Pod],
    terminating: usize,
    failure: Option<&Failure>,
    now: Timestamp,
) -> (Value, Option<Duration>) {
    let min_ready = pods::seconds(set.spec.min_ready_seconds);
    let labels = set.spec.template.metadata.labels.clone().unwrap_or_default();
    let is_labelled = |pod: &&&Pod| {
        let of = pod.metadata.labels.as_ref();
        labels
            .iter()
            .all(|(key, value)| of.and_then(|of| of.get(key)) == Some(value))
    };
    let waits: Vec<Duration> = active
        .iter()
        .filter_map(|pod| pods::available_in(pod, min_ready, now))
        .collect();
    let status = json!({
        "replicas": active.len(),
        "fullyLabeledReplicas": active.iter().filter(is_labelled).count(),
        "readyReplicas": waits.len(),
        "availableReplicas": waits.iter().filter(|wait| wait.is_zero()).count(),
        "terminatingReplicas": terminating,
        "observedGeneration": set.object.metadata.generation,
        "conditions": conditions(set, failure, now),
    });
    (status, waits.into_iter().filter(|wait| !wait.is_zero()).min())
}

/// As JSON, since the types of conditions differ between versions of Kubernetes.
fn conditions(set: &Workload<ReplicaSet>, failure: Option<&Failure>, now: Timestamp) -> Vec<Value> {
    let present = &set.value["status"]["conditions"];
    let mut conditions = present.as_array().cloned().unwrap_or_default();
    let Some(failure) = failure else {
        conditions.retain(|condition| condition["type"] != "ReplicaFailure");
        return conditions;
    };
    if !conditions
        .iter()
        .any(|condition| condition["type"] == "ReplicaFailure")
    {
        conditions.push(json!({
            "type": "ReplicaFailure", "status": "True", "reason": failure.reason, "message": failure.message,
            "lastTransitionTime": Time(now),
        }));
    }
    conditions
}

/// Whether a status says the same as another: what is absent is zero or empty.
pub(crate) fn is_same(present: &Value, wanted: &Value) -> bool {
    let Some(wanted) = wanted.as_object() else {
        return present == wanted;
    };
    wanted.iter().all(|(field, wanted)| {
        let present = &present[field];
        let is_nothing = |value: &Value| {
            value.is_null() || *value == json!(0) || value.as_array().is_some_and(Vec::is_empty)
        };
        present == wanted || is_nothing(present) && is_nothing(wanted)
    })
}

#[cfg(test)]
mod tests {
    use kubewright_cache::Cached;

    use super::*;

    #[test]
    fn statuses_are_the_same_where_nothing_is_left_out() {
        for (present, wanted, expect) in [
            (json!(null), json!({"replicas": 0, "conditions": []}), true),
            (
                json!({"replicas": 1}),
                json!({"replicas": 1, "readyReplicas": 0}),
                true,
            ),
            (json!({"replicas": 1}), json!({"replicas": 2}), false),
            (json!({"readyReplicas": 1}), json!({"readyReplicas": null}), false),
        ] {
            assert_eq!(is_same(&present, &wanted), expect, "{present} {wanted}");
        }
    }

    #[test]
    fn pods_are_counted_by_readiness_and_age() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let pod = |ready: &str, label: &str| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"labels": {"app": label}},
                "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]},
            }))
            .unwrap()
        };
        let set = json!({
            "metadata": {"name": "s", "resourceVersion": "1", "generation": 4},
            "spec": {"minReadySeconds": 20, "selector": {}, "template": {"metadata": {"labels": {"app": "a"}}}},
        });
        let set = Workload::of(&Cached::from_json(set.to_string().as_bytes()).unwrap()).unwrap();
        let all = [
            pod("2026-01-01T00:00:00Z", "a"),
            pod("2026-01-01T00:00:55Z", "b"),
            Pod::default(),
        ];
        let (status, again) = status(&set, &all.iter().collect::<Vec<_>>(), 2, None, now);
        let expect = json!({
            "replicas": 3, "fullyLabeledReplicas": 1, "readyReplicas": 2, "availableReplicas": 1,
            "terminatingReplicas": 2, "observedGeneration": 4, "conditions": [],
        });
        assert_eq!(status, expect);
        assert_eq!(again, Some(Duration::from_secs(15)));
    }
}
