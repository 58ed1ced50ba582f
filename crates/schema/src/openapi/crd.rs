//! Schemas of custom resources, as apiextensions' `pkg/controller/openapi/builder` publishes them.

use serde_json::{Map, Value, json};

use super::v2::{custom_schema_to_v2, lower};
use super::{Descriptions, GROUP_VERSION_KIND, LIST_META, OBJECT_META, reference};
use crate::structural::MAX_DEPTH;

/// The names of a custom resource that its schemas show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomResource<'a> {
    /// The API group.
    pub group: &'a str,
    /// The version that the schema is of.
    pub version: &'a str,
    /// The kind of the objects.
    pub kind: &'a str,
    /// The kind of their lists.
    pub list_kind: &'a str,
    /// The name in paths.
    pub plural: &'a str,
    /// The paths by which field selectors may select, as the definition writes them.
    pub selectable_fields: &'a [String],
}

/// The version of OpenAPI that a schema is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The second, which lacks junctors and null; see upstream's `pkg/controller/openapi/v2/conversion.go`.
    V2,
    /// The third, which has all that a structural schema says.
    V3,
}

/// The definition name of a kind: its group reversed, as in `com.example.stable.v1.CronTab`.
pub fn model_name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').rev().filter(|part| !part.is_empty()).collect();
    parts.extend([version, kind]);
    parts.join(".")
}

/// The schema of a custom resource, made from a version's `openAPIV3Schema`; `None` where the version has none.
///
/// Descriptions, validations and extensions stay as written, so that `kubectl explain` shows them. Added is what every
/// object has, at the root and in embedded resources; removed is what the dialect lacks. Values that are integers or strings say so
/// in OpenAPI's words, too.
pub fn custom_resource_schema(
    names: &CustomResource<'_>,
    schema: Option<&Value>,
    descriptions: &dyn Descriptions,
    dialect: Dialect,
) -> Value {
    // In the second version, kubectl would refuse every field but those that are named.
    let keeps_unknown = |schema: &Map<String, Value>| {
        dialect == Dialect::V2
            && schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
    };
    let mut root = match schema {
        Some(Value::Object(schema)) if !keeps_unknown(schema) => {
            let mut root = schema.clone();
            if dialect == Dialect::V2 {
                lower(&mut root, MAX_DEPTH);
            }
            complete(&mut root, descriptions, dialect, MAX_DEPTH);
            let properties = root.entry("properties").or_insert_with(|| json!({}));
            if let Value::Object(properties) = properties {
                add_meta(properties, OBJECT_META, descriptions);
            }
            root
        }
        // A kind without schema must not look as if it had no fields.
        _ => Map::from_iter([("type".to_owned(), "object".into())]),
    };
    add_extensions(&mut root, names, names.kind);
    in_dialect(root, dialect)
}

/// The schema of the list of a custom resource.
pub fn custom_resource_list_schema(
    names: &CustomResource<'_>,
    descriptions: &dyn Descriptions,
    dialect: Dialect,
) -> Value {
    let CustomResource {
        group,
        version,
        kind,
        list_kind,
        plural,
        ..
    } = names;
    let item = reference(&model_name(group, version, kind));
    let items = json!({"type": "array", "items": item[0], "description": format!("List of {plural}.")});
    let mut properties = Map::from_iter([("items".to_owned(), items)]);
    add_meta(&mut properties, LIST_META, descriptions);
    let mut root = Map::from_iter([
        ("type".to_owned(), "object".into()),
        (
            "description".to_owned(),
            format!("{list_kind} is a list of {kind}").into(),
        ),
        ("required".to_owned(), json!(["items"])),
        ("properties".to_owned(), properties.into()),
    ]);
    add_extensions(&mut root, names, list_kind);
    in_dialect(root, dialect)
}

fn in_dialect(root: Map<String, Value>, dialect: Dialect) -> Value {
    let mut schema = Value::Object(root);
    if dialect == Dialect::V2 {
        custom_schema_to_v2(&mut schema);
    }
    schema
}

/// Which kind it is, and by which fields its objects can be selected.
fn add_extensions(root: &mut Map<String, Value>, names: &CustomResource<'_>, kind: &str) {
    root.insert(GROUP_VERSION_KIND.to_owned(), group_version_kind(names, kind));
    if !names.selectable_fields.is_empty() {
        let fields = names
            .selectable_fields
            .iter()
            .map(|path| json!({ "fieldPath": path.trim_start_matches('.') }));
        root.insert(SELECTABLE_FIELDS.to_owned(), fields.collect());
    }
}

fn group_version_kind(names: &CustomResource<'_>, kind: &str) -> Value {
    json!([{"group": names.group, "version": names.version, "kind": kind}])
}

/// Sets `apiVersion`, `kind` and `metadata`, described as those of pods, but for the metadata of lists. A description that the definition
/// wrote itself is kept.
fn add_meta(properties: &mut Map<String, Value>, metadata: &str, descriptions: &dyn Descriptions) {
    let own = |properties: &Map<String, Value>, name: &str| properties.get(name)?.get("description").cloned();
    let described = |field: &str| descriptions.describe(POD, Some(field)).map(Value::from);
    for name in ["apiVersion", "kind"] {
        let mut schema = json!({"type": "string"});
        if let Some(description) = own(properties, name).or_else(|| described(name)) {
            schema["description"] = description;
        }
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"allOf": reference(metadata)});
    let of_pods = || described("metadata").filter(|_| metadata == OBJECT_META);
    if let Some(description) = own(properties, "metadata").or_else(of_pods) {
        schema["description"] = description;
    }
    properties.insert("metadata".to_owned(), schema);
}

const POD: &str = "io.k8s.api.core.v1.Pod";

