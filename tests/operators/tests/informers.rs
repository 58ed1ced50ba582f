//! One program of informers, against the embedded server or any cluster: `KUBEWRIGHT_CLUSTER` names the kubeconfig of one in
//! which the program may make a namespace of its own and config maps in it, and delete them again.
#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kubewright_cache::{
    Cached, Compression, EventHandler, FinalState, HandlerOptions, Indexed, InformerOptions, Informers,
    Initial, Lister, ManagedFields, OWNER_INDEX, ReflectorOptions, StoreOptions, StreamingLists, WatchScope,
    owner_uids,
};
use kubewright_client::{Api, Client, Config, DeleteOptions, Overrides, Patch, View, WriteOptions};
use kubewright_core::{DynamicObject, LabelSelector, ObjectKey, OwnerReference, PartialObject};
use kubewright_tests_operators::{Cluster, LIMIT};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::timeout;

/// What a handler was told, as a copy of the objects it knows.
#[derive(Default)]
struct Told {
    objects: Mutex<BTreeMap<String, String>>,
    faults: Mutex<Vec<String>>,
}

struct Follower(Arc<Told>);

impl Follower {
    fn expect(&self, what: &str, before: Option<&String>, expect: Option<&str>) {
        if before.map(String::as_str) != expect {
            self.0
                .faults
                .lock()
                .push(format!("{what}: knew {before:?} where it was {expect:?}"));
        }
    }
}

impl<K> EventHandler<K> for Follower {
    fn on_add(&self, object: &Cached<K>, _: Initial) {
        let version = object.resource_version().to_string();
        let before = self.0.objects.lock().insert(object.name().to_owned(), version);
        self.expect("an addition", before.as_ref(), None);
    }

    fn on_update(&self, old: &Cached<K>, new: &Cached<K>) {
        let version = new.resource_version().to_string();
        let before = self.0.objects.lock().insert(new.name().to_owned(), version);
        self.expect(
            "an update",
            before.as_ref(),
            Some(old.resource_version().as_str()),
        );
    }

    fn on_delete(&self, object: &Cached<K>, _: FinalState) {
        let before = self.0.objects.lock().remove(object.name());
        if before.is_none() {
            self.0
                .faults
                .lock()
                .push(format!("{} went unknown", object.key()));
        }
    }
}

/// The cluster of the environment, or one in this process, and a namespace of our own.
async fn cluster() -> (Client, Option<Cluster>, String) {
    let (client, embedded) = match std::env::var_os("KUBEWRIGHT_CLUSTER") {
        None => {
            let cluster = Cluster::start().await;
            (cluster.client.clone(), Some(cluster))
        }
        Some(path) => {
            let config = Config::from_file(Path::new(&path), &Overrides::default()).unwrap();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            (Client::new(config, provider).unwrap(), None)
        }
    };
    let namespaces: Api<Namespace> = Api::cluster(&client);
    let wanted = serde_json::from_value(json!({"metadata": {"generateName": "informers-"}})).unwrap();
    let made = namespaces
        .create(&wanted, &WriteOptions::default())
        .await
        .unwrap();
    (client, embedded, made.metadata.name.unwrap())
}

fn map(name: &str, tier: &str, owner: Option<&OwnerReference>) -> ConfigMap {
    let owners: Vec<_> = owner.into_iter().collect();
    let metadata =
        json!({"name": name, "labels": {"tier": tier, "suite": "informers"}, "ownerReferences": owners});
    serde_json::from_value(json!({"metadata": metadata, "data": {"key": "value ".repeat(50)}})).unwrap()
}

async fn until<K>(what: &str, lister: &Lister<K>, predicate: impl Fn(&Lister<K>) -> bool) {
    let waited = timeout(LIMIT, lister.wait_until(predicate)).await;
    assert!(waited.is_ok(), "{what} does not come about: {lister:?}");
}

fn names<K>(objects: &[Cached<K>]) -> Vec<String> {
    let mut names: Vec<_> = objects.iter().map(|object| object.name().to_owned()).collect();
    names.sort();
    names
}

/// Lists in pages and lists that are streamed, stores that are compressed and those that are not.
fn variants() -> Vec<(&'static str, InformerOptions)> {
    let options = |streaming_lists, page_size, compression| InformerOptions {
        reflector: ReflectorOptions {
            streaming_lists,
            page_size,
            ..ReflectorOptions::default()
        },
        store: StoreOptions {
            compression,
            managed_fields: ManagedFields::Drop,
            ..StoreOptions::default()
        },
        ..InformerOptions::default()
    };
    vec![
        ("as it comes", InformerOptions::default()),
        (
            "pages of three",
            options(StreamingLists::Never, 3, Compression::Never),
        ),
        (
            "one page, compressed",
            options(StreamingLists::Never, 0, Compression::Above(1000)),
        ),
        (
            "streamed, compressed",
            options(StreamingLists::Try, 500, Compression::Above(1000)),
        ),
    ]
}

