//! Waits between failures (apimachinery `pkg/util/wait/backoff.go`).

use std::time::{Duration, Instant};

/// Doubles from a base to a maximum, adds up to as much again at random, and starts anew after a quiet time.
#[derive(Debug)]
pub(crate) struct Backoff {
    base: Duration,
    max: Duration,
    reset: Duration,
    step: u32,
    last: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(base: Duration, max: Duration, reset: Duration) -> Self {
        Self {
            base,
            max,
            reset,
            step: 0,
            last: None,
        }
    }

    /// The wait after a failure now.
    pub(crate) fn next(&mut self, now: Instant, random: &mut fastrand::Rng) -> Duration {
        // The quiet time begins when the last wait was over.
        if self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) > self.reset)
        {
            self.step = 0;
        }
        let factor = 1u32.checked_shl(self.step).unwrap_or(u32::MAX);
        let wait = self.base.saturating_mul(factor).min(self.max);
        self.step = self.step.saturating_add(1);
        let wait = wait + wait.mul_f64(random.f64());
        self.last = Some(now + wait);
        wait
    }
}
