//! The shell around the state machine: a lock held for microseconds, and who sleeps until what.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::Future;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::counts::PageCounts;
use super::mvcc::Undo;
use super::{
    At, Cursor, Event, FRESHNESS_WAIT, Key, KeyPrefix, Mvcc, RangeRequest, RangeResponse, Remaining,
    Revision, Snapshot, StorageError, StoredObject, Watch, WatchItem, WatchRequest, WatchSource, WatchStart,
};

/// How many events are copied or discarded under the lock at a time: tens of microseconds.
const LOCKED_EVENTS: usize = 512;

/// The revision at which a replica knows something.
const LOADED: Revision = Revision(1);

/// A shared [`Mvcc`] with those who wait for it.
pub(super) struct Hub {
    state: Mutex<State>,
}

struct State {
    mvcc: Mvcc,
    waiters: Waiters,
    pages: PageCounts,
}

/// Wakers of sleeping readers. A write takes those of its topics and of revisions reached, and pays for no others.
#[derive(Default)]
struct Waiters {
    topics: HashMap<Arc<str>, HashMap<u64, Waker>>,
    revisions: BTreeMap<(Revision, u64), Waker>,
    last_id: u64,
}

impl Hub {
    pub(super) fn new(mvcc: Mvcc) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                mvcc,
                waiters: Waiters::default(),
                pages: PageCounts::default(),
            }),
        })
    }

    /// Runs a write that makes one event and wakes those whom it concerns.
    pub(super) fn write<E>(&self, write: impl FnOnce(&mut Mvcc) -> Result<Event, E>) -> Result<Event, E> {
        let mut woken = Vec::new();
        let result = {
            let State { mvcc, waiters, .. } = &mut *self.state.lock();
            let result = write(mvcc);
            if let Ok(event) = &result {
                waiters.take_topics(event.object().key(), &mut woken);
            }
            waiters.take_revisions(mvcc.revision(), &mut woken);
            result
        };
        woken.into_iter().for_each(Waker::wake);
        result
    }

    /// Runs a change that may concern anyone and wakes everyone.
    pub(super) fn write_all<R>(&self, write: impl FnOnce(&mut Mvcc) -> R) -> R {
        let mut woken = Vec::new();
        let result = {
            let State { mvcc, waiters, .. } = &mut *self.state.lock();
            let result = write(mvcc);
            waiters.take_all(mvcc.revision(), &mut woken);
            result
        };
        woken.into_iter().for_each(Waker::wake);
        result
    }

    /// Reads something small.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Mvcc) -> R) -> R {
        read(&self.state.lock().mvcc)
    }

    pub(super) fn get(&self, key: &Key) -> Option<StoredObject> {
        self.read(|mvcc| mvcc.get(key).cloned())
    }

    pub(super) fn revision(&self) -> Revision {
        self.read(Mvcc::revision)
    }

    pub(super) fn compact(&self, before: Revision) {
        while !self.state.lock().mvcc.compact(before, LOCKED_EVENTS) {}
    }

    /// Waits until the revision is reached, at most for [`FRESHNESS_WAIT`].
    pub(super) async fn reach(self: &Arc<Self>, revision: Revision) -> Result<(), StorageError> {
        let revision = revision.max(LOADED);
        if self.revision() >= revision {
            return Ok(());
        }
        let id = self.state.lock().waiters.id();
        let wait = RevisionWait {
            hub: Arc::clone(self),
            revision,
            id,
        };
        if tokio::time::timeout(FRESHNESS_WAIT, wait).await.is_ok() {
            return Ok(());
        }
        match self.revision() {
            Revision(0) => Err(StorageError::Unavailable {
                reason: "the cache has not been filled yet",
                source: None,
            }),
            current => Err(StorageError::Future {
                requested: revision,
                current,
            }),
        }
    }

    /// Lists. [`At::Latest`] is the latest state known here; a replica has to be brought to the one it means before.
    pub(super) async fn range(
        self: &Arc<Self>,
        request: RangeRequest,
    ) -> Result<RangeResponse, StorageError> {
        let exact = match request.at {
            At::Latest | At::AnyCached => {
                self.reach(LOADED).await?;
                None
            }
            At::NotOlderThan(revision) => {
                self.reach(revision).await?;
                None
            }
            At::Exact(revision) => {
                self.reach(revision).await?;
                Some(revision)
            }
        };
        let RangeRequest {
            prefix,
            start,
            limit,
            remaining,
            ..
        } = request;
        let (snapshot, total) = self.read(|mvcc| (mvcc.snapshot(), mvcc.count(&prefix)));
        let (revision, undo, total) = match exact {
            Some(revision) if revision < snapshot.revision() => {
                (revision, self.undo(&prefix, &snapshot, revision)?, None)
            }
            _ => (snapshot.revision(), Undo::default(), Some(total)),
        };
        let known = match start.as_deref().filter(|start| *start > prefix.as_str()) {
            None => total,
            Some(start) => self.state.lock().pages.find(revision, &prefix, start),
        };
        let page = snapshot.page(&prefix, start.as_deref(), limit, &undo, known, remaining);
        if let (Some(next), Some(count), Remaining::Counted) = (&page.next, page.remaining, remaining) {
            self.state.lock().pages.note(revision, &prefix, next, count);
        }
        Ok(RangeResponse {
            items: page.items,
            revision,
            next: page.next,
            remaining: page.remaining,
        })
    }

    fn undo(
        &self,
        prefix: &KeyPrefix,
        snapshot: &Snapshot,
        revision: Revision,
    ) -> Result<Undo, StorageError> {
        let mut undo = Undo::default();
        let mut cursor = self.read(|mvcc| mvcc.position(prefix, revision))?;
        while !self.read(|mvcc| mvcc.collect_undo(prefix, snapshot, &mut cursor, LOCKED_EVENTS, &mut undo))? {
        }
        Ok(undo)
    }

    pub(super) fn watch(self: &Arc<Self>, request: WatchRequest) -> Result<Watch, StorageError> {
        let mut state = self.state.lock();
        let place = match request.start {
            WatchStart::After(revision) if state.mvcc.revision() >= LOADED => {
                let cursor = state.mvcc.position(&request.prefix, revision)?;
                state.mvcc.pin(&request.prefix);
                Place::Following(cursor)
            }
            start => Place::Waiting(start),
        };
        let id = state.waiters.id();
        Ok(Watch::new(HubWatch {
            hub: Arc::clone(self),
            prefix: request.prefix,
            id,
            place,
        }))
    }

    /// How many readers sleep; for tests.
    #[cfg(test)]
    pub(super) fn sleeping(&self) -> usize {
        let waiters = &self.state.lock().waiters;
        waiters.topics.values().map(HashMap::len).sum::<usize>() + waiters.revisions.len()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        let (events, bytes) = state.mvcc.history_size();
        f.debug_struct("Hub")
            .field("revision", &state.mvcc.revision())
            .field("objects", &state.mvcc.len())
            .field("events", &events)
            .field("history_bytes", &bytes)
            .finish()
    }
}

