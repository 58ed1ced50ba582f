//! Validation of custom resource definitions.
//!
//! Upstream: apiextensions `pkg/apis/apiextensions/validation/validation.go`. Rules in CEL are not checked here.

mod approval;
mod conversion;
mod version;

use std::collections::HashSet;

use kubewright_core::{FieldError, FieldPath};
use kubewright_schema::each_schema;
use serde_json::Value;

pub(crate) use self::approval::{APPROVED as APPROVAL_ANNOTATION, Approval};
use self::version::Lifted;
use super::super::super::value::{list_at, str_at, true_at};
use super::super::names::{dns_1035_label, subdomain};
use super::super::{immutable, supported};

type Errors = Vec<FieldError>;

/// Checks a definition; `old` is the one that it replaces.
pub(crate) fn custom_resource_definition(definition: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    if old.is_none() {
        check_own_name(&mut errors, definition);
    }
    check_spec(&mut errors, definition, old);
    if let Some(old) = old {
        check_update(&mut errors, definition, old);
    }
    check_accepted_names(&mut errors, definition);
    check_stored_versions(&mut errors, definition);
    approval::check(&mut errors, definition, old);
    let preserves = |definition| true_at(definition, PRESERVE);
    if preserves(definition) && !old.is_some_and(preserves) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        let path = FieldPath::new("spec").child("preserveUnknownFields");
        errors.push(FieldError::invalid(path, true, detail));
    }
    errors
}

/// Checks what a write to the status may change.
pub(crate) fn custom_resource_definition_part(_: &str, definition: &Value, _: &Value) -> Errors {
    let mut errors = Errors::new();
    check_accepted_names(&mut errors, definition);
    errors
}

fn check_own_name(errors: &mut Errors, definition: &Value) {
    let name = str_at(definition, "/metadata/name");
    let plural = str_at(definition, "/spec/names/plural");
    let wanted = format!("{plural}.{}", str_at(definition, "/spec/group"));
    // That there is no name is told of elsewhere.
    if !name.is_empty() && name != wanted {
        let path = FieldPath::new("metadata").child("name");
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn check_spec(errors: &mut Errors, definition: &Value, old: Option<&Value>) {
    let spec = FieldPath::new("spec");
    check_group(errors, str_at(definition, "/spec/group"), &spec.child("group"));
    let scope = str_at(definition, "/spec/scope");
    if scope.is_empty() {
        errors.push(FieldError::required(spec.child("scope"), ""));
    }
    let scopes = &["Cluster", "Namespaced"];
    supported(
        errors,
        spec.child("scope"),
        definition.pointer("/spec/scope"),
        scopes,
    );
    let versions = list_at(definition, "/spec/versions");
    let versions_path = spec.child("versions");
    version::check_schemas_given(errors, versions, &versions_path);
    if true_at(definition, PRESERVE) && versions.iter().any(has_defaults) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(
            spec.child("preserveUnknownFields"),
            true,
            detail,
        ));
    }
    let lifted = Lifted::of(versions);
    for (index, version) in versions.iter().enumerate() {
        check_version_name(errors, version, &versions_path.index(index));
        lifted.check_version(errors, version, &versions_path.index(index));
    }
    check_versions(errors, definition, lifted, &versions_path);
    let first = versions.first().map_or("", |version| str_at(version, "/name"));
    let wrong = dns_1035_label(first);
    if !first.is_empty() && !wrong.is_empty() {
        // Upstream keeps the first name in a field of its own, from the time when there was one version.
        errors.push(FieldError::invalid(spec.child("version"), first, wrong.join(",")));
    }
    let names = spec.child("names");
    check_names_given(errors, &definition["spec"]["names"], &names);
    check_names(errors, &definition["spec"]["names"], &names);
    lifted.check_common(errors, versions, &spec);
    conversion::check(errors, definition, old);
}

fn check_update(errors: &mut Errors, new: &Value, old: &Value) {
    if is_established(old) {
        // Objects are stored by these.
        immutable(errors, new, old, "/spec/scope");
        immutable(errors, new, old, "/spec/names/kind");
    }
    immutable(errors, new, old, "/spec/group");
    immutable(errors, new, old, "/spec/names/plural");
}

fn is_established(definition: &Value) -> bool {
    let conditions = list_at(definition, "/status/conditions");
    conditions
        .iter()
        .any(|one| one["type"] == "Established" && one["status"] == "True")
}

