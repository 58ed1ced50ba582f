//! Preparation of pods: the status they start with, and how long their deletion waits.
//!
//! Upstream: `pkg/registry/core/pod/strategy.go`, `pkg/apis/core/helper/qos/qos.go`.

use super::super::value::{at, int_at, list_at, str_at};
use super::Context;
use kubewright_core::{FieldError, Quantity};
use serde_json::{Value, json};

/// A new pod is pending, has its class and, with scheduling gates, the condition that says so.
pub(super) fn prepare(pod: &mut Value, old: Option<&Value>, context: &mut Context<'_>) -> Vec<FieldError> {
    if old.is_none() {
        let mut status = json!({"phase": "Pending", "qosClass": qos_class(pod)});
        if !list_at(pod, "/spec/schedulingGates").is_empty() {
            status["conditions"] = json!([{
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": null,
                "lastTransitionTime": context.now,
            }]);
        }
        if let Some(fields) = pod.as_object_mut() {
            fields.insert("status".to_owned(), status);
        }
        merge_label_keys(pod);
    }
    Vec::new()
}

/// The terms whose selectors may name keys of the pod's own labels (KEP-3243, KEP-3633): the list, and where in an item
/// the term is.
const LABEL_KEY_TERMS: &[(&str, &str)] = &[
    ("/spec/topologySpreadConstraints", ""),
    (
        "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution",
        "",
    ),
    (
        "/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution",
        "/podAffinityTerm",
    ),
    (
        "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution",
        "",
    ),
    (
        "/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution",
        "/podAffinityTerm",
    ),
];

/// Replaces keys by expressions about the values that this pod has, so that schedulers need not look at it again.
fn merge_label_keys(pod: &mut Value) {
    let labels = pod.pointer("/metadata/labels").cloned().unwrap_or_default();
    for (list, inner) in LABEL_KEY_TERMS {
        let items = pod.pointer_mut(list).and_then(Value::as_array_mut);
        for term in items
            .into_iter()
            .flatten()
            .filter_map(|item| item.pointer_mut(inner))
        {
            let mut expressions = Vec::new();
            for (keys, operator) in [("/matchLabelKeys", "In"), ("/mismatchLabelKeys", "NotIn")] {
                for key in list_at(term, keys).iter().filter_map(Value::as_str) {
                    if let Some(value) = labels.get(key) {
                        expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
                    }
                }
            }
            // Without a selector the term matches nothing, and stays so.
            let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut) else {
                continue;
            };
            if !expressions.is_empty() {
                let list = selector.entry("matchExpressions").or_insert_with(|| json!([]));
                if let Some(list) = list.as_array_mut() {
                    list.extend(expressions);
                }
            }
        }
    }
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
pub(crate) fn qos_class(pod: &Value) -> &'static str {
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
