//! The lock and the wake-ups of [`WorkQueue`] under every order of steps that a random scheduler finds (shuttle).
//!
//! The file of the queue is taken in a second time, with primitives whose every use is a point where another thread may
//! go on. A wake-up that gets lost shows as a deadlock, which fails the test and prints the schedule.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::sync::{Arc, Mutex};
use shuttle::thread::{self, JoinHandle};

use self::work_queue::WorkQueue;
use crate::{Added, ShutDown};

/// The primitives of `crate::sync`, scheduled.
mod sync {
    use std::cell::Cell;
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    use std::sync::OnceLock;
    use std::task::{Context, Poll};
    use std::time::{Duration, Instant};

    use shuttle::sync::MutexGuard;
    use shuttle::sync::atomic::{AtomicBool, Ordering};

    pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(super) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }

    /// Tokio's, each step of which is one to the scheduler.
    pub(super) struct Notify {
        inner: tokio::sync::Notify,
        step: AtomicBool,
    }

    pub(super) struct Notified<'a> {
        inner: Pin<Box<tokio::sync::futures::Notified<'a>>>,
        notify: &'a Notify,
    }

    impl Notify {
        pub(super) fn new() -> Self {
            Self {
                inner: tokio::sync::Notify::new(),
                step: AtomicBool::new(false),
            }
        }

        fn step(&self) {
            self.step.load(Ordering::SeqCst);
        }

        pub(super) fn notify_one(&self) {
            self.step();
            self.inner.notify_one();
            self.step();
        }

        pub(super) fn notify_waiters(&self) {
            self.step();
            self.inner.notify_waiters();
            self.step();
        }

        pub(super) fn notified(&self) -> Notified<'_> {
            self.step();
            Notified {
                inner: Box::pin(self.inner.notified()),
                notify: self,
            }
        }
    }

    impl Notified<'_> {
        pub(super) fn enable(mut self: Pin<&mut Self>) -> bool {
            self.notify.step();
            self.inner.as_mut().enable()
        }
    }

    impl Future for Notified<'_> {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            self.notify.step();
            self.inner.as_mut().poll(cx)
        }
    }

    thread_local! {
        /// Milliseconds since [`START`]. All threads of a schedule are played by one of the system.
        static CLOCK: Cell<u64> = const { Cell::new(0) };
    }

    static START: OnceLock<Instant> = OnceLock::new();

    pub(super) fn now() -> Instant {
        *START.get_or_init(Instant::now) + Duration::from_millis(CLOCK.get())
    }

    /// Time passes as soon as the scheduler lets a sleeper go on.
    pub(super) async fn sleep_until(deadline: Instant) {
        let mut slept = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut slept, true) {
                let passed = deadline.saturating_duration_since(*START.get_or_init(Instant::now));
                let passed = u64::try_from(passed.as_millis()).unwrap();
                CLOCK.set(CLOCK.get().max(passed));
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

#[path = "../work_queue.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "a second copy, of which the schedules use a part"
)]
mod work_queue;

/// Schedules for each test.
const SCHEDULES: usize = 1000;

/// What workers see of each other: who has which key, and which state of it they saw last.
#[derive(Default)]
struct Ledger {
    /// How often a key was changed before it was added.
    changed: HashMap<u32, u32>,
    seen: HashMap<u32, u32>,
    in_work: Vec<u32>,
    runs: usize,
}

struct Bench {
    queue: WorkQueue<u32>,
    ledger: Arc<Mutex<Ledger>>,
    threads: Vec<JoinHandle<()>>,
}

impl Bench {
    fn new() -> Self {
        Self {
            queue: WorkQueue::default(),
            ledger: Arc::default(),
            threads: Vec::new(),
        }
    }

    fn thread(&mut self, work: impl FnOnce(WorkQueue<u32>, Arc<Mutex<Ledger>>) + Send + 'static) {
        let (queue, ledger) = (self.queue.clone(), Arc::clone(&self.ledger));
        self.threads.push(thread::spawn(move || work(queue, ledger)));
    }

    fn producer(&mut self, keys: &'static [u32], delay: impl Fn(u32) -> u64 + Send + 'static) {
        self.thread(move |queue, ledger| {
            for &key in keys {
                *ledger.lock().unwrap().changed.entry(key).or_default() += 1;
                let priority = i32::try_from(key).unwrap() % 2;
                queue.add_after_with_priority(key, Duration::from_millis(delay(key)), priority);
            }
        });
    }

