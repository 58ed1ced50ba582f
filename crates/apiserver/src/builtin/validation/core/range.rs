//! Limit ranges.
//!
//! Upstream: `ValidateLimitRange`.

use std::collections::{BTreeMap, BTreeSet};

use super::super::field::{Errors, Field, unique};
use super::super::names::qualified_name;
use super::super::resources::{check_container_name, check_name, may_overcommit};
use kubewright_core::{FieldError, Quantity};
use serde_json::Value;

pub(crate) fn limit_range(range: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let spec = Field::of(range, "spec");
    let mut kinds = BTreeSet::new();
    for limit in spec.get("limits").items() {
        let kind = limit.get("type");
        check_kind(&mut errors, &kind);
        unique(&mut errors, &mut kinds, &kind);
        check_lists(&mut errors, &limit);
        check_order(&mut errors, &limit);
    }
    errors
}

fn check_kind(errors: &mut Errors, kind: &Field<'_, '_>) {
    let messages = qualified_name(kind.text());
    let is_standard = matches!(kind.text(), "Pod" | "Container" | "PersistentVolumeClaim");
    if messages.is_empty() && !kind.text().contains('/') && !is_standard {
        let detail = "must be a standard limit type or fully qualified";
        kind.invalid(errors, detail);
    }
    for message in messages {
        kind.invalid_as(errors, kind.text(), message);
    }
}

/// All lists of a limit.
const LISTS: &[&str] = &["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

fn check_lists(errors: &mut Errors, limit: &Field<'_, '_>) {
    let kind = limit.get("type").text();
    for list in LISTS {
        let field = limit.get(list);
        if kind == "Pod" && matches!(*list, "default" | "defaultRequest") {
            if !field.is_empty() {
                field.forbidden(errors, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        for (name, at) in field.entries() {
            if matches!(kind, "Pod" | "Container") {
                check_container_name(errors, &at, name);
            } else {
                check_name(errors, &at, name);
            }
        }
    }
    let has_storage = |list: &str| limit.get(list).key("storage").exists();
    if kind == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        limit.get("limits").required(errors, detail);
    }
}

/// For each pair, the first list may not exceed the second: the lists, the words for them, the list at fault, and the list whose
/// value is shown.
const ORDER: &[([&str; 2], [&str; 2], &str, &str)] = &[
    (["min", "max"], ["min", "max"], "min", "min"),
    (
        ["min", "defaultRequest"],
        ["min", "default request"],
        "defaultRequest",
        "defaultRequest",
    ),
    (
        ["defaultRequest", "max"],
        ["default request", "max"],
        "defaultRequest",
        "defaultRequest",
    ),
    (
        ["defaultRequest", "default"],
        ["default request", "default limit"],
        "defaultRequest",
        "defaultRequest",
    ),
    (["min", "default"], ["min", "default"], "default", "min"),
    (["default", "max"], ["default", "max"], "default", "max"),
];

fn check_order(errors: &mut Errors, limit: &Field<'_, '_>) {
    let is_pod = limit.get("type").text() == "Pod";
    let amounts: BTreeMap<(&str, &str), Quantity> = LISTS
        .iter()
        .filter(|list| !(is_pod && list.starts_with("default")))
        .flat_map(|list| {
            let entries = limit.value[*list].as_object().into_iter().flatten();
            entries.filter_map(move |(name, value)| {
                Some(((name.as_str(), *list), super::super::field::quantity(value)?))
            })
        })
        .collect();
    let names: BTreeSet<&str> = amounts.keys().map(|(name, _)| *name).collect();
    for name in names {
        let amount = |list: &str| amounts.get(&(name, list)).copied();
        let report = |errors: &mut Errors, list: &str, shown: &Quantity, detail: String| {
            let list = limit.get(list);
            list.key(name).invalid_as(errors, shown.to_string(), detail);
        };
        for ([low, high], [low_words, high_words], at_fault, shown) in ORDER {
            let (Some(low), Some(high), Some(shown)) = (amount(low), amount(high), amount(shown)) else {
                continue;
            };
            if low > high {
                let detail = format!("{low_words} value {low} is greater than {high_words} value {high}");
                report(errors, at_fault, &shown, detail);
            }
        }
        if let Some(ratio) = amount("maxLimitRequestRatio") {
            if ratio < Quantity::from_units(1) {
                let detail = format!("ratio {ratio} is less than 1");
                report(errors, "maxLimitRequestRatio", &ratio, detail);
            }
            if let (Some(min), Some(max)) = (amount("min"), amount("max")) {
                let thousandths = |amount: Quantity| amount.to_millis_rounded_up() as f64;
                let most = thousandths(max) / thousandths(min);
                if thousandths(ratio) / 1000.0 > most {
                    let detail = format!("ratio {ratio} is greater than max/min = {most:.6}");
                    report(errors, "maxLimitRequestRatio", &ratio, detail);
                }
            }
        }
        if let (Some(default), Some(request)) = (amount("default"), amount("defaultRequest"))
            && !may_overcommit(name)
            && default != request
        {
            let detail =
                format!("default value {default} must equal to defaultRequest value {request} in {name}");
            report(errors, "defaultRequest", &request, detail);
        }
    }
}
