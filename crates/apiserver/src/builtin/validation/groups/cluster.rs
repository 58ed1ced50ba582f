//! Kinds of small groups: leases, priorities, runtime classes and API services.
//!
//! Upstream: `pkg/apis/{coordination,scheduling,node}/validation/validation.go` and
//! `pkg/apis/apiregistration/validation/validation.go` of kube-aggregator.

use std::collections::HashSet;

use serde_json::Value;

use super::super::field::{Errors, Field};
use super::super::names::{dns_1035_label, label, port_number, qualified_name, subdomain};
use super::super::{NOT_NEGATIVE, metadata};

/// A lease (`ValidateLease`, `ValidateLeaseUpdate`).
pub(crate) fn lease(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let seconds = spec.get("leaseDurationSeconds");
    if seconds.value.as_i64().is_some_and(|seconds| seconds <= 0) {
        seconds.invalid(&mut errors, "must be greater than 0");
    }
    let transitions = spec.get("leaseTransitions");
    if transitions.int() < 0 {
        transitions.invalid(&mut errors, NOT_NEGATIVE);
    }
    let strategy = spec.get("strategy");
    if strategy.exists() {
        lease_strategy(&mut errors, &strategy);
    }
    let holder = spec.get("preferredHolder");
    if !holder.is_empty() && strategy.is_empty() {
        holder.forbidden(&mut errors, "may only be specified if `strategy` is defined");
    }
    errors
}

const OLDEST: &str = "OldestEmulationVersion";

fn lease_strategy(errors: &mut Errors, strategy: &Field<'_, '_>) {
    // Upstream names the field twice.
    let here = strategy.get("strategy");
    let text = strategy.text();
    if text.contains('/') {
        for message in qualified_name(text) {
            here.invalid_as(errors, text, message);
        }
    } else if text != OLDEST {
        here.not_supported_as(errors, text, &[OLDEST]);
    }
}

/// Who stands for a lease (`ValidateLeaseCandidate`, `ValidateLeaseCandidateUpdate`).
pub(crate) fn lease_candidate(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    spec.get("leaseName").check_given(&mut errors, "");
    let (emulation, binary) = (spec.get("emulationVersion"), spec.get("binaryVersion"));
    let mut version = |field: &Field<'_, '_>| {
        let version = semantic_version(field.text());
        if version.is_none() && !field.is_empty() {
            field.invalid(&mut errors, "must be a valid semantic version");
        }
        version
    };
    let (emulated, built) = (version(&emulation), version(&binary));
    binary.check_given(&mut errors, "");
    let none = [0, 0, 0];
    if !binary.is_empty() && !emulation.is_empty() && built.unwrap_or(none) < emulated.unwrap_or(none) {
        binary.invalid(&mut errors, "must be greater than or equal to `emulationVersion`");
    }
    let strategy = spec.get("strategy");
    if strategy.check_given(&mut errors, "") {
        if strategy.text() == OLDEST && emulated.unwrap_or(none) == none {
            let detail = "must be specified when `strategy` is 'OldestEmulationVersion'";
            emulation.required(&mut errors, detail);
        }
        lease_strategy(&mut errors, &strategy);
    }
    if let Some(old) = old {
        let old = Field::root("", old);
        spec.check_fixed(&mut errors, &old.get("spec"), &["leaseName"]);
    }
    errors
}

/// The three numbers of a semantic version; what follows them is looked at for its form alone.
fn semantic_version(text: &str) -> Option<[u64; 3]> {
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let is_rest = |byte: u8| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte);
    if rest.len() == 1 || !rest.bytes().all(is_rest) {
        return None;
    }
    let number = |text: &str| -> Option<u64> {
        let is_canonical = text == "0" || !text.starts_with('0');
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_canonical && is_number)
    };
    let mut parts = numbers.split('.').map(number);
    let version = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(version)
}

/// The highest priority that users may define.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;
/// The classes that the server itself brings, with their values.
const SYSTEM_CLASSES: &[(&str, i64)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// A class of priority (`ValidatePriorityClass`, `ValidatePriorityClassUpdate`).
pub(crate) fn priority_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let (metadata, value) = (root.get("metadata"), root.get("value"));
    let name = metadata.get("name");
    if name.text().starts_with("system-") {
        if let Some(why) = not_a_system_class(&root) {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            name.forbidden(&mut errors, detail);
        }
    } else if value.int() > USER_PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        value.forbidden(&mut errors, detail);
    }
    let policy = root.get("preemptionPolicy");
    if policy.exists() {
        policy.check_choice(&mut errors, &["PreemptLowerPriority", "Never"], "");
    }
    if let Some(old) = old {
        let old = Field::root("", old);
        if value.int() != old.get("value").int() {
            value.forbidden(&mut errors, "may not be changed in an update.");
        }
        policy.immutable(&mut errors, &old.get("preemptionPolicy"));
    }
    errors
}

