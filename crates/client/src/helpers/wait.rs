//! Waiting until something holds of an object, by watching it: [`Api::wait_for`].

use std::time::Duration;

use kubewright_core::{FieldSelector, ListOptions, Resource, ScopeKind, WatchEvent};
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::error::Error;

/// Waiting came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// It did not come about in time.
    #[error("timed out waiting for the condition on {resource}/{name} after {after:?}: {seen}")]
    TimedOut {
        /// The resource, for example `pods`.
        resource: String,
        /// The name of the object.
        name: String,
        /// The limit that was reached.
        after: Duration,
        /// What there was last.
        seen: LastSeen,
        /// What the last request failed with, if it did.
        source: Option<Error>,
    },
    /// The server refused, and would refuse again.
    #[error(transparent)]
    Client(#[from] Error),
}

/// What there was when the wait was over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastSeen {
    /// The server had not said yet.
    Unknown,
    /// There was no such object.
    Absent,
    /// The object in this version.
    Present {
        /// Its `metadata.resourceVersion`.
        resource_version: String,
    },
}

impl std::fmt::Display for LastSeen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("the server did not tell of the object"),
            Self::Absent => f.write_str("there is no such object"),
            Self::Present { resource_version } => write!(f, "the object is at version {resource_version}"),
        }
    }
}

/// The pauses after trouble: from 100 ms, doubling, to 5 s.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// What is known while waiting.
struct Waiting<K> {
    last: Option<K>,
    seen: LastSeen,
    failure: Option<Error>,
    pause: Duration,
}

impl<K, S> Api<K, S>
where
    K: Resource + DeserializeOwned + Send + 'static,
    S: ScopeKind,
{
    /// Waits until `holds` is true of the object called `name`; it is given `None` while there is no such object. Gives
    /// the state that it held of. See [`conditions`](super::conditions) for what is often waited for.
    ///
    /// The object is watched, so nothing is missed and nothing is asked for twice; a lost connection, a server that is busy
    /// or starts anew and a version that is too old are overcome.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_client::{Api, helpers::{WaitError, conditions}};
    /// # async fn example(pods: &Api<Pod>) -> Result<(), WaitError> {
    /// pods.wait_for("web", Duration::from_secs(30), conditions::has_condition("Ready", "True")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; [`WaitError::Client`] if the server refuses to tell of the object.
    pub async fn wait_for(
        &self,
        name: &str,
        timeout: Duration,
        mut holds: impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>, WaitError> {
        let mut waiting = Waiting {
            last: None,
            seen: LastSeen::Unknown,
            failure: None,
            pause: PAUSES.0,
        };
        let follow = self.follow_until(name, &mut holds, &mut waiting);
        match tokio::time::timeout(timeout, follow).await {
            Ok(result) => {
                result?;
                Ok(waiting.last)
            }
            Err(_) => Err(WaitError::TimedOut {
                resource: self.resource().plural.clone(),
                name: name.to_owned(),
                after: timeout,
                seen: waiting.seen,
                source: waiting.failure,
            }),
        }
    }

    /// Reads the object and then follows it, anew whenever the watch ends.
    async fn follow_until(
        &self,
        name: &str,
        holds: &mut impl FnMut(Option<&K>) -> bool,
        waiting: &mut Waiting<K>,
    ) -> Result<(), Error> {
        loop {
            match self.follow_once(name, holds, waiting).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if passes(&error) => waiting.failure = Some(error),
                Err(error) => return Err(error),
            }
            // Also a watch that ends well may end at once, again and again.
            tokio::time::sleep(waiting.pause).await;
            waiting.pause = (waiting.pause * 2).min(PAUSES.1);
        }
    }

    /// One list and one watch; true once it holds.
    async fn follow_once(
        &self,
        name: &str,
        holds: &mut impl FnMut(Option<&K>) -> bool,
        waiting: &mut Waiting<K>,
    ) -> Result<bool, Error> {
        let select = ListOptions {
            field_selector: FieldSelector::equals("metadata.name", name),
            ..ListOptions::default()
        };
        // The watch begins at the version of the list, so nothing is missed in between.
        let list = self.list(&select).await?;
        if waiting.see(list.items.into_iter().next(), holds) {
            return Ok(true);
        }
        let from = ListOptions {
            resource_version: list.metadata.resource_version,
            ..select
        };
        let mut watch = self.watch(&from).await?;
        while let Some(event) = watch.next().await {
            let object = match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
                WatchEvent::Deleted(_) => None,
                _ => continue,
            };
            waiting.pause = PAUSES.0;
            if waiting.see(object, holds) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<K: Resource> Waiting<K> {
    fn see(&mut self, object: Option<K>, holds: &mut impl FnMut(Option<&K>) -> bool) -> bool {
        self.failure = None;
        self.seen = object
            .as_ref()
            .map_or(LastSeen::Absent, |object| LastSeen::Present {
                resource_version: object.metadata().resource_version.clone().unwrap_or_default(),
            });
        self.last = object;
        holds(self.last.as_ref())
    }
}

/// Whether it is worth asking again. A server that knows the caller and refuses, or does not have the resource, will not
/// think otherwise in a moment.
fn passes(error: &Error) -> bool {
    match error.status() {
        Some(status) => status.code >= 500 || error.is_expired() || error.is_too_many_requests(),
        None => !matches!(error.own(), Error::Invalid { .. } | Error::Credentials { .. }),
    }
}
