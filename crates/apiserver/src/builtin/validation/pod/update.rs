//! What may change about a pod: its image, deadline, tolerations and gates, and the rest only through subresources.
//!
//! Upstream: `ValidatePodUpdate` and `ValidatePodEphemeralContainersUpdate`.

use super::super::diff::diff;
use super::super::field::{Errors, Field, inclusive};
use super::{annotations, check_tolerations, metadata_and_spec};
use crate::builtin::value::{Object, int_at, list_at, semantically_equal, str_at};
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

/// What the message lists.
const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                         `spec.tolerations` (only additions to existing tolerations),\
                         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks a changed pod, without its metadata.
pub(crate) fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = checks_of_create(new, old);
    let (spec, old_spec) = (Field::of(new, "spec"), Field::of(old, "spec"));
    for list in ["containers", "initContainers"] {
        let containers = spec.get(list);
        if containers.len() != old_spec.get(list).len() {
            let detail = "pod updates may not add or remove containers";
            containers.forbidden(&mut errors, detail);
            return errors;
        }
        for item in containers.items() {
            item.get("image").must_be_set(&mut errors);
        }
    }
    if !check_deadline(&mut errors, &spec, &old_spec) {
        return errors;
    }
    check_added_tolerations(&mut errors, &spec, &old_spec);
    check_gates(&mut errors, &spec, &old_spec);
    if spec.same(&old_spec) {
        return errors;
    }
    let munged = munged(&mut errors, &spec, old);
    if !semantically_equal(Some(&munged), Some(old_spec.value)) {
        let detail = format!(
            "pod updates may not change fields other than {UPDATABLE}\n{}",
            diff("io.k8s.api.core.v1.PodSpec", old_spec.value, &munged)
        );
        spec.forbidden(&mut errors, detail);
    }
    errors
}

/// What holds for new pods holds for changed ones, unless the stored pod is excused; and what annotations may become.
fn checks_of_create(new: &Value, old: &Value) -> Errors {
    let mut findings = metadata_and_spec(new);
    annotations::check_update(&mut findings, new, old);
    findings.without_old_faults(|| metadata_and_spec(old))
}

/// A deadline may come earlier; returns whether to go on.
fn check_deadline(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>) -> bool {
    let (new, old) = (
        spec.get("activeDeadlineSeconds"),
        old.get("activeDeadlineSeconds"),
    );
    let range = 0..=i64::from(i32::MAX);
    if !new.exists() {
        if old.exists() {
            new.invalid(errors, "must not update from a positive integer to nil value");
        }
    } else if !range.contains(&new.int()) {
        new.invalid(errors, inclusive(&range));
        return false;
    } else if old.exists() && old.int() < new.int() {
        new.invalid(errors, "must be less than or equal to previous value");
        return false;
    }
    true
}

fn check_added_tolerations(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>) {
    let tolerations = spec.get("tolerations");
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        toleration
    };
    let kept: Vec<Value> = tolerations.list().iter().map(without_seconds).collect();
    let mut before = old.get("tolerations").list().iter().map(without_seconds);
    if before.any(|toleration| !kept.contains(&toleration)) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        tolerations.forbidden(errors, detail);
    } else {
        check_tolerations(errors, &tolerations);
    }
}

fn check_gates(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>) {
    let before = old.get("schedulingGates").list();
    for gate in spec.get("schedulingGates").items() {
        let name = gate.get("name");
        if !before.iter().any(|other| other["name"] == name.text()) {
            let detail = format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                name.text()
            );
            name.forbidden(errors, detail);
        }
    }
}

