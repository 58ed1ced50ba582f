//! The manager: starts and stops everything in order.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hashbrown::HashMap;
use kubewright_cache::sharding::Shard;
use kubewright_cache::{InformerOptions, Informers};
use kubewright_client::{Client, MetricsLayer};
use kubewright_queue::{Settings, ShutDown};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::context::Context;
use crate::controller::Controller;
use crate::error::{RunError, SyncFailure};
use crate::events::recorder;
use crate::metrics::{Metrics, Running, Scraped};
use crate::operator::{Operator, RunnableContext};
use crate::running::RunningController;
use crate::stop::Stop;
use crate::worker::{Counts, Worker};
use crate::writes::Writes;

/// How a manager works. Every value is valid.
#[derive(Clone)]
pub struct ManagerOptions {
    /// How long caches may take to have the state of the server. Default: 2 minutes.
    pub sync_timeout: Duration,
    /// How long running work may take to end. Default: 30 s.
    pub grace: Duration,
    /// How long a read may wait for the cache to see an earlier write. Default: 10 s.
    pub read_limit: Duration,
    /// How informers work. Default: theirs.
    pub informers: InformerOptions,
    /// How work queues work. Default: theirs.
    pub queue: Settings,
    /// Which process reports, in events. Default: the operator's name.
    pub instance: Option<String>,
    /// The client of a controller or runnable by its name, for those that act under an identity of their own. Default: the
    /// manager's.
    pub client_for: Option<ClientFor>,
    /// Where queues, reconcilers, informers and requests are measured. The manager's clients report to it, those of `client_for`
    /// among them, and need not do so themselves. Default: nowhere.
    pub metrics: Option<Metrics>,
    /// Told of what happens in the work queue of a controller by its name, besides `metrics`. Default: none.
    pub queue_metrics: Option<QueueMetrics>,
    /// This replica's place among several that share out the keys of all controllers. Each reconciles the keys that are
    /// its own, and those that come over from others, and a reconciliation that is cut off from the ring is dropped; no key
    /// is with two replicas at a time. Caches and runnables are the same in each replica. Default: none, and all keys are
    /// reconciled here.
    ///
    /// A handover is to a key what a restart is: a deletion that falls into it may go unseen, so what must be done then is
    /// done with a [finalizer](crate::Finalizer); and the cache of who takes over may be some moments behind what the other
    /// wrote. The manager does not leave the ring: when it has stopped, [`Shard::leave`] hands everything over at once.
    /// The rights to the leases are for the operator to [name](Operator::right).
    pub shard: Option<Shard>,
}

/// Gives a controller, by its name, its own client.
pub type ClientFor = Arc<dyn Fn(&str) -> Client + Send + Sync>;

/// Gives a controller, by its name, the metrics of its queue.
pub type QueueMetrics = Arc<dyn Fn(&str) -> Arc<dyn kubewright_queue::Metrics> + Send + Sync>;

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            sync_timeout: Duration::from_secs(120),
            grace: Duration::from_secs(30),
            read_limit: Duration::from_secs(10),
            informers: InformerOptions::default(),
            queue: Settings::default(),
            instance: None,
            client_for: None,
            metrics: None,
            queue_metrics: None,
            shard: None,
        }
    }
}

impl fmt::Debug for ManagerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerOptions")
            .field("sync_timeout", &self.sync_timeout)
            .field("grace", &self.grace)
            .field("read_limit", &self.read_limit)
            .finish_non_exhaustive()
    }
}

/// Runs an operator against a cluster.
///
/// Start: caches first, then controllers and runnables. Stop: no new work is taken and runnables are told; what runs may
/// finish within a grace period; then the caches end.
#[derive(Debug)]
pub struct Manager {
    client: Client,
    operator: Operator,
    options: ManagerOptions,
}

impl Manager {
    /// A manager that does not run yet.
    #[must_use]
    pub fn new(client: &Client, operator: &Operator, options: ManagerOptions) -> Self {
        Self {
            client: client.clone(),
            operator: operator.clone(),
            options,
        }
    }

