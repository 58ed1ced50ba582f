//! Changes of the resources of a pod that runs (KEP-1287, KEP-5419).
//!
//! Upstream: `ValidatePodResize`.

use super::super::field::{Errors, Field};
use super::{annotations, metadata_and_spec};
use crate::builtin::strategy::qos_class;
use crate::builtin::value::{Object, child, list_at, semantically_equal, str_at};
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

pub(crate) fn resize(new: &Value, old: &Value) -> Vec<FieldError> {
    let root = |detail: &str| vec![FieldError::forbidden(FieldPath::new("[]"), detail)];
    if old["metadata"]["annotations"].get(annotations::MIRROR).is_some() {
        return root("static pods cannot be resized");
    }
    if str_at(old, "/spec/os/name") == "windows" {
        return root("windows pods cannot be resized");
    }
    let mut errors = metadata_and_spec(new).without_old_faults(|| metadata_and_spec(old));
    let (spec, old_spec) = (Field::of(new, "spec"), Field::of(old, "spec"));
    let old_class = match str_at(old, "/status/qosClass") {
        "" => qos_class(old),
        class => class,
    };
    if old_class != qos_class(new) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        spec.invalid_as(&mut errors, str_at(new, "/status/qosClass"), detail);
    }
    let running = list_at(old, "/status/containerStatuses")
        .iter()
        .find(|status| !status["state"]["running"].is_null());
    if running.is_some_and(|status| status["resources"].is_null()) {
        spec.forbidden(&mut errors, "Pod running on node without support for resize");
    }
    let mut munged = spec.value.as_object().cloned().unwrap_or_default();
    check_pod_level(&mut errors, &spec, &old_spec, &mut munged);
    if !check_order(&mut errors, &spec, &old_spec) {
        return errors;
    }
    for list in ["initContainers", "containers"] {
        for (container, old) in spec.get(list).items().zip(old_spec.get(list).items()) {
            check_not_removed(
                &mut errors,
                &container.get("resources"),
                &old.get("resources"),
                "resource",
            );
        }
    }
    check_containers(&mut errors, &spec, old_spec.value, &mut munged);
    if !spec.get("volumes").same(&old_spec.get("volumes")) {
        let detail = "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate \
                      is disabled";
        spec.get("volumes").forbidden(&mut errors, detail);
    }
    if errors.is_empty() && !semantically_equal(Some(&Value::Object(munged)), Some(old_spec.value)) {
        spec.forbidden(&mut errors, "only cpu and memory resources are mutable");
    }
    errors
}

fn amounts(resources: &Field<'_, '_>) -> usize {
    resources.get("requests").len() + resources.get("limits").len()
}

fn check_pod_level(errors: &mut Errors, spec: &Field<'_, '_>, old_spec: &Field<'_, '_>, munged: &mut Object) {
    let (resources, old) = (spec.get("resources"), old_spec.get("resources"));
    if amounts(&resources) + amounts(&old) == 0 {
        return;
    }
    if old.exists() && !resources.exists() {
        resources.forbidden(errors, "pod-level resources cannot be removed");
        return;
    }
    if old.exists() {
        check_not_removed(errors, &resources, &old, "pod-level resource");
    }
    let mut kept = resources.value.clone();
    keep_cpu_and_memory(&mut kept, old.value);
    if !semantically_equal(Some(&kept), Some(old.value)) {
        spec.forbidden(errors, "only cpu and memory resources are mutable at pod-level");
    }
    munged.insert("resources".to_owned(), kept);
}

/// Requests and limits may change, but none may go.
fn check_not_removed(errors: &mut Errors, new: &Field<'_, '_>, old: &Field<'_, '_>, what: &str) {
    for list in ["requests", "limits"] {
        let (new, old) = (new.get(list), old.get(list));
        if old.entries().any(|(name, _)| !new.key(name).exists()) {
            new.forbidden(errors, format!("{what} {list} cannot be removed"));
        }
    }
}

/// Sets cpu and memory of `new` to what they are in `old`.
fn keep_cpu_and_memory(new: &mut Value, old: &Value) {
    for list in ["requests", "limits"] {
        for name in ["cpu", "memory"] {
            let kept = old[list].get(name).cloned();
            let Some(resources) = new.as_object_mut() else {
                return;
            };
            match kept {
                Some(kept) => {
                    if let Some(amounts) = child(resources, list) {
                        amounts.insert(name.to_owned(), kept);
                    }
                }
                None => {
                    if let Some(amounts) = resources.get_mut(list).and_then(Value::as_object_mut) {
                        amounts.remove(name);
                    }
                }
            }
        }
    }
}

fn check_order(errors: &mut Errors, spec: &Field<'_, '_>, old_spec: &Field<'_, '_>) -> bool {
    let before = errors.len();
    for list in ["containers", "initContainers"] {
        let (containers, old) = (spec.get(list), old_spec.get(list));
        if containers.len() != old.len() {
            containers.forbidden(errors, format!("{list} may not be added or removed on resize"));
            continue;
        }
        for (container, old) in containers.items().zip(old.list()) {
            let name = container.get("name");
            if name.value != &old["name"] {
                name.forbidden(
                    errors,
                    format!("{list} may not be renamed or reordered on resize"),
                );
            }
        }
    }
    errors.len() == before
}

fn check_containers(errors: &mut Errors, spec: &Field<'_, '_>, old_spec: &Value, munged: &mut Object) {
    for list in ["containers", "initContainers"] {
        let containers = spec.get(list);
        for container in containers.items() {
            let at = containers
                .list()
                .iter()
                .position(|other| std::ptr::eq(other, container.value));
            let Some(old) = at.and_then(|at| old_spec[list].get(at)) else {
                continue;
            };
            let mut kept = container.value.clone();
            if let Some(resources) = kept.get_mut("resources") {
                keep_cpu_and_memory(resources, &old["resources"]);
            }
            let is_same = semantically_equal(Some(&kept), Some(old));
            if list == "containers" {
                if !is_same {
                    spec.forbidden(errors, "only cpu and memory resources are mutable");
                }
            } else {
                if !is_same {
                    let detail = "only cpu and memory resources for init or sidecar containers are mutable";
                    container.forbidden(errors, detail);
                }
                check_init(errors, &container, old);
            }
            if let Some(slot) = munged
                .get_mut(list)
                .zip(at)
                .and_then(|(list, at)| list.get_mut(at))
            {
                *slot = kept;
            }
        }
    }
}

/// An init container that is over cannot be restarted to have more.
fn check_init(errors: &mut Errors, container: &Field<'_, '_>, old: &Value) {
    let is_sidecar = container.get("restartPolicy").text() == "Always";
    if is_sidecar || semantically_equal(Some(container.value), Some(old)) {
        return;
    }
    for policy in container.get("resizePolicy").list() {
        if policy["restartPolicy"] == "RestartContainer" {
            let detail =
                "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
            container.forbidden(errors, detail);
        }
    }
}
