//! Horizontal pod autoscalers between `autoscaling/v2` and `autoscaling/v1`, which knows utilization of CPU alone: everything else
//! travels in annotations.
//!
//! Upstream: `pkg/apis/autoscaling/v1/conversion.go`. Metrics in the annotations are of the first version's own types, and the
//! behavior is the internal type as Go writes it, with its field names.

use super::super::value::{Object, is_zero};
use super::order;
use kubewright_kinds as kinds;
use kubewright_kinds::go::Internal;
use serde_json::{Map, Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
/// All annotations that a conversion may make; what a client sets of them is never kept.
pub(super) const ANNOTATIONS: &[&str] = &[
    METRICS,
    BEHAVIOR,
    CURRENT_METRICS,
    CONDITIONS,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// Where the metrics of the second version keep things: the source, and how the value or target is named in the first.
struct Source {
    name: &'static str,
    /// The name of the selector beside the metric's name.
    selector: &'static str,
    /// Names in the second version and in the first.
    target: &'static [(&'static str, &'static str)],
    current: &'static [(&'static str, &'static str)],
    /// Quantities that the first version always writes.
    always: &'static [&'static str],
}

const SOURCES: &[Source] = &[
    Source {
        name: "object",
        selector: "selector",
        target: &[("value", "targetValue"), ("averageValue", "averageValue")],
        current: &[("value", "currentValue"), ("averageValue", "averageValue")],
        always: &["targetValue", "currentValue"],
    },
    Source {
        name: "pods",
        selector: "selector",
        target: &[("averageValue", "targetAverageValue")],
        current: &[("averageValue", "currentAverageValue")],
        always: &["targetAverageValue", "currentAverageValue"],
    },
    Source {
        name: "external",
        selector: "metricSelector",
        target: &[("value", "targetValue"), ("averageValue", "targetAverageValue")],
        current: &[("value", "currentValue"), ("averageValue", "currentAverageValue")],
        always: &["currentValue"],
    },
    Source {
        name: "resource",
        selector: "",
        target: RESOURCE_TARGET,
        current: RESOURCE_CURRENT,
        always: &["currentAverageValue"],
    },
    Source {
        name: "containerResource",
        selector: "",
        target: RESOURCE_TARGET,
        current: RESOURCE_CURRENT,
        always: &["currentAverageValue"],
    },
];
const RESOURCE_TARGET: &[(&str, &str)] = &[
    ("averageUtilization", "targetAverageUtilization"),
    ("averageValue", "targetAverageValue"),
];
const RESOURCE_CURRENT: &[(&str, &str)] = &[
    ("averageUtilization", "currentAverageUtilization"),
    ("averageValue", "currentAverageValue"),
];

/// Whether a metric is what is wanted or what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Target,
    Current,
}

impl Side {
    /// The field that holds the values in the second version.
    fn field(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Current => "current",
        }
    }

    fn names(self, source: &Source) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Target => source.target,
            Self::Current => source.current,
        }
    }
}

/// Into the first version.
pub(super) fn to_first(fields: &mut Object) {
    let mut annotations = Object::new();
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(Value::Array(metrics)) = spec.remove("metrics") {
            let (cpu, others): (Vec<Value>, Vec<Value>) = metrics.into_iter().partition(is_cpu_utilization);
            if let Some(metric) = cpu.first() {
                let utilization = &metric["resource"]["target"]["averageUtilization"];
                spec.insert("targetCPUUtilizationPercentage".into(), utilization.clone());
            }
            keep(&mut annotations, METRICS, metrics_to_first(others, Side::Target));
        }
        if let Some(behavior) = spec.remove("behavior") {
            annotations.insert(BEHAVIOR.to_owned(), behavior_to_go(&behavior).into());
        }
    }
    if let Some(status) = fields.get_mut("status").and_then(Value::as_object_mut) {
        // Go writes this zero in the first version, and not in the second.
        status.entry("currentReplicas").or_insert_with(|| 0.into());
        if let Some(Value::Array(metrics)) = status.remove("currentMetrics") {
            let cpu = metrics.iter().rfind(|metric| {
                is_cpu(metric) && !metric["resource"]["current"]["averageUtilization"].is_null()
            });
            if let Some(cpu) = cpu {
                let utilization = cpu["resource"]["current"]["averageUtilization"].clone();
                status.insert("currentCPUUtilizationPercentage".into(), utilization);
            }
            keep(
                &mut annotations,
                CURRENT_METRICS,
                metrics_to_first(metrics, Side::Current),
            );
        }
        if let Some(Value::Array(conditions)) = status.remove("conditions") {
            keep(&mut annotations, CONDITIONS, conditions);
        }
    }
    take_annotations(fields);
    if annotations.is_empty() {
        return;
    }
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        let all = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(all) = all.as_object_mut() {
            all.append(&mut annotations);
        }
    }
}

