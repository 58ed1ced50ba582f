//! Watch: where it begins, what it shows, how it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_apiserver::Options;
use kubewright_apiserver::storage::{Encoded, Key, Limits, MemoryStorage, Revision, Storage as _};
use serde_json::{Value, json};

use crate::harness::*;

async fn with_two() -> Server {
    let server = Server::start().await;
    for name in ["a", "b"] {
        server
            .ok(Ask::json(format!("POST {MAPS}"), &config_map(name, "1")))
            .await;
    }
    server
}

async fn label(server: &Server, name: &str, value: &Value) -> Value {
    let body = json!({"metadata": {"labels": {"l": value}}}).to_string();
    server
        .ok(Ask::new(format!("PATCH {MAPS}/{name}")).typed("application/merge-patch+json", body))
        .await
}

#[tokio::test]
async fn where_a_watch_begins() {
    let server = with_two().await;
    let now = server.revision().await;
    server.ok(format!("DELETE {MAPS}/a")).await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("c", "1")))
        .await;
    let synced = "BOOKMARK ";
    for (query, expect) in [
        (format!("resourceVersion={now}"), vec!["DELETED a", "ADDED c"]),
        (String::new(), vec!["ADDED b", "ADDED c"]),
        ("resourceVersion=0".to_owned(), vec!["ADDED b", "ADDED c"]),
        // Without a version a watch is one for initial events, and their end is told to who takes bookmarks.
        (
            "resourceVersion=&allowWatchBookmarks=true".to_owned(),
            vec!["ADDED b", "ADDED c", synced],
        ),
        (
            "resourceVersion=0&allowWatchBookmarks=true".to_owned(),
            vec!["ADDED b", "ADDED c", synced],
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true".to_owned(),
            vec!["ADDED b", "ADDED c", synced],
        ),
        (
            format!(
                "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={now}"
            ),
            vec!["ADDED b", "ADDED c", synced],
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
            vec!["ADDED b", "ADDED c"],
        ),
        (
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true".to_owned(),
            vec![],
        ),
    ] {
        let mut events = server.watch(&format!("{MAPS}?watch=true&{query}")).await;
        assert_eq!(events.names(expect.len()).await, expect, "{query}");
        // A watch begins when it is first read, which is before the write; that marks the end of what it had to show by itself.
        let revision = json!(server.revision().await.to_string());
        let (next, _) = tokio::join!(events.names(1), label(&server, "b", &revision));
        assert_eq!(next, ["MODIFIED b"], "{query}");
    }
}

#[tokio::test]
async fn the_end_of_the_initial_state_is_marked() {
    let server = with_two().await;
    let query =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = server.watch(&format!("{MAPS}?{query}")).await;
    events.names(2).await;
    let mark = events.next().await.unwrap();
    let now = server.revision().await.to_string();
    assert_eq!(
        mark,
        json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
            "resourceVersion": now, "annotations": {"k8s.io/initial-events-end": "true"}}}})
    );
}

#[tokio::test]
async fn objects_that_come_to_match_are_added_and_those_that_cease_to_are_deleted() {
    let server = with_two().await;
    let now = server.revision().await;
    let mut events = server
        .watch(&format!(
            "{MAPS}?watch=1&labelSelector=l%3Dx&resourceVersion={now}"
        ))
        .await;
    let mut check = Vec::new();
    check.push(("ADDED", label(&server, "a", &json!("x")).await));
    let matching = {
        let body = json!({"data": {"key": "2"}}).to_string();
        server
            .ok(Ask::new(format!("PATCH {MAPS}/a")).typed("application/merge-patch+json", body))
            .await
    };
    check.push(("MODIFIED", matching.clone()));
    let gone = label(&server, "a", &json!("y")).await;
    let mut shown = matching;
    shown["metadata"]["resourceVersion"] = gone["metadata"]["resourceVersion"].clone();
    check.push(("DELETED", shown));
    label(&server, "a", &json!("z")).await;
    check.push(("ADDED", label(&server, "b", &json!("x")).await));
    let mut last = server.ok(format!("GET {MAPS}/b")).await;
    server.ok(format!("DELETE {MAPS}/b")).await;
    last["metadata"]["resourceVersion"] = server.revision().await.to_string().into();
    check.push(("DELETED", last));
    for (kind, object) in check {
        assert_eq!(
            events.next().await.unwrap(),
            json!({"type": kind, "object": object})
        );
    }
}

