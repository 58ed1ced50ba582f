//! Resources made around a value, for what is said of resources alone (apiextensions
//! `pkg/apiserver/schema/defaulting/surroundingobject.go`), and defaults without what is unknown of them (`prune.go`).

use serde_json::{Map, Value};

use super::{AdditionalProperties, StructuralSchema};
use crate::object_meta::Malformed;

/// One step of the way from a resource down to a value.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Member(String),
    /// Any member that has no schema by its name.
    Additional,
    Item,
}

/// The least resource that has a value at the end of this way.
pub(super) fn surround(steps: &[Step], value: Value) -> Value {
    steps.iter().rev().fold(value, |value, step| match step {
        Step::Member(name) => Value::Object(Map::from_iter([(name.clone(), value)])),
        Step::Additional => Value::Object(Map::from_iter([(ANY.to_owned(), value)])),
        Step::Item => Value::Array(vec![value]),
    })
}

/// What is at the end of the way in such a resource, if there still is anything.
fn take(steps: &[Step], resource: Value) -> Option<Value> {
    steps
        .iter()
        .try_fold(resource, |value, step| match (step, value) {
            (Step::Member(name), Value::Object(mut members)) => members.remove(name),
            (Step::Additional, Value::Object(mut members)) => members.remove(ANY),
            (Step::Item, Value::Array(items)) => items.into_iter().next(),
            _ => None,
        })
}

impl StructuralSchema {
    /// Removes from the defaults what pruning would remove from objects that have them, and of the metadata in them what is none: a
    /// definition may have such, since of metadata only its types are checked.
    ///
    /// To be called before objects are served by the schema; those that have the defaults then lose nothing.
    pub fn prune_defaults(&mut self) {
        let mut changes = Vec::new();
        find_changes(self, self, &mut Vec::new(), &mut changes);
        for (steps, default) in changes {
            if let Some(schema) = self.at(&steps) {
                schema.default = default;
            }
        }
    }

    fn at(&mut self, steps: &[Step]) -> Option<&mut Self> {
        steps.iter().try_fold(self, |schema, step| match step {
            Step::Item => schema.items.as_deref_mut(),
            Step::Additional => match &mut schema.additional_properties {
                Some(AdditionalProperties::Schema(below)) => Some(&mut **below),
                _ => None,
            },
            Step::Member(name) => schema.properties.get_mut(name),
        })
    }
}

/// The defaults that pruning changes, and where they are.
fn find_changes(
    root: &StructuralSchema,
    schema: &StructuralSchema,
    steps: &mut Vec<Step>,
    changes: &mut Vec<(Vec<Step>, Option<Value>)>,
) {
    if let Some(default) = &schema.default {
        let mut resource = surround(steps, default.clone());
        // What is malformed is dropped, so that there is nothing to be refused.
        let _ = root.coerce_metadata(&mut resource, Malformed::Drop);
        root.prune(&mut resource);
        let pruned = take(steps, resource);
        if pruned.as_ref() != Some(default) {
            changes.push((steps.clone(), pruned));
        }
    }
    let mut below = |step, schema| {
        steps.push(step);
        find_changes(root, schema, steps, changes);
        steps.pop();
    };
    if let Some(additional) = schema.additional_schema() {
        below(Step::Additional, additional);
    }
    if let Some(items) = schema.items() {
        below(Step::Item, items);
    }
    for (name, property) in schema.properties() {
        below(Step::Member(name.to_owned()), property);
    }
}

/// A name that stands for all that have no schema.
const ANY: &str = "*";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(field: Value, place: &str, expect: Option<Value>) {
        let schema = json!({"type": "object", "properties": {"a": field}});
        let mut schema = StructuralSchema::parse(&schema).unwrap();
        schema.prune_defaults();
        let found = place
            .split_terminator('.')
            .fold(&schema.properties["a"], |schema, name| match name {
                "[]" => schema.items().unwrap(),
                name => schema.member(name).unwrap(),
            });
        assert_eq!(found.default_value(), expect.as_ref());
    }

    fn embedded(default: Value) -> Value {
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "integer"}}, "default": default})
    }

    #[test]
    fn defaults_are_pruned() {
        let given = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "typo": 1, "generation": "x"}, "spec": 1, "status": 2});
        let expect = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": 1});
        check(embedded(given.clone()), "", Some(expect.clone()));
        let list = json!({"type": "array", "items": embedded(given.clone())});
        check(list, "[]", Some(expect.clone()));
        let map = json!({"type": "object", "additionalProperties": embedded(given.clone())});
        check(map, "any", Some(expect.clone()));
        let both =
            json!({"type": "object", "default": {"b": given}, "properties": {"b": embedded(expect.clone())}});
        check(both, "", Some(json!({"b": expect})));
    }

    /// A default of a part of the metadata is judged within the whole.
    #[test]
    fn parts_of_metadata() {
        let within = |field: &str, default: Value| {
            let metadata = json!({"type": "object", "properties": {field: {"default": default}}});
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"metadata": metadata}})
        };
        check(within("name", json!("n")), "metadata.name", Some(json!("n")));
        check(within("name", json!(1)), "metadata.name", None);
        check(within("typo", json!(1)), "metadata.typo", None);
        let labels = within("labels", json!({"a": "b"}));
        check(labels, "metadata.labels", Some(json!({"a": "b"})));
    }
}
