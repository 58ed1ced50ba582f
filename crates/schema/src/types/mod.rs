//! Schemas of Rust types: the [`Schema`] trait and what builds the schemas.
//!
//! Schemas made here are structural by construction: references are written out, types are always named, and what has
//! no structural form keeps unknown fields instead.

mod builtin;
mod impls;
mod kubernetes;

pub use impls::MapKey;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::structural::JsonType;

/// A type whose values can be fields of a custom resource.
///
/// Derive it with `#[derive(Schema)]`; write it by hand for types with a form of their own:
///
/// ```
/// use kubewright_schema::{Generator, JsonType, Schema, SchemaNode};
///
/// struct Percentage(u8);
///
/// impl Schema for Percentage {
///     fn schema(_: &mut Generator) -> SchemaNode {
///         SchemaNode::of(JsonType::String).with("pattern", "^[0-9]{1,3}%$")
///     }
/// }
/// ```
pub trait Schema {
    /// Makes the schema. Schemas of fields are asked for through [`Generator::schema_of`], which notices recursion.
    fn schema(generator: &mut Generator) -> SchemaNode;
}

/// The deepest nesting of types that is followed. Structural schemas have no references, so that a type which contains
/// itself has no end.
pub const MAX_TYPE_DEPTH: usize = 48;

/// Makes schemas of types within types, and keeps watch over recursion.
#[derive(Debug, Default)]
pub struct Generator {
    open: Vec<&'static str>,
    cut: Vec<&'static str>,
}

impl Generator {
    /// The schema of a field's type. Where a type comes up within itself, the inner one becomes an object that keeps
    /// unknown fields; [`cut`](Self::cut) tells where that happened.
    pub fn schema_of<T: Schema + ?Sized>(&mut self) -> SchemaNode {
        self.within(std::any::type_name::<T>(), T::schema)
    }

    /// The names of types that contain themselves, and whose inner values are therefore not described.
    pub fn cut(&self) -> &[&'static str] {
        &self.cut
    }

    fn within(&mut self, name: &'static str, make: impl FnOnce(&mut Self) -> SchemaNode) -> SchemaNode {
        if self.open.contains(&name) || self.open.len() >= MAX_TYPE_DEPTH {
            self.cut.push(name);
            return SchemaNode::of(JsonType::Object).with("x-kubernetes-preserve-unknown-fields", true);
        }
        self.open.push(name);
        let node = make(self);
        self.open.pop();
        node
    }
}

/// A schema in the making: the keywords of OpenAPI, and whether the value may be absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaNode {
    /// All keywords but `properties`.
    keywords: Map<String, Value>,
    properties: Map<String, Value>,
    optional: bool,
}

impl SchemaNode {
    /// Values of a type.
    pub fn of(json_type: JsonType) -> Self {
        Self::default().with("type", json_type.as_str())
    }

    /// Any value, with all its fields kept.
    pub fn any() -> Self {
        Self::default().with("x-kubernetes-preserve-unknown-fields", true)
    }

    /// An integer or a string.
    pub fn int_or_string() -> Self {
        let any_of = json!([{"type": "integer"}, {"type": "string"}]);
        Self::default()
            .with("x-kubernetes-int-or-string", true)
            .with("anyOf", any_of)
    }

    /// A list.
    pub fn array(items: Self) -> Self {
        Self::of(JsonType::Array).with("items", items)
    }

    /// A map from strings.
    pub fn map(values: Self) -> Self {
        Self::of(JsonType::Object).with("additionalProperties", values)
    }

