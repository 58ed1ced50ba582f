//! The policy as the store has it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::GROUP;
use super::policy::{Binding, Policy};
use super::rule::PolicyRule;
use crate::storage::{
    Change, Event, KeyPrefix, Storage, StorageError, Watch, WatchItem, WatchRequest, WatchStart,
};

/// Follows roles and bindings in the store. It has no task of its own: whoever needs the policy has it catch up, which takes in what
/// was written since; so what a write changes is in force as soon as the store knows of it.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    present: Mutex<Present>,
    /// Held by the one who reads everything anew; others wait for them.
    beginning: tokio::sync::Mutex<()>,
}

/// What is known.
#[derive(Debug, Default)]
struct Present {
    policy: Policy,
    /// One for each of [`PLURALS`]; none before the first use, and after one broke off.
    watches: Vec<Watch>,
    /// Until when nothing is read anew, since that failed.
    rests_until: Option<Instant>,
    is_known: bool,
}

impl Follower {
    /// The policy by all that the store knows of now. While the store cannot be read, it is the last one that was known, as with
    /// upstream's informers, and [`BEGIN_LIMIT`] is waited once in [`REST`] at most.
    ///
    /// # Errors
    /// When the store could never be read.
    pub(crate) async fn catch_up(&self, storage: &dyn Storage) -> Result<Policy, StorageError> {
        // The lock is not held across a wait.
        let known = self.present.lock().catch_up();
        match known {
            Some(policy) => Ok(policy),
            None => self.begin(storage).await,
        }
    }

    async fn begin(&self, storage: &dyn Storage) -> Result<Policy, StorageError> {
        let begun = tokio::time::timeout(BEGIN_LIMIT, async {
            let _one = self.beginning.lock().await;
            // Somebody else was about it.
            let known = self.present.lock().catch_up();
            if let Some(policy) = known {
                return Ok(policy);
            }
            let fresh = Present::begin(storage).await?;
            let policy = fresh.policy.clone();
            *self.present.lock() = fresh;
            Ok(policy)
        });
        let error = match begun.await {
            Ok(Ok(policy)) => return Ok(policy),
            Ok(Err(error)) => error,
            Err(_) => StorageError::Unavailable {
                reason: "reading roles and bindings takes too long",
                source: None,
            },
        };
        let mut present = self.present.lock();
        if !present.is_known {
            return Err(error);
        }
        tracing::warn!(%error, "roles and bindings cannot be read; requests are decided on by those that were known last");
        present.rests_until = Some(Instant::now() + REST);
        Ok(present.policy.clone())
    }
}

impl Present {
    /// The policy with what came since; `None` where everything is to be read anew.
    fn catch_up(&mut self) -> Option<Policy> {
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return Some(self.policy.clone());
        }
        self.rests_until = None;
        // Also after a time in which nobody asked, when the changes since are no longer known.
        if self.watches.is_empty() || self.take_news().is_err() {
            self.watches.clear();
            return None;
        }
        Some(self.policy.clone())
    }

    async fn begin(storage: &dyn Storage) -> Result<Self, StorageError> {
        // A watch from the state may show a cached one; afterwards the cache knows all that was stored before.
        storage.progress().await?;
        let mut fresh = Self {
            is_known: true,
            ..Self::default()
        };
        for plural in PLURALS {
            let mut watch = storage.watch(WatchRequest {
                prefix: KeyPrefix::resource(GROUP, plural),
                start: WatchStart::State,
            })?;
            loop {
                match watch.next().await? {
                    WatchItem::Event(event) => fresh.take(&event),
                    WatchItem::Synced(_) => break,
                    WatchItem::Progress(_) => {}
                }
            }
            fresh.watches.push(watch);
        }
        Ok(fresh)
    }

    fn take_news(&mut self) -> Result<(), StorageError> {
        let mut news = Vec::new();
        for watch in &mut self.watches {
            while watch.try_next_batch(BATCH, &mut news)? > 0 {}
        }
        for item in news {
            if let WatchItem::Event(event) = item {
                self.take(&event);
            }
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        let object = event.object();
        let key = object.key();
        let (namespace, name) = (key.namespace().unwrap_or_default(), key.name());
        let is_role = matches!(key.resource(), "clusterroles" | "roles");
        let bytes = match event.change() {
            Change::Added | Change::Modified => Some(object.storage_bytes()),
            Change::Deleted => None,
        };
        let taken = match (is_role, bytes) {
            (true, Some(bytes)) => {
                PolicyRule::parse(bytes).map(|rules| self.policy.set_role(namespace, name, rules))
            }
            (false, Some(bytes)) => {
                Binding::parse(namespace, name, bytes).map(|binding| self.policy.set_binding(binding))
            }
            (true, None) => return self.policy.remove_role(namespace, name),
            (false, None) => return self.policy.remove_binding(namespace, name),
        };
        if let Err(error) = taken {
            tracing::error!(%key, %error, "a stored role or binding cannot be read and gives nothing");
            match is_role {
                true => self.policy.remove_role(namespace, name),
                false => self.policy.remove_binding(namespace, name),
            }
        }
    }
}

