//! The queue behind a lock, with waiting.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::sync::{Mutex, Notify, now, sleep_until};
use crate::limiter::{MaxOf, RateLimiter};
use crate::metrics::{Metrics, NoMetrics, Snapshot};
use crate::state::{Added, DEFAULT_PRIORITY, Get, QueueState, Settings, ShutDown, Taken};

/// What a [`WorkQueue`] is made of.
#[derive(Debug)]
pub struct Options<K> {
    /// Default: [`Settings::default`].
    pub settings: Settings,
    /// Default: [`MaxOf::default`], the exponential limiter and the token bucket.
    pub limiter: Box<dyn RateLimiter<K>>,
    /// Default: none.
    pub metrics: Arc<dyn Metrics>,
}

impl<K: Eq + Hash + Clone + fmt::Debug + Send + 'static> Default for Options<K> {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            limiter: Box::new(MaxOf::default()),
            metrics: Arc::new(NoMetrics),
        }
    }
}

/// A handle to a queue; clones are handles to the same queue.
///
/// Needs a tokio runtime with time enabled while [`get`](Self::get) waits. Everything else can be called from
/// anywhere and never blocks beyond a short lock.
pub struct WorkQueue<K>(Arc<Shared<K>>);

struct Shared<K> {
    inner: Mutex<Inner<K>>,
    /// Wakes one waiting worker.
    work: Notify,
    /// Wakes the worker that watches the clock, when there is an earlier time to watch for.
    timer: Notify,
    /// Wakes whoever waits for the drain.
    drained: Notify,
}