    /// Works until the queue ends, or has worked `most` times.
    fn worker(&mut self, most: usize) {
        self.thread(move |queue, ledger| {
            for _ in 0..most {
                let Some(item) = block_on(queue.get()) else { return };
                let key = *item.key();
                {
                    let mut ledger = ledger.lock().unwrap();
                    assert!(!ledger.in_work.contains(&key), "two workers have {key}");
                    ledger.in_work.push(key);
                    let changed = ledger.changed.get(&key).copied().unwrap_or(0);
                    ledger.seen.insert(key, changed);
                    ledger.runs += 1;
                }
                thread::yield_now();
                ledger.lock().unwrap().in_work.retain(|other| *other != key);
                item.done();
            }
        });
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

fn check(schedule: impl Fn(Bench) + Send + Sync + 'static) {
    let schedule = std::sync::Arc::new(schedule);
    let play = {
        let schedule = std::sync::Arc::clone(&schedule);
        move || schedule(Bench::new())
    };
    shuttle::check_random(play.clone(), SCHEDULES);
    // Orders in which few threads overtake others, which chance alone seldom finds.
    shuttle::check_pct(play, SCHEDULES / 3, 3);
}

#[test]
fn each_key_runs_after_its_last_addition_and_never_twice_at_once() {
    check(|mut bench| {
        for _ in 0..2 {
            bench.worker(usize::MAX);
        }
        let workers = std::mem::take(&mut bench.threads);
        bench.producer(&[1, 2, 1], |_| 0);
        bench.producer(&[2, 1, 3], |_| 0);
        bench.join();
        block_on(bench.queue.shut_down_with_drain());
        let ledger = bench.ledger.lock().unwrap();
        assert_eq!(ledger.seen, ledger.changed);
        assert!(ledger.in_work.is_empty(), "drained before the work was done");
        drop(ledger);
        bench.threads = workers;
        bench.join();
    });
}

#[test]
fn no_wake_up_is_lost() {
    // Nothing but the additions wakes the workers: they end when each has had its share.
    check(|mut bench| {
        bench.worker(2);
        bench.worker(1);
        bench.producer(&[1, 2], |_| 0);
        bench.producer(&[3], |_| 0);
        bench.join();
        assert_eq!(bench.ledger.lock().unwrap().runs, 3);
    });
}

#[test]
fn what_is_added_while_a_worker_has_the_key_wakes_another() {
    check(|mut bench| {
        bench.queue.add(1);
        let item = block_on(bench.queue.get()).unwrap();
        bench.worker(1);
        bench.thread(|queue, _| assert_eq!(queue.add(1), Added::New));
        bench.thread(move |_, _| item.done());
        bench.join();
        assert_eq!(bench.ledger.lock().unwrap().runs, 1);
    });
}

#[test]
fn delays_end_whoever_watches_the_clock() {
    check(|mut bench| {
        bench.worker(1);
        bench.worker(2);
        bench.producer(&[1, 2], |key| 10 * u64::from(3 - key));
        bench.producer(&[3], |_| 5);
        bench.join();
        assert_eq!(bench.ledger.lock().unwrap().runs, 3);
    });
}

#[test]
fn a_worker_that_gives_up_waiting_passes_on_what_it_was_woken_for() {
    check(|mut bench| {
        bench.worker(2);
        bench.thread(|queue, _| {
            let mut get = pin!(queue.get());
            let polled = get.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            // It may have been first: then its key is done as soon as the item is dropped, and comes again.
            if let Poll::Ready(Some(item)) = polled {
                queue.add(*item.key());
            }
        });
        bench.producer(&[1], |_| 0);
        bench.producer(&[2], |_| 7);
        bench.join();
        assert_eq!(bench.ledger.lock().unwrap().runs, 2);
    });
}

/// controller-runtime#3239, #3538: a shutdown that deadlocks, and a second one that panics.
#[test]
fn shutdowns_at_once_all_end() {
    check(|mut bench| {
        bench.worker(usize::MAX);
        bench.worker(usize::MAX);
        bench.producer(&[1, 2], |key| u64::from(key % 2));
        bench.thread(|queue, _| block_on(queue.shut_down_with_drain()));
        bench.thread(|queue, _| block_on(queue.shut_down_with_drain()));
        bench.thread(|queue, _| queue.shut_down_with(ShutDown::Now));
        bench.join();
        assert!(block_on(bench.queue.get()).is_none());
        assert_eq!(bench.queue.add(9), Added::ShuttingDown);
        assert!(bench.ledger.lock().unwrap().in_work.is_empty());
    });
}

/// Each of these would sleep for ever, or leave too early, if the end came before a key that runs once more.
#[test]
fn the_end_comes_behind_what_runs_once_more_and_to_all() {
    check(|mut bench| {
        bench.queue.add(1);
        let item = block_on(bench.queue.get()).unwrap();
        assert_eq!(bench.queue.add(1), Added::New);
        for _ in 0..3 {
            bench.worker(usize::MAX);
        }
        bench.thread(|queue, _| block_on(queue.shut_down_with_drain()));
        bench.thread(move |queue, ledger| {
            item.done();
            // Who comes back at once may be quicker than those who wait.
            while let Some(item) = block_on(queue.get()) {
                ledger.lock().unwrap().runs += 1;
                item.done();
            }
        });
        bench.join();
        assert_eq!(bench.ledger.lock().unwrap().runs, 1);
        assert!(block_on(bench.queue.get()).is_none());
    });
}
