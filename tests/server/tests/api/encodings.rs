//! The same objects in JSON, YAML and protobuf, both ways.

use std::collections::BTreeSet;
use std::io::Read as _;

use kubewright_kinds::{protobuf, table};
use serde_json::{Value, json};

use crate::harness::*;
use crate::kinds::samples;

fn protobuf_of(object: &Value) -> Vec<u8> {
    protobuf::encode(text(&object["apiVersion"]), text(&object["kind"]), object).unwrap()
}

fn accept(line: impl Into<String>, media_type: &str) -> Ask {
    Ask::new(line).header("accept", media_type)
}

/// The events of a watch in protobuf, as many as are asked for: type and object.
async fn events(server: &Server, path: &str, media_type: &str, count: usize) -> Vec<(String, Value)> {
    let response = server.send(accept(format!("GET {path}"), media_type)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "application/vnd.kubernetes.protobuf;stream=watch"
    );
    let mut body = response.into_body();
    let (mut read, mut events) = (Vec::new(), Vec::new());
    while events.len() < count {
        if let Some((length, rest)) = read.split_first_chunk::<4>()
            && let Some(event) = rest.get(..u32::from_be_bytes(*length) as usize)
        {
            let (kind, object) = protobuf::decode_watch_event(event).unwrap();
            let event = (kind.to_owned(), protobuf::decode(object).unwrap().value);
            read.drain(..4 + u32::from_be_bytes(*length) as usize);
            events.push(event);
            continue;
        }
        read.extend_from_slice(&body.chunk().await.unwrap().expect("the watch goes on"));
    }
    events
}

/// Tells where two objects differ.
fn differ(path: &str, found: &Value, expect: &Value, out: &mut Vec<String>) {
    match (found, expect) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
                differ(&format!("{path}.{key}"), &found[key], &expect[key], out);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                differ(&format!("{path}[{at}]"), left, right, out);
            }
        }
        _ if found != expect => out.push(format!("{path}: {found} is not {expect}")),
        _ => {}
    }
}

