//! Writes to subresources that carry the whole object but may change only a part of it.

use super::super::value::{list_at, str_at, str_in};
use super::{Context, RESET_METADATA, certificates, restore, restore_metadata};
use serde_json::Value;

/// Restores every top-level field except those in `kept`.
pub(super) fn restore_all_but(new: &mut Value, old: &Value, kept: &[&str]) {
    let fields: Vec<String> = [&*new, old]
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(|o| o.keys().cloned())
        .collect();
    for field in fields.iter().filter(|field| !kept.contains(&field.as_str())) {
        restore(new, old, field);
    }
}

/// Prepares a write to a subresource other than `status`. One that is not known here changes what the object allows.
pub(super) fn prepare(name: &str, new: &mut Value, old: &Value, context: &Context<'_>) {
    match name {
        "finalize" => restore_all_but(new, old, &["metadata", "spec"]),
        "approval" => certificates::approval(new, old, context),
        "ephemeralcontainers" => ephemeral_containers(new, old),
        "resize" => resize(new, old),
        _ => {}
    }
}

/// What some kinds do to their status beyond taking it.
pub(super) fn status_of_kind(new: &mut Value, old: &Value, context: &Context<'_>) {
    match (str_at(old, "/apiVersion"), str_at(old, "/kind")) {
        ("v1", "Pod") => pod_status(new, old),
        ("certificates.k8s.io/v1", "CertificateSigningRequest") => certificates::status(new, old, context),
        _ => {}
    }
}

/// The quality of service class is set once, at creation, and old kubelets drop it.
fn pod_status(new: &mut Value, old: &Value) {
    let (Some(status), Some(class)) = (
        new.get_mut("status").and_then(Value::as_object_mut),
        old.pointer("/status/qosClass"),
    ) else {
        return;
    };
    if str_in(status, "qosClass").is_empty() {
        status.insert("qosClass".to_owned(), class.clone());
    }
}

fn ephemeral_containers(new: &mut Value, old: &Value) {
    let wanted = new.pointer("/spec/ephemeralContainers").cloned();
    restore_all_but(new, old, &["metadata"]);
    restore_metadata(new, old, RESET_METADATA);
    if let (Some(wanted), Some(spec)) = (wanted, new.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert("ephemeralContainers".to_owned(), wanted);
    }
}

/// Takes resources and resize policies of containers with the same name at the same place; renamed or moved ones are
/// left for validation to refuse.
fn resize(new: &mut Value, old: &Value) {
    let mut spec = old.get("spec").cloned().unwrap_or_default();
    if let Some(resources) = new.pointer("/spec/resources") {
        spec["resources"] = resources.clone();
    }
    for list in ["containers", "initContainers"] {
        let (wanted, Some(kept)) = (
            list_at(new, &format!("/spec/{list}")).to_vec(),
            spec.get_mut(list).and_then(Value::as_array_mut),
        ) else {
            continue;
        };
        if wanted.len() != kept.len()
            || wanted
                .iter()
                .zip(kept.iter())
                .any(|(new, old)| new["name"] != old["name"])
        {
            return;
        }
        for (wanted, kept) in wanted.iter().zip(kept) {
            for field in ["resources", "resizePolicy"] {
                restore(kept, wanted, field);
            }
        }
    }
    restore_all_but(new, old, &["metadata"]);
    restore_metadata(new, old, RESET_METADATA);
    if let Some(object) = new.as_object_mut().filter(|_| spec.is_object()) {
        object.insert("spec".to_owned(), spec);
    }
}
