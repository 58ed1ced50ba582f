//! The store of one resource: objects by key and by index.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};
use kubewright_core::{ObjectKey, ResourceVersion};
use parking_lot::{Mutex, RwLock};

use crate::cached::Cached;
use crate::delta_fifo::{Batch, Delta};
use crate::record::{Context, MalformedObject, ManagedFields, Record, peek};

/// The name of the index by namespace, which every store has.
pub const NAMESPACE_INDEX: &str = "namespace";

/// The name of the index made by [`owner_uids`].
pub const OWNER_INDEX: &str = "owner-uid";

/// An index function for [`OWNER_INDEX`]: the uids of all owners.
#[must_use]
pub fn owner_uids<K>(object: &Cached<K>) -> Vec<String> {
    let metadata = object.metadata();
    metadata
        .owner_references
        .iter()
        .flatten()
        .map(|owner| owner.uid.clone())
        .collect()
}

/// How a store keeps its objects. Every value is valid.
#[derive(Clone)]
pub struct StoreOptions {
    /// The byte budget for decoded objects, by an estimate of their size. Default: 64 MB; 0 keeps none.
    pub decoded_bytes: usize,
    /// Default: [`ManagedFields::Keep`].
    pub managed_fields: ManagedFields,
    /// Changes an object before it is stored, for instance to drop what nobody here reads. Gets the JSON text and
    /// returns a new one, or `None` to keep it. Must keep name, namespace, uid and resource version, and must bear to
    /// see its own result again. If it panics, the object is kept as it came, and the log says so. Runs after managed
    /// fields are dropped. Default: none.
    pub transform: Option<Transform>,
}

/// See [`StoreOptions::transform`].
pub type Transform = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            decoded_bytes: 64_000_000,
            managed_fields: ManagedFields::Keep,
            transform: None,
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
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
/// Bytes are kept, not structs: one store serves typed, dynamic and metadata readers. Readers share a lock for the time
/// of copying pointers.
pub(crate) struct Store {
    options: StoreOptions,
    /// Held by whoever changes objects or indices, so that index functions run before `inner` is locked.
    writing: Mutex<()>,
    context: Arc<Context>,
    /// Objects share the text of their namespace.
    namespaces: Mutex<HashSet<Arc<str>>>,
    inner: RwLock<Inner>,
}

#[derive(Default)]
struct Inner {
    hasher: DefaultHashBuilder,
    objects: HashTable<Arc<Record>>,
    by_namespace: HashMap<Arc<str>, HashSet<Arc<str>>>,
    /// Only ever added to.
    indices: Vec<Index>,
    version: ResourceVersion,
    populated: bool,
}

pub(crate) type IndexFn = Arc<dyn Fn(&Arc<Record>) -> Vec<String> + Send + Sync>;

/// What an index asks of each object.
struct Function {
    name: String,
    function: IndexFn,
}

struct Index {
    function: Arc<Function>,
    keys: HashMap<Arc<str>, HashSet<ObjectKey>>,
    /// What the function said of each object, so that it need not be asked about the old state. Only objects with
    /// values are in here.
    values: HashMap<ObjectKey, Box<[Arc<str>]>>,
}

/// An object on its way in.
struct Incoming {
    record: Arc<Record>,
    /// What each index says of it, in their order; `None` if it seems to be here already.
    values: Option<Vec<Vec<String>>>,
}

/// A delta with its objects prepared.
enum Step {
    Upsert(Incoming),
    Delete(Arc<Record>),
    Replace(Vec<Incoming>),
}

impl Store {
    pub(crate) fn new(api_version: &str, kind: &str, options: StoreOptions) -> Self {
        Self {
            context: Arc::new(Context::new(api_version, kind, options.decoded_bytes)),
            options,
            writing: Mutex::default(),
            namespaces: Mutex::default(),
            inner: RwLock::default(),
        }
    }

