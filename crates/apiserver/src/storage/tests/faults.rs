//! A cache whose store breaks off watches, forgets history and goes back in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;

/// A store whose watches can be broken.
#[derive(Debug, Default)]
pub(crate) struct Flaky {
    control: Arc<Mutex<Control>>,
}

#[derive(Debug, Default)]
struct Control {
    inner: MemoryStorage,
    /// Counts the breaks; a watch from before one ends with `error`.
    breaks: u64,
    error: Option<StorageError>,
    /// New watches are refused.
    down: bool,
    /// Items that new watches give before they stall.
    stall_after: Option<usize>,
    wakers: Vec<Waker>,
}

pub(crate) const LOST: StorageError = StorageError::Unavailable {
    reason: "the connection was lost",
    source: None,
};

impl Flaky {
    fn inner(&self) -> MemoryStorage {
        self.control.lock().inner.clone()
    }

    /// New watches give no more than so many items.
    pub(crate) fn stall_after(&self, items: Option<usize>) {
        self.control.lock().stall_after = items;
    }

    /// Ends all watches and refuses new ones until [`Flaky::heal`].
    pub(crate) fn break_off(&self, error: StorageError) {
        let mut control = self.control.lock();
        control.breaks += 1;
        control.error = Some(error);
        control.down = true;
        control.wakers.drain(..).for_each(Waker::wake);
    }

    pub(crate) fn heal(&self) {
        self.control.lock().down = false;
    }
}

struct FlakyWatch {
    control: Arc<Mutex<Control>>,
    inner: Watch,
    breaks: u64,
    left: Option<usize>,
}

impl WatchSource for FlakyWatch {
    fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        out: &mut Vec<WatchItem>,
    ) -> Poll<Result<(), StorageError>> {
        {
            let mut control = self.control.lock();
            if control.breaks != self.breaks {
                return Poll::Ready(Err(control.error.clone().unwrap_or(LOST)));
            }
            control.wakers.push(cx.waker().clone());
        }
        let max = max.min(self.left.unwrap_or(usize::MAX));
        if max == 0 {
            return Poll::Pending;
        }
        let before = out.len();
        let polled = self.inner.poll_batch(cx, max, out);
        self.left = self.left.map(|left| left - (out.len() - before));
        polled
    }

    fn progress(&self) -> Option<Revision> {
        self.inner.progress()
    }
}

impl Storage for Flaky {
    fn create(&self, key: Key, value: Encoded) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        let inner = self.inner();
        Box::pin(async move { inner.create(key, value).await })
    }

    fn update(
        &self,
        key: Key,
        expected: Revision,
        value: Encoded,
    ) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        let inner = self.inner();
        Box::pin(async move { inner.update(key, expected, value).await })
    }

    fn delete(&self, key: Key, expected: Revision) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        let inner = self.inner();
        Box::pin(async move { inner.delete(key, expected).await })
    }

    fn get(&self, key: Key) -> BoxFuture<'_, Result<Option<StoredObject>, StorageError>> {
        let inner = self.inner();
        Box::pin(async move { inner.get(key).await })
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<RangeResponse, StorageError>> {
        let inner = self.inner();
        Box::pin(async move { inner.range(request).await })
    }

    fn watch(&self, request: WatchRequest) -> Result<Watch, StorageError> {
        let control = self.control.lock();
        if control.down {
            return Err(LOST);
        }
        let inner = control.inner.watch(request)?;
        let (breaks, left) = (control.breaks, control.stall_after);
        Ok(Watch::new(FlakyWatch {
            control: Arc::clone(&self.control),
            inner,
            breaks,
            left,
        }))
    }

    fn progress(&self) -> BoxFuture<'_, Result<Revision, StorageError>> {
        let inner = self.inner();
        Box::pin(async move { inner.progress().await })
    }
}