#[tokio::test]
async fn names_select_in_path_and_field() {
    let server = with_two().await;
    for path in [
        format!("{MAPS}?watch=true&fieldSelector=metadata.name%3Db"),
        "/api/v1/configmaps?watch=true&fieldSelector=metadata.name=b".to_owned(),
    ] {
        let mut events = server.watch(&path).await;
        assert_eq!(events.names(1).await, ["ADDED b"]);
    }
    // A path that names an object gets it, whatever else is asked (apiserver pkg/endpoints/request/requestinfo.go).
    assert_eq!(
        server.ok(format!("GET {MAPS}/b?watch=true")).await["metadata"]["name"],
        "b"
    );
}

/// Deprecated since 1.11 and still served.
#[tokio::test]
async fn the_old_paths_of_watches() {
    let server = with_two().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("w")))
        .await;
    let one = "/api/v1/watch/namespaces/default/configmaps/b";
    for (path, expect) in [
        (
            "/api/v1/watch/namespaces/default/configmaps",
            vec!["ADDED a", "ADDED b"],
        ),
        ("/api/v1/watch/configmaps", vec!["ADDED a", "ADDED b"]),
        (one, vec!["ADDED b"]),
        (
            &*format!("{one}?fieldSelector=metadata.name%3Db&resourceVersion=0"),
            vec!["ADDED b"],
        ),
        ("/api/v1/watch/namespaces/default", vec!["ADDED default"]),
        (
            "/apis/example.com/v1/watch/namespaces/default/widgets/w",
            vec!["ADDED w"],
        ),
        // It is the query that makes a watch one for initial events.
        (
            &*format!("{one}?watch=1&allowWatchBookmarks=1"),
            vec!["ADDED b", "BOOKMARK "],
        ),
    ] {
        let mut events = server.watch(path).await;
        assert_eq!(events.names(expect.len()).await, expect, "{path}");
    }
    let mut events = server.watch(one).await;
    events.names(1).await;
    label(&server, "a", &json!("x")).await;
    label(&server, "b", &json!("x")).await;
    assert_eq!(events.names(1).await, ["MODIFIED b"]);
    for (ask, code, why) in [
        (
            format!("GET {one}?fieldSelector=metadata.name%3Da"),
            400,
            "fieldSelector metadata.name doesn't match requested name",
        ),
        (
            format!("GET {one}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1"),
            422,
            "sendInitialEvents is forbidden for list",
        ),
        (
            "GET /api/v1/watch/nothing".to_owned(),
            404,
            "could not find the requested resource",
        ),
        (
            "GET /api/v1/watch/configmaps/b".to_owned(),
            404,
            "could not find the requested resource",
        ),
        (format!("DELETE {one}"), 405, "does not allow this method"),
    ] {
        server.refused(ask, code, why).await;
    }
}

