//! OpenAPI v2: one document of all paths and definitions, as JSON and as protobuf.
//!
//! Upstream: kube-openapi `pkg/handler` and `pkg/builder`. kubectl before 1.29 reads the protobuf form to apply, explain and diff, and
//! later ones where the third version cannot help. The document is written piece by piece from what the third version's documents are
//! made of, so that its tree never exists as a whole. What it says of built-in kinds never changes and is kept compressed: only what
//! definitions of custom resources add is written anew. A gzip text may have several members (RFC 1952, section 2.2), and of a protobuf
//! message that comes twice the parts are merged.

use std::collections::BTreeSet;
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use kubewright_schema::openapi::{Descriptions, Dialect, builtin_schema_to_v2};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::document::{self, CustomSchemas};
use super::gnostic::{self, Form, v2 as messages};
use super::{Format, roots};
use crate::codec::to_json;
use crate::registry::{Registry, Version};

/// What the document says of built-in kinds.
#[derive(Debug)]
pub(super) struct Base {
    parts: Parts,
    /// What operations have alike, those of custom resources included.
    parameters: Map<String, Value>,
    /// The paths and definitions that are there.
    names: BTreeSet<String>,
}

/// Compressed parts of a document.
#[derive(Debug)]
struct Parts {
    paths: Bytes,
    definitions: Bytes,
}

/// Writes what the document says of built-in kinds.
pub(super) fn base(builtin: &Registry, descriptions: &dyn Descriptions, format: Format) -> Base {
    let write = |sink: &mut dyn Sink| {
        let mut content = Content::new(sink, BTreeSet::new());
        for root in roots::all(builtin) {
            let (path, operations) = root.path();
            content.path(&path, &operations);
        }
        for version in versions(builtin) {
            content.paths_of(version);
        }
        content.builtin_definitions(descriptions);
        (content.names, content.shared.definitions)
    };
    match format {
        Format::Json => {
            let mut sink = Json::beginning();
            let (names, parameters) = write(&mut sink);
            Base {
                parts: sink.finish(),
                parameters,
                names,
            }
        }
        Format::Protobuf => {
            let mut sink = Protobuf::default();
            let (names, parameters) = write(&mut sink);
            Base {
                parts: sink.finish(&frame()),
                parameters,
                names,
            }
        }
    }
}

/// Makes the document, compressed. `custom` has what definitions say, for each version in the order of the registry.
pub(super) fn make(
    base: &Base,
    registry: &Registry,
    custom: &[CustomSchemas],
    descriptions: &dyn Descriptions,
    format: Format,
) -> Vec<u8> {
    let write = |sink: &mut dyn Sink| {
        let mut content = Content::new(sink, base.names.clone());
        content.shared.definitions.clone_from(&base.parameters);
        for (version, custom) in versions(registry).zip(custom) {
            let resources = version.resources.iter();
            let resources: Vec<_> = resources
                .filter(|resource| resource.model.custom().is_some())
                .cloned()
                .collect();
            if resources.is_empty() {
                continue;
            }
            let version = Version {
                name: version.name.clone(),
                resources,
            };
            content.paths_of(&version);
            let mut schemas = Map::new();
            document::add_custom(&mut schemas, &version, custom, descriptions, Dialect::V2);
            for (name, schema) in &schemas {
                content.definition(name, schema);
            }
        }
        content.builtin_definitions(descriptions);
        json!({"parameters": content.shared.definitions})
    };
    let parts = match format {
        Format::Json => {
            let mut sink = Json::end();
            let end = write(&mut sink).to_string();
            sink.definitions
                .put(&format!("}},{}", end.strip_prefix('{').unwrap_or(&end)));
            sink.finish()
        }
        Format::Protobuf => {
            let mut sink = Protobuf::default();
            let end = write(&mut sink);
            sink.finish(&end)
        }
    };
    let all = [
        &base.parts.paths,
        &parts.paths,
        &base.parts.definitions,
        &parts.definitions,
    ];
    all.map(|part| &part[..]).concat()
}

/// The versions in the order in which [`make`] wants what definitions say of them.
pub(super) fn versions(registry: &Registry) -> impl Iterator<Item = &Version> {
    registry.groups().iter().flat_map(|group| &group.versions)
}

/// What takes the entries of a document, in any order.
trait Sink {
    fn path(&mut self, path: &str, operations: &Value);
    fn definition(&mut self, name: &str, schema: &Value);
}

/// Writes entries once each, and remembers which definitions they refer to.
struct Content<'a> {
    sink: &'a mut dyn Sink,
    names: BTreeSet<String>,
    referred: BTreeSet<String>,
    shared: Shared,
}

impl<'a> Content<'a> {
    fn new(sink: &'a mut dyn Sink, names: BTreeSet<String>) -> Self {
        Self {
            sink,
            names,
            referred: BTreeSet::new(),
            shared: Shared::default(),
        }
    }

    fn path(&mut self, path: &str, operations: &Value) {
        if self.names.insert(path.to_owned()) {
            document::references(operations, &mut self.referred);
            self.sink.path(path, &self.shared.path_item(operations));
        }
    }

    fn paths_of(&mut self, version: &Version) {
        let paths = document::paths(version);
        for (path, operations) in paths.as_object().into_iter().flatten() {
            self.path(path, operations);
        }
    }

