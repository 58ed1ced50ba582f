//! The scale of everything that has one: whose it is, and what is refused.

use serde_json::{Value, json};

use crate::harness::{Ask, Server};

/// The kinds with a scale: `apiVersion`, resource, kind.
const KINDS: &[(&str, &str, &str)] = &[
    ("v1", "replicationcontrollers", "ReplicationController"),
    ("apps/v1", "deployments", "Deployment"),
    ("apps/v1", "replicasets", "ReplicaSet"),
    ("apps/v1", "statefulsets", "StatefulSet"),
];

fn scale(metadata: Value, replicas: i64) -> Value {
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": replicas}})
}

/// Upstream: `scaleUpdatedObjectInfo` in `pkg/registry/apps/deployment/storage/storage.go` and its copies for the other kinds.
#[tokio::test]
async fn a_scale_is_that_of_one_object() {
    let server = Server::start().await;
    for (api_version, resource, kind) in KINDS {
        let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
        let root = if group.is_empty() { "/api" } else { "/apis" };
        let all = format!("{root}/{api_version}/namespaces/default/{resource}");
        let labels = json!({"app": "a"});
        let selector = if group.is_empty() {
            labels.clone()
        } else {
            json!({"matchLabels": labels})
        };
        let object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": "a"},
            "spec": {"replicas": 1, "selector": selector, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
        });
        let uid = server.ok(Ask::json(format!("POST {all}"), &object)).await["metadata"]["uid"].clone();
        let put = |metadata: Value, replicas: i64| {
            Ask::json(format!("PUT {all}/a/scale"), &scale(metadata, replicas))
        };
        let patch = |patch: Value| {
            Ask::new(format!("PATCH {all}/a/scale")).typed("application/merge-patch+json", patch.to_string())
        };
        let other_name = "the name of the object (b) does not match the name on the URL (a)";
        let other_uid = "Precondition failed: UID in precondition: z, UID in object meta: ";
        let stale = "the object has been modified";
        let rows = [
            (put(json!({"name": "b"}), 2), 400, other_name),
            (put(json!({}), 2), 400, "name must be provided"),
            (
                put(json!({"name": "a", "namespace": "other"}), 2),
                400,
                "does not match the namespace",
            ),
            (patch(json!({"metadata": {"name": "b"}})), 400, other_name),
            (
                put(json!({"name": "a", "uid": "z"}), 2),
                409,
                "StorageError: invalid object, Code: 4",
            ),
            (put(json!({"name": "a", "uid": "z"}), -2), 409, other_uid),
            (patch(json!({"metadata": {"uid": "z"}})), 409, other_uid),
            (put(json!({"name": "a", "resourceVersion": "1"}), 2), 409, stale),
            (
                put(json!({"name": "a"}), -2),
                422,
                "spec.replicas: Invalid value: -2: must be greater than or equal to 0",
            ),
        ];
        for (ask, code, message) in rows {
            server.refused(ask, code, message).await;
        }
        let scaled = server.ok(put(json!({"name": "a", "uid": uid}), 3)).await;
        assert_eq!(scaled["spec"]["replicas"], 3, "{resource}");
        let missing = Ask::json(format!("PUT {all}/b/scale"), &scale(json!({"name": "b"}), -2));
        server.refused(missing, 404, "\"b\" not found").await;
    }
}