#[tokio::test]
async fn a_version_that_is_gone_is_told_in_the_stream() {
    let server = with_two().await;
    let now = server.revision().await;
    label(&server, "a", &json!("x")).await;
    label(&server, "a", &json!("y")).await;
    server
        .api
        .storage()
        .compact(Revision(server.revision().await))
        .await
        .unwrap();
    let mut events = server
        .watch(&format!("{MAPS}?watch=true&resourceVersion={now}"))
        .await;
    let event = events.next().await.unwrap();
    assert_eq!(event["type"], "ERROR");
    let status = &event["object"];
    assert_eq!(
        (text(&status["kind"]), text(&status["reason"])),
        ("Status", "Expired")
    );
    assert_eq!(status["code"], 410);
    assert!(
        text(&status["message"]).starts_with(&format!("too old resource version: {now} (")),
        "{status}"
    );
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn options_that_make_no_sense() {
    let server = with_two().await;
    for (query, code, why) in [
        (
            "sendInitialEvents=true",
            422,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "sendInitialEvents=true&resourceVersion=5&resourceVersionMatch=Exact",
            422,
            "sendInitialEvents requires setting",
        ),
        (
            "resourceVersion=5&resourceVersionMatch=NotOlderThan",
            422,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            "continue=x",
            422,
            "resourceVersionMatch is forbidden when continue is provided",
        ),
        (
            "resourceVersion=abc",
            500,
            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
        ),
        ("timeoutSeconds=abc", 400, ""),
        ("labelSelector=%21%21", 400, ""),
        (
            "fieldSelector=data.key%3D1",
            400,
            "\"data.key\" is not a known field selector",
        ),
    ] {
        server
            .refused(format!("GET {MAPS}?watch=true&{query}"), code, why)
            .await;
    }
    let yaml = Ask::new(format!("GET {MAPS}?watch=true")).header("accept", "application/yaml");
    server
        .refused(yaml, 406, "only the following media types are accepted")
        .await;
}

/// The clock stands still but for the server's own waiting.
#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_time_is_over() {
    let server = with_two().await;
    let began = tokio::time::Instant::now();
    let mut events = server.watch(&format!("{MAPS}?watch=true&timeoutSeconds=7")).await;
    events.names(2).await;
    assert_eq!(events.next().await, None);
    assert_eq!(began.elapsed().as_secs(), 7);

    // A watch that is given less than no time ends before it begins.
    let mut events = server
        .watch(&format!(
            "{MAPS}?watch=true&timeoutSeconds=-1&allowWatchBookmarks=1"
        ))
        .await;
    assert_eq!(events.next().await, None);

    let began = tokio::time::Instant::now();
    let mut events = server.watch(&format!("{MAPS}?watch=true&timeoutSeconds=0")).await;
    events.names(2).await;
    assert_eq!(events.next().await, None);
    let minutes = began.elapsed().as_secs() / 60;
    assert!((30..=60).contains(&minutes), "{minutes} minutes");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_at_intervals_and_before_the_end() {
    let server = Server::with(Options {
        bookmark_interval: Duration::from_secs(10),
        ..Options::default()
    })
    .await;
    let now = server.revision().await;
    let path = format!("{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=25&resourceVersion={now}");
    let began = tokio::time::Instant::now();
    let mut events = server.watch(&path).await;
    let write = async |name: &str| {
        let secret = json!({"metadata": {"name": name}});
        server
            .ok(Ask::json("POST /api/v1/namespaces/default/secrets", &secret))
            .await
    };
    write("first").await;
    for (at, written) in [(10, true), (20, false), (23, false)] {
        let event = events.next().await.unwrap();
        assert_eq!(event["type"], "BOOKMARK");
        assert_eq!(began.elapsed().as_secs(), at);
        assert_eq!(
            version(&event["object"]),
            server.revision().await,
            "elsewhere was written, which a bookmark tells"
        );
        assert_eq!(event["object"]["metadata"].get("annotations"), None);
        if written {
            write("second").await;
        }
    }
    assert_eq!(events.next().await, None);

    let present = server.revision().await;
    for (query, why) in [
        (format!("resourceVersion={now}"), "none who did not ask gets one"),
        (
            format!("allowWatchBookmarks=true&resourceVersion={present}"),
            "there is nothing that the client does not know",
        ),
        (
            format!("allowWatchBookmarks=true&resourceVersion={}", present + 100),
            "the client is ahead",
        ),
    ] {
        let silent = format!("{MAPS}?watch=true&timeoutSeconds=25&{query}");
        assert_eq!(server.watch(&silent).await.next().await, None, "{why}");
    }
    // There is no time for a bookmark before the end.
    let short = format!("{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={now}");
    assert_eq!(server.watch(&short).await.next().await, None);
}

/// Events without end keep neither the end nor a bookmark from coming.
#[tokio::test(start_paused = true)]
async fn a_busy_watch_goes_by_the_clock() {
    let options = Options {
        bookmark_interval: Duration::from_secs(10),
        ..Options::default()
    };
    let server = Server::with(options).await;
    let now = server.revision().await;
    let path = format!("{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion={now}");
    let mut response = server.send(format!("GET {path}")).await.into_body();
    let large = "x".repeat(40 * 1024);
    let mut versions = Vec::new();
    for i in 0..10 {
        let map = config_map(&format!("m{i}"), &large);
        versions.push(version(&server.ok(Ask::json(format!("POST {MAPS}"), &map)).await));
    }
    let mut lines = async || -> Vec<Value> {
        let Some(chunk) = response.chunk().await.unwrap() else {
            return Vec::new();
        };
        assert!(chunk.len() < 128 * 1024, "a piece of {} bytes", chunk.len());
        let lines = chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    };
    assert_eq!(lines().await.len(), 2, "the rest is for later");
    tokio::time::advance(Duration::from_secs(10)).await;
    let bookmark = lines().await;
    assert_eq!(bookmark[0]["type"], "BOOKMARK");
    assert_eq!(
        version(&bookmark[0]["object"]),
        versions[1],
        "it tells of what was sent"
    );
    let next = lines().await;
    assert_eq!(version(&next[0]["object"]), versions[2]);
    tokio::time::advance(Duration::from_secs(90)).await;
    assert_eq!(lines().await, Vec::<Value>::new(), "the time is over");
}

#[tokio::test]
async fn a_table_names_its_columns_once() {
    let server = with_two().await;
    for (query, accept) in [("", "application/json;as=Table;g=meta.k8s.io;v=v1")] {
        let ask = Ask::new(format!("GET {MAPS}?watch=true{query}")).header("accept", accept);
        let mut events = server.watch_as(ask).await;
        for (i, name) in ["a", "b"].into_iter().enumerate() {
            let event = events.next().await.unwrap();
            let table = &event["object"];
            assert_eq!((text(&event["type"]), text(&table["kind"])), ("ADDED", "Table"));
            assert_eq!(
                table["columnDefinitions"]
                    .as_array()
                    .is_some_and(|all| !all.is_empty()),
                i == 0
            );
            let row = &table["rows"][0];
            assert_eq!(row["cells"][0], name);
            assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
        }
    }
    let ask = Ask::new(format!("GET {MAPS}?watch=true")).header(
        "accept",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    );
    let event = server.watch_as(ask).await.next().await.unwrap();
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(event["object"].get("data"), None);
}

#[tokio::test]
async fn watches_show_objects_in_the_version_that_is_asked_for() {
    let server = Server::start().await;
    let scaler = json!({"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}});
    let at =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    server.ok(Ask::json(format!("POST {}", at("v1")), &scaler)).await;
    for version in ["v1", "v2"] {
        let event = server
            .watch(&format!("{}?watch=true", at(version)))
            .await
            .next()
            .await
            .unwrap();
        assert_eq!(event["object"]["apiVersion"], format!("autoscaling/{version}"));
        assert_eq!(event["object"], server.ok(format!("GET {}/h", at(version))).await);
    }
}

/// A client that reads nothing keeps nobody waiting and costs the server one piece of its stream; the history goes on without it.
#[tokio::test]
async fn a_client_that_does_not_read_is_left_behind() {
    const WRITES: usize = 10_000;
    const KEPT: usize = 1_000;
    let storage = MemoryStorage::with_limits(Limits {
        max_events: KEPT,
        ..Limits::default()
    });
    let server = Server::with(Options {
        storage: Arc::new(storage.clone()),
        ..Options::default()
    })
    .await;
    let map = server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "0")))
        .await;
    let begun = version(&map);
    let path = format!("{MAPS}?watch=true&resourceVersion={begun}");
    let mut slow = server.watch(&path).await;
    let mut quick = server.watch(&path).await;
    label(&server, "a", &json!("first")).await;
    assert_eq!(slow.names(1).await, ["MODIFIED a"]);

    let before = Instant::now();
    for i in 0..WRITES {
        let key = Key::new("", "configmaps", Some("default"), "a");
        let held = storage.get(key.clone()).await.unwrap().unwrap();
        let mut value = held.value();
        value["data"]["key"] = json!(i.to_string());
        storage
            .update(key, held.revision(), Encoded::from_value(&value))
            .await
            .unwrap();
        // Who reads is shown each of them.
        if i % 100 == 99 {
            while version(&quick.next().await.unwrap()["object"]) < server.revision().await {}
        }
    }
    assert!(before.elapsed() < Duration::from_secs(60), "a write waited");
    assert!(storage.history_size().0 <= KEPT);
    let mut events = 0;
    let last = loop {
        let event = slow.next().await.unwrap();
        if event["type"] == "ERROR" {
            break event;
        }
        events += 1;
    };
    assert_eq!(
        (&last["object"]["code"], text(&last["object"]["reason"])),
        (&json!(410), "Expired")
    );
    assert!(events < KEPT, "{events} events were kept for it");
    assert_eq!(slow.next().await, None);
}
