//! Admission webhooks: each field of their configuration, and what becomes of requests when a webhook answers, changes, refuses or fails.

mod handler;
mod names;
mod owners;
mod services;

use handler::Hooks;
use serde_json::{Value, json};

use crate::harness::*;
use crate::https::{calling_server, define_service};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

fn configuration(kind: &str, name: &str, hooks: &[Value]) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "webhooks": hooks})
}

async fn configure_mutating(server: &Server, name: &str, hooks: &[Value]) {
    let object = configuration("MutatingWebhookConfiguration", name, hooks);
    let path = format!("POST {REGISTRATION}/mutatingwebhookconfigurations");
    server.ok(Ask::json(path, &object)).await;
}

async fn configure_validating(server: &Server, name: &str, hooks: &[Value]) {
    let object = configuration("ValidatingWebhookConfiguration", name, hooks);
    let path = format!("POST {REGISTRATION}/validatingwebhookconfigurations");
    server.ok(Ask::json(path, &object)).await;
}

async fn clear(server: &Server) {
    for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        server.ok(format!("DELETE {REGISTRATION}/{plural}")).await;
    }
}

fn post(name: &str) -> Ask {
    Ask::json(format!("POST {MAPS}"), &config_map(name, "1"))
}

fn merge(path: &str, patch: &Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed("application/merge-patch+json", patch.to_string())
}

#[tokio::test]
async fn what_a_webhook_is_asked() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    configure_validating(&server, "all", &[hooks.hook("/allow", &json!({}))]).await;
    let user = json!({"username": "admin", "groups": ["system:masters", "system:authenticated"]});
    server
        .ok(Ask::json(
            format!("POST {MAPS}?fieldManager=me&dryRun=All"),
            &config_map("a", "1"),
        ))
        .await;
    server.ok(post("a")).await;
    server
        .ok(merge(&format!("{MAPS}/a"), &json!({"data": {"key": "2"}})))
        .await;
    let map = server.ok(format!("GET {MAPS}/a")).await;
    server.ok(Ask::json(format!("PUT {MAPS}/a"), &map)).await;
    let apply = Ask::new(format!("PATCH {MAPS}/b?fieldManager=me&force=true"))
        .typed("application/apply-patch+yaml", config_map("b", "1").to_string());
    server.ok(apply).await;
    server
        .ok(Ask::json(
            format!("DELETE {MAPS}/a"),
            &json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}),
        ))
        .await;
    server.ok(format!("DELETE {MAPS}")).await;
    let asked = hooks.asked();
    let rows: Vec<(&str, &str, &str, bool)> = asked
        .iter()
        .map(|question| {
            (
                text(&question["operation"]),
                text(&question["name"]),
                text(&question["options"]["kind"]),
                question["dryRun"] == true,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("CREATE", "a", "CreateOptions", true),
            ("CREATE", "a", "CreateOptions", false),
            ("UPDATE", "a", "UpdateOptions", false),
            ("UPDATE", "a", "UpdateOptions", false),
            ("CREATE", "b", "CreateOptions", false),
            ("DELETE", "a", "DeleteOptions", false),
            // Of a collection, as upstream has it.
            ("DELETE", "", "DeleteOptions", false),
        ]
    );
    for question in &asked {
        let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
        let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
        assert_eq!((&question["kind"], &question["requestKind"]), (&kind, &kind));
        assert_eq!(
            (&question["resource"], &question["requestResource"]),
            (&resource, &resource)
        );
        assert_eq!(question["namespace"], "default");
        assert_eq!(question["userInfo"], user);
        assert_eq!(question["query"], "timeout=10s");
        assert_eq!(question["version"], "admission.k8s.io/v1");
    }
    assert_eq!(
        asked[0]["options"],
        json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me", "dryRun": ["All"]})
    );
    assert_eq!(
        asked[5]["options"],
        json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 0})
    );
    let values = |question: &Value| {
        (
            question["object"]["data"]["key"].clone(),
            question["oldObject"]["data"]["key"].clone(),
        )
    };
    assert_eq!(values(&asked[1]), (json!("1"), Value::Null));
    assert!(
        asked[1]["object"]["metadata"]["uid"].is_string(),
        "it is complete"
    );
    assert_eq!(values(&asked[2]), (json!("2"), json!("1")));
    assert_eq!(values(&asked[5]), (Value::Null, json!("2")));
}

