//! The store of one resource: objects by key and by index.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use hashbrown::{HashMap, HashSet};
use kubewright_core::{ObjectKey, ResourceVersion};
use parking_lot::Mutex;

use crate::cached::Cached;
use crate::delta_fifo::{Batch, Delta};
use crate::packing::Codec;
use crate::peek::{Head, MalformedObject, ManagedFields, peek};
use crate::pool::Pool;
use crate::published::{Published, Writing};
use crate::record::{Context, Record};
use crate::snapshot::{Function, IndexFn, Snapshot, Values};
use crate::stats::Counters;
use crate::training::Training;

/// The name of the index by namespace, which every store has.
pub const NAMESPACE_INDEX: &str = "namespace";

/// The name of the index made by [`owner_uids`].
pub const OWNER_INDEX: &str = "owner-uid";

/// An index function for [`OWNER_INDEX`]: the uids of all owners.
#[must_use]
pub fn owner_uids<K>(object: &Cached<K>) -> Vec<String> {
    object.owners().iter().map(|owner| owner.uid.clone()).collect()
}

/// How a store keeps its objects. Every value is valid.
#[derive(Clone)]
pub struct StoreOptions {
    /// Whether objects are compressed. Default: [`Compression::Above`] 1 MiB.
    pub compression: Compression,
    /// The byte budget for decoded objects, by an estimate of their size. Default: 64 MB; 0 keeps none, `usize::MAX`
    /// keeps whatever was once decoded.
    pub decoded_bytes: usize,
    /// Default: [`ManagedFields::Drop`].
    pub managed_fields: ManagedFields,
    /// Changes an object before it is stored, for instance to drop what nobody here reads. Gets the JSON text and
    /// returns a new one, or `None` to keep it. Must keep name, namespace, uid and resource version, and must bear to
    /// see its own result again. If it panics, the object is kept as it came, and the log says so. Runs after managed
    /// fields are dropped. Default: none.
    pub transform: Option<Transform>,
}

/// Whether a store compresses its objects.
///
/// It trains a dictionary on some of them, once. After that a pod of 5 KB takes about 8 µs to pack, 2 µs to unpack, and a
/// tenth of its size. One that keeps more than two thirds of its size stays as it is. An object that differs little from the
/// one before it, as the pods of one replica set do, or from an earlier state of itself is not packed but kept as the difference,
/// which takes less than 1 µs and little more than what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Once so many bytes of uncompressed text are in memory: small stores never are.
    Above(usize),
    /// Never.
    Never,
}

impl Default for Compression {
    fn default() -> Self {
        Self::Above(1 << 20)
    }
}

/// What a store has in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Objects in the store.
    pub objects: usize,
    /// States of objects in memory: those in the store, and older ones that handlers or readers still hold.
    pub states: usize,
    /// What these take, in bytes, but for decoded forms, labels and owners: at most, since a packed object counts once more for each
    /// time that others were found to be different from it, as long as these are there.
    pub bytes: usize,
    /// What their text would take uncompressed.
    pub text_bytes: usize,
    /// What decoded forms take, by an estimate.
    pub decoded_bytes: usize,
    /// The dictionary of the compression; 0 while there is none.
    pub dictionary_bytes: usize,
}

/// See [`StoreOptions::transform`].
pub type Transform = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            decoded_bytes: 64_000_000,
            managed_fields: ManagedFields::default(),
            transform: None,
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("compression", &self.compression)
            .field("decoded_bytes", &self.decoded_bytes)
            .field("managed_fields", &self.managed_fields)
            .field("transform", &self.transform.is_some())
            .finish()
    }
}

/// What a step of the store means to those who follow it.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Added {
        new: Arc<Record>,
        initial: Initial,
    },
    Updated {
        old: Arc<Record>,
        new: Arc<Record>,
    },
    Deleted {
        last: Arc<Record>,
        final_state: FinalState,
    },
}

/// Whether an object was there before the follower came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// It belongs to the state that the follower starts with.
    Yes,
    /// It came later.
    No,
}

/// Whether the last state of a deleted object is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalState {
    /// The object is in the state in which it was deleted.
    Known,
    /// The deletion itself was missed: the object is in the last state that was seen.
    Unknown,
}

/// Whether two objects with the same uid and version are surely the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// They are: the bytes that are here are kept.
    Trusted,
    /// The server's history was rewound (a restored backup): the bytes must agree as well.
    Doubted,
}

