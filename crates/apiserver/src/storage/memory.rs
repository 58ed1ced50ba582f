//! The store in the process's own memory.

use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::hub::Hub;
use super::{
    Encoded, Key, Limits, Mvcc, RangeRequest, RangeResponse, Revision, Storage, StorageError, StoredObject,
    Watch, WatchRequest,
};

/// A store that lives as long as the process. Clones share it.
///
/// It needs no [`WatchCache`](super::WatchCache): store and cache are one here, every read is of the latest state and costs a lock of
/// microseconds.
#[derive(Clone, Debug)]
pub struct MemoryStorage {
    hub: Arc<Hub>,
}

impl MemoryStorage {
    /// An empty store with the default [`Limits`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// An empty store that keeps this much history.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self::from_mvcc(Mvcc::new(limits))
    }

    /// A store that goes on from a state, say a restored one.
    #[must_use]
    pub fn from_mvcc(mvcc: Mvcc) -> Self {
        Self { hub: Hub::new(mvcc) }
    }

    /// How many events are kept, and how many bytes of memory exist because of them at most.
    #[must_use]
    pub fn history_size(&self) -> (usize, usize) {
        self.hub.read(Mvcc::history_size)
    }

    #[cfg(test)]
    pub(super) const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl Storage for MemoryStorage {
    fn create(&self, key: Key, value: Encoded) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        Box::pin(async move {
            self.hub
                .write(|mvcc| mvcc.create(key, value))
                .map(|event| event.object().clone())
        })
    }

    fn update(
        &self,
        key: Key,
        expected: Revision,
        value: Encoded,
    ) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        Box::pin(async move {
            self.hub
                .write(|mvcc| mvcc.update(key, expected, value))
                .map(|event| event.object().clone())
        })
    }

    fn delete(&self, key: Key, expected: Revision) -> BoxFuture<'_, Result<StoredObject, StorageError>> {
        Box::pin(async move {
            self.hub
                .write(|mvcc| mvcc.delete(&key, expected))
                .map(|event| event.object().clone())
        })
    }

    fn get(&self, key: Key) -> BoxFuture<'_, Result<Option<StoredObject>, StorageError>> {
        Box::pin(async move { Ok(self.hub.get(&key)) })
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<RangeResponse, StorageError>> {
        Box::pin(self.hub.range(request))
    }

    fn watch(&self, request: WatchRequest) -> Result<Watch, StorageError> {
        self.hub.watch(request)
    }

    fn progress(&self) -> BoxFuture<'_, Result<Revision, StorageError>> {
        Box::pin(async move { Ok(self.hub.revision()) })
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async move {
            self.hub.compact(before);
            Ok(())
        })
    }
}
