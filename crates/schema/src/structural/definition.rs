//! What a definition's schema must fulfil besides being structural (apiextensions
//! `pkg/apis/apiextensions/validation/validation.go` and `pkg/apiserver/schema/defaulting/validation.go`).

use std::collections::HashSet;

use kubewright_core::{FieldError, FieldPath};
use serde_json::{Map, Value};

use super::check::{check, flag, is_set, list, members, object, parts, text};
use super::{MAX_DEPTH, SchemaError, StructuralSchema, defaults};
use crate::resource::Status;

type Object = Map<String, Value>;

/// Keywords that the root of a schema may have where the status is a subresource, whose schema is taken out alone.
/// The second of each is Go's name, as the message has it (`allowedFieldsAtRootSchema`).
const ROOT_KEYWORDS: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// What is wrong with the metadata of the resource at a path.
pub type CheckMetadata<'a> = &'a dyn Fn(&FieldPath, &Value) -> Vec<FieldError>;

/// Checks the `openAPIV3Schema` of a version of a new definition: that it is structural, that its defaults are values
/// of their schemas, and what else the API server demands. `path` is where it stands in the definition.
///
/// Rules in CEL are not compiled here. What is wrong with the metadata of a resource that stands at a path is for `metadata` to say, which is asked
/// about the resources in defaults.
pub fn check_definition(
    schema: &Value,
    path: &FieldPath,
    status: Status,
    metadata: CheckMetadata<'_>,
) -> Vec<FieldError> {
    let mut errors = check_root(schema, path, status);
    let Some(root) = schema.as_object() else {
        return check(schema, path);
    };
    let compiled = StructuralSchema::parse(schema);
    match &compiled {
        // What upstream cannot compile is told of by the rules for keywords, or at last.
        Err(SchemaError::Unsupported { .. } | SchemaError::ItemsIsList { .. }) => {}
        compiled => {
            let structural = check(schema, path);
            match compiled {
                Ok(compiled) if structural.is_empty() => {
                    defaults::check(compiled, path, metadata, &mut errors)
                }
                _ => errors.extend(structural),
            }
        }
    }
    let mut checker = Checker { errors, depth: 0 };
    checker.visit(
        root,
        path,
        Defaults::Allowed,
        Place {
            root: true,
            metadata: false,
        },
    );
    let mut errors = checker.errors;
    if errors.is_empty()
        && let Err(error) = compiled
    {
        let detail = match error {
            SchemaError::Unsupported { keyword, .. } => {
                format!(
                    "OpenAPIV3Schema '{}' is not supported",
                    keyword.trim_start_matches('$')
                )
            }
            SchemaError::ItemsIsList { .. } => {
                "OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned()
            }
            error => error.to_string(),
        };
        errors.push(FieldError::invalid(path.clone(), "", detail));
    }
    errors
}

fn check_root(schema: &Value, path: &FieldPath, status: Status) -> Vec<FieldError> {
    let Some(schema) = schema.as_object() else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if status == Status::Subresource {
        if text(schema, "type") != "object" {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            errors.push(FieldError::invalid(
                path.child("type"),
                text(schema, "type"),
                detail,
            ));
        } else if schema
            .iter()
            .any(|(keyword, value)| is_set(value) && !ROOT_KEYWORDS.iter().any(|(known, _)| known == keyword))
        {
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                ROOT_KEYWORDS.map(|(_, name)| name).join(" ")
            );
            errors.push(FieldError::invalid(
                path.clone(),
                Value::Object(schema.clone()),
                detail,
            ));
        }
    }
    if flag(schema, "nullable") {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    errors
}

/// Whether defaults may be set, and if not, why.
#[derive(Clone, Copy)]
enum Defaults<'a> {
    Allowed,
    Forbidden(&'a str),
}

/// Where in the definition a schema stands.
#[derive(Clone, Copy)]
struct Place {
    root: bool,
    /// Whether within what applies to the metadata of an object.
    metadata: bool,
}

impl Place {
    fn below(self) -> Self {
        Self { root: false, ..self }
    }
}

struct Checker {
    errors: Vec<FieldError>,
    depth: usize,
}

impl Checker {
    fn forbidden(&mut self, path: FieldPath, detail: impl Into<String>) {
        self.errors.push(FieldError::forbidden(path, detail));
    }