    /// Takes an object in from the wire, without storing it. One that is stored in the same version already is not
    /// copied again, so a relist costs no memory.
    pub(crate) fn ingest(&self, raw: &[u8], versions: Versions) -> Result<Arc<Record>, MalformedObject> {
        let head = peek(raw)?;
        let known = {
            let namespace = Some(&*head.namespace).filter(|namespace| !namespace.is_empty());
            let inner = self.inner.read();
            inner.find(namespace, &head.name).cloned()
        };
        let known = known.filter(|known| known.uid() == head.uid && known.version() == head.version);
        if versions == Versions::Trusted
            && let Some(known) = known
        {
            return Ok(known);
        }
        let intern = |namespace: &str| -> Arc<str> {
            Arc::clone(
                self.namespaces
                    .lock()
                    .get_or_insert_with(namespace, |namespace| namespace.into()),
            )
        };
        let mut record = Record::new(raw, head, &self.context, intern, self.options.managed_fields)?;
        if let Some(transform) = &self.options.transform
            && let Some(raw) = transformed(transform, &record)
        {
            record = Record::new(&raw, peek(&raw)?, &self.context, intern, ManagedFields::Keep)?;
        }
        Ok(match known {
            Some(known) if known.raw() == record.raw() => known,
            _ => Arc::new(record),
        })
    }

    /// Takes the steps of a batch, all under one lock, and tells what changed.
    pub(crate) fn apply(&self, batch: Batch) -> Vec<Change> {
        let _one_at_a_time = self.writing.lock();
        let functions = self.inner.read().functions();
        let prepare = |record| self.prepare(record, &functions);
        let steps = batch.deltas.into_iter().map(|delta| match delta {
            Delta::Upsert(record) => Step::Upsert(prepare(record)),
            Delta::Delete(record) => Step::Delete(record),
            Delta::Replace(records) => Step::Replace(records.into_iter().map(prepare).collect()),
        });
        let steps: Vec<_> = steps.collect();
        let mut changes = Vec::with_capacity(steps.len());
        let mut inner = self.inner.write();
        for step in steps {
            let initial = if inner.populated {
                Initial::No
            } else {
                Initial::Yes
            };
            match step {
                Step::Upsert(incoming) => inner.upsert(incoming, initial, &mut changes),
                Step::Delete(record) => {
                    if inner.remove(record.key()).is_some() {
                        changes.push(Change::Deleted {
                            last: record,
                            final_state: FinalState::Known,
                        });
                    }
                }
                Step::Replace(incoming) => {
                    inner.replace(incoming, initial, &mut changes);
                    inner.populated = true;
                }
            }
        }
        if let Some(version) = batch.version {
            inner.version = version;
        }
        // Namespaces come and go as well: what no object names any more is dropped now and then.
        let mut namespaces = self.namespaces.lock();
        if namespaces.len() > 2 * inner.by_namespace.len() + UNUSED_NAMESPACES {
            namespaces.retain(|namespace| Arc::strong_count(namespace) > 1);
        }
        changes
    }

    /// Asks the indices about an object, unless it is here already: a relist asks of what changed only.
    fn prepare(&self, record: Arc<Record>, functions: &[Arc<Function>]) -> Incoming {
        let key = record.key();
        let known = !functions.is_empty() && {
            let inner = self.inner.read();
            let found = inner.find(key.namespace.as_deref(), &key.name);
            found.is_some_and(|found| Arc::ptr_eq(found, &record))
        };
        let values = (!known).then(|| values(functions, &record));
        Incoming { record, values }
    }

