//! The machine against a model of the world: a server with compare-and-swap, a network that delays and loses, and
//! replicas that pause, crash, leave and come, each with a clock of its own. Whatever the seed: no key is ever worked on
//! by two replicas at once, and when the world has calmed down each is worked on by the one whose it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;
use crate::sharding::ring::{Ring, ring_hash};

/// The time of the world.
type Micros = u64;

const SECOND: Micros = 1_000_000;

/// How long work goes on that was told to stop.
const GRACE: Micros = SECOND;

const KEYS: usize = 48;

pub(super) struct World {
    random: fastrand::Rng,
    began: Instant,
    now: Micros,
    agenda: BTreeMap<(Micros, u64), Happens>,
    count: u64,
    leases: BTreeMap<Arc<str>, LeaseRecord>,
    replicas: Vec<Replica>,
    keys: Vec<u64>,
    faults: Faults,
    timing: RingTiming,
    trace: String,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Faults {
    /// The chance in a hundred that a request or answer is lost.
    lost: u8,
    /// The longest way of one.
    delay: Micros,
    /// How long work on a key takes at most.
    work: Micros,
}

const CALM: Faults = Faults {
    lost: 0,
    delay: SECOND / 20,
    work: SECOND / 2,
};

const STORM: Faults = Faults {
    lost: 5,
    delay: 6 * SECOND,
    work: 12 * SECOND,
};

struct Replica {
    name: Arc<str>,
    machine: Membership,
    share: Share,
    /// Its clock gains this many microseconds in a second.
    drift: i64,
    /// What it misses while it is paused.
    paused: Option<Vec<Happens>>,
    alive: bool,
    cut_off: bool,
    /// The keys that it works on, and by which piece of work.
    working: BTreeMap<usize, u64>,
    request: u64,
}

#[derive(Debug, Clone)]
enum Happens {
    Write {
        by: usize,
        request: u64,
        write: LeaseWrite,
    },
    List {
        by: usize,
        request: u64,
    },
    Remove {
        name: Arc<str>,
        version: String,
    },
    Wrote {
        by: usize,
        request: u64,
        outcome: Result<String, WriteFailure>,
    },
    Listed {
        by: usize,
        request: u64,
        leases: Vec<LeaseRecord>,
    },
    Timeout {
        by: usize,
        request: u64,
        writes: bool,
    },
    Wake {
        by: usize,
    },
    Drained {
        by: usize,
        generation: u64,
    },
    /// A replica looks for work.
    Look {
        by: usize,
    },
    Done {
        by: usize,
        key: usize,
        work: u64,
    },
    Resume {
        by: usize,
    },
}

impl Happens {
    /// Which replica has to run for it.
    fn replica(&self) -> Option<usize> {
        match *self {
            Self::Wrote { by, .. }
            | Self::Listed { by, .. }
            | Self::Timeout { by, .. }
            | Self::Wake { by }
            | Self::Drained { by, .. }
            | Self::Look { by }
            | Self::Done { by, .. } => Some(by),
            _ => None,
        }
    }
}

impl World {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            began: Instant::now(),
            now: 0,
            agenda: BTreeMap::new(),
            count: 0,
            leases: BTreeMap::new(),
            replicas: Vec::new(),
            keys: (0..KEYS).map(|i| ring_hash(&format!("/Pod/n/{i}"))).collect(),
            faults,
            timing: RingTiming::default(),
            trace: String::new(),
        }
    }

    fn note(&mut self, what: &str) {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let seconds = self.now as f64 / SECOND as f64;
        let _ = writeln!(self.trace, "{seconds:9.3} {what}");
    }

    fn at(&mut self, at: Micros, what: Happens) {
        self.count += 1;
        self.agenda.insert((at.max(self.now), self.count), what);
    }

    /// What the clock of a replica shows.
    fn clock(&self, by: usize) -> Instant {
        let drift = i64::try_from(self.now / SECOND).unwrap() * self.replicas[by].drift;
        self.began + Duration::from_micros(self.now.checked_add_signed(drift).unwrap_or(0) + HEADSTART)
    }

    /// When the clock of a replica will show this, or a little later.
    fn when(&self, by: usize, clock: Instant) -> Micros {
        let left = clock.saturating_duration_since(self.clock(by));
        self.now + u64::try_from(left.as_micros()).unwrap() + 1
    }

    pub(super) fn join(&mut self, name: &str) -> usize {
        let by = self.replicas.len();
        let name: Arc<str> = name.into();
        self.note(&format!("replica {by} joins as {name}"));
        let drift = self.random.i64(-10_000..10_000);
        self.replicas.push(Replica {
            name: Arc::clone(&name),
            machine: Membership::new(name, format!("run-{by}"), self.timing, self.began),
            share: Share::default(),
            drift,
            paused: None,
            alive: true,
            cut_off: false,
            working: BTreeMap::new(),
            request: 0,
        });
        let incarnation = format!("run-{by}");
        let (clock, replica) = (self.clock(by), &mut self.replicas[by]);
        replica.machine = Membership::new(Arc::clone(&replica.name), incarnation, self.timing, clock);
        self.at(self.now, Happens::Wake { by });
        self.at(self.now, Happens::Look { by });
        by
    }

    /// What a replica's machine makes of an event.
    fn tell(&mut self, by: usize, event: Event) {
        let clock = self.clock(by);
        let effects = self.replicas[by].machine.step(event, clock);
        for effect in effects {
            match effect {
                Effect::Write(write) => self.send(by, true, |request| Happens::Write { by, request, write }),
                Effect::List => self.send(by, false, |request| Happens::List { by, request }),
                Effect::Remove { name, version } => self.at(self.now, Happens::Remove { name, version }),
                Effect::Share(share) => self.share(by, share),
                Effect::Left => {
                    self.note(&format!("replica {by} has left"));
                    let replica = &mut self.replicas[by];
                    assert!(
                        replica.working.is_empty() || replica.share.until.is_none(),
                        "a replica leaves with its work done"
                    );
                    replica.alive = false;
                }
            }
        }
        if let Some(wake) = self.replicas[by].machine.wake() {
            let at = self.when(by, wake);
            self.at(at, Happens::Wake { by });
        }
    }

    fn share(&mut self, by: usize, share: Share) {
        let stop = share.until.is_none() && self.replicas[by].share.until.is_some();
        let changed = share.generation != self.replicas[by].share.generation;
        let (held, draining, generation) =
            (share.held.fraction(), share.draining.fraction(), share.generation);
        self.replicas[by].share = share;
        if changed {
            self.note(&format!("replica {by} holds {held:.3}, drains {draining:.3}"));
        }
        if stop {
            let works: Vec<_> = self.replicas[by].working.iter().map(|(k, w)| (*k, *w)).collect();
            for (key, work) in works {
                let at = self.now + self.random.u64(0..GRACE);
                self.at(at, Happens::Done { by, key, work });
            }
        }
        if draining > 0.0 {
            self.drained(by, generation);
        }
    }

    fn drained(&mut self, by: usize, generation: u64) {
        let replica = &self.replicas[by];
        let runs = |key: &usize| replica.share.draining.contains(self.keys[*key]);
        if !replica.working.keys().any(runs) {
            self.at(self.now, Happens::Drained { by, generation });
        }
    }

    fn delay(&mut self) -> Micros {
        // Now and then something takes long; if all did, nobody would ever have anything.
        let longest = match self.random.u8(0..8) {
            0 => self.faults.delay,
            _ => CALM.delay,
        };
        self.now + self.random.u64(0..=longest)
    }

    fn lost(&mut self, by: usize) -> bool {
        self.replicas[by].cut_off || self.random.u8(0..100) < self.faults.lost
    }

    fn send(&mut self, by: usize, writes: bool, request: impl FnOnce(u64) -> Happens) {
        self.replicas[by].request += 1;
        let id = self.replicas[by].request;
        let timeout = self.clock(by) + self.timing.request_timeout();
        let timeout = self.when(by, timeout);
        self.at(
            timeout,
            Happens::Timeout {
                by,
                request: id,
                writes,
            },
        );
        if !self.lost(by) {
            let at = self.delay();
            self.at(at, request(id));
        }
    }

    fn answer(&mut self, by: usize, answer: Happens) {
        if !self.lost(by) {
            let at = self.delay();
            self.at(at, answer);
        }
    }

    fn serve_write(&mut self, by: usize, write: &LeaseWrite) -> Result<String, WriteFailure> {
        let replica = &self.replicas[by];
        let there = self.leases.get(&replica.name).map(|lease| &lease.version);
        if there != write.version.as_ref() {
            return Err(WriteFailure::Changed);
        }
        self.count += 1;
        let version = self.count.to_string();
        let record = LeaseRecord {
            name: Arc::clone(&replica.name),
            version: version.clone(),
            incarnation: format!("run-{by}"),
            hold: write.hold,
            duration: self.timing.lease_duration(),
            claim: Claim::Members(write.members.clone()),
        };
        self.leases.insert(Arc::clone(&replica.name), record);
        Ok(version)
    }

    fn happen(&mut self, what: Happens) {
        if let Some(by) = what.replica() {
            let replica = &mut self.replicas[by];
            if !replica.alive {
                return;
            }
            if let Some(missed) = &mut replica.paused {
                return missed.push(what);
            }
        }
        match what {
            Happens::Write { by, request, write } => {
                let outcome = self.serve_write(by, &write);
                self.answer(by, Happens::Wrote { by, request, outcome });
            }
            Happens::List { by, request } => {
                let leases = self.leases.values().cloned().collect();
                self.answer(by, Happens::Listed { by, request, leases });
            }
            Happens::Remove { name, version } => {
                if self
                    .leases
                    .get(&name)
                    .is_some_and(|lease| lease.version == version)
                {
                    self.leases.remove(&name);
                }
            }
            Happens::Wrote { by, request, outcome } if self.is_awaited(by, request) => {
                self.tell(by, Event::Wrote(outcome));
            }
            Happens::Listed { by, request, leases } if self.is_awaited(by, request) => {
                self.tell(by, Event::Listed(Some(leases)));
            }
            Happens::Timeout { by, request, writes } if self.is_awaited(by, request) => {
                self.tell(
                    by,
                    match writes {
                        true => Event::Wrote(Err(WriteFailure::Unknown)),
                        false => Event::Listed(None),
                    },
                );
            }
            Happens::Wrote { .. } | Happens::Listed { .. } | Happens::Timeout { .. } => {}
            Happens::Wake { by } => self.tell(by, Event::Timer),
            Happens::Drained { by, generation } => self.tell(by, Event::Drained(generation)),
            Happens::Look { by } => self.look(by),
            Happens::Done { by, key, work } => {
                let replica = &mut self.replicas[by];
                if replica.working.get(&key) == Some(&work) {
                    replica.working.remove(&key);
                    let generation = replica.share.generation;
                    self.drained(by, generation);
                }
            }
            Happens::Resume { by } => self.resume(by),
        }
    }

    /// Each request is answered once.
    fn is_awaited(&mut self, by: usize, request: u64) -> bool {
        let replica = &mut self.replicas[by];
        let awaited = replica.request == request;
        replica.request += u64::from(awaited);
        awaited
    }

    fn look(&mut self, by: usize) {
        let key = self.random.usize(0..KEYS);
        let free = !self.replicas[by].working.contains_key(&key);
        if free && self.may_take(by, key) {
            self.count += 1;
            let work = self.count;
            self.replicas[by].working.insert(key, work);
            let at = self.now + self.random.u64(0..self.faults.work);
            self.at(at, Happens::Done { by, key, work });
        }
        let at = self.now + self.random.u64(SECOND / 20..SECOND / 2);
        self.at(at, Happens::Look { by });
    }

    fn may_take(&self, by: usize, key: usize) -> bool {
        let share = &self.replicas[by].share;
        share.until.is_some_and(|until| self.clock(by) < until) && share.held.contains(self.keys[key])
    }

    /// Work that was paused looks whether it may go on before it does anything.
    fn resume(&mut self, by: usize) {
        let Some(missed) = self.replicas[by].paused.take() else {
            return;
        };
        self.note(&format!("replica {by} goes on"));
        let clock = self.clock(by);
        let replica = &mut self.replicas[by];
        if replica.share.until.is_none_or(|until| until <= clock) {
            replica.working.clear();
        }
        self.at(self.now, Happens::Wake { by });
        for what in missed {
            self.at(self.now, what);
        }
        let generation = self.replicas[by].share.generation;
        self.drained(by, generation);
    }

    /// Who works on a key, or might begin to at this moment.
    fn owners(&self, key: usize) -> Vec<usize> {
        let acts = |by: &usize| {
            let replica = &self.replicas[*by];
            let runs = replica.alive && replica.paused.is_none();
            runs && (replica.working.contains_key(&key) || self.may_take(*by, key))
        };
        (0..self.replicas.len()).filter(acts).collect()
    }

    /// Runs the world for so long, and looks at every moment whether a key has two owners.
    pub(super) fn run(&mut self, time: Micros) {
        let end = self.now + time;
        while let Some(entry) = self.agenda.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((at, _), what) = entry.remove_entry();
            self.now = at;
            self.happen(what);
            for key in 0..KEYS {
                let owners = self.owners(key);
                assert!(
                    owners.len() < 2,
                    "key {key} has the owners {owners:?}:\n{}",
                    self.trace
                );
            }
        }
        self.now = end;
    }

    /// Tells a replica's machine of an event, and answers its requests at once until it has none.
    fn serve(&mut self, by: usize, event: Event) {
        let clock = self.clock(by);
        let mut next = Some(event);
        while let Some(event) = next.take() {
            for effect in self.replicas[by].machine.step(event, clock) {
                match effect {
                    Effect::Write(write) => next = Some(Event::Wrote(self.serve_write(by, &write))),
                    Effect::List => next = Some(self.listed()),
                    Effect::Share(share) => self.replicas[by].share = share,
                    Effect::Remove { .. } => {}
                    Effect::Left => self.replicas[by].alive = false,
                }
            }
        }
    }

    fn listed(&self) -> Event {
        Event::Listed(Some(self.leases.values().cloned().collect()))
    }

    fn living(&self) -> Vec<usize> {
        (0..self.replicas.len())
            .filter(|by| self.replicas[*by].alive)
            .collect()
    }

    /// Something goes wrong, or changes.
    fn trouble(&mut self, names: usize) {
        let living = self.living();
        let by = match living.len() {
            0 => 0,
            count => living[self.random.usize(0..count)],
        };
        let kind = self.random.u8(0..13);
        if living.is_empty() || (kind < 4 && living.len() < 6) {
            // Now and then somebody has the name of another, or of one that went.
            let name = format!("replica-{}", self.random.usize(0..names));
            self.join(&name);
            return;
        }
        match kind {
            4 => {
                self.note(&format!("replica {by} crashes"));
                self.replicas[by].alive = false;
            }
            5 | 6 => {
                self.note(&format!("replica {by} is to leave"));
                if self.replicas[by].paused.is_none() {
                    self.tell(by, Event::Leave);
                }
            }
            7 | 8 => {
                let long = self.random.u64(0..60 * SECOND);
                self.note(&format!("replica {by} pauses"));
                self.replicas[by].paused.get_or_insert_default();
                let at = self.now + long;
                self.at(at, Happens::Resume { by });
            }
            9 | 10 => {
                let cut_off = !self.replicas[by].cut_off;
                self.note(&format!("replica {by} is cut off: {cut_off}"));
                self.replicas[by].cut_off = cut_off;
            }
            _ => self.meddle(),
        }
    }

    /// Somebody writes to a lease by hand, and at times makes its claim unreadable.
    fn meddle(&mut self) {
        let names: Vec<_> = self.leases.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let name = &names[self.random.usize(0..names.len())];
        self.note(&format!("somebody writes to the lease of {name}"));
        self.count += 1;
        let scramble = self.random.bool();
        if let Some(lease) = self.leases.get_mut(name) {
            lease.version = self.count.to_string();
            if scramble {
                lease.claim = Claim::Unreadable;
            }
        }
    }

    /// All is well from now on.
    fn calm(&mut self) {
        self.note("all is well");
        self.faults = CALM;
        for by in self.living() {
            self.replicas[by].cut_off = false;
            self.resume(by);
        }
    }

    /// Each key belongs to the one whose it is on the ring of the living.
    pub(super) fn check_owners(&self) {
        let living = self.living();
        let names: std::collections::BTreeSet<_> = living
            .iter()
            .map(|by| Arc::clone(&self.replicas[*by].name))
            .collect();
        let ring = Ring::new(&names);
        for key in 0..KEYS {
            let owners = self.owners(key);
            let owners: Vec<_> = owners.iter().map(|by| &self.replicas[*by].name).collect();
            let expect = Vec::from_iter(ring.owner(self.keys[key]));
            assert_eq!(owners, expect, "key {key}:\n{}", self.trace);
        }
    }

    pub(super) fn held(&self, by: usize) -> HashRanges {
        self.replicas[by].share.held.clone()
    }

    pub(super) fn leave(&mut self, by: usize) {
        self.tell(by, Event::Leave);
    }

    pub(super) fn crash(&mut self, by: usize) {
        self.replicas[by].alive = false;
    }

    pub(super) fn lease_count(&self) -> usize {
        self.leases.len()
    }
}

