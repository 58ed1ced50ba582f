//! Nodes, quotas, ranges, endpoints and admission policies.
//!
//! Upstream: `ValidateNode`, `ValidateLimitRange`, `ValidateResourceQuota`, `ValidateEndpoints` in
//! `pkg/apis/core/validation/validation.go`; `pkg/apis/admissionregistration/validation/validation.go`.

use std::collections::BTreeSet;

use super::super::super::value::{int_at, list_at, map_at, str_at};
use super::super::names::{label_value, port_number, qualified_name};
use super::super::{NOT_NEGATIVE, immutable, invalid_each, required, supported};
use super::pod::{QUANTITY_FORMAT, parse};
use kubewright_core::{FieldError, FieldPath, Quantity};
use serde_json::Value;

pub(crate) fn node(node: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in list_at(node, "/spec/taints").iter().enumerate() {
        let path = FieldPath::new("spec").child("taints").index(index);
        let (key, value, effect) = (
            str_at(taint, "/key"),
            str_at(taint, "/value"),
            str_at(taint, "/effect"),
        );
        invalid_each(&mut errors, &path.child("key"), key, qualified_name(key));
        invalid_each(&mut errors, &path.child("value"), value, label_value(value));
        if required(&mut errors, path.child("effect"), taint.get("effect"), "") {
            let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            supported(&mut errors, path.child("effect"), taint.get("effect"), &effects);
        }
        if !seen.insert((key, effect)) {
            let mut error = FieldError::duplicate(path, taint.clone());
            "taints must be unique by key and effect pair".clone_into(&mut error.detail);
            errors.push(error);
        }
    }
    errors
}

/// What identifies a node is set once, by whoever comes first.
pub(crate) fn node_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
        let before = old["spec"]
            .get(field)
            .filter(|value| !super::super::super::value::is_zero(value));
        if before.is_some() && before != new["spec"].get(field) {
            let detail = format!("node updates may not change {name} except from \"\" to valid");
            errors.push(FieldError::forbidden(FieldPath::new("spec").child(field), detail));
        }
    }
    errors
}

/// What quotas can count without a domain, besides huge pages.
const QUOTA_RESOURCES: &[&str] = &[
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
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

pub(crate) fn resource_quota(quota: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, value) in map_at(quota, "/spec/hard") {
        let path = FieldPath::new("spec").child("hard").key(name);
        let is_huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
        if !name.contains('/') && !is_huge && !QUOTA_RESOURCES.contains(&name.as_str()) {
            errors.push(FieldError::invalid(
                path.clone(),
                name.as_str(),
                "must be a standard resource for quotas",
            ));
        }
        invalid_each(&mut errors, &path, name, qualified_name(name));
        match parse(value) {
            None => errors.push(FieldError::invalid(path, value.clone(), QUANTITY_FORMAT)),
            Some(quantity) if quantity.is_negative() => {
                errors.push(FieldError::invalid(path, quantity.to_string(), NOT_NEGATIVE));
            }
            Some(_) => {}
        }
    }
    errors
}

pub(crate) fn resource_quota_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/spec/scopes");
    errors
}

pub(crate) fn limit_range(range: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut types = BTreeSet::new();
    for (index, limit) in list_at(range, "/spec/limits").iter().enumerate() {
        let path = FieldPath::new("spec").child("limits").index(index);
        let kind = str_at(limit, "/type");
        invalid_each(&mut errors, &path.child("type"), kind, qualified_name(kind));
        let is_standard = matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
        if !is_standard && !kind.is_empty() && !kind.contains('/') {
            let detail = "must be a standard limit type or fully qualified";
            errors.push(FieldError::invalid(path.child("type"), kind, detail));
        }
        if !types.insert(kind) {
            errors.push(FieldError::duplicate(path.child("type"), kind));
        }
        if kind == "Pod" {
            for field in ["default", "defaultRequest"] {
                if map_at(limit, &format!("/{field}")).next().is_some() {
                    let detail = "may not be specified when `type` is 'Pod'";
                    errors.push(FieldError::forbidden(path.child(field), detail));
                }
            }
        }
        let has_storage = |list: &str| limit[list].get("storage").is_some();
        if kind == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
            let detail = "either minimum or maximum storage value is required, but neither was provided";
            errors.push(FieldError::required(path.child("limits"), detail));
        }
        check_order(&mut errors, limit, &path);
    }
    errors
}

/// For each pair, the first list may not exceed the second: the lists, the words for them, and which one is at fault.
const ORDER: &[([&str; 2], [&str; 2], &str)] = &[
    (["min", "max"], ["min", "max"], "min"),
    (
        ["min", "defaultRequest"],
        ["min", "default request"],
        "defaultRequest",
    ),
    (
        ["defaultRequest", "max"],
        ["default request", "max"],
        "defaultRequest",
    ),
    (
        ["defaultRequest", "default"],
        ["default request", "default limit"],
        "defaultRequest",
    ),
    (["min", "default"], ["min", "default"], "default"),
    (["default", "max"], ["default", "max"], "default"),
];

fn check_order(errors: &mut Vec<FieldError>, limit: &Value, path: &FieldPath) {
    let names: BTreeSet<&String> = ["min", "max", "default", "defaultRequest"]
        .iter()
        .flat_map(|list| map_at(limit, &format!("/{list}")))
        .map(|(name, _)| name)
        .collect();
    for name in names {
        let quantity = |list: &str| -> Option<Quantity> { limit[list].get(name.as_str()).and_then(parse) };
        for ([low, high], [low_words, high_words], at_fault) in ORDER {
            let (Some(low), Some(high), Some(bad)) = (quantity(low), quantity(high), quantity(at_fault))
            else {
                continue;
            };
            if low > high {
                let detail = format!("{low_words} value {low} is greater than {high_words} value {high}");
                errors.push(FieldError::invalid(
                    path.child(at_fault).key(name),
                    bad.to_string(),
                    detail,
                ));
            }
        }
    }
}

pub(crate) fn endpoints(endpoints: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, subset) in list_at(endpoints, "/subsets").iter().enumerate() {
        let path = FieldPath::new("subsets").index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists
            .iter()
            .all(|list| list_at(subset, &format!("/{list}")).is_empty())
        {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            errors.push(FieldError::required(path.clone(), detail));
        }
        for list in lists {
            for (index, address) in list_at(subset, &format!("/{list}")).iter().enumerate() {
                let (path, ip) = (path.child(list).index(index).child("ip"), str_at(address, "/ip"));
                if ip.parse::<std::net::IpAddr>().is_err() {
                    let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
                    errors.push(FieldError::invalid(path, ip, detail));
                }
            }
        }
        let ports = list_at(subset, "/ports");
        for (index, port) in ports.iter().enumerate() {
            let path = path.child("ports").index(index);
            if ports.len() > 1 {
                required(&mut errors, path.child("name"), port.get("name"), "");
            }
            let number = int_at(port, "/port").unwrap_or(0);
            let messages = port_number(number).into_iter();
            errors.extend(messages.map(|message| FieldError::invalid(path.child("port"), number, message)));
            supported(
                &mut errors,
                path.child("protocol"),
                port.get("protocol"),
                &["SCTP", "TCP", "UDP"],
            );
        }
    }
    errors
}