    /// One of these strings.
    pub fn one_of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let values: Vec<Value> = values.into_iter().map(Value::from).collect();
        Self::of(JsonType::String).with("enum", values)
    }

    /// Sets a keyword; a later word replaces an earlier one.
    #[must_use]
    pub fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.keywords.insert(keyword.to_owned(), value.into());
        self
    }

    /// Takes a keyword away.
    #[must_use]
    pub fn without(mut self, keyword: &str) -> Self {
        self.keywords.remove(keyword);
        self
    }

    /// Sets the description, unless the text is empty.
    #[must_use]
    pub fn describe(self, text: &str) -> Self {
        if text.is_empty() {
            self
        } else {
            self.with("description", text)
        }
    }

    /// Sets the default. A value that cannot be written as JSON leaves the schema without one.
    #[must_use]
    pub fn with_default(mut self, value: &impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.keywords.insert("default".to_owned(), value);
        }
        self.into_optional()
    }

    /// Marks the value as one that may be absent.
    #[must_use]
    pub fn into_optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Marks the value as one that must be present.
    #[must_use]
    pub fn into_required(mut self) -> Self {
        self.optional = false;
        self
    }

    /// Whether the value may be absent.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// The value of a keyword other than `properties`.
    pub fn keyword(&self, keyword: &str) -> Option<&Value> {
        self.keywords.get(keyword)
    }

    /// Adds a field, required unless its node is optional.
    #[must_use]
    pub fn property(mut self, name: &str, node: Self) -> Self {
        if !node.optional {
            self.require(name);
        }
        self.properties.insert(name.to_owned(), node.into_value());
        self
    }

    /// Changes the schema of the items of a list; other schemas stay as they are.
    #[must_use]
    pub fn map_items(mut self, change: impl FnOnce(Self) -> Self) -> Self {
        if let Some(Value::Object(mut keywords)) = self.keywords.remove("items") {
            let properties = match keywords.remove("properties") {
                Some(Value::Object(properties)) => properties,
                _ => Map::new(),
            };
            let items = change(Self {
                keywords,
                properties,
                optional: false,
            });
            self.keywords.insert("items".to_owned(), items.into_value());
        }
        self
    }

    /// Adds a rule in CEL to `x-kubernetes-validations`.
    #[must_use]
    pub fn rule(mut self, rule: Value) -> Self {
        let rules = self
            .keywords
            .entry("x-kubernetes-validations")
            .or_insert_with(|| json!([]));
        if let Value::Array(rules) = rules {
            rules.push(rule);
        }
        self
    }

    /// Adds the fields of another object, as serde's `flatten` writes them. If the other may be absent, so may its fields.
    #[must_use]
    pub fn flatten(mut self, other: Self) -> Self {
        let Self {
            mut keywords,
            properties,
            optional,
        } = other;
        self.properties.extend(properties);
        if let Some(Value::Array(required)) = keywords.remove("required")
            && !optional
        {
            required
                .iter()
                .filter_map(Value::as_str)
                .for_each(|name| self.require(name));
        }
        for junctor in ["oneOf", "anyOf"] {
            // Two of a kind cannot stand side by side, but within `allOf` they can.
            if let Some(parts) = keywords.remove(junctor).filter(|_| !optional) {
                self.push_all_of(json!({junctor: parts}));
            }
        }
        if let Some(Value::Array(parts)) = keywords.remove("allOf").filter(|_| !optional) {
            parts.into_iter().for_each(|part| self.push_all_of(part));
        }
        if let Some(Value::Array(rules)) = keywords.remove("x-kubernetes-validations") {
            self = rules.into_iter().fold(self, Self::rule);
        }
        // Fields beside additional ones have no structural form: such an object keeps all it gets.
        let open = keywords.contains_key("additionalProperties")
            || keywords.contains_key("x-kubernetes-preserve-unknown-fields");
        if open {
            self.keywords
                .insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
        }
        self
    }

    /// Adds a variant of an enum whose variants are objects: its fields become optional fields of the whole, and what it
    /// requires holds where `tag` has this value.
    #[must_use]
    pub fn tagged_variant(mut self, tag: &str, value: &str, variant: Self) -> Self {
        let mut part = json!({"properties": {tag: {"enum": [value]}}});
        part["required"] = self.merge_variant(variant, tag);
        self.push_part("oneOf", part);
        self
    }

    /// Adds a variant of an enum that is told by its fields alone.
    #[must_use]
    pub fn untagged_variant(mut self, variant: Self) -> Self {
        let required = self.merge_variant(variant, "");
        self.push_part("anyOf", json!({"required": required}));
        self
    }

    /// Adds a variant of an enum that is told by the one field that is present.
    #[must_use]
    pub fn named_variant(mut self, name: &str, variant: Self) -> Self {
        self.properties.insert(name.to_owned(), variant.into_value());
        self.push_part("oneOf", json!({"required": [name]}));
        self
    }

    /// Takes over the fields of a variant; returns those it requires, and the tag.
    fn merge_variant(&mut self, variant: Self, tag: &str) -> Value {
        let mut keywords = variant.keywords;
        let mut required: Vec<Value> = match keywords.remove("required") {
            Some(Value::Array(required)) => required,
            _ => Vec::new(),
        };
        if !tag.is_empty() {
            required.push(tag.into());
        }
        for (name, member) in variant.properties {
            match self.properties.get_mut(&name) {
                // Variants that disagree about a field leave it to themselves what it holds.
                Some(known) if *known != member => *known = Self::any().into_value(),
                Some(_) => {}
                None => {
                    self.properties.insert(name, member);
                }
            }
        }
        if keywords.contains_key("additionalProperties")
            || keywords.contains_key("x-kubernetes-preserve-unknown-fields")
        {
            self.keywords
                .insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
        }
        required.into()
    }

    fn push_part(&mut self, junctor: &str, part: Value) {
        let parts = self.keywords.entry(junctor).or_insert_with(|| json!([]));
        if let Value::Array(parts) = parts {
            parts.push(part);
        }
    }

    fn push_all_of(&mut self, part: Value) {
        self.push_part("allOf", part);
    }

    fn require(&mut self, name: &str) {
        let required = self.keywords.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required
            && !required.iter().any(|one| one == name)
        {
            required.push(name.into());
        }
    }

    /// The schema as it stands in a definition.
    pub fn into_value(self) -> Value {
        let mut keywords = self.keywords;
        if !self.properties.is_empty() {
            keywords.insert("properties".to_owned(), self.properties.into());
        }
        Value::Object(keywords)
    }
}

