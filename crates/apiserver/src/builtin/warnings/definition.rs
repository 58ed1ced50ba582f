//! Definitions of custom resources (apiextensions `pkg/registry/customresourcedefinition/strategy.go`).

use std::collections::BTreeSet;

use kubewright_schema::{each_schema, is_known_format};
use serde_json::Value;

use super::super::value::list_at;

/// About formats that nothing checks, and sets whose items have parts. A change is told of what it brings alone.
pub(crate) fn custom_resource_definition(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = about(definition);
    if let Some(old) = old {
        let known = about(old);
        warnings.retain(|warning| !known.contains(warning));
    }
    warnings
}

fn about(definition: &Value) -> Vec<String> {
    let mut formats = Vec::new();
    let mut sets = BTreeSet::new();
    for version in list_at(definition, "/spec/versions") {
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else {
            continue;
        };
        each_schema(schema, &mut |one| {
            let text = |keyword: &str| one.get(keyword).and_then(Value::as_str).unwrap_or_default();
            let format = text("format");
            if !format.is_empty() && !is_known_format(format, text("type")) {
                let warning = format!("unrecognized format {format:?}");
                if !formats.contains(&warning) {
                    formats.push(warning);
                }
            }
            let items = one.get("items").and_then(|items| items["type"].as_str());
            if text("x-kubernetes-list-type") == "set"
                && let Some(items @ ("object" | "array")) = items
            {
                sets.insert(format!(
                    "x-kubernetes-list-type: set for items of type {items:?} is not supported by server-side apply or CEL validation rules"
                ));
            }
        });
    }
    formats.extend(sets);
    formats
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tells_of_formats_and_sets() {
        let definition = |properties: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}]}});
        let old = definition(
            json!({"a": {"type": "string", "format": "ip"}, "b": {"type": "string", "format": "date"}}),
        );
        let new = definition(json!({
            "a": {"type": "string", "format": "ip"},
            "b": {"type": "array", "items": {"type": "integer", "format": "date"}},
            "c": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
        }));
        let ip = "unrecognized format \"ip\"";
        assert_eq!(custom_resource_definition(&old, None), [ip]);
        let more = [
            "unrecognized format \"date\"",
            "x-kubernetes-list-type: set for items of type \"object\" is not supported by server-side apply or CEL validation rules",
        ];
        assert_eq!(custom_resource_definition(&new, Some(&old)), more);
        assert_eq!(
            custom_resource_definition(&new, None),
            [[ip].as_slice(), &more].concat()
        );
    }
}