/// The objects of one resource, in one namespace or all, under one selector.
///
/// Bytes are kept, not structs: one store serves typed, dynamic and metadata readers. Readers see the last published
/// [`Snapshot`] and take no lock: they never wait for a writer, nor a writer for them.
pub(crate) struct Store {
    options: StoreOptions,
    pub(crate) counters: Arc<Counters>,
    /// What new records are made with; another one once there is a dictionary.
    context: ArcSwap<Context>,
    training: Mutex<Training>,
    /// There is a dictionary since a batch last asked.
    is_trained: AtomicBool,
    pool: Mutex<Pool>,
    /// Held by whoever makes the next snapshot. Index functions run meanwhile, and read what is published; what panics
    /// changes nothing.
    writing: Writing,
    published: Published<Snapshot>,
}

/// What indices said of objects on their way in.
pub(crate) struct Asked {
    /// How many indices there were.
    functions: usize,
    /// By the address of the record, which is no other's as long as this is held.
    values: HashMap<usize, (Arc<Record>, Values)>,
}

/// An object on its way in.
struct Incoming {
    record: Arc<Record>,
    /// What each index says of it, in their order; `None` if it seems to be here already.
    values: Option<Values>,
}

impl Store {
    pub(crate) fn new(api_version: &str, kind: &str, options: StoreOptions) -> Self {
        Self::with_snapshot(api_version, kind, options, Snapshot::default())
    }

    pub(crate) fn with_snapshot(
        api_version: &str,
        kind: &str,
        options: StoreOptions,
        snapshot: Snapshot,
    ) -> Self {
        let context = Context::new(api_version, kind, options.decoded_bytes);
        Self {
            counters: Arc::clone(&context.counters),
            context: ArcSwap::from_pointee(context),
            training: Mutex::new(Training::new(options.compression)),
            is_trained: AtomicBool::new(false),
            options,
            pool: Mutex::default(),
            published: Published::new(snapshot),
            writing: Writing::default(),
        }
    }

    /// Takes an object in from the wire, without storing it. One that is stored in the same version already is not
    /// copied again, so a relist costs no memory.
    pub(crate) fn ingest(&self, raw: &[u8], versions: Versions) -> Result<Arc<Record>, MalformedObject> {
        let head = peek(raw)?;
        Counters::count(&self.counters.received);
        let namespace = Some(&*head.namespace).filter(|namespace| !namespace.is_empty());
        let published = self.published.load();
        let other = published.get(namespace, &head.name);
        let known = other.filter(|known| known.uid() == head.uid && known.version() == head.version);
        if versions == Versions::Trusted
            && let Some(known) = known
        {
            Counters::count(&self.counters.unchanged);
            return Ok(Arc::clone(known));
        }
        let other = other.map(Arc::as_ref);
        let context = self.context.load();
        let kept = head.keep(raw, self.options.managed_fields);
        let transform = self.options.transform.as_ref();
        let record = match transform.and_then(|transform| transformed(transform, &head, &kept.text)) {
            None => Record::new(&head, &kept, other, &context, &self.pool)?,
            Some(text) => {
                let made = |error: MalformedObject| MalformedObject {
                    message: format!(
                        "the transform of the store made something else than an object of it: {}",
                        error.message
                    ),
                    key: Some(head.key()),
                };
                let head = peek(&text).map_err(made)?;
                Record::new(
                    &head,
                    &head.keep(&text, ManagedFields::Keep),
                    other,
                    &context,
                    &self.pool,
                )?
            }
        };
        Ok(match known {
            Some(known) if known.text() == record.text() => Arc::clone(known),
            _ => {
                let record = Arc::new(record);
                if context.codec.is_none() {
                    self.learn_from(&record, &context);
                }
                record
            }
        })
    }

    /// Trains a dictionary when there is enough to learn from. What is here already is packed with the next batch. Nobody waits
    /// for it: what comes meanwhile is stored as it is.
    fn learn_from(&self, record: &Arc<Record>, context: &Arc<Context>) {
        let Some(mut training) = self.training.try_lock() else {
            return;
        };
        if self.context.load().codec.is_some() {
            return;
        }
        if let Some(codec) = training.take_in(record, context.usage.plain.load(Ordering::Relaxed)) {
            self.context.store(Arc::new(context.packing(codec)));
            self.is_trained.store(true, Ordering::Release);
        }
    }

    /// Asks the indices about the objects of a batch that are not here already. The functions may take long: this is for before those locks
    /// that others wait for.
    pub(crate) fn ask(&self, batch: &Batch) -> Asked {
        let published = self.published.load();
        let functions = published.functions();
        let mut asked = Asked {
            functions: functions.len(),
            values: HashMap::new(),
        };
        if functions.is_empty() {
            return asked;
        }
        let records = batch.deltas.iter().flat_map(|delta| match delta {
            Delta::Upsert(record) => std::slice::from_ref(record),
            Delta::Replace(records) => records,
            Delta::Delete(_) | Delta::Lose(_) | Delta::Populated => &[],
        });
        for record in records.filter(|record| !is_here(&published, record)) {
            let values = self.values(&functions, record);
            let address = Arc::as_ptr(record).addr();
            asked.values.insert(address, (Arc::clone(record), values));
        }
        asked
    }