/// The kinds that make up a policy, the roles before the bindings.
const PLURALS: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];
/// So many changes are taken in at once.
const BATCH: usize = 256;
/// How long a request waits for everything to be read.
const BEGIN_LIMIT: Duration = Duration::from_secs(1);
/// How long nothing is read anew after it failed.
const REST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use kubewright_net::Identity;
    use serde_json::json;

    use super::*;
    use crate::authorization::{Access, Attempt};
    use crate::storage::tests::faults::{Flaky, LOST};
    use crate::storage::{Encoded, Key};

    async fn put(store: &Flaky, plural: &str, name: &str, object: serde_json::Value) {
        let key = Key::new(GROUP, plural, None, name);
        store.create(key, Encoded::from_value(&object)).await.unwrap();
    }

    /// A binding of the role `all` to a user.
    async fn bind(store: &Flaky, user: &str) {
        let binding = json!({"roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "all"}, "subjects": [{"kind": "User", "name": user}]});
        put(store, "clusterrolebindings", user, binding).await;
    }

    fn may(policy: &Policy, user: &str) -> bool {
        let attempt = Attempt {
            verb: "get",
            group: "",
            resource: "pods",
            subresource: "",
            namespace: None,
            name: "",
        };
        policy
            .allows(&Identity::new(user, [""; 0]), &Access::Resource(attempt))
            .is_ok()
    }

    /// Who of `a`, `b` and `c` may do something by what the follower knows.
    async fn known(follower: &Follower, store: &Flaky) -> Result<String, String> {
        let policy = follower
            .catch_up(store)
            .await
            .map_err(|error| error.to_string())?;
        Ok(["a", "b", "c"]
            .into_iter()
            .filter(|user| may(&policy, user))
            .collect())
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_policy_counts_while_the_store_cannot_be_read() {
        let store = Flaky::default();
        let follower = Follower::default();
        store.break_off(LOST);
        assert_eq!(
            known(&follower, &store).await,
            Err(LOST.to_string()),
            "nothing was ever known"
        );
        store.heal();
        put(
            &store,
            "clusterroles",
            "all",
            json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}),
        )
        .await;
        bind(&store, "a").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "a");
        bind(&store, "b").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "ab", "at once");
        // A watch that broke off is begun anew by whoever comes.
        store.break_off(LOST);
        store.heal();
        bind(&store, "c").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "abc");
        store.break_off(LOST);
        assert_eq!(known(&follower, &store).await.unwrap(), "abc");
        store.heal();
        let key = Key::new(GROUP, "clusterrolebindings", None, "a");
        let bound = store.get(key.clone()).await.unwrap().unwrap();
        store.delete(key, bound.revision()).await.unwrap();
        assert_eq!(
            known(&follower, &store).await.unwrap(),
            "abc",
            "it rests after a failure"
        );
        tokio::time::advance(REST).await;
        assert_eq!(known(&follower, &store).await.unwrap(), "bc");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_waited_for_once() {
        let store = Flaky::default();
        put(
            &store,
            "clusterroles",
            "all",
            json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}),
        )
        .await;
        bind(&store, "a").await;
        let follower = Follower::default();
        assert_eq!(known(&follower, &store).await.unwrap(), "a");
        store.stall_after(Some(0));
        store.break_off(LOST);
        store.heal();
        let begun = Instant::now();
        let many = (0..10).map(|_| known(&follower, &store));
        for known in futures_util::future::join_all(many).await {
            assert_eq!(known.unwrap(), "a");
        }
        assert_eq!(begun.elapsed(), BEGIN_LIMIT);
        assert_eq!(known(&follower, &store).await.unwrap(), "a");
        assert_eq!(begun.elapsed(), BEGIN_LIMIT);
        store.stall_after(None);
        tokio::time::advance(REST).await;
        bind(&store, "b").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "ab");
    }
}
