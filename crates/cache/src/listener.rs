//! What one handler has not been told yet, and the task that tells it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hashbrown::HashMap;
use kubewright_core::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::cached::Cached;
use crate::informer::Core;
use crate::record::Record;
use crate::store::{Change, FinalState, Initial};

/// Told of changes, in order for each key. Calls come one at a time from a task of the handler's own.
///
/// A handler that is slow delays itself alone: what happens to a key meanwhile is merged, so that it is told the
/// difference between what it knows and what is. Handlers must not block; they put a key on a queue. One that panics
/// misses that one call.
pub trait EventHandler<K>: Send + Sync + 'static {
    /// An object is there that was not.
    fn on_add(&self, object: &Cached<K>, initial: Initial);

    /// An object changed, or, with twice the same version, is shown again by a resync.
    fn on_update(&self, old: &Cached<K>, new: &Cached<K>);

    /// An object is gone.
    fn on_delete(&self, object: &Cached<K>, final_state: FinalState);
}

/// Pending changes, at most one entry for a key: memory is bounded by the number of keys in the store and those the
/// handler still has to be told are gone.
#[derive(Debug, Default)]
pub(crate) struct ListenerQueue {
    order: BTreeMap<u64, Slot>,
    pending: HashMap<ObjectKey, Pending>,
    next: u64,
}

#[derive(Debug)]
enum Slot {
    Key(ObjectKey),
    /// Everything before this belongs to the initial state.
    Synced,
}

/// What a handler has to be told of a key: first that the object it knows is gone, then what is there now.
#[derive(Debug, Default)]
struct Pending {
    at: u64,
    deleted: Option<(Arc<Record>, FinalState)>,
    then: Option<Then>,
}

#[derive(Debug)]
enum Then {
    Add(Arc<Record>, Initial),
    Update { old: Arc<Record>, new: Arc<Record> },
}

/// The next thing to tell.
#[derive(Debug)]
pub(crate) enum Delivery {
    Change(Change),
    Synced,
}

impl ListenerQueue {
    pub(crate) fn push(&mut self, change: Change) {
        match change {
            Change::Added { new, initial } => {
                let entry = self.entry(&new);
                entry.then = Some(Then::Add(new, initial));
            }
            Change::Updated { old, new } => {
                let entry = self.entry(&new);
                entry.then = Some(match entry.then.take() {
                    None => Then::Update { old, new },
                    Some(Then::Add(_, initial)) => Then::Add(new, initial),
                    Some(Then::Update { old, .. }) => Then::Update { old, new },
                });
            }
            Change::Deleted { last, final_state } => {
                let entry = self.entry(&last);
                // An object that came and went before the handler was told of it is not mentioned.
                let unknown = matches!(entry.then.take(), Some(Then::Add(..)));
                if entry.deleted.is_none() {
                    if unknown {
                        self.forget(last.key());
                    } else {
                        entry.deleted = Some((last, final_state));
                    }
                }
            }
        }
    }

    /// What is pushed until now is the initial state.
    pub(crate) fn mark_synced(&mut self) {
        self.order.insert(self.next, Slot::Synced);
        self.next += 1;
    }

    /// Shows every object again that has no news of its own.
    pub(crate) fn resync(&mut self, records: Vec<Arc<Record>>) {
        for record in records {
            if !self.pending.contains_key(record.key()) {
                self.push(Change::Updated {
                    old: Arc::clone(&record),
                    new: record,
                });
            }
        }
    }

    /// A deletion and what follows come one after the other.
    pub(crate) fn pop(&mut self) -> Option<Delivery> {
        if self.order.is_empty() && self.pending.capacity() > KEPT_CAPACITY {
            // The initial state passed through here once; its room is not needed again.
            self.pending = HashMap::new();
        }
        let mut first = self.order.first_entry()?;
        let Slot::Key(key) = first.get_mut() else {
            first.remove();
            return Some(Delivery::Synced);
        };
        let pending = self.pending.get_mut(key)?;
        if let Some((last, final_state)) = pending.deleted.take() {
            if pending.then.is_none() {
                self.pending.remove(key);
                first.remove();
            }
            return Some(Delivery::Change(Change::Deleted { last, final_state }));
        }
        let then = self.pending.remove(key)?.then?;
        first.remove();
        Some(Delivery::Change(match then {
            Then::Add(new, initial) => Change::Added { new, initial },
            Then::Update { old, new } => Change::Updated { old, new },
        }))
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    fn entry(&mut self, record: &Record) -> &mut Pending {
        let (order, next) = (&mut self.order, &mut self.next);
        self.pending
            .entry(record.key().clone())
            .or_insert_with_key(|key| {
                let at = *next;
                *next += 1;
                order.insert(at, Slot::Key(key.clone()));
                Pending {
                    at,
                    ..Pending::default()
                }
            })
    }

    fn forget(&mut self, key: &ObjectKey) {
        if let Some(pending) = self.pending.remove(key) {
            self.order.remove(&pending.at);
        }
    }
}

/// One handler's queue, shared between the informer that fills it and the task that empties it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) queue: Mutex<ListenerQueue>,
    pub(crate) wake: Notify,
    pub(crate) synced: watch::Sender<bool>,
}

impl Listener {
    pub(crate) fn new() -> Self {
        Self {
            queue: Mutex::default(),
            wake: Notify::new(),
            synced: watch::Sender::new(false),
        }
    }

    /// Tells the handler what comes, for ever. Shows everything again after each `resync`.
    pub(crate) async fn run<K>(
        self: Arc<Self>,
        handler: impl EventHandler<K>,
        core: Weak<Core>,
        resync: Option<Duration>,
    ) {
        let mut told = 0u32;
        let mut due = resync.map(|period| Instant::now() + period);
        loop {
            if let (Some(period), Some(at)) = (resync, due)
                && at <= Instant::now()
            {
                let Some(core) = core.upgrade() else { return };
                core.resync(&self);
                due = Some(Instant::now() + period);
            }
            let delivery = self.queue.lock().pop();
            match delivery {
                Some(Delivery::Change(change)) => tell(&handler, change),
                Some(Delivery::Synced) => drop(self.synced.send_replace(true)),
                None => match due {
                    None => self.wake.notified().await,
                    Some(at) => drop(tokio::time::timeout_at(at, self.wake.notified()).await),
                },
            }
            told += 1;
            if told.is_multiple_of(CALLS_IN_A_ROW) {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Entries for which an empty queue keeps room.
const KEPT_CAPACITY: usize = 1024;

/// Calls to a handler before other tasks get a turn.
const CALLS_IN_A_ROW: u32 = 64;

fn tell<K>(handler: &impl EventHandler<K>, change: Change) {
    let key = match &change {
        Change::Added { new, .. } | Change::Updated { new, .. } => new.key().clone(),
        Change::Deleted { last, .. } => last.key().clone(),
    };
    let call = AssertUnwindSafe(|| match change {
        Change::Added { new, initial } => handler.on_add(&Cached::new(new), initial),
        Change::Updated { old, new } => handler.on_update(&Cached::new(old), &Cached::new(new)),
        Change::Deleted { last, final_state } => handler.on_delete(&Cached::new(last), final_state),
    });
    if catch_unwind(call).is_err() {
        tracing::error!(%key, "an event handler panicked; this call is lost");
    }
}
