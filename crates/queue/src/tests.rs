//! The queue's rules as tables, a model that every random schedule must agree with, and the shell under a paused
//! clock.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// One line of a script: at this millisecond, do this.
#[derive(Debug, Clone, Copy)]
enum Step {
    Add(&'static str, i32),
    After(&'static str, u64, i32),
    Limited(&'static str),
    /// Get must give this key with this priority.
    Take(&'static str, i32),
    /// Get must wait until this millisecond, or for anything (`None`).
    Idle(Option<u64>),
    /// Get must say that the queue is shut down.
    End,
    Done(&'static str),
    Stop(ShutDown),
}
use Step::*;

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[track_caller]
fn check(settings: Settings, script: &[(u64, Step)]) {
    let start = Instant::now();
    let mut queue = QueueState::new(settings, Box::new(MaxOf::<&str>::default()), Arc::new(NoMetrics));
    for (line, &(ms, step)) in script.iter().enumerate() {
        let now = start + millis(ms);
        match step {
            Add(key, priority) => _ = queue.add(key, priority, now),
            After(key, delay, priority) => _ = queue.add_after(key, millis(delay), priority, now),
            Limited(key) => _ = queue.add_rate_limited(key, 0, now),
            Done(key) => queue.done(&key, now),
            Stop(how) => queue.shut_down(how),
            Take(key, priority) => match queue.get(now) {
                Get::Item(taken) => assert_eq!((taken.key, taken.priority), (key, priority), "line {line}"),
                other => panic!("line {line}: {other:?}"),
            },
            Idle(until) => {
                assert_eq!(
                    queue.get(now),
                    Get::Wait(until.map(|ms| start + millis(ms))),
                    "line {line}"
                );
            }
            End => assert_eq!(queue.get(now), Get::ShutDown, "line {line}"),
        }
    }
}

#[test]
fn deduplication() {
    let rows: &[&[(u64, Step)]] = &[
        &[
            (0, Idle(None)),
            (0, Add("a", 0)),
            (0, Add("a", 0)),
            (0, Take("a", 0)),
            (0, Idle(None)),
        ],
        // Added while in work: no second worker, one more run.
        &[
            (0, Add("a", 0)),
            (0, Take("a", 0)),
            (0, Add("a", 0)),
            (0, Add("a", 0)),
            (0, Idle(None)),
            (0, Done("a")),
            (0, Take("a", 0)),
            (0, Done("a")),
            (0, Idle(None)),
        ],
        // What is not in work cannot be done.
        &[
            (0, Done("x")),
            (0, Add("a", 0)),
            (0, Done("a")),
            (0, Take("a", 0)),
            (0, Done("a")),
            (0, Done("a")),
        ],
    ];
    for script in rows {
        check(Settings::default(), script);
    }
}

#[test]
fn order() {
    let rows: &[&[(u64, Step)]] = &[
        &[
            (0, Add("a", 0)),
            (0, Add("b", 0)),
            (0, Add("c", 0)),
            (0, Take("a", 0)),
            (0, Take("b", 0)),
            (0, Take("c", 0)),
        ],
        &[
            (0, Add("a", -100)),
            (0, Add("b", 0)),
            (0, Add("c", 7)),
            (0, Take("c", 7)),
            (0, Take("b", 0)),
            (0, Take("a", -100)),
        ],
        // The higher priority wins on merge, whichever came first.
        &[
            (0, Add("a", 0)),
            (0, Add("b", -1)),
            (0, Add("b", 5)),
            (0, Add("b", 2)),
            (0, Take("b", 5)),
            (0, Take("a", 0)),
        ],
        // While in work as well.
        &[
            (0, Add("a", 3)),
            (0, Take("a", 3)),
            (0, Add("a", 1)),
            (0, Add("a", 2)),
            (0, Add("b", 1)),
            (0, Done("a")),
            (0, Take("a", 2)),
            (0, Take("b", 1)),
        ],
    ];
    for script in rows {
        check(Settings::default(), script);
    }
}

#[test]
fn delays() {
    let rows: &[&[(u64, Step)]] = &[
        &[
            (0, After("a", 10, 0)),
            (0, Idle(Some(10))),
            (9, Idle(Some(10))),
            (10, Take("a", 0)),
            (10, Idle(None)),
        ],
        &[(0, After("a", 0, 0)), (0, Take("a", 0))],
        // The earliest time wins, in either order; the priority is the highest.
        &[
            (0, After("a", 10, 1)),
            (0, After("a", 5, 0)),
            (0, Idle(Some(5))),
            (5, Take("a", 1)),
            (5, Done("a")),
            (99, Idle(None)),
        ],
        &[
            (0, After("a", 5, 0)),
            (0, After("a", 10, 2)),
            (0, Idle(Some(5))),
            (5, Take("a", 2)),
            (5, Done("a")),
            (99, Idle(None)),
        ],
        // An addition that is due now replaces the delay.
        &[
            (0, After("a", 10, 4)),
            (1, Add("a", 0)),
            (1, Take("a", 4)),
            (1, Done("a")),
            (99, Idle(None)),
        ],
        &[
            (0, Add("a", 0)),
            (0, After("a", 10, 4)),
            (1, Take("a", 4)),
            (1, Done("a")),
            (99, Idle(None)),
        ],
        // A delay asked for while in work starts at once, and is due at its time.
        &[
            (0, Add("a", 0)),
            (0, Take("a", 0)),
            (1, After("a", 10, 0)),
            (2, Done("a")),
            (2, Idle(Some(11))),
            (11, Take("a", 0)),
        ],
        // Due while still in work: runs after done.
        &[
            (0, Add("a", 0)),
            (0, Take("a", 0)),
            (1, After("a", 10, 0)),
            (20, Idle(None)),
            (21, Done("a")),
            (21, Take("a", 0)),
        ],
        &[
            (0, Limited("a")),
            (0, Idle(Some(5))),
            (5, Take("a", 0)),
            (5, Limited("a")),
            (5, Done("a")),
            (5, Idle(Some(15))),
        ],
    ];
    for script in rows {
        check(Settings::default(), script);
    }
    // As client-go: the delay survives the run.
    let kept = Settings {
        delayed: Delayed::Kept,
        ..Settings::default()
    };
    check(
        kept.clone(),
        &[
            (0, After("a", 10, 4)),
            (1, Add("a", 0)),
            (1, Take("a", 0)),
            (1, Done("a")),
            (1, Idle(Some(10))),
            (10, Take("a", 4)),
        ],
    );
    check(
        kept,
        &[
            (0, After("a", 10, 4)),
            (1, Add("a", 0)),
            (10, Take("a", 4)),
            (10, Done("a")),
            (99, Idle(None)),
        ],
    );
}

#[test]
fn shutdown() {
    let rows: &[&[(u64, Step)]] = &[
        &[
            (0, Add("a", 0)),
            (0, Add("b", 0)),
            (0, After("c", 5, 0)),
            (0, Take("a", 0)),
            (0, Add("a", 0)),
            (1, Stop(ShutDown::Drain)),
            (1, Stop(ShutDown::Drain)),
            (1, Add("d", 0)),
            (1, After("d", 1, 0)),
            (1, Limited("d")),
            (9, Take("b", 0)),
            (9, End),
            (9, Done("a")),
            (9, Take("a", 0)),
            (9, Done("a")),
            (9, Done("b")),
            (9, End),
        ],
        &[
            (0, Add("a", 0)),
            (0, Add("b", 0)),
            (0, Take("a", 0)),
            (0, Add("a", 0)),
            (0, Stop(ShutDown::Now)),
            (0, End),
            (0, Done("a")),
            (0, End),
            (0, Stop(ShutDown::Drain)),
            (0, End),
        ],
        &[
            (0, Stop(ShutDown::Now)),
            (0, End),
            (0, Stop(ShutDown::Now)),
            (0, End),
        ],
    ];
    for script in rows {
        check(Settings::default(), script);
    }
}

#[test]
fn a_fresh_change_goes_before_a_hundred_thousand_old_resyncs() {
    let start = Instant::now();
    let mut queue = QueueState::<u32>::default();
    for key in 0..100_000 {
        queue.add(key, LOW_PRIORITY, start);
    }
    let later = start + Duration::from_secs(3600);
    let mut behind = 0;
    for fresh in 200_000..200_100 {
        queue.add(fresh, 0, later);
        while let Get::Item(taken) = queue.get(later) {
            if taken.key == fresh {
                break;
            }
            behind += 1;
        }
    }
    assert!(
        (1..=15).contains(&behind),
        "one in eight goes to the old ones: {behind}"
    );
}

#[test]
fn low_priorities_get_their_share_and_no_more() {
    let start = Instant::now();
    let run = |aging: Option<Aging>, seconds: u64| {
        let settings = Settings {
            aging,
            ..Settings::default()
        };
        let mut queue = QueueState::new(settings, Box::new(MaxOf::<u32>::default()), Arc::new(NoMetrics));
        (0..10).for_each(|key| _ = queue.add(key, LOW_PRIORITY, start));
        let now = start + Duration::from_secs(seconds);
        (0..40).for_each(|key| _ = queue.add(1000 + key, 0, now));
        let taken = (0..40).map_while(|_| match queue.get(now) {
            Get::Item(taken) => Some(taken.key),
            _ => None,
        });
        taken.filter(|key| *key < 10).collect::<Vec<_>>()
    };
    let aging = |one_in| {
        Some(Aging {
            after: Duration::from_secs(5),
            one_in,
        })
    };
    assert_eq!(run(aging(8), 4), [0u32; 0], "not old enough");
    assert_eq!(run(aging(8), 5), [0, 1, 2, 3, 4]);
    assert_eq!(run(aging(1), 5), (0..10).collect::<Vec<_>>());
    assert_eq!(run(aging(0), 5), (0..10).collect::<Vec<_>>());
    assert_eq!(run(None, 3600), [0u32; 0], "starved, as asked");
}

#[test]
fn limits() {
    let now = Instant::now();
    let settings = Settings {
        max_keys: 2,
        ..Settings::default()
    };
    let mut queue = QueueState::new(settings, Box::new(MaxOf::<u32>::default()), Arc::new(NoMetrics));
    assert_eq!(queue.add(1, 0, now), Added::New);
    assert_eq!(queue.add_after(2, millis(5), 0, now), Added::New);
    assert_eq!(queue.add(3, 0, now), Added::Full);
    assert_eq!(queue.add_after(3, millis(1), 0, now), Added::Full);
    assert_eq!(queue.add(2, 0, now), Added::Merged);
    assert!(matches!(queue.get(now), Get::Item(Taken { key: 1, .. })));
    assert_eq!(queue.add(3, 0, now), Added::Full, "a key in work counts");
    queue.done(&1, now);
    assert_eq!(queue.add(3, 0, now), Added::New);
    queue.shut_down(ShutDown::Drain);
    assert_eq!(queue.add(3, 0, now), Added::ShuttingDown);

    // A delay without bound neither overflows nor panics.
    let mut queue = QueueState::<u32>::default();
    queue.add_after(1, Duration::MAX, 0, now);
    assert_eq!(queue.get(now), Get::Wait(Some(now + MAX_DELAY)));
}

#[test]
fn nothing_piles_up() {
    let start = Instant::now();
    let mut queue = QueueState::<u32>::default();
    for i in 0..100_000u32 {
        // An ever earlier time leaves stale entries behind, which are cleared.
        queue.add_after(0, Duration::from_secs(1_000_000) - millis(u64::from(i)), 0, start);
        queue.add_after(1, millis(1), 0, start);
        queue.add(1, i32::try_from(i).unwrap(), start);
        queue.get(start);
        queue.done(&1, start);
    }
    assert!(queue.footprint() < 1000, "{}", queue.footprint());
    (0..100_000).for_each(|key| _ = queue.add(key, 0, start));
    while let Get::Item(taken) = queue.get(start) {
        queue.done(&taken.key, start);
    }
    assert!(
        queue.footprint() < 1000,
        "an idle queue gives its memory back: {}",
        queue.footprint()
    );
}

/// The obvious implementation: maps, scans, no lists.
#[derive(Default)]
struct Model {
    /// Key to priority, time of readiness and order in its priority.
    ready: BTreeMap<u8, (i32, u64, u64)>,
    /// Key to time, order of asking and priority.
    later: BTreeMap<u8, (u64, u64, i32)>,
    working: HashSet<u8>,
    order: u64,
    kept: bool,
    stopped: bool,
}

impl Model {
    fn add(&mut self, key: u8, mut priority: i32, now: u64) {
        if self.stopped {
            return;
        }
        if !self.kept
            && let Some((_, _, later)) = self.later.remove(&key)
        {
            priority = priority.max(later);
        }
        self.order += 1;
        match self.ready.get_mut(&key) {
            None => drop(self.ready.insert(key, (priority, now, self.order))),
            Some(ready) if priority > ready.0 => *ready = (priority, ready.1, self.order),
            Some(_) => {}
        }
    }

    fn after(&mut self, key: u8, delay: u64, priority: i32, now: u64) {
        if delay == 0 || (!self.kept && self.ready.contains_key(&key)) {
            return self.add(key, priority, now);
        }
        if self.stopped {
            return;
        }
        self.order += 1;
        let asked = (now + delay, self.order, priority);
        let later = self.later.entry(key).or_insert(asked);
        let priority = later.2.max(priority);
        *later = if asked.0 < later.0 { asked } else { *later };
        later.2 = priority;
    }

    fn promote(&mut self, now: u64) {
        let mut due: Vec<_> = self
            .later
            .iter()
            .filter(|(_, l)| l.0 <= now)
            .map(|(k, l)| (l.0, l.1, *k, l.2))
            .collect();
        due.sort_unstable();
        for (_, _, key, priority) in due {
            self.later.remove(&key);
            self.add(key, priority, now);
        }
    }

    /// The keys that may come next: those of the highest priority, or one that waited long enough.
    fn candidates(&self) -> Vec<u8> {
        let free = || self.ready.iter().filter(|(key, _)| !self.working.contains(key));
        let Some(top) = free().map(|(_, ready)| ready.0).max() else {
            return Vec::new();
        };
        free()
            .filter(|(_, ready)| ready.0 == top)
            .map(|(key, _)| *key)
            .collect()
    }

    fn done(&mut self, key: u8) {
        if self.working.remove(&key)
            && let Some(ready) = self.ready.get_mut(&key)
        {
            self.order += 1;
            ready.2 = self.order;
        }
    }
}

#[derive(Debug, Clone)]
enum Op {
    Add(u8, i32),
    After(u8, u64, i32),
    Get,
    DoneOldest,
    DoneNewest,
    Advance(u64),
    Stop(bool),
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0u8..8, -2i32..3).prop_map(|(key, priority)| Op::Add(key, priority)),
        4 => (0u8..8, 0u64..6, -2i32..3).prop_map(|(key, delay, priority)| Op::After(key, delay, priority)),
        8 => Just(Op::Get),
        3 => Just(Op::DoneOldest),
        2 => Just(Op::DoneNewest),
        4 => (1u64..4).prop_map(Op::Advance),
        1 => any::<bool>().prop_map(Op::Stop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_agrees_with_the_model(
        ops in prop::collection::vec(any_op(), 1..120),
        kept in any::<bool>(),
        stops in prop::bool::weighted(0.3),
    ) {
        let start = Instant::now();
        let settings = Settings {
            aging: None,
            delayed: if kept { Delayed::Kept } else { Delayed::CancelledByRun },
            ..Settings::default()
        };
        let mut queue = QueueState::new(settings, Box::new(MaxOf::default()), Arc::new(NoMetrics));
        let mut model = Model { kept, ..Model::default() };
        let mut working: VecDeque<u8> = VecDeque::new();
        let mut ms = 0;
        for op in ops {
            let now = start + millis(ms);
            match op {
                Op::Add(key, priority) => {
                    queue.add(key, priority, now);
                    model.add(key, priority, ms);
                }
                Op::After(key, delay, priority) => {
                    queue.add_after(key, millis(delay), priority, now);
                    model.after(key, delay, priority, ms);
                }
                Op::Get => {
                    model.promote(ms);
                    let candidates = model.candidates();
                    match queue.get(now) {
                        Get::Item(taken) => {
                            prop_assert!(!working.contains(&taken.key), "two workers on {}", taken.key);
                            let first = candidates.iter().min_by_key(|key| model.ready[*key].2);
                            prop_assert_eq!(Some(&taken.key), first);
                            let (priority, since, _) = model.ready.remove(&taken.key).unwrap();
                            prop_assert_eq!((taken.priority, taken.waited), (priority, millis(ms - since)));
                            model.working.insert(taken.key);
                            working.push_back(taken.key);
                        }
                        Get::Wait(due) => {
                            prop_assert!(candidates.is_empty() && !model.stopped);
                            let next = model.later.values().map(|later| start + millis(later.0)).min();
                            prop_assert_eq!(due, next);
                        }
                        Get::ShutDown => prop_assert!(candidates.is_empty() && model.stopped),
                    }
                }
                Op::DoneOldest | Op::DoneNewest => {
                    let key = if matches!(op, Op::DoneOldest) { working.pop_front() } else { working.pop_back() };
                    if let Some(key) = key {
                        queue.done(&key, now);
                        model.done(key);
                    }
                }
                Op::Advance(by) => ms += by,
                Op::Stop(drain) if stops => {
                    queue.shut_down(if drain { ShutDown::Drain } else { ShutDown::Now });
                    model.stopped = true;
                    model.later.clear();
                    if !drain {
                        model.ready.clear();
                    }
                }
                Op::Stop(_) => {}
            }
            let snapshot = queue.snapshot(start + millis(ms));
            let free = model.ready.keys().filter(|key| !model.working.contains(key)).count();
            prop_assert_eq!(queue.len(), free);
            prop_assert_eq!(snapshot.depth.iter().map(|(_, len)| len).sum::<usize>(), free);
            prop_assert!(snapshot.depth.is_sorted_by(|a, b| a.0 > b.0));
            prop_assert_eq!((snapshot.delayed, snapshot.processing), (model.later.len(), working.len()));
            prop_assert_eq!(queue.is_drained(), model.stopped && free == 0 && working.is_empty());
        }
    }

    /// With aging on, what is taken and when is decided by the settings; that nothing is lost is not.
    #[test]
    fn nothing_is_lost_with_aging(ops in prop::collection::vec(any_op(), 1..120), one_in in 0u32..4) {
        let start = Instant::now();
        let settings =
            Settings { aging: Some(Aging { after: millis(3), one_in }), ..Settings::default() };
        let mut queue = QueueState::new(settings, Box::new(MaxOf::<u8>::default()), Arc::new(NoMetrics));
        let mut owed: HashSet<u8> = HashSet::new();
        let mut working: VecDeque<u8> = VecDeque::new();
        let mut ms = 0;
        for op in ops {
            let now = start + millis(ms);
            match op {
                Op::Add(key, priority) => {
                    queue.add(key, priority, now);
                    owed.insert(key);
                }
                Op::After(key, delay, priority) => {
                    queue.add_after(key, millis(delay), priority, now);
                    owed.insert(key);
                }
                Op::Get => {
                    if let Get::Item(taken) = queue.get(now) {
                        prop_assert!(!working.contains(&taken.key));
                        prop_assert!(owed.remove(&taken.key), "{} was run without a reason", taken.key);
                        working.push_back(taken.key);
                    }
                }
                Op::DoneOldest => drop(working.pop_front().map(|key| queue.done(&key, now))),
                Op::DoneNewest => drop(working.pop_back().map(|key| queue.done(&key, now))),
                Op::Advance(by) => ms += by,
                Op::Stop(_) => {}
            }
        }
        let end = start + millis(ms + 100);
        working.into_iter().for_each(|key| queue.done(&key, end));
        while let Get::Item(taken) = queue.get(end) {
            prop_assert!(owed.remove(&taken.key));
            queue.done(&taken.key, end);
        }
        prop_assert!(owed.is_empty(), "lost: {owed:?}");
    }
}

#[derive(Debug, Default)]
struct Counts {
    added: AtomicU64,
    retried: AtomicU64,
    waited: AtomicU64,
    worked: AtomicU64,
}

impl Metrics for Counts {
    fn added(&self, _priority: i32) {
        self.added.fetch_add(1, Ordering::Relaxed);
    }
    fn retried(&self) {
        self.retried.fetch_add(1, Ordering::Relaxed);
    }
    fn taken(&self, _priority: i32, waited: Duration) {
        self.waited
            .fetch_add(u64::try_from(waited.as_millis()).unwrap(), Ordering::Relaxed);
    }
    fn finished(&self, worked: Duration) {
        self.worked
            .fetch_add(u64::try_from(worked.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

#[test]
fn metrics_follow_the_keys() {
    let start = Instant::now();
    let counts = Arc::new(Counts::default());
    let metrics: Arc<dyn Metrics> = counts.clone();
    let mut queue = QueueState::new(Settings::default(), Box::new(MaxOf::<&str>::default()), metrics);
    queue.add("a", 0, start);
    queue.add("a", 0, start);
    queue.add("b", 5, start);
    queue.add_after("c", millis(3), 0, start);
    let Get::Item(first) = queue.get(start + millis(2)) else {
        panic!("b is ready")
    };
    assert_eq!((first.key, first.waited), ("b", millis(2)));
    let Get::Item(_) = queue.get(start + millis(4)) else {
        panic!("a is ready")
    };
    let snapshot = queue.snapshot(start + millis(10));
    assert_eq!(snapshot.depth, [(0, 1)]);
    assert_eq!((snapshot.delayed, snapshot.processing), (0, 2));
    assert_eq!(
        (snapshot.unfinished_work, snapshot.longest_running),
        (millis(14), millis(8))
    );
    queue.done(&"b", start + millis(12));
    let counts =
        [&counts.added, &counts.retried, &counts.waited, &counts.worked].map(|c| c.load(Ordering::Relaxed));
    assert_eq!(counts, [3, 1, 6, 10]);
}

#[tokio::test(start_paused = true)]
async fn waiting_workers_wake_at_the_right_time() {
    let queue: WorkQueue<&str> = WorkQueue::default();
    let start = tokio::time::Instant::now();
    let worker = |queue: WorkQueue<&'static str>| async move {
        let item = queue.get().await.map(|item| *item.key());
        (item, start.elapsed())
    };
    let workers: Vec<_> = (0..4).map(|_| tokio::spawn(worker(queue.clone()))).collect();
    tokio::task::yield_now().await;
    queue.add_after("late", Duration::from_secs(60));
    queue.add_after("soon", Duration::from_secs(1));
    queue.add_after("soon too", Duration::from_secs(1));
    queue.add("now");
    let mut results = Vec::new();
    for worker in workers {
        let (item, at) = worker.await.unwrap();
        results.push((at.as_secs(), item.unwrap()));
    }
    results.sort_unstable();
    assert_eq!(results, [(0, "now"), (1, "soon"), (1, "soon too"), (60, "late")]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_worker_passes_its_wake_up_on() {
    let queue: WorkQueue<&str> = WorkQueue::default();
    // The first waiter watches the clock; it goes away before the time comes.
    let first = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item.key()) }
    });
    queue.add_after("a", Duration::from_secs(5));
    tokio::task::yield_now().await;
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item.key()) }
    });
    tokio::task::yield_now().await;
    first.abort();
    assert_eq!(second.await.unwrap(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn the_drain_waits_for_what_is_in_work() {
    let queue: WorkQueue<&str> = WorkQueue::default();
    queue.add("a");
    queue.add("b");
    let item = queue.get().await.unwrap();
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    assert!(!drain.is_finished() && queue.is_shutting_down());
    assert_eq!(queue.add("c"), Added::ShuttingDown);
    let other = queue.get().await.unwrap();
    assert_eq!(*other.key(), "b");
    item.done();
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    drop(other);
    drain.await.unwrap();
    assert!(queue.get().await.is_none());
    // Again, from any state.
    queue.shut_down();
    queue.shut_down_with(ShutDown::Now);
    queue.shut_down_with_drain().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_every_waiting_worker() {
    let queue: WorkQueue<u32> = WorkQueue::default();
    queue.add_after(1, Duration::from_secs(60));
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.shut_down();
    for worker in workers {
        assert!(worker.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_lets_go_of_its_key() {
    let queue: WorkQueue<u32> = WorkQueue::default();
    queue.add(1);
    let item = queue.get().await.unwrap();
    queue.add(1);
    let worker = tokio::spawn(async move {
        let _item = item;
        panic!("on purpose");
    });
    assert!(worker.await.unwrap_err().is_panic());
    assert_eq!(*queue.get().await.unwrap().key(), 1);
}

/// Producers and workers on real threads: every key that was added last is run after that, never two at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_lose_nothing() {
    const KEYS: usize = 32;
    let seed = fastrand::u64(..);
    let queue: WorkQueue<usize> = WorkQueue::default();
    let state: Arc<Vec<[AtomicU64; 3]>> = Arc::new((0..KEYS).map(|_| Default::default()).collect());
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let (queue, state) = (queue.clone(), state.clone());
            tokio::spawn(async move {
                while let Some(item) = queue.get().await {
                    let [wanted, seen, busy] = &state[*item.key()];
                    assert_eq!(
                        busy.fetch_add(1, Ordering::SeqCst),
                        0,
                        "two workers on one key, seed {seed}"
                    );
                    seen.store(wanted.load(Ordering::SeqCst), Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    busy.fetch_sub(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let producers: Vec<_> = (0..3)
        .map(|n| {
            let (queue, state) = (queue.clone(), state.clone());
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(seed ^ n);
                for _ in 0..5_000 {
                    let key = random.usize(..KEYS);
                    state[key][0].fetch_add(1, Ordering::SeqCst);
                    if random.bool() {
                        queue.add_with_priority(key, random.i32(-3..3));
                    } else {
                        queue.add_after(key, Duration::from_micros(random.u64(0..300)));
                    }
                    if random.u8(..) < 16 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for producer in producers {
        producer.await.unwrap();
    }
    // Delayed keys are dropped by a shutdown, so each key is asked for once more.
    (0..KEYS).for_each(|key| _ = queue.add(key));
    queue.shut_down_with_drain().await;
    for worker in workers {
        worker.await.unwrap();
    }
    for (key, [wanted, seen, _]) in state.iter().enumerate() {
        let (wanted, seen) = (wanted.load(Ordering::SeqCst), seen.load(Ordering::SeqCst));
        assert_eq!(wanted, seen, "key {key}, seed {seed}");
    }
}
