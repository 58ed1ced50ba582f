//! Horizontal pod autoscalers and scales.

use serde_json::{Value, json};

use super::{BuiltinPrinter, no_conditions, printer};
use crate::table::column::{AGE, Column, NAME, integer, string};
use crate::table::format::{NONE, UNKNOWN, UNSET, quantity};
use crate::table::view::{Row, get, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    BuiltinPrinter {
        group: "autoscaling",
        versions: &["v1"],
        kind: "HorizontalPodAutoscaler",
        columns: AUTOSCALER,
        cells: autoscaler_v1,
        conditions: no_conditions,
    },
    printer(
        "autoscaling",
        "HorizontalPodAutoscaler",
        AUTOSCALER,
        autoscaler_v2,
    ),
    printer(
        "autoscaling",
        "Scale",
        &[
            string("Name", "Name of the object that is scaled."),
            integer("Desired", "Pods wanted."),
            integer("Available", "Pods that exist."),
            AGE,
        ],
        |row| {
            vec![
                row.name(),
                row.int("/spec/replicas").into(),
                row.int("/status/replicas").into(),
                row.age(),
            ]
        },
    ),
];

const AUTOSCALER: &[Column] = &[
    NAME,
    string("Reference", "The object that is scaled."),
    string("Targets", "Each metric, as it is and as it should be."),
    string("MinPods", "The least number of pods."),
    string("MaxPods", "The greatest number of pods."),
    string("Replicas", "Pods at present."),
    AGE,
];

/// How many metrics the cell shows before it says `+ N more...`.
const METRICS_SHOWN: usize = 2;

fn autoscaler_v2(row: &Row<'_>) -> Vec<Value> {
    autoscaler(
        row,
        row.items("/spec/metrics"),
        row.items("/status/currentMetrics"),
    )
}

/// Version 1 knows the share of the CPU alone; other metrics hide in annotations that this does not read.
fn autoscaler_v1(row: &Row<'_>) -> Vec<Value> {
    let cpu = |target: &str, share: &Value| json!({"type": "Resource", "resource": {"name": "cpu", target: {"averageUtilization": share}}});
    let metrics = row
        .get("/spec/targetCPUUtilizationPercentage")
        .map(|share| cpu("target", share));
    let current = row
        .get("/status/currentCPUUtilizationPercentage")
        .map(|share| cpu("current", share));
    autoscaler(row, metrics.as_slice(), current.as_slice())
}

fn autoscaler(row: &Row<'_>, metrics: &[Value], current: &[Value]) -> Vec<Value> {
    let reference = format!(
        "{}/{}",
        row.text("/spec/scaleTargetRef/kind"),
        row.text("/spec/scaleTargetRef/name")
    );
    let min = row.get("/spec/minReplicas").and_then(Value::as_i64);
    vec![
        row.name(),
        reference.into(),
        targets(metrics, current).into(),
        min.map_or_else(|| UNSET.to_owned(), |min| min.to_string()).into(),
        row.int("/spec/maxReplicas").into(),
        row.int("/status/currentReplicas").into(),
        row.age(),
    ]
}

fn targets(metrics: &[Value], current: &[Value]) -> String {
    if metrics.is_empty() {
        return NONE.to_owned();
    }
    let shown = metrics.iter().enumerate().take(METRICS_SHOWN);
    let shown: Vec<_> = shown
        .map(|(index, metric)| target(metric, current.get(index)))
        .collect();
    match metrics.len() {
        count if count > METRICS_SHOWN => format!("{} + {} more...", shown.join(", "), count - METRICS_SHOWN),
        _ => shown.join(", "),
    }
}

/// One metric as `current/target`. `status` is the metric at the same place of the status, which need not be of the same
/// type yet.
fn target(metric: &Value, status: Option<&Value>) -> String {
    let (source, named) = match text(metric, "/type") {
        "External" => ("external", false),
        "Object" => ("object", false),
        "Pods" => ("pods", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let source_of = |value: &Value| value.get(source).filter(|value| !value.is_null()).cloned();
    let spec = source_of(metric).unwrap_or_default();
    let status = status.and_then(source_of);
    let average = get(&spec, "/target/averageValue");
    let current = |field: &str, missing: &dyn Fn() -> String| match &status {
        None => UNKNOWN.to_owned(),
        Some(status) => get(status, "/current")
            .and_then(|current| get(current, field))
            .map_or_else(missing, |value| quantity(Some(value))),
    };
    let unknown = || UNKNOWN.to_owned();
    let zero = || quantity(None);
    if named {
        let name = text(&spec, "/name");
        if average.is_some() {
            return format!(
                "{name}: {}/{}",
                current("/averageValue", &zero),
                quantity(average)
            );
        }
        let percent = |value: &Value| format!("{value}%");
        let now = status
            .as_ref()
            .and_then(|status| get(status, "/current/averageUtilization"));
        let wanted = get(&spec, "/target/averageUtilization");
        let now = now.map_or_else(unknown, percent);
        return format!(
            "{name}: {now}/{}",
            wanted.map_or_else(|| "<auto>".to_owned(), percent)
        );
    }
    match (source, average) {
        ("pods", _) => format!("{}/{}", current("/averageValue", &zero), quantity(average)),
        (_, Some(_)) => format!(
            "{}/{} (avg)",
            current("/averageValue", &unknown),
            quantity(average)
        ),
        (_, None) => format!(
            "{}/{}",
            current("/value", &zero),
            quantity(get(&spec, "/target/value"))
        ),
    }
}
