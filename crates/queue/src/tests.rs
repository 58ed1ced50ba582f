//! The queue's rules as tables, a model that every random schedule must agree with, and the shell under a paused
//! clock.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

mod interleavings;
mod model;
mod work_queue;

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
            Stop(how) => queue.shut_down(how, now),
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
        // A delay that was cancelled lends its turn to nobody, not even to who takes its slot and waits for the same time.
        &[
            (0, After("a", 4, 0)),
            (0, Add("a", 0)),
            (0, Take("a", 0)),
            (0, After("b", 4, 0)),
            (0, Done("a")),
            (0, After("c", 4, 0)),
            (4, Take("b", 0)),
            (4, Take("c", 0)),
        ],
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
            // One is still to come.
            (9, Idle(None)),
            (9, Done("a")),
            (9, Take("a", 0)),
            (9, End),
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
    queue.shut_down(ShutDown::Drain, now);
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
