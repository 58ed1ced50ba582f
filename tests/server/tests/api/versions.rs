//! Custom resources of several versions that differ in their names alone.

use serde_json::{Value, json};

use crate::harness::{Ask, Server, text};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn version(name: &str, storage: bool, properties: Value) -> Value {
    let spec = json!({"type": "object", "properties": properties});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

fn multi(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("e.com/{version}"), "kind": "Multi", "metadata": {"name": name}, "spec": spec})
}

fn path(version: &str) -> String {
    format!("/apis/e.com/{version}/namespaces/default/multis")
}

async fn start() -> Server {
    let server = Server::start().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "multis.e.com"},
        "spec": {
            "group": "e.com", "scope": "Namespaced", "names": {"kind": "Multi", "plural": "multis"},
            "versions": [
                version("v1", true, json!({"a": {"type": "string"}, "one": {"type": "string", "default": "o1"}})),
                version("v2", false, json!({"a": {"type": "string"}, "two": {"type": "string", "default": "t2"}})),
            ],
        },
    });
    server.ok(Ask::json(format!("POST {CRDS}"), &definition)).await;
    while server.ask(format!("GET {}", path("v2"))).await.code != 200 {
        tokio::task::yield_now().await;
    }
    server
}

/// What one version has and the other lacks is lost on the way, and comes back as the default of the version that is stored.
#[tokio::test]
async fn the_stored_version_has_its_defaults() {
    let server = start().await;
    for (written, sent, seen) in [
        (
            "v1",
            json!({"a": "x", "one": "1"}),
            [json!({"a": "x", "one": "1"}), json!({"a": "x"})],
        ),
        (
            "v2",
            json!({"a": "x", "two": "2"}),
            [json!({"a": "x", "one": "o1"}), json!({"a": "x"})],
        ),
    ] {
        let name = format!("by-{written}");
        let created = server
            .ok(Ask::json(
                format!("POST {}", path(written)),
                &multi(written, &name, sent.clone()),
            ))
            .await;
        assert_eq!(text(&created["apiVersion"]), format!("e.com/{written}"));
        for (version, expect) in ["v1", "v2"].into_iter().zip(seen) {
            let read = server.ok(format!("GET {}/{name}", path(version))).await;
            assert_eq!(read["spec"], expect, "{name} in {version}");
            let list = server
                .ok(format!(
                    "GET {}?fieldSelector=metadata.name%3D{name}",
                    path(version)
                ))
                .await;
            assert_eq!(list["items"][0]["spec"], expect, "{name} in {version}");
        }
    }
}
