//! A random schedule against a simple model: what happens at the server, faults of server and network, time, stops,
//! handlers that come and go and that are slow, in any order, step by step.
//!
//! Nothing here runs by itself: the reflector, the FIFO, the store and the queues of the handlers are moved one step at
//! a time, so that every state in between is looked at. `KUBEWRIGHT_MODEL_STEPS` sets how many steps are made (20,000
//! by default), `KUBEWRIGHT_MODEL_SEED` plays one schedule again.
//!
//! What holds:
//!
//! * The store, whenever it has taken in what was waiting, is the server's state at the store's version.
//! * What a handler is told of a key is a subsequence of that key's history and ends in its latest state.
//! * `old` is what this handler saw last; another uid is a deletion and an addition; no deletion is lost.
//! * Every object of the initial state is told before the mark that ends it, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance};

use super::pods;
use super::server::{Faults, Server};
use crate::InformerOptions;
use crate::driver::Driver;
use crate::informer::drivers;
use crate::listener::Listener;
use crate::listener_queue::Delivery;
use crate::record::Record;
use crate::reflector::{Effect, Event, ReflectorOptions, StreamingSupport};
use crate::source::ListerWatcher;
use crate::store::{Change, Initial};

/// Uid and version.
type State = (String, u64);

type Objects = BTreeMap<String, State>;

fn state(record: &Record) -> State {
    (record.uid().to_owned(), record.version().parse().unwrap())
}

/// What was true of each key since everybody last agreed, `None` while there was no object.
#[derive(Debug, Default)]
struct History(BTreeMap<String, Vec<Option<State>>>);

impl History {
    fn of(objects: &Objects) -> Self {
        let present = |(key, state): (&String, &State)| (key.clone(), vec![Some(state.clone())]);
        Self(objects.iter().map(present).collect())
    }

    fn note(&mut self, before: &Objects, after: &Objects) {
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let (old, new) = (before.get(key), after.get(key));
            if old == new {
                continue;
            }
            let states = self.0.entry(key.clone()).or_insert_with(|| vec![None]);
            if let (Some(old), Some(new)) = (old, new)
                && old.0 != new.0
            {
                states.push(None);
            }
            states.push(new.cloned());
        }
    }

    /// The first place at or behind another where a key was in this state.
    fn find(&self, key: &str, from: usize, wanted: Option<&State>) -> Result<usize, String> {
        let never = [None];
        let states = self.0.get(key).map_or(&never[..], Vec::as_slice);
        let found = states
            .iter()
            .skip(from)
            .position(|state| state.as_ref() == wanted);
        found
            .map(|at| from + at)
            .ok_or_else(|| format!("{key} was not {wanted:?} after place {from} of {states:?}"))
    }
}

/// A handler: what it was told, and how far in the history that is.
struct Handler {
    id: u64,
    listener: Arc<Listener>,
    knows: Objects,
    places: BTreeMap<String, usize>,
    synced: bool,
}

impl Handler {
    fn told(&mut self, delivery: Delivery, history: &History) -> Result<(), String> {
        let change = match delivery {
            Delivery::Synced if self.synced => return Err("synced twice".to_owned()),
            Delivery::Synced => {
                self.synced = true;
                return Ok(());
            }
            Delivery::Change(change) => change,
        };
        let key = change.record().key().to_string();
        let known = self.knows.get(&key).cloned();
        let now = match &change {
            Change::Added { new, initial } => {
                if known.is_some() {
                    return Err(format!("{key} is added and was known as {known:?}"));
                }
                if (*initial == Initial::Yes) == self.synced {
                    return Err(format!(
                        "{key} is added as {initial:?} when synced is {}",
                        self.synced
                    ));
                }
                Some(state(new))
            }
            Change::Updated { old, new } => {
                if known != Some(state(old)) || old.uid() != new.uid() {
                    return Err(format!(
                        "{key} is updated from {old:?} to {new:?} and was {known:?}"
                    ));
                }
                Some(state(new))
            }
            Change::Deleted { last, .. } => {
                if known.is_none_or(|(uid, _)| uid != last.uid()) {
                    return Err(format!("{key} is deleted as {last:?}, which was not known"));
                }
                None
            }
        };
        let place = self.places.entry(key.clone()).or_default();
        *place = history.find(&key, *place, now.as_ref())?;
        match now {
            Some(now) => drop(self.knows.insert(key, now)),
            None => drop(self.knows.remove(&key)),
        }
        Ok(())
    }
}

