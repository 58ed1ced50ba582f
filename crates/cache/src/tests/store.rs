//! The FIFO and the store: what changes, and what is found.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_core::{ObjectKey, ResourceVersion};
use proptest::prelude::*;

use super::*;
use crate::Cached;
use crate::delta_fifo::{BATCH_KEYS, Batch, Delta, DeltaFifo};
use crate::snapshot::Snapshot;
use crate::store::{Change, FinalState, Initial, NAMESPACE_INDEX, OWNER_INDEX, owner_uids};

fn show_change(change: &Change) -> String {
    match change {
        Change::Added {
            new,
            initial: Initial::Yes,
        } => format!("initial {}", show(new)),
        Change::Added {
            new,
            initial: Initial::No,
        } => format!("add {}", show(new)),
        Change::Updated { old, new } => format!("{} -> {}", show(old), show(new)),
        Change::Deleted {
            last,
            final_state: FinalState::Known,
        } => format!("delete {}", show(last)),
        Change::Deleted {
            last,
            final_state: FinalState::Unknown,
        } => format!("vanish {}", show(last)),
    }
}

fn drain(fifo: &mut DeltaFifo, store: &Store) -> Vec<String> {
    let mut changes = Vec::new();
    while let Some(batch) = fifo.pop() {
        changes.extend(store.apply(batch).iter().map(show_change));
    }
    changes
}