    /// Runs until `cancel` is ready, then stops in order.
    ///
    /// # Errors
    ///
    /// Caches that do not sync in time, runnables that fail, work that does not end within the grace period, and two
    /// controllers of one name. Whatever the error, everything has stopped.
    pub async fn run(self, cancel: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut handle = self.start();
        tokio::select! {
            result = handle.join() => return result,
            () = cancel => {}
        }
        handle.stop().await
    }

    /// Starts on the current tokio runtime.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn start(self) -> Handle {
        let stop = Stop::new();
        let shared = Arc::new(Shared {
            phase: watch::Sender::new(Phase::Starting),
            running: parking_lot::Mutex::default(),
        });
        let run = Run {
            manager: self,
            stop: stop.clone(),
            shared: Arc::clone(&shared),
        };
        let task = tokio::spawn(async move {
            let shared = Arc::clone(&run.shared);
            let result = run.run().await;
            shared.phase.send_replace(Phase::Stopped);
            result
        });
        Handle {
            stop,
            shared,
            task: Some(task),
        }
    }
}

/// A running manager. Dropping it asks the manager to stop, without waiting for it.
#[derive(Debug)]
pub struct Handle {
    stop: Stop,
    shared: Arc<Shared>,
    /// `None` once its result was handed out.
    task: Option<JoinHandle<Result<(), RunError>>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop.request();
    }
}

impl Handle {
    /// Waits until controllers work.
    ///
    /// # Errors
    ///
    /// As [`Manager::run`], if the manager ended before.
    pub async fn ready(mut self) -> Result<Self, RunError> {
        let mut phase = self.shared.phase.subscribe();
        // The sender lives as long as this handle.
        let phase = phase.wait_for(|phase| *phase != Phase::Starting).await;
        let has_stopped = phase.is_ok_and(|phase| *phase == Phase::Stopped);
        if has_stopped {
            self.join().await?;
        }
        Ok(self)
    }

    /// Stops in order and waits for it.
    ///
    /// # Errors
    ///
    /// As [`Manager::run`].
    pub async fn stop(mut self) -> Result<(), RunError> {
        self.stop.request();
        self.join().await
    }

    /// Waits for the manager to end by itself: when a cache or a runnable fails, or another has asked it to stop.
    ///
    /// # Errors
    ///
    /// As [`Manager::run`].
    pub async fn wait(mut self) -> Result<(), RunError> {
        self.join().await
    }

    /// Cancel safe: the result is not lost when the wait is.
    async fn join(&mut self) -> Result<(), RunError> {
        let Some(task) = &mut self.task else { return Ok(()) };
        let result = task.await;
        self.task = None;
        finished(result)
    }

    /// What asks the manager to stop, for others to hold.
    #[must_use]
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// How the manager fares at present.
    #[must_use]
    pub fn health(&self) -> Health {
        let running = self.shared.running.lock();
        Health {
            ready: *self.shared.phase.borrow() == Phase::Ready,
            controllers: running
                .iter()
                .map(|controller| (controller.name.clone(), controller.counters.read()))
                .collect(),
            failures: running.iter().flat_map(RunningController::failures).collect(),
        }
    }
}

fn finished(result: Result<Result<(), RunError>, tokio::task::JoinError>) -> Result<(), RunError> {
    match result {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is being shut down, and everything with it.
        Err(_) => Ok(()),
    }
}

/// How a manager fares.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Health {
    /// Whether controllers work: caches have synced, and nothing has asked to stop.
    pub ready: bool,
    /// What the reconcilers have done, by controller.
    pub controllers: Vec<(String, Counts)>,
    /// What caches cannot get past at present, also after they have synced once.
    pub failures: Vec<SyncFailure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Ready,
    Stopping,
    Stopped,
}

#[derive(Debug)]
struct Shared {
    phase: watch::Sender<Phase>,
    running: parking_lot::Mutex<Vec<Arc<RunningController>>>,
}

/// One run of a manager, from start to stop.
struct Run {
    manager: Manager,
    stop: Stop,
    shared: Arc<Shared>,
}

/// What a task of the manager ended with; its name is found by the task's id.
type Ended = Result<(), Box<dyn std::error::Error + Send + Sync>>;