fn check_group(errors: &mut Errors, group: &str, path: &FieldPath) {
    if group.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    let wrong = subdomain(group);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path.clone(), group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            path.clone(),
            group,
            "should be a domain with at least one dot",
        ));
    }
}

fn check_names_given(errors: &mut Errors, names: &Value, path: &FieldPath) {
    for name in ["plural", "singular", "kind", "listKind"] {
        if names[name].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(path.child(name), ""));
        }
    }
}

/// Names are checked where they are given: those that a status has accepted may be none.
fn check_names(errors: &mut Errors, names: &Value, path: &FieldPath) {
    for name in ["plural", "singular", "kind", "listKind"] {
        let text = names[name].as_str().unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        let is_kind = matches!(name, "kind" | "listKind");
        let (wrong, hint) = match is_kind {
            true => (
                dns_1035_label(&text.to_lowercase()),
                "may have mixed case, but should otherwise match: ",
            ),
            false => (dns_1035_label(text), ""),
        };
        if !wrong.is_empty() {
            let detail = format!("{hint}{}", wrong.join(","));
            errors.push(FieldError::invalid(path.child(name), text, detail));
        }
    }
    check_labels(errors, &names["shortNames"], &path.child("shortNames"));
    let kind = names["kind"].as_str().unwrap_or_default();
    if !kind.is_empty() && names["listKind"] == kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(path.child("listKind"), kind, detail));
    }
    check_labels(errors, &names["categories"], &path.child("categories"));
}

fn check_labels(errors: &mut Errors, labels: &Value, path: &FieldPath) {
    for (index, label) in labels.as_array().into_iter().flatten().enumerate() {
        let label = label.as_str().unwrap_or_default();
        let wrong = dns_1035_label(label);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(path.index(index), label, wrong.join(",")));
        }
    }
}

fn check_accepted_names(errors: &mut Errors, definition: &Value) {
    let path = FieldPath::new("status").child("acceptedNames");
    check_names(errors, &definition["status"]["acceptedNames"], &path);
}

fn check_version_name(errors: &mut Errors, version: &Value, path: &FieldPath) {
    let name = str_at(version, "/name");
    let wrong = dns_1035_label(name);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path.child("name"), name, wrong.join(",")));
    }
}

/// What holds of the versions together.
fn check_versions(errors: &mut Errors, definition: &Value, lifted: Lifted, path: &FieldPath) {
    let versions = list_at(definition, "/spec/versions");
    let mut names = HashSet::new();
    let is_unique = versions
        .iter()
        .all(|version| names.insert(str_at(version, "/name")));
    let shown = || match definition.pointer("/spec/versions") {
        Some(Value::Array(versions)) => versions.iter().map(|version| lifted.rest_of(version)).collect(),
        _ => Value::Null,
    };
    if !is_unique {
        let detail = "must contain unique version names";
        errors.push(FieldError::invalid(path.clone(), shown(), detail));
    }
    let is_stored = |version: &&Value| true_at(version, "/storage");
    if versions.iter().filter(is_stored).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid(path.clone(), shown(), detail));
    }
}

fn has_defaults(version: &Value) -> bool {
    let mut found = false;
    if let Some(schema) = version.pointer(SCHEMA) {
        each_schema(schema, &mut |one| {
            found |= one.get("default").is_some_and(|default| !default.is_null())
        });
    }
    found
}

fn check_stored_versions(errors: &mut Errors, definition: &Value) {
    let path = FieldPath::new("status").child("storedVersions");
    let stored = list_at(definition, "/status/storedVersions");
    let versions = list_at(definition, "/spec/versions");
    let all = || {
        definition
            .pointer("/status/storedVersions")
            .cloned()
            .unwrap_or_default()
    };
    if stored.is_empty() {
        return errors.push(FieldError::invalid(
            path,
            all(),
            "must have at least one stored version",
        ));
    }
    for version in versions.iter().filter(|version| true_at(version, "/storage")) {
        if !stored.contains(&version["name"]) {
            let detail = format!("must have the storage version {}", str_at(version, "/name"));
            errors.push(FieldError::invalid(path.clone(), all(), detail));
        }
    }
    for (i, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            let v = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {v} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {v} and removes {v} from status.storedVersions"
            );
            errors.push(FieldError::invalid(path.index(i), v, detail));
        }
    }
}

const SCHEMA: &str = "/schema/openAPIV3Schema";
const PRESERVE: &str = "/spec/preserveUnknownFields";

#[cfg(test)]
mod tests;
