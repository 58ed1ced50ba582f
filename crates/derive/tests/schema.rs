//! What the derived schemas say, and that they are structural and accept what serde writes.

#![expect(dead_code, reason = "types whose schemas are looked at, not their values")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::LocalObjectReference;
use kubewright_derive::Schema;
use kubewright_schema::{FieldPath, Generator, Schema, SchemaNode, StructuralSchema, check};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The schema of a type, after a check that it is structural.
fn schema<T: Schema>() -> Value {
    let node = Generator::default().schema_of::<T>().into_value();
    let root = json!({"type": "object", "properties": {"f": node}});
    assert_eq!(check(&root, &FieldPath::root()), [], "{node}");
    node
}

/// Checks that the schema accepts a value as serde writes it, and that pruning keeps all of it.
fn accepts<T: Schema + Serialize>(value: &T) {
    let compiled =
        StructuralSchema::parse(&json!({"type": "object", "properties": {"f": schema::<T>()}})).unwrap();
    let mut object = json!({"f": value});
    assert_eq!(compiled.validate(&object, None), [], "{object}");
    assert_eq!(compiled.prune(&mut object), [""; 0]);
}

fn rejects<T: Schema>(value: Value) {
    let compiled =
        StructuralSchema::parse(&json!({"type": "object", "properties": {"f": schema::<T>()}})).unwrap();
    assert_ne!(compiled.validate(&json!({"f": value}), None), [], "{value}");
}

/// How much of it.
///
/// In a second paragraph.
#[derive(Schema, Serialize, Deserialize, Default)]
#[schema(
    crate = "kubewright_schema",
    rule(rule = "self.size > 0", message = "must not be empty")
)]
#[serde(rename_all = "camelCase")]
struct Spec {
    /// The number of pages.
    #[schema(minimum = 1, maximum = 3_000_000_000, example = 7)]
    page_size: i64,
    #[schema(pattern = "^[a-z]+$", min_length = 2, max_length = 10)]
    name: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default = "three")]
    #[schema(default, minimum = -1)]
    retries: i32,
    #[schema(default = "web", enum("web", "db"))]
    tier: String,
    #[schema(immutable)]
    owner: String,
    #[schema(immutable)]
    #[serde(rename = "class-name")]
    class: Option<String>,
    #[schema(list_type = "map", map_key = "name")]
    secrets: Option<Vec<LocalObjectReference>>,
    #[schema(items(max_length = 5), max_items = 3, nullable)]
    tags: Option<Vec<String>>,
    #[schema(int_or_string)]
    port: Option<u16>,
    #[schema(schema_with = "percentage")]
    share: Option<f64>,
    #[serde(skip)]
    cache: usize,
    r#type: Option<bool>,
    #[serde(flatten)]
    shared: Shared,
}

#[derive(Schema, Serialize, Deserialize, Default)]
#[schema(crate = "kubewright_schema")]
struct Shared {
    paused: bool,
    note: Option<String>,
}

fn three() -> i32 {
    3
}

fn percentage(_: &mut Generator) -> SchemaNode {
    SchemaNode::of(kubewright_schema::JsonType::Number).with("maximum", 100)
}

#[test]
fn structs() {
    let schema = schema::<Spec>();
    let string = || json!({"type": "string"});
    let rule = |rule: &str| json!({"rule": rule, "message": "field is immutable"});
    let mut class = string();
    class["x-kubernetes-validations"] = json!([rule("self == oldSelf")]);
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "description": "How much of it.\n\nIn a second paragraph.",
            "required": ["pageSize", "owner", "paused"],
            "x-kubernetes-validations": [
                rule("!has(oldSelf.class__dash__name) || has(self.class__dash__name)"),
                {"rule": "self.size > 0", "message": "must not be empty"},
            ],
            "properties": {
                "pageSize": {"type": "integer", "format": "int64", "description": "The number of pages.",
                    "minimum": 1, "maximum": 3_000_000_000_i64, "example": 7},
                "name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 10},
                "labels": {"type": "object", "additionalProperties": string()},
                "retries": {"type": "integer", "format": "int32", "default": 3, "minimum": -1},
                "tier": {"type": "string", "default": "web", "enum": ["web", "db"]},
                "owner": class,
                "class-name": class,
                "secrets": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"name": string()}}},
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 3, "nullable": true},
                "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "share": {"type": "number", "maximum": 100},
                "type": {"type": "boolean"},
                "paused": {"type": "boolean"},
                "note": string(),
            },
        })
    );
}

