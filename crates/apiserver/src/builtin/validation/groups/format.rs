//! Formats of texts that several groups share.
//!
//! Upstream: `pkg/util/validation` of apimachinery (`validation.go`, `ip.go`) and `pkg/apis/meta/v1/validation`.

use kubewright_core::{FieldError, FieldPath};

use super::super::addresses::{AddressForm, cidr_messages, ip_messages};
use super::super::field::{Errors, Field};
use super::super::names::{label, label_value, qualified_name, subdomain};
use super::super::{metadata, names, objects};

/// The selector's labels, keys, operators and values (`ValidateLabelSelector`).
pub(super) fn label_selector(errors: &mut Errors, selector: &Field<'_, '_>) {
    metadata::labels(
        errors,
        selector.value,
        "/matchLabels",
        &selector.path().child("matchLabels"),
    );
    for expression in selector.get("matchExpressions").items() {
        let operator = expression.get("operator");
        if !matches!(operator.text(), "In" | "NotIn" | "Exists" | "DoesNotExist") {
            operator.invalid_as(errors, operator.text(), "not a valid selector operator");
        }
        label_requirement(errors, &expression);
    }
}

/// Key and values of a requirement on labels, whichever operator it has (`ValidateLabelSelectorRequirement`).
pub(super) fn label_requirement(errors: &mut Errors, requirement: &Field<'_, '_>) {
    values_of_requirement(errors, requirement);
    let key = requirement.get("key");
    key.invalid_each(errors, qualified_name(key.text()));
    for value in requirement.get("values").items() {
        value.invalid_each(errors, label_value(value.text()));
    }
}

