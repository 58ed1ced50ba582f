//! Where a reflector gets its objects from.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use kubewright_client::{RawEvent, RawList};
use kubewright_core::{ListMeta, ListOptions, Status, StatusReason};

/// Lists and watches one resource, in one namespace or all, under one selector.
///
/// The source adds its own namespace and selectors to the options, which say the rest. Objects are handed over as the
/// bytes the server sent: the store looks only at what it needs.
pub trait ListerWatcher: Send + Sync + 'static {
    /// Reads one page of a list, hands its items to the sink as they come, and gives the metadata of the page once it is whole. After an error,
    /// what the sink has got counts for nothing.
    fn list_page<'a>(
        &'a self,
        options: ListOptions,
        sink: &'a mut dyn ItemSink,
    ) -> BoxFuture<'a, Result<ListMeta, SourceError>>;

    /// Opens a watch. The stream ends when the server or the network ends it.
    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>>;
}

/// Takes the items of one page of a list while it is read. A [`RawList`] is one that collects them.
pub trait ItemSink: Send {
    /// The metadata, from a source that knows it before the items. It is not the only place where they are given.
    fn begin(&mut self, metadata: &ListMeta);

    /// An item. It may share a buffer with others: what is kept is copied.
    fn item(&mut self, item: Bytes);
}

impl dyn ItemSink + '_ {
    /// Takes a page that is there already.
    pub fn page(&mut self, page: RawList) -> ListMeta {
        self.begin(&page.metadata);
        for item in page.items {
            self.item(item);
        }
        page.metadata
    }
}

impl ItemSink for RawList {
    fn begin(&mut self, metadata: &ListMeta) {
        self.metadata = metadata.clone();
    }

    fn item(&mut self, item: Bytes) {
        self.items.push(item);
    }
}

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The events of one watch.
pub type WatchStream = Pin<Box<dyn Stream<Item = Result<RawEvent, SourceError>> + Send>>;

/// Why a list or a watch failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SourceError {
    /// The server answered with a failure.
    Status {
        /// The answer.
        status: Box<Status>,
        /// From the `Retry-After` header or the status' details.
        retry_after: Option<Duration>,
    },
    /// Nobody listens where the server should be: it is most likely restarting.
    ConnectionRefused {
        /// What the network said.
        message: String,
    },
    /// The connection failed otherwise.
    Transport {
        /// What went wrong.
        message: String,
    },
    /// What the server sent cannot be read: it is too large or malformed. Asked the same again, it would most likely
    /// send the same.
    Unreadable {
        /// What is wrong with it.
        message: String,
    },
    /// The informer itself broke, and has ended.
    Ended {
        /// Where known, why.
        message: String,
    },
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status, .. } => write!(f, "{status}"),
            Self::ConnectionRefused { message }
            | Self::Transport { message }
            | Self::Unreadable { message } => f.write_str(message),
            Self::Ended { message } => write!(f, "the informer has ended: {message}"),
        }
    }
}

impl std::error::Error for SourceError {}

impl SourceError {
    /// A failure that the server sent.
    #[must_use]
    pub fn status(status: Status) -> Self {
        let seconds = status
            .details
            .as_ref()
            .map_or(0, |details| details.retry_after_seconds);
        let retry_after = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
        Self::Status {
            status: Box::new(status),
            retry_after,
        }
    }

    /// The server's answer, if it gave one.
    #[must_use]
    pub fn as_status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The version asked for is not kept any more: 410, as reason `Expired` or `Gone`.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.as_status().is_some_and(|status| {
            matches!(status.reason, StatusReason::Expired | StatusReason::Gone) || status.code == 410
        })
    }

    /// The version asked for is newer than the server's, which was restored or replaced
    /// ([`Status::is_too_large_resource_version`]).
    #[must_use]
    pub fn is_too_large_version(&self) -> bool {
        self.as_status()
            .is_some_and(Status::is_too_large_resource_version)
    }

    /// The server asks for fewer requests.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.as_status()
            .is_some_and(|status| status.reason == StatusReason::TooManyRequests || status.code == 429)
    }

    /// The server refuses the request's form: for a streaming list, one that it does not know (KEP-3157).
    pub(crate) fn is_unsupported(&self) -> bool {
        self.as_status()
            .is_some_and(|status| matches!(status.code, 400 | 405 | 406 | 422))
    }

    /// How long the server asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
