//! Rights, priorities, leases, certificates and the registration of webhooks and API services.
//!
//! Upstream: `pkg/apis/{rbac,scheduling,coordination,certificates,admissionregistration,node}/validation/validation.go`
//! and `pkg/apis/apiregistration/validation/validation.go` of kube-aggregator.

use std::collections::BTreeSet;

use super::super::super::value::{at, int_at, list_at, semantically_equal, str_at};
use super::super::names::{NameRule, NameUse, label};
use super::super::{immutable, invalid_each, not_negative, required, supported};
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn role(role: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    policy_rules(&mut errors, role, |errors, rule, path| {
        if !list_at(rule, "/nonResourceURLs").is_empty() {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            let urls = rule["nonResourceURLs"].clone();
            errors.push(FieldError::invalid(path.child("nonResourceURLs"), urls, detail));
        }
    });
    errors
}

pub(crate) fn cluster_role(role: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    policy_rules(&mut errors, role, |_, _, _| {});
    let path = FieldPath::new("aggregationRule").child("clusterRoleSelectors");
    if at(role, "/aggregationRule").is_some() {
        let selectors = list_at(role, "/aggregationRule/clusterRoleSelectors");
        if selectors.is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.push(FieldError::required(path.clone(), detail));
        }
        for (index, selector) in selectors.iter().enumerate() {
            super::workloads::label_selector(&mut errors, selector, &path.index(index));
        }
    }
    errors
}

fn policy_rules(
    errors: &mut Vec<FieldError>,
    role: &Value,
    check: fn(&mut Vec<FieldError>, &Value, &FieldPath),
) {
    for (index, rule) in list_at(role, "/rules").iter().enumerate() {
        let path = FieldPath::new("rules").index(index);
        let has = |field: &str| !list_at(rule, &format!("/{field}")).is_empty();
        if !has("verbs") {
            errors.push(FieldError::required(
                path.child("verbs"),
                "verbs must contain at least one value",
            ));
        }
        check(errors, rule, &path);
        if has("nonResourceURLs") {
            if has("apiGroups") || has("resources") || has("resourceNames") {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                let urls = rule["nonResourceURLs"].clone();
                errors.push(FieldError::invalid(path.child("nonResourceURLs"), urls, detail));
            }
            continue;
        }
        if !has("apiGroups") {
            let detail = "resource rules must supply at least one api group";
            errors.push(FieldError::required(path.child("apiGroups"), detail));
        }
        if !has("resources") {
            let detail = "resource rules must supply at least one resource";
            errors.push(FieldError::required(path.child("resources"), detail));
        }
    }
}

pub(crate) fn role_binding(binding: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("roleRef");
    let is_namespaced = !str_at(binding, "/metadata/namespace").is_empty();
    let group = str_at(binding, "/roleRef/apiGroup");
    if group != RBAC_GROUP {
        errors.push(FieldError::not_supported(
            path.child("apiGroup"),
            group,
            &[RBAC_GROUP],
        ));
    }
    let kinds: &[&str] = if is_namespaced {
        &["ClusterRole", "Role"]
    } else {
        &["ClusterRole"]
    };
    let kind = str_at(binding, "/roleRef/kind");
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported(path.child("kind"), kind, kinds));
    }
    let name = str_at(binding, "/roleRef/name");
    if required(&mut errors, path.child("name"), at(binding, "/roleRef/name"), "") {
        invalid_each(
            &mut errors,
            &path.child("name"),
            name,
            NameRule::PathSegment.check(name, NameUse::Whole),
        );
    }
    for (index, subject) in list_at(binding, "/subjects").iter().enumerate() {
        check_subject(
            &mut errors,
            subject,
            &FieldPath::new("subjects").index(index),
            is_namespaced,
        );
    }
    errors
}

fn check_subject(errors: &mut Vec<FieldError>, subject: &Value, path: &FieldPath, is_namespaced: bool) {
    required(errors, path.child("name"), subject.get("name"), "");
    let (kind, name, group) = (
        str_at(subject, "/kind"),
        str_at(subject, "/name"),
        str_at(subject, "/apiGroup"),
    );
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                invalid_each(
                    errors,
                    &path.child("name"),
                    name,
                    NameRule::Subdomain.check(name, NameUse::Whole),
                );
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(path.child("apiGroup"), group, &[""]));
            }
            if !is_namespaced && str_at(subject, "/namespace").is_empty() {
                errors.push(FieldError::required(path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != RBAC_GROUP {
                errors.push(FieldError::not_supported(
                    path.child("apiGroup"),
                    group,
                    &[RBAC_GROUP],
                ));
            }
        }
        _ => errors.push(FieldError::not_supported(
            path.child("kind"),
            kind,
            &["ServiceAccount", "User", "Group"],
        )),
    }
}