    /// Takes the steps of a batch, all at once, and tells what changed.
    #[cfg(test)]
    pub(crate) fn apply(&self, batch: Batch) -> Vec<Change> {
        let asked = self.ask(&batch);
        self.apply_asked(batch, asked)
    }

    /// The same with what indices said of its objects.
    pub(crate) fn apply_asked(&self, batch: Batch, mut asked: Asked) -> Vec<Change> {
        let _one_at_a_time = self.writing.lock();
        let mut snapshot = Snapshot::clone(&self.published.load());
        let functions = snapshot.functions();
        if asked.functions != functions.len() {
            // There is another index by now.
            asked.values.clear();
        }
        let mut changes = Vec::with_capacity(batch.deltas.len());
        // What came together with the first state belongs to it: handlers are told that they have it after the batch.
        let initial = if snapshot.populated {
            Initial::No
        } else {
            Initial::Yes
        };
        for delta in batch.deltas {
            match delta {
                Delta::Upsert(record) => {
                    let incoming = self.prepare(&snapshot, record, &functions, &mut asked);
                    upsert(&mut snapshot, incoming, initial, &mut changes);
                }
                Delta::Delete(last) => {
                    let final_state = FinalState::Known;
                    remove(&mut snapshot, last, final_state, &mut changes);
                }
                Delta::Lose(last) => {
                    let final_state = FinalState::Unknown;
                    remove(&mut snapshot, last, final_state, &mut changes);
                }
                Delta::Populated => snapshot.populated = true,
                Delta::Replace(records) => {
                    remove_others(&mut snapshot, &records, &mut changes);
                    for record in records {
                        let incoming = self.prepare(&snapshot, record, &functions, &mut asked);
                        upsert(&mut snapshot, incoming, initial, &mut changes);
                    }
                    snapshot.populated = true;
                }
            }
        }
        if let Some(version) = batch.version {
            snapshot.version = version;
        }
        self.pack_what_is_plain(&mut snapshot);
        self.published.store(Arc::new(snapshot));
        changes
    }

    /// Asks the indices about an object if they were not asked yet, unless it is here already: a relist asks of what changed only.
    fn prepare(
        &self,
        snapshot: &Snapshot,
        record: Arc<Record>,
        functions: &[Arc<Function>],
        asked: &mut Asked,
    ) -> Incoming {
        let known = is_here(snapshot, &record);
        let values = (!known).then(|| {
            let asked = asked.values.remove(&Arc::as_ptr(&record).addr());
            asked.map_or_else(|| self.values(functions, &record), |(_, values)| values)
        });
        let record = if known { record } else { self.packed(record) };
        Incoming { record, values }
    }

    /// What each function says of an object, in their order.
    fn values(&self, functions: &[Arc<Function>], record: &Arc<Record>) -> Values {
        if functions.is_empty() {
            return None;
        }
        let values = functions.iter().map(|function| {
            let values = function.values(record);
            let mut pool = self.pool.lock();
            values.iter().map(|value| pool.string(value)).collect()
        });
        Some(values.collect())
    }

    /// The record, packed if there is a dictionary by now. One that was made before there was one may come long after.
    fn packed(&self, record: Arc<Record>) -> Arc<Record> {
        let context = self.context.load();
        if !record.is_plain() || record.was_made_with(&context) || context.codec.is_none() {
            return record;
        }
        record.again(&context).map_or(record, Arc::new)
    }

    /// Packs what was stored before there was a dictionary, once.
    fn pack_what_is_plain(&self, snapshot: &mut Snapshot) {
        if !self.is_trained.swap(false, Ordering::Acquire) {
            return;
        }
        let mut plain: Vec<_> = snapshot
            .iter()
            .filter(|record| record.is_plain())
            .cloned()
            .collect();
        // Each is compared with the one before it, and those of one owner are alike.
        plain.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        for record in plain {
            snapshot.swap(self.packed(record));
        }
    }

