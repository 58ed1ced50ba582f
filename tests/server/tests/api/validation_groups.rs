//! Validation, warnings and versions of the kinds beyond the core group, as clients see them.

use kubewright_apiserver::Options;

use crate::harness::Server;

/// Everything that can be served is.
async fn everything() -> Server {
    Server::with(Options {
        runtime_config: "api/all=true".into(),
        ..Options::default()
    })
    .await
}

#[tokio::test]
async fn deprecated_versions_are_warned_of() {
    let server = everything().await;
    let check = async |path: &str, expect: &[&str]| {
        let answer = server.ask(format!("GET {path}")).await;
        assert_eq!(answer.warnings(), expect, "{path}");
    };
    check("/apis/resource.k8s.io/v1/deviceclasses", &[]).await;
    check(
        "/apis/resource.k8s.io/v1beta1/deviceclasses",
        &["299 - \"resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+\""],
    )
    .await;
    check(
        "/api/v1/namespaces/default/endpoints/absent",
        &["299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\""],
    )
    .await;
}
