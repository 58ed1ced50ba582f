//! The whole, against a model server: whatever fails in between, the store ends up with what the server has, and every
//! handler was told a consistent story.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kubewright_core::{DynamicObject, LabelSelector, ObjectKey, PartialObject};
use parking_lot::Mutex;
use tokio::time::{advance, timeout};

use super::pods;
use super::server::{Faults, Server, State};
use crate::source::ListerWatcher;
use crate::{
    Cached, EventHandler, FinalState, HandlerOptions, Indexed, InformerOptions, Informers, Initial,
    ReflectorOptions, SharedInformer, WatchScope,
};

/// A handler that keeps a copy and checks that each call fits it.
#[derive(Default)]
pub(crate) struct Mirror {
    pub(crate) objects: Mutex<BTreeMap<String, (String, String)>>,
    pub(crate) calls: Mutex<Vec<String>>,
    pub(crate) faults: Mutex<Vec<String>>,
}

impl Mirror {
    fn check(&self, fits: bool, call: String) {
        if !fits {
            self.faults.lock().push(call.clone());
        }
        self.calls.lock().push(call);
    }
}

fn state<K>(object: &Cached<K>) -> (String, String) {
    (object.uid().to_owned(), object.resource_version().to_string())
}

pub(crate) struct Shared(pub(crate) Arc<Mirror>);

impl<K: 'static> EventHandler<K> for Shared {
    fn on_add(&self, object: &Cached<K>, initial: Initial) {
        let before = self
            .0
            .objects
            .lock()
            .insert(object.key().to_string(), state(object));
        self.0
            .check(before.is_none(), format!("add {} {initial:?}", object.key()));
    }

    fn on_update(&self, old: &Cached<K>, new: &Cached<K>) {
        let before = self.0.objects.lock().insert(new.key().to_string(), state(new));
        self.0.check(
            before == Some(state(old)) && old.uid() == new.uid(),
            format!("update {}", new.key()),
        );
    }

    fn on_delete(&self, object: &Cached<K>, final_state: FinalState) {
        let before = self.0.objects.lock().remove(&object.key().to_string());
        let fits = before.is_some_and(|(uid, _)| uid == object.uid());
        self.0
            .check(fits, format!("delete {} {final_state:?}", object.key()));
    }
}

pub(crate) fn spawn(server: &Arc<Server>, seed: u64) -> SharedInformer<Pod> {
    spawn_in(server, seed, 1)
}

/// An informer in so many ranges.
fn spawn_in(server: &Arc<Server>, seed: u64, shards: usize) -> SharedInformer<Pod> {
    let source: Arc<dyn ListerWatcher> = server.clone();
    let reflector = ReflectorOptions {
        page_size: 3,
        ..ReflectorOptions::default()
    };
    SharedInformer::spawn(
        pods(),
        source,
        InformerOptions {
            reflector,
            seed: Some(seed),
            shards: NonZeroUsize::new(shards).unwrap(),
            ..InformerOptions::default()
        },
    )
}

/// Lets everything run that can without time passing.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// What the server has, as the mirrors keep it.
pub(crate) fn truth(server: &Server) -> BTreeMap<String, (String, String)> {
    let objects = server.0.lock().objects.clone();
    objects
        .into_iter()
        .map(|(key, (uid, version))| (key, (uid, version.to_string())))
        .collect()
}

/// What the test does after something happened at the server.
enum Then {
    GoOn,
    /// Time passes.
    Wait,
    /// A restored server that nobody notices before it is past the old versions cannot be told from one that was not
    /// restored: so everyone gets to notice, and then these faults come back.
    Recover(Faults),
}

type Backup = Option<(BTreeMap<String, (String, u64)>, u64)>;

