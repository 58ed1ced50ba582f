//! Bytes: what is read from them, what is cut out, what is decoded and how long it stays so.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kubewright_core::{DynamicObject, PartialObject};
use parking_lot::Mutex;

use super::*;
use crate::labels::Labels;
use crate::peek::peek;
use crate::pool::Pool;
use crate::record::Context;
use crate::{Cached, ManagedFields, StoreOptions};

fn make(raw: &str, managed_fields: ManagedFields) -> Record {
    let context = Arc::new(Context::new("v1", "Pod", 1 << 20));
    let head = peek(raw.as_bytes()).unwrap();
    let kept = head.keep(raw.as_bytes(), managed_fields);
    Record::new(&head, &kept, None, &context, &Mutex::new(Pool::default())).unwrap()
}

fn text(record: &Record) -> String {
    String::from_utf8(record.text().into_owned()).unwrap()
}

#[test]
fn heads() {
    let rows = [
        (r#"{"metadata":{"name":"a","resourceVersion":"1"}}"#, Ok("a=@1")),
        (
            r#"{"kind":"X","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"},"rest":oops"#,
            Ok("n/a=u@1"),
        ),
        (
            r#" { "spec" : {"metadata":{}} , "metadata" : { "resourceVersion" : "7" , "name" : "b" } } "#,
            Ok("b=@7"),
        ),
        (
            r#"{"metadata":{"name":"system:\"x\"","resourceVersion":"1"}}"#,
            Ok("system:\"x\"=@1"),
        ),
        (
            r#"{"metadata":{"resourceVersion":"1"}}"#,
            Err("missing field `name`"),
        ),
        (
            r#"{"metadata":{"name":"","resourceVersion":"1"}}"#,
            Err("metadata.name is empty"),
        ),
        (
            r#"{"metadata":{"name":"a"}}"#,
            Err("missing field `resourceVersion`"),
        ),
        (
            r#"{"metadata":{"name":1,"resourceVersion":"1"}}"#,
            Err("expected a"),
        ),
        (r#"{"spec":{}}"#, Err("no metadata")),
        (r#"[]"#, Err("expected a JSON object")),
        (r#"{"#, Err("EOF")),
        ("", Err("EOF")),
    ];
    for (raw, expect) in rows {
        match (peek(raw.as_bytes()), expect) {
            (Ok(_), Ok(expect)) => assert_eq!(show(&make(raw, ManagedFields::Keep)), expect),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{raw}: {error}"),
            (found, _) => panic!("{raw}: {:?}", found.map(|head| head.name.into_owned())),
        }
    }
    assert!(peek(b"{\"metadata\":{\"name\":\"\xff\",\"resourceVersion\":\"1\"}}").is_err());
}

#[test]
fn managed_fields_are_cut_out() {
    let rows = [
        (
            r#"{"metadata":{"managedFields":[{"manager":"x"}],"name":"a","resourceVersion":"1"},"spec":1}"#,
            r#"{"metadata":{"name":"a","resourceVersion":"1"},"spec":1}"#,
        ),
        (
            r#"{"metadata":{"name":"a", "managedFields" : [] ,"uid":"u","resourceVersion":"1"}}"#,
            r#"{"metadata":{"name":"a", "uid":"u","resourceVersion":"1"}}"#,
        ),
        (
            r#"{"metadata":{"name":"a","resourceVersion":"1", "managedFields":[{"a":"]"}] }}"#,
            r#"{"metadata":{"name":"a","resourceVersion":"1" }}"#,
        ),
        (
            r#"{"metadata":{"name":"a","resourceVersion":"1"}}"#,
            r#"{"metadata":{"name":"a","resourceVersion":"1"}}"#,
        ),
    ];
    for (raw, expect) in rows {
        let record = make(raw, ManagedFields::Drop);
        assert_eq!(text(&record), expect);
        // The places of uid, version and metadata moved with the cut.
        let again = make(expect, ManagedFields::Keep);
        assert_eq!(show(&record), show(&again));
        assert_eq!(Arc::new(record).metadata(), Arc::new(again).metadata());
        assert_eq!(text(&make(raw, ManagedFields::Keep)), raw);
    }
}

#[test]
fn metadata_is_read_field_by_field() {
    let raw = r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1","generation":3,
        "labels":{"app":"x"},"annotations":{"a":1},"finalizers":["f"],"deletionTimestamp":"2026-01-02T03:04:05Z",
        "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"o","uid":"ou","controller":true}],
        "managedFields":[{"manager":"m"}],"unknown":{}}}"#;
    let metadata = Arc::new(make(raw, ManagedFields::Keep)).metadata();
    assert_eq!(metadata.labels.as_ref().unwrap()["app"], "x");
    assert_eq!(
        metadata.annotations, None,
        "a field of the wrong type hides no other"
    );
    assert_eq!(metadata.generation, Some(3));
    assert_eq!(metadata.finalizers.as_deref(), Some(&["f".to_owned()][..]));
    assert_eq!(
        metadata.deletion_timestamp.as_ref().unwrap().0.to_string(),
        "2026-01-02T03:04:05Z"
    );
    assert_eq!(metadata.owner_references.as_ref().unwrap()[0].uid, "ou");
    assert_eq!(metadata.managed_fields, None);
}

#[test]
fn one_object_seen_as_several_types() {
    // As it stands in a typed list: no kind, no apiVersion.
    let raw = r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"1"},"spec":{"containers":[],"nodeName":"x"}}"#;
    let pod: Cached<Pod> = Cached::new(Arc::new(make(raw, ManagedFields::Keep)));
    let typed = pod.object().unwrap();
    assert_eq!(typed.spec.as_ref().unwrap().node_name.as_deref(), Some("x"));
    assert!(Arc::ptr_eq(&typed, &pod.object().unwrap()), "decoded once");
    let dynamic = pod.view::<DynamicObject>().object().unwrap();
    assert_eq!((&*dynamic.types.kind, &*dynamic.types.api_version), ("Pod", "v1"));
    assert_eq!(dynamic.data["spec"]["nodeName"], "x");
    assert!(
        Arc::ptr_eq(&typed, &pod.object().unwrap()),
        "another view drives none out"
    );
    let partial = pod.view::<PartialObject<Pod>>().object().unwrap();
    assert_eq!(partial.metadata.name.as_deref(), Some("a"));

    // Wherever the kind is, it is there once.
    let late = r#"{"metadata":{"name":"a","resourceVersion":"1"},"kind":"Pod","apiVersion":"v1","spec":{}}"#;
    let late = Cached::<DynamicObject>::new(Arc::new(make(late, ManagedFields::Keep)));
    assert_eq!(late.object().unwrap().types.kind, "Pod");
    assert_eq!(
        late.view::<serde_json::Value>().object().unwrap()["apiVersion"],
        "v1"
    );

    let broken =
        Cached::<Pod>::from_json(br#"{"metadata":{"name":"a","resourceVersion":"1"},"spec":3}"#).unwrap();
    let error = broken.object().unwrap_err();
    assert!(
        error.to_string().starts_with("cannot decode a as k8s_openapi"),
        "{error}"
    );
    assert_eq!(broken.name(), "a");
    assert!(Cached::<Pod>::from_json(b"{}").is_err());
    let empty =
        Cached::<DynamicObject>::from_json(br#"{"metadata":{"name":"a","resourceVersion":"1"}}"#).unwrap();
    assert_eq!(empty.object().unwrap().types.kind, "");
}

/// A store with a hundred pods and a budget for ten of them decoded.
fn room_for_ten() -> (Store, usize, Vec<Cached<Pod>>) {
    let decoded_bytes = json("n/000", "u", 1).len() * 7 * 10;
    let options = StoreOptions {
        decoded_bytes,
        ..StoreOptions::default()
    };
    let store = Store::new("v1", "Pod", options);
    let objects = (0..100).map(|i| Cached::new(record(&store, &format!("n/{i:03}"), "u", 1)));
    let objects = objects.collect();
    (store, decoded_bytes, objects)
}

#[test]
fn decoded_objects_stay_within_the_budget() {
    let (store, budget, objects) = room_for_ten();
    let hot = objects[0].object().unwrap();
    for object in &objects {
        object.object().unwrap();
        assert!(
            Arc::ptr_eq(&hot, &objects[0].object().unwrap()),
            "what is used all the time stays"
        );
        assert!(store.usage().decoded_bytes <= budget);
    }
    drop(hot);
    let weak: Vec<_> = objects
        .iter()
        .map(|object| Arc::downgrade(&object.object().unwrap()))
        .collect();
    let kept = weak.iter().filter(|weak| weak.strong_count() > 0).count();
    assert!((2..=10).contains(&kept), "{kept}");
    // What nobody has any more takes none of it.
    assert_eq!(objects[0].metadata(), objects[0].metadata());
    assert!(store.usage().decoded_bytes > 0);
    drop(objects);
    assert_eq!(store.usage().decoded_bytes, 0);

    // Metadata is kept when it is asked for again.
    let store = empty_store();
    let object: Cached<Pod> = Cached::new(record(&store, "n/a", "u", 1));
    let looks: [_; 4] = std::array::from_fn(|_| object.metadata());
    let same = |a: usize, b: usize| Arc::ptr_eq(&looks[a], &looks[b]);
    assert_eq!([same(0, 1), same(1, 2), same(2, 3)], [false, true, true]);

    // A budget of nothing decodes each time and keeps none.
    let store = Store::new(
        "v1",
        "Pod",
        StoreOptions {
            decoded_bytes: 0,
            ..StoreOptions::default()
        },
    );
    let object: Cached<Pod> = Cached::new(record(&store, "n/a", "u", 1));
    assert!(!Arc::ptr_eq(&object.object().unwrap(), &object.object().unwrap()));
    assert_eq!(store.usage().decoded_bytes, 0);
}

#[test]
fn a_scan_drives_out_nothing_that_was_used_again() {
    let (_store, _, objects) = room_for_ten();
    let (few, many) = objects.split_at(2);
    let before: Vec<_> = few.iter().map(|object| object.object().unwrap()).collect();
    let again = |object: &Cached<Pod>, before: &Arc<Pod>| Arc::ptr_eq(before, &object.object().unwrap());
    assert!(
        few.iter()
            .zip(&before)
            .all(|(object, before)| again(object, before))
    );
    let scan = many.iter().map(|object| {
        assert_eq!(object.metadata().name.as_deref(), Some(object.name()));
        object.object().unwrap()
    });
    let scan: Vec<_> = scan.collect();
    assert!(
        few.iter()
            .zip(&before)
            .all(|(object, before)| again(object, before))
    );
    // What was read lately is there as well, and what came long before it is not.
    let mut lately = many.iter().zip(&scan).rev().take(5);
    assert!(lately.all(|(object, before)| again(object, before)));
    assert!(!again(&many[0], &scan[0]));
}

#[test]
fn what_is_shown_in_passing_is_kept_while_there_is_room() {
    let (_store, _, objects) = room_for_ten();
    let shown = objects
        .iter()
        .map(|object| Cached::<Pod>::in_passing(Arc::clone(object.record())));
    let shown: Vec<_> = shown.collect();
    let first: Vec<_> = shown.iter().map(|object| object.object().unwrap()).collect();
    let is_kept = |at: usize| Arc::ptr_eq(&first[at], &shown[at].object().unwrap());
    assert!((0..10).all(is_kept));
    assert!((10..20).all(|at| !is_kept(at)));
    // Looked up, it stays in place of others, however often all are shown.
    let looked_up = objects[40].object().unwrap();
    for _ in 0..3 {
        shown.iter().for_each(|object| drop(object.object().unwrap()));
    }
    assert!(Arc::ptr_eq(&looked_up, &objects[40].object().unwrap()));
}

#[test]
fn a_part_of_an_object() {
    #[derive(serde::Deserialize)]
    struct Spec {
        spec: Node,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Node {
        node_name: String,
    }
    let raw = r#"{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"containers":"odd","nodeName":"x"}}"#;
    let pod: Cached<Pod> = Cached::new(Arc::new(make(raw, ManagedFields::Keep)));
    assert_eq!(pod.project::<Spec>().unwrap().spec.node_name, "x");
    assert!(pod.object().is_err(), "the whole does not fit");
    let without = pod.project::<Vec<u8>>().map(drop).unwrap_err();
    assert!(without.to_string().contains("cannot decode a as"), "{without}");
}

fn labels_of(pool: &mut Pool, text: Option<&str>) -> Labels {
    pool.common(text, None).labels.clone()
}

#[test]
fn labels() {
    let show = |labels: &Labels| {
        labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let mut pool = Pool::default();
    for (raw, expect) in [
        (None, ""),
        (Some("null"), ""),
        (Some("{}"), ""),
        (Some(r#"{"a":"1"}"#), "a=1"),
        (Some(r#"{"b":"2","a":"1"}"#), "a=1,b=2"),
        (Some(r#" { "a" : "1" , "b" : "2" } "#), "a=1,b=2"),
        (Some(r#"{"a":"1","b":"2"}"#), "a=1,b=2"),
        (Some(r#"{"a":""}"#), "a="),
        (Some(r#"{"a":"\u0031"}"#), "a=1"),
        (Some(r#"{"a\"":"\\"}"#), r#"a"=\"#),
        (Some(r#"{"a":"1","a":"2"}"#), "a=2"),
        (Some(r#"{"a":1}"#), ""),
        (Some("[]"), ""),
    ] {
        for _ in 0..2 {
            let labels = labels_of(&mut pool, raw);
            assert_eq!(show(&labels), expect, "{raw:?}");
            assert_eq!(labels.len(), labels.iter().count());
            assert_eq!(labels.is_empty(), expect.is_empty());
            assert!(labels.iter().all(|(key, value)| labels.get(key) == Some(value)));
            assert_eq!(labels.get("no such"), None);
        }
    }
    // One set for all that have it, and one text for each part.
    let first = labels_of(&mut pool, Some(r#"{"app":"x","tier":"y"}"#));
    let second = labels_of(&mut pool, Some(r#"{"app":"x","tier":"y"}"#));
    let third = labels_of(&mut pool, Some(r#"{"app":"z","tier":"y"}"#));
    let place = |labels: &Labels, key: &str| labels.get(key).unwrap().as_ptr();
    assert_eq!(place(&first, "app"), place(&second, "app"));
    assert_eq!(place(&first, "tier"), place(&third, "tier"));
    // However it is written, it is there once.
    let before = pool.len();
    let odd: Vec<_> = (0..1000)
        .map(|_| labels_of(&mut pool, Some(r#"{"tier":"y", "app":"x"}"#)))
        .collect();
    assert_eq!(pool.len(), (before.0, before.1, before.2 + 1));
    assert!(odd.iter().all(|labels| *labels == first));
    // What nobody uses any more goes.
    for i in 0..10_000 {
        labels_of(&mut pool, Some(&format!(r#"{{"app":"{i}"}}"#)));
    }
    assert!(pool.len().0 < 3_000 && pool.len().2 < 3_000, "{:?}", pool.len());
    assert_eq!(
        place(&first, "app"),
        place(&labels_of(&mut pool, Some(r#"{"app":"x","tier":"y"}"#)), "app")
    );
}

#[test]
fn what_is_asked_for_all_the_time() {
    let owner = |name: &str, controller: bool| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{name}","uid":"{name}-uid","controller":{controller}}}"#
        )
    };
    let object =
        |name: &str, more: &str| format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"1"{more}}}}}"#);
    let owned = |owners: &[String]| format!(r#","ownerReferences":[{}]"#, owners.join(","));
    let two = owned(&[owner("a", false), owner("b", true)]);
    let rows = [
        (String::new(), "", None, None, false),
        (
            r#","generation":3,"deletionTimestamp":null,"ownerReferences":null"#.into(),
            "",
            None,
            Some(3),
            false,
        ),
        (
            r#","generation":0,"deletionTimestamp":"2026-01-02T03:04:05Z","ownerReferences":[]"#.into(),
            "",
            None,
            None,
            true,
        ),
        (two.clone(), "a-uid,b-uid", Some("b"), None, false),
        (owned(&[owner("a", false)]), "a-uid", None, None, false),
        // What is not of its type is as if it was not there.
        (
            r#","generation":"3","ownerReferences":{}"#.into(),
            "",
            None,
            None,
            false,
        ),
        (
            r#","generation":9999999999999999999,"ownerReferences":[{"name":"x"},3]"#.into(),
            "",
            None,
            None,
            false,
        ),
        // An escape anywhere takes the slow way.
        (
            format!(r#","annotations":{{}},"\u006eewer":1,"generation":4{two}"#),
            "a-uid,b-uid",
            Some("b"),
            Some(4),
            false,
        ),
    ];
    for (more, uids, controller, generation, is_being_deleted) in rows {
        let store = empty_store();
        // The second has what the first had and what is kept from then on, the third finds it.
        for name in ["x", "y", "z"] {
            let raw = object(name, &more);
            let object: Cached<Pod> = Cached::new(store.ingest(raw.as_bytes(), Versions::Trusted).unwrap());
            let owners = object.owners();
            let all: Vec<_> = owners.iter().map(|owner| &*owner.uid).collect();
            assert_eq!(all.join(","), uids, "{raw}");
            assert_eq!(owners.controller().map(|owner| &*owner.name), controller, "{raw}");
            assert_eq!(object.generation(), generation, "{raw}");
            assert_eq!(object.is_being_deleted(), is_being_deleted, "{raw}");
        }
        if !uids.is_empty() {
            // Those of the first were decoded, and kept with the second.
            assert_eq!(store.counters.read().decoded, 1);
        }
    }
}

/// A store has as many of these as the cluster has objects: one word more is another size class of the allocator.
#[test]
fn records_are_small() {
    assert_eq!(size_of::<Record>(), 112);
}

#[test]
fn uids_and_versions_have_a_limit() {
    let raw = |uid: usize, version: usize| {
        let (uid, version) = ("u".repeat(uid), "1".repeat(version));
        format!(r#"{{"metadata":{{"name":"a","uid":"{uid}","resourceVersion":"{version}"}}}}"#)
    };
    let store = empty_store();
    let take_in = |raw: String| store.ingest(raw.as_bytes(), Versions::Trusted);
    let record = take_in(raw(255, 255)).unwrap();
    assert_eq!((record.uid().len(), record.version().len()), (255, 255));
    for raw in [raw(256, 1), raw(1, 256)] {
        let error = take_in(raw).unwrap_err().to_string();
        assert!(error.contains("more than 255 bytes"), "{error}");
    }
}