    /// Adds an index, now or later; objects that are here already are indexed at once. Another index of the same name
    /// is kept, and `false` returned.
    pub(crate) fn add_index(&self, name: &str, function: IndexFn) -> bool {
        let _one_at_a_time = self.writing.lock();
        let mut snapshot = Snapshot::clone(&self.published.load());
        if name == NAMESPACE_INDEX || snapshot.has_index(name) {
            return false;
        }
        let function = Arc::new(Function {
            name: name.to_owned(),
            function,
        });
        snapshot.add_index(function, &mut |value| self.pool.lock().string(&value));
        self.published.store(Arc::new(snapshot));
        true
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<Record>> {
        let published = self.published.load();
        published.get(key.namespace.as_deref(), &key.name).cloned()
    }

    pub(crate) fn list(&self) -> Vec<Arc<Record>> {
        self.published.load().iter().cloned().collect()
    }

    pub(crate) fn list_namespace(&self, namespace: &str) -> Vec<Arc<Record>> {
        self.published.load().namespace(namespace).cloned().collect()
    }

    /// `None` when there is no such index.
    pub(crate) fn by_index(&self, name: &str, value: &str) -> Option<Vec<Arc<Record>>> {
        if name == NAMESPACE_INDEX {
            return Some(self.list_namespace(value));
        }
        self.published.load().by_index(name, value)
    }

    pub(crate) fn len(&self) -> usize {
        self.published.load().len()
    }

    pub(crate) fn version(&self) -> ResourceVersion {
        self.published.load().version.clone()
    }

    pub(crate) fn is_populated(&self) -> bool {
        self.published.load().populated
    }

    pub(crate) fn usage(&self) -> Usage {
        let context = self.context.load();
        Usage {
            objects: self.len(),
            states: context.usage.records.load(Ordering::Relaxed),
            bytes: context.usage.bytes.load(Ordering::Relaxed),
            text_bytes: context.usage.text.load(Ordering::Relaxed),
            decoded_bytes: context.budget.used(),
            dictionary_bytes: context.codec.as_ref().map_or(0, Codec::dictionary_bytes),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let published = self.published.load();
        f.debug_struct("Store")
            .field("objects", &published.len())
            .field("version", &published.version)
            .finish_non_exhaustive()
    }
}

/// Whether this very record is stored.
fn is_here(snapshot: &Snapshot, record: &Arc<Record>) -> bool {
    let key = record.key();
    let here = snapshot.get(key.namespace.as_deref(), &key.name);
    here.is_some_and(|here| Arc::ptr_eq(here, record))
}

fn upsert(snapshot: &mut Snapshot, incoming: Incoming, initial: Initial, changes: &mut Vec<Change>) {
    let Incoming { record, values } = incoming;
    let key = record.key();
    // What seemed to be here already is.
    let Some(values) = values else { return };
    let old = snapshot.get(key.namespace.as_deref(), &key.name).cloned();
    // A watch that starts over repeats what is known.
    let is_known = |old: &Arc<Record>| {
        old.uid() == record.uid() && old.version() == record.version() && old.text() == record.text()
    };
    if old.as_ref().is_some_and(is_known) {
        return;
    }
    snapshot.insert(Arc::clone(&record), values);
    match old {
        Some(old) if old.uid() == record.uid() => changes.push(Change::Updated { old, new: record }),
        Some(old) => {
            changes.push(Change::Deleted {
                last: old,
                final_state: FinalState::Unknown,
            });
            changes.push(Change::Added { new: record, initial });
        }
        None => changes.push(Change::Added { new: record, initial }),
    }
}

fn remove(snapshot: &mut Snapshot, last: Arc<Record>, final_state: FinalState, changes: &mut Vec<Change>) {
    if snapshot.remove(last.key()).is_some() {
        changes.push(Change::Deleted { last, final_state });
    }
}

/// Removes what is not among these.
fn remove_others(snapshot: &mut Snapshot, records: &[Arc<Record>], changes: &mut Vec<Change>) {
    if snapshot.len() == 0 {
        return;
    }
    let kept: HashSet<&ObjectKey> = records.iter().map(|record| record.key()).collect();
    let vanished = snapshot.iter().filter(|record| !kept.contains(record.key()));
    let mut vanished: Vec<_> = vanished.cloned().collect();
    vanished.sort_unstable_by(|a, b| a.key().cmp(b.key()));
    for last in vanished {
        snapshot.remove(last.key());
        changes.push(Change::Deleted {
            last,
            final_state: FinalState::Unknown,
        });
    }
}

/// What a transform makes of an object; `None` if nothing, or if it panics.
fn transformed(transform: &Transform, head: &Head<'_>, text: &[u8]) -> Option<Vec<u8>> {
    let call = AssertUnwindSafe(|| transform(text));
    catch_unwind(call).unwrap_or_else(|_| {
        tracing::error!(key = %head.key(), "a transform panicked: the object is kept as it came");
        None
    })
}
