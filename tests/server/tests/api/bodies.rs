//! Bodies: their media types, fields that do not belong, and dry runs.

use kubewright_kinds::protobuf;
use serde_json::{Value, json};

use crate::harness::*;

#[tokio::test]
async fn each_media_type_makes_the_same_object() {
    let server = Server::start().await;
    let deployment = deployment("a");
    let yaml = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {app: a}}\n  template:\n    \
        metadata: {labels: {app: a}}\n    spec:\n      containers:\n      - name: main\n        image: nginx\n";
    let mut made: Vec<Value> = Vec::new();
    for (media_type, body) in [
        ("application/json", deployment.to_string().into_bytes()),
        (
            "application/json; charset=utf-8",
            deployment.to_string().into_bytes(),
        ),
        ("application/yaml", yaml.as_bytes().to_vec()),
        ("application/yaml", deployment.to_string().into_bytes()),
        (
            PROTOBUF,
            protobuf::encode("apps/v1", "Deployment", &deployment).unwrap(),
        ),
    ] {
        let created = server
            .ok(Ask::new(format!("POST {DEPLOYMENTS}")).typed(media_type, body))
            .await;
        made.push(created["spec"].clone());
        server.ok(format!("DELETE {DEPLOYMENTS}/a")).await;
    }
    assert!(made.windows(2).all(|pair| pair[0] == pair[1]), "{made:#?}");

    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let body = protobuf::encode("v1", "ConfigMap", &config_map("a", "2")).unwrap();
    let updated = server
        .ok(Ask::new(format!("PUT {MAPS}/a")).typed(PROTOBUF, body))
        .await;
    assert_eq!(updated["data"]["key"], "2");
    let mut untyped = Ask::new(format!("PUT {MAPS}/a"));
    untyped.body = config_map("a", "3").to_string().into();
    assert_eq!(server.ok(untyped).await["data"]["key"], "3");
}

#[tokio::test]
async fn malformed_bodies_change_nothing() {
    let server = Server::start().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let pod = protobuf::encode("v1", "Pod", &pod("a")).unwrap();
    let truncated = &protobuf::encode("v1", "ConfigMap", &config_map("a", "1")).unwrap()[..20];
    for (media_type, body, code) in [
        ("application/json", &b""[..], 400),
        ("application/json", b"{", 400),
        ("application/json", b"{}{}", 400),
        ("application/json", b"{\"data\": {\"n\": 1e999}}", 400),
        ("application/json", b"\x00", 400),
        ("application/json", b"kind: ConfigMap", 400),
        ("application/yaml", b"a: [", 400),
        ("application/yaml", b"\xff\xfe", 400),
        ("application/yaml", b"a: &a [*a]\n", 400),
        (PROTOBUF, b"", 400),
        (PROTOBUF, b"k8s\0", 400),
        (PROTOBUF, b"{}", 400),
        (PROTOBUF, truncated, 400),
        (PROTOBUF, &pod, 400),
        ("text/plain", b"{}", 415),
        ("application/cbor", b"{}", 415),
        ("application/json-patch+json", b"[]", 415),
        ("nonsense", b"{}", 415),
    ] {
        for line in [format!("POST {MAPS}"), format!("PUT {MAPS}/a")] {
            server
                .refused(Ask::new(line).typed(media_type, body.to_vec()), code, "")
                .await;
        }
        // An empty body is none: a delete needs none.
        if !body.is_empty() && body != b"{}" && body != pod {
            server
                .refused(
                    Ask::new(format!("DELETE {MAPS}/a")).typed(media_type, body.to_vec()),
                    code,
                    "",
                )
                .await;
        }
    }
}

