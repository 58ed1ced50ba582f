//! What Go calls the fields of the built-in kinds: the names that upstream's messages show.
//!
//! Upstream's validation sees its internal types, of which most fields have no JSON name of their own, and a message that shows
//! a value shows it as Go's encoder writes such a type: `{"MinAvailable":1,"Selector":null}`, all fields, in the order of the
//! source. Its decoder names the types of the served version: `Go struct field PodSpec.spec.containers of type v1.Container`.
//! Neither is in the OpenAPI documents.
//!
//! The text is written by `cargo xtask codegen names`; a line for each type:
//!
//! ```text
//! TYPE WORD,WORD...  FIELD[@EMBEDDED][:GOTYPE]...
//! ```
//!
//! A WORD is a field of the internal type: its name, `=` and the JSON name where that is not the same with a small first letter,
//! and `?` where it is left out when empty, `*` where only the internal type can be null, `!` where only the served one can;
//! `NAME~JSON` is a field that only the internal type has, with its zero value, and `^metadata` stands for all fields of the
//! metadata. What follows are fields of the served type that are in an embedded struct, or whose Go type their shape does not
//! tell.

use std::collections::HashMap;
use std::sync::OnceLock;

use kubewright_core::json::{Sorted, by_name};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use crate::model::{Field, Presence, Type, Value};
use crate::table;

/// A value as Go's encoder shows the internal type that stands for it: with all fields, and Go's names.
///
/// It is written as JSON by `serde_json`, whose maps would not keep the order.
#[derive(Clone, Copy, Debug)]
pub struct Internal<'a> {
    kind: &'a Value,
    value: &'a serde_json::Value,
    part: Option<&'static str>,
}

impl<'a> Internal<'a> {
    /// A value of this kind. What is not of it is shown as it is.
    pub fn new(kind: &'a Value, value: &'a serde_json::Value) -> Self {
        let part = None;
        Self { kind, value, part }
    }

    /// The fields alone that are in the embedded struct of this name, such as `PersistentVolumeSource`.
    pub fn part(kind: &'a Value, part: &'static str, value: &'a serde_json::Value) -> Self {
        let part = Some(part);
        Self { kind, value, part }
    }
}

impl Serialize for Internal<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde_json::Value as Json;
        match (self.kind, self.value) {
            (Value::Object(id), Json::Object(fields)) => match id.get() {
                Type {
                    special: Some(special),
                    ..
                } => Self::new(special, self.value).serialize(serializer),
                ty => match words(ty.name) {
                    Some(words) => {
                        let mut map = serializer.serialize_map(None)?;
                        write_fields(ty, words, fields, self.part, &mut map)?;
                        map.end()
                    }
                    None => Sorted(self.value).serialize(serializer),
                },
            },
            (Value::Array(item), Json::Array(items)) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for value in items {
                    seq.serialize_element(&Self::new(item, value))?;
                }
                seq.end()
            }
            (Value::Map(item), Json::Object(entries)) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in by_name(entries) {
                    map.serialize_entry(key, &Self::new(item, value))?;
                }
                map.end()
            }
            (Value::SchemaOrBool, Json::Bool(allows)) => schema_or(serializer, None, "Allows", allows),
            (Value::SchemaOrBool, Json::Object(_)) => {
                schema_or(serializer, Some(self.value), "Allows", &true)
            }
            (Value::SchemaOrArray, Json::Array(items)) => {
                let schemas: Vec<_> = items.iter().map(Schema).collect();
                schema_or(serializer, None, "JSONSchemas", &schemas)
            }
            (Value::SchemaOrArray, Json::Object(_)) => {
                schema_or(serializer, Some(self.value), "JSONSchemas", &())
            }
            (Value::SchemaOrStringArray, Json::Array(names)) => {
                schema_or(serializer, None, "Property", names)
            }
            (Value::SchemaOrStringArray, Json::Object(_)) => {
                schema_or(serializer, Some(self.value), "Property", &())
            }
            _ => Sorted(self.value).serialize(serializer),
        }
    }
}

/// A schema of a definition.
struct Schema<'a>(&'a serde_json::Value);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const PROPS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
        match table().type_named(PROPS) {
            Some(ty) => Internal::new(&Value::Object(ty.id()), self.0).serialize(serializer),
            None => self.0.serialize(serializer),
        }
    }
}

/// One of the types that hold a schema or, under another name, what may stand instead of one.
fn schema_or<S: Serializer>(
    serializer: S,
    schema: Option<&serde_json::Value>,
    name: &str,
    instead: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    // `Allows` is before the schema, what else there is behind it.
    if name == "Allows" {
        map.serialize_entry(name, instead)?;
    }
    map.serialize_entry("Schema", &schema.map(Schema))?;
    if name != "Allows" {
        map.serialize_entry(name, instead)?;
    }
    map.end()
}

type Fields = serde_json::Map<String, serde_json::Value>;

