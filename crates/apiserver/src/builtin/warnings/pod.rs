//! Pods and templates of pods (`pkg/api/pod/warnings.go`).

use std::collections::BTreeSet;

use super::super::validation::addresses::ip_warning;
use super::super::validation::field::Field;
use super::super::validation::names::label;
use super::super::validation::pod::each_container;
use super::{Values, claim_spec, fraction, node_label, node_selector_term, paths, ports};
use kubewright_core::FieldPath;
use serde_json::Value;

/// About a new pod. Changes come from controllers mostly, which read no warnings.
pub(crate) fn pod(pod: &Value, old: Option<&Value>) -> Vec<String> {
    if old.is_some() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    let messages = label(pod["metadata"]["name"].as_str().unwrap_or_default());
    if !messages.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            messages.join(" ")
        ));
    }
    let (meta, spec) = (Field::of(pod, "metadata"), Field::of(pod, "spec"));
    about(&mut warnings, &meta, &spec, Kind::Pod);
    warnings
}

/// About a template of pods that is an object of its own.
pub(crate) fn pod_template(object: &Value, old: Option<&Value>) -> Vec<String> {
    of_template(object, old, "/template")
}

/// About the template of a workload.
pub(crate) fn workload(object: &Value, old: Option<&Value>) -> Vec<String> {
    of_template(object, old, "/spec/template")
}

/// About the template of the jobs of a cron job.
pub(crate) fn cron_job(object: &Value, old: Option<&Value>) -> Vec<String> {
    of_template(object, old, "/spec/jobTemplate/spec/template")
}

/// About the template at a JSON pointer, unless the object's content is what it was.
fn of_template(object: &Value, old: Option<&Value>, pointer: &str) -> Vec<String> {
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    if old.is_some_and(|old| generation(old) == generation(object)) {
        return Vec::new();
    }
    let path = FieldPath::new(pointer.trim_start_matches('/').replace('/', "."));
    object
        .pointer(pointer)
        .map(|found| template(found, &path))
        .unwrap_or_default()
}

/// About a replication controller.
pub(crate) fn replication_controller(controller: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    let messages = label(controller["metadata"]["name"].as_str().unwrap_or_default());
    if old.is_none() && !messages.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            messages.join(" ")
        ));
    }
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    if old.is_none_or(|old| generation(old) != generation(controller)) {
        // Upstream looks at the old template when there is one.
        let owner = old.unwrap_or(controller);
        let path = FieldPath::new("spec").child("template");
        warnings.extend(template(&owner["spec"]["template"], &path));
    }
    warnings
}

/// About a template at `path`, of whatever kind of workload.
pub(super) fn template(template: &Value, path: &FieldPath) -> Vec<String> {
    let mut warnings = Vec::new();
    let at = Field::root(path.as_str(), template);
    about(
        &mut warnings,
        &at.get("metadata"),
        &at.get("spec"),
        Kind::Template,
    );
    warnings
}

/// Whose specification is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pod,
    Template,
}

const ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// Sources of volumes that are no more, the spelling of their path, and what is said of them.
const SOURCES: &[(&str, &str, &str)] = &[
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "flocker",
        "flocker",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "quobyte",
        "quobyte",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

fn about(warnings: &mut Vec<String>, meta: &Field<'_, '_>, spec: &Field<'_, '_>, kind: Kind) {
    placement(warnings, spec);
    let annotations = meta.get("annotations");
    for (key, message) in ANNOTATIONS {
        if annotations.key(key).exists() {
            warnings.push(format!("{}: {message}", annotations.key(key).path()));
        }
    }
    let volumes = spec.get("volumes");
    for volume in volumes.items() {
        for (source, shown, message) in SOURCES {
            if volume.get(source).exists() {
                warnings.push(format!("{}: {message}", volume.get(shown).path()));
            }
        }
        let ephemeral = volume.get("ephemeral");
        let template = ephemeral.get("volumeClaimTemplate");
        claim_spec(warnings, &template.get("spec"));
    }
    paths::check(warnings, &volumes);
    duplicates(warnings, &spec.get("hostAliases"), "ip");
    let secrets = spec.get("imagePullSecrets");
    duplicates(warnings, &secrets, "name");
    for secret in secrets.items() {
        if !secret.get("name").is_set() {
            warnings.push(format!("{}: invalid empty name \"\"", secret.get("name").path()));
        }
    }
    for resource in BYTES {
        fraction(warnings, &spec.get("overhead").key(resource));
    }
    profiles(warnings, &annotations, spec, kind);
    each_container(spec, |container| of_container(warnings, container));
    ports::check(warnings, spec);
    let grace = spec.get("terminationGracePeriodSeconds");
    if grace.int() < 0 {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            grace.path()
        ));
    }
    selectors(warnings, &spec.get("affinity"));
    for server in spec.get("dnsConfig").get("nameservers").items() {
        warnings.extend(ip_warning(server.path().as_str(), server.text()));
    }
    for alias in spec.get("hostAliases").items() {
        let ip = alias.get("ip");
        warnings.extend(ip_warning(ip.path().as_str(), ip.text()));
    }
}

