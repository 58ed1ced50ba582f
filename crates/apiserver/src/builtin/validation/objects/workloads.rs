//! Workloads and what scales and protects them.
//!
//! Upstream: `pkg/apis/{apps,batch,autoscaling,policy}/validation/validation.go` and the replication controller's part of
//! `pkg/apis/core/validation/validation.go`.

use super::super::super::value::{at, int_at, list_at, map_at, semantically_equal, str_at, true_at};
use super::super::names::{label_value, qualified_name};
use super::super::{immutable, invalid_each, metadata, not_negative, required, supported};
use super::pod::template;
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

pub(crate) fn deployment(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = replicated(spec, &path, "deployment");
    let strategy = path.child("strategy");
    supported(
        &mut errors,
        strategy.child("type"),
        at(spec, "/strategy/type"),
        &["Recreate", "RollingUpdate"],
    );
    match str_at(spec, "/strategy/type") {
        "Recreate" if at(spec, "/strategy/rollingUpdate").is_some() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(FieldError::forbidden(strategy.child("rollingUpdate"), detail));
        }
        "RollingUpdate" => rolling_update(
            &mut errors,
            &spec["strategy"]["rollingUpdate"],
            &strategy.child("rollingUpdate"),
        ),
        _ => {}
    }
    for field in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        not_negative(&mut errors, path.child(field), spec.get(field));
    }
    if let Some(deadline) = int_at(spec, "/progressDeadlineSeconds")
        && deadline <= int_at(spec, "/minReadySeconds").unwrap_or(0)
    {
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid(
            path.child("progressDeadlineSeconds"),
            deadline,
            detail,
        ));
    }
    errors
}

pub(crate) fn replica_set(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    // Upstream says "deployment" here too.
    let mut errors = replicated(spec, &path, "deployment");
    not_negative(
        &mut errors,
        path.child("minReadySeconds"),
        spec.get("minReadySeconds"),
    );
    errors
}

pub(crate) fn daemon_set(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = replicated(spec, &path, "daemonset");
    let strategy = path.child("updateStrategy");
    supported(
        &mut errors,
        strategy.child("type"),
        at(spec, "/updateStrategy/type"),
        &["OnDelete", "RollingUpdate"],
    );
    if str_at(spec, "/updateStrategy/type") == "RollingUpdate" {
        let rolling = &spec["updateStrategy"]["rollingUpdate"];
        rolling_update(&mut errors, rolling, &strategy.child("rollingUpdate"));
    }
    for field in ["minReadySeconds", "revisionHistoryLimit"] {
        not_negative(&mut errors, path.child(field), spec.get(field));
    }
    errors
}

pub(crate) fn stateful_set(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = replicated(spec, &path, "statefulset");
    let policies = ["OrderedReady", "Parallel"];
    supported(
        &mut errors,
        path.child("podManagementPolicy"),
        at(spec, "/podManagementPolicy"),
        &policies,
    );
    let strategy = path.child("updateStrategy");
    supported(
        &mut errors,
        strategy.child("type"),
        at(spec, "/updateStrategy/type"),
        &["RollingUpdate", "OnDelete"],
    );
    let rolling = at(spec, "/updateStrategy/rollingUpdate");
    if str_at(spec, "/updateStrategy/type") == "OnDelete" && rolling.is_some() {
        let detail = "only allowed for updateStrategy 'RollingUpdate'";
        let value = rolling.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(
            strategy.child("rollingUpdate"),
            value,
            detail,
        ));
    }
    not_negative(
        &mut errors,
        strategy.child("rollingUpdate").child("partition"),
        spec.pointer("/updateStrategy/rollingUpdate/partition"),
    );
    let retention = path.child("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        let value = spec["persistentVolumeClaimRetentionPolicy"].get(field);
        supported(&mut errors, retention.child(field), value, &["Delete", "Retain"]);
    }
    for field in ["minReadySeconds", "revisionHistoryLimit"] {
        not_negative(&mut errors, path.child(field), spec.get(field));
    }
    errors
}

