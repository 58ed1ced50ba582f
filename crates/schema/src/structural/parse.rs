//! From the JSON of a definition to the compiled schema.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    AdditionalProperties, Bound, JsonType, ListType, MAX_DEPTH, MapType, SchemaError, StructuralSchema,
    Types, ValidationRule, ValueValidation, Within,
};
use crate::format::Format;
use crate::pattern::Pattern;

type Result<T> = std::result::Result<T, SchemaError>;

/// Keywords of JSON schema that `validateUnsupportedFields` of upstream refuses.
const UNSUPPORTED: [&str; 7] = [
    "id",
    "$schema",
    "$ref",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
];

pub(super) fn parse(schema: &Value) -> Result<StructuralSchema> {
    let mut parser = Parser {
        patterns: HashMap::new(),
        path: Vec::new(),
    };
    parser.schema(schema)
}

struct Parser<'a> {
    /// Definitions repeat the same few patterns over and over; each is compiled once.
    patterns: HashMap<&'a str, Arc<Pattern>>,
    path: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    fn schema(&mut self, schema: &'a Value) -> Result<StructuralSchema> {
        if self.path.len() >= 2 * MAX_DEPTH {
            return Err(SchemaError::TooDeep {
                path: self.path.join("."),
            });
        }
        let Value::Object(schema) = schema else {
            return Err(self.wrong("", "a schema"));
        };
        for keyword in UNSUPPORTED {
            if schema.get(keyword).is_some_and(|value| !is_empty(value)) {
                return Err(SchemaError::Unsupported {
                    path: self.path.join("."),
                    keyword,
                });
            }
        }
        let int_or_string = self.flag(schema, "x-kubernetes-int-or-string")?;
        let types = match (int_or_string, self.text(schema, "type")?) {
            (true, _) => Types::INT_OR_STRING,
            (false, None | Some("")) => Types::default(),
            (false, Some(name)) => {
                Types::of(JsonType::parse(name).ok_or_else(|| self.wrong("type", "a type of OpenAPI v3"))?)
            }
        };
        let mut compiled = StructuralSchema {
            types,
            nullable: self.flag(schema, "nullable")?,
            preserve_unknown_fields: self.flag(schema, "x-kubernetes-preserve-unknown-fields")?,
            embedded_resource: self.flag(schema, "x-kubernetes-embedded-resource")?,
            int_or_string,
            list_type: self.list_type(schema)?,
            map_type: self.map_type(schema)?,
            list_map_keys: self.texts(schema, "x-kubernetes-list-map-keys")?,
            properties: self.properties(schema)?,
            additional_properties: self.additional_properties(schema)?,
            items: self.items(schema)?,
            required: self.texts(schema, "required")?,
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            validation: self.validation(schema, types)?,
            rules: self.rules(schema)?,
            within: Within::default(),
        };
        compiled.within = compiled.find_within();
        Ok(compiled)
    }

    fn properties(&mut self, schema: &'a Map<String, Value>) -> Result<BTreeMap<String, StructuralSchema>> {
        let properties = match schema.get("properties") {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(Value::Object(properties)) => properties,
            Some(_) => return Err(self.wrong("properties", "an object of schemas")),
        };
        self.path.push("properties");
        let mut compiled = Vec::with_capacity(properties.len());
        for (name, property) in properties {
            self.path.push(name);
            compiled.push((name.clone(), self.schema(property)?));
            self.path.pop();
        }
        self.path.pop();
        // A sorted list makes the tree in one go.
        Ok(compiled.into_iter().collect())
    }

    fn additional_properties(
        &mut self,
        schema: &'a Map<String, Value>,
    ) -> Result<Option<AdditionalProperties>> {
        match schema.get("additionalProperties") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(allowed)) => Ok(Some(AdditionalProperties::Allowed(*allowed))),
            Some(value) => {
                let schema = self.below("additionalProperties", value)?;
                Ok(Some(AdditionalProperties::Schema(Box::new(schema))))
            }
        }
    }

    fn items(&mut self, schema: &'a Map<String, Value>) -> Result<Option<Box<StructuralSchema>>> {
        match schema.get("items") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(_)) => Err(SchemaError::ItemsIsList {
                path: self.path.join("."),
            }),
            Some(value) => Ok(Some(Box::new(self.below("items", value)?))),
        }
    }

    fn validation(
        &mut self,
        schema: &'a Map<String, Value>,
        types: Types,
    ) -> Result<Option<Box<ValueValidation>>> {
        const KEYWORDS: [&str; 19] = [
            "format",
            "maximum",
            "minimum",
            "multipleOf",
            "maxLength",
            "minLength",
            "pattern",
            "maxItems",
            "minItems",
            "uniqueItems",
            "maxProperties",
            "minProperties",
            "enum",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "exclusiveMaximum",
            "exclusiveMinimum",
        ];
        if !KEYWORDS.iter().any(|keyword| schema.contains_key(*keyword)) {
            return Ok(None);
        }
        let format_name = self.text(schema, "format")?;
        let format = format_name.and_then(|format| Format::parse(format, types));
        let format_name = format_name
            .filter(|name| format.is_some_and(|format| format.as_str() != *name))
            .map(Box::from);
        let allowed = match schema.get("enum") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(values)) => values.clone(),
            Some(_) => return Err(self.wrong("enum", "an array of values")),
        };
        let not = match schema.get("not") {
            None | Some(Value::Null) => None,
            Some(value) => Some(Box::new(self.below("not", value)?)),
        };
        Ok(Some(Box::new(ValueValidation {
            format,
            format_name,
            maximum: self.bound(schema, "maximum", "exclusiveMaximum")?,
            minimum: self.bound(schema, "minimum", "exclusiveMinimum")?,
            multiple_of: self.number(schema, "multipleOf")?,
            max_length: self.integer(schema, "maxLength")?,
            min_length: self.integer(schema, "minLength")?,
            pattern: self.pattern(schema)?,
            max_items: self.integer(schema, "maxItems")?,
            min_items: self.integer(schema, "minItems")?,
            unique_items: self.flag(schema, "uniqueItems")?,
            max_properties: self.integer(schema, "maxProperties")?,
            min_properties: self.integer(schema, "minProperties")?,
            allowed,
            all_of: self.junctor(schema, "allOf")?,
            any_of: self.junctor(schema, "anyOf")?,
            one_of: self.junctor(schema, "oneOf")?,
            not,
        })))
    }

    fn pattern(&mut self, schema: &'a Map<String, Value>) -> Result<Option<Arc<Pattern>>> {
        let Some(source) = self.text(schema, "pattern")?.filter(|source| !source.is_empty()) else {
            return Ok(None);
        };
        let pattern = self
            .patterns
            .entry(source)
            .or_insert_with(|| Arc::new(Pattern::new(source)));
        Ok(Some(Arc::clone(pattern)))
    }

    fn junctor(
        &mut self,
        schema: &'a Map<String, Value>,
        keyword: &'static str,
    ) -> Result<Vec<StructuralSchema>> {
        match schema.get(keyword) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(parts)) => parts.iter().map(|part| self.below(keyword, part)).collect(),
            Some(_) => Err(self.wrong(keyword, "an array of schemas")),
        }
    }

    fn below(&mut self, keyword: &'a str, schema: &'a Value) -> Result<StructuralSchema> {
        // Twice, so that every level of schema counts the same towards the limit of depth.
        self.path.extend([keyword, ""]);
        let compiled = self.schema(schema)?;
        self.path.truncate(self.path.len() - 2);
        Ok(compiled)
    }

    fn rules(&mut self, schema: &'a Map<String, Value>) -> Result<Vec<ValidationRule>> {
        const KEYWORD: &str = "x-kubernetes-validations";
        let rules = match schema.get(KEYWORD) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(rules)) => rules,
            Some(_) => return Err(self.wrong(KEYWORD, "an array of rules")),
        };
        let mut compiled = Vec::with_capacity(rules.len());
        for rule in rules {
            let Value::Object(rule) = rule else {
                return Err(self.wrong(KEYWORD, "an array of rules"));
            };
            let text = |name| Ok::<_, SchemaError>(self.text(rule, name)?.map(str::to_owned));
            compiled.push(ValidationRule {
                rule: text("rule")?.unwrap_or_default(),
                message: text("message")?,
                message_expression: text("messageExpression")?,
                reason: text("reason")?,
                field_path: text("fieldPath")?,
                optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool),
            });
        }
        Ok(compiled)
    }

    fn list_type(&self, schema: &Map<String, Value>) -> Result<Option<ListType>> {
        Ok(match self.text(schema, "x-kubernetes-list-type")? {
            None => None,
            Some("atomic") => Some(ListType::Atomic),
            Some("set") => Some(ListType::Set),
            Some("map") => Some(ListType::Map),
            Some(_) => return Err(self.wrong("x-kubernetes-list-type", "atomic, set or map")),
        })
    }

    fn map_type(&self, schema: &Map<String, Value>) -> Result<Option<MapType>> {
        Ok(match self.text(schema, "x-kubernetes-map-type")? {
            None => None,
            Some("atomic") => Some(MapType::Atomic),
            Some("granular") => Some(MapType::Granular),
            Some(_) => return Err(self.wrong("x-kubernetes-map-type", "atomic or granular")),
        })
    }

    fn bound(&self, schema: &Map<String, Value>, value: &str, exclusive: &str) -> Result<Option<Bound>> {
        let exclusive = self.flag(schema, exclusive)?;
        Ok(self
            .number(schema, value)?
            .map(|value| Bound { value, exclusive }))
    }

    fn flag(&self, schema: &Map<String, Value>, keyword: &str) -> Result<bool> {
        match schema.get(keyword) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(self.wrong(keyword, "a boolean")),
        }
    }

    fn text<'b>(&self, schema: &'b Map<String, Value>, keyword: &str) -> Result<Option<&'b str>> {
        match schema.get(keyword) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(keyword, "a string")),
        }
    }

    fn texts(&self, schema: &Map<String, Value>, keyword: &str) -> Result<Vec<String>> {
        let wrong = || self.wrong(keyword, "an array of strings");
        match schema.get(keyword) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => values
                .iter()
                .map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect(),
            Some(_) => Err(wrong()),
        }
    }

    fn number(&self, schema: &Map<String, Value>, keyword: &str) -> Result<Option<f64>> {
        match schema.get(keyword) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(
                value.as_f64().ok_or_else(|| self.wrong(keyword, "a number"))?,
            )),
        }
    }

    fn integer(&self, schema: &Map<String, Value>, keyword: &str) -> Result<Option<i64>> {
        match schema.get(keyword) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(
                value.as_i64().ok_or_else(|| self.wrong(keyword, "an integer"))?,
            )),
        }
    }

    fn wrong(&self, keyword: &str, expected: &'static str) -> SchemaError {
        let parts = self
            .path
            .iter()
            .copied()
            .chain([keyword])
            .filter(|part| !part.is_empty());
        SchemaError::WrongType {
            path: parts.collect::<Vec<_>>().join("."),
            expected,
        }
    }
}