/// Out of the first version.
pub(super) fn from_first(fields: &mut Object) {
    let mut kept = take_annotations(fields);
    let mut list = |name: &str| match kept.remove(name) {
        Some(Value::Array(items)) => Some(items),
        _ => None,
    };
    let (metrics, current, conditions) = (list(METRICS), list(CURRENT_METRICS), list(CONDITIONS));
    let behavior = kept.remove(BEHAVIOR);
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        let mut all = metrics_from_first(metrics.unwrap_or_default(), Side::Target);
        if let Some(utilization) = spec.remove("targetCPUUtilizationPercentage") {
            all.push(cpu_target(utilization));
        }
        if all.is_empty() {
            // The first version left this default to the controller.
            all.push(cpu_target(DEFAULT_UTILIZATION.into()));
        }
        spec.insert("metrics".to_owned(), all.into());
        if let Some(behavior) = behavior
            .as_ref()
            .map(behavior_from_go)
            .filter(|found| !is_zero(found))
        {
            spec.insert("behavior".to_owned(), behavior);
        }
    }
    let has_status = current.is_some() || conditions.is_some();
    if has_status && !fields.contains_key("status") {
        fields.insert("status".to_owned(), json!({}));
    }
    if let Some(status) = fields.get_mut("status").and_then(Value::as_object_mut) {
        if status.get("currentReplicas").is_some_and(|count| *count == 0) {
            status.remove("currentReplicas");
        }
        let utilization = status.remove("currentCPUUtilizationPercentage");
        let metrics = match (current, utilization) {
            (Some(current), _) => metrics_from_first(current, Side::Current),
            (None, Some(utilization)) => vec![json!({
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": utilization}},
            })],
            (None, None) => Vec::new(),
        };
        let metrics = (!metrics.is_empty()).then_some(metrics);
        status.insert("currentMetrics".to_owned(), metrics.into());
        if let Some(conditions) = conditions.filter(|conditions| !conditions.is_empty()) {
            status.insert("conditions".to_owned(), conditions.into());
        }
    }
}

/// The utilization of CPU that is aimed at where nothing is said, in percent.
const DEFAULT_UTILIZATION: i32 = 80;

fn cpu_target(utilization: Value) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": utilization});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource" && metric["resource"]["name"] == "cpu"
}

fn is_cpu_utilization(metric: &Value) -> bool {
    is_cpu(metric) && !metric["resource"]["target"]["averageUtilization"].is_null()
}

fn keep(annotations: &mut Object, name: &str, value: Vec<Value>) {
    if !value.is_empty() {
        annotations.insert(name.to_owned(), order::text(&Value::Array(value)).into());
    }
}

/// Takes the annotations of conversions out of the metadata. What is no JSON is dropped, as upstream does.
fn take_annotations(fields: &mut Object) -> Map<String, Value> {
    let mut found = Map::new();
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else {
        return found;
    };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return found;
    };
    for name in ANNOTATIONS {
        let text = annotations.remove(*name);
        let value = text.and_then(|text| serde_json::from_str(text.as_str()?).ok());
        found.extend(value.map(|value: Value| ((*name).to_owned(), value)));
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    found
}

fn metrics_to_first(metrics: Vec<Value>, side: Side) -> Vec<Value> {
    metrics
        .into_iter()
        .map(|metric| map_source(metric, side, source_to_first))
        .collect()
}

