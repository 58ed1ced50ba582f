//! Which share of a ring a replica has, as a state machine.
//!
//! Every replica has a lease of its own, and in it a *claim*: the members of the ring by which it reckons its share. A
//! replica works on a key only while
//!
//! 1. its own lease, as the server has it, claims the key, and
//! 2. a list that began after that claim was written, and was answered, showed no other living replica that claims it.
//!
//! Two replicas never pass both for one key: the one whose claim was written last sees the other's. Nobody decides for
//! all, so there is nobody to elect and nothing to agree on; views of the ring may differ for a while, and where they do,
//! claims overlap and the later waits.
//!
//! A key changes hands in two phases. The one that loses it stops taking it and waits until what runs of it is done;
//! only then it writes a claim without it, which is its acknowledgement. Its successor has claimed the key long before,
//! and takes it when a list no longer shows the other's claim.
//!
//! Times are those of leader election (client-go `tools/leaderelection`): no clock is compared with another's. A replica
//! stops when its last renewal *began* the renew deadline ago. Others take what a lease claims when a list that began
//! the lease's duration and the renew deadline after they last saw it change shows it unchanged; by then its holder
//! has noticed, even if it is cut off. A lease that was released is passed over at once; one that vanished otherwise, for
//! instance by hand, counts until its time is over.

#[cfg(test)]
mod model;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hash_ranges::HashRanges;
use super::ring::Rings;
use super::timing::RingTiming;

/// A lease of the ring, as the machine looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseRecord {
    pub(crate) name: Arc<str>,
    /// Changes with every write, of whatever.
    pub(crate) version: String,
    /// Which run of the replica wrote it.
    pub(crate) incarnation: String,
    pub(crate) hold: Hold,
    pub(crate) duration: Duration,
    pub(crate) claim: Claim,
}

/// Whether the lease's replica takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Held,
    /// It left of its own accord, and has nothing any more.
    Released,
}

/// What a replica claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Its share of the ring of these, in order; nothing if it is not one of them.
    Members(Vec<Arc<str>>),
    /// It cannot be read, as when a newer release wrote it: it may be anything.
    Unreadable,
}

/// What the machine is told.
#[derive(Debug)]
pub(crate) enum Event {
    /// Begin, or it is [`Membership::wake`].
    Timer,
    /// The answer to [`Effect::Write`]: the lease's new version.
    Wrote(Result<String, WriteFailure>),
    /// The answer to [`Effect::List`]: all leases of the ring, as new as when the list began. `None`: it failed.
    Listed(Option<Vec<LeaseRecord>>),
    /// Nothing runs any more of what was being drained in this generation.
    Drained(u64),
    /// The replica is to leave the ring.
    Leave,
}

/// Why a write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteFailure {
    /// The lease is not as it was, is gone, or is there already.
    Changed,
    /// Anything else; it may have been written.
    Unknown,
}

/// What the machine wants done. There is at most one write or list at a time.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Write the own lease.
    Write(LeaseWrite),
    /// List the leases of the ring, consistently.
    List,
    /// Remove a lease that nobody needs, if it is still as it was; nobody waits for that.
    Remove { name: Arc<str>, version: String },
    /// This is the share from now on.
    Share(Share),
    /// The replica is out of the ring.
    Left,
}

/// The own lease as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseWrite {
    /// The version that it must have; `None` to create it.
    pub(crate) version: Option<String>,
    pub(crate) hold: Hold,
    pub(crate) members: Vec<Arc<str>>,
}

/// What a replica may work on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Share {
    /// Grows whenever the ranges change.
    pub(crate) generation: u64,
    /// What may be taken.
    pub(crate) held: HashRanges,
    /// What may not be taken any more, but may still run.
    pub(crate) draining: HashRanges,
    /// Nothing at all may run from then on; `None`: now.
    pub(crate) until: Option<Instant>,
    /// The replicas among whom the last list found the keys shared out, this one included.
    pub(crate) members: Vec<Arc<str>>,
}

