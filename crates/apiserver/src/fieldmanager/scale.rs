//! Owners of the number of replicas, between an object and its `Scale`.
//!
//! Upstream: apimachinery `pkg/util/managedfields/scalehandler.go`. Whoever owns the number in the object owns it in the `Scale`;
//! a write to the `Scale` takes it from them.

use http::HeaderMap;
use jiff::Timestamp;
use kubewright_kinds as kinds;
use kubewright_smd::fields::{FieldSet, Path, ResetFields};
use kubewright_smd::managed::{Managed, ManagerId, VersionedSet};
use kubewright_smd::manager::{FieldManager, Force, ManagerError, OneType};
use kubewright_smd::types::TypeRef;
use serde_json::Value;

use super::who;
use crate::registry::{Registry, Resource, SubresourceKind};

/// The field manager of a request to the `Scale` of a resource.
pub(crate) struct ScaleOwners {
    /// Where each version of the kind has the number; `None` for one that has no scale.
    paths: Vec<(String, Option<Path>)>,
    api_version: String,
    now: Timestamp,
    name: String,
}

impl ScaleOwners {
    /// The field manager of a request; `given` is the name that the query has for who writes.
    pub(crate) fn new(
        resource: &Resource,
        registry: &Registry,
        given: &str,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Self {
        let versions = registry
            .groups()
            .iter()
            .filter(|group| group.name == resource.group);
        let rows = versions
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.resources)
            .filter(|row| row.plural == resource.plural);
        Self {
            paths: rows.map(|row| (row.api_version(), replicas(row))).collect(),
            api_version: resource.api_version(),
            now,
            name: who(given, headers),
        }
    }

    /// Gives the `Scale` the owners that the object has.
    pub(crate) fn to_scale(&self, object: &Value, scale: &mut Value) {
        let of_object = decode(object);
        let mut of_scale = Managed::default();
        for (id, owned) in of_object.managers {
            let Some(path) = self.path(&owned.api_version).flatten() else {
                continue;
            };
            if !owned.set.has(path) {
                continue;
            }
            if let Some(time) = of_object.times.get(&id) {
                of_scale.times.insert(id.clone(), *time);
            }
            of_scale.managers.insert(
                id,
                VersionedSet {
                    set: [replicas_in_scale()].into_iter().collect(),
                    api_version: API_VERSION.to_owned(),
                    operation: owned.operation,
                },
            );
        }
        set_entries(scale, of_scale.encode());
    }

    /// Gives the object the owners that the `Scale` has after the write.
    pub(crate) fn to_object(&self, scale: &Value, object: &mut Value) {
        let of_object = decode(object);
        let of_scale = decode(scale);
        let mut result = Managed::default();
        // Who takes the number by the scale gets no time, as upstream.
        let mut keep = |id: &ManagerId, owned: VersionedSet| {
            if let Some(time) = of_object.times.get(id) {
                result.times.insert(id.clone(), *time);
            }
            result.managers.insert(id.clone(), owned);
        };
        for (id, owned) in &of_object.managers {
            let Some(path) = self.path(&owned.api_version) else {
                continue;
            };
            let mut owned = owned.clone();
            if let Some(path) = path.filter(|path| owned.set.has(path))
                && !of_scale.managers.contains_key(id)
            {
                let taken: FieldSet = [path.clone()].into_iter().collect();
                owned.set = owned.set.difference(&taken);
                if owned.set.is_empty() {
                    continue;
                }
            }
            keep(id, owned);
        }
        let own = self.path(&self.api_version).flatten();
        for (id, owned) in &of_scale.managers {
            let is_kept = of_object.managers.get(id).is_some_and(|before| {
                let path = self.path(&before.api_version).flatten();
                path.is_some_and(|path| before.set.has(path))
            });
            let (false, Some(path)) = (is_kept || !owned.set.has(&replicas_in_scale()), own) else {
                continue;
            };
            let owned = VersionedSet {
                set: [path.clone()].into_iter().collect(),
                api_version: self.api_version.clone(),
                operation: owned.operation,
            };
            keep(id, owned);
        }
        set_entries(object, result.encode());
    }

    /// A `Scale` after an update or a patch, with its managers.
    pub(crate) fn update(&self, live: &Value, new: Value) -> Value {
        self.manage(|manager| manager.update_or_keep(live, new, &self.name))
    }

    /// What applying `config` makes of a `Scale`.
    ///
    /// # Errors
    /// Where others own the number, or what is applied is no `Scale`.
    pub(crate) fn apply(&self, live: &Value, config: &Value, force: Force) -> Result<Value, ManagerError> {
        self.manage(|manager| manager.apply(Some(live), config, &self.name, force))
    }