/// JSON is read as Go reads it, and what cannot be read is told in Go's words.
#[tokio::test]
async fn json_as_go_reads_it() {
    let server = Server::start().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    for (data, expect) in [
        (&b"\"\xff\""[..], "\u{fffd}"),
        (b"\"\\ud800x\"", "\u{fffd}x"),
        (b"\"\\ud83d\\ude00\"", "\u{1f600}"),
        (b"null", ""),
    ] {
        let body = [b"{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":", data, b"}}"].concat();
        let written = server
            .ok(Ask::new(format!("PUT {MAPS}/a")).typed("application/json", body))
            .await;
        assert_eq!(written["data"]["k"], expect);
    }
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
    for (body, expect) in [
        ("", "unexpected end of JSON input (<empty>)"),
        ("{", "unexpected end of JSON input ({)"),
        ("{}{}", "invalid character '{' after top-level value ({}{})"),
        (
            "kind: x",
            "invalid character 'k' looking for beginning of value (6b696e643a2078)",
        ),
        (
            "{\"metadata\": {\"name\": \"a\"}, }",
            "looking for beginning of object key string ({\"metadata\": {\"name\": \"a\"}, })",
        ),
    ] {
        let ask = Ask::new(format!("POST {MAPS}")).typed("application/json", body);
        let answer = server.refused(ask, 400, expect).await;
        assert!(
            text(&answer.body["message"]).starts_with(unrecognized),
            "{:#}",
            answer.body
        );
    }
    // What is nothing is an object without a name.
    for (media_type, body) in [
        ("application/json", "null"),
        ("application/yaml", ""),
        ("application/yaml", "# no\n"),
    ] {
        let ask = Ask::new(format!("POST {MAPS}")).typed(media_type, body);
        server.refused(ask, 422, "name or generateName is required").await;
    }
    // Names of fields are what they are, in every letter.
    let ask = Ask::json(
        format!("POST {MAPS}?fieldValidation=Strict"),
        &json!({"metadata": {"name": "b"}, "Data": {}}),
    );
    server.refused(ask, 400, "unknown field \"Data\"").await;
    let replicas = |number: &str| {
        let body = deployment("d").to_string().replacen(
            "\"spec\":{",
            &format!("\"spec\":{{\"replicas\":{number},"),
            1,
        );
        Ask::new(format!("POST {DEPLOYMENTS}?dryRun=All")).typed("application/json", body)
    };
    assert_eq!(server.ok(replicas("-0")).await["spec"]["replicas"], 0);
    server.define_widgets().await;
    let body = widget("w").to_string().replace("\"size\":1", "\"size\":2.0e1");
    let made = server
        .ok(Ask::new(format!("POST {WIDGETS}")).typed("application/json", body))
        .await;
    assert_eq!(
        made["spec"]["size"], 20,
        "a number without a fraction is an integer where there are no types"
    );
    for number in ["1.0", "1e1", "2147483648", "9223372036854775808", "true", "\"1\""] {
        server
            .refused(replicas(number), 400, "json: cannot unmarshal")
            .await;
    }
}

#[tokio::test]
async fn bodies_have_a_limit() {
    let server = Server::start().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let large = "x".repeat(3 << 20);
    for line in [
        format!("POST {MAPS}"),
        format!("PUT {MAPS}/a"),
        format!("PATCH {MAPS}/a"),
        format!("DELETE {MAPS}/a"),
    ] {
        let ask = Ask::new(line).typed("application/merge-patch+json", format!("{{\"a\":\"{large}\"}}"));
        let answer = server
            .refused(ask, 413, "Request entity too large: limit is 3145728")
            .await;
        assert_eq!(answer.body["reason"], "RequestEntityTooLarge");
    }
    let too_much = config_map("b", &"x".repeat((1 << 20) + 1));
    server
        .refused(Ask::json(format!("POST {MAPS}"), &too_much), 422, "Too long")
        .await;
}

