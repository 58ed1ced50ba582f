//! Who owns what after an update or an apply.
//!
//! Upstream: structured-merge-diff `merge/update.go`. The state of an object's owners is a value that goes in and comes
//! out; nothing is kept here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::fields::{FieldSet, ResetFields, equal};
use crate::managed::{ManagerId, Managers, Operation, VersionedSet};
use crate::manager::{Conflicts, Force, ManagerError, Versions};
use crate::typed::{Comparison, compare, field_set, merge, reconcile, remove_items};
use crate::types::TypeRef;

/// Computes the owners of an object's fields after a write.
#[derive(Clone, Copy)]
pub struct Updater<'a> {
    /// The versions of the kind.
    pub versions: &'a dyn Versions,
    /// What writes do not own, for each version.
    pub reset_fields: &'a ResetFields,
}

impl std::fmt::Debug for Updater<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Updater").finish_non_exhaustive()
    }
}

/// An object, and the version it is in.
#[derive(Debug, Clone)]
struct Versioned<'v> {
    value: Cow<'v, Value>,
    version: &'v str,
}

/// What a write changed, in one version.
struct Changes {
    comparison: Comparison,
    /// What was modified or added: what others lose, or what they object to.
    taken: FieldSet,
}

impl<'a> Updater<'a> {
    /// The owners after an update: what was changed belongs to the manager, and to nobody else.
    ///
    /// Both objects are in the given version.
    ///
    /// # Errors
    /// Where objects cannot be compared or converted to the versions of the other owners.
    pub fn update(
        &self,
        live: &Value,
        new: &Value,
        version: &str,
        managers: Managers,
        manager: &ManagerId,
    ) -> Result<Managers, ManagerError> {
        let managers = self.reconcile(managers);
        let live = Versioned::borrowed(live, version);
        let new = Versioned::borrowed(new, version);
        let (mut managers, changes) = self.take(&live, &new, managers, manager, Force::Yes)?;
        let own = managers
            .remove(manager)
            .map(|owned| owned.set)
            .unwrap_or_default();
        let set = own.difference(&changes.comparison.removed).union(changes.taken);
        let set = self.filter(set, version);
        if !set.is_empty() {
            managers.insert(
                manager.clone(),
                VersionedSet {
                    set,
                    api_version: version.to_owned(),
                    operation: Operation::Update,
                },
            );
        }
        Ok(managers)
    }

    /// The object and the owners after an apply. `None` for the object where it is the live one.
    ///
    /// Both the live object and what is applied are in the given version, and fit their type.
    ///
    /// # Errors
    /// Where objects cannot be merged, compared or converted, and without force where others own what would change.
    pub fn apply(
        &self,
        live: &Value,
        config: &Value,
        version: &str,
        managers: Managers,
        manager: &ManagerId,
        force: Force,
    ) -> Result<(Option<Value>, Managers), ManagerError> {
        let ty = self.type_of(version)?;
        let mut managers = self.reconcile(managers);
        let merged = merge(live, config, ty).map_err(|errors| ManagerError::Typed {
            action: "merge config",
            errors,
        })?;
        let set = self.filter(field_set(config, ty), version);
        let owned = VersionedSet {
            set,
            api_version: version.to_owned(),
            operation: Operation::Apply,
        };
        // Who applies everything again that was applied before removes nothing: the common case.
        let last = managers
            .get(manager)
            .filter(|last| last.api_version != version || !last.set.is_subset(&owned.set))
            .cloned();
        managers.insert(manager.clone(), owned);
        let merged = Versioned {
            value: Cow::Owned(merged.unwrap_or_default()),
            version,
        };
        let new = self.prune(merged, &managers, version, last.as_ref())?;
        let live = Versioned::borrowed(live, version);
        let (managers, _) = self.take(&live, &new, managers, manager, force)?;
        let changed = !equal(&live.value, &new.value);
        Ok((changed.then(|| new.value.into_owned()), managers))
    }

