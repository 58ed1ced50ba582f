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
//!
//! Where an informer reads several ranges, each at its own pace, the store is no state of the server while they differ, and
//! a key whose object was made anew may be seen to go back and forth between the two: the first promise and the order of
//! the second are kept once the ranges have caught up with each other.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance};

use super::pods;
use super::server::{Faults, Server};
use crate::InformerOptions;
use crate::driver::Driver;
use crate::informer::{Core, drivers};
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
    /// Without a history, only what was told before is compared.
    fn told(&mut self, delivery: Delivery, history: Option<&History>) -> Result<(), String> {
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
        if let Some(history) = history {
            let place = self.places.entry(key.clone()).or_default();
            *place = history.find(&key, *place, now.as_ref())?;
        }
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
    core: Arc<Core>,
    /// One for each range, and what its reflector waits for.
    drivers: Vec<(Driver, Option<Effect>)>,
    handlers: Vec<Handler>,
    history: History,
    /// The server's state at each version since everybody last agreed.
    versions: BTreeMap<u64, Objects>,
    backup: Option<(Objects, u64)>,
    /// How often each thing happened, to see that everything did.
    happened: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(seed: u64, shards: usize) -> Self {
        let server = Server::new(seed, Faults::default());
        let source: Arc<dyn ListerWatcher> = server.clone();
        let options = InformerOptions {
            reflector: ReflectorOptions {
                page_size: 3,
                ..ReflectorOptions::default()
            },
            seed: Some(seed),
            shards: NonZeroUsize::new(shards).unwrap(),
            ..InformerOptions::default()
        };
        let (core, drivers) = drivers(pods(), source, options, StreamingSupport::default());
        Self {
            random: fastrand::Rng::with_seed(seed),
            server,
            core,
            drivers: drivers.into_iter().map(|driver| (driver, None)).collect(),
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
            36..68 => {
                let one = self.random.usize(..self.drivers.len());
                match self.follow(one).await {
                    true => "the reflector goes on",
                    false => "the reflector waits",
                }
            }
            68..80 => {
                let one = self.random.usize(..self.drivers.len());
                self.take_in(one)?;
                "the store takes in"
            }
            80 => {
                for (driver, request) in &mut self.drivers {
                    driver.stream = None;
                    driver.reflector.interrupt();
                    *request = None;
                }
                "stop and start"
            }
            81 if self.handlers.len() < 4 => {
                let (id, listener) = self.core.listen();
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
                self.core.leave(gone.id);
                "a handler leaves"
            }
            83 if !self.handlers.is_empty() => {
                let one = &self.handlers[self.random.usize(..self.handlers.len())];
                self.core.resync(&one.listener);
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

    /// One step of a reflector, if there is something for it.
    async fn follow(&mut self, range: usize) -> bool {
        let (driver, waiting) = &mut self.drivers[range];
        let now = Instant::now();
        let passed = |at: std::time::Instant| now.into_std() >= at;
        let event = match waiting.take() {
            None => Event::Timer,
            Some(request @ (Effect::List(_) | Effect::Watch(_))) => driver.perform(request).await,
            Some(Effect::Read(deadline)) => match driver.read_ready() {
                Some(event) => event,
                None if passed(deadline) => Event::Silent,
                None if driver.stream.is_none() => Event::Closed(None),
                None => {
                    *waiting = Some(Effect::Read(deadline));
                    return false;
                }
            },
            Some(Effect::Wait(until)) if !passed(until) => {
                driver.stream = None;
                *waiting = Some(Effect::Wait(until));
                return false;
            }
            Some(_) => Event::Timer,
        };
        for effect in driver.reflector.step(event, now.into_std()) {
            if let Some(request) = driver.take_in(effect) {
                *waiting = Some(request);
            }
        }
        true
    }

    /// What waits in a FIFO reaches the store and the handlers.
    fn take_in(&mut self, range: usize) -> Result<(), String> {
        let (driver, _) = &mut self.drivers[range];
        while let Some(batch) = driver.fifo.pop() {
            driver.apply(batch);
        }
        if self.drivers.len() > 1 {
            return Ok(());
        }
        let store = &self.core.store;
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
            let history = (self.drivers.len() == 1).then_some(&self.history);
            handler.told(delivery, history)?;
        }
        Ok(())
    }

    /// The weather clears: everybody comes to know the same, and history begins anew.
    async fn agree(&mut self, rewound: bool) -> Result<(), String> {
        let faults = std::mem::take(&mut self.server.0.lock().faults);
        let mut rounds = 0;
        loop {
            for range in 0..self.drivers.len() {
                for _ in 0..400 {
                    if !self.follow(range).await {
                        break;
                    }
                }
                self.take_in(range)?;
            }
            let (expect, version) = {
                let server = self.server.0.lock();
                (server.objects.clone(), server.version.to_string())
            };
            let store = &self.core.store;
            // A rewind that nobody notices before the server is past the old versions cannot be told from none, and one
            // range that has noticed is not all of them.
            let noticed = !rewound || rounds >= 4;
            if noticed && store.is_populated() && store.version().as_str() == version {
                let has = objects(store.list());
                if has == expect {
                    break;
                }
                return Err(format!("the store has {has:?}, the server {expect:?}"));
            }
            rounds += 1;
            if rounds > 100 {
                let (has, at) = (objects(store.list()), store.version());
                return Err(format!(
                    "the store stays at {at} with {has:?}, the server is at {version} with {expect:?}"
                ));
            }
            advance(Duration::from_secs(61)).await;
            // What reveals a rewind.
            self.server.0.lock().bookmark();
        }
        for handler in 0..self.handlers.len() {
            self.tell(handler, u8::MAX)?;
            let handler = &mut self.handlers[handler];
            let expect = objects(self.core.store.list());
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
async fn play(seed: u64, shards: usize, steps: u64) -> BTreeMap<&'static str, u64> {
    let mut world = World::new(seed, shards);
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
            panic!("KUBEWRIGHT_MODEL_SEED={seed}, {shards} ranges, step {step}: {wrong}");
        }
    }
    if let Err(wrong) = world.agree(false).await {
        panic!("KUBEWRIGHT_MODEL_SEED={seed}, {shards} ranges, at the end: {wrong}");
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
    // Schedules that everybody can play again, and some that nobody knows.
    for (seed, shards, share) in [(1, 1, 8), (seed, 1, 2), (1, 3, 8), (seed, 3, 4)] {
        let steps = steps / share;
        let happened = play(seed, shards, steps).await;
        let kinds = 18;
        assert!(
            steps < 5_000 || happened.len() >= kinds,
            "KUBEWRIGHT_MODEL_SEED={seed}, {shards} ranges: only this happened: {happened:?}"
        );
    }
}