#[tokio::test]
async fn fields_that_do_not_belong() {
    let server = Server::start().await;
    server.define_widgets().await;
    let warning = |text: &str| format!("299 - \"{}\"", text.replace('"', "\\\""));
    let map = r#"{"metadata":{"name":"a","odd":1},"data":{"k":"1","k":"2"},"extra":{}}"#;
    let widget = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1,"odd":[1],"note":"x","note":"y"}}"#;
    for (path, body, unknown, duplicate) in [
        (
            MAPS,
            map,
            vec!["unknown field \"extra\"", "unknown field \"metadata.odd\""],
            "duplicate field \"data.k\"",
        ),
        (
            WIDGETS,
            widget,
            vec!["unknown field \"spec.odd\""],
            "duplicate field \"spec.note\"",
        ),
    ] {
        for line in [format!("POST {path}"), format!("PUT {path}/a")] {
            let body = |version: &str| match line.starts_with("PUT") {
                true => body.replacen(
                    "\"name\":\"a\"",
                    &format!("\"name\":\"a\",\"resourceVersion\":\"{version}\""),
                    1,
                ),
                false => body.to_owned(),
            };
            let current = server.ask(format!("GET {path}/a")).await.body;
            let current = text(&current["metadata"]["resourceVersion"]).to_owned();
            let ask = |mode: &str| {
                Ask::new(format!("{line}?dryRun=All{mode}")).typed("application/json", body(&current))
            };
            let strict = server
                .refused(ask("&fieldValidation=Strict"), 400, "strict decoding error: ")
                .await;
            for expect in unknown.iter().chain([&duplicate]) {
                assert!(
                    text(&strict.body["message"]).contains(expect),
                    "{} lacks {expect}",
                    strict.body["message"]
                );
            }
            for mode in ["", "&fieldValidation=Warn"] {
                let answer = server.ask(ask(mode)).await;
                assert!(answer.code < 300, "{:#}", answer.body);
                let mut expect: Vec<String> = unknown
                    .iter()
                    .chain([&duplicate])
                    .map(|text| warning(text))
                    .collect();
                let mut found = answer.warnings();
                expect.sort();
                found.sort();
                assert_eq!(found, expect, "{line}{mode}");
            }
            let ignored = server.ask(ask("&fieldValidation=Ignore")).await;
            assert_eq!(
                (ignored.code < 300, ignored.warnings()),
                (true, vec![]),
                "{:#}",
                ignored.body
            );
            server
                .refused(ask("&fieldValidation=Sometimes"), 422, "fieldValidation")
                .await;
            if line.starts_with("POST") {
                server
                    .ok(Ask::new(line.clone()).typed("application/json", body("")))
                    .await;
            }
        }
        let stored = server.ok(format!("GET {path}/a")).await;
        assert_eq!(stored.get("extra"), None);
        assert_eq!(stored.pointer("/spec/odd"), None);
    }
}

/// Times, bytes and quantities are kept in the one form in which Go writes them; what is none of them is refused.
#[tokio::test]
async fn text_with_a_form_of_its_own() {
    let server = Server::start().await;
    let lease = |time: Value| json!({"metadata": {"name": "a"}, "spec": {"renewTime": time}});
    let event = |time: Value| json!({"metadata": {"name": "a"}, "firstTimestamp": time, "involvedObject": {"namespace": "default"}});
    let secret = |data: Value| json!({"metadata": {"name": "a"}, "data": {"k": data}});
    let limits = |cpu: Value| {
        let mut pod = pod("a");
        pod["spec"]["containers"][0]["resources"] =
            json!({"limits": {"cpu": cpu}, "requests": {"cpu": "1m"}});
        pod
    };
    let (leases, renewed) = (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        "/spec/renewTime",
    );
    let (events, first) = ("/api/v1/namespaces/default/events", "/firstTimestamp");
    let (secrets, bytes) = ("/api/v1/namespaces/default/secrets", "/data/k");
    let cpu = "/spec/containers/0/resources/limits/cpu";
    for (path, object, at, expect) in [
        (
            leases,
            lease(json!("2020-01-01T02:00:00.500000+02:00")),
            renewed,
            Some("2020-01-01T00:00:00.500000Z"),
        ),
        // Six digits, neither fewer nor more.
        (leases, lease(json!("2020-01-01T02:00:00.5+02:00")), renewed, None),
        (leases, lease(json!("2020-01-01T00:00:00Z")), renewed, None),
        (
            leases,
            lease(json!("2020-01-01T00:00:00.1234567Z")),
            renewed,
            None,
        ),
        (leases, lease(json!("yesterday")), renewed, None),
        (leases, lease(json!("")), renewed, None),
        (leases, lease(json!("2020-01-01 00:00:00Z")), renewed, None),
        (leases, lease(json!("2020-01-01T00:00:00")), renewed, None),
        (leases, lease(json!("2020-13-01T00:00:00Z")), renewed, None),
        (leases, lease(json!(5)), renewed, None),
        (
            events,
            event(json!("2020-01-01T01:00:00.7+01:00")),
            first,
            Some("2020-01-01T00:00:00Z"),
        ),
        (
            events,
            event(json!("1960-01-01T00:00:00.7Z")),
            first,
            Some("1960-01-01T00:00:00Z"),
        ),
        (events, event(json!([])), first, None),
        (secrets, secret(json!("aGVsbG8=")), bytes, Some("aGVsbG8=")),
        (secrets, secret(json!("aGVs\nbG8=\n")), bytes, Some("aGVsbG8=")),
        (secrets, secret(Value::Null), bytes, Some("")),
        (secrets, secret(json!("aGVsbG8")), bytes, None),
        (secrets, secret(json!("!!!")), bytes, None),
        (secrets, secret(json!(7)), bytes, None),
        (PODS, limits(json!("1000m")), cpu, Some("1")),
        (PODS, limits(json!(0.5)), cpu, Some("500m")),
        (PODS, limits(json!("1e3")), cpu, Some("1e3")),
        (PODS, limits(json!("much")), cpu, None),
    ] {
        let ask = Ask::json(format!("POST {path}"), &object);
        match expect {
            Some(expect) => {
                assert_eq!(
                    server.ok(ask).await.pointer(at).and_then(Value::as_str),
                    Some(expect),
                    "{object}"
                );
                server
                    .ok(Ask::json(
                        format!("DELETE {path}/a"),
                        &json!({"gracePeriodSeconds": 0}),
                    ))
                    .await;
            }
            None => {
                server.refused(ask, 400, "cannot be handled as a").await;
            }
        }
    }
}