    fn type_of(&self, version: &str) -> Result<TypeRef<'_>, ManagerError> {
        self.versions
            .type_of(version)
            .ok_or_else(|| ManagerError::NoSuchVersion {
                found: version.to_owned(),
            })
    }

    fn filter(&self, set: FieldSet, version: &str) -> FieldSet {
        match self.reset_fields.get(version) {
            Some(filter) => filter.apply(set),
            None => set,
        }
    }

    /// The object in another version; `None` where that does not exist (any more).
    fn at<'v>(
        &self,
        object: &'v Versioned<'_>,
        version: &'v str,
    ) -> Result<Option<Versioned<'v>>, ManagerError> {
        if object.version == version {
            return Ok(Some(Versioned::borrowed(&object.value, version)));
        }
        if self.versions.type_of(version).is_none() {
            return Ok(None);
        }
        let converted = self
            .versions
            .convert(&object.value, version)
            .map_err(ManagerError::Convert)?;
        Ok(Some(Versioned {
            value: Cow::Owned(converted),
            version,
        }))
    }

    /// Brings sets in line with types that have changed, and forgets those in versions that are gone.
    fn reconcile(&self, managers: Managers) -> Managers {
        let mut managers = managers;
        managers.retain(|_, owned| match self.versions.type_of(&owned.api_version) {
            Some(ty) => {
                if let Some(set) = reconcile(&owned.set, ty) {
                    owned.set = set;
                }
                true
            }
            None => false,
        });
        managers
    }

    fn changes(&self, old: &Versioned<'_>, new: &Versioned<'_>) -> Result<Changes, ManagerError> {
        let ty = self.type_of(old.version)?;
        let mut comparison = compare(&old.value, &new.value, ty).map_err(|errors| ManagerError::Typed {
            action: "compare objects",
            errors,
        })?;
        if let Some(filter) = self.reset_fields.get(old.version) {
            comparison = comparison.filter(filter);
        }
        let taken = comparison.modified.clone().union(comparison.added.clone());
        Ok(Changes { comparison, taken })
    }

    /// Takes what differs between two objects from all managers but one, or reports what they own of it.
    fn take(
        &self,
        old: &Versioned<'_>,
        new: &Versioned<'_>,
        mut managers: Managers,
        taker: &ManagerId,
        force: Force,
    ) -> Result<(Managers, Changes), ManagerError> {
        let changes = self.changes(old, new)?;
        let mut elsewhere: BTreeMap<String, Option<Changes>> = BTreeMap::new();
        for (_, owned) in managers.iter().filter(|(id, _)| *id != taker) {
            let version = &*owned.api_version;
            if version == old.version || elsewhere.contains_key(version) {
                continue;
            }
            let changes = match (self.at(old, version)?, self.at(new, version)?) {
                (Some(old), Some(new)) => Some(self.changes(&old, &new)?),
                _ => None,
            };
            elsewhere.insert(version.to_owned(), changes);
        }
        managers.retain(|id, owned| id == taker || !matches!(elsewhere.get(&owned.api_version), Some(None)));
        let at = |version: &str| match elsewhere.get(version) {
            Some(Some(changes)) => changes,
            _ => &changes,
        };

        if force == Force::No {
            let mut conflicts = Managers::new();
            for (id, owned) in managers.iter().filter(|(id, _)| *id != taker) {
                let set = owned.set.intersection(&at(&owned.api_version).taken);
                if !set.is_empty() {
                    conflicts.insert(id.clone(), VersionedSet { set, ..owned.clone() });
                }
            }
            if !conflicts.is_empty() {
                return Err(ManagerError::Conflicts(Conflicts::of(&conflicts)));
            }
        }
        managers.retain(|id, owned| {
            if id != taker {
                let changes = at(&owned.api_version);
                let set = std::mem::take(&mut owned.set);
                owned.set = set
                    .difference(&changes.taken)
                    .difference(&changes.comparison.removed);
            }
            !owned.set.is_empty()
        });
        Ok((managers, changes))
    }

    /// Removes what the manager applied before, does not apply any more, and nobody else owns.
    fn prune<'v>(
        &self,
        merged: Versioned<'v>,
        managers: &Managers,
        version: &'v str,
        last: Option<&VersionedSet>,
    ) -> Result<Versioned<'v>, ManagerError> {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else {
            return Ok(merged);
        };
        let last_version = &*last.api_version;
        let Some(at_last) = self.at(&merged, last_version)? else {
            return Ok(merged);
        };
        let ty = self.type_of(last_version)?;
        let last_set = last.set.ensure_named_fields_are_members(ty);
        let pruned = Versioned {
            value: Cow::Owned(remove_items(&at_last.value, &last_set, ty)),
            version: last_version,
        };
        let pruned = self.add_back_owned(&at_last, pruned, managers)?;
        let Some(pruned) = self.at(&pruned, last_version)? else {
            return Ok(merged);
        };
        // What nobody owns stays, unless the manager owned it.
        let kept = field_set(&pruned.value, ty).ensure_named_fields_are_members(ty);
        let all = field_set(&at_last.value, ty).ensure_named_fields_are_members(ty);
        let dangling = all.difference(&kept).intersection(&last_set);
        let pruned = Versioned {
            value: Cow::Owned(remove_items(&at_last.value, &dangling, ty)),
            version: last_version,
        };
        match self.at(&pruned, version)? {
            Some(pruned) => Ok(Versioned {
                value: Cow::Owned(pruned.value.into_owned()),
                version,
            }),
            None => Err(ManagerError::NoSuchVersion {
                found: version.to_owned(),
            }),
        }
    }

    /// Puts back what was pruned but has owners, in each version in which there are any.
    fn add_back_owned<'v>(
        &self,
        merged: &Versioned<'v>,
        pruned: Versioned<'v>,
        managers: &'v Managers,
    ) -> Result<Versioned<'v>, ManagerError> {
        let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for set in managers.values() {
            let all = owned.entry(&set.api_version).or_default();
            *all = std::mem::take(all).union(set.set.clone());
        }
        // First in the version of what was pruned: other versions may need it to convert.
        let first = owned.remove(pruned.version).map(|set| (pruned.version, set));
        let mut merged = merged.clone();
        let mut pruned = pruned;
        for (version, owned) in first.into_iter().chain(owned) {
            let Some(merged_here) = self.at(&merged, version)? else {
                continue;
            };
            let merged_here = merged_here.into_owned(version);
            let Some(pruned_here) = self.at(&pruned, version)? else {
                continue;
            };
            let ty = self.type_of(version)?;
            let all = field_set(&merged_here.value, ty).ensure_named_fields_are_members(ty);
            let kept = field_set(&pruned_here.value, ty).ensure_named_fields_are_members(ty);
            let owned = owned.ensure_named_fields_are_members(ty);
            let gone = all.difference(&kept.union(owned));
            let value = remove_items(&merged_here.value, &gone, ty);
            pruned = Versioned {
                value: Cow::Owned(value),
                version,
            };
            merged = merged_here;
        }
        Ok(pruned)
    }
}

impl<'v> Versioned<'v> {
    fn borrowed(value: &'v Value, version: &'v str) -> Self {
        Self {
            value: Cow::Borrowed(value),
            version,
        }
    }

    fn into_owned<'n>(self, version: &'n str) -> Versioned<'n> {
        Versioned {
            value: Cow::Owned(self.value.into_owned()),
            version,
        }
    }
}
