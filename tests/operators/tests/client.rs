//! The client against the server in one process: discovery, mapping and helpers.
#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kubewright_client::discovery::{
    CachedDiscovery, DiscoveryClient, DiskCache, HttpCache, HttpCacheLayer, MapperOptions, OpenApiClient,
    RestMapper,
};
use kubewright_client::helpers::{Backoff, Finalizer, WrittenHow, conditions, retry_on_conflict};
use kubewright_client::{
    Api, ApplyOptions, ClientOptions, DeleteOptions, DynamicApi, Gzip, ListOptions, RawList, ResourcePath,
    Untyped, WriteOptions,
};
use kubewright_core::{
    DynamicObject, GroupVersion, GroupVersionKind, set_controller_reference, set_owner_reference,
};
use kubewright_tests_operators::{Cluster, LIMIT};
use serde_json::{Value, json};

fn definition() -> Value {
    json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"] },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    })
}

async fn define_widgets(cluster: &Cluster) {
    let resource = RestMapper::new(&cluster.client, MapperOptions::default())
        .find("crd")
        .await
        .unwrap()
        .resource;
    let api = cluster.api(&resource, None);
    let mut object = DynamicObject::new(&resource, "widgets.example.com");
    object.data = definition().as_object().unwrap().clone();
    object.data.remove("metadata");
    api.create(&object, &WriteOptions::default()).await.unwrap();
    let established = conditions::has_condition("Established", "True");
    api.wait_for("widgets.example.com", LIMIT, established)
        .await
        .unwrap();
}

#[tokio::test]
async fn one_by_one_is_found_what_is_found_at_once() {
    let cluster = Cluster::start().await;
    let source = DiscoveryClient::new(&cluster.client);
    let whole = source.discover().await.unwrap().complete().unwrap();
    for group in source.groups().await.unwrap() {
        for group_version in group.group_versions() {
            let alone = source.version(&group_version).await.unwrap();
            assert_eq!(Some(&alone), whole.version(&group_version), "{group_version}");
        }
    }
    let scale = whole.find("deploy").unwrap().subresource("scale").unwrap();
    assert_eq!(scale.kind, GroupVersionKind::new("autoscaling", "v1", "Scale"));
    assert!(
        source
            .server_version()
            .await
            .unwrap()
            .git_version
            .starts_with('v')
    );
    // And what is kept on disk is the same.
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskCache::new(folder.path(), "https://in.process").unwrap();
    for _ in 0..2 {
        let cache = CachedDiscovery::on_disk(&cluster.client, disk.clone());
        let found = cache
            .discover()
            .await
            .unwrap()
            .as_ref()
            .clone()
            .complete()
            .unwrap();
        assert_eq!(found, whole);
    }
}

#[tokio::test]
async fn a_new_kind_is_found_without_being_told() {
    let cluster = Cluster::start().await;
    let mapper = RestMapper::new(&cluster.client, MapperOptions::default());
    let names = [
        "po",
        "Pods",
        "deployments.v1.apps",
        "deploy.apps",
        "sa",
        "crd",
        "hpa",
        "ev",
        "nodes.v1.",
    ];
    for name in names {
        mapper.find(name).await.unwrap();
    }
    assert_eq!(mapper.find("ev").await.unwrap().resource.group, "");
    define_widgets(&cluster).await;
    let widgets = mapper.find("wd").await.unwrap();
    assert_eq!(widgets.resource.plural, "widgets");
    let all = mapper.category("all").await.unwrap();
    assert!(all.iter().any(|found| found.resource.plural == "widgets"));
    let kind = GroupVersionKind::new("example.com", "v1", "Widget");
    let api = DynamicApi::dynamic_namespaced(
        &cluster.client,
        &mapper.resource_of(&kind).await.unwrap().resource,
        "default",
    );
    let change =
        |widget: &mut DynamicObject| drop(widget.data.insert("spec".to_owned(), json!({ "size": 1 })));
    let options = WriteOptions::default();
    let made = api.create_or_update("a", &options, change).await.unwrap();
    assert_eq!(made.how, WrittenHow::Created);
    let again = api.create_or_update("a", &options, change).await.unwrap();
    assert_eq!((again.how, again.object), (WrittenHow::Unchanged, made.object));
}

