//! An informer that has it hard for a long time: objects change all the time, the server forgets its history several
//! times a second, one handler is slow, one panics, others come and go, all are shown everything again each second.
//! Memory stays as it is.
//!
//! `KUBEWRIGHT_SOAK_SECONDS` sets for how long: 5 by default, 600 for a soak that deserves the name. It is a program of its
//! own because it looks at the memory of its process.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_core::Stream;
use kubewright_cache::{
    BoxFuture, Cached, EventHandler, FinalState, HandlerOptions, InformerOptions, Initial, ItemSink,
    ListerWatcher, ReflectorOptions, Registration, SharedInformer, SourceError, StreamingLists, WatchStream,
};
use kubewright_client::RawEvent;
use kubewright_core::{
    ApiResource, DynamicObject, ListMeta, ListOptions, Scope, Status, StatusReason, WatchEventKind,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;

const OBJECTS: usize = 2_000;

/// Events that a watch may be behind before the server gives it up.
const BEHIND: usize = 10_000;

type Event = Result<RawEvent, SourceError>;

/// A server of objects that are gone or there, each with a uid and a version.
struct Server(Mutex<State>);

struct State {
    objects: Vec<Option<(u64, u64)>>,
    version: u64,
    uids: u64,
    watches: Vec<mpsc::Sender<Event>>,
    /// What happened since the server forgot what was before, with its versions.
    log: Vec<(u64, RawEvent)>,
    forgotten: u64,
    lists: u64,
}

fn json(object: usize, uid: u64, version: u64) -> Bytes {
    let text = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"pod-{object}","namespace":"n-{}","uid":"uid-{uid}","resourceVersion":"{version}","labels":{{"app":"app-{}"}}}},"spec":{{"text":"{}"}},"status":{{"seen":{version}}}}}"#,
        object % 20,
        object % 100,
        "what pods say of themselves is mostly the same; ".repeat(20),
    );
    Bytes::from(text)
}

fn expired() -> SourceError {
    let mut status = Status::failure(StatusReason::Expired, "too old resource version");
    status.code = 410;
    SourceError::status(status)
}

impl State {
    fn change(&mut self, object: usize, is_fate: bool) {
        self.version += 1;
        let (kind, uid) = match self.objects[object] {
            Some((uid, _)) if is_fate => {
                self.objects[object] = None;
                (WatchEventKind::Deleted, uid)
            }
            Some((uid, _)) => (WatchEventKind::Modified, uid),
            None => {
                self.uids += 1;
                (WatchEventKind::Added, self.uids)
            }
        };
        if kind != WatchEventKind::Deleted {
            self.objects[object] = Some((uid, self.version));
        }
        let event = RawEvent {
            kind,
            object: json(object, uid, self.version),
        };
        self.watches
            .retain(|watch| watch.try_send(Ok(event.clone())).is_ok());
        self.log.push((self.version, event));
    }

    /// Each watch has to list anew.
    fn forget(&mut self) {
        self.log.clear();
        self.forgotten = self.version;
        for watch in self.watches.drain(..) {
            let _ = watch.try_send(Err(expired()));
        }
    }
}

struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_recv(cx)
    }
}

impl ListerWatcher for Server {
    fn list_page<'a>(
        &'a self,
        _: ListOptions,
        items: &'a mut dyn ItemSink,
    ) -> BoxFuture<'a, Result<ListMeta, SourceError>> {
        let (objects, version) = {
            let mut state = self.0.lock();
            state.lists += 1;
            (state.objects.clone(), state.version)
        };
        let metadata = ListMeta {
            resource_version: version.to_string(),
            ..ListMeta::default()
        };
        items.begin(&metadata);
        for (object, state) in objects.into_iter().enumerate() {
            if let Some((uid, version)) = state {
                items.item(json(object, uid, version));
            }
        }
        Box::pin(async { Ok(metadata) })
    }

    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>> {
        let mut state = self.0.lock();
        let from: u64 = options
            .resource_version
            .parse()
            .expect("versions are numbers here");
        if from < state.forgotten {
            return Box::pin(async { Err(expired()) });
        }
        let (events, watch) = mpsc::channel(BEHIND);
        for (version, event) in &state.log {
            if *version > from {
                let _ = events.try_send(Ok(event.clone()));
            }
        }
        state.watches.push(events);
        Box::pin(async { Ok(Box::pin(Events(watch)) as WatchStream) })
    }
}

/// What is wrong with a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vice {
    None,
    Slow,
    Panics,
}

#[derive(Default)]
struct Told {
    objects: BTreeMap<String, String>,
    calls: u64,
    faults: Vec<String>,
}

struct Handler(Vice, Arc<Mutex<Told>>);

impl Handler {
    #[expect(clippy::disallowed_methods, reason = "a handler that blocks is the point")]
    fn told(&self, key: &str, before: Option<&str>, now: Option<String>) {
        {
            let mut told = self.1.lock();
            told.calls += 1;
            let known = match now {
                Some(now) => told.objects.insert(key.to_owned(), now),
                None => told.objects.remove(key),
            };
            let fits = before.is_none_or(|before| known.as_deref() == Some(before));
            if self.0 != Vice::Panics && !fits && told.faults.len() < 10 {
                told.faults.push(format!("{key}: {before:?}, known as {known:?}"));
            }
        }
        match self.0 {
            Vice::Slow => std::thread::sleep(Duration::from_millis(2)),
            Vice::Panics if fastrand::u8(..) < 64 => panic!("on purpose"),
            _ => {}
        }
    }
}

