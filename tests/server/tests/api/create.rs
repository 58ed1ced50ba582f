//! Create.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::harness::*;

#[tokio::test]
async fn the_server_fills_what_is_its_own() {
    let server = Server::start().await;
    let mut sent = config_map("a", "1");
    let wrong = json!({"uid": "mine", "creationTimestamp": "1999-01-01T00:00:00Z", "generation": 7, "selfLink": "/x",
        "deletionTimestamp": "1999-01-01T00:00:00Z", "deletionGracePeriodSeconds": 9});
    sent["metadata"]
        .as_object_mut()
        .unwrap()
        .extend(wrong.as_object().unwrap().clone());
    let answer = server.ask(Ask::json(format!("POST {MAPS}"), &sent)).await;
    assert_eq!(answer.code, 201);
    let metadata = &answer.body["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(text(&metadata["uid"]).len(), 36);
    assert!(
        text(&metadata["creationTimestamp"]).starts_with("20"),
        "{metadata}"
    );
    // Kinds that count no generations keep what they are given.
    assert_eq!(metadata["generation"], 7);
    for absent in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        assert_eq!(metadata.get(absent), None, "{absent}");
    }
    assert_eq!(version(&answer.body), server.revision().await);
    assert_eq!(server.ok(format!("GET {MAPS}/a")).await, answer.body);
}

#[tokio::test]
async fn names_are_generated() {
    let server = Server::start().await;
    let long = "x".repeat(80);
    let mut seen = HashSet::new();
    for (prefix, kept) in [("a-", "a-"), ("a-", "a-"), (long.as_str(), &long[..58])] {
        let object = json!({"metadata": {"generateName": prefix}});
        let made = server.ok(Ask::json(format!("POST {MAPS}"), &object)).await;
        let name = text(&made["metadata"]["name"]).to_owned();
        assert!(name.starts_with(kept) && name.len() == kept.len() + 5, "{name}");
        assert_eq!(made["metadata"]["generateName"], prefix);
        assert!(seen.insert(name));
    }
}

#[tokio::test]
async fn what_is_refused() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("taken", "1")))
        .await;
    let namespace = json!({"metadata": {"name": "ending"}});
    server.ok(Ask::json("POST /api/v1/namespaces", &namespace)).await;
    let ended = server.ok("DELETE /api/v1/namespaces/ending").await;
    assert_eq!(ended["status"]["phase"], "Terminating");

    let with = |field: &str, value: Value| {
        let mut object = config_map("a", "1");
        object["metadata"][field] = value;
        object
    };
    for (path, object, code, why) in [
        (
            MAPS,
            with("resourceVersion", json!("5")),
            500,
            "resourceVersion should not be set on objects to be created",
        ),
        (
            MAPS,
            with("namespace", json!("other")),
            400,
            "the namespace of the provided object does not match",
        ),
        (
            MAPS,
            config_map("taken", "2"),
            409,
            "configmaps \"taken\" already exists",
        ),
        (
            MAPS,
            config_map("Not_A_Name", "2"),
            422,
            "metadata.name: Invalid value",
        ),
        (
            MAPS,
            json!({"metadata": {}}),
            422,
            "metadata.name: Required value: name or generateName is required",
        ),
        (
            MAPS,
            json!({"metadata": {"name": "a"}, "data": {"key": 1}}),
            400,
            "cannot be handled as a ConfigMap",
        ),
        (
            MAPS,
            json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}),
            400,
            "cannot be handled as a ConfigMap",
        ),
        (
            MAPS,
            json!({"kind": "ConfigMap", "apiVersion": "v2"}),
            400,
            "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v2\"",
        ),
        (MAPS, json!([]), 400, ""),
        (MAPS, json!(null), 422, ""),
        (MAPS, json!("text"), 400, ""),
        (
            "/api/v1/namespaces/absent/configmaps",
            config_map("a", "1"),
            404,
            "namespaces \"absent\" not found",
        ),
        (
            "/api/v1/namespaces/ending/configmaps",
            config_map("a", "1"),
            403,
            "unable to create new content in namespace ending because it is being terminated",
        ),
        (
            WIDGETS,
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": "big"}}),
            422,
            "spec.size",
        ),
        (
            WIDGETS,
            json!({"metadata": {"name": "a"}, "spec": {}}),
            400,
            "Object 'Kind' is missing in",
        ),
        (
            WIDGETS,
            json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}}),
            422,
            "kind: Invalid value: \"Gadget\": must be Widget",
        ),
        (
            WIDGETS,
            json!({"kind": "Widget", "metadata": {"name": "a"}}),
            400,
            "the API version in the data () does not match the expected API version (example.com/v1)",
        ),
        (
            DEPLOYMENTS,
            json!({"metadata": {"name": "a"}, "spec": {}}),
            422,
            "spec.selector: Required value",
        ),
    ] {
        let answer = server
            .refused(Ask::json(format!("POST {path}"), &object), code, why)
            .await;
        if why.contains("being terminated") {
            assert_eq!(
                answer.body["details"]["causes"][0]["reason"],
                "NamespaceTerminating"
            );
        }
    }
}

