//! How long a key waits before its next try (client-go `util/workqueue/default_rate_limiters.go`).
//!
//! Limiters are plain state: the time is an argument.

use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

/// Decides how long a key waits before it is tried again. Called under the queue's lock: implementations only reckon, and
/// never call the queue back.
pub trait RateLimiter<K>: fmt::Debug + Send {
    /// Counts one more failure of the key and says how long to wait.
    fn when(&mut self, key: &K, now: Instant) -> Duration;

    /// The key succeeded, or nobody cares any more: what is known about it is dropped.
    fn forget(&mut self, key: &K);

    /// How often the key has failed since it was last forgotten.
    fn num_requeues(&self, key: &K) -> u32;
}

/// Failure counts of keys, bounded.
///
/// Counts live in two generations. When the younger is full it becomes the older one, and what was in the older is
/// dropped: so keys that nobody forgets (a worker that gives up for good) cannot pile up, and the keys that fail
/// most often keep their counts.
#[derive(Debug)]
struct Failures<K> {
    young: HashMap<K, u32>,
    old: HashMap<K, u32>,
    per_generation: usize,
}

impl<K: Eq + Hash + Clone> Failures<K> {
    fn new(tracked_keys: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            per_generation: (tracked_keys / 2).max(1),
        }
    }

    /// Adds one failure and returns how many there were before.
    fn fail(&mut self, key: &K) -> u32 {
        if let Some(count) = self.young.get_mut(key) {
            *count = count.saturating_add(1);
            return *count - 1;
        }
        let before = if self.old.is_empty() {
            0
        } else {
            self.old.remove(key).unwrap_or(0)
        };
        if self.young.len() >= self.per_generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key.clone(), before.saturating_add(1));
        before
    }

    fn forget(&mut self, key: &K) {
        for generation in [&mut self.young, &mut self.old] {
            // Most keys never fail: they are not even hashed.
            if !generation.is_empty()
                && generation.remove(key).is_some()
                && generation.is_empty()
                && generation.capacity() > KEPT_CAPACITY
            {
                // A burst of failures must not hold its memory for ever.
                *generation = HashMap::new();
            }
        }
    }

    fn count(&self, key: &K) -> u32 {
        self.young
            .get(key)
            .or_else(|| self.old.get(key))
            .copied()
            .unwrap_or(0)
    }

    #[cfg(test)]
    fn tracked(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

/// Entries for which an empty table stays allocated.
const KEPT_CAPACITY: usize = 256;

/// Most keys whose failures a limiter remembers, by default: 2^20.
pub const DEFAULT_TRACKED_KEYS: usize = 1 << 20;

/// Doubles the wait of a key with each failure: `base * 2^failures`, at most `max`.
#[derive(Debug)]
pub struct Exponential<K> {
    base: Duration,
    max: Duration,
    failures: Failures<K>,
}

impl<K: Eq + Hash + Clone> Exponential<K> {
    /// A limiter that starts at `base` and stays at or below `max`.
    #[must_use]
    pub fn new(base: Duration, max: Duration) -> Self {
        Self::with_tracked_keys(base, max, DEFAULT_TRACKED_KEYS)
    }

    /// As [`Exponential::new`], remembering the failures of at most about `tracked_keys` keys.
    #[must_use]
    pub fn with_tracked_keys(base: Duration, max: Duration, tracked_keys: usize) -> Self {
        Self {
            base,
            max,
            failures: Failures::new(tracked_keys),
        }
    }
}

impl<K: Eq + Hash + Clone> Default for Exponential<K> {
    /// 5 ms, at most 1000 s.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1000))
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug + Send> RateLimiter<K> for Exponential<K> {
    fn when(&mut self, key: &K, _now: Instant) -> Duration {
        let failures = self.failures.fail(key);
        if self.base.is_zero() {
            return Duration::ZERO;
        }
        let factor = 2u128.checked_pow(failures);
        let nanos = factor.and_then(|factor| self.base.as_nanos().checked_mul(factor));
        nanos
            .filter(|nanos| *nanos < self.max.as_nanos())
            .map_or(self.max, Duration::from_nanos_u128)
    }

    fn forget(&mut self, key: &K) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.failures.count(key)
    }
}

/// Lets a number of retries a second through, whatever their keys, and a burst at once.
#[derive(Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    last: Option<Instant>,
}

