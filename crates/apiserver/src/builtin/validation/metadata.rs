//! Validation of `metadata`.
//!
//! Upstream: `pkg/api/validation/objectmeta.go` of apimachinery.

use super::super::value::{at, int_at, list_at, map_at, semantically_equal, str_at, true_at};
use super::names::{NameRule, NameUse, label, label_value, qualified_name};
use super::{IMMUTABLE, invalid_each, not_negative};
use kubewright_core::{FieldError, FieldPath};
use kubewright_kinds::Scope;
use kubewright_smd::managed::validate_entries;
use serde_json::Value;
use std::collections::BTreeSet;

/// The most bytes that the keys and values of all annotations may have together.
pub(crate) const ANNOTATIONS_MAX: usize = 256 * 1024;

/// What the garbage collector has to do before the object goes.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Checks the metadata of a new object, after its name was generated.
pub(crate) fn create(object: &Value, scope: Scope, rule: NameRule) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("metadata");
    let generate_name = str_at(object, "/metadata/generateName");
    if !generate_name.is_empty() {
        let messages = rule.check(generate_name, NameUse::Prefix);
        invalid_each(&mut errors, &path.child("generateName"), generate_name, messages);
    }
    let name = str_at(object, "/metadata/name");
    if name.is_empty() {
        errors.push(FieldError::required(
            path.child("name"),
            "name or generateName is required",
        ));
    } else {
        invalid_each(
            &mut errors,
            &path.child("name"),
            name,
            rule.check(name, NameUse::Whole),
        );
    }
    let namespace = str_at(object, "/metadata/namespace");
    match scope {
        Scope::Namespaced if namespace.is_empty() => {
            errors.push(FieldError::required(path.child("namespace"), ""));
        }
        Scope::Namespaced => invalid_each(&mut errors, &path.child("namespace"), namespace, label(namespace)),
        Scope::Cluster if !namespace.is_empty() => {
            errors.push(FieldError::forbidden(
                path.child("namespace"),
                "not allowed on this type",
            ));
        }
        Scope::Cluster => {}
    }
    let metadata = &object["metadata"];
    common(&mut errors, metadata, &path);
    finalizers(&mut errors, metadata, &path);
    errors
}

/// Checks the metadata of a changed object against the stored one.
pub(crate) fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("metadata");
    let (new_metadata, old_metadata) = (&new["metadata"], &old["metadata"]);
    // Once an object is there, its name has to be a segment of a path and nothing more.
    let generate_name = str_at(new_metadata, "/generateName");
    if !generate_name.is_empty() {
        let messages = NameRule::PathSegment.check(generate_name, NameUse::Prefix);
        invalid_each(&mut errors, &path.child("generateName"), generate_name, messages);
    }
    finalizers(&mut errors, new_metadata, &path);
    if at(old_metadata, "/deletionTimestamp").is_some() {
        no_new_finalizers(&mut errors, new, old, &path.child("finalizers"));
    }
    if str_at(new_metadata, "/resourceVersion").is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(path.child("resourceVersion"), "", detail));
    }
    let generation = int_at(new_metadata, "/generation").unwrap_or(0);
    if generation < int_at(old_metadata, "/generation").unwrap_or(0) {
        errors.push(FieldError::invalid(
            path.child("generation"),
            generation,
            "must not be decremented",
        ));
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (new, old) = (new_metadata.get(field), old_metadata.get(field));
        if new != old && !semantically_equal(new, old) {
            let value = new.cloned().unwrap_or_default();
            errors.push(FieldError::invalid(path.child(field), value, IMMUTABLE));
        }
    }
    common(&mut errors, new_metadata, &path);
    errors
}

/// What is wrong with the metadata of a resource within another: its name may be absent, or whatever is a segment of a path
/// (apiextensions `pkg/apiserver/schema/objectmeta/validation.go`).
pub(crate) fn embedded(path: &FieldPath, resource: &Value) -> Vec<FieldError> {
    let Some(fields) = resource.get("metadata").and_then(Value::as_object) else {
        return Vec::new();
    };
    let is_empty = |field: &str| {
        fields
            .get(field)
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
    };
    let scope = match is_empty("namespace") {
        true => Scope::Cluster,
        false => Scope::Namespaced,
    };
    let errors = create(resource, scope, NameRule::PathSegment);
    let is_told = |error: &FieldError| !(is_empty("name") && error.path.as_str() == "metadata.name");
    let below = |mut error: FieldError| {
        error.path = path.child(error.path.as_str());
        error
    };
    errors.into_iter().filter(is_told).map(below).collect()
}

