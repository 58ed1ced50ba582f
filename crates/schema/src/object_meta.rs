//! Metadata in custom resources: what no definition describes and every object has (apiextensions
//! `pkg/apiserver/schema/objectmeta`).

use std::fmt::Write;

use kubewright_core::{FieldError, FieldPath};
use kubewright_kinds::{Presence, Type, Value as Kind, table};
use serde_json::{Map, Value};

use crate::structural::StructuralSchema;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What to do with metadata that has the wrong type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// Drop the member: what is read from storage must not fail.
    Drop,
    /// Report the first: what a user sends must be right.
    Refuse,
}

impl StructuralSchema {
    /// Brings `apiVersion`, `kind` and `metadata` of the object and of embedded resources into shape: members of the
    /// metadata that Kubernetes does not know are removed, nulls and zero values go as Go's `omitempty` would have it.
    ///
    /// Returns the sorted paths of the unknown members removed.
    ///
    /// # Errors
    /// With [`Malformed::Refuse`], the first member of the wrong type.
    pub fn coerce_metadata(
        &self,
        object: &mut Value,
        malformed: Malformed,
    ) -> Result<Vec<String>, FieldError> {
        self.coerce_metadata_of(object, malformed, true)
    }

    /// The same for a value that may be no object of its own, such as a default.
    pub(crate) fn coerce_metadata_of(
        &self,
        value: &mut Value,
        malformed: Malformed,
        is_root: bool,
    ) -> Result<Vec<String>, FieldError> {
        let mut coercer = Coercer {
            malformed,
            unknown: Vec::new(),
        };
        coercer.visit(Some(self), value, &FieldPath::root(), is_root)?;
        coercer.unknown.sort_unstable();
        Ok(coercer.unknown)
    }
}

struct Coercer {
    malformed: Malformed,
    unknown: Vec<String>,
}

