//! Watch events.

use serde::{Deserialize, Serialize};

/// What a watch event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WatchEventKind {
    /// The object was created, came to match the selector, or stands in the initial state.
    Added,
    /// The object changed.
    Modified,
    /// The object was deleted, or ceased to match the selector.
    Deleted,
    /// Nothing changed: the object carries only a resource version up to which the watcher has seen everything.
    Bookmark,
    /// The watch failed: the object is a `Status`.
    Error,
}

impl WatchEventKind {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

/// A watch event whose object is decoded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// See [`WatchEventKind::Added`].
    Added(K),
    /// See [`WatchEventKind::Modified`].
    Modified(K),
    /// See [`WatchEventKind::Deleted`].
    Deleted(K),
    /// See [`WatchEventKind::Bookmark`].
    Bookmark {
        /// Everything up to this version has been seen.
        resource_version: crate::ResourceVersion,
        /// Whether the initial state is now complete (annotation `k8s.io/initial-events-end`, KEP-3157).
        initial_events_end: bool,
    },
}
