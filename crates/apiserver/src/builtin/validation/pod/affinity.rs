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
    let nodes = affinity.child("nodeAffinity");
    let required = nodes.child(REQUIRED);
    if required.exists() {
        node_selector(&mut findings.errors, &required);
        findings.relaxable(Relaxable::LabelValueInNodeAffinity, |errors| {
            node_selector_values(errors, &required);
        });
    }
    for term in nodes.child(PREFERRED).items() {
        check_weight(&mut findings.errors, &term);
        node_selector_term(&mut findings.errors, &term.child("preference"));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.child(kind);
        for term in pods.child(REQUIRED).items() {
            check_pod_term(findings, &term);
        }
        for term in pods.child(PREFERRED).items() {
            check_weight(&mut findings.errors, &term);
            check_pod_term(findings, &term.child("podAffinityTerm"));
        }
    }
}

fn check_weight(errors: &mut Errors, term: &Field<'_, '_>) {
    let weight = term.child("weight");
    if !(1..=100).contains(&weight.int()) {
        weight.invalid_as(errors, weight.int(), "must be in the range 1-100");
    }
}

fn check_pod_term(findings: &mut Findings, term: &Field<'_, '_>) {
    findings.relaxable(Relaxable::LabelValueInAffinity, |errors| {
        check_selector_values(errors, &term.child("labelSelector"));
        check_selector_values(errors, &term.child("namespaceSelector"));
    });
    let errors = &mut findings.errors;
    check_selector_form(errors, &term.child("labelSelector"));
    check_selector_form(errors, &term.child("namespaceSelector"));
    let shown = term.child("namespace");
    for name in term.child("namespaces").texts() {
        for message in label(name) {
            shown.invalid_as(errors, name, message);
        }
    }
    check_label_keys(errors, term);
    let key = term.child("topologyKey");
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
    let labels = selector.child("matchLabels");
    metadata::labels(errors, labels.value, "", &labels.path());
    for expression in selector.child("matchExpressions").items() {
        check_values(errors, &expression, Comparisons::None);
        expression.child("key").checked(errors, qualified_name);
    }
}

fn check_selector_values(errors: &mut Errors, selector: &Field<'_, '_>) {
    for expression in selector.child("matchExpressions").items() {
        for value in expression.child("values").items() {
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
    let (operator, values) = (expression.child("operator"), expression.child("values"));
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
    let terms = selector.child("nodeSelectorTerms");
    if terms.is_empty() {
        terms.required(errors, "must have at least one node selector term");
    }
    for term in terms.items() {
        node_selector_term(errors, &term);
    }
}

/// Checks that the values of expressions about nodes could be those of labels.
pub(crate) fn node_selector_values(errors: &mut Errors, selector: &Field<'_, '_>) {
    for term in selector.child("nodeSelectorTerms").items() {
        for expression in term.child("matchExpressions").items() {
            for value in expression.child("values").items() {
                value.checked(errors, label_value);
            }
        }
    }
}

/// Checks one term of a selector of nodes.
pub(crate) fn node_selector_term(errors: &mut Errors, term: &Field<'_, '_>) {
    for expression in term.child("matchExpressions").items() {
        check_values(errors, &expression, Comparisons::Numbers);
        let key = expression.child("key");
        for message in qualified_name(key.text()) {
            key.invalid_as(errors, key.text(), message);
        }
    }
    for expression in term.child("matchFields").items() {
        let (key, operator) = (expression.child("key"), expression.child("operator"));
        let values = expression.child("values");
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