/// A store with pods `a`, `b`, `c` at revisions 2 to 4, a filled cache and a watch of it from there.
async fn start() -> (Arc<Flaky>, WatchCache<Flaky>, Watch) {
    let store = Arc::new(Flaky::default());
    for name in ["a", "b", "c"] {
        store.create(pod("n", name), encoded(1)).await.unwrap();
    }
    let cache = WatchCache::spawn(Arc::clone(&store), Limits::default());
    assert_eq!(cache.progress().await.unwrap(), Revision(4));
    let watch = cache
        .watch(WatchRequest {
            prefix: pods(),
            start: WatchStart::After(Revision(4)),
        })
        .unwrap();
    (store, cache, watch)
}

/// Changes everything: `a` is updated, `b` deleted, `c` deleted and created again, `d` created, `e` comes and goes.
async fn change_all(store: &Flaky) {
    store
        .update(pod("n", "a"), Revision(2), encoded(2))
        .await
        .unwrap();
    store.delete(pod("n", "c"), Revision(4)).await.unwrap();
    store.create(pod("n", "e"), encoded(1)).await.unwrap();
    store.create(pod("n", "d"), encoded(1)).await.unwrap();
    store.delete(pod("n", "b"), Revision(3)).await.unwrap();
    store.create(pod("n", "c"), encoded(2)).await.unwrap();
    store.delete(pod("n", "e"), Revision(7)).await.unwrap();
}

async fn exact(cache: &WatchCache<Flaky>, revision: u64) -> Result<usize, StorageError> {
    let request = RangeRequest {
        at: At::Exact(Revision(revision)),
        ..RangeRequest::new(pods())
    };
    cache.range(request).await.map(|response| response.items.len())
}

