//! Events, in both groups that have them.
//!
//! Upstream: `pkg/apis/core/validation/events.go`. Paths are those of the internal type whatever the group, but for the name of
//! the controller that reports.

use super::super::IMMUTABLE;
use super::super::field::{Errors, Field};
use super::super::names::qualified_name;
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

/// The longest name of a reporter, an action or a reason, in bytes.
const NAME_MAX: usize = 128;
/// The longest message, in bytes.
const NOTE_MAX: usize = 1024;

/// The fields of an event: the name in messages, in the core group and in `events.k8s.io`.
struct Names {
    object: &'static str,
    message: &'static str,
    controller: &'static str,
    controller_shown: &'static str,
}

const CORE: Names = Names {
    object: "involvedObject",
    message: "message",
    controller: "reportingComponent",
    controller_shown: "reportingComponent",
};
const EVENTS: Names = Names {
    object: "regarding",
    message: "note",
    controller: "reportingController",
    controller_shown: "reportingController",
};

/// Checks an event of the core group.
pub(crate) fn event(event: &Value) -> Vec<FieldError> {
    legacy(event, &CORE)
}

/// Checks an event of `events.k8s.io`: a new one, or one that is to replace `old`.
pub(crate) fn event_v1(event: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = legacy(event, &EVENTS);
    match old {
        None => check_new(&mut errors, event),
        Some(old) => check_update(&mut errors, event, old),
    }
    errors
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_default()
}

fn legacy(event: &Value, names: &Names) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
    let about = event[names.object]["namespace"].as_str().unwrap_or_default();
    let is_new_form = !text(event, "eventTime").is_empty();
    // Events about objects without a namespace go to one of these.
    let matches = match (about.is_empty(), is_new_form) {
        (true, true) => matches!(namespace, "default" | "kube-system"),
        (true, false) => matches!(namespace, "" | "default"),
        (false, true) => true,
        (false, false) => namespace == about,
    };
    if !matches {
        let path = FieldPath::new("involvedObject.namespace");
        errors.push(FieldError::invalid(path, about, "does not match event.namespace"));
    }
    if !is_new_form {
        return errors;
    }
    let controller = Field::root(
        names.controller_shown,
        event.get(names.controller).unwrap_or(&Value::Null),
    );
    controller.must_be_set(&mut errors);
    for message in qualified_name(controller.text()) {
        controller.invalid_as(&mut errors, controller.text(), message);
    }
    for field in ["reportingInstance", "action", "reason"] {
        let at = Field::of(event, field);
        at.must_be_set(&mut errors);
        check_length(&mut errors, &at, NAME_MAX);
    }
    let message = Field::root("message", event.get(names.message).unwrap_or(&Value::Null));
    check_length(&mut errors, &message, NOTE_MAX);
    errors
}

fn check_length(errors: &mut Errors, at: &Field<'_, '_>, max: usize) {
    if at.text().len() > max {
        at.invalid_as(errors, "", format!("can have at most {max} characters"));
    }
}

fn check_series(errors: &mut Errors, event: &Value) {
    let series = &event["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        let path = FieldPath::new("series.count");
        errors.push(FieldError::invalid(path, "", "should be at least 2"));
    }
    if text(series, "lastObservedTime").is_empty() {
        errors.push(FieldError::required(
            FieldPath::new("series.lastObservedTime"),
            "",
        ));
    }
}

fn check_new(errors: &mut Errors, event: &Value) {
    check_series(errors, event);
    if text(event, "eventTime").is_empty() {
        errors.push(FieldError::required(FieldPath::new("eventTime"), ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        let detail = format!("has invalid value: {kind}");
        errors.push(FieldError::invalid(FieldPath::new("type"), "", detail));
    }
    for (field, shown) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        if Field::of(event, field).is_set() {
            errors.push(FieldError::invalid(
                FieldPath::new(shown),
                "",
                "needs to be unset",
            ));
        }
    }
}

/// What happened does not change; that it happened again is told in the series.
fn check_update(errors: &mut Errors, new: &Value, old: &Value) {
    if !Field::of(new, "series").same(&Field::of(old, "series")) {
        check_series(errors, new);
    }
    for (field, shown) in [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        let after = Field::of(new, field);
        if !after.same(&Field::of(old, field)) {
            let path = FieldPath::new(shown);
            errors.push(FieldError::invalid(path, after.value.clone(), IMMUTABLE));
        }
    }
}
