//! From kinds and names to resources, with what discovery said last: [`RestMapper`].

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use kubewright_core::{GroupKind, GroupVersionKind, GroupVersionResource};
use tokio::time::Instant;

use super::{DiscoveredResource, Discovery};
use crate::client::Client;
use crate::error::Error;

/// Finds the resource of a kind or of a name.
///
/// It asks the server at the first question and remembers the answer. If something is not there, it asks once more and
/// looks once more, since a custom resource may have been defined in the meantime; all who miss something at the same
/// time share one such refresh, and refreshes keep a distance. Cloning it shares what it remembers.
#[derive(Clone)]
pub struct RestMapper {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    options: MapperOptions,
    known: RwLock<Option<Known>>,
    /// Held while the server is asked.
    refreshing: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Known {
    discovery: Arc<Discovery>,
    since: Instant,
}

/// Settings of a [`RestMapper`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapperOptions {
    /// Time between two refreshes because something is missing; whoever asks sooner waits. Default: 1 s.
    pub min_refresh_interval: Duration,
}

impl Default for MapperOptions {
    fn default() -> Self {
        Self {
            min_refresh_interval: Duration::from_secs(1),
        }
    }
}

impl RestMapper {
    /// A mapper that has not asked yet.
    pub fn new(client: &Client, options: MapperOptions) -> Self {
        let inner = Inner {
            client: client.clone(),
            options,
            known: RwLock::new(None),
            refreshing: tokio::sync::Mutex::new(()),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The resource of a kind in this version.
    ///
    /// # Errors
    ///
    /// [`Error::NoMatch`] if the server has none; whatever discovery fails with. The same holds for the others.
    pub async fn resource_of(&self, kind: &GroupVersionKind) -> Result<DiscoveredResource, Error> {
        self.look_up(|discovery| discovery.resource_of(kind), kind).await
    }

    /// The resource of a kind in the version the server prefers.
    ///
    /// # Errors
    ///
    /// As [`resource_of`](Self::resource_of).
    pub async fn resource_of_kind(&self, kind: &GroupKind) -> Result<DiscoveredResource, Error> {
        self.look_up(|discovery| discovery.resource_of_kind(kind), kind)
            .await
    }

    /// The kind of a resource.
    ///
    /// # Errors
    ///
    /// As [`resource_of`](Self::resource_of).
    pub async fn kind_of(&self, resource: &GroupVersionResource) -> Result<GroupVersionKind, Error> {
        let found = self
            .look_up(|discovery| discovery.resource(resource), resource)
            .await?;
        Ok(found.resource.group_version_kind())
    }

    /// The resource a person means, see [`Discovery::find`].
    ///
    /// # Errors
    ///
    /// As [`resource_of`](Self::resource_of).
    pub async fn find(&self, argument: &str) -> Result<DiscoveredResource, Error> {
        self.look_up(
            |discovery| discovery.find(argument),
            &format_args!("resource type {argument:?}"),
        )
        .await
    }

    /// What is known, asked for if nothing is.
    ///
    /// # Errors
    ///
    /// Whatever [`Client::discover`] fails with.
    pub async fn discovery(&self) -> Result<Arc<Discovery>, Error> {
        match self.known() {
            Some(known) => Ok(known.discovery),
            None => Ok(self.refresh(None).await?.discovery),
        }
    }

    /// Forgets everything, so that the next question asks the server.
    pub fn invalidate(&self) {
        *self.inner.known.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn look_up(
        &self,
        find: impl Fn(&Discovery) -> Option<&DiscoveredResource>,
        what: &impl fmt::Display,
    ) -> Result<DiscoveredResource, Error> {
        let Some(known) = self.known() else {
            // What was asked for just now cannot be any newer.
            let known = self.refresh(None).await?;
            return find(&known.discovery)
                .cloned()
                .ok_or_else(|| no_match(&known.discovery, what));
        };
        if let Some(found) = find(&known.discovery) {
            return Ok(found.clone());
        }
        let known = self.refresh(Some(known.since)).await?;
        find(&known.discovery)
            .cloned()
            .ok_or_else(|| no_match(&known.discovery, what))
    }

    fn known(&self) -> Option<Known> {
        self.inner
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Asks the server, unless somebody did since `seen`.
    async fn refresh(&self, seen: Option<Instant>) -> Result<Known, Error> {
        let _refreshing = self.inner.refreshing.lock().await;
        if let Some(known) = self.known()
            && seen.is_none_or(|seen| known.since > seen)
        {
            return Ok(known);
        }
        if let Some(seen) = seen {
            tokio::time::sleep_until(seen + self.inner.options.min_refresh_interval).await;
        }
        let discovery = Arc::new(self.inner.client.discover().await?);
        let known = Known {
            discovery,
            since: Instant::now(),
        };
        *self.inner.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
        Ok(known)
    }
}

fn no_match(discovery: &Discovery, what: &impl fmt::Display) -> Error {
    if discovery.failures.is_empty() {
        return Error::NoMatch {
            what: what.to_string(),
        };
    }
    let failed: Vec<String> = discovery
        .failures
        .iter()
        .map(|failure| failure.group_version.to_string())
        .collect();
    Error::NoMatch {
        what: format!("{what} (discovery failed for {})", failed.join(", ")),
    }
}

impl fmt::Debug for RestMapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestMapper")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}