#[tokio::test]
async fn mutating_webhooks_change_the_object_in_turn() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    configure_mutating(
        &server,
        "b",
        &[
            hooks.hook("/patch/two", &json!({})),
            hooks.hook("/patch/three", &json!({})),
        ],
    )
    .await;
    configure_mutating(&server, "a", &[hooks.hook("/patch/one", &json!({}))]).await;
    configure_validating(&server, "c", &[hooks.hook("/allow", &json!({}))]).await;
    let made = server.ok(post("a")).await;
    assert_eq!(
        made["metadata"]["labels"],
        json!({"one": "1", "two": "1", "three": "1"})
    );
    let asked = hooks.asked();
    let paths: Vec<&str> = asked.iter().map(|question| text(&question["path"])).collect();
    assert_eq!(paths, ["/patch/one", "/patch/two", "/patch/three", "/allow"]);
    assert_eq!(
        asked[3]["object"]["metadata"]["labels"], made["metadata"]["labels"],
        "validating ones see the result"
    );
    let changed = server
        .ok(merge(&format!("{MAPS}/a"), &json!({"data": {"x": "y"}})))
        .await;
    assert_eq!(changed["metadata"]["labels"]["one"], "2");
    // What webhooks add is nobody's.
    let owned = changed["metadata"]["managedFields"].to_string();
    assert!(!owned.contains("f:one"), "{owned}");
}

#[tokio::test]
async fn a_webhook_is_called_again_where_others_changed_the_object_after_it() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    for (list, expect) in [
        (
            vec![("/allow/a", &again), ("/patch/x", &json!({}))],
            vec!["/allow/a", "/patch/x", "/allow/a"],
        ),
        (
            vec![("/patch/x", &json!({})), ("/allow/a", &again)],
            vec!["/patch/x", "/allow/a"],
        ),
        (
            vec![("/patch/x", &again), ("/allow/a", &again)],
            vec!["/patch/x", "/allow/a"],
        ),
        (
            vec![("/patch/x", &again), ("/once/y", &again)],
            vec!["/patch/x", "/once/y", "/patch/x", "/once/y"],
        ),
        (
            vec![("/allow/a", &json!({})), ("/patch/x", &again)],
            vec!["/allow/a", "/patch/x"],
        ),
    ] {
        let list: Vec<Value> = list
            .into_iter()
            .map(|(path, change)| hooks.hook(path, change))
            .collect();
        configure_mutating(&server, "a", &list).await;
        server.ok(post("a")).await;
        assert_eq!(hooks.paths(), expect);
        clear(&server).await;
        server.ok(format!("DELETE {MAPS}/a")).await;
    }
}