/// In Go, `null` in a list is the zero value of what the list holds.
#[tokio::test]
async fn null_in_a_list_is_a_zero_value() {
    let server = Server::start().await;
    let mut object = pod("a");
    object["spec"]["containers"][0]["args"] = json!(["a", null]);
    let made = server.ok(Ask::json(format!("POST {PODS}"), &object)).await;
    assert_eq!(made["spec"]["containers"][0]["args"], json!(["a", ""]));
    let mut object = config_map("a", "1");
    object["metadata"]["finalizers"] = json!([null]);
    server
        .refused(
            Ask::json(format!("POST {MAPS}"), &object),
            422,
            "metadata.finalizers",
        )
        .await;
    let mut object = pod("b");
    object["spec"]["containers"] = json!([null]);
    server
        .refused(
            Ask::json(format!("POST {PODS}"), &object),
            422,
            "spec.containers[0].name: Required value",
        )
        .await;
}

/// A dry run is answered like the request itself and leaves no trace.
#[tokio::test]
async fn dry_runs_store_nothing() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, object) in [
        (MAPS, config_map("a", "1")),
        (PODS, pod("a")),
        (WIDGETS, widget("a")),
        (DEPLOYMENTS, deployment("a")),
    ] {
        let created = Ask::json(format!("POST {path}?dryRun=All"), &object);
        let quiet = async |ask: Ask| {
            let before = server.revision().await;
            let line = ask.line.clone();
            let found = server.ok(ask).await;
            assert_eq!(server.revision().await, before, "{line}");
            found
        };
        let shown = quiet(created.clone()).await;
        assert_ne!(shown["metadata"]["uid"], Value::Null);
        server.refused(format!("GET {path}/a"), 404, "not found").await;

        server.ok(Ask::json(format!("POST {path}"), &object)).await;
        server.refused(created, 409, "already exists").await;
        let stored = server.ok(format!("GET {path}/a")).await;
        let mut changed = stored.clone();
        changed["metadata"]["labels"] = json!({"l": "x"});
        let patch = json!({"metadata": {"labels": {"l": "x"}}}).to_string();
        let merge = |line: String| Ask::new(line).typed("application/merge-patch+json", patch.clone());
        for ask in [
            Ask::json(format!("PUT {path}/a?dryRun=All"), &changed),
            merge(format!("PATCH {path}/a?dryRun=All")),
        ] {
            assert_eq!(quiet(ask).await["metadata"]["labels"]["l"], "x");
        }
        if path != MAPS {
            let phase = json!({"status": {"phase": "Running", "replicas": 3}}).to_string();
            quiet(
                Ask::new(format!("PATCH {path}/a/status?dryRun=All&fieldValidation=Ignore"))
                    .typed("application/merge-patch+json", phase),
            )
            .await;
            quiet(Ask::json(format!("PUT {path}/a/status?dryRun=All"), &stored)).await;
        }
        for ask in [
            Ask::new(format!("DELETE {path}/a?dryRun=All")),
            Ask::json(format!("DELETE {path}/a"), &json!({"dryRun": ["All"]})),
            Ask::json(
                format!("DELETE {path}/a"),
                &json!({"dryRun": ["All"], "propagationPolicy": "Foreground"}),
            ),
            Ask::new(format!("DELETE {path}?dryRun=All")),
        ] {
            quiet(ask).await;
        }
        assert_eq!(server.ok(format!("GET {path}/a")).await, stored);
    }
    let scale = json!({"spec": {"replicas": 9}}).to_string();
    let ask = Ask::new(format!("PATCH {DEPLOYMENTS}/a/scale?dryRun=All"))
        .typed("application/merge-patch+json", scale);
    assert_eq!(server.ok(ask).await["spec"]["replicas"], 9);
    assert_eq!(
        server.ok(format!("GET {DEPLOYMENTS}/a/scale")).await["spec"]["replicas"],
        1
    );
    server
        .refused(
            Ask::json(format!("POST {MAPS}?dryRun=Some"), &config_map("b", "1")),
            422,
            "dryRun",
        )
        .await;
}

