//! One document: the paths and schemas of one group-version.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_kinds as kinds;
use kubewright_schema::openapi::{
    BuiltinSchemas, CustomResource, Descriptions, LIST_META, OBJECT_META, custom_resource_list_schema,
    custom_resource_schema, model_name,
};
use serde_json::{Map, Value, json};

use super::operation;
use crate::registry::{Resource, Subresource, Version};
use crate::server::Server;
use crate::storage::Key;

/// The schemas that definitions give their kinds in one version, by plural.
pub(super) type CustomSchemas = BTreeMap<String, Value>;

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
        if let Some(schema) = found.and_then(|found| found.pointer_mut("/schema/openAPIV3Schema")) {
            schemas.insert(resource.plural.clone(), schema.take());
        }
    }
    schemas
}

/// Makes the document.
pub(super) fn make(version: &Version, custom: &CustomSchemas, descriptions: &dyn Descriptions) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    if let Some(resource) = version.resources.first() {
        paths.insert(
            format!("{}/", operation::root(resource)),
            operation::discovery(resource),
        );
    }
    let mut roots = BTreeSet::new();
    for resource in &version.resources {
        let types = Types::of(resource);
        operation::add_paths(&mut paths, resource, &types);
        if resource.model.custom().is_some() {
            roots.extend([OBJECT_META, LIST_META]);
            let names = names(resource);
            let schema = custom.get(&resource.plural);
            schemas.insert(types.object, custom_resource_schema(&names, schema, descriptions));
            schemas.insert(types.list, custom_resource_list_schema(&names, descriptions));
        }
    }
    paths
        .values()
        .for_each(|operations| references(operations, &mut roots));
    let builtin = BuiltinSchemas::new(descriptions).components(roots);
    schemas.extend(
        builtin
            .into_iter()
            .map(|(name, schema)| (name.to_owned(), schema)),
    );
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": format!("v1.{}.0+kubewright", kinds::KUBERNETES_MINOR)},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"BearerToken": {
                "type": "apiKey", "in": "header", "name": "authorization", "description": "Bearer Token authentication",
            }},
        },
    })
}

/// The names of the schemas that a part of the document refers to.
fn references<'v>(part: &'v Value, found: &mut BTreeSet<&'v str>) {
    match part {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| match value.as_str() {
            Some(text) if key == "$ref" => found.extend(text.strip_prefix(operation::REFERENCE)),
            _ => references(value, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
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

fn names(resource: &Resource) -> CustomResource<'_> {
    CustomResource {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        list_kind: &resource.list_kind,
        plural: &resource.plural,
    }
}

pub(super) const API_RESOURCE_LIST: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList";
pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