    /// Adds an index, now or later; objects that are here already are indexed at once. Another index of the same name
    /// is kept, and `false` returned.
    pub(crate) fn add_index(&self, name: &str, function: IndexFn) -> bool {
        let _one_at_a_time = self.writing.lock();
        let taken = |index: &Index| index.function.name == name;
        if name == NAMESPACE_INDEX || self.inner.read().indices.iter().any(taken) {
            return false;
        }
        let mut index = Index {
            function: Arc::new(Function {
                name: name.to_owned(),
                function,
            }),
            keys: HashMap::new(),
            values: HashMap::new(),
        };
        for record in self.list() {
            let values = index.function.values(&record);
            index.insert(&record, values);
        }
        self.inner.write().indices.push(index);
        true
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<Record>> {
        self.inner
            .read()
            .find(key.namespace.as_deref(), &key.name)
            .cloned()
    }

    pub(crate) fn list(&self) -> Vec<Arc<Record>> {
        self.inner.read().objects.iter().cloned().collect()
    }

    pub(crate) fn list_namespace(&self, namespace: &str) -> Vec<Arc<Record>> {
        let inner = self.inner.read();
        let names = inner.by_namespace.get(namespace).into_iter().flatten();
        names
            .filter_map(|name| inner.find(Some(namespace), name).cloned())
            .collect()
    }

    /// `None` when there is no such index.
    pub(crate) fn by_index(&self, name: &str, value: &str) -> Option<Vec<Arc<Record>>> {
        if name == NAMESPACE_INDEX {
            return Some(self.list_namespace(value));
        }
        let inner = self.inner.read();
        let index = inner.indices.iter().find(|index| index.function.name == name)?;
        let keys = index.keys.get(value).into_iter().flatten();
        Some(
            keys.filter_map(|key| inner.find(key.namespace.as_deref(), &key.name).cloned())
                .collect(),
        )
    }

    pub(crate) fn len(&self) -> usize {
        self.inner.read().objects.len()
    }

    pub(crate) fn version(&self) -> ResourceVersion {
        self.inner.read().version.clone()
    }

    pub(crate) fn is_populated(&self) -> bool {
        self.inner.read().populated
    }

    pub(crate) fn decoded_bytes(&self) -> usize {
        self.context.budget.used()
    }
}

/// Names of unused namespaces that may pile up before they are dropped.
const UNUSED_NAMESPACES: usize = 1024;

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.read();
        f.debug_struct("Store")
            .field("objects", &inner.objects.len())
            .field("version", &inner.version)
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn hash(&self, namespace: Option<&str>, name: &str) -> u64 {
        hash(&self.hasher, namespace, name)
    }

