//! Admission policies in CEL and their bindings: everything but the expressions themselves.
//!
//! Upstream: `pkg/apis/admissionregistration/validation/validation.go`.

use std::collections::HashSet;

use serde_json::Value;

use super::super::field::{Errors, Field};
use super::super::names::{dns_1035_label, qualified_name, subdomain};
use super::admission::{check_rule, match_conditions, not_static};
use super::format::{conditions, label_selector, path_segment};

/// The most audit annotations of a policy.
const AUDIT_ANNOTATIONS_MAX: usize = 20;
/// The longest expression of one, in bytes.
const AUDIT_EXPRESSION_MAX: usize = 5 * 1024;

/// A validating policy (`ValidateValidatingAdmissionPolicy`, `ValidateValidatingAdmissionPolicyUpdate`).
pub(crate) fn validating(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    not_static(&mut errors, &root, old);
    let spec = root.get("spec");
    policy(&mut errors, &spec, old);
    let (validations, annotations) = (spec.get("validations"), spec.get("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        validations.required(&mut errors, detail);
        annotations.required(&mut errors, detail);
        return errors;
    }
    for validation in validations.items() {
        check_validation(&mut errors, &validation);
    }
    if annotations.list().len() > AUDIT_ANNOTATIONS_MAX {
        let detail = format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations");
        annotations.invalid(&mut errors, detail);
    }
    let name = root.get("metadata.name").text();
    let mut keys = HashSet::new();
    for annotation in annotations.items() {
        let (key, expression) = (annotation.get("key"), annotation.get("valueExpression"));
        let full = format!("{name}/{}", key.text());
        for message in qualified_name(&full) {
            key.invalid_as(&mut errors, full.clone(), message);
        }
        let length = expression.text().trim().len();
        if length == 0 {
            expression.required(&mut errors, "valueExpression is not specified");
        } else if length > AUDIT_EXPRESSION_MAX {
            let detail = format!("must not exceed {AUDIT_EXPRESSION_MAX} bytes in length");
            expression.required(&mut errors, detail);
        }
        if !keys.insert(key.text()) {
            key.duplicate(&mut errors);
        }
    }
    errors
}

/// What policies of both kinds have in common.
fn policy(errors: &mut Errors, spec: &Field<'_, '_>, old: Option<&Value>) {
    spec.get("failurePolicy")
        .check_present(errors, &["Fail", "Ignore"]);
    let param = spec.get("paramKind");
    if param.exists() {
        param_kind(errors, &param);
    }
    let constraints = spec.get("matchConstraints");
    if !constraints.exists() {
        constraints.required(errors, "");
    } else {
        match_resources(errors, &constraints);
        let rules = constraints.get("resourceRules");
        if rules.is_empty() {
            rules.required(errors, "");
        }
    }
    // Conditions that did not change were valid once.
    let is_known = old.is_some_and(|old| {
        let old = Field::root("", old);
        let old = old.get("spec");
        ["paramKind", "matchConditions"]
            .iter()
            .all(|field| spec.get(field).same(&old.get(field)))
    });
    if !is_known {
        match_conditions(errors, &spec.get("matchConditions"));
    }
    for variable in spec.get("variables").items() {
        let (name, expression) = (variable.get("name"), variable.get("expression"));
        if name.text().trim().is_empty() {
            name.required(errors, "name is not specified");
        } else if !is_identifier(name.text()) {
            name.invalid(errors, "must be a valid CEL identifier");
        }
        if expression.text().trim().is_empty() {
            expression.required(errors, "expression is not specified");
        }
    }
}

const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

fn is_identifier(name: &str) -> bool {
    let is_first = |c: char| c == '_' || c.is_ascii_alphabetic();
    let is_rest = |c: char| c == '_' || c.is_ascii_alphanumeric();
    name.starts_with(is_first) && name.chars().all(is_rest) && !RESERVED.contains(&name)
}

fn param_kind(errors: &mut Errors, param: &Field<'_, '_>) {
    let (version, kind) = (param.get("apiVersion"), param.get("kind"));
    let text = version.text();
    if version.check_given(errors, "") {
        let (group, name) = match text {
            "/" => ("", ""),
            _ => text.split_once('/').unwrap_or(("", text)),
        };
        if name.contains('/') {
            version.invalid(errors, format!("unexpected GroupVersion string: {text}"));
        } else {
            let messages = subdomain(group);
            if !group.is_empty() && !messages.is_empty() {
                version.invalid_as(errors, group, messages.join(","));
            }
            let messages = dns_1035_label(name);
            if name.is_empty() {
                version.invalid(errors, "version must be specified");
            } else if !messages.is_empty() {
                version.invalid_as(errors, name, messages.join(","));
            }
        }
    }
    if kind.check_given(errors, "") {
        let messages = dns_1035_label(&kind.text().to_lowercase());
        if !messages.is_empty() {
            let detail = format!(
                "may have mixed case, but should otherwise match: {}",
                messages.join(",")
            );
            kind.invalid(errors, detail);
        }
    }
}

/// Which objects a policy or binding is for (`validateMatchResources`).
fn match_resources(errors: &mut Errors, resources: &Field<'_, '_>) {
    resources
        .get("matchPolicy")
        .check_present(errors, &["Equivalent", "Exact"]);
    for field in ["namespaceSelector", "objectSelector"] {
        let selector = resources.get(field);
        if !selector.exists() {
            selector.required(errors, "");
        }
        label_selector(errors, &selector);
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.get(list).items() {
            let mut names = HashSet::new();
            for name in rule.get("resourceNames").items() {
                name.invalid_each(errors, path_segment(name.text()));
                if !names.insert(name.text()) {
                    name.duplicate(errors);
                }
            }
            check_rule(errors, &rule);
        }
    }
}

fn check_validation(errors: &mut Errors, validation: &Field<'_, '_>) {
    let (expression, message) = (validation.get("expression"), validation.get("message"));
    if expression.text().trim().is_empty() {
        expression.required(errors, "expression is not specified");
    }
    let message_expression = validation.get("messageExpression");
    let is_blank = |field: &Field<'_, '_>| !field.text().is_empty() && field.text().trim().is_empty();
    if is_blank(&message_expression) {
        message_expression.invalid(errors, "must be non-empty if specified");
    }
    if is_blank(&message) {
        message.invalid(errors, "must be non-empty if specified");
    } else if message.text().trim().contains(['\n', '\r']) {
        message.invalid(errors, "must not contain line breaks");
    }
    validation
        .get("reason")
        .one_of(errors, &["Forbidden", "Invalid", "RequestEntityTooLarge"]);
}

/// What the type checker reports (`ValidateValidatingAdmissionPolicyStatusUpdate`).
pub(crate) fn validating_status(subresource: &str, new: &Value, _: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource != "status" {
        return errors;
    }
    let root = Field::root("", new);
    let status = root.get("status");
    for warning in status.get("typeChecking.expressionWarnings").items() {
        warning.get("warning").check_given(&mut errors, "");
        let field = warning.get("fieldRef");
        if field.text().trim().is_empty() {
            field.required(&mut errors, "");
        }
    }
    conditions(&mut errors, &status.get("conditions"));
    errors
}

/// The binding of a validating policy.
pub(crate) fn validating_binding(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    not_static(&mut errors, &root, old);
    let spec = root.get("spec");
    binding(&mut errors, &spec);
    let actions = spec.get("validationActions");
    let mut seen = HashSet::new();
    for action in actions.items() {
        action.one_of(&mut errors, &["Audit", "Deny", "Warn"]);
        if !seen.insert(action.text()) {
            action.duplicate(&mut errors);
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                      response and headers serves no purpose)";
        actions.invalid(&mut errors, detail);
    }
    if seen.is_empty() {
        actions.required(&mut errors, "");
    }
    errors
}

fn binding(errors: &mut Errors, spec: &Field<'_, '_>) {
    let name = spec.get("policyName");
    if name.check_given(errors, "") {
        name.invalid_each(errors, subdomain(name.text()));
    }
    let param = spec.get("paramRef");
    if param.exists() {
        param_reference(errors, &param);
    }
    let resources = spec.get("matchResources");
    if resources.exists() {
        match_resources(errors, &resources);
    }
}

fn param_reference(errors: &mut Errors, param: &Field<'_, '_>) {
    let (name, selector) = (param.get("name"), param.get("selector"));
    let exclusive = "name and selector are mutually exclusive";
    if !name.is_empty() {
        name.invalid_each(errors, path_segment(name.text()));
        if selector.exists() {
            name.forbidden(errors, exclusive);
        }
    }
    label_selector(errors, &selector);
    if selector.exists() && !name.is_empty() {
        selector.forbidden(errors, exclusive);
    }
    if !selector.exists() && name.is_empty() {
        param.required(errors, "one of name or selector must be specified");
    }
    param
        .get("parameterNotFoundAction")
        .check_choice(errors, &["Deny", "Allow"], "");
}

/// Deletion cannot be changed, only refused.
const MUTATING_OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];

