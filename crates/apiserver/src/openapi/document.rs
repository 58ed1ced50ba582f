//! What documents are made of: the paths and schemas of one group-version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kubewright_kinds as kinds;
use kubewright_schema::openapi::{
    CustomResource, Descriptions, Dialect, custom_resource_list_schema, custom_resource_schema, model_name,
};
use serde_json::{Map, Value, json};

use super::{operation, roots};
use crate::registry::{Resource, Subresource, Version};
use crate::server::Server;
use crate::storage::Key;

/// What definitions say of their kinds in one version, by plural.
pub(super) type CustomSchemas = BTreeMap<String, CustomSchema>;

/// What a definition says of its kind in one version.
#[derive(Debug, Default)]
pub(super) struct CustomSchema {
    schema: Option<Value>,
    selectable_fields: Vec<String>,
}

/// Reads them: a server keeps compiled schemas only, and descriptions are no part of those.
pub(super) async fn custom_schemas(server: &Server, version: &Version) -> CustomSchemas {
    let mut schemas = CustomSchemas::new();
    for resource in &version.resources {
        let Some(model) = resource.model.custom() else {
            continue;
        };
        let key = Key::new(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            None,
            model.definition(),
        );
        // Without it there is a schema of an object of any form, which is what clients then make of it.
        let Ok(Some(definition)) = server.storage().get(key).await else {
            continue;
        };
        let mut definition = definition.value();
        let versions = definition
            .pointer_mut("/spec/versions")
            .and_then(Value::as_array_mut);
        let found = versions
            .into_iter()
            .flatten()
            .find(|found| found["name"] == *resource.version);
        let Some(found) = found else { continue };
        let fields = found["selectableFields"].as_array().into_iter().flatten();
        let custom = CustomSchema {
            selectable_fields: fields
                .filter_map(|field| Some(field["jsonPath"].as_str()?.to_owned()))
                .collect(),
            schema: found.pointer_mut("/schema/openAPIV3Schema").map(Value::take),
        };
        schemas.insert(resource.plural.clone(), custom);
    }
    schemas
}

/// Makes the document of the third version.
pub(super) fn make(version: &Version, custom: &CustomSchemas, descriptions: &dyn Descriptions) -> Value {
    let paths = paths(version);
    let mut schemas = Map::new();
    add_custom(&mut schemas, version, custom, descriptions, Dialect::V3);
    let mut found = BTreeSet::new();
    references(&paths, &mut found);
    schemas.values().for_each(|schema| references(schema, &mut found));
    roots::add_schemas(&mut schemas, &found, descriptions);
    let mut document = whole(paths, schemas);
    let is_custom = |resource: &Arc<Resource>| resource.model.custom().is_some();
    if version.resources.iter().all(is_custom) {
        // A builder of their own makes them (apiextensions pkg/controller/openapi/builder `getOpenAPIV3Config`).
        document["info"] = json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"});
        if let Some(components) = document["components"].as_object_mut() {
            components.remove("securitySchemes");
        }
    }
    document
}

/// A document of the third version.
pub(super) fn whole(paths: Value, schemas: Map<String, Value>) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": security(),
        },
    })
}

/// The paths of a version, as the third version of OpenAPI has them.
pub(super) fn paths(version: &Version) -> Value {
    let mut paths = Map::new();
    // What groups of custom resources answer is not documented.
    if let Some(resource) = version.resources.first()
        && resource.model.builtin_type().is_some()
    {
        paths.insert(
            format!("{}/", operation::root(resource)),
            operation::discovery(resource),
        );
    }
    for resource in &version.resources {
        operation::add_paths(&mut paths, resource, &Types::of(resource));
    }
    paths.into()
}

/// Adds the schemas of a version's custom resources.
pub(super) fn add_custom(
    schemas: &mut Map<String, Value>,
    version: &Version,
    custom: &CustomSchemas,
    descriptions: &dyn Descriptions,
    dialect: Dialect,
) {
    let unknown = CustomSchema::default();
    for resource in version
        .resources
        .iter()
        .filter(|resource| resource.model.custom().is_some())
    {
        let types = Types::of(resource);
        let custom = custom.get(&resource.plural).unwrap_or(&unknown);
        let names = CustomResource {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            list_kind: &resource.list_kind,
            plural: &resource.plural,
            selectable_fields: &custom.selectable_fields,
        };
        let object = custom_resource_schema(&names, custom.schema.as_ref(), descriptions, dialect);
        schemas.insert(types.object, object);
        let list = custom_resource_list_schema(&names, descriptions, dialect);
        schemas.insert(types.list, list);
    }
}

/// The names of the schemas that a part of a document refers to, in either dialect.
pub(super) fn references(part: &Value, found: &mut BTreeSet<String>) {
    match part {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| match value.as_str() {
            Some(text) if key == "$ref" => found.extend(text.rsplit('/').next().map(str::to_owned)),
            _ => references(value, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// What a document is called.
pub(super) fn info() -> Value {
    json!({"title": "Kubernetes", "version": format!("v1.{}.0+kubewright", kinds::KUBERNETES_MINOR)})
}

/// How clients say who they are.
pub(super) fn security() -> Value {
    json!({"BearerToken": {
        "type": "apiKey", "in": "header", "name": "authorization", "description": "Bearer Token authentication",
    }})
}

/// The names of a resource's schemas.
pub(super) struct Types {
    pub(super) object: String,
    pub(super) list: String,
}

impl Types {
    fn of(resource: &Resource) -> Self {
        let Resource {
            group,
            version,
            kind,
            list_kind,
            ..
        } = resource;
        match resource.model.builtin_type() {
            Some(ty) => {
                let list = kinds::table().kind(group, version, list_kind);
                Self {
                    object: ty.name.to_owned(),
                    list: list.map_or(ty.name, |list| list.name).to_owned(),
                }
            }
            None => Self {
                object: model_name(group, version, kind),
                list: model_name(group, version, list_kind),
            },
        }
    }
}

/// The name of the schema of what a subresource reads and writes.
pub(super) fn type_of_subresource(resource: &Resource, subresource: &Subresource) -> String {
    let Subresource {
        group, version, kind, ..
    } = subresource;
    if (group, version, kind) == (&resource.group, &resource.version, &resource.kind) {
        return Types::of(resource).object;
    }
    kinds::table()
        .kind(group, version, kind)
        .map_or_else(|| STATUS.to_owned(), |ty| ty.name.to_owned())
}

pub(super) const API_RESOURCE_LIST: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList";
pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
