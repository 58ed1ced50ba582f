//! Defaults of a definition have to be values of their schemas (apiextensions `pkg/apiserver/schema/defaulting/validation.go`).

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

use super::StructuralSchema;
use crate::object_meta::Malformed;

/// Checks every default of a schema that is structural: it has no member that pruning would remove, its metadata is metadata, and it
/// is valid. Whether lists of type set or map have duplicates is not looked at, nor is what is below additional properties.
pub(super) fn check(schema: &StructuralSchema, path: &FieldPath, errors: &mut Vec<FieldError>) {
    visit(schema, path, Place::Root, errors);
}

/// Where a schema stands, as far as defaults are concerned.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// The whole object, which is a resource whatever its schema says.
    Root,
    /// Anywhere below it.
    Field,
    /// Within what describes the metadata of a resource.
    Meta,
}

fn visit(schema: &StructuralSchema, path: &FieldPath, place: Place, errors: &mut Vec<FieldError>) {
    let is_resource = place == Place::Root || schema.embedded_resource;
    let place = if is_resource { Place::Root } else { place };
    if let Some(default) = &schema.default {
        check_one(schema, default, &path.child("default"), place, errors);
    }
    let below = if place == Place::Meta {
        Place::Meta
    } else {
        Place::Field
    };
    if let Some(items) = &schema.items {
        visit(items, &path.child("items"), below, errors);
    }
    for (name, property) in &schema.properties {
        let is_meta = is_resource && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
        let below = if is_meta { Place::Meta } else { below };
        visit(property, &path.child("properties").key(name), below, errors);
    }
}

fn check_one(
    schema: &StructuralSchema,
    default: &Value,
    path: &FieldPath,
    place: Place,
    errors: &mut Vec<FieldError>,
) {
    if place != Place::Meta {
        let mut pruned = default.clone();
        let unknown = match place {
            Place::Root => schema.prune(&mut pruned),
            _ => schema.prune_value(&mut pruned),
        };
        if !unknown.is_empty() {
            let detail = "must not have unknown fields";
            errors.push(FieldError::invalid(path.clone(), default.clone(), detail));
        }
        if place == Place::Root || matches!(default, Value::Object(_) | Value::Array(_)) {
            let mut coerced = default.clone();
            if let Err(error) =
                schema.coerce_metadata_of(&mut coerced, Malformed::Refuse, place == Place::Root)
            {
                return errors.push(below(path, error));
            }
            let found = schema.check_embedded(&coerced, place == Place::Root);
            if !found.is_empty() {
                return errors.extend(found.into_iter().map(|error| below(path, error)));
            }
        }
    }
    let found = schema.check_default(default);
    errors.extend(found.into_iter().map(|error| below(path, error)));
}

/// An error of a default, told of where the default stands. Its words keep the path within the default.
fn below(base: &FieldPath, mut error: FieldError) -> FieldError {
    error.path = if error.path == FieldPath::root() {
        base.clone()
    } else {
        base.child(error.path.as_str())
    };
    error
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::check_definition;
    use super::*;
    use crate::resource::Status;

    fn check(field: Value, expect: &[&str]) {
        check_root(json!({"type": "object", "properties": {"a": field}}), expect);
    }

    fn check_root(schema: Value, expect: &[&str]) {
        let errors = check_definition(&schema, &FieldPath::root(), Status::Absent);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expect, "{schema}");
    }

    #[test]
    fn defaults_are_values_of_their_schemas() {
        check(json!({"type": "integer", "default": 1}), &[]);
        check(json!({"type": "integer", "default": 2.0}), &[]);
        check(json!({"type": "string", "default": null}), &[]);
        // So it is upstream.
        check(json!({"x-kubernetes-int-or-string": true, "default": true}), &[]);
        check(
            json!({"type": "object", "properties": {"b": {"x-kubernetes-int-or-string": true}}, "default": {"b": []}}),
            &[],
        );
        check(
            json!({"type": "integer", "default": "x"}),
            &[
                "properties[a].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
            ],
        );
        check(
            json!({"type": "array", "items": {"type": "string"}, "default": [1]}),
            &[
                "properties[a].default.[0]: Invalid value: \"integer\": [0] in body must be of type string: \"integer\"",
            ],
        );
        check(
            json!({"type": "object", "properties": {"b": {"type": "string"}}, "default": {"b": null}}),
            &["properties[a].default.b: Invalid value: \"null\": b in body must be of type string: \"null\""],
        );
        check(
            json!({"type": "object", "default": {"b": 1}}),
            &["properties[a].default: Invalid value: {\"b\":1}: must not have unknown fields"],
        );
        check(
            json!({"type": "array", "items": {"type": "string"}, "default": ["a", "a"], "x-kubernetes-list-type": "set"}),
            &[],
        );
        check(
            json!({"type": "object", "additionalProperties": {"type": "string", "default": 1}}),
            &[],
        );
    }

    #[test]
    fn defaults_of_resources() {
        let embedded = |default: Value| json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "default": default});
        check(
            embedded(json!({"apiVersion": "v1", "kind": "P", "metadata": {"name": "x"}})),
            &[],
        );
        check(
            embedded(json!({"x": 1})),
            &[
                "properties[a].default.apiVersion: Required value",
                "properties[a].default.kind: Required value",
            ],
        );
        check_root(
            json!({"type": "object", "default": {}}),
            &[
                "default.apiVersion: Required value",
                "default.kind: Required value",
            ],
        );
        check_root(
            json!({"type": "object", "properties": {"kind": {"type": "string", "default": "x"}}}),
            &["properties[kind].default: Forbidden: must not be set in top-level kind"],
        );
    }
}
