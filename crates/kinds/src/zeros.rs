//! The zero values that Go always writes.
//!
//! A Go server decodes whatever it is sent into a struct, and what the sender left out is zero there. Its encoder omits most zeros
//! and writes some ([`Presence::Always`]): `status: {}`, `resources: {}`, `lastTransitionTime: null`. So an object is whole only once
//! these are in it, whichever encoding it came in.

use serde_json::{Map, Value as Json};

use crate::model::{Presence, Type, Value};

/// More zero values were to be added than are allowed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many fields are missing")]
#[non_exhaustive]
pub struct TooManyZeros;

/// Adds zero values to the objects of one document, up to a limit: empty objects must not grow without one.
#[derive(Debug)]
pub struct Zeros {
    left: usize,
}

impl Zeros {
    /// At most `limit` values are added.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { left: limit }
    }

    /// Allows for so many more.
    pub const fn allow(&mut self, more: usize) {
        self.left = self.left.saturating_add(more);
    }

    /// Adds the zero of every field whose zero Go writes, where it is absent. `apiVersion` and `kind` are not among them, and
    /// members that are there are left as they are.
    ///
    /// # Errors
    /// Once the limit is reached.
    pub fn fill(&mut self, object: &Type, members: &mut Map<String, Json>) -> Result<(), TooManyZeros> {
        for field in object.fields() {
            let written = field.presence == Presence::Always && field.tag != 0;
            if !written || members.contains_key(field.name) {
                continue;
            }
            let zero = match field.value {
                // Servers see to it that a list of objects is one.
                Value::Array(_) if field.name == "items" => {
                    self.take()?;
                    Json::Array(Vec::new())
                }
                Value::Array(_) | Value::Map(_) | Value::Bytes => {
                    self.take()?;
                    Json::Null
                }
                ref kind => self.zero(kind)?,
            };
            members.insert(field.name.to_owned(), zero);
        }
        Ok(())
    }

    /// The zero of a value that is there without contents: an entry of a map or an item of a list.
    ///
    /// # Errors
    /// Once the limit is reached.
    pub fn zero(&mut self, kind: &Value) -> Result<Json, TooManyZeros> {
        self.take()?;
        Ok(match kind {
            Value::String | Value::Bytes => Json::String(String::new()),
            Value::Boolean => Json::Bool(false),
            Value::Int32 | Value::Int64 | Value::Double | Value::IntOrString => Json::from(0),
            Value::Quantity => Json::from("0"),
            Value::Array(_) => Json::Array(Vec::new()),
            Value::Map(_) => Json::Object(Map::new()),
            Value::Object(id) => {
                let mut members = Map::new();
                // This ends: a Go struct contains itself by a pointer only.
                self.fill(id.get(), &mut members)?;
                Json::Object(members)
            }
            _ => Json::Null,
        })
    }

    fn take(&mut self) -> Result<(), TooManyZeros> {
        self.left = self.left.checked_sub(1).ok_or(TooManyZeros)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table;

    #[test]
    fn what_go_writes_of_an_empty_object() {
        for (group, version, kind, expect) in [
            ("", "v1", "ConfigMap", json!({"metadata": {}})),
            (
                "",
                "v1",
                "Pod",
                json!({"metadata": {}, "spec": {"containers": null}, "status": {}}),
            ),
            (
                "rbac.authorization.k8s.io",
                "v1",
                "Role",
                json!({"metadata": {}, "rules": null}),
            ),
            ("", "v1", "PodList", json!({"metadata": {}, "items": []})),
            (
                "",
                "v1",
                "Event",
                json!({
                    "metadata": {}, "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
                    "eventTime": null, "reportingComponent": "", "reportingInstance": "",
                }),
            ),
            (
                "autoscaling",
                "v2",
                "HorizontalPodAutoscaler",
                json!({
                    "metadata": {},
                    "spec": {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0},
                    "status": {"desiredReplicas": 0, "currentMetrics": null},
                }),
            ),
        ] {
            let object = table().kind(group, version, kind).unwrap();
            let mut members = Map::new();
            Zeros::new(100).fill(object, &mut members).unwrap();
            let found = Json::Object(members.clone());
            assert_eq!(found, expect, "{kind}");
            Zeros::new(0).fill(object, &mut members).unwrap();
            assert_eq!(Json::Object(members), found, "what is there stays");
            if found != json!({}) {
                assert_eq!(Zeros::new(0).fill(object, &mut Map::new()), Err(TooManyZeros));
            }
        }
        let mut zeros = Zeros::new(0);
        zeros.allow(1);
        assert!(zeros.zero(&Value::String).is_ok());
        assert!(zeros.zero(&Value::String).is_err());
    }
}