    fn find(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<Record>> {
        let hash = self.hash(namespace, name);
        self.objects
            .find(hash, |record| is_key(record.key(), namespace, name))
    }

    fn functions(&self) -> Vec<Arc<Function>> {
        self.indices
            .iter()
            .map(|index| Arc::clone(&index.function))
            .collect()
    }

    fn upsert(&mut self, incoming: Incoming, initial: Initial, changes: &mut Vec<Change>) {
        let record = Arc::clone(&incoming.record);
        let old = self
            .find(record.key().namespace.as_deref(), &record.key().name)
            .cloned();
        match old {
            Some(old) if Arc::ptr_eq(&old, &record) => {}
            Some(old) if old.uid() == record.uid() => {
                // A watch that starts over repeats what is known.
                if old.version() == record.version() && old.raw() == record.raw() {
                    return;
                }
                self.insert(incoming);
                changes.push(Change::Updated { old, new: record });
            }
            Some(old) => {
                self.remove(old.key());
                changes.push(Change::Deleted {
                    last: old,
                    final_state: FinalState::Unknown,
                });
                self.insert(incoming);
                changes.push(Change::Added { new: record, initial });
            }
            None => {
                self.insert(incoming);
                changes.push(Change::Added { new: record, initial });
            }
        }
    }

    fn replace(&mut self, all: Vec<Incoming>, initial: Initial, changes: &mut Vec<Change>) {
        let kept: HashSet<&ObjectKey> = all.iter().map(|incoming| incoming.record.key()).collect();
        let mut vanished: Vec<_> = self
            .objects
            .iter()
            .filter(|record| !kept.contains(record.key()))
            .cloned()
            .collect();
        drop(kept);
        vanished.sort_unstable_by(|a: &Arc<Record>, b| a.key().cmp(b.key()));
        for last in vanished {
            self.remove(last.key());
            changes.push(Change::Deleted {
                last,
                final_state: FinalState::Unknown,
            });
        }
        for incoming in all {
            self.upsert(incoming, initial, changes);
        }
    }

    /// Inserts or overwrites.
    fn insert(&mut self, Incoming { record, values }: Incoming) {
        let key = record.key();
        let (namespace, name) = (key.namespace.as_deref(), &key.name);
        let hash = self.hash(namespace, name);
        // An object that was here when it was prepared may have given way to another state in the same batch.
        let values = values.unwrap_or_else(|| self::values(&self.functions(), &record));
        for (index, values) in self.indices.iter_mut().zip(values) {
            index.remove(key);
            index.insert(&record, values);
        }
        if let Some(namespace) = &key.namespace {
            let names = self.by_namespace.entry_ref(namespace).or_default();
            names.insert(Arc::clone(name));
        }
        let hasher = &self.hasher;
        let rehash = |record: &Arc<Record>| hash_of(hasher, record);
        match self
            .objects
            .find_mut(hash, |other| is_key(other.key(), namespace, name))
        {
            Some(slot) => *slot = record,
            None => drop(self.objects.insert_unique(hash, record, rehash)),
        }
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Record>> {
        let namespace = key.namespace.as_deref();
        let hash = self.hash(namespace, &key.name);
        let (record, _) = self
            .objects
            .find_entry(hash, |record| is_key(record.key(), namespace, &key.name))
            .ok()?
            .remove();
        for index in &mut self.indices {
            index.remove(key);
        }
        if let Some(namespace) = namespace
            && let Some(names) = self.by_namespace.get_mut(namespace)
        {
            names.remove(&key.name);
            if names.is_empty() {
                self.by_namespace.remove(namespace);
            }
        }
        Some(record)
    }
}

fn is_key(key: &ObjectKey, namespace: Option<&str>, name: &str) -> bool {
    *key.name == *name && key.namespace.as_deref() == namespace
}

fn hash(hasher: &DefaultHashBuilder, namespace: Option<&str>, name: &str) -> u64 {
    let mut state = hasher.build_hasher();
    namespace.hash(&mut state);
    name.hash(&mut state);
    state.finish()
}

fn hash_of(hasher: &DefaultHashBuilder, record: &Record) -> u64 {
    hash(hasher, record.key().namespace.as_deref(), &record.key().name)
}

/// What each function says of an object, in their order.
fn values(functions: &[Arc<Function>], record: &Arc<Record>) -> Vec<Vec<String>> {
    functions.iter().map(|function| function.values(record)).collect()
}

impl Function {
    /// The values of an object, each once. The function is foreign code: a panic of it is not to end the informer.
    fn values(&self, record: &Arc<Record>) -> Vec<String> {
        let call = AssertUnwindSafe(|| (self.function)(record));
        let mut values = catch_unwind(call).unwrap_or_else(|_| {
            tracing::error!(index = self.name, key = %record.key(), "an index function panicked: the object is not indexed");
            Vec::new()
        });
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// What a transform makes of an object; `None` if nothing, or if it panics.
fn transformed(transform: &Transform, record: &Record) -> Option<Vec<u8>> {
    let call = AssertUnwindSafe(|| transform(record.raw()));
    catch_unwind(call).unwrap_or_else(|_| {
        tracing::error!(key = %record.key(), "a transform panicked: the object is kept as it came");
        None
    })
}

impl Index {
    fn insert(&mut self, record: &Arc<Record>, values: Vec<String>) {
        if values.is_empty() {
            return;
        }
        let shared = values.into_iter().map(|value| {
            let entry = self.keys.entry_ref(value.as_str());
            let hashbrown::hash_map::EntryRef::Occupied(found) = entry else {
                let value: Arc<str> = value.into();
                self.keys
                    .insert(Arc::clone(&value), HashSet::from_iter([record.key().clone()]));
                return value;
            };
            let value = Arc::clone(found.key());
            found.into_mut().insert(record.key().clone());
            value
        });
        let shared = shared.collect();
        self.values.insert(record.key().clone(), shared);
    }

    fn remove(&mut self, key: &ObjectKey) {
        for value in self.values.remove(key).into_iter().flatten() {
            if let Some(keys) = self.keys.get_mut(&value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.keys.remove(&value);
                }
            }
        }
    }
}
