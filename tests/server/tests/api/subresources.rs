//! Subresources: evictions, bindings, connections.

use kubewright_apiserver::Options;
use serde_json::{Value, json};

use crate::harness::{Ask, PODS, Server, pod, text};

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

fn eviction(name: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
}

fn evict(name: &str) -> Ask {
    Ask::json(format!("POST {PODS}/{name}/eviction"), &eviction(name))
}

/// A pod on no node with labels and a status.
async fn run(server: &Server, name: &str, phase: &str, ready: &str) {
    let mut new = pod(name);
    new["metadata"]["labels"] = json!({"app": "a"});
    server.ok(Ask::json(format!("POST {PODS}"), &new)).await;
    let status = json!({"status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}});
    patch_status(server, &format!("{PODS}/{name}"), &status).await;
}

async fn patch_status(server: &Server, path: &str, status: &Value) {
    let ask = Ask::new(format!("PATCH {path}/status"));
    server
        .ok(ask.typed("application/merge-patch+json", status.to_string()))
        .await;
}

/// A budget for the pods of [`run`], with a status.
async fn budget(server: &Server, name: &str, spec: Value, status: Value) {
    let mut new = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    });
    if let Some(policy) = spec.as_str() {
        new["spec"]["unhealthyPodEvictionPolicy"] = policy.into();
    }
    server.ok(Ask::json(format!("POST {BUDGETS}"), &new)).await;
    let mut status = json!({"status": status});
    status["status"]["observedGeneration"] = 1.into();
    patch_status(server, &format!("{BUDGETS}/{name}"), &status).await;
}

async fn is_gone(server: &Server, name: &str) -> bool {
    server.ask(format!("GET {PODS}/{name}")).await.code == 404
}

#[tokio::test]
async fn a_pod_without_budget_really_vanishes() {
    let server = Server::start().await;
    for (name, phase) in [
        ("a", "Running"),
        ("b", "Pending"),
        ("c", "Failed"),
        ("d", "Succeeded"),
    ] {
        run(&server, name, phase, "True").await;
        let answer = server.ask(evict(name)).await;
        assert_eq!(answer.code, 201, "{:#}", answer.body);
        let expect =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        assert_eq!(answer.body, expect);
        assert!(is_gone(&server, name).await, "{name}");
    }
}

#[tokio::test]
async fn evictions_that_cannot_be() {
    let server = Server::start().await;
    run(&server, "a", "Running", "True").await;
    let post = |name: &str, body: &Value| Ask::json(format!("POST {PODS}/{name}/eviction"), body);
    let mut other = eviction("a");
    other["apiVersion"] = "policy/v2".into();
    let mut preconditions = eviction("a");
    preconditions["deleteOptions"] = json!({"preconditions": {"uid": "other"}});
    let mut orphans = eviction("a");
    orphans["deleteOptions"] = json!({"propagationPolicy": "Strange"});
    let mut elsewhere = eviction("a");
    elsewhere["metadata"]["namespace"] = "kube-system".into();
    for (ask, code, why) in [
        (evict("missing"), 404, "pods \"missing\" not found"),
        (
            post("a", &eviction("b")),
            400,
            "name in URL does not match name in Eviction object",
        ),
        (
            post("a", &other),
            400,
            "Eviction in version \"v2\" cannot be handled as a Eviction: no kind \"Eviction\" is registered for version \"policy/v2\"",
        ),
        (
            post("a", &elsewhere),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            post("a", &preconditions),
            409,
            "Operation cannot be fulfilled on Pod \"a\": the UID in the precondition (other) does not match the UID in record",
        ),
        (post("a", &orphans), 422, "propagationPolicy"),
        (
            Ask::json(
                "POST /api/v1/namespaces/nowhere/pods/a/eviction".to_owned(),
                &eviction("a"),
            ),
            404,
            "namespaces \"nowhere\" not found",
        ),
        (Ask::new(format!("GET {PODS}/a/eviction")), 405, ""),
    ] {
        server.refused(ask, code, why).await;
    }
    let mut old = eviction("a");
    old["apiVersion"] = "policy/v1beta1".into();
    assert_eq!(server.ask(post("a", &old)).await.code, 201);
    assert!(is_gone(&server, "a").await);
}

