//! Formats of names, label keys and values, keys of configuration and ports.
//!
//! Upstream: apimachinery `pkg/util/validation/validation.go` and `pkg/api/validate/content`. Each check returns the
//! messages upstream returns; empty means valid.

pub(crate) use kubewright_core::{label_key_faults as qualified_name, label_value_faults as label_value};

use super::addresses::{AddressForm, ip_messages};

/// The longest DNS label (RFC 1123 and RFC 1035), in bytes.
pub(crate) const LABEL_MAX: usize = 63;
/// The longest DNS subdomain (RFC 1123), in bytes.
pub(crate) const SUBDOMAIN_MAX: usize = 253;
/// Names of cron jobs leave 11 bytes for what the controller appends.
const CRON_JOB_MAX: usize = LABEL_MAX - 11;

/// Which names objects of a kind may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// A DNS-1123 subdomain: the rule for most kinds.
    Subdomain,
    /// A DNS-1123 label.
    Label,
    /// A DNS-1035 label, which begins with a letter.
    Dns1035Label,
    /// Anything that can stand between two slashes of a URL.
    PathSegment,
    /// A subdomain short enough for the names of its jobs.
    CronJob,
    /// A canonical IP address.
    IpAddress,
    /// The key of a configuration entry.
    ConfigKey,
    /// A subdomain, with the signer and a colon before it where there is one.
    TrustBundle,
}

/// Whether a name is complete or something will be appended to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameUse {
    /// `metadata.name`.
    Whole,
    /// `metadata.generateName`.
    Prefix,
}

impl NameRule {
    /// What is wrong with a name.
    pub(crate) fn check(self, name: &str, name_use: NameUse) -> Vec<String> {
        let masked = match name_use {
            NameUse::Prefix => mask_trailing_dash(name),
            NameUse::Whole => None,
        };
        let name = masked.as_deref().unwrap_or(name);
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::Dns1035Label => dns_1035_label(name),
            Self::PathSegment => path_segment(name, name_use),
            Self::CronJob => {
                let mut messages = subdomain(name);
                if name.len() > CRON_JOB_MAX {
                    messages.push(format!("must be no more than {CRON_JOB_MAX} characters"));
                }
                messages
            }
            Self::ConfigKey => config_key(name),
            Self::IpAddress => ip_messages(name, AddressForm::Canonical),
            Self::TrustBundle => subdomain(name.rsplit(':').next().unwrap_or(name)),
        }
    }
}

/// A trailing dash is fine where more follows, so it is checked as a letter would be.
fn mask_trailing_dash(name: &str) -> Option<String> {
    let stem = name.strip_suffix('-').filter(|stem| !stem.is_empty())?;
    let (at, _) = stem.char_indices().next_back()?;
    Some(format!("{}a", &stem[..at]))
}

/// What is wrong with a DNS-1123 label.
pub(crate) fn label(value: &str) -> Vec<String> {
    let mut messages = too_long(value, LABEL_MAX);
    if !is_label(value) {
        messages.push(if is_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned()
        });
    }
    messages
}

