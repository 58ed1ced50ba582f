//! Documents through the server's service.

use std::collections::BTreeSet;

use http::Request;
use kubewright_net::Body;
use serde_json::{Value, json};

use crate::test_support::{DEFINITIONS, TestServer, definition};

async fn address(server: &TestServer, group_version: &str) -> String {
    let index = server.get("/openapi/v3").await.ok();
    index["paths"][group_version]["serverRelativeURL"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn addresses_stand_for_their_content() {
    let server = TestServer::start().await;
    let url = address(&server, "apis/apps/v1").await;
    assert!(url.starts_with("/openapi/v3/apis/apps/v1?hash="), "{url}");
    let document = server.get(&url).await;
    assert_eq!(document.headers["cache-control"], "public, immutable");
    let etag = document.headers["etag"].clone();
    assert_eq!(document.ok()["openapi"], "3.0.0");
    let again = server
        .call(Request::get(&url).header("if-none-match", etag), Body::empty())
        .await;
    assert_eq!((again.code, again.body), (304, Value::Null));
    let stale = server.get("/openapi/v3/apis/apps/v1?hash=00").await;
    assert_eq!(
        (stale.code, stale.headers["location"].to_str().unwrap()),
        (301, url.as_str())
    );
    let plain = server.get("/openapi/v3/apis/apps/v1").await;
    assert_eq!(
        (plain.code, plain.headers["cache-control"].to_str().unwrap()),
        (200, "no-cache, private")
    );
    for (path, accept, code) in [
        ("/openapi/v3", "application/json", 200),
        (
            "/openapi/v3",
            "application/com.github.proto-openapi.spec.v3.v1.0+protobuf, application/json",
            200,
        ),
        (
            "/openapi/v3/api/v1",
            "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
            406,
        ),
        ("/openapi/v3/api/v2", "*/*", 404),
        ("/openapi/v3/apis/nobody/v1", "*/*", 404),
        ("/openapi/v2", "*/*", 200),
        (
            "/openapi/v2",
            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            200,
        ),
        ("/openapi/v2", "text/html", 406),
    ] {
        let answer = server
            .call(Request::get(path).header("accept", accept), Body::empty())
            .await;
        assert_eq!(answer.code, code, "{path} {accept}");
    }
    let zipped = server
        .send(
            Request::get(&url).header("accept-encoding", "deflate, gzip;q=1.0"),
            Body::empty(),
        )
        .await;
    assert_eq!(zipped.headers()["content-encoding"], "gzip");
    let zipped = zipped.into_body().collect_limited(16 << 20).await.unwrap();
    assert_eq!(zipped[..2], [0x1f, 0x8b]);
}

/// Every reference of every document can be followed, no operation is named twice, and what patches says that it validates.
#[tokio::test]
async fn documents_are_whole() {
    let server = TestServer::start().await;
    server.define(&widgets("number")).await;
    let index = server.get("/openapi/v3").await.ok();
    for (name, entry) in index["paths"].as_object().unwrap() {
        let document = server
            .get(entry["serverRelativeURL"].as_str().unwrap())
            .await
            .ok();
        let mut references = BTreeSet::new();
        collect(&document, &mut references);
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{name} has no {reference}");
        }
        let mut ids = BTreeSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations
                .as_object()
                .unwrap()
                .iter()
                .filter(|(key, _)| *key != "parameters")
            {
                let id = operation["operationId"].as_str().unwrap();
                assert!(ids.insert(id), "{name} {path} {method}: {id} twice");
                if method == "patch" {
                    let parameters = operation["parameters"].as_array().unwrap();
                    assert!(
                        parameters
                            .iter()
                            .any(|parameter| parameter["name"] == "fieldValidation"),
                        "{path}"
                    );
                    assert!(
                        operation["x-kubernetes-group-version-kind"]["kind"].is_string(),
                        "{path}"
                    );
                }
            }
        }
    }
}

fn collect<'v>(value: &'v Value, references: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| match value.as_str() {
            Some(reference) if key == "$ref" => drop(references.insert(reference)),
            _ => collect(value, references),
        }),
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}

fn widgets(ty: &str) -> Value {
    let schema = json!({"type": "object", "description": "A widget.", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": ty, "description": "How large."},
    }}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}});
    definition("widgets", "Widget", json!([version]))
}

#[tokio::test]
async fn definitions_come_and_change_and_go() {
    let server = TestServer::start().await;
    let built_in = address(&server, "api/v1").await;
    assert_eq!(address(&server, "apis/example.com/v1").await, "");
    let mut stored = server.define(&widgets("number")).await;
    let first = address(&server, "apis/example.com/v1").await;
    let document = server.get(&first).await.ok();
    let schema = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(
        schema["properties"]["spec"]["properties"]["size"],
        json!({"type": "number", "description": "How large."})
    );
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    assert_eq!(patch["operationId"], "patchExampleComV1NamespacedWidget");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "example.com", "version": "v1", "kind": "Widget"})
    );
    assert!(
        document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status"]["put"]
            .is_object()
    );
    stored["spec"] = widgets("integer")["spec"].clone();
    server
        .put(&format!("{DEFINITIONS}/widgets.example.com"), &stored)
        .await
        .ok();
    let changed = server
        .eventually("/openapi/v3", |answer| {
            answer.body["paths"]["apis/example.com/v1"]["serverRelativeURL"] != first
        })
        .await;
    let changed = changed.body["paths"]["apis/example.com/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap()
        .to_owned();
    let document = server.get(&changed).await.ok();
    let size = &document["components"]["schemas"]["com.example.v1.Widget"]["properties"]["spec"]["properties"]
        ["size"];
    assert_eq!(size["type"], "integer");
    assert_eq!(server.get(&first).await.code, 301);
    assert_eq!(address(&server, "api/v1").await, built_in);
    server
        .delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await
        .ok();
    server
        .eventually("/openapi/v3", |answer| {
            answer.body["paths"].get("apis/example.com/v1").is_none()
        })
        .await;
    assert_eq!(server.get(&changed).await.code, 404);
}
