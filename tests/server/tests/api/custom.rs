//! Custom resources of a definition without a webhook, whose versions hold different fields; as kube-apiserver 1.37 answers.

use serde_json::{Value, json};

use crate::harness::{Ask, Server};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const V1: &str = "/apis/e.com/v1/namespaces/default/multis";
const V2: &str = "/apis/e.com/v2/namespaces/default/multis";

fn version(name: &str, storage: bool, own: &str) -> Value {
    let spec = json!({"a": {"type": "string"}, own: {"type": "string"}, "replicas": {"type": "integer"},
        "any": {"type": "object", "additionalProperties": true}});
    json!({
        "name": name, "served": true, "storage": storage,
        "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        }}},
    })
}

/// A server with a definition of two versions, the first of which is stored.
async fn start() -> Server {
    let server = Server::start().await;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "multis.e.com"},
        "spec": {
            "group": "e.com", "scope": "Namespaced",
            "names": {"kind": "Multi", "plural": "multis", "singular": "multi", "listKind": "MultiList"},
            "versions": [version("v1", true, "one"), version("v2", false, "two")],
        },
    });
    server.ok(Ask::json(format!("POST {CRDS}"), &definition)).await;
    while server.ask(format!("GET {V2}")).await.code != 200 {
        tokio::task::yield_now().await;
    }
    server
}

fn multi(version: &str, metadata: Value, spec: Value) -> Value {
    json!({"apiVersion": format!("e.com/{version}"), "kind": "Multi", "metadata": metadata, "spec": spec})
}

fn merge(line: String, patch: &Value) -> Ask {
    Ask::new(line).typed("application/merge-patch+json", patch.to_string())
}

/// Who owns what: the version and the fields of the specification of each entry.
fn owned(object: &Value) -> Vec<(String, String)> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| {
            let fields = entry["fieldsV1"]["f:spec"].as_object();
            let names: Vec<&str> = fields
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .collect();
            (entry["apiVersion"].as_str().unwrap().to_owned(), names.join(" "))
        })
        .collect()
}

#[tokio::test]
async fn what_the_stored_version_lacks_goes() {
    let server = start().await;
    let entry = |version: &str, fields: &str| (format!("e.com/{version}"), fields.to_owned());
    // A body is looked at before it is converted, a patched object after that: only the first gets an owner for what is lost.
    let sent = multi("v2", json!({"name": "b"}), json!({"a": "x", "two": "2"}));
    let created = server.ok(Ask::json(format!("POST {V2}"), &sent)).await;
    assert_eq!(created["spec"], json!({"a": "x"}));
    assert_eq!(owned(&created), [entry("v2", ". f:a f:two")]);

    let sent = multi("v1", json!({"name": "a"}), json!({"a": "x", "one": "1"}));
    server.ok(Ask::json(format!("POST {V1}"), &sent)).await;
    let patched = server
        .ok(merge(format!("PATCH {V2}/a"), &json!({"spec": {"two": "2"}})))
        .await;
    assert_eq!(patched["spec"], json!({"a": "x"}));
    assert_eq!(owned(&patched), [entry("v1", ". f:a f:one")]);
    // The other version took away what it does not have.
    assert_eq!(patched["metadata"]["generation"], 2);
    let stored = server.ok(format!("GET {V1}/a")).await;
    assert_eq!(stored["spec"], json!({"a": "x"}));
}

#[tokio::test]
async fn a_patch_moves_nothing_to_another_version_or_kind() {
    let server = start().await;
    let sent = multi("v1", json!({"name": "a"}), json!({"a": "x"}));
    server.ok(Ask::json(format!("POST {V1}"), &sent)).await;
    for (patch, message) in [
        (
            json!({"apiVersion": "e.com/v9"}),
            "Multi.e.com \"a\" is invalid: apiVersion: Invalid value: \"e.com/v9\": must be e.com/v1",
        ),
        (
            json!({"kind": "Other"}),
            "Other.e.com \"a\" is invalid: kind: Invalid value: \"Other\": must be Multi",
        ),
    ] {
        server
            .refused(merge(format!("PATCH {V1}/a"), &patch), 422, message)
            .await;
    }
}