impl Run {
    async fn run(self) -> Result<(), RunError> {
        self.check_names()?;
        let writes = Writes::default();
        let measured = self.measured(&self.manager.client);
        let client = writes.follow(&measured);
        let mut informers = Informers::new(measured, self.manager.options.informers.clone());
        if let Some(metrics) = &self.manager.options.metrics {
            informers = informers.counted_in(&metrics.informers(self.manager.operator.name()));
        }
        let instance = self.manager.options.instance.as_deref();
        let (events, writer) = recorder(&client, instance.unwrap_or_else(|| self.manager.operator.name()));
        let mut events_task = tokio::spawn(writer.run());
        let env = RunnableContext {
            client,
            informers: Arc::new(informers),
            events,
            stop: self.stop.clone(),
        };
        let controllers: Vec<_> = self
            .manager
            .operator
            .controllers
            .iter()
            .map(|controller| {
                Arc::new(RunningController::attach(
                    controller,
                    &self.manager.options,
                    &env,
                    &writes,
                ))
            })
            .collect();
        self.shared.running.lock().clone_from(&controllers);
        let informers = Arc::clone(&env.informers);
        let scraped = self.scraped(&controllers, &informers);
        let result = self.work(&controllers, &env, &writes).await;
        drop(scraped);
        drop(env);
        self.shared.running.lock().clear();
        drop(controllers);
        if tokio::time::timeout(INFORMERS_GRACE, informers.ended())
            .await
            .is_err()
        {
            tracing::debug!("some informers of the manager are held by others and go on");
        }
        // All recorders are gone: what they left is written, within the time that is left.
        let left = tokio::time::timeout(EVENTS_GRACE, &mut events_task).await;
        if left.is_err() {
            // Nothing of a manager outlives it.
            events_task.abort();
            let _ = events_task.await;
            tracing::debug!("some events were not recorded before the end");
        }
        result
    }

    /// From the sync of caches to the end of the last worker.
    async fn work(
        &self,
        controllers: &[Arc<RunningController>],
        env: &RunnableContext,
        writes: &Writes,
    ) -> Result<(), RunError> {
        let synced = join_all(controllers.iter().map(|controller| controller.synced()));
        let timeout = self.manager.options.sync_timeout;
        let synced = tokio::select! {
            () = self.stop.requested() => return Ok(()),
            synced = tokio::time::timeout(timeout, synced) => synced,
        };
        if synced.is_err() {
            let failures = controllers.iter().flat_map(|c| c.unsynced()).collect();
            return Err(RunError::CacheSync { timeout, failures });
        }
        let mut tasks = Tasks::default();
        for (controller, running) in self.manager.operator.controllers.iter().zip(controllers) {
            let worker = self.worker(controller, running, env, writes);
            if running.share.is_some() {
                let (running, stop) = (Arc::clone(running), self.stop.clone());
                tasks.spawn(&controller.name, async move {
                    tokio::select! {
                        () = stop.requested() => {}
                        () = running.take_over() => {}
                    }
                    Ok(())
                });
            }
            for _ in 0..controller.concurrency {
                let work = worker.clone().run();
                tasks.spawn(&controller.name, async move {
                    work.await;
                    Ok(())
                });
            }
        }
        for runnable in &self.manager.operator.runnables {
            let env = RunnableContext {
                client: self.client_for(&runnable.name, env, writes),
                events: env.events.named(&runnable.name),
                ..env.clone()
            };
            tasks.spawn(&runnable.name, (runnable.run)(env));
        }
        self.shared.phase.send_replace(Phase::Ready);
        let failed = tokio::select! {
            () = self.stop.requested() => None,
            error = tasks.first_error() => Some(error),
        };
        self.stop.request();
        self.shared.phase.send_replace(Phase::Stopping);
        for controller in controllers {
            controller.queue.shut_down_with(ShutDown::Now);
        }
        let stopped = tasks.finish(self.manager.options.grace).await;
        failed.map_or(stopped, Err)
    }

