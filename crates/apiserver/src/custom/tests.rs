//! Definitions and their instances, through the server's service.

use serde_json::{Value, json};

use crate::test_support::{DEFINITIONS, TestServer, definition, is};

fn widgets() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "maximum": 9},
            "tier": {"type": "string", "default": "web"},
            "selector": {"type": "string"},
        }},
        "status": {"type": "object", "properties": {
            "ready": {"type": "integer"}, "phase": {"type": "string"}, "labels": {"type": "string"},
        }},
    }});
    definition(
        "widgets",
        "Widget",
        json!([{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready", "labelSelectorPath": ".status.labels",
            }},
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            "selectableFields": [{"jsonPath": ".spec.tier"}],
        }]),
    )
}

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

#[tokio::test]
async fn a_definition_becomes_a_kind() {
    let server = TestServer::start().await;
    let definition = server.define(&widgets()).await;
    assert_eq!(definition["spec"]["names"]["singular"], "widget");
    assert_eq!(definition["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(definition["status"]["acceptedNames"], definition["spec"]["names"]);
    assert_eq!(definition["status"]["storedVersions"], json!(["v1"]));
    assert!(is(&definition, "NamesAccepted"));
    let list = server.get("/apis/example.com/v1").await.ok();
    let names: Vec<&str> = list["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["widgets", "widgets/scale", "widgets/status"]);
    assert_eq!(
        server
            .get(&format!("{DEFINITIONS}/widgets.example.com"))
            .await
            .ok(),
        definition
    );
    assert_eq!(server.get(WIDGETS).await.ok()["kind"], "WidgetList");
    let created = server.post(WIDGETS, &widget("a", json!({"size": 3}))).await.ok();
    assert_eq!(created["spec"], json!({"size": 3, "tier": "web"}));
    assert_eq!(created["metadata"]["generation"], 1);
}