pub(crate) fn replication_controller(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    for field in ["replicas", "minReadySeconds"] {
        not_negative(&mut errors, path.child(field), spec.get(field));
    }
    let selector: Vec<(&String, &Value)> = map_at(spec, "/selector").collect();
    if selector.is_empty() {
        errors.push(FieldError::required(path.child("selector"), ""));
    }
    let Some(pods) = at(spec, "/template") else {
        errors.push(FieldError::required(path.child("template"), ""));
        return errors;
    };
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
    errors
}

/// What deployments and their like have in common: replicas, selector and template.
fn replicated(spec: &Value, path: &FieldPath, kind: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    not_negative(&mut errors, path.child("replicas"), spec.get("replicas"));
    let pods = &spec["template"];
    let path_of_pods = path.child("template");
    match at(spec, "/selector") {
        None => errors.push(FieldError::required(path.child("selector"), "")),
        Some(selector) => {
            label_selector(&mut errors, selector, &path.child("selector"));
            if is_empty_selector(selector) {
                let detail = format!("empty selector is invalid for {kind}");
                errors.push(FieldError::invalid(
                    path.child("selector"),
                    selector.clone(),
                    detail,
                ));
            } else if !selects(selector, &pods["metadata"]["labels"]) {
                errors.push(mismatch(&path_of_pods, &pods["metadata"]["labels"]));
            }
        }
    }
    errors.extend(template(pods, &path_of_pods));
    always_restarting(&mut errors, pods, &path_of_pods);
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

fn rolling_update(errors: &mut Vec<FieldError>, rolling: &Value, path: &FieldPath) {
    let unavailable = &rolling["maxUnavailable"];
    let surge = &rolling["maxSurge"];
    for (field, value) in [("maxUnavailable", unavailable), ("maxSurge", surge)] {
        int_or_percent(errors, value, &path.child(field));
    }
    let is_none = |value: &Value| value.as_i64() == Some(0) || value.as_str() == Some("0%");
    if is_none(unavailable) && is_none(surge) {
        let detail = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid(
            path.child("maxUnavailable"),
            unavailable.clone(),
            detail,
        ));
    }
    if percent(unavailable).is_some_and(|percent| percent > 100) {
        let detail = "must not be greater than 100%";
        errors.push(FieldError::invalid(
            path.child("maxUnavailable"),
            unavailable.clone(),
            detail,
        ));
    }
}

fn percent(value: &Value) -> Option<u64> {
    value.as_str()?.strip_suffix('%')?.parse().ok()
}

/// A number that is not negative, or a percentage.
fn int_or_percent(errors: &mut Vec<FieldError>, value: &Value, path: &FieldPath) {
    match value {
        Value::Number(_) => not_negative(errors, path.clone(), Some(value)),
        Value::String(text) if percent(value).is_none() => {
            let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
                          regex used for validation is '[0-9]+%')";
            errors.push(FieldError::invalid(path.clone(), text.as_str(), detail));
        }
        _ => {}
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

fn is_empty_selector(selector: &Value) -> bool {
    map_at(selector, "/matchLabels").next().is_none() && list_at(selector, "/matchExpressions").is_empty()
}

/// Whether a `LabelSelector` selects an object with these labels.
fn selects(selector: &Value, labels: &Value) -> bool {
    let of_labels = map_at(selector, "/matchLabels").all(|(key, value)| labels.get(key) == Some(value));
    of_labels
        && list_at(selector, "/matchExpressions").iter().all(|expression| {
            let label = labels.get(str_at(expression, "/key"));
            let is_one_of = || label.is_some_and(|label| list_at(expression, "/values").contains(label));
            match str_at(expression, "/operator") {
                "In" => is_one_of(),
                "NotIn" => !is_one_of(),
                "Exists" => label.is_some(),
                "DoesNotExist" => label.is_none(),
                _ => false,
            }
        })
}

/// A selector says which pods are whose, so it never changes.
pub(crate) fn selector_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/spec/selector");
    errors
}