struct Inner<K> {
    state: QueueState<K>,
    /// Workers in [`WorkQueue::get`].
    waiting: usize,
    /// One waiting worker watches the clock for all of them.
    timer_taken: bool,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: fmt::Debug> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkQueue")
            .field(&self.0.inner.lock().state)
            .finish()
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug + Send + 'static> Default for WorkQueue<K> {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl<K: Eq + Hash + Clone> WorkQueue<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(options: Options<K>) -> Self {
        let state = QueueState::new(options.settings, options.limiter, options.metrics);
        Self(Arc::new(Shared {
            inner: Mutex::new(Inner {
                state,
                waiting: 0,
                timer_taken: false,
            }),
            work: Notify::new(),
            timer: Notify::new(),
            drained: Notify::new(),
        }))
    }

    /// Makes a key due now, with the default priority.
    pub fn add(&self, key: K) -> Added {
        self.add_with_priority(key, DEFAULT_PRIORITY)
    }

    /// Makes a key due now. Higher priorities come first.
    pub fn add_with_priority(&self, key: K, priority: i32) -> Added {
        self.change(|state, now| state.add(key, priority, now))
    }

    /// Makes a key due after a delay, with the default priority. Where [`Settings::delayed`] is as it comes, the delay is dropped if the
    /// key runs before for another reason, or is ready already: unlike in client-go, whoever still wants it says so after that run.
    pub fn add_after(&self, key: K, delay: Duration) -> Added {
        self.add_after_with_priority(key, delay, DEFAULT_PRIORITY)
    }

    /// Makes a key due after a delay.
    pub fn add_after_with_priority(&self, key: K, delay: Duration, priority: i32) -> Added {
        self.change(|state, now| state.add_after(key, delay, priority, now))
    }

    /// Makes a key due after the delay that the rate limiter asks for, with the default priority.
    pub fn add_rate_limited(&self, key: K) -> Added {
        self.add_rate_limited_with_priority(key, DEFAULT_PRIORITY)
    }

    /// Makes a key due after the delay that the rate limiter asks for.
    pub fn add_rate_limited_with_priority(&self, key: K, priority: i32) -> Added {
        self.change(|state, now| state.add_rate_limited(key, priority, now))
    }

    /// Forgets the failures of a key, so that its next rate-limited addition starts small.
    pub fn forget(&self, key: &K) {
        self.0.inner.lock().state.forget(key);
    }

    /// How often the key was added with a rate limit since it was last forgotten.
    #[must_use]
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.0.inner.lock().state.num_requeues(key)
    }

    /// How many keys are ready, not counting delayed ones and those in work.
    #[must_use]
    pub fn len(&self) -> usize {
        let state = &mut self.0.inner.lock().state;
        state.promote_due(now());
        state.len()
    }

    /// True when no key is ready.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The gauges, for a scrape.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.0.inner.lock().state.snapshot(now())
    }

    /// Stops taking keys: what is ready is still handed out, then [`get`](Self::get) returns `None`. Calling it
    /// again is harmless.
    pub fn shut_down(&self) {
        self.shut_down_with(ShutDown::Drain);
    }

    /// Stops taking keys. Calling it again is harmless and can only make it stricter.
    pub fn shut_down_with(&self, how: ShutDown) {
        let mut inner = self.0.inner.lock();
        inner.state.shut_down(how, now());
        let drained = inner.state.is_drained();
        drop(inner);
        self.0.work.notify_waiters();
        if drained {
            self.0.drained.notify_waiters();
        }
    }

    /// As [`shut_down`](Self::shut_down), and waits until every key was handed out and every [`Item`] is done: for ever if a worker
    /// never lets go of its item, or if keys are ready and no worker asks for them any more. (client-go waits for what is in work
    /// alone, and loses what is ready then.)
    pub async fn shut_down_with_drain(&self) {
        self.shut_down();
        loop {
            let mut drained = pin!(self.0.drained.notified());
            drained.as_mut().enable();
            if self.0.inner.lock().state.is_drained() {
                return;
            }
            drained.await;
        }
    }

    /// True once a shutdown was asked for.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.0.inner.lock().state.is_shutting_down()
    }

    /// Waits for the next key. `None` means that the queue was shut down and no key will come any more.
    ///
    /// Cancel safe: a future that is dropped has taken nothing.
    pub async fn get(&self) -> Option<Item<K>> {
        {
            let mut inner = self.0.inner.lock();
            match inner.state.get_slot(now()) {
                (slot, Get::Item(taken)) => return Some(self.item(slot, taken)),
                (_, Get::ShutDown) => return None,
                (_, Get::Wait(_)) => inner.waiting += 1,
            }
        }
        let mut waiter = Waiter {
            queue: &self.0,
            timer: false,
        };
        loop {
            // Created and enabled before the look at the state, so that no addition in between is missed.
            let mut work = pin!(self.0.work.notified());
            work.as_mut().enable();
            let deadline = match waiter.poll() {
                GetAt::Item(slot, taken) => return Some(self.item(slot, taken)),
                GetAt::ShutDown => return None,
                GetAt::Wait(deadline) => deadline,
            };
            match deadline {
                None => work.await,
                Some(deadline) => {
                    // Timers far away are watched in steps: a timer wheel has an end.
                    let deadline = deadline.min(now() + LONGEST_SLEEP);
                    let mut timer = pin!(self.0.timer.notified());
                    let mut sleep = pin!(sleep_until(deadline));
                    poll_fn(|cx| {
                        let woken = work.as_mut().poll(cx).is_ready()
                            || timer.as_mut().poll(cx).is_ready()
                            || sleep.as_mut().poll(cx).is_ready();
                        if woken { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                }
            }
        }
    }

    fn item(&self, slot: u32, taken: Taken<K>) -> Item<K> {
        Item {
            slot,
            taken,
            queue: self.clone(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut QueueState<K>, Instant) -> Added) -> Added {
        let now = now();
        let mut inner = self.0.inner.lock();
        let before = inner.state.next_due();
        let ready = inner.state.len();
        let added = change(&mut inner.state, now);
        let earlier = inner
            .state
            .next_due()
            .is_some_and(|due| before.is_none_or(|before| due < before));
        let more = inner.state.len() > ready;
        let (waiting, timer_taken) = (inner.waiting > 0, inner.timer_taken);
        drop(inner);
        if waiting && earlier && timer_taken {
            self.0.timer.notify_one();
        }
        if waiting && (more || (earlier && !timer_taken)) {
            self.0.work.notify_one();
        }
        added
    }

    fn finish(&self, slot: u32) {
        let mut inner = self.0.inner.lock();
        inner.state.done_slot(slot, now);
        let wake = inner.waiting > 0 && !inner.state.is_empty();
        let drained = inner.state.is_drained();
        drop(inner);
        if wake {
            self.0.work.notify_one();
        }
        if drained {
            self.0.drained.notify_waiters();
        }
    }
}

/// One worker in [`WorkQueue::get`]. Dropping it, also when the future is cancelled, passes its duties on.
struct Waiter<'a, K> {
    queue: &'a Shared<K>,
    timer: bool,
}

impl<K: Eq + Hash + Clone> Waiter<'_, K> {
    /// Looks for work. A wait has a deadline only for the worker that watches the clock.
    fn poll(&mut self) -> GetAt<K> {
        let mut inner = self.queue.inner.lock();
        match inner.state.get_slot(now()) {
            (slot, Get::Item(taken)) => GetAt::Item(slot, taken),
            (_, Get::ShutDown) => GetAt::ShutDown,
            (_, Get::Wait(due)) => {
                if self.timer || !inner.timer_taken {
                    self.timer = due.is_some();
                    inner.timer_taken = self.timer;
                }
                GetAt::Wait(due.filter(|_| self.timer))
            }
        }
    }
}

enum GetAt<K> {
    Item(u32, Taken<K>),
    Wait(Option<Instant>),
    ShutDown,
}

impl<K> Drop for Waiter<'_, K> {
    fn drop(&mut self) {
        let mut inner = self.queue.inner.lock();
        inner.waiting -= 1;
        if self.timer {
            inner.timer_taken = false;
        }
        // Several keys may have become ready at once, the clock may need another watcher, and the end concerns all.
        let pass_on = self.timer || !inner.state.is_empty() || inner.state.is_over();
        let pass_on = inner.waiting > 0 && pass_on;
        drop(inner);
        if pass_on {
            self.queue.work.notify_one();
        }
    }
}

/// A key in work. Dropping it tells the queue that the worker is done, also when the worker panics or is cancelled.
#[must_use = "dropping an item means that its work is done"]
pub struct Item<K: Eq + Hash + Clone> {
    /// Where the queue has the key.
    slot: u32,
    taken: Taken<K>,
    queue: WorkQueue<K>,
}

impl<K: Eq + Hash + Clone> Item<K> {
    /// The key. No other worker has it while this item lives.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.taken.key
    }

    /// The highest priority that was asked for since the key's last run.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.taken.priority
    }

    /// How long the key was ready before it was taken.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.taken.waited
    }

    /// The worker is done. The same as dropping the item.
    pub fn done(self) {}
}

impl<K: Eq + Hash + Clone> Drop for Item<K> {
    fn drop(&mut self) {
        self.queue.finish(self.slot);
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(&self.taken).finish()
    }
}

/// Longest single sleep of the worker that watches the clock.
const LONGEST_SLEEP: Duration = Duration::from_secs(86_400);
