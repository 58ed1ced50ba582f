//! Patch: its kinds and what goes wrong with them.

use serde_json::{Value, json};

use crate::harness::*;

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

fn patch(path: &str, media_type: &str, body: &Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed(media_type, body.to_string())
}

#[tokio::test]
async fn each_kind_of_patch() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {DEPLOYMENTS}"), &deployment("a")))
        .await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("a")))
        .await;
    let containers = "/spec/template/spec/containers";
    let second = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side"}]}}}});
    for (path, media_type, body, at, expect) in [
        (
            DEPLOYMENTS,
            JSON,
            json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]),
            "/spec/replicas",
            json!(3),
        ),
        (
            DEPLOYMENTS,
            MERGE,
            json!({"spec": {"replicas": 4}}),
            "/spec/replicas",
            json!(4),
        ),
        (
            DEPLOYMENTS,
            MERGE,
            json!({"spec": {"replicas": null}}),
            "/spec/replicas",
            json!(1),
        ),
        (
            DEPLOYMENTS,
            STRATEGIC,
            second,
            containers,
            json!(["side", "main"]),
        ),
        (
            DEPLOYMENTS,
            STRATEGIC,
            json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}),
            containers,
            json!(["main"]),
        ),
        (
            WIDGETS,
            JSON,
            json!([{"op": "add", "path": "/spec/note", "value": "x"}]),
            "/spec/note",
            json!("x"),
        ),
        (
            WIDGETS,
            MERGE,
            json!({"spec": {"note": null, "size": 7}}),
            "/spec/size",
            json!(7),
        ),
    ] {
        let patched = server.ok(patch(&format!("{path}/a"), media_type, &body)).await;
        let found = patched.pointer(at).unwrap();
        let found = match found.as_array() {
            Some(list) => list.iter().map(|one| one["name"].clone()).collect(),
            None => found.clone(),
        };
        assert_eq!(found, expect, "{body}");
    }
}

#[tokio::test]
async fn what_is_refused() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("a")))
        .await;
    let many: Vec<Value> = (0..10_001)
        .map(|i| json!({"op": "add", "path": format!("/data/k{i}"), "value": ""}))
        .collect();
    let unknown = "the body of the request was in an unknown format - accepted media types include: ";
    for (path, media_type, body, code, why) in [
        (WIDGETS, STRATEGIC, json!({"spec": {"size": 2}}), 415, unknown),
        (WIDGETS, "application/json", json!({}), 415, unknown),
        (
            MAPS,
            "application/json",
            json!({}),
            415,
            "415: Unsupported Media Type",
        ),
        (MAPS, "", json!({}), 415, "415: Unsupported Media Type"),
        (
            MAPS,
            JSON,
            json!([{"op": "test", "path": "/data/key", "value": "9"}]),
            422,
            "the server rejected our request",
        ),
        (
            MAPS,
            JSON,
            json!([{"op": "remove", "path": "/data/absent"}]),
            422,
            "the server rejected our request",
        ),
        (
            MAPS,
            JSON,
            json!([{"op": "replace", "path": "/absent/key", "value": ""}]),
            422,
            "the server rejected our request",
        ),
        (MAPS, MERGE, Value::Null, 400, "Invalid JSON Patch"),
        (
            WIDGETS,
            MERGE,
            json!({"apiVersion": "other/v2", "kind": "Gadget"}),
            422,
            "Gadget.other \"a\" is invalid: [kind: Invalid value: \"Gadget\": must be Widget, apiVersion: Invalid value: \
             \"other/v2\": must be example.com/v1]",
        ),
        (
            WIDGETS,
            MERGE,
            json!({"kind": null}),
            422,
            "Object 'Kind' is missing in '{",
        ),
        (
            WIDGETS,
            MERGE,
            json!({"apiVersion": ""}),
            500,
            "object has no apiVersion field",
        ),
        (
            MAPS,
            JSON,
            json!({"op": "test"}),
            400,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            MAPS,
            JSON,
            json!(Value::Array(many)),
            413,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
        (MAPS, MERGE, json!([]), 400, "error decoding patch"),
        (MAPS, MERGE, json!("text"), 400, "error decoding patch"),
        (
            MAPS,
            MERGE,
            json!({"data": {"key": 5}}),
            422,
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            MAPS,
            STRATEGIC,
            json!({"data": {"key": 5}}),
            422,
            " \"\" is invalid: patch: Invalid value: \"map[data:map[key:5]]\": ",
        ),
        (
            MAPS,
            MERGE,
            json!({"metadata": {"name": null}}),
            400,
            "the name of the object (a based on URL) was undeterminable: name must be provided",
        ),
        (
            MAPS,
            MERGE,
            json!({"metadata": {"uid": "other"}}),
            422,
            "metadata.uid: Invalid value: \"other\": field is immutable",
        ),
        (
            MAPS,
            MERGE,
            json!({"metadata": {"name": "b"}}),
            400,
            "does not match the name on the URL",
        ),
        (
            MAPS,
            MERGE,
            json!({"metadata": {"resourceVersion": "1"}}),
            409,
            "the object has been modified",
        ),
        (
            MAPS,
            STRATEGIC,
            json!({"$patch": "unheard-of"}),
            500,
            "unknown patch type: unheard-of in map: map[$patch:unheard-of]",
        ),
        (WIDGETS, MERGE, json!({"spec": {"size": "big"}}), 422, "spec.size"),
    ] {
        server
            .refused(patch(&format!("{path}/a"), media_type, &body), code, why)
            .await;
    }
    server
        .refused(
            patch(&format!("{MAPS}/absent"), MERGE, &json!({})),
            404,
            "configmaps \"absent\" not found",
        )
        .await;
    let absent = json!([{"op": "replace", "path": "/data/absent", "value": "x"}]);
    let set = server.ok(patch(&format!("{MAPS}/a"), JSON, &absent)).await;
    assert_eq!(
        set["data"]["absent"], "x",
        "evanphx/json-patch sets what it should replace"
    );
    server
        .ok(patch(&format!("{MAPS}/a"), STRATEGIC, &Value::Null))
        .await;
    let broken = Ask::new(format!("PATCH {MAPS}/a")).typed(MERGE, "{\"data\":");
    server.refused(broken, 400, "invalid JSON patch").await;
    let forced = patch(&format!("{MAPS}/a?force=true"), MERGE, &json!({}));
    let why = "force: Forbidden: may not be specified for non-apply patch";
    server.refused(forced, 422, why).await;
    let failed = json!([{"op": "test", "path": "/data/key", "value": "9"}]);
    let answer = server.ask(patch(&format!("{MAPS}/a"), JSON, &failed)).await;
    assert_eq!(
        answer.body["message"],
        "the server rejected our request due to an error in our request"
    );
}