fn act(server: &mut State, random: &mut fastrand::Rng, backup: &mut Backup) -> Then {
    let key = format!("n/{}", random.u8(0..10));
    match random.u8(0..40) {
        0..16 => server.put(&key),
        16..24 => server.delete(&key),
        // Deleted and made again in one breath.
        24..26 => {
            server.delete(&key);
            server.put(&key);
        }
        26..28 => server.break_watches(),
        28 => server.compact(),
        29..31 => server.bookmark(),
        31 => match backup.take() {
            None => *backup = Some((server.objects.clone(), server.version)),
            Some((objects, version)) => {
                server.restore(objects, version);
                return Then::Recover(std::mem::take(&mut server.faults));
            }
        },
        _ => return Then::Wait,
    }
    Then::GoOn
}

async fn run(seed: u64, shards: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut chance = |max: u8| if random.bool() { random.u8(..max) } else { 0 };
    let faults = Faults {
        requests_fail: chance(50),
        watches_break: chance(30),
        bookmarks_get_lost: chance(100),
        bookmarks_come_late: chance(100),
        streaming_is_refused: chance(100),
        malformed_objects: chance(50),
        shards_are_ignored: if shards > 1 { chance(101) } else { 0 },
    };
    let server = Server::new(seed, faults);
    for i in 0..random.u8(0..10) {
        server.0.lock().put(&format!("n/{i}"));
    }
    let informer = spawn_in(&server, seed, shards);
    let mirrors: Vec<Arc<Mirror>> = (0..3).map(|_| Arc::default()).collect();
    let handler =
        |mirror: usize| informer.add_handler(Shared(mirrors[mirror].clone()), HandlerOptions::default());
    let mut registrations = vec![handler(0)];
    let mut backup = None;
    for step in 0..random.u32(20..120) {
        if step == 15 {
            registrations.push(handler(1));
        }
        let then = act(&mut server.0.lock(), &mut random, &mut backup);
        match then {
            Then::GoOn if random.bool() => tokio::task::yield_now().await,
            Then::GoOn => {}
            Then::Wait => {
                advance(Duration::from_millis(random.u64(1..20_000))).await;
                settle().await;
            }
            Then::Recover(faults) => {
                for _ in 0..4 {
                    advance(Duration::from_secs(61)).await;
                    settle().await;
                    server.0.lock().bookmark();
                    settle().await;
                }
                server.0.lock().faults = faults;
            }
        }
    }
    registrations.push(handler(2));
    {
        let mut state = server.0.lock();
        state.faults = Faults::default();
        state.put("n/last");
    }
    let lister = informer.lister();
    let expect = truth(&server);
    let reached = timeout(Duration::from_secs(3600), async {
        lister
            .wait_until(|lister| {
                lister
                    .list()
                    .iter()
                    .map(|o| (o.key().to_string(), state(o)))
                    .collect::<BTreeMap<_, _>>()
                    == expect
            })
            .await;
        for registration in &registrations {
            registration.synced().await;
        }
    });
    assert!(
        reached.await.is_ok(),
        "seed {seed}: never reached {expect:?}, has {:?}",
        lister.list()
    );
    for registration in &registrations {
        while registration.pending() > 0 {
            tokio::task::yield_now().await;
        }
    }
    for (n, mirror) in mirrors.iter().enumerate() {
        assert_eq!(
            *mirror.faults.lock(),
            [""; 0],
            "seed {seed}, handler {n}: {:?}",
            mirror.calls.lock()
        );
        assert_eq!(*mirror.objects.lock(), expect, "seed {seed}, handler {n}");
    }
    // The state may have come by a list, which the watch is opened after.
    settle().await;
    // Of several ranges one may still wait after a failure that nobody noticed.
    let watches = server.open_watches();
    assert!(
        watches == shards || (shards > 1 && watches < shards),
        "seed {seed}: {watches}"
    );
}