/// One replica of a ring.
#[derive(Debug)]
pub(crate) struct Membership {
    name: Arc<str>,
    incarnation: String,
    timing: RingTiming,
    /// By name: the other replicas, and whoever had this one's name before.
    others: BTreeMap<Arc<str>, Other>,
    /// The version of the own lease, if it is there.
    version: Option<String>,
    /// What is to be found out before the next write: whether the own lease is as it was left.
    doubt: bool,
    /// The members by which the own lease claims, or did when this replica wrote it last; none if it claims nothing. All
    /// that is held or drained is claimed by them.
    claimed: Vec<Arc<str>>,
    /// Whether that is what the lease says: otherwise somebody changed it by hand.
    stands: bool,
    share: Share,
    leaving: bool,
    rings: Rings,
    stage: Stage,
}

#[derive(Debug)]
struct Other {
    record: LeaseRecord,
    /// When it was seen to have changed.
    seen: Instant,
    /// Whether the last list had it.
    listed: bool,
}

#[derive(Debug)]
enum Stage {
    Idle(Instant),
    Writing {
        started: Instant,
        write: LeaseWrite,
    },
    Listing {
        started: Instant,
        /// Whether a write that succeeded came right before it; if not, one is due.
        renewed: bool,
    },
    Left,
}

impl Membership {
    /// A replica that begins now. The incarnation is different in each run.
    pub(crate) fn new(name: Arc<str>, incarnation: String, timing: RingTiming, now: Instant) -> Self {
        Self {
            name,
            incarnation,
            timing,
            others: BTreeMap::new(),
            version: None,
            doubt: true,
            claimed: Vec::new(),
            stands: true,
            share: Share::default(),
            leaving: false,
            rings: Rings::default(),
            stage: Stage::Idle(now),
        }
    }

    /// When [`Event::Timer`] is to be sent, if nothing comes before; `None` when the replica has left.
    pub(crate) fn wake(&self) -> Option<Instant> {
        let idle = match self.stage {
            Stage::Idle(until) => Some(until),
            Stage::Left => return None,
            _ => None,
        };
        [idle, self.share.until].into_iter().flatten().min()
    }

    /// Takes an event in at a time that never goes backwards. The answer to a request that was given up is an error.
    pub(crate) fn step(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        let before = self.share.clone();
        if self.share.until.is_some_and(|until| until <= now) {
            self.forfeit();
        }
        let stage = std::mem::replace(&mut self.stage, Stage::Idle(now));
        match (stage, event) {
            (Stage::Left, _) => self.stage = Stage::Left,
            (Stage::Writing { started, write }, Event::Wrote(outcome)) => {
                self.wrote(started, write, outcome, now, &mut effects);
            }
            (Stage::Listing { started, renewed }, Event::Listed(outcome)) => match outcome {
                Some(leases) => {
                    self.listed(leases, started, now, &mut effects);
                    self.go_on(started, renewed, now, &mut effects);
                }
                None => self.failed(now, &mut effects),
            },
            (stage, event) => {
                match event {
                    Event::Drained(generation) if generation == self.share.generation => {
                        self.share.draining = HashRanges::default();
                    }
                    Event::Leave => {
                        self.leaving = true;
                        self.give_up(&HashRanges::all());
                    }
                    _ => {}
                }
                match stage {
                    Stage::Idle(until) if until > now && !self.has_news() => self.stage = Stage::Idle(until),
                    Stage::Idle(_) => self.begin(now, &mut effects),
                    busy => self.stage = busy,
                }
            }
        }
        if self.share.held != before.held || self.share.draining != before.draining {
            self.share.generation = before.generation + 1;
        }
        if self.share != before {
            effects.insert(0, Effect::Share(self.share.clone()));
        }
        effects
    }

