//! From kinds and names to resources, with what discovery said last: [`RestMapper`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kubewright_core::{GroupKind, GroupVersionKind, GroupVersionResource};
use tokio::time::Instant;

use super::memory::{Freshness, Known};
use super::{CachedDiscovery, DiscoveredResource, Discovery, PartialDiscovery};
use crate::client::Client;
use crate::error::Error;

/// Finds the resource of a kind or of a name.
///
/// It asks the server at the first question and remembers the answer. If something is not there, it asks once more and
/// looks once more, since a custom resource may have been defined in the meantime; all who miss something at the same
/// time share one such refresh, refreshes keep a distance, and what was missed is believed to be missing for a while.
/// Cloning it shares what it remembers.
///
/// ```
/// # use kubewright_client::{Client, DynamicApi, Error, discovery::{MapperOptions, RestMapper}};
/// # use kubewright_core::GroupVersionKind;
/// # async fn example(client: &Client) -> Result<(), Error> {
/// let mapper = RestMapper::new(client, MapperOptions::default());
/// let widgets = mapper.resource_of(&GroupVersionKind::new("example.com", "v1", "Widget")).await?;
/// let api = DynamicApi::dynamic_namespaced(client, &widgets.resource, "team");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RestMapper {
    inner: Arc<Inner>,
}

struct Inner {
    cache: CachedDiscovery,
    options: MapperOptions,
    /// What a refresh did not bring, and when.
    misses: Mutex<HashMap<String, Instant>>,
}

/// Settings of a [`RestMapper`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapperOptions {
    /// Time between two refreshes because something is missing; whoever asks sooner waits. Default: 1 s.
    pub min_refresh_interval: Duration,
    /// For how long something that a refresh did not bring is answered by [`Error::NoMatch`] at once. Default: 5 s, so
    /// that who asks in a loop for a kind that nobody has installed costs a refresh in 5 s.
    pub remember_misses: Duration,
}

/// How many misses are remembered: 1,024. Beyond that the old ones are forgotten, which costs a refresh.
pub const MAX_MISSES: usize = 1024;

impl Default for MapperOptions {
    fn default() -> Self {
        Self {
            min_refresh_interval: Duration::from_secs(1),
            remember_misses: Duration::from_secs(5),
        }
    }
}

impl RestMapper {
    /// A mapper that has not asked yet.
    pub fn new(client: &Client, options: MapperOptions) -> Self {
        Self::of(CachedDiscovery::new(client), options)
    }

    /// A mapper that shares what a cache knows.
    pub fn of(cache: CachedDiscovery, options: MapperOptions) -> Self {
        let inner = Inner {
            cache,
            options,
            misses: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The resource of a kind in this version.
    ///
    /// # Errors
    ///
    /// [`Error::NoMatch`] if the server has none; [`Error::Ambiguous`]; whatever discovery fails with. The same holds for
    /// the others.
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

    /// The resources of a category, such as `all`, each in its preferred version. A category that nothing belongs to is
    /// no miss.
    ///
    /// # Errors
    ///
    /// As [`discovery`](Self::discovery).
    pub async fn category(&self, name: &str) -> Result<Vec<DiscoveredResource>, Error> {
        let known = self.discovery().await?;
        Ok(known.parts().0.category(name).cloned().collect())
    }

    /// What is known, asked for if nothing is.
    ///
    /// # Errors
    ///
    /// As [`DiscoveryClient::discover`](super::DiscoveryClient::discover).
    pub async fn discovery(&self) -> Result<Arc<PartialDiscovery>, Error> {
        self.inner.cache.discover().await
    }

    /// Forgets everything, so that the next question asks the server.
    pub fn invalidate(&self) {
        self.misses().clear();
        self.inner.cache.invalidate();
    }

    async fn look_up(
        &self,
        find: impl Fn(&Discovery) -> Result<&DiscoveredResource, Error>,
        what: &impl fmt::Display,
    ) -> Result<DiscoveredResource, Error> {
        let find = |known: &Known| match find(known.partial.parts().0) {
            Ok(found) => Some(Ok(found.clone())),
            Err(error) if error.is_no_match() => None,
            Err(error) => Some(Err(error)),
        };
        let (mut known, freshness) = self.inner.cache.known().await?;
        if let Some(found) = find(&known) {
            return found;
        }
        let what = what.to_string();
        // What was asked for just now cannot be any newer.
        if freshness == Freshness::Kept && !self.is_missed(&what) {
            let distance = self.inner.options.min_refresh_interval;
            (known, _) = self.inner.cache.newer_than(Some(known.number), distance).await?;
            if let Some(found) = find(&known) {
                return found;
            }
            self.miss(what.clone());
        }
        Err(no_match(&known.partial, &what))
    }

    /// Whether a refresh did not bring this a while ago.
    fn is_missed(&self, what: &str) -> bool {
        let since = self.misses().get(what).copied();
        since.is_some_and(|since| since.elapsed() < self.inner.options.remember_misses)
    }

    fn miss(&self, what: String) {
        let mut misses = self.misses();
        if misses.len() >= MAX_MISSES {
            let for_how_long = self.inner.options.remember_misses;
            misses.retain(|_, since| since.elapsed() < for_how_long);
        }
        if misses.len() >= MAX_MISSES {
            misses.clear();
        }
        misses.insert(what, Instant::now());
    }

    fn misses(&self) -> std::sync::MutexGuard<'_, HashMap<String, Instant>> {
        self.inner.misses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_match(partial: &PartialDiscovery, what: &str) -> Error {
    let (_, failures) = partial.parts();
    let failed: Vec<String> = failures
        .iter()
        .map(|failure| failure.group_version.to_string())
        .collect();
    let what = if failed.is_empty() {
        what.to_owned()
    } else {
        format!("{what} (discovery failed for {})", failed.join(", "))
    };
    Error::NoMatch { what }
}

impl fmt::Debug for RestMapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestMapper")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}
