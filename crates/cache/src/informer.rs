//! One list and watch for any number of handlers and readers.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
use crate::lifecycle::{Lifecycle, Rested, Stop};
use crate::listener::{EventHandler, Listener};
use crate::lister::Lister;
use crate::peek::MalformedObject;
use crate::record::Record;
use crate::reflector::{LONGEST, Reflector, ReflectorOptions, StreamingSupport, Verb};
use crate::registration::Registration;
use crate::sharding::ShardedSource;
use crate::sharding::merge::Merge;
use crate::snapshot::not_for_index_functions;
use crate::source::{ListerWatcher, SourceError};
use crate::stats::{Counters, Stats};
use crate::store::{Asked, Change, Initial, Store, StoreOptions};

/// How an informer works. Every value is valid.
#[derive(Clone)]
pub struct InformerOptions {
    /// How it lists and watches.
    pub reflector: ReflectorOptions,
    /// How it keeps objects.
    pub store: StoreOptions,
    /// Seed of the random parts of waits and watch times; `None` (the default) takes one from the system.
    pub seed: Option<u64>,
    /// Called with each failure to list or watch, before the informer waits and tries again, on the informer's own task:
    /// it must not block. A panic is contained. Failures are logged and kept in [`Health`] in any case. Default: none.
    pub watch_error_hook: Option<WatchErrorHook>,
    /// In how many ranges of uids the objects are listed and watched, each on a task of its own, at most
    /// [`MAX_SHARDS`]. See [`sharding`](crate::sharding) for when that pays. Default: one.
    pub shards: NonZeroUsize,
}

/// Most ranges of an informer: each is a watch.
pub const MAX_SHARDS: usize = 64;

impl Default for InformerOptions {
    fn default() -> Self {
        Self {
            reflector: ReflectorOptions::default(),
            store: StoreOptions::default(),
            seed: None,
            watch_error_hook: None,
            shards: NonZeroUsize::MIN,
        }
    }
}

/// See [`InformerOptions::watch_error_hook`]. (client-go `tools/cache/shared_informer.go`, `SetWatchErrorHandler`.)
pub type WatchErrorHook = Arc<dyn Fn(&Failure) + Send + Sync>;

impl fmt::Debug for InformerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerOptions")
            .field("reflector", &self.reflector)
            .field("store", &self.store)
            .field("seed", &self.seed)
            .field("watch_error_hook", &self.watch_error_hook.is_some())
            .field("shards", &self.shards)
            .finish()
    }
}

/// How a handler is served. Every value is valid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandlerOptions {
    /// Shows the handler every object again after each such period, without asking the server; at least
    /// [`MIN_RESYNC`], at most a year. Default: never.
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
    /// How often an object could not be read: a new one is passed over, another one stays as it was.
    pub malformed: u64,
    /// How often the server's history was found rewound.
    pub rewound: u64,
    /// It was stopped, or broke, and is as it was then until it is started again.
    pub stopped: bool,
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

/// What an informer shares with others.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// Dropped when the informer has ended.
    pub(crate) running: Option<Running>,
    /// What is known of the server.
    pub(crate) streaming: StreamingSupport,
}

/// The running informer.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) core: Arc<Core>,
    drivers: Vec<AbortHandle>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.drivers.iter().for_each(AbortHandle::abort);
    }
}

impl Inner {
    pub(crate) fn spawn(
        resource: ApiResource,
        source: Arc<dyn ListerWatcher>,
        options: InformerOptions,
        family: Family,
    ) -> Self {
        let running = Arc::new(family.running);
        let (core, drivers) = drivers(resource, source, options, family.streaming);
        let drivers = drivers.into_iter().map(|driver| {
            let running = Arc::clone(&running);
            let task = tokio::spawn(async move {
                let _running = running;
                driver.run().await;
            });
            task.abort_handle()
        });
        let drivers = drivers.collect();
        Self { core, drivers }
    }
}

/// An informer that nothing drives yet: its core, and a driver for each of its ranges.
pub(crate) fn drivers(
    resource: ApiResource,
    source: Arc<dyn ListerWatcher>,
    options: InformerOptions,
    streaming: StreamingSupport,
) -> (Arc<Core>, Vec<Driver>) {
    let shards = options.shards.get().min(MAX_SHARDS);
    let hook = options.watch_error_hook;
    let core = Arc::new(Core::new(resource, options.store, hook, shards));
    let merge = NonZeroUsize::new(shards)
        .filter(|shards| *shards > NonZeroUsize::MIN)
        .map(|shards| Arc::new(Mutex::new(Merge::new(shards))));
    let sources = divided(source, merge.as_deref()).into_iter().enumerate();
    let driver = |(range, source)| {
        let random = options.seed.map_or_else(fastrand::Rng::new, |seed| {
            fastrand::Rng::with_seed(seed.wrapping_add(range as u64))
        });
        let reflector = Reflector::new(options.reflector.clone(), random);
        Driver {
            core: Arc::clone(&core),
            range,
            merge: merge.clone(),
            source,
            request_timeout: options.reflector.request_timeout,
            reflector: reflector.with_streaming(streaming.clone()),
            fifo: DeltaFifo::default(),
            stream: None,
        }
    };
    let drivers = sources.map(driver).collect();
    (core, drivers)
}

