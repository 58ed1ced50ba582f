//! What every store does. Each test runs over the store in memory and over a cache before one.

use std::sync::Arc;

use super::*;

macro_rules! over_each_store {
    ($($name:ident),* $(,)?) => {
        mod memory {
            use super::*;
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name(Arc::new(MemoryStorage::new())).await;
            })*
        }

        mod cached {
            use super::*;
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name(cache(Arc::new(MemoryStorage::new())).await).await;
            })*
        }

        mod cached_twice_behind_an_object {
            use super::*;
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name(cache(cache(Arc::new(MemoryStorage::new())).await).await).await;
            })*
        }
    };
}

over_each_store!(
    counts_one_revision_for_everything,
    creates_only_what_is_not_there,
    updates_compare_and_swap,
    deletes_compare_and_swap,
    lists_ranges_in_order,
    lists_in_pages_of_one_revision,
    goes_on_at_the_latest_state_when_asked,
    waits_for_revisions_of_the_future,
    forgets_what_was_compacted,
    watches_what_comes_after,
    watches_from_the_future,
    watches_the_state_then_the_changes,
    shares_frames_between_watchers,
    keeps_watching_through_a_compaction,
    tells_its_progress,
    updates_under_contention,
    leaves_out_updates_that_change_nothing,
);

type Store = Arc<dyn Storage>;

/// A cache that is filled, so that its history begins here.
async fn cache<S: Storage + ?Sized>(store: Arc<S>) -> Store {
    let cache = WatchCache::spawn(store, Limits::default());
    cache.progress().await.unwrap();
    Arc::new(cache)
}

async fn list(store: &Store, prefix: KeyPrefix) -> (Vec<String>, u64) {
    let response = store.range(RangeRequest::new(prefix)).await.unwrap();
    (
        response
            .items
            .iter()
            .map(|object| format!("{}@{}", object.key(), object.revision()))
            .collect(),
        response.revision.0,
    )
}

async fn counts_one_revision_for_everything(store: Store) {
    let (items, empty) = list(&store, KeyPrefix::all()).await;
    assert!(items.is_empty() && empty >= 1, "an empty store has a version");
    let first = store.create(pod("a", "x"), encoded(1)).await.unwrap();
    assert_eq!(first.revision(), Revision(empty + 1));
    assert_eq!(
        first.value()["metadata"]["resourceVersion"],
        (empty + 1).to_string()
    );
    let other = store
        .create(Key::new("apps", "deployments", Some("a"), "x"), encoded(1))
        .await
        .unwrap();
    assert_eq!(other.revision(), Revision(empty + 2));
    let updated = store
        .update(pod("a", "x"), first.revision(), encoded(2))
        .await
        .unwrap();
    assert_eq!(
        (updated.revision(), updated.create_revision()),
        (Revision(empty + 3), Revision(empty + 1))
    );
    let deleted = store.delete(pod("a", "x"), updated.revision()).await.unwrap();
    assert_eq!(deleted.revision(), Revision(empty + 4));
    assert_eq!(
        list(&store, pods()).await,
        (vec![], empty + 4),
        "also lists without items are at the latest revision"
    );
}

async fn creates_only_what_is_not_there(store: Store) {
    assert_eq!(store.get(pod("a", "x")).await.unwrap(), None);
    let created = store.create(pod("a", "x"), encoded(1)).await.unwrap();
    let refused = store.create(pod("a", "x"), encoded(2)).await;
    assert!(matches!(refused, Err(StorageError::AlreadyExists { current }) if current == created));
    assert_eq!(store.get(pod("a", "x")).await.unwrap(), Some(created.clone()));
    store.delete(pod("a", "x"), created.revision()).await.unwrap();
    let again = store.create(pod("a", "x"), encoded(3)).await.unwrap();
    assert_eq!(again.create_revision(), again.revision());
}

async fn updates_compare_and_swap(store: Store) {
    let missing = store
        .update(pod("a", "x"), Revision(1), encoded(1))
        .await
        .unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
    let created = store.create(pod("a", "x"), encoded(1)).await.unwrap();
    let updated = store
        .update(pod("a", "x"), created.revision(), encoded(2))
        .await
        .unwrap();
    let late = store.update(pod("a", "x"), created.revision(), encoded(3)).await;
    assert!(
        matches!(&late, Err(StorageError::Conflict { expected, current }) if *expected == created.revision() && *current == updated),
        "{late:?}"
    );
    assert_eq!(
        store
            .get(pod("a", "x"))
            .await
            .unwrap()
            .map(|object| generation(&object)),
        Some(2)
    );
}

