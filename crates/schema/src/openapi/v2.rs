//! The same schemas as OpenAPI v2 has them.
//!
//! Upstream: apiextensions-apiserver `pkg/controller/openapi/v2/conversion.go` for custom resources, and kube-openapi
//! `pkg/handler/default_pruning.go` with the `OpenAPIV2SchemaType` methods of apimachinery for built-in types.

use serde_json::{Map, Value};

use super::REFERENCE;
use crate::structural::MAX_DEPTH;

/// Rewrites the schema of a built-in type: without defaults, which the second version never told, and with one type for what may be
/// of several.
pub fn builtin_schema_to_v2(schema: &mut Value) {
    rewrite(schema, Defaults::Dropped, MAX_DEPTH);
}

/// Rewrites the schema of a custom resource whose own part went through [`lower`] before it was completed.
pub(super) fn custom_schema_to_v2(schema: &mut Value) {
    rewrite(schema, Defaults::Kept, MAX_DEPTH);
}

/// Drops from a structural schema what OpenAPI v2, or kubectl's reading of it, lacks.
///
/// These are junctors; the type and members of what may be null; and those of objects that keep unknown fields, since kubectl would
/// refuse such fields otherwise. A list without items loses its type, too.
pub(super) fn lower(schema: &mut Map<String, Value>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for junctor in JUNCTORS {
        schema.remove(junctor);
    }
    if is_true(schema, "nullable") {
        for keyword in ["type", "items", "properties"] {
            schema.remove(keyword);
        }
    }
    schema.remove("nullable");
    let keeps_unknown = is_true(schema, "x-kubernetes-preserve-unknown-fields");
    if keeps_unknown {
        schema.remove("items");
        schema.remove("properties");
    }
    let ty = schema.get("type").and_then(Value::as_str);
    if (ty == Some("array") && !schema.contains_key("items")) || (ty == Some("object") && keeps_unknown) {
        schema.remove("type");
    }
    drop_required_nulls(schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties
            .values_mut()
            .filter_map(Value::as_object_mut)
            .for_each(|property| lower(property, depth));
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(keyword) {
            lower(below, depth);
        }
    }
}

/// A field that may be null is not asked for: kubectl takes null for absence.
fn drop_required_nulls(schema: &mut Map<String, Value>) {
    let is_nullable = |value: Option<&Value>| {
        value
            .and_then(Value::as_object)
            .is_some_and(|schema| is_true(schema, "nullable"))
    };
    let Some(Value::Array(required)) = schema.get("required") else {
        return;
    };
    let properties = schema.get("properties");
    let is_kept = |name: &Value| !is_nullable(properties.and_then(|all| all.get(name.as_str()?)));
    let kept: Vec<Value> = required.iter().filter(|name| is_kept(name)).cloned().collect();
    if kept.is_empty() || is_nullable(schema.get("additionalProperties")) {
        schema.remove("required");
    } else {
        schema.insert("required".to_owned(), kept.into());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Defaults {
    Kept,
    Dropped,
}

/// References, unions and defaults, at every level.
fn rewrite(schema: &mut Value, defaults: Defaults, depth: usize) {
    let (Value::Object(schema), Some(depth)) = (schema, depth.checked_sub(1)) else {
        return;
    };
    if defaults == Defaults::Dropped {
        schema.remove("default");
    }
    // A reference has siblings here, so it needs no `allOf` around it.
    let referred = schema
        .get("allOf")
        .and_then(|all| all.get(0)?.get("$ref"))
        .or_else(|| schema.get("$ref"));
    if let Some(name) = referred.and_then(|target| target.as_str()?.strip_prefix(REFERENCE)) {
        let target = format!("{DEFINITION}{name}");
        schema.insert("$ref".to_owned(), target.into());
    }
    // Upstream's types say which of the alternatives is theirs (`OpenAPIV2SchemaType`): for all of them it is a string.
    if schema.contains_key("oneOf") && defaults == Defaults::Dropped {
        schema.insert("type".to_owned(), "string".into());
    }
    for junctor in JUNCTORS {
        schema.remove(junctor);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties
            .values_mut()
            .for_each(|property| rewrite(property, defaults, depth));
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(keyword) {
            rewrite(below, defaults, depth);
        }
    }
}

fn is_true(schema: &Map<String, Value>, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

const JUNCTORS: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];
const DEFINITION: &str = "#/definitions/";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Rows of upstream's `conversion_test.go` and of the kinds of schemas that its comments name.
    #[test]
    fn lowers() {
        let check = |mut schema: Value, expect: Value| {
            lower(schema.as_object_mut().unwrap(), MAX_DEPTH);
            assert_eq!(schema, expect);
        };
        check(
            json!({"type": "string", "allOf": [{}], "anyOf": [{}], "oneOf": [{}], "not": {}}),
            json!({"type": "string"}),
        );
        check(
            json!({"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}, "description": "d"}),
            json!({"description": "d"}),
        );
        check(
            json!({"type": "array", "nullable": true, "items": {"type": "string"}}),
            json!({}),
        );
        check(
            json!({"type": "string", "nullable": false}),
            json!({"type": "string"}),
        );
        check(json!({"type": "array"}), json!({}));
        check(
            json!({"type": "array", "items": {"type": "string", "nullable": true}}),
            json!({"type": "array", "items": {}}),
        );
        check(
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
        );
        check(
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "additionalProperties": {"type": "array"}}),
            json!({"x-kubernetes-preserve-unknown-fields": true, "additionalProperties": {}}),
        );
        check(
            json!({"type": "object", "required": ["a", "b"], "properties": {
                "a": {"type": "string", "nullable": true}, "b": {"type": "string"}}}),
            json!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}}),
        );
        check(
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "nullable": true}}}),
            json!({"type": "object", "properties": {"a": {}}}),
        );
        check(
            json!({"type": "object", "required": ["a"], "additionalProperties": {"type": "string", "nullable": true}}),
            json!({"type": "object", "additionalProperties": {}}),
        );
    }

    #[test]
    fn rewrites_builtin_types() {
        let check = |mut schema: Value, expect: Value| {
            builtin_schema_to_v2(&mut schema);
            assert_eq!(schema, expect);
        };
        check(
            json!({"allOf": [{"$ref": "#/components/schemas/a.B"}], "default": {}, "description": "d"}),
            json!({"$ref": "#/definitions/a.B", "description": "d"}),
        );
        check(
            json!({"$ref": "#/components/schemas/a.B"}),
            json!({"$ref": "#/definitions/a.B"}),
        );
        check(
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"}),
            json!({"type": "string", "format": "int-or-string"}),
        );
        check(
            json!({"type": "object", "properties": {"default": {"type": "array", "items": {"type": "string", "default": ""}}}}),
            json!({"type": "object", "properties": {"default": {"type": "array", "items": {"type": "string"}}}}),
        );
    }
}
