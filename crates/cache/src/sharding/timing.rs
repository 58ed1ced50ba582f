//! How fast the replicas of a ring notice each other.

use std::time::Duration;

/// The times of a ring, with the meaning and the defaults of leader election (client-go `tools/leaderelection`). Use the
/// same for all replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingTiming {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// The longest time of a lease: a day.
pub const MAX_LEASE: Duration = Duration::from_secs(24 * 3600);

/// Times that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a lease of {lease_duration:?} has to last longer than the renew deadline of {renew_deadline:?}, and that longer than twice the \
     retry period of {retry_period:?}, which is not 0; and no lease lasts longer than {MAX_LEASE:?}"
)]
#[non_exhaustive]
pub struct InvalidTiming {
    /// See [`RingTiming::new`].
    pub lease_duration: Duration,
    /// See [`RingTiming::new`].
    pub renew_deadline: Duration,
    /// See [`RingTiming::new`].
    pub retry_period: Duration,
}

impl RingTiming {
    /// Times of one's own.
    ///
    /// * `lease_duration`: the time that a lease says it lasts, rounded up to seconds. A dead replica's share is taken
    ///   over this and the renew deadline after its last sign of life. Default: 15 s.
    /// * `renew_deadline`: a replica that could not renew its lease for so long stops. Default: 10 s.
    /// * `retry_period`: time between renewals, and between looks at the others. Default: 2 s.
    ///
    /// # Errors
    ///
    /// When each is not longer than the next, the last one taken twice, when the last is 0, or the first is more than
    /// [`MAX_LEASE`].
    pub fn new(
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, InvalidTiming> {
        let fit = !retry_period.is_zero()
            && renew_deadline > retry_period.saturating_mul(2)
            && lease_duration > renew_deadline
            && lease_duration <= MAX_LEASE;
        if !fit {
            return Err(InvalidTiming {
                lease_duration,
                renew_deadline,
                retry_period,
            });
        }
        Ok(Self {
            lease_duration,
            renew_deadline,
            retry_period,
        })
    }

    /// See [`new`](Self::new).
    #[must_use]
    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }

    /// See [`new`](Self::new).
    #[must_use]
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// See [`new`](Self::new).
    #[must_use]
    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }

    /// How long a request may take: a renewal that hangs leaves time for another.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.renew_deadline / 3
    }
}

impl Default for RingTiming {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_together() {
        let seconds = Duration::from_secs;
        let day = MAX_LEASE;
        let rows = [
            (seconds(15), seconds(10), seconds(2), true),
            (day, seconds(10), seconds(2), true),
            (day + seconds(1), seconds(10), seconds(2), false),
            (Duration::MAX, Duration::MAX, Duration::MAX, false),
            (seconds(10), seconds(10), seconds(2), false),
            (seconds(15), seconds(4), seconds(2), false),
            (seconds(15), seconds(10), Duration::ZERO, false),
        ];
        for (lease, deadline, retry, fit) in rows {
            let timing = RingTiming::new(lease, deadline, retry);
            assert_eq!(timing.is_ok(), fit, "{lease:?} {deadline:?} {retry:?}");
        }
        let default = RingTiming::default();
        let same = RingTiming::new(
            default.lease_duration(),
            default.renew_deadline(),
            default.retry_period(),
        );
        assert_eq!(same, Ok(default));
    }
}