impl From<SchemaNode> for Value {
    fn from(node: SchemaNode) -> Self {
        node.into_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree;

    impl Schema for Tree {
        fn schema(generator: &mut Generator) -> SchemaNode {
            let children = generator.schema_of::<Vec<Self>>();
            SchemaNode::of(JsonType::Object).property("children", children)
        }
    }

    #[test]
    fn cuts_recursion() {
        let mut generator = Generator::default();
        let node = generator.schema_of::<Tree>().into_value();
        let inner = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let children = json!({"type": "array", "items": inner});
        assert_eq!(
            node,
            json!({"type": "object", "properties": {"children": children}, "required": ["children"]})
        );
        assert_eq!(generator.cut().len(), 1);
    }

    #[test]
    fn flattens() {
        let string = || SchemaNode::of(JsonType::String);
        let object = || SchemaNode::of(JsonType::Object);
        let other = object().property("b", string()).named_variant("c", string());
        let node = object().property("a", string()).flatten(other).into_value();
        assert_eq!(node["required"], json!(["a", "b"]));
        assert_eq!(node["allOf"], json!([{"oneOf": [{"required": ["c"]}]}]));
        let absent = object()
            .flatten(object().property("b", string()).into_optional())
            .into_value();
        assert_eq!(
            absent,
            json!({"type": "object", "properties": {"b": {"type": "string"}}})
        );
        let open = object()
            .property("a", string())
            .flatten(SchemaNode::map(string()))
            .into_value();
        assert_eq!(open["x-kubernetes-preserve-unknown-fields"], true);
    }
}
