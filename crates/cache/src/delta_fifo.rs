//! What the reflector learnt and the store has not taken in yet, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use kubewright_core::{ObjectKey, ResourceVersion};

use crate::record::Record;

/// Keys wait in the order in which they first changed; what happens to a key while it waits is merged, so the queue is
/// never longer than the number of keys. A [`replace`](Self::replace) is one item, whatever it holds: it is taken in
/// as a whole or not at all.
///
/// (client-go has a `DeltaFIFO` that lists every delta and a `RealFIFO` that merges nothing; merging is enough here,
/// because the store tells the difference between what it has and what it gets.)
#[derive(Debug, Default)]
pub(crate) struct DeltaFifo {
    order: VecDeque<ObjectKey>,
    pending: HashMap<ObjectKey, Pending>,
    /// Everything before a replacement is superseded by it, so it is always the first item.
    replacement: Option<Vec<Arc<Record>>>,
    version: Option<ResourceVersion>,
}

/// What happened to a key: a deletion, then possibly a new object.
#[derive(Debug, Default)]
struct Pending {
    deleted: Option<Arc<Record>>,
    upserted: Option<Arc<Record>>,
}

/// One step for the store.
#[derive(Debug)]
pub(crate) enum Delta {
    /// These objects, and no others, exist.
    Replace(Vec<Arc<Record>>),
    /// The object exists in this state.
    Upsert(Arc<Record>),
    /// The object is gone; this was its last state.
    Delete(Arc<Record>),
    /// The object is gone, nobody knows since when; this is the last state that was seen.
    Lose(Arc<Record>),
    /// All that exists has been told of: what a replacement says of itself, and several lists of parts do not.
    Populated,
}

/// Steps that the store takes under one lock.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) deltas: Vec<Delta>,
    /// The version that the store has after this batch, if nothing waits behind it.
    pub(crate) version: Option<ResourceVersion>,
}

/// Most keys in a batch.
pub(crate) const BATCH_KEYS: usize = 1000;

impl DeltaFifo {
    pub(crate) fn upsert(&mut self, record: Arc<Record>) {
        self.version = Some(record.resource_version());
        let key = record.key().clone();
        self.pending(key).upserted = Some(record);
    }

    pub(crate) fn delete(&mut self, record: Arc<Record>) {
        self.version = Some(record.resource_version());
        let pending = self.pending(record.key().clone());
        let came_and_went = pending.upserted.take().is_some() && pending.deleted.is_some();
        if !came_and_went {
            pending.deleted = Some(record);
        }
    }

    pub(crate) fn replace(&mut self, records: Vec<Arc<Record>>, version: ResourceVersion) {
        self.order.clear();
        self.pending.clear();
        self.replacement = Some(records);
        self.version = Some(version);
    }

    /// Whether the whole state is being replaced.
    pub(crate) fn holds_replacement(&self) -> bool {
        self.replacement.is_some()
    }

    pub(crate) fn bookmark(&mut self, version: ResourceVersion) {
        self.version = Some(version);
    }

    /// The next steps; `None` when there is nothing to do.
    pub(crate) fn pop(&mut self) -> Option<Batch> {
        let mut deltas: Vec<Delta> = self.replacement.take().map(Delta::Replace).into_iter().collect();
        for _ in 0..BATCH_KEYS {
            let Some(key) = self.order.pop_front() else { break };
            let Some(Pending { deleted, upserted }) = self.pending.remove(&key) else {
                continue;
            };
            deltas.extend(deleted.map(Delta::Delete));
            deltas.extend(upserted.map(Delta::Upsert));
        }
        let version = if self.order.is_empty() {
            self.version.take()
        } else {
            None
        };
        (!deltas.is_empty() || version.is_some()).then_some(Batch { deltas, version })
    }

    fn pending(&mut self, key: ObjectKey) -> &mut Pending {
        let order = &mut self.order;
        self.pending.entry(key).or_insert_with_key(|key| {
            order.push_back(key.clone());
            Pending::default()
        })
    }
}