/// A mutating policy (`ValidateMutatingAdmissionPolicy`, `ValidateMutatingAdmissionPolicyUpdate`).
pub(crate) fn mutating(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    not_static(&mut errors, &root, old);
    let spec = root.get("spec");
    policy(&mut errors, &spec, old);
    mutating_operations(&mut errors, &spec.get("matchConstraints"));
    let mutations = spec.get("mutations");
    if mutations.is_empty() {
        mutations.required(&mut errors, "mutations must contain at least one item");
    }
    for mutation in mutations.items() {
        check_mutation(&mut errors, &mutation);
    }
    spec.get("reinvocationPolicy")
        .check_choice(&mut errors, &["IfNeeded", "Never"], "");
    errors
}

fn mutating_operations(errors: &mut Errors, resources: &Field<'_, '_>) {
    let rules = resources.get("resourceRules");
    // Upstream tells of the list of all rules, not of the one.
    let operations = rules.get("operations");
    for rule in rules.items() {
        for operation in rule.get("operations").items() {
            if !MUTATING_OPERATIONS.contains(&operation.text()) {
                operations.not_supported_as(errors, operation.text(), MUTATING_OPERATIONS);
            }
        }
    }
}

fn check_mutation(errors: &mut Errors, mutation: &Field<'_, '_>) {
    let kind = mutation.get("patchType");
    let (wanted, other) = match kind.text() {
        "" => return kind.required(errors, ""),
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => return kind.not_supported(errors, &["ApplyConfiguration", "JSONPatch"]),
    };
    let (patch, extra) = (mutation.get(wanted), mutation.get(other));
    if !patch.exists() {
        patch.required(
            errors,
            format!("must be specified when patchType is {}", kind.text()),
        );
    } else {
        let expression = patch.get("expression");
        if expression.text().trim().is_empty() {
            expression.required(errors, "");
        }
    }
    if extra.exists() {
        let detail = format!("must not be specified when patchType is {}", kind.text());
        extra.invalid_as(errors, format!("{{{other}}}"), detail);
    }
}

/// The binding of a mutating policy.
pub(crate) fn mutating_binding(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    not_static(&mut errors, &root, old);
    let spec = root.get("spec");
    binding(&mut errors, &spec);
    mutating_operations(&mut errors, &spec.get("matchResources"));
    errors
}