fn version(object: &Cached<DynamicObject>) -> String {
    object.resource_version().to_string()
}

impl EventHandler<DynamicObject> for Handler {
    fn on_add(&self, object: &Cached<DynamicObject>, _: Initial) {
        self.told(object.name(), None, Some(version(object)));
    }

    fn on_update(&self, old: &Cached<DynamicObject>, new: &Cached<DynamicObject>) {
        self.told(new.name(), Some(&version(old)), Some(version(new)));
    }

    fn on_delete(&self, object: &Cached<DynamicObject>, _: FinalState) {
        self.told(object.name(), None, None);
    }
}

/// Memory of this process in MB; `None` where the system does not say.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes / 1024)
}

async fn torment(server: &Server, informer: &SharedInformer<DynamicObject>, until: Instant) {
    let mut random = fastrand::Rng::new();
    let mut ticks = 0u64;
    let mut guest: Option<(Registration, Arc<Mutex<Told>>)> = None;
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(1)).await;
        ticks += 1;
        {
            let mut state = server.0.lock();
            for _ in 0..4 {
                state.change(random.usize(..OBJECTS), random.u8(..) < 16);
            }
            if ticks.is_multiple_of(150) {
                state.forget();
            }
        }
        if ticks.is_multiple_of(100) {
            if let Some((registration, told)) = guest.take() {
                registration.remove().await;
                assert_eq!(told.lock().faults, [""; 0]);
                assert!(told.lock().calls > 0);
            }
            let told: Arc<Mutex<Told>> = Arc::default();
            let handler = Handler(Vice::None, Arc::clone(&told));
            guest = Some((informer.add_handler(handler, HandlerOptions::default()), told));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_stays_flat() {
    let seconds = std::env::var("KUBEWRIGHT_SOAK_SECONDS").map_or(5, |seconds| {
        seconds
            .parse()
            .expect("KUBEWRIGHT_SOAK_SECONDS is a number of seconds")
    });
    // The panics are on purpose, and many.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some("on purpose") {
            hook(panic);
        }
    }));
    let server = Arc::new(Server(Mutex::new(State {
        objects: vec![None; OBJECTS],
        version: 1,
        uids: 0,
        watches: Vec::new(),
        log: Vec::new(),
        forgotten: 0,
        lists: 0,
    })));
    (0..OBJECTS).for_each(|object| server.0.lock().change(object, false));
    server.0.lock().forget();
    let resource = ApiResource {
        group: String::new(),
        version: "v1".into(),
        kind: "Pod".into(),
        plural: "pods".into(),
        scope: Scope::Namespaced,
    };
    let source: Arc<dyn ListerWatcher> = server.clone();
    let options = InformerOptions {
        reflector: ReflectorOptions {
            streaming_lists: StreamingLists::Never,
            // Lists that follow each other quickly are waited for, and here they are to be many.
            backoff_base: Duration::from_millis(1),
            backoff_max: Duration::from_millis(4),
            ..ReflectorOptions::default()
        },
        ..InformerOptions::default()
    };
    let informer: SharedInformer<DynamicObject> = SharedInformer::spawn(resource, source, options);
    let handlers = [Vice::None, Vice::Slow, Vice::Panics].map(|vice| {
        let told: Arc<Mutex<Told>> = Arc::default();
        let options = HandlerOptions {
            resync: Some(Duration::from_secs(1)),
        };
        let registration = informer.add_handler(Handler(vice, Arc::clone(&told)), options);
        (registration, told)
    });
    informer.synced().await;

    let begun = Instant::now();
    let total = Duration::from_secs(seconds);
    torment(&server, &informer, begun + total.mul_f64(0.4)).await;
    let (before, lists_before) = (resident(), server.0.lock().lists);
    torment(&server, &informer, begun + total).await;
    // A machine that is busy with other things gets less done in the same time.
    while server.0.lock().lists <= lists_before + seconds {
        assert!(begun.elapsed() < 20 * total, "hardly anything is listed again");
        torment(&server, &informer, Instant::now() + total.mul_f64(0.4)).await;
    }
    let after = resident();
    let stats = informer.stats();
    let (lists, changes) = {
        let state = server.0.lock();
        (state.lists, state.version)
    };
    let calls = handlers.each_ref().map(|(_, told)| told.lock().calls);
    let lag = handlers[1].0.lag();
    let report = format!(
        "{before:?} MB, then {after:?} MB; {lists} lists, {changes} changes; calls {calls:?}; lag of the slow one {lag:?}; {stats:?}"
    );
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after <= before + before / 4 + 10, "memory grows: {report}");
    }
    for (registration, told) in &handlers {
        // One entry for a key, and what is not merged yet.
        assert!(registration.lag().longest <= 2 * OBJECTS + 2_048, "{report}");
        assert_eq!(told.lock().faults, [""; 0], "{report}");
    }

    // It was hard, and it is over: everybody knows what is true.
    let wanted: BTreeMap<String, String> = {
        let state = server.0.lock();
        let present = state.objects.iter().enumerate();
        present
            .filter_map(|(object, state)| {
                state.map(|(_, version)| (format!("pod-{object}"), version.to_string()))
            })
            .collect()
    };
    let told = &handlers[0].1;
    let settled = async {
        while told.lock().objects != wanted {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), settled)
        .await
        .unwrap_or_else(|_| panic!("the handler never learns the truth: {report}"));
    if seconds > 60 {
        std::fs::write(std::env::temp_dir().join("kubewright-soak.txt"), &report).ok();
    }
}