#[tokio::test]
async fn documents_come_from_the_cache() {
    let cluster = Cluster::start().await;
    let client = cluster.client.layer(&HttpCacheLayer::new(HttpCache::in_memory()));
    let openapi = OpenApiClient::new(&client);
    let apps = GroupVersion::new("apps", "v1");
    let document = openapi.document_of(&apps).await.unwrap().unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["openapi"], "3.0.0");
    let paths = openapi.paths().await.unwrap();
    define_widgets(&cluster).await;
    let after = openapi.paths().await.unwrap();
    assert!(after.contains_key("apis/example.com/v1"));
    assert_eq!(after["apis/apps/v1"], paths["apis/apps/v1"]);
    let two: Value = serde_json::from_slice(&openapi.v2(Default::default()).await.unwrap()).unwrap();
    assert_eq!(two["swagger"], "2.0");
}

/// Taken one by one, items are those of the answer in one piece: built-in and custom ones, whole and metadata alone, compressed or not.
#[tokio::test]
async fn items_are_those_of_the_whole_list() {
    let cluster = Cluster::start().await;
    define_widgets(&cluster).await;
    let mapper = RestMapper::new(&cluster.client, MapperOptions::default());
    let mut paths = Vec::new();
    for (kind, field) in [("cm", "data"), ("wd", "spec")] {
        let resource = mapper.find(kind).await.unwrap().resource;
        let api = cluster.api(&resource, Some("default"));
        for n in 0..100 {
            let mut object = DynamicObject::new(&resource, format!("{kind}-{n}"));
            let text = format!("grüß \"{{[{n}\\").repeat(100);
            object.data.insert(field.to_owned(), json!({ "text": text }));
            api.create(&object, &WriteOptions::default()).await.unwrap();
        }
        let path = ResourcePath::new(&resource, Some("default"));
        paths.extend([path.clone(), path.metadata_only()]);
    }
    for (gzip, limit) in [(Gzip::Never, 0), (Gzip::Always, 0), (Gzip::Always, 70)] {
        let client = cluster.client.with_client_options(ClientOptions {
            gzip,
            ..ClientOptions::default()
        });
        for path in &paths {
            let mut options = ListOptions {
                limit,
                ..ListOptions::default()
            };
            let mut count = 0;
            loop {
                let whole = client.list_raw(path, &options).await.unwrap();
                let mut list = client.list_items(path, &options).await.unwrap();
                let mut items = Vec::new();
                while let Some(item) = list.next().await.unwrap() {
                    items.push(item);
                }
                let metadata = list.finish().await.unwrap();
                options.continue_token.clone_from(&metadata.continue_token);
                assert_eq!(RawList { metadata, items }, whole, "{gzip:?} {path:?}");
                count += whole.items.len();
                if options.continue_token.is_empty() {
                    break;
                }
            }
            assert!(count >= 100, "{count} {path:?}");
        }
    }
}

#[tokio::test]
async fn dry_runs_leave_nothing_behind() {
    let cluster = Cluster::start().await;
    let real: Api<ConfigMap> = Api::namespaced(&cluster.client, "default");
    let options = WriteOptions::default();
    cluster
        .create::<ConfigMap>(
            Some("default"),
            json!({ "metadata": { "name": "kept" }, "data": { "x": "1" } }),
        )
        .await;
    let before = real.get("kept").await.unwrap();
    let dry: Api<ConfigMap> = Api::namespaced(&cluster.client.dry_run(), "default");
    let mut changed = before.clone();
    changed
        .data
        .get_or_insert_default()
        .insert("x".to_owned(), "2".to_owned());
    let answer = dry.replace("kept", &changed, &options).await.unwrap();
    assert_eq!(answer.data, changed.data);
    dry.delete("kept", &DeleteOptions::default()).await.unwrap();
    dry.delete_collection(&DeleteOptions::default(), &Default::default())
        .await
        .unwrap();
    dry.create_or_update("new", &options, |_| {}).await.unwrap();
    let applied = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "applied" } });
    dry.apply("applied", &Untyped(applied), &ApplyOptions::new("me"))
        .await
        .unwrap();
    Finalizer::new("example.com/x").add(&dry, &before).await.unwrap();
    assert_eq!(real.get("kept").await.unwrap(), before);
    for name in ["new", "applied"] {
        assert!(real.get_opt(name).await.unwrap().is_none(), "{name}");
    }
}

