//! A replica's share of a ring, as the rest of the program sees it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use hashbrown::HashMap;
use kubewright_client::{Client, ClientOptions};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::hash_ranges::HashRanges;
use super::keeper;
use super::key::ShardKey;
use super::membership::Share;
use super::timing::RingTiming;

/// How a replica joins a ring.
#[derive(Debug, Clone)]
pub struct RingOptions {
    /// The name of the ring: all replicas that share out the same keys use the same. A label value.
    pub ring: String,
    /// The namespace of the leases.
    pub namespace: String,
    /// The name of this replica, and of its lease: the name of its pod. No two replicas have the same. If an earlier
    /// run of it did not leave, it waits until that one's lease has run out.
    pub replica: String,
    /// Default: that of leader election.
    pub timing: RingTiming,
}

impl RingOptions {
    /// With the default times.
    #[must_use]
    pub fn new(ring: impl Into<String>, namespace: impl Into<String>, replica: impl Into<String>) -> Self {
        Self {
            ring: ring.into(),
            namespace: namespace.into(),
            replica: replica.into(),
            timing: RingTiming::default(),
        }
    }
}

/// A replica's share of a ring of replicas.
///
/// Whatever happens to replicas, network and server, no key is in the hands of two replicas at once, as long as work
/// on a key happens between [`begin`](Self::begin) and the drop of what it returns, and stops when that is
/// [revoked](InHand::revoked). Three things are beyond its reach: a process that was stopped for longer than its lease in
/// the midst of a request to somewhere else, and finishes that; a machine that was suspended, where the clock of the process
/// stood still meanwhile, as on Linux; and a lease that somebody removes by hand just when a replica joins. Whoever must be
/// safe from these as well makes writes that fail when the object is not as it was read.
///
/// A handle: clones stand for the same replica, which leaves the ring when the last is dropped. Who ends the process
/// afterwards awaits [`leave`](Self::leave), so that others need not wait for the lease to run out.
#[derive(Clone)]
pub struct Shard {
    handle: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.leave.notify_one();
    }
}

/// What handles, work and the task that keeps the lease share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// The last of [`State::generation`] that was told of.
    generations: watch::Sender<u64>,
    /// Until when work may go on.
    terms: watch::Sender<Term>,
    /// Some work has ended.
    pub(super) ended: Notify,
    /// The replica is to leave.
    pub(super) leave: Notify,
    left: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    share: Share,
    /// Counts changes of what may be taken: of the ranges, and of times in which nothing might be.
    generation: u64,
    /// What is held, by the time since when it is held without a break.
    spells: Vec<Spell>,
    /// How much work there is on each key.
    running: HashMap<u64, usize>,
}

/// Ranges that are held since a generation of [`Shard::generations`].
struct Spell {
    since: u64,
    ranges: HashRanges,
}

/// A time in which the replica may work without a break.
#[derive(Clone, Copy, Default)]
struct Term {
    number: u64,
    until: Option<Instant>,
}

