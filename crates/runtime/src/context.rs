//! What a reconciler works with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use kubewright_cache::SharedInformer;
use kubewright_client::{Api, Client};
use kubewright_core::{ApiResource, DynamicObject, Namespaced, Resource, StaticResource};

use crate::barrier::Barrier;
use crate::events::EventRecorder;
use crate::lister::ConsistentLister;

/// What a reconciler works with: a client to write with, listers of what its controller follows, and an event recorder.
///
/// Cheap to clone.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    controller: String,
    client: Client,
    events: EventRecorder,
    followed: HashMap<ApiResource, Followed>,
    read_limit: Duration,
}

/// A resource that the controller follows.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) informer: SharedInformer<DynamicObject>,
    pub(crate) barrier: Arc<Barrier>,
}

/// A controller wants to read a kind from the cache that it does not follow.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "controller {controller} does not follow {resource}: give it for_, owns, watches or reads of that kind"
)]
#[non_exhaustive]
pub struct NotWatched {
    /// The controller.
    pub controller: String,
    /// What it wants to read.
    pub resource: String,
}

impl Context {
    pub(crate) fn new(
        controller: &str,
        client: Client,
        events: EventRecorder,
        followed: HashMap<ApiResource, Followed>,
        read_limit: Duration,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                controller: controller.to_owned(),
                client,
                events,
                followed,
                read_limit,
            }),
        }
    }

    /// The controller's name.
    #[must_use]
    pub fn controller(&self) -> &str {
        &self.inner.controller
    }

    /// The client. It asks the server; reads of what is written through it, by [listers](Self::lister), see the writes.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Objects of a kind in a namespace, on the server.
    #[must_use]
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: StaticResource + Resource<Scope = Namespaced>,
    {
        Api::namespaced(&self.inner.client, namespace)
    }

    /// Reads a kind from the cache, of those that the controller follows: with the scope that it follows it with, and with
    /// the first one if there are several.
    ///
    /// # Errors
    ///
    /// When the controller does not follow the kind.
    pub fn lister<K: StaticResource + 'static>(&self) -> Result<ConsistentLister<K>, NotWatched> {
        self.lister_of(&K::api_resource())
    }

    /// As [`lister`](Self::lister), of a resource that is known at run time.
    ///
    /// # Errors
    ///
    /// As [`lister`](Self::lister).
    pub fn lister_of<K: 'static>(&self, resource: &ApiResource) -> Result<ConsistentLister<K>, NotWatched> {
        let inner = &self.inner;
        let followed = inner.followed.get(resource).ok_or_else(|| NotWatched {
            controller: inner.controller.clone(),
            resource: resource.group_version_resource().to_string(),
        })?;
        Ok(ConsistentLister::new(
            Arc::new(resource.clone()),
            followed.informer.view::<K>().lister(),
            Arc::clone(&followed.barrier),
            inner.read_limit,
        ))
    }

    /// Records events about objects, under the controller's name.
    #[must_use]
    pub fn events(&self) -> &EventRecorder {
        &self.inner.events
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("controller", &self.inner.controller)
            .finish_non_exhaustive()
    }
}
