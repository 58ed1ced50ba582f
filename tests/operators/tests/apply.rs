//! Server-side apply from the client's side: what an operator does to its objects, and what it is told of others.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_client::{Api, ApplyOptions, Patch, Untyped, WriteOptions};
use kubewright_tests_operators::Cluster;
use serde_json::{Value, json};

fn map(data: Value) -> Untyped<Value> {
    Untyped(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data}))
}

fn data(map: &ConfigMap) -> BTreeMap<String, String> {
    map.data.clone().unwrap_or_default()
}

fn managers(map: &ConfigMap) -> Vec<String> {
    let entries = map.metadata.managed_fields.iter().flatten();
    let mut managers: Vec<String> = entries.filter_map(|entry| entry.manager.clone()).collect();
    managers.sort();
    managers
}

#[tokio::test]
async fn conflicts_are_told_and_forced() {
    let cluster = Cluster::start().await;
    let maps: Api<ConfigMap> = Api::namespaced(&cluster.client, "default");
    let one = |value: &str| map(json!({"x": value}));
    let made = maps.apply("m", &one("1"), &ApplyOptions::new("a")).await.unwrap();
    assert_eq!(data(&made), BTreeMap::from([("x".to_owned(), "1".to_owned())]));
    let again = maps.apply("m", &one("1"), &ApplyOptions::new("a")).await.unwrap();
    assert_eq!(again.metadata.resource_version, made.metadata.resource_version);

    let refused = maps
        .apply("m", &one("2"), &ApplyOptions::new("b"))
        .await
        .unwrap_err();
    assert!(refused.is_conflict(), "{refused}");
    let causes = &refused.status().unwrap().details.as_ref().unwrap().causes;
    let told: Vec<_> = causes
        .iter()
        .map(|cause| (&*cause.reason, &*cause.message, &*cause.field))
        .collect();
    assert_eq!(told, [("FieldManagerConflict", "conflict with \"a\"", ".data.x")]);

    let forced = maps
        .apply("m", &one("2"), &ApplyOptions::new("b").force())
        .await
        .unwrap();
    assert_eq!(data(&forced), BTreeMap::from([("x".to_owned(), "2".to_owned())]));
    assert_eq!(managers(&forced), ["b"]);
    // As a patch, it is the same request.
    let options = WriteOptions {
        field_manager: "c".into(),
        force: true,
        ..WriteOptions::default()
    };
    let patched = maps
        .patch("m", &Patch::Apply(one("3").0), &options)
        .await
        .unwrap();
    assert_eq!(data(&patched), BTreeMap::from([("x".to_owned(), "3".to_owned())]));
    assert_eq!(managers(&patched), ["c"]);
    let unforced = WriteOptions {
        force: false,
        field_manager: "d".into(),
        ..options
    };
    let refused = maps
        .patch("m", &Patch::Apply(one("4").0), &unforced)
        .await
        .unwrap_err();
    assert!(refused.is_conflict(), "{refused}");
}

#[tokio::test]
async fn status_is_applied_by_another_manager() {
    let cluster = Cluster::start().await;
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let object = |part: &str, value: Value| {
        Untyped(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, part: value}),
        )
    };
    let deployments: Api<Deployment> = Api::namespaced(&cluster.client, "default");
    let (user, controller) = (ApplyOptions::new("user"), ApplyOptions::new("controller"));
    let absent = deployments
        .apply_status("d", &object("status", json!({"replicas": 1})), &controller)
        .await
        .unwrap_err();
    assert!(absent.is_not_found(), "{absent}");
    deployments
        .apply("d", &object("spec", spec), &user)
        .await
        .unwrap();
    let changed = deployments
        .apply_status("d", &object("status", json!({"replicas": 1})), &controller)
        .await
        .unwrap();
    assert_eq!(changed.status.unwrap().replicas, Some(1));
    let entries = changed.metadata.managed_fields.unwrap();
    let mut owners: Vec<_> = entries
        .iter()
        .map(|entry| (entry.manager.as_deref().unwrap(), entry.subresource.as_deref()))
        .collect();
    owners.sort_unstable();
    assert_eq!(owners, [("controller", Some("status")), ("user", None)]);
}
