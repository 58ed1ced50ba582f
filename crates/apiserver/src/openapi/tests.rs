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
    // The test's clock stands still, or not; a year is a year.
    let expires = document.headers["expires"].to_str().unwrap();
    assert!(
        jiff::fmt::rfc2822::parse(expires).unwrap().timestamp() > jiff::Timestamp::UNIX_EPOCH,
        "{expires}"
    );
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
        ("/openapi/v3", "text/html", 200),
        (
            "/openapi/v3/api/v1",
            "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            200,
        ),
        ("/openapi/v3/api/v1", "text/html", 406),
        ("/openapi/v3/apis/apps", "*/*", 200),
        ("/openapi/v3/api", "*/*", 200),
        ("/openapi/v3/version", "*/*", 200),
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
            .send(Request::get(path).header("accept", accept), Body::empty())
            .await;
        assert_eq!(answer.status(), code, "{path} {accept}");
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
            let members = operations.as_object().unwrap();
            let of_operations = members.values().filter_map(|one| one["parameters"].as_array());
            let of_path = members.get("parameters").and_then(Value::as_array);
            for parameter in of_operations.chain(of_path).flatten() {
                let description = parameter["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "{path}: {parameter}");
            }
            for (method, operation) in members.iter().filter(|(key, _)| *key != "parameters") {
                let id = operation["operationId"].as_str().unwrap();
                assert!(ids.insert(id), "{name} {path} {method}: {id} twice");
                if method == "patch" && operation["x-kubernetes-action"] != "connect" {
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
    // As upstream's builder for them writes it.
    assert_eq!(document["info"]["title"], "Kubernetes CRD Swagger");
    assert_eq!(document["components"].get("securitySchemes"), None);
    assert_eq!(document["paths"].get("/apis/example.com/v1/"), None);
    assert_eq!(patch["responses"].get("201"), None);
    let collection = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets"];
    assert_eq!(collection["get"]["description"], "list objects of kind Widget");
    assert_eq!(collection["delete"].get("requestBody"), None);
    let sent = collection["post"]["requestBody"]["content"].as_object().unwrap();
    let sent: Vec<&str> = sent.keys().map(String::as_str).collect();
    assert_eq!(sent, ["application/json", "application/yaml"]);
    let status = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status"];
    let action = |method: &str| status[method]["x-kubernetes-action"].clone();
    assert_eq!(
        (action("get"), action("put"), action("patch")),
        (json!("get"), json!("put"), json!("patch"))
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

#[test]
fn connections_are_no_objects() {
    let registry = crate::registry::Registry::builtin(&"".parse().unwrap());
    let paths = super::document::paths(registry.version("", "v1").unwrap());
    for (path, operations) in paths.as_object().unwrap() {
        let is_connection = ["exec", "attach", "portforward", "proxy", "{path}"]
            .iter()
            .any(|name| path.ends_with(&format!("/{name}")));
        for (method, operation) in operations.as_object().unwrap() {
            if method != "parameters" {
                let action = operation["x-kubernetes-action"] == "connect";
                assert_eq!(action, is_connection, "{path} {method}");
            }
        }
    }
}

/// Which types answers are documented to have, and in which media types (upstream's api/openapi-spec/v3).
#[test]
fn answers_are_of_a_type_and_media_types() {
    let registry = crate::registry::Registry::builtin(&"".parse().unwrap());
    let core = super::document::paths(registry.version("", "v1").unwrap());
    let apps = super::document::paths(registry.version("apps", "v1").unwrap());
    let storage = super::document::paths(registry.version("storage.k8s.io", "v1").unwrap());
    let all = [
        "application/json",
        "application/vnd.kubernetes.protobuf",
        "application/yaml",
    ];
    for (paths, path, method, code, expect) in [
        (
            &core,
            "/api/v1/namespaces/{namespace}/pods/{name}",
            "delete",
            "202",
            "v1.Pod",
        ),
        (
            &core,
            "/api/v1/namespaces/{namespace}/pods",
            "delete",
            "200",
            "v1.Status",
        ),
        (
            &core,
            "/api/v1/namespaces/{namespace}/configmaps/{name}",
            "delete",
            "200",
            "v1.Status",
        ),
        (
            &core,
            "/api/v1/namespaces/{namespace}/configmaps/{name}",
            "get",
            "200",
            "v1.ConfigMap",
        ),
        (&core, "/api/v1/namespaces/{name}", "delete", "200", "v1.Status"),
        (
            &apps,
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
            "delete",
            "200",
            "v1.Status",
        ),
        (
            &storage,
            "/apis/storage.k8s.io/v1/storageclasses/{name}",
            "delete",
            "200",
            "v1.StorageClass",
        ),
    ] {
        let content = &paths[path][method]["responses"][code]["content"];
        let types: Vec<&String> = content.as_object().unwrap().keys().collect();
        assert_eq!(types, all, "{method} {path}");
        let reference = content["application/json"]["schema"]["$ref"].as_str().unwrap();
        assert!(reference.ends_with(expect), "{method} {path}: {reference}");
    }
    let streams = &core["/api/v1/pods"]["get"]["responses"]["200"]["content"];
    for encoding in ["application/json", "application/vnd.kubernetes.protobuf"] {
        assert!(
            streams.get(format!("{encoding};stream=watch")).is_some(),
            "{streams}"
        );
    }
}

const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

async fn raw(server: &TestServer, path: &str, accept: &str) -> (http::HeaderMap, Vec<u8>) {
    let answer = server
        .send(Request::get(path).header("accept", accept), Body::empty())
        .await;
    assert_eq!(answer.status(), 200, "{path} {accept}");
    let headers = answer.headers().clone();
    let body = answer.into_body().collect_limited(16 << 20).await.unwrap();
    (headers, body.to_vec())
}

/// Every reference of the second version's document can be followed, no operation is named twice, and nothing is in it that OpenAPI v2 lacks.
#[tokio::test]
async fn the_second_version_is_whole() {
    let server = TestServer::start().await;
    server.define(&widgets("number")).await;
    let document = server.get("/openapi/v2").await.ok();
    assert_eq!(
        (&document["swagger"], &document["security"]),
        (&json!("2.0"), &json!([{"BearerToken": []}]))
    );
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    for reference in references {
        let place = reference.strip_prefix('#').expect(reference);
        assert!(
            place.starts_with("/definitions/") || place.starts_with("/parameters/"),
            "{reference}"
        );
        assert!(document.pointer(place).is_some(), "{reference}");
    }
    for (name, schema) in document["definitions"].as_object().unwrap() {
        // Its properties are called like the keywords.
        if name.ends_with(".JSONSchemaProps") {
            continue;
        }
        let text = schema.to_string();
        for lacking in ["\"allOf\":", "\"anyOf\":", "\"oneOf\":", "\"nullable\":true"] {
            assert!(!text.contains(lacking), "{name}: {lacking}");
        }
    }
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{path} {method}: {id} twice");
            assert!(
                operation["responses"]["200"]["description"].is_string(),
                "{path} {method}"
            );
        }
    }
    let pods = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"];
    assert_eq!(
        pods["patch"]["x-kubernetes-group-version-kind"],
        json!({"group": "", "version": "v1", "kind": "Pod"})
    );
    assert!(
        pods["patch"]["consumes"]
            .as_array()
            .unwrap()
            .contains(&json!("application/apply-patch+yaml"))
    );
    let parameters = pods["patch"]["parameters"].as_array().unwrap();
    let shared = |parameter: &Value| match parameter["$ref"].as_str() {
        Some(place) => (
            true,
            document
                .pointer(place.strip_prefix('#').unwrap())
                .unwrap()
                .clone(),
        ),
        None => (false, parameter.clone()),
    };
    let found = |name: &str| {
        let mut found = parameters.iter().map(shared);
        found.find(|(_, parameter)| parameter["name"] == name).unwrap()
    };
    // Older kubectl looks for the first two where they are.
    for (name, ty, is_shared) in [
        ("fieldValidation", "string", false),
        ("dryRun", "string", false),
        ("force", "boolean", true),
        ("fieldManager", "string", true),
    ] {
        let (is_found_shared, mut parameter) = found(name);
        assert_eq!(is_found_shared, is_shared, "{name}");
        let description = parameter.as_object_mut().unwrap().remove("description").unwrap();
        assert!(!description.as_str().unwrap().is_empty(), "{name}");
        assert_eq!(
            parameter,
            json!({"name": name, "in": "query", "type": ty, "uniqueItems": true})
        );
    }
    let body = json!({"in": "body", "name": "body", "required": true,
        "schema": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}});
    assert_eq!(found("body"), (true, body));
    for path in ["/.well-known/openid-configuration/", "/openid/v1/jwks/"] {
        assert_eq!(
            document["paths"][path]["get"]["responses"]["200"]["schema"],
            json!({"type": "string"})
        );
    }
    let containers = &document["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(
        containers,
        &json!({"type": "array", "items": {"$ref": "#/definitions/io.k8s.api.core.v1.Container"},
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"})
    );
    assert_eq!(
        document["definitions"]["com.example.v1.Widget"]["properties"]["spec"]["properties"]["size"],
        json!({"type": "number", "description": "How large."})
    );
}

#[tokio::test]
async fn the_second_version_follows_definitions() {
    let server = TestServer::start().await;
    let (headers, plain) = raw(&server, "/openapi/v2", V2_PROTOBUF).await;
    assert_eq!(
        headers["content-type"],
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    );
    // The message begins with its first field, the version.
    assert_eq!(plain[..5], *b"\x0a\x032.0");
    let contains = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(contains(&plain, "io.k8s.api.core.v1.PodSpec") && !contains(&plain, "com.example.v1.Widget"));
    let etag = headers["etag"].clone();
    let known = Request::get("/openapi/v2").header("if-none-match", &etag);
    assert_eq!(server.call(known, Body::empty()).await.code, 304);
    server.define(&widgets("number")).await;
    server
        .eventually("/openapi/v2", |answer| {
            answer.body["definitions"].get("com.example.v1.Widget").is_some()
        })
        .await;
    let (headers, changed) = raw(&server, "/openapi/v2", V2_PROTOBUF).await;
    assert_ne!(headers["etag"], etag);
    assert!(contains(&changed, "com.example.v1.Widget"));
    let known = Request::get("/openapi/v2").header("if-none-match", &etag);
    assert_eq!(server.call(known, Body::empty()).await.code, 200);
}