/// Recurses no deeper than types are nested, where the value ends only zeros of plain structs follow.
fn write_fields<M: serde::ser::SerializeMap>(
    ty: &Type,
    words: &str,
    fields: &Fields,
    part: Option<&str>,
    out: &mut M,
) -> Result<(), M::Error> {
    for word in words.split(',').filter(|word| !word.is_empty()) {
        if let Some((name, zero)) = word.split_once('~') {
            let zero: serde_json::Value = serde_json::from_str(zero).unwrap_or_default();
            out.serialize_entry(name, &zero)?;
            continue;
        }
        if word == "^metadata" {
            if let (Some(metadata), Some(inner)) = (ty.field("metadata"), fields.get("metadata"))
                && let (Value::Object(id), Some(inner)) = (metadata.value, inner.as_object())
            {
                let ty = id.get();
                write_fields(ty, self::words(ty.name).unwrap_or_default(), inner, None, out)?;
            }
            continue;
        }
        let (word, mark) = match word.strip_suffix(['?', '*', '!']) {
            Some(rest) => (rest, word.chars().next_back()),
            None => (word, None),
        };
        let (name, json_name) = match word.split_once('=') {
            Some((name, json_name)) => (name, json_name.to_owned()),
            None => (word, small_first(word)),
        };
        let Some(field) = ty.field(&json_name) else {
            continue;
        };
        if part.is_some() && embedded(ty, field.name) != part {
            continue;
        }
        match fields.get(&json_name) {
            Some(value) if !value.is_null() => {
                out.serialize_entry(name, &Internal::new(&field.value, value))?
            }
            _ if mark == Some('?') => {}
            _ => out.serialize_entry(name, &Absent(field, mark))?,
        }
    }
    Ok(())
}

/// The zero value of a field's internal type.
struct Absent<'a>(&'a Field, Option<char>);

impl Serialize for Absent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(field, mark) = self;
        let is_null = match mark {
            Some('*') => true,
            Some('!') => false,
            _ => field.presence == Presence::Optional,
        };
        if is_null {
            return serializer.serialize_none();
        }
        match &field.value {
            Value::String => serializer.serialize_str(""),
            Value::Boolean => serializer.serialize_bool(false),
            Value::Int32 | Value::Int64 | Value::Double | Value::IntOrString => serializer.serialize_i64(0),
            Value::Quantity => serializer.serialize_str("0"),
            Value::Object(id) if id.get().special.is_none() => {
                let empty = serde_json::Value::Object(Fields::new());
                Internal::new(&field.value, &empty).serialize(serializer)
            }
            _ => serializer.serialize_none(),
        }
    }
}

fn small_first(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// The Go type of a field of the served version, such as `v1.Protocol` or `[]v1.Container`.
pub fn type_of_field(ty: &Type, field: &Field) -> String {
    match notes(ty.name, field.name).and_then(|note| note.1) {
        Some(name) => name.to_owned(),
        None => type_of(&field.value),
    }
}

/// The Go type of an item or entry of what has this type: `v1.Container` of `[]v1.Container`.
///
/// `inner` is what it holds, for a named list or map, whose name does not tell.
pub fn type_of_item(outer: &str, inner: &Value) -> String {
    let inside = outer.strip_prefix("[]").or_else(|| {
        outer
            .strip_prefix("map[")
            .and_then(|rest| rest.split_once(']'))
            .map(|(_, inside)| inside)
    });
    match inside {
        Some(inside) => inside.trim_start_matches('*').to_owned(),
        None => type_of(inner),
    }
}

/// The Go type that has this shape and no name of its own.
pub fn type_of(value: &Value) -> String {
    match value {
        Value::String | Value::Time | Value::MicroTime => "string".to_owned(),
        Value::Boolean => "bool".to_owned(),
        // What is neither text nor number is read as a number.
        Value::Int32 | Value::IntOrString => "int32".to_owned(),
        Value::Int64 => "int64".to_owned(),
        Value::Double => "float64".to_owned(),
        Value::Bytes => "[]uint8".to_owned(),
        Value::Object(id) => name_of(id.get()),
        Value::Array(item) => format!("[]{}", type_of(item)),
        Value::Map(item) => format!("map[string]{}", type_of(item)),
        Value::Quantity => "resource.Quantity".to_owned(),
        Value::RawExtension => "runtime.RawExtension".to_owned(),
        Value::FieldsV1 => "v1.FieldsV1".to_owned(),
        Value::Json => "v1.JSON".to_owned(),
        Value::SchemaOrArray => "v1.JSONSchemaPropsOrArray".to_owned(),
        Value::SchemaOrBool => "v1.JSONSchemaPropsOrBool".to_owned(),
        Value::SchemaOrStringArray => "v1.JSONSchemaPropsOrStringArray".to_owned(),
    }
}

/// A type's Go name with its package: `v1.Container` for `io.k8s.api.core.v1.Container`.
pub fn name_of(ty: &Type) -> String {
    let mut parts = ty.name.rsplit('.');
    let (name, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{package}.{name}")
}

/// The embedded structs that a field is in, outermost first, as the decoder names them: `VolumeSource`.
pub fn embedded(ty: &Type, field: &str) -> Option<&'static str> {
    notes(ty.name, field)?.0
}

/// What is noted of a field: the embedded structs it is in, and its type.
fn notes(ty: &str, field: &str) -> Option<(Option<&'static str>, Option<&'static str>)> {
    let mut notes = line(ty)?.split(' ').skip(1);
    notes.find_map(|note| {
        let rest = note.strip_prefix(field)?;
        let (embedded, name) = match rest.split_once(':') {
            Some((embedded, name)) => (embedded, Some(name)),
            None => (rest, None),
        };
        match embedded.strip_prefix('@') {
            Some(embedded) => Some((Some(embedded), name)),
            None if embedded.is_empty() => Some((None, name)),
            None => None,
        }
    })
}

/// The fields of the internal type.
fn words(ty: &str) -> Option<&'static str> {
    line(ty).map(|line| line.split_once(' ').map_or(line, |(words, _)| words))
}

