//! One list and watch for any number of handlers and readers.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use kubewright_core::ApiResource;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::cached::Cached;
use crate::delta_fifo::{Batch, DeltaFifo};
use crate::driver::Driver;
use crate::listener::{EventHandler, Listener};
use crate::lister::Lister;
use crate::peek::MalformedObject;
use crate::reflector::{Reflector, ReflectorOptions, Verb};
use crate::registration::Registration;
use crate::source::{ListerWatcher, SourceError};
use crate::store::{Change, Initial, Store, StoreOptions};

/// How an informer works. Every value is valid.
#[derive(Debug, Clone, Default)]
pub struct InformerOptions {
    /// How it lists and watches.
    pub reflector: ReflectorOptions,
    /// How it keeps objects.
    pub store: StoreOptions,
    /// Seed of the random parts of waits and watch times; `None` (the default) takes one from the system.
    pub seed: Option<u64>,
}

/// How a handler is served. Every value is valid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandlerOptions {
    /// Shows the handler every object again after each such period, without asking the server; at least
    /// [`MIN_RESYNC`]. Default: never.
    pub resync: Option<Duration>,
}

/// The shortest period of a resync.
pub const MIN_RESYNC: Duration = Duration::from_secs(1);

/// How an informer fares.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Health {
    /// The failure that it cannot get past at present.
    pub failure: Option<Failure>,
    /// Objects that were skipped because they have no name or version.
    pub malformed: u64,
    /// How often the server's history was found rewound.
    pub rewound: u64,
}

/// What keeps an informer from being up to date.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Failure {
    /// What it lists or watches.
    pub resource: ApiResource,
    /// What fails.
    pub verb: Verb,
    /// The newest failure.
    pub error: SourceError,
    /// Failures since the last success.
    pub count: u64,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = self.resource.group_version_resource();
        write!(
            f,
            "cannot {} {resource}: {} (failure {} in a row)",
            self.verb.as_str(),
            self.error,
            self.count
        )
    }
}

/// Lists and watches one resource and tells handlers and readers what it finds, seen as `K`.
///
/// A handle: clones, [`Lister`]s and [`Registration`]s share one informer, which stops when the last of them is
/// dropped.
pub struct SharedInformer<K> {
    inner: Arc<Inner>,
    kind: PhantomData<fn() -> K>,
}

/// One of the informers that are counted as long as they run.
#[derive(Debug)]
pub(crate) struct Running(watch::Sender<usize>);

impl Running {
    pub(crate) fn counted_by(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The running informer.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) core: Arc<Core>,
    driver: AbortHandle,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Inner {
    /// `running` is dropped when the informer has ended.
    pub(crate) fn spawn(
        resource: ApiResource,
        source: Arc<dyn ListerWatcher>,
        options: InformerOptions,
        running: Option<Running>,
    ) -> Self {
        let random = options
            .seed
            .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let core = Arc::new(Core::new(resource, options.store));
        let driver = Driver {
            core: Arc::clone(&core),
            source,
            request_timeout: options.reflector.request_timeout,
            reflector: Reflector::new(options.reflector, random),
            fifo: DeltaFifo::default(),
            stream: None,
        };
        let task = tokio::spawn(async move {
            let _running = running;
            driver.run().await;
        });
        let driver = task.abort_handle();
        // Whoever waits for an informer that broke learns it from its health.
        let watched = Arc::downgrade(&core);
        tokio::spawn(async move {
            let ended = task.await;
            if let (Err(error), Some(core)) = (ended, watched.upgrade())
                && !error.is_cancelled()
            {
                core.ended(&error.to_string());
            }
        });
        Self { core, driver }
    }
}

impl<K> SharedInformer<K> {
    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        Self {
            inner,
            kind: PhantomData,
        }
    }

    /// The same informer seen as another type: typed, dynamic or metadata alone.
    #[must_use]
    pub fn view<J>(&self) -> SharedInformer<J> {
        SharedInformer::from_inner(Arc::clone(&self.inner))
    }
}

impl<K: 'static> SharedInformer<K> {
    /// Starts an informer of its own on the current tokio runtime. [`Informers`](crate::Informers) shares them.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn spawn(resource: ApiResource, source: Arc<dyn ListerWatcher>, options: InformerOptions) -> Self {
        Self::from_inner(Arc::new(Inner::spawn(resource, source, options, None)))
    }

    /// What is listed and watched.
    #[must_use]
    pub fn resource(&self) -> &ApiResource {
        &self.inner.core.resource
    }

    /// A reader of the store.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(Arc::clone(&self.inner))
    }

    /// Adds an index, at any time. The function gives the values under which an object is found; it must give the same
    /// for the same object. If it panics, the object is not found by this index, and the log says so. It is called
    /// while no reader is kept waiting, and may read the store; it must not add indices. Returns
    /// [`Indexed::Existed`], and changes nothing, when there is an index of that name.
    pub fn add_index(
        &self,
        name: &str,
        function: impl Fn(&Cached<K>) -> Vec<String> + Send + Sync + 'static,
    ) -> Indexed {
        let function = move |record: &Arc<_>| function(&Cached::new(Arc::clone(record)));
        match self.inner.core.store.add_index(name, Arc::new(function)) {
            true => Indexed::Added,
            false => Indexed::Existed,
        }
    }

    /// Adds a handler, at any time: first it is told of every object that is there, as an addition, then of changes. It
    /// is told on a task of its own, until the registration is dropped.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn add_handler(&self, handler: impl EventHandler<K>, options: HandlerOptions) -> Registration {
        let resync = options.resync.map(|period| period.max(MIN_RESYNC));
        Registration::new(&self.inner, handler, resync)
    }

    /// Whether the store has had the whole state of the server at one time.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.inner.core.store.is_populated()
    }

    /// Waits for [`has_synced`](Self::has_synced).
    pub async fn synced(&self) {
        let mut synced = self.inner.core.synced.subscribe();
        // The sender lives as long as this handle.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// How the informer fares, and changes to that.
    #[must_use]
    pub fn health(&self) -> watch::Receiver<Health> {
        self.inner.core.health.subscribe()
    }
}