impl Coercer {
    fn visit(
        &mut self,
        schema: Option<&StructuralSchema>,
        value: &mut Value,
        path: &FieldPath,
        root: bool,
    ) -> Result<(), FieldError> {
        let Some(schema) = schema else { return Ok(()) };
        match value {
            Value::Object(members) => {
                if root || schema.embedded_resource {
                    self.coerce(members, path)?;
                }
                for (name, member) in members
                    .iter_mut()
                    .filter(|(_, member)| member.is_object() || member.is_array())
                {
                    if let Some(below) = schema.properties.get(name) {
                        self.visit(Some(below), member, &path.child(name), false)?;
                    } else if let Some(below) = schema.additional_schema() {
                        self.visit(Some(below), member, &path.key(name), false)?;
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.visit(schema.items.as_deref(), item, &path.index(index), false)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn coerce(&mut self, members: &mut Map<String, Value>, path: &FieldPath) -> Result<(), FieldError> {
        for name in ["apiVersion", "kind"] {
            let Some(value) = members.get(name).filter(|value| !value.is_string()) else {
                continue;
            };
            if self.malformed == Malformed::Refuse {
                return Err(FieldError::invalid(
                    path.child(name),
                    value.clone(),
                    "must be a string",
                ));
            }
            members.remove(name);
        }
        let Some(metadata) = members.get_mut("metadata") else {
            return Ok(());
        };
        let Some(object_meta) = table().type_named(OBJECT_META) else {
            return Ok(());
        };
        let path = path.child("metadata");
        if self.malformed == Malformed::Refuse
            && let Some(problem) = misfit(Kind::Object(object_meta.id()), metadata)
        {
            let problem = format!("{path}{problem}");
            // It is shown as it came.
            return Err(FieldError::invalid(path, metadata.clone(), problem));
        }
        match metadata {
            Value::Null => *metadata = Value::Object(Map::new()),
            Value::Object(fields) => {
                let mut conformer = Conformer {
                    unknown: &mut self.unknown,
                    path: path.to_string(),
                };
                conformer.object(object_meta, fields);
            }
            _ => {
                members.remove("metadata");
            }
        }
        Ok(())
    }
}

/// What of a value is not of a built-in type, if anything is. `null` always is.
fn misfit(kind: Kind, value: &Value) -> Option<String> {
    match (kind, value) {
        (_, Value::Null) => None,
        (Kind::Object(ty), Value::Object(members)) => members.iter().find_map(|(name, member)| {
            let field = ty.get().field(name)?;
            Some(format!(".{name}{}", misfit(field.value, member)?))
        }),
        (Kind::Array(below), Value::Array(items)) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| Some(format!("[{index}]{}", misfit(*below, item)?))),
        (Kind::Map(below), Value::Object(members)) => members
            .iter()
            .find_map(|(key, member)| Some(format!("[{key}]{}", misfit(*below, member)?))),
        (kind, value) => (!is_leaf(kind, value)).then(|| format!(" cannot be {}", name_of(value))),
    }
}

/// Whether a value that holds no others is of a built-in type.
fn is_leaf(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Object(_) | Kind::Array(_) | Kind::Map(_) => false,
        Kind::Boolean => value.is_boolean(),
        Kind::Int32 | Kind::Int64 => value.is_i64(),
        Kind::Time | Kind::MicroTime => value
            .as_str()
            .is_some_and(|text| crate::Format::DateTime.accepts(text)),
        Kind::FieldsV1 | Kind::RawExtension => value.is_object(),
        Kind::String | Kind::Bytes => value.is_string(),
        _ => true,
    }
}

/// Makes a value conform to a built-in type: what does not goes.
struct Conformer<'a> {
    unknown: &'a mut Vec<String>,
    path: String,
}

impl Conformer<'_> {
    fn object(&mut self, ty: &Type, members: &mut Map<String, Value>) {
        members.retain(|name, member| {
            let Some(field) = ty.field(name) else {
                self.unknown.push(format!("{}.{name}", self.path));
                return false;
            };
            if member.is_null() {
                return false;
            }
            let length = self.path.len();
            self.path.push('.');
            self.path.push_str(name);
            let fits = self.value(field.value, member);
            self.path.truncate(length);
            fits && !is_omitted(member, field.presence)
        });
    }

    /// Whether the value conforms; what is below an object alone may go.
    fn value(&mut self, kind: Kind, value: &mut Value) -> bool {
        match (kind, value) {
            (Kind::Object(ty), Value::Object(members)) => {
                self.object(ty.get(), members);
                true
            }
            (Kind::Array(below), Value::Array(items)) => {
                let mut indices = 0..;
                items.iter_mut().all(|item| {
                    let length = self.path.len();
                    // Writing to a string cannot fail.
                    let _ = write!(self.path, "[{}]", indices.next().unwrap_or_default());
                    let fits = self.value(*below, item);
                    self.path.truncate(length);
                    fits
                })
            }
            (Kind::Map(below), Value::Object(members)) => {
                members.values_mut().all(|member| self.value(*below, member))
            }
            // Within lists and maps Go reads it as nothing.
            (kind, value @ Value::Null) => {
                *value = match kind {
                    Kind::String | Kind::Bytes => "".into(),
                    Kind::Boolean => false.into(),
                    Kind::Int32 | Kind::Int64 => 0.into(),
                    Kind::Object(_) | Kind::Map(_) => Value::Object(Map::new()),
                    _ => Value::Null,
                };
                true
            }
            (kind, value) => is_leaf(kind, value),
        }
    }
}

/// Whether Go leaves the value out when it writes the object again.
fn is_omitted(value: &Value, presence: Presence) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty() && presence == Presence::OmitZero,
        Value::Number(number) => number.as_i64() == Some(0) && presence == Presence::OmitZero,
        Value::Bool(value) => !value && presence == Presence::OmitZero,
        Value::Null => true,
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> StructuralSchema {
        StructuralSchema::parse(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        }}}}))
        .unwrap()
    }

    #[test]
    fn coerces() {
        let mut object = json!({
            "apiVersion": "v1",
            "metadata": {
                "name": "x", "typo": 1, "labels": {"a": "b"}, "annotations": {}, "creationTimestamp": null,
                "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "odd": 1}],
            },
            "spec": {"template": {"metadata": {"name": "y", "spec": 1}}},
        });
        let unknown = schema().coerce_metadata(&mut object, Malformed::Refuse).unwrap();
        assert_eq!(
            unknown,
            [
                "metadata.ownerReferences[0].odd",
                "metadata.typo",
                "spec.template.metadata.spec"
            ]
        );
        let expect = json!({
            "apiVersion": "v1",
            "metadata": {
                "name": "x", "labels": {"a": "b"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}],
            },
            "spec": {"template": {"metadata": {"name": "y"}}},
        });
        assert_eq!(object, expect);
    }

    #[test]
    fn what_is_refused_is_shown_as_it_came() {
        let mut object = json!({"metadata": {"ownerReferences": [{"name": "n"}, {"controller": "x"}], "typo": 1, "uid": null}});
        let error = schema()
            .coerce_metadata(&mut object, Malformed::Refuse)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "metadata: Invalid value: {\"ownerReferences\":[{\"name\":\"n\"},{\"controller\":\"x\"}],\"typo\":1,\"uid\":null}: \
             metadata.ownerReferences[1].controller cannot be a string"
        );
        let mut object = json!({"metadata": {"labels": {"a": null}, "finalizers": [null]}});
        schema().coerce_metadata(&mut object, Malformed::Refuse).unwrap();
        assert_eq!(
            object,
            json!({"metadata": {"labels": {"a": ""}, "finalizers": [""]}})
        );
    }

    #[test]
    fn drops_or_refuses() {
        let object = || json!({"kind": 1, "metadata": {"name": "x", "labels": {"a": 1}, "generation": "z"}});
        let mut dropped = object();
        assert_eq!(
            schema().coerce_metadata(&mut dropped, Malformed::Drop),
            Ok(vec![])
        );
        assert_eq!(dropped, json!({"metadata": {"name": "x"}}));
        let error = schema()
            .coerce_metadata(&mut object(), Malformed::Refuse)
            .unwrap_err();
        assert_eq!(error.to_string(), "kind: Invalid value: 1: must be a string");
        let error = schema()
            .coerce_metadata(&mut json!({"metadata": {"labels": 1}}), Malformed::Refuse)
            .unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("{\"labels\":1}: metadata.labels cannot be a number"),
            "{error}"
        );
    }
}
