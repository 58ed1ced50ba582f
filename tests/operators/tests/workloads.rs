//! Deployments, replica sets, pods and namespaces, from the outside.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ServiceAccount};
use kubewright_client::{Api, DeleteOptions, Patch, WriteOptions};
use kubewright_controllers::{ControllerOptions, ControllerSet, NodeOptions};
use kubewright_core::{ObjectKey, Resource};
use kubewright_runtime::Handle;
use kubewright_tests_operators::Cluster;
use serde_json::{Value, json};

async fn start() -> (Cluster, Handle) {
    start_with(NodeOptions::default()).await
}

async fn start_with(nodes: NodeOptions) -> (Cluster, Handle) {
    let cluster = Cluster::start().await;
    let options = ControllerOptions {
        root_ca: Some("PEM".to_owned()),
        nodes,
        ..ControllerOptions::default()
    };
    let set = ControllerSet::new(options);
    let running = set.start(&cluster.service()).ready().await.unwrap();
    (cluster, running)
}

fn deployment(name: &str, replicas: i64, image: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    })
}

fn status(object: &impl serde::Serialize, field: &str) -> Value {
    serde_json::to_value(object).unwrap()["status"][field].clone()
}

fn condition(object: &impl serde::Serialize, type_: &str) -> String {
    let conditions = status(object, "conditions");
    let found = conditions
        .as_array()
        .into_iter()
        .flatten()
        .find(|c| c["type"] == type_);
    found.map_or_else(String::new, |c| {
        format!("{}/{}", c["status"], c["reason"]).replace('"', "")
    })
}