impl Waiters {
    const fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn sleep_for_topic(&mut self, prefix: &KeyPrefix, id: u64, waker: &Waker) {
        set_waker(
            self.topics
                .entry(Arc::clone(prefix.shared()))
                .or_default()
                .entry(id),
            waker,
        );
    }

    fn sleep_for_revision(&mut self, revision: Revision, id: u64, waker: &Waker) {
        self.revisions.insert((revision, id), waker.clone());
    }

    fn forget(&mut self, prefix: &KeyPrefix, id: u64) {
        if let Some(topic) = self.topics.get_mut(prefix.as_str()) {
            topic.remove(&id);
            if topic.is_empty() {
                self.topics.remove(prefix.as_str());
            }
        }
        self.revisions.remove(&(LOADED, id));
    }

    fn take_topics(&mut self, key: &Key, out: &mut Vec<Waker>) {
        if self.topics.is_empty() {
            return;
        }
        for text in [
            "",
            key.resource_prefix(),
            key.namespace_prefix().unwrap_or_default(),
        ] {
            if let Some(topic) = self.topics.get_mut(text) {
                out.extend(topic.drain().map(|(_, waker)| waker));
            }
        }
    }

    fn take_revisions(&mut self, reached: Revision, out: &mut Vec<Waker>) {
        while let Some(first) = self.revisions.first_entry()
            && first.key().0 <= reached
        {
            out.push(first.remove());
        }
    }

    fn take_all(&mut self, reached: Revision, out: &mut Vec<Waker>) {
        out.extend(
            self.topics
                .values_mut()
                .flat_map(HashMap::drain)
                .map(|(_, waker)| waker),
        );
        self.take_revisions(reached, out);
    }
}

