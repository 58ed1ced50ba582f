//! Defaults of a definition have to be values of their schemas (apiextensions `pkg/apiserver/schema/defaulting/validation.go`).

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

use super::StructuralSchema;
use super::definition::CheckMetadata;
use super::surrounding::{Step, surround};
use crate::object_meta::Malformed;

/// Checks every default of a schema that is structural: it has no member that pruning would remove, its metadata is metadata, and it
/// is valid. Whether lists of type set or map have duplicates is not looked at, nor is what is below additional properties.
pub(super) fn check(
    schema: &StructuralSchema,
    path: &FieldPath,
    metadata: CheckMetadata<'_>,
    errors: &mut Vec<FieldError>,
) {
    let mut checker = Checker {
        resource: schema,
        steps: Vec::new(),
        metadata,
        errors,
    };
    checker.visit(schema, path, Place::Root);
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

struct Checker<'a> {
    /// The innermost resource, and the way from it.
    resource: &'a StructuralSchema,
    steps: Vec<Step>,
    metadata: CheckMetadata<'a>,
    errors: &'a mut Vec<FieldError>,
}

impl<'a> Checker<'a> {
    fn visit(&mut self, schema: &'a StructuralSchema, path: &FieldPath, place: Place) {
        if place == Place::Root || schema.embedded_resource {
            let mut within = Checker {
                resource: schema,
                steps: Vec::new(),
                metadata: self.metadata,
                errors: self.errors,
            };
            return within.visit_below(schema, path, Place::Root);
        }
        self.visit_below(schema, path, place);
    }

    fn visit_below(&mut self, schema: &'a StructuralSchema, path: &FieldPath, place: Place) {
        if let Some(default) = &schema.default {
            self.check(schema, default, &path.child("default"), place);
        }
        let below = if place == Place::Meta {
            Place::Meta
        } else {
            Place::Field
        };
        if let Some(items) = &schema.items {
            self.steps.push(Step::Item);
            self.visit(items, &path.child("items"), below);
            self.steps.pop();
        }
        for (name, property) in &schema.properties {
            let is_meta = place == Place::Root && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            let below = if is_meta { Place::Meta } else { below };
            self.steps.push(Step::Member(name.clone()));
            self.visit(property, &path.child("properties").key(name), below);
            self.steps.pop();
        }
    }

    fn check(&mut self, schema: &StructuralSchema, default: &Value, path: &FieldPath, place: Place) {
        if place == Place::Meta {
            if let Err(why) = self.check_meta(default) {
                let detail = format!("must result in valid metadata: {why}");
                return self
                    .errors
                    .push(FieldError::invalid(path.clone(), default.clone(), detail));
            }
        } else {
            let mut pruned = default.clone();
            let unknown = match place {
                Place::Root => schema.prune(&mut pruned),
                _ => schema.prune_value(&mut pruned),
            };
            if !unknown.is_empty() {
                let detail = "must not have unknown fields";
                self.errors
                    .push(FieldError::invalid(path.clone(), default.clone(), detail));
            }
            if place == Place::Root || matches!(default, Value::Object(_) | Value::Array(_)) {
                let mut coerced = default.clone();
                let is_root = place == Place::Root;
                if let Err(error) = schema.coerce_metadata_of(&mut coerced, Malformed::Refuse, is_root) {
                    return self.errors.push(below(path, error));
                }
                let found = self.check_resources(schema, &coerced, is_root);
                if !found.is_empty() {
                    return self
                        .errors
                        .extend(found.into_iter().map(|error| below(path, error)));
                }
            }
        }
        let found = schema.check_default(default);
        self.errors
            .extend(found.into_iter().map(|error| below(path, error)));
    }

    /// What is wrong with the resources in a value; with `is_root`, the value is one, too.
    fn check_resources(&self, schema: &StructuralSchema, value: &Value, is_root: bool) -> Vec<FieldError> {
        let mut errors = schema.check_embedded(value, is_root);
        if is_root && !schema.embedded_resource {
            errors.extend((self.metadata)(&FieldPath::root(), value));
        }
        schema.each_embedded(value, &mut |path, resource| {
            errors.extend((self.metadata)(path, resource));
        });
        errors
    }

    /// Whether a default in what describes the metadata of a resource is right there: a resource is made around it.
    ///
    /// # Errors
    /// What is wrong with that resource.
    fn check_meta(&self, default: &Value) -> Result<(), String> {
        let mut resource = surround(&self.steps, default.clone());
        for (name, value) in [("apiVersion", "validation/v1"), ("kind", "Validation")] {
            if let Value::Object(members) = &mut resource {
                members.entry(name).or_insert_with(|| value.into());
            }
        }
        let coerced = self.resource.coerce_metadata(&mut resource, Malformed::Refuse);
        coerced.map_err(|error| error.to_string())?;
        let found = self.check_resources(self.resource, &resource, true);
        match &*found.iter().map(ToString::to_string).collect::<Vec<_>>() {
            [] => Ok(()),
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }
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

    /// In place of what the server says of metadata.
    fn no_long_names(path: &FieldPath, resource: &Value) -> Vec<FieldError> {
        let name = &resource["metadata"]["name"];
        let is_long = name.as_str().is_some_and(|name| name.len() > 3);
        let path = path.child("metadata").child("name");
        is_long
            .then(|| FieldError::invalid(path, name.clone(), "too long"))
            .into_iter()
            .collect()
    }

    fn check_root(schema: Value, expect: &[&str]) {
        let errors = check_definition(&schema, &FieldPath::root(), Status::Absent, &no_long_names);
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

    /// What belongs to no metadata is taken and does not reach objects; what has another type is refused.
    #[test]
    fn defaults_of_metadata() {
        let embedded = |metadata: Value| json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "properties": {"metadata": metadata}});
        let within = |field: &str, default: Value| {
            let kind = match &default {
                Value::String(_) => "string",
                Value::Number(_) => "integer",
                _ => "object",
            };
            embedded(json!({"type": "object", "properties": {field: {"type": kind, "default": default}}}))
        };
        check(within("name", json!("n")), &[]);
        check(within("typo", json!(1)), &[]);
        check(
            within("name", json!("long")),
            &[
                "properties[a].properties[metadata].properties[name].default: Invalid value: \"long\": must result in valid metadata: \
               metadata.name: Invalid value: \"long\": too long",
            ],
        );
        check(
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
                "default": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "long"}}}),
            &["properties[a].default.metadata.name: Invalid value: \"long\": too long"],
        );
        check(
            within("name", json!(1)),
            &[
                "properties[a].properties[metadata].properties[name].default: Invalid value: 1: must result in valid metadata: \
               metadata: Invalid value: {\"name\":1}: metadata.name cannot be a number",
            ],
        );
        let resource = json!({"apiVersion": "v1", "kind": "K", "metadata": {"typo": 1}});
        let mut schema = embedded(json!({"type": "object"}));
        schema["default"] = resource;
        check(schema, &[]);
    }
}
