//! What a server starts with, and how long that takes.

use std::time::Instant;

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

/// The time is printed for whoever wants to know; that it works is what is tested.
#[tokio::test]
async fn a_hundred_servers() {
    let mut times = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        let server = Server::start().await;
        times.push(began.elapsed());
        assert_eq!(server.ask("GET /readyz").await.code, 200);
        server.api.shut_down();
    }
    times.sort();
    let median = times[times.len() / 2].as_micros();
    println!("median start of 100: {median} µs");
}
