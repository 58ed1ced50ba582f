//! The annotation in which `kubectl apply` without server-side apply keeps what it applied last.
//!
//! Upstream: apimachinery `pkg/util/managedfields/internal/lastappliedmanager.go` and `lastappliedupdater.go`. Only the
//! manager `kubectl` takes part: who gives another name has opted out.

use serde_json::{Map, Value};

use super::{Conflicts, FieldManager};
use crate::fields::{FieldSet, write_value};
use crate::typed::{Duplicates, compare, field_set, validate};

/// The annotation that `kubectl apply` writes.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The manager whose applies read and write the annotation.
pub(super) const KUBECTL: &str = "kubectl";

/// The most that all annotations of an object may have, keys and values together, in bytes.
const MAX_ANNOTATIONS_SIZE: usize = 256 << 10;

impl FieldManager<'_> {
    /// The conflicts that stay when what the annotation says was applied counts as owned by who applies now. `None` if
    /// there is no annotation that says anything.
    pub(super) fn conflicts_beyond_last_applied(
        &self,
        live: &Value,
        conflicts: &Conflicts,
    ) -> Option<Conflicts> {
        let allowed = self.owned_by_last_applied(live)?;
        let rest = conflicts.0.iter().filter(|conflict| !allowed.has(&conflict.path));
        Some(Conflicts(rest.cloned().collect()))
    }

    /// The fields of the annotation's object that the live object has with the same values.
    fn owned_by_last_applied(&self, live: &Value) -> Option<FieldSet> {
        let text = annotation(live).filter(|text| !text.is_empty())?;
        let last: Value = serde_json::from_str(text).ok()?;
        if last.get("apiVersion").and_then(Value::as_str) != Some(self.api_version) {
            return None;
        }
        let ty = self.versions.type_of(self.api_version)?;
        let live = self.in_version(live).ok()?;
        // Here upstream refuses items that are there twice in the live object too.
        validate(&live, ty, Duplicates::Refused).ok()?;
        validate(&last, ty, Duplicates::Refused).ok()?;
        let comparison = compare(&last, &live, ty).ok()?;
        let owned = field_set(&last, ty)
            .difference(&comparison.modified)
            .difference(&comparison.added)
            .difference(&comparison.removed);
        Some(owned)
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(LAST_APPLIED)?
        .as_str()
}

/// Brings the annotation up to date with what was applied, if the object has one. Where it would make the annotations
/// too large, it goes.
pub(super) fn update_annotation(object: &mut Value, config: &Value) {
    if annotation(object).is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = annotations_mut(&mut config) {
        annotations.remove(LAST_APPLIED);
    }
    let mut text = String::new();
    write_value(&mut text, &config);
    text.push('\n');
    let Some(annotations) = annotations_mut(object) else {
        return;
    };
    annotations.insert(LAST_APPLIED.to_owned(), Value::from(text));
    let size: usize = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_ANNOTATIONS_SIZE {
        annotations.remove(LAST_APPLIED);
    }
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object
        .get_mut("metadata")?
        .get_mut("annotations")?
        .as_object_mut()
}
