//! Structural schemas as server-side apply sees them: which lists have items of their own, and which maps are one value.
//!
//! Upstream: apiextensions-apiserver makes an OpenAPI document of the schema (`pkg/controller/openapi/builder`), and
//! kube-openapi makes types of that (`pkg/schemaconv/openapi.go`). Here it is one step.

use kubewright_smd::types::{Atom, Field, List, Map, Relationship, Scalar, Schema, TypeSpec};

use crate::structural::{AdditionalProperties, JsonType, ListType, MapType, StructuralSchema};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

impl StructuralSchema {
    /// The types of custom resources with this schema; [`Schema::root`] is that of the whole object.
    ///
    /// `apiVersion`, `kind` and `metadata` are those of every object, whatever the schema says of them. A list without
    /// `x-kubernetes-list-type` is one value, a map without `x-kubernetes-map-type` is not.
    pub fn apply_types(&self) -> Schema {
        let mut root = atom(self, Unknown::Refused);
        add_type_and_metadata(&mut root);
        // Schemas nest no deeper than types may, and refer to built-in types only.
        Schema::single(root).unwrap_or_default()
    }
}

/// What holds for members that no schema describes. Once they are preserved, they are so at all depths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Refused,
    Preserved,
}

fn spec(schema: &StructuralSchema, unknown: Unknown) -> TypeSpec {
    TypeSpec::from(atom(schema, unknown))
}

fn atom(schema: &StructuralSchema, unknown: Unknown) -> Atom {
    let unknown = if schema.preserve_unknown_fields {
        Unknown::Preserved
    } else {
        unknown
    };
    let mut atom = match schema.json_type() {
        Some(JsonType::Object) => Atom::map(map(schema, unknown)),
        Some(JsonType::Array) => Atom::list(list(schema, unknown)),
        Some(JsonType::Integer | JsonType::Number) => Atom::scalar(Scalar::Numeric),
        Some(JsonType::Boolean) => Atom::scalar(Scalar::Boolean),
        Some(JsonType::String) => Atom::scalar(match schema.format() {
            None | Some(crate::Format::Byte) => Scalar::String,
            // Times and the like may come in another form.
            Some(_) => Scalar::Untyped,
        }),
        // Numbers or strings too: upstream has no type for them.
        None => Atom {
            scalar: Some(Scalar::Untyped),
            list: Some(list(schema, unknown)),
            map: Some(map(schema, unknown)),
        },
    };
    if schema.embedded_resource {
        add_type_and_metadata(&mut atom);
    }
    atom
}

fn list(schema: &StructuralSchema, unknown: Unknown) -> List {
    let (relationship, keys) = match schema.list_type {
        None | Some(ListType::Atomic) => (Relationship::Atomic, Vec::new()),
        Some(ListType::Set) => (Relationship::Associative, Vec::new()),
        Some(ListType::Map) => (Relationship::Associative, schema.list_map_keys.clone()),
    };
    List {
        item: schema
            .items()
            .map_or(TypeSpec::Untyped, |items| spec(items, unknown)),
        relationship,
        keys,
    }
}

fn map(schema: &StructuralSchema, unknown: Unknown) -> Map {
    let fields = schema.properties().map(|(name, property)| {
        let field = Field {
            ty: spec(property, unknown),
            default: property.default_value().cloned(),
        };
        (name.to_owned(), field)
    });
    let element = match schema.additional_properties() {
        Some(AdditionalProperties::Schema(schema)) => Some(spec(schema, unknown)),
        Some(AdditionalProperties::Allowed(true)) => Some(TypeSpec::Deduced),
        Some(AdditionalProperties::Allowed(false)) => None,
        None if unknown == Unknown::Preserved || schema.properties.is_empty() => Some(TypeSpec::Deduced),
        None => None,
    };
    Map {
        fields: fields.collect(),
        element,
        relationship: match schema.map_type {
            None | Some(MapType::Granular) => Relationship::Separable,
            Some(MapType::Atomic) => Relationship::Atomic,
        },
    }
}

fn add_type_and_metadata(atom: &mut Atom) {
    let map = atom.map.get_or_insert_default();
    for name in ["apiVersion", "kind"] {
        let ty = TypeSpec::from(Atom::scalar(Scalar::String));
        map.fields.insert(name.to_owned(), ty.into());
    }
    let metadata = TypeSpec::BuiltIn(OBJECT_META.to_owned());
    map.fields.insert("metadata".to_owned(), metadata.into());
}