    fn invalid(&mut self, path: FieldPath, value: impl Into<Value>, detail: &str) {
        self.errors.push(FieldError::invalid(path, value, detail));
    }

    fn required(&mut self, path: FieldPath, detail: &str) {
        self.errors.push(FieldError::required(path, detail));
    }

    fn visit(&mut self, schema: &Object, path: &FieldPath, defaults: Defaults<'_>, place: Place) {
        // What is deeper is reported by the structural check.
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        self.keywords(schema, path, defaults, place);
        self.additional_properties(schema, path, defaults, place);
        let resource = place.root || flag(schema, "x-kubernetes-embedded-resource");
        for (name, property) in members(schema, "properties") {
            let meta = resource && matches!(name, "metadata" | "kind" | "apiVersion");
            let at_root = place.root;
            let place = Place {
                root: false,
                metadata: place.metadata || meta,
            };
            let path = path.child("properties").key(name);
            let reason = format!("in top-level {name}");
            let defaults = if meta && at_root {
                Defaults::Forbidden(&reason)
            } else {
                defaults
            };
            self.visit(property, &path, defaults, place);
        }
        if let Some(not) = object(schema, "not") {
            self.visit(not, &path.child("not"), defaults, place.below());
        }
        for keyword in ["allOf", "oneOf", "anyOf"] {
            for (index, part) in parts(schema, keyword) {
                self.visit(part, &path.child(keyword).index(index), defaults, place.below());
            }
        }
        if let Some(items) = object(schema, "items") {
            self.visit(items, &path.child("items"), defaults, place.below());
        }
        self.topology(schema, path);
        self.rules(schema, path);
        self.depth -= 1;
    }

    fn keywords(&mut self, schema: &Object, path: &FieldPath, defaults: Defaults<'_>, place: Place) {
        let type_name = text(schema, "type");
        let known = ["array", "boolean", "integer", "number", "object", "string"];
        if !type_name.is_empty() && !known.contains(&type_name) {
            self.errors
                .push(FieldError::not_supported(path.child("type"), type_name, &known));
        }
        if schema.get("default").is_some_and(|default| !default.is_null())
            && let Defaults::Forbidden(reason) = defaults
        {
            self.forbidden(path.child("default"), format!("must not be set {reason}"));
        }
        for keyword in [
            "id",
            "additionalItems",
            "patternProperties",
            "definitions",
            "dependencies",
            "$ref",
        ] {
            if schema
                .get(keyword)
                .is_some_and(|value| !value.is_null() && *value != Value::Object(Map::new()))
            {
                self.forbidden(path.child(keyword), format!("{keyword} is not supported"));
            }
        }
        if type_name == "null" {
            self.forbidden(
                path.child("type"),
                "type cannot be set to null, use nullable as an alternative",
            );
        }
        if schema.get("items").is_some_and(Value::is_array) {
            self.forbidden(
                path.child("items"),
                "items must be a schema object and not an array",
            );
        }
        if place.metadata && flag(schema, "x-kubernetes-embedded-resource") {
            self.forbidden(
                path.child("x-kubernetes-embedded-resource"),
                "must not be used inside of resource meta",
            );
        }
        if flag(schema, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbidden(path.child("uniqueItems"), detail);
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            self.invalid(
                path.child("x-kubernetes-preserve-unknown-fields"),
                false,
                "must be true or undefined",
            );
        }
    }

    fn additional_properties(
        &mut self,
        schema: &Object,
        path: &FieldPath,
        defaults: Defaults<'_>,
        place: Place,
    ) {
        let Some(additional) = schema
            .get("additionalProperties")
            .filter(|value| !value.is_null())
        else {
            return;
        };
        let path = path.child("additionalProperties");
        if members(schema, "properties").next().is_some() && *additional != Value::Bool(true) {
            self.forbidden(
                path.clone(),
                "additionalProperties and properties are mutual exclusive",
            );
        }
        if let Value::Object(additional) = additional {
            let defaults = match place.metadata {
                true => Defaults::Forbidden("inside additionalProperties applying to object metadata"),
                false => defaults,
            };
            self.visit(additional, &path, defaults, place.below());
        }
    }