    fn definition(&mut self, name: &str, schema: &Value) {
        if self.names.insert(name.to_owned()) {
            document::references(schema, &mut self.referred);
            self.sink.definition(name, schema);
        }
    }

    /// The definitions of built-in kinds that were referred to.
    fn builtin_definitions(&mut self, descriptions: &dyn Descriptions) {
        let referred = std::mem::take(&mut self.referred);
        let missing = referred.difference(&self.names).cloned().collect();
        let mut schemas = Map::new();
        roots::add_schemas(&mut schemas, &missing, descriptions);
        for (name, mut schema) in schemas {
            builtin_schema_to_v2(&mut schema);
            self.definition(&name, &schema);
        }
    }
}

/// Parameters that operations have alike: each is written once, and operations refer to it (kube-openapi pkg/builder/parameters.go).
#[derive(Default)]
struct Shared {
    definitions: Map<String, Value>,
}

impl Shared {
    /// A path of the third version as the second has it.
    fn path_item(&mut self, operations: &Value) -> Value {
        let mut item = Map::new();
        for (name, value) in operations.as_object().into_iter().flatten() {
            let value = match name.as_str() {
                "parameters" => self.refer(items(value).map(parameter).collect()),
                _ => self.operation(value),
            };
            item.insert(name.clone(), value);
        }
        item.into()
    }

    fn operation(&mut self, v3: &Value) -> Value {
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
            parameters.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
        }
        if !parameters.is_empty() {
            operation.insert("parameters".to_owned(), self.refer(parameters));
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

    fn refer(&mut self, parameters: Vec<Value>) -> Value {
        let parameters = parameters.into_iter();
        parameters.map(|parameter| self.reference(parameter)).collect()
    }

    fn reference(&mut self, parameter: Value) -> Value {
        if !is_shared(&parameter) {
            return parameter;
        }
        let digest = Sha256::digest(to_json(&parameter));
        let name = parameter["name"].as_str().unwrap_or_default();
        let name = format!("{name}-{}", URL_SAFE_NO_PAD.encode(&digest[..HASH_BYTES]));
        let reference = json!({"$ref": format!("#/parameters/{name}")});
        self.definitions.entry(name).or_insert(parameter);
        reference
    }
}

/// How much of its hash stands behind the name of a parameter: eight letters.
const HASH_BYTES: usize = 6;

/// Bodies are each of their kind but for two. Older clients look for two parameters in the operations themselves (kubectl before 1.29,
/// to learn whether they can be sent).
fn is_shared(parameter: &Value) -> bool {
    match parameter["name"].as_str() {
        Some("dryRun" | "fieldValidation") => false,
        Some("body") => {
            let of = parameter["schema"]["$ref"].as_str().unwrap_or_default();
            of.ends_with(".v1.DeleteOptions") || of.ends_with(".v1.Patch")
        }
        _ => true,
    }
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

/// Writes JSON: the beginning of a document, or its end.
struct Json {
    paths: Section,
    definitions: Section,
}

/// The entries of one member.
struct Section {
    out: GzEncoder<Vec<u8>>,
    /// What comes before the next entry.
    separator: &'static str,
}

impl Section {
    fn new(beginning: &str, separator: &'static str) -> Self {
        let mut section = Self {
            out: GzEncoder::new(Vec::new(), Compression::fast()),
            separator,
        };
        section.put(beginning);
        section
    }

    fn entry(&mut self, name: &str, value: &Value) {
        let separator = std::mem::replace(&mut self.separator, ",");
        self.put(&format!("{separator}{}:", Value::from(name)));
        // Writing into memory cannot fail.
        let _ = self.out.write_all(&to_json(value));
    }

    fn put(&mut self, text: &str) {
        // Writing into memory cannot fail.
        let _ = self.out.write_all(text.as_bytes());
    }

    fn finish(self) -> Bytes {
        self.out.finish().unwrap_or_default().into()
    }
}

impl Json {
    /// All that comes before, and entries to begin with.
    fn beginning() -> Self {
        let frame = frame().to_string();
        let frame = frame.strip_suffix('}').unwrap_or(&frame);
        Self {
            paths: Section::new(&format!("{frame},\"paths\":{{"), ""),
            definitions: Section::new("},\"definitions\":{", ""),
        }
    }

    /// Further entries, and what closes the document.
    fn end() -> Self {
        Self {
            paths: Section::new("", ","),
            definitions: Section::new("", ","),
        }
    }

    fn finish(self) -> Parts {
        Parts {
            paths: self.paths.finish(),
            definitions: self.definitions.finish(),
        }
    }
}

impl Sink for Json {
    fn path(&mut self, path: &str, operations: &Value) {
        self.paths.entry(path, operations);
    }

    fn definition(&mut self, name: &str, schema: &Value) {
        self.definitions.entry(name, schema);
    }
}

/// Writes protobuf.
#[derive(Default)]
struct Protobuf {
    paths: Vec<u8>,
    definitions: Vec<u8>,
}

impl Protobuf {
    fn finish(self, frame: &Value) -> Parts {
        let mut paths = gnostic::encode(&messages::FRAME, frame);
        gnostic::write_bytes(&mut paths, messages::PATHS, &self.paths);
        let mut definitions = Vec::new();
        gnostic::write_bytes(&mut definitions, messages::DEFINITIONS, &self.definitions);
        Parts {
            paths: super::zip(&paths),
            definitions: super::zip(&definitions),
        }
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
