//! Servers that send what cannot be read, or say less than they should.

use std::sync::Arc;

use kubewright_core::{DynamicObject, StatusReason, WatchEventKind};

use super::client::{failure, list, server};
use super::informer::{Mirror, Shared};
use super::reflector::{Told::*, after, check, expired, lists, status, synced, unreadable};
use super::{json, pods};
use crate::peek::peek;
use crate::reflector::ReflectorOptions;
use crate::{HandlerOptions, InformerOptions, Informers, SharedInformer, WatchScope};

#[test]
fn what_of_an_object_can_be_read() {
    let long = "1".repeat(256);
    let rows = [
        // Null is as good as absent, as in Go.
        (
            r#"{"name":"a","namespace":null,"uid":null,"resourceVersion":"1","labels":null,"generation":null}"#,
            Ok(""),
        ),
        (
            r#"{"name":"a","namespace":"n","resourceVersion":""}"#,
            Err("n/a: metadata.resourceVersion is empty"),
        ),
        (
            r#"{"name":"a","namespace":"n","resourceVersion":null}"#,
            Err("n/a: missing field `resourceVersion`"),
        ),
        (
            r#"{"name":"a","namespace":"n","uid":7,"resourceVersion":"1"}"#,
            Err("n/a: metadata.uid: invalid type: integer `7`, expected a string at line 1 column 1"),
        ),
        (
            r#"{"name":null,"resourceVersion":"1"}"#,
            Err("not an object with a name and a resource version: missing field `name`"),
        ),
        (
            r#"{"name":"","resourceVersion":"1"}"#,
            Err("not an object with a name and a resource version: metadata.name is empty"),
        ),
    ];
    for (metadata, expect) in rows {
        let raw = format!(r#"{{"metadata":{metadata}}}"#);
        let found = peek(raw.as_bytes())
            .map(|head| head.namespace.into_owned())
            .map_err(|error| error.to_string());
        assert_eq!(found, expect.map(str::to_owned).map_err(str::to_owned), "{raw}");
    }
    let raw = [
        br#"{"metadata":{"name":"a","resourceVersion":"1"},"data":""#,
        &b"\xff\"}"[..],
    ]
    .concat();
    let error = peek(&raw).err().unwrap().to_string();
    assert_eq!(error, "a: invalid utf-8 sequence of 1 bytes from index 55");
    let raw = json("n/a", "u", 1).replace(
        r#""resourceVersion":"1""#,
        &format!(r#""resourceVersion":"{long}""#),
    );
    let error = crate::Cached::<DynamicObject>::from_json(raw.as_bytes())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "n/a: a uid or resource version of more than 255 bytes is too large"
    );
}

#[test]
fn what_the_reflector_makes_of_it() {
    use WatchEventKind::{Added as ADDED, Deleted as DELETED, Modified as MODIFIED};
    check(
        lists(),
        after(
            synced(),
            vec![
                (Unreadable(MODIFIED, "n/a"), "read"),
                (Unreadable(ADDED, "n/c"), "read"),
                (Unreadable(DELETED, "n/a"), "lose n/a, read"),
                // From there it would come again.
                (Closed, "report watch, wait"),
            ],
        ),
    );
    check(
        ReflectorOptions::default(),
        vec![
            (Start, "stream@"),
            (Opened, "read 10s"),
            (Added("n/a", 3), "read 10s"),
            (Unreadable(ADDED, "n/b"), "read 10s"),
            (Unreadable(ADDED, "n/c"), "read 10s"),
            (Unreadable(DELETED, "n/c"), "read 10s"),
            (InitialEnd(6), "replace[n/a n/b]@6, read"),
        ],
    );
}

#[test]
fn bookmarks_bring_nobody_further() {
    // A server that sends one and closes each watch is not asked without a wait.
    check(
        lists(),
        after(
            synced(),
            vec![
                (Bookmark(6), "bookmark 6, read"),
                (Closed, "report watch, wait"),
                (Start, "watch@6"),
                (Opened, "read 1s"),
                (Added("n/a", 7), "+n/a=u@7, read"),
                (Closed, "watch@7"),
            ],
        ),
    );
    // Bookmarks that are not the last do not put off when that is due.
    check(
        ReflectorOptions::default(),
        vec![
            (Start, "stream@"),
            (Opened, "read 10s"),
            (Seconds(9), ""),
            (Bookmark(5), "read 1s"),
            (Seconds(1), ""),
            (Bookmark(5), "report watch, list@ 500"),
        ],
    );
}

/// What is seen is seen: an old event changes its object, and the watch goes on where it was.
#[test]
fn an_older_event_takes_nobody_back() {
    check(
        lists(),
        after(
            synced(),
            vec![
                (Modified("n/a", 3), "+n/a=u@3, bookmark 5, read"),
                (Closed, "report watch, wait"),
                (Start, "watch@5"),
            ],
        ),
    );
}

#[test]
fn what_cannot_be_read_is_listed_instead() {
    // At once, or after others: never the same version again.
    check(
        lists(),
        after(
            synced(),
            vec![
                (Failed(unreadable()), "report watch, wait"),
                (Start, "list>=5 500"),
                (Page("a", 6, ""), "replace[a]@6, watch@6"),
                (Opened, "read"),
                (Added("b", 7), "+b=u@7, read"),
                (Seconds(20), ""),
                (Failed(unreadable()), "report watch, wait"),
                (Start, "list>=7 500"),
            ],
        ),
    );
}

/// A server that refuses both refuses something else than streaming.
#[test]
fn who_refuses_the_list_too_may_know_streaming() {
    let refusal = || status(StatusReason::BadRequest, 400, "field label not supported");
    check(
        ReflectorOptions::default(),
        vec![
            (Start, "stream@"),
            (OpenFailed(refusal()), "list@ 500"),
            (PageFailed(refusal()), "report list, wait"),
            (Start, "stream@"),
            (OpenFailed(refusal()), "list@ 500"),
            (Page("n/a", 5, ""), "replace[n/a]@5, watch@5"),
            (OpenFailed(expired()), "list>=5 500"),
        ],
    );
}

/// An informer of a server that refuses streaming lists and then answers so, and what its handler is told.
fn informer(
    answers: Vec<(u16, String)>,
) -> (
    SharedInformer<DynamicObject>,
    Arc<parking_lot::Mutex<Vec<String>>>,
) {
    let refusal = failure(StatusReason::Invalid, 422);
    let (client, seen) = server([vec![refusal], answers].concat());
    let informers = Informers::new(client, InformerOptions::default());
    (informers.informer_for(&pods(), &WatchScope::default()), seen)
}

fn event(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}"#)
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_stays_until_it_is_deleted() {
    let [a, b] = [json("n/a", "u", 3), json("n/b", "v", 4)];
    let unreadable = b.replace(r#""4""#, &format!(r#""{}""#, "1".repeat(256)));
    let gone = event(
        "ERROR",
        &serde_json::to_string(expired().as_status().unwrap()).unwrap(),
    );
    let changes = [
        event("MODIFIED", &json("n/a", "u", 10)),
        event("MODIFIED", &unreadable),
        event("DELETED", &unreadable),
        event("MODIFIED", &json("n/a", "u", 12)),
    ];
    let (informer, _) = informer(vec![
        list(7, "", &[&a, &b]),
        (200, gone),
        list(9, "", &[&a, &unreadable]),
        (200, changes.concat()),
    ]);
    let mirror: Arc<Mirror> = Arc::default();
    let _registration = informer.add_handler(Shared(Arc::clone(&mirror)), HandlerOptions::default());
    let lister = informer.lister();
    lister
        .wait_until(|lister| lister.version().as_str() == "12")
        .await;
    super::informer::settle().await;
    let calls = mirror.calls.lock().clone();
    let told = |what: &str| calls.iter().filter(|call| call.starts_with(what)).count();
    assert_eq!(
        (told("add"), told("delete"), calls.last().map(String::as_str)),
        (2, 1, Some("update n/a")),
        "{calls:?}"
    );
    assert!(calls.contains(&"delete n/b Unknown".to_owned()), "{calls:?}");
    assert_eq!((lister.len(), informer.health().borrow().malformed), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn no_watch_begins_where_nobody_knows() {
    let nameless = r#"{"kind":"PodList","metadata":{"resourceVersion":null,"continue":null},"items":[]}"#;
    let (informer, seen) = informer(vec![(200, nameless.to_owned())]);
    let mut health = informer.health();
    let failure = health
        .wait_for(|health| health.failure.is_some())
        .await
        .unwrap()
        .clone();
    assert_eq!(
        failure.failure.unwrap().error.to_string(),
        "the list has no resource version"
    );
    assert!(!informer.has_synced());
    assert_eq!(seen.lock().len(), 2, "{seen:?}");

    let unversioned = json("n/c", "w", 8).replace(r#""8""#, r#""""#);
    let (informer, seen) = self::informer(vec![
        list(7, "", &[]),
        (
            200,
            [event("ADDED", &unversioned), event("ADDED", &json("n/d", "x", 9))].concat(),
        ),
    ]);
    informer
        .lister()
        .wait_until(|lister| lister.len() == 1 && seen.lock().len() == 4)
        .await;
    assert!(seen.lock()[3].contains("resourceVersion=9&"), "{seen:?}");
}