/// A source for each range.
fn divided(source: Arc<dyn ListerWatcher>, merge: Option<&Mutex<Merge>>) -> Vec<Arc<dyn ListerWatcher>> {
    let Some(merge) = merge else {
        return vec![source];
    };
    let shard = |selector| {
        let source = Arc::clone(&source);
        Arc::new(ShardedSource::new(source, selector)) as Arc<dyn ListerWatcher>
    };
    merge.lock().selectors().map(shard).collect()
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
    /// Starts an informer of its own on the current tokio runtime. [`Informers`](crate::Informers) shares them. `resource` says what the
    /// source lists: the source is not asked.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn spawn(resource: ApiResource, source: Arc<dyn ListerWatcher>, options: InformerOptions) -> Self {
        Self::from_inner(Arc::new(Inner::spawn(
            resource,
            source,
            options,
            Family::default(),
        )))
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
    /// while no reader is kept waiting, and may read the store; it must not add indices or handlers or ask for statistics: these calls panic
    /// then. The informer has the function as long as it runs, so one that captures a handle of it, such as a [`Lister`], keeps it running for ever.
    ///
    /// Where there is an index of that name, it stays, whatever its function is, and the result is [`Indexed::Existed`].
    pub fn add_index(
        &self,
        name: &str,
        function: impl Fn(&Cached<K>) -> Vec<String> + Send + Sync + 'static,
    ) -> Indexed {
        not_for_index_functions("add indices");
        let function = move |record: &Arc<_>| function(&Cached::in_passing(Arc::clone(record)));
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
        let resync = options.resync.map(|period| period.clamp(MIN_RESYNC, LONGEST));
        Registration::new(&self.inner, handler, resync)
    }

    /// Whether the store has had the whole state of the server at one time.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.inner.core.store.is_populated()
    }

    /// Waits for [`has_synced`](Self::has_synced): for ever where the server refuses, or while the informer is stopped.
    /// [`health`](Self::health) says why, and a timeout how long.
    pub async fn synced(&self) {
        let mut synced = self.inner.core.synced.subscribe();
        // The sender lives as long as this handle.
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// Stops listing and watching, for all who share this informer, until someone [starts](Self::start) it again. The
    /// result waits until no request is under way any more; the informer stops whether it is awaited or not.
    ///
    /// The store stays as it is and can be read, and handlers stay and are told of what the store took in before. More
    /// handlers and indices can be added. An informer that nobody needs any more need not be stopped: dropping its
    /// handles does that.
    pub fn stop(&self) -> impl Future<Output = ()> + Send + 'static {
        self.inner.core.lifecycle.stop()
    }

    /// Starts an informer that was stopped or that broke; one that runs goes on. It goes on watching from the last
    /// version it saw, so handlers are told of what happened meanwhile as if nothing had been, and where the server has
    /// forgotten that version, of the difference.
    pub fn start(&self) {
        self.inner.core.start();
    }

    /// Whether the informer was stopped, or is about to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        !self.inner.core.lifecycle.is_running()
    }

    /// What it has done and what it has.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.core.stats()
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
#[must_use = "an index of the same name may have another function"]
pub enum Indexed {
    /// It was.
    Added,
    /// There was one of that name, which stays.
    Existed,
}

/// Objects that a resync shows while those who tell of changes wait.
const SHOWN_AT_ONCE: usize = 1000;

/// What driver, listeners and readers share.
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
    pub(crate) lifecycle: Lifecycle,
    watch_error_hook: Option<WatchErrorHook>,
    /// The ranges that cannot get past a failure. Held while the failure in the health is changed.
    failing: Mutex<BTreeSet<usize>>,
}

#[derive(Debug, Default)]
struct Listeners {
    next: u64,
    list: Vec<(u64, Arc<Listener>)>,
}

impl Core {
    fn new(
        resource: ApiResource,
        options: StoreOptions,
        watch_error_hook: Option<WatchErrorHook>,
        drivers: usize,
    ) -> Self {
        let store = Store::new(&resource.api_version(), &resource.kind, options);
        Self {
            resource,
            store,
            listeners: Mutex::default(),
            synced: watch::Sender::new(false),
            progress: watch::Sender::new(0),
            health: watch::Sender::default(),
            lifecycle: Lifecycle::new(drivers),
            watch_error_hook,
            failing: Mutex::default(),
        }
    }

