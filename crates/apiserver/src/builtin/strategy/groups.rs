//! Preparation of kinds beyond the core group that need a few lines each.

use super::super::value::{Object, is_nil, list_at, semantically_equal, str_at};
use super::Context;
use kubewright_core::FieldError;
use serde_json::Value;
use std::collections::BTreeSet;

/// Where slices said on which node an endpoint is, before there was a field for it.
const HOST_NAME: &str = "kubernetes.io/hostname";

/// The old topology cannot be written any more; of what is stored in it, the name of the node is kept (`dropTopologyOnV1` in
/// `pkg/registry/discovery/endpointslice/strategy.go`).
pub(super) fn endpoint_slice(slice: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    if old.is_some_and(|old| semantically_equal(old.get("endpoints"), slice.get("endpoints"))) {
        return Vec::new();
    }
    let known: BTreeSet<String> = old
        .map(|old| list_at(old, "/endpoints"))
        .unwrap_or_default()
        .iter()
        .filter_map(|endpoint| endpoint["deprecatedTopology"][HOST_NAME].as_str())
        .map(str::to_owned)
        .collect();
    let endpoints = slice.get_mut("endpoints").and_then(Value::as_array_mut);
    for endpoint in endpoints.into_iter().flatten().filter_map(Value::as_object_mut) {
        let node = match endpoint.remove("deprecatedTopology") {
            Some(topology) => str_at(&topology, "/kubernetes.io~1hostname").to_owned(),
            None => continue,
        };
        if is_nil(endpoint, "nodeName") && known.contains(&node) {
            endpoint.insert("nodeName".to_owned(), node.into());
        }
    }
    Vec::new()
}

/// Who coordinates the election of a leader is behind a feature gate that is off, so leases say nothing of it
/// (`pkg/registry/coordination/lease/strategy.go`).
pub(super) fn lease(lease: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        for field in ["strategy", "preferredHolder"] {
            let is_known = old.is_some_and(|old| !old["spec"][field].is_null());
            if !is_known {
                spec.remove(field);
            }
        }
    }
    Vec::new()
}

/// The requirement by which the first version told "all pods" from "no pods" counts alone, where it selects none
/// (`StripPDBV1beta1Label` in `pkg/apis/policy`).
pub(super) fn disruption_budget(
    budget: &mut Value,
    old: Option<&Value>,
    _: &mut Context<'_>,
) -> Vec<FieldError> {
    const LABEL: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
    let selector = "/spec/selector";
    if old.is_some_and(|old| semantically_equal(old.pointer(selector), budget.pointer(selector))) {
        return Vec::new();
    }
    let Some(selector) = budget.pointer_mut(selector).and_then(Value::as_object_mut) else {
        return Vec::new();
    };
    let is_alone = selector
        .get("matchLabels")
        .is_none_or(|labels| labels.as_object().is_none_or(Object::is_empty));
    let Some(Value::Array(expressions)) = selector.get_mut("matchExpressions") else {
        return Vec::new();
    };
    let is_marker = |expression: &Value| expression["key"] == LABEL;
    let stands_alone = is_alone
        && matches!(&expressions[..], [only] if is_marker(only) && str_at(only, "/operator") == "Exists");
    if !stands_alone {
        expressions.retain(|expression| !is_marker(expression));
        if expressions.is_empty() {
            selector.remove("matchExpressions");
        }
    }
    Vec::new()
}