/// Each line is taken in as a whole: `+key uid version`, `-key uid version`, `= version: key uid version, ...`.
#[track_caller]
fn check(script: &[(&str, &[&str])]) {
    let store = empty_store();
    let parse = |text: &str| {
        let parts: Vec<_> = text.split(' ').collect();
        record(&store, parts[0], parts[1], parts[2].parse().unwrap())
    };
    for (line, expect) in script {
        let mut fifo = DeltaFifo::default();
        for step in line.split("; ") {
            match step.split_at(1) {
                ("+", rest) => fifo.upsert(parse(rest)),
                ("-", rest) => fifo.delete(parse(rest)),
                ("=", rest) => {
                    let (version, objects) = rest.split_once(':').unwrap();
                    let objects = objects
                        .split(',')
                        .map(str::trim)
                        .filter(|object| !object.is_empty());
                    fifo.replace(objects.map(parse).collect(), ResourceVersion::new(version));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(drain(&mut fifo, &store), *expect, "{line}");
    }
}

#[test]
fn changes() {
    check(&[
        ("=5:a u 1, b u 2", &["initial a=u@1", "initial b=u@2"]),
        ("+a u 6", &["a=u@1 -> a=u@6"]),
        // The same again is no change.
        ("+a u 6", &[]),
        ("-b u 7", &["delete b=u@7"]),
        ("-b u 7", &[]),
        ("+b v 8", &["add b=v@8"]),
        // Deleted and made again while the watch was down.
        ("+b w 9", &["vanish b=v@8", "add b=w@9"]),
        ("=12:a u 6, b w 10, c u 11", &["b=w@9 -> b=w@10", "add c=u@11"]),
        ("=13:c u 11", &["vanish a=u@6", "vanish b=w@10"]),
        ("=14:", &["vanish c=u@11"]),
    ]);
}

#[test]
fn merging() {
    check(&[
        ("=1:a u 1", &["initial a=u@1"]),
        ("+a u 2; +a u 3", &["a=u@1 -> a=u@3"]),
        ("+b u 4; +c u 5; +b u 6", &["add b=u@6", "add c=u@5"]),
        ("+d u 7; -d u 8", &[]),
        ("+a u 9; -a u 10", &["delete a=u@10"]),
        ("-b u 11; +b v 12", &["delete b=u@11", "add b=v@12"]),
        ("-b v 13; +b w 14; -b w 15", &["delete b=v@13"]),
        ("-c u 16; -c u 17", &["delete c=u@17"]),
        // A replacement supersedes what waits before it and not what comes after.
        ("+x u 18; =20:y u 19; +z u 21", &["add y=u@19", "add z=u@21"]),
    ]);
}

#[test]
fn batches_are_bounded_and_the_version_comes_last() {
    let store = empty_store();
    let mut fifo = DeltaFifo::default();
    for i in 0..BATCH_KEYS as u64 + 1 {
        fifo.upsert(record(&store, &format!("n/{i}"), "u", i + 1));
    }
    let first = fifo.pop().unwrap();
    assert_eq!((first.deltas.len(), first.version.clone()), (BATCH_KEYS, None));
    store.apply(first);
    assert!(store.version().is_empty());
    let second = fifo.pop().unwrap();
    assert_eq!(second.deltas.len(), 1);
    store.apply(second);
    assert_eq!(store.version().as_str(), (BATCH_KEYS + 1).to_string());
    assert!(fifo.pop().is_none());
    fifo.bookmark(ResourceVersion::new("5000"));
    store.apply(fifo.pop().unwrap());
    assert_eq!(store.version().as_str(), "5000");
}

#[test]
fn what_is_stored_is_not_copied_again() {
    let store = empty_store();
    let mut fifo = DeltaFifo::default();
    let first = record(&store, "n/a", "u", 1);
    fifo.replace(vec![Arc::clone(&first)], ResourceVersion::new("1"));
    drain(&mut fifo, &store);
    assert!(Arc::ptr_eq(&first, &record(&store, "n/a", "u", 1)));
    assert!(!Arc::ptr_eq(&first, &record(&store, "n/a", "u", 2)));
    assert!(!Arc::ptr_eq(&first, &record(&store, "n/a", "v", 1)));
    // When versions prove nothing, the bytes do.
    let same = store
        .ingest(json("n/a", "u", 1).as_bytes(), Versions::Doubted)
        .unwrap();
    assert!(Arc::ptr_eq(&first, &same));
    let other = json("n/a", "u", 1).replace("containers", "volumes");
    let changed = store.ingest(other.as_bytes(), Versions::Doubted).unwrap();
    assert!(!Arc::ptr_eq(&first, &changed));
    fifo.replace(vec![changed], ResourceVersion::new("1"));
    assert_eq!(drain(&mut fifo, &store), ["n/a=u@1 -> n/a=u@1"]);
    // The namespace's text is shared.
    let (a, b) = (record(&store, "n/x", "u", 1), record(&store, "n/y", "u", 1));
    assert!(Arc::ptr_eq(
        a.key().namespace.as_ref().unwrap(),
        b.key().namespace.as_ref().unwrap()
    ));
}

#[test]
fn a_transform_owns_the_bytes_before_anyone_sees_them() {
    let transform: crate::Transform = Arc::new(|raw| {
        let text = std::str::from_utf8(raw).unwrap();
        text.contains("containers")
            .then(|| text.replace(r#","spec":{"containers":[]}"#, "").into_bytes())
    });
    let options = StoreOptions {
        transform: Some(transform),
        ..StoreOptions::default()
    };
    let store = Store::new("v1", "Pod", options);
    let slim = record(&store, "n/a", "u", 1);
    assert!(!slim.text().windows(4).any(|part| part == b"spec"));
    let again = store.ingest(&slim.text(), Versions::Trusted).unwrap();
    assert_eq!(again.text(), slim.text());
}

fn owned(key: &str, version: u64, owners: &[String]) -> String {
    let owners: Vec<_> = owners
        .iter()
        .map(|uid| format!(r#"{{"apiVersion":"v1","kind":"X","name":"x","uid":"{uid}"}}"#))
        .collect();
    json(key, "u", version).replace(
        "\"labels\"",
        &format!("\"ownerReferences\":[{}],\"labels\"", owners.join(",")),
    )
}

proptest! {
    /// Whatever happens, indices find exactly what a scan finds.
    #[test]
    fn indices_agree_with_a_scan(
        steps in prop::collection::vec((0u8..12, prop::collection::btree_set(0u8..4, 0..3), any::<bool>()), 1..60),
        late in 0usize..60,
        alike in any::<bool>(),
    ) {
        // Where all have the same hash, keys and values tell them apart.
        let snapshot = if alike { Snapshot::alike() } else { Snapshot::default() };
        let store = Store::with_snapshot("v1", "Pod", StoreOptions::default(), snapshot);
        let owner_index = || store.add_index(OWNER_INDEX, Arc::new(|r| owner_uids(&Cached::<()>::new(Arc::clone(r)))));
        let mut fifo = DeltaFifo::default();
        let mut model: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
        for (version, (object, owners, delete)) in steps.into_iter().enumerate() {
            if version == late {
                prop_assert!(owner_index());
            }
            let key = format!("n{}/o{}", object % 3, object);
            let uids: Vec<_> = owners.iter().map(|owner| format!("owner-{owner}")).collect();
            let raw = owned(&key, version as u64 + 1, &uids);
            let record = store.ingest(raw.as_bytes(), Versions::Trusted).unwrap();
            if delete {
                fifo.delete(record);
                model.remove(&key);
            } else {
                fifo.upsert(record);
                model.insert(key, owners);
            }
            drain(&mut fifo, &store);
        }
        owner_index();
        prop_assert!(!owner_index(), "a second index of that name");
        let keys = |records: Vec<Arc<Record>>| -> BTreeSet<String> {
            records.iter().map(|record| record.key().to_string()).collect()
        };
        for owner in 0u8..4 {
            let expect = model.iter().filter(|(_, owners)| owners.contains(&owner)).map(|(key, _)| key.clone());
            let found = store.by_index(OWNER_INDEX, &format!("owner-{owner}")).unwrap();
            prop_assert_eq!(keys(found), expect.collect::<BTreeSet<_>>());
        }
        for namespace in ["n0", "n1", "n2", "n3"] {
            let expect = model.keys().filter(|key| key.starts_with(namespace)).cloned();
            let found = store.by_index(NAMESPACE_INDEX, namespace).unwrap();
            prop_assert_eq!(keys(found), expect.collect::<BTreeSet<_>>());
        }
        prop_assert_eq!(keys(store.list()), model.keys().cloned().collect::<BTreeSet<_>>());
        prop_assert_eq!(store.len(), model.len());
        prop_assert!(store.by_index("no such", "x").is_none());
    }
}

#[test]
fn index_functions_keep_no_reader_waiting() {
    let store = Arc::new(empty_store());
    let read = Arc::downgrade(&store);
    let (done, waiting) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let function = move |_: &Arc<Record>| {
            let store = read.upgrade().unwrap();
            vec![format!("of {}", store.len())]
        };
        let mut fifo = DeltaFifo::default();
        fifo.upsert(record(&store, "a", "u", 1));
        drain(&mut fifo, &store);
        store.add_index("count", Arc::new(function));
        fifo.upsert(record(&store, "b", "u", 2));
        drain(&mut fifo, &store);
        done.send(store.by_index("count", "of 1").unwrap().len()).unwrap();
    });
    let found = waiting.recv_timeout(std::time::Duration::from_secs(20));
    assert_eq!(
        found,
        Ok(2),
        "an index function waits for a lock that its caller holds"
    );
}

#[test]
fn indices_say_the_same_whenever_they_are_asked() {
    let store = empty_store();
    let by_version = |record: &Arc<Record>| vec![record.version().to_owned()];
    store.add_index("first", Arc::new(by_version));
    let (here, new) = (record(&store, "n/here", "u", 1), record(&store, "n/new", "u", 2));
    let version = None;
    store.apply(Batch {
        deltas: vec![Delta::Upsert(Arc::clone(&here))],
        version: version.clone(),
    });
    // It is here when the indices are asked, and comes back.
    let deltas = vec![
        Delta::Delete(Arc::clone(&here)),
        Delta::Upsert(here),
        Delta::Upsert(new),
    ];
    let batch = Batch { deltas, version };
    let asked = store.ask(&batch);
    store.add_index("second", Arc::new(by_version));
    store.apply_asked(batch, asked);
    for index in ["first", "second"] {
        let found = ["1", "2"].map(|version| store.by_index(index, version).unwrap());
        let found: Vec<String> = found.iter().flatten().map(|record| show(record)).collect();
        assert_eq!(found, ["n/here=u@1", "n/new=u@2"], "{index}");
    }
}

#[test]
fn panics_of_foreign_code_concern_one_object() {
    let options = StoreOptions {
        transform: Some(Arc::new(|raw| {
            assert!(!raw.windows(6).any(|part| part == br#"e":"b""#), "no b please");
            Some(
                String::from_utf8_lossy(raw)
                    .replace("containers", "c")
                    .into_bytes(),
            )
        })),
        ..StoreOptions::default()
    };
    let store = Store::new("v1", "Pod", options);
    let function = |record: &Arc<Record>| {
        assert_ne!(&*record.key().name, "c", "no c please");
        vec!["all".to_owned()]
    };
    store.add_index("all", Arc::new(function));
    let mut fifo = DeltaFifo::default();
    for key in ["a", "b", "c"] {
        fifo.upsert(record(&store, key, "u", 1));
    }
    assert_eq!(drain(&mut fifo, &store).len(), 3);
    let transformed = |key: &str| {
        let found = store.get(&ObjectKey::of(None, key)).unwrap();
        !String::from_utf8_lossy(&found.text()).contains("containers")
    };
    assert_eq!(
        [transformed("a"), transformed("b"), transformed("c")],
        [true, false, true]
    );
    assert_eq!(store.by_index("all", "all").unwrap().len(), 2);
}