/// Who may grant a role was checked when the binding was made, so it cannot come to grant another.
pub(crate) fn role_binding_update(new: &Value, old: &Value) -> Vec<FieldError> {
    if semantically_equal(new.get("roleRef"), old.get("roleRef")) {
        return Vec::new();
    }
    let role = new["roleRef"].clone();
    vec![FieldError::invalid(
        FieldPath::new("roleRef"),
        role,
        "cannot change roleRef",
    )]
}

/// The highest priority that users may define.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;
/// The classes that the server itself brings, with their values.
const SYSTEM_CLASSES: &[(&str, i64)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

pub(crate) fn priority_class(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, value) = (
        str_at(class, "/metadata/name"),
        int_at(class, "/value").unwrap_or(0),
    );
    if SYSTEM_CLASSES.contains(&(name, value)) {
        return errors;
    }
    if name.starts_with("system-") {
        let detail = "priority class names with 'system-' prefix are reserved for system use only";
        errors.push(FieldError::forbidden(
            FieldPath::new("metadata").child("name"),
            detail,
        ));
    }
    if value > USER_PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        errors.push(FieldError::forbidden(FieldPath::new("value"), detail));
    }
    let policies = ["Never", "PreemptLowerPriority"];
    supported(
        &mut errors,
        FieldPath::new("preemptionPolicy"),
        class.get("preemptionPolicy"),
        &policies,
    );
    errors
}

pub(crate) fn priority_class_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if int_at(new, "/value").unwrap_or(0) != int_at(old, "/value").unwrap_or(0) {
        errors.push(FieldError::forbidden(
            FieldPath::new("value"),
            "may not be changed in an update.",
        ));
    }
    immutable(&mut errors, new, old, "/preemptionPolicy");
    errors
}

pub(crate) fn lease(lease: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    if let Some(seconds) = int_at(lease, "/spec/leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid(
            path.child("leaseDurationSeconds"),
            seconds,
            "must be greater than 0",
        ));
    }
    not_negative(
        &mut errors,
        path.child("leaseTransitions"),
        at(lease, "/spec/leaseTransitions"),
    );
    errors
}

/// The shortest validity that may be asked for, in seconds.
const CERTIFICATE_SECONDS_MIN: i64 = 600;

pub(crate) fn signing_request(request: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    if list_at(request, "/spec/usages").is_empty() {
        errors.push(FieldError::required(path.child("usages"), ""));
    }
    let signer = str_at(request, "/spec/signerName");
    if required(
        &mut errors,
        path.child("signerName"),
        at(request, "/spec/signerName"),
        "",
    ) && !signer
        .split_once('/')
        .is_some_and(|(domain, rest)| domain.contains('.') && !rest.is_empty())
    {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(path.child("signerName"), signer, detail));
    }
    if let Some(seconds) =
        int_at(request, "/spec/expirationSeconds").filter(|seconds| *seconds < CERTIFICATE_SECONDS_MIN)
    {
        let detail =
            format!("may not specify a duration less than {CERTIFICATE_SECONDS_MIN} seconds (10 minutes)");
        errors.push(FieldError::invalid(
            path.child("expirationSeconds"),
            seconds,
            detail,
        ));
    }
    required(
        &mut errors,
        path.child("request"),
        at(request, "/spec/request"),
        "",
    );
    errors
}

pub(crate) fn webhook_configuration(configuration: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, webhook) in list_at(configuration, "/webhooks").iter().enumerate() {
        let path = FieldPath::new("webhooks").index(index);
        let name = str_at(webhook, "/name");
        check_webhook(&mut errors, webhook, &path);
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(path.child("name"), name));
        }
    }
    errors
}

