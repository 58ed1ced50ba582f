//! The webhooks that are configured.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_core::{FieldError, FieldPath};
use parking_lot::Mutex;
use serde_json::Value;

use super::hook::Hook;
use crate::registry::Resource;
use crate::storage::{
    Change, Event, Key, KeyPrefix, Storage, StorageError, Watch, WatchItem, WatchRequest, WatchStart,
};

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

/// The hooks that are configured. Each request reads on where the last one ended: a configuration counts from when the store tells of it,
/// which for the store in memory is when it is stored.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    mutating: Mutex<Option<Followed>>,
    validating: Mutex<Option<Followed>>,
}

/// All configurations of a kind.
#[derive(Debug)]
struct Followed {
    watch: Watch,
    /// Reused; empty between calls.
    batch: Vec<WatchItem>,
    /// Each with its hooks, which have the connections to their webhooks: they stay as long as it does.
    configurations: BTreeMap<Key, Vec<Arc<Hook>>>,
    all: Arc<[Arc<Hook>]>,
}

impl Hooks {
    /// All hooks in their order: by the name of their configuration, then as they stand in it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn read(
        &self,
        storage: &dyn Storage,
        kind: Kind,
    ) -> Result<Arc<[Arc<Hook>]>, StorageError> {
        let followed = match kind {
            Kind::Mutating => &self.mutating,
            Kind::Validating => &self.validating,
        };
        // A watch that broke off, as one does that was not read for long, is begun anew.
        if let Some(present) = &mut *followed.lock()
            && present.catch_up().is_ok()
        {
            return Ok(present.all.clone());
        }
        let begun = Followed::begin(storage, kind).await?;
        let all = begun.all.clone();
        *followed.lock() = Some(begun);
        Ok(all)
    }
}

impl Followed {
    async fn begin(storage: &dyn Storage, kind: Kind) -> Result<Self, StorageError> {
        // What was stored before is known to watches that are opened afterwards.
        storage.progress().await?;
        let mut followed = Self {
            watch: storage.watch(WatchRequest {
                prefix: KeyPrefix::resource(GROUP, kind.plural()),
                start: WatchStart::State,
            })?,
            batch: Vec::new(),
            configurations: BTreeMap::new(),
            all: Arc::default(),
        };
        loop {
            match followed.watch.next().await? {
                WatchItem::Event(event) => followed.take(&event),
                WatchItem::Synced(_) => break,
                WatchItem::Progress(_) => {}
            }
        }
        followed.gather();
        Ok(followed)
    }

    /// Takes in what the store has to tell.
    fn catch_up(&mut self) -> Result<(), StorageError> {
        let mut is_changed = false;
        while self.watch.try_next_batch(BATCH, &mut self.batch)? > 0 {
            for item in std::mem::take(&mut self.batch) {
                if let WatchItem::Event(event) = item {
                    self.take(&event);
                    is_changed = true;
                }
            }
        }
        if is_changed {
            self.gather();
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        let object = event.object();
        let key = object.key().clone();
        match event.change() {
            Change::Added | Change::Modified => {
                self.configurations.insert(key, Hook::all(&object.value()));
            }
            Change::Deleted => {
                self.configurations.remove(&key);
            }
        }
    }

    fn gather(&mut self) {
        self.all = self.configurations.values().flatten().cloned().collect();
    }
}

/// How many changes are taken in at once.
const BATCH: usize = 64;
