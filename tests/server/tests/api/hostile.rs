//! What nobody sends by accident: the server answers with a failure of the client, and nothing has changed.

use std::time::Duration;

use http::HeaderMap;
use kubewright_kinds::protobuf;
use serde_json::{Value, json};

use crate::harness::*;

/// Bodies nested as deep as a body can be.
#[tokio::test]
async fn depth() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    for depth in [100, 127, 128, 1_000, 100_000, 1_000_000] {
        let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects = format!(
            "{}0{}",
            "{\"a\":".repeat(depth.min(300_000)),
            "}".repeat(depth.min(300_000))
        );
        let open = "[".repeat(depth);
        let steps = "/a".repeat(depth);
        for body in [&*arrays, &objects, &open] {
            for (line, media_type, body) in [
                (
                    format!("POST {MAPS}?fieldValidation=Strict"),
                    "application/json",
                    format!("{{\"metadata\":{{\"name\":\"b\"}},\"x\":{body}}}"),
                ),
                (
                    format!("POST {MAPS}"),
                    "application/json",
                    format!("{{\"data\":{{\"k\":{body}}}}}"),
                ),
                (
                    format!("POST {MAPS}?fieldValidation=Strict"),
                    "application/yaml",
                    format!("{{\"metadata\":{{\"name\":\"b\"}},\"x\":{body}}}"),
                ),
                (
                    format!("POST {WIDGETS}?fieldValidation=Strict"),
                    "application/json",
                    format!("{{\"metadata\":{{\"name\":\"b\"}},\"spec\":{body}}}"),
                ),
                (
                    format!("PATCH {MAPS}/a?fieldValidation=Strict"),
                    "application/merge-patch+json",
                    format!("{{\"x\":{body}}}"),
                ),
                (
                    format!("PATCH {MAPS}/a"),
                    "application/strategic-merge-patch+json",
                    format!("{{\"data\":{{\"k\":{body}}}}}"),
                ),
                (
                    format!("PATCH {MAPS}/a?fieldValidation=Strict"),
                    "application/json-patch+json",
                    format!("[{{\"op\":\"add\",\"path\":\"/x\",\"value\":{body}}}]"),
                ),
                (
                    format!("DELETE {MAPS}/a"),
                    "application/json",
                    format!("{{\"gracePeriodSeconds\":{body}}}"),
                ),
            ] {
                client_failure(&server, Ask::new(line).typed(media_type, body)).await;
            }
        }
        let deep_path = json!([{"op": "add", "path": steps, "value": 1}]).to_string();
        client_failure(
            &server,
            Ask::new(format!("PATCH {MAPS}/a")).typed("application/json-patch+json", deep_path),
        )
        .await;
    }
}

/// A small body that would grow without end.
#[tokio::test]
async fn growth() {
    let server = Server::start().await;
    server
        .ok(Ask::json(
            format!("POST {MAPS}"),
            &config_map("a", &"x".repeat(1000)),
        ))
        .await;
    let doubling: Vec<Value> = (0..60)
        .map(|i| json!({"op": "copy", "from": "/data", "path": format!("/data/k{i}")}))
        .collect();
    let mut laughs = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for i in 1..30 {
        laughs.push_str(&format!(
            "a{i}: &a{i} [{}]\n",
            vec![format!("*a{}", i - 1); 9].join(",")
        ));
    }
    for ask in [
        Ask::new(format!("PATCH {MAPS}/a")).typed("application/json-patch+json", json!(doubling).to_string()),
        Ask::new(format!("POST {MAPS}?fieldValidation=Strict")).typed("application/yaml", laughs),
    ] {
        client_failure(&server, ask).await;
    }
}

#[tokio::test]
async fn numbers() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("a")))
        .await;
    server
        .ok(Ask::json(format!("POST {DEPLOYMENTS}"), &deployment("a")))
        .await;
    for number in [
        "1e400",
        "-1e400",
        "1.5",
        "99999999999999999999999",
        "-99999999999999999999999",
        "1e10",
        "0x10",
        "1_000",
        "NaN",
        "\"1\"",
        "-1",
    ] {
        let body = format!("{{\"spec\":{{\"replicas\":{number}}}}}");
        client_failure(
            &server,
            Ask::new(format!("PATCH {DEPLOYMENTS}/a")).typed("application/merge-patch+json", body),
        )
        .await;
        if number != "-1" && number != "1e10" {
            let body = format!("{{\"spec\":{{\"size\":{number}}}}}");
            client_failure(
                &server,
                Ask::new(format!("PATCH {WIDGETS}/a")).typed("application/merge-patch+json", body),
            )
            .await;
        }
    }
    // Numbers beyond all measure are some, and are told apart in no time.
    for quantity in [
        "1e999999999",
        "1E-999999999",
        "999999999999999999999999999999",
        "0.00000000000000000000000001",
    ] {
        let mut object = pod("q");
        object["spec"]["containers"][0]["resources"] =
            json!({"limits": {"cpu": quantity}, "requests": {"cpu": "1"}});
        let answer = server
            .ask(Ask::json(format!("POST {PODS}?dryRun=All"), &object))
            .await;
        assert!(answer.code < 500, "{quantity}: {:#}", answer.body);
    }
    for quantity in [
        "1ee1",
        "--1",
        "1Kii",
        "",
        "99999999999999999999999999999999999999999999999x",
    ] {
        let mut object = pod("q");
        object["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": quantity}});
        client_failure(&server, Ask::json(format!("POST {PODS}"), &object)).await;
    }
}

