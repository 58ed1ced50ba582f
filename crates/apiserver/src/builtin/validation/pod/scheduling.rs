//! Tolerations, scheduling gates and spreading.
//!
//! Upstream: `ValidateTolerations`, `validateSchedulingGates` and `validateTopologySpreadConstraints`.

use std::collections::BTreeSet;

use super::super::field::{Errors, Field};
use super::super::names::{label_value, qualified_name};
use super::affinity::check_selector;
use super::{Findings, Relaxable};

pub(super) const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks tolerations, of pods and wherever else they are.
pub(crate) fn check_tolerations(errors: &mut Errors, tolerations: &Field<'_, '_>) {
    for toleration in tolerations.items() {
        let (key, operator) = (toleration.get("key"), toleration.get("operator"));
        let (value, effect) = (toleration.get("value"), toleration.get("effect"));
        key.checked_if_set(errors, qualified_name);
        if !key.is_set() && operator.text() != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            operator.invalid_as(errors, operator.text(), detail);
        }
        if toleration.get("tolerationSeconds").exists() && effect.text() != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            effect.invalid_as(errors, effect.text(), detail);
        }
        match operator.text() {
            "Equal" | "" => {
                let messages = label_value(value.text());
                if !messages.is_empty() {
                    operator.invalid_as(errors, value.text(), messages.join(";"));
                }
            }
            "Exists" if value.is_set() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                operator.invalid_as(errors, value.text(), detail);
            }
            "Exists" => {}
            // Comparisons hang on a feature gate that is off (KEP-5471).
            "Lt" | "Gt" => operator.not_supported(errors, &["Equal", "Exists", "Lt", "Gt"]),
            _ => operator.not_supported(errors, &["Equal", "Exists"]),
        }
        if effect.is_set() {
            effect.one_of(errors, EFFECTS);
        }
    }
}

/// Gates that keep a pod from being scheduled (KEP-3521).
pub(super) fn check_gates(errors: &mut Errors, gates: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for gate in gates.items() {
        let name = gate.get("name").text();
        for message in qualified_name(name) {
            gate.invalid_as(errors, name, message);
        }
        if !seen.insert(name) {
            gate.duplicate_as(errors, name);
        }
    }
}

pub(super) fn check_spread(findings: &mut Findings, constraints: &Field<'_, '_>) {
    for (index, constraint) in constraints.items().enumerate() {
        let errors = &mut findings.errors;
        let (skew, key) = (constraint.get("maxSkew"), constraint.get("topologyKey"));
        let action = constraint.get("whenUnsatisfiable");
        if skew.int() <= 0 {
            skew.invalid_as(errors, skew.int(), "must be greater than zero");
        }
        if !key.is_set() {
            key.required(errors, "can not be empty");
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action.text()) {
            action.not_supported(errors, &actions);
        }
        let repeats = constraints.list().iter().skip(index + 1).any(|other| {
            other["topologyKey"].as_str().unwrap_or_default() == key.text()
                && other["whenUnsatisfiable"].as_str().unwrap_or_default() == action.text()
        });
        if repeats {
            let shown = format!("{{{}, {}}}", key.text(), action.text());
            constraint
                .get("{topologyKey, whenUnsatisfiable}")
                .duplicate_as(errors, shown);
        }
        let domains = constraint.get("minDomains");
        if domains.exists() {
            if domains.int() <= 0 {
                domains.invalid(errors, "must be greater than zero");
            }
            if action.text() != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                    action.text()
                );
                domains.invalid(errors, detail);
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            constraint.get(policy).one_of(errors, &["Honor", "Ignore"]);
        }
        findings.relaxable(Relaxable::MatchLabelKeys, |errors| {
            check_label_keys(errors, &constraint);
        });
        findings.relaxable(Relaxable::SpreadSelector, |errors| {
            check_selector(errors, &constraint.get("labelSelector"));
        });
    }
}

/// Keys whose values are taken from the pod's own labels (KEP-3243, KEP-3633). Creation merges them into the selector, so a
/// selector that speaks of one of them says something twice.
pub(super) fn check_label_keys(errors: &mut Errors, at: &Field<'_, '_>) {
    let selector = at.get("labelSelector");
    let (matching, differing) = (at.get("matchLabelKeys"), at.get("mismatchLabelKeys"));
    for keys in [&matching, &differing] {
        if keys.is_empty() {
            continue;
        }
        if !selector.exists() {
            keys.forbidden(errors, "must not be specified when labelSelector is not set");
            continue;
        }
        for key in keys.items() {
            key.checked(errors, qualified_name);
        }
    }
    if selector.exists() {
        let mut named: BTreeSet<&str> = selector
            .get("matchLabels")
            .entries()
            .map(|(key, _)| key)
            .collect();
        for expression in selector.get("matchExpressions").list() {
            let key = expression["key"].as_str().unwrap_or_default();
            let index = matching.list().iter().rposition(|other| other == key);
            if let Some(index) = index.filter(|_| named.contains(key)) {
                let detail = "exists in both matchLabelKeys and labelSelector";
                at.index(index).invalid_as(errors, key, detail);
            }
            named.insert(key);
        }
    }
    for key in matching.items() {
        if differing.list().contains(key.value) {
            key.invalid(errors, "exists in both matchLabelKeys and mismatchLabelKeys");
        }
    }
}