#[tokio::test(start_paused = true)]
async fn goes_on_where_it_was_when_the_connection_is_lost() {
    let (store, cache, mut watch) = start().await;
    store.break_off(LOST);
    change_all(&store).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(watch.try_next_batch(9, &mut Vec::new()).unwrap(), 0);
    store.heal();
    assert_eq!(
        shown(&take(&mut watch, 7).await),
        [
            "MODIFIED core/pods/n/a at 5",
            "DELETED core/pods/n/c at 6",
            "ADDED core/pods/n/e at 7",
            "ADDED core/pods/n/d at 8",
            "DELETED core/pods/n/b at 9",
            "ADDED core/pods/n/c at 10",
            "DELETED core/pods/n/e at 11",
        ]
    );
    assert_eq!(exact(&cache, 7).await.unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn shows_the_difference_when_history_is_gone() {
    let (store, cache, mut watch) = start().await;
    store.break_off(StorageError::Compacted {
        requested: Revision(4),
        oldest: Revision(11),
    });
    change_all(&store).await;
    store.inner().compact(Revision(11)).await.unwrap();
    store.heal();
    let items = take(&mut watch, 5).await;
    assert_eq!(
        shown(&items),
        [
            "DELETED core/pods/n/b at 5",
            "DELETED core/pods/n/c at 5",
            "MODIFIED core/pods/n/a at 5",
            "ADDED core/pods/n/d at 8",
            "ADDED core/pods/n/c at 10",
        ]
    );
    assert_eq!(cache.progress().await.unwrap(), Revision(11));
    assert_eq!(watch.progress(), Some(Revision(11)));

    // What lies between was not seen and is not invented.
    for revision in 5..11 {
        let watch = cache.watch(WatchRequest {
            prefix: pods(),
            start: WatchStart::After(Revision(revision)),
        });
        assert!(watch.is_err_and(|err| err.is_compacted()), "{revision}");
        assert!(
            exact(&cache, revision).await.is_err_and(|err| err.is_compacted()),
            "{revision}"
        );
    }
    assert_eq!(
        (exact(&cache, 4).await.unwrap(), exact(&cache, 11).await.unwrap()),
        (3, 3)
    );
    let mut again = cache
        .watch(WatchRequest {
            prefix: pods(),
            start: WatchStart::After(Revision(4)),
        })
        .unwrap();
    assert_eq!(shown(&take(&mut again, 5).await), shown(&items));

    store.create(pod("n", "f"), encoded(1)).await.unwrap();
    assert_eq!(shown(&take(&mut watch, 1).await), ["ADDED core/pods/n/f at 12"]);
}

#[tokio::test(start_paused = true)]
async fn asks_the_store_for_history_it_never_had() {
    let (_store, cache, _watch) = start().await;
    assert_eq!(exact(&cache, 3).await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn takes_no_part_of_a_state_for_the_whole() {
    let (store, cache, mut watch) = start().await;
    store.control.lock().stall_after = Some(2);
    store.break_off(StorageError::Compacted {
        requested: Revision(4),
        oldest: Revision(5),
    });
    store
        .update(pod("n", "a"), Revision(2), encoded(2))
        .await
        .unwrap();
    store.heal();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(watch.try_next_batch(9, &mut Vec::new()).unwrap(), 0);
    let cached = cache
        .range(RangeRequest {
            at: At::AnyCached,
            ..RangeRequest::new(pods())
        })
        .await
        .unwrap();
    assert_eq!((cached.items.len(), cached.revision), (3, Revision(4)));

    store.control.lock().stall_after = None;
    store.break_off(LOST);
    store.heal();
    assert_eq!(shown(&take(&mut watch, 1).await), ["MODIFIED core/pods/n/a at 5"]);
}

#[tokio::test(start_paused = true)]
async fn stays_consistent_while_it_is_cut_off() {
    let (store, cache, _watch) = start().await;
    store.break_off(LOST);
    store.create(pod("n", "d"), encoded(1)).await.unwrap();
    let latest = cache.range(RangeRequest::new(pods())).await.unwrap();
    assert_eq!(
        (latest.items.len(), latest.revision),
        (4, Revision(5)),
        "the store itself was asked"
    );
    assert_eq!(
        cache
            .get(pod("n", "d"))
            .await
            .unwrap()
            .map(|object| object.revision()),
        Some(Revision(5))
    );
    let cached = cache
        .range(RangeRequest {
            at: At::AnyCached,
            ..RangeRequest::new(pods())
        })
        .await
        .unwrap();
    assert_eq!((cached.items.len(), cached.revision), (3, Revision(4)));
    let newer = cache
        .range(RangeRequest {
            at: At::NotOlderThan(Revision(5)),
            ..RangeRequest::new(pods())
        })
        .await;
    assert!(
        matches!(
            newer,
            Err(StorageError::Future {
                requested: Revision(5),
                current: Revision(4)
            })
        ),
        "{newer:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn waits_for_its_first_state() {
    let store = Arc::new(Flaky::default());
    store.break_off(LOST);
    store.create(pod("n", "a"), encoded(1)).await.unwrap();
    let cache = WatchCache::spawn(Arc::clone(&store), Limits::default());
    let cached = cache
        .range(RangeRequest {
            at: At::AnyCached,
            ..RangeRequest::new(pods())
        })
        .await;
    assert!(
        matches!(cached, Err(StorageError::Unavailable { .. })),
        "{cached:?}"
    );
    let watch = |start| {
        cache
            .watch(WatchRequest {
                prefix: pods(),
                start,
            })
            .unwrap()
    };
    let (mut state, mut after) = (watch(WatchStart::State), watch(WatchStart::After(Revision(2))));
    let mut early = watch(WatchStart::After(Revision(1)));
    assert_eq!(state.try_next_batch(9, &mut Vec::new()).unwrap(), 0);
    store.heal();
    assert_eq!(
        shown(&take(&mut state, 2).await),
        ["ADDED core/pods/n/a at 2", "synced at 2"]
    );
    assert!(
        early.next().await.is_err_and(|err| err.is_compacted()),
        "found out once the history is there"
    );
    store.create(pod("n", "b"), encoded(1)).await.unwrap();
    assert_eq!(shown(&take(&mut after, 1).await), ["ADDED core/pods/n/b at 3"]);
}

#[tokio::test(start_paused = true)]
async fn begins_anew_when_the_store_went_back_in_time() {
    let (store, cache, mut watch) = start().await;
    let restored = MemoryStorage::new();
    restored.create(pod("n", "z"), encoded(1)).await.unwrap();
    store.control.lock().inner = restored;
    store.break_off(StorageError::Future {
        requested: Revision(4),
        current: Revision(2),
    });
    store.heal();
    assert!(watch.next().await.is_err_and(|err| err.is_compacted()));
    let items = cache.range(RangeRequest::new(pods())).await.unwrap().items;
    assert_eq!(
        items.iter().map(|object| object.key().name()).collect::<Vec<_>>(),
        ["z"]
    );
    assert_eq!(cache.progress().await.unwrap(), Revision(2));
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_cache() {
    let (store, cache, watch) = start().await;
    drop(cache);
    drop(watch);
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&store), 1);
}

#[derive(Clone, Debug)]
enum Op {
    Write(u8),
    Remove(u8),
    BreakOff,
    Compact,
    Heal,
    Settle,
}

/// Whatever breaks when: each watcher is led from state to state without a step missing or done twice, and to the right end.
async fn follow_through(ops: &[Op]) {
    let (store, cache, watch) = start().await;
    let mut readers = Vec::new();
    for (prefix, mut watch) in [(pods(), watch), {
        let prefix = pods_in("m");
        (
            prefix.clone(),
            cache
                .watch(WatchRequest {
                    prefix,
                    start: WatchStart::State,
                })
                .unwrap(),
        )
    }] {
        let mut held = BTreeMap::new();
        if prefix == pods() {
            let initial = cache.range(RangeRequest::new(pods())).await.unwrap();
            held.extend(
                initial
                    .items
                    .into_iter()
                    .map(|object| (object.key().clone(), object)),
            );
        } else {
            assert_eq!(shown(&[watch.next().await.unwrap()]), ["synced at 4"]);
        }
        readers.push((prefix, watch, held));
    }
    let settle = async |readers: &mut Vec<(KeyPrefix, Watch, BTreeMap<Key, StoredObject>)>| {
        store.heal();
        cache.progress().await.unwrap();
        for (prefix, watch, held) in readers {
            let mut items = Vec::new();
            watch.try_next_batch(usize::MAX, &mut items).unwrap();
            for item in items {
                let WatchItem::Event(event) = item else { panic!() };
                let (key, object) = (event.object().key().clone(), event.object().clone());
                let before = match event.change() {
                    Change::Deleted => held.remove(&key),
                    _ => held.insert(key, object),
                };
                assert_eq!(before.as_ref(), event.previous(), "{event:?}");
                assert_eq!(before.is_none(), event.change() == Change::Added, "{event:?}");
            }
            let listed = store.range(RangeRequest::new(prefix.clone())).await.unwrap();
            assert_eq!(held.values().cloned().collect::<Vec<_>>(), listed.items);
            assert_eq!(
                cache.range(RangeRequest::new(prefix.clone())).await.unwrap(),
                listed
            );
            assert_eq!(watch.progress(), Some(listed.revision));
        }
    };
    for op in ops {
        match op {
            Op::Write(number) | Op::Remove(number) => {
                let key = pod(if number % 2 == 0 { "m" } else { "n" }, &format!("p{number}"));
                match (store.get(key.clone()).await.unwrap(), op) {
                    (None, Op::Write(_)) => drop(store.create(key, encoded(1)).await.unwrap()),
                    (Some(object), Op::Write(_)) => {
                        drop(store.update(key, object.revision(), encoded(2)).await.unwrap())
                    }
                    (Some(object), _) => drop(store.delete(key, object.revision()).await.unwrap()),
                    (None, _) => {}
                }
            }
            Op::BreakOff => store.break_off(LOST),
            Op::Compact => {
                let now = store.progress().await.unwrap();
                store.inner().compact(now).await.unwrap();
            }
            Op::Heal => {
                store.heal();
                tokio::time::sleep(std::time::Duration::from_secs(10)).await;
            }
            Op::Settle => settle(&mut readers).await,
        }
    }
    settle(&mut readers).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_fault_shows_through(ops in prop::collection::vec(prop_oneof![
        6 => (0..6_u8).prop_map(Op::Write),
        4 => (0..6_u8).prop_map(Op::Remove),
        2 => Just(Op::BreakOff),
        2 => Just(Op::Compact),
        2 => Just(Op::Heal),
        1 => Just(Op::Settle),
    ], 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(follow_through(&ops));
    }
}
