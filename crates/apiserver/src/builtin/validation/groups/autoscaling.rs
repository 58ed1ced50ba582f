//! Horizontal pod autoscalers, in the shape of `autoscaling/v2`.
//!
//! Upstream: `pkg/apis/autoscaling/validation/validation.go` and `pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go`.
//! Objects of the first version are checked as they are in the second, so that what their annotations hold is checked too.

use kubewright_core::Quantity;
use serde_json::Value;

use super::super::super::conversion;
use super::super::field::{Errors, Field};
use super::super::names::label;
use super::super::resources;
use super::format::given_path_segment;

/// The longest period of a policy, in seconds.
const PERIOD_MAX: i64 = 1800;
/// The longest window of stabilization, in seconds.
const WINDOW_MAX: i64 = 3600;

/// An autoscaler (`ValidateHorizontalPodAutoscaler`, `ValidateHorizontalPodAutoscalerUpdate`).
pub(crate) fn autoscaler(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let converted = latest(object);
    let root = Field::root("", converted.as_ref().unwrap_or(object));
    let old_converted = old.and_then(latest);
    let old = old.map(|old| Field::root("", old_converted.as_ref().unwrap_or(old)));
    let spec = root.get("spec");
    let (least, most) = (spec.get("minReplicas"), spec.get("maxReplicas"));
    if least.int() < 0 {
        least.invalid(&mut errors, "must be greater than or equal to 0");
    }
    match most.int() {
        0 => most.required(&mut errors, ""),
        number if number < 0 => most.invalid(&mut errors, "must be greater than or equal to 1"),
        _ => {}
    }
    if least.exists() && most.int() < least.int() {
        most.invalid_as(
            &mut errors,
            most.int(),
            "must be greater than or equal to `minReplicas`",
        );
    }
    let target = spec.get("scaleTargetRef");
    let old_target = old.as_ref().map(|old| old.get("spec"));
    let is_same = old_target.as_ref().is_some_and(|old| {
        let old = old.get("scaleTargetRef");
        ["apiVersion", "kind"]
            .iter()
            .all(|field| old.get(field).text() == target.get(field).text())
    });
    let group = match target.get("kind").text() {
        _ if is_same => Group::Any,
        // The one kind of the core group that can be scaled.
        "ReplicationController" => Group::Optional,
        _ => Group::Required,
    };
    reference(&mut errors, &target, group);
    let metrics = spec.get("metrics");
    // What is stored may name a version that is none.
    let tolerates = old.as_ref().is_some_and(|old| {
        old.get("spec.metrics").items().any(|metric| {
            let version = metric.get("object.describedObject.apiVersion");
            version.text().matches('/').count() > 1
        })
    });
    for metric in metrics.items() {
        check_metric(
            &mut errors,
            &metric,
            if tolerates { Group::Any } else { Group::Optional },
        );
    }
    let scales_from_nothing = |metric: &Value| metric["type"] == "Object" || metric["type"] == "External";
    if least.value.as_i64() == Some(0) && !metrics.list().iter().any(scales_from_nothing) {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        metrics.forbidden(&mut errors, detail);
    }
    let behavior = spec.get("behavior");
    for field in ["scaleUp", "scaleDown"] {
        let rules = behavior.get(field);
        if rules.exists() {
            scaling_rules(&mut errors, &rules);
        }
    }
    errors
}

/// The object in the newer version, unless it is.
fn latest(object: &Value) -> Option<Value> {
    const FIRST: &str = "autoscaling/v1";
    (object["apiVersion"] == FIRST).then(|| {
        let mut object = object.clone();
        conversion::convert(&mut object, FIRST, "autoscaling/v2");
        object
    })
}

/// Which group the version of a reference must name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// The text may be anything.
    Any,
    /// It is a version with a group.
    Required,
    /// It is a version, with a group or without.
    Optional,
}

fn reference(errors: &mut Errors, reference: &Field<'_, '_>, group: Group) {
    given_path_segment(errors, &reference.get("kind"), "");
    given_path_segment(errors, &reference.get("name"), "");
    reference_version(errors, reference, group);
}

fn reference_version(errors: &mut Errors, reference: &Field<'_, '_>, group: Group) {
    let version = reference.get("apiVersion");
    let text = version.text();
    let count = if text == "/" { 0 } else { text.matches('/').count() };
    if group == Group::Any {
        return;
    }
    if count > 1 {
        version.invalid(errors, format!("unexpected GroupVersion string: {text}"));
    } else if group == Group::Required && (count == 0 || text.starts_with('/')) {
        version.invalid_as(errors, text, "apiVersion must specify API group");
    }
}

