//! The webhooks that are configured.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use kubewright_core::{FieldError, FieldPath};
use parking_lot::Mutex;
use serde_json::Value;

use super::hook::Hook;
use crate::registry::Resource;
use crate::storage::{At, Key, KeyPrefix, RangeRequest, Remaining, Revision, Storage, StorageError};

/// Which configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Mutating,
    Validating,
}

impl Kind {
    /// Where they are kept.
    fn prefix(self) -> &'static KeyPrefix {
        static MUTATING: LazyLock<KeyPrefix> =
            LazyLock::new(|| KeyPrefix::resource(GROUP, Kind::Mutating.plural()));
        static VALIDATING: LazyLock<KeyPrefix> =
            LazyLock::new(|| KeyPrefix::resource(GROUP, Kind::Validating.plural()));
        match self {
            Self::Mutating => &MUTATING,
            Self::Validating => &VALIDATING,
        }
    }

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

/// Compiled configurations, each kept until it changes: with them go the connections to their webhooks.
#[derive(Debug, Default)]
pub(crate) struct Hooks(Mutex<HashMap<Key, Configuration>>);

/// The hooks of a configuration.
#[derive(Debug)]
struct Configuration {
    /// When it was stored.
    revision: Revision,
    hooks: Vec<Arc<Hook>>,
}

impl Hooks {
    /// All hooks in their order: by the name of their configuration, then as they stand in it. The store is asked each time, so a
    /// configuration counts from when it is stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn read(
        &self,
        storage: &dyn Storage,
        kind: Kind,
    ) -> Result<Vec<Arc<Hook>>, StorageError> {
        let prefix = kind.prefix();
        let found = storage
            .range(RangeRequest {
                at: At::AnyCached,
                remaining: Remaining::Ignored,
                ..RangeRequest::new(prefix.clone())
            })
            .await?;
        let mut kept = self.0.lock();
        if found.items.is_empty() && kept.is_empty() {
            return Ok(Vec::new());
        }
        kept.retain(|key, _| !prefix.contains(key) || found.items.iter().any(|item| item.key() == key));
        let mut hooks = Vec::new();
        for item in &found.items {
            let revision = item.revision();
            let known = kept.get(item.key()).filter(|known| known.revision == revision);
            if let Some(known) = known {
                hooks.extend(known.hooks.iter().cloned());
                continue;
            }
            let compiled = Hook::all(&item.value());
            hooks.extend(compiled.iter().cloned());
            let compiled = Configuration {
                revision,
                hooks: compiled,
            };
            kept.insert(item.key().clone(), compiled);
        }
        Ok(hooks)
    }
}
