use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Response, StatusCode};
use kubewright_core::Scope;
use kubewright_net::{Body, HttpService};
use serde_json::json;

use super::*;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

type Answers = Arc<Mutex<HashMap<&'static str, (u16, &'static str, String)>>>;

/// A server with fixed answers by path, and a count of its requests.
fn server(answers: &Answers) -> (Client, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let (answers, counter) = (Arc::clone(answers), Arc::clone(&count));
    let service = HttpService::from_fn(move |request| {
        counter.fetch_add(1, Ordering::Relaxed);
        let answer = answers.lock().unwrap().get(request.uri().path()).cloned();
        async move {
            let (code, media_type, body) =
                answer.unwrap_or_else(|| (404, "text/plain", "404 page not found".to_owned()));
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, media_type.parse().unwrap());
            Ok(response)
        }
    });
    (Client::from_service(service, "default"), count)
}

fn resource(plural: &str, kind: &str, scope: &str, short: &[&str]) -> serde_json::Value {
    json!({
        "resource": plural,
        "responseKind": { "group": "", "version": "", "kind": kind },
        "scope": scope,
        "singularResource": kind.to_lowercase(),
        "verbs": ["get", "list"],
        "shortNames": short,
        "subresources": [{
            "subresource": "scale",
            "responseKind": { "group": "autoscaling", "version": "v1", "kind": "Scale" },
            "verbs": ["get"],
        }],
    })
}

fn core() -> String {
    json!({ "items": [{ "versions": [{ "version": "v1", "resources": [
        resource("pods", "Pod", "Namespaced", &["po"]),
        resource("events", "Event", "Namespaced", &["ev"]),
        resource("namespaces", "Namespace", "Cluster", &["ns"]),
    ] }] }] })
    .to_string()
}

fn groups() -> String {
    json!({ "items": [
        { "metadata": { "name": "apps" }, "versions": [
            { "version": "v1", "resources": [
                resource("deployments", "Deployment", "Namespaced", &["deploy"]),
                { "resource": "nokind", "scope": "Cluster" },
            ] },
            { "version": "v1beta1", "resources": [
                resource("deployments", "Deployment", "Namespaced", &["deploy"]),
                resource("rollbacks", "Rollback", "Namespaced", &["po"]),
            ] },
        ] },
        { "metadata": { "name": "events.k8s.io" }, "versions": [
            { "version": "v1", "resources": [resource("events", "Event", "Namespaced", &["ev"])] },
        ] },
        { "metadata": { "name": "metrics.k8s.io" }, "versions": [{ "version": "v1beta1", "freshness": "Stale" }] },
    ] })
    .to_string()
}

fn aggregated() -> Answers {
    Arc::new(Mutex::new(HashMap::from([
        ("/api", (200, AGGREGATED, core())),
        ("/apis", (200, AGGREGATED, groups())),
    ])))
}

fn legacy() -> Answers {
    let json_answer = |value: serde_json::Value| (200, "application/json", value.to_string());
    let version = |name: &str| json!({ "groupVersion": format!("apps/{name}"), "version": name });
    Arc::new(Mutex::new(HashMap::from([
        (
            "/api",
            json_answer(json!({ "kind": "APIVersions", "versions": ["v1"] })),
        ),
        (
            "/apis",
            json_answer(json!({ "kind": "APIGroupList", "groups": [
                { "name": "apps", "versions": [version("v1beta1"), version("v1")], "preferredVersion": version("v1") },
                { "name": "metrics.k8s.io", "versions": [{ "version": "v1beta1" }] },
            ] })),
        ),
        (
            "/api/v1",
            json_answer(json!({ "resources": [
                { "name": "pods/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": ["get"] },
                { "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "shortNames": ["po"],
                  "verbs": ["get", "list"] },
                { "name": "pods/status", "kind": "Pod", "namespaced": true, "verbs": ["get"] },
            ] })),
        ),
        (
            "/apis/apps/v1",
            json_answer(
                json!({ "resources": [{ "name": "deployments", "namespaced": true, "kind": "Deployment" }] }),
            ),
        ),
        ("/apis/apps/v1beta1", json_answer(json!({ "resources": [] }))),
        (
            "/apis/metrics.k8s.io/v1beta1",
            (503, "text/plain", "down".to_owned()),
        ),
    ])))
}

#[tokio::test]
async fn aggregated_discovery_takes_two_requests() {
    let (client, count) = server(&aggregated());
    let discovery = client.discover().await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let names: Vec<&str> = discovery.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["", "apps", "events.k8s.io"]);
    assert_eq!(
        discovery.failures[0].group_version.to_string(),
        "metrics.k8s.io/v1beta1"
    );
    let pods = discovery.find("pods").unwrap();
    assert!(pods.supports("list") && !pods.supports("watch"));
    assert_eq!(
        pods.subresource("scale").unwrap().kind.to_string(),
        "autoscaling/v1, Kind=Scale"
    );
    assert_eq!(discovery.find("ns").unwrap().resource.scope, Scope::Cluster);
    let preferred: Vec<String> = discovery
        .preferred_resources()
        .map(|found| found.resource.group_version_resource().to_string())
        .collect();
    assert_eq!(
        preferred,
        [
            "v1, Resource=pods",
            "v1, Resource=events",
            "v1, Resource=namespaces",
            "apps/v1, Resource=deployments",
            "apps/v1beta1, Resource=rollbacks",
            "events.k8s.io/v1, Resource=events",
        ]
    );
}

