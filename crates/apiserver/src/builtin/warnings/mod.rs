//! What clients are warned of about valid objects of the core group: fields that do nothing, names on their way out, settings
//! that surprise.
//!
//! Upstream: `WarningsOnCreate` and `WarningsOnUpdate` of `pkg/registry/core/*/strategy.go`, and `pkg/api/{pod,service,node,
//! persistentvolume,persistentvolumeclaim}`. The texts are upstream's.

mod custom;
mod definition;
mod groups;
mod paths;
mod pod;
mod ports;

pub(crate) use custom::custom_resource;
pub(crate) use definition::custom_resource_definition;
pub(crate) use groups::{
    balanced_part, csi_driver, pod_part, runtime_class, secret, service_account, storage_capacity,
    storage_class, webhooks,
};
pub(crate) use pod::{cron_job, pod, pod_template, replication_controller, workload};

use super::validation::addresses::{cidr_warnings, ip_warning};
use super::validation::field::Field;
use super::validation::names::label_value;
use super::validation::resources::is_whole;
use serde_json::Value;

/// Labels of nodes that have other names today.
const DEPRECATED_LABELS: &[(&str, &str)] = &[
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];

/// What is said of a label of nodes, if anything is.
pub(crate) fn node_label(key: &str) -> Option<&'static str> {
    let found = DEPRECATED_LABELS.iter().find(|(known, _)| *known == key);
    found.map(|(_, message)| *message)
}

/// Whether the values of expressions about nodes are looked at: where validation lets anything be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    Checked,
    Unchecked,
}

fn node_selector_term(warnings: &mut Vec<String>, term: &Field<'_, '_>, values: Values) {
    for expression in term.get("matchExpressions").items() {
        let key = expression.get("key");
        if let Some(message) = node_label(key.text()) {
            warnings.push(format!("{}: {} is {message}", key.path(), key.text()));
        }
        if values == Values::Checked {
            for value in expression.get("values").items() {
                for message in label_value(value.text()) {
                    warnings.push(format!(
                        "{}: {} is invalid, {message}",
                        value.path(),
                        value.text()
                    ));
                }
            }
        }
    }
}

/// Warns of an amount of bytes that is no whole number.
fn fraction(warnings: &mut Vec<String>, at: &Field<'_, '_>) {
    if let Some(amount) = at.quantity().filter(|amount| !is_whole(amount)) {
        warnings.push(format!(
            "{}: fractional byte value \"{amount}\" is invalid, must be an integer",
            at.path()
        ));
    }
}

/// About a service, new or changed.
pub(crate) fn service(service: &Value, _: Option<&Value>) -> Vec<String> {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    const MODE: &str = "service.kubernetes.io/topology-mode";
    let mut warnings = Vec::new();
    let spec = Field::of(service, "spec");
    if !service["metadata"]["annotations"][HINTS].is_null() {
        warnings.push(format!(
            "annotation {HINTS} is deprecated, please use {MODE} instead"
        ));
    }
    let (kind, address) = (spec.get("type"), spec.get("clusterIP"));
    if address.is_set() && address.text() != "None" {
        addresses(&mut warnings, &spec.get("clusterIPs"));
    }
    let is_headless = kind.text() == "ClusterIP" && address.text() == "None";
    let (balanced, external) = (spec.get("loadBalancerIP"), spec.get("externalIPs"));
    if is_headless {
        if balanced.is_set() {
            warnings.push("spec.loadBalancerIP is ignored for headless services".to_owned());
        }
        if !external.is_empty() {
            warnings.push("spec.externalIPs is ignored for headless services".to_owned());
        }
        if spec.get("sessionAffinity").text() != "None" {
            warnings.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    }
    addresses(&mut warnings, &external);
    let is_named = kind.text() == "ExternalName";
    if !external.is_empty() && !is_headless && !is_named {
        warnings.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned(),
        );
    }
    if balanced.is_set() {
        warnings.extend(ip_warning(balanced.path().as_str(), balanced.text()));
    }
    for range in spec.get("loadBalancerSourceRanges").items() {
        warnings.extend(cidr_warnings(range.path().as_str(), range.text()));
    }
    if is_named && !external.is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_named && spec.get("externalName").is_set() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.get("trafficDistribution").text() == "PreferClose" {
        warnings.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned(),
        );
    }
    warnings
}

