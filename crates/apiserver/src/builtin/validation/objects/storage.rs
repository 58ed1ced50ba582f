//! Volumes, claims and storage classes.
//!
//! Upstream: `ValidatePersistentVolume*` in `pkg/apis/core/validation/validation.go` and
//! `pkg/apis/storage/validation/validation.go`.

use super::super::super::value::{at, list_at, semantically_equal, str_at};
use super::super::{immutable, required, supported};
use super::pod::{QUANTITY_FORMAT, parse};
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

const ACCESS_MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];

pub(crate) fn persistent_volume(volume: &Value) -> Vec<FieldError> {
    let (spec, path) = (&volume["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    access_modes(&mut errors, spec, &path, "");
    if spec["capacity"].as_object().is_none_or(serde_json::Map::is_empty) {
        errors.push(FieldError::required(path.child("capacity"), ""));
    } else {
        positive(
            &mut errors,
            &spec["capacity"]["storage"],
            &path.child("capacity").key("storage"),
        );
    }
    let mut sources = sources(spec);
    if sources.next().is_none() {
        errors.push(FieldError::required(path.clone(), "must specify a volume type"));
    } else if let Some((field, _)) = sources.next() {
        errors.push(FieldError::forbidden(
            path.child(field),
            "may not specify more than 1 volume type",
        ));
    }
    let policies = ["Delete", "Recycle", "Retain"];
    let policy = at(spec, "/persistentVolumeReclaimPolicy");
    supported(
        &mut errors,
        path.child("persistentVolumeReclaimPolicy"),
        policy,
        &policies,
    );
    supported(
        &mut errors,
        path.child("volumeMode"),
        at(spec, "/volumeMode"),
        VOLUME_MODES,
    );
    errors
}

/// The fields of a volume's specification that are not its source.
const NOT_SOURCES: &[&str] = &[
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

fn sources(spec: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = spec.as_object().into_iter().flatten();
    fields.filter(|(field, value)| !NOT_SOURCES.contains(&field.as_str()) && !value.is_null())
}

pub(crate) fn persistent_volume_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let source = |volume: &Value| -> Value {
        sources(&volume["spec"])
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect()
    };
    if !semantically_equal(Some(&source(new)), Some(&source(old))) {
        let detail = "spec.persistentvolumesource is immutable after creation";
        errors.push(FieldError::forbidden(
            FieldPath::new("spec").child("persistentvolumesource"),
            detail,
        ));
    }
    immutable(&mut errors, new, old, "/spec/volumeMode");
    errors
}

pub(crate) fn persistent_volume_claim(claim: &Value) -> Vec<FieldError> {
    let (spec, path) = (&claim["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    access_modes(&mut errors, spec, &path, "at least 1 access mode is required");
    let storage = path.child("resources").key("storage");
    match at(spec, "/resources/requests/storage") {
        None => errors.push(FieldError::required(storage, "")),
        Some(quantity) => positive(&mut errors, quantity, &storage),
    }
    if let Some(selector) = at(spec, "/selector") {
        super::workloads::label_selector(&mut errors, selector, &path.child("selector"));
    }
    supported(
        &mut errors,
        path.child("volumeMode"),
        at(spec, "/volumeMode"),
        VOLUME_MODES,
    );
    errors
}

fn access_modes(errors: &mut Vec<FieldError>, spec: &Value, path: &FieldPath, missing: &str) {
    let modes = list_at(spec, "/accessModes");
    let path = path.child("accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(path.clone(), missing));
    }
    for mode in modes {
        supported(errors, path.clone(), Some(mode), ACCESS_MODES);
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn positive(errors: &mut Vec<FieldError>, value: &Value, path: &FieldPath) {
    match parse(value) {
        None => errors.push(FieldError::invalid(path.clone(), value.clone(), QUANTITY_FORMAT)),
        Some(quantity) if quantity.is_negative() || quantity.is_zero() => {
            errors.push(FieldError::invalid(
                path.clone(),
                quantity.to_string(),
                "must be greater than zero",
            ));
        }
        Some(_) => {}
    }
}

/// A claim is fixed, except that it may be bound, grow once bound, and change its attributes class.
pub(crate) fn persistent_volume_claim_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_bound = str_at(old, "/status/phase") == "Bound";
    let is_unplaced = str_at(old, "/spec/volumeName").is_empty();
    let had_class = at(old, "/spec/storageClassName").is_some();
    let fixed = |claim: &Value| {
        let mut spec = claim["spec"].as_object().cloned().unwrap_or_default();
        if is_unplaced {
            spec.remove("volumeName");
        }
        if !had_class && !is_bound {
            // A default class that came later is filled in (KEP-3333).
            spec.remove("storageClassName");
        }
        if is_bound {
            spec.remove("volumeAttributesClassName");
            if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
                resources.remove("requests");
            }
        }
        Value::Object(spec)
    };
    if !semantically_equal(Some(&fixed(new)), Some(&fixed(old))) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.push(FieldError::forbidden(FieldPath::new("spec"), detail));
    }
    let storage = |claim: &Value, pointer: &str| at(claim, pointer).and_then(parse);
    let requested = "/spec/resources/requests/storage";
    if let (Some(after), Some(before)) = (storage(new, requested), storage(old, requested)) {
        let capacity = storage(old, "/status/capacity/storage");
        if after < before && capacity.is_none_or(|capacity| after < capacity) {
            let path = FieldPath::new("spec")
                .child("resources")
                .child("requests")
                .child("storage");
            errors.push(FieldError::forbidden(
                path,
                "field can not be less than status.capacity",
            ));
        }
    }
    immutable(&mut errors, new, old, "/spec/volumeMode");
    errors
}

pub(crate) fn storage_class(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    required(
        &mut errors,
        FieldPath::new("provisioner"),
        class.get("provisioner"),
        "",
    );
    supported(
        &mut errors,
        FieldPath::new("reclaimPolicy"),
        class.get("reclaimPolicy"),
        &["Delete", "Retain"],
    );
    let modes = ["Immediate", "WaitForFirstConsumer"];
    if required(
        &mut errors,
        FieldPath::new("volumeBindingMode"),
        class.get("volumeBindingMode"),
        "",
    ) {
        supported(
            &mut errors,
            FieldPath::new("volumeBindingMode"),
            class.get("volumeBindingMode"),
            &modes,
        );
    }
    errors
}

pub(crate) fn storage_class_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["parameters", "provisioner", "reclaimPolicy"] {
        if !semantically_equal(new.get(field), old.get(field)) {
            let detail = format!("updates to {field} are forbidden.");
            errors.push(FieldError::forbidden(FieldPath::new(field), detail));
        }
    }
    immutable(&mut errors, new, old, "/volumeBindingMode");
    errors
}

/// For kinds whose whole specification is fixed.
pub(crate) fn spec_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/spec");
    errors
}
