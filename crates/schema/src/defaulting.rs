//! Filling in defaults (apiextensions `pkg/apiserver/schema/defaulting/algorithm.go`).

use serde_json::Value;

use crate::structural::StructuralSchema;

impl StructuralSchema {
    /// Fills in the default of every member that is absent, or null without being nullable, at every level that is
    /// present: a default does not create its parents, but what a default creates is filled in itself.
    ///
    /// Call [`drop_nulls`](Self::drop_nulls) before, so that the nulls left are those that a default replaces.
    pub fn default(&self, object: &mut Value) {
        fill(object, self);
    }
}

fn fill(value: &mut Value, schema: &StructuralSchema) {
    match value {
        Value::Object(members) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                let absent = members
                    .get(name)
                    .is_none_or(|member| member.is_null() && !property.nullable);
                if absent {
                    members.insert(name.clone(), default.clone());
                }
            }
            for (name, member) in members.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    fill(member, property);
                } else if let Some(additional) = schema.additional_schema() {
                    replace_null(member, additional);
                    fill(member, additional);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = schema.items.as_deref() else {
                return;
            };
            for item in items {
                replace_null(item, below);
                fill(item, below);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &StructuralSchema) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        value.clone_from(default);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, object: Value, expect: Value) {
        let compiled = StructuralSchema::parse(&schema).unwrap();
        let mut filled = object.clone();
        compiled.default(&mut filled);
        assert_eq!(filled, expect, "{schema} {object}");
        compiled.default(&mut filled);
        assert_eq!(filled, expect, "filling in again changes nothing");
    }

    #[test]
    fn fills_in() {
        let nested = || json!({"properties": {"spec": {"properties": {"a": {"default": 1}, "b": {"default": {}, "properties": {"c": {"default": 2}}}}}}});
        check(nested(), json!({}), json!({}));
        check(
            nested(),
            json!({"spec": {}}),
            json!({"spec": {"a": 1, "b": {"c": 2}}}),
        );
        check(
            nested(),
            json!({"spec": {"a": 5, "b": null}}),
            json!({"spec": {"a": 5, "b": {"c": 2}}}),
        );
        check(
            json!({"properties": {"a": {"default": 1, "nullable": true}}}),
            json!({"a": null}),
            json!({"a": null}),
        );
        check(
            json!({"additionalProperties": {"default": "x", "properties": {"a": {"default": 1}}}}),
            json!({"k": null, "l": {}}),
            json!({"k": "x", "l": {"a": 1}}),
        );
        check(
            json!({"properties": {"l": {"items": {"default": 7}}}}),
            json!({"l": [null, 1]}),
            json!({"l": [7, 1]}),
        );
        check(
            json!({"properties": {"l": {"items": {}}}}),
            json!({"l": [null]}),
            json!({"l": [null]}),
        );
    }
}
