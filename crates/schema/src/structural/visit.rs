//! A walk over the schemas of a definition as it is written.

use serde_json::{Map, Value};

use super::MAX_DEPTH;

/// Calls `visit` with a schema and every schema within it, parents first, down to [`MAX_DEPTH`]: `SchemaHas` in apiextensions
/// `pkg/apis/apiextensions/validation/validation.go`. What is no object is passed over.
///
/// ```
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}});
/// let mut defaults = 0;
/// kubewright_schema::each_schema(&schema, &mut |one| defaults += usize::from(one.contains_key("default")));
/// assert_eq!(defaults, 1);
/// ```
pub fn each_schema<'a>(schema: &'a Value, visit: &mut impl FnMut(&'a Map<String, Value>)) {
    walk(schema, visit, MAX_DEPTH);
}

fn walk<'a>(schema: &'a Value, visit: &mut impl FnMut(&'a Map<String, Value>), levels: usize) {
    let (Value::Object(keywords), Some(levels)) = (schema, levels.checked_sub(1)) else {
        return;
    };
    visit(keywords);
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("items" | "not" | "additionalProperties" | "additionalItems", schema @ Value::Object(_)) => {
                walk(schema, visit, levels);
            }
            ("items" | "allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                for part in parts {
                    walk(part, visit, levels);
                }
            }
            ("properties" | "patternProperties" | "definitions" | "dependencies", Value::Object(members)) => {
                for member in members.values() {
                    walk(member, visit, levels);
                }
            }
            _ => {}
        }
    }
}