#[test]
fn accepts_what_serde_writes() {
    accepts(
        &Spec {
            page_size: 1,
            tier: "web".to_owned(),
            port: Some(80),
            ..Spec::default()
        }
        .without_nulls(),
    );
}

impl Spec {
    /// Nulls are dropped by the server before it checks.
    fn without_nulls(&self) -> Checked {
        let mut value = serde_json::to_value(self).unwrap();
        value
            .as_object_mut()
            .unwrap()
            .retain(|_, member| !member.is_null());
        Checked(value)
    }
}

#[derive(Serialize)]
struct Checked(Value);

impl Schema for Checked {
    fn schema(generator: &mut Generator) -> SchemaNode {
        Spec::schema(generator)
    }
}

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema")]
#[serde(rename_all = "kebab-case")]
enum Level {
    VeryLow,
    #[serde(rename = "max")]
    High,
    #[serde(skip)]
    Secret,
}

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema")]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Source {
    /// From a git repository.
    GitRepository {
        repo_url: String,
        branch: Option<String>,
    },
    Inline(Shared),
    Nothing {},
}

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema")]
#[serde(tag = "type")]
enum Tagged {
    A { name: String, size: i32 },
    B { name: String },
    C,
    D(Shared),
}

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema")]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Number { n: i32 },
    Nothing,
}

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema")]
#[serde(untagged)]
enum Port {
    Number(u16),
    Name(String),
}

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema")]
#[serde(untagged)]
enum Either {
    Left { left: String },
    Right { right: i32 },
}

#[test]
fn enums() {
    assert_eq!(
        schema::<Level>(),
        json!({"type": "string", "enum": ["very-low", "max"]})
    );
    accepts(&Level::VeryLow);

    let git = &schema::<Source>()["properties"]["gitRepository"];
    assert_eq!(git["description"], "From a git repository.");
    assert_eq!(git["required"], json!(["repoUrl"]));
    assert_eq!(
        schema::<Source>()["oneOf"],
        json!([{"required": ["gitRepository"]}, {"required": ["inline"]}, {"required": ["nothing"]}])
    );
    accepts(&Source::Nothing {});
    accepts(&Source::Inline(Shared {
        note: Some(String::new()),
        ..Shared::default()
    }));
    rejects::<Source>(json!({}));
    rejects::<Source>(json!({"nothing": {}, "inline": {"paused": true}}));

    accepts(&Tagged::A {
        name: "x".to_owned(),
        size: 1,
    });
    accepts(&Tagged::C);
    accepts(&Tagged::D(Shared {
        note: Some(String::new()),
        ..Shared::default()
    }));
    rejects::<Tagged>(json!({"type": "A", "name": "x"}));
    rejects::<Tagged>(json!({"type": "E"}));
    rejects::<Tagged>(json!({"name": "x"}));

    accepts(&Adjacent::Number { n: 1 });
    accepts(&Adjacent::Nothing);
    rejects::<Adjacent>(json!({"t": "Number"}));

    accepts(&Port::Number(1));
    accepts(&Port::Name("http".to_owned()));
    rejects::<Port>(json!(true));

    accepts(&Either::Right { right: 1 });
    rejects::<Either>(json!({}));
}

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema", title = "a wrapper")]
struct Wrapper<T>(T);

#[derive(Schema, Serialize)]
#[schema(crate = "kubewright_schema")]
#[serde(transparent)]
struct Transparent {
    #[schema(max_length = 3)]
    inner: String,
}

#[derive(Schema, Serialize, Clone)]
#[schema(crate = "kubewright_schema")]
#[serde(into = "String")]
struct Proxied(u8);

impl From<Proxied> for String {
    fn from(value: Proxied) -> Self {
        value.0.to_string()
    }
}

#[derive(Schema)]
#[schema(crate = "kubewright_schema")]
struct Tree {
    children: Vec<Self>,
}

#[test]
fn wrappers() {
    assert_eq!(schema::<Wrapper<u16>>()["maximum"], 65_535);
    assert_eq!(
        schema::<Wrapper<String>>(),
        json!({"type": "string", "title": "a wrapper"})
    );
    assert_eq!(schema::<Transparent>(), json!({"type": "string", "maxLength": 3}));
    assert_eq!(schema::<Proxied>(), json!({"type": "string"}));
    let items = &schema::<Tree>()["properties"]["children"]["items"];
    assert_eq!(items["x-kubernetes-preserve-unknown-fields"], true);
}