    /// Whether the lease is to say something else than it does, and may.
    fn has_news(&self) -> bool {
        let drained = self.share.draining.is_empty();
        !self.doubt && (!self.stands || (drained && (self.leaving || self.share.members != self.claimed)))
    }

    fn rest(&mut self, now: Instant) {
        self.stage = Stage::Idle(now + self.timing.retry_period());
    }

    /// Lists or writes, whichever is due.
    fn begin(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.doubt {
            return self.list(false, now, effects);
        }
        let release = self.leaving && self.share.draining.is_empty();
        if release && self.version.is_none() {
            self.stage = Stage::Left;
            return effects.push(Effect::Left);
        }
        if self.version.is_none() && self.others.contains_key(&self.name) {
            // The place is taken: by an earlier run that may still live, or by someone of the same name.
            self.doubt = true;
            return self.rest(now);
        }
        let keep = self.leaving || !self.share.draining.is_empty();
        let write = LeaseWrite {
            version: self.version.clone(),
            hold: if release { Hold::Released } else { Hold::Held },
            members: match keep {
                _ if release => Vec::new(),
                true => self.claimed.clone(),
                false => self.share.members.clone(),
            },
        };
        effects.push(Effect::Write(write.clone()));
        self.stage = Stage::Writing { started: now, write };
    }

    /// The server cannot be reached, or says no.
    fn failed(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.leaving && self.share.until.is_none() && self.share.draining.is_empty() {
            // Nothing is held or runs any more, and others learn it from the time.
            self.stage = Stage::Left;
            return effects.push(Effect::Left);
        }
        self.rest(now);
    }

    fn list(&mut self, renewed: bool, now: Instant, effects: &mut Vec<Effect>) {
        effects.push(Effect::List);
        self.stage = Stage::Listing {
            started: now,
            renewed,
        };
    }

    fn wrote(
        &mut self,
        started: Instant,
        write: LeaseWrite,
        outcome: Result<String, WriteFailure>,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        match outcome {
            Ok(version) => {
                self.version = Some(version);
                self.claimed = write.members;
                self.stands = true;
                if write.hold == Hold::Released {
                    self.stage = Stage::Left;
                    return effects.push(Effect::Left);
                }
                let until = started + self.timing.renew_deadline();
                self.share.until = Some(until).filter(|until| *until > now);
                self.list(self.share.until.is_some(), now, effects);
            }
            Err(_) => {
                self.doubt = true;
                self.failed(now, effects);
            }
        }
    }

    /// Takes in what a list showed that began at `started`.
    fn listed(
        &mut self,
        leases: Vec<LeaseRecord>,
        started: Instant,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        self.doubt = false;
        self.others.values_mut().for_each(|other| other.listed = false);
        let mut own = None;
        for record in leases {
            if record.name == self.name && record.incarnation == self.incarnation {
                own = Some(record);
                continue;
            }
            match self.others.get_mut(&record.name) {
                Some(other) if other.record.version == record.version => other.listed = true,
                _ => {
                    let other = Other {
                        seen: now,
                        listed: true,
                        record,
                    };
                    self.others.insert(Arc::clone(&other.record.name), other);
                }
            }
        }
        let timing = self.timing;
        self.others
            .retain(|_, other| other.listed || !other.is_gone(started, &timing));
        self.own_lease(own, started);
        let alive = |other: &&Other| *other.record.name != *self.name && !other.is_gone(started, &timing);
        let names = self.others.values().filter(alive).map(|other| &other.record.name);
        let mut target: Vec<_> = names.chain([&self.name]).cloned().collect();
        target.sort_unstable();
        self.share.members = target;
        self.tidy(started, effects);
    }