#[tokio::test]
async fn namespaces_get_their_objects_and_nodes_are_ready() {
    let (cluster, running) = start().await;
    cluster
        .create::<Namespace>(None, json!({"metadata": {"name": "team"}}))
        .await;
    cluster
        .eventually::<ServiceAccount>("a service account", |accounts| {
            accounts.get(&ObjectKey::namespaced("team", "default")).is_some()
        })
        .await;
    cluster
        .eventually_one::<ConfigMap>("team/kube-root-ca.crt", "a certificate", |map| {
            map.data.as_ref().is_some_and(|data| data["ca.crt"] == "PEM")
        })
        .await;
    cluster
        .eventually_one::<Node>("kubewright", "a ready node", |node| {
            condition(node, "Ready") == "True/KubeletReady"
        })
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn deployments_roll_out_and_namespaces_end() {
    let (cluster, running) = start().await;
    cluster
        .create::<Namespace>(None, json!({"metadata": {"name": "web"}}))
        .await;
    cluster
        .create::<Deployment>(Some("web"), deployment("front", 3, "front:1"))
        .await;
    let is_complete = |deployment: &Deployment, replicas: i64| {
        condition(deployment, "Progressing") == "True/NewReplicaSetAvailable"
            && condition(deployment, "Available") == "True/MinimumReplicasAvailable"
            && ["replicas", "updatedReplicas", "availableReplicas"]
                .iter()
                .all(|field| status(deployment, field) == replicas)
            && status(deployment, "observedGeneration") == json!(deployment.metadata().generation)
    };
    cluster
        .eventually_one::<Deployment>("web/front", "a complete deployment", |it| is_complete(it, 3))
        .await;
    cluster
        .eventually::<Pod>("three running pods", |pods| {
            let pods = pods.list_namespace("web");
            pods.len() == 3
                && pods
                    .iter()
                    .all(|pod| status(&*pod.object().unwrap(), "phase") == "Running")
        })
        .await;

    // A new template: a second replica set takes over, the first is kept empty.
    let api = Api::<Deployment>::namespaced(&cluster.client, "web");
    let image =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "front:2"}]}}}});
    api.patch("front", &Patch::Strategic(image), &WriteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually::<ReplicaSet>("a second replica set", |sets| {
            let mut sizes: Vec<_> = sets
                .list_namespace("web")
                .iter()
                .map(|set| {
                    let set = serde_json::to_value(&*set.object().unwrap()).unwrap();
                    (
                        set["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone(),
                        set["spec"]["replicas"].clone(),
                        set["status"]["availableReplicas"].as_i64().unwrap_or(0),
                    )
                })
                .collect();
            sizes.sort_by_key(|(revision, ..)| revision.to_string());
            sizes == [(json!("1"), json!(0), 0), (json!("2"), json!(3), 3)]
        })
        .await;
    cluster
        .eventually_one::<Deployment>("web/front", "a complete update", |it| is_complete(it, 3))
        .await;

    // Another size: nothing else changes.
    let scale = json!({"spec": {"replicas": 1}});
    api.patch("front", &Patch::Merge(scale), &WriteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually_one::<Deployment>("web/front", "a smaller deployment", |it| is_complete(it, 1))
        .await;
    cluster
        .eventually::<Pod>("one pod", |pods| pods.list_namespace("web").len() == 1)
        .await;

    Api::<Namespace>::cluster(&cluster.client)
        .delete("web", &DeleteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually::<Namespace>("the namespace to go", |namespaces| {
            namespaces.get(&ObjectKey::cluster("web")).is_none()
        })
        .await;
    cluster
        .eventually::<Pod>("its pods to go", |pods| pods.list_namespace("web").is_empty())
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_namespace_waits_for_finalizers_and_says_so() {
    let (cluster, running) = start().await;
    cluster
        .create::<Namespace>(None, json!({"metadata": {"name": "held"}}))
        .await;
    let map = json!({"metadata": {"name": "keep", "finalizers": ["example.com/hold"]}});
    cluster.create::<ConfigMap>(Some("held"), map).await;
    Api::<Namespace>::cluster(&cluster.client)
        .delete("held", &DeleteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually_one::<Namespace>("held", "conditions", |namespace| {
            condition(namespace, "NamespaceContentRemaining") == "True/SomeResourcesRemain"
                && condition(namespace, "NamespaceFinalizersRemaining") == "True/SomeFinalizersRemain"
                && condition(namespace, "NamespaceDeletionContentFailure") == "False/ContentDeleted"
        })
        .await;
    let release = Patch::Merge(json!({"metadata": {"finalizers": []}}));
    Api::<ConfigMap>::namespaced(&cluster.client, "held")
        .patch("keep", &release, &WriteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually::<Namespace>("the namespace to go", |namespaces| {
            namespaces.get(&ObjectKey::cluster("held")).is_none()
        })
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn replica_sets_adopt_release_and_replace() {
    let (cluster, running) = start().await;
    let mut set = deployment("s", 2, "i");
    cluster.create::<ReplicaSet>(Some("default"), set.take()).await;
    let owned = |pods: &kubewright_cache::Lister<Pod>| {
        pods.list_namespace("default")
            .iter()
            .filter(|pod| pod.metadata().owner_references.is_some())
            .count()
    };
    cluster
        .eventually::<Pod>("two pods", |pods| owned(pods) == 2)
        .await;
    let api = Api::<Pod>::namespaced(&cluster.client, "default");
    let pods = api
        .list(&kubewright_client::ListOptions::default())
        .await
        .unwrap();
    let name = pods.items[0].name().to_owned();
    // A pod that loses its label is let go of and replaced.
    let relabel = Patch::Merge(json!({"metadata": {"labels": {"app": "debug"}}}));
    api.patch(&name, &relabel, &WriteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually::<Pod>("a third pod", |pods| {
            let released = pods
                .get(&ObjectKey::namespaced("default", name.as_str()))
                .unwrap();
            owned(pods) == 2 && released.metadata().owner_references.is_none()
        })
        .await;
    // With its label back it is adopted, and one too many: a pod goes.
    let back = Patch::Merge(json!({"metadata": {"labels": {"app": "s"}}}));
    api.patch(&name, &back, &WriteOptions::default()).await.unwrap();
    cluster
        .eventually::<Pod>("adoption", |pods| {
            owned(pods) == 2 && pods.list_namespace("default").len() == 2
        })
        .await;
    let pods = api
        .list(&kubewright_client::ListOptions::default())
        .await
        .unwrap();
    // One that is deleted is replaced too.
    let victim = pods.items[1].name();
    api.delete(victim, &DeleteOptions::default()).await.unwrap();
    cluster
        .eventually::<Pod>("a replacement", |pods| {
            pods.get(&ObjectKey::namespaced("default", victim)).is_none() && owned(pods) == 2
        })
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn nodes_are_filled_and_filled_again() {
    let (cluster, running) = start_with(NodeOptions {
        pods: 2,
        ..NodeOptions::default()
    })
    .await;
    let placed = |pods: &kubewright_cache::Lister<Pod>| {
        let pods = pods.list_namespace("default");
        let running = pods
            .iter()
            .filter(|pod| status(&*pod.object().unwrap(), "phase") == "Running");
        let refused = pods
            .iter()
            .filter(|pod| condition(&*pod.object().unwrap(), "PodScheduled") == "False/Unschedulable");
        (running.count(), refused.count())
    };
    cluster
        .create::<ReplicaSet>(Some("default"), deployment("s", 3, "i"))
        .await;
    cluster
        .eventually::<Pod>("a full node and a pod without one", |pods| placed(pods) == (2, 1))
        .await;
    // The pod that makes way makes room for one that waits.
    let scale = Patch::Merge(json!({"spec": {"replicas": 0}}));
    let sets = Api::<ReplicaSet>::namespaced(&cluster.client, "default");
    cluster
        .create::<Pod>(
            Some("default"),
            json!({"metadata": {"name": "late"}, "spec": {"containers": [{"name": "main", "image": "i"}]}}),
        )
        .await;
    cluster
        .eventually::<Pod>("another pod without a node", |pods| placed(pods) == (2, 2))
        .await;
    sets.patch("s", &scale, &WriteOptions::default()).await.unwrap();
    cluster
        .eventually_one::<Pod>("default/late", "a place", |pod| status(pod, "phase") == "Running")
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn replica_sets_follow_what_their_deployment_says_beside_the_template() {
    let (cluster, running) = start().await;
    cluster
        .create::<Deployment>(Some("default"), deployment("d", 1, "i"))
        .await;
    let is_so = |cause: Value, seconds: Value| {
        move |sets: &kubewright_cache::Lister<ReplicaSet>| {
            let sets = sets.list_namespace("default");
            let [set] = &sets[..] else { return false };
            let set = serde_json::to_value(&*set.object().unwrap()).unwrap();
            set["metadata"]["annotations"]["kubernetes.io/change-cause"] == cause
                && set["spec"]["minReadySeconds"] == seconds
        }
    };
    cluster
        .eventually::<ReplicaSet>("a set", is_so(Value::Null, Value::Null))
        .await;
    let change = Patch::Merge(json!({
        "metadata": {"annotations": {"kubernetes.io/change-cause": "because"}},
        "spec": {"minReadySeconds": 7},
    }));
    Api::<Deployment>::namespaced(&cluster.client, "default")
        .patch("d", &change, &WriteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually::<ReplicaSet>("the same set, changed", is_so(json!("because"), json!(7)))
        .await;
    running.stop().await.unwrap();
}
