//! The webhooks that are configured.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

use super::hook::Hook;
use crate::registry::Resource;
use crate::storage::{Change, Digest, Event, Follower, Key, KeyPrefix, Storage, StorageError};

/// Which configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Mutating,
    Validating,
}

impl Kind {
    fn plural(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingwebhookconfigurations",
            Self::Validating => "validatingwebhookconfigurations",
        }
    }
}

/// What is wrong with a configuration as far as this server is concerned: conditions in CEL are not evaluated here, and a webhook that is
/// called against them would be worse than none.
pub(crate) fn check_configuration(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let is_configuration = resource.group == GROUP
        && [Kind::Mutating, Kind::Validating]
            .iter()
            .any(|kind| resource.plural == kind.plural());
    if !is_configuration {
        return Vec::new();
    }
    let hooks = object["webhooks"].as_array().into_iter().flatten().enumerate();
    hooks
        .filter(|(_, hook)| hook["matchConditions"].as_array().is_some_and(|conditions| !conditions.is_empty()))
        .map(|(index, _)| {
            let path = FieldPath::new("webhooks").index(index).child("matchConditions");
            FieldError::forbidden(path, "this server does not evaluate match conditions yet; leave them out, or select by rules and selectors")
        })
        .collect()
}

const GROUP: &str = "admissionregistration.k8s.io";

/// The hooks that are configured.
#[derive(Debug)]
pub(crate) struct Hooks {
    mutating: Follower<Configurations>,
    validating: Follower<Configurations>,
}

impl Default for Hooks {
    fn default() -> Self {
        let follower = |kind: Kind| Follower::new([KeyPrefix::resource(GROUP, kind.plural())]);
        Self {
            mutating: follower(Kind::Mutating),
            validating: follower(Kind::Validating),
        }
    }
}

impl Hooks {
    /// All hooks in their order: by the name of their configuration, then as they stand in it.
    ///
    /// # Errors
    /// When the store could never be read.
    pub(super) async fn read(
        &self,
        storage: &dyn Storage,
        kind: Kind,
    ) -> Result<Arc<[Arc<Hook>]>, StorageError> {
        match kind {
            Kind::Mutating => self.mutating.catch_up(storage).await,
            Kind::Validating => self.validating.catch_up(storage).await,
        }
    }
}

/// All configurations of a kind.
#[derive(Debug, Default)]
struct Configurations {
    /// Each with its hooks, which have the connections to their webhooks: they stay as long as it does.
    by_key: BTreeMap<Key, Vec<Arc<Hook>>>,
    /// The hooks of all; none while that is to be gathered.
    all: Option<Arc<[Arc<Hook>]>>,
}

impl Digest for Configurations {
    type Snapshot = Arc<[Arc<Hook>]>;
    const OBJECTS: &'static str = "webhook configurations";

    fn take(&mut self, event: &Event) {
        let object = event.object();
        let key = object.key().clone();
        match event.change() {
            Change::Added | Change::Modified => {
                self.by_key.insert(key, Hook::all(&object.value()));
            }
            Change::Deleted => {
                self.by_key.remove(&key);
            }
        }
        self.all = None;
    }

    fn snapshot(&mut self) -> Arc<[Arc<Hook>]> {
        let gather = || self.by_key.values().flatten().cloned().collect();
        self.all.get_or_insert_with(gather).clone()
    }
}
