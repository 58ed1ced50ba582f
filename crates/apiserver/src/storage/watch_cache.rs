//! A cache before a store that is far or slow, such as etcd.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::feed::{Feed, Step};
use super::hub::Hub;
use super::{
    At, Encoded, Key, KeyPrefix, Limits, Mvcc, RangeRequest, RangeResponse, Revision, Storage, StorageError,
    StoredObject, Watch, WatchRequest,
};

/// How many items of the store's watch are taken at a time.
const FEED_BATCH: usize = 256;

/// A [`Storage`] that sends writes to another one and answers lists and watches from a replica of it, which follows it by one watch
/// of everything. So a thousand watchers are one to the store, and objects are encoded once for all of them.
///
/// Lists are as consistent as the store's: [`At::Latest`] asks the store where it is and waits until the replica is there too (KEP-2340);
/// if that takes longer than [`FRESHNESS_WAIT`](super::FRESHNESS_WAIT) the store is asked itself. When the connection is lost,
/// watchers notice nothing: the replica goes on where it was, or where that is impossible compares its state with the store's and
/// shows the difference.
///
/// [`MemoryStorage`](super::MemoryStorage) does not need it.
pub struct WatchCache<S: ?Sized> {
    hub: Arc<Hub>,
    /// The task that [`WatchCache::spawn`] started.
    task: Option<tokio::task::AbortHandle>,
    store: Arc<S>,
}

impl<S: Storage + ?Sized> WatchCache<S> {
    /// A cache before `store` that keeps this much history, and the future that fills it, which the caller has to run. Until the first
    /// state has arrived, lists wait and watches give nothing.
    #[must_use]
    pub fn new(store: Arc<S>, limits: Limits) -> (Self, CacheFeed<S>) {
        let hub = Hub::new(Mvcc::replica(limits));
        (
            Self {
                hub: Arc::clone(&hub),
                task: None,
                store: Arc::clone(&store),
            },
            CacheFeed { hub, store },
        )
    }

    /// The same with the future in a task of the present tokio runtime, which ends with the cache.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn spawn(store: Arc<S>, limits: Limits) -> Self {
        let (mut cache, feed) = Self::new(store, limits);
        cache.task = Some(tokio::spawn(feed.run()).abort_handle());
        cache
    }

    /// The store behind.
    #[must_use]
    pub const fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// Brings the replica to where the store is.
    async fn catch_up(&self) -> Result<Revision, StorageError> {
        let revision = self.store.progress().await?;
        self.hub.reach(revision).await?;
        Ok(revision)
    }

    async fn list(&self, request: RangeRequest) -> Result<RangeResponse, StorageError> {
        match request.at {
            At::Latest => match self.catch_up().await {
                Ok(_) => self.hub.range(request).await,
                Err(err) => {
                    tracing::debug!(
                        error = &err as &dyn std::error::Error,
                        "listing from the store, the cache is behind"
                    );
                    self.store.range(request).await
                }
            },
            At::AnyCached | At::NotOlderThan(_) => self.hub.range(request).await,
            At::Exact(_) => match self.hub.range(request.clone()).await {
                // The store's history may be longer.
                Err(StorageError::Compacted { .. }) => self.store.range(request).await,
                answer => answer,
            },
        }
    }
}

impl<S: ?Sized> Drop for WatchCache<S> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl<S: fmt::Debug + ?Sized> fmt::Debug for WatchCache<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchCache")
            .field("replica", &self.hub)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl<S: Storage + ?Sized> Storage for WatchCache<S> {
    fn create(&self, key: Key, value: Encoded) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        self.store.create(key, value)
    }

    fn update(
        &self,
        key: Key,
        expected: Revision,
        value: Encoded,
    ) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        self.store.update(key, expected, value)
    }

    fn delete(&self, key: Key, expected: Revision) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        self.store.delete(key, expected)
    }

    /// Asks the store: asking it for its revision would cost the same.
    fn get(&self, key: Key) -> BoxFuture<'_, Result<Option<StoredObject>, StorageError>> {
        Box::pin(async move {
            let Some(read) = self.store.get(key).await? else {
                return Ok(None);
            };
            // The replica's copy of it may have been parsed already.
            let held = self.hub.get(read.key()).filter(|held| held.same_version(&read));
            Ok(Some(held.unwrap_or(read)))
        })
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<RangeResponse, StorageError>> {
        Box::pin(self.list(request))
    }

    fn watch(&self, request: WatchRequest) -> Result<Watch, StorageError> {
        self.hub.watch(request)
    }

    fn progress(&self) -> BoxFuture<'_, Result<Revision, StorageError>> {
        Box::pin(self.catch_up())
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async move {
            self.store.compact(before).await?;
            self.hub.compact(before);
            Ok(())
        })
    }
}

/// What fills a [`WatchCache`].
#[derive(Debug)]
pub struct CacheFeed<S: ?Sized> {
    hub: Arc<Hub>,
    store: Arc<S>,
}

impl<S: Storage + ?Sized> CacheFeed<S> {
    /// Follows the store until the future is dropped.
    pub async fn run(self) {
        let mut feed = Feed::default();
        loop {
            let err = self.follow(&mut feed).await;
            let wait = feed.fail(&err);
            tracing::debug!(
                error = &err as &dyn std::error::Error,
                ?wait,
                "following the store again"
            );
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// Follows one watch to its end and gives why it ended.
    async fn follow(&self, feed: &mut Feed) -> StorageError {
        let start = feed.start(self.hub.revision());
        let mut watch = match self.store.watch(WatchRequest {
            prefix: KeyPrefix::all(),
            start,
        }) {
            Ok(watch) => watch,
            Err(err) => return err,
        };
        let mut items = Vec::with_capacity(FEED_BATCH);
        loop {
            if let Err(err) = watch.next_batch(FEED_BATCH, &mut items).await {
                return err;
            }
            for item in items.drain(..) {
                self.apply(feed.step(item, |object| self.hub.get(object.key())));
            }
        }
    }

    fn apply(&self, step: Step) {
        match step {
            Step::Continue => {}
            Step::Observe(event) => {
                // Nothing to wake for when the change was known.
                let _ = self.hub.write(|mvcc| mvcc.observe(&event).ok_or(()));
            }
            Step::Advance(revision) => {
                let _ = self.hub.write(|mvcc| {
                    mvcc.advance(revision);
                    Err(())
                });
            }
            Step::Replace(objects, revision) => {
                // Compared outside the lock: nobody else writes to the replica.
                let difference = self.hub.read(Mvcc::snapshot).difference(objects, revision);
                self.hub.write_all(|mvcc| mvcc.replace(difference));
            }
        }
    }
}