/// Versions are looked at last, and only where something is to be stored.
#[tokio::test]
async fn versions_of_new_objects() {
    let server = Server::start().await;
    for (version, query, refused) in [
        ("5", "", true),
        ("5", "?dryRun=All", false),
        ("0", "", false),
        ("x", "", false),
    ] {
        let mut object = config_map(&format!("v{version}"), "1");
        object["metadata"]["resourceVersion"] = json!(version);
        let ask = Ask::json(format!("POST {MAPS}{query}"), &object);
        if refused {
            let why = "resourceVersion should not be set on objects to be created";
            let answer = server.refused(ask, 500, why).await;
            assert_eq!(answer.body["message"], why);
            assert_eq!(
                answer.body.get("reason").and_then(Value::as_str).unwrap_or(""),
                ""
            );
        } else {
            server.ok(ask).await;
        }
    }
}

#[tokio::test]
async fn names_that_may_be_generated_are_to_be_tried_again() {
    let server = Server::start().await;
    let mut object = config_map("a", "1");
    object["metadata"]["generateName"] = json!("a-");
    server.ok(Ask::json(format!("POST {MAPS}"), &object)).await;
    let why =
        "configmaps \"a\" already exists, the server was not able to generate a unique name for the object";
    let answer = server
        .refused(Ask::json(format!("POST {MAPS}"), &object), 409, why)
        .await;
    assert_eq!(
        answer.body["details"],
        json!({"name": "a", "kind": "configmaps", "retryAfterSeconds": 1})
    );
}

#[tokio::test]
async fn owners_are_named_once() {
    let server = Server::start().await;
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"});
    let mut object = config_map("a", "1");
    object["metadata"]["ownerReferences"] = json!([owner, owner]);
    let answer = server.ask(Ask::json(format!("POST {MAPS}"), &object)).await;
    assert_eq!(answer.body["metadata"]["ownerReferences"], json!([owner]));
    let warnings = answer.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("duplicate UID(s) observed: u"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn an_object_that_is_being_deleted_is_in_the_way() {
    let server = Server::start().await;
    let mut held = config_map("a", "1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.ok(Ask::json(format!("POST {MAPS}"), &held)).await;
    server.ok(format!("DELETE {MAPS}/a")).await;
    let why = "object is being deleted: configmaps \"a\" already exists";
    server
        .refused(Ask::json(format!("POST {MAPS}"), &config_map("a", "2")), 409, why)
        .await;
}

#[tokio::test]
async fn defaults_are_filled_and_shown() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, object, at, expect) in [
        (PODS, pod("a"), "/spec/restartPolicy", json!("Always")),
        (PODS, pod("b"), "/spec/terminationGracePeriodSeconds", json!(30)),
        (PODS, pod("c"), "/status/phase", json!("Pending")),
        (PODS, pod("d"), "/metadata/generation", json!(1)),
        (DEPLOYMENTS, deployment("a"), "/spec/replicas", json!(1)),
        (DEPLOYMENTS, deployment("b"), "/metadata/generation", json!(1)),
        (WIDGETS, widget("a"), "/spec/color", json!("red")),
        (WIDGETS, widget("b"), "/metadata/generation", json!(1)),
        (MAPS, config_map("a", "1"), "/data/key", json!("1")),
    ] {
        let made = server.ok(Ask::json(format!("POST {path}"), &object)).await;
        assert_eq!(made.pointer(at), Some(&expect), "{path} {at}");
    }
}

/// Events are one resource in two groups, autoscalers one in two versions.
#[tokio::test]
async fn one_object_in_two_forms() {
    let server = Server::start().await;
    let event = json!({"metadata": {"name": "e"}, "reason": "Tested", "message": "hello", "type": "Normal",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"}});
    server
        .ok(Ask::json("POST /api/v1/namespaces/default/events", &event))
        .await;
    let found = server
        .ok("GET /apis/events.k8s.io/v1/namespaces/default/events/e")
        .await;
    assert_eq!(
        (text(&found["apiVersion"]), text(&found["note"])),
        ("events.k8s.io/v1", "hello")
    );
    assert_eq!(found["regarding"]["name"], "a");
    let list = server.ok("GET /apis/events.k8s.io/v1/events").await;
    assert_eq!(
        (text(&list["kind"]), text(&list["items"][0]["note"])),
        ("EventList", "hello")
    );

    let scaler = json!({"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}});
    let at =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    server.ok(Ask::json(format!("POST {}", at("v1")), &scaler)).await;
    let found = server.ok(format!("GET {}/h", at("v2"))).await;
    assert_eq!(found["apiVersion"], "autoscaling/v2");
    assert_eq!(
        found["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
        50
    );
    let found = server.ok(format!("GET {}/h", at("v1"))).await;
    assert_eq!(found["spec"]["targetCPUUtilizationPercentage"], 50);
}