    /// Lists and maps: that their types fit what they are, and that keys exist and are certain.
    fn topology(&mut self, schema: &Object, path: &FieldPath) {
        let type_name = text(schema, "type");
        let (map_type, list_type) = (
            text(schema, "x-kubernetes-map-type"),
            text(schema, "x-kubernetes-list-type"),
        );
        for (keyword, given, wanted, valid) in [
            (
                "x-kubernetes-map-type",
                map_type,
                "object",
                ["atomic", "granular"].as_slice(),
            ),
            (
                "x-kubernetes-list-type",
                list_type,
                "array",
                ["atomic", "set", "map"].as_slice(),
            ),
        ] {
            if given.is_empty() {
                continue;
            }
            let detail = format!("must be {wanted} if {keyword} is specified");
            match type_name {
                "" => self.required(path.child("type"), &detail),
                other if other != wanted => self.invalid(path.child("type"), other, &detail),
                _ => {}
            }
            if !valid.contains(&given) {
                self.errors
                    .push(FieldError::not_supported(path.child(keyword), given, valid));
            }
        }
        let items = object(schema, "items");
        if type_name == "array"
            && list_type == "set"
            && let Some(items) = items
        {
            self.set_items(items, &path.child("items"));
        }
        let keys = list(schema, "x-kubernetes-list-map-keys");
        if !keys.is_empty() && list_type != "map" {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            let path = path.child("x-kubernetes-list-type");
            if list_type.is_empty() {
                self.required(path, detail)
            } else {
                self.invalid(path, list_type, detail)
            }
        }
        if list_type == "map" {
            self.map_items(schema, keys, path);
        }
        if matches!(list_type, "set" | "map") && items.is_some_and(|items| flag(items, "nullable")) {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbidden(path.child("items").child("nullable"), detail);
        }
    }

    /// Items of a set have to be values as a whole.
    fn set_items(&mut self, items: &Object, path: &FieldPath) {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let (list_type, map_type) = (
            text(items, "x-kubernetes-list-type"),
            text(items, "x-kubernetes-map-type"),
        );
        match text(items, "type") {
            "array" if !matches!(list_type, "" | "atomic") => {
                self.invalid(path.child("x-kubernetes-list-type"), list_type, detail);
            }
            "object" if map_type != "atomic" => {
                let value = if map_type.is_empty() {
                    Value::Null
                } else {
                    map_type.into()
                };
                self.invalid(path.child("x-kubernetes-map-type"), value, detail);
            }
            _ => {}
        }
    }