#[cfg(test)]
mod tests {
    use kubewright_smd::typed::{Duplicates, field_set, validate};
    use serde_json::{Value, json};

    use super::*;

    /// The fields of `{"spec": {"x": value}}` where `x` has the schema.
    fn check(schema: Value, value: Value, expect: &str) {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"x": schema}},
        }});
        let types = StructuralSchema::parse(&schema).unwrap().apply_types();
        let object = json!({"spec": {"x": value}});
        let found = match validate(&object, types.root(), Duplicates::Refused) {
            Ok(()) => field_set(&object, types.root()).to_string(),
            Err(errors) => errors.to_string(),
        };
        assert_eq!(found, expect, "{schema}");
    }

    #[test]
    fn lists_and_maps_are_what_their_extensions_say() {
        let words = json!({"type": "string"});
        let keyed = json!({"type": "object", "properties": {
            "name": {"type": "string", "default": "d"}, "v": {"type": "integer"},
        }});
        let items =
            |list_type: &str| json!({"type": "array", "x-kubernetes-list-type": list_type, "items": words});
        let rows = [
            (json!({"type": "array", "items": words}), json!(["a"]), ".spec.x"),
            (items("atomic"), json!(["a"]), ".spec.x"),
            (
                items("set"),
                json!(["a", "b"]),
                ".spec.x[=\"a\"]\n.spec.x[=\"b\"]",
            ),
            (
                items("set"),
                json!(["a", "a"]),
                ".spec.x: duplicate entries for key [=\"a\"]",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": keyed}),
                json!([{"v": 1}]),
                ".spec.x[name=\"d\"]\n.spec.x[name=\"d\"].v",
            ),
            (
                json!({"type": "object", "additionalProperties": words}),
                json!({"k": "v"}),
                ".spec.x.k",
            ),
            (
                json!({"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": words}),
                json!({"k": "v"}),
                ".spec.x",
            ),
            (
                json!({"type": "object", "properties": {"a": words}}),
                json!({"b": 1}),
                ".spec.x.b: field not declared in schema",
            ),
            (
                json!({"type": "object", "properties": {"a": words}}),
                json!({"a": "b"}),
                ".spec.x.a",
            ),
            (
                json!({"type": "object"}),
                json!({"b": {"c": [1]}}),
                ".spec.x.b\n.spec.x.b.c",
            ),
            (
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                    "in": {"type": "object", "properties": {"a": words}},
                }}),
                json!({"in": {"a": "x", "other": {"k": 1}}}),
                ".spec.x.in.a\n.spec.x.in.other\n.spec.x.in.other.k",
            ),
            (
                json!({"x-kubernetes-preserve-unknown-fields": true}),
                json!({"a": 1}),
                ".spec.x.a",
            ),
            (
                json!({"x-kubernetes-int-or-string": true}),
                json!("1%"),
                ".spec.x",
            ),
            (
                json!({"type": "string", "format": "date-time"}),
                json!("2024"),
                ".spec.x",
            ),
            (
                json!({"type": "string"}),
                json!(1),
                ".spec.x: expected string, got &value.valueUnstructured{Value:1}",
            ),
            (
                json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
                json!({"metadata": {"finalizers": ["f"], "labels": {"a": "b"}}}),
                ".spec.x.metadata.finalizers[=\"f\"]\n.spec.x.metadata.labels.a",
            ),
        ];
        for (schema, value, expect) in rows {
            check(schema, value, expect);
        }
    }

    #[test]
    fn metadata_is_that_of_every_object() {
        let schema = json!({"type": "object", "properties": {"metadata": {"type": "object"}}});
        let types = StructuralSchema::parse(&schema).unwrap().apply_types();
        let object = json!({
            "apiVersion": "a/v1", "kind": "A",
            "metadata": {"name": "n", "finalizers": ["f"], "ownerReferences": [{"uid": "u", "name": "o"}]},
        });
        assert_eq!(
            field_set(&object, types.root()).to_json(),
            r#"{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:finalizers":{"v:\"f\"":{}},"#.to_owned()
                + r#""f:name":{},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}"#,
        );
    }
}