#[tokio::test]
async fn what_only_applying_does() {
    let server = start().await;
    // Nobody is told of what has no place within an object without fields.
    let config = multi(
        "v1",
        json!({"name": "a"}),
        json!({"any": {"x": {"y": 1}}, "replicas": 1}),
    );
    let ask = Ask::new(format!("PATCH {V1}/a?fieldManager=ap"))
        .typed("application/apply-patch+yaml", config.to_string());
    let answer = server.ask(ask).await;
    assert_eq!((answer.code, answer.warnings()), (201, vec![]));
    let config = multi("v1", json!({"name": "a"}), json!({"nope": 1}));
    let ask = Ask::new(format!("PATCH {V1}/a?fieldManager=ap"))
        .typed("application/apply-patch+yaml", config.to_string());
    server
        .refused(ask, 500, ".spec.nope: field not declared in schema")
        .await;
}

#[tokio::test]
async fn nobody_owns_what_the_server_says_itself() {
    let server = start().await;
    let metadata = json!({"name": "a", "uid": "x", "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3,
        "creationTimestamp": "2020-01-01T00:00:00Z", "labels": {"l": "v"}});
    for (path, sent) in [
        (V1, multi("v1", metadata.clone(), json!({}))),
        (
            "/api/v1/namespaces/default/configmaps",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}),
        ),
    ] {
        let created = server.ok(Ask::json(format!("POST {path}"), &sent)).await;
        let fields = &created["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"];
        assert_eq!(*fields, json!({"f:labels": {".": {}, "f:l": {}}}), "{path}");
    }
}

/// apiextensions `pkg/apiserver/helpers.go` `getScaleColumnsForVersion`, kubernetes `pkg/printers/internalversion` `printScale`.
#[tokio::test]
async fn scales_as_tables() {
    let server = start().await;
    let sent = multi("v1", json!({"name": "a"}), json!({"replicas": 3}));
    server.ok(Ask::json(format!("POST {V1}"), &sent)).await;
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"}, "spec": {
        "replicas": 3, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    server.ok(Ask::json(format!("POST {sets}"), &set)).await;
    for (path, format, age) in [(V1, "name", "date"), (sets, "", "string")] {
        let ask = Ask::new(format!("GET {path}/a/scale")).header(
            "accept",
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        );
        let table = server.ok(ask).await;
        let columns: Vec<_> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| {
                (
                    column["name"].as_str().unwrap(),
                    column["type"].as_str().unwrap(),
                    column["format"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            columns,
            [
                ("Name", "string", format),
                ("Desired", "integer", ""),
                ("Available", "integer", ""),
                ("Age", age, "")
            ]
        );
        let cells = table["rows"][0]["cells"].as_array().unwrap();
        assert_eq!(cells[..3], [json!("a"), json!(3), json!(0)]);
        assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    }
}

/// A default holds what a resource within another may hold, however a strict request is read.
#[tokio::test]
async fn defaults_of_embedded_resources_are_pruned() {
    let server = Server::start().await;
    let template = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        "default": {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"a": 1}},
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "holders.e.com"},
        "spec": {
            "group": "e.com", "scope": "Namespaced",
            "names": {"kind": "Holder", "plural": "holders", "singular": "holder", "listKind": "HolderList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object", "properties": {"template": template}, "default": {},
                }}}},
            }],
        },
    });
    let with_metadata = |metadata: Value| {
        let mut definition = definition.clone();
        let default =
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/template/default/metadata";
        *definition.pointer_mut(default).unwrap() = metadata;
        definition
    };
    // Of another type, or no metadata that a resource may have, it is refused.
    let at = "spec.validation.openAPIV3Schema.properties[spec].properties[template].default.metadata";
    for (metadata, why) in [
        (json!({"generation": "y"}), ": Invalid value: {"),
        (
            json!({"name": "a/b"}),
            ".name: Invalid value: \"a/b\": may not contain '/'",
        ),
    ] {
        let ask = Ask::json(format!("POST {CRDS}"), &with_metadata(metadata));
        server.refused(ask, 422, &format!("{at}{why}")).await;
    }
    let definition = with_metadata(json!({"name": "p", "typo": "x"}));
    server.ok(Ask::json(format!("POST {CRDS}"), &definition)).await;
    let holders = "/apis/e.com/v1/namespaces/default/holders";
    while server.ask(format!("GET {holders}")).await.code != 200 {
        tokio::task::yield_now().await;
    }
    let sent = json!({"apiVersion": "e.com/v1", "kind": "Holder", "metadata": {"name": "a"}});
    let ask = Ask::json(format!("POST {holders}?fieldValidation=Strict"), &sent);
    let made = server.ok(ask).await;
    let pruned = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"a": 1}});
    assert_eq!(made["spec"], json!({"template": pruned}));
}