#[tokio::test]
async fn older_servers_are_asked_group_by_group() {
    let (client, _) = server(&legacy());
    let discovery = client.discover().await.unwrap();
    let versions: Vec<&str> = discovery.groups[1]
        .versions
        .iter()
        .map(|version| version.version.as_str())
        .collect();
    assert_eq!(versions, ["v1", "v1beta1"]);
    let pods = discovery.find("po").unwrap();
    assert_eq!(
        pods.subresource("scale").unwrap().kind.to_string(),
        "autoscaling/v1, Kind=Scale"
    );
    assert_eq!(
        pods.subresource("status").unwrap().kind.to_string(),
        "v1, Kind=Pod"
    );
    let failure = &discovery.failures[0];
    assert_eq!(failure.group_version.to_string(), "metrics.k8s.io/v1beta1");
    assert!(failure.error.as_ref().unwrap().is_service_unavailable());
}

#[tokio::test]
async fn a_server_may_have_only_one_of_the_two_roots() {
    let answers = aggregated();
    answers.lock().unwrap().remove("/api");
    let (client, _) = server(&answers);
    assert_eq!(client.discover().await.unwrap().groups[0].name, "apps");
    answers
        .lock()
        .unwrap()
        .insert("/apis", (500, "text/plain", String::new()));
    assert!(client.discover().await.unwrap_err().is_internal_error());
}

#[tokio::test]
async fn a_server_without_both_roots_is_an_error() {
    let answers = Answers::default();
    let (client, _) = server(&answers);
    assert!(client.discover().await.unwrap_err().is_not_found());
    for root in ["/api", "/apis"] {
        answers
            .lock()
            .unwrap()
            .insert(root, (403, "text/plain", "no".to_owned()));
    }
    assert!(client.discover().await.unwrap_err().is_forbidden());
    // Nothing to offer is an answer.
    answers
        .lock()
        .unwrap()
        .insert("/apis", (200, AGGREGATED, r#"{"items":[]}"#.to_owned()));
    assert!(client.discover().await.unwrap().groups.is_empty());
}

#[tokio::test]
async fn names_are_found_as_people_write_them() {
    let (client, _) = server(&aggregated());
    let discovery = client.discover().await.unwrap();
    let rows = [
        ("pods", Some("v1/pods")),
        ("pod", Some("v1/pods")),
        ("Pod", Some("v1/pods")),
        ("po", Some("v1/pods")),
        ("pods.v1", Some("v1/pods")),
        ("events", Some("v1/events")),
        ("events.events.k8s.io", Some("events.k8s.io/v1/events")),
        ("ev.v1.events.k8s.io", Some("events.k8s.io/v1/events")),
        ("deploy", Some("apps/v1/deployments")),
        ("deployments.apps", Some("apps/v1/deployments")),
        ("deployments.v1beta1.apps", Some("apps/v1beta1/deployments")),
        ("deployments.v2.apps", None),
        ("nokind", None),
        ("", None),
    ];
    for (argument, expect) in rows {
        let found = discovery
            .find(argument)
            .map(|found| format!("{}/{}", found.resource.api_version(), found.resource.plural));
        assert_eq!(found.as_deref(), expect, "{argument}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_mapper_looks_again_once_and_keeps_its_distance() {
    let answers = aggregated();
    let (client, count) = server(&answers);
    let mapper = RestMapper::new(&client, MapperOptions::default());
    let widget = GroupVersionKind::new("example.com", "v1", "Widget");
    let pod = GroupVersionKind::new("", "v1", "Pod");
    assert_eq!(mapper.resource_of(&pod).await.unwrap().resource.plural, "pods");
    assert_eq!(mapper.resource_of(&pod).await.unwrap().resource.plural, "pods");
    assert_eq!(count.load(Ordering::Relaxed), 2);

    // Many who miss the same share one refresh, which waits for the interval to pass.
    let start = tokio::time::Instant::now();
    let (one, two) = tokio::join!(mapper.resource_of(&widget), mapper.resource_of(&widget));
    let message = one.unwrap_err().to_string();
    assert!(
        message.contains("example.com/v1, Kind=Widget") && message.contains("metrics.k8s.io"),
        "{message}"
    );
    assert!(two.is_err());
    assert_eq!(count.load(Ordering::Relaxed), 4);
    assert!(start.elapsed() >= Duration::from_secs(1));

    let list = json!({ "items": [{ "metadata": { "name": "example.com" }, "versions": [
        { "version": "v1", "resources": [resource("widgets", "Widget", "Namespaced", &["wd"])] },
    ] }] });
    answers
        .lock()
        .unwrap()
        .insert("/apis", (200, AGGREGATED, list.to_string()));
    assert_eq!(mapper.find("wd").await.unwrap().resource.plural, "widgets");
    let by_group_kind = GroupKind {
        group: "example.com".to_owned(),
        kind: "Widget".to_owned(),
    };
    assert_eq!(
        mapper
            .resource_of_kind(&by_group_kind)
            .await
            .unwrap()
            .resource
            .version,
        "v1"
    );
    let widgets = GroupVersionResource::new("example.com", "v1", "widgets");
    assert_eq!(mapper.kind_of(&widgets).await.unwrap(), widget);
    assert_eq!(count.load(Ordering::Relaxed), 6);
    mapper.invalidate();
    assert!(mapper.discovery().await.unwrap().failures.is_empty());
    assert_eq!(count.load(Ordering::Relaxed), 8);
}