#[tokio::test]
async fn a_program_of_informers() {
    let (client, embedded, namespace) = cluster().await;
    let maps: Api<ConfigMap> = Api::namespaced(&client, &namespace);
    let write = WriteOptions::default();
    let mut owner = None;
    for i in 0..40 {
        let made = maps
            .create(&map(&format!("map-{i:02}"), "front", owner.as_ref()), &write)
            .await
            .unwrap();
        owner.get_or_insert_with(|| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: made.metadata.name.clone().unwrap(),
            uid: made.metadata.uid.clone().unwrap(),
            ..OwnerReference::default()
        });
    }
    let owner = owner.unwrap();
    let scope = |labels: &str| WatchScope {
        labels: labels.parse::<LabelSelector>().unwrap(),
        ..WatchScope::namespace(&namespace)
    };
    for (round, (variant, options)) in variants().into_iter().enumerate() {
        let informers = Informers::new(client.clone(), options);
        let all = informers.informer::<ConfigMap>(&scope("suite=informers"));
        assert_eq!(all.add_index(OWNER_INDEX, owner_uids), Indexed::Added);
        let told: [Arc<Told>; 2] = std::array::from_fn(|_| Arc::default());
        let first = all.add_handler(Follower(Arc::clone(&told[0])), HandlerOptions::default());
        timeout(LIMIT, first.synced())
            .await
            .unwrap_or_else(|_| panic!("{variant}: {}", all.stats()));
        let lister = all.lister();
        assert_eq!(lister.len(), 40, "{variant}");
        assert_eq!(
            lister.by_index(OWNER_INDEX, &owner.uid).unwrap().len(),
            39,
            "{variant}"
        );

        // Readers of other types share the watch; those of other scopes have one of their own.
        let dynamic = informers.informer_for::<DynamicObject>(all.resource(), &scope("suite=informers"));
        assert_eq!(informers.running(), 1);
        let object = dynamic
            .lister()
            .get(&ObjectKey::namespaced(namespace.as_str(), "map-07"))
            .unwrap()
            .object()
            .unwrap();
        assert_eq!(object.types.kind, "ConfigMap");
        let back = informers.informer_for::<PartialObject<ConfigMap>>(
            all.resource(),
            &WatchScope {
                view: View::Metadata,
                ..scope("tier=back")
            },
        );
        timeout(LIMIT, back.synced()).await.unwrap();
        assert!(back.lister().is_empty(), "{variant}");

        // What changes is seen, by handlers that were there and by one that comes late; what leaves the scope is gone.
        let tier = json!({"metadata": {"labels": {"tier": "back"}}});
        maps.patch("map-03", &Patch::Merge(tier), &write).await.unwrap();
        until("the label", &back.lister(), |lister| {
            names(&lister.list()) == ["map-03"]
        })
        .await;
        let late = all.add_handler(
            Follower(Arc::clone(&told[1])),
            HandlerOptions {
                resync: Some(Duration::from_secs(1)),
            },
        );
        let gone = maps.delete("map-39", &DeleteOptions::default()).await;
        assert!(gone.is_ok(), "{variant}: {gone:?}");
        maps.create(&map("map-40", "front", Some(&owner)), &write)
            .await
            .unwrap();
        until("the change", &lister, |lister| {
            let names = names(&lister.list());
            names.len() == 40 && names.contains(&"map-40".to_owned()) && !names.contains(&"map-39".to_owned())
        })
        .await;
        let selected = lister.select(Some(&namespace), &"tier=back".parse().unwrap());
        assert_eq!(names(&selected), ["map-03"], "{variant}");
        let data = selected[0].object().unwrap().data.clone().unwrap();
        assert_eq!(data["key"], "value ".repeat(50), "{variant}");
        timeout(LIMIT, late.synced()).await.unwrap();
        let expect: BTreeMap<_, _> = lister
            .list()
            .iter()
            .map(|object| (object.name().to_owned(), object.resource_version().to_string()))
            .collect();
        for told in &told {
            let seen = async {
                while *told.objects.lock() != expect {
                    tokio::task::yield_now().await;
                }
            };
            let seen = timeout(LIMIT, seen).await;
            assert!(
                seen.is_ok(),
                "{variant}: {:?} is not {expect:?}",
                told.objects.lock()
            );
            assert_eq!(*told.faults.lock(), Vec::<String>::new(), "{variant}");
        }

        // As it was, for the next round.
        maps.delete("map-40", &DeleteOptions::default()).await.unwrap();
        maps.create(&map("map-39", "front", Some(&owner)), &write)
            .await
            .unwrap();
        let tier = json!({"metadata": {"labels": {"tier": "front"}}});
        maps.patch("map-03", &Patch::Merge(tier), &write).await.unwrap();
        until("the end", &lister, |lister| {
            names(&lister.list()).contains(&"map-39".to_owned()) && lister.len() == 40
        })
        .await;
        drop((first, late, all, back, dynamic, lister));
        timeout(LIMIT, informers.ended())
            .await
            .unwrap_or_else(|_| panic!("round {round} does not end"));
    }
    let namespaces: Api<Namespace> = Api::cluster(&client);
    namespaces
        .delete(&namespace, &DeleteOptions::default())
        .await
        .unwrap();
    drop(embedded);
}