#[tokio::test]
async fn which_requests_a_webhook_is_for() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev", "labels": {"stage": "dev"}}});
    server.ok(Ask::json("POST /api/v1/namespaces", &namespace)).await;
    let rule = |resources: &str| json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resources]}]);
    let dev = json!({"matchLabels": {"stage": "dev"}});
    let labelled = |name: &str, labels: Value| {
        let mut map = config_map(name, "1");
        map["metadata"]["labels"] = labels;
        map
    };
    let requests = [
        Ask::json(format!("POST {MAPS}"), &labelled("a", json!({"stage": "dev"}))),
        Ask::json("POST /api/v1/namespaces/dev/configmaps", &config_map("a", "1")),
        Ask::json(
            "POST /api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev2", "labels": {"stage": "dev"}}}),
        ),
        Ask::json(
            "POST /apis/rbac.authorization.k8s.io/v1/clusterroles",
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}}),
        ),
        merge(
            &format!("{MAPS}/a"),
            &json!({"metadata": {"labels": {"stage": null}}}),
        ),
        Ask::new(format!("DELETE {MAPS}/a")),
    ];
    for (change, expect) in [
        (json!({"rules": rule("*")}), [true; 6]),
        (
            json!({"rules": rule("configmaps")}),
            [true, true, false, false, true, true],
        ),
        (
            json!({"rules": rule("*"), "namespaceSelector": dev}),
            [false, true, true, true, false, false],
        ),
        (
            json!({"rules": rule("*"), "objectSelector": dev}),
            [true, false, true, false, true, false],
        ),
        (
            json!({"rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*"], "scope": "Cluster"}]}),
            [false, false, true, false, false, false],
        ),
        (
            json!({"rules": [{"operations": ["UPDATE", "DELETE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "Namespaced"}]}),
            [false, false, false, false, true, true],
        ),
    ] {
        configure_validating(&server, "a", &[hooks.hook("/allow", &change)]).await;
        let mut found = Vec::new();
        for request in &requests {
            server.ok(request.clone()).await;
            found.push(!hooks.asked().is_empty());
        }
        assert_eq!(found, expect, "{change}");
        clear(&server).await;
        server.ok("DELETE /api/v1/namespaces/dev/configmaps/a").await;
        server
            .ok("DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/a")
            .await;
        let finalize = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev2"}, "spec": {"finalizers": []}});
        server.ok("DELETE /api/v1/namespaces/dev2").await;
        server
            .ok(Ask::json("PUT /api/v1/namespaces/dev2/finalize", &finalize))
            .await;
        hooks.asked();
    }
}

#[tokio::test]
async fn an_object_is_sent_in_the_version_that_a_webhook_names() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let rules = json!([{"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "resources": ["horizontalpodautoscalers"]}]);
    let path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    let scaler = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {
        "maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}});
    for (policy, calls) in [("Exact", 0), ("Equivalent", 1)] {
        let change = json!({"rules": rules, "matchPolicy": policy});
        configure_mutating(&server, "a", &[hooks.hook("/patch/seen", &change)]).await;
        let made = server.ok(Ask::json(format!("POST {path}"), &scaler)).await;
        let asked = hooks.asked();
        assert_eq!(asked.len(), calls, "{policy}");
        if let [question] = &asked[..] {
            assert_eq!(question["kind"]["version"], "v2");
            assert_eq!(question["requestKind"]["version"], "v1");
            assert_eq!(question["object"]["apiVersion"], "autoscaling/v2");
            assert_eq!(
                question["object"]["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
                50
            );
            assert_eq!(made["metadata"]["labels"], json!({"seen": "1"}));
            assert_eq!(made["spec"]["targetCPUUtilizationPercentage"], 50);
        }
        clear(&server).await;
        server.ok(format!("DELETE {path}/a")).await;
    }
}

#[tokio::test]
async fn subresources_have_objects_of_their_own() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    server
        .ok(Ask::json(format!("POST {deployments}"), &deployment("a")))
        .await;
    let rules = json!([{"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale", "deployments/status"]}]);
    configure_validating(&server, "a", &[hooks.hook("/allow", &json!({"rules": rules}))]).await;
    server
        .ok(merge(
            &format!("{deployments}/a"),
            &json!({"metadata": {"labels": {"a": "b"}}}),
        ))
        .await;
    assert_eq!(hooks.paths(), [""; 0]);
    server
        .ok(merge(
            &format!("{deployments}/a/scale"),
            &json!({"spec": {"replicas": 3}}),
        ))
        .await;
    server
        .ok(merge(
            &format!("{deployments}/a/status"),
            &json!({"status": {"observedGeneration": 1}}),
        ))
        .await;
    let asked = hooks.asked();
    let rows: Vec<_> = asked
        .iter()
        .map(|question| {
            (
                text(&question["subResource"]),
                text(&question["kind"]["kind"]),
                text(&question["object"]["kind"]),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("scale", "Scale", "Scale"),
            ("status", "Deployment", "Deployment")
        ]
    );
    assert_eq!(asked[0]["object"]["spec"]["replicas"], 3);
    assert_eq!(asked[0]["oldObject"]["spec"]["replicas"], 1);
}

#[tokio::test]
async fn what_is_made_and_not_kept() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let pods = "/api/v1/namespaces/default/pods";
    for name in ["a", "b"] {
        server.ok(Ask::json(format!("POST {pods}"), &pod(name))).await;
    }
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    server
        .ok(Ask::json(
            "POST /api/v1/namespaces/default/serviceaccounts",
            &account,
        ))
        .await;
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}});
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}});
    let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["x"]}});
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*", "serviceaccounts/*"]}]);
    let requests = [
        (Ask::json(format!("POST {pods}/a/binding"), &binding), "Binding"),
        (
            Ask::json(format!("POST {pods}/b/eviction"), &eviction),
            "Eviction",
        ),
        (
            Ask::json(
                "POST /api/v1/namespaces/default/serviceaccounts/robot/token",
                &token,
            ),
            "TokenRequest",
        ),
    ];
    configure_validating(&server, "a", &[hooks.hook("/deny", &json!({"rules": rules}))]).await;
    for (request, kind) in &requests {
        server.refused(request.clone(), 400, "denied the request").await;
        let asked = hooks.asked();
        assert_eq!((asked.len(), &asked[0]["kind"]["kind"]), (1, &json!(kind)));
        assert_eq!(asked[0]["object"]["kind"], *kind);
    }
    clear(&server).await;
    configure_mutating(&server, "a", &[hooks.hook("/patch/x", &json!({"rules": rules}))]).await;
    for (request, _) in requests {
        server.ok(request).await;
        assert_eq!(hooks.asked().len(), 1);
    }
    // Nobody is asked about what cannot be there.
    configure_mutating(&server, "b", &[hooks.hook("/allow", &json!({}))]).await;
    let ask = Ask::json("POST /api/v1/namespaces/none/configmaps", &config_map("a", "1"));
    server.refused(ask, 404, "namespaces \"none\" not found").await;
    assert_eq!(hooks.asked().len(), 0);
}

/// What a webhook makes of an object stays where it was sent, and of its kind.
#[tokio::test]
async fn what_webhooks_may_not_make_of_an_object() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    server
        .ok(Ask::json(format!("POST {deployments}"), &deployment("a")))
        .await;
    let scale = Ask::new(format!("PATCH {deployments}/a/scale"))
        .typed("application/merge-patch+json", r#"{"spec":{"replicas":2}}"#);
    let rules = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["configmaps", "deployments/scale"]}]);
    for (path, ask, code, text) in [
        (
            "/set/metadata/namespace",
            post("a"),
            400,
            "the namespace of the provided object does not match",
        ),
        ("/set/kind", post("a"), 500, "Internal error occurred: "),
        (
            "/set/data",
            post("a"),
            500,
            "Internal error occurred: json: cannot unmarshal string",
        ),
        (
            "/set/spec/replicas",
            scale,
            500,
            "Internal error occurred: json: cannot unmarshal string",
        ),
    ] {
        configure_mutating(&server, "a", &[hooks.hook(path, &json!({"rules": rules}))]).await;
        server.refused(ask, code, text).await;
        clear(&server).await;
    }
}

#[tokio::test]
async fn connections_are_admitted() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let pods = "/api/v1/namespaces/default/pods";
    server.ok(Ask::json(format!("POST {pods}"), &pod("a"))).await;
    let rules =
        json!([{"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*/*"]}]);
    configure_validating(&server, "a", &[hooks.hook("/deny", &json!({"rules": rules}))]).await;
    for (line, expect) in [
        (
            format!("POST {pods}/a/exec?command=ls&command=-l&stdin=false&stdout=1&container=main"),
            json!({"kind": "PodExecOptions", "command": ["ls", "-l"], "stdout": true, "container": "main"}),
        ),
        (
            format!("GET {pods}/a/attach?tty=true&command=ls"),
            json!({"kind": "PodAttachOptions", "tty": true}),
        ),
        (
            format!("POST {pods}/a/portforward?ports=80,81&ports=82"),
            json!({"kind": "PodPortForwardOptions", "ports": [80, 81, 82]}),
        ),
        (
            format!("GET {pods}/a:80/proxy/b//c/?d=e"),
            json!({"kind": "PodProxyOptions", "path": "/b/c/"}),
        ),
        (format!("GET {pods}/a/proxy"), json!({"kind": "PodProxyOptions"})),
        (
            format!("GET {pods}/a/proxy/"),
            json!({"kind": "PodProxyOptions", "path": "/"}),
        ),
        (
            "PUT /api/v1/nodes/n/proxy/x".to_owned(),
            json!({"kind": "NodeProxyOptions", "path": "/x"}),
        ),
        (
            "GET /api/v1/namespaces/default/services/s/proxy/x".to_owned(),
            json!({"kind": "ServiceProxyOptions", "path": "/x"}),
        ),
    ] {
        server.refused(line.as_str(), 400, "denied the request").await;
        let asked = hooks.asked();
        let mut expect = expect;
        expect["apiVersion"] = "v1".into();
        assert_eq!((asked.len(), &asked[0]["object"]), (1, &expect), "{line}");
        assert_eq!(
            (&asked[0]["operation"], &asked[0]["kind"]["kind"]),
            (&json!("CONNECT"), &expect["kind"])
        );
    }
    server.ask(format!("GET {pods}/a/log")).await;
    assert_eq!(hooks.asked().len(), 0);
}