impl<K> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self::from_inner(Arc::clone(&self.inner))
    }
}

impl<K> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = &self.inner.core;
        let resource = core.resource.group_version_resource();
        f.debug_struct("SharedInformer")
            .field("resource", &resource)
            .field("store", &core.store)
            .finish()
    }
}

/// Whether an index was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexed {
    /// It was.
    Added,
    /// There was one of that name, which stays.
    Existed,
}

/// What driver, listeners and readers share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) resource: ApiResource,
    pub(crate) store: Store,
    /// Held while a batch is applied and handed out, so that a new listener sees each change exactly once: in what it
    /// starts with or afterwards.
    listeners: Mutex<Listeners>,
    synced: watch::Sender<bool>,
    /// Counts batches, for those who wait for a state of the store.
    pub(crate) progress: watch::Sender<u64>,
    health: watch::Sender<Health>,
}

#[derive(Debug, Default)]
struct Listeners {
    next: u64,
    list: Vec<(u64, Arc<Listener>)>,
}

impl Core {
    pub(crate) fn new(resource: ApiResource, options: StoreOptions) -> Self {
        let store = Store::new(&resource.api_version(), &resource.kind, options);
        Self {
            resource,
            store,
            listeners: Mutex::default(),
            synced: watch::Sender::new(false),
            progress: watch::Sender::new(0),
            health: watch::Sender::default(),
        }
    }

    /// Takes a batch in and hands out what it changed.
    pub(crate) fn apply(&self, batch: Batch) {
        let listeners = self.listeners.lock();
        let was_populated = self.store.is_populated();
        let changes = Arc::from(self.store.apply(batch));
        let now_populated = !was_populated && self.store.is_populated();
        let now = Instant::now().into_std();
        for (_, listener) in &listeners.list {
            let mut queue = listener.queue.lock();
            queue.push(&changes, now);
            if now_populated {
                queue.mark_synced();
            }
            drop(queue);
            listener.wake.notify_one();
        }
        drop(listeners);
        if now_populated {
            self.synced.send_replace(true);
        }
        self.progress.send_modify(|batches| *batches += 1);
        self.recovered();
    }

    /// The informer got past what failed.
    pub(crate) fn recovered(&self) {
        self.health
            .send_if_modified(|health| health.failure.take().is_some());
    }

    /// The driver is gone for good.
    fn ended(&self, why: &str) {
        let resource = self.resource.group_version_resource();
        tracing::error!(%resource, why, "an informer has ended");
        self.health.send_modify(|health| {
            health.failure = Some(Failure {
                resource: self.resource.clone(),
                verb: Verb::Watch,
                error: SourceError::Ended {
                    message: why.to_owned(),
                },
                count: 1,
            });
        });
    }

    pub(crate) fn listen(&self) -> (u64, Arc<Listener>) {
        let listener = Arc::new(Listener::new());
        let mut listeners = self.listeners.lock();
        let mut queue = listener.queue.lock();
        let added = |new| Change::Added {
            new,
            initial: Initial::Yes,
        };
        let present: Arc<[Change]> = self.store.list().into_iter().map(added).collect();
        queue.push(&present, Instant::now().into_std());
        if self.store.is_populated() {
            queue.mark_synced();
        }
        drop(queue);
        let id = listeners.next;
        listeners.next += 1;
        listeners.list.push((id, Arc::clone(&listener)));
        (id, listener)
    }

    pub(crate) fn leave(&self, id: u64) {
        self.listeners.lock().list.retain(|(other, _)| *other != id);
    }

    /// Shows one listener everything again.
    pub(crate) fn resync(&self, listener: &Listener) {
        let _no_change_meanwhile = self.listeners.lock();
        listener.queue.lock().resync(self.store.list());
    }

    pub(crate) fn report(&self, verb: Verb, error: SourceError) {
        let resource = self.resource.group_version_resource();
        tracing::warn!(%resource, verb = verb.as_str(), %error, "an informer cannot go on and tries again");
        self.health.send_modify(|health| {
            let count = health.failure.as_ref().map_or(0, |failure| failure.count) + 1;
            health.failure = Some(Failure {
                resource: self.resource.clone(),
                verb,
                error,
                count,
            });
        });
    }

    pub(crate) fn rewound(&self) {
        let resource = self.resource.group_version_resource();
        tracing::warn!(%resource, "resource versions went backwards: the server's data was restored or replaced");
        self.health.send_modify(|health| health.rewound += 1);
    }

    pub(crate) fn malformed(&self, error: &MalformedObject) {
        let resource = self.resource.group_version_resource();
        tracing::warn!(%resource, %error, "an object is skipped");
        self.health.send_modify(|health| health.malformed += 1);
    }
}