/// The new specification with everything that may change set back to what it was.
fn munged(errors: &mut Errors, spec: &Field<'_, '_>, old: &Value) -> Value {
    let mut munged = spec.value.as_object().cloned().unwrap_or_default();
    let old_spec = &old["spec"];
    for list in ["containers", "initContainers"] {
        let containers = munged.get_mut(list).and_then(Value::as_array_mut);
        for (index, container) in containers.into_iter().flatten().enumerate() {
            if let Some(container) = container.as_object_mut() {
                set_back(container, &old_spec[list][index], "image");
            }
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        set_back(&mut munged, old_spec, field);
    }
    let grace = "terminationGracePeriodSeconds";
    let was_negative = int_at(old_spec, "/terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0);
    if was_negative && spec.get(grace).int() == 1 {
        set_back(&mut munged, old_spec, grace);
    }
    if !list_at(old_spec, "/schedulingGates").is_empty() {
        narrow(errors, spec, old_spec, &mut munged);
    }
    Value::Object(munged)
}

fn set_back(object: &mut Object, old: &Value, field: &str) {
    match old.get(field) {
        Some(value) => object.insert(field.to_owned(), value.clone()),
        None => object.remove(field),
    };
}

/// Nobody has placed a gated pod yet, so where it may run may still be narrowed (KEP-3838).
fn narrow(errors: &mut Errors, spec: &Field<'_, '_>, old: &Value, munged: &mut Object) {
    let selector = spec.get("nodeSelector");
    let lost = old["nodeSelector"]
        .as_object()
        .into_iter()
        .flatten()
        .any(|(key, value)| selector.key(key).value != value);
    if lost {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        selector.invalid(errors, detail);
    }
    set_back(munged, old, "nodeSelector");
    let affinity = spec.get("affinity");
    let nodes = affinity.get("nodeAffinity");
    let old_nodes = &old["affinity"]["nodeAffinity"];
    if semantically_equal(Some(nodes.value), Some(old_nodes)) {
        return;
    }
    check_narrowed_terms(errors, &nodes, old_nodes);
    let mut kept = munged
        .get("affinity")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    set_back(&mut kept, &old["affinity"], "nodeAffinity");
    if kept.values().all(Value::is_null) && old["affinity"].is_null() {
        munged.remove("affinity");
    } else {
        munged.insert("affinity".to_owned(), Value::Object(kept));
    }
}

fn check_narrowed_terms(errors: &mut Errors, nodes: &Field<'_, '_>, old: &Value) {
    let old_required = &old["requiredDuringSchedulingIgnoredDuringExecution"];
    let old_terms = list_at(old_required, "/nodeSelectorTerms");
    if old_terms.is_empty() {
        return;
    }
    let required = nodes.get("requiredDuringSchedulingIgnoredDuringExecution");
    let terms = required.get("nodeSelectorTerms");
    if terms.len() != old_terms.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        terms.invalid(errors, detail);
        return;
    }
    for (term, old) in terms.items().zip(old_terms) {
        let lists = ["matchExpressions", "matchFields"].map(|list| {
            let before = old[list].as_array().map(Vec::as_slice).unwrap_or_default();
            (before, term.get(list).list())
        });
        let was_empty = lists.iter().all(|(before, _)| before.is_empty());
        let grew = lists.iter().any(|(_, after)| !after.is_empty());
        let is_kept = lists.iter().all(|(before, after)| after.starts_with(before));
        if (was_empty && grew) || !is_kept {
            term.invalid(errors, "only additions are allowed (no mutations or deletions)");
        }
    }
}

/// Checks the containers that were added to a pod that runs (KEP-277).
pub(crate) fn ephemeral_containers(new: &Value, old: &Value) -> Vec<FieldError> {
    if old["metadata"]["annotations"].get(annotations::MIRROR).is_some() {
        let detail = "static pods do not support ephemeral containers";
        return vec![FieldError::forbidden(FieldPath::new("[]"), detail)];
    }
    let mut errors = checks_of_create(new, old);
    let spec = Field::of(new, "spec");
    let containers = spec.get("ephemeralContainers");
    for kept in list_at(old, "/spec/ephemeralContainers") {
        let name = str_at(kept, "/name");
        let found = containers
            .list()
            .iter()
            .rev()
            .find(|other| other["name"] == kept["name"]);
        let detail = match found {
            None => format!("existing ephemeral containers {name:?} may not be removed\n"),
            Some(changed) if !semantically_equal(Some(changed), Some(kept)) => {
                format!(
                    "existing ephemeral containers {name:?} may not be changed\n{}",
                    diff("io.k8s.api.core.v1.EphemeralContainer", kept, changed)
                )
            }
            Some(_) => continue,
        };
        containers.forbidden(&mut errors, detail);
    }
    errors
}
