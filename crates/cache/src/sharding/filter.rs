//! Handlers that see a replica's share.

use std::fmt;
use std::future::Future;

use hashbrown::HashMap;
use kubewright_core::ObjectKey;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::key::ShardBy;
use super::shard::Shard;
use crate::cached::Cached;
use crate::informer::{HandlerOptions, SharedInformer};
use crate::listener::EventHandler;
use crate::registration::Registration;
use crate::store::{FinalState, Initial};

/// A handler that is told of the objects of a replica's share, and of those that leave it.
pub trait ShardedHandler<K>: EventHandler<K> {
    /// The object is there still, in the state that the handler was told of last, but belongs to another replica from
    /// now on, or soon. Nothing that the other replica relies on may be cleaned up.
    fn on_released(&self, object: &Cached<K>);
}

impl<K: 'static> SharedInformer<K> {
    /// Adds a handler that sees only what belongs to this replica. An object that comes to belong to it, because replicas
    /// come or go or because its controller changes, is an addition; one that ceases to is
    /// [released](ShardedHandler::on_released).
    ///
    /// This decides what a handler is told, some time after the share has changed; whether a key may be worked on is
    /// decided by [`Shard::begin`] alone.
    ///
    /// The informer itself sees all objects, so that nothing has to be fetched when a replica takes over from another.
    /// The registration is a holder of the shard: the replica does not leave its ring by itself before that is dropped.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn add_sharded_handler(
        &self,
        handler: impl ShardedHandler<K>,
        options: HandlerOptions,
        shard: &Shard,
        by: ShardBy,
    ) -> ShardedRegistration {
        // What changes between the two is seen twice, rather than not at all.
        let generations = shard.generations();
        let filter = Filter {
            shard: shard.clone(),
            by,
            handler,
            told: Mutex::default(),
        };
        let registration = self.add_handler(filter, options);
        ShardedRegistration {
            task: registration.show_again_after(generations),
            registration: Some(registration),
        }
    }
}

/// A sharded handler's place with an informer. Dropping it ends the handler's calls; one that is under way finishes.
#[must_use = "dropping a registration removes the handler"]
pub struct ShardedRegistration {
    /// Taken when it is removed.
    registration: Option<Registration>,
    task: AbortHandle,
}

impl ShardedRegistration {
    /// Waits until the handler was told of every object of its share in the initial state of the informer.
    pub async fn synced(&self) {
        if let Some(registration) = &self.registration {
            registration.synced().await;
        }
    }

    /// How many calls are still to come, counting those that the handler is not told of because an object is not its.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.registration.as_ref().map_or(0, Registration::pending)
    }

    /// As [`Registration::remove`].
    pub fn remove(mut self) -> impl Future<Output = ()> + Send + 'static {
        let removed = self.registration.take().map(Registration::remove);
        async move {
            if let Some(removed) = removed {
                removed.await;
            }
        }
    }
}

impl Drop for ShardedRegistration {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for ShardedRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ShardedRegistration")
            .field(&self.registration)
            .finish()
    }
}

/// Stands between the informer and a handler. After a change of the share it is shown everything again, as by a resync,
/// and sorts out what is new and what is gone.
struct Filter<K, H> {
    shard: Shard,
    by: ShardBy,
    handler: H,
    told: Mutex<HashMap<ObjectKey, Told<K>>>,
}

/// What the handler knows.
struct Told<K> {
    object: Cached<K>,
    /// The generation of the share in which it was looked at last.
    generation: u64,
    /// The generation that brought its key.
    since: u64,
}

impl<K, H> Filter<K, H> {
    /// Notes what the handler knows from now on, and gives back what it knew.
    fn note(&self, object: &Cached<K>) -> Option<Told<K>> {
        // Looked at before the key, so that no change in between is taken for one that was seen.
        let generation = self.shard.generation();
        let since = self.shard.owned_since(self.by.key(object));
        let now = since.map(|since| Told {
            object: object.clone(),
            generation,
            since,
        });
        let mut told = self.told.lock();
        match now {
            Some(now) => told.insert(object.key().clone(), now),
            None => told.remove(object.key()),
        }
    }

    /// Since when the key of an object that the handler knows is the replica's.
    fn since(&self, object: &Cached<K>) -> Option<u64> {
        self.told.lock().get(object.key()).map(|told| told.since)
    }
}