/// What an update of a stateful set may change.
const STATEFUL_SET_FIELDS: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

pub(crate) fn stateful_set_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let fixed = |object: &Value| {
        let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
        spec.retain(|field, _| !STATEFUL_SET_FIELDS.contains(&field.as_str()));
        Value::Object(spec)
    };
    if semantically_equal(Some(&fixed(new)), Some(&fixed(old))) {
        return Vec::new();
    }
    let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                  'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    vec![FieldError::forbidden(FieldPath::new("spec"), detail)]
}

pub(crate) fn controller_revision_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/data");
    errors
}

pub(crate) fn job(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = job_spec(spec, &path);
    match at(spec, "/selector") {
        None => errors.push(FieldError::required(path.child("selector"), "")),
        Some(selector) => {
            label_selector(&mut errors, selector, &path.child("selector"));
            let labels = &spec["template"]["metadata"]["labels"];
            if !selects(selector, labels) {
                errors.push(mismatch(&path.child("template"), labels));
            }
        }
    }
    if !true_at(spec, "/manualSelector") {
        generated_labels(&mut errors, object, &path);
    }
    errors
}

/// Without a selector of the user's own, the labels must be those that the server generates.
fn generated_labels(errors: &mut Vec<FieldError>, job: &Value, path: &FieldPath) {
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    let path = path.child("template").child("metadata").child("labels");
    for (label, expect) in [
        ("batch.kubernetes.io/controller-uid", str_at(job, "/metadata/uid")),
        ("batch.kubernetes.io/job-name", str_at(job, "/metadata/name")),
    ] {
        match labels.get(label).and_then(Value::as_str) {
            None => errors.push(FieldError::required(
                path.key(label),
                format!("must be '{expect}'"),
            )),
            Some(value) if value != expect => {
                errors.push(FieldError::invalid(
                    path.key(label),
                    labels.clone(),
                    format!("must be '{expect}'"),
                ));
            }
            Some(_) => {}
        }
    }
}

fn job_spec(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        not_negative(&mut errors, path.child(field), spec.get(field));
    }
    supported(
        &mut errors,
        path.child("completionMode"),
        at(spec, "/completionMode"),
        &["Indexed", "NonIndexed"],
    );
    if str_at(spec, "/completionMode") == "Indexed" && at(spec, "/completions").is_none() {
        errors.push(FieldError::required(
            path.child("completions"),
            "when completion mode is Indexed",
        ));
    }
    let pods = path.child("template");
    errors.extend(template(&spec["template"], &pods));
    let restart = pods.child("spec").child("restartPolicy");
    match str_at(spec, "/template/spec/restartPolicy") {
        "" | "Always" => errors.push(FieldError::required(
            restart,
            "valid values: \"OnFailure\", \"Never\"",
        )),
        policy if at(spec, "/podFailurePolicy").is_some() && policy == "OnFailure" => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(restart, policy, detail));
        }
        _ => {}
    }
    errors
}

pub(crate) fn job_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (new_completions, old_completions) =
        (int_at(new, "/spec/completions"), int_at(old, "/spec/completions"));
    // An indexed job may be scaled if both numbers move together.
    let is_elastic = str_at(new, "/spec/completionMode") == "Indexed"
        && new_completions.is_some()
        && old_completions.is_some()
        && new_completions == int_at(new, "/spec/parallelism");
    if !is_elastic {
        immutable(&mut errors, new, old, "/spec/completions");
    }
    for pointer in [
        "/spec/selector",
        "/spec/completionMode",
        "/spec/podFailurePolicy",
        "/spec/backoffLimitPerIndex",
        "/spec/managedBy",
    ] {
        immutable(&mut errors, new, old, pointer);
    }
    let is_unstarted = true_at(old, "/spec/suspend") && at(old, "/status/startTime").is_none();
    let (new_pods, old_pods) = (job_template(new, is_unstarted), job_template(old, is_unstarted));
    if !semantically_equal(Some(&new_pods), Some(&old_pods)) {
        let value = new["spec"]["template"].clone();
        let path = FieldPath::new("spec").child("template");
        errors.push(FieldError::invalid(path, value, super::super::IMMUTABLE));
    }
    errors
}

