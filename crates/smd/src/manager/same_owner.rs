//! Updates that give nothing to nobody: what they change belongs to who writes already.
//!
//! Most updates are such. All that becomes of the entries then is the time of one.

use serde_json::Value;

use super::{FieldManager, MAX_UPDATE_MANAGERS, is_reset, strip_unowned};
use crate::fields::FieldSet;
use crate::managed::{Operation, named, rows};
use crate::typed::{Comparison, compare_fitting, reconcile};

/// What becomes of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// They stay as they are.
    Same,
    /// The entry at this place gets the time of the update.
    Renewed(usize),
}

impl FieldManager<'_> {
    /// What becomes of the entries by an update after which everybody owns what was theirs before. `None` where somebody owns
    /// something else, or where it takes all of [`track_update`](Self::track_update) to tell.
    pub(super) fn same_owners(
        &self,
        live: &Value,
        new: &Value,
        before: &Value,
        manager: &str,
    ) -> Option<Outcome> {
        let of_request =
            |object: &Value| object.get("apiVersion").and_then(Value::as_str) == Some(self.api_version);
        if is_reset(before) || !of_request(live) || !of_request(new) {
            return None;
        }
        let ty = self.versions.type_of(self.api_version)?;
        let rows = rows::read(before)?;
        let updates = rows.iter().filter(|row| row.operation == Operation::Update);
        let stays = |row: &rows::Row<'_>| {
            row.api_version == self.api_version
                && !row.set.is_empty()
                && !owns_entries(&row.set)
                && reconcile(&row.set, ty).is_none()
        };
        if updates.count() > MAX_UPDATE_MANAGERS || !rows.iter().all(stays) {
            return None;
        }
        // The new object has no entries yet, and nobody owns those of the old one.
        let mut comparison = compare_fitting(live, new, ty, &["metadata", "managedFields"])?;
        let filter = self.reset_fields.get(self.api_version);
        if let Some(filter) = filter {
            comparison = comparison.filter(filter);
        }
        let Comparison {
            removed,
            modified,
            added,
        } = comparison;
        let taken = modified.union(added);
        let mut changed = taken.clone();
        if let Some(filter) = filter {
            changed = filter.apply(changed);
        }
        let changed = strip_unowned(changed);
        let lost = taken.difference(&changed);
        let loses = |row: &rows::Row<'_>, set: &FieldSet| !row.set.intersection(set).is_empty();
        let manager = named(manager);
        let own = |row: &rows::Row<'_>| {
            row.operation == Operation::Update
                && row.manager == manager
                && row.subresource == self.subresource
        };
        let is_same = |row: &rows::Row<'_>| {
            let keeps = if own(row) {
                changed.is_subset(&row.set)
            } else {
                !loses(row, &changed)
            };
            keeps && !loses(row, &lost) && !loses(row, &removed)
        };
        if !rows.iter().all(is_same) {
            return None;
        }
        if changed.is_empty() {
            return Some(Outcome::Same);
        }
        rows.iter().position(own).map(Outcome::Renewed)
    }
}

/// Whether a set that somebody sent has the entries themselves.
fn owns_entries(set: &FieldSet) -> bool {
    let metadata = set.field("metadata");
    metadata.is_some_and(|metadata| metadata.below.field("managedFields").is_some())
}
