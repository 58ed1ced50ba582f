//! Whether a schema is structural (apiextensions `pkg/apiserver/schema/validation.go` and `complete.go`).
//!
//! This works on the definition itself, not on the compiled schema: what makes a schema not structural is what the
//! compiled one has no place for.

use kubewright_core::{FieldError, FieldPath};
use serde_json::{Map, Value};

use super::MAX_DEPTH;
use crate::pattern::Pattern;

type Object = Map<String, Value>;

/// Where in the definition a schema stands; upstream words some errors by it.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Checks that a CRD version's `openAPIV3Schema` is structural. `path` is where it stands in the definition, for the
/// errors, which come sorted by their text.
///
/// ```
/// use kubewright_core::FieldPath;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"spec": {"type": "array"}}});
/// let errors = kubewright_schema::check(&schema, &FieldPath::new("openAPIV3Schema"));
/// assert_eq!(errors[0].to_string(), "openAPIV3Schema.properties[spec].items: Required value: must be specified");
/// ```
pub fn check(schema: &Value, path: &FieldPath) -> Vec<FieldError> {
    let Some(schema) = schema.as_object() else {
        return vec![FieldError::type_invalid(
            path.clone(),
            schema.clone(),
            "must be a schema",
        )];
    };
    let mut checker = Checker {
        errors: Vec::new(),
        depth: 0,
    };
    checker.structure(schema, Level::Root, path);
    checker.completeness(schema, Some(schema), path, path);
    let mut errors = checker.errors;
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

struct Checker {
    errors: Vec<FieldError>,
    depth: usize,
}

impl Checker {
    fn required(&mut self, path: FieldPath, detail: impl Into<String>) {
        self.errors.push(FieldError::required(path, detail));
    }

    fn forbidden(&mut self, path: FieldPath, detail: &str) {
        self.errors.push(FieldError::forbidden(path, detail));
    }

    fn invalid(&mut self, path: FieldPath, value: impl Into<Value>, detail: impl Into<String>) {
        self.errors.push(FieldError::invalid(path, value, detail));
    }

    /// Guards the recursion. The error comes once, at the first schema that is too deep.
    fn too_deep(&mut self, path: &FieldPath) -> bool {
        if self.depth < MAX_DEPTH {
            return false;
        }
        self.forbidden(
            path.clone(),
            &format!("schemas must not be nested deeper than {MAX_DEPTH} levels"),
        );
        true
    }

    fn structure(&mut self, schema: &Object, level: Level, path: &FieldPath) {
        if self.too_deep(path) {
            return;
        }
        self.depth += 1;
        let type_name = text(schema, "type");
        let embedded = flag(schema, "x-kubernetes-embedded-resource");
        let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
        let int_or_string = flag(schema, "x-kubernetes-int-or-string");

        match object(schema, "items") {
            Some(items) => self.structure(items, Level::Item, &path.child("items")),
            None if type_name == "array" => self.required(path.child("items"), "must be specified"),
            None => {}
        }
        for (name, property) in members(schema, "properties") {
            self.structure(property, Level::Field, &path.child("properties").key(name));
        }
        if let Some(additional) = schema
            .get("additionalProperties")
            .filter(|value| !value.is_null())
        {
            let path = path.child("additionalProperties");
            if level == Level::Root {
                self.forbidden(path.clone(), "must not be used at the root");
            }
            if embedded {
                self.forbidden(
                    path.clone(),
                    "must not be used if x-kubernetes-embedded-resource is set",
                );
            }
            if let Value::Object(additional) = additional {
                self.structure(additional, Level::Field, &path);
            }
        }
        if int_or_string && preserve {
            let path = path.child("x-kubernetes-preserve-unknown-fields");
            self.invalid(path, true, "must be false if x-kubernetes-int-or-string is true");
        }
        if int_or_string && embedded {
            let path = path.child("x-kubernetes-embedded-resource");
            self.invalid(path, true, "must be false if x-kubernetes-int-or-string is true");
        }
        let skip = Skip {
            any_of: is_int_or_string_any_of(schema),
            first_all_of: list(schema, "allOf")
                .first()
                .and_then(Value::as_object)
                .is_some_and(is_int_or_string_any_of),
        };
        self.value_validation(schema, skip, path, Rules::Allowed);
        self.check_type(schema, level, path);
        self.check_type_meta(schema, level, path);
        if embedded && !preserve && members(schema, "properties").next().is_none() {
            self.required(
                path.child("properties"),
                "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            );
        }
        self.depth -= 1;
    }

    fn check_type(&mut self, schema: &Object, level: Level, path: &FieldPath) {
        let type_name = text(schema, "type");
        let path = path.child("type");
        let free = flag(schema, "x-kubernetes-int-or-string")
            || flag(schema, "x-kubernetes-preserve-unknown-fields");
        if flag(schema, "x-kubernetes-embedded-resource") && type_name != "object" {
            const DETAIL: &str = "must be object if x-kubernetes-embedded-resource is true";
            match type_name {
                "" => self.required(path.clone(), DETAIL),
                other => self.invalid(path.clone(), other, DETAIL),
            }
        } else if type_name.is_empty() && !free {
            let detail = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.required(path.clone(), detail);
        }
        if level == Level::Root && !type_name.is_empty() && type_name != "object" {
            self.invalid(path, type_name, "must be object at the root");
        }
    }

    /// What may be said about `apiVersion`, `kind` and `metadata`.
    fn check_type_meta(&mut self, schema: &Object, level: Level, path: &FieldPath) {
        let check = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
        let Some(properties) = object(schema, "properties") else {
            return;
        };
        for name in ["kind", "apiVersion"] {
            if let Some(property) = object(properties, name).filter(|_| check) {
                let type_name = text(property, "type");
                if type_name != "string" {
                    let path = path.child("properties").key(name).child("type");
                    self.invalid(path, type_name, "must be string");
                }
            }
        }
        let Some(metadata) = object(properties, "metadata") else {
            return;
        };
        let path = path.child("properties").key("metadata");
        let type_name = text(metadata, "type");
        if check && type_name != "object" {
            self.invalid(path.child("type"), type_name, "must be object");
        }
        if level == Level::Root && !restricts_names_only(metadata) {
            self.forbidden(
                path,
                "must not specify anything other than name and generateName, but metadata is implicitly specified",
            );
        }
    }

    fn value_validation(&mut self, schema: &Object, skip: Skip, path: &FieldPath, rules: Rules) {
        if !skip.any_of {
            for (index, part) in parts(schema, "anyOf") {
                self.nested(
                    part,
                    Skip::default(),
                    &path.child("anyOf").index(index),
                    Rules::Forbidden,
                );
            }
        }
        for (index, part) in parts(schema, "allOf") {
            let skip = Skip {
                any_of: skip.first_all_of && index == 0,
                first_all_of: false,
            };
            self.nested(part, skip, &path.child("allOf").index(index), rules);
        }
        for (index, part) in parts(schema, "oneOf") {
            self.nested(
                part,
                Skip::default(),
                &path.child("oneOf").index(index),
                Rules::Forbidden,
            );
        }
        if let Some(part) = object(schema, "not") {
            self.nested(part, Skip::default(), &path.child("not"), Rules::Forbidden);
        }
        let pattern = text(schema, "pattern");
        if !pattern.is_empty()
            && let Err(error) = Pattern::new(pattern).check()
        {
            let detail = format!("must be a valid regular expression, but isn't: {error}");
            self.invalid(path.child("pattern"), pattern, detail);
        }
    }

    /// A part of a junctor: it may restrict values and must not shape them.
    fn nested(&mut self, schema: &Object, skip: Skip, path: &FieldPath, rules: Rules) {
        if self.too_deep(path) {
            return;
        }
        self.depth += 1;
        // Upstream never lets a part of a part bring rules.
        self.value_validation(schema, skip, path, Rules::Forbidden);
        if let Some(items) = object(schema, "items") {
            self.nested(items, Skip::default(), &path.child("items"), rules);
        }
        for (name, property) in members(schema, "properties") {
            self.nested(
                property,
                Skip::default(),
                &path.child("properties").key(name),
                rules,
            );
        }
        for (keyword, wanted) in FORBIDDEN {
            if schema.get(keyword).is_some_and(is_set) {
                self.forbidden(path.child(keyword), wanted);
            }
        }
        if schema.get("x-kubernetes-validations").is_some_and(is_set) && rules == Rules::Forbidden {
            self.forbidden(
                path.child("x-kubernetes-validations"),
                "must be empty to be structural",
            );
        }
        if object(schema, "properties").is_some_and(|properties| properties.contains_key("metadata")) {
            let path = path.child("properties").key("metadata");
            self.forbidden(path, "must not be specified in a nested context");
        }
        self.depth -= 1;
    }

    /// Whether every field that a part of a junctor restricts is also shaped.
    fn completeness(
        &mut self,
        part: &Object,
        shape: Option<&Object>,
        shape_path: &FieldPath,
        path: &FieldPath,
    ) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        if let Some(not) = object(part, "not") {
            self.nested_completeness(not, shape, shape_path, &path.child("not"));
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for (index, part) in parts(part, keyword) {
                self.nested_completeness(part, shape, shape_path, &path.child(keyword).index(index));
            }
        }
        self.depth -= 1;
    }

    fn nested_completeness(
        &mut self,
        part: &Object,
        shape: Option<&Object>,
        shape_path: &FieldPath,
        path: &FieldPath,
    ) {
        let Some(shape) = shape else {
            return self.required(shape_path.clone(), format!("because it is defined in {path}"));
        };
        self.completeness(part, Some(shape), shape_path, path);
        if let Some(items) = object(part, "items") {
            let below = shape_path.child("items");
            self.nested_completeness(items, object(shape, "items"), &below, &path.child("items"));
        }
        for (name, property) in members(part, "properties") {
            let below = shape_path.child("properties").key(name);
            let path = path.child("properties").key(name);
            match object(shape, "properties").and_then(|properties| object(properties, name)) {
                Some(shape) => self.nested_completeness(property, Some(shape), &below, &path),
                None => self.required(below, format!("because it is defined in {path}")),
            }
        }
    }
}

/// Which parts are the pattern that `x-kubernetes-int-or-string` allows.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_of: bool,
    first_all_of: bool,
}

