//! The objects of a store at one moment, as a value: copying it costs nothing, and a copy never changes.
//!
//! Objects are found by the hash of their key in a persistent tree, with those of one namespace side by side. An
//! index is a second tree, from the hash of a value to the places of the objects that have it.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use imbl::{OrdMap, OrdSet};
use kubewright_core::{ObjectKey, ResourceVersion};

use crate::record::Record;

/// What an index asks of each object.
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) function: IndexFn,
}

pub(crate) type IndexFn = Arc<dyn Fn(&Arc<Record>) -> Vec<String> + Send + Sync>;

/// What each index says of an object, in their order. `None` where there is no index.
pub(crate) type Values = Option<Arc<[Box<[Arc<str>]>]>>;

/// One state of a store.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    hashes: Hashes,
    objects: OrdMap<Place, Entry>,
    /// Only ever added to.
    indices: Vec<Index>,
    pub(crate) version: ResourceVersion,
    pub(crate) populated: bool,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) record: Arc<Record>,
    values: Values,
}

#[derive(Clone)]
struct Index {
    function: Arc<Function>,
    found: OrdSet<(u64, Place)>,
}

/// Where an object is: the hash of its namespace, that of its name, and, in the low bits, which of the objects it is
/// that share both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    namespace: u64,
    name: u64,
}

/// The low bits of [`Place::name`].
const SAME_HASH: u64 = 0xff;

impl Place {
    const FIRST: Self = Self {
        namespace: 0,
        name: 0,
    };
    const LAST: Self = Self {
        namespace: u64::MAX,
        name: u64::MAX,
    };

    fn last_of_same_hash(self) -> Self {
        Self {
            name: self.name | SAME_HASH,
            ..self
        }
    }
}

/// How keys and values are hashed.
#[derive(Clone)]
enum Hashes {
    Random(DefaultHashBuilder),
    /// Everything alike, for tests of what happens then.
    #[cfg(test)]
    Alike,
}

impl Default for Hashes {
    fn default() -> Self {
        Self::Random(DefaultHashBuilder::default())
    }
}

impl Hashes {
    fn of(&self, text: &str) -> u64 {
        match self {
            Self::Random(hasher) => hasher.hash_one(text),
            #[cfg(test)]
            Self::Alike => 0,
        }
    }

    /// The first place where an object may be.
    fn place(&self, namespace: Option<&str>, name: &str) -> Place {
        Place {
            // No namespace has an empty name.
            namespace: self.of(namespace.unwrap_or_default()),
            name: self.of(name) & !SAME_HASH,
        }
    }
}

