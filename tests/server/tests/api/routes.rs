//! Paths and methods: what is served where, and how the rest is refused.

use crate::harness::*;

#[tokio::test]
async fn paths_that_lead_nowhere() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let nothing = "the server could not find the requested resource";
    for path in [
        "/api/v2",
        "/api/v1/unheard-of",
        "/api/v1/namespaces/default/unheard-of",
        "/api/v1/namespaces/default/unheard-of/a",
        "/apis/apps/v9",
        "/apis/apps/v9/deployments",
        "/apis/apps/v1/namespaces/default/configmaps/a",
        "/api/v1/configmaps/a",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/namespaces/default/configmaps/a/status",
        "/api/v1/namespaces/default/configmaps/a/b/c",
        "/api//v1/namespaces/default/configmaps/a",
        "/api/v1/namespaces/default//configmaps/a",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/a",
    ] {
        let answer = server.refused(format!("GET {path}"), 404, nothing).await;
        assert_eq!(answer.body["reason"], "NotFound", "{path}");
        assert_eq!(answer.body["details"], serde_json::json!({}), "{path}");
    }
    // Where upstream has no table of routes, Go's own page is the answer.
    for line in [
        "GET /apis/absent.example.com",
        "GET /apis/absent.example.com/v1",
        "GET /apis/absent.example.com/v1/namespaces/default/things",
        "POST /apis/absent.example.com/v1/namespaces/default/things",
        "GET /nonsense",
        "POST /nonsense",
        "GET /healthz/strange",
        "GET /healthz/",
        "GET //api/v1/namespaces/default/configmaps/a",
        "GET /apis//apps",
        "GET /apis/example.com/v1/widgets/a",
        "DELETE /apis/example.com/v1/widgets",
        "POST /apis/example.com/v1/widgets",
    ] {
        let answer = server.ask(line).await;
        assert_eq!(
            (answer.code, &*answer.bytes),
            (404, &b"404 page not found\n"[..]),
            "{line}"
        );
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
    for check in ["/healthz/etcd", "/livez/ping", "/readyz/informer-sync"] {
        let answer = server.ask(format!("GET {check}")).await;
        assert_eq!((answer.code, &*answer.bytes), (200, &b"ok"[..]), "{check}");
    }
    for path in [
        format!("{MAPS}/absent"),
        "/api/v1/namespaces/absent/configmaps/a".to_owned(),
    ] {
        let answer = server.refused(format!("GET {path}"), 404, "configmaps \"").await;
        assert_eq!(answer.body["details"]["kind"], "configmaps");
    }
    let list = server.ok("GET /api/v1/namespaces/absent/configmaps").await;
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        0,
        "a namespace that is not there has no objects"
    );
}

#[tokio::test]
async fn methods_that_are_not_offered() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    for line in [
        format!("PUT {MAPS}"),
        format!("PATCH {MAPS}"),
        format!("POST {MAPS}/a"),
        "POST /api/v1/configmaps".to_owned(),
        "DELETE /api/v1/configmaps".to_owned(),
        "DELETE /api/v1/namespaces".to_owned(),
        format!("OPTIONS {MAPS}"),
        format!("TRACE {MAPS}/a"),
        format!("BREW {MAPS}/a"),
        format!("DELETE {PODS}/a/status"),
        format!("POST {PODS}/a/status"),
        format!("HEAD {MAPS}/a"),
        format!("HEAD {MAPS}"),
        "HEAD /api/v1".to_owned(),
        "HEAD /version".to_owned(),
        "POST /version".to_owned(),
        "POST /api".to_owned(),
        "DELETE /apis/apps/v1".to_owned(),
    ] {
        let ask = Ask::json(line.clone(), &config_map("a", "1"));
        if line.starts_with("HEAD") {
            assert_eq!(server.ask(ask).await.code, 405, "{line}");
            continue;
        }
        let answer = server.refused(ask, 405, "").await;
        assert_eq!(answer.body["reason"], "MethodNotAllowed", "{line}");
        assert_eq!(answer.body["details"], serde_json::json!({}), "{line}");
    }
    // There is no table of methods for custom resources, and none for what is no resource.
    for (line, code) in [
        (format!("PUT {WIDGETS}"), 400),
        (format!("PATCH {WIDGETS}"), 400),
        (format!("POST {WIDGETS}/a"), 400),
        (format!("HEAD {WIDGETS}"), 200),
        ("POST /apis".to_owned(), 200),
        ("DELETE /apis/apps".to_owned(), 200),
        ("POST /apis/example.com/v1".to_owned(), 200),
        ("HEAD /healthz".to_owned(), 200),
        ("POST /readyz".to_owned(), 200),
        ("PUT /openapi/v3".to_owned(), 200),
        ("POST /".to_owned(), 200),
    ] {
        let answer = server.ask(Ask::json(line.clone(), &config_map("a", "1"))).await;
        assert_eq!(answer.code, code, "{line}: {:#}", answer.body);
    }
    let posted = Ask::json(format!("POST {WIDGETS}/a"), &widget("b"));
    assert_eq!(server.ok(posted).await["metadata"]["name"], "b");
}

