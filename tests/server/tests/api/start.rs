//! What a server starts with.

use kubewright_apiserver::Options;

use crate::harness::*;

#[tokio::test]
async fn the_first_objects() {
    let server = Server::start().await;
    let list = server.ok("GET /api/v1/namespaces").await;
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| text(&one["metadata"]["name"]))
        .collect();
    assert_eq!(
        names,
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
    let service = server
        .ok("GET /api/v1/namespaces/default/services/kubernetes")
        .await;
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
}

/// Clients in the cluster find the server by a service, which nobody can be without for long.
#[tokio::test(start_paused = true)]
async fn the_service_of_the_server_comes_back() {
    let server = Server::with(Options {
        advertise_address: "10.9.8.7:6443".parse().unwrap(),
        ..Options::default()
    })
    .await;
    let namespaced = |prefix: &str, plural: &str| format!("{prefix}/namespaces/default/{plural}");
    for (path, of) in [
        (namespaced("/api/v1", "services"), "/spec/ports/0/targetPort"),
        (namespaced("/api/v1", "endpoints"), "/subsets/0/ports/0/port"),
        (
            namespaced("/apis/discovery.k8s.io/v1", "endpointslices"),
            "/ports/0/port",
        ),
    ] {
        let first = server.ok(format!("GET {path}/kubernetes")).await;
        assert_eq!(first.pointer(of).unwrap(), 6443, "{path}");
        let mut events = server.watch(&format!("{path}?watch=1&resourceVersion=1")).await;
        server.ok(format!("DELETE {path}/kubernetes")).await;
        let mut kinds = Vec::new();
        while kinds != ["ADDED", "DELETED", "ADDED"] {
            let event = events.next().await.unwrap();
            kinds.push(text(&event["type"]).to_owned());
        }
        let again = server.ok(format!("GET {path}/kubernetes")).await;
        assert_ne!(again["metadata"]["uid"], first["metadata"]["uid"], "{path}");
    }
}