/// A Go server decodes into structs and writes some of their zeros, whatever the client left out.
#[tokio::test]
async fn zeros_that_are_always_written() {
    let server = Server::start().await;
    let role = serde_json::json!({"metadata": {"name": "r"}});
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let made = server.ok(Ask::json(format!("POST {roles}"), &role)).await;
    assert_eq!(made.get("rules"), Some(&serde_json::json!(null)));
    assert_eq!(
        server.ok(format!("GET {roles}/r")).await,
        made,
        "null survives the store"
    );
    let merge = "application/merge-patch+json";
    let patched = server
        .ok(Ask::new(format!("PATCH {roles}/r"))
            .typed(merge, r#"{"rules": [], "metadata": {"labels": {"a": "b"}}}"#))
        .await;
    assert_eq!(patched.get("rules"), Some(&serde_json::json!(null)));
    server.ok(Ask::json(format!("POST {PODS}"), &pod("a"))).await;
    let status = r#"{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#;
    let patched = server
        .ok(Ask::new(format!("PATCH {PODS}/a/status"))
            .typed("application/strategic-merge-patch+json", status))
        .await;
    let expect = serde_json::json!({"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": null});
    assert_eq!(patched["status"]["conditions"][0], expect);
}

/// What is wrong with the fields is told besides what is wrong with the object.
#[tokio::test]
async fn unknown_fields_of_what_is_refused_are_warned_of() {
    let server = Server::start().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |extra: Value| {
        let mut pod =
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        pod["spec"]["odd"] = extra;
        pod
    };
    let warning = "299 - \"unknown field \\\"spec.odd\\\"\"";
    let mut bad = pod(json!(1));
    bad["spec"]["containers"] = json!([]);
    let answer = server
        .refused(
            Ask::json(format!("POST {pods}"), &bad),
            422,
            "spec.containers: Required value",
        )
        .await;
    assert_eq!(answer.warnings(), [warning]);
    server
        .ok(Ask::json(format!("POST {pods}"), &pod(Value::Null)))
        .await;
    let answer = server
        .refused(
            Ask::json(format!("POST {pods}"), &pod(json!(1))),
            409,
            "already exists",
        )
        .await;
    assert_eq!(answer.warnings(), [warning]);
    for (line, media_type) in [
        ("PATCH", "application/merge-patch+json"),
        ("PATCH", "application/strategic-merge-patch+json"),
    ] {
        let ask = Ask::new(format!("{line} {pods}/a"))
            .typed(media_type, r#"{"spec": {"odd": 1, "hostNetwork": true}}"#);
        let answer = server.refused(ask, 422, "may not change fields").await;
        assert_eq!(answer.warnings(), [warning], "{media_type}");
    }
    let ask = Ask::new(format!("PATCH {pods}/a?fieldManager=m")).typed(
        "application/apply-patch+yaml",
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"hostNetwork": true}, "kind": "Pod"}"#,
    );
    let answer = server.ask(ask).await;
    assert_eq!(answer.code, 422, "{:#}", answer.body);
    assert_eq!(
        answer.warnings(),
        ["299 - \"line 1: key \\\"kind\\\" already set in map\""]
    );
    let ask = Ask::new(format!("PATCH {pods}/a/status")).typed(
        "application/merge-patch+json",
        r#"{"status": {"podIPs": [{"ip": "::0"}], "podIP": "::0"}}"#,
    );
    let answer = server.ask(ask).await;
    assert!(
        answer.warnings().concat().contains("status.podIPs[0].ip"),
        "{answer:?}"
    );
}
