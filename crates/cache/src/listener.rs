//! Who is told of changes, and the task that tells it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::cached::Cached;
use crate::informer::Core;
use crate::listener_queue::{Delivery, ListenerQueue};
use crate::store::{Change, FinalState, Initial};

/// Told of changes, in order for each key. Calls come one at a time from a task of the handler's own.
///
/// A handler that is behind delays itself alone: what happens to a key meanwhile is merged, so that it is told the
/// difference between what it knows and what is. But handlers must not block; they put a key on a queue. As with every task, a call that takes long
/// keeps its thread from others, and from what the call has woken; between such calls they get their turn. One that panics misses that one
/// call.
///
/// Changes of different keys come in the order in which they happened, with one exception: what a resync shows again
/// never delays them.
pub trait EventHandler<K>: Send + Sync + 'static {
    /// An object is there that was not.
    fn on_add(&self, object: &Cached<K>, initial: Initial);

    /// An object changed, or, with twice the same version, is shown again by a resync.
    fn on_update(&self, old: &Cached<K>, new: &Cached<K>);

    /// An object is gone.
    fn on_delete(&self, object: &Cached<K>, final_state: FinalState);
}

impl<K, H: EventHandler<K> + ?Sized> EventHandler<K> for Arc<H> {
    fn on_add(&self, object: &Cached<K>, initial: Initial) {
        (**self).on_add(object, initial);
    }

    fn on_update(&self, old: &Cached<K>, new: &Cached<K>) {
        (**self).on_update(old, new);
    }

    fn on_delete(&self, object: &Cached<K>, final_state: FinalState) {
        (**self).on_delete(object, final_state);
    }
}

/// One handler's queue, shared between the informer that fills it and the task that empties it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) queue: Mutex<ListenerQueue>,
    /// Held during a resync: there is one at a time.
    pub(crate) resync: Mutex<()>,
    pub(crate) wake: Notify,
    pub(crate) synced: watch::Sender<bool>,
}

impl Listener {
    pub(crate) fn new() -> Self {
        Self {
            queue: Mutex::default(),
            resync: Mutex::default(),
            wake: Notify::new(),
            synced: watch::Sender::new(false),
        }
    }

    /// No further call begins.
    pub(crate) fn close(&self) {
        self.queue.lock().close();
        self.wake.notify_one();
    }

    /// Tells the handler what comes until this is closed. Shows everything again after each `resync`.
    pub(crate) async fn run<K>(
        self: Arc<Self>,
        handler: impl EventHandler<K>,
        core: Weak<Core>,
        resync: Option<Duration>,
    ) {
        let mut turn = Turn::new();
        let mut due = resync.map(|period| Instant::now() + period);
        loop {
            if let (Some(period), Some(at)) = (resync, due)
                && at <= Instant::now()
            {
                let Some(core) = core.upgrade() else { return };
                core.resync(&self);
                due = Some(Instant::now() + period);
            }
            let (delivery, closed) = {
                let mut queue = self.queue.lock();
                (queue.pop(), queue.is_closed())
            };
            match delivery {
                Some(Delivery::Change(change)) => tell(&handler, &change),
                Some(Delivery::Synced) => drop(self.synced.send_replace(true)),
                None if closed => return,
                None => {
                    match due {
                        None => self.wake.notified().await,
                        Some(at) => drop(tokio::time::timeout_at(at, self.wake.notified()).await),
                    }
                    continue;
                }
            }
            if turn.is_over() {
                tokio::task::yield_now().await;
                turn = Turn::new();
            }
        }
    }
}

/// How long a handler is told before other tasks get their turn.
struct Turn {
    calls: u32,
    /// By the clock of the system: tokio's stands still where tests pause it.
    begun: std::time::Instant,
}

impl Turn {
    const CALLS: u32 = 64;
    const TIME: Duration = Duration::from_millis(1);

    fn new() -> Self {
        Self {
            calls: 0,
            begun: std::time::Instant::now(),
        }
    }

    /// Counts a call.
    fn is_over(&mut self) -> bool {
        self.calls += 1;
        self.calls == Self::CALLS || self.begun.elapsed() >= Self::TIME
    }
}

fn tell<K>(handler: &impl EventHandler<K>, change: &Change) {
    let cached = |record: &Arc<_>| Cached::in_passing(Arc::clone(record));
    let call = AssertUnwindSafe(|| match change {
        Change::Added { new, initial } => handler.on_add(&cached(new), *initial),
        Change::Updated { old, new } => handler.on_update(&cached(old), &cached(new)),
        Change::Deleted { last, final_state } => handler.on_delete(&cached(last), *final_state),
    });
    if catch_unwind(call).is_err() {
        let key = change.record().key();
        tracing::error!(%key, "an event handler panicked; this call is lost");
    }
}