/// What is empty is said all the same: `addConditionAndDeletePod` does not compare it, and `BeforeDelete` does.
#[tokio::test]
async fn evictions_with_empty_preconditions() {
    const UID: &str = "the UID in the precondition () does not match the UID in record";
    const VERSION: &str =
        "the ResourceVersion in the precondition () does not match the ResourceVersion in record";
    let server = Server::start().await;
    let used_up =
        json!({"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1});
    for (name, phase, ready, preconditions, dry_run, expect) in [
        // The version is that of the mark.
        (
            "a",
            "Running",
            "True",
            json!({"resourceVersion": ""}),
            false,
            None,
        ),
        (
            "b",
            "Pending",
            "False",
            json!({"resourceVersion": ""}),
            false,
            None,
        ),
        (
            "c",
            "Failed",
            "False",
            json!({"resourceVersion": ""}),
            false,
            None,
        ),
        // A dry run makes no mark.
        (
            "d",
            "Running",
            "True",
            json!({"resourceVersion": ""}),
            true,
            Some(VERSION),
        ),
        ("e", "Running", "True", json!({"uid": ""}), false, Some(UID)),
        ("f", "Pending", "False", json!({"uid": ""}), false, Some(UID)),
        (
            "g",
            "Running",
            "True",
            json!({"resourceVersion": "1"}),
            false,
            Some("(1) does not match"),
        ),
    ] {
        run(&server, name, phase, ready).await;
        let mut ask = eviction(name);
        ask["deleteOptions"] = json!({"preconditions": preconditions});
        if dry_run {
            ask["deleteOptions"]["dryRun"] = json!(["All"]);
        }
        let ask = Ask::json(format!("POST {PODS}/{name}/eviction"), &ask);
        let answer = server.ask(ask).await;
        let code = if expect.is_some() { 409 } else { 201 };
        assert_eq!(answer.code, code, "{name}: {:#}", answer.body);
        let message = text(&answer.body["message"]);
        assert!(message.contains(expect.unwrap_or_default()), "{name}: {message}");
        assert_eq!(is_gone(&server, name).await, expect.is_none(), "{name}");
    }
    // A pod that its budget spares is bound to the version that was looked at, whatever the options say.
    budget(&server, "spares", Value::Null, used_up).await;
    run(&server, "h", "Running", "False").await;
    let mut ask = eviction("h");
    ask["deleteOptions"] = json!({"preconditions": {"resourceVersion": ""}});
    server
        .ok(Ask::json(format!("POST {PODS}/h/eviction"), &ask))
        .await;
    assert!(is_gone(&server, "h").await);
}

#[tokio::test]
async fn a_budget_is_used_up() {
    let server = Server::start().await;
    for name in ["a", "b", "c"] {
        run(&server, name, "Running", "True").await;
    }
    let status =
        json!({"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3});
    budget(&server, "b", Value::Null, status).await;
    let mut dry = eviction("a");
    dry["deleteOptions"] = json!({"dryRun": ["All"]});
    let before = server.revision().await;
    server
        .ok(Ask::json(format!("POST {PODS}/a/eviction"), &dry))
        .await;
    server
        .ok(Ask::json(
            format!("POST {PODS}/a/eviction?dryRun=All"),
            &eviction("a"),
        ))
        .await;
    assert_eq!(server.revision().await, before, "a dry run stores nothing");
    server.ok(evict("a")).await;
    assert!(is_gone(&server, "a").await);
    let budget = server.ok(format!("GET {BUDGETS}/b")).await;
    assert_eq!(budget["status"]["disruptionsAllowed"], 0);
    assert!(budget["status"]["disruptedPods"]["a"].is_string(), "{budget:#}");
    let answer = server
        .refused(
            evict("b"),
            429,
            "Cannot evict pod as it would violate the pod's disruption budget.",
        )
        .await;
    assert_eq!(answer.body["reason"], "TooManyRequests");
    let cause = &answer.body["details"]["causes"][0];
    assert_eq!(cause["reason"], "DisruptionBudget");
    // More are healthy than need be, so it is the condition that tells why.
    assert_eq!(
        cause["message"],
        "The disruption budget b does not allow evicting pods currently"
    );
    assert!(!is_gone(&server, "b").await);
}

#[tokio::test]
async fn unhealthy_pods_and_several_budgets() {
    let server = Server::start().await;
    for name in ["a", "b", "c"] {
        run(&server, name, "Running", "False").await;
    }
    let used_up =
        json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 1, "expectedPods": 1});
    budget(&server, "strict", Value::Null, used_up.clone()).await;
    server.refused(evict("a"), 429, "Cannot evict pod").await;
    let healthy = json!({"status": {"currentHealthy": 1}});
    patch_status(&server, &format!("{BUDGETS}/strict"), &healthy).await;
    server.ok(evict("a")).await;
    server.ok(format!("DELETE {BUDGETS}/strict")).await;
    budget(&server, "open", "AlwaysAllow".into(), used_up.clone()).await;
    server.ok(evict("b")).await;
    budget(&server, "second", Value::Null, used_up).await;
    let why =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    server.refused(evict("c"), 500, why).await;
}

#[tokio::test]
async fn a_binding_is_made_once() {
    let server = Server::start().await;
    for name in ["a", "b", "c"] {
        server.ok(Ask::json(format!("POST {PODS}"), &pod(name))).await;
    }
    let binding = |name: &str, target: Value| json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target});
    let bind = |name: &str, binding: &Value| Ask::json(format!("POST {PODS}/{name}/binding"), binding);
    let good = binding("a", json!({"kind": "Node", "name": "n"}));
    let mut uid = good.clone();
    uid["metadata"]["uid"] = "other".into();
    let mut stale = good.clone();
    stale["metadata"]["resourceVersion"] = "1".into();
    for (ask, code, why) in [
        (
            bind("a", &binding("b", json!({"name": "n"}))),
            400,
            "name in URL does not match name in Binding object",
        ),
        (
            bind("a", &binding("a", json!({}))),
            500,
            "target.name: Required value",
        ),
        (
            bind("a", &binding("a", json!({"kind": "Pod"}))),
            500,
            "[target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\", target.name: Required value]",
        ),
        (
            bind("a", &binding("a", json!({"name": "N!"}))),
            500,
            "target.name: Invalid value: \"N!\"",
        ),
        (
            bind("a", &uid),
            409,
            "Precondition failed: UID in precondition: other",
        ),
        (
            bind("a", &stale),
            409,
            "Precondition failed: ResourceVersion in precondition: 1",
        ),
        (
            bind("missing", &binding("missing", json!({"name": "n"}))),
            404,
            "pods \"missing\" not found",
        ),
    ] {
        server.refused(ask, code, why).await;
    }
    let before = server.revision().await;
    server
        .ok(Ask::json(format!("POST {PODS}/a/binding?dryRun=All"), &good))
        .await;
    assert_eq!(server.revision().await, before);
    let mut labelled = good.clone();
    labelled["metadata"]["labels"] = json!({"zone": "z"});
    labelled["metadata"]["annotations"] = json!({"note": "x"});
    let answer = server.ask(bind("a", &labelled)).await;
    assert_eq!((answer.code, text(&answer.body["status"])), (201, "Success"));
    let bound = server.ok(format!("GET {PODS}/a")).await;
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(bound["metadata"]["labels"]["zone"], "z");
    assert_eq!(bound["metadata"]["annotations"]["note"], "x");
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    server
        .refused(
            bind("a", &good),
            409,
            "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"n\"",
        )
        .await;
    // The older way.
    let legacy = binding("b", json!({"kind": "Node", "name": "n"}));
    server
        .ok(Ask::json("POST /api/v1/namespaces/default/bindings", &legacy))
        .await;
    let bound = server.ok(format!("GET {PODS}/b")).await;
    assert_eq!(bound["spec"]["nodeName"], "n");
}