#[tokio::test]
async fn names_are_percent_decoded_and_cannot_leave_their_place() {
    let server = Server::start().await;
    let role = serde_json::json!({"metadata": {"name": "example:reader"}, "rules": []});
    server
        .ok(Ask::json(
            "POST /apis/rbac.authorization.k8s.io/v1/clusterroles",
            &role,
        ))
        .await;
    for name in ["example:reader", "example%3Areader", "example%3areader"] {
        let found = server
            .ok(format!(
                "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"
            ))
            .await;
        assert_eq!(found["metadata"]["name"], "example:reader");
    }
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    for name in [
        "..%2Fconfigmaps%2Fa",
        "%2Fa",
        "a%00",
        "%ff",
        "a%2F..%2Fa",
        "default%2Fa",
    ] {
        let answer = server.ask(format!("GET {MAPS}/{name}")).await;
        assert_eq!(answer.code, 404, "{name}: {:#}", answer.body);
        let answer = server
            .ask(Ask::json(format!("PUT {MAPS}/{name}"), &config_map("a", "2")))
            .await;
        assert!((400..500).contains(&answer.code), "{name}: {:#}", answer.body);
        let answer = server.ask(format!("DELETE {MAPS}/{name}")).await;
        assert_eq!(answer.code, 404, "{name}: {:#}", answer.body);
    }
    for name in ["%2E%2E", "..", ".", "%2e", "a%25b"] {
        for method in ["GET", "DELETE", "PUT"] {
            let ask = Ask::json(format!("{method} {MAPS}/{name}"), &config_map("a", "2"));
            assert_eq!(server.ask(ask).await.code, 400, "{method} {name}");
        }
    }
    // The path is taken apart after its escapes have gone.
    for path in [
        format!("{MAPS}/a%2F"),
        format!("{MAPS}%2Fa"),
        "/%61pi/v1/%6eamespaces/default/%63onfigmaps/%61".to_owned(),
    ] {
        assert_eq!(server.ok(format!("GET {path}")).await["metadata"]["name"], "a");
    }
    let everywhere = server.ok("GET /api/v1/namespaces//configmaps").await;
    assert_eq!(everywhere["kind"], "ConfigMapList");
    for namespace in ["..", "default%2Fconfigmaps", "%2F", "a%00b"] {
        let line = format!("POST /api/v1/namespaces/{namespace}/configmaps");
        let answer = server.ask(Ask::json(line, &config_map("b", "1"))).await;
        assert!(
            (400..500).contains(&answer.code),
            "{namespace}: {:#}",
            answer.body
        );
    }
    assert_eq!(
        server.ok(format!("GET {MAPS}")).await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn every_answer_names_itself() {
    let server = Server::start().await;
    for line in [
        "GET /api/v1/namespaces",
        "GET /nonsense",
        "GET /version",
        "POST /version",
    ] {
        let answer = server.ask(line).await;
        assert_eq!(answer.header("audit-id").len(), 36, "{line}");
        assert_eq!(answer.header("cache-control"), "no-cache, private", "{line}");
    }
    let answer = server
        .ask(Ask::new("GET /version").header("audit-id", "mine"))
        .await;
    assert_eq!(answer.header("audit-id"), "mine");
}
