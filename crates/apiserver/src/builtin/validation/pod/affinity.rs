//! Affinity to nodes and to other pods, and the selectors of nodes that volumes share with pods.
//!
//! Upstream: `validateAffinity`, `ValidateNodeSelector`, `validatePodAffinityTerm`.

use super::super::field::{Errors, Field};
use super::super::metadata;
use super::super::names::{label, label_value, qualified_name, subdomain};
use super::scheduling::check_label_keys;
use super::{Findings, Relaxable};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn check(findings: &mut Findings, affinity: &Field<'_, '_>) {
    let nodes = affinity.get("nodeAffinity");
    let required = nodes.get(REQUIRED);
    if required.exists() {
        node_selector(&mut findings.errors, &required);
        findings.relaxable(Relaxable::LabelValueInNodeAffinity, |errors| {
            node_selector_values(errors, &required);
        });
    }
    for term in nodes.get(PREFERRED).items() {
        check_weight(&mut findings.errors, &term);
        node_selector_term(&mut findings.errors, &term.get("preference"));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.get(kind);
        for term in pods.get(REQUIRED).items() {
            check_pod_term(findings, &term);
        }
        for term in pods.get(PREFERRED).items() {
            check_weight(&mut findings.errors, &term);
            check_pod_term(findings, &term.get("podAffinityTerm"));
        }
    }
}

fn check_weight(errors: &mut Errors, term: &Field<'_, '_>) {
    let weight = term.get("weight");
    if !(1..=100).contains(&weight.int()) {
        weight.invalid_as(errors, weight.int(), "must be in the range 1-100");
    }
}

fn check_pod_term(findings: &mut Findings, term: &Field<'_, '_>) {
    findings.relaxable(Relaxable::LabelValueInAffinity, |errors| {
        check_selector_values(errors, &term.get("labelSelector"));
        check_selector_values(errors, &term.get("namespaceSelector"));
    });
    let errors = &mut findings.errors;
    check_selector_form(errors, &term.get("labelSelector"));
    check_selector_form(errors, &term.get("namespaceSelector"));
    let shown = term.get("namespace");
    for name in term.get("namespaces").texts() {
        for message in label(name) {
            shown.invalid_as(errors, name, message);
        }
    }
    check_label_keys(errors, term);
    let key = term.get("topologyKey");
    if !key.is_set() {
        key.required(errors, "can not be empty");
    }
    for message in qualified_name(key.text()) {
        key.invalid_as(errors, key.text(), message);
    }
}

/// Checks a label selector (`ValidateLabelSelector` in apimachinery).
pub(crate) fn check_selector(errors: &mut Errors, selector: &Field<'_, '_>) {
    check_selector_form(errors, selector);
    check_selector_values(errors, selector);
}

fn check_selector_form(errors: &mut Errors, selector: &Field<'_, '_>) {
    let labels = selector.get("matchLabels");
    metadata::labels(errors, labels.value, "", &labels.path());
    for expression in selector.get("matchExpressions").items() {
        check_values(errors, &expression, Comparisons::None);
        expression.get("key").checked(errors, qualified_name);
    }
}

fn check_selector_values(errors: &mut Errors, selector: &Field<'_, '_>) {
    for expression in selector.get("matchExpressions").items() {
        for value in expression.get("values").items() {
            value.checked(errors, label_value);
        }
    }
}

/// Whether expressions may compare numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparisons {
    None,
    Numbers,
}

/// Reports an operator that is not known, and values that do not fit it.
fn check_values(errors: &mut Errors, expression: &Field<'_, '_>, comparisons: Comparisons) {
    let (operator, values) = (expression.get("operator"), expression.get("values"));
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                values.required(errors, "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                values.forbidden(errors, detail);
            }
        }
        "Gt" | "Lt" if comparisons == Comparisons::Numbers => {
            if values.len() != 1 {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                values.required(errors, detail);
            }
        }
        text => operator.invalid_as(errors, text, "not a valid selector operator"),
    }
}

/// Checks a selector of nodes, but for the values of its expressions: [`node_selector_values`].
pub(crate) fn node_selector(errors: &mut Errors, selector: &Field<'_, '_>) {
    let terms = selector.get("nodeSelectorTerms");
    if terms.is_empty() {
        terms.required(errors, "must have at least one node selector term");
    }
    for term in terms.items() {
        node_selector_term(errors, &term);
    }
}

/// Checks that the values of expressions about nodes could be those of labels.
pub(crate) fn node_selector_values(errors: &mut Errors, selector: &Field<'_, '_>) {
    for term in selector.get("nodeSelectorTerms").items() {
        for expression in term.get("matchExpressions").items() {
            for value in expression.get("values").items() {
                value.checked(errors, label_value);
            }
        }
    }
}

/// Checks one term of a selector of nodes.
pub(crate) fn node_selector_term(errors: &mut Errors, term: &Field<'_, '_>) {
    for expression in term.get("matchExpressions").items() {
        check_values(errors, &expression, Comparisons::Numbers);
        let key = expression.get("key");
        for message in qualified_name(key.text()) {
            key.invalid_as(errors, key.text(), message);
        }
    }
    for expression in term.get("matchFields").items() {
        let (key, operator) = (expression.get("key"), expression.get("operator"));
        let values = expression.get("values");
        match operator.text() {
            "In" | "NotIn" if values.len() == 1 => {}
            "In" | "NotIn" => {
                let detail =
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                values.required(errors, detail);
            }
            text => operator.invalid_as(errors, text, "not a valid selector operator"),
        }
        if key.text() == "metadata.name" {
            for value in values.items() {
                value.checked(errors, subdomain);
            }
        } else {
            key.invalid_as(errors, key.text(), "not a valid field selector key");
        }
    }
}
