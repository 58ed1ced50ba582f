//! Nodes.
//!
//! Upstream: `ValidateNode` and `ValidateNodeUpdate`, which an update is held to both.

use std::collections::BTreeSet;

use super::super::addresses::{check_cidr, is_dual_stack};
use super::super::field::{Errors, Field};
use super::super::names::{SUBDOMAIN_MAX, config_key, label, label_value, qualified_name, subdomain};
use super::super::resources::check_amount;
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

pub(crate) fn node(node: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let spec = Field::of(node, "spec");
    // Upstream has the taints below the metadata.
    let path = FieldPath::new("metadata.taints");
    check_taints(&mut errors, &Field::root(path.as_str(), spec.get("taints").value));
    check_status(&mut errors, node);
    let cidrs = spec.get("podCIDRs");
    for cidr in cidrs.items() {
        check_cidr(&mut errors, &cidr, cidr.text(), &[]);
    }
    let texts: Vec<&str> = cidrs.texts().collect();
    if texts.len() > 1 && (!is_dual_stack(&texts) || texts.len() > 2) {
        let detail = "may specify no more than one CIDR for each IP family";
        cidrs.invalid(&mut errors, detail);
    }
    if let Some(old) = old {
        check_update(&mut errors, node, old);
    }
    errors
}

/// Checks what a kubelet reports.
pub(crate) fn node_part(subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    if subresource == "status" {
        check_status(&mut errors, new);
        check_update(&mut errors, new, old);
    }
    errors
}

/// Checks taints, which are unique by key and effect.
fn check_taints(errors: &mut Errors, taints: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.get("key"), taint.get("value"), taint.get("effect"));
        for message in qualified_name(key.text()) {
            key.invalid_as(errors, key.text(), message);
        }
        let messages = label_value(value.text());
        if !messages.is_empty() {
            value.invalid(errors, messages.join(";"));
        }
        effect.required_one_of(errors, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        if !seen.insert((key.text(), effect.text())) {
            let mut error = FieldError::duplicate(taint.path(), taint.value.clone());
            "taints must be unique by key and effect pair".clone_into(&mut error.detail);
            errors.push(error);
        }
    }
}

fn check_status(errors: &mut Errors, node: &Value) {
    let status = Field::of(node, "status");
    for list in ["capacity", "allocatable"] {
        let list = status.get(list);
        for (name, amount) in list.entries() {
            // Upstream has the name as a field here.
            let at = list.get(name).with(amount.value);
            check_amount(errors, &at, name);
        }
    }
    let features = status.get("declaredFeatures");
    let mut before: Option<&str> = None;
    for feature in features.items() {
        let name = feature.text();
        match before {
            Some(before) if before == name => feature.duplicate(errors),
            Some(before) if before > name => feature.invalid(errors, "list must be sorted alphabetically"),
            _ => {}
        }
        if let Some(detail) = feature_fault(name) {
            feature.invalid(errors, detail);
        }
        before = Some(name);
    }
}

/// What is wrong with the name of a feature that a node declares (KEP-5328).
fn feature_fault(name: &str) -> Option<String> {
    if name.len() > SUBDOMAIN_MAX {
        return Some(format!(
            "invalid feature name {name:?}: must be no more than {SUBDOMAIN_MAX} characters"
        ));
    }
    let mut segments = name.split('/');
    let is_text = |segment: &str| segment.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_first = |segment: &str| segment.starts_with(|c: char| c.is_ascii_uppercase()) && is_text(segment);
    let is_next = |segment: &str| segment.starts_with(|c: char| c.is_ascii_alphabetic()) && is_text(segment);
    let is_valid = segments.next().is_some_and(is_first) && segments.all(is_next);
    (!is_valid).then(|| {
        format!(
            "invalid feature name {name:?}: must start with an UpperCamelCase segment, with subsequent segments separated by \
             '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
        )
    })
}

/// What identifies a node is set once, by whoever comes first.
fn check_update(errors: &mut Errors, new: &Value, old: &Value) {
    let (spec, status) = (Field::of(new, "spec"), Field::of(new, "status"));
    let addresses = status.get("addresses");
    for (index, address) in addresses.items().enumerate() {
        if addresses.list()[..index].contains(address.value) {
            address.duplicate(errors);
        }
    }
    let (before, cidrs) = (Field::of(old, "spec"), spec.get("podCIDRs"));
    let before_cidrs = before.get("podCIDRs");
    if !before_cidrs.is_empty() {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        if before_cidrs.len() == cidrs.len() {
            for _ in before_cidrs
                .texts()
                .zip(cidrs.texts())
                .filter(|(old, new)| old != new)
            {
                cidrs.forbidden(errors, detail);
            }
        } else {
            cidrs.forbidden(errors, detail);
        }
    }
    let (id, old_id) = (spec.get("providerID"), before.get("providerID"));
    if old_id.is_set() && old_id.text() != id.text() {
        let detail = if id.is_set() {
            "field cannot be modified once set"
        } else {
            "field cannot be cleared once set"
        };
        id.invalid_as(errors, Value::Null, detail);
    }
    let source = spec.get("configSource");
    if source.exists() {
        check_config_source(errors, &source, ConfigSource::Wanted);
    }
    let config = status.get("config");
    for field in ["assigned", "active", "lastKnownGood"] {
        if config.get(field).exists() {
            check_config_source(errors, &config.get(field), ConfigSource::Reported);
        }
    }
    if spec.get("externalID").text() != before.get("externalID").text() {
        spec.get("externalID").forbidden(errors, "may not be updated");
    }
}

/// Who names the configuration of a kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigSource {
    /// The specification: the object alone.
    Wanted,
    /// The status: one version of the object.
    Reported,
}

fn check_config_source(errors: &mut Errors, source: &Field<'_, '_>, kind: ConfigSource) {
    let map = source.get("configMap");
    if !map.exists() {
        source.invalid(errors, "exactly one reference subfield must be non-nil");
        return;
    }
    for field in ["uid", "resourceVersion"] {
        let version = map.get(field);
        match kind {
            ConfigSource::Wanted if version.is_set() => {
                version.forbidden(errors, format!("{field} must not be set in spec"));
            }
            ConfigSource::Wanted => {}
            ConfigSource::Reported => {
                version.must_be_set(errors);
            }
        }
    }
    map.get("namespace").required_checked(errors, label);
    map.get("name").required_checked(errors, subdomain);
    map.get("kubeletConfigKey").required_checked(errors, config_key);
}