fn metrics_from_first(metrics: Vec<Value>, side: Side) -> Vec<Value> {
    metrics
        .into_iter()
        .map(|metric| map_source(metric, side, source_from_first))
        .collect()
}

fn map_source(mut metric: Value, side: Side, convert: fn(&Source, &mut Object, Side)) -> Value {
    for source in SOURCES {
        if let Some(fields) = metric.get_mut(source.name).and_then(Value::as_object_mut) {
            convert(source, fields, side);
        }
    }
    metric
}

fn source_to_first(source: &Source, fields: &mut Object, side: Side) {
    let values = fields.remove(side.field());
    let described = fields.remove("describedObject");
    if let Some(Value::Object(mut metric)) = fields.remove("metric") {
        fields.extend(metric.remove("name").map(|name| ("metricName".to_owned(), name)));
        let selector = metric.remove("selector");
        fields.extend(selector.map(|selector| (source.selector.to_owned(), selector)));
    }
    fields.extend(described.map(|described| ("target".to_owned(), described)));
    for (second, first) in side.names(source) {
        let value = values.as_ref().and_then(|values| values.get(*second)).cloned();
        let value = value.filter(|value| !value.is_null());
        let zero = source.always.contains(first).then(|| json!("0"));
        fields.extend(value.or(zero).map(|value| ((*first).to_owned(), value)));
    }
}

fn source_from_first(source: &Source, fields: &mut Object, side: Side) {
    let mut values = Object::new();
    for (second, first) in side.names(source) {
        values.extend(
            fields
                .remove(*first)
                .filter(|value| !value.is_null())
                .map(|value| ((*second).to_owned(), value)),
        );
    }
    if !source.selector.is_empty() {
        let mut metric = Object::new();
        metric.extend(fields.remove("metricName").map(|name| ("name".to_owned(), name)));
        let selector = fields.remove(source.selector);
        metric.extend(selector.map(|selector| ("selector".to_owned(), selector)));
        fields.insert("metric".to_owned(), metric.into());
    }
    if let Some(described) = fields.remove("target") {
        fields.insert("describedObject".to_owned(), described);
    }
    if side == Side::Target {
        let kind = target_type(source, &mut values);
        values.insert("type".to_owned(), kind.into());
    }
    fields.insert(side.field().to_owned(), values.into());
}

/// The type of a target, which the first version does not write: it follows from what is set.
fn target_type(source: &Source, values: &mut Object) -> &'static str {
    match source.name {
        "object" if values.contains_key("averageValue") => {
            // A value of zero was not set, but cannot be left out.
            if values.get("value").is_some_and(|value| value == "0") {
                values.remove("value");
            }
            "AverageValue"
        }
        "object" => "Value",
        "external" if values.contains_key("value") => "Value",
        "resource" | "containerResource" if values.contains_key("averageUtilization") => "Utilization",
        _ => "AverageValue",
    }
}

/// The fields of a scaling rule and of a policy.
const RULES: &[&str] = &[
    "stabilizationWindowSeconds",
    "selectPolicy",
    "policies",
    "tolerance",
];
const POLICY: &[&str] = &["type", "value", "periodSeconds"];

/// The behavior as text of the internal type.
fn behavior_to_go(behavior: &Value) -> String {
    const TYPE: &str = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior";
    let kind = kinds::table()
        .type_named(TYPE)
        .map(|ty| kinds::Value::Object(ty.id()));
    let shown = kind.map(|kind| serde_json::to_string(&Internal::new(&kind, behavior)));
    shown.and_then(Result::ok).unwrap_or_default()
}

/// Go reads field names in any case.
fn behavior_from_go(behavior: &Value) -> Value {
    match behavior {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (json_name(name), behavior_from_go(value)))
            .collect(),
        Value::Array(items) => items.iter().map(behavior_from_go).collect(),
        other => other.clone(),
    }
}

fn json_name(name: &str) -> String {
    let known = ["scaleUp", "scaleDown"].iter().chain(RULES).chain(POLICY);
    let mut matching = known.filter(|known| known.eq_ignore_ascii_case(name));
    matching
        .next()
        .map_or_else(|| name.to_owned(), |known| (*known).to_owned())
}
