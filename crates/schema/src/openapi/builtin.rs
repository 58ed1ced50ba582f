//! Schemas of the built-in types, written from the table of kinds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kubewright_kinds::{Field, ListType, MapType, Presence, Type, Value as Kind, table};
use serde_json::{Map, Value, json};

use super::{Descriptions, GROUP_VERSION_KIND, NoDescriptions, reference};

/// The definition name of every object's metadata.
pub const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// The definition name of every list's metadata.
pub const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// What stands for the body of any patch.
const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/// Makes the schemas of built-in types.
///
/// Each is made when asked for and not kept: a document is served as bytes, which is what is worth keeping.
pub struct BuiltinSchemas<'a> {
    descriptions: &'a dyn Descriptions,
    kinds: HashMap<&'static str, BTreeSet<(&'static str, &'static str, String)>>,
}

impl std::fmt::Debug for BuiltinSchemas<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltinSchemas")
            .field("kinds", &self.kinds.len())
            .finish_non_exhaustive()
    }
}

impl Default for BuiltinSchemas<'_> {
    fn default() -> Self {
        Self::new(&NoDescriptions)
    }
}

impl<'a> BuiltinSchemas<'a> {
    /// With descriptions from this source.
    pub fn new(descriptions: &'a dyn Descriptions) -> Self {
        Self {
            descriptions,
            kinds: kinds_by_type(),
        }
    }

    /// The schema of a type such as `io.k8s.api.core.v1.Pod`; `None` if there is no such type.
    pub fn schema_of(&self, type_name: &str) -> Option<Value> {
        let ty = table().type_named(type_name)?;
        let mut schema = match ty.special {
            Some(special) => special_schema(special, ty.name),
            None => self.object_schema(ty),
        };
        if let Some(description) = self.descriptions.describe(type_name, None) {
            schema.insert("description".to_owned(), description.into());
        }
        if let Some(kinds) = self.kinds.get(type_name) {
            let kinds = kinds
                .iter()
                .map(|(group, version, kind)| json!({"group": group, "version": version, "kind": kind}));
            schema.insert(GROUP_VERSION_KIND.to_owned(), kinds.collect());
        }
        Some(Value::Object(schema))
    }

    /// The names of these types and of all types that they refer to, directly or not.
    pub fn closure<'n>(&self, roots: impl IntoIterator<Item = &'n str>) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&'static Type> = roots
            .into_iter()
            .filter_map(|name| table().type_named(name))
            .collect();
        while let Some(ty) = open.pop() {
            if found.insert(ty.name) {
                open.extend(ty.fields().iter().filter_map(|field| referenced(field.value)));
            }
        }
        found
    }

    /// The schemas of the [`closure`](Self::closure), as `components.schemas` has them.
    pub fn components<'n>(&self, roots: impl IntoIterator<Item = &'n str>) -> BTreeMap<&'static str, Value> {
        let names = self.closure(roots);
        names
            .into_iter()
            .filter_map(|name| Some((name, self.schema_of(name)?)))
            .collect()
    }

    fn object_schema(&self, ty: &Type) -> Map<String, Value> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in ty.fields() {
            properties.insert(field.name.to_owned(), self.field_schema(ty, field).into());
            if field.required {
                required.push(Value::from(field.name));
            }
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), properties.into());
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        if ty.map_type == MapType::Atomic {
            schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
        schema
    }

    fn field_schema(&self, ty: &Type, field: &Field) -> Map<String, Value> {
        let mut schema = value_schema(field.value);
        let mut set = |keyword: &str, value: Value| schema.insert(keyword.to_owned(), value);
        if let Some(default) = default_of(field) {
            set("default", default);
        }
        if !field.enum_values.is_empty() {
            set("enum", field.enum_values.into());
        }
        if let Some(list_type) = field.list_type {
            let name = match list_type {
                ListType::Atomic => "atomic",
                ListType::Set => "set",
                ListType::Map => "map",
            };
            set("x-kubernetes-list-type", name.into());
        }
        if !field.map_keys.is_empty() {
            set("x-kubernetes-list-map-keys", field.map_keys.into());
        }
        // What the type says itself stands in its own schema.
        if field.map_type == MapType::Atomic && !matches!(field.value, Kind::Object(_)) {
            set("x-kubernetes-map-type", "atomic".into());
        }
        let strategy = match (field.patch_strategy.merge, field.patch_strategy.retain_keys) {
            (false, false) => None,
            (true, false) => Some("merge"),
            (false, true) => Some("retainKeys"),
            (true, true) => Some("merge,retainKeys"),
        };
        if let Some(strategy) = strategy {
            set("x-kubernetes-patch-strategy", strategy.into());
        }
        if let Some(key) = field.merge_key {
            set("x-kubernetes-patch-merge-key", key.into());
        }
        if let Some(description) = self.descriptions.describe(ty.name, Some(field.name)) {
            set("description", description.into());
        }
        schema
    }
}

