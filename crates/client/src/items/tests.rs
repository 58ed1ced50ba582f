use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Request, Response};
use kubewright_core::{ListMeta, ListOptions};
use kubewright_net::{Body, HttpService};
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::splitter::{ListSplitter, SplitError};
use crate::client::{Client, ClientOptions};
use crate::error::Error;
use crate::raw::RawList;

/// What comes of a text in pieces of a size.
fn split(text: &[u8], size: usize, limit: usize) -> Result<RawList, SplitError> {
    let mut splitter = ListSplitter::new(limit);
    let mut items = Vec::new();
    for piece in text.chunks(size) {
        splitter.push(Bytes::copy_from_slice(piece));
        while let Some(item) = splitter.next_item()? {
            items.push(item);
        }
    }
    let metadata = splitter.finish()?;
    Ok(RawList { metadata, items })
}

/// The same for pieces of any size.
fn split_anyhow(text: &[u8], limit: usize) -> Result<RawList, SplitError> {
    let whole = split(text, text.len().max(1), limit);
    for size in [1, 2, 3, 7, 64, 100] {
        assert_eq!(split(text, size, limit), whole, "pieces of {size} bytes");
    }
    whole
}

#[test]
fn lists_are_cut_into_their_items() {
    type Row = (&'static str, Option<(&'static str, &'static [&'static str])>);
    let rows: [Row; 26] = [
        (
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"a": 1},{}]}"#,
            Some(("7", &[r#"{"a": 1}"#, "{}"])),
        ),
        // As custom resources come.
        (
            r#"{"apiVersion":"v1","items":[{"a":"]}"},{"b":"\"}"}],"kind":"XList","metadata":{"resourceVersion":"8","x":1}}"#,
            Some(("8", &[r#"{"a":"]}"}"#, r#"{"b":"\"}"}"#])),
        ),
        (
            r#"{"items":null,"metadata":{"resourceVersion":"8"}}"#,
            Some(("8", &[])),
        ),
        (r#"{"items":null}"#, Some(("", &[]))),
        // Whoever takes these for empty lists believes that everything is gone.
        (r#"{"metadata":{"resourceVersion":"9"}}"#, None),
        (
            r#"{"kind":"Status","status":"Success","details":{"items":[]}}"#,
            None,
        ),
        ("{}", None),
        (
            " {\n\"items\" : [\t\"\\\"\u{e9}\" , [ ] , 1e5,null , true\r] }\n ",
            Some(("", &["\"\\\"\u{e9}\"", "[ ]", "1e5", "null", "true"])),
        ),
        // Other names of the same, and other fields of those names.
        (r#"{"\u0069tems":[1]}"#, Some(("", &["1"]))),
        (
            r#"{"x":{"items":[2],"metadata":{"resourceVersion":"1"}},"items":[{"items":[3]}],"y":[{"items":[4]}]}"#,
            Some(("", &[r#"{"items":[3]}"#])),
        ),
        (r#"{"x":1,"x":"2","items":[]}"#, Some(("", &[]))),
        (r#"{"items":[]} trailing"#, None),
        (r#"{"items":[]}{}"#, None),
        (r#"{"items":[}"#, None),
        (r#"{"items":[1,]}"#, None),
        (r#"{"items":[,1]}"#, None),
        (r#"{"items":[1 2]}"#, None),
        (r#"{"items":[],}"#, None),
        (r#"{"items":[]"kind":""}"#, None),
        (r#"{"items":{}}"#, None),
        (r#"{"items":"[]"}"#, None),
        (r#"{"items":nul}"#, None),
        (r#"{"items":[],"items":[]}"#, None),
        (r#"{"metadata":{},"metadata":{}}"#, None),
        (r#"{"metadata":null}"#, None),
        (r#"{"kind":[},"items":[]}"#, None),
    ];
    for (text, expect) in rows {
        let list = split_anyhow(text.as_bytes(), 1000);
        let expect = expect.map(|(version, items)| {
            let items = items.iter().map(|item| Bytes::from_static(item.as_bytes()));
            (version.to_owned(), items.collect::<Vec<_>>())
        });
        let found = list
            .clone()
            .map(|list| (list.metadata.resource_version, list.items));
        assert_eq!(found.ok(), expect, "{text}: {list:?}");
        let whole = RawList::split(&Bytes::from_static(text.as_bytes()));
        assert_eq!(whole.ok(), list.ok(), "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let rows: [(&[u8], &str); 22] = [
        (
            b"",
            "the list ends after 0 bytes, where the bracket of an object should follow",
        ),
        (b"<html>", "byte 0 of the list should be the bracket of an object"),
        (
            b"[{},[]]",
            "byte 0 of the list should be the bracket of an object",
        ),
        (
            b"{items:[]}",
            "byte 1 of the list should be a name or the closing bracket",
        ),
        (b"{\"a\":1,}", "byte 7 of the list should be a name"),
        (b"{\"a\" 1}", "byte 5 of the list should be a colon"),
        (b"{\"a\":}", "byte 5 of the list should be a value"),
        (
            b"{\"items\":[x]}",
            "byte 10 of the list should be an item or the closing bracket of the items",
        ),
        (
            b"{\"items\":[{}{}]}",
            "byte 12 of the list should be a comma or the closing bracket of the items",
        ),
        (b"{\"items\":[]} {}", "byte 13 of the list should be the end"),
        (
            b"{}",
            "what came is no list: an object that names no kind, without items",
        ),
        (
            b"{\"kind\":\"Pod\",\"spec\":{\"items\":[1]}}",
            "what came is no list: an object of kind \"Pod\", without items",
        ),
        (
            b"{\"kind\":\"Status\",\"message\":\"go \\\"away\\\"\",\"code\":200}",
            "what came is no list: an object of kind \"Status\" that says \"go \\\"away\\\"\", without items",
        ),
        (
            b"{\"kind\":null,\"message\":{\"a\":1}}",
            "what came is no list: an object that names no kind, without items",
        ),
        (
            b"{\"items\":[{\"a\":\"",
            "the list ends after 16 bytes, where the rest of an item should follow",
        ),
        (
            b"{\"items\":[{}",
            "the list ends after 12 bytes, where a comma or the closing bracket of the items should follow",
        ),
        (
            b"{\"items\":{}}",
            "field \"items\" of the list, at byte 9, cannot be read: it is neither an array nor null",
        ),
        (
            b"{\"items\":[],\"items\":[]}",
            "field \"items\" of the list, at byte 12, cannot be read: it is there twice",
        ),
        (
            b"{\"metadata\":[}",
            "field \"metadata\" of the list, at byte 12, cannot be read: expected value at line 1 column 2",
        ),
        (
            b"{\"kind\":nil}",
            "field \"kind\" of the list, at byte 8, cannot be read: expected ident at line 1 column 2",
        ),
        (
            b"{\"k\xff\":1}",
            "field \"\\\"k\u{fffd}\\\"\" of the list, at byte 1, cannot be read: invalid unicode code point at line 1 column 3",
        ),
        (
            b"{\"items\":[{\"a\":\"0123456789012345678901234567890123456789\"}]}",
            "the text at byte 10 of the list is larger than 40 bytes",
        ),
    ];
    for (text, expect) in rows {
        let found = split_anyhow(text, 40).map_err(|error| error.to_string());
        let text = String::from_utf8_lossy(text);
        assert_eq!(found, Err(expect.to_owned()), "{text}");
    }
    let deep = format!("{{\"items\":[{}", "[".repeat(10_001));
    let deep = split(deep.as_bytes(), 100, 100_000).map_err(|error| error.to_string());
    let expect = "the bracket at byte 10010 of the list lies in more than 10000 others";
    assert_eq!(deep, Err(expect.to_owned()));
}

/// What says much is not shown whole.
#[test]
fn what_is_no_list_has_no_room_in_an_error() {
    let text = serde_json::json!({ "kind": "é".repeat(1000), "message": "x".repeat(1000) }).to_string();
    let SplitError::NoItems { kind, message } = split(text.as_bytes(), 7, 10_000).unwrap_err() else {
        panic!("{text} is no list");
    };
    assert_eq!(kind, "é".repeat(256));
    assert_eq!(message, "x".repeat(256));
}

#[test]
fn pieces_may_be_pushed_before_they_are_used_up() {
    let mut splitter = ListSplitter::new(100);
    splitter.push(Bytes::from_static(b"{\"items\":[1,{\"a\""));
    assert_eq!(splitter.next_item().unwrap().as_deref(), Some(&b"1"[..]));
    splitter.push(Bytes::from_static(b":2}"));
    splitter.push(Bytes::from_static(b",3], x"));
    assert_eq!(splitter.next_item().unwrap().as_deref(), Some(&b"{\"a\":2}"[..]));
    let expected = "a name";
    assert_eq!(
        splitter.finish(),
        Err(SplitError::Unexpected { expected, offset: 24 })
    );
}

#[test]
fn an_error_stays() {
    let mut splitter = ListSplitter::new(100);
    splitter.push(Bytes::from_static(b"{\"items\":[1,x"));
    assert_eq!(splitter.next_item().unwrap().as_deref(), Some(&b"1"[..]));
    let error = splitter.next_item().unwrap_err();
    splitter.push(Bytes::from_static(b"]}"));
    assert_eq!(splitter.next_item().unwrap_err(), error);
    assert!(!splitter.is_complete());
    assert_eq!(splitter.finish().unwrap_err(), error);
}

/// One item of nonsense is one item: those around it are what they are.
#[test]
fn what_makes_no_sense_concerns_no_other() {
    let list = split_anyhow(br#"{"items":[{"a":1},{"a" 2},{],-,{"a":3}]}"#, 100).unwrap();
    let items: Vec<&[u8]> = list.items.iter().map(|item| &item[..]).collect();
    let expect: [&[u8]; 5] = [b"{\"a\":1}", b"{\"a\" 2}", b"{]", b"-", b"{\"a\":3}"];
    assert_eq!(items, expect);
}

#[test]
fn metadata_is_known_as_soon_as_it_is_there() {
    let meta = ListMeta {
        resource_version: "7".to_owned(),
        ..ListMeta::default()
    };
    for (text, first, last) in [
        (
            r#"{"metadata":{"resourceVersion":"7"},"items":[1]}"#,
            Some(&meta),
            Some(&meta),
        ),
        (
            r#"{"items":[1],"metadata":{"resourceVersion":"7"}}"#,
            None,
            Some(&meta),
        ),
        (r#"{"items":[1]}"#, None, None),
    ] {
        let mut splitter = ListSplitter::new(100);
        splitter.push(Bytes::from_static(text.as_bytes()));
        assert!(splitter.next_item().unwrap().is_some());
        assert_eq!(splitter.metadata(), first, "{text}");
        assert_eq!(
            (splitter.next_item().unwrap(), splitter.metadata()),
            (None, last),
            "{text}"
        );
        assert!(splitter.is_complete());
    }
}

/// An item within a piece is not copied.
#[test]
fn items_are_slices_of_their_piece() {
    let piece = Bytes::from_static(br#"{"items":[{"a":1},"x"]}"#);
    let mut splitter = ListSplitter::new(100);
    splitter.push(piece.clone());
    for range in [10..17, 18..21] {
        let item = splitter.next_item().unwrap().unwrap();
        assert_eq!(item.as_ptr(), piece[range].as_ptr());
    }
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a\\\\\"{}\\[\\],:\u{e9}\n ]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::btree_map("[a-c\\\\\"{}]{0,3}", inner, 0..5)
                .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

fn written(value: &serde_json::Value, pretty: bool) -> String {
    match pretty {
        true => serde_json::to_string_pretty(value).unwrap(),
        false => value.to_string(),
    }
}

proptest! {
    #[test]
    fn whatever_the_pieces_are_lists_are_split_as_whole_ones(
        items in proptest::collection::vec(value(), 0..8),
        other in value(),
        order in Just(vec![0, 1, 2]).prop_shuffle(),
        pretty in any::<bool>(),
        size in 1_usize..300,
    ) {
        let fields = [
            format!("\"items\": {}", written(&items.into(), pretty)),
            "\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"\\\"}\"}".to_owned(),
            format!("\"other\":{}", written(&other, pretty)),
        ];
        let fields: Vec<&str> = order.iter().map(|number| &*fields[*number]).collect();
        let text = Bytes::from(format!("{{{}}}", fields.join(", ")));
        let whole = RawList::split(&text).unwrap();
        prop_assert_eq!(split(&text, size, 1 << 20), Ok(whole.clone()));
        prop_assert_eq!(split(&text, 1, 1 << 20), Ok(whole));
        // Nothing less than all of it is a list.
        let cut = size % text.len();
        prop_assert!(split(&text[..cut], size, 1 << 20).is_err());
    }

    /// What is cut where it is no list either is refused, or an item is no JSON; everything else is as in one piece.
    #[test]
    fn damaged_lists_are_no_other_lists(
        items in proptest::collection::vec(value(), 0..4),
        place in any::<prop::sample::Index>(),
        byte in prop_oneof![any::<u8>(), prop::sample::select(&b"\"\\{}[],: 0n"[..])],
        how in 0..3,
        size in 1_usize..100,
    ) {
        let text = serde_json::json!({ "items": items, "kind": "List", "metadata": { "resourceVersion": "5" } });
        let mut text = text.to_string().into_bytes();
        let place = place.index(text.len());
        match how {
            0 => text[place] = byte,
            1 => text.insert(place, byte),
            _ => drop(text.remove(place)),
        }
        let text = Bytes::from(text);
        let found = split(&text, size, 1 << 20);
        prop_assert_eq!(&split(&text, text.len(), 1 << 20), &found);
        match (RawList::split(&text), found) {
            (Ok(whole), found) => prop_assert_eq!(found, Ok(whole)),
            (Err(_), Err(_)) => {}
            (Err(error), Ok(found)) => {
                let is_json = |item: &Bytes| serde_json::from_slice::<&RawValue>(item).is_ok();
                prop_assert!(!found.items.iter().all(is_json), "{error}: {found:?}");
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), size in 1_usize..50) {
        prop_assert_eq!(split(&bytes, size, 50), split(&bytes, 1, 50));
    }
}

/// A client of a server that sends these pieces, and how many were asked for.
fn sending(pieces: Vec<Bytes>, max_event_bytes: usize) -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let service = HttpService::from_fn(move |request: Request<Body>| {
        assert_eq!(request.uri(), "/api/v1/pods?limit=3");
        let count = Arc::clone(&count);
        let pieces = stream::iter(pieces.clone()).map(move |piece| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(piece)
        });
        async { Ok(Response::new(Body::stream(pieces))) }
    });
    let options = ClientOptions {
        max_event_bytes,
        // Less than the list has.
        max_response_bytes: 10,
        ..ClientOptions::default()
    };
    let client = Client::from_service(service, "default");
    (client.with_client_options(options), asked)
}

fn options() -> ListOptions {
    ListOptions {
        limit: 3,
        // Of a list, whatever else was asked for.
        watch: true,
        ..ListOptions::default()
    }
}

#[tokio::test]
async fn what_is_not_asked_for_is_not_read() {
    let mut pieces = vec![Bytes::from_static(
        b"{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{}",
    )];
    pieces.extend((1..100).map(|number| Bytes::from(format!(",{{\"a\":{number}}}"))));
    pieces.push(Bytes::from_static(b"]}"));
    let (client, asked) = sending(pieces, 100);
    let path = "/api/v1/pods".into();
    let mut list = client.list_items(&path, &options()).await.unwrap();
    assert_eq!((list.metadata(), asked.load(Ordering::Relaxed)), (None, 0));
    for number in 1..50 {
        assert!(list.next().await.unwrap().is_some());
        assert_eq!(asked.load(Ordering::Relaxed), number);
        assert_eq!(list.metadata().unwrap().resource_version, "7");
    }
    // The rest is read all the same, so that what was cut short is told from what is whole.
    assert_eq!(list.finish().await.unwrap().resource_version, "7");
    assert_eq!(asked.load(Ordering::Relaxed), 101);
}

#[tokio::test]
async fn an_item_has_a_limit() {
    let text = Bytes::from_static(b"{\"items\":[{\"a\":1},{\"a\":\"0123456789\"}]}");
    for pieces in [
        vec![text.clone()],
        text.chunks(1).map(Bytes::copy_from_slice).collect(),
    ] {
        let (client, _) = sending(pieces, 10);
        let path = "/api/v1/pods".into();
        let mut list = client.list_items(&path, &options()).await.unwrap();
        assert!(list.next().await.unwrap().is_some());
        let error = list.next().await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 10, .. }), "{error}");
        assert_eq!(list.next().await.unwrap(), None);
        assert!(list.finish().await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn lists_that_stop_on_their_way_run_into_the_limit() {
    let service = HttpService::from_fn(|_| async {
        let pieces = stream::iter([Ok(Bytes::from_static(b"{\"items\":[{},{"))]);
        Ok(Response::new(Body::stream(pieces.chain(stream::pending()))))
    });
    let client = Client::from_service(service, "default");
    let path = "/api/v1/pods".into();
    let begun = tokio::time::Instant::now();
    let mut list = client.list_items(&path, &ListOptions::default()).await.unwrap();
    assert_eq!(list.next().await.unwrap().as_deref(), Some(&b"{}"[..]));
    let error = list.next().await.unwrap_err();
    assert_eq!(error.to_string(), "list /api/v1/pods: no answer within 60s");
    assert_eq!(begun.elapsed().as_secs(), 60);
    assert_eq!(list.next().await.unwrap(), None);
    assert!(list.finish().await.is_err());
}
