//! Compressed stores: what goes in comes out, and takes less.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::Pod;
use kubewright_core::{ObjectKey, ResourceVersion};
use proptest::prelude::*;

use super::*;
use crate::delta_fifo::DeltaFifo;
use crate::packing::{Codec, PackedText};
use crate::patching::{Base, Patched, patch_last};
use crate::{Cached, Compression};

/// A pod of some 2 KB.
fn pod(i: usize, version: u64) -> String {
    let container = |name: &str| {
        format!(
            r#"{{"name":"{name}","image":"registry.example.com/team/{name}:v{}","env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}}],"resources":{{"limits":{{"cpu":"500m","memory":"512Mi"}}}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}"#,
            i % 7
        )
    };
    format!(
        r#"{{"metadata":{{"name":"web-{i}","namespace":"n{}","uid":"{:032x}","resourceVersion":"{version}","labels":{{"app":"web","shard":"{}"}},"managedFields":[{{"manager":"kubelet"}}]}},"spec":{{"containers":[{},{}],"nodeName":"node-{}","schedulerName":"default-scheduler"}},"status":{{"phase":"Running"}}}}"#,
        i % 5,
        (i as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
        i % 3,
        container("main"),
        container("sidecar"),
        i % 11,
    )
}

fn without_managed_fields(text: &str) -> String {
    text.replace(r#","managedFields":[{"manager":"kubelet"}]"#, "")
}

fn store(compression: Compression) -> Store {
    Store::new(
        "v1",
        "Pod",
        StoreOptions {
            compression,
            ..StoreOptions::default()
        },
    )
}

fn take_in(store: &Store, texts: impl Iterator<Item = String>) {
    let records = texts.map(|text| store.ingest(text.as_bytes(), Versions::Trusted).unwrap());
    let mut fifo = DeltaFifo::default();
    fifo.replace(records.collect(), ResourceVersion::new("1"));
    while let Some(batch) = fifo.pop() {
        store.apply(batch);
    }
}

#[test]
fn a_large_store_is_packed_and_reads_the_same() {
    let store = store(Compression::Above(200_000));
    take_in(&store, (0..50).map(|i| pod(i, 1)));
    assert_eq!(store.usage().dictionary_bytes, 0, "small stores are left alone");
    let before = Arc::clone(&store.list()[0]);
    assert!(before.is_plain());
    take_in(&store, (0..1000).map(|i| pod(i, 1)));
    assert_eq!(store.len(), 1000);
    assert!(
        store.list().iter().all(|record| !record.is_plain()),
        "what came before is packed, too"
    );
    assert!(before.is_plain(), "who holds a record keeps it as it is");
    let usage = store.usage();
    assert_eq!((usage.objects, usage.states), (1000, 1001));
    assert!(usage.bytes * 5 < usage.text_bytes * 2, "{usage:?}");
    for i in 0..1000 {
        let key = ObjectKey::of(Some(&format!("n{}", i % 5)), &format!("web-{i}"));
        let record = store.get(&key).unwrap();
        let expect = without_managed_fields(&pod(i, 1));
        assert_eq!(String::from_utf8_lossy(&record.text()), expect);
        let cached: Cached<Pod> = Cached::new(record);
        assert_eq!(cached.labels().get("app"), Some("web"));
        let metadata = cached.metadata();
        assert_eq!(metadata.name.as_deref(), Some(cached.name()));
        assert_eq!(metadata.uid.as_deref(), Some(cached.uid()));
        let spec = cached.object().unwrap().spec.clone().unwrap();
        assert_eq!(spec.node_name, Some(format!("node-{}", i % 11)));
    }
    // The same again, as a relist brings it: no record is made anew.
    let records = store.list();
    take_in(&store, (0..1000).map(|i| pod(i, 1)));
    let again = store.list();
    assert!(records.iter().zip(&again).all(|(a, b)| Arc::ptr_eq(a, b)));
    drop((records, again, before));
    take_in(&store, std::iter::empty());
    let usage = store.usage();
    assert_eq!(
        (usage.objects, usage.states, usage.bytes, usage.text_bytes),
        (0, 0, 0, 0)
    );
}

#[test]
fn never_is_never() {
    let store = store(Compression::Never);
    take_in(&store, (0..1000).map(|i| pod(i, 1)));
    assert!(store.list().iter().all(|record| record.is_plain()));
    assert_eq!(store.usage().dictionary_bytes, 0);
}

#[test]
fn what_does_not_become_smaller_stays_as_it_is() {
    let store = store(Compression::Above(100_000));
    take_in(&store, (0..200).map(|i| pod(i, 1)));
    assert!(store.usage().dictionary_bytes > 0);
    let mut random = fastrand::Rng::with_seed(7);
    let letters = std::iter::repeat_with(|| random.alphanumeric());
    let noise: String = letters.take(10_000).collect();
    let text = pod(0, 2).replace("Running", &noise);
    let record = store.ingest(text.as_bytes(), Versions::Trusted).unwrap();
    assert!(record.is_plain());
    assert_eq!(
        String::from_utf8_lossy(&record.text()),
        without_managed_fields(&text)
    );
}

#[test]
fn large_objects_are_packed_as_well() {
    let store = store(Compression::Above(1 << 20));
    let value = |i: usize| {
        (0..2000)
            .map(|line| format!("setting-{line}: {}\\n", line * i % 97))
            .collect::<String>()
    };
    let text = |i: usize| {
        let settings = value(i);
        format!(
            r#"{{"metadata":{{"name":"map-{i}","resourceVersion":"1"}},"data":{{"settings":"{settings}"}}}}"#
        )
    };
    take_in(&store, (0..60).map(text));
    assert!(store.list().iter().all(|record| !record.is_plain()));
    for (i, expect) in [0, 59].map(|i| (i, text(i))) {
        let found = store.get(&ObjectKey::of(None, &format!("map-{i}"))).unwrap();
        assert_eq!(String::from_utf8_lossy(&found.text()), expect);
    }
}

#[test]
fn few_or_equal_objects_teach_nothing_and_do_no_harm() {
    // One large object.
    let large = store(Compression::Above(1000));
    take_in(&large, std::iter::once(pod(0, 1)));
    assert_eq!(large.usage().dictionary_bytes, 0);
    // Objects without content.
    let small = store(Compression::Above(0));
    let text = |i: usize| format!(r#"{{"metadata":{{"name":"a{i}","resourceVersion":"1"}}}}"#);
    take_in(&small, (0..500).map(text));
    for record in small.list() {
        let name = record.key().name.to_string();
        assert!(String::from_utf8_lossy(&record.text()).contains(&format!("{name:?}")));
    }
}

fn samples() -> Vec<(Cow<'static, [u8]>, std::ops::Range<usize>)> {
    let text = |i: usize| (Cow::Owned(pod(i, 1).into_bytes()), 12..100);
    (0..60).map(text).collect()
}

static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::train(&samples()).unwrap());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_packed_comes_out_again(before in ".{0,300}", metadata in ".{0,300}", after in ".{0,2000}", i in 0usize..100) {
        let codec = &*CODEC;
        let text = format!("{}{before}{metadata}{after}", pod(i, 9));
        let start = text.len() - metadata.len() - after.len();
        let place = start..start + metadata.len();
        let mut bytes = b"kept".to_vec();
        match codec.with_packer(|packer| packer.pack(text.as_bytes(), &place, &mut bytes)).unwrap() {
            None => prop_assert_eq!(bytes, b"kept"),
            Some(packed) => {
                let kept = |end: usize| PackedText { bytes: bytes[..end].into(), from: 4, packed };
                prop_assert_eq!(packed.text_len(), text.len());
                prop_assert_eq!(packed.metadata(), place);
                let whole = kept(bytes.len());
                for _ in 0..2 {
                    prop_assert_eq!(codec.metadata(&whole, <[u8]>::to_vec).unwrap(), metadata.as_bytes());
                    prop_assert_eq!(codec.text(&whole).unwrap(), text.as_bytes());
                }
                // What is broken is an error, never a panic.
                for cut in (4..bytes.len()).step_by(7) {
                    prop_assert!(codec.text(&kept(cut)).is_err());
                }
            }
        }
    }
}

/// A pod as it is after so many changes of its status and its labels.
fn changed(i: usize, version: u64, status: &str, more: &str) -> String {
    pod(i, version)
        .replace(r#""phase":"Running""#, status)
        .replace(r#""app":"web""#, more)
}

#[test]
fn what_changes_little_is_kept_as_the_difference() {
    let store = store(Compression::Above(200_000));
    take_in(&store, (0..1000).map(|i| pod(i, 1)));
    let before = store.usage();
    // One that is packed by itself.
    let key = |i: usize| ObjectKey::of(Some(&format!("n{}", i % 5)), &format!("web-{i}"));
    let is_packed = |i: &usize| !store.get(&key(*i)).unwrap().is_patched();
    let i = (0..1000).find(is_packed).unwrap();
    let key = key(i);
    let long = "x".repeat(2000);
    let rows = [
        // Status, in place of `"app":"web"` among the labels, whether it is a patch.
        (r#""phase":"Failed""#, r#""app":"web""#, true),
        (r#""phase":"Running","more":[1,2,3]"#, r#""app":"web""#, true),
        (r#""phase":"Running""#, r#""app":"other","b":"c""#, true),
        (r#""phase":"Running","reason":"Because""#, r#""no":"app""#, true),
        ("", r#""app":"web""#, true),
        (&*format!(r#""phase":"{long}""#), r#""app":"web""#, false),
        (&*format!(r#""phase":"{long}y""#), r#""app":"web""#, true),
        // What is left of a large one is not worth keeping it.
        (r#""phase":"Running""#, r#""app":"web""#, false),
    ];
    for (version, (status, labels, is_patch)) in (2..).zip(rows) {
        let raw = changed(i, version, status, labels);
        // As a watch has it, and as a list does.
        let raw = match version % 3 {
            0 => raw,
            _ => raw.replacen('{', r#"{"kind":"Pod","apiVersion":"v1","#, 1),
        };
        let old = store.get(&key).unwrap();
        let record = store.ingest(raw.as_bytes(), Versions::Trusted).unwrap();
        assert!(Arc::ptr_eq(&record.key().name, &old.key().name));
        let mut fifo = DeltaFifo::default();
        fifo.upsert(record);
        store.apply(fifo.pop().unwrap());
        let record = store.get(&key).unwrap();
        let expect = without_managed_fields(&raw);
        assert_eq!(record.is_patched(), is_patch, "{raw}");
        assert_eq!(String::from_utf8_lossy(&record.text()), expect);
        assert_eq!(record.text_len(), expect.len());
        let (text, place) = record.text_and_metadata();
        let metadata = String::from_utf8_lossy(&text[place]).into_owned();
        assert!(
            metadata.starts_with("{\"name\"") && metadata.ends_with('}'),
            "{metadata}"
        );
        let cached: Cached<Pod> = Cached::new(record);
        let version = cached.metadata().resource_version.clone();
        assert_eq!(version.as_deref(), Some(cached.resource_version().as_str()));
        assert_eq!(
            cached.object().unwrap().metadata.name.as_deref(),
            Some(&*key.name)
        );
    }
    let after = store.usage();
    assert_eq!((after.objects, after.states), (1000, 1000));
    assert!(after.bytes < before.bytes + 1000, "{before:?} {after:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_patch_comes_out_again(
        i in 0usize..100, old in (0usize..4000, 0usize..4000, ".{0,60}"), cut in (0usize..400, 0usize..400), place in (0usize..2000, 0usize..400),
    ) {
        let codec = &*CODEC;
        let splice = |text: &str, from: usize, cut: usize, put: &str| {
            let from = from % text.len();
            [&text.as_bytes()[..from], put.as_bytes(), &text.as_bytes()[(from + cut).min(text.len())..]].concat()
        };
        let before = pod(i, 9).into_bytes();
        let once = String::from_utf8(splice(&pod(i, 9), old.0, cut.0, "piece")).unwrap();
        let text = splice(&once, old.1, cut.1, &old.2);
        let range = |text: &[u8]| {
            let start = place.0 % text.len();
            start..(start + place.1).min(text.len())
        };
        let mut bytes = b"uid".to_vec();
        let usage = Arc::default();
        let mut pieces = b"kept".to_vec();
        // As another state of the same object, and as the object that comes next.
        let (base, next) = codec.with_packer(|packer| {
            let packed = packer.pack(&before, &range(&before), &mut bytes).unwrap();
            let kept = PackedText { bytes: bytes.into(), from: 3, packed };
            packer.stored(kept.clone());
            let mut pieces = pieces.clone();
            let next = patch_last(packer, &text, &range(&text), &usage, &mut pieces);
            (Base::new(kept, &usage), next.map(|_| pieces))
        }).unwrap();
        let patched = base.patch(codec, &text, &range(&text), &mut pieces);
        prop_assert_eq!(next.as_ref(), patched.map(|()| &pieces));
        match patched {
            None => prop_assert_eq!(pieces, b"kept"),
            Some(()) => {
                let patched = Patched::read(&base, &pieces[4..]).unwrap();
                prop_assert_eq!(patched.text_len(), text.len());
                prop_assert_eq!(patched.metadata(), range(&text));
                prop_assert!(pieces.len() <= 4 + text.len() / 8);
                prop_assert_eq!(patched.metadata_text(codec).unwrap(), &text[range(&text)]);
                prop_assert_eq!(&patched.text(codec).unwrap(), &text);
                // What is broken is an error or another text, never a panic.
                for end in 4..pieces.len() {
                    if let Ok(patched) = Patched::read(&base, &pieces[4..end]) {
                        let _ = patched.text(codec);
                        let _ = patched.metadata_text(codec);
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_like_the_object_before_it_is_kept_as_the_difference() {
    let store = store(Compression::Above(200_000));
    take_in(&store, (0..1000).map(|i| pod(i, 1)));
    let before = store.usage();
    let patched = |i: usize| {
        let found = store.get(&ObjectKey::of(Some(&format!("n{}", i % 5)), &format!("web-{i}")));
        let record = found.unwrap();
        let text = String::from_utf8_lossy(&record.text()).into_owned();
        (record.is_patched(), text)
    };
    let count = (0..1000).filter(|i| patched(*i).0).count();
    assert!(count > 900, "{count}");
    // What they are differences from stays as long as there is one of them, however the others go.
    for left in [500, 3, 1] {
        take_in(&store, (0..left).map(|i| pod(i, 1)));
        for i in (0..left).rev() {
            assert_eq!(patched(i).1, without_managed_fields(&pod(i, 1)));
        }
    }
    assert!(store.usage().bytes < before.bytes / 100);
    take_in(&store, std::iter::empty());
    assert_eq!(store.usage().bytes, 0);
}

/// Packs a text, whose metadata are there, and notes it as the last.
fn packed(codec: &Codec, text: &str, metadata: std::ops::Range<usize>) -> PackedText {
    let stored = codec.with_packer(|packer| {
        let mut bytes = Vec::new();
        let packed = packer.pack(text.as_bytes(), &metadata, &mut bytes).unwrap();
        let text = PackedText {
            bytes: bytes.into(),
            from: 0,
            packed,
        };
        packer.stored(text.clone());
        text
    });
    stored.unwrap()
}

#[test]
fn a_base_counts_once_for_all_that_are_different_from_it() {
    let codec = Codec::train(&samples()).unwrap();
    let usage = Arc::default();
    let base = packed(&codec, &pod(1, 1), 12..100);
    let next = |i: usize| {
        let text = pod(i, 1);
        let patch = |packer: &mut _| {
            patch_last(packer, text.as_bytes(), &(12..100), &usage, &mut Vec::new()).unwrap()
        };
        codec.with_packer(patch).unwrap()
    };
    let count = || usage.bytes.load(Ordering::Relaxed);
    let one = next(2);
    let bytes = count();
    assert!(
        bytes > base.bytes.len() && bytes < base.bytes.len() + 100,
        "{bytes}"
    );
    let other = next(3);
    assert!(Arc::ptr_eq(&one, &other));
    assert_eq!(count(), bytes);
    drop(one);
    assert_eq!(count(), bytes);
    drop(other);
    assert_eq!(count(), 0);
}

#[test]
fn large_objects_leave_no_large_buffers() {
    let codec = Codec::train(&samples()).unwrap();
    let small = packed(&codec, &pod(1, 1), 12..100);
    let part = |begin: usize| {
        (begin..begin + 30_000)
            .map(|i| format!("{i},"))
            .collect::<String>()
    };
    let text = part(0) + &part(30_000);
    let large = packed(&codec, &text, 5..text.len() / 2);
    for _ in 0..2 {
        assert_eq!(codec.text(&small).unwrap(), pod(1, 1).as_bytes());
        assert_eq!(codec.text(&large).unwrap(), text.as_bytes());
        assert_eq!(
            codec.metadata(&large, <[u8]>::to_vec).unwrap(),
            &text.as_bytes()[5..text.len() / 2]
        );
    }
    let bytes = codec.buffer_bytes();
    assert!(bytes < 64 << 10, "{bytes}");
}

/// Readers see whole states and never wait: each batch changes all objects at once.
#[test]
fn readers_see_one_state_or_the_other() {
    let store = store(Compression::Never);
    let objects = 40;
    take_in(&store, (0..objects).map(|i| pod(i, 1)));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    let mut seen = 0u64;
                    while !stop.load(Ordering::Relaxed) || seen == 0 {
                        let versions = store
                            .list()
                            .iter()
                            .map(|record| record.version().to_owned())
                            .collect::<std::collections::BTreeSet<_>>();
                        assert_eq!(versions.len(), 1, "two states at once");
                        let version: u64 = versions.first().unwrap().parse().unwrap();
                        assert!(version >= last, "time runs backwards");
                        last = version;
                        seen += 1;
                    }
                })
            })
            .collect();
        for version in 2..300 {
            let mut fifo = DeltaFifo::default();
            for i in 0..objects {
                fifo.upsert(
                    store
                        .ingest(pod(i, version).as_bytes(), Versions::Trusted)
                        .unwrap(),
                );
            }
            while let Some(batch) = fifo.pop() {
                store.apply(batch);
            }
        }
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