/// Which kinds travel as which type.
fn kinds_by_type() -> HashMap<&'static str, BTreeSet<(&'static str, &'static str, String)>> {
    let mut kinds: HashMap<_, BTreeSet<_>> = HashMap::new();
    let mut add = |group: &'static str, version: &'static str, kind: String| {
        if let Some(ty) = table().kind(group, version, &kind) {
            kinds.entry(ty.name).or_default().insert((group, version, kind));
        }
    };
    for resource in table().resources() {
        add(resource.group, resource.version, resource.kind.to_owned());
        add(resource.group, resource.version, format!("{}List", resource.kind));
        for kind in ["DeleteOptions", "WatchEvent"] {
            add(resource.group, resource.version, kind.to_owned());
        }
        for subresource in &resource.subresources {
            add(
                subresource.group,
                subresource.version,
                subresource.kind.to_owned(),
            );
        }
    }
    for kind in [
        "Status",
        "APIGroup",
        "APIGroupList",
        "APIResourceList",
        "APIVersions",
        "DeleteOptions",
        "WatchEvent",
    ] {
        add("", "v1", kind.to_owned());
    }
    kinds
}

fn referenced(value: Kind) -> Option<&'static Type> {
    match value {
        Kind::Object(ty) => Some(ty.get()),
        Kind::Array(below) | Kind::Map(below) => referenced(*below),
        other => table().type_named(special_name(other)?),
    }
}

/// The definition that holds the schema of a value with a form of its own.
fn special_name(value: Kind) -> Option<&'static str> {
    Some(match value {
        Kind::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
        Kind::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
        Kind::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
        Kind::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        Kind::RawExtension => "io.k8s.apimachinery.pkg.runtime.RawExtension",
        Kind::FieldsV1 => "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        Kind::Json => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
        Kind::SchemaOrArray => {
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray"
        }
        Kind::SchemaOrBool => {
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"
        }
        Kind::SchemaOrStringArray => {
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray"
        }
        _ => return None,
    })
}

/// The schema of a definition with a form of its own.
fn special_schema(special: Kind, name: &str) -> Map<String, Value> {
    let schema = match special {
        Kind::Time | Kind::MicroTime => json!({"type": "string", "format": "date-time"}),
        Kind::Quantity => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        Kind::IntOrString => {
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"})
        }
        Kind::RawExtension | Kind::FieldsV1 => json!({"type": "object"}),
        Kind::String => json!({"type": "string"}),
        // Types that hold anything say nothing, as with upstream; so do the unions of a schema with something else.
        _ if name == PATCH => json!({"type": "object"}),
        _ => json!({}),
    };
    into_map(schema)
}