async fn deletes_compare_and_swap(store: Store) {
    let missing = store.delete(pod("a", "x"), Revision(1)).await.unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
    let created = store.create(pod("a", "x"), encoded(1)).await.unwrap();
    let updated = store
        .update(pod("a", "x"), created.revision(), encoded(2))
        .await
        .unwrap();
    let late = store.delete(pod("a", "x"), created.revision()).await.unwrap_err();
    assert!(late.is_conflict(), "{late}");
    let deleted = store.delete(pod("a", "x"), updated.revision()).await.unwrap();
    assert_eq!(
        (generation(&deleted), deleted.revision()),
        (2, updated.revision().next())
    );
    assert_eq!(store.get(pod("a", "x")).await.unwrap(), None);
}

/// Pods `a/x`, `a-b/y`, `a/z`, `b/x` at revisions 2 to 5, and others around them.
async fn populate(store: &Store) {
    for (namespace, name) in [("a", "x"), ("a-b", "y"), ("a", "z"), ("b", "x")] {
        store.create(pod(namespace, name), encoded(1)).await.unwrap();
    }
    for (group, resource) in [("", "podtemplates"), ("", "pod"), ("apps", "pods")] {
        store
            .create(Key::new(group, resource, Some("a"), "x"), encoded(1))
            .await
            .unwrap();
    }
}

async fn lists_ranges_in_order(store: Store) {
    populate(&store).await;
    let check = async |prefix: KeyPrefix, expect: &[&str]| {
        let (items, revision) = list(&store, prefix.clone()).await;
        assert_eq!(
            (items.as_slice(), revision),
            (
                expect
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .as_slice(),
                8
            ),
            "{prefix}"
        );
    };
    // As in etcd: the order of the texts, where `-` comes before `/`.
    check(
        pods(),
        &[
            "core/pods/a-b/y@3",
            "core/pods/a/x@2",
            "core/pods/a/z@4",
            "core/pods/b/x@5",
        ],
    )
    .await;
    check(pods_in("a"), &["core/pods/a/x@2", "core/pods/a/z@4"]).await;
    check(pods_in("c"), &[]).await;
    check(KeyPrefix::resource("x", "y"), &[]).await;
    assert_eq!(list(&store, KeyPrefix::all()).await.0.len(), 7);
    for at in [
        At::AnyCached,
        At::NotOlderThan(Revision(8)),
        At::Exact(Revision(8)),
    ] {
        let response = store
            .range(RangeRequest {
                at,
                ..RangeRequest::new(pods())
            })
            .await
            .unwrap();
        assert_eq!(
            (response.items.len(), response.revision),
            (4, Revision(8)),
            "{at:?}"
        );
    }
}

async fn lists_in_pages_of_one_revision(store: Store) {
    populate(&store).await;
    let mut request = RangeRequest {
        limit: Some(2),
        ..RangeRequest::new(pods())
    };
    let first = store.range(request.clone()).await.unwrap();
    assert_eq!(
        (first.items.len(), first.remaining, first.revision),
        (2, Some(2), Revision(8))
    );
    // Whatever happens now is not seen.
    store.create(pod("a", "y"), encoded(1)).await.unwrap();
    store.delete(pod("a", "z"), Revision(4)).await.unwrap();
    store
        .update(pod("b", "x"), Revision(5), encoded(9))
        .await
        .unwrap();
    request.start = first.next;
    request.at = At::Exact(first.revision);
    let second = store.range(request.clone()).await.unwrap();
    let names: Vec<_> = second
        .items
        .iter()
        .map(|object| format!("{} {}", object.key(), generation(object)))
        .collect();
    assert_eq!(names, ["core/pods/a/z 1", "core/pods/b/x 1"]);
    assert_eq!(
        (second.remaining, second.next, second.revision),
        (Some(0), None, Revision(8))
    );
    // The same page again, and one that was not given out as the next: counted all the same.
    let one = RangeRequest {
        limit: Some(1),
        ..request.clone()
    };
    for start in [request.start.as_deref(), Some("core/pods/a/yy"), None] {
        let expect = if start.is_none() { Some(3) } else { Some(1) };
        for (remaining, expect) in [(Remaining::Counted, expect), (Remaining::Ignored, None)] {
            let start = start.map(str::to_owned);
            let page = store
                .range(RangeRequest {
                    start,
                    remaining,
                    ..one.clone()
                })
                .await
                .unwrap();
            assert_eq!((page.items.len(), page.remaining), (1, expect));
            assert!(page.next.is_some());
        }
    }

    let counted = store
        .range(RangeRequest {
            limit: Some(0),
            ..RangeRequest::new(pods())
        })
        .await
        .unwrap();
    assert_eq!((counted.items.len(), counted.remaining), (0, Some(4)));
    for (start, expect) in [
        ("", 4),
        ("core/pods/a/y", 2),
        ("core/pods/b/x\0", 0),
        ("core/podz", 0),
        ("zzz", 0),
    ] {
        let request = RangeRequest {
            start: Some(start.to_owned()),
            ..RangeRequest::new(pods())
        };
        let items = store.range(request).await.unwrap().items;
        assert_eq!(items.len(), expect, "from {start:?}");
        assert!(items.iter().all(|object| pods().contains(object.key())));
    }
}

