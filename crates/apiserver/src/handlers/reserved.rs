//! What services have been given and not stored yet: addresses and ports are given out once.
//!
//! Upstream writes what is taken into objects of its own (kubernetes pkg/registry/core/service/ipallocator). Here a service is given what no stored
//! service has and none that is on its way to the store; whoever looks and takes does so alone, whoever is asked about the service
//! afterwards may take their time and write services themselves.
//!
//! A request may be given up at any time. Before the store was asked to write, nothing will come of it; from then on the store may
//! still write what nobody waits for any longer, so the service is kept in mind for as long as that can take.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::MutexGuard;
use tokio::time::Instant;

/// The services that are on their way to the store.
#[derive(Debug, Default)]
pub(crate) struct Reserved {
    turn: tokio::sync::Mutex<()>,
    services: Mutex<Services>,
}

#[derive(Debug, Default)]
struct Services {
    last: u64,
    all: BTreeMap<u64, Kept>,
}

#[derive(Debug)]
struct Kept {
    service: Value,
    /// When it is forgotten, if the request was given up.
    until: Option<Instant>,
}

impl Reserved {
    /// Waits until nobody else gives anything out.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        Turn {
            reserved: self,
            _guard: self.turn.lock().await,
        }
    }
}

/// The turn of a service to be given what it needs.
pub(crate) struct Turn<'a> {
    reserved: &'a Reserved,
    _guard: MutexGuard<'a, ()>,
}

impl<'a> Turn<'a> {
    /// Shows `look` each service that is on its way.
    pub(super) fn each(&self, mut look: impl FnMut(&Value)) {
        let all = &mut self.reserved.services.lock().all;
        if !all.is_empty() {
            let now = Instant::now();
            all.retain(|_, kept| kept.until.is_none_or(|until| now < until));
        }
        all.values().for_each(|kept| look(&kept.service));
    }

    /// Ends the turn: the service keeps what it has been given for as long as the answer is kept.
    pub(super) fn end(self, service: &Value) -> Reservation<'a> {
        let mut services = self.reserved.services.lock();
        services.last += 1;
        let number = services.last;
        let kept = Kept {
            service: service.clone(),
            until: None,
        };
        services.all.insert(number, kept);
        Reservation {
            reserved: self.reserved,
            number,
            is_being_stored: false,
        }
    }
}

/// What one service keeps until it is stored.
pub(crate) struct Reservation<'a> {
    reserved: &'a Reserved,
    number: u64,
    /// Whether the store was asked to write and has not answered.
    is_being_stored: bool,
}

impl Reservation<'_> {
    /// What the store answers to a write of the service.
    pub(super) async fn while_stored<T>(kept: &mut Option<Self>, write: impl Future<Output = T>) -> T {
        let mut mark = |is_being_stored| {
            if let Some(reservation) = kept {
                reservation.is_being_stored = is_being_stored;
            }
        };
        mark(true);
        let answer = write.await;
        mark(false);
        answer
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut services = self.reserved.services.lock();
        if !self.is_being_stored {
            services.all.remove(&self.number);
        } else if let Some(kept) = services.all.get_mut(&self.number) {
            kept.until = Some(Instant::now() + LINGER);
        }
    }
}

/// How long after a request was given up the store may still do what it was asked to: as long as upstream waits for a write
/// (`requestTimeoutUpperBound` of apiserver pkg/endpoints/handlers/rest.go), and some more.
const LINGER: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn what_is_kept_is_seen_until_it_is_let_go() {
        let reserved = Reserved::default();
        let seen = |turn: &Turn<'_>| {
            let mut all = Vec::new();
            turn.each(|service| all.push(service.clone()));
            all
        };
        let first = reserved.turn().await.end(&json!(1));
        let turn = reserved.turn().await;
        assert_eq!(seen(&turn), [json!(1)]);
        let second = turn.end(&json!(2));
        drop(first);
        assert_eq!(seen(&reserved.turn().await), [json!(2)]);
        drop(second);
        assert_eq!(seen(&reserved.turn().await), [Value::Null; 0]);
    }
    #[tokio::test(start_paused = true)]
    async fn what_the_store_may_still_write_is_kept_for_a_while() {
        let reserved = Reserved::default();
        let count = async || {
            let mut count = 0;
            reserved.turn().await.each(|_| count += 1);
            count
        };
        // Given up before the store was asked, and after it answered.
        let mut kept = Some(reserved.turn().await.end(&json!(1)));
        assert_eq!(count().await, 1);
        Reservation::while_stored(&mut kept, async {}).await;
        drop(kept);
        assert_eq!(count().await, 0);
        // Given up in between.
        let mut kept = Some(reserved.turn().await.end(&json!(2)));
        let write = Reservation::while_stored(&mut kept, std::future::pending::<()>());
        assert!(tokio::time::timeout(Duration::from_secs(1), write).await.is_err());
        drop(kept);
        assert_eq!(count().await, 1);
        tokio::time::advance(LINGER).await;
        assert_eq!(count().await, 0);
    }
}