const SOURCES: &[(&str, &str)] = &[
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const TYPES: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

fn check_metric(errors: &mut Errors, metric: &Field<'_, '_>, group: Group) {
    let kind = metric.get("type");
    kind.check_given(errors, "must specify a metric source type");
    if !TYPES.contains(&kind.text()) {
        // Upstream checks the type twice; it is told of once.
        kind.not_supported(errors, TYPES);
    }
    let present: Vec<&str> = SOURCES
        .iter()
        .map(|(_, field)| *field)
        .filter(|field| metric.get(field).exists())
        .collect();
    // Only the first source is looked into.
    if let Some(field) = present.first() {
        check_source(errors, field, &metric.get(field), group);
    }
    let expected = SOURCES
        .iter()
        .find(|(name, _)| *name == kind.text())
        .map(|(_, field)| *field);
    if let Some(expected) = expected.filter(|expected| !present.contains(expected)) {
        metric
            .get(expected)
            .required(errors, "must populate information for the given metric source");
    }
    if present.len() != 1 {
        for field in present.into_iter().filter(|field| Some(*field) != expected) {
            let detail = "must populate the given metric source only";
            metric.get(field).forbidden(errors, detail);
        }
    }
}

fn check_source(errors: &mut Errors, field: &str, source: &Field<'_, '_>, group: Group) {
    let target = source.get("target");
    match field {
        "resource" | "containerResource" => {
            let name = source.get("name");
            if name.check_given(errors, "must specify a resource name") && field == "containerResource" {
                resources::check_container_name(errors, &name, name.text());
            }
            let container = source.get("container");
            if field == "containerResource" && container.check_given(errors, "must specify a container") {
                container.invalid_each(errors, label(container.text()));
            }
        }
        "object" => reference(errors, &source.get("describedObject"), group),
        _ => {}
    }
    if matches!(field, "object" | "external" | "pods") {
        let metric = source.get("metric");
        given_path_segment(errors, &metric.get("name"), "must specify a metric name");
    }
    check_target(errors, &target);
    let (value, average) = (target.get("value"), target.get("averageValue"));
    let utilization = target.get("averageUtilization");
    match field {
        "object" if !value.exists() && !average.exists() => {
            average.required(errors, "must set either a target value or averageValue");
        }
        "external" if !value.exists() && !average.exists() => {
            let detail = "must set either a target value for metric or a per-pod target";
            average.required(errors, detail);
        }
        "external" if value.exists() && average.exists() => {
            let detail = "may not set both a target value for metric and a per-pod target";
            value.forbidden(errors, detail);
        }
        "pods" if !average.exists() => {
            average.required(errors, "must specify a positive target averageValue")
        }
        "resource" | "containerResource" if !utilization.exists() && !average.exists() => {
            let detail = "must set either a target raw value or a target utilization";
            utilization.required(errors, detail);
        }
        "resource" | "containerResource" if utilization.exists() && average.exists() => {
            let detail = "may not set both a target raw value and a target utilization";
            average.forbidden(errors, detail);
        }
        _ => {}
    }
}

fn check_target(errors: &mut Errors, target: &Field<'_, '_>) {
    let kind = target.get("type");
    kind.check_given(errors, "must specify a metric target type");
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        kind.invalid_as(errors, kind.text(), detail);
    }
    for field in ["value", "averageValue"] {
        let quantity = target.get(field);
        if parse(&quantity).is_some_and(|quantity| quantity.is_zero() || quantity.is_negative()) {
            quantity.invalid(errors, "must be positive");
        }
    }
    let utilization = target.get("averageUtilization");
    if utilization.value.as_i64().is_some_and(|number| number < 1) {
        utilization.invalid(errors, "must be greater than 0");
    }
}

fn parse(field: &Field<'_, '_>) -> Option<Quantity> {
    field.text().parse().ok()
}

fn scaling_rules(errors: &mut Errors, rules: &Field<'_, '_>) {
    let window = rules.get("stabilizationWindowSeconds");
    if window.int() < 0 {
        window.invalid(errors, "must be greater than or equal to zero");
    }
    if window.int() > WINDOW_MAX {
        window.invalid(errors, format!("must be less than or equal to {WINDOW_MAX}"));
    }
    rules
        .get("selectPolicy")
        .one_of(errors, &["Disabled", "Max", "Min"]);
    let policies = rules.get("policies");
    if policies.is_empty() {
        policies.required(errors, "must specify at least one Policy");
    }
    for policy in policies.items() {
        let kind = policy.get("type");
        if !matches!(kind.text(), "Pods" | "Percent") {
            kind.not_supported(errors, &["Percent", "Pods"]);
        }
        for field in ["value", "periodSeconds"] {
            let node = policy.get(field);
            if node.int() <= 0 {
                node.invalid_as(errors, node.int(), "must be greater than zero");
            }
        }
        let period = policy.get("periodSeconds");
        if period.int() > PERIOD_MAX {
            period.invalid(errors, format!("must be less than or equal to {PERIOD_MAX}"));
        }
    }
    let tolerance = rules.get("tolerance");
    if parse(&tolerance).is_some_and(|tolerance| tolerance.is_negative()) {
        tolerance.invalid(errors, super::super::NOT_NEGATIVE);
    }
}

/// What the controller reports.
pub(crate) fn autoscaler_status(subresource: &str, new: &Value, _: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource == "status" {
        let root = Field::root("", new);
        let status = root.get("status");
        for condition in status.get("conditions").items() {
            condition.get("observedGeneration").not_negative(&mut errors);
        }
        status.check_counters(&mut errors, &["currentReplicas", "desiredReplicas"]);
    }
    errors
}
