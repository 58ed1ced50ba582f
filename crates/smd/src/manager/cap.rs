//! The bound on how many managers an object remembers.

use std::collections::BTreeMap;

use super::MAX_UPDATE_MANAGERS;
use crate::fields::FieldSet;
use crate::managed::{Managed, ManagerId, Operation, seconds};

/// Who owns what the oldest updates changed, once there are too many.
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest updates of a version until there are no more than [`MAX_UPDATE_MANAGERS`] (apimachinery
/// `pkg/util/managedfields/internal/capmanagers.go`).
pub(super) fn cap_update_managers(managed: &mut Managed) {
    let mut updaters: Vec<ManagerId> = managed
        .managers
        .iter()
        .filter(|(_, owned)| owned.operation == Operation::Update)
        .map(|(id, _)| id.clone())
        .collect();
    if updaters.len() <= MAX_UPDATE_MANAGERS {
        return;
    }
    updaters.sort_by(|left, right| {
        let time = |id: &ManagerId| seconds(managed.times.get(id).copied());
        time(left).cmp(&time(right)).then_with(|| left.cmp(right))
    });
    // The first of a version stays as it is until there is a second.
    let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
    let mut count = updaters.len();
    for id in updaters {
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let Some(version) = managed.managers.get(&id).map(|owned| owned.api_version.clone()) else {
            continue;
        };
        let Some(first) = first_of_version.get(&version) else {
            first_of_version.insert(version, id);
            continue;
        };
        let bucket = ManagerId::new(ANCIENT, Operation::Update, &version, "");
        if !managed.managers.contains_key(&bucket)
            && let Some(owned) = managed.managers.remove(first)
        {
            managed.managers.insert(bucket.clone(), owned);
        }
        let merged = managed.managers.remove(&id);
        if let (Some(merged), Some(owned)) = (merged, managed.managers.get_mut(&bucket)) {
            let own: FieldSet = std::mem::take(&mut owned.set);
            owned.set = own.union(merged.set);
        }
        count -= 1;
        // The more recent time of the two.
        match managed.times.get(&id).copied() {
            Some(time) => managed.times.insert(bucket, time),
            None => managed.times.remove(&bucket),
        };
    }
}