    fn map_items(&mut self, schema: &Object, keys: &[Value], path: &FieldPath) {
        let keys_path = path.child("x-kubernetes-list-map-keys");
        if keys.is_empty() {
            self.required(
                keys_path.clone(),
                "must not be empty if x-kubernetes-list-type is map",
            );
        }
        let Some(items) = object(schema, "items") else {
            return self.required(
                path.child("items"),
                "must have a schema if x-kubernetes-list-type is map",
            );
        };
        let items_path = path.child("items");
        if text(items, "type") != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            return self.invalid(items_path.child("type"), text(items, "type"), detail);
        }
        let mut seen = HashSet::new();
        for key in keys.iter().filter_map(Value::as_str) {
            if !seen.insert(key) {
                self.invalid(
                    keys_path.clone(),
                    keys.to_vec(),
                    "must not contain duplicate entries",
                );
            }
            let Some(property) = object(items, "properties").and_then(|properties| object(properties, key))
            else {
                self.invalid(
                    keys_path.clone(),
                    keys.to_vec(),
                    "entries must all be names of item properties",
                );
                continue;
            };
            let path = items_path.child("properties").key(key);
            if matches!(text(property, "type"), "array" | "object") {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.invalid(path.child("type"), text(property, "type"), detail);
            }
            let certain = list(items, "required").iter().any(|name| name == key)
                || property.get("default").is_some_and(|default| !default.is_null());
            if !certain {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.required(path.child("default"), detail);
            }
            if flag(property, "nullable") {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.forbidden(path.child("nullable"), detail);
            }
        }
    }

    /// The form of rules; what they say is for the CEL compiler.
    fn rules(&mut self, schema: &Object, path: &FieldPath) {
        for (index, rule) in parts(schema, "x-kubernetes-validations") {
            let path = path.child("x-kubernetes-validations").index(index);
            let given = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
            let (expression, message) = (given("rule").trim(), given("message").trim());
            let broken = |text: &str| text.contains(['\n', '\r']);
            if expression.is_empty() {
                self.required(path.child("rule"), "rule is not specified");
            } else if !given("message").is_empty() && message.is_empty() {
                self.invalid(
                    path.child("message"),
                    given("message"),
                    "must be non-empty if specified",
                );
            } else if broken(message) {
                self.invalid(
                    path.child("message"),
                    given("message"),
                    "must not contain line breaks",
                );
            } else if broken(expression) && message.is_empty() {
                self.required(
                    path.child("message"),
                    "message must be specified if rule contains line breaks",
                );
            }
            if !given("messageExpression").is_empty() && given("messageExpression").trim().is_empty() {
                self.required(
                    path.child("messageExpression"),
                    "messageExpression must be non-empty if specified",
                );
            }
            let reason = given("reason");
            if !reason.is_empty() && !REASONS.contains(&reason) {
                self.errors
                    .push(FieldError::not_supported(path.child("reason"), reason, &REASONS));
            }
            let field_path = given("fieldPath");
            if !field_path.is_empty() && field_path.trim().is_empty() {
                self.invalid(
                    path.child("fieldPath"),
                    field_path,
                    "must be non-empty if specified",
                );
            }
            if broken(field_path) {
                self.invalid(
                    path.child("fieldPath"),
                    field_path,
                    "must not contain line breaks",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(field: Value, expect: &[&str]) {
        let schema = json!({"type": "object", "properties": {"a": field}});
        let errors = check_definition(&schema, &FieldPath::root(), Status::Absent, &|_, _| Vec::new());
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expect, "{field}");
    }

    #[test]
    fn lists_and_maps() {
        let list = |list_type: &str, items: Value| json!({"type": "array", "items": items, "x-kubernetes-list-type": list_type});
        check(list("set", json!({"type": "string"})), &[]);
        check(
            list("set", json!({"type": "object"})),
            &[
                "properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            ],
        );
        check(
            list("set", json!({"type": "string", "nullable": true})),
            &[
                "properties[a].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
            ],
        );
        let keyed = |keys: Value, items: Value| json!({"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys});
        let item = |property: Value| json!({"type": "object", "properties": {"k": property}});
        check(
            keyed(json!(["k"]), item(json!({"type": "string", "default": "x"}))),
            &[],
        );
        check(
            keyed(json!(["k"]), item(json!({"type": "string"}))),
            &[
                "properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        );
        check(
            keyed(json!(["j"]), item(json!({"type": "string"}))),
            &[
                "properties[a].x-kubernetes-list-map-keys: Invalid value: [\"j\"]: entries must all be names of item properties",
            ],
        );
        check(
            keyed(json!([]), item(json!({"type": "string"}))),
            &[
                "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ],
        );
        check(
            json!({"type": "string", "x-kubernetes-map-type": "atomic"}),
            &[
                "properties[a].type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
            ],
        );
    }

    #[test]
    fn keywords() {
        check(
            json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            &[
                "properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        );
        check(
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            &[
                "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        );
        check(
            json!({"type": "string", "x-kubernetes-validations": [{"rule": " "}, {"rule": "a\nb"}, {"rule": "x", "reason": "y"}]}),
            &[
                "properties[a].x-kubernetes-validations[0].rule: Required value: rule is not specified",
                "properties[a].x-kubernetes-validations[1].message: Required value: message must be specified if rule contains line breaks",
                "properties[a].x-kubernetes-validations[2].reason: Unsupported value: \"y\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
            ],
        );
        check(
            json!({"type": "text"}),
            &[
                "properties[a].type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ],
        );
    }

    #[test]
    fn roots() {
        let root = json!({"type": "object", "oneOf": [{"required": ["spec"]}]});
        assert_eq!(
            check_definition(&root, &FieldPath::root(), Status::Absent, &|_, _| Vec::new()),
            []
        );
        let errors = check_definition(&root, &FieldPath::root(), Status::Subresource, &|_, _| Vec::new());
        assert!(
            errors[0].detail.starts_with("only [Description Type"),
            "{errors:?}"
        );
    }
}
