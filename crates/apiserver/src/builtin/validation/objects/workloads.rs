//! Replication controllers, and label selectors.
//!
//! Upstream: the replication controller's part of `pkg/apis/core/validation/validation.go`.

use super::super::super::value::{at, list_at, map_at, str_at};
use super::super::names::{label_value, qualified_name};
use super::super::{invalid_each, metadata, not_negative};
use super::pod::template;
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

pub(crate) fn replication_controller(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    let selector: Vec<(&String, &Value)> = map_at(spec, "/selector").collect();
    if selector.is_empty() {
        errors.push(FieldError::required(path.child("selector"), ""));
    }
    match at(spec, "/template") {
        None => errors.push(FieldError::required(path.child("template"), "")),
        Some(pods) => {
            let path = path.child("template");
            let labels = &pods["metadata"]["labels"];
            if !selector
                .iter()
                .all(|(key, value)| labels.get(key.as_str()) == Some(value))
            {
                errors.push(mismatch(&path, labels));
            }
            errors.extend(template(pods, &path));
            always_restarting(&mut errors, pods, &path);
        }
    }
    // Rules that upstream declares come after those it has in code.
    for field in ["replicas", "minReadySeconds"] {
        not_negative(&mut errors, path.child(field), spec.get(field));
    }
    errors
}

fn mismatch(path_of_pods: &FieldPath, labels: &Value) -> FieldError {
    let path = path_of_pods.child("metadata").child("labels");
    FieldError::invalid(
        path,
        labels.clone(),
        "`selector` does not match template `labels`",
    )
}

/// Pods of a controller that keeps a number of them running always restart and never give up.
fn always_restarting(errors: &mut Vec<FieldError>, pods: &Value, path: &FieldPath) {
    let spec = path.child("spec");
    let policy = str_at(pods, "/spec/restartPolicy");
    if matches!(policy, "OnFailure" | "Never") {
        errors.push(FieldError::not_supported(
            spec.child("restartPolicy"),
            policy,
            &["Always"],
        ));
    }
    if at(pods, "/spec/activeDeadlineSeconds").is_some() {
        let detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.push(FieldError::forbidden(spec.child("activeDeadlineSeconds"), detail));
    }
}

/// Checks a `LabelSelector` (`ValidateLabelSelector` of apimachinery).
pub(super) fn label_selector(errors: &mut Vec<FieldError>, selector: &Value, path: &FieldPath) {
    metadata::labels(errors, selector, "/matchLabels", &path.child("matchLabels"));
    for (index, expression) in list_at(selector, "/matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(index);
        let values = list_at(expression, "/values");
        match str_at(expression, "/operator") {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(path.child("values"), detail));
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" if values.is_empty() => {}
            "Exists" | "DoesNotExist" => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(path.child("values"), detail));
            }
            operator => {
                errors.push(FieldError::invalid(
                    path.child("operator"),
                    operator,
                    "not a valid selector operator",
                ));
            }
        }
        let key = str_at(expression, "/key");
        invalid_each(errors, &path.child("key"), key, qualified_name(key));
        for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
            invalid_each(
                errors,
                &path.child("values").index(index),
                value,
                label_value(value),
            );
        }
    }
}