/// Whether a requirement has values where its operator needs them, and none where it takes none; one that is not known may have any.
pub(super) fn values_of_requirement(errors: &mut Errors, requirement: &Field<'_, '_>) {
    let values = requirement.get("values");
    match (requirement.get("operator").text(), values.is_empty()) {
        ("In" | "NotIn", true) => {
            values.required(errors, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        ("Exists" | "DoesNotExist", false) => values.forbidden(
            errors,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        _ => {}
    }
}

/// Whether a selector has no requirement: it selects everything.
pub(super) fn selects_everything(selector: &Field<'_, '_>) -> bool {
    selector.get("matchLabels").is_empty() && selector.get("matchExpressions").is_empty()
}

/// What stands between two slashes of a URL (`IsPathSegmentName`); an empty text passes.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    names::NameRule::PathSegment.check(text, names::NameUse::Whole)
}

/// The text is there and can stand between two slashes of a URL.
pub(super) fn given_path_segment(errors: &mut Errors, field: &Field<'_, '_>, missing: &str) {
    if field.check_given(errors, missing) {
        field.invalid_each(errors, path_segment(field.text()));
    }
}

/// A domain, a slash and a path (`IsDomainPrefixedPath`).
pub(super) fn domain_prefixed_path(errors: &mut Errors, field: &Field<'_, '_>) {
    if field.check_given(errors, "") {
        errors.extend(domain_prefixed_problems(&field.path(), field.text()));
    }
}

/// What is wrong with a text that is to be a domain, a slash and a path.
pub(crate) fn domain_prefixed_problems(at: &FieldPath, text: &str) -> Errors {
    let Some((host, path)) = text
        .split_once('/')
        .filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![FieldError::invalid(at.clone(), text, detail)];
    };
    let wrong = |message| FieldError::invalid(at.clone(), host, message);
    let mut errors: Errors = subdomain(host).into_iter().map(wrong).collect();
    let is_path_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(is_path_byte) {
        let detail = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
        errors.push(FieldError::invalid(at.clone(), path, detail));
    }
    errors
}

/// A domain of at least three parts (`IsFullyQualifiedName`).
pub(super) fn fully_qualified_name(errors: &mut Errors, field: &Field<'_, '_>) {
    if !field.check_given(errors, "") {
        return;
    }
    let messages = subdomain(field.text());
    if !messages.is_empty() {
        field.invalid(errors, messages.join(","));
    } else if field.text().split('.').count() < 3 {
        field.invalid(
            errors,
            "should be a domain with at least three segments separated by dots",
        );
    }
}

/// A domain of at least two parts, with or without a dot at its end (`IsFullyQualifiedDomainName`).
pub(super) fn fully_qualified_domain(errors: &mut Errors, field: &Field<'_, '_>) {
    if !field.check_given(errors, "") {
        return;
    }
    let name = field.text();
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = subdomain(name);
    if !messages.is_empty() {
        return field.invalid_as(errors, name, messages.join(","));
    }
    if name.split('.').count() < 2 {
        let detail = "should be a domain with at least two segments separated by dots";
        return field.invalid_as(errors, name, detail);
    }
    if let Some((part, messages)) = name
        .split('.')
        .map(|part| (part, label(part)))
        .find(|(_, messages)| !messages.is_empty())
    {
        field.invalid_as(errors, part, messages.join(","));
    }
}

/// A percentage as text: `25%`.
pub(super) fn percent(field: &Field<'_, '_>) -> Option<u64> {
    let digits = field.text().strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // More than fits is more than anything it is compared with.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The number of a count or a percentage, zero if it is neither (`getIntOrPercentValue`).
pub(super) fn int_or_percent_value(field: &Field<'_, '_>) -> i64 {
    percent(field).map_or_else(
        || {
            field
                .value
                .as_i64()
                .unwrap_or_else(|| field.text().parse().unwrap_or(0))
        },
        |percent| i64::try_from(percent).unwrap_or(i64::MAX),
    )
}

/// A count or a percentage (`ValidatePositiveIntOrPercent`).
pub(super) fn int_or_percent(errors: &mut Errors, field: &Field<'_, '_>) {
    if field.value.is_string() && percent(field).is_none() {
        let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex \
                      used for validation is '[0-9]+%')";
        field.invalid(errors, detail);
    } else {
        field.not_negative(errors);
    }
}

/// Not more than all (`IsNotMoreThan100Percent`).
pub(super) fn at_most_all(errors: &mut Errors, field: &Field<'_, '_>) {
    if percent(field).is_some_and(|percent| percent > 100) {
        field.invalid(errors, "must not be greater than 100%");
    }
}

/// An IP address (`IsValidIP`, `IsValidIPForLegacyField`); whether it is one.
pub(super) fn ip(errors: &mut Errors, field: &Field<'_, '_>, form: AddressForm) -> bool {
    let messages = ip_messages(field.text(), form);
    let is_valid = messages.is_empty();
    for message in messages {
        field.invalid_as(errors, field.text(), message);
    }
    is_valid
}

/// A range of IP addresses (`IsValidCIDR`, `IsValidCIDRForLegacyField`).
pub(super) fn cidr(errors: &mut Errors, field: &Field<'_, '_>, form: AddressForm) {
    field.invalid_each(errors, cidr_messages(field.text(), form));
}

/// A list of `metav1.Condition` (`ValidateConditions`).
pub(super) fn conditions(errors: &mut Errors, list: &Field<'_, '_>) {
    const REASON_MAX: usize = 1024;
    const MESSAGE_MAX: usize = 32 * 1024;
    let mut seen = std::collections::HashSet::new();
    for condition in list.items() {
        let kind = condition.get("type");
        if !seen.insert(kind.text()) {
            errors.push(kubewright_core::FieldError::duplicate(
                condition.path(),
                kind.text(),
            ));
        }
        if kind.check_given(errors, "is required") {
            kind.invalid_each(errors, qualified_name(kind.text()));
        }
        condition
            .get("status")
            .check_choice(errors, &["False", "True", "Unknown"], "");
        let generation = condition.get("observedGeneration");
        if generation.int() < 0 {
            generation.invalid(errors, "must be greater than or equal to zero");
        }
        condition.get("lastTransitionTime").check_given(errors, "");
        let reason = condition.get("reason");
        if reason.check_given(errors, "") {
            if !is_condition_reason(reason.text()) {
                let detail = "a condition reason must start with alphabetic character, optionally followed by a string of \
                              alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. \
                              'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex \
                              used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
                reason.invalid(errors, detail);
            }
            reason.check_length(errors, REASON_MAX);
        }
        condition.get("message").check_length(errors, MESSAGE_MAX);
    }
}

fn is_condition_reason(text: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(is_end)
        && bytes
            .iter()
            .all(|byte| is_end(byte) || matches!(byte, b',' | b':'))
}

/// A template of pods: the rules of pods, told of with the template's own path.
pub(super) fn pod_template(errors: &mut Errors, template: &Field<'_, '_>) {
    errors.extend(objects::pod_template_spec(template.value, &template.path()));
}

/// Whether a selector selects objects with these labels; `None` where it cannot be read. One that is absent selects nothing.
pub(super) fn selects(selector: &Field<'_, '_>, labels: &Field<'_, '_>) -> Option<bool> {
    if !selector.exists() {
        return Some(false);
    }
    let mut errors = Errors::new();
    label_selector(&mut errors, selector);
    errors.is_empty().then(|| {
        selector
            .get("matchLabels")
            .entries()
            .all(|(key, value)| labels.key(key).value == value.value)
            && selector.get("matchExpressions").items().all(|expression| {
                let label = labels.value.get(expression.get("key").text());
                let is_one_of = || label.is_some_and(|label| expression.get("values").list().contains(label));
                match expression.get("operator").text() {
                    "In" => is_one_of(),
                    "NotIn" => !is_one_of(),
                    "Exists" => label.is_some(),
                    _ => label.is_none(),
                }
            })
    })
}

/// The same warning for all kinds whose name becomes part of the names of pods.
pub(super) fn pod_name_warning(object: &Field<'_, '_>) -> Option<String> {
    let messages = label(object.get("metadata.name").text());
    (!messages.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            messages.join(" ")
        )
    })
}
