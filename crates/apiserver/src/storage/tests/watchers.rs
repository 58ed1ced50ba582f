//! Many watchers, slow watchers, watchers that leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;

fn follow(store: &MemoryStorage, prefix: KeyPrefix) -> Watch {
    store
        .watch(WatchRequest {
            prefix,
            start: WatchStart::After(now(store.progress()).unwrap()),
        })
        .unwrap()
}

#[derive(Default)]
struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a watch that has nothing new, so that it sleeps.
fn sleep(watch: &mut Watch, wakes: &Arc<CountWakes>) {
    let waker = Waker::from(Arc::clone(wakes));
    assert!(watch.poll_next(&mut Context::from_waker(&waker)).is_pending());
}

#[tokio::test]
async fn each_of_a_thousand_watchers_sees_exactly_its_events_in_order() {
    let store = MemoryStorage::new();
    let readers: Vec<_> = (0..1000)
        .map(|reader| {
            let prefix = match reader % 3 {
                0 => KeyPrefix::all(),
                1 => pods(),
                _ => pods_in(&format!("n{}", reader % 10)),
            };
            let mut watch = follow(&store, prefix.clone());
            tokio::spawn(async move {
                let mut seen = Vec::new();
                loop {
                    let WatchItem::Event(event) = watch.next().await.unwrap() else {
                        panic!()
                    };
                    if event.object().key().name() == "last" {
                        return (prefix, seen);
                    }
                    seen.push((event.revision(), event.object().key().clone()));
                }
            })
        })
        .collect();
    let mut written = Vec::new();
    for number in 0..200_u64 {
        let namespace = format!("n{}", number % 10);
        let resource = if number % 7 == 0 { "services" } else { "pods" };
        let key = Key::new("", resource, Some(&namespace), &format!("p{number}"));
        let object = store.create(key.clone(), encoded(1)).await.unwrap();
        written.push((object.revision(), key));
        if number % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for namespace in 0..10 {
        store
            .create(pod(&format!("n{namespace}"), "last"), encoded(1))
            .await
            .unwrap();
    }
    for reader in readers {
        let (prefix, seen) = reader.await.unwrap();
        let expect: Vec<_> = written
            .iter()
            .filter(|(_, key)| prefix.contains(key))
            .cloned()
            .collect();
        assert_eq!(seen, expect, "{prefix}");
    }
    assert_eq!(store.hub().sleeping(), 0);
}

#[test]
fn a_write_wakes_only_the_watchers_of_its_topics() {
    let store = MemoryStorage::new();
    let mut watches = Vec::new();
    for prefix in [
        KeyPrefix::all(),
        pods(),
        pods_in("a"),
        pods_in("b"),
        KeyPrefix::resource("", "services"),
    ] {
        let wakes = Arc::new(CountWakes::default());
        let mut watch = follow(&store, prefix);
        sleep(&mut watch, &wakes);
        sleep(&mut watch, &wakes);
        watches.push((watch, wakes));
    }
    assert_eq!(store.hub().sleeping(), 5, "polled twice, registered once");
    let counts = || {
        watches
            .iter()
            .map(|(_, wakes)| wakes.0.load(Ordering::Relaxed))
            .collect::<Vec<_>>()
    };
    now(store.create(pod("a", "x"), encoded(1))).unwrap();
    assert_eq!(counts(), [1, 1, 1, 0, 0]);
    now(store.create(pod("a", "y"), encoded(1))).unwrap();
    assert_eq!(counts(), [1, 1, 1, 0, 0], "awake already");
    assert_eq!(store.hub().sleeping(), 2);
    drop(watches);
    assert_eq!(store.hub().sleeping(), 0);
}

#[test]
fn watchers_that_leave_leave_nothing_behind() {
    let store = MemoryStorage::new();
    let wakes = Arc::new(CountWakes::default());
    for round in 0..100 {
        let mut watch = follow(&store, pods_in(&format!("n{round}")));
        sleep(&mut watch, &wakes);
        let waiting = store.range(RangeRequest {
            at: At::NotOlderThan(Revision(99)),
            ..RangeRequest::new(pods())
        });
        drop(waiting);
        assert_eq!(store.hub().sleeping(), 1);
    }
    assert_eq!(store.hub().sleeping(), 0);
    assert_eq!(Arc::strong_count(&wakes), 1);
    assert_eq!(
        store.hub().read(Mvcc::topic_count),
        1,
        "only the topic of everything is left"
    );
}

#[test]
fn a_slow_watcher_falls_off_and_memory_stays_bounded() {
    let check = |limits: Limits, writes: u64| {
        let store = MemoryStorage::with_limits(limits);
        let mut slow = follow(&store, pods());
        let mut quiet = follow(&store, pods_in("quiet"));
        let mut quick = follow(&store, pods());
        let mut object = now(store.create(pod("a", "x"), encoded(0))).unwrap();
        let mut batch = Vec::new();
        for number in 1..=writes {
            object = now(store.update(pod("a", "x"), object.revision(), encoded(number))).unwrap();
            quick.try_next_batch(10, &mut batch).unwrap();
            batch.iter().for_each(|item| {
                if let WatchItem::Event(event) = item {
                    assert!(!event.frame().is_empty());
                }
            });
            batch.clear();
            let (events, bytes) = store.history_size();
            assert!(
                events <= limits.max_events && bytes <= limits.max_bytes,
                "{events} events, {bytes} bytes"
            );
        }
        let err = now(slow.next()).unwrap_err();
        assert!(err.is_compacted(), "{err}");
        assert_eq!(
            quiet.try_next_batch(1, &mut batch).unwrap(),
            0,
            "nothing of its own was discarded"
        );
        now(store.create(pod("quiet", "x"), encoded(0))).unwrap();
        assert_eq!(quiet.try_next_batch(1, &mut batch).unwrap(), 1);
        let old = store.watch(WatchRequest {
            prefix: pods(),
            start: WatchStart::After(Revision(2)),
        });
        assert!(old.is_err_and(|err| err.is_compacted()));
    };
    check(
        Limits {
            max_events: 10,
            ..Limits::default()
        },
        30,
    );
    check(
        Limits {
            max_bytes: 10_000,
            ..Limits::default()
        },
        100,
    );
}

#[test]
fn the_latest_event_stays_however_large_it_is() {
    let store = MemoryStorage::with_limits(Limits {
        max_events: 0,
        max_bytes: 0,
    });
    let mut watch = follow(&store, pods());
    now(store.create(pod("a", "x"), encoded(0))).unwrap();
    assert_eq!(shown(&[now(watch.next()).unwrap()]), ["ADDED core/pods/a/x at 2"]);
}

#[test]
fn events_of_other_resources_are_not_read() {
    let store = MemoryStorage::new();
    let mut watch = follow(&store, KeyPrefix::resource("", "services"));
    let after = now(store.progress()).unwrap();
    let mut object = now(store.create(pod("a", "x"), encoded(0))).unwrap();
    for number in 0..50_000 {
        object = now(store.update(pod("a", "x"), object.revision(), encoded(number))).unwrap();
    }
    now(store.create(Key::new("", "services", Some("a"), "s"), encoded(0))).unwrap();
    let read = store
        .hub()
        .read(|mvcc| mvcc.topic_len(&KeyPrefix::resource("", "services")));
    assert_eq!(read, 1, "a reader's ring holds its own events only");
    assert_eq!(
        shown(&[now(watch.next()).unwrap()]),
        ["ADDED core/services/a/s at 50003"]
    );
    let mut later = store
        .watch(WatchRequest {
            prefix: KeyPrefix::resource("", "services"),
            start: WatchStart::After(after),
        })
        .unwrap();
    assert_eq!(later.try_next_batch(9, &mut Vec::new()).unwrap(), 1);
}

#[test]
fn snapshots_are_read_without_the_lock() {
    let store = MemoryStorage::new();
    for number in 0..10 {
        now(store.create(pod("a", &format!("p{number}")), encoded(number))).unwrap();
    }
    let mut watch = store
        .watch(WatchRequest {
            prefix: pods(),
            start: WatchStart::State,
        })
        .unwrap();
    let mut items = Vec::new();
    assert_eq!(watch.try_next_batch(4, &mut items).unwrap(), 4);
    // Writes between the pieces of the state come as changes after it, not in it.
    now(store.delete(pod("a", "p9"), Revision(11))).unwrap();
    while watch.try_next_batch(4, &mut items).unwrap() > 0 {}
    let shown = shown(&items);
    assert_eq!(shown.len(), 12);
    assert_eq!(
        shown[9..],
        [
            "ADDED core/pods/a/p9 at 11",
            "synced at 11",
            "DELETED core/pods/a/p9 at 12"
        ]
    );
}