fn check_webhook(errors: &mut Vec<FieldError>, webhook: &Value, path: &FieldPath) {
    let name = str_at(webhook, "/name");
    if required(errors, path.child("name"), webhook.get("name"), "") {
        let messages = NameRule::Subdomain.check(name, NameUse::Whole);
        let is_valid = messages.is_empty();
        invalid_each(errors, &path.child("name"), name, messages);
        if is_valid && name.split('.').count() < 3 {
            let detail = "should be a domain with at least three segments separated by dots";
            errors.push(FieldError::invalid(path.child("name"), name, detail));
        }
    }
    if list_at(webhook, "/admissionReviewVersions").is_empty() {
        let detail = "must specify one of v1, v1beta1";
        errors.push(FieldError::required(
            path.child("admissionReviewVersions"),
            detail,
        ));
    }
    let effects = ["None", "NoneOnDryRun"];
    let path_of_effects = path.child("sideEffects");
    if required(
        errors,
        path_of_effects.clone(),
        webhook.get("sideEffects"),
        "must specify one of None, NoneOnDryRun",
    ) {
        supported(errors, path_of_effects, webhook.get("sideEffects"), &effects);
    }
    supported(
        errors,
        path.child("failurePolicy"),
        webhook.get("failurePolicy"),
        &["Fail", "Ignore"],
    );
    supported(
        errors,
        path.child("matchPolicy"),
        webhook.get("matchPolicy"),
        &["Equivalent", "Exact"],
    );
    supported(
        errors,
        path.child("reinvocationPolicy"),
        webhook.get("reinvocationPolicy"),
        &["IfNeeded", "Never"],
    );
    if let Some(seconds) = int_at(webhook, "/timeoutSeconds").filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(path.child("timeoutSeconds"), seconds, detail));
    }
    let (url, service) = (
        at(webhook, "/clientConfig/url"),
        at(webhook, "/clientConfig/service"),
    );
    if url.is_some() == service.is_some() {
        let detail = "exactly one of url or service is required";
        errors.push(FieldError::required(path.child("clientConfig"), detail));
    }
    if let Some(service) = service {
        for field in ["namespace", "name"] {
            let path = path.child("clientConfig").child("service").child(field);
            required(
                errors,
                path,
                service.get(field),
                &format!("service {field} is required"),
            );
        }
    }
    for (index, rule) in list_at(webhook, "/rules").iter().enumerate() {
        let path = path.child("rules").index(index);
        for field in ["operations", "apiGroups", "apiVersions", "resources"] {
            if list_at(rule, &format!("/{field}")).is_empty() {
                errors.push(FieldError::required(path.child(field), ""));
            }
        }
        for (index, operation) in list_at(rule, "/operations").iter().enumerate() {
            let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
            supported(
                errors,
                path.child("operations").index(index),
                Some(operation),
                &operations,
            );
        }
        supported(
            errors,
            path.child("scope"),
            rule.get("scope"),
            &["*", "Cluster", "Namespaced"],
        );
    }
}

pub(crate) fn api_service(service: &Value) -> Vec<FieldError> {
    let (spec, path) = (&service["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    let (name, version, group) = (
        str_at(service, "/metadata/name"),
        str_at(spec, "/version"),
        str_at(spec, "/group"),
    );
    let expect = format!("{version}.{group}");
    if name != expect {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {expect:?}");
        errors.push(FieldError::invalid(
            FieldPath::new("metadata").child("name"),
            name,
            detail,
        ));
    }
    required(&mut errors, path.child("version"), spec.get("version"), "");
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let value = spec[field].as_i64().unwrap_or(0);
        if value <= 0 || value > most {
            let detail = format!("must be positive and less than {most}");
            errors.push(FieldError::invalid(path.child(field), value, detail));
        }
    }
    if let Some(service) = at(spec, "/service") {
        for field in ["namespace", "name"] {
            required(
                &mut errors,
                path.child("service").child(field),
                service.get(field),
                "",
            );
        }
        let skips = spec["insecureSkipTLSVerify"] == true;
        if skips && at(spec, "/caBundle").is_some() {
            let detail = "may not be true if caBundle is present";
            errors.push(FieldError::invalid(
                path.child("insecureSkipTLSVerify"),
                true,
                detail,
            ));
        }
    }
    errors
}

pub(crate) fn runtime_class(class: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let handler = str_at(class, "/handler");
    invalid_each(&mut errors, &FieldPath::new("handler"), handler, label(handler));
    errors
}

pub(crate) fn runtime_class_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/handler");
    errors
}