struct World {
    random: fastrand::Rng,
    server: Arc<Server>,
    driver: Driver,
    /// What the reflector waits for.
    request: Option<Effect>,
    handlers: Vec<Handler>,
    history: History,
    /// The server's state at each version since everybody last agreed.
    versions: BTreeMap<u64, Objects>,
    backup: Option<(Objects, u64)>,
    /// How often each thing happened, to see that everything did.
    happened: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let server = Server::new(seed, Faults::default());
        let source: Arc<dyn ListerWatcher> = server.clone();
        let options = InformerOptions {
            reflector: ReflectorOptions {
                page_size: 3,
                ..ReflectorOptions::default()
            },
            seed: Some(seed),
            ..InformerOptions::default()
        };
        Self {
            random: fastrand::Rng::with_seed(seed),
            server,
            driver: drivers(pods(), source, options, StreamingSupport::default())
                .1
                .remove(0),
            request: None,
            handlers: Vec::new(),
            history: History::default(),
            versions: BTreeMap::new(),
            backup: None,
            happened: BTreeMap::new(),
        }
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(0..100) < percent
    }

    /// Faults for a while.
    fn misfortune(&mut self) -> Faults {
        let mut chance = |max: u8| match self.random.bool() {
            true => self.random.u8(..max),
            false => 0,
        };
        Faults {
            requests_fail: chance(50),
            watches_break: chance(30),
            bookmarks_get_lost: chance(100),
            bookmarks_come_late: chance(100),
            streaming_is_refused: chance(100),
            malformed_objects: chance(50),
            shards_are_ignored: 0,
        }
    }

    /// Something at the server, all of which is noted.
    fn at_server<R>(&mut self, act: impl FnOnce(&mut super::server::State) -> R) -> R {
        let mut server = self.server.0.lock();
        let before = server.objects.clone();
        let result = act(&mut server);
        self.history.note(&before, &server.objects);
        self.versions.insert(server.version, server.objects.clone());
        result
    }

    /// One step of anybody. Gives back whether versions went backwards.
    async fn step(&mut self) -> Result<bool, String> {
        let key = format!("n/{}", self.random.u8(0..8));
        let what = match self.random.u8(0..100) {
            0..14 => {
                self.at_server(|server| server.put(&key));
                "put"
            }
            14..20 => {
                self.at_server(|server| server.delete(&key));
                "delete"
            }
            20..22 => {
                self.at_server(|server| server.delete(&key));
                self.at_server(|server| server.put(&key));
                "delete and put"
            }
            22..24 => {
                self.server.0.lock().break_watches();
                "disconnect"
            }
            24 => {
                self.server.0.lock().compact();
                "compaction"
            }
            25..28 => {
                self.server.0.lock().bookmark();
                "bookmark"
            }
            28 => {
                let faults = self.misfortune();
                self.server.0.lock().faults = faults;
                "other faults"
            }
            29 => match self.backup.take() {
                None => {
                    let server = self.server.0.lock();
                    self.backup = Some((server.objects.clone(), server.version));
                    "backup"
                }
                Some((objects, version)) => {
                    self.versions.retain(|at, _| *at < version);
                    self.at_server(|server| server.restore(objects, version));
                    *self.happened.entry("rewind").or_default() += 1;
                    return Ok(true);
                }
            },
            30..36 => {
                let most = if self.chance(10) { 60_000 } else { 900 };
                advance(Duration::from_millis(self.random.u64(1..most))).await;
                "time"
            }
            36..68 => match self.follow().await {
                true => "the reflector goes on",
                false => "the reflector waits",
            },
            68..80 => {
                self.take_in()?;
                "the store takes in"
            }
            80 => {
                self.driver.stream = None;
                self.driver.reflector.interrupt();
                self.request = None;
                "stop and start"
            }
            81 if self.handlers.len() < 4 => {
                let (id, listener) = self.driver.core.listen();
                self.handlers.push(Handler {
                    id,
                    listener,
                    knows: Objects::new(),
                    places: BTreeMap::new(),
                    synced: false,
                });
                "a handler joins"
            }
            82 if !self.handlers.is_empty() && self.chance(50) => {
                let gone = self
                    .handlers
                    .swap_remove(self.random.usize(..self.handlers.len()));
                self.driver.core.leave(gone.id);
                "a handler leaves"
            }
            83 if !self.handlers.is_empty() => {
                let one = &self.handlers[self.random.usize(..self.handlers.len())];
                self.driver.core.resync(&one.listener);
                "resync"
            }
            _ if !self.handlers.is_empty() => {
                let one = self.random.usize(..self.handlers.len());
                let most = self.random.u8(1..6);
                self.tell(one, most)?;
                "a handler is told"
            }
            _ => "nothing",
        };
        *self.happened.entry(what).or_default() += 1;
        Ok(false)
    }

    /// One step of the reflector, if there is something for it.
    async fn follow(&mut self) -> bool {
        let now = Instant::now();
        let passed = |at: std::time::Instant| now.into_std() >= at;
        let event = match self.request.take() {
            None => Event::Timer,
            Some(request @ (Effect::List(_) | Effect::Watch(_))) => self.driver.perform(request).await,
            Some(Effect::Read(deadline)) => match self.driver.read_ready() {
                Some(event) => event,
                None if passed(deadline) => Event::Silent,
                None if self.driver.stream.is_none() => Event::Closed(None),
                None => {
                    self.request = Some(Effect::Read(deadline));
                    return false;
                }
            },
            Some(Effect::Wait(until)) if !passed(until) => {
                self.driver.stream = None;
                self.request = Some(Effect::Wait(until));
                return false;
            }
            Some(_) => Event::Timer,
        };
        for effect in self.driver.reflector.step(event, now.into_std()) {
            if let Some(request) = self.driver.take_in(effect) {
                self.request = Some(request);
            }
        }
        true
    }

    /// What waits in the FIFO reaches the store and the handlers.
    fn take_in(&mut self) -> Result<(), String> {
        while let Some(batch) = self.driver.fifo.pop() {
            self.driver.core.apply(0, batch);
        }
        let store = &self.driver.core.store;
        let version = store.version();
        let Some(expect) = version
            .as_str()
            .parse()
            .ok()
            .and_then(|version: u64| self.versions.get(&version))
        else {
            return Ok(());
        };
        let has = objects(store.list());
        if store.is_populated() && has != *expect {
            return Err(format!(
                "the store at version {version} has {has:?}, the server had {expect:?}"
            ));
        }
        Ok(())
    }

    fn tell(&mut self, handler: usize, most: u8) -> Result<(), String> {
        let handler = &mut self.handlers[handler];
        for _ in 0..most {
            let Some(delivery) = handler.listener.queue.lock().pop() else {
                break;
            };
            handler.told(delivery, &self.history)?;
        }
        Ok(())
    }

    /// The weather clears: everybody comes to know the same, and history begins anew.
    async fn agree(&mut self, rewound: bool) -> Result<(), String> {
        let faults = std::mem::take(&mut self.server.0.lock().faults);
        let mut rounds = 0;
        loop {
            for _ in 0..400 {
                if !self.follow().await {
                    break;
                }
            }
            self.take_in()?;
            let (expect, version) = {
                let server = self.server.0.lock();
                (server.objects.clone(), server.version.to_string())
            };
            let store = &self.driver.core.store;
            if store.is_populated() && store.version().as_str() == version {
                let has = objects(store.list());
                if has != expect {
                    return Err(format!("the store has {has:?}, the server {expect:?}"));
                }
                break;
            }
            rounds += 1;
            if rounds > 100 {
                return Err(format!(
                    "the store stays at {}, the server is at {version}",
                    store.version()
                ));
            }
            advance(Duration::from_secs(61)).await;
            // What reveals a rewind.
            self.server.0.lock().bookmark();
        }
        for handler in 0..self.handlers.len() {
            self.tell(handler, u8::MAX)?;
            let handler = &mut self.handlers[handler];
            let expect = objects(self.driver.core.store.list());
            if handler.knows != expect || !handler.synced {
                let (id, knows, synced) = (handler.id, &handler.knows, handler.synced);
                return Err(format!(
                    "handler {id} (synced: {synced}) knows {knows:?} of {expect:?}"
                ));
            }
            handler.places.clear();
        }
        let mut server = self.server.0.lock();
        server.faults = faults;
        self.history = History::of(&server.objects);
        self.versions = BTreeMap::from([(server.version, server.objects.clone())]);
        if rewound {
            // What was backed up in a future that was undone is no past of this server.
            self.backup = None;
        }
        Ok(())
    }
}

