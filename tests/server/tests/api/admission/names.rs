//! What admission is told that an object is: names that are made up later, bindings by either way, owners that are named twice.

use serde_json::{Value, json};

use super::handler::Hooks;
use super::{MAPS, clear, configure_mutating, configure_validating};
use crate::harness::*;
use crate::https::calling_server;

fn everything() -> Value {
    json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}])
}

/// The name of a new object is the client's, as long as the server has to make one (apiserver pkg/endpoints/handlers/create.go).
#[tokio::test]
async fn a_name_that_is_made_up_is_not_told() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let hook = [hooks.hook("/allow", &json!({"rules": everything()}))];
    configure_mutating(&server, "a", &hook).await;
    configure_validating(&server, "b", &hook).await;
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}});
    server.ok(Ask::json(format!("POST {MAPS}"), &generated)).await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let asked = hooks.asked();
    let names: Vec<&str> = asked.iter().map(|question| text(&question["name"])).collect();
    assert_eq!(names, ["", "", "a", "a"]);
    let of_object = |question: &Value| question["object"]["metadata"]["name"].clone();
    assert_eq!(of_object(&asked[0]), Value::Null);
    assert!(text(&of_object(&asked[1])).starts_with("a-"), "{}", asked[1]);
}

/// A namespace is selected by its own labels, whether it has a name yet or not.
#[tokio::test]
async fn a_namespace_without_a_name_is_one() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let selector = json!({"matchLabels": {"stage": "dev"}});
    let hook = [hooks.hook(
        "/allow",
        &json!({"rules": everything(), "namespaceSelector": selector}),
    )];
    configure_mutating(&server, "a", &hook).await;
    configure_validating(&server, "b", &hook).await;
    for (stage, calls) in [("dev", 2), ("live", 0)] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"generateName": "a-", "labels": {"stage": stage}}});
        server.ok(Ask::json("POST /api/v1/namespaces", &namespace)).await;
        assert_eq!(hooks.asked().len(), calls, "{stage}");
    }
}

/// pkg/registry/core/pod/storage/storage.go `BindingREST` and `LegacyBindingREST`.
#[tokio::test]
async fn bindings_are_what_was_asked_for() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let pods = "/api/v1/namespaces/default/pods";
    for name in ["a", "b"] {
        server.ok(Ask::json(format!("POST {pods}"), &pod(name))).await;
    }
    let hook = [hooks.hook("/allow", &json!({"rules": everything()}))];
    configure_mutating(&server, "a", &hook).await;
    configure_validating(&server, "b", &hook).await;
    let binding = |name: &str, target: &str| json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "uid": "u"}, "target": {"name": target}});
    let by_pod =
        |name: &str, target: &str| Ask::json(format!("POST {pods}/{name}/binding"), &binding(name, target));
    let legacy = |name: &str, target: &str| {
        Ask::json("POST /api/v1/namespaces/default/bindings", &binding(name, target))
    };
    // What is wrong with it is told before validating webhooks are asked.
    for (ask, resource, subresource) in [
        (by_pod("a", ""), "pods", "binding"),
        (legacy("b", ""), "bindings", ""),
    ] {
        server.refused(ask, 500, "target.name: Required value").await;
        let asked = hooks.asked();
        assert_eq!(asked.len(), 1, "the mutating one");
        assert_eq!(asked[0]["resource"]["resource"], resource);
        assert_eq!(asked[0]["subResource"].as_str().unwrap_or_default(), subresource);
    }
    // The pod itself is not what is written, as far as admission is concerned.
    let why = "Precondition failed: UID in precondition: u";
    server.refused(by_pod("a", "n"), 409, why).await;
    assert_eq!(hooks.asked().len(), 2);
    server.ok(legacy("b", "n")).await;
    let asked = hooks.asked();
    let kinds: Vec<&str> = asked
        .iter()
        .map(|question| text(&question["kind"]["kind"]))
        .collect();
    assert_eq!(kinds, ["Binding", "Binding"]);
    assert_eq!(server.ok(format!("GET {pods}/b")).await["spec"]["nodeName"], "n");
}

/// `dedupOwnerReferencesAndAddWarning` of apiserver pkg/endpoints/handlers/rest.go.
#[tokio::test]
async fn owners_that_a_webhook_adds_are_named_once() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"});
    let mut map = config_map("a", "1");
    map["metadata"]["ownerReferences"] = json!([owner]);
    configure_mutating(&server, "a", &[hooks.hook("/own", &json!({}))]).await;
    let answer = server.ask(Ask::json(format!("POST {MAPS}"), &map)).await;
    assert_eq!(answer.code, 201);
    assert_eq!(answer.body["metadata"]["ownerReferences"], json!([owner]));
    let [warning] = answer.warnings()[..] else {
        panic!("{:?}", answer.warnings())
    };
    assert!(
        warning.contains("duplicate entries after mutating admission happens"),
        "{warning}"
    );
    // Nobody is told of what is said once.
    clear(&server).await;
    let answer = server.ask(Ask::json(format!("PUT {MAPS}/a"), &map)).await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.warnings(), [""; 0]);
}

/// Admission is asked about an eviction, and not about what it comes to (pkg/registry/core/pod/storage/eviction.go).
#[tokio::test]
async fn an_eviction_is_asked_about_once() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let pods = "/api/v1/namespaces/default/pods";
    let mut labelled = pod("a");
    labelled["metadata"]["labels"] = json!({"app": "a"});
    labelled["spec"]["nodeName"] = "n".into();
    server.ok(Ask::json(format!("POST {pods}"), &labelled)).await;
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let patch = Ask::new(format!("PATCH {pods}/a/status"));
    server
        .ok(patch.typed("application/merge-patch+json", ready.to_string()))
        .await;
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
        "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": "a"}}}});
    server.ok(Ask::json(format!("POST {budgets}"), &budget)).await;
    let allowed = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1}});
    let patch = Ask::new(format!("PATCH {budgets}/b/status"));
    server
        .ok(patch.typed("application/merge-patch+json", allowed.to_string()))
        .await;
    configure_validating(
        &server,
        "a",
        &[hooks.hook("/allow", &json!({"rules": everything()}))],
    )
    .await;
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}});
    server
        .ok(Ask::json(format!("POST {pods}/a/eviction"), &eviction))
        .await;
    let asked = hooks.asked();
    let rows: Vec<(&str, &str, &str, &str)> = asked
        .iter()
        .map(|question| {
            (
                text(&question["operation"]),
                text(&question["resource"]["resource"]),
                text(&question["subResource"]),
                text(&question["userInfo"]["username"]),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("CREATE", "pods", "eviction", "admin"),
            ("UPDATE", "poddisruptionbudgets", "status", "system:apiserver"),
        ]
    );
}
