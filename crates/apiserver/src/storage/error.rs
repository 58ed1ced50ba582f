//! What can go wrong in a store.

use std::sync::Arc;

use super::{EncodingError, Key, Revision, StoredObject};

/// Why a store did not do what it was asked. The handlers make a `Status` of it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// There is no object with this key.
    #[error("{key} does not exist")]
    NotFound {
        /// The key asked for.
        key: Key,
    },
    /// An object with this key exists, so it cannot be created.
    #[error("{} already exists at revision {}", current.key(), current.revision())]
    AlreadyExists {
        /// The object in the way.
        current: StoredObject,
    },
    /// The object is not at the revision that the writer expected.
    #[error("{} is at revision {}, not at {expected}", current.key(), current.revision())]
    Conflict {
        /// What the writer expected.
        expected: Revision,
        /// What there is.
        current: StoredObject,
    },
    /// The history before `oldest` was discarded. HTTP 410, reason `Expired`.
    #[error("too old resource version: {requested} ({oldest})")]
    Compacted {
        /// What was asked for.
        requested: Revision,
        /// The oldest revision that could be answered.
        oldest: Revision,
    },
    /// The revision has not happened yet, and did not within [`FRESHNESS_WAIT`](super::FRESHNESS_WAIT). HTTP 504 with the cause
    /// `ResourceVersionTooLarge`.
    #[error("too large resource version: {requested}, current: {current}")]
    Future {
        /// What was asked for.
        requested: Revision,
        /// Where the store is.
        current: Revision,
    },
    /// The store cannot be reached or is not ready; asking again may help.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// What failed.
        reason: &'static str,
        /// The failure beneath, if there was one.
        #[source]
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    },
    /// What is stored under the key is no object.
    #[error("{key} is corrupt")]
    Corrupt {
        /// The key read.
        key: Key,
        /// What is wrong with it.
        #[source]
        source: EncodingError,
    },
}

impl StorageError {
    /// No object has the key.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Someone else wrote in between; reading again and retrying may help.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// The history asked for is gone; only a new list helps.
    #[must_use]
    pub const fn is_compacted(&self) -> bool {
        matches!(self, Self::Compacted { .. })
    }
}