/// Resources that are counted in bytes.
const BYTES: &[&str] = &["memory", "ephemeral-storage"];

fn placement(warnings: &mut Vec<String>, spec: &Field<'_, '_>) {
    for (key, entry) in spec.get("nodeSelector").entries() {
        if let Some(message) = node_label(key) {
            warnings.push(format!("{}: {message}", entry.path()));
        }
    }
    let affinity = spec.get("affinity");
    let nodes = affinity.get("nodeAffinity");
    let required = nodes.get("requiredDuringSchedulingIgnoredDuringExecution");
    for term in required.get("nodeSelectorTerms").items() {
        node_selector_term(warnings, &term, Values::Unchecked);
    }
    for term in nodes
        .get("preferredDuringSchedulingIgnoredDuringExecution")
        .items()
    {
        node_selector_term(warnings, &term.get("preference"), Values::Checked);
    }
    for constraint in spec.get("topologySpreadConstraints").items() {
        let key = constraint.get("topologyKey");
        if let Some(message) = node_label(key.text()) {
            warnings.push(format!("{}: {} is {message}", key.path(), key.text()));
        }
        null_selector(warnings, &constraint);
    }
}

fn null_selector(warnings: &mut Vec<String>, term: &Field<'_, '_>) {
    let selector = term.get("labelSelector");
    if !selector.exists() {
        warnings.push(format!(
            "{}: a null labelSelector results in matching no pod",
            selector.path()
        ));
    }
}

fn selectors(warnings: &mut Vec<String>, affinity: &Field<'_, '_>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.get(kind);
        for term in pods.get("requiredDuringSchedulingIgnoredDuringExecution").items() {
            null_selector(warnings, &term);
        }
        for term in pods
            .get("preferredDuringSchedulingIgnoredDuringExecution")
            .items()
        {
            null_selector(warnings, &term.get("podAffinityTerm"));
        }
    }
}

fn duplicates(warnings: &mut Vec<String>, list: &Field<'_, '_>, field: &str) {
    let mut seen = BTreeSet::new();
    for item in list.items() {
        let at = item.get(field);
        if !seen.insert(at.text()) {
            warnings.push(format!("{}: duplicate {field} {:?}", at.path(), at.text()));
        }
    }
}

/// Profiles that are given by annotation alone.
fn profiles(warnings: &mut Vec<String>, annotations: &Field<'_, '_>, spec: &Field<'_, '_>, kind: Kind) {
    const SECCOMP: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    let has = |owner: &Field<'_, '_>, profile: &str| owner.get("securityContext").get(profile).exists();
    let of_pod = annotations.key("seccomp.security.alpha.kubernetes.io/pod");
    if of_pod.exists() && !has(spec, "seccompProfile") {
        warnings.push(format!("{}: {SECCOMP}", of_pod.path()));
    }
    each_container(spec, |container| {
        let name = container.get("name").text();
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
        if annotations.key(&key).exists() && !has(container, "seccompProfile") {
            warnings.push(format!("{}: {SECCOMP}", annotations.key(&key).path()));
        }
        let key = format!("container.apparmor.security.beta.kubernetes.io/{name}");
        let annotation = annotations.key(&key);
        let is_asked = kind == Kind::Template && annotation.exists();
        let context = spec.get("securityContext");
        let of_pod = context.get("appArmorProfile");
        if is_asked && !has(container, "appArmorProfile") && !is_profile(&of_pod, annotation.text()) {
            warnings.push(format!(
                "{}: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                annotation.path()
            ));
        }
    });
}

/// Whether an annotation says what the field says (`ApparmorFieldForAnnotation`).
fn is_profile(profile: &Field<'_, '_>, annotation: &str) -> bool {
    let (kind, path) = (profile.get("type").text(), profile.get("localhostProfile"));
    match annotation {
        "unconfined" => kind == "Unconfined",
        "runtime/default" => kind == "RuntimeDefault",
        _ => {
            kind == "Localhost" && annotation.strip_prefix("localhost/") == Some(path.text()) && path.is_set()
        }
    }
}

fn of_container(warnings: &mut Vec<String>, container: &Field<'_, '_>) {
    let resources = container.get("resources");
    for resource in BYTES {
        for list in ["limits", "requests"] {
            fraction(warnings, &resources.get(list).key(resource));
        }
    }
    let mut seen = BTreeSet::new();
    for variable in container.get("env").items() {
        let (name, value) = (variable.get("name").text(), variable.get("value").text());
        if seen.insert(name) {
            continue;
        }
        // What builds on the value before is meant so.
        let reference = format!("$({name})");
        let builds_on = value.contains(&reference) && value != reference;
        if variable.get("valueFrom").exists() || !builds_on {
            warnings.push(format!(
                "{}: hides previous definition of {name:?}, which may be dropped when using apply",
                variable.path()
            ));
        }
    }
}
