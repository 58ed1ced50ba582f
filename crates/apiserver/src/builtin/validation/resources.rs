//! Names and amounts of resources: what containers may ask for, quotas count and ranges limit.
//!
//! Upstream: `validateResourceRequirements` and its kin in `pkg/apis/core/validation/validation.go`, the sets of names in
//! `pkg/apis/core/helper/helpers.go`.

use std::collections::BTreeSet;

use super::NOT_NEGATIVE;
use super::field::{Errors, Field};
use super::names::{label, qualified_name};
use kubewright_core::Quantity;

/// What is said of a text that is no quantity (`ErrFormatWrong` in apimachinery `pkg/api/resource/quantity.go`).
pub(crate) const QUANTITY_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Whose resources are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consumer {
    /// A container, or the overhead of a pod.
    Container,
    /// A pod as a whole (KEP-2837).
    Pod,
}

/// Resources that are counted in whole numbers, besides extended ones.
const INTEGER: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that are measured, as the name of a resource may have them in a quota.
const MEASURED: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a quota can count this without a domain.
pub(crate) fn is_quota_resource(name: &str) -> bool {
    MEASURED.contains(&name)
        || INTEGER.contains(&name)
        || is_huge_page(name)
        || name.starts_with("requests.hugepages-")
}

/// Whether Kubernetes itself defines the resource.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether more may be promised than there is.
pub(crate) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Checks a name by the rule for all resources; returns whether it is valid.
pub(crate) fn check_name(errors: &mut Errors, at: &Field<'_, '_>, name: &str) -> bool {
    let messages = qualified_name(name);
    let is_qualified = messages.is_empty();
    for message in messages {
        at.invalid_as(errors, name, message);
    }
    let is_known = name.contains('/') || is_quota_resource(name) || name == "storage";
    if is_qualified && !is_known {
        at.invalid_as(
            errors,
            name,
            "must be a standard resource type or fully qualified",
        );
    }
    is_qualified && is_known
}

/// Checks the name of a resource that containers have.
pub(crate) fn check_container_name(errors: &mut Errors, at: &Field<'_, '_>, name: &str) {
    check_name(errors, at, name);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_page(name) {
            at.invalid_as(errors, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        at.invalid_as(errors, name, "doesn't follow extended resource name standard");
    }
}

fn check_pod_name(errors: &mut Errors, at: &Field<'_, '_>, name: &str) {
    if check_name(errors, at, name) && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
        errors.push(kubewright_core::FieldError::not_supported(
            at.path(),
            name,
            &["cpu", "hugepages-", "memory"],
        ));
    }
}

/// Checks an amount of a resource: not negative, and whole where the resource is counted.
pub(crate) fn check_amount(errors: &mut Errors, at: &Field<'_, '_>, name: &str) {
    let Some(amount) = at.quantity() else {
        at.invalid(errors, QUANTITY_FORMAT);
        return;
    };
    if amount.is_negative() {
        at.invalid_as(errors, amount.to_string(), NOT_NEGATIVE);
    }
    let is_counted = INTEGER.contains(&name) || is_extended(name);
    if is_counted && !is_whole(&amount) {
        at.invalid_as(errors, amount.to_string(), "must be an integer");
    }
}

/// Reports an amount that is zero or below.
pub(crate) fn check_positive(errors: &mut Errors, at: &Field<'_, '_>) -> bool {
    match at.quantity() {
        Some(amount) if amount.is_negative() || amount.is_zero() => {
            at.invalid_as(errors, amount.to_string(), "must be greater than zero");
            false
        }
        Some(_) => true,
        None => {
            at.invalid(errors, QUANTITY_FORMAT);
            false
        }
    }
}

/// Whether an amount has no fraction, as far as thousandths tell.
pub(crate) fn is_whole(amount: &Quantity) -> bool {
    let thousandths = amount.to_millis_rounded_up();
    thousandths % 1000 == 0 || thousandths == i64::MAX
}