async fn goes_on_at_the_latest_state_when_asked(store: Store) {
    populate(&store).await;
    let first = store
        .range(RangeRequest {
            limit: Some(2),
            ..RangeRequest::new(pods())
        })
        .await
        .unwrap();
    store.create(pod("a", "y"), encoded(1)).await.unwrap();
    let rest = store
        .range(RangeRequest {
            start: first.next,
            ..RangeRequest::new(pods())
        })
        .await
        .unwrap();
    let names: Vec<_> = rest.items.iter().map(|object| object.key().name()).collect();
    assert_eq!((names, rest.revision), (vec!["y", "z", "x"], Revision(9)));
}

async fn waits_for_revisions_of_the_future(store: Store) {
    store.create(pod("a", "x"), encoded(1)).await.unwrap();
    for at in [At::NotOlderThan(Revision(4)), At::Exact(Revision(4))] {
        let before = tokio::time::Instant::now();
        let failed = store
            .range(RangeRequest {
                at,
                ..RangeRequest::new(pods())
            })
            .await;
        assert!(
            matches!(
                failed,
                Err(StorageError::Future {
                    requested: Revision(4),
                    current: Revision(2)
                })
            ),
            "{at:?}: {failed:?}"
        );
        assert_eq!(before.elapsed().as_secs(), FRESHNESS_WAIT.as_secs());
    }
    let asked = tokio::spawn({
        let request = RangeRequest {
            at: At::NotOlderThan(Revision(4)),
            ..RangeRequest::new(pods())
        };
        let store = Arc::clone(&store);
        async move { store.range(request).await }
    });
    tokio::task::yield_now().await;
    store.create(pod("a", "y"), encoded(1)).await.unwrap();
    store.create(pod("a", "z"), encoded(1)).await.unwrap();
    let response = asked.await.unwrap().unwrap();
    assert_eq!((response.items.len(), response.revision), (3, Revision(4)));
}

async fn forgets_what_was_compacted(store: Store) {
    populate(&store).await;
    store.progress().await.unwrap();
    store.compact(Revision(4)).await.unwrap();
    let exact = async |revision: u64| {
        let request = RangeRequest {
            at: At::Exact(Revision(revision)),
            ..RangeRequest::new(pods())
        };
        store.range(request).await.map(|response| response.items.len())
    };
    assert!(matches!(
        exact(3).await,
        Err(StorageError::Compacted {
            requested: Revision(3),
            oldest: Revision(4)
        })
    ));
    assert_eq!(exact(4).await.unwrap(), 3);
    assert_eq!(exact(5).await.unwrap(), 4);
    let watch = |revision: u64| {
        store.watch(WatchRequest {
            prefix: pods(),
            start: WatchStart::After(Revision(revision)),
        })
    };
    assert!(watch(3).is_err_and(|err| err.is_compacted()));
    assert_eq!(
        shown(&take(&mut watch(4).unwrap(), 1).await),
        ["ADDED core/pods/b/x at 5"]
    );
    store.compact(Revision(999)).await.unwrap();
    assert!(exact(7).await.is_err_and(|err| err.is_compacted()));
    assert_eq!(exact(8).await.unwrap(), 4, "the present cannot be compacted");
}

