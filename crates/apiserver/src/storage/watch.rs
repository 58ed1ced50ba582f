//! The reading end of a watch.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use super::{Event, Revision, StorageError};

/// What a watch gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WatchItem {
    /// A change, or an object of the state that the watch began with.
    Event(Event),
    /// The initial state ends here; it was the state at this revision. Given once, by watches that
    /// [start with the state](super::WatchStart::State).
    Synced(Revision),
    /// Every change up to this revision has been given. A store sends it when it learns that it moved on without a change in this
    /// range; [`Watch::progress`] has the same knowledge without waiting for it.
    Progress(Revision),
}

/// What a store implements for [`Watch`]. It keeps a place in the history, not a buffer.
pub trait WatchSource: Send + 'static {
    /// Appends up to `max` (at least 1) items to `out`, or stores the waker when there is none. `Ready(Ok)` means that something was
    /// appended. After an error the source is not asked again.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`] when the reader was slower than the history is long.
    fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        out: &mut Vec<WatchItem>,
    ) -> Poll<Result<(), StorageError>>;

    /// See [`Watch::progress`].
    fn progress(&self) -> Option<Revision>;
}

/// A watch: pull-based, without a buffer of its own. A reader that is too slow costs itself only: it gets
/// [`StorageError::Compacted`] once the history it has not read is discarded, and that error from then on.
pub struct Watch {
    source: Box<dyn WatchSource>,
    failed: Option<StorageError>,
    /// Reused by [`Watch::poll_next`]; empty between calls.
    one: Vec<WatchItem>,
}

impl Watch {
    /// A watch that reads from `source`.
    #[must_use]
    pub fn new(source: impl WatchSource) -> Self {
        Self {
            source: Box::new(source),
            failed: None,
            one: Vec::new(),
        }
    }

    /// The next item. Cancel safe.
    ///
    /// # Errors
    ///
    /// [`StorageError::Compacted`] when the watch fell behind, and the failures of the store. Every later call gives the same.
    pub async fn next(&mut self) -> Result<WatchItem, StorageError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// At least one item and at most `max` (taken as 1 when it is 0), appended to `out`; for writers that flush many at once. Cancel
    /// safe.
    ///
    /// # Errors
    ///
    /// Like [`Watch::next`].
    pub async fn next_batch(&mut self, max: usize, out: &mut Vec<WatchItem>) -> Result<(), StorageError> {
        poll_fn(|cx| self.poll_batch(cx, max, out)).await
    }

    /// What is there already, at most `max` items, appended to `out`. Gives how many were appended; 0 when there is nothing new. It
    /// leaves no waker behind.
    ///
    /// # Errors
    ///
    /// Like [`Watch::next`].
    pub fn try_next_batch(&mut self, max: usize, out: &mut Vec<WatchItem>) -> Result<usize, StorageError> {
        let before = out.len();
        match self.poll_batch(&mut Context::from_waker(Waker::noop()), max, out) {
            Poll::Ready(result) => result.map(|()| out.len() - before),
            Poll::Pending => Ok(0),
        }
    }

    /// Polls for the next item.
    ///
    /// # Errors
    ///
    /// Like [`Watch::next`].
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, StorageError>> {
        let mut one = std::mem::take(&mut self.one);
        let polled = self.poll_batch(cx, 1, &mut one);
        let item = one.pop();
        self.one = one;
        match (polled, item) {
            (_, Some(item)) => Poll::Ready(Ok(item)),
            (Poll::Ready(Err(err)), None) => Poll::Ready(Err(err)),
            (_, None) => Poll::Pending,
        }
    }

    /// Polls for at least one and at most `max` items.
    ///
    /// # Errors
    ///
    /// Like [`Watch::next`].
    pub fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        out: &mut Vec<WatchItem>,
    ) -> Poll<Result<(), StorageError>> {
        if let Some(err) = &self.failed {
            return Poll::Ready(Err(err.clone()));
        }
        let polled = self.source.poll_batch(cx, max.max(1), out);
        if let Poll::Ready(Err(err)) = &polled {
            self.failed = Some(err.clone());
        }
        polled
    }

    /// The revision up to which every change of the range has been read; what a bookmark carries. `None` while the initial state is
    /// not read to its end, or when unread changes wait.
    #[must_use]
    pub fn progress(&self) -> Option<Revision> {
        if self.failed.is_some() {
            None
        } else {
            self.source.progress()
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("progress", &self.progress())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
