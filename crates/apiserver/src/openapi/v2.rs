//! OpenAPI v2: one document of all paths and definitions, as JSON and as protobuf.
//!
//! Upstream: kube-openapi `pkg/handler` and `pkg/builder`. kubectl before 1.29 reads the protobuf form to apply, explain and diff, and
//! later ones where the third version cannot help. The document is written piece by piece from what the third version's documents are
//! made of, so that its tree never exists as a whole.

use std::collections::BTreeSet;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use kubewright_schema::openapi::{Descriptions, Dialect, builtin_schema_to_v2};
use serde_json::{Map, Value, json};

use super::document::{self, CustomSchemas};
use super::gnostic::{self, Form, v2 as messages};
use super::{Format, roots};
use crate::registry::{Registry, Version};

/// Makes the document, compressed. `custom` has what definitions say, for each version in the order of the registry.
pub(super) fn make(
    registry: &Registry,
    custom: &[CustomSchemas],
    descriptions: &dyn Descriptions,
    format: Format,
) -> Vec<u8> {
    match format {
        Format::Json => {
            let mut sink = Json::new();
            write(registry, custom, descriptions, &mut sink);
            sink.finish()
        }
        Format::Protobuf => {
            let mut sink = Protobuf::default();
            write(registry, custom, descriptions, &mut sink);
            sink.finish()
        }
    }
}

/// The versions in the order in which [`make`] wants what definitions say of them.
pub(super) fn versions(registry: &Registry) -> impl Iterator<Item = &Version> {
    registry.groups().iter().flat_map(|group| &group.versions)
}

/// What takes the pieces of a document: first all paths, then all definitions.
trait Sink {
    fn path(&mut self, path: &str, operations: &Value);
    fn definition(&mut self, name: &str, schema: &Value);
}

fn write(
    registry: &Registry,
    custom: &[CustomSchemas],
    descriptions: &dyn Descriptions,
    sink: &mut impl Sink,
) {
    let mut referred = BTreeSet::new();
    let mut add = |path: &str, operations: &Value| {
        document::references(operations, &mut referred);
        sink.path(path, &path_item(operations));
    };
    for root in roots::all(registry) {
        let (path, operations) = root.path();
        add(&path, &operations);
    }
    for version in versions(registry) {
        let Value::Object(paths) = document::paths(version) else {
            continue;
        };
        paths.iter().for_each(|(path, operations)| add(path, operations));
    }
    for (version, custom) in versions(registry).zip(custom) {
        let mut schemas = Map::new();
        document::add_custom(&mut schemas, version, custom, descriptions, Dialect::V2);
        for (name, schema) in &schemas {
            document::references(schema, &mut referred);
            sink.definition(name, schema);
        }
    }
    let mut schemas = Map::new();
    roots::add_schemas(&mut schemas, &referred, descriptions);
    for (name, mut schema) in schemas {
        builtin_schema_to_v2(&mut schema);
        sink.definition(&name, &schema);
    }
}

/// A path of the third version as the second has it.
fn path_item(operations: &Value) -> Value {
    let mut item = Map::new();
    for (name, value) in operations.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "parameters" => items(value).map(parameter).collect(),
            _ => operation(value),
        };
        item.insert(name.clone(), value);
    }
    item.into()
}

fn operation(v3: &Value) -> Value {
    let mut operation = Map::new();
    for (name, value) in v3.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "parameters" | "requestBody" | "responses") {
            operation.insert(name.clone(), value.clone());
        }
    }
    let body = v3.get("requestBody");
    let mut consumes = body.map(media_types).unwrap_or_default();
    if consumes.is_empty() {
        consumes.insert("*/*");
    }
    let mut parameters: Vec<Value> = items(&v3["parameters"]).map(parameter).collect();
    if let Some(body) = body {
        let mut parameter = json!({"in": "body", "name": "body", "schema": schema(body)});
        if body["required"] == true {
            parameter["required"] = true.into();
        }
        parameters.push(parameter);
    }
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), parameters.into());
    }
    let mut produces = BTreeSet::new();
    let mut responses = Map::new();
    for (code, response) in v3["responses"].as_object().into_iter().flatten() {
        produces.extend(media_types(response));
        let mut v2 = json!({"description": response["description"]});
        if response.get("content").is_some() {
            v2["schema"] = schema(response);
        }
        responses.insert(code.clone(), v2);
    }
    operation.insert("consumes".to_owned(), json!(consumes));
    operation.insert("produces".to_owned(), json!(produces));
    operation.insert("responses".to_owned(), responses.into());
    operation.insert("schemes".to_owned(), json!(["https"]));
    operation.into()
}