    fn manage<T>(&self, with: impl FnOnce(&FieldManager<'_>) -> T) -> T {
        let ty = kinds::table().kind("autoscaling", "v1", KIND);
        let versions = OneType {
            ty: ty.map_or(TypeRef::DEDUCED, TypeRef::from),
            api_versions: &[API_VERSION],
        };
        with(&FieldManager {
            versions: &versions,
            api_version: API_VERSION,
            kind: KIND,
            subresource: "scale",
            reset_fields: &ResetFields::new(),
            now: self.now,
        })
    }

    fn path(&self, api_version: &str) -> Option<Option<&Path>> {
        let (_, path) = self.paths.iter().find(|(version, _)| version == api_version)?;
        Some(path.as_ref())
    }
}

/// Where a version has the number of replicas.
fn replicas(row: &Resource) -> Option<Path> {
    let SubresourceKind::Scale(paths) = &row.subresource("scale")?.behaviour else {
        return None;
    };
    Some(Path::of_fields(paths.spec_replicas.iter().map(String::as_str)))
}

fn replicas_in_scale() -> Path {
    Path::of_fields(["spec", "replicas"])
}

/// Entries that do not read are none, as in updates.
fn decode(object: &Value) -> Managed {
    Managed::decode(&object["metadata"]["managedFields"]).unwrap_or_default()
}

fn set_entries(object: &mut Value, entries: Option<Value>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    match entries {
        Some(entries) => {
            metadata.insert("managedFields".to_owned(), entries);
        }
        None => {
            metadata.remove("managedFields");
        }
    }
}

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owners() -> ScaleOwners {
        ScaleOwners {
            paths: vec![
                ("apps/v1".into(), Some(Path::of_fields(["spec", "replicas"]))),
                ("apps/v0".into(), None),
            ],
            api_version: "apps/v1".into(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            name: "scaler".into(),
        }
    }

    fn entry(manager: &str, operation: &str, version: &str, subresource: &str, fields: Value) -> Value {
        let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
            "fieldsV1": fields, "time": "2025-01-01T00:00:00Z"});
        if !subresource.is_empty() {
            entry["subresource"] = subresource.into();
        }
        entry
    }

    fn object(entries: &[Value]) -> Value {
        json!({"metadata": {"managedFields": entries}})
    }

    #[test]
    fn the_number_has_the_same_owners_in_both() {
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let both = json!({"f:spec": {"f:paused": {}, "f:replicas": {}}});
        let rest = json!({"f:spec": {"f:paused": {}}});
        let deployment = object(&[
            entry("a", "Apply", "apps/v1", "", both),
            entry("b", "Update", "apps/v1", "", replicas.clone()),
            entry("c", "Update", "apps/v0", "", replicas.clone()),
            entry("d", "Update", "apps/v2", "", replicas.clone()),
            entry("e", "Update", "apps/v1", "", rest.clone()),
        ]);
        let mut scale = json!({"metadata": {}, "spec": {"replicas": 1}});
        owners().to_scale(&deployment, &mut scale);
        let expect = object(&[
            entry("a", "Apply", "autoscaling/v1", "", replicas.clone()),
            entry("b", "Update", "autoscaling/v1", "", replicas.clone()),
        ]);
        assert_eq!(scale["metadata"], expect["metadata"]);

        // Unchanged, it gives back what it was made of, but for the time of updates, whose identity has the version in it;
        // versions that are not served are forgotten.
        let mut same = deployment.clone();
        owners().to_object(&scale, &mut same);
        let mut expect = deployment.clone();
        let entries = expect["metadata"]["managedFields"].as_array_mut().unwrap();
        entries.remove(3);
        entries[1].as_object_mut().unwrap().remove("time");
        let sorted = |object: &Value| {
            let mut entries = object["metadata"]["managedFields"].as_array().unwrap().clone();
            entries.sort_by_key(|entry| entry["manager"].to_string());
            entries
        };
        assert_eq!(sorted(&same), sorted(&expect));

        // Another one takes it.
        let taken = object(&[entry(
            "scaler",
            "Update",
            "autoscaling/v1",
            "scale",
            replicas.clone(),
        )]);
        let mut after = deployment.clone();
        owners().to_object(&taken, &mut after);
        let mut timeless = entry("scaler", "Update", "apps/v1", "scale", replicas.clone());
        timeless.as_object_mut().unwrap().remove("time");
        assert_eq!(
            sorted(&after),
            [
                entry("a", "Apply", "apps/v1", "", rest.clone()),
                entry("c", "Update", "apps/v0", "", replicas),
                entry("e", "Update", "apps/v1", "", rest),
                timeless,
            ]
        );
    }
}
