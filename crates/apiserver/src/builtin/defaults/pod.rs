//! Defaults of the pod specification, shared by Pod, PodTemplate and every workload kind.
//!
//! Upstream: `pkg/apis/core/v1/defaults.go` (`SetDefaults_PodSpec`, `SetDefaults_Container`, `SetDefaults_Volume` and
//! their kin) and the `+default` markers of `k8s.io/api/core/v1/types.go`.

use super::super::value::{Object, is_nil, is_zero, str_in};
use super::Literal::{Bool, Empty, Int, Str};
use super::Rule::{self, Nil, Run, Use, Zero};
use super::copy_missing;
use serde_json::{Value, json};

/// `PodSpec`, wherever it is embedded.
pub(super) const POD_SPEC: &[Rule] = &[
    Zero("", "dnsPolicy", Str("ClusterFirst")),
    Zero("", "restartPolicy", Str("Always")),
    Nil("", "securityContext", Empty),
    Nil("", "terminationGracePeriodSeconds", Int(30)),
    Zero("", "schedulerName", Str("default-scheduler")),
    // The two names of the field are kept equal by upstream's conversion.
    Run("", service_account_alias),
    Use("volumes[]", VOLUME),
    Use("initContainers[]", CONTAINER),
    Use("containers[]", CONTAINER),
    Use("ephemeralContainers[]", CONTAINER),
];

/// What upstream defaults in a Pod alone, not in a template: run after [`POD_SPEC`].
pub(super) const POD_ONLY: &[Rule] = &[
    Run("containers[].resources", |resources| {
        copy_missing(resources, "limits", "requests")
    }),
    Run("initContainers[].resources", |resources| {
        copy_missing(resources, "limits", "requests")
    }),
    // After the containers have theirs.
    Run("", super::pod_resources::complete),
    Nil("", "enableServiceLinks", Bool(true)),
    Run("", grace_period),
    Run("", host_network_ports),
];

/// A pod that asks for less than no time gets a second (`SetDefaults_Pod`).
fn grace_period(spec: &mut Object) {
    let period = spec.get_mut("terminationGracePeriodSeconds");
    if let Some(period) = period.filter(|period| period.as_i64().is_some_and(|seconds| seconds < 0)) {
        *period = 1.into();
    }
}

/// `PersistentVolumeClaimSpec`, in a claim and in the templates of claims.
pub(super) const CLAIM_SPEC: &[Rule] = &[Nil("", "volumeMode", Str("Filesystem"))];

/// Volume sources that volumes of pods and persistent volumes have in common.
pub(super) const VOLUME_SOURCE: &[Rule] = &[
    Nil("hostPath", "type", Str("")),
    Zero("rbd", "pool", Str("rbd")),
    Zero("rbd", "user", Str("admin")),
    Zero("rbd", "keyring", Str("/etc/ceph/keyring")),
    Zero("iscsi", "iscsiInterface", Str("default")),
    Nil("azureDisk", "cachingMode", Str("ReadWrite")),
    Nil("azureDisk", "fsType", Str("ext4")),
    Nil("azureDisk", "readOnly", Bool(false)),
    Nil("azureDisk", "kind", Str("Shared")),
    Zero("scaleIO", "storageMode", Str("ThinProvisioned")),
    Zero("scaleIO", "fsType", Str("xfs")),
];

const FIELD_REF: &[Rule] = &[Zero("", "apiVersion", Str("v1"))];

const VOLUME: &[Rule] = &[
    Run("", empty_dir_without_source),
    Use("", VOLUME_SOURCE),
    Run("image", |image| pull_policy(image, "reference", "pullPolicy")),
    Nil("secret", "defaultMode", Int(0o644)),
    Nil("configMap", "defaultMode", Int(0o644)),
    Nil("downwardAPI", "defaultMode", Int(0o644)),
    Use("downwardAPI.items[].fieldRef", FIELD_REF),
    Nil("projected", "defaultMode", Int(0o644)),
    Use("projected.sources[].downwardAPI.items[].fieldRef", FIELD_REF),
    Nil(
        "projected.sources[].serviceAccountToken",
        "expirationSeconds",
        Int(3600),
    ),
    Nil(
        "projected.sources[].podCertificate",
        "maxExpirationSeconds",
        Int(86_400),
    ),
    Use("ephemeral.volumeClaimTemplate.spec!", CLAIM_SPEC),
];