/// What holds for every object. `path` is that of the metadata.
fn common(errors: &mut Vec<FieldError>, metadata: &Value, path: &FieldPath) {
    let Some(members) = metadata.as_object() else {
        return;
    };
    // Most fields need no checks. Each is looked at once, and what is wrong is told of in upstream's order.
    let [mut generation, mut label, mut annotation, mut owners, mut entries] = [None; 5];
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "annotations" => annotation = Some(value),
            "generation" => generation = Some(value),
            "labels" => label = Some(value),
            "managedFields" => entries = Some(value),
            "ownerReferences" => owners = Some(value),
            _ => {}
        }
    }
    if generation.is_some() {
        not_negative(errors, path.child("generation"), generation);
    }
    if let Some(found) = label {
        labels(errors, found, "", &path.child("labels"));
    }
    if let Some(found) = annotation {
        annotations(errors, found, "", &path.child("annotations"));
    }
    if let Some(found) = owners {
        owner_references(errors, found, &path.child("ownerReferences"));
    }
    if let Some(found) = entries {
        errors.extend(validate_entries(found, &path.child("managedFields")));
    }
}

/// Checks the labels at a JSON pointer.
pub(crate) fn labels(errors: &mut Vec<FieldError>, object: &Value, pointer: &str, path: &FieldPath) {
    for (key, value) in map_at(object, pointer) {
        invalid_each(errors, path, key, qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        invalid_each(errors, path, value, label_value(value));
    }
}

/// Checks the annotations at a JSON pointer: keys like those of labels, in any case, and their size together.
pub(crate) fn annotations(errors: &mut Vec<FieldError>, object: &Value, pointer: &str, path: &FieldPath) {
    let mut size = 0_usize;
    for (key, value) in map_at(object, pointer) {
        invalid_each(errors, path, key, qualified_name(&key.to_lowercase()));
        size = size
            .saturating_add(key.len())
            .saturating_add(value.as_str().map_or(0, str::len));
    }
    if size > ANNOTATIONS_MAX {
        errors.push(FieldError::too_long(path.clone(), ANNOTATIONS_MAX));
    }
}

fn owner_references(errors: &mut Vec<FieldError>, references: &Value, path: &FieldPath) {
    let references = list_at(references, "");
    let mut controller: Option<String> = None;
    for (index, reference) in references.iter().enumerate() {
        let path_here = path.index(index);
        let (api_version, kind) = (str_at(reference, "/apiVersion"), str_at(reference, "/kind"));
        if api_version.is_empty() {
            errors.push(FieldError::required(
                path_here.child("apiVersion"),
                "must not be empty",
            ));
        } else if api_version.matches('/').count() > 1 || api_version.ends_with('/') {
            let detail = "must be <group>/<version> or <version>";
            errors.push(FieldError::invalid(
                path_here.child("apiVersion"),
                api_version,
                detail,
            ));
        }
        for field in ["kind", "name", "uid"] {
            if reference[field].as_str().is_none_or(str::is_empty) {
                errors.push(FieldError::required(path_here.child(field), "must not be empty"));
            }
        }
        if (api_version, kind) == ("v1", "Event") {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path_here, reference.clone(), detail));
        }
        if true_at(reference, "/controller") {
            let name = format!("{kind}/{}", str_at(reference, "/name"));
            if let Some(first) = &controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                );
                errors.push(FieldError::invalid(path.clone(), references.to_vec(), detail));
            } else {
                controller = Some(name);
            }
        }
    }
}

fn names_at(object: &Value, pointer: &str) -> BTreeSet<String> {
    list_at(object, pointer)
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// `path` is that of the metadata.
fn finalizers(errors: &mut Vec<FieldError>, metadata: &Value, path: &FieldPath) {
    let finalizers = list_at(metadata, "/finalizers");
    if finalizers.is_empty() {
        return;
    }
    let path = &path.child("finalizers");
    for finalizer in finalizers.iter().filter_map(Value::as_str) {
        invalid_each(errors, path, finalizer, qualified_name(finalizer));
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has(ORPHAN) && has(FOREGROUND) {
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.push(FieldError::invalid(path.clone(), finalizers.to_vec(), detail));
    }
}

/// Of the finalizers without a domain, only those that Kubernetes itself uses are known (`validateKubeFinalizerName`).
pub(crate) fn own_or_qualified_finalizers(errors: &mut Vec<FieldError>, object: &Value) {
    let finalizers = list_at(object, "/metadata/finalizers").iter().enumerate();
    let path = || FieldPath::new("metadata").child("finalizers");
    for (index, finalizer) in finalizers.filter_map(|(index, value)| Some((index, value.as_str()?))) {
        if !finalizer.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(&finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(path().index(index), finalizer, detail));
        }
    }
}

fn no_new_finalizers(errors: &mut Vec<FieldError>, new: &Value, old: &Value, path: &FieldPath) {
    let (new, old) = (
        names_at(new, "/metadata/finalizers"),
        names_at(old, "/metadata/finalizers"),
    );
    let added: Vec<String> = new.difference(&old).map(|name| format!("{name:?}")).collect();
    if !added.is_empty() {
        // Upstream prints the list as a Go literal.
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        );
        errors.push(FieldError::forbidden(path.clone(), detail));
    }
}
