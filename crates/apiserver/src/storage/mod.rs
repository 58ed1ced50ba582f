//! The store of the API server.
//!
//! [`Storage`] is what the rest of the server knows: versioned objects in [storage encoding](Encoded), compare-and-swap writes, lists
//! at a revision, watches. [`MemoryStorage`] keeps everything in the process. [`WatchCache`] stands before a store that is far or
//! slow and answers lists and watches itself. Both are thin shells around [`Mvcc`], the state machine, which has no lock, no clock
//! and no async in it.
//!
//! The semantics are those of Kubernetes over etcd (`apiserver/pkg/storage/interfaces.go`, `storage/etcd3/store.go`,
//! `storage/cacher/cacher.go`): one counter of revisions, never 0; a watch after N sees exactly the changes later than N; history ends
//! at a compaction.
//!
//! ```
//! use kubewright_apiserver::storage::{Encoded, Key, KeyPrefix, MemoryStorage, RangeRequest, Storage, WatchItem, WatchRequest, WatchStart};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let storage = MemoryStorage::new();
//! let key = Key::new("", "configmaps", Some("default"), "settings");
//! let value = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
//! let created = storage.create(key.clone(), Encoded::from_value(&value)).await?;
//!
//! let prefix = KeyPrefix::resource("", "configmaps");
//! let listed = storage.range(RangeRequest::new(prefix.clone())).await?;
//! assert_eq!(listed.items[0].value()["metadata"]["resourceVersion"], listed.revision.to_string());
//!
//! let mut watch = storage.watch(WatchRequest { prefix, start: WatchStart::After(listed.revision) })?;
//! storage.delete(key, created.revision()).await?;
//! let WatchItem::Event(event) = watch.next().await? else { panic!("a change") };
//! assert!(event.frame().starts_with(b"{\"type\":\"DELETED\""));
//! # Ok::<_, kubewright_apiserver::storage::StorageError>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod compactor;
mod counts;
mod encoded;
mod error;
mod event;
mod feed;
mod follower;
mod history;
mod hub;
mod key;
mod memory;
mod mvcc;
mod object;
mod update;
mod watch;
mod watch_cache;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt::Debug;
use std::time::Duration;

use futures_core::future::BoxFuture;

pub use self::compactor::{COMPACT_INTERVAL, Compactor};
pub use self::encoded::{Encoded, EncodingError, MAX_DEPTH};
pub use self::error::StorageError;
pub(crate) use self::event::FRAME_AROUND;
pub use self::event::{Change, Event, write_frame};
pub(crate) use self::follower::{Digest, Follower};
pub use self::history::{Cursor, Limits};
pub use self::key::{Key, KeyPrefix};
pub use self::memory::MemoryStorage;
pub use self::mvcc::{Difference, Mvcc, Page, Snapshot, Undo};
pub(crate) use self::object::FieldNames;
pub use self::object::{Attributes, Revision, StoredObject};
pub use self::update::{GUARANTEED_UPDATE_TRIES, GuaranteedUpdateError, guaranteed_update};
pub use self::watch::{Watch, WatchItem, WatchSource};
pub use self::watch_cache::{CacheFeed, WatchCache};

/// How long a read waits for a revision that has not happened yet, before it fails with [`StorageError::Future`]. Upstream's
/// `blockTimeout` (`storage/cacher/watch_cache.go`).
pub const FRESHNESS_WAIT: Duration = Duration::from_secs(3);

