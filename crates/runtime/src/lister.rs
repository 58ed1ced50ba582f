//! Reading from caches, consistently with one's own writes.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_cache::{Cached, Lister, OWNER_INDEX};
use kubewright_core::{ApiResource, LabelSelector, ObjectKey, ResourceVersion};

use crate::barrier::{Barrier, Reads, Seen};
use crate::error::Error;

/// Reads objects from a cache, without asking the server.
///
/// A read sees what was written before through any client of the same manager: it waits, for a moment as a rule, until the
/// cache has seen those writes that concern it, and fails with [`StaleRead`] if that takes too long. It does not wait for
/// deletions of whole collections, for bindings and evictions, for objects that a field selector hides, and for writes
/// whose answer never came. [`stale`](Self::stale) reads without waiting.
pub struct ConsistentLister<K> {
    resource: Arc<ApiResource>,
    lister: Lister<K>,
    barrier: Arc<Barrier>,
    limit: Duration,
}

/// A cache did not see a write in time.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the cache of {resource} has not seen the last write of {key} within {waited:?}")]
#[non_exhaustive]
pub struct StaleRead {
    /// What was read.
    pub resource: String,
    /// Whose write was not seen.
    pub key: ObjectKey,
    /// The limit.
    pub waited: Duration,
}

impl<K: 'static> ConsistentLister<K> {
    pub(crate) fn new(
        resource: Arc<ApiResource>,
        lister: Lister<K>,
        barrier: Arc<Barrier>,
        limit: Duration,
    ) -> Self {
        Self {
            resource,
            lister,
            barrier,
            limit,
        }
    }

    /// One object.
    ///
    /// # Errors
    ///
    /// [`StaleRead`].
    pub async fn get(&self, key: &ObjectKey) -> Result<Option<Cached<K>>, StaleRead> {
        self.wait(Reads::Key(key)).await?;
        Ok(self.lister.get(key))
    }

    /// Every object.
    ///
    /// # Errors
    ///
    /// [`StaleRead`].
    pub async fn list(&self) -> Result<Vec<Cached<K>>, StaleRead> {
        self.wait(Reads::All).await?;
        Ok(self.lister.list())
    }

    /// The objects of one namespace.
    ///
    /// # Errors
    ///
    /// [`StaleRead`].
    pub async fn list_namespace(&self, namespace: &str) -> Result<Vec<Cached<K>>, StaleRead> {
        self.wait(Reads::Namespace(namespace)).await?;
        Ok(self.lister.list_namespace(namespace))
    }

    /// The objects whose labels match, in one namespace or in all.
    ///
    /// # Errors
    ///
    /// [`StaleRead`].
    pub async fn select(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Result<Vec<Cached<K>>, StaleRead> {
        self.wait(namespace.map_or(Reads::All, Reads::Namespace)).await?;
        Ok(self.lister.select(namespace, selector))
    }

    /// The objects that an index has under a value.
    ///
    /// # Errors
    ///
    /// [`StaleRead`], and [`UnknownIndex`](kubewright_cache::UnknownIndex) when the controller's watch has no such index.
    pub async fn by_index(&self, name: &str, value: &str) -> Result<Vec<Cached<K>>, Error> {
        self.wait(Reads::All).await?;
        Ok(self.lister.by_index(name, value)?)
    }

    /// The objects that have the object with this uid among their owners. The controller must own the kind.
    ///
    /// # Errors
    ///
    /// As [`by_index`](Self::by_index).
    pub async fn owned_by(&self, uid: &str) -> Result<Vec<Cached<K>>, Error> {
        self.by_index(OWNER_INDEX, uid).await
    }

    /// The plain lister, whose reads do not wait.
    #[must_use]
    pub fn stale(&self) -> &Lister<K> {
        &self.lister
    }

    async fn wait(&self, reads: Reads<'_>) -> Result<(), StaleRead> {
        let unseen = || self.barrier.unseen(reads, &Store(&self.lister), Instant::now());
        if unseen().is_none() {
            return Ok(());
        }
        let seen = self.lister.wait_until(|_| unseen().is_none());
        if tokio::time::timeout(self.limit, seen).await.is_ok() {
            return Ok(());
        }
        match unseen() {
            None => Ok(()),
            Some(key) => Err(StaleRead {
                resource: self.resource.group_version_resource().to_string(),
                key,
                waited: self.limit,
            }),
        }
    }
}

struct Store<'a, K>(&'a Lister<K>);

impl<K> Seen for Store<'_, K> {
    fn object(&self, key: &ObjectKey) -> Option<(String, ResourceVersion)> {
        let object = self.0.get(key)?;
        Some((object.uid().to_owned(), object.resource_version()))
    }

    fn version(&self) -> ResourceVersion {
        self.0.version()
    }
}

impl<K> Clone for ConsistentLister<K> {
    fn clone(&self) -> Self {
        Self {
            resource: Arc::clone(&self.resource),
            lister: self.lister.clone(),
            barrier: Arc::clone(&self.barrier),
            limit: self.limit,
        }
    }
}

impl<K> fmt::Debug for ConsistentLister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsistentLister")
            .field("resource", &self.resource.group_version_resource())
            .finish_non_exhaustive()
    }
}
