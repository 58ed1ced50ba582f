//! Preparation of pods: the status they start with, and how long their deletion waits.
//!
//! Upstream: `pkg/registry/core/pod/strategy.go`, `pkg/apis/core/helper/qos/qos.go`.

use super::super::value::{at, int_at, list_at, str_at};
use super::Context;
use kubewright_core::{FieldError, Quantity};
use serde_json::{Value, json};

/// A new pod is pending, has its class and, with scheduling gates, the condition that says so.
pub(super) fn prepare(pod: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    if old.is_none() {
        let mut status = json!({"phase": "Pending", "qosClass": qos_class(pod)});
        if !list_at(pod, "/spec/schedulingGates").is_empty() {
            status["conditions"] = json!([{
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "observedGeneration": 1,
                "lastProbeTime": null,
                "lastTransitionTime": null,
            }]);
        }
        if let Some(fields) = pod.as_object_mut() {
            fields.insert("status".to_owned(), status);
        }
    }
    Vec::new()
}

/// Seconds between the request to delete a pod and its end. Pods that no kubelet runs go at once.
pub(super) fn grace_period(pod: &Value, requested: Option<i64>) -> i64 {
    let is_scheduled = !str_at(pod, "/spec/nodeName").is_empty();
    let is_over = matches!(str_at(pod, "/status/phase"), "Failed" | "Succeeded");
    if !is_scheduled || is_over {
        return 0;
    }
    match requested
        .or_else(|| int_at(pod, "/spec/terminationGracePeriodSeconds"))
        .unwrap_or(0)
    {
        negative if negative < 0 => 1,
        seconds => seconds,
    }
}

/// The quality of service class: `Guaranteed` if every container limits cpu and memory to what it requests,
/// `BestEffort` if none says anything of them, else `Burstable`.
pub(super) fn qos_class(pod: &Value) -> &'static str {
    let of_pod = at(pod, "/spec/resources").filter(|resources| positive(resources).next().is_some());
    let resources: Vec<&Value> = match of_pod {
        Some(resources) => vec![resources],
        None => ["/spec/containers", "/spec/initContainers"]
            .into_iter()
            .flat_map(|list| list_at(pod, list))
            .map(|container| &container["resources"])
            .collect(),
    };
    if resources
        .iter()
        .all(|resources| positive(resources).next().is_none())
    {
        return "BestEffort";
    }
    let guaranteed = resources.iter().all(|resources| {
        COMPUTE.iter().all(|name| {
            let limit = quantity(&resources["limits"][name]);
            // A request that is absent became the limit by defaulting.
            let request = quantity(&resources["requests"][name]).or(limit);
            limit.is_some() && limit == request
        })
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}

/// The resources that decide about the class.
const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// Every request and limit of cpu and memory above zero.
fn positive(resources: &Value) -> impl Iterator<Item = Quantity> + '_ {
    ["requests", "limits"].into_iter().flat_map(move |list| {
        COMPUTE
            .iter()
            .filter_map(move |name| quantity(&resources[list][name]))
    })
}

fn quantity(value: &Value) -> Option<Quantity> {
    let parsed: Quantity = match value {
        Value::String(text) => text.parse().ok()?,
        Value::Number(number) => number.to_string().parse().ok()?,
        _ => return None,
    };
    (!parsed.is_zero() && !parsed.is_negative()).then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        #[track_caller]
        fn check(containers: Value, expect: &str) {
            assert_eq!(
                qos_class(&json!({"spec": {"containers": containers}})),
                expect,
                "{containers}"
            );
        }
        let both = |cpu: &str, memory: &str| json!({"cpu": cpu, "memory": memory});
        check(json!([{}]), "BestEffort");
        check(
            json!([{"resources": {"requests": {"example.com/gpu": "1"}}}]),
            "BestEffort",
        );
        check(json!([{"resources": {"requests": {"cpu": "0"}}}]), "BestEffort");
        check(json!([{"resources": {"requests": {"cpu": "1"}}}]), "Burstable");
        check(
            json!([{"resources": {"limits": both("1", "1Gi"), "requests": both("1000m", "1024Mi")}}]),
            "Guaranteed",
        );
        check(
            json!([{"resources": {"limits": both("1", "1Gi"), "requests": both("500m", "1Gi")}}]),
            "Burstable",
        );
        check(
            json!([{"resources": {"limits": both("1", "1Gi")}}, {}]),
            "Burstable",
        );
        check(
            json!([{"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}]),
            "Burstable",
        );
    }

    #[test]
    fn deletion_waits_only_for_pods_that_run() {
        #[track_caller]
        fn check(pod: Value, requested: Option<i64>, expect: i64) {
            assert_eq!(grace_period(&pod, requested), expect, "{pod} {requested:?}");
        }
        let running = json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Running"}});
        check(running.clone(), None, 30);
        check(running.clone(), Some(5), 5);
        check(running.clone(), Some(0), 0);
        check(running, Some(-1), 1);
        check(json!({"spec": {"terminationGracePeriodSeconds": 30}}), None, 0);
        check(
            json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Failed"}}),
            Some(9),
            0,
        );
    }
}