/// Warns of addresses that are not in the form they should have.
fn addresses(warnings: &mut Vec<String>, list: &Field<'_, '_>) {
    for address in list.items() {
        warnings.extend(ip_warning(address.path().as_str(), address.text()));
    }
}

/// The annotation that was the storage class before there was a field.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// About a persistent volume, new or changed.
pub(crate) fn persistent_volume(volume: &Value, _: Option<&Value>) -> Vec<String> {
    const ANNOTATIONS: &[(&str, &str)] = &[
        (
            BETA_CLASS,
            "deprecated since v1.8; use \"storageClassName\" attribute instead",
        ),
        (
            "volume.beta.kubernetes.io/mount-options",
            "deprecated since v1.31; use \"mountOptions\" attribute instead",
        ),
    ];
    const SOURCES: &[(&str, &str, &str)] = &[
        (
            "cephfs",
            "cephfs",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
        (
            "photonPersistentDisk",
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+",
        ),
        (
            "scaleIO",
            "scaleIO",
            "deprecated in v1.16, non-functional in v1.22+",
        ),
        (
            "storageos",
            "storageOS",
            "deprecated in v1.22, non-functional in v1.25+",
        ),
        (
            "glusterfs",
            "glusterfs",
            "deprecated in v1.25, non-functional in v1.26+",
        ),
        ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ];
    let mut warnings = Vec::new();
    let (meta, spec) = (Field::of(volume, "metadata"), Field::of(volume, "spec"));
    let annotations = meta.get("annotations");
    for (key, message) in ANNOTATIONS {
        if annotations.key(key).exists() {
            warnings.push(format!("{}: {message}", annotations.key(key).path()));
        }
    }
    let policy = spec.get("persistentVolumeReclaimPolicy");
    if policy.text() == "Recycle" {
        warnings.push(format!(
            "{}: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
            policy.path()
        ));
    }
    let affinity = spec.get("nodeAffinity");
    let required = affinity.get("required");
    for term in required.get("nodeSelectorTerms").items() {
        node_selector_term(&mut warnings, &term, Values::Unchecked);
    }
    for (source, shown, message) in SOURCES {
        if spec.get(source).exists() {
            warnings.push(format!("{}: {message}", spec.get(shown).path()));
        }
    }
    warnings
}

/// About a claim, new or changed.
pub(crate) fn persistent_volume_claim(claim: &Value, _: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    let meta = Field::of(claim, "metadata");
    let annotations = meta.get("annotations");
    let class = annotations.key(BETA_CLASS);
    if class.exists() {
        warnings.push(format!(
            "{}: deprecated since v1.8; use \"storageClassName\" attribute instead",
            class.path()
        ));
    }
    claim_spec(&mut warnings, &Field::of(claim, "spec"));
    warnings
}

fn claim_spec(warnings: &mut Vec<String>, spec: &Field<'_, '_>) {
    let resources = spec.get("resources");
    for list in ["requests", "limits"] {
        fraction(warnings, &resources.get(list).key("storage"));
    }
}

/// About a node, new or changed.
pub(crate) fn node(node: &Value, _: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    let spec = Field::of(node, "spec");
    if spec.get("configSource").exists() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if spec.get("externalID").is_set() {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
    for cidr in spec.get("podCIDRs").items() {
        warnings.extend(cidr_warnings(cidr.path().as_str(), cidr.text()));
    }
    warnings
}

/// About endpoints, new or changed.
pub(crate) fn endpoints(endpoints: &Value, _: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    for subset in Field::of(endpoints, "subsets").items() {
        for list in ["addresses", "notReadyAddresses"] {
            for address in subset.get(list).items() {
                let ip = address.get("ip");
                warnings.extend(ip_warning(ip.path().as_str(), ip.text()));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