impl Snapshot {
    /// A snapshot in which all keys and values have the same hash.
    #[cfg(test)]
    pub(crate) fn alike() -> Self {
        Self {
            hashes: Hashes::Alike,
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn get(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<Record>> {
        self.find(namespace, name).map(|(_, entry)| &entry.record)
    }

    fn find(&self, namespace: Option<&str>, name: &str) -> Option<(Place, &Entry)> {
        let first = self.hashes.place(namespace, name);
        let is_it = |entry: &Entry| is_key(entry.record.key(), namespace, name);
        // Nearly always there is one object of this hash, or none.
        let (place, entry) = self.objects.get_next(&first)?;
        if *place > first.last_of_same_hash() {
            return None;
        }
        if is_it(entry) {
            return Some((*place, entry));
        }
        let all = self.objects.range(first..=first.last_of_same_hash());
        all.map(|(place, entry)| (*place, entry))
            .find(|(_, entry)| is_it(entry))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.objects.values().map(|entry| &entry.record)
    }

    pub(crate) fn namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<Record>> {
        let hash = self.hashes.of(namespace);
        let range = Place {
            namespace: hash,
            ..Place::FIRST
        }..=Place {
            namespace: hash,
            ..Place::LAST
        };
        let objects = self.objects.range(range).map(|(_, entry)| &entry.record);
        objects.filter(move |record| record.key().namespace.as_deref() == Some(namespace))
    }

    /// The objects that an index has under a value; `None` when there is no such index.
    pub(crate) fn by_index(&self, name: &str, value: &str) -> Option<Vec<Arc<Record>>> {
        let at = self
            .indices
            .iter()
            .position(|index| index.function.name == name)?;
        let hash = self.hashes.of(value);
        let places = self.indices[at]
            .found
            .range((hash, Place::FIRST)..=(hash, Place::LAST));
        let entries = places.filter_map(|(_, place)| self.objects.get(place));
        let has_value = |entry: &&Entry| {
            let values = entry.values.as_ref().and_then(|values| values.get(at));
            values.is_some_and(|values| values.iter().any(|other| **other == *value))
        };
        Some(
            entries
                .filter(has_value)
                .map(|entry| Arc::clone(&entry.record))
                .collect(),
        )
    }

    pub(crate) fn functions(&self) -> Vec<Arc<Function>> {
        self.indices
            .iter()
            .map(|index| Arc::clone(&index.function))
            .collect()
    }

    pub(crate) fn has_index(&self, name: &str) -> bool {
        self.indices.iter().any(|index| index.function.name == name)
    }

    /// Adds an index and asks it about every object. `share` gives text that is shared.
    pub(crate) fn add_index(&mut self, function: Arc<Function>, share: &mut dyn FnMut(String) -> Arc<str>) {
        let mut found = OrdSet::new();
        let places: Vec<Place> = self.objects.keys().copied().collect();
        for place in places {
            let Some(entry) = self.objects.get_mut(&place) else {
                continue;
            };
            let values = function.values(&entry.record).into_iter().map(&mut *share);
            let values: Box<[Arc<str>]> = values.collect();
            found.extend(values.iter().map(|value| (self.hashes.of(value), place)));
            let before = entry.values.iter().flat_map(|values| values.iter().cloned());
            entry.values = Some(before.chain([values]).collect());
        }
        self.indices.push(Index { function, found });
    }

    /// Inserts or overwrites.
    pub(crate) fn insert(&mut self, record: Arc<Record>, values: Values) {
        let key = record.key();
        let (namespace, name) = (key.namespace.as_deref(), &*key.name);
        let place = match self.find(namespace, name) {
            Some((place, entry)) => {
                let before = entry.values.clone();
                if before != values {
                    self.leave_indices(place, &before);
                    self.enter_indices(place, &values);
                }
                place
            }
            None => {
                let Some(place) = self.free_place(namespace, name) else {
                    tracing::error!(%key, "more objects share a hash than there is room for: this one is not stored");
                    return;
                };
                self.enter_indices(place, &values);
                place
            }
        };
        self.objects.insert(place, Entry { record, values });
    }

    /// Puts another record of the same state in the place of one.
    pub(crate) fn swap(&mut self, record: Arc<Record>) {
        let key = record.key();
        if let Some((place, entry)) = self.find(key.namespace.as_deref(), &key.name) {
            let values = entry.values.clone();
            self.objects.insert(place, Entry { record, values });
        }
    }

    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Record>> {
        let (place, _) = self.find(key.namespace.as_deref(), &key.name)?;
        let Entry { record, values } = self.objects.remove(&place)?;
        self.leave_indices(place, &values);
        Some(record)
    }

    /// `None` only if as many objects share a hash as [`SAME_HASH`] can tell apart: of 2^56 hashes.
    fn free_place(&self, namespace: Option<&str>, name: &str) -> Option<Place> {
        let first = self.hashes.place(namespace, name);
        let mut places = (0..=SAME_HASH).map(|nth| Place {
            name: first.name | nth,
            ..first
        });
        places.find(|place| !self.objects.contains_key(place))
    }

    fn enter_indices(&mut self, place: Place, values: &Values) {
        for (index, values) in self
            .indices
            .iter_mut()
            .zip(values.iter().flat_map(|values| values.iter()))
        {
            for value in values {
                index.found.insert((self.hashes.of(value), place));
            }
        }
    }

    fn leave_indices(&mut self, place: Place, values: &Values) {
        for (index, values) in self
            .indices
            .iter_mut()
            .zip(values.iter().flat_map(|values| values.iter()))
        {
            for value in values {
                index.found.remove(&(self.hashes.of(value), place));
            }
        }
    }
}

fn is_key(key: &ObjectKey, namespace: Option<&str>, name: &str) -> bool {
    *key.name == *name && key.namespace.as_deref() == namespace
}

thread_local! {
    static IS_ASKED: Cell<bool> = const { Cell::new(false) };
}

/// # Panics
///
/// When an index function calls what waits for those who may wait for it.
pub(crate) fn not_for_index_functions(what: &str) {
    assert!(
        !IS_ASKED.get(),
        "an index function may read the store; it must not {what}"
    );
}

impl Function {
    /// The values of an object, each once. The function is foreign code: a panic of it is not to end the informer.
    pub(crate) fn values(&self, record: &Arc<Record>) -> Vec<String> {
        let call = AssertUnwindSafe(|| (self.function)(record));
        IS_ASKED.set(true);
        let values = catch_unwind(call);
        IS_ASKED.set(false);
        let mut values = values.unwrap_or_else(|_| {
            tracing::error!(index = self.name, key = %record.key(), "an index function panicked: the object is not indexed");
            Vec::new()
        });
        values.sort_unstable();
        values.dedup();
        values
    }
}