#[tokio::test(start_paused = true)]
async fn every_history_converges() {
    let first = fastrand::u64(..);
    for seed in (0..150).chain(first..first.saturating_add(50)) {
        run(seed, 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_history_converges_in_ranges() {
    let first = fastrand::u64(..);
    for seed in (0..60).chain(first..first.saturating_add(20)) {
        for shards in [2, 5] {
            run(seed, shards).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_range_that_expires_is_listed_alone_and_all_stop_together() {
    const RANGES: usize = 4;
    let server = Server::new(1, Faults::default());
    let keys: Vec<String> = (0..20).map(|i| format!("n/{i}")).collect();
    keys.iter().for_each(|key| server.0.lock().put(key));
    let informer = spawn_in(&server, 1, RANGES);
    let mirror: Arc<Mirror> = Arc::default();
    let handler = informer.add_handler(Shared(mirror.clone()), HandlerOptions::default());
    handler.synced().await;
    assert_eq!(*mirror.objects.lock(), truth(&server));
    assert_eq!(server.open_watches(), RANGES);
    advance(Duration::from_secs(2)).await;
    settle().await;
    mirror.calls.lock().clear();
    {
        let mut state = server.0.lock();
        assert_eq!((state.watched as usize, state.lists), (RANGES, 0));
        state.break_one_watch();
        keys[..3].iter().for_each(|key| state.put(key));
        state.compact();
    }
    advance(Duration::from_secs(2)).await;
    settle().await;
    // One watch of a version that is gone, and one that begins with the state.
    assert_eq!(server.0.lock().watched as usize, RANGES + 2);
    assert_eq!(*mirror.objects.lock(), truth(&server));
    let mut calls = std::mem::take(&mut *mirror.calls.lock());
    calls.sort_unstable();
    assert_eq!(calls, ["update n/0", "update n/1", "update n/2"]);
    assert_eq!(*mirror.faults.lock(), [""; 0]);

    timeout(LONG, informer.stop()).await.unwrap();
    assert_eq!(server.open_watches(), 0);
    keys[5..].iter().for_each(|key| server.0.lock().delete(key));
    settle().await;
    assert_eq!(mirror.objects.lock().len(), 20);
    informer.start();
    settle().await;
    assert_eq!(server.open_watches(), RANGES);
    assert_eq!(*mirror.objects.lock(), truth(&server));
    // A stop that is taken back before all have noticed, and another one.
    let stopped = informer.stop();
    informer.start();
    timeout(LONG, stopped).await.unwrap();
    timeout(LONG, informer.stop()).await.unwrap();
    assert_eq!(server.open_watches(), 0);
    assert!(informer.is_stopped());
}

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_quiet_history_in_detail() {
    let server = Server::new(1, Faults::default());
    server.0.lock().put("n/a");
    let informer = spawn(&server, 1);
    let mirror: Arc<Mirror> = Arc::default();
    let first = informer.add_handler(Shared(mirror.clone()), HandlerOptions::default());
    assert!(!first.has_synced() && !informer.has_synced());
    first.synced().await;
    assert!(informer.has_synced());
    informer.synced().await;
    {
        let mut state = server.0.lock();
        state.put("n/a");
        state.put("n/b");
    }
    let lister = informer.lister();
    lister
        .wait_until(|lister| lister.version().as_str() == "13")
        .await;
    server.0.lock().delete("n/a");
    lister.wait_until(|lister| lister.len() == 1).await;
    settle().await;
    assert_eq!(
        *mirror.calls.lock(),
        ["add n/a Yes", "update n/a", "add n/b No", "delete n/a Known"]
    );
    // A late handler starts with what is there.
    let late: Arc<Mirror> = Arc::default();
    let second = informer.add_handler(Shared(late.clone()), HandlerOptions::default());
    second.synced().await;
    assert_eq!(*late.calls.lock(), ["add n/b Yes"]);
    drop(second);
    server.0.lock().put("n/c");
    lister.wait_until(|lister| lister.len() == 2).await;
    settle().await;
    assert_eq!(late.calls.lock().len(), 1, "a handler that left is told nothing");
    assert_eq!(mirror.calls.lock().last().unwrap(), "add n/c No");
    // Deletions that happened while there was no watch are told, and said to be guesses.
    {
        let mut state = server.0.lock();
        state.break_watches();
        state.delete("n/c");
        state.compact();
    }
    lister.wait_until(|lister| lister.len() == 1).await;
    settle().await;
    assert_eq!(mirror.calls.lock().last().unwrap(), "delete n/c Unknown");
    assert!(!lister.version().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_longest_times_are_as_good_as_others() {
    let server = Server::new(1, Faults::default());
    server.0.lock().put("n/a");
    let forever = Duration::MAX;
    let reflector = ReflectorOptions {
        bookmark_deadline: forever,
        min_watch: forever,
        request_timeout: forever,
        watch_grace: forever,
        backoff_base: forever,
        backoff_max: forever,
        backoff_reset: forever,
        ..ReflectorOptions::default()
    };
    let options = InformerOptions {
        reflector,
        ..InformerOptions::default()
    };
    let informer: SharedInformer<Pod> = SharedInformer::spawn(pods(), server.clone(), options);
    let mirror: Arc<Mirror> = Arc::default();
    let resync = Some(forever);
    let registration = informer.add_handler(Shared(mirror.clone()), HandlerOptions { resync });
    timeout(Duration::from_secs(1), registration.synced())
        .await
        .unwrap();
    server.0.lock().put("n/a");
    settle().await;
    assert_eq!(*mirror.calls.lock(), ["add n/a Yes", "update n/a"]);
}

#[tokio::test(start_paused = true)]
async fn resync_shows_everything_again_to_those_who_asked() {
    let server = Server::new(1, Faults::default());
    server.0.lock().put("n/a");
    let informer = spawn(&server, 1);
    let (asked, not): (Arc<Mirror>, Arc<Mirror>) = Default::default();
    let options = HandlerOptions {
        resync: Some(Duration::from_millis(1)),
    };
    let first = informer.add_handler(Shared(asked.clone()), options);
    let second = informer.add_handler(Shared(not.clone()), HandlerOptions::default());
    first.synced().await;
    second.synced().await;
    let requests = |server: &Server| {
        let state = server.0.lock();
        state.lists + state.watched
    };
    let before = requests(&server);
    for _ in 0..3 {
        // Shorter periods count as one second.
        advance(Duration::from_millis(1001)).await;
        settle().await;
    }
    assert_eq!(
        *asked.calls.lock(),
        ["add n/a Yes", "update n/a", "update n/a", "update n/a"]
    );
    assert_eq!(*not.calls.lock(), ["add n/a Yes"]);
    assert_eq!(requests(&server), before, "the server is not asked");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_misses_one_call() {
    struct Panics(Arc<Mirror>);
    impl EventHandler<Pod> for Panics {
        fn on_add(&self, object: &Cached<Pod>, initial: Initial) {
            assert_ne!(object.name(), "a", "on purpose");
            Shared(self.0.clone()).on_add(object, initial);
        }
        fn on_update(&self, _: &Cached<Pod>, _: &Cached<Pod>) {}
        fn on_delete(&self, _: &Cached<Pod>, _: FinalState) {}
    }
    let server = Server::new(1, Faults::default());
    server.0.lock().put("n/a");
    server.0.lock().put("n/b");
    let informer = spawn(&server, 1);
    let mirror: Arc<Mirror> = Arc::default();
    let registration = informer.add_handler(Panics(mirror.clone()), HandlerOptions::default());
    registration.synced().await;
    assert_eq!(*mirror.calls.lock(), ["add n/b Yes"]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_said_and_forgotten() {
    let server = Server::new(
        1,
        Faults {
            requests_fail: 100,
            ..Faults::default()
        },
    );
    let informer = spawn(&server, 1);
    let mut health = informer.health();
    let failing = health
        .wait_for(|health| health.failure.as_ref().is_some_and(|f| f.count >= 3))
        .await
        .unwrap()
        .clone();
    let text = failing.failure.unwrap().to_string();
    assert!(text.starts_with("cannot ") && text.contains("pods"), "{text}");
    server.0.lock().faults = Faults {
        malformed_objects: 100,
        streaming_is_refused: 100,
        ..Faults::default()
    };
    server.0.lock().put("n/a");
    informer.synced().await;
    let healthy = health
        .wait_for(|health| health.failure.is_none())
        .await
        .unwrap()
        .clone();
    assert_eq!(healthy.malformed, 1, "skipped, and the rest is there");
    assert_eq!(informer.lister().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_informer_for_all_who_ask_for_the_same() {
    let server = Server::new(1, Faults::default());
    server.0.lock().put("n/a");
    server.0.lock().put("m/b");
    let source = server.clone();
    let informers = Informers::new(
        move |_: &kubewright_core::ApiResource, _: &WatchScope| -> Arc<dyn ListerWatcher> { source.clone() },
        InformerOptions::default(),
    );
    let typed = informers.informer::<Pod>(&WatchScope::default());
    let dynamic = informers.informer_for::<DynamicObject>(&pods(), &WatchScope::default());
    let metadata = informers.informer_for::<PartialObject<Pod>>(&pods(), &WatchScope::default());
    typed.synced().await;
    assert_eq!((informers.running(), server.open_watches()), (1, 1));
    let key = ObjectKey::parse("n/a");
    let pod = typed.lister().get(&key).unwrap().object().unwrap();
    assert_eq!(pod.metadata.name.as_deref(), Some("a"));
    assert_eq!(
        dynamic.lister().get(&key).unwrap().object().unwrap().types.kind,
        "Pod"
    );
    assert_eq!(
        metadata
            .lister()
            .get(&key)
            .unwrap()
            .object()
            .unwrap()
            .metadata
            .name
            .as_deref(),
        Some("a")
    );

    assert_eq!(
        typed.add_index("by-app", |pod| pod
            .metadata()
            .labels
            .iter()
            .flatten()
            .map(|(_, v)| v.clone())
            .collect()),
        Indexed::Added
    );
    assert_eq!(typed.add_index("by-app", |_| Vec::new()), Indexed::Existed);
    assert_eq!(typed.lister().by_index("by-app", "b").unwrap()[0].name(), "b");
    assert_eq!(
        typed.lister().by_index("nope", "b").unwrap_err().to_string(),
        "no index is named \"nope\""
    );
    let selector: LabelSelector = "app=a".parse().unwrap();
    assert_eq!(typed.lister().select(None, &selector).len(), 1);
    assert_eq!(typed.lister().select(Some("m"), &selector).len(), 0);
    assert_eq!(typed.lister().list_namespace("m").len(), 1);

    let other = informers.informer::<Pod>(&WatchScope::namespace("n"));
    other.synced().await;
    assert_eq!(informers.running(), 2);
    // No namespace has an empty name: it means all of them, as in Go.
    let all = WatchScope {
        namespace: Some(String::new()),
        ..WatchScope::default()
    };
    for scope in [all, WatchScope::namespace("")] {
        drop(informers.informer::<Pod>(&scope));
        assert_eq!(informers.running(), 2);
    }
    assert_eq!(typed.lister().list_namespace("").len(), 2);
    assert_eq!(typed.lister().select(Some(""), &selector).len(), 1);
    // A lister or a registration alone keeps its informer; the last to leave stops it.
    let lister = typed.lister();
    drop((typed, dynamic, metadata, other));
    settle().await;
    assert_eq!((informers.running(), server.open_watches()), (1, 1));
    drop(lister);
    settle().await;
    assert_eq!((informers.running(), server.open_watches()), (0, 0));
    let again = informers.informer::<Pod>(&WatchScope::default());
    again.synced().await;
    assert_eq!(again.lister().len(), 2);
}