/// Whether a part may bring `x-kubernetes-validations`.
#[derive(Clone, Copy, PartialEq)]
enum Rules {
    /// Upstream's option is off by default, so that what the shape itself may do is the only place left.
    Allowed,
    Forbidden,
}

/// Keywords that parts of junctors must not have, and what upstream wants them to be.
const FORBIDDEN: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
];

pub(super) fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Exactly `anyOf: [{type: integer}, {type: string}]`.
fn is_int_or_string_any_of(schema: &Object) -> bool {
    let only_type = |part: &Value, name: &str| {
        part.as_object()
            .is_some_and(|part| part.len() == 1 && part.get("type").and_then(Value::as_str) == Some(name))
    };
    matches!(list(schema, "anyOf"), [integer, string] if only_type(integer, "integer") && only_type(string, "string"))
}

/// Metadata at the root may say something about the two names and nothing else.
fn restricts_names_only(metadata: &Object) -> bool {
    metadata.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" | "default" => true,
        "properties" => {
            members(metadata, "properties").all(|(name, _)| matches!(name, "name" | "generateName"))
        }
        _ => !is_set(value),
    })
}

pub(super) fn text<'a>(schema: &'a Object, keyword: &str) -> &'a str {
    schema.get(keyword).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(schema: &Object, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

pub(super) fn object<'a>(schema: &'a Object, keyword: &str) -> Option<&'a Object> {
    schema.get(keyword).and_then(Value::as_object)
}