/// What Go's decoder leaves as a zero value counts as not set.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn refuses() {
        for (schema, expect) in [
            (json!([]), ": expected a schema"),
            (json!({"type": "text"}), "type: expected a type of OpenAPI v3"),
            (
                json!({"properties": {"a": {"minLength": "1"}}}),
                "properties.a.minLength: expected an integer",
            ),
            (
                json!({"properties": {"a": {"$ref": "#/x"}}}),
                "properties.a: OpenAPIV3Schema '$ref' is not supported",
            ),
            (
                json!({"items": [{}]}),
                ": OpenAPIV3Schema 'items' must be a schema, but is an array",
            ),
        ] {
            let error = StructuralSchema::parse(&schema).expect_err(expect).to_string();
            assert_eq!(error, expect, "{schema}");
        }
        let mut deep = json!({});
        for _ in 0..=MAX_DEPTH {
            deep = json!({"items": deep});
        }
        assert!(matches!(
            StructuralSchema::parse(&deep),
            Err(SchemaError::TooDeep { .. })
        ));
    }

    #[test]
    fn compiles_a_pattern_once() {
        let schema = json!({"properties": {"a": {"pattern": "^x"}, "b": {"pattern": "^x"}}});
        let schema = StructuralSchema::parse(&schema).unwrap();
        let pattern = |name| {
            schema
                .property(name)
                .unwrap()
                .validation
                .as_ref()
                .unwrap()
                .pattern
                .clone()
                .unwrap()
        };
        assert!(Arc::ptr_eq(&pattern("a"), &pattern("b")));
    }
}