async fn watches_what_comes_after(store: Store) {
    populate(&store).await;
    store
        .update(pod("a", "x"), Revision(2), encoded(2))
        .await
        .unwrap();
    store
        .update(pod("b", "x"), Revision(5), encoded(2))
        .await
        .unwrap();
    store.delete(pod("a", "x"), Revision(9)).await.unwrap();
    store.progress().await.unwrap();
    let check = async |prefix: KeyPrefix, after: u64, expect: &[&str]| {
        let start = WatchStart::After(Revision(after));
        let mut watch = store
            .watch(WatchRequest {
                prefix: prefix.clone(),
                start,
            })
            .unwrap();
        assert_eq!(
            shown(&take(&mut watch, expect.len()).await),
            expect,
            "{prefix} after {after}"
        );
        assert_eq!(
            watch.try_next_batch(9, &mut Vec::new()).unwrap(),
            0,
            "{prefix} after {after}"
        );
        assert_eq!(watch.progress(), Some(Revision(11)));
    };
    let (x9, bx10, x11) = (
        "MODIFIED core/pods/a/x at 9",
        "MODIFIED core/pods/b/x at 10",
        "DELETED core/pods/a/x at 11",
    );
    check(pods(), 8, &[x9, bx10, x11]).await;
    check(pods(), 9, &[bx10, x11]).await;
    check(pods(), 11, &[]).await;
    check(pods_in("a"), 4, &[x9, x11]).await;
    check(pods_in("b"), 3, &["ADDED core/pods/b/x at 5", bx10]).await;
    check(
        KeyPrefix::resource("apps", "pods"),
        5,
        &["ADDED apps/pods/a/x at 8"],
    )
    .await;
    check(KeyPrefix::all(), 7, &["ADDED apps/pods/a/x at 8", x9, bx10, x11]).await;

    let mut watch = store
        .watch(WatchRequest {
            prefix: pods_in("a"),
            start: WatchStart::After(Revision(8)),
        })
        .unwrap();
    let [WatchItem::Event(modified), WatchItem::Event(deleted)] = &take(&mut watch, 2).await[..] else {
        panic!()
    };
    assert_eq!(modified.previous().map(generation), Some(1));
    assert_eq!(
        (generation(deleted.object()), deleted.object().revision()),
        (2, Revision(11))
    );
    assert_eq!(deleted.previous().map(StoredObject::revision), Some(Revision(9)));
}

async fn watches_from_the_future(store: Store) {
    let mut watch = store
        .watch(WatchRequest {
            prefix: pods(),
            start: WatchStart::After(Revision(3)),
        })
        .unwrap();
    for name in ["x", "y", "z"] {
        store.create(pod("a", name), encoded(1)).await.unwrap();
    }
    assert_eq!(shown(&take(&mut watch, 1).await), ["ADDED core/pods/a/z at 4"]);
}

async fn watches_the_state_then_the_changes(store: Store) {
    populate(&store).await;
    store.progress().await.unwrap();
    let mut watch = store
        .watch(WatchRequest {
            prefix: pods_in("a"),
            start: WatchStart::State,
        })
        .unwrap();
    let first = watch.next().await.unwrap();
    assert_eq!(shown(&[first]), ["ADDED core/pods/a/x at 2"]);
    assert_eq!(watch.progress(), None, "the state is not read to its end");
    store.delete(pod("a", "x"), Revision(2)).await.unwrap();
    assert_eq!(
        shown(&take(&mut watch, 3).await),
        [
            "ADDED core/pods/a/z at 4",
            "synced at 8",
            "DELETED core/pods/a/x at 9"
        ]
    );
    let mut empty = store
        .watch(WatchRequest {
            prefix: pods_in("none"),
            start: WatchStart::State,
        })
        .unwrap();
    assert_eq!(shown(&take(&mut empty, 1).await), ["synced at 9"]);
}