const HTTP_GET: &[Rule] = &[Zero("", "path", Str("/")), Zero("", "scheme", Str("HTTP"))];

const PROBE: &[Rule] = &[
    Zero("", "timeoutSeconds", Int(1)),
    Zero("", "periodSeconds", Int(10)),
    Zero("", "successThreshold", Int(1)),
    Zero("", "failureThreshold", Int(3)),
    Use("httpGet", HTTP_GET),
    Nil("grpc", "service", Str("")),
];

const CONTAINER: &[Rule] = &[
    Run("", |container| pull_policy(container, "image", "imagePullPolicy")),
    Zero("", "terminationMessagePath", Str("/dev/termination-log")),
    Zero("", "terminationMessagePolicy", Str("File")),
    // No default upstream, but a Go struct that is always written.
    Nil("", "resources", Empty),
    Zero("ports[]", "protocol", Str("TCP")),
    Use("env[].valueFrom.fieldRef", FIELD_REF),
    Nil("env[].valueFrom.fileKeyRef", "optional", Bool(false)),
    Use("livenessProbe", PROBE),
    Use("readinessProbe", PROBE),
    Use("startupProbe", PROBE),
    Use("lifecycle.postStart.httpGet", HTTP_GET),
    Use("lifecycle.preStop.httpGet", HTTP_GET),
];

fn service_account_alias(spec: &mut Object) {
    const NAME: &str = "serviceAccountName";
    const ALIAS: &str = "serviceAccount";
    let name = match (str_in(spec, NAME), str_in(spec, ALIAS)) {
        ("", "") => return,
        ("", alias) => alias.to_owned(),
        (name, _) => name.to_owned(),
    };
    spec.insert(ALIAS.to_owned(), name.clone().into());
    spec.insert(NAME.to_owned(), name.into());
}

fn empty_dir_without_source(volume: &mut Object) {
    let has_source = volume
        .iter()
        .any(|(field, value)| field != "name" && !value.is_null());
    if !has_source {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
}

/// `Always` for an image whose tag is `latest`, given or implied; else `IfNotPresent`.
fn pull_policy(object: &mut Object, image: &str, policy: &str) {
    if object.get(policy).is_none_or(is_zero) {
        let value = if tag_is_latest(str_in(object, image)) {
            "Always"
        } else {
            "IfNotPresent"
        };
        object.insert(policy.to_owned(), value.into());
    }
}

/// Whether an image reference names the tag `latest`; it does so by naming neither tag nor digest.
fn tag_is_latest(image: &str) -> bool {
    let (name, has_digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    // A colon before the last slash belongs to the port of a registry.
    let last = name.rsplit('/').next().unwrap_or(name);
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => !has_digest && !last.is_empty(),
    }
}

/// With the host's network every container port is a host port.
fn host_network_ports(spec: &mut Object) {
    if !spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or(false) {
        return;
    }
    for list in ["containers[].ports[]", "initContainers[].ports[]"] {
        super::walk(spec, list, &mut |port| {
            if port.get("hostPort").is_none_or(is_zero) && !is_nil(port, "containerPort") {
                let number = port["containerPort"].clone();
                port.insert("hostPort".to_owned(), number);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::tag_is_latest;

    #[test]
    fn latest_is_said_or_implied() {
        #[track_caller]
        fn check(image: &str, expect: bool) {
            assert_eq!(tag_is_latest(image), expect, "{image}");
        }
        check("nginx", true);
        check("nginx:latest", true);
        check("nginx:1.27", false);
        check("registry:5000/nginx", true);
        check("registry:5000/nginx:1.27", false);
        check("nginx@sha256:0000", false);
        check("nginx:latest@sha256:0000", true);
        check("", false);
    }
}
