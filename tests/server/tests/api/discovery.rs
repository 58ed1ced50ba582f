//! Discovery, version and health.

use serde_json::Value;

use crate::harness::*;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#[tokio::test]
async fn legacy_documents() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, kind, at, expect) in [
        ("/api", "APIVersions", "/versions/0", "v1"),
        ("/apis", "APIGroupList", "/apiVersion", "v1"),
        (
            "/apis/apps",
            "APIGroup",
            "/preferredVersion/groupVersion",
            "apps/v1",
        ),
        ("/apis/apps/", "APIGroup", "/name", "apps"),
        ("/api/v1", "APIResourceList", "/groupVersion", "v1"),
        ("/apis/apps/v1", "APIResourceList", "/groupVersion", "apps/v1"),
        (
            "/apis/autoscaling/v2",
            "APIResourceList",
            "/groupVersion",
            "autoscaling/v2",
        ),
        (
            "/apis/events.k8s.io/v1",
            "APIResourceList",
            "/groupVersion",
            "events.k8s.io/v1",
        ),
        ("/apis/example.com", "APIGroup", "/preferredVersion/version", "v1"),
        (
            "/apis/example.com/v1",
            "APIResourceList",
            "/resources/0/name",
            "widgets",
        ),
    ] {
        let answer = server
            .ask(Ask::new(format!("GET {path}")).header("accept", "application/json"))
            .await;
        assert_eq!((answer.code, text(&answer.body["kind"])), (200, kind), "{path}");
        assert_eq!(
            answer.body.pointer(at).and_then(Value::as_str),
            Some(expect),
            "{path}"
        );
    }
    let pods = server.ok("GET /api/v1").await;
    let pods = pods["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "pods")
        .unwrap();
    assert_eq!(pods["shortNames"][0], "po");
    assert_eq!(pods["namespaced"], true);
    let paths = server.ok("GET /").await;
    assert!(
        paths["paths"]
            .as_array()
            .unwrap()
            .iter()
            .any(|path| path == "/apis/apps/v1")
    );
}

#[tokio::test]
async fn aggregated_documents_have_tags() {
    let server = Server::start().await;
    let mut before = Vec::new();
    for (path, group, resource) in [("/api", "", "pods"), ("/apis", "apps", "deployments")] {
        let ask = Ask::new(format!("GET {path}")).header("accept", &format!("{AGGREGATED},application/json"));
        let answer = server.ask(ask.clone()).await;
        assert_eq!(answer.code, 200);
        assert_eq!(answer.header("content-type"), AGGREGATED);
        assert_eq!(
            (text(&answer.body["kind"]), text(&answer.body["apiVersion"])),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
        );
        let groups = answer.body["items"].as_array().unwrap();
        let found = groups
            .iter()
            .find(|one| text(&one["metadata"]["name"]) == group)
            .unwrap();
        let resources = found["versions"][0]["resources"].as_array().unwrap();
        assert!(resources.iter().any(|one| one["resource"] == resource));
        let tag = answer.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.len() > 10, "{tag}");
        let unchanged = server.ask(ask.clone().header("if-none-match", &tag)).await;
        assert_eq!((unchanged.code, unchanged.bytes.len()), (304, 0));
        assert_eq!(
            server.ask(ask.header("if-none-match", "\"other\"")).await.code,
            200
        );
        before.push(tag);
    }
    server.define_widgets().await;
    for (path, tag) in ["/api", "/apis"].into_iter().zip(before) {
        let ask = Ask::new(format!("GET {path}"))
            .header("accept", AGGREGATED)
            .header("if-none-match", &tag);
        let changes = path == "/apis";
        assert_eq!(
            server.ask(ask).await.code,
            if changes { 200 } else { 304 },
            "{path}"
        );
    }
    server
        .refused(Ask::new("GET /apis").header("accept", "text/html"), 406, "")
        .await;
}

/// Every resource that discovery names with the verb list can be listed, and its kind is the one that is named.
#[tokio::test]
async fn what_is_named_is_served() {
    let server = Server::start().await;
    let mut paths = vec!["/api/v1".to_owned()];
    for group in server.ok("GET /apis").await["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            paths.push(format!("/apis/{}", text(&version["groupVersion"])));
        }
    }
    let mut listed = 0;
    for path in paths {
        let resources = server.ok(format!("GET {path}")).await;
        for resource in resources["resources"].as_array().unwrap() {
            if !resource["verbs"]
                .as_array()
                .unwrap()
                .iter()
                .any(|verb| verb == "list")
            {
                continue;
            }
            let list = server.ok(format!("GET {path}/{}", text(&resource["name"]))).await;
            assert_eq!(
                text(&list["kind"]),
                format!("{}List", text(&resource["kind"])),
                "{path}"
            );
            assert!(list["items"].is_array());
            listed += 1;
        }
    }
    assert!(listed > 50, "{listed}");
}

#[tokio::test]
async fn version_and_health() {
    let server = Server::start().await;
    let version = server.ok("GET /version").await;
    assert_eq!((text(&version["major"]), text(&version["minor"])), ("1", "37"));
    assert!(text(&version["gitVersion"]).starts_with("v1.37."));
    for (path, code, expect) in [
        ("/healthz", 200, "ok"),
        ("/livez", 200, "ok"),
        ("/readyz", 200, "ok"),
        ("/readyz/", 404, "404 page not found"),
        ("/readyz/ping", 200, "ok"),
        ("/readyz?verbose", 200, "[+]ping ok\n"),
        ("/readyz?verbose", 200, "readyz check passed\n"),
        ("/readyz/nonsense", 404, ""),
    ] {
        let answer = server.ask(format!("GET {path}")).await;
        assert_eq!(answer.code, code, "{path}");
        let text = std::str::from_utf8(&answer.bytes).unwrap();
        assert!(text.contains(expect), "{path}: {text}");
    }
    server.api.shut_down();
    assert_eq!(server.ask("GET /readyz").await.code, 500);
    assert_eq!(server.ask("GET /livez").await.code, 200);
}

#[tokio::test]
async fn definitions_and_documents_of_openapi() {
    let server = Server::start().await;
    let index = server.ok("GET /openapi/v3").await;
    let path = text(&index["paths"]["apis/apps/v1"]["serverRelativeURL"]).to_owned();
    let document = server.ask(format!("GET {path}")).await;
    assert_eq!(document.code, 200);
    assert!(text(&document.body["openapi"]).starts_with("3."));
    assert!(
        document.header("cache-control").contains("immutable"),
        "{:?}",
        document.headers
    );
}