/// Checks requests, limits and claims, except that huge pages come in whole pages: [`check_huge_pages`].
pub(crate) fn check_requirements(
    errors: &mut Errors,
    at: &Field<'_, '_>,
    consumer: Consumer,
    pod_claims: &BTreeSet<&str>,
) {
    let (limits, requests) = (at.get("limits"), at.get("requests"));
    for list in [&limits, &requests] {
        for (name, amount) in list.entries() {
            match consumer {
                Consumer::Container => check_container_name(errors, &amount, name),
                Consumer::Pod => check_pod_name(errors, &amount, name),
            }
            check_amount(errors, &amount, name);
        }
    }
    for (name, request) in requests.entries() {
        let limit = limits.key(name);
        if !limit.exists() {
            if !may_overcommit(name) {
                limits.required(errors, "Limit must be set for non overcommitable resources");
            }
            continue;
        }
        let (Some(request), Some(limit)) = (request.quantity(), limit.quantity()) else {
            continue;
        };
        if request != limit && !may_overcommit(name) {
            let detail = format!("must be equal to {name} limit of {limit}");
            requests.invalid_as(errors, request.to_string(), detail);
        } else if request > limit {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            requests.invalid_as(errors, request.to_string(), detail);
        }
    }
    let has = |wanted: fn(&str) -> bool| {
        let mut names = limits.entries().chain(requests.entries()).map(|(name, _)| name);
        names.any(wanted)
    };
    if has(is_huge_page) && !has(|name| matches!(name, "cpu" | "memory")) {
        at.forbidden(errors, "HugePages require cpu or memory");
    }
    check_claims(errors, &at.get("claims"), pod_claims);
}

/// Reports huge pages that are no whole number of pages.
pub(crate) fn check_huge_pages(errors: &mut Errors, at: &Field<'_, '_>) {
    for list in [at.get("limits"), at.get("requests")] {
        for (name, field) in list.entries() {
            let Some(size) = name.strip_prefix("hugepages-") else {
                continue;
            };
            let Some(amount) = field.quantity() else { continue };
            let page = size.parse::<Quantity>().ok().filter(|page| {
                !page.is_negative() && !page.is_zero() && is_whole(page) && page.to_units_rounded_up() != 0
            });
            let is_multiple =
                page.is_some_and(|page| amount.to_units_rounded_up() % page.to_units_rounded_up() == 0);
            if !is_multiple {
                let detail = format!("{amount} is not positive integer multiple of {name}");
                field.invalid_as(errors, amount.to_string(), detail);
            }
        }
    }
}

/// Checks which of the pod's claims a container uses (KEP-4381).
fn check_claims(errors: &mut Errors, claims: &Field<'_, '_>, pod_claims: &BTreeSet<&str>) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for claim in claims.items() {
        let (name, request) = (claim.get("name").text(), claim.get("request"));
        if name.is_empty() {
            claim.required(errors, "");
            continue;
        }
        if seen.contains(name) {
            claim.duplicate_as(errors, name);
        } else {
            let mut key = name.to_owned();
            if request.is_set() {
                request.checked(errors, label);
                key = format!("{name}/{}", request.text());
            }
            let of_this = format!("{name}/");
            if seen.contains(key.as_str()) {
                claim.duplicate_as(errors, key.as_str());
            } else if !request.is_set() {
                for _ in seen.iter().filter(|key| key.starts_with(&of_this)) {
                    claim.duplicate_as(errors, name);
                }
            }
            seen.insert(key);
        }
        if !pod_claims.contains(name) {
            let known: Vec<&str> = pod_claims.iter().copied().collect();
            let which = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.join(", "))
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{which}");
            errors.push(kubewright_core::FieldError {
                kind: kubewright_core::FieldErrorKind::NotFound,
                path: claim.path(),
                bad_value: Some(name.into()),
                detail,
            });
        }
    }
}