fn set_waker(entry: std::collections::hash_map::Entry<'_, u64, Waker>, waker: &Waker) {
    entry
        .and_modify(|old| old.clone_from(waker))
        .or_insert_with(|| waker.clone());
}

/// Ready when the revision is reached.
struct RevisionWait {
    hub: Arc<Hub>,
    revision: Revision,
    id: u64,
}

impl Future for RevisionWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.hub.state.lock();
        if state.mvcc.revision() >= self.revision {
            return Poll::Ready(());
        }
        state
            .waiters
            .sleep_for_revision(self.revision, self.id, cx.waker());
        Poll::Pending
    }
}

impl Drop for RevisionWait {
    fn drop(&mut self) {
        self.hub
            .state
            .lock()
            .waiters
            .revisions
            .remove(&(self.revision, self.id));
    }
}

/// A place in the history of a hub.
struct HubWatch {
    hub: Arc<Hub>,
    prefix: KeyPrefix,
    id: u64,
    place: Place,
}

enum Place {
    /// The watch was not polled, or the replica knows nothing yet.
    Waiting(WatchStart),
    /// The initial state is being read; `last` was the last key given.
    Listing { snapshot: Snapshot, last: Option<Key> },
    /// The changes are being read.
    Following(Cursor),
}

impl HubWatch {
    /// Begins, or sleeps until the replica knows something.
    fn begin(&mut self, start: WatchStart, cx: &Context<'_>) -> Poll<Result<(), StorageError>> {
        let mut state = self.hub.state.lock();
        if state.mvcc.revision() < LOADED {
            if !cx.waker().will_wake(Waker::noop()) {
                state.waiters.sleep_for_revision(LOADED, self.id, cx.waker());
            }
            return Poll::Pending;
        }
        self.place = match start {
            WatchStart::After(revision) => Place::Following(state.mvcc.position(&self.prefix, revision)?),
            WatchStart::State => Place::Listing {
                snapshot: state.mvcc.snapshot(),
                last: None,
            },
        };
        state.mvcc.pin(&self.prefix);
        Poll::Ready(Ok(()))
    }
}

impl WatchSource for HubWatch {
    fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        out: &mut Vec<WatchItem>,
    ) -> Poll<Result<(), StorageError>> {
        if let Place::Waiting(start) = self.place {
            std::task::ready!(self.begin(start, cx))?;
        }
        match &mut self.place {
            Place::Waiting(_) => Poll::Pending,
            Place::Listing { snapshot, last } => {
                let before = out.len();
                let from = last
                    .as_ref()
                    .map_or(Bound::Unbounded, |last| Bound::Excluded(last.as_str()));
                out.extend(
                    snapshot
                        .range(&self.prefix, from)
                        .take(max)
                        .map(|object| WatchItem::Event(Event::added(object.clone()))),
                );
                if let Some(WatchItem::Event(event)) = out[before..].last() {
                    *last = Some(event.object().key().clone());
                }
                if out.len() - before < max {
                    out.push(WatchItem::Synced(snapshot.revision()));
                    self.place = Place::Following(snapshot.cursor());
                }
                Poll::Ready(Ok(()))
            }
            Place::Following(cursor) => {
                let before = out.len();
                let mut state = self.hub.state.lock();
                state.mvcc.read(&self.prefix, cursor, max, |event| {
                    out.push(WatchItem::Event(event))
                })?;
                if out.len() > before {
                    return Poll::Ready(Ok(()));
                }
                if !cx.waker().will_wake(Waker::noop()) {
                    state.waiters.sleep_for_topic(&self.prefix, self.id, cx.waker());
                }
                Poll::Pending
            }
        }
    }

    fn progress(&self) -> Option<Revision> {
        let Place::Following(cursor) = &self.place else {
            return None;
        };
        self.hub.read(|mvcc| {
            mvcc.at_end(&self.prefix, cursor)
                .then(|| mvcc.revision().max(cursor.seen()))
        })
    }
}

impl Drop for HubWatch {
    fn drop(&mut self) {
        let mut state = self.hub.state.lock();
        state.waiters.forget(&self.prefix, self.id);
        if !matches!(self.place, Place::Waiting(_)) {
            state.mvcc.unpin(&self.prefix);
        }
    }
}