/// The same where upper case is as good as lower case (`LongNameCaseless` in apimachinery pkg/api/validate/strfmt.go).
pub(crate) fn subdomain_of_any_case(value: &str) -> Vec<String> {
    let lower = value.to_lowercase();
    let mut messages = too_long(value, SUBDOMAIN_MAX);
    if !is_subdomain(&lower) {
        messages.push(
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
             alphanumeric character (e.g. 'Example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    messages
}

/// What is wrong with a DNS-1123 subdomain.
pub(crate) fn subdomain(value: &str) -> Vec<String> {
    let mut messages = too_long(value, SUBDOMAIN_MAX);
    if !is_subdomain(value) {
        messages.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    messages
}

/// What is wrong with a DNS-1035 label.
pub(crate) fn dns_1035_label(value: &str) -> Vec<String> {
    let mut messages = too_long(value, LABEL_MAX);
    if !(is_label(value) && value.starts_with(|first: char| first.is_ascii_lowercase())) {
        messages.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    messages
}

/// What is wrong with a DNS-1123 subdomain whose first label is `*`.
pub(crate) fn wildcard_subdomain(value: &str) -> Vec<String> {
    let mut messages = too_long(value, SUBDOMAIN_MAX);
    if !value.strip_prefix("*.").is_some_and(is_subdomain) {
        messages.push(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist \
             of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
             '*.example.com', regex used for validation is \
             '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    messages
}

pub(crate) fn path_segment(name: &str, name_use: NameUse) -> Vec<String> {
    if name_use == NameUse::Whole && matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let illegal = ["/", "%"].into_iter().filter(|illegal| name.contains(illegal));
    illegal
        .map(|illegal| format!("may not contain '{illegal}'"))
        .collect()
}

/// What is wrong with a key of a config map or secret.
pub(crate) fn config_key(value: &str) -> Vec<String> {
    let mut messages = too_long(value, SUBDOMAIN_MAX);
    let is_key_char = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if value.is_empty() || !value.bytes().all(is_key_char) {
        messages.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match value {
        "." => messages.push("must not be '.'".to_owned()),
        ".." => messages.push("must not be '..'".to_owned()),
        _ if value.starts_with("..") => messages.push("must not start with '..'".to_owned()),
        _ => {}
    }
    messages
}

/// What is wrong with the name of an environment variable, by the relaxed rule that is on since 1.32 (KEP-4369).
pub(crate) fn environment_variable(value: &str) -> Vec<String> {
    let is_allowed = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
    if value.is_empty() {
        vec!["environment variable name must be non-empty".to_owned()]
    } else if !value.bytes().all(is_allowed) {
        vec![
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        ]
    } else {
        Vec::new()
    }
}

/// What is wrong with the name of a port (RFC 6335, lower case only).
pub(crate) fn port_name(value: &str) -> Vec<String> {
    const PORT_NAME_MAX: usize = 15;
    let mut messages = too_long(value, PORT_NAME_MAX);
    let is_port_char = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if value.is_empty() || !value.bytes().all(is_port_char) {
        messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        messages.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        messages.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        messages.push("must not begin or end with a hyphen".to_owned());
    }
    messages
}

/// What is wrong with the number of a port.
pub(crate) fn port_number(value: i64) -> Vec<String> {
    if (1..=65_535).contains(&value) {
        Vec::new()
    } else {
        vec!["must be between 1 and 65535, inclusive".to_owned()]
    }
}

fn too_long(value: &str, max: usize) -> Vec<String> {
    if value.len() > max {
        vec![format!("must be no more than {max} characters")]
    } else {
        Vec::new()
    }
}

fn is_label(value: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !value.is_empty() && !value.starts_with('-') && !value.ends_with('-') && value.bytes().all(is_inner)
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

/// What is wrong with a path that must stay within a directory: it may not be absolute.
pub(crate) fn local_path(value: &str) -> Vec<String> {
    if value.starts_with('/') {
        vec!["must be a relative path".to_owned()]
    } else {
        Vec::new()
    }
}

/// What is wrong with a path that may not go up (`validatePathNoBacksteps` in `pkg/apis/core/validation`).
pub(crate) fn no_backsteps(value: &str) -> Vec<String> {
    if value.split('/').any(|segment| segment == "..") {
        vec!["must not contain '..'".to_owned()]
    } else {
        Vec::new()
    }
}

/// What is wrong with the name of a header of HTTP.
pub(crate) fn http_header_name(value: &str) -> Vec<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if value.is_empty() || !value.bytes().all(is_allowed) {
        vec![
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for \
             validation is '[-A-Za-z0-9]+')"
                .to_owned(),
        ]
    } else {
        Vec::new()
    }
}

/// What is wrong with a domain that names are searched in, whose labels may begin with and contain underscores (KEP-4427).
pub(crate) fn subdomain_with_underscores(value: &str) -> Vec<String> {
    let mut messages = too_long(value, SUBDOMAIN_MAX);
    let is_edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.strip_prefix('_').unwrap_or(label).as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter().all(|byte| byte.is_some_and(|byte| is_edge(*byte)))
            && bytes
                .iter()
                .all(|byte| is_edge(*byte) || matches!(byte, b'-' | b'_'))
    };
    if !value.split('.').all(is_label) {
        messages.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    messages
}

/// What is wrong with the number of a user.
pub(crate) fn user_id(value: i64) -> Vec<String> {
    if (0..=i64::from(i32::MAX)).contains(&value) {
        Vec::new()
    } else {
        vec![format!("must be between 0 and {}, inclusive", i32::MAX)]
    }
}

/// What is wrong with the name of a CSI driver, apart from its length: a domain in any case.
pub(crate) fn driver_name(value: &str) -> Vec<String> {
    subdomain(&value.to_lowercase())
}

/// What is wrong with a reference to a cluster trust bundle.
pub(crate) fn trust_bundle_name(value: &str) -> Vec<String> {
    NameRule::TrustBundle.check(value, NameUse::Whole)
}