/// A store of versioned objects.
///
/// All writes compare and swap: a writer says which revision it has seen. Reads are of a single consistent state.
pub trait Storage: Send + Sync + Debug + 'static {
    /// Stores an object where there is none.
    ///
    /// # Errors
    ///
    /// [`StorageError::AlreadyExists`] with the object that is there.
    fn create(&self, key: Key, value: Encoded) -> BoxFuture<'_, Result<StoredObject, StorageError>>;

    /// Replaces an object that is still at `expected`. A value equal to the stored one is written all the same and takes a revision;
    /// [`guaranteed_update`] leaves such writes out.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotFound`], or [`StorageError::Conflict`] with the object that is there.
    fn update(
        &self,
        key: Key,
        expected: Revision,
        value: Encoded,
    ) -> BoxFuture<'_, Result<StoredObject, StorageError>>;

    /// Removes an object that is still at `expected` and gives its last state, shown with the revision of the deletion.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotFound`], or [`StorageError::Conflict`] with the object that is there.
    fn delete(&self, key: Key, expected: Revision) -> BoxFuture<'_, Result<StoredObject, StorageError>>;

    /// Reads one object: the state after every write that was acknowledged before the call.
    ///
    /// # Errors
    ///
    /// Only the failures of the store itself.
    fn get(&self, key: Key) -> BoxFuture<'_, Result<Option<StoredObject>, StorageError>>;

    /// Lists objects in the order of their keys.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`] when the exact revision asked for is gone, [`StorageError::Future`] when the revision asked for did
    /// not happen within [`FRESHNESS_WAIT`].
    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<RangeResponse, StorageError>>;

    /// Follows the changes of a range. Nothing is read before the watch is polled.
    ///
    /// A watch that starts with the state shows one that a cache has, which may be behind; to start from one no older than now,
    /// await [`Storage::progress`] first.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`] when changes after the revision asked for are gone. A store that can only find out later reports
    /// it as the watch's first item.
    fn watch(&self, request: WatchRequest) -> Result<Watch, StorageError>;

    /// The revision of the last write. When it is given, lists [at any cached state](At::AnyCached) and new watches know of all writes
    /// up to it.
    ///
    /// # Errors
    ///
    /// Only the failures of the store itself.
    fn progress(&self) -> BoxFuture<'_, Result<Revision, StorageError>>;

    /// Discards history: afterwards nothing before `before` can be listed or watched. The caller has the clock; upstream compacts every
    /// five minutes to where the store was five minutes earlier (`etcd3/compact.go`), for which there is [`Compactor`]. A store that is
    /// compacted by others does nothing.
    ///
    /// # Errors
    ///
    /// Only the failures of the store itself.
    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), StorageError>> {
        let _ = before;
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRequest {
    /// The range of keys.
    pub prefix: KeyPrefix,
    /// The text of the key to begin with, itself included: [`RangeResponse::next`] of the page before. Default: the first of the
    /// range. A text outside the range does not widen it.
    pub start: Option<String>,
    /// The most items to give. Default: all. With 0, they are only counted.
    pub limit: Option<usize>,
    /// Which state to list. Default: [`At::Latest`].
    pub at: At,
    /// Whether to count what comes after a page. Default: [`Remaining::Counted`].
    pub remaining: Remaining,
}

/// Whether a page says how many objects come after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remaining {
    /// It does. Where the page before was not asked for here, the store has to walk over them for it.
    #[default]
    Counted,
    /// It does not.
    Ignored,
}

impl RangeRequest {
    /// All of the range at the latest state.
    #[must_use]
    pub const fn new(prefix: KeyPrefix) -> Self {
        Self {
            prefix,
            start: None,
            limit: None,
            at: At::Latest,
            remaining: Remaining::Counted,
        }
    }
}

/// Which state of the store a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// One that holds every write that was acknowledged before the call (no `resourceVersion`).
    #[default]
    Latest,
    /// Whatever is at hand (`resourceVersion=0`).
    AnyCached,
    /// One at this revision or later (`resourceVersionMatch=NotOlderThan`).
    NotOlderThan(Revision),
    /// The one at this revision (`resourceVersionMatch=Exact`, and `continue`).
    Exact(Revision),
}

/// A list, or a page of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeResponse {
    /// The objects in the order of their keys.
    pub items: Vec<StoredObject>,
    /// The state that the list shows: `metadata.resourceVersion` of the list. To be asked for by [`At::Exact`] for the next page.
    pub revision: Revision,
    /// Where the next page begins, when there is one.
    pub next: Option<String>,
    /// How many objects of the range come after this page; `None` with [`Remaining::Ignored`].
    pub remaining: Option<usize>,
}

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// The range of keys.
    pub prefix: KeyPrefix,
    /// Where to begin.
    pub start: WatchStart,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// With the first change later than this revision, which may lie in the future.
    After(Revision),
    /// With the present state as [`Change::Added`] events in the order of the keys, then [`WatchItem::Synced`], then the changes.
    State,
}