#[tokio::test]
async fn writes_have_a_manager() {
    let cluster = Cluster::start().await;
    let client = cluster.client.with_field_manager("painter");
    let maps: Api<ConfigMap> = Api::namespaced(&client, "default");
    let paint = |map: &mut ConfigMap| {
        drop(
            map.data
                .get_or_insert_default()
                .insert("x".to_owned(), "1".to_owned()),
        )
    };
    let made = maps
        .create_or_patch("a", &WriteOptions::default(), paint)
        .await
        .unwrap();
    let managers: Vec<_> = made
        .object
        .metadata
        .managed_fields
        .into_iter()
        .flatten()
        .map(|entry| entry.manager)
        .collect();
    assert_eq!(managers, [Some("painter".to_owned())]);
}

#[tokio::test]
async fn many_who_write_all_get_through() {
    let cluster = Cluster::start().await;
    let maps: Api<ConfigMap> = Api::namespaced(&cluster.client, "default");
    let options = WriteOptions::default();
    let add = |n: usize| {
        let (maps, options) = (maps.clone(), options.clone());
        async move {
            let change = |map: &mut ConfigMap| {
                drop(
                    map.data
                        .get_or_insert_default()
                        .insert(n.to_string(), String::new()),
                );
            };
            maps.create_or_update("shared", &options, change).await
        }
    };
    for written in futures_util::future::join_all((0..3).map(add)).await {
        written.unwrap();
    }
    let backoff = Backoff {
        attempts: 50,
        ..Backoff::CONTENDED
    };
    let append = |n: usize| {
        let (maps, options) = (maps.clone(), options.clone());
        retry_on_conflict(backoff, move || {
            let (maps, options) = (maps.clone(), options.clone());
            async move {
                let mut map = maps.get("shared").await?;
                map.data
                    .get_or_insert_default()
                    .insert(n.to_string(), String::new());
                maps.replace("shared", &map, &options).await
            }
        })
    };
    for written in futures_util::future::join_all((3..10).map(append)).await {
        written.unwrap();
    }
    assert_eq!(maps.get("shared").await.unwrap().data.unwrap().len(), 10);
}

#[tokio::test]
async fn waiting_sees_what_happens() {
    let cluster = Cluster::start().await;
    let maps: Api<ConfigMap> = Api::namespaced(&cluster.client, "default");
    let finalizer = Finalizer::new("example.com/cleanup");
    let map = cluster
        .create::<ConfigMap>(Some("default"), json!({ "metadata": { "name": "a" } }))
        .await;
    finalizer.add(&maps, &map).await.unwrap();
    let uid = map.metadata.uid.clone().unwrap();
    let gone = maps.wait_for("a", LIMIT, conditions::is_deleted(uid));
    let go = async {
        maps.delete("a", &DeleteOptions::default()).await.unwrap();
        let marked =
            |map: Option<&ConfigMap>| map.is_some_and(|map| map.metadata.deletion_timestamp.is_some());
        let marked = maps.wait_for("a", LIMIT, marked).await.unwrap().unwrap();
        assert!(finalizer.is_on(&marked));
        finalizer.remove(&maps, &marked).await.unwrap();
    };
    let (gone, ()) = tokio::join!(gone, go);
    assert_eq!(gone.unwrap(), None);
    let error = maps
        .wait_for("a", Duration::from_millis(1), conditions::exists())
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("timed out waiting for the condition on configmaps/a"),
        "{error}"
    );
}

#[tokio::test]
async fn owners_are_what_the_server_takes() {
    let cluster = Cluster::start().await;
    let maps: Api<ConfigMap> = Api::namespaced(&cluster.client, "default");
    let owner = cluster
        .create::<ConfigMap>(Some("default"), json!({ "metadata": { "name": "owner" } }))
        .await;
    let space: Api<Namespace> = Api::cluster(&cluster.client);
    let space = space.get("default").await.unwrap();
    let made = maps
        .create_or_update("owned", &WriteOptions::default(), |map| {
            set_controller_reference(map, &owner).unwrap();
            set_owner_reference(map, &space).unwrap();
        })
        .await
        .unwrap();
    assert_eq!(made.object.metadata.owner_references.unwrap().len(), 2);
}