/// The clock stands still but for the server's own waiting.
#[tokio::test(start_paused = true)]
async fn queries() {
    let server = Server::start().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    for query in [
        "resourceVersion=18446744073709551615",
        "resourceVersion=18446744073709551616",
        "resourceVersion=9223372036854775808&resourceVersionMatch=Exact",
        "resourceVersion=1.5",
        "resourceVersion=%00",
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTIyMzM3MjAzNjg1NDc3NTgwNywic3RhcnQiOiJhIn0",
        "limit=99999999999999999999",
        "labelSelector=a%00b",
        "labelSelector=%ff",
        "fieldSelector=%ff%3D%ff",
        "labelSelector=a+in+%28",
        "labelSelector=%2C%2C%2C%2C",
    ] {
        client_failure(&server, Ask::new(format!("GET {MAPS}?{query}"))).await;
    }
    for query in [
        "limit=-1",
        "limit=9223372036854775807",
        "timeoutSeconds=-5",
        "&&&=&=",
        "%=%&%zz=%q",
        "watch=",
        "unknown=1&unknown=2",
    ] {
        let response = server.send(format!("GET {MAPS}?{query}")).await;
        assert_eq!(response.status(), 200, "{query}");
    }
    let mut endless = server
        .watch(&format!("{MAPS}?watch=true&timeoutSeconds=9223372036854775807"))
        .await;
    assert_eq!(endless.names(1).await, ["ADDED a"]);
    let mut none = server
        .watch(&format!(
            "{MAPS}?watch=true&resourceVersion=18446744073709551615&timeoutSeconds=3"
        ))
        .await;
    let next = none.next().await;
    assert!(
        next.is_none() || next.as_ref().is_some_and(|event| event["type"] == "ERROR"),
        "{next:?}"
    );
    for grace in [i64::MAX, i64::MIN, -1] {
        let mut object = pod("p");
        object["spec"]["nodeName"] = json!("n");
        server.ok(Ask::json(format!("POST {PODS}"), &object)).await;
        for again in [grace, 1, 0] {
            server
                .ok(Ask::json(
                    format!("DELETE {PODS}/p"),
                    &json!({"gracePeriodSeconds": again}),
                ))
                .await;
            if server.ask(format!("GET {PODS}/p")).await.code == 404 {
                break;
            }
        }
        assert_eq!(server.ask(format!("GET {PODS}/p")).await.code, 404, "{grace}");
    }
}

