//! Trying again after a conflict: [`retry_on_conflict`].

use std::time::Duration;

use crate::error::Error;

/// How often something is tried, and how long the pauses in between are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// How often at most, the first time included; 0 counts as 1.
    pub attempts: u32,
    /// The first pause.
    pub pause: Duration,
    /// What each pause is multiplied by for the next.
    pub factor: f64,
    /// The part of a pause by which it may be longer, at random.
    pub jitter: f64,
    /// The longest pause, jitter aside.
    pub max_pause: Duration,
}

impl Backoff {
    /// For a resource that many write: 5 attempts, 10 ms apart (client-go `util/retry`, `DefaultRetry`). The default.
    pub const CONTENDED: Self = Self {
        attempts: 5,
        pause: Duration::from_millis(10),
        factor: 1.0,
        jitter: 0.1,
        max_pause: Duration::from_secs(1),
    };

    /// For a conflict with a controller that has to come to rest first: 4 attempts, 10, 50 and 250 ms apart
    /// (`DefaultBackoff`).
    pub const CONTROLLER: Self = Self {
        attempts: 4,
        factor: 5.0,
        ..Self::CONTENDED
    };

    /// The pauses, with random numbers of at least 0 and less than 1.
    pub(super) fn pauses(self, mut random: impl FnMut() -> f64) -> impl Iterator<Item = Duration> {
        let mut pause = self.pause;
        (1..self.attempts).map(move |_| {
            let this = pause.min(self.max_pause);
            pause = this.mul_f64(self.factor.max(0.0)).min(self.max_pause);
            this + this.mul_f64(self.jitter.max(0.0) * random())
        })
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::CONTENDED
    }
}

/// Calls `attempt` until it does not end in a conflict, or has been called often enough: the last conflict is the result
/// then. It should read the object anew each time.
///
/// ```
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kubewright_client::{Api, Error, WriteOptions, helpers::{Backoff, retry_on_conflict}};
/// # async fn example(config_maps: &Api<ConfigMap>) -> Result<(), Error> {
/// retry_on_conflict(Backoff::default(), || async {
///     let mut settings = config_maps.get("settings").await?;
///     settings.data.get_or_insert_default().insert("colour".to_owned(), "green".to_owned());
///     config_maps.replace("settings", &settings, &WriteOptions::default()).await
/// })
/// .await?;
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// What `attempt` fails with.
pub async fn retry_on_conflict<T, F>(backoff: Backoff, mut attempt: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    for pause in backoff.pauses(fastrand::f64) {
        match attempt().await {
            Err(error) if error.is_conflict() => tokio::time::sleep(pause).await,
            other => return other,
        }
    }
    attempt().await
}

#[cfg(test)]
mod tests {
    use kubewright_core::{Status, StatusReason};

    use super::*;
    use crate::call::Call;

    #[test]
    fn pauses_grow_to_a_limit() {
        let capped = Backoff {
            attempts: 4,
            pause: Duration::from_millis(600),
            factor: 2.0,
            jitter: 1.0,
            max_pause: Duration::from_secs(1),
        };
        let never = Backoff {
            attempts: 0,
            ..capped
        };
        let rows: [(Backoff, f64, &[u64]); 5] = [
            (Backoff::CONTENDED, 0.0, &[10, 10, 10, 10]),
            (Backoff::CONTENDED, 0.5, &[10, 10, 10, 10]),
            (Backoff::CONTROLLER, 0.0, &[10, 50, 250]),
            (capped, 0.5, &[900, 1500, 1500]),
            (never, 0.0, &[]),
        ];
        for (backoff, random, expect) in rows {
            let pauses = backoff.pauses(|| random).map(|pause| pause.as_millis() as u64);
            assert_eq!(pauses.collect::<Vec<_>>(), expect, "{backoff:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_conflicts_are_tried_again() {
        let fail = |reason| Call::new("update", "", "/x").api(Status::failure(reason, "no"));
        // What the attempts end with, and how many there are.
        let rows = [
            (vec![], 1),
            (vec![StatusReason::Conflict; 2], 3),
            (vec![StatusReason::Conflict; 9], 5),
            (vec![StatusReason::Conflict, StatusReason::Invalid], 2),
            (vec![StatusReason::AlreadyExists], 1),
        ];
        for (reasons, expect) in rows {
            let mut calls = 0;
            let result = retry_on_conflict(Backoff::default(), || {
                let reason = reasons.get(calls).cloned();
                calls += 1;
                async move { reason.map_or(Ok(()), |reason| Err(fail(reason))) }
            })
            .await;
            assert_eq!(calls, expect, "{reasons:?}");
            assert_eq!(result.is_ok(), reasons.len() < expect, "{reasons:?}");
        }
    }
}
