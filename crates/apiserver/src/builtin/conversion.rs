//! Conversion between versions of a built-in kind, for the few that are served in two shapes.
//!
//! Upstream: `pkg/apis/events/v1/conversion.go` and `pkg/apis/autoscaling/v1/conversion.go`. Kinds not named here have the same
//! fields in every version that is served.

use super::value::Object;
use serde_json::{Value, json};

/// Rewrites an object of `apiVersion` `from` into the shape it has in `to`. Setting `apiVersion` is the caller's part.
pub(crate) fn convert(object: &mut Value, from: &str, to: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match (
        fields.get("kind").and_then(Value::as_str).unwrap_or_default(),
        from,
        to,
    ) {
        ("Event", "v1", "events.k8s.io/v1") => rename(fields, EVENT_FIELDS),
        ("Event", "events.k8s.io/v1", "v1") => {
            rename(fields, &EVENT_FIELDS.map(|(core, events)| (events, core)))
        }
        ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1") => autoscaler_to_v1(fields),
        ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") => autoscaler_to_v2(fields),
        _ => {}
    }
}

/// Fields of an Event: the name in the core group and the name in `events.k8s.io`.
const EVENT_FIELDS: &[(&str, &str); 7] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn rename(fields: &mut Object, names: &[(&str, &str)]) {
    for (old, new) in names {
        if let Some(value) = fields.remove(*old) {
            fields.insert((*new).to_owned(), value);
        }
    }
}

/// The first version knows CPU utilization alone; everything else travels in annotations as JSON.
fn autoscaler_to_v1(fields: &mut Object) {
    let mut annotations = Object::new();
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(Value::Array(mut metrics)) = spec.remove("metrics") {
            if let Some(at) = metrics.iter().position(|metric| {
                metric.pointer("/resource/target/averageUtilization").is_some() && is_cpu(metric)
            }) {
                let metric = metrics.remove(at);
                let utilization = &metric["resource"]["target"]["averageUtilization"];
                spec.insert("targetCPUUtilizationPercentage".into(), utilization.clone());
            }
            keep(&mut annotations, METRICS, Value::Array(metrics));
        }
        if let Some(behavior) = spec.remove("behavior") {
            keep(&mut annotations, BEHAVIOR, behavior);
        }
    }
    if let Some(status) = fields.get_mut("status").and_then(Value::as_object_mut) {
        if let Some(Value::Array(metrics)) = status.remove("currentMetrics") {
            if let Some(cpu) = metrics.iter().find(|metric| is_cpu(metric)) {
                let utilization = &cpu["resource"]["current"]["averageUtilization"];
                if !utilization.is_null() {
                    status.insert("currentCPUUtilizationPercentage".into(), utilization.clone());
                }
            }
            keep(&mut annotations, CURRENT_METRICS, Value::Array(metrics));
        }
        if let Some(conditions) = status.remove("conditions") {
            keep(&mut annotations, CONDITIONS, conditions);
        }
    }
    if annotations.is_empty() {
        return;
    }
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        let all = metadata.entry("annotations").or_insert_with(|| json!({}));
        all.as_object_mut()
            .into_iter()
            .for_each(|all| all.append(&mut annotations));
    }
}

fn autoscaler_to_v2(fields: &mut Object) {
    let mut take = |name: &str| {
        let annotations = fields
            .get_mut("metadata")?
            .get_mut("annotations")?
            .as_object_mut()?;
        serde_json::from_str::<Value>(annotations.remove(name)?.as_str()?).ok()
    };
    let (metrics, behavior) = (take(METRICS), take(BEHAVIOR));
    let (current, conditions) = (take(CURRENT_METRICS), take(CONDITIONS));
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut)
        && metadata
            .get("annotations")
            .and_then(Value::as_object)
            .is_some_and(Object::is_empty)
    {
        metadata.remove("annotations");
    }
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        let mut all = Vec::new();
        if let Some(utilization) = spec.remove("targetCPUUtilizationPercentage") {
            let target = json!({"type": "Utilization", "averageUtilization": utilization});
            all.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
        }
        all.extend(
            metrics
                .and_then(|metrics| metrics.as_array().cloned())
                .into_iter()
                .flatten(),
        );
        if !all.is_empty() {
            spec.insert("metrics".into(), all.into());
        }
        spec.extend(behavior.map(|behavior| ("behavior".to_owned(), behavior)));
    }
    if let Some(status) = fields.get_mut("status").and_then(Value::as_object_mut) {
        let utilization = status.remove("currentCPUUtilizationPercentage");
        let fallback = utilization.map(|utilization| {
            json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": utilization}}}])
        });
        status.extend(
            current
                .or(fallback)
                .map(|current| ("currentMetrics".to_owned(), current)),
        );
        status.extend(conditions.map(|conditions| ("conditions".to_owned(), conditions)));
    }
}

fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource" && metric["resource"]["name"] == "cpu"
}

fn keep(annotations: &mut Object, name: &str, value: Value) {
    let is_empty = value.as_array().is_some_and(Vec::is_empty);
    if !is_empty {
        annotations.insert(name.to_owned(), value.to_string().into());
    }
}

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, to: &str, object: Value, expect: &Value) {
        let mut converted = object.clone();
        convert(&mut converted, from, to);
        assert_eq!(&converted, expect, "{from} to {to}");
        convert(&mut converted, to, from);
        assert_eq!(converted, object, "and back");
    }

    #[test]
    fn events_are_one_object_seen_both_ways() {
        check(
            "v1",
            "events.k8s.io/v1",
            json!({"kind": "Event", "involvedObject": {"kind": "Pod"}, "message": "m", "reason": "r", "count": 2}),
            &json!({"kind": "Event", "regarding": {"kind": "Pod"}, "note": "m", "reason": "r", "deprecatedCount": 2}),
        );
    }

    #[test]
    fn autoscalers_keep_what_the_first_version_lacks() {
        let memory = json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "Value", "value": "1Gi"}}});
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}});
        check(
            "autoscaling/v2",
            "autoscaling/v1",
            json!({"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {"maxReplicas": 3, "metrics": [cpu, memory]}}),
            &json!({
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"annotations": {METRICS: json!([memory]).to_string()}},
                "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 60},
            }),
        );
    }
}