impl<K: 'static, H: ShardedHandler<K>> EventHandler<K> for Filter<K, H> {
    fn on_add(&self, object: &Cached<K>, initial: Initial) {
        self.note(object);
        if self.since(object).is_some() {
            self.handler.on_add(object, initial);
        }
    }

    fn on_update(&self, old: &Cached<K>, new: &Cached<K>) {
        let before = self.note(new);
        match (before, self.since(new)) {
            (None, None) => {}
            (None, Some(_)) => self.handler.on_add(new, Initial::No),
            (Some(before), None) => self.handler.on_released(&before.object),
            // It was gone, and came back before anybody looked: work on it may have been passed over meanwhile.
            (Some(before), Some(since)) if since > before.generation => {
                self.handler.on_released(&before.object);
                self.handler.on_add(new, Initial::No);
            }
            // Shown again because the share changed, which did not change this.
            (Some(before), Some(_))
                if old.same_version(new) && before.generation != self.shard.generation() => {}
            (Some(before), Some(_)) => self.handler.on_update(&before.object, new),
        }
    }

    fn on_delete(&self, object: &Cached<K>, final_state: FinalState) {
        let told = self.told.lock().remove(object.key());
        if told.is_some() {
            self.handler.on_delete(object, final_state);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kubewright_core::Scope;

    use super::*;
    use crate::sharding::key::ShardKey;
    use crate::sharding::shard::tests::Hand;
    use crate::tests::pods;

    #[derive(Default)]
    struct Calls(Mutex<Vec<String>>);

    impl Calls {
        fn call(&self, what: &str, object: &Cached<Pod>) {
            let call = format!("{what} {}@{}", object.name(), object.resource_version());
            self.0.lock().push(call);
        }
    }

    impl EventHandler<Pod> for Calls {
        fn on_add(&self, object: &Cached<Pod>, initial: Initial) {
            self.call(if initial == Initial::Yes { "initial" } else { "add" }, object);
        }
        fn on_update(&self, old: &Cached<Pod>, new: &Cached<Pod>) {
            self.call(&format!("update {} to", old.resource_version()), new);
        }
        fn on_delete(&self, object: &Cached<Pod>, _: FinalState) {
            self.call("delete", object);
        }
    }

    impl ShardedHandler<Pod> for Calls {
        fn on_released(&self, object: &Cached<Pod>) {
            self.call("release", object);
        }
    }

    /// A pod of this name and version that `owner` controls.
    fn pod(name: &str, version: u32, owner: &str) -> Cached<Pod> {
        let owner = format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{owner}","uid":"u","controller":true}}"#
        );
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}","ownerReferences":[{owner}]}}}}"#
        );
        Cached::from_json(json.as_bytes()).unwrap()
    }

    #[tokio::test]
    async fn what_a_handler_is_told() {
        let mut hand = Hand::new();
        let by = ShardBy::Controller {
            resource: pods(),
            owners: Scope::Namespaced,
        };
        let keys = |owners: &[&str]| -> Vec<ShardKey> {
            owners.iter().map(|owner| by.key(&pod("x", 1, owner))).collect()
        };
        let filter = Filter {
            shard: hand.shard.clone(),
            by: by.clone(),
            handler: Calls::default(),
            told: Mutex::default(),
        };
        let told = |filter: &Filter<Pod, Calls>| std::mem::take(&mut *filter.handler.0.lock());
        let again =
            |objects: &[&Cached<Pod>]| objects.iter().for_each(|object| filter.on_update(object, object));
        hand.hold(&keys(&["mine", "late"]));
        let (a, b) = (pod("a", 1, "mine"), pod("b", 2, "other"));
        filter.on_add(&a, Initial::Yes);
        filter.on_add(&b, Initial::Yes);
        assert_eq!(told(&filter), ["initial a@1"]);
        // Changes, a resync, and objects that change hands with their controllers.
        let (a3, b4) = (pod("a", 3, "mine"), pod("b", 4, "other"));
        filter.on_update(&a, &a3);
        filter.on_update(&b, &b4);
        again(&[&a3, &b4]);
        assert_eq!(told(&filter), ["update 1 to a@3", "update 3 to a@3"]);
        let (a5, b6) = (pod("a", 5, "other"), pod("b", 6, "mine"));
        filter.on_update(&a3, &a5);
        filter.on_update(&b4, &b6);
        assert_eq!(told(&filter), ["release a@3", "add b@6"]);
        // Another share: everything is shown again.
        hand.hold(&keys(&["other", "mine"]));
        again(&[&a5, &b6]);
        assert_eq!(told(&filter), ["add a@5"]);
        again(&[&a5, &b6]);
        assert_eq!(told(&filter), ["update 5 to a@5", "update 6 to b@6"]);
        hand.hold(&keys(&["mine"]));
        // A change that comes before it is shown again.
        let b7 = pod("b", 7, "mine");
        filter.on_update(&b6, &b7);
        again(&[&a5, &b7]);
        assert_eq!(
            told(&filter),
            ["update 6 to b@7", "release a@5", "update 7 to b@7"]
        );
        // Lost and taken again before anything is shown.
        hand.hold(&[]);
        hand.hold(&keys(&["mine"]));
        again(&[&a5, &b7]);
        assert_eq!(told(&filter), ["release b@7", "add b@7"]);
        filter.on_delete(&a5, FinalState::Known);
        filter.on_delete(&b7, FinalState::Known);
        assert_eq!(told(&filter), ["delete b@7"]);
    }
}