/// Clocks may run slow, and must not show what was before they began.
const HEADSTART: u64 = 3600 * SECOND;

/// A dead replica's time, a drain that begins at its end, and some rounds.
fn settling(timing: &RingTiming) -> Micros {
    let time = timing.lease_duration() + timing.renew_deadline() + timing.retry_period() * 8;
    u64::try_from(time.as_micros()).unwrap() + STORM.work
}

#[test]
fn no_key_has_two_owners() {
    let seeds = std::env::var("KUBEWRIGHT_RING_SEEDS")
        .ok()
        .and_then(|count| count.parse().ok());
    let first: u64 = std::env::var("KUBEWRIGHT_RING_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0);
    for seed in first..first + seeds.unwrap_or(8u64) {
        println!("seed {seed}");
        let mut world = World::new(seed, STORM);
        let names = world.random.usize(3..9);
        for _ in 0..world.random.u8(10..60) {
            world.trouble(names);
            let time = world.random.u64(0..12 * SECOND);
            world.run(time);
        }
        world.calm();
        world.run(settling(&world.timing));
        world.check_owners();
    }
}

#[test]
fn what_need_not_move_stays() {
    let mut world = World::new(1, CALM);
    let first = [world.join("a"), world.join("b"), world.join("c")];
    world.run(20 * SECOND);
    world.check_owners();
    let before = first.map(|by| world.held(by));
    let late = world.join("d");
    for _ in 0..60 {
        world.run(SECOND / 4);
        let gained = Ring::new(&["a", "b", "c", "d"].map(Arc::from)).share("d");
        for (by, before) in first.iter().zip(&before) {
            assert!(
                before.without(&gained).without(&world.held(*by)).is_empty(),
                "dropped what stays"
            );
        }
    }
    world.check_owners();
    world.leave(late);
    world.run(10 * SECOND);
    world.check_owners();
    assert_eq!(first.map(|by| world.held(by)), before, "all is as it was");
    // A share of a dead replica is not taken before its time, and then it is; its lease is removed.
    world.crash(first[2]);
    world.run(20 * SECOND);
    assert_eq!(world.held(first[0]), before[0]);
    world.run(12 * SECOND);
    world.check_owners();
    assert_eq!(world.lease_count(), 4);
    world.run(120 * SECOND);
    assert_eq!(world.lease_count(), 2);
}

#[test]
fn who_is_cut_off_leaves_all_the_same() {
    for joined in [20 * SECOND, 0] {
        let mut world = World::new(2, CALM);
        let by = world.join("a");
        world.run(joined);
        world.replicas[by].cut_off = true;
        world.leave(by);
        world.run(20 * SECOND);
        assert!(world.living().is_empty(), "{}", world.trace);
    }
}

/// A claim of which nothing was heard is written after a list that does not show it.
#[test]
fn a_write_that_comes_late_claims_what_is_held() {
    let mut world = World::new(3, CALM);
    let (a, b) = (world.join("a"), world.join("b"));
    world.serve(a, Event::Timer);
    assert_eq!(world.held(a), HashRanges::all());
    world.serve(b, Event::Timer);
    world.now += 3 * SECOND;
    world.serve(a, Event::Timer);
    // What belongs to b is drained, and its claim given up.
    let drained = Event::Drained(world.replicas[a].share.generation);
    let clock = world.clock(a);
    let effects = world.replicas[a].machine.step(drained, clock);
    let Some(Effect::Write(late)) = effects.last() else {
        panic!("{effects:?}")
    };
    let unknown = Event::Wrote(Err(WriteFailure::Unknown));
    assert_eq!(world.replicas[a].machine.step(unknown, clock), []);
    // While that is under way b leaves, and a looks.
    world.serve(b, Event::Leave);
    assert_eq!(world.living(), [a]);
    world.now += 3 * SECOND;
    let clock = world.clock(a);
    assert_eq!(
        world.replicas[a].machine.step(Event::Timer, clock),
        [Effect::List]
    );
    let leases = world.listed();
    let mut effects = world.replicas[a].machine.step(leases, clock);
    let Some(Effect::Write(second)) = effects.pop() else {
        panic!("{effects:?}")
    };
    for effect in effects {
        if let Effect::Share(share) = effect {
            world.replicas[a].share = share;
        }
    }
    world.serve_write(a, late).unwrap();
    // Who comes now finds the keys unclaimed.
    let again = world.join("b");
    world.serve(again, Event::Timer);
    assert_ne!(world.held(again), HashRanges::default());
    for key in 0..KEYS {
        let owners = world.owners(key);
        assert!(owners.len() < 2, "key {key} has the owners {owners:?}");
    }
    let refused = world.serve_write(a, &second);
    assert_eq!(refused, Err(WriteFailure::Changed));
    world.serve(a, Event::Wrote(refused));
    world.now += 3 * SECOND;
    world.serve(a, Event::Timer);
    world.check_owners();
}
