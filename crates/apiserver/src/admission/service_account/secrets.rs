//! Which secrets a pod may have.

use std::collections::BTreeSet;

use serde_json::Value;

/// What of a pod is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of a new pod.
    Whole,
    /// The containers that are added later.
    Ephemeral,
}

/// Whether an account says that its pods may have no other secrets than it names.
pub(super) fn is_enforced(account: &Value) -> bool {
    let said = account["metadata"]["annotations"]["kubernetes.io/enforce-mountable-secrets"].as_str();
    // As Go reads a bool.
    matches!(said, Some("1" | "t" | "T" | "TRUE" | "true" | "True"))
}

/// Checks that an account names the secrets of a pod.
///
/// # Errors
/// Upstream's word on the first that it does not.
pub(super) fn check(account: &Value, pod: &Value, part: Part) -> Result<(), String> {
    let owner = text(&account["metadata"], "name");
    let named: BTreeSet<&str> = items(&account["secrets"])
        .map(|secret| text(secret, "name"))
        .collect();
    if part == Part::Ephemeral {
        return check_containers(
            owner,
            &named,
            &pod["spec"]["ephemeralContainers"],
            "ephemeral container",
        );
    }
    for volume in items(&pod["spec"]["volumes"]) {
        let secret = &volume["secret"];
        if secret.is_object() && !named.contains(text(secret, "secretName")) {
            let name = text(secret, "secretName");
            return Err(format!(
                "volume with secret.secretName=\"{name}\" is not allowed because service account {owner} does not reference that secret"
            ));
        }
    }
    check_containers(owner, &named, &pod["spec"]["initContainers"], "init container")?;
    check_containers(owner, &named, &pod["spec"]["containers"], "container")?;
    let pulled: BTreeSet<&str> = items(&account["imagePullSecrets"])
        .map(|secret| text(secret, "name"))
        .collect();
    for (index, secret) in items(&pod["spec"]["imagePullSecrets"]).enumerate() {
        let name = text(secret, "name");
        if !pulled.contains(name) {
            return Err(format!(
                "imagePullSecrets[{index}].name=\"{name}\" is not allowed because service account {owner} does not reference that \
                 imagePullSecret"
            ));
        }
    }
    Ok(())
}

fn check_containers(
    owner: &str,
    named: &BTreeSet<&str>,
    containers: &Value,
    what: &str,
) -> Result<(), String> {
    for container in items(containers) {
        let refused = |with: String, secret: &str| {
            let name = text(container, "name");
            Err(format!(
                "{what} {name} with {with} referencing secret.secretName=\"{secret}\" is not allowed because service account {owner} \
                 does not reference that secret"
            ))
        };
        for variable in items(&container["env"]) {
            let secret = &variable["valueFrom"]["secretKeyRef"];
            if secret.is_object() && !named.contains(text(secret, "name")) {
                let with = format!("envVar {}", text(variable, "name"));
                return refused(with, text(secret, "name"));
            }
        }
        for source in items(&container["envFrom"]) {
            let secret = &source["secretRef"];
            if secret.is_object() && !named.contains(text(secret, "name")) {
                return refused("envFrom".to_owned(), text(secret, "name"));
            }
        }
    }
    Ok(())
}

/// Checks that a mirror pod, which comes from a kubelet's own files, uses nothing that a server would have to give it.
///
/// # Errors
/// What it uses.
pub(super) fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    if !text(&pod["spec"], "serviceAccountName").is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    if uses_secrets(&pod["spec"]) {
        return Err("a mirror pod may not reference secrets");
    }
    let sources = items(&pod["spec"]["volumes"]).flat_map(|volume| items(&volume["projected"]["sources"]));
    if sources
        .into_iter()
        .any(|source| source["serviceAccountToken"].is_object())
    {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

/// Whether any secret is named (pkg/api/pod/util.go `VisitPodSecretNames`).
fn uses_secrets(spec: &Value) -> bool {
    let is_named = |object: &Value, field: &str| !text(object, field).is_empty();
    let in_container = |container: &Value| {
        items(&container["envFrom"]).any(|source| is_named(&source["secretRef"], "name"))
            || items(&container["env"])
                .any(|variable| is_named(&variable["valueFrom"]["secretKeyRef"], "name"))
    };
    let in_volume = |volume: &Value| {
        let referenced = [
            "cephfs",
            "cinder",
            "flexVolume",
            "rbd",
            "scaleIO",
            "iscsi",
            "storageos",
        ];
        is_named(&volume["azureFile"], "secretName")
            || is_named(&volume["secret"], "secretName")
            || is_named(&volume["csi"]["nodePublishSecretRef"], "name")
            || referenced
                .iter()
                .any(|source| is_named(&volume[*source]["secretRef"], "name"))
            || items(&volume["projected"]["sources"]).any(|source| is_named(&source["secret"], "name"))
    };
    let containers = ["initContainers", "containers", "ephemeralContainers"];
    items(&spec["imagePullSecrets"]).any(|secret| is_named(secret, "name"))
        || containers
            .iter()
            .any(|field| items(&spec[*field]).any(in_container))
        || items(&spec["volumes"]).any(in_volume)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