    fn worker(
        &self,
        controller: &Controller,
        running: &RunningController,
        env: &RunnableContext,
        writes: &Writes,
    ) -> Worker {
        let mut followed = HashMap::new();
        for source in &running.sources {
            followed
                .entry(source.followed.informer.resource().clone())
                .or_insert_with(|| source.followed.clone());
        }
        Worker {
            queue: running.queue.clone(),
            reconciler: Arc::clone(&controller.reconciler),
            ctx: Context::new(
                &controller.name,
                self.client_for(&controller.name, env, writes),
                env.events.named(&controller.name),
                followed,
                self.manager.options.read_limit,
            ),
            timeout: controller.timeout,
            counters: Arc::clone(&running.counters),
            figures: running.figures.clone(),
            share: running.share.clone(),
        }
    }

    fn client_for(&self, name: &str, env: &RunnableContext, writes: &Writes) -> Client {
        match &self.manager.options.client_for {
            Some(client_for) => writes.follow(&self.measured(&client_for(name))),
            None => env.client.clone(),
        }
    }

    /// The client, with its requests counted if anybody wants to know.
    fn measured(&self, client: &Client) -> Client {
        match &self.manager.options.metrics {
            Some(metrics) => client.layer(&MetricsLayer::new(Arc::new(metrics.clone()))),
            None => client.clone(),
        }
    }

    /// What is read with each scrape, as long as it is held.
    fn scraped(&self, controllers: &[Arc<RunningController>], informers: &Arc<Informers>) -> Option<Scraped> {
        let metrics = self.manager.options.metrics.as_ref()?;
        Some(metrics.follow(Running {
            operator: self.manager.operator.name().to_owned(),
            controllers: controllers.to_vec(),
            informers: Arc::clone(informers),
        }))
    }

    fn check_names(&self) -> Result<(), RunError> {
        let operator = &self.manager.operator;
        let controllers = operator.controllers.iter().map(|controller| &controller.name);
        let runnables = operator.runnables.iter().map(|runnable| &runnable.name);
        let mut seen = BTreeSet::new();
        for name in controllers.chain(runnables) {
            if !seen.insert(name) {
                return Err(RunError::DuplicateName { name: name.clone() });
            }
        }
        Ok(())
    }
}

/// The tasks of workers and runnables, with their names.
#[derive(Default)]
struct Tasks {
    set: JoinSet<Ended>,
    names: HashMap<tokio::task::Id, String>,
}

impl Tasks {
    fn spawn(&mut self, name: &str, work: impl Future<Output = Ended> + Send + 'static) {
        let task = self.set.spawn(work);
        self.names.insert(task.id(), name.to_owned());
    }

