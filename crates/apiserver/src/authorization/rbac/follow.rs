//! The policy as the store has it.

use std::sync::Arc;

use super::GROUP;
use super::policy::{Binding, Policy};
use super::rule::PolicyRule;
use crate::storage::{Change, Digest, Event, Follower, KeyPrefix};

/// Follows roles and bindings in the store.
pub(crate) fn follower() -> Follower<Arc<Policy>> {
    Follower::new(PLURALS.map(|plural| KeyPrefix::resource(GROUP, plural)))
}

impl Digest for Arc<Policy> {
    type Snapshot = Self;
    const OBJECTS: &'static str = "roles and bindings";

    fn take(&mut self, event: &Event) {
        // Copied where somebody still decides by it, which is cheap.
        let policy = Self::make_mut(self);
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
                PolicyRule::parse(bytes).map(|rules| policy.set_role(namespace, name, rules))
            }
            (false, Some(bytes)) => {
                Binding::parse(namespace, name, bytes).map(|binding| policy.set_binding(binding))
            }
            (true, None) => return policy.remove_role(namespace, name),
            (false, None) => return policy.remove_binding(namespace, name),
        };
        if let Err(error) = taken {
            tracing::error!(%key, %error, "a stored role or binding cannot be read and gives nothing");
            match is_role {
                true => policy.remove_role(namespace, name),
                false => policy.remove_binding(namespace, name),
            }
        }
    }

    fn snapshot(&mut self) -> Self {
        self.clone()
    }
}

/// The kinds that make up a policy, the roles before the bindings.
const PLURALS: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];