#[tokio::test]
async fn connections_end_with_an_answer() {
    let server = Server::start().await;
    let mut two = pod("two");
    two["spec"]["containers"] = json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]);
    let mut lost = pod("lost");
    lost["spec"]["nodeName"] = "gone".into();
    let mut placed = pod("placed");
    placed["spec"]["nodeName"] = "n".into();
    for new in [pod("one"), two, lost, placed] {
        server.ok(Ask::json(format!("POST {PODS}"), &new)).await;
    }
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
    server.ok(Ask::json("POST /api/v1/nodes", &node)).await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "a"}}});
    server
        .ok(Ask::json("POST /api/v1/namespaces/default/services", &service))
        .await;
    let services = "/api/v1/namespaces/default/services";
    for (line, code, why) in [
        (format!("GET {PODS}/none/log"), 404, "pods \"none\" not found"),
        (
            format!("GET {PODS}/two/log"),
            400,
            "a container name must be specified for pod two, choose one of: [a b]",
        ),
        (
            format!("GET {PODS}/one/log?container=x"),
            400,
            "container x is not valid for pod one",
        ),
        (
            format!("GET {PODS}/one/log?tailLines=-1"),
            422,
            "PodLogOptions \"one\" is invalid: tailLines: Invalid value: -1",
        ),
        (format!("GET {PODS}/lost/log"), 404, "pods \"gone\" not found"),
        (format!("GET {PODS}/placed/log"), 500, "dial tcp 10.0.0.1:10250"),
        (format!("POST {PODS}/one/log"), 405, ""),
        (
            format!("GET {PODS}/one/exec?command=ls"),
            400,
            "pod one does not have a host assigned",
        ),
        (
            format!("POST {PODS}/two/exec"),
            400,
            "a container name must be specified",
        ),
        (
            format!("POST {PODS}/one/attach"),
            400,
            "pod one does not have a host assigned",
        ),
        (
            format!("GET {PODS}/one/portforward?ports=80"),
            400,
            "pod one does not have a host assigned",
        ),
        (format!("GET {PODS}/placed/exec"), 400, "Upgrade request required"),
        (
            format!("GET {PODS}/one/exec?dryRun=All"),
            400,
            "dryRun is not supported",
        ),
        (format!("GET {PODS}/one/proxy"), 400, "address not allowed"),
        (
            format!("GET {PODS}/one:80/proxy/a/b/"),
            400,
            "address not allowed",
        ),
        (
            format!("GET {PODS}/a:b:c:d/proxy"),
            400,
            "invalid pod request \"a:b:c:d\"",
        ),
        (
            format!("GET {services}/s/proxy/healthz"),
            503,
            "no endpoints available for service \"s\"",
        ),
        (
            format!("PUT {services}/s:81/proxy"),
            503,
            "no service port 81 found for service \"s\"",
        ),
        (
            format!("GET {services}/x:80/proxy"),
            404,
            "services \"x\" not found",
        ),
        (
            "GET /api/v1/nodes/n/proxy/pods".to_owned(),
            503,
            "error trying to reach service: dial tcp 10.0.0.1:10250",
        ),
        (
            "GET /api/v1/nodes/x/proxy".to_owned(),
            404,
            "nodes \"x\" not found",
        ),
        (
            format!("GET {PODS}/one/strange"),
            404,
            "the server could not find the requested resource",
        ),
    ] {
        server.refused(line.as_str(), code, why).await;
    }
    assert_eq!(server.ask(format!("GET {PODS}/one/log")).await.code, 204);
    let upgrade = Ask::new(format!("GET {PODS}/placed/exec?container=main&command=ls"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket");
    server
        .refused(upgrade, 500, "error dialing backend: dial tcp")
        .await;
}

/// Every subresource that discovery tells of is served.
#[tokio::test]
async fn what_discovery_tells_of_is_there() {
    let server = Server::with(Options {
        runtime_config: "api/all=true".into(),
        ..Options::default()
    })
    .await;
    let mut count = 0;
    let groups = server.ok("GET /apis").await;
    let versions = groups["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|group| {
            let versions = group["versions"].as_array().cloned().unwrap_or_default();
            versions
                .into_iter()
                .map(|version| format!("/apis/{}", text(&version["groupVersion"])))
        });
    for prefix in ["/api/v1".to_owned()].into_iter().chain(versions) {
        let list = server.ok(format!("GET {prefix}")).await;
        for resource in list["resources"].as_array().into_iter().flatten() {
            let Some((plural, subresource)) = text(&resource["name"]).split_once('/') else {
                continue;
            };
            let scope = match resource["namespaced"] == true {
                true => "/namespaces/default",
                false => "",
            };
            for verb in resource["verbs"].as_array().into_iter().flatten() {
                let method = match text(verb) {
                    "get" => "GET",
                    "create" => "POST",
                    "update" => "PUT",
                    "patch" => "PATCH",
                    "delete" => "DELETE",
                    verb => panic!("{verb}"),
                };
                let line = format!("{method} {prefix}{scope}/{plural}/none/{subresource}");
                let answer = server.ask(Ask::json(line.as_str(), &json!({}))).await;
                let message = text(&answer.body["message"]);
                assert!(
                    answer.code != 405 && answer.code >= 400,
                    "{line}: {:#}",
                    answer.body
                );
                assert!(
                    !message.starts_with("the server could not find"),
                    "{line}: {message}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[tokio::test]
async fn only_approval_decides_on_certificates() {
    let server = Server::start().await;
    let all = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "r"},
        "spec": {"request": REQUEST, "signerName": "example.com/signer", "usages": ["client auth"]}});
    let created = server.ok(Ask::json(format!("POST {all}"), &request)).await;
    assert_eq!(created["spec"]["username"], "admin");
    let decide = |path: &str, type_: &str, status: &str| {
        let condition = json!({"type": type_, "status": status, "reason": "R", "message": "m"});
        let mut decided = created.clone();
        decided["metadata"]["resourceVersion"] = Value::Null;
        decided["status"] = json!({"conditions": [condition]});
        Ask::json(format!("PUT {all}/r/{path}"), &decided)
    };
    for (ask, why) in [
        (
            decide("status", "Approved", "True"),
            "updates may not add a condition of type \"Approved\"",
        ),
        (
            decide("approval", "Approved", "False"),
            "status.conditions[0].status: Unsupported value: \"False\": supported values: \"True\"",
        ),
    ] {
        server.refused(ask, 422, why).await;
    }
    let approved = server.ok(decide("approval", "Approved", "True")).await;
    assert!(approved["status"]["conditions"][0]["lastUpdateTime"].is_string());
    server
        .refused(
            decide("approval", "Denied", "True"),
            422,
            "updates may not remove a condition of type \"Approved\"",
        )
        .await;
    let mut other = approved.clone();
    other["spec"]["signerName"] = "example.com/another".into();
    let kept = server
        .ok(Ask::json(format!("PUT {all}/r/approval"), &other))
        .await;
    assert_eq!(kept["spec"]["signerName"], "example.com/signer");
}

#[tokio::test]
async fn a_namespace_is_finalized() {
    let server = Server::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let mut created = server.ok(Ask::json("POST /api/v1/namespaces", &namespace)).await;
    let path = "/api/v1/namespaces/n";
    created["metadata"]["resourceVersion"] = Value::Null;
    created["status"]["phase"] = "Terminating".into();
    server
        .refused(
            Ask::json(format!("PUT {path}/status"), &created),
            422,
            "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
        )
        .await;
    created["spec"]["finalizers"] = json!(["mine"]);
    server
        .refused(
            Ask::json(format!("PUT {path}/finalize"), &created),
            422,
            "spec.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified",
        )
        .await;
    let ending = server.ok(format!("DELETE {path}")).await;
    assert_eq!(ending["status"]["phase"], "Terminating");
    created["spec"]["finalizers"] = json!([]);
    server
        .ok(Ask::json(format!("PUT {path}/finalize"), &created))
        .await;
    assert_eq!(server.ask(format!("GET {path}")).await.code, 404);
}

/// A request for the user `robot` of the group `team`, made for this test.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0JBZ0VBTUI4eERqQU1CZ05WQkFNTUJYSnZZbTkwTVEwd0N3WURWUVFLREFSMFpXRnRNRmt3RXdZSApLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFTlhPMTVzaXVzTzR2SWtVUkFCaDdmc2QyU3d5V1VycG9xRy92CmVxR0tPRjdRcFVmMFpWQ2pVT2paL0hQaEU1NFlJMjZleEtkM0piamJrV3A4dGpOTDA2QUFNQW9HQ0NxR1NNNDkKQkFNQ0EwY0FNRVFDSUFLZy95Q3ZmRGFSRjYxTnRMTzNFNGdiWStyb3ZBUjVPdkJvUTJSVmVJNVRBaUJGekdYNApnMmhmbjRJamJWMTZmWGM1Z0oyaEN2MHcrOTRFQ25hZDh0Z0ppQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";
