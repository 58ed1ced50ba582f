//! Reading from an informer's store.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use kubewright_core::{LabelSelector, ObjectKey, ResourceVersion};

use crate::cached::Cached;
use crate::informer::Inner;
use crate::record::Record;
use crate::store::Usage;

/// Reads objects from the store of an informer, seen as `K`, without asking the server.
///
/// Reads never block on the network and see a state that the server had a moment ago. Order is not defined.
pub struct Lister<K> {
    inner: Arc<Inner>,
    kind: PhantomData<fn() -> K>,
}

/// No index has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no index is named {name:?}")]
#[non_exhaustive]
pub struct UnknownIndex {
    /// The name that was asked for.
    pub name: String,
}

impl<K> Lister<K> {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self {
            inner,
            kind: PhantomData,
        }
    }

    /// The same reader seen as another type.
    #[must_use]
    pub fn view<J>(&self) -> Lister<J> {
        Lister::new(Arc::clone(&self.inner))
    }

    /// One object.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Cached<K>> {
        self.inner.core.store.get(key).map(Cached::new)
    }

    /// Every object.
    #[must_use]
    pub fn list(&self) -> Vec<Cached<K>> {
        cached(self.inner.core.store.list())
    }

    /// The objects of one namespace, or of all where it is empty (`NamespaceAll` in Go).
    #[must_use]
    pub fn list_namespace(&self, namespace: &str) -> Vec<Cached<K>> {
        match namespace {
            "" => self.list(),
            namespace => cached(self.inner.core.store.list_namespace(namespace)),
        }
    }

    /// The objects whose labels match, in one namespace or in all. Looks at the labels of each and decodes nothing.
    #[must_use]
    pub fn select(&self, namespace: Option<&str>, selector: &LabelSelector) -> Vec<Cached<K>> {
        let mut objects = match namespace {
            Some(namespace) => self.list_namespace(namespace),
            None => self.list(),
        };
        if !selector.is_everything() {
            objects.retain(|object| {
                let labels = object.labels();
                selector.matches(|key| labels.get(key))
            });
        }
        objects
    }

    /// The objects that an index has under a value.
    ///
    /// # Errors
    ///
    /// When there is no such index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Cached<K>>, UnknownIndex> {
        let found = self.inner.core.store.by_index(name, value);
        found.map(cached).ok_or_else(|| UnknownIndex {
            name: name.to_owned(),
        })
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.core.store.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version up to which the store has seen every change; empty before it has synced.
    #[must_use]
    pub fn version(&self) -> ResourceVersion {
        self.inner.core.store.version()
    }

    /// Whether the store has had the whole state of the server at one time.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.inner.core.store.is_populated()
    }

    /// Waits until the store is in a state that the predicate accepts. It is asked now and after each change. What is
    /// never reached is waited for without end: put a timeout around it.
    pub async fn wait_until(&self, mut predicate: impl FnMut(&Self) -> bool) {
        let mut progress = self.inner.core.progress.subscribe();
        loop {
            progress.mark_unchanged();
            if predicate(self) {
                return;
            }
            if progress.changed().await.is_err() {
                return;
            }
        }
    }

    /// What the store has in memory.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.inner.core.store.usage()
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        self.view()
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lister").field(&self.inner.core.store).finish()
    }
}

fn cached<K>(records: Vec<Arc<Record>>) -> Vec<Cached<K>> {
    records.into_iter().map(Cached::new).collect()
}