impl TokenBucket {
    /// A bucket of `burst` tokens that refills with `per_second` (values below one a day count as one a day).
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst);
        Self {
            per_second: per_second.max(1.0 / 86_400.0),
            burst,
            tokens: burst,
            last: None,
        }
    }
}

impl Default for TokenBucket {
    /// 10 a second, burst 100.
    fn default() -> Self {
        Self::new(10.0, 100)
    }
}

impl<K> RateLimiter<K> for TokenBucket {
    fn when(&mut self, _key: &K, now: Instant) -> Duration {
        let idle = now
            .saturating_duration_since(self.last.unwrap_or(now))
            .as_secs_f64();
        self.last = Some(self.last.map_or(now, |last| last.max(now)));
        self.tokens = (self.tokens + idle * self.per_second).min(self.burst) - 1.0;
        if self.tokens >= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(-self.tokens / self.per_second).unwrap_or(Duration::MAX)
    }

    fn forget(&mut self, _key: &K) {}

    fn num_requeues(&self, _key: &K) -> u32 {
        0
    }
}

/// A few quick tries, then slow ones.
#[derive(Debug)]
pub struct FastSlow<K> {
    fast: Duration,
    slow: Duration,
    fast_tries: u32,
    failures: Failures<K>,
}

impl<K: Eq + Hash + Clone> FastSlow<K> {
    /// Waits `fast` for the first `fast_tries` failures of a key and `slow` from then on.
    #[must_use]
    pub fn new(fast: Duration, slow: Duration, fast_tries: u32) -> Self {
        Self {
            fast,
            slow,
            fast_tries,
            failures: Failures::new(DEFAULT_TRACKED_KEYS),
        }
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug + Send> RateLimiter<K> for FastSlow<K> {
    fn when(&mut self, key: &K, _now: Instant) -> Duration {
        if self.failures.fail(key) < self.fast_tries {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&mut self, key: &K) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.failures.count(key)
    }
}

/// The longest wait that any of several limiters asks for.
#[derive(Debug)]
pub struct MaxOf<K>(Vec<Box<dyn RateLimiter<K>>>);

impl<K> MaxOf<K> {
    /// Combines limiters; none of them means no wait.
    #[must_use]
    pub fn new(limiters: Vec<Box<dyn RateLimiter<K>>>) -> Self {
        Self(limiters)
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug + Send + 'static> Default for MaxOf<K> {
    /// The default of controllers: [`Exponential`] and [`TokenBucket`] with their defaults.
    fn default() -> Self {
        Self(vec![
            Box::new(Exponential::default()),
            Box::new(TokenBucket::default()),
        ])
    }
}

impl<K: fmt::Debug> RateLimiter<K> for MaxOf<K> {
    fn when(&mut self, key: &K, now: Instant) -> Duration {
        self.0
            .iter_mut()
            .map(|limiter| limiter.when(key, now))
            .max()
            .unwrap_or(Duration::ZERO)
    }

    fn forget(&mut self, key: &K) {
        for limiter in &mut self.0 {
            limiter.forget(key);
        }
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.0
            .iter()
            .map(|limiter| limiter.num_requeues(key))
            .max()
            .unwrap_or(0)
    }
}

/// Another limiter's wait, cut off at a maximum.
#[derive(Debug)]
pub struct WithMaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L> WithMaxWait<L> {
    /// Never waits longer than `max`.
    #[must_use]
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for WithMaxWait<L> {
    fn when(&mut self, key: &K, now: Instant) -> Duration {
        self.limiter.when(key, now).min(self.max)
    }

    fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &K) -> u32 {
        self.limiter.num_requeues(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits<L: RateLimiter<&'static str>>(limiter: &mut L, tries: usize, now: Instant) -> Vec<u128> {
        (0..tries).map(|_| limiter.when(&"a", now).as_millis()).collect()
    }

    #[test]
    fn waits_grow_as_documented() {
        let now = Instant::now();
        let mut exponential = Exponential::default();
        assert_eq!(waits(&mut exponential, 5, now), [5, 10, 20, 40, 80]);
        assert_eq!(exponential.num_requeues(&"a"), 5);
        // 5 ms * 2^17 is the last below 1000 s; from there on, also past 32 doublings, it stays at the maximum.
        let more = waits(&mut exponential, 60, now);
        assert_eq!((more[12], more[13], more[59]), (655_360, 1_000_000, 1_000_000));
        exponential.forget(&"a");
        assert_eq!(
            (exponential.num_requeues(&"a"), waits(&mut exponential, 1, now)),
            (0, vec![5])
        );

        // Neither is a small base tried at full length out of a sudden, nor none at all.
        let mut none = Exponential::new(Duration::ZERO, Duration::from_secs(1000));
        assert_eq!(waits(&mut none, 200, now), [0; 200]);
        let mut small = Exponential::new(Duration::from_nanos(1), Duration::from_secs(1000));
        let waits_of_small = waits(&mut small, 60, now);
        assert_eq!((waits_of_small[39], waits_of_small[40]), (549_755, 1_000_000));

        let mut fast_slow = FastSlow::new(Duration::from_millis(1), Duration::from_secs(1), 2);
        assert_eq!(waits(&mut fast_slow, 4, now), [1, 1, 1000, 1000]);

        let mut capped = WithMaxWait::new(Exponential::default(), Duration::from_millis(12));
        assert_eq!(waits(&mut capped, 3, now), [5, 10, 12]);
    }

    #[test]
    fn the_bucket_bursts_and_refills() {
        let now = Instant::now();
        let mut bucket = TokenBucket::new(10.0, 3);
        assert_eq!(waits(&mut bucket, 5, now), [0, 0, 0, 100, 200]);
        // Two tokens are owed; after 400 ms they are paid and two more are there.
        assert_eq!(
            waits(&mut bucket, 3, now + Duration::from_millis(400)),
            [0, 0, 100]
        );
        // A clock that steps back changes nothing.
        assert_eq!(waits(&mut bucket, 1, now), [200]);
    }

    #[test]
    fn the_default_takes_the_longer_wait() {
        let now = Instant::now();
        let mut limiter = MaxOf::default();
        for i in 0..100u32 {
            assert_eq!(limiter.when(&i, now), Duration::from_millis(5));
        }
        assert_eq!(limiter.when(&100, now), Duration::from_millis(100));
        assert_eq!(limiter.num_requeues(&100), 1);
    }

    #[test]
    fn forgotten_and_abandoned_keys_leave_nothing() {
        let now = Instant::now();
        let mut limiter = Exponential::default();
        for key in 0..1_000_000u32 {
            limiter.when(&key, now);
            limiter.forget(&key);
        }
        assert_eq!(limiter.failures.tracked(), 0);
        assert!(limiter.failures.young.capacity() <= KEPT_CAPACITY);

        let mut limiter =
            Exponential::with_tracked_keys(Duration::from_millis(1), Duration::from_secs(1), 100);
        for key in 0..10_000u32 {
            limiter.when(&key, now);
            // A key that keeps failing is never dropped.
            limiter.when(&0, now);
            assert!(limiter.failures.tracked() <= 100);
        }
        assert_eq!(limiter.num_requeues(&0), 10_001);
        assert_eq!(limiter.num_requeues(&1), 0);
    }
}