pub(super) fn list<'a>(schema: &'a Object, keyword: &str) -> &'a [Value] {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

pub(super) fn parts<'a>(schema: &'a Object, keyword: &str) -> impl Iterator<Item = (usize, &'a Object)> {
    list(schema, keyword)
        .iter()
        .enumerate()
        .filter_map(|(index, part)| Some((index, part.as_object()?)))
}

pub(super) fn members<'a>(schema: &'a Object, keyword: &str) -> impl Iterator<Item = (&'a str, &'a Object)> {
    let members = object(schema, keyword).into_iter().flatten();
    members.filter_map(|(name, member)| Some((name.as_str(), member.as_object()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expect: &[&str]) {
        let errors: Vec<String> = super::check(&schema, &FieldPath::root())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(errors, expect, "{schema}");
    }

    fn field(schema: Value) -> Value {
        json!({"type": "object", "properties": {"a": schema}})
    }

    #[test]
    fn shapes() {
        check(json!({"type": "object"}), &[]);
        check(
            json!({}),
            &["type: Required value: must not be empty at the root"],
        );
        check(
            json!({"type": "array", "items": {}}),
            &[
                "items.type: Required value: must not be empty for specified array items",
                "type: Invalid value: \"array\": must be object at the root",
            ],
        );
        check(
            field(json!({})),
            &["properties[a].type: Required value: must not be empty for specified object fields"],
        );
        check(field(json!({"x-kubernetes-preserve-unknown-fields": true})), &[]);
        check(field(json!({"x-kubernetes-int-or-string": true})), &[]);
        check(
            field(json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true})),
            &[
                "properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            ],
        );
        check(
            field(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
            &[
                "properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ],
        );
        check(
            json!({"type": "object", "additionalProperties": true}),
            &["additionalProperties: Forbidden: must not be used at the root"],
        );
        check(
            field(json!({"type": "string", "pattern": "("})),
            &[
                "properties[a].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
            ],
        );
    }

    #[test]
    fn junctors() {
        let int_or_string = json!([{"type": "integer"}, {"type": "string"}]);
        check(
            field(json!({"x-kubernetes-int-or-string": true, "anyOf": int_or_string})),
            &[],
        );
        check(
            field(
                json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": int_or_string}, {"pattern": "x"}]}),
            ),
            &[],
        );
        check(
            field(json!({"type": "string", "anyOf": [{"type": "string"}]})),
            &["properties[a].anyOf[0].type: Forbidden: must be empty to be structural"],
        );
        check(
            field(
                json!({"type": "object", "oneOf": [{"required": ["b"], "properties": {"b": {"nullable": true}}}]}),
            ),
            &["properties[a].oneOf[0].properties[b].nullable: Forbidden: must be false to be structural"],
        );
        check(
            json!({"type": "object", "not": {"properties": {"b": {"minLength": 1}}, "items": {}}}),
            &[
                "items: Required value: because it is defined in not.items",
                "properties[b]: Required value: because it is defined in not.properties[b]",
            ],
        );
        check(
            json!({"type": "object", "allOf": [{"properties": {"metadata": {}}}]}),
            &[
                "allOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
                "properties[metadata]: Required value: because it is defined in allOf[0].properties[metadata]",
            ],
        );
    }

    #[test]
    fn metadata() {
        let with = |metadata: Value| json!({"type": "object", "properties": {"metadata": metadata}});
        check(with(json!({"type": "object"})), &[]);
        check(
            with(json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}})),
            &[],
        );
        check(
            with(json!({"type": "object", "properties": {"labels": {"type": "object"}}})),
            &[
                "properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        );
        check(
            json!({"type": "object", "properties": {"kind": {"type": "integer"}}}),
            &["properties[kind].type: Invalid value: \"integer\": must be string"],
        );
    }

    #[test]
    fn ends_at_the_limit_of_depth() {
        let mut deep = json!({"type": "object"});
        for _ in 0..2 * MAX_DEPTH {
            deep = json!({"type": "array", "items": deep});
        }
        let errors = super::check(&field(deep), &FieldPath::root());
        assert!(
            errors.iter().any(|error| error.detail.contains("nested deeper")),
            "{errors:?}"
        );
    }
}