impl Shard {
    /// Joins a ring, on a task of its own, and goes on trying when the server is not there. It has no share at first.
    ///
    /// The client has to be allowed to list, create, patch and delete leases in the namespace. The rate limit of its options does not
    /// hold for these requests: a renewal that waited behind others would come too late. The ring is left when the runtime ends, too.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn join(client: &Client, options: RingOptions) -> Self {
        let shared = Arc::new(Shared::new());
        let client = client.with_client_options(ClientOptions {
            rate_limit: None,
            ..client.options().clone()
        });
        let leaving = keeper::Leaving(Arc::clone(&shared));
        tokio::spawn(keeper::keep(client, options, leaving));
        Self::of(shared)
    }

    fn of(shared: Arc<Shared>) -> Self {
        Self {
            handle: Arc::new(Handle { shared }),
        }
    }

    /// Whether the replica may take work on this key now. For work itself use [`begin`](Self::begin): an answer may be
    /// out of date as soon as it is given.
    #[must_use]
    pub fn owns(&self, key: ShardKey) -> bool {
        self.handle.shared.state.lock().owns(key)
    }

    /// Takes a key in hand; `None` if it is not this replica's, now. As long as the result lives the key is given to no
    /// other replica, unless this one is cut off.
    #[must_use]
    pub fn begin(&self, key: ShardKey) -> Option<InHand> {
        let shared = &self.handle.shared;
        let mut state = shared.state.lock();
        if !state.owns(key) {
            return None;
        }
        *state.running.entry(key.hash()).or_default() += 1;
        Some(InHand {
            shared: Arc::clone(shared),
            key,
            // The share is changed under the same lock.
            term: shared.terms.borrow().number,
        })
    }

    /// Counts changes of what the replica owns, those among them that nobody saw: a lease that ran out and was renewed.
    #[must_use]
    pub fn generations(&self) -> watch::Receiver<u64> {
        self.handle.shared.generations.subscribe()
    }

    /// Which of the [generations](Self::generations) brought this key, if the replica owns it now: since then it has been
    /// its without a break. Whoever passes over keys that are not the replica's looks again, at each change, for those
    /// that came later than the generation in which it looked last; a key may have gone and come back in between.
    #[must_use]
    pub fn owned_since(&self, key: ShardKey) -> Option<u64> {
        let state = self.handle.shared.state.lock();
        let mut spells = state.spells.iter().filter(|_| state.owns(key));
        let spell = spells.find(|spell| spell.ranges.contains(key.hash()))?;
        Some(spell.since)
    }

    pub(super) fn generation(&self) -> u64 {
        self.handle.shared.state.lock().generation
    }

    /// How the replica fares.
    #[must_use]
    pub fn status(&self) -> ShardStatus {
        let state = self.handle.shared.state.lock();
        let part = |ranges: &HashRanges| if state.is_over() { 0.0 } else { ranges.fraction() };
        ShardStatus {
            members: state.share.members.clone(),
            generation: state.share.generation,
            held: part(&state.share.held),
            draining: state.share.draining.fraction(),
            in_hand: state.running.values().sum(),
            until: state.share.until.filter(|_| !state.is_over()),
        }
    }

    /// Leaves the ring: takes no more work at once, waits until what runs is done, releases the lease, and then the
    /// result is ready. Nothing goes back to this replica; it may join again.
    pub fn leave(&self) -> impl Future<Output = ()> + Send + 'static {
        let shared = Arc::clone(&self.handle.shared);
        shared.leave.notify_one();
        async move {
            let mut left = shared.left.subscribe();
            // The sender lives as long as this future.
            let _ = left.wait_for(|left| *left).await;
        }
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shard").field(&self.status()).finish()
    }
}

/// How a replica of a ring fares, for metrics and for people.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ShardStatus {
    /// The names of the replicas among whom keys are shared out, as this one sees it, in order.
    pub members: Vec<Arc<str>>,
    /// Counts changes of what the replica holds.
    pub generation: u64,
    /// The part of all keys that it may work on, from 0 to 1.
    pub held: f64,
    /// The part of all keys that it gives up as soon as nothing runs of them: where this stays above 0, work hangs.
    pub draining: f64,
    /// How much work it has in hand.
    pub in_hand: usize,
    /// When it stops unless it renews its lease before; `None` if it holds none.
    pub until: Option<std::time::Instant>,
}

impl State {
    fn is_over(&self) -> bool {
        // Asked anew each time, so that a process that was stopped does not go on with what it had.
        self.share
            .until
            .is_none_or(|until| until <= Instant::now().into_std())
    }

    fn owns(&self, key: ShardKey) -> bool {
        self.share.held.contains(key.hash()) && !self.is_over()
    }

    /// After the share has changed; `anew`: nothing was held meanwhile.
    fn begin_generation(&mut self, anew: bool) -> u64 {
        self.generation += 1;
        let held = &self.share.held;
        let mut gained = held.clone();
        self.spells.retain_mut(|spell| {
            spell.ranges = spell.ranges.intersection(held);
            if !anew {
                gained = gained.without(&spell.ranges);
            }
            !anew && !spell.ranges.is_empty()
        });
        if !gained.is_empty() {
            self.spells.push(Spell {
                since: self.generation,
                ranges: gained,
            });
        }
        self.generation
    }
}

impl Shared {
    fn new() -> Self {
        Self {
            state: Mutex::default(),
            generations: watch::Sender::default(),
            terms: watch::Sender::default(),
            ended: Notify::new(),
            leave: Notify::new(),
            left: watch::Sender::default(),
        }
    }

    pub(super) fn set(&self, share: Share) {
        let mut state = self.state.lock();
        let until = share.until.map(Instant::from_std);
        let over = state.is_over();
        self.terms.send_modify(|term| {
            // Once a term is over, another one revokes no less what began in the former.
            term.number += u64::from(over);
            term.until = until;
        });
        // Who asked while the term was over was told that nothing is owned, though the ranges may be as they were.
        let regained = over && !share.held.is_empty();
        let changed = regained || share.generation != state.share.generation;
        state.share = share;
        let generation = changed.then(|| state.begin_generation(over));
        // Whoever looks at the last generation may ask for the share meanwhile, and is waited for.
        drop(state);
        if let Some(generation) = generation {
            self.generations.send_modify(|last| *last = generation.max(*last));
        }
    }