    /// What the own lease says, or that it is gone.
    fn own_lease(&mut self, own: Option<LeaseRecord>, started: Instant) {
        if let Some(own) = own {
            self.others.remove(&self.name);
            self.version = Some(own.version);
            return self.own_claim(&own.claim);
        }
        if self.version.take().is_some() {
            // What still runs is claimed again, by a lease of its own.
            self.forfeit();
        }
        // A lease of an earlier run that is over is taken over.
        if let Some(earlier) = self.others.get(&self.name)
            && earlier.listed
            && earlier.is_gone(started, &self.timing)
        {
            self.version = Some(earlier.record.version.clone());
            self.others.remove(&self.name);
        }
    }

    fn own_claim(&mut self, claim: &Claim) {
        let Claim::Members(members) = claim else {
            // Which others take for a claim of everything.
            self.stands = false;
            return;
        };
        let claimed = self.rings.share(members, &self.name);
        let mine = self.share.held.union(&self.share.draining);
        if mine.without(&claimed).is_empty() {
            // What it was, or a write of which nothing was heard.
            self.claimed.clone_from(members);
            self.stands = true;
        } else {
            self.stands = false;
            self.give_up(&HashRanges::all().without(&claimed));
        }
    }

    /// After a list: gives up what belongs to others now, takes what nobody else claims, and says what comes next.
    fn go_on(&mut self, started: Instant, renewed: bool, now: Instant, effects: &mut Vec<Effect>) {
        let wanted = match self.leaving {
            true => HashRanges::default(),
            false => self.rings.share(&self.share.members, &self.name),
        };
        self.give_up(&HashRanges::all().without(&wanted));
        // Not where the last write is one of which nothing was heard: it may come yet, and claim less than the lease does
        // at present. After one that succeeded it comes too late.
        if renewed && self.share.until.is_some() && self.stands {
            let claimed = self.rings.share(&self.claimed, &self.name);
            let others = self.claimed_by_others(started);
            let free = claimed
                .intersection(&wanted)
                .without(&self.share.draining)
                .without(&others);
            self.share.held = self.share.held.union(&free);
        }
        if self.has_news() || !renewed {
            self.begin(now, effects);
        } else {
            self.rest(now);
        }
    }

    /// What others claim who may still live.
    fn claimed_by_others(&mut self, at: Instant) -> HashRanges {
        let timing = self.timing;
        let mut all = HashRanges::default();
        for other in self.others.values().filter(|other| !other.is_gone(at, &timing)) {
            match &other.record.claim {
                Claim::Members(members) => all = all.union(&self.rings.share(members, &other.record.name)),
                Claim::Unreadable => return HashRanges::all(),
            }
        }
        all
    }

    /// The first of the living removes leases that have been over for long.
    fn tidy(&self, at: Instant, effects: &mut Vec<Effect>) {
        if self.share.members.first() != Some(&self.name) || self.leaving {
            return;
        }
        for (name, other) in &self.others {
            let over = other.is_gone(at, &self.timing) && at >= other.seen + ORPHANED;
            if over && other.listed {
                effects.push(Effect::Remove {
                    name: Arc::clone(name),
                    version: other.record.version.clone(),
                });
            }
        }
    }

    /// Stops taking these keys, where they are held; they stay claimed until what runs of them is done.
    fn give_up(&mut self, keys: &HashRanges) {
        let lost = self.share.held.intersection(keys);
        if !lost.is_empty() {
            self.share.held = self.share.held.without(&lost);
            self.share.draining = self.share.draining.union(&lost);
        }
    }

    /// The lease ran out, or somebody else has it.
    fn forfeit(&mut self) {
        self.share.until = None;
        self.give_up(&HashRanges::all());
    }
}

impl Other {
    /// Whether what it claims may be taken, seen by a list that began then.
    fn is_gone(&self, at: Instant, timing: &RingTiming) -> bool {
        let over = self.seen + self.record.duration + timing.renew_deadline();
        self.record.hold == Hold::Released || at >= over
    }
}

/// How long a lease that is over is kept for those who have not looked yet.
const ORPHANED: Duration = Duration::from_secs(60);