/// Completes embedded resources and integers-or-strings, at every level.
fn complete(
    schema: &mut Map<String, Value>,
    descriptions: &dyn Descriptions,
    dialect: Dialect,
    depth: usize,
) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            if let Value::Object(property) = property {
                complete(property, descriptions, dialect, depth);
            }
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(keyword) {
            complete(below, descriptions, dialect, depth);
        }
    }
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        unfold(schema);
    }
    let says = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(true));
    if says("x-kubernetes-embedded-resource")
        && !(dialect == Dialect::V2 && says("x-kubernetes-preserve-unknown-fields"))
    {
        if let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) {
            add_meta(properties, OBJECT_META, descriptions);
        }
        if let Value::Array(required) = schema.entry("required").or_insert_with(|| json!([])) {
            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|one| one == name) {
                    required.push(name.into());
                }
            }
        }
    }
}

/// Writes `x-kubernetes-int-or-string` out as `anyOf`, unless it is (`schema/unfold.go`).
fn unfold(schema: &mut Map<String, Value>) {
    let both = json!([{"type": "integer"}, {"type": "string"}]);
    let first_all_of = |schema: &Map<String, Value>| schema.get("allOf")?.get(0)?.get("anyOf").cloned();
    if schema.get("anyOf") == Some(&both) || first_all_of(schema).as_ref() == Some(&both) {
        return;
    }
    if schema.contains_key("anyOf") {
        if let Value::Array(all_of) = schema.entry("allOf").or_insert_with(|| json!([])) {
            all_of.insert(0, json!({"anyOf": both}));
        }
    } else {
        schema.insert("anyOf".to_owned(), both);
    }
}

const SELECTABLE_FIELDS: &str = "x-kubernetes-selectable-fields";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::NoDescriptions;

    const NAMES: CustomResource<'static> = CustomResource {
        group: "stable.example.com",
        version: "v1",
        kind: "CronTab",
        list_kind: "CronTabList",
        plural: "crontabs",
        selectable_fields: &[],
    };

    #[test]
    fn adds_what_every_object_has() {
        let schema = json!({"type": "object", "description": "A CronTab.", "properties": {
            "kind": {"type": "string", "description": "the kind"},
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": {
                "port": {"x-kubernetes-int-or-string": true},
                "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            }},
        }});
        let schema = custom_resource_schema(&NAMES, Some(&schema), &NoDescriptions, Dialect::V3);
        let meta = json!({"allOf": [{"$ref": format!("#/components/schemas/{OBJECT_META}")}]});
        assert_eq!(
            schema,
            json!({
                "type": "object", "description": "A CronTab.",
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string", "description": "the kind"},
                    "metadata": meta,
                    "spec": {"type": "object", "properties": {
                        "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                        "template": {
                            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
                            "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": meta},
                            "required": ["kind", "apiVersion"],
                        },
                    }},
                },
                "x-kubernetes-group-version-kind": [{"group": "stable.example.com", "kind": "CronTab", "version": "v1"}],
            })
        );
        let bare = custom_resource_schema(&NAMES, None, &NoDescriptions, Dialect::V3);
        assert_eq!(bare["type"], "object");
        assert_eq!(bare.get("properties"), None);
    }

    #[test]
    fn names_models() {
        assert_eq!(
            model_name("stable.example.com", "v1", "CronTab"),
            "com.example.stable.v1.CronTab"
        );
        let list = custom_resource_list_schema(&NAMES, &NoDescriptions, Dialect::V3);
        let item = &list["properties"]["items"]["items"]["$ref"];
        assert_eq!(item, "#/components/schemas/com.example.stable.v1.CronTab");
    }

    #[test]
    fn the_second_version_has_less() {
        let check = |schema: Value, expect: Value| {
            let mut found = custom_resource_schema(&NAMES, Some(&schema), &NoDescriptions, Dialect::V2);
            let root = found.as_object_mut().unwrap();
            assert!(root.remove(GROUP_VERSION_KIND).is_some());
            assert_eq!(found, expect, "{schema}");
        };
        let (text, meta) = (
            json!({"type": "string"}),
            json!({"$ref": format!("#/definitions/{OBJECT_META}")}),
        );
        check(
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"spec": {"type": "object"}}}),
            json!({"type": "object"}),
        );
        check(
            json!({"type": "object", "properties": {"spec": {"type": "object", "oneOf": [{"required": ["a"]}], "properties": {
                "port": {"x-kubernetes-int-or-string": true},
                "any": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
                "some": {"type": "object", "x-kubernetes-embedded-resource": true},
                "size": {"type": "integer", "default": 1, "nullable": true},
            }}}}),
            json!({"type": "object", "properties": {
                "apiVersion": text, "kind": text, "metadata": meta,
                "spec": {"type": "object", "properties": {
                    "port": {"x-kubernetes-int-or-string": true},
                    "any": {"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
                    "some": {"type": "object", "x-kubernetes-embedded-resource": true, "required": ["kind", "apiVersion"],
                        "properties": {"apiVersion": text, "kind": text, "metadata": meta}},
                    "size": {"default": 1},
                }},
            }}),
        );
    }

    #[test]
    fn tells_selectable_fields() {
        let fields = [".spec.color".to_owned()];
        let names = CustomResource {
            selectable_fields: &fields,
            ..NAMES
        };
        let expect = json!([{"fieldPath": "spec.color"}]);
        let object = custom_resource_schema(&names, None, &NoDescriptions, Dialect::V3);
        let list = custom_resource_list_schema(&names, &NoDescriptions, Dialect::V2);
        assert_eq!(
            (&object[SELECTABLE_FIELDS], &list[SELECTABLE_FIELDS]),
            (&expect, &expect)
        );
    }
}