    /// Takes a batch of a range in, with what indices said of its objects, and hands out what it changed.
    pub(crate) fn apply(&self, range: usize, batch: Batch, asked: Asked) {
        let listeners = self.listeners.lock();
        let was_populated = self.store.is_populated();
        let changes: Arc<[Change]> = self.store.apply_asked(batch, asked).into();
        let now_populated = !was_populated && self.store.is_populated();
        let now = Instant::now().into_std();
        // A bookmark, or a list in which nothing is new, wakes nobody.
        let has_news = now_populated || !changes.is_empty();
        for (_, listener) in listeners.list.iter().filter(|_| has_news) {
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
        self.recovered(range);
    }

    pub(crate) fn stats(&self) -> Stats {
        not_for_index_functions("ask for statistics");
        let now = Instant::now().into_std();
        let listeners = self.listeners.lock();
        let lag = |(_, listener): &(u64, Arc<Listener>)| listener.queue.lock().lag(now);
        let handlers = listeners.list.iter().map(lag).collect();
        drop(listeners);
        Stats {
            resource: self.resource.clone(),
            synced: self.store.is_populated(),
            version: self.store.version(),
            usage: self.store.usage(),
            counts: self.store.counters.read(),
            silence: self.store.counters.silence(now),
            health: self.health.borrow().clone(),
            handlers,
        }
    }

    /// A range got past what failed.
    pub(crate) fn recovered(&self, range: usize) {
        let mut failing = self.failing.lock();
        failing.remove(&range);
        if failing.is_empty() {
            self.health
                .send_if_modified(|health| health.failure.take().is_some());
        }
    }

    /// The driver broke.
    pub(crate) fn ended(&self, range: usize, why: &str) {
        let resource = self.resource.group_version_resource();
        tracing::error!(%resource, why, "an informer has ended");
        let message = why.to_owned();
        self.failed(range, Verb::Watch, SourceError::Ended { message });
    }

    /// A driver rests.
    pub(crate) fn stopped(&self, why: Stop) -> Rested {
        let rested = self.lifecycle.stopped(why);
        // Asked while the health is held: a start that comes in between has the last word.
        self.health
            .send_modify(|health| health.stopped = !self.lifecycle.is_running());
        rested
    }

    pub(crate) fn start(&self) {
        // Held until drivers run: what they report from then on is not forgotten.
        let mut failing = self.failing.lock();
        if self.lifecycle.is_running() {
            return;
        }
        failing.clear();
        // What failed is tried anew.
        self.health.send_modify(|health| health.failure = None);
        self.lifecycle.start();
        self.health
            .send_modify(|health| health.stopped = !self.lifecycle.is_running());
    }

    pub(crate) fn listen(&self) -> (u64, Arc<Listener>) {
        not_for_index_functions("add handlers");
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
        self.show_again(listener, || self.store.list());
    }

    /// While it is listed and shown, neither the store nor other listeners wait, so changes come in between. What is
    /// shown must be what the listener was told last. The queue therefore notes what it is given from before the list on,
    /// and passes that over. A change that the list saw is given to the queue before anything is shown: both happen under
    /// the lock that is waited for in between.
    pub(crate) fn show_again(&self, listener: &Listener, list: impl FnOnce() -> Vec<Arc<Record>>) {
        let _one_at_a_time = listener.resync.lock();
        listener.queue.lock().begin_resync();
        let records = list();
        drop(self.listeners.lock());
        for some in records.chunks(SHOWN_AT_ONCE) {
            listener.queue.lock().resync(some);
        }
        listener.queue.lock().end_resync();
    }

    pub(crate) fn report(&self, range: usize, verb: Verb, error: SourceError) {
        let resource = self.resource.group_version_resource();
        tracing::warn!(%resource, verb = verb.as_str(), %error, "an informer cannot go on and tries again");
        self.failed(range, verb, error);
    }

    fn failed(&self, range: usize, verb: Verb, error: SourceError) {
        let mut failure = Failure {
            resource: self.resource.clone(),
            verb,
            error,
            count: 0,
        };
        let mut failing = self.failing.lock();
        failing.insert(range);
        self.health.send_modify(|health| {
            // Counted here, so that two ranges that fail at once count as two.
            let before = health.failure.as_ref().map_or(0, |failure| failure.count);
            failure.count = before + 1;
            health.failure = Some(failure.clone());
        });
        drop(failing);
        if let Some(hook) = &self.watch_error_hook
            && catch_unwind(AssertUnwindSafe(|| hook(&failure))).is_err()
        {
            let resource = self.resource.group_version_resource();
            tracing::error!(%resource, "a watch-error hook panicked");
        }
    }

    pub(crate) fn rewound(&self) {
        let resource = self.resource.group_version_resource();
        tracing::warn!(%resource, "resource versions went backwards: the server's data was restored or replaced");
        Counters::count(&self.store.counters.rewound);
        self.health.send_modify(|health| health.rewound += 1);
    }

    pub(crate) fn malformed(&self, error: &MalformedObject) {
        let resource = self.resource.group_version_resource();
        tracing::warn!(%resource, %error, "an object cannot be read: if it is known, it stays as it was");
        Counters::count(&self.store.counters.malformed);
        self.health.send_modify(|health| health.malformed += 1);
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("resource", &self.resource)
            .field("store", &self.store)
            .field("health", &*self.health.borrow())
            .finish_non_exhaustive()
    }
}
