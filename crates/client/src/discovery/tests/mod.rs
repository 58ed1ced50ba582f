use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{Response, StatusCode, header};
use kubewright_core::Scope;
use kubewright_net::{Body, HttpService};
use serde_json::json;

use super::*;
use crate::client::Client;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

mod caching;
#[cfg(unix)]
mod disk;
mod names;
mod openapi;

type Answers = Arc<Mutex<HashMap<&'static str, (u16, &'static str, String)>>>;

/// A server with fixed answers by path, and a count of its requests. An answer of status 0 never comes.
fn server(answers: &Answers) -> (Client, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let (answers, counter) = (Arc::clone(answers), Arc::clone(&count));
    let service = HttpService::from_fn(move |request| {
        counter.fetch_add(1, Ordering::Relaxed);
        let answer = answers.lock().unwrap().get(request.uri().path()).cloned();
        async move {
            tokio::task::yield_now().await;
            let (code, media_type, body) =
                answer.unwrap_or_else(|| (404, "text/plain", "404 page not found".to_owned()));
            if code == 0 {
                std::future::pending::<()>().await;
            }
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
    let (discovery, failures) = client.discover().await.unwrap().into_parts();
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let names: Vec<&str> = discovery.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["", "apps", "events.k8s.io"]);
    assert_eq!(failures[0].group_version.to_string(), "metrics.k8s.io/v1beta1");
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
    let (discovery, failures) = client.discover().await.unwrap().into_parts();
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
    let failure = &failures[0];
    assert_eq!(failure.group_version.to_string(), "metrics.k8s.io/v1beta1");
    assert!(failure.error.as_ref().unwrap().is_service_unavailable());
}

#[tokio::test]
async fn a_server_may_have_only_one_of_the_two_roots() {
    let answers = aggregated();
    answers.lock().unwrap().remove("/api");
    let (client, _) = server(&answers);
    assert_eq!(client.discover().await.unwrap().parts().0.groups[0].name, "apps");
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
    assert!(client.discover().await.unwrap().parts().0.groups.is_empty());
}

#[tokio::test]
async fn requests_are_those_of_kubectl() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let service = HttpService::from_fn(move |request| {
        let accept = request.headers()[header::ACCEPT].to_str().unwrap().to_owned();
        log.lock().unwrap().push((request.uri().to_string(), accept));
        let body = match request.uri().path() {
            "/api" => r#"{"versions":["v1"]}"#,
            "/apis" => r#"{"groups":[]}"#,
            _ => r#"{"resources":[]}"#,
        };
        async move { Ok(Response::new(Body::from(body))) }
    });
    let client = Client::from_service(service, "default");
    client.discover().await.unwrap().complete().unwrap();
    let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let beta = v2.replace("v=v2;", "v=v2beta1;");
    let expect = [
        ("/api?timeout=32s", v2),
        ("/api?timeout=32s", &beta),
        ("/apis?timeout=32s", v2),
        ("/apis?timeout=32s", &beta),
        ("/api/v1?timeout=32s", "application/json, */*"),
    ];
    let seen = seen.lock().unwrap();
    let seen: Vec<_> = seen
        .iter()
        .map(|(uri, accept)| (uri.as_str(), accept.as_str()))
        .collect();
    assert_eq!(seen, expect);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_32_seconds() {
    let answers: Answers = Arc::new(Mutex::new(HashMap::from([("/api", (0, "", String::new()))])));
    let (client, _) = server(&answers);
    let start = tokio::time::Instant::now();
    assert!(client.discover().await.unwrap_err().is_timeout());
    assert_eq!(start.elapsed(), DISCOVERY_TIMEOUT);
}

#[tokio::test]
async fn one_root_may_be_aggregated_and_the_other_not() {
    for aggregated_root in ["/api", "/apis"] {
        let answers = legacy();
        let whole = aggregated().lock().unwrap()[aggregated_root].clone();
        answers.lock().unwrap().insert(aggregated_root, whole);
        let (client, _) = server(&answers);
        let (discovery, failures) = client.discover().await.unwrap().into_parts();
        assert_eq!(discovery.find("po").unwrap().resource.kind, "Pod");
        let deployments = discovery.find("deployments").unwrap();
        assert_eq!(deployments.resource.version, "v1", "{aggregated_root}");
        assert_eq!(failures.len(), 1, "{aggregated_root}");
        let groups = DiscoveryClient::new(&client).groups().await.unwrap();
        let groups: Vec<(&str, usize)> = groups
            .iter()
            .map(|group| (group.name.as_str(), group.versions.len()))
            .collect();
        // Only the older format names versions of which nothing is known.
        let expect: &[_] = match aggregated_root {
            "/api" => &[("", 1), ("apps", 2), ("metrics.k8s.io", 1)],
            _ => &[("", 1), ("apps", 2), ("events.k8s.io", 1)],
        };
        assert_eq!(groups, expect);
    }
}

#[tokio::test]
async fn who_needs_all_is_told_what_is_missing() {
    let (client, _) = server(&legacy());
    let error = client.discover().await.unwrap().complete().unwrap_err();
    assert!(error.failures[0].is_transient());
    let text = error.to_string();
    assert!(
        text.starts_with("the server could not tell all that it offers: metrics.k8s.io/v1beta1: ")
            && text.contains("down"),
        "{text}"
    );
}