    /// The generation whose drained keys nobody works on, if some are drained.
    pub(super) fn drained(&self) -> Option<u64> {
        let state = self.state.lock();
        let draining = &state.share.draining;
        let runs = || state.running.keys().any(|hash| draining.contains(*hash));
        (!draining.is_empty() && !runs()).then_some(state.share.generation)
    }

    pub(super) fn has_left(&self) {
        let generation = self.state.lock().share.generation + 1;
        self.set(Share {
            generation,
            ..Share::default()
        });
        self.left.send_replace(true);
    }
}

/// A key that this replica works on.
#[must_use = "the key is only in hand until this is dropped"]
pub struct InHand {
    shared: Arc<Shared>,
    key: ShardKey,
    term: u64,
}

impl InHand {
    /// Whether the replica lost its lease since it took the key, because it could not renew it in time. Others may have
    /// the key soon: what is not done yet must not be done.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        let term = self.shared.terms.borrow();
        term.number != self.term || term.until.is_none_or(|until| until <= Instant::now())
    }

    /// Waits for [`is_revoked`](Self::is_revoked): work that is to stop then is run in a select beside this. Drop it
    /// within the renew deadline.
    pub async fn revoked(&self) {
        let mut terms = self.shared.terms.subscribe();
        while !self.is_revoked() {
            let until = terms.borrow_and_update().until;
            let Some(until) = until else { return };
            // Renewed, lost, or over.
            let _ = tokio::time::timeout_at(until, terms.changed()).await;
        }
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        if let hashbrown::hash_map::Entry::Occupied(mut count) = state.running.entry(self.key.hash()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        drop(state);
        self.shared.ended.notify_one();
    }
}