async fn shares_frames_between_watchers(store: Store) {
    store.progress().await.unwrap();
    let watch = |prefix| {
        store
            .watch(WatchRequest {
                prefix,
                start: WatchStart::After(Revision(1)),
            })
            .unwrap()
    };
    let mut watches = [
        watch(pods()),
        watch(pods()),
        watch(pods_in("a")),
        watch(KeyPrefix::all()),
    ];
    store.create(pod("a", "x"), encoded(1)).await.unwrap();
    let mut frames = Vec::new();
    for watch in &mut watches {
        let WatchItem::Event(event) = watch.next().await.unwrap() else {
            panic!()
        };
        frames.push(event.frame().clone());
    }
    assert!(frames.iter().all(|frame| frame.as_ptr() == frames[0].as_ptr()));
    assert!(frames[0].starts_with(br#"{"type":"ADDED","object":{"#) && frames[0].ends_with(b"}}\n"));
}

async fn keeps_watching_through_a_compaction(store: Store) {
    store.progress().await.unwrap();
    let mut watch = store
        .watch(WatchRequest {
            prefix: pods_in("b"),
            start: WatchStart::After(Revision(1)),
        })
        .unwrap();
    let mut behind = store
        .watch(WatchRequest {
            prefix: pods_in("a"),
            start: WatchStart::After(Revision(1)),
        })
        .unwrap();
    populate(&store).await;
    assert_eq!(take(&mut watch, 1).await.len(), 1);
    store.create(pod("c", "x"), encoded(1)).await.unwrap();
    store.progress().await.unwrap();
    store.compact(Revision(9)).await.unwrap();
    store.create(pod("b", "y"), encoded(1)).await.unwrap();
    assert_eq!(
        shown(&take(&mut watch, 1).await),
        ["ADDED core/pods/b/y at 10"],
        "it had missed nothing"
    );
    for _ in 0..2 {
        let err = behind.next().await.unwrap_err();
        assert!(
            matches!(
                err,
                StorageError::Compacted {
                    requested: Revision(1),
                    oldest: Revision(9)
                }
            ),
            "{err}"
        );
    }
    assert_eq!(behind.progress(), None);
}

async fn tells_its_progress(store: Store) {
    assert_eq!(store.progress().await.unwrap(), Revision(1));
    let created = store.create(pod("a", "x"), encoded(1)).await.unwrap();
    assert_eq!(store.progress().await.unwrap(), created.revision());
    let cached = store
        .range(RangeRequest {
            at: At::AnyCached,
            ..RangeRequest::new(pods())
        })
        .await
        .unwrap();
    assert_eq!(cached.revision, created.revision());
}

async fn updates_under_contention(store: Store) {
    store.create(pod("a", "x"), encoded(0)).await.unwrap();
    let writers: Vec<_> = (0..20)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                guaranteed_update(&*store, &pod("a", "x"), |current| {
                    Ok::<_, std::convert::Infallible>(Some(encoded(generation(current) + 1)))
                })
                .await
                .unwrap()
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(generation(&store.get(pod("a", "x")).await.unwrap().unwrap()), 20);
}

async fn leaves_out_updates_that_change_nothing(store: Store) {
    type Answer = Result<Option<Encoded>, &'static str>;
    let missing = guaranteed_update(&*store, &pod("a", "x"), |_| -> Answer { Ok(None) }).await;
    assert!(matches!(
        missing,
        Err(GuaranteedUpdateError::Storage(StorageError::NotFound { .. }))
    ));
    let created = store.create(pod("a", "x"), encoded(1)).await.unwrap();
    for same in [None, Some(encoded(1))] {
        let updated = guaranteed_update(&*store, &pod("a", "x"), |_| -> Answer { Ok(same.clone()) })
            .await
            .unwrap();
        assert_eq!(updated, created);
    }
    let refused = guaranteed_update(&*store, &pod("a", "x"), |_| -> Answer { Err("no") }).await;
    assert!(matches!(refused, Err(GuaranteedUpdateError::Refused("no"))));
    assert_eq!(store.progress().await.unwrap(), created.revision());

    // Someone is always quicker.
    let mut tries = 0;
    let lost = guaranteed_update(&*store, &pod("a", "x"), |current| -> Answer {
        tries += 1;
        now(store.update(pod("a", "x"), current.revision(), encoded(tries))).unwrap();
        Ok(Some(encoded(0)))
    })
    .await;
    assert!(matches!(
        lost,
        Err(GuaranteedUpdateError::Storage(StorageError::Conflict { .. }))
    ));
    assert_eq!(tries, GUARANTEED_UPDATE_TRIES as u64);
}