    /// Waits for a task to fail; for ever if none does.
    async fn first_error(&mut self) -> RunError {
        loop {
            match self.next().await {
                Some(Err(error)) => return error,
                Some(Ok(())) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Waits for all to end, and cuts off what does not.
    async fn finish(&mut self, grace: Duration) -> Result<(), RunError> {
        let mut first = Ok(());
        let all = async {
            while let Some(result) = self.next().await {
                first = std::mem::replace(&mut first, Ok(())).and(result);
            }
        };
        if tokio::time::timeout(grace, all).await.is_ok() {
            return first;
        }
        self.set.abort_all();
        let unfinished: BTreeSet<_> = self.names.drain().map(|(_, name)| name).collect();
        while self.set.join_next().await.is_some() {}
        Err(RunError::Grace {
            grace,
            unfinished: unfinished.into_iter().collect(),
        })
    }

    /// The end of one task; `None` when there are no more.
    async fn next(&mut self) -> Option<Result<(), RunError>> {
        let (id, result) = match self.set.join_next_with_id().await? {
            Ok((id, result)) => (id, Some(result)),
            Err(error) => (error.id(), None),
        };
        let name = self.names.remove(&id).unwrap_or_default();
        Some(match result {
            Some(Ok(())) => Ok(()),
            Some(Err(source)) => Err(RunError::Runnable { name, source }),
            None => Err(RunError::RunnablePanicked { name }),
        })
    }
}

/// How long the informers may take to end, which they do at once unless somebody else holds one.
const INFORMERS_GRACE: Duration = Duration::from_secs(1);
/// How long the last events may take to be written.
const EVENTS_GRACE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures_util::{StreamExt as _, stream};
    use http::Response;
    use k8s_openapi::api::core::v1::Pod;
    use kubewright_client::{ClientOptions, RateLimit};
    use kubewright_net::{Body, HttpService};

    use super::*;
    use crate::events::Note;

    /// Requests that are under way.
    struct UnderWay(watch::Sender<usize>);

    impl Drop for UnderWay {
        fn drop(&mut self) {
            self.0.send_modify(|count| *count -= 1);
        }
    }

    /// Who ends the server when the manager has ended must not break a watch of it.
    #[tokio::test]
    async fn no_watch_outlives_the_manager() {
        let watches = watch::Sender::new(0);
        let sender = watches.clone();
        let empty = HttpService::from_fn(move |request| {
            let watch = request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch="))
                .then(|| {
                    sender.send_modify(|count| *count += 1);
                    UnderWay(sender.clone())
                });
            async move {
                let Some(watch) = watch else {
                    let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;
                    return Ok(Response::new(Body::from(list)));
                };
                let synced = concat!(
                    r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","#,
                    r#""annotations":{"k8s.io/initial-events-end":"true"}}}}"#
                );
                let synced = stream::iter([Ok(Bytes::from_static(synced.as_bytes()))]);
                let for_ever = stream::once(async move {
                    let _watch = watch;
                    std::future::pending().await
                });
                Ok(Response::new(Body::stream(synced.chain(for_ever))))
            }
        });
        let nothing = crate::reconcile_fn(|_, _| async { Ok::<_, crate::Error>(crate::Outcome::done()) });
        let operator = Operator::new("op").controller(Controller::new("pods", nothing).for_::<Pod>());
        let client = Client::from_service(empty, "default");
        let handle = Manager::new(&client, &operator, ManagerOptions::default()).start();
        let handle = handle.ready().await.unwrap();
        assert_eq!(*watches.borrow(), 1);
        handle.stop().await.unwrap();
        assert_eq!(*watches.borrow(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn events_that_cannot_be_written_end_with_the_manager() {
        let under_way = watch::Sender::new(0);
        let sender = under_way.clone();
        let silent = HttpService::from_fn(move |_| {
            sender.send_modify(|count| *count += 1);
            let request = UnderWay(sender.clone());
            async move {
                let _request = request;
                std::future::pending().await
            }
        });
        let operator = Operator::new("op").runnable("teller", |ctx| async move {
            ctx.events()
                .publish(&Pod::default(), Note::normal("Told", "Tell", "a tale"));
            Ok::<_, Infallible>(())
        });
        let client = Client::from_service(silent, "default");
        let handle = Manager::new(&client, &operator, ManagerOptions::default()).start();
        under_way.subscribe().wait_for(|count| *count == 1).await.unwrap();
        handle.stop().await.unwrap();
        assert_eq!(*under_way.borrow(), 0);
    }

    /// Whoever gives a manager a client with a limit has not given that any metrics.
    #[tokio::test(start_paused = true)]
    async fn waits_for_the_rate_limit_are_observed() {
        let server = HttpService::from_fn(|_| async { Ok(Response::new(Body::empty())) });
        let client = Client::from_service(server, "default");
        let limited = client.with_client_options(ClientOptions {
            rate_limit: Some(RateLimit {
                per_second: 1.0,
                burst: 1,
            }),
            ..client.options().clone()
        });
        let operator = Operator::new("op").runnable("asks", |ctx| async move {
            for _ in 0..3 {
                let request = http::Request::get("/version").body(Vec::new()).unwrap();
                ctx.client().request(request).await?;
            }
            ctx.stop().request();
            Ok::<_, kubewright_client::Error>(())
        });
        let metrics = Metrics::new();
        let options = ManagerOptions {
            metrics: Some(metrics.clone()),
            ..ManagerOptions::default()
        };
        Manager::new(&limited, &operator, options)
            .start()
            .wait()
            .await
            .unwrap();
        let text = metrics.encode();
        for line in [
            r#"rest_client_rate_limiter_duration_seconds_count{verb="GET",host=""} 3"#,
            r#"rest_client_rate_limiter_duration_seconds_bucket{verb="GET",host="",le="0.005"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "no {line}:\n{text}");
        }
    }
}