/// A parameter's type is its own, and not that of a schema.
fn parameter(v3: &Value) -> Value {
    let mut parameter = v3.clone();
    if let Some(Value::Object(schema)) = parameter.as_object_mut().and_then(|all| all.remove("schema")) {
        schema
            .into_iter()
            .for_each(|(name, value)| parameter[name] = value);
    }
    parameter
}

/// The schema of a body: it is the same in every media type.
fn schema(body: &Value) -> Value {
    let content = body["content"].as_object();
    let first = content.and_then(|content| content.values().next());
    let mut schema = first.map_or_else(|| json!({}), |first| first["schema"].clone());
    builtin_schema_to_v2(&mut schema);
    schema
}

fn media_types(body: &Value) -> BTreeSet<&str> {
    let content = body["content"].as_object();
    content
        .into_iter()
        .flat_map(|content| content.keys().map(String::as_str))
        .collect()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// All of the document but its paths and definitions.
fn frame() -> Value {
    json!({
        "swagger": "2.0",
        "info": document::info(),
        "securityDefinitions": document::security(),
        "security": [{"BearerToken": []}],
    })
}

/// Writes JSON.
struct Json {
    out: GzEncoder<Vec<u8>>,
    /// The member that is open; `frame` before the first of them.
    section: &'static str,
}

impl Json {
    fn new() -> Self {
        let mut sink = Self {
            out: GzEncoder::new(Vec::new(), Compression::fast()),
            section: "",
        };
        for (name, value) in frame().as_object().into_iter().flatten() {
            let before = if sink.section.is_empty() { "{" } else { "," };
            sink.section = "frame";
            sink.put(&format!("{before}{}:{value}", Value::from(name.as_str())));
        }
        sink
    }

    fn entry(&mut self, section: &'static str, name: &str, value: &Value) {
        if self.section != section {
            let before = if self.section == "frame" { "," } else { "}," };
            self.put(&format!("{before}\"{section}\":{{"));
            self.section = section;
        } else {
            self.put(",");
        }
        self.put(&format!("{}:{value}", Value::from(name)));
    }

    fn put(&mut self, text: &str) {
        // Writing into memory cannot fail.
        let _ = self.out.write_all(text.as_bytes());
    }

    fn finish(mut self) -> Vec<u8> {
        self.put(if self.section == "frame" { "}" } else { "}}" });
        self.out.finish().unwrap_or_default()
    }
}

impl Sink for Json {
    fn path(&mut self, path: &str, operations: &Value) {
        self.entry("paths", path, operations);
    }

    fn definition(&mut self, name: &str, schema: &Value) {
        self.entry("definitions", name, schema);
    }
}

/// Writes protobuf.
#[derive(Default)]
struct Protobuf {
    paths: Vec<u8>,
    definitions: Vec<u8>,
}

impl Protobuf {
    fn finish(self) -> Vec<u8> {
        let mut out = gnostic::encode(&messages::FRAME, &frame());
        gnostic::write_bytes(&mut out, messages::PATHS, &self.paths);
        gnostic::write_bytes(&mut out, messages::DEFINITIONS, &self.definitions);
        super::zip(&out).into()
    }
}

impl Sink for Protobuf {
    fn path(&mut self, path: &str, operations: &Value) {
        let form = Form::Message(&messages::PATH_ITEM);
        gnostic::write_entry(&mut self.paths, messages::PATH, path, form, operations);
    }

    fn definition(&mut self, name: &str, schema: &Value) {
        let form = Form::Message(&messages::SCHEMA);
        gnostic::write_entry(&mut self.definitions, messages::DEFINITION, name, form, schema);
    }
}
