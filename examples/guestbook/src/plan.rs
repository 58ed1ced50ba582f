//! Comparing what should be with what is: what to write, if anything.

use kubewright::core::{Resource, is_controlled_by};
use serde::Serialize;
use serde_json::Value;

/// What is to be done about one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It is as it should be.
    Keep,
    /// It is not there.
    Create,
    /// It differs.
    Change {
        /// A merge patch with every field that it should have.
        patch: Value,
        /// How much of it differs.
        extent: Extent,
    },
    /// Somebody else's object has the name.
    Foreign,
}

/// How much of an object differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The number of its replicas alone.
    Replicas,
    /// Other fields.
    Fields,
}

/// What to do so that `present` has all that `desired` names. What `desired` leaves open is the server's and others' to
/// fill in.
///
/// # Errors
///
/// An object that has no JSON form; objects of Kubernetes all have one.
pub fn step<K: Resource + Serialize>(
    present: Option<&K>,
    desired: &K,
    owner: &impl Resource,
) -> Result<Step, serde_json::Error> {
    let Some(present) = present else {
        return Ok(Step::Create);
    };
    if !is_controlled_by(present, owner) {
        return Ok(Step::Foreign);
    }
    let mut desired = serde_json::to_value(desired)?;
    // The owner is right, and a merge patch would drop what other owners there are.
    if let Some(metadata) = desired.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("ownerReferences");
    }
    let mut present = serde_json::to_value(present)?;
    if covers(&present, &desired) {
        return Ok(Step::Keep);
    }
    let extent = match (present.pointer_mut(REPLICAS), desired.pointer(REPLICAS)) {
        (Some(replicas), Some(wanted)) => {
            replicas.clone_from(wanted);
            if covers(&present, &desired) {
                Extent::Replicas
            } else {
                Extent::Fields
            }
        }
        _ => Extent::Fields,
    };
    Ok(Step::Change {
        patch: desired,
        extent,
    })
}

/// Whether `present` has all that `desired` names: objects may have more fields, lists have the same length.
#[must_use]
pub fn covers(present: &Value, desired: &Value) -> bool {
    match (present, desired) {
        (_, Value::Null) => true,
        (Value::Object(present), Value::Object(desired)) => desired
            .iter()
            .all(|(key, desired)| covers(present.get(key).unwrap_or(&Value::Null), desired)),
        (Value::Array(present), Value::Array(desired)) => {
            present.len() == desired.len() && present.iter().zip(desired).all(|(p, d)| covers(p, d))
        }
        (present, desired) => present == desired,
    }
}

const REPLICAS: &str = "/spec/replicas";

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kubewright::{ObjectMeta, owner_reference};
    use serde_json::json;

    use super::*;

    #[test]
    fn covering() {
        // present, desired, covered
        let rows = [
            (json!({"a": 1, "b": 2}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 2}), false),
            (json!({}), json!({"a": 1}), false),
            (json!({}), json!({"a": null}), true),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 2}}), true),
            (json!({"a": 1}), json!({"a": {"c": 2}}), false),
            (json!([{"n": 1, "x": 1}]), json!([{"n": 1}]), true),
            (json!([{"n": 1}, {"n": 2}]), json!([{"n": 1}]), false),
            (json!([]), json!([1]), false),
            (json!("80"), json!(80), false),
        ];
        for (present, desired, expect) in rows {
            assert_eq!(covers(&present, &desired), expect, "{present} {desired}");
            assert!(covers(&desired, &desired), "{desired}");
        }
    }

    #[test]
    fn steps() {
        let owner = |uid: &str| ConfigMap {
            metadata: ObjectMeta {
                name: Some("owner".to_owned()),
                uid: Some(uid.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let child = |uid: &str, value: &str| ConfigMap {
            metadata: ObjectMeta {
                name: Some("child".to_owned()),
                owner_references: owner_reference(&owner(uid)).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            data: Some([("key".to_owned(), value.to_owned())].into()),
            ..ConfigMap::default()
        };
        let change = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"key": "a"}});
        let rows = [
            (None, Step::Create),
            (Some(child("u1", "a")), Step::Keep),
            (
                Some(child("u1", "b")),
                Step::Change {
                    patch: change,
                    extent: Extent::Fields,
                },
            ),
            (Some(child("u2", "a")), Step::Foreign),
        ];
        for (present, expect) in rows {
            let found = step(present.as_ref(), &child("u1", "a"), &owner("u1")).unwrap();
            assert_eq!(found, expect, "{present:?}");
        }
    }
    #[test]
    fn extents() {
        let deployment = |replicas: i32, paused: bool| -> Deployment {
            let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u1", "controller": true});
            serde_json::from_value(json!({
                "metadata": {"ownerReferences": [owner]},
                "spec": {"replicas": replicas, "paused": paused, "selector": {}, "template": {}},
            }))
            .unwrap()
        };
        let owner: ConfigMap = serde_json::from_value(json!({"metadata": {"uid": "u1"}})).unwrap();
        let rows = [
            (deployment(1, true), Extent::Replicas),
            (deployment(2, false), Extent::Fields),
            (deployment(1, false), Extent::Fields),
        ];
        for (present, expect) in rows {
            let found = step(Some(&present), &deployment(2, true), &owner).unwrap();
            assert!(
                matches!(found, Step::Change { extent, .. } if extent == expect),
                "{found:?}"
            );
        }
    }
}
