//! Environment variables and where their values come from.
//!
//! Upstream: `ValidateEnv`, `ValidateEnvFrom`, `validateObjectFieldSelector` and `validateContainerResourceFieldSelector`.

use super::super::field::{Errors, Field};
use super::super::names::{
    NameRule, NameUse, config_key, environment_variable, label, no_backsteps, qualified_name, subdomain,
};

pub(super) fn check(errors: &mut Errors, container: &Field<'_, '_>) {
    for variable in container.get("env").items() {
        variable
            .get("name")
            .required_checked(errors, environment_variable);
        let source = variable.get("valueFrom");
        if source.exists() {
            check_source(errors, &source, variable.get("value").is_set());
        }
    }
    let list = container.get("envFrom");
    for source in list.items() {
        source.get("prefix").checked_if_set(errors, environment_variable);
        let mut given = 0;
        for reference in ["configMapRef", "secretRef"] {
            let reference = source.get(reference);
            if reference.exists() {
                given += 1;
                // Upstream checks the name as a prefix of one.
                reference
                    .get("name")
                    .required_checked(errors, |name| NameRule::Subdomain.check(name, NameUse::Prefix));
            }
        }
        match given {
            0 => list.invalid_as(errors, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => list.invalid_as(errors, "", "may not have more than one field specified at a time"),
        }
    }
}

/// What a variable may take from the pod.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn check_source(errors: &mut Errors, source: &Field<'_, '_>, has_value: bool) {
    let mut given = 0;
    let mut is_given = |field: &Field<'_, '_>| {
        given += u32::from(field.exists());
        field.exists()
    };
    let field = source.get("fieldRef");
    if is_given(&field) {
        check_field_ref(errors, &field, ENV_FIELDS);
    }
    let resource = source.get("resourceFieldRef");
    if is_given(&resource) {
        check_resource_ref(errors, &resource, Place::Environment);
    }
    for key in ["configMapKeyRef", "secretKeyRef"] {
        let reference = source.get(key);
        if is_given(&reference) {
            reference.get("name").checked(errors, subdomain);
            reference.get("key").required_checked(errors, config_key);
        }
    }
    let file = source.get("fileKeyRef");
    if is_given(&file) {
        file.get("key").required_checked(errors, environment_variable);
        file.get("volumeName").required_checked(errors, label);
        file.get("path").required_checked(errors, no_backsteps);
    }
    let detail = match given {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if has_value => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    source.invalid_as(errors, "", detail);
}

/// The fields of a pod that can be named at all (`ConvertDownwardAPIFieldLabel`).
const POD_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Checks a reference to a field of the pod, which must be one of `supported` or one label or annotation.
pub(super) fn check_field_ref(errors: &mut Errors, reference: &Field<'_, '_>, supported: &[&str]) {
    let (version, path) = (reference.get("apiVersion"), reference.get("fieldPath"));
    if !version.must_be_set(errors) || !path.must_be_set(errors) {
        return;
    }
    let text = path.text();
    let subscript = text
        .strip_suffix("']")
        .and_then(|text| text.split_once("['"))
        .filter(|(path, _)| !path.is_empty());
    let problem = match subscript {
        _ if version.text() != "v1" => Some(format!("unsupported pod version: {}", version.text())),
        Some(("metadata.annotations" | "metadata.labels", _)) => None,
        Some(_) => Some(format!("field label does not support subscript: {text}")),
        None if POD_FIELDS.contains(&text) || text == "spec.host" => None,
        None => Some(format!("field label not supported: {text}")),
    };
    if let Some(problem) = problem {
        path.invalid(errors, format!("error converting fieldPath: {problem}"));
        return;
    }
    match subscript {
        Some((map, key)) => {
            let key = if map == "metadata.annotations" {
                key.to_lowercase()
            } else {
                key.to_owned()
            };
            for message in qualified_name(&key) {
                reference.invalid_as(errors, key.as_str(), message);
            }
        }
        None => {
            // The name that old clients have for the node.
            let text = if text == "spec.host" {
                "spec.nodeName"
            } else {
                text
            };
            if !supported.contains(&text) {
                errors.push(kubewright_core::FieldError::not_supported(
                    path.path(),
                    text,
                    supported,
                ));
            }
        }
    }
}

/// Where an amount of a resource is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a variable of the container itself.
    Environment,
    /// In a file of a volume, which must say of which container.
    Volume,
}

const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const CPU_DIVISORS: &[&str] = &["1m", "1"];
const BYTE_DIVISORS: &[&str] = &[
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

pub(super) fn check_resource_ref(errors: &mut Errors, reference: &Field<'_, '_>, place: Place) {
    let (container, resource) = (reference.get("containerName"), reference.get("resource"));
    let name = resource.text();
    let is_huge_page = name.starts_with("requests.hugepages-") || name.starts_with("limits.hugepages-");
    if place == Place::Volume && !container.is_set() {
        container.required(errors, "");
    } else if name.is_empty() {
        resource.required(errors, "");
    } else if !RESOURCES.contains(&name) && !is_huge_page {
        resource.not_supported(errors, RESOURCES);
    }
    let divisor = reference.get("divisor");
    let Some(amount) = divisor.quantity().filter(|amount| !amount.is_zero()) else {
        return;
    };
    let (divisors, words) = match name {
        "limits.cpu" | "requests.cpu" => (CPU_DIVISORS, "cpu"),
        "limits.memory" | "requests.memory" => (BYTE_DIVISORS, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (BYTE_DIVISORS, "local ephemeral storage")
        }
        _ if is_huge_page => (BYTE_DIVISORS, "hugepages"),
        _ => return,
    };
    if !divisors.contains(&amount.to_string().as_str()) {
        let known = if words == "cpu" {
            "1m and 1".to_owned()
        } else {
            BYTE_DIVISORS.join(", ")
        };
        let detail = format!("only divisor's values {known} are supported with the {words} resource");
        divisor.invalid_as(errors, name, detail);
    }
}