#[tokio::test]
async fn strict_patches_refuse_fields_that_do_not_belong() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("a")))
        .await;
    for path in [MAPS, WIDGETS] {
        let body = json!({"extra": 1});
        let strict = patch(&format!("{path}/a?fieldValidation=Strict"), MERGE, &body);
        server
            .refused(strict, 422, "strict decoding error: unknown field \"extra\"")
            .await;
        let operation = json!([{"op": "add", "path": "/metadata/labels", "value": {}, "more": 1}]);
        let strict = patch(&format!("{path}/a?fieldValidation=Strict"), JSON, &operation);
        let why = "strict decoding error: json patch unknown field \"[0].more\"";
        server.refused(strict, 422, why).await;
        let twice = Ask::new(format!("PATCH {path}/a?fieldValidation=Strict"));
        let twice = twice.typed(MERGE, r#"{"metadata":{"labels":{"a":"1","a":"2"}}}"#);
        let why = "strict decoding error: duplicate field \"metadata.labels.a\"";
        server.refused(twice, 422, why).await;
        let warned = server.ask(patch(&format!("{path}/a"), MERGE, &body)).await;
        assert_eq!(
            (warned.code, warned.warnings()),
            (200, vec!["299 - \"unknown field \\\"extra\\\"\""])
        );
    }
}

/// A custom resource stays what it is, and says so in validation's words (apiextensions `pkg/registry/customresource/validator.go`).
#[tokio::test]
async fn a_patch_makes_no_other_kind() {
    let server = Server::start().await;
    server.define_widgets().await;
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    server
        .ok(Ask::json(format!("POST {widgets}"), &widget("a")))
        .await;
    for (media_type, body) in [
        ("application/merge-patch+json", r#"{"kind":"Gadget"}"#),
        (
            "application/json-patch+json",
            r#"[{"op":"replace","path":"/kind","value":"Gadget"}]"#,
        ),
    ] {
        let ask = Ask::new(format!("PATCH {widgets}/a")).typed(media_type, body);
        let text = "Gadget.example.com \"a\" is invalid: kind: Invalid value: \"Gadget\": must be Widget";
        server.refused(ask, 422, text).await;
    }
    // Of a version that there is none of, nothing but metadata is known.
    let other = r#"{"apiVersion":"example.com/v9","metadata":{"yy":1},"zz":1}"#;
    let unknown = ["metadata.yy", "spec", "zz"].map(|field| format!("unknown field {field:?}"));
    let strict = format!("strict decoding error: {}", unknown.join(", "));
    for (validation, text, warnings) in [
        ("Warn", "must be example.com/v1", &unknown[..]),
        ("Strict", &*strict, &[]),
        ("Ignore", "must be example.com/v1", &[]),
    ] {
        let line = format!("PATCH {widgets}/a?fieldValidation={validation}");
        let ask = Ask::new(line).typed("application/merge-patch+json", other);
        let answer = server.refused(ask, 422, text).await;
        let expect: Vec<_> = warnings
            .iter()
            .map(|warning| format!("299 - \"{}\"", warning.replace('"', "\\\"")))
            .collect();
        assert_eq!(answer.warnings(), expect, "{validation}");
    }
}

/// What a refused patch comes to is shown as Go's encoder writes it: members by name, and some letters escaped.
#[tokio::test]
async fn a_refused_result_is_shown_as_go_writes_it() {
    let server = Server::start().await;
    server.define_widgets().await;
    let mut object = widget("a");
    object["metadata"]["annotations"] = json!({"z": "<&>", "a": "1"});
    server.ok(Ask::json(format!("POST {WIDGETS}"), &object)).await;
    let shown = r#"\"annotations\":{\"a\":\"1\",\"z\":\"\\u003c\\u0026\\u003e\"}"#;
    for (body, why) in [
        (json!({"kind": null}), "Object 'Kind' is missing in"),
        (
            json!({"metadata": {"labels": 5}}),
            "patch: Invalid value: \"{\\\"apiVersion\\\":\\\"example.com/v1\\\",\\\"kind\\\"",
        ),
    ] {
        let answer = server.ask(patch(&format!("{WIDGETS}/a"), MERGE, &body)).await;
        let message = text(&answer.body["message"]);
        assert_eq!(answer.code, 422, "{message}");
        assert!(message.contains(why) && message.contains(shown), "{message}");
    }
}