fn value_schema(value: Kind) -> Map<String, Value> {
    let schema = match value {
        Kind::String => json!({"type": "string"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Int32 => json!({"type": "integer", "format": "int32"}),
        Kind::Int64 => json!({"type": "integer", "format": "int64"}),
        Kind::Double => json!({"type": "number", "format": "double"}),
        Kind::Bytes => json!({"type": "string", "format": "byte"}),
        Kind::Object(ty) => return bare_reference(ty.get().name),
        Kind::Array(below) => json!({"type": "array", "items": element_schema(*below)}),
        Kind::Map(below) => json!({"type": "object", "additionalProperties": element_schema(*below)}),
        other => match special_name(other).filter(|name| table().type_named(name).is_some()) {
            Some(name) => return bare_reference(name),
            None => special_schema(other, "").into(),
        },
    };
    into_map(schema)
}

/// An item or an entry: nothing stands beside its type, so a reference is bare.
fn element_schema(value: Kind) -> Value {
    let schema = value_schema(value);
    match schema.get("allOf").and_then(|all| all.get(0)) {
        Some(reference) => reference.clone(),
        None => schema.into(),
    }
}

fn bare_reference(name: &str) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("allOf".to_owned(), reference(name));
    schema
}

/// The declared default, or the zero that Go writes where nothing was sent.
fn default_of(field: &Field) -> Option<Value> {
    if let Some(declared) = field.default {
        return serde_json::from_str(declared).ok();
    }
    match (field.value, field.presence) {
        (Kind::Object(_), Presence::Always | Presence::OmitZero) | (_, Presence::Always) => {
            zero_of(field.value)
        }
        _ => None,
    }
}

fn zero_of(value: Kind) -> Option<Value> {
    Some(match value {
        Kind::String => "".into(),
        Kind::Boolean => false.into(),
        Kind::Int32 | Kind::Int64 | Kind::Double => 0.into(),
        Kind::Object(_) => json!({}),
        _ => return None,
    })
}

fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::REFERENCE;

    struct Words;

    impl Descriptions for Words {
        fn describe(&self, type_name: &str, field: Option<&str>) -> Option<std::borrow::Cow<'_, str>> {
            let field = field.map(|field| format!(".{field}")).unwrap_or_default();
            type_name
                .ends_with(".Pod")
                .then(|| format!("about Pod{field}").into())
        }
    }

    #[test]
    fn describes_pods() {
        let schema = BuiltinSchemas::new(&Words)
            .schema_of("io.k8s.api.core.v1.Pod")
            .unwrap();
        assert_eq!(schema["description"], "about Pod");
        assert_eq!(
            schema["x-kubernetes-group-version-kind"],
            json!([{"group": "", "kind": "Pod", "version": "v1"}])
        );
        let spec = &schema["properties"]["spec"];
        assert_eq!(spec["description"], "about Pod.spec");
        assert_eq!(
            spec["allOf"][0]["$ref"],
            "#/components/schemas/io.k8s.api.core.v1.PodSpec"
        );
        let spec = BuiltinSchemas::default()
            .schema_of("io.k8s.api.core.v1.PodSpec")
            .unwrap();
        let containers = &spec["properties"]["containers"];
        assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
        assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
        assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
        assert_eq!(spec["required"], json!(["containers"]));
        assert_eq!(
            spec["properties"]["volumes"]["x-kubernetes-patch-strategy"],
            "merge,retainKeys"
        );
    }

    /// Every reference of every schema can be followed within the closure.
    #[test]
    fn closures_are_closed() {
        fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
            match value {
                Value::Object(members) => members.iter().for_each(|(key, value)| match value.as_str() {
                    Some(reference) if key == "$ref" => found.extend(reference.strip_prefix(REFERENCE)),
                    _ => references(value, found),
                }),
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let schemas = BuiltinSchemas::default();
        for resource in table().resources() {
            let components = schemas.components([resource.object_type().name]);
            for (name, schema) in &components {
                let mut found = Vec::new();
                references(schema, &mut found);
                for target in found {
                    assert!(components.contains_key(target), "{name} refers to {target}");
                }
            }
        }
    }
}
