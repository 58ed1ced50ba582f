//! What services have been given and not stored yet: addresses and ports are given out once.
//!
//! Upstream writes what is taken into objects of its own (kubernetes pkg/registry/core/service/ipallocator). Here a service is given what no stored
//! service has and none that is on its way to the store; whoever looks and takes does so alone, whoever is asked about the service
//! afterwards may take their time and write services themselves.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::MutexGuard;

/// The services that are on their way to the store.
#[derive(Debug, Default)]
pub(crate) struct Reserved {
    turn: tokio::sync::Mutex<()>,
    services: Mutex<Services>,
}

#[derive(Debug, Default)]
struct Services {
    last: u64,
    all: BTreeMap<u64, Value>,
}

impl Reserved {
    /// Waits until nobody else gives anything out.
    pub(super) async fn turn(&self) -> Turn<'_> {
        Turn {
            reserved: self,
            _guard: self.turn.lock().await,
        }
    }
}

/// The turn of a service to be given what it needs.
pub(super) struct Turn<'a> {
    reserved: &'a Reserved,
    _guard: MutexGuard<'a, ()>,
}

impl<'a> Turn<'a> {
    /// Shows `look` each service that is on its way.
    pub(super) fn each(&self, look: impl FnMut(&Value)) {
        self.reserved.services.lock().all.values().for_each(look);
    }

    /// Ends the turn: the service keeps what it has been given for as long as the answer is kept.
    pub(super) fn end(self, service: &Value) -> Reservation<'a> {
        let mut services = self.reserved.services.lock();
        services.last += 1;
        let number = services.last;
        services.all.insert(number, service.clone());
        Reservation {
            reserved: self.reserved,
            number,
        }
    }
}

/// What one service keeps until it is stored.
pub(crate) struct Reservation<'a> {
    reserved: &'a Reserved,
    number: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.reserved.services.lock().all.remove(&self.number);
    }
}

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
}
