//! Texts: what a server says and writes word for word.

use crate::harness::*;

/// As a kube-apiserver 1.37 refuses them: typed decoding tells in the order of the text, untyped decoding what is there twice first.
#[tokio::test]
async fn strict_findings_are_in_upstreams_order() {
    let server = Server::start().await;
    server.define_widgets().await;
    const MAP: &str = r#"{"z":1,"metadata":{"name":"a","y":1,"name":"b"},"data":{"k":"1","k":"2"},"z":2,"a":{"b":1,"b":2}}"#;
    const WIDGET: &str = r#"{"z":1,"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","y":1,"name":"b"},"spec":{"size":1,
        "odd":1,"odd":2,"size":2},"a":1}"#;
    const YAML: &str =
        "z: 1\nmetadata:\n  name: a\n  w: 1\n  name: b\ndata:\n  k: a\n  k:\n    b\n  1: a\n  1: b\na: 1\n";
    for (path, media_type, body, expect) in [
        (
            MAPS,
            "application/json",
            MAP,
            "unknown field \"z\", unknown field \"metadata.y\", duplicate field \"metadata.name\", duplicate field \"data.k\", \
             unknown field \"a\"",
        ),
        (
            WIDGETS,
            "application/json",
            WIDGET,
            "duplicate field \"metadata.name\", duplicate field \"spec.odd\", duplicate field \"spec.size\", \
             unknown field \"metadata.y\", unknown field \"a\", unknown field \"spec.odd\", unknown field \"z\"",
        ),
        (
            MAPS,
            "application/yaml",
            YAML,
            "yaml: unmarshal errors:\n  line 5: key \"name\" already set in map\n  line 9: key \"k\" already set in map\n  line 11: key \
             1 already set in map, unknown field \"a\", unknown field \"metadata.w\", unknown field \"z\"",
        ),
    ] {
        let ask = Ask::new(format!("POST {path}?fieldValidation=Strict")).typed(media_type, body);
        let answer = server.refused(ask, 400, "strict decoding error: ").await;
        let message = text(&answer.body["message"]);
        let (_, found) = message.split_once("strict decoding error: ").unwrap();
        assert_eq!(found, expect);
    }
}

/// What sigs.k8s.io/yaml makes of an object, byte for byte.
#[tokio::test]
async fn yaml_is_written_as_go_writes_it() {
    let server = Server::start().await;
    let map = serde_json::json!({"metadata": {"name": "a"}, "data": {
        "a10": "on", "a2": "10.0.0.1", "b": "x: y", "c": "two\nlines\n", "d": "\u{1f600}", "e": "", "f": "word ".repeat(18),
    }});
    server
        .ok(Ask::json(format!("POST {MAPS}?fieldManager=m"), &map))
        .await;
    let ask = Ask::new(format!("GET {MAPS}/a")).header("accept", "application/yaml");
    let answer = server.ask(ask).await;
    let written = String::from_utf8(answer.bytes.to_vec()).unwrap();
    let mut lines = written
        .lines()
        .filter(|line| !line.contains("ime") && !line.contains("uid"));
    let folded = "word ".repeat(16);
    let expect = format!(
        "apiVersion: v1\ndata:\n  a2: 10.0.0.1\n  a10: \"on\"\n  b: 'x: y'\n  c: |\n    two\n    lines\n  d: \"\\U0001F600\"\n  e: \"\"\n  \
         f: '{}\n    word word '\nkind: ConfigMap\nmetadata:\n  managedFields:\n  - apiVersion: v1\n    fieldsType: FieldsV1\n    fieldsV1:\n      \
         f:data:\n        .: {{}}\n        f:a2: {{}}\n        f:a10: {{}}\n        f:b: {{}}",
        folded.trim_end()
    );
    for expect in expect.lines() {
        assert_eq!(lines.next(), Some(expect), "{written}");
    }
}

#[tokio::test]
async fn discovery_is_in_every_encoding() {
    let server = Server::start().await;
    for path in ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"] {
        let json = server.ok(format!("GET {path}")).await;
        for media_type in ["application/yaml", PROTOBUF] {
            let ask = Ask::new(format!("GET {path}")).header("accept", media_type);
            let answer = server.ask(ask).await;
            assert_eq!(
                (answer.code, answer.header("content-type")),
                (200, media_type),
                "{path}"
            );
            assert_eq!(answer.body["kind"], json["kind"], "{path}");
            assert_eq!(
                answer.body["resources"].as_array().map(Vec::len),
                json["resources"].as_array().map(Vec::len)
            );
        }
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let ask = Ask::new(format!("GET {path}")).header("accept", table);
        server
            .refused(ask, 406, "only the following media types are accepted")
            .await;
    }
    let aggregated = "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let answer = server
        .ask(Ask::new("GET /apis").header("accept", aggregated))
        .await;
    assert_eq!((answer.code, answer.header("content-type")), (200, aggregated));
    assert!(
        answer
            .bytes
            .starts_with(b"apiVersion: apidiscovery.k8s.io/v2\nitems:\n")
    );
}

#[tokio::test]
async fn what_nests_too_deeply_is_refused() {
    let server = Server::start().await;
    let deep = format!("{{\"data\": {}}}", "[".repeat(200));
    for (media_type, why) in [
        (
            "application/json",
            "json parse error: invalid character '[' exceeded max depth",
        ),
        ("application/yaml", "yaml: exceeded max depth of 127"),
    ] {
        let ask = Ask::new(format!("POST {MAPS}")).typed(media_type, deep.clone());
        server.refused(ask, 400, why).await;
    }
}
