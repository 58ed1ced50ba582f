//! Annotations of pods that mean something to the server, most of them names that fields had before they were fields.
//!
//! Upstream: `ValidatePodSpecificAnnotations` and `ValidatePodSpecificAnnotationUpdates`.

use super::super::field::{Errors, Field};
use super::super::names::{local_path, no_backsteps};
use super::{Findings, Relaxable, check_tolerations, each_container};
use kubewright_core::FieldPath;
use serde_json::Value;

/// Marks a pod that its kubelet made, for which the object is only a mirror.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn check(findings: &mut Findings, annotations: &Field<'_, '_>, spec: &Field<'_, '_>) {
    let errors = &mut findings.errors;
    if annotations.key(MIRROR).exists() && !spec.get("nodeName").is_set() {
        annotations
            .key(MIRROR)
            .invalid(errors, "must set spec.nodeName if mirror pod annotation is set");
    }
    check_tolerations_annotation(errors, annotations);
    let cost = annotations.key(DELETION_COST);
    if cost.exists() && !is_cost(cost.text()) {
        findings.relaxable(Relaxable::DeletionCost, |errors| {
            cost.invalid(errors, "must be a 32bit integer");
        });
    }
    let errors = &mut findings.errors;
    for (key, value) in annotations.entries() {
        if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            check_seccomp(errors, &annotations.get(key).with(value.value), value.text());
        }
    }
    for (key, value) in annotations.entries() {
        let Some(name) = key.strip_prefix(APP_ARMOR) else {
            continue;
        };
        let mut is_there = false;
        each_container(spec, |container| {
            is_there |= container.get("name").text() == name;
        });
        if !is_there {
            value.invalid_as(errors, name, "container not found");
        }
        let profile = value.text();
        let is_known = matches!(profile, "" | "runtime/default" | "unconfined");
        if !is_known && !profile.starts_with("localhost/") {
            value.invalid(errors, format!("invalid AppArmor profile name: {profile:?}"));
        }
    }
}

/// A whole number of 32 bits, written without a plus or leading zeros.
fn is_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = text == "0" || (!digits.starts_with('0') && !digits.starts_with('+'));
    is_plain && text.parse::<i32>().is_ok()
}

fn check_tolerations_annotation(errors: &mut Errors, annotations: &Field<'_, '_>) {
    let text = annotations.key(TOLERATIONS).text();
    if text.is_empty() {
        return;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(tolerations) => {
            let path = annotations.get(TOLERATIONS).path();
            check_tolerations(errors, &Field::root(path.as_str(), &tolerations));
        }
        Err(error) => annotations.invalid_as(errors, TOLERATIONS, error.to_string()),
    }
}

fn check_seccomp(errors: &mut Errors, at: &Field<'_, '_>, profile: &str) {
    if matches!(profile, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match profile.strip_prefix("localhost/") {
        Some(path) => {
            let messages = local_path(path).into_iter().chain(no_backsteps(path));
            for message in messages {
                at.invalid_as(errors, path, message);
            }
        }
        None => at.invalid_as(errors, profile, "must be a valid seccomp profile"),
    }
}

/// Where a profile is given by annotation and by field, the two must agree.
pub(super) fn check_profiles_match(errors: &mut Errors, meta: &Field<'_, '_>, spec: &Field<'_, '_>) {
    let annotations = meta.get("annotations");
    let context = spec.get("securityContext");
    let of_pod = context.get("seccompProfile");
    if of_pod.exists() && annotations.key(SECCOMP_POD).exists() {
        check_match(errors, &of_pod, annotations.key(SECCOMP_POD).text(), &SECCOMP);
    }
    each_container(spec, |container| {
        let context = container.get("securityContext");
        let key = format!("{SECCOMP_CONTAINER}{}", container.get("name").text());
        let profile = context.get("seccompProfile");
        if profile.exists() && annotations.key(&key).exists() {
            check_match(errors, &profile, annotations.key(&key).text(), &SECCOMP);
        }
    });
    if spec.get("os").get("name").text() == "windows" {
        return;
    }
    each_container(spec, |container| {
        let own = container.get("securityContext");
        let own = own.get("appArmorProfile");
        let profile = if own.exists() {
            own.value
        } else {
            context.get("appArmorProfile").value
        };
        let key = format!("{APP_ARMOR}{}", container.get("name").text());
        if !profile.is_null() && annotations.key(&key).exists() {
            let at = own.with(profile);
            check_match(errors, &at, annotations.key(&key).text(), &APP_ARMOR_WORDS);
        }
    });
}

/// How a kind of profile is written in an annotation.
struct Words {
    defaults: &'static [&'static str],
    type_differs: &'static str,
    profile_differs: &'static str,
}

const SECCOMP: Words = Words {
    defaults: &["runtime/default", "docker/default"],
    type_differs: "seccomp type in annotation and field must match",
    profile_differs: "seccomp profile in annotation and field must match",
};
const APP_ARMOR_WORDS: Words = Words {
    defaults: &["runtime/default"],
    type_differs: "apparmor type in annotation and field must match",
    profile_differs: "apparmor profile in annotation and field must match",
};

fn check_match(errors: &mut Errors, profile: &Field<'_, '_>, annotation: &str, words: &Words) {
    let kind = profile.get("type");
    let agrees = match kind.text() {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => words.defaults.contains(&annotation),
        "Localhost" => annotation.starts_with("localhost/"),
        _ => true,
    };
    if !agrees {
        kind.forbidden(errors, words.type_differs);
        return;
    }
    let path = profile.get("localhostProfile");
    if kind.text() == "Localhost" && annotation.strip_prefix("localhost/") != path.value.as_str() {
        path.forbidden(errors, words.profile_differs);
    }
}

/// What an update may not do to them.
pub(super) fn check_update(findings: &mut Findings, new: &Value, old: &Value) {
    let path = FieldPath::new("metadata").child("annotations");
    let (new_meta, old_meta) = (&new["metadata"]["annotations"], &old["metadata"]["annotations"]);
    let (new_at, old_at) = (
        Field::root(path.as_str(), new_meta),
        Field::root(path.as_str(), old_meta),
    );
    let errors = &mut findings.errors;
    let what = |key: &str| match key {
        MIRROR => Some("mirror pod annotation"),
        key if key.starts_with(APP_ARMOR) => Some("AppArmor annotations"),
        _ => None,
    };
    for (key, entry) in old_at.entries() {
        if let Some(what) = what(key).filter(|_| new_at.key(key).value != entry.value) {
            entry.forbidden(errors, format!("may not remove or update {what}"));
        }
    }
    for (key, entry) in new_at.entries() {
        if let Some(what) = what(key).filter(|_| !old_at.key(key).exists()) {
            entry.forbidden(errors, format!("may not add {what}"));
        }
    }
    check(findings, &new_at, &Field::of(new, "spec"));
}
