//! Entries on their way between a resource and its scale subresource.
//!
//! Upstream: apimachinery `pkg/util/managedfields/scalehandler.go`. A `Scale` has no entries of its own: whoever writes
//! it owns the one field of the resource that says how many replicas there shall be, and the other way round.

use std::collections::BTreeMap;

use super::{Managed, ManagerId, Managers, VersionedSet};
use crate::fields::{FieldSet, Path};

/// The version of `Scale`.
const SCALE_VERSION: &str = "autoscaling/v1";

/// Where each version of a resource says how many replicas there shall be, such as `apps/v1` and `.spec.replicas`.
/// `None` where a version has no scale subresource.
pub type ReplicasPaths = BTreeMap<String, Option<Path>>;

fn replicas_of_scale() -> Path {
    Path::of_fields(["spec", "replicas"])
}

impl Managed {
    /// The entries that a `Scale` of the object has: of those who own its replicas.
    #[must_use]
    pub fn to_scale(&self, paths: &ReplicasPaths) -> Self {
        let mut scale = Self::default();
        for (id, owned) in &self.managers {
            let Some(Some(path)) = paths.get(&owned.api_version) else {
                continue;
            };
            if owned.set.has(path) {
                let owned = VersionedSet {
                    set: FieldSet::from_iter([replicas_of_scale()]),
                    api_version: SCALE_VERSION.to_owned(),
                    operation: owned.operation,
                };
                scale.managers.insert(id.clone(), owned);
                scale
                    .times
                    .extend(self.times.get(id).map(|time| (id.clone(), *time)));
            }
        }
        scale
    }

    /// The entries of the object after a write to its `Scale`, whose entries are given, in a version of the object.
    ///
    /// Who lost the replicas in the `Scale` loses them here. Entries in versions that have no place in `paths` are
    /// dropped. An update in the version of `Scale` counts as one in the version of the object: upstream does not see
    /// that it is the same entry, and writes it twice.
    #[must_use]
    pub fn with_scale(&self, scale: Self, api_version: &str, paths: &ReplicasPaths) -> Self {
        let mut merged = Self::default();
        let in_version = |(mut id, owned): (ManagerId, VersionedSet)| {
            if id.api_version == SCALE_VERSION {
                api_version.clone_into(&mut id.api_version);
            }
            (id, owned)
        };
        let mut rest: Managers = scale.managers.into_iter().map(in_version).collect();
        for (id, owned) in &self.managers {
            let Some(path) = paths.get(&owned.api_version) else {
                continue;
            };
            let path = path.as_ref().filter(|path| owned.set.has(path));
            let set = match path {
                Some(path) if rest.remove(id).is_none() => {
                    owned.set.clone().difference(&FieldSet::from_iter([path.clone()]))
                }
                _ => owned.set.clone(),
            };
            // An entry that had nothing before stays as it was.
            if path.is_none() || !set.is_empty() {
                merged.add(id, VersionedSet { set, ..owned.clone() }, self);
            }
        }
        let replicas = replicas_of_scale();
        let path = paths.get(api_version).and_then(Option::as_ref);
        for (id, owned) in rest.iter().filter(|(_, owned)| owned.set.has(&replicas)) {
            let owned = VersionedSet {
                set: path.cloned().into_iter().collect(),
                api_version: api_version.to_owned(),
                operation: owned.operation,
            };
            merged.add(id, owned, self);
        }
        merged
    }

    /// Adds an entry with the time it has in another value, if any: as with upstream, new ones have none.
    fn add(&mut self, id: &ManagerId, owned: VersionedSet, times: &Self) {
        if let Some(time) = times.times.get(id) {
            self.times.insert(id.clone(), *time);
        }
        self.managers.insert(id.clone(), owned);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(manager: &str, operation: &str, api_version: &str, subresource: &str, fields: &[&str]) -> Value {
        let fields = fields.iter().map(|name| (format!("f:{name}"), json!({})));
        let fields: Value = Value::Object(fields.collect());
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": api_version,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields},
        });
        if !subresource.is_empty() {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    fn managed(entries: &[Value]) -> Managed {
        Managed::decode(&json!(entries)).unwrap()
    }

    fn paths() -> ReplicasPaths {
        BTreeMap::from([
            ("apps/v1".to_owned(), Some(Path::of_fields(["spec", "replicas"]))),
            (
                "apps/v1beta1".to_owned(),
                Some(Path::of_fields(["spec", "the-replicas"])),
            ),
        ])
    }

    #[test]
    fn a_scale_shows_who_owns_the_replicas() {
        let object = managed(&[
            entry("a", "Apply", "apps/v1", "", &["replicas", "selector"]),
            entry("b", "Update", "apps/v1beta1", "scale", &["the-replicas"]),
            entry("c", "Apply", "apps/v1", "", &["selector"]),
            entry("d", "Apply", "apps/v10", "", &["replicas"]),
        ]);
        let expect = json!([
            entry("a", "Apply", "autoscaling/v1", "", &["replicas"]),
            entry("b", "Update", "autoscaling/v1", "scale", &["replicas"]),
        ]);
        assert_eq!(object.to_scale(&paths()).encode(), Some(expect));
    }

    #[test]
    fn a_write_to_a_scale_moves_the_replicas() {
        let check = |object: &[Value], scale: &[Value], expect: &[Value]| {
            let merged = managed(object).with_scale(managed(scale), "apps/v1", &paths());
            assert_eq!(merged.encode(), Some(json!(expect)));
        };
        let both = ["replicas", "selector"];
        for (before, after) in [
            ("Apply", "Update"),
            ("Update", "Update"),
            ("Update", "Apply"),
            ("Apply", "Apply"),
        ] {
            let mut expect = [
                entry("test", before, "apps/v1", "", &["selector"]),
                entry("scale", after, "apps/v1", "scale", &["replicas"]),
            ];
            expect.sort_by_key(|entry| (entry["operation"].to_string(), entry["manager"].to_string()));
            check(
                &[entry("test", before, "apps/v1", "", &both)],
                &[entry("scale", after, "autoscaling/v1", "scale", &["replicas"])],
                &expect,
            );
            // The owner stays who it was, and nothing moves.
            let object = [entry("test", before, "apps/v1", "", &both)];
            check(
                &object,
                &[entry("test", before, "autoscaling/v1", "", &["replicas"])],
                &object,
            );
        }
        // Who owned nothing else is gone, and so is who wrote in a version that is.
        check(
            &[
                entry("test", "Apply", "apps/v1", "", &["replicas"]),
                entry("old", "Apply", "apps/v10", "", &["replicas"]),
            ],
            &[entry("scale", "Apply", "autoscaling/v1", "scale", &["replicas"])],
            &[entry("scale", "Apply", "apps/v1", "scale", &["replicas"])],
        );
    }
}
