//! Horizontal pod autoscalers and scales.

use serde_json::Value;

use super::{BuiltinPrinter, no_conditions, printer};
use crate::builtin::conversion::convert;
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
        order: None,
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
            string("Name", "The object's name."),
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

/// How Go prints a quantity that is not there; only metrics without their required values show it.
const NIL: &str = "<nil>";

fn autoscaler_v2(row: &Row<'_>) -> Vec<Value> {
    autoscaler(
        row,
        row.items("/spec/metrics"),
        row.items("/status/currentMetrics"),
    )
}

/// Version 1 knows the share of the CPU alone and hides other metrics in annotations, but prints like the second: upstream prints
/// its internal form.
fn autoscaler_v1(row: &Row<'_>) -> Vec<Value> {
    let mut object = row.object.clone();
    convert(&mut object, "autoscaling/v1", "autoscaling/v2");
    autoscaler_v2(&Row {
        object: &object,
        now: row.now,
    })
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
    let spec = metric.get(source);
    let status = status
        .and_then(|status| status.get(source))
        .filter(|status| !status.is_null());
    let wanted = |path| spec.and_then(|spec| get(spec, path));
    let current = |path, missing| match status {
        None => UNKNOWN.to_owned(),
        Some(status) => quantity_or(get(status, path), missing),
    };
    let average = wanted("/target/averageValue");
    if named {
        let name = spec.map_or("", |spec| text(spec, "/name"));
        if average.is_some() {
            return format!(
                "{name}: {}/{}",
                current("/current/averageValue", NIL),
                quantity_or(average, NIL)
            );
        }
        let share = |share: Option<&Value>, missing: &str| match share {
            None => missing.to_owned(),
            Some(share) => format!("{share}%"),
        };
        let now = status.and_then(|status| get(status, "/current/averageUtilization"));
        let wanted = wanted("/target/averageUtilization");
        return format!("{name}: {}/{}", share(now, UNKNOWN), share(wanted, "<auto>"));
    }
    match (source, average) {
        ("pods", _) => format!(
            "{}/{}",
            current("/current/averageValue", NIL),
            quantity_or(average, NIL)
        ),
        (_, Some(_)) => format!(
            "{}/{} (avg)",
            current("/current/averageValue", UNKNOWN),
            quantity_or(average, NIL)
        ),
        (_, None) => format!(
            "{}/{}",
            current("/current/value", NIL),
            quantity_or(wanted("/target/value"), NIL)
        ),
    }
}

fn quantity_or(value: Option<&Value>, missing: &str) -> String {
    value.map_or_else(|| missing.to_owned(), |value| quantity(Some(value)))
}
