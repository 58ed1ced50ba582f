//! Removing what the schema does not know (apiextensions `pkg/apiserver/schema/pruning`), and null values that are
//! none (`schema/defaulting/prunenulls.go`).

use std::fmt::Write;

use serde_json::Value;

use crate::structural::StructuralSchema;

/// The members that every object has, whatever its schema says.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl StructuralSchema {
    /// Removes every member that the schema does not specify, and returns the paths of those removed, sorted.
    ///
    /// The value is the root of an object: `apiVersion`, `kind` and `metadata` stay, here and in embedded resources.
    /// What is inside `metadata` is a matter of [`coerce_metadata`](Self::coerce_metadata).
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut pruner = Pruner {
            path: String::new(),
            removed: Vec::new(),
        };
        pruner.visit(object, Some(self), true);
        pruner.removed.sort_unstable();
        pruner.removed
    }

    /// Prunes a value that is no object of its own, such as a default.
    pub(crate) fn prune_value(&self, value: &mut Value) -> Vec<String> {
        let mut pruner = Pruner {
            path: String::new(),
            removed: Vec::new(),
        };
        pruner.visit(value, Some(self), false);
        pruner.removed
    }

    /// Removes null members whose schema neither allows null nor has a default that would replace it.
    pub fn drop_nulls(&self, object: &mut Value) {
        drop_nulls(object, self);
    }
}

struct Pruner {
    path: String,
    removed: Vec<String>,
}

impl Pruner {
    fn visit(&mut self, value: &mut Value, schema: Option<&StructuralSchema>, root: bool) {
        // Where unknown members are preserved, only what the schema does know is looked at.
        let preserve = schema.is_some_and(|schema| schema.preserve_unknown_fields);
        let embedded = root || schema.is_some_and(|schema| schema.embedded_resource);
        match value {
            Value::Object(members) => members.retain(|name, member| {
                if schema.is_some() && embedded && META_FIELDS.contains(&name.as_str()) {
                    return true;
                }
                let known = schema.and_then(|schema| schema.properties.get(name));
                let additional = schema.and_then(|schema| schema.additional_properties.as_ref());
                if known.is_none() && additional.is_none() && !preserve {
                    self.record(name);
                    return false;
                }
                let below = known.or_else(|| schema?.additional_schema());
                if known.is_some() || additional.is_some() {
                    self.below(name, |pruner| pruner.visit(member, below, false));
                }
                true
            }),
            Value::Array(items) => {
                let below = schema.and_then(|schema| schema.items.as_deref());
                if preserve && below.is_none() {
                    return;
                }
                for (index, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    // Writing to a string cannot fail.
                    let _ = write!(self.path, "[{index}]");
                    match below {
                        // Upstream prunes items below a preserving list as preserving, too.
                        Some(schema) if preserve && !schema.preserve_unknown_fields => {
                            self.visit_preserving(item, schema);
                        }
                        below => self.visit(item, below, false),
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// A value of a list that preserves unknown fields: it does so itself, its members do not.
    fn visit_preserving(&mut self, value: &mut Value, schema: &StructuralSchema) {
        match value {
            Value::Object(members) => {
                for (name, member) in members.iter_mut() {
                    if schema.embedded_resource && META_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    if schema.properties.contains_key(name) || schema.additional_properties.is_some() {
                        self.below(name, |pruner| pruner.visit(member, schema.member(name), false));
                    }
                }
            }
            Value::Array(items) => {
                let Some(below) = schema.items.as_deref() else {
                    return;
                };
                for (index, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    let _ = write!(self.path, "[{index}]");
                    self.visit_preserving(item, below);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.push(name);
        visit(self);
        self.path.truncate(length);
    }

    fn record(&mut self, name: &str) {
        let length = self.path.len();
        self.push(name);
        self.removed.push(self.path.clone());
        self.path.truncate(length);
    }

    fn push(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }
}

fn drop_nulls(value: &mut Value, schema: &StructuralSchema) {
    match value {
        Value::Object(members) => members.retain(|name, member| {
            let Some(below) = schema.member(name) else {
                return true;
            };
            if member.is_null() && !below.nullable && below.default.is_none() {
                return false;
            }
            drop_nulls(member, below);
            true
        }),
        Value::Array(items) => {
            let Some(below) = schema.items.as_deref() else {
                return;
            };
            items.iter_mut().for_each(|item| drop_nulls(item, below));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, object: Value, expect: Value, removed: &[&str]) {
        let compiled = StructuralSchema::parse(&schema).unwrap();
        let mut pruned = object.clone();
        assert_eq!(compiled.prune(&mut pruned), removed, "{schema} {object}");
        assert_eq!(pruned, expect, "{schema} {object}");
        assert_eq!(
            compiled.prune(&mut pruned),
            [""; 0],
            "pruning again finds nothing"
        );
    }

    #[test]
    fn prunes() {
        let spec = |spec: Value| json!({"type": "object", "properties": {"spec": spec}});
        let preserve = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        check(
            spec(json!({})),
            json!({"spec": {"a": 1}, "b": 2}),
            json!({"spec": {}}),
            &["b", "spec.a"],
        );
        check(
            spec(json!({})),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}, "status": {}}),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}}),
            &["status"],
        );
        check(
            spec(json!({"type": "array", "items": {"properties": {"a": {}}}})),
            json!({"spec": [{"a": 1, "b": 2}, {"c": 1}]}),
            json!({"spec": [{"a": 1}, {}]}),
            &["spec[0].b", "spec[1].c"],
        );
        check(
            spec(preserve()),
            json!({"spec": {"a": {"b": 1}}}),
            json!({"spec": {"a": {"b": 1}}}),
            &[],
        );
        check(
            spec(
                json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"properties": {"a": {}}}}}),
            ),
            json!({"spec": {"any": {"b": 1}, "known": {"a": 1, "b": 2}}}),
            json!({"spec": {"any": {"b": 1}, "known": {"a": 1}}}),
            &["spec.known.b"],
        );
        check(
            spec(json!({"additionalProperties": {"properties": {"a": {}}}})),
            json!({"spec": {"x": {"a": 1, "b": 2}}}),
            json!({"spec": {"x": {"a": 1}}}),
            &["spec.x.b"],
        );
        check(
            spec(json!({"type": "object", "additionalProperties": true})),
            json!({"spec": {"x": {"a": 1}, "y": 2}}),
            json!({"spec": {"x": {}, "y": 2}}),
            &["spec.x.a"],
        );
        check(
            spec(json!({"x-kubernetes-embedded-resource": true, "properties": {"spec": {}}})),
            json!({"spec": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": 1, "status": 2}}),
            json!({"spec": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": 1}}),
            &["spec.status"],
        );
    }

    #[test]
    fn drops_nulls() {
        let schema = json!({"properties": {
            "plain": {"type": "string"}, "nullable": {"type": "string", "nullable": true},
            "default": {"type": "string", "default": "x"}, "list": {"items": {"properties": {"a": {}}}},
            "map": {"additionalProperties": {}},
        }});
        let mut object = json!({
            "plain": null, "nullable": null, "default": null, "unknown": null, "list": [null, {"a": null}],
            "map": {"k": null},
        });
        StructuralSchema::parse(&schema).unwrap().drop_nulls(&mut object);
        assert_eq!(
            object,
            json!({"nullable": null, "default": null, "unknown": null, "list": [null, {}], "map": {}})
        );
    }
}