/// Why a class is none of the server's own (`IsKnownSystemPriorityClass`).
fn not_a_system_class(class: &Field<'_, '_>) -> Option<String> {
    let name = class.get("metadata.name").text();
    let Some((_, value)) = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if class.get("value").int() != *value {
        return Some(format!("value of {name} PriorityClass must be {value}"));
    }
    class
        .get("globalDefault")
        .is_true()
        .then(|| format!("globalDefault of {name} PriorityClass must be false"))
}

/// A class of container runtimes (`ValidateRuntimeClass`, `ValidateRuntimeClassUpdate`).
pub(crate) fn runtime_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let handler = root.get("handler");
    if let Some(old) = old {
        handler.check_unchanged_declared(&mut errors, &Field::root("", old).get("handler"));
        return errors;
    }
    if handler.check_given(&mut errors, "") {
        handler.invalid_each(&mut errors, label(handler.text()));
    }
    let scheduling = root.get("scheduling");
    let path = scheduling.path().child("nodeSelector");
    metadata::labels(&mut errors, scheduling.value, "/nodeSelector", &path);
    let mut seen = HashSet::new();
    for toleration in scheduling.get("tolerations").items() {
        check_toleration(&mut errors, &toleration);
        let fields = ["key", "operator", "value", "effect"];
        if !seen.insert(fields.map(|field| toleration.value[field].as_str())) {
            toleration.duplicate(&mut errors);
        }
    }
    errors
}

fn check_toleration(errors: &mut Errors, toleration: &Field<'_, '_>) {
    let (key, operator) = (toleration.get("key"), toleration.get("operator"));
    let (value, effect) = (toleration.get("value"), toleration.get("effect"));
    if !key.is_empty() {
        key.invalid_each(errors, qualified_name(key.text()));
    } else if operator.text() != "Exists" {
        operator.invalid_as(
            errors,
            operator.text(),
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
        );
    }
    let seconds = toleration.get("tolerationSeconds");
    if seconds.exists() && effect.text() != "NoExecute" {
        effect.invalid_as(
            errors,
            effect.text(),
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    match operator.text() {
        "Exists" if !value.is_empty() => {
            operator.invalid_as(
                errors,
                toleration.value.clone(),
                "value must be empty when `operator` is 'Exists'",
            );
        }
        "" | "Equal" | "Exists" => {}
        _ => operator.not_supported(errors, &["Equal", "Exists"]),
    }
    if !effect.is_empty() {
        effect.one_of(errors, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
    }
}

/// The registration of an API (`ValidateAPIService`).
pub(crate) fn api_service(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let (spec, metadata) = (root.get("spec"), root.get("metadata"));
    let (name, group, version) = (metadata.get("name"), spec.get("group"), spec.get("version"));
    let expect = format!("{}.{}", version.text(), group.text());
    if name.text() != expect {
        name.invalid(
            &mut errors,
            format!("must be `spec.version+\".\"+spec.group`: {expect:?}"),
        );
    }
    if group.is_empty() {
        if version.text() != "v1" {
            group.required(
                &mut errors,
                "only v1 may have an empty group and it better be legacy kube",
            );
        }
    } else {
        group.invalid_each(&mut errors, subdomain(group.text()));
    }
    for message in dns_1035_label(version.text()) {
        version.invalid_as(&mut errors, version.text(), message);
    }
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let node = spec.get(field);
        if !(1..=most).contains(&node.int()) {
            let detail = format!("must be positive and less than {most}");
            node.invalid_as(&mut errors, node.int(), detail);
        }
    }
    let (service, bundle) = (spec.get("service"), spec.get("caBundle"));
    let skips = spec.get("insecureSkipTLSVerify");
    if !service.exists() {
        if !bundle.is_empty() {
            let size = format!("{} bytes", decoded_size(bundle.text()));
            bundle.invalid_as(&mut errors, size, "local APIServices may not have a caBundle");
        }
        if skips.is_true() {
            skips.invalid(
                &mut errors,
                "local APIServices may not have insecureSkipTLSVerify",
            );
        }
        return errors;
    }
    service.get("namespace").check_given(&mut errors, "");
    service.get("name").check_given(&mut errors, "");
    let port = service.get("port");
    let messages = port_number(port.int());
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        port.invalid_as(&mut errors, port.int(), detail);
    }
    if skips.is_true() && !bundle.is_empty() {
        skips.invalid(&mut errors, "may not be true if caBundle is present");
    }
    errors
}

/// How many bytes a text in Base64 stands for.
fn decoded_size(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// What the aggregator reports.
pub(crate) fn api_service_status(subresource: &str, new: &Value, _: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource == "status" {
        let root = Field::root("", new);
        for condition in root.get("status.conditions").items() {
            let status = condition.get("status");
            if !matches!(status.text(), "True" | "False" | "Unknown") {
                status.not_supported(&mut errors, &["True", "False", "Unknown"]);
            }
        }
    }
    errors
}
