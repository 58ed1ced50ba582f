//! The client as a source: what goes over the wire, and what becomes of it.

use std::collections::VecDeque;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use kubewright_client::{Client, RawList, View};
use kubewright_core::{DynamicObject, ListOptions, PartialObject, Status, StatusReason};
use kubewright_net::{Body, HttpService};
use parking_lot::Mutex;

use super::{json, pods};
use crate::{InformerOptions, Informers, SourceError, Sources as _, WatchScope};

/// Plays answers in order, then says nothing, and records what it was asked.
pub(super) fn server(answers: Vec<(u16, String)>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let lines = Arc::clone(&seen);
    let service = HttpService::from_fn(move |request: Request<Body>| {
        lines.lock().push(request.uri().to_string());
        let answer = answers.lock().pop_front();
        async move {
            let Some((code, body)) = answer else {
                return std::future::pending().await;
            };
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            Ok(response)
        }
    });
    (Client::from_service(service, "default"), seen)
}

pub(super) fn failure(reason: StatusReason, code: u16) -> (u16, String) {
    (
        code,
        serde_json::to_string(&Status::failure(reason, "no").with_code(code)).unwrap(),
    )
}

pub(super) fn list(version: u64, token: &str, items: &[&str]) -> (u16, String) {
    let metadata = format!(r#"{{"resourceVersion":"{version}","continue":"{token}"}}"#);
    (
        200,
        format!(
            r#"{{"kind":"PodList","metadata":{metadata},"items":[{}]}}"#,
            items.join(",")
        ),
    )
}

#[tokio::test(start_paused = true)]
async fn an_informer_over_the_wire() {
    let (a, b) = (json("n/a", "u", 3), json("n/b", "v", 4));
    let event = format!(r#"{{"type":"MODIFIED","object":{}}}"#, json("n/a", "u", 8));
    let (client, seen) = server(vec![
        failure(StatusReason::Invalid, 422),
        list(7, "t", &[&a]),
        list(7, "", &[&b]),
        (200, event),
    ]);
    let informers = Informers::new(
        client,
        InformerOptions {
            seed: Some(1),
            ..InformerOptions::default()
        },
    );
    let scope = WatchScope {
        labels: "app in (a, b)".parse().unwrap(),
        ..WatchScope::namespace("n")
    };
    let informer = informers.informer_for::<DynamicObject>(&pods(), &scope);
    let lister = informer.lister();
    lister
        .wait_until(|lister| lister.version().as_str() == "8" && seen.lock().len() == 5)
        .await;
    assert_eq!(lister.len(), 2);
    let path = "/api/v1/namespaces/n/pods?labelSelector=app+in+%28a%2Cb%29";
    let lines: Vec<String> = seen
        .lock()
        .iter()
        .map(|line| {
            // The time of a watch is random.
            let (head, tail) = line.split_once("&timeoutSeconds=").unwrap_or((line, ""));
            let tail = tail.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{head}{tail}").replace(path, "")
        })
        .collect();
    assert_eq!(
        lines,
        [
            "&resourceVersionMatch=NotOlderThan&watch=true&allowWatchBookmarks=true&sendInitialEvents=true",
            "&limit=500",
            "&continue=t&limit=500",
            "&resourceVersion=7&watch=true&allowWatchBookmarks=true",
            "&resourceVersion=8&watch=true&allowWatchBookmarks=true",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_is_another_informer() {
    let slim = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"3"}}"#;
    let (client, _) = server(vec![failure(StatusReason::Invalid, 422), list(7, "", &[slim])]);
    let informers = Informers::new(client, InformerOptions::default());
    let scope = WatchScope {
        view: View::Metadata,
        ..WatchScope::default()
    };
    let metadata = informers.informer_for::<PartialObject>(&pods(), &scope);
    metadata.synced().await;
    assert_eq!(
        metadata.lister().list()[0]
            .object()
            .unwrap()
            .metadata
            .name
            .as_deref(),
        Some("a")
    );
    let _full = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
    assert_eq!(informers.running(), 2);
}

#[tokio::test(start_paused = true)]
async fn failures_keep_what_they_mean() {
    type Row = (u16, StatusReason, fn(&SourceError) -> bool);
    let rows: [Row; 3] = [
        (410, StatusReason::Expired, SourceError::is_expired),
        (
            429,
            StatusReason::TooManyRequests,
            SourceError::is_too_many_requests,
        ),
        (403, StatusReason::Forbidden, |error| {
            error.as_status().is_some_and(|status| status.code == 403)
        }),
    ];
    for (code, reason, expect) in rows {
        let (client, _) = server(vec![failure(reason, code)]);
        let source = client.source(&pods(), &WatchScope::default());
        let error = source
            .list_page(ListOptions::default(), &mut RawList::default())
            .await
            .unwrap_err();
        assert!(expect(&error), "{code}: {error:?}");
    }
    let (client, _) = server(vec![(200, "<html>".into())]);
    let source = client.source(&pods(), &WatchScope::default());
    let error = source
        .list_page(ListOptions::default(), &mut RawList::default())
        .await
        .unwrap_err();
    assert!(matches!(&error, SourceError::Unreadable { .. }), "{error:?}");
    assert!(error.to_string().contains("could not be decoded"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_breaks_off_counts_for_nothing() {
    let (a, b, c) = (json("n/a", "u", 3), json("n/b", "v", 4), json("n/c", "w", 5));
    let (code, whole) = list(7, "", &[&a, &b]);
    let broken = whole.strip_suffix("]}").unwrap().to_owned();
    let (client, seen) = server(vec![
        failure(StatusReason::Invalid, 422),
        (code, broken.clone()),
        list(7, "t", &[&a]),
        (code, broken),
        list(8, "", &["{\"metadata\":{\"name\":7}}", "[]", &c]),
    ]);
    let informers = Informers::new(client, InformerOptions::default());
    let informer = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
    informer.synced().await;
    let names: Vec<String> = informer
        .lister()
        .list()
        .iter()
        .map(|object| object.name().to_owned())
        .collect();
    assert_eq!(names, ["c"], "{:?}", seen.lock());
}

/// Servers send the version of a list of custom resources behind its items.
#[tokio::test(start_paused = true)]
async fn the_version_of_a_list_may_stand_behind_its_items() {
    let page = |version: u64, token: &str, item: &str| {
        let metadata = format!(r#"{{"resourceVersion":"{version}","continue":"{token}"}}"#);
        (200, format!(r#"{{"items":[{item}],"metadata":{metadata}}}"#))
    };
    let (a, b) = (json("n/a", "u", 3), json("n/b", "v", 4));
    let (client, seen) = server(vec![
        failure(StatusReason::Invalid, 422),
        page(7, "t", &a),
        page(7, "", &b),
        failure(StatusReason::Expired, 410),
        page(9, "", &[a, json("n/b", "v", 8)].join(",")),
    ]);
    let informers = Informers::new(client, InformerOptions::default());
    let informer = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
    let lister = informer.lister();
    lister.wait_until(|lister| lister.version().as_str() == "9").await;
    let mut versions: Vec<String> = lister
        .list()
        .iter()
        .map(|object| object.resource_version().to_string())
        .collect();
    versions.sort();
    assert_eq!(versions, ["3", "8"], "{:?}", seen.lock());
}

/// Where versions have been given out twice, an object of a known version may be another.
#[tokio::test(start_paused = true)]
async fn a_list_that_tells_late_that_the_server_was_rewound_is_read_again() {
    let before = json("n/a", "u", 3);
    let after = before.replace(r#""containers":[]"#, r#""containers":[{}]"#);
    let metadata = |version: u64| format!(r#""metadata":{{"resourceVersion":"{version}"}}"#);
    let first = |version: u64, item: &str| (200, format!(r#"{{{},"items":[{item}]}}"#, metadata(version)));
    let last = |version: u64, item: &str| (200, format!(r#"{{"items":[{item}],{}}}"#, metadata(version)));
    // How the list is written that comes when the server was rewound, and how often it is asked for.
    for (rewound, lists) in [(first(5, &after), 1), (last(5, &after), 2)] {
        let mut answers = vec![
            failure(StatusReason::Invalid, 422),
            last(9, &before),
            failure(StatusReason::Expired, 410),
        ];
        answers.extend(vec![rewound; lists]);
        let (client, seen) = server(answers);
        let informers = Informers::new(client, InformerOptions::default());
        let informer = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
        let lister = informer.lister();
        lister.wait_until(|lister| lister.version().as_str() == "5").await;
        let object = lister.list().remove(0);
        assert_eq!(object.raw(), after, "{:?}", seen.lock());
    }
    // One whose history goes on is believed.
    let (client, _) = server(vec![
        failure(StatusReason::Invalid, 422),
        last(9, &before),
        failure(StatusReason::Expired, 410),
        last(10, &after),
    ]);
    let informers = Informers::new(client, InformerOptions::default());
    let informer = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
    let lister = informer.lister();
    lister
        .wait_until(|lister| lister.version().as_str() == "10")
        .await;
    assert_eq!(lister.list().remove(0).raw(), before);
    assert_eq!(informer.stats().counts.unchanged, 1);
}

/// One without an item, too, and whatever comes first in it.
#[tokio::test(start_paused = true)]
async fn a_page_is_a_sign_of_life() {
    let empty = r#"{"items":[],"metadata":{"resourceVersion":"7"}}"#.to_owned();
    for page in [list(7, "", &[]), (200, empty)] {
        let (client, _) = server(vec![failure(StatusReason::Invalid, 422), page]);
        let informers = Informers::new(client, InformerOptions::default());
        let informer = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
        informer.synced().await;
        assert!(informer.stats().silence.is_some());
    }
}

/// What is cut out of lists and watches is not looked at: an object of nonsense is one, and those around it are as they are.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_no_json_concerns_no_other() {
    let nonsense =
        |name: &str, version: u64| json(name, "u", version).replacen('{', "{\"spec\":{\"x\":[}},", 1);
    let late = |name: &str, version: u64| {
        let object = json(name, "u", version);
        let whole = object.strip_suffix('}').unwrap();
        format!(r#"{whole},"status":{{"x" 1}}}}"#)
    };
    let event = |object: &str| format!(r#"{{"type":"ADDED","object":{object}}}"#);
    let events = [
        event(&nonsense("n/c", 8)),
        event(&late("n/d", 9)),
        event(&json("n/e", "w", 10)),
    ];
    let (client, seen) = server(vec![
        failure(StatusReason::Invalid, 422),
        list(
            7,
            "",
            &[&nonsense("n/a", 3), &late("n/b", 4), &json("n/f", "v", 5)],
        ),
        (200, events.concat()),
    ]);
    let informers = Informers::new(client, InformerOptions::default());
    let informer = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
    let lister = informer.lister();
    lister
        .wait_until(|lister| lister.version().as_str() == "10")
        .await;
    let mut found: Vec<(String, bool)> = lister
        .list()
        .iter()
        .map(|object| (object.name().to_owned(), object.object().is_ok()))
        .collect();
    found.sort();
    let expect = [
        ("a", false),
        ("b", false),
        ("c", false),
        ("d", false),
        ("e", true),
        ("f", true),
    ];
    assert_eq!(
        found,
        expect.map(|(name, is_read)| (name.to_owned(), is_read)),
        "{:?}",
        seen.lock()
    );
}

/// What came before a failure does not take it back.
#[tokio::test(start_paused = true)]
async fn a_failure_right_behind_an_object_is_told_of() {
    let error = r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"InternalError","code":500}}"#;
    let object = json("n/a", "u", 8);
    let events = format!(r#"{{"type":"ADDED","object":{object}}}{error}"#);
    let (client, _) = server(vec![
        failure(StatusReason::Invalid, 422),
        list(7, "", &[]),
        (200, events),
    ]);
    let informers = Informers::new(client, InformerOptions::default());
    let informer = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
    let lister = informer.lister();
    lister.wait_until(|lister| lister.len() == 1).await;
    let failure = informer.health().borrow().failure.clone();
    assert_eq!(failure.map(|failure| failure.count), Some(1));
}
