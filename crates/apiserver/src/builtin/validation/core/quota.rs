//! Resource quotas.
//!
//! Upstream: `ValidateResourceQuota` and its updates.

use std::collections::BTreeSet;

use super::super::IMMUTABLE;
use super::super::field::{Errors, Field};
use super::super::resources::{check_amount, check_name, is_quota_resource};
use kubewright_core::FieldError;
use serde_json::Value;

pub(crate) fn resource_quota(quota: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let spec = Field::of(quota, "spec");
    check_list(&mut errors, &spec.get("hard"));
    check_scopes(&mut errors, &spec);
    check_selector(&mut errors, &spec);
    match old {
        None => errors.extend(resource_quota_status(quota)),
        Some(old) => {
            let scopes = spec.get("scopes");
            let (before, after): (BTreeSet<&str>, BTreeSet<&str>) = (
                Field::of(old, "spec").get("scopes").texts().collect(),
                scopes.texts().collect(),
            );
            if before != after {
                scopes.invalid(&mut errors, IMMUTABLE);
            }
        }
    }
    errors
}

/// Checks what a controller reports about a quota.
pub(crate) fn resource_quota_status(quota: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let status = Field::of(quota, "status");
    for list in ["hard", "used"] {
        check_list(&mut errors, &status.get(list));
    }
    errors
}

fn check_list(errors: &mut Errors, list: &Field<'_, '_>) {
    for (name, amount) in list.entries() {
        check_name(errors, &amount, name);
        if !name.contains('/') && !is_quota_resource(name) {
            amount.invalid_as(errors, name, "must be a standard resource for quota");
        }
        check_amount(errors, &amount, name);
    }
}

const POD_SCOPES: &[&str] = &[
    "Terminating",
    "NotTerminating",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
];
const COMPUTE: &[&str] = &[
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "requests.cpu",
    "requests.memory",
];

fn is_scope(scope: &str) -> bool {
    POD_SCOPES.contains(&scope) || matches!(scope, "BestEffort" | "VolumeAttributesClass")
}

/// Whether a scope says anything about a resource (`IsResourceQuotaScopeValidForResource`).
fn applies(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        scope if POD_SCOPES.contains(&scope) => resource == "pods" || COMPUTE.contains(&resource),
        _ => true,
    }
}

/// How many of the resources that the quota limits a scope does not apply to.
fn misfits(spec: &Field<'_, '_>, scope: &str) -> usize {
    let hard = spec.get("hard");
    let names = hard.entries().map(|(name, _)| name);
    names
        .filter(|name| is_quota_resource(name) && !applies(scope, name))
        .count()
}

fn conflicts(scopes: &BTreeSet<&str>) -> usize {
    [("BestEffort", "NotBestEffort"), ("NotTerminating", "Terminating")]
        .iter()
        .filter(|(one, other)| scopes.contains(one) && scopes.contains(other))
        .count()
}

fn check_scopes(errors: &mut Errors, spec: &Field<'_, '_>) {
    let scopes = spec.get("scopes");
    for scope in scopes.texts() {
        if !is_scope(scope) {
            scopes.invalid(errors, "unsupported scope");
        }
        for _ in 0..misfits(spec, scope) {
            scopes.invalid(errors, "unsupported scope applied to resource");
        }
    }
    for _ in 0..conflicts(&scopes.texts().collect()) {
        scopes.invalid(errors, "conflicting scopes");
    }
}

fn check_selector(errors: &mut Errors, spec: &Field<'_, '_>) {
    const EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                          ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                          ResourceQuotaScopeCrossNamespacePodAffinity";
    let selector = spec.get("scopeSelector");
    let list = selector.get("matchExpressions");
    let mut seen = BTreeSet::new();
    for expression in list.list() {
        // Upstream leaves the index out of these paths.
        let at = list.with(expression);
        let (scope, operator, values) = (at.get("scopeName"), at.get("operator"), at.get("values"));
        if !is_scope(scope.text()) {
            scope.invalid_as(errors, scope.text(), "unsupported scope");
        }
        for _ in 0..misfits(spec, scope.text()) {
            let detail = "unsupported scope applied to resource";
            list.invalid_as(errors, selector.value.clone(), detail);
        }
        let needs_exists = matches!(
            scope.text(),
            "BestEffort" | "NotBestEffort" | "Terminating" | "NotTerminating" | "CrossNamespacePodAffinity"
        );
        if needs_exists && operator.text() != "Exists" {
            operator.invalid_as(errors, operator.text(), EXISTS);
        }
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                let detail =
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                values.required(errors, detail);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail =
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                values.invalid(errors, detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            text => operator.invalid_as(errors, text, "not a valid selector operator"),
        }
        seen.insert(scope.text());
    }
    for _ in 0..conflicts(&seen) {
        let scopes = spec.get("scopes");
        list.invalid_as(errors, scopes.value.clone(), "conflicting scopes");
    }
}