#[tokio::test]
async fn refusals_and_failures() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let ignore = json!({"failurePolicy": "Ignore"});
    let v1beta1 = json!({"admissionReviewVersions": ["v1beta1"]});
    let none = json!({"sideEffects": "NoneOnDryRun"});
    for (path, change, expect) in [
        ("/allow", json!({}), None),
        (
            "/deny",
            json!({}),
            Some((
                400,
                "admission webhook \"x-denyx.example.com\" denied the request without explanation",
            )),
        ),
        (
            "/deny/403",
            json!({}),
            Some((
                403,
                "admission webhook \"x-deny-403x.example.com\" denied the request: not today",
            )),
        ),
        (
            "/deny/418",
            ignore.clone(),
            Some((418, "denied the request: not today")),
        ),
        (
            "/text/garbage",
            json!({}),
            Some((
                500,
                "Internal error occurred: failed calling webhook \"x-text-garbagex.example.com\": failed to call webhook: ",
            )),
        ),
        ("/text/garbage", ignore.clone(), None),
        (
            "/text/{}",
            json!({}),
            Some((
                500,
                "received invalid webhook response: webhook response was absent",
            )),
        ),
        (
            "/code/500",
            json!({}),
            Some((
                500,
                "failed to call webhook: an error on the server (\"unknown\") has prevented the request from succeeding",
            )),
        ),
        ("/code/404", ignore.clone(), None),
        (
            "/close",
            json!({}),
            Some((500, "failed to call webhook: Post \"https://127.0.0.1:")),
        ),
        ("/close", ignore.clone(), None),
        (
            "/huge",
            json!({}),
            Some((500, "failed to call webhook: Post \"https://127.0.0.1:")),
        ),
        (
            "/never",
            json!({"timeoutSeconds": 1}),
            Some((500, "/never?timeout=1s\": context deadline exceeded")),
        ),
        (
            "/never",
            json!({"timeoutSeconds": 1, "failurePolicy": "Ignore"}),
            None,
        ),
        (
            "/deny",
            v1beta1,
            Some((400, "denied the request without explanation")),
        ),
        (
            "/deny",
            none,
            Some((400, "denied the request without explanation")),
        ),
    ] {
        for is_mutating in [true, false] {
            let hook = [hooks.hook(path, &change)];
            match is_mutating {
                true => configure_mutating(&server, "a", &hook).await,
                false => configure_validating(&server, "a", &hook).await,
            }
            match expect {
                Some((code, text)) => drop(server.refused(post("a"), code, text).await),
                None => {
                    server.ok(post("a")).await;
                    server.ok(format!("DELETE {MAPS}/a")).await;
                }
            }
            clear(&server).await;
        }
    }
    assert!(
        hooks
            .asked()
            .iter()
            .any(|question| question["version"] == "admission.k8s.io/v1beta1")
    );
    // One that cannot be reached at all.
    let mut gone = hooks.hook("/allow", &json!({}));
    gone["clientConfig"] = json!({"service": {"namespace": "default", "name": "gone"}});
    configure_validating(&server, "a", &[gone]).await;
    let text = "failed calling webhook \"x-allowx.example.com\": failed to call webhook: Post \"https://gone.default.svc:443/?timeout=10s\": service \"gone\" not found";
    server.refused(post("a"), 500, text).await;
}

