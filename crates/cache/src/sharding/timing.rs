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

/// Times that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a lease of {lease_duration:?} has to last longer than the renew deadline of {renew_deadline:?}, and that longer than twice the \
     retry period of {retry_period:?}, which is not 0"
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
    /// When each is not longer than the next, the last one taken twice, or the last is 0.
    pub fn new(
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, InvalidTiming> {
        if retry_period.is_zero() || renew_deadline <= retry_period * 2 || lease_duration <= renew_deadline {
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
