//! A handler's place with an informer.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use crate::informer::Inner;
use crate::listener::{EventHandler, Listener};
use crate::listener_queue::Lag;

/// A handler's place with an informer. Dropping it ends the handler's calls; one that is under way finishes.
/// [`remove`](Self::remove) is the same and can be awaited.
#[must_use = "dropping a registration removes the handler"]
pub struct Registration {
    inner: Arc<Inner>,
    id: u64,
    listener: Arc<Listener>,
    /// Taken by whoever waits for its end.
    task: Option<JoinHandle<()>>,
}

impl Registration {
    /// Needs a tokio runtime.
    pub(crate) fn new<K: 'static>(
        inner: &Arc<Inner>,
        handler: impl EventHandler<K>,
        resync: Option<Duration>,
    ) -> Self {
        let (id, listener) = inner.core.listen();
        let task = Arc::clone(&listener).run(handler, Arc::downgrade(&inner.core), resync);
        Self {
            inner: Arc::clone(inner),
            id,
            listener,
            task: Some(tokio::spawn(task)),
        }
    }

    /// Whether the handler was told of every object of the initial state.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        *self.listener.synced.borrow()
    }

    /// Waits for [`has_synced`](Self::has_synced), as [`SharedInformer::synced`](crate::SharedInformer::synced) does: for ever where that
    /// waits for ever.
    pub async fn synced(&self) {
        let mut synced = self.listener.synced.subscribe();
        // The sender lives as long as this registration.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// About how many calls are still to come, those of a resync among them: a slow handler shows here. It is what
    /// [`Lag::pending`] and [`Lag::resynced`] are together.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.listener.queue.lock().len()
    }

    /// How far the handler is behind.
    #[must_use]
    pub fn lag(&self) -> Lag {
        self.listener.queue.lock().lag(Instant::now().into_std())
    }

    /// Shows the handler every object again, as a resync does, whenever this changes.
    pub(crate) fn show_again_after(&self, mut changes: watch::Receiver<u64>) -> AbortHandle {
        let (core, listener) = (Arc::downgrade(&self.inner.core), Arc::clone(&self.listener));
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(core) = core.upgrade() else { return };
                core.resync(&listener);
                listener.wake.notify_one();
            }
        });
        task.abort_handle()
    }

    /// Removes the handler at once, whether the result is awaited or not: no further call begins. The result waits
    /// until the last call has ended and the handler itself was dropped.
    ///
    /// A handler may remove itself: inside of its own call the result waits for nothing.
    pub fn remove(mut self) -> impl Future<Output = ()> + Send + 'static {
        let task = self.task.take();
        drop(self);
        async move {
            if let Some(task) = task
                && tokio::task::try_id() != Some(task.id())
            {
                // It ends by itself; a panic of the handler's drop is not ours to repeat.
                let _ = task.await;
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.inner.core.leave(self.id);
        self.listener.close();
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("id", &self.id)
            .field("synced", &self.has_synced())
            .field("lag", &self.lag())
            .finish_non_exhaustive()
    }
}
