//! One informer for each resource, namespace and selector, however many ask for it.

use std::fmt;
use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use kubewright_client::View;
use kubewright_core::{ApiResource, FieldSelector, LabelSelector, StaticResource};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::informer::{Family, InformerOptions, Inner, Running, SharedInformer};
use crate::reflector::StreamingSupport;
use crate::source::ListerWatcher;
use crate::stats::{Stats, Totals};

/// Which objects of a resource an informer sees. The default is all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WatchScope {
    /// Those of one namespace; `None` means all, and cluster-scoped objects, as the empty one does.
    pub namespace: Option<String>,
    /// Those whose labels match.
    pub labels: LabelSelector,
    /// Those whose fields match.
    pub fields: FieldSelector,
    /// How much of each object to fetch, unlike [`SharedInformer::view`], which says as what to see it. Default: all of it. With [`View::Metadata`] the store holds
    /// `PartialObjectMetadata`, which only `PartialObject` and `DynamicObject` readers can decode.
    pub view: View,
}

impl WatchScope {
    /// All objects of one namespace, or of all where it is empty (`NamespaceAll` in Go).
    #[must_use]
    pub fn namespace(namespace: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            ..Self::default()
        }
        .without_empty_namespace()
    }

    fn without_empty_namespace(self) -> Self {
        Self {
            namespace: self.namespace.filter(|namespace| !namespace.is_empty()),
            ..self
        }
    }
}

/// Makes the source of an informer. A [`Client`](kubewright_client::Client) is one.
pub trait Sources: Send + Sync + 'static {
    /// A source of the objects of a resource in a scope. Called while an informer is handed out, under the lock of
    /// [`Informers`]: it must neither block nor ask them for anything.
    fn source(&self, resource: &ApiResource, scope: &WatchScope) -> Arc<dyn ListerWatcher>;
}

impl<F> Sources for F
where
    F: Fn(&ApiResource, &WatchScope) -> Arc<dyn ListerWatcher> + Send + Sync + 'static,
{
    fn source(&self, resource: &ApiResource, scope: &WatchScope) -> Arc<dyn ListerWatcher> {
        self(resource, scope)
    }
}

/// Hands out informers, one for each resource and scope: typed, dynamic and metadata readers share its watch and its
/// store. An informer starts when it is first asked for and stops when nobody holds it any more; asking again starts a
/// new one. One that was [stopped](SharedInformer::stop) and is still held by somebody is handed out as it is.
///
/// That a server cannot stream lists of a resource is found out once, not by each informer of it.
pub struct Informers {
    sources: Box<dyn Sources>,
    options: InformerOptions,
    running: Mutex<HashMap<Key, Weak<Inner>>>,
    /// What is known of the server for each resource.
    streaming: Mutex<HashMap<ApiResource, StreamingSupport>>,
    /// How many have not ended yet, those among them that nobody holds any more.
    count: watch::Sender<usize>,
    totals: Totals,
}

/// Selectors are compared as they are written on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    resource: ApiResource,
    namespace: Option<String>,
    labels: String,
    fields: String,
    view: View,
}

impl Informers {
    /// Informers over these sources, all with the same options.
    #[must_use]
    pub fn new(sources: impl Sources, options: InformerOptions) -> Self {
        Self {
            sources: Box::new(sources),
            options,
            running: Mutex::default(),
            streaming: Mutex::default(),
            count: watch::Sender::default(),
            totals: Totals::default(),
        }
    }

    /// The same, of which what those count that are made from now on is added to `totals`, beside that of others who count there.
    #[must_use]
    pub fn counted_in(mut self, totals: &Totals) -> Self {
        self.totals = totals.clone();
        self
    }

    /// The informer of a kind that is known at compile time.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn informer<K: StaticResource>(&self, scope: &WatchScope) -> SharedInformer<K> {
        self.informer_for(&K::api_resource(), scope)
    }

    /// The informer of any resource, seen as a `K`: use `DynamicObject`, or `PartialObject` for metadata.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn informer_for<K>(&self, resource: &ApiResource, scope: &WatchScope) -> SharedInformer<K> {
        let scope = &scope.clone().without_empty_namespace();
        let key = Key {
            resource: resource.clone(),
            namespace: scope.namespace.clone(),
            labels: scope.labels.to_string(),
            fields: scope.fields.to_string(),
            view: scope.view,
        };
        let mut running = self.running.lock();
        if let Some(inner) = running.get(&key).and_then(Weak::upgrade) {
            return SharedInformer::from_inner(inner);
        }
        running.retain(|_, inner| inner.strong_count() > 0);
        let source = self.sources.source(resource, scope);
        let inner = Arc::new(Inner::spawn(
            resource.clone(),
            source,
            self.options.clone(),
            Family {
                running: Some(Running::counted_by(&self.count)),
                streaming: self.streaming.lock().entry(resource.clone()).or_default().clone(),
            },
        ));
        self.totals.add(resource, &inner.core.store.counters);
        running.insert(key, Arc::downgrade(&inner));
        SharedInformer::from_inner(inner)
    }

    /// What each informer has done and what it has, by resource and scope; of two views of the same, the full one first.
    #[must_use]
    pub fn stats(&self) -> Vec<Stats> {
        let running = self.running.lock();
        let mut all: Vec<_> = running
            .iter()
            .filter_map(|(key, inner)| Some((key, inner.upgrade()?)))
            .collect();
        let name = |key: &Key| {
            (
                key.resource.group_version_resource().to_string(),
                key.namespace.clone(),
            )
        };
        // All that keys differ in, so that the order is always the same.
        all.sort_by_cached_key(|(key, _)| {
            let view = key.view != View::Full;
            (name(key), key.labels.clone(), key.fields.clone(), view)
        });
        all.iter().map(|(_, inner)| inner.core.stats()).collect()
    }

    /// How many informers are held, by a handle, a lister or a registration: each runs unless it was
    /// [stopped](SharedInformer::stop). One that nobody holds any more is not counted, though it may not have
    /// [ended](Self::ended) yet.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running
            .lock()
            .values()
            .filter(|inner| inner.strong_count() > 0)
            .count()
    }

    /// Waits until none runs any more: dropping the last holder of an informer tells it to stop, and what it was in the midst of may
    /// go on for a moment. Who ends the server afterwards breaks no watch.
    pub async fn ended(&self) {
        let mut count = self.count.subscribe();
        // The sender lives as long as this value.
        let _ = count.wait_for(|count| *count == 0).await;
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informers")
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}