#[tokio::test]
async fn every_kind_in_every_encoding() {
    let server = Server::start().await;
    let mut differences = Vec::new();
    for sample in samples() {
        let (path, name) = (&sample.path, sample.name());
        let object = format!("{path}/{name}");
        let create = accept(format!("POST {path}"), PROTOBUF).typed(PROTOBUF, protobuf_of(&sample.object));
        let answer = server.ask(create).await;
        assert_eq!(answer.code, 201, "{path}: {:#}", answer.body);
        assert_eq!(answer.header("content-type"), PROTOBUF, "{path}");
        let json = server
            .ok(accept(format!("GET {object}"), "application/json"))
            .await;
        let mut same = |what: &str, found: &Value, expect: &Value| {
            differ(&format!("{path} {what} "), found, expect, &mut differences);
        };
        same("created", &answer.body, &json);
        for media_type in [PROTOBUF, "application/yaml", "application/json;pretty=1"] {
            let read = server.ask(accept(format!("GET {object}"), media_type)).await;
            same(media_type, &read.body, &json);
        }
        let query = format!(
            "{path}?fieldSelector=metadata.name%3D{}",
            name.replace(':', "%3A")
        );
        let lists = [
            server.ok(accept(format!("GET {query}"), PROTOBUF)).await,
            server.ok(format!("GET {query}")).await,
        ];
        for list in &lists {
            let mut item = list["items"][0].clone();
            // Items of lists do not say what they are in protobuf.
            item["apiVersion"] = json["apiVersion"].clone();
            item["kind"] = json["kind"].clone();
            same("listed", &item, &json);
            assert_eq!(list["kind"], format!("{}List", text(&json["kind"])));
        }
        assert_eq!(lists[0]["metadata"], lists[1]["metadata"]);

        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let partial = server.ok(accept(format!("GET {object}"), metadata)).await;
        let mut alone = json["metadata"].clone();
        // It is an annotation in this version only, and the metadata is that of what the version is made of.
        let is_made = alone["annotations"] == json!({"deprecated.daemonset.template.generation": "1"});
        if let Some(alone) = alone.as_object_mut().filter(|_| is_made) {
            alone.remove("annotations");
        }
        let expect =
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": alone});
        assert_eq!(partial, expect, "{path}");
        let of_list = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let partial = server.ok(accept(format!("GET {query}"), of_list)).await;
        assert_eq!(partial["kind"], "PartialObjectMetadataList");
        assert_eq!(partial["items"][0]["metadata"], alone, "{path}");

        let watch = format!("{query}&watch=true");
        let event = events(&server, &watch, PROTOBUF, 1).await;
        assert_eq!(event[0].0, "ADDED", "{path}");
        same("watched", &event[0].1, &json);
        let event = events(&server, &watch, metadata, 1).await;
        assert_eq!(event, [("ADDED".to_owned(), expect)], "{path}");

        let again = accept(format!("PUT {object}"), PROTOBUF).typed(PROTOBUF, protobuf_of(&json));
        same("written as it was read", &server.ok(again).await, &json);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The older version numbers the fields of a list the other way around (apimachinery pkg/apis/meta/v1beta1/types.go).
#[tokio::test]
async fn metadata_of_the_older_version_in_protobuf() {
    let server = Server::start().await;
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let path = "/api/v1/namespaces/default/configmaps";
    let made = server.ok(Ask::json(format!("POST {path}"), &object)).await;
    let older = |kind: &str| format!("application/vnd.kubernetes.protobuf;as={kind};g=meta.k8s.io;v=v1beta1");
    let partial = json!({"apiVersion": "meta.k8s.io/v1beta1", "kind": "PartialObjectMetadata", "metadata": made["metadata"]});

    let one = older("PartialObjectMetadata");
    assert_eq!(server.ok(accept(format!("GET {path}/a"), &one)).await, partial);
    let event = events(&server, &format!("{path}?watch=true"), &one, 1).await;
    assert_eq!(event, [("ADDED".to_owned(), partial)]);

    let ask = accept(
        format!("GET {path}?fieldSelector=metadata.name=a"),
        &older("PartialObjectMetadataList"),
    );
    let list = server.ok(ask).await;
    assert_eq!(list["apiVersion"], "meta.k8s.io/v1beta1");
    assert_eq!(list["items"][0]["metadata"], made["metadata"]);
    assert!(list["metadata"]["resourceVersion"].is_string(), "{list}");
}

/// The samples have every kind that there is to create and read.
#[test]
fn no_kind_is_left_out() {
    let sampled: BTreeSet<(String, String)> = samples()
        .iter()
        .map(|sample| {
            (
                text(&sample.object["apiVersion"]).to_owned(),
                text(&sample.object["kind"]).to_owned(),
            )
        })
        .collect();
    let served: BTreeSet<(String, String)> = table()
        .resources()
        .iter()
        .filter(|resource| {
            resource.served_by_default
                && resource.verbs.contains(&"get")
                && resource.verbs.contains(&"create")
        })
        .map(|resource| (resource.api_version(), resource.kind.to_owned()))
        .collect();
    assert_eq!(sampled, served);
}

/// What is no object of the resource: a `Status`, options, a scale, a review.
#[tokio::test]
async fn other_kinds_in_protobuf() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {DEPLOYMENTS}"), &deployment("a")))
        .await;
    for (path, reason) in [
        (format!("{DEPLOYMENTS}/none"), "NotFound"),
        ("/apis/apps/v1/namespaces/default/nothings".to_owned(), "NotFound"),
        (format!("{DEPLOYMENTS}?resourceVersion=x"), "BadRequest"),
        (format!("{WIDGETS}/none"), "NotAcceptable"),
        (WIDGETS.to_owned(), "NotAcceptable"),
    ] {
        let answer = server.ask(accept(format!("GET {path}"), PROTOBUF)).await;
        assert_eq!(answer.header("content-type"), PROTOBUF, "{path}");
        assert_eq!(answer.body["kind"], "Status", "{path}");
        assert_eq!(answer.body["reason"], reason, "{path}");
        assert_eq!(answer.body["code"], answer.code, "{path}");
    }
    let scale = server
        .ok(accept(format!("GET {DEPLOYMENTS}/a/scale"), PROTOBUF))
        .await;
    assert_eq!(
        (&scale["kind"], &scale["spec"]["replicas"]),
        (&json!("Scale"), &json!(1))
    );
    let mut wanted = scale.clone();
    wanted["spec"]["replicas"] = json!(3);
    let scaled = accept(format!("PUT {DEPLOYMENTS}/a/scale"), PROTOBUF).typed(PROTOBUF, protobuf_of(&wanted));
    assert_eq!(server.ok(scaled).await["spec"]["replicas"], 3);
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let ask = accept(
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        PROTOBUF,
    )
    .typed(PROTOBUF, protobuf_of(&review));
    assert_eq!(server.ok(ask).await["status"]["allowed"], true);

    let options =
        json!({"apiVersion": "apps/v1", "kind": "DeleteOptions", "preconditions": {"uid": "another"}});
    let delete = |options: &Value| {
        accept(format!("DELETE {DEPLOYMENTS}/a"), PROTOBUF).typed(PROTOBUF, protobuf_of(options))
    };
    server.refused(delete(&options), 409, "another").await;
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
    let deleted = server.ok(delete(&options)).await;
    assert_eq!(
        (&deleted["kind"], &deleted["status"]),
        (&json!("Status"), &json!("Success"))
    );
}

/// Answers above 128 KiB are compressed for those who ask for it, and so is a watch that stands for a list.
#[tokio::test]
async fn gzip() {
    let server = Server::start().await;
    let unzip = |bytes: &[u8]| {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes)
            .read_to_end(&mut text)
            .unwrap();
        text
    };
    let value = "0123456789".repeat(10_000);
    for name in ["a", "b"] {
        server
            .ok(Ask::json(format!("POST {MAPS}"), &config_map(name, &value)))
            .await;
    }
    for (path, media_type, coding, is_zipped) in [
        (MAPS.to_owned(), "application/json", "gzip", true),
        (MAPS.to_owned(), PROTOBUF, "deflate, gzip", true),
        (MAPS.to_owned(), "application/yaml", "gzip", true),
        (MAPS.to_owned(), "application/json", "gzip;q=0", false),
        (MAPS.to_owned(), "application/json", "", false),
        (format!("{MAPS}/a"), "application/json", "gzip", false),
        (format!("{MAPS}?limit=1"), PROTOBUF, "gzip", false),
    ] {
        let ask = accept(format!("GET {path}"), media_type).header("accept-encoding", coding);
        let response = server.send(ask).await;
        let (parts, body) = response.into_parts();
        let sent = body.collect_limited(1 << 20).await.unwrap();
        let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(
            header("content-encoding"),
            is_zipped.then_some("gzip"),
            "{path} {coding}"
        );
        assert_eq!(
            header("vary"),
            is_zipped.then_some("Accept-Encoding"),
            "{path} {coding}"
        );
        assert_eq!(header("content-type"), Some(media_type));
        let plain = server.ask(accept(format!("GET {path}"), media_type)).await;
        assert_eq!(
            if is_zipped { unzip(&sent) } else { sent.to_vec() },
            plain.bytes,
            "{path} {coding}"
        );
    }
    let list = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    for (query, is_zipped) in [(list, true), ("", false)] {
        let path = format!("{MAPS}?watch=true&{query}");
        let response = server
            .send(Ask::new(format!("GET {path}")).header("accept-encoding", "gzip"))
            .await;
        assert_eq!(
            response.headers().contains_key("content-encoding"),
            is_zipped,
            "{query}"
        );
        let mut body = response.into_body();
        let mut read = Vec::new();
        while !String::from_utf8_lossy(&read).contains("\"name\":\"b\"") {
            let piece = body.chunk().await.unwrap().expect("the watch goes on");
            read.extend(if is_zipped { unzip(&piece) } else { piece.to_vec() });
        }
    }
}