impl fmt::Debug for InHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InHand")
            .field("key", &self.key)
            .field("revoked", &self.is_revoked())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use kubewright_core::{ApiResource, ObjectKey};
    use kubewright_net::HttpService;
    use tokio::time::{advance, timeout};

    use super::*;
    use crate::tests::pods;

    /// A shard whose share a test sets.
    pub(in crate::sharding) struct Hand {
        pub(in crate::sharding) shard: Shard,
        generation: u64,
    }

    impl Hand {
        pub(in crate::sharding) fn new() -> Self {
            Self {
                shard: Shard::of(Arc::new(Shared::new())),
                generation: 0,
            }
        }

        /// Holds these keys, and drains those, for so many seconds.
        fn set(&self, held: &[ShardKey], draining: &[ShardKey], seconds: u64) {
            let ranges = |keys: &[ShardKey]| {
                HashRanges::from_ranges(keys.iter().map(|key| (key.hash(), key.hash())).collect())
            };
            self.shard.handle.shared.set(Share {
                generation: self.generation,
                held: ranges(held),
                draining: ranges(draining),
                until: (seconds > 0).then(|| (Instant::now() + Duration::from_secs(seconds)).into_std()),
                members: Vec::new(),
            });
        }

        /// Holds these keys from now on.
        pub(in crate::sharding) fn hold(&mut self, keys: &[ShardKey]) {
            self.generation += 1;
            self.set(keys, &[], 3600);
        }

        fn drained(&self) -> Option<u64> {
            self.shard.handle.shared.drained()
        }
    }

    fn key(name: &str) -> ShardKey {
        let pods: ApiResource = pods();
        ShardKey::of(&pods, &ObjectKey::parse(name))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_drained_is_done_when_nobody_works_on_it() {
        let (a, b) = (key("n/a"), key("n/b"));
        let hand = Hand::new();
        assert!(hand.shard.begin(a).is_none(), "nothing at first");
        hand.set(&[a, b], &[], 10);
        let (one, two) = (hand.shard.begin(a).unwrap(), hand.shard.begin(a).unwrap());
        let other = hand.shard.begin(b).unwrap();
        assert_eq!(hand.drained(), None);
        hand.set(&[b], &[a], 10);
        assert!(hand.shard.begin(a).is_none(), "it is not taken any more");
        assert!(!one.is_revoked(), "what runs may end");
        assert!(hand.shard.owns(b) && !hand.shard.owns(a));
        drop(one);
        assert_eq!(hand.drained(), None);
        let status = hand.shard.status();
        assert_eq!((status.in_hand, status.draining > 0.0), (2, true), "{status:?}");
        drop(two);
        assert_eq!(hand.drained(), Some(0));
        drop(other);
    }

    #[tokio::test(start_paused = true)]
    async fn work_ends_with_its_term() {
        let a = key("n/a");
        let second = Duration::from_secs(1);
        let hand = Hand::new();
        hand.set(&[a], &[], 10);
        let work = hand.shard.begin(a).unwrap();
        // Renewed in time.
        advance(8 * second).await;
        hand.set(&[a], &[], 10);
        assert!(timeout(9 * second, work.revoked()).await.is_err());
        // Nobody tells it that the time is over.
        timeout(2 * second, work.revoked()).await.unwrap();
        assert!(work.is_revoked() && hand.shard.begin(a).is_none());
        // Another term is not that in which it began, even if nobody looked in between.
        hand.set(&[a], &[], 10);
        assert!(work.is_revoked());
        timeout(second, work.revoked()).await.unwrap();
        let new = hand.shard.begin(a).unwrap();
        assert!(!new.is_revoked());
        hand.set(&[], &[a], 0);
        hand.set(&[a], &[], 10);
        assert!(new.is_revoked(), "lost and taken again");
        timeout(second, new.revoked()).await.unwrap();
    }

    /// Who looked in between was turned away, and comes back only if it is told to.
    #[tokio::test(start_paused = true)]
    async fn a_term_that_was_over_counts_as_a_change() {
        let a = key("n/a");
        let second = Duration::from_secs(1);
        let hand = Hand::new();
        hand.set(&[a], &[], 10);
        let mut generations = hand.shard.generations();
        let mut changed = || {
            let changed = generations.has_changed().unwrap();
            generations.mark_unchanged();
            changed
        };
        advance(8 * second).await;
        hand.set(&[a], &[], 10);
        assert!(!changed(), "renewed in time");
        assert_eq!(hand.shard.owned_since(a), Some(1));
        advance(11 * second).await;
        assert!(hand.shard.begin(a).is_none() && !changed());
        assert_eq!(hand.shard.owned_since(a), None);
        hand.set(&[a], &[], 10);
        assert!(hand.shard.owns(a) && changed());
        assert_eq!(hand.shard.owned_since(a), Some(2));
        // Nothing is owned, before or after.
        hand.set(&[], &[], 0);
        assert!(!changed());
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_when() {
        let (a, b) = (key("n/a"), key("n/b"));
        let mut hand = Hand::new();
        let rows: &[(&[ShardKey], _)] = &[
            (&[], (None, None)),
            (&[a], (Some(2), None)),
            (&[a, b], (Some(2), Some(3))),
            (&[b], (None, Some(3))),
            (&[b, a], (Some(5), Some(3))),
            (&[a], (Some(5), None)),
            (&[], (None, None)),
            (&[a, b], (Some(8), Some(8))),
        ];
        for (row, (held, expect)) in rows.iter().enumerate() {
            hand.hold(held);
            let shard = &hand.shard;
            assert_eq!((shard.owned_since(a), shard.owned_since(b)), *expect, "row {row}");
            assert_eq!(shard.generation(), row as u64 + 1);
        }
    }

    /// Who looks at the generation keeps a change of the share from being told of, and nobody from the share.
    #[test]
    fn a_look_at_the_generation_holds_nobody_up() {
        const LIMIT: Duration = Duration::from_secs(60);
        let a = key("n/a");
        let mut hand = Hand::new();
        let shard = hand.shard.clone();
        let generations = shard.generations();
        let looked_at = generations.borrow();
        std::thread::scope(|scope| {
            let setter = scope.spawn(|| hand.hold(&[a]));
            let (answer, answered) = std::sync::mpsc::channel();
            // Asks until the change is there.
            let asks = shard.clone();
            std::thread::spawn(move || {
                while !asks.owns(a) {
                    std::thread::yield_now();
                }
                answer.send(asks.generation())
            });
            let answered = answered.recv_timeout(LIMIT);
            let told_of = *looked_at;
            drop(looked_at);
            setter.join().unwrap();
            assert_eq!((answered, told_of), (Ok(1), 0));
        });
        assert_eq!(*generations.borrow(), 1);
    }

    #[tokio::test]
    async fn who_is_waited_for_leaves() {
        let hand = Hand::new();
        let left = hand.shard.leave();
        hand.shard.handle.shared.leave.notified().await;
        hand.shard.handle.shared.has_left();
        left.await;
        hand.shard.leave().await;
        let shared = Arc::clone(&hand.shard.handle.shared);
        drop(hand);
        shared.leave.notified().await;
    }

    #[test]
    fn who_waits_is_told_that_the_runtime_has_ended() {
        let runtime = || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
        };
        for polls in [0, 1] {
            let silent = HttpService::from_fn(|_| std::future::pending());
            let client = Client::from_service(silent, "default");
            let first = runtime();
            let shard = first.block_on(async {
                let shard = Shard::join(&client, RingOptions::new("ring", "default", "a"));
                for _ in 0..polls {
                    tokio::task::yield_now().await;
                }
                shard
            });
            drop(first);
            let left = runtime()
                .block_on(async { tokio::time::timeout(Duration::from_secs(10), shard.leave()).await });
            assert!(left.is_ok(), "after {polls} polls");
        }
    }
}
