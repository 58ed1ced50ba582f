//! What a server starts with.

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