#[tokio::test]
async fn names() {
    let server = Server::start().await;
    for name in [
        "..",
        ".",
        "a/b",
        "a%b",
        "",
        " ",
        "A",
        "ä",
        "a\u{0}",
        "-a",
        "a-",
        &"a".repeat(254),
        "a..b",
        "\u{202e}a",
    ] {
        client_failure(&server, Ask::json(format!("POST {MAPS}"), &config_map(name, "1"))).await;
        let namespace = json!({"metadata": {"name": name}});
        client_failure(&server, Ask::json("POST /api/v1/namespaces", &namespace)).await;
    }
    for (field, value) in [
        ("labels", json!({"a b": "c"})),
        ("labels", json!({"a": "x".repeat(64)})),
        ("labels", json!({"a": 1})),
        ("labels", json!([])),
        ("annotations", json!({"a": "x".repeat(300 << 10)})),
        ("annotations", json!({"": ""})),
        ("finalizers", json!([""])),
        ("finalizers", json!(["no domain"])),
        ("finalizers", json!({})),
        ("ownerReferences", json!([{}])),
        (
            "ownerReferences",
            json!([{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": ""}]),
        ),
        ("ownerReferences", json!("all")),
        ("generateName", json!("A_")),
        ("generateName", json!(5)),
        ("creationTimestamp", json!("yesterday")),
        ("deletionTimestamp", json!("2020-01-01")),
        ("managedFields", json!("none")),
    ] {
        let mut object = config_map("a", "1");
        if field == "generateName" {
            object["metadata"] = json!({});
        }
        object["metadata"][field] = value;
        client_failure(&server, Ask::json(format!("POST {MAPS}"), &object)).await;
    }
}

/// Random requests, half of them a valid one with something broken. The seed is printed where one fails, and
/// `KUBEWRIGHT_SEED` plays it again.
#[tokio::test(start_paused = true)]
async fn at_random() {
    let seed = std::env::var("KUBEWRIGHT_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, object) in [
        (MAPS, config_map("a", "1")),
        (PODS, pod("a")),
        (DEPLOYMENTS, deployment("a")),
        (WIDGETS, widget("a")),
    ] {
        server.ok(Ask::json(format!("POST {path}"), &object)).await;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut seen = [0_usize; 6];
    for round in 0..ROUNDS {
        let ask = random_ask(&mut random);
        let before = server.revision().await;
        let Some(response) = try_send(&server, &ask).await else {
            continue;
        };
        let code = response.status().as_u16();
        seen[usize::from(code / 100)] += 1;
        let context = || {
            format!(
                "seed {seed} round {round}: {code} {} {:?} {:?}",
                ask.line, ask.headers, ask.body
            )
        };
        assert!(
            code < 500 || is_documented(code, response.headers(), &ask),
            "{}",
            context()
        );
        if code >= 400 {
            assert_eq!(server.revision().await, before, "{} changed the store", context());
        }
        // A stream may be endless; what comes at once is read.
        let mut body = response.into_body();
        while let Ok(Ok(Some(_))) = tokio::time::timeout(Duration::from_millis(1), body.chunk()).await {}
    }
    // All kinds of answers were among them, else nothing was tested.
    assert!(seen[2] > 50 && seen[4] > 500, "seed {seed}: {seen:?}");
    for path in [MAPS, PODS, DEPLOYMENTS, WIDGETS] {
        server.ok(format!("GET {path}")).await;
    }
}

const ROUNDS: usize = 6_000;

/// The failures that upstream has for requests like these: a version on create, one that cannot be read, one that is yet to come, and
/// directives of strategic merge patches that are none.
fn is_documented(code: u16, headers: &HeaderMap, ask: &Ask) -> bool {
    match code {
        500 => {
            let is_write = ask.line.starts_with("POST") || ask.line.starts_with("PUT");
            let is_strategic = ask
                .headers
                .iter()
                .any(|(_, value)| value.contains("strategic-merge-patch"));
            let has_directive = is_strategic && ask.body.contains(&b'$');
            is_write || has_directive || ask.line.contains("resourceVersion=")
        }
        504 => headers.contains_key("retry-after"),
        _ => false,
    }
}

/// `None` for what no client library would let pass.
async fn try_send(server: &Server, ask: &Ask) -> Option<http::Response<kubewright_net::Body>> {
    let (method, path) = ask.line.split_once(' ')?;
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in &ask.headers {
        request = request.header(name, value);
    }
    request.body(()).ok()?;
    Some(server.send(ask.clone()).await)
}

fn random_ask(random: &mut fastrand::Rng) -> Ask {
    let pick = |random: &mut fastrand::Rng, all: &[&str]| all[random.usize(..all.len())].to_owned();
    let method = pick(
        random,
        &[
            "GET", "GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS", "X",
        ],
    );
    let collections = [
        MAPS,
        PODS,
        DEPLOYMENTS,
        WIDGETS,
        "/api/v1/namespaces",
        "/api/v1/nodes",
        "/apis/apps/v1",
        "/api",
        "/apis",
        "/openapi/v3",
        "/",
    ];
    let mut path = pick(random, &collections);
    for _ in 0..random.usize(..3) {
        path.push('/');
        path.push_str(&pick(
            random,
            &[
                "a",
                "a",
                "a",
                "status",
                "scale",
                "finalize",
                "..",
                "%2e%2e",
                "%00",
                "%ff%fe",
                "x".repeat(300).as_str(),
                "",
                "watch",
                "a:b",
                "-",
            ],
        ));
    }
    let mut query = Vec::new();
    for _ in 0..random.usize(..4) {
        let name = pick(
            random,
            &[
                "watch",
                "labelSelector",
                "fieldSelector",
                "limit",
                "continue",
                "resourceVersion",
                "resourceVersionMatch",
                "timeoutSeconds",
                "sendInitialEvents",
                "allowWatchBookmarks",
                "dryRun",
                "fieldValidation",
                "fieldManager",
                "force",
                "pretty",
                "includeObject",
                "propagationPolicy",
                "gracePeriodSeconds",
                "orphanDependents",
                "verbose",
            ],
        );
        let value = match random.u8(..4) {
            0 => random_text(random),
            _ => pick(
                random,
                &[
                    "true",
                    "false",
                    "1",
                    "0",
                    "-1",
                    "",
                    "All",
                    "Strict",
                    "Exact",
                    "NotOlderThan",
                    "a%3Db",
                    "metadata.name%3Da",
                    "%00",
                    "%ff",
                    "18446744073709551615",
                    "Orphan",
                    "Foreground",
                    "eyJ9",
                    "a+in+%28b,c%29",
                    "%21",
                    "None",
                ],
            ),
        };
        query.push(format!("{name}={value}"));
    }
    let mut ask = Ask::new(format!("{method} {path}?{}", query.join("&")));
    for _ in 0..random.usize(..3) {
        let name = pick(
            random,
            &[
                "accept",
                "accept",
                "if-none-match",
                "user-agent",
                "authorization",
                "audit-id",
                "content-length",
                "x-odd",
            ],
        );
        let value = match random.u8(..3) {
            0 => random_text(random),
            _ => pick(
                random,
                &[
                    "application/json",
                    "application/yaml",
                    "*/*",
                    ";;;=,,",
                    "application/json;as=Table;v=v1;g=meta.k8s.io",
                    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                    "application/vnd.kubernetes.protobuf",
                    "text/html",
                ],
            ),
        };
        ask = ask.header(&name, &value);
    }
    let media_type = pick(
        random,
        &[
            "application/json",
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            "application/merge-patch+json",
            "application/json-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "",
            "a/b; c",
        ],
    );
    let body = random_body(random, &media_type);
    ask.typed(&media_type, body)
}

fn random_text(random: &mut fastrand::Rng) -> String {
    (0..random.usize(..12))
        .map(|_| random.char('!'..='~'))
        .filter(|c| {
            !matches!(
                c,
                '#' | '?' | '&' | '"' | '<' | '>' | '{' | '}' | '\\' | '^' | '`' | '|'
            )
        })
        .collect()
}

fn random_body(random: &mut fastrand::Rng, media_type: &str) -> Vec<u8> {
    let whole = [
        config_map("a", "1"),
        config_map("b", "2"),
        pod("a"),
        deployment("a"),
        widget("a"),
        json!({"kind": "DeleteOptions"}),
        json!({"metadata": {"generateName": "g-"}}),
        json!([{"op": "replace", "path": "/data/key", "value": "9"}]),
        json!({"spec": {"replicas": 3}}),
    ];
    let mut value = whole[random.usize(..whole.len())].clone();
    for _ in 0..random.usize(..3) {
        mutate(random, &mut value);
    }
    let mut bytes = match (media_type, value["kind"].as_str(), value["apiVersion"].as_str()) {
        ("application/vnd.kubernetes.protobuf", Some(kind), Some(version)) => {
            protobuf::encode(version, kind, &value).unwrap_or_else(|_| b"k8s\0\x0a\x04".to_vec())
        }
        _ => value.to_string().into_bytes(),
    };
    match random.u8(..6) {
        0 => (0..random.usize(..64)).map(|_| random.u8(..)).collect(),
        1 => {
            bytes.truncate(random.usize(..=bytes.len()));
            bytes
        }
        2 if !bytes.is_empty() => {
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            bytes
        }
        _ => bytes,
    }
}

/// Replaces something in the value by something else.
fn mutate(random: &mut fastrand::Rng, value: &mut Value) {
    let deeper = random.u8(..4) > 0;
    match value {
        Value::Object(fields) if deeper && !fields.is_empty() => {
            let at = random.usize(..fields.len());
            if let Some((_, inner)) = fields.iter_mut().nth(at) {
                return mutate(random, inner);
            }
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let at = random.usize(..items.len());
            return mutate(random, &mut items[at]);
        }
        _ => {}
    }
    let others = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}"),
        json!("x".repeat(100)),
        json!([]),
        json!({}),
        json!([null]),
        json!({"": {}}),
        json!({"$patch": "delete"}),
        json!({"metadata": null}),
        json!([[[]]]),
    ];
    *value = others[random.usize(..others.len())].clone();
}

/// The answer to a request that can only fail, by the client's fault, with nothing changed.
async fn client_failure(server: &Server, ask: Ask) {
    let before = server.revision().await;
    let answer = server.ask(ask.clone()).await;
    let shown = String::from_utf8_lossy(&ask.body[..ask.body.len().min(300)]);
    let is_future = answer.code == 504 && answer.body["reason"] == "Timeout";
    assert!(
        (400..500).contains(&answer.code) || is_future,
        "{} {shown:?}: {} {:#}",
        ask.line,
        answer.code,
        answer.body
    );
    assert_eq!(answer.body["kind"], "Status", "{}", ask.line);
    assert_eq!(
        server.revision().await,
        before,
        "{} {shown:?} changed the store",
        ask.line
    );
}