/// Bodies of no encoding that there is, and bodies that are none.
#[tokio::test]
async fn refused_encodings() {
    let server = Server::start().await;
    server.define_widgets().await;
    let unknown = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    for content_type in [
        "application/cbor",
        "text/plain",
        "application/json; charset",
        "nonsense",
        "application/apply-patch+yaml",
    ] {
        for path in [MAPS, WIDGETS] {
            let answer = server
                .refused(
                    Ask::new(format!("POST {path}")).typed(content_type, "{}"),
                    415,
                    unknown,
                )
                .await;
            assert_eq!(answer.body["reason"], "UnsupportedMediaType");
        }
    }
    let unacceptable = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
    for (path, media_type) in [(WIDGETS, "application/cbor"), (MAPS, table)] {
        let answer = server
            .refused(accept(format!("GET {path}"), media_type), 406, unacceptable)
            .await;
        assert_eq!(answer.body["message"], unacceptable);
    }
    server
        .refused(
            accept(format!("GET {MAPS}?watch=true"), "application/yaml"),
            406,
            "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
        )
        .await;
    for (body, expect) in [
        (&b""[..], "empty data (<empty>)"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
        ),
        (b"k8s\0", "empty body (6b387300)"),
    ] {
        let answer = server
            .refused(
                Ask::new(format!("POST {MAPS}")).typed(PROTOBUF, body),
                400,
                expect,
            )
            .await;
        let message = format!("the object provided is unrecognized (must be of type ConfigMap): {expect}");
        assert_eq!(answer.body["message"], message);
    }
    // Custom resources have no protobuf.
    let map = protobuf_of(&config_map("a", "1"));
    server
        .refused(Ask::new(format!("POST {WIDGETS}")).typed(PROTOBUF, map), 400, "")
        .await;
}
