//! The policy as the store has it.

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
    policy: Policy,
    /// One for each of [`PLURALS`]; none before the first use.
    watches: Vec<Watch>,
}

impl Follower {
    /// The policy by all that the store knows of now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn catch_up(&mut self, storage: &dyn Storage) -> Result<Policy, StorageError> {
        if self.watches.is_empty() || self.take_news().is_err() {
            // Also after a time in which nobody asked, when the changes since are no longer known.
            self.begin(storage).await?;
        }
        Ok(self.policy.clone())
    }

    async fn begin(&mut self, storage: &dyn Storage) -> Result<(), StorageError> {
        // A watch from the state may show a cached one; afterwards the cache knows all that was stored before.
        storage.progress().await?;
        let mut fresh = Self::default();
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
        *self = fresh;
        Ok(())
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
