//! Formats of texts that several groups share.
//!
//! Upstream: `pkg/util/validation` of apimachinery (`validation.go`, `ip.go`) and `pkg/apis/meta/v1/validation`.

use kubewright_core::{FieldError, FieldPath};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::names::{label, label_value, qualified_name, subdomain};
use super::super::{metadata, names, objects};
use super::node::{Errors, Node};

/// The selector's labels, keys, operators and values (`ValidateLabelSelector`).
pub(super) fn label_selector(errors: &mut Errors, selector: &Node<'_, '_>) {
    metadata::labels(
        errors,
        selector.value(),
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
pub(super) fn label_requirement(errors: &mut Errors, requirement: &Node<'_, '_>) {
    values_of_requirement(errors, requirement);
    let key = requirement.get("key");
    key.invalid_each(errors, qualified_name(key.text()));
    for value in requirement.get("values").items() {
        value.invalid_each(errors, label_value(value.text()));
    }
}

/// Whether a requirement has values where its operator needs them, and none where it takes none; one that is not known may have any.
pub(super) fn values_of_requirement(errors: &mut Errors, requirement: &Node<'_, '_>) {
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
pub(super) fn selects_everything(selector: &Node<'_, '_>) -> bool {
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
pub(super) fn given_path_segment(errors: &mut Errors, node: &Node<'_, '_>, missing: &str) {
    if node.check_given(errors, missing) {
        node.invalid_each(errors, path_segment(node.text()));
    }
}

/// A domain, a slash and a path (`IsDomainPrefixedPath`).
pub(super) fn domain_prefixed_path(errors: &mut Errors, node: &Node<'_, '_>) {
    if node.check_given(errors, "") {
        errors.extend(domain_prefixed_problems(&node.path(), node.text()));
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
pub(super) fn fully_qualified_name(errors: &mut Errors, node: &Node<'_, '_>) {
    if !node.check_given(errors, "") {
        return;
    }
    let messages = subdomain(node.text());
    if !messages.is_empty() {
        node.invalid(errors, messages.join(","));
    } else if node.text().split('.').count() < 3 {
        node.invalid(
            errors,
            "should be a domain with at least three segments separated by dots",
        );
    }
}

/// A domain of at least two parts, with or without a dot at its end (`IsFullyQualifiedDomainName`).
pub(super) fn fully_qualified_domain(errors: &mut Errors, node: &Node<'_, '_>) {
    if !node.check_given(errors, "") {
        return;
    }
    let name = node.text();
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = subdomain(name);
    if !messages.is_empty() {
        return node.invalid_as(errors, name, messages.join(","));
    }
    if name.split('.').count() < 2 {
        let detail = "should be a domain with at least two segments separated by dots";
        return node.invalid_as(errors, name, detail);
    }
    if let Some((part, messages)) = name
        .split('.')
        .map(|part| (part, label(part)))
        .find(|(_, messages)| !messages.is_empty())
    {
        node.invalid_as(errors, part, messages.join(","));
    }
}

/// A percentage as text: `25%`.
pub(super) fn percent(node: &Node<'_, '_>) -> Option<u64> {
    let digits = node.text().strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // More than fits is more than anything it is compared with.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The number of a count or a percentage, zero if it is neither (`getIntOrPercentValue`).
pub(super) fn int_or_percent_value(node: &Node<'_, '_>) -> i64 {
    percent(node).map_or_else(
        || node.int().unwrap_or_else(|| node.text().parse().unwrap_or(0)),
        |percent| i64::try_from(percent).unwrap_or(i64::MAX),
    )
}

/// A count or a percentage (`ValidatePositiveIntOrPercent`).
pub(super) fn int_or_percent(errors: &mut Errors, node: &Node<'_, '_>) {
    if node.value().is_string() && percent(node).is_none() {
        let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex \
                      used for validation is '[0-9]+%')";
        node.invalid(errors, detail);
    } else {
        node.check_not_negative(errors);
    }
}

/// Not more than all (`IsNotMoreThan100Percent`).
pub(super) fn at_most_all(errors: &mut Errors, node: &Node<'_, '_>) {
    if percent(node).is_some_and(|percent| percent > 100) {
        node.invalid(errors, "must not be greater than 100%");
    }
}

/// Whether a value may be in one of the forms that were valid once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressForm {
    /// Only the canonical text.
    Canonical,
    /// Any unambiguous text: what fields that are older than the rule hold.
    Legacy,
}

/// Reads an address as Go does, with zeros before the digits of each part.
pub(super) fn sloppy_ip(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let parts: Vec<&str> = text.split('.').collect();
    let [a, b, c, d] = parts[..] else { return None };
    let octet = |text: &str| -> Option<u8> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let digits = text.trim_start_matches('0');
        match digits {
            "" if is_number => Some(0),
            _ if is_number => digits.parse().ok(),
            _ => None,
        }
    };
    Some(Ipv4Addr::new(octet(a)?, octet(b)?, octet(c)?, octet(d)?).into())
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// An IP address (`IsValidIP`, `IsValidIPForLegacyField`); whether it is one.
pub(super) fn ip(errors: &mut Errors, node: &Node<'_, '_>, form: AddressForm) -> bool {
    let messages = ip_messages(node.text(), form);
    let is_valid = messages.is_empty();
    for message in messages {
        node.invalid_as(errors, node.text(), message);
    }
    is_valid
}

/// What is wrong with an IP address.
pub(crate) fn ip_messages(text: &str, form: AddressForm) -> Vec<String> {
    let Some(address) = sloppy_ip(text) else {
        return vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()];
    };
    if text.parse::<IpAddr>().is_err() {
        return vec!["must not have leading 0s".to_owned()];
    }
    if is_mapped(address) {
        return vec!["must not be an IPv4-mapped IPv6 address".to_owned()];
    }
    let canonical = address.to_string();
    if form == AddressForm::Canonical && canonical != text {
        return vec![format!("must be in canonical form ({canonical:?})")];
    }
    Vec::new()
}

/// A range of addresses: the first one and how many bits its prefix has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cidr {
    /// The address as it is written, bits beyond the prefix included.
    pub(super) address: IpAddr,
    pub(super) bits: u32,
}

impl Cidr {
    /// Reads a range as Go does.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address = sloppy_ip(address)?;
        let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = bits.parse().ok().filter(|_| is_number)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { address, bits })
    }

    /// The first address of the range.
    pub(super) fn first(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        }
    }

    /// Whether an address is within the range.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && Self { address, ..*self }.first() == self.first()
    }
}