/// The template without what may change while a job has not started (KEP-2926).
fn job_template(job: &Value, is_unstarted: bool) -> Value {
    let mut pods = job["spec"]["template"].clone();
    if !is_unstarted {
        return pods;
    }
    for (pointer, fields) in [
        (
            "/spec",
            &["nodeSelector", "tolerations", "affinity", "schedulingGates"][..],
        ),
        ("/metadata", &["labels", "annotations"]),
    ] {
        if let Some(part) = pods.pointer_mut(pointer).and_then(Value::as_object_mut) {
            part.retain(|field, _| !fields.contains(&field.as_str()));
        }
    }
    pods
}

pub(crate) fn cron_job(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    let schedule = str_at(spec, "/schedule");
    if required(&mut errors, path.child("schedule"), at(spec, "/schedule"), "") {
        let count = schedule.split_whitespace().count();
        if !schedule.starts_with('@') && !schedule.contains("TZ") && count != 5 {
            let fields: Vec<&str> = schedule.split_whitespace().collect();
            let detail = format!("expected exactly 5 fields, found {count}: [{}]", fields.join(" "));
            errors.push(FieldError::invalid(path.child("schedule"), schedule, detail));
        }
    }
    let policies = ["Allow", "Forbid", "Replace"];
    supported(
        &mut errors,
        path.child("concurrencyPolicy"),
        at(spec, "/concurrencyPolicy"),
        &policies,
    );
    for field in [
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ] {
        not_negative(&mut errors, path.child(field), spec.get(field));
    }
    let job_path = path.child("jobTemplate").child("spec");
    let job = &spec["jobTemplate"]["spec"];
    if let Some(selector) = at(job, "/selector") {
        let detail = "`selector` will be auto-generated";
        errors.push(FieldError::invalid(
            job_path.child("selector"),
            selector.clone(),
            detail,
        ));
    }
    errors.extend(job_spec(job, &job_path));
    errors
}

pub(crate) fn horizontal_pod_autoscaler(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    let least = int_at(spec, "/minReplicas");
    if let Some(least) = least.filter(|least| *least < 1) {
        errors.push(FieldError::invalid(
            path.child("minReplicas"),
            least,
            "must be greater than or equal to 1",
        ));
    }
    let most = int_at(spec, "/maxReplicas").unwrap_or(0);
    if most < 1 {
        errors.push(FieldError::invalid(
            path.child("maxReplicas"),
            most,
            "must be greater than 0",
        ));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid(path.child("maxReplicas"), most, detail));
    }
    for field in ["kind", "name"] {
        let value = spec["scaleTargetRef"].get(field);
        required(&mut errors, path.child("scaleTargetRef").child(field), value, "");
    }
    errors
}

pub(crate) fn pod_disruption_budget(object: &Value) -> Vec<FieldError> {
    let (spec, path) = (&object["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    if at(spec, "/minAvailable").is_some() && at(spec, "/maxUnavailable").is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid(path.clone(), spec.clone(), detail));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        int_or_percent(&mut errors, &spec[field], &path.child(field));
        if percent(&spec[field]).is_some_and(|percent| percent > 100) {
            errors.push(FieldError::invalid(
                path.child(field),
                spec[field].clone(),
                "must not be greater than 100%",
            ));
        }
    }
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = at(spec, "/unhealthyPodEvictionPolicy");
    supported(
        &mut errors,
        path.child("unhealthyPodEvictionPolicy"),
        policy,
        &policies,
    );
    if let Some(selector) = at(spec, "/selector") {
        label_selector(&mut errors, selector, &path.child("selector"));
    }
    errors
}