fn objects(records: Vec<Arc<Record>>) -> Objects {
    let records = records.iter();
    records
        .map(|record| (record.key().to_string(), state(record)))
        .collect()
}

/// Plays a schedule and gives back what happened in it.
async fn play(seed: u64, steps: u64) -> BTreeMap<&'static str, u64> {
    let mut world = World::new(seed);
    let mut until_agreement = 0;
    for step in 0..steps {
        let mut outcome = world.step().await;
        until_agreement += 1;
        let rewound = matches!(outcome, Ok(true));
        if rewound || (outcome.is_ok() && world.random.u16(0..300) < until_agreement / 20) {
            outcome = world.agree(rewound).await.map(|()| false);
            until_agreement = 0;
        }
        if let Err(wrong) = outcome {
            panic!("KUBEWRIGHT_MODEL_SEED={seed}, step {step}: {wrong}");
        }
    }
    if let Err(wrong) = world.agree(false).await {
        panic!("KUBEWRIGHT_MODEL_SEED={seed}, at the end: {wrong}");
    }
    world.happened
}

fn from_environment(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

#[tokio::test(start_paused = true)]
async fn any_schedule_keeps_its_promises() {
    let steps = from_environment("KUBEWRIGHT_MODEL_STEPS").unwrap_or(20_000);
    let seed = from_environment("KUBEWRIGHT_MODEL_SEED").unwrap_or_else(|| fastrand::u64(..));
    // A schedule that everybody can play again, and one that nobody knows.
    for (seed, steps) in [(1, steps / 4), (seed, steps - steps / 4)] {
        let happened = play(seed, steps).await;
        let kinds = 18;
        assert!(
            steps < 5_000 || happened.len() >= kinds,
            "KUBEWRIGHT_MODEL_SEED={seed}: only this happened: {happened:?}"
        );
    }
}