fn line(ty: &str) -> Option<&'static str> {
    static LINES: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(' ')).collect()
    });
    lines.get(ty).copied()
}

const TEXT: &str = include_str!("go.txt");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table;

    fn object(name: &str) -> Value {
        Value::Object(table().type_named(name).unwrap().id())
    }

    #[test]
    fn values_are_shown_with_the_names_of_internal_types() {
        #[track_caller]
        fn check(ty: &str, value: &serde_json::Value, expect: &str) {
            let shown = serde_json::to_string(&Internal::new(&object(ty), value)).unwrap();
            assert_eq!(shown, expect);
        }
        check(
            "io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
            &json!({"minAvailable": 1, "selector": {}, "maxUnavailable": "1%"}),
            r#"{"MinAvailable":1,"Selector":{},"MaxUnavailable":"1%","UnhealthyPodEvictionPolicy":null}"#,
        );
        check(
            "io.k8s.api.core.v1.Taint",
            &json!({"key": "a", "effect": "NoSchedule"}),
            r#"{"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}"#,
        );
        check(
            "io.k8s.api.rbac.v1.RoleRef",
            &json!({"kind": "Role", "name": "r", "apiGroup": "g"}),
            r#"{"APIGroup":"g","Kind":"Role","Name":"r"}"#,
        );
        let template = serde_json::to_string(&Internal::new(
            &object("io.k8s.api.core.v1.PodTemplateSpec"),
            &json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}),
        ));
        let template = template.unwrap();
        assert!(
            template.starts_with(
                r#"{"labels":{"a":"b"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"","Command":null"#
            ),
            "{template}"
        );
    }

    #[test]
    fn go_types_have_names() {
        #[track_caller]
        fn check(ty: &str, field: &str, expect: &str, item: &str, embedded_in: Option<&str>) {
            let ty = table().type_named(ty).unwrap();
            let field = ty.field(field).unwrap();
            let name = type_of_field(ty, field);
            assert_eq!(name, expect);
            if let Value::Array(inner) | Value::Map(inner) = &field.value {
                assert_eq!(type_of_item(&name, inner), item);
            }
            assert_eq!(embedded(ty, field.name), embedded_in);
        }
        let core = |name: &str| format!("io.k8s.api.core.v1.{name}");
        check(&core("ContainerPort"), "protocol", "v1.Protocol", "", None);
        check(&core("ContainerPort"), "hostPort", "int32", "", None);
        check(
            &core("PodSpec"),
            "containers",
            "[]v1.Container",
            "v1.Container",
            None,
        );
        check(
            &core("PodSpec"),
            "nodeSelector",
            "map[string]string",
            "string",
            None,
        );
        check(
            &core("ResourceRequirements"),
            "limits",
            "v1.ResourceList",
            "resource.Quantity",
            None,
        );
        check(
            &core("Volume"),
            "hostPath",
            "v1.HostPathVolumeSource",
            "",
            Some("VolumeSource"),
        );
        check(
            &core("PersistentVolumeClaimSpec"),
            "accessModes",
            "[]v1.PersistentVolumeAccessMode",
            "v1.PersistentVolumeAccessMode",
            None,
        );
    }

    /// Nothing in the text names what the table does not have.
    #[test]
    fn the_text_belongs_to_the_table() {
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let (name, rest) = line.split_once(' ').unwrap();
            let ty = table()
                .type_named(name)
                .unwrap_or_else(|| panic!("{name} is unknown"));
            for note in rest.split(' ').skip(1) {
                let field = note.split(['@', ':']).next().unwrap_or_default();
                assert!(ty.field(field).is_some(), "{name} has no field {field}");
            }
        }
    }
}
