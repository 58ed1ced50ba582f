//! Garbage collection, from the outside.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_cache::Lister;
use kubewright_client::{Api, DeleteOptions, PropagationPolicy, WriteOptions};
use kubewright_controllers::{ControllerName, ControllerOptions, ControllerSet};
use kubewright_core::{ApiResource, DynamicObject, ObjectKey, Scope};
use kubewright_runtime::Handle;
use kubewright_tests_operators::Cluster;
use serde_json::{Value, json};

async fn start() -> (Cluster, Handle) {
    let cluster = Cluster::start().await;
    let options = ControllerOptions {
        controllers: [ControllerName::GarbageCollector].into(),
        ..ControllerOptions::default()
    };
    let running = ControllerSet::new(options)
        .start(&cluster.service())
        .ready()
        .await
        .unwrap();
    (cluster, running)
}

fn reference(owner: &ConfigMap) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid,
        "blockOwnerDeletion": true,
    })
}

async fn create(cluster: &Cluster, name: &str, owners: &[Value]) -> ConfigMap {
    let map = json!({"metadata": {"name": name, "ownerReferences": owners}});
    cluster.create(Some("default"), map).await
}

fn names(maps: &Lister<ConfigMap>) -> Vec<String> {
    let mut names: Vec<_> = maps
        .list_namespace("default")
        .iter()
        .map(|map| map.name().to_owned())
        .collect();
    names.sort();
    names
}

/// An owner with a child and a grandchild, beside a child that another owns too.
#[tokio::test]
async fn dependants_follow_their_owner_as_the_policy_says() {
    for (policy, left) in [
        (PropagationPolicy::Background, &["other", "shared"][..]),
        (PropagationPolicy::Foreground, &["other", "shared"]),
        (
            PropagationPolicy::Orphan,
            &["child", "grandchild", "other", "shared"],
        ),
    ] {
        let (cluster, running) = start().await;
        let owner = create(&cluster, "owner", &[]).await;
        let other = create(&cluster, "other", &[]).await;
        let child = create(&cluster, "child", &[reference(&owner)]).await;
        create(&cluster, "grandchild", &[reference(&child)]).await;
        create(&cluster, "shared", &[reference(&owner), reference(&other)]).await;
        let options = DeleteOptions {
            propagation_policy: Some(policy),
            ..DeleteOptions::default()
        };
        let api = Api::<ConfigMap>::namespaced(&cluster.client, "default");
        api.delete("owner", &options).await.unwrap();
        cluster
            .eventually::<ConfigMap>(&format!("{policy:?}"), |maps| names(maps) == left)
            .await;
        cluster
            .eventually_one::<ConfigMap>("default/shared", "one owner", |map| {
                map.metadata
                    .owner_references
                    .as_ref()
                    .is_some_and(|owners| owners.len() == 1)
            })
            .await;
        running.stop().await.unwrap();
    }
}

#[tokio::test]
async fn what_names_an_owner_that_never_was_goes() {
    let (cluster, running) = start().await;
    let absent = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "no", "uid": "no-such-uid"});
    create(&cluster, "stray", &[absent]).await;
    cluster
        .eventually::<ConfigMap>("the stray to go", |maps| names(maps).is_empty())
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn custom_resources_own_and_are_owned() {
    let (cluster, running) = start().await;
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    cluster.create::<CustomResourceDefinition>(None, definition).await;
    cluster
        .eventually_one::<CustomResourceDefinition>(
            "widgets.example.com",
            "an established kind",
            |definition| {
                let value = serde_json::to_value(definition).unwrap();
                let conditions = value["status"]["conditions"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                conditions
                    .iter()
                    .any(|c| c["type"] == "Established" && c["status"] == "True")
            },
        )
        .await;
    let widgets = ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
        scope: Scope::Namespaced,
    };
    let api = cluster.api(&widgets, Some("default"));
    let widget = DynamicObject::new(&widgets, "w").within("default");
    let widget = api.create(&widget, &WriteOptions::default()).await.unwrap();
    let owner = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": widget.metadata.uid, "controller": true,
    });
    let map = create(&cluster, "owned", &[owner]).await;
    let mut inner = DynamicObject::new(&widgets, "inner").within("default");
    inner.metadata.owner_references = serde_json::from_value(json!([reference(&map)])).unwrap();
    api.create(&inner, &WriteOptions::default()).await.unwrap();
    api.delete("w", &DeleteOptions::default()).await.unwrap();
    cluster
        .eventually::<ConfigMap>("the map to go", |maps| names(maps).is_empty())
        .await;
    cluster
        .eventually_of::<DynamicObject>(&widgets, "the inner widget to go", |widgets| {
            widgets.get(&ObjectKey::namespaced("default", "inner")).is_none()
        })
        .await;
    running.stop().await.unwrap();
}