#[tokio::test]
async fn patches_that_cannot_be_applied_change_nothing() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    server.ok(post("a")).await;
    configure_mutating(&server, "a", &[hooks.hook("/once/x", &json!({}))]).await;
    // There are no labels to add to.
    server.refused(post("b"), 500, "Internal error occurred: ").await;
    clear(&server).await;
    configure_mutating(&server, "a", &[hooks.hook("/patch/x", &json!({}))]).await;
    let text = "admission webhook \"x-patch-xx.example.com\" attempted to modify the object, which is not supported for this operation";
    server.refused(format!("DELETE {MAPS}/a"), 500, text).await;
}

#[tokio::test]
async fn warnings_and_dry_runs() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    define_service(&server).await;
    let by_service = json!({"clientConfig": hooks.https.by_service("/warn/gap")});
    configure_mutating(&server, "a", &[hooks.hook("/warn/step", &json!({}))]).await;
    configure_validating(&server, "a", &[hooks.hook("/warn/service", &by_service)]).await;
    let answer = server.ask(post("a")).await;
    assert_eq!(
        answer.warnings(),
        ["299 - \"mind the step\"", "299 - \"mind the gap\""]
    );
    clear(&server).await;
    for (effects, allowed) in [("None", true), ("NoneOnDryRun", true)] {
        configure_validating(
            &server,
            "a",
            &[hooks.hook("/allow", &json!({"sideEffects": effects}))],
        )
        .await;
        let ask = Ask::json(format!("POST {MAPS}?dryRun=All"), &config_map("b", "1"));
        assert_eq!(server.ask(ask).await.code == 201, allowed, "{effects}");
        clear(&server).await;
    }
}

#[tokio::test]
async fn match_conditions_are_refused() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let conditions = json!({"matchConditions": [{"name": "a", "expression": "true"}]});
    for (kind, plural) in [
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        (
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
        ),
    ] {
        let object = configuration(kind, "a", &[hooks.hook("/allow", &conditions)]);
        let ask = Ask::json(format!("POST {REGISTRATION}/{plural}"), &object);
        let text =
            "webhooks[0].matchConditions: Forbidden: this server does not evaluate match conditions yet";
        server.refused(ask, 422, text).await;
    }
}

/// What says which webhooks are asked can always be changed.
#[tokio::test]
async fn configurations_themselves_are_exempt() {
    let (hooks, server) = (Hooks::start().await, calling_server().await);
    let rules =
        json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    let hook = hooks.hook("/deny", &json!({"rules": rules}));
    configure_validating(&server, "a", std::slice::from_ref(&hook)).await;
    configure_mutating(&server, "a", &[hook]).await;
    server.refused(post("a"), 400, "denied the request").await;
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    server
        .ok(Ask::json(
            "POST /apis/authentication.k8s.io/v1/selfsubjectreviews",
            &review,
        ))
        .await;
    clear(&server).await;
    server.ok(post("a")).await;
}
