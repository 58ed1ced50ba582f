//! The token of an account in a pod: a volume, and a mount of it in each container.

use serde_json::{Value, json};

use crate::ids;

/// Whether a pod gets the token: its own word counts more than its account's.
pub(super) fn is_wanted(account: &Value, pod: &Value) -> bool {
    let says = |object: &Value| object["automountServiceAccountToken"].as_bool();
    says(&pod["spec"]).or_else(|| says(account)).unwrap_or(true)
}

/// Mounts the token in every container that has nothing at its place, from a volume that is added unless the pod has it.
pub(super) fn token(pod: &mut Value) {
    let spec = &mut pod["spec"];
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let present = volumes
        .filter_map(|volume| volume["name"].as_str())
        .find(|name| name.starts_with(PREFIX))
        .map(str::to_owned);
    let has_volume = present.is_some();
    let name = present.unwrap_or_else(|| ids::generated_name(PREFIX));
    let mut is_mounted = false;
    for field in ["initContainers", "containers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mounts = container["volumeMounts"].as_array();
            let is_taken =
                mounts.is_some_and(|mounts| mounts.iter().any(|mount| mount["mountPath"] == MOUNT_PATH));
            if !is_taken {
                let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
                push(&mut container["volumeMounts"], mount);
                is_mounted = true;
            }
        }
    }
    if is_mounted && !has_volume {
        push(&mut spec["volumes"], volume(&name));
    }
}

/// What a client in the pod needs: token, certificate of the authority and name of the namespace.
fn volume(name: &str) -> Value {
    let sources = json!([
        {"serviceAccountToken": {"path": "token", "expirationSeconds": EXPIRATION_SECONDS}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]);
    json!({"name": name, "projected": {"defaultMode": DEFAULT_MODE, "sources": sources}})
}

fn push(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(list) => list.push(item),
        None => *list = Value::Array(vec![item]),
    }
}

const PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// An hour and some, by which tokens that are never renewed are told apart (pkg/serviceaccount `WarnOnlyBoundTokenExpirationSeconds`).
const EXPIRATION_SECONDS: u64 = 60 * 60 + 7;

/// 0644.
const DEFAULT_MODE: u32 = 420;