/// A range of IP addresses (`IsValidCIDR`, `IsValidCIDRForLegacyField`).
pub(super) fn cidr(errors: &mut Errors, node: &Node<'_, '_>, form: AddressForm) {
    let text = node.text();
    let Some(range) = Cidr::parse(text) else {
        let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        return node.invalid(errors, detail);
    };
    let (address, bits) = text.split_once('/').unwrap_or_default();
    if address.parse::<IpAddr>().is_err() || (bits.len() > 1 && bits.starts_with('0')) {
        node.invalid(errors, "must not have leading 0s in IP or prefix length");
    } else if is_mapped(range.address) {
        node.invalid(errors, "must not have an IPv4-mapped IPv6 address");
    } else if range.first() != range.address {
        node.invalid(errors, "must not have bits set beyond the prefix length");
    } else if form == AddressForm::Canonical {
        let canonical = format!("{}/{}", range.first(), range.bits);
        if canonical != text {
            node.invalid(errors, format!("must be in canonical form ({canonical:?})"));
        }
    }
}

/// What a client should know of an address that is valid but unusual (`GetWarningsForIP`).
pub(super) fn ip_warning(node: &Node<'_, '_>) -> Option<String> {
    let (text, path) = (node.text(), node.path());
    let address = sloppy_ip(text)?;
    if text.parse::<IpAddr>().is_err() || is_mapped(address) {
        let address = match address {
            IpAddr::V6(mapped) => mapped.to_ipv4_mapped().map_or(address, IpAddr::V4),
            IpAddr::V4(_) => address,
        };
        return Some(format!(
            "{path}: non-standard IP address {text:?} is invalid: use \"{address}\""
        ));
    }
    let canonical = address.to_string();
    (address.is_ipv6() && canonical != text).then(|| {
        format!("{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})")
    })
}

/// What a client should know of a range that is valid but unusual (`GetWarningsForCIDR`).
pub(super) fn cidr_warnings(node: &Node<'_, '_>) -> Vec<String> {
    let (text, path) = (node.text(), node.path());
    let Some(range) = Cidr::parse(text) else {
        return Vec::new();
    };
    let canonical = format!("{}/{}", range.first(), range.bits);
    let mut warnings = Vec::new();
    if range.first() != range.address {
        let all = if range.address.is_ipv4() { 32 } else { 128 };
        let single = format!("{}/{all}", range.address);
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be {canonical:?} or {single:?}?)"
        ));
    }
    let (address, bits) = text.split_once('/').unwrap_or_default();
    if address.parse::<IpAddr>().is_err()
        || (bits.len() > 1 && bits.starts_with('0'))
        || is_mapped(range.address)
    {
        warnings.push(format!(
            "{path}: non-standard CIDR value {text:?} is invalid: use {canonical:?}"
        ));
    }
    if warnings.is_empty() && range.address.is_ipv6() && canonical != text {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({canonical:?})"
        ));
    }
    warnings
}

/// A list of `metav1.Condition` (`ValidateConditions`).
pub(super) fn conditions(errors: &mut Errors, list: &Node<'_, '_>) {
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
        if generation.number() < 0 {
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
pub(super) fn pod_template(errors: &mut Errors, template: &Node<'_, '_>) {
    errors.extend(objects::pod_template_spec(template.value(), &template.path()));
}

/// Whether a selector selects objects with these labels; `None` where it cannot be read. One that is absent selects nothing.
pub(super) fn selects(selector: &Node<'_, '_>, labels: &Node<'_, '_>) -> Option<bool> {
    if selector.is_nil() {
        return Some(false);
    }
    let mut errors = Errors::new();
    label_selector(&mut errors, selector);
    errors.is_empty().then(|| {
        selector
            .get("matchLabels")
            .entries()
            .all(|(key, value)| labels.key(key).value() == value.value())
            && selector.get("matchExpressions").items().all(|expression| {
                let label = labels.value().get(expression.get("key").text());
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
pub(super) fn pod_name_warning(object: &Node<'_, '_>) -> Option<String> {
    let messages = label(object.get("metadata.name").text());
    (!messages.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            messages.join(" ")
        )
    })
}
