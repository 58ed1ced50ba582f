//! From a definition to the resources it makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_schema::{RuleCompiler, StructuralSchema};
use serde_json::Value;

use super::conversion::Conversion;
use super::definition::{Definition, Names, Version};
use super::model::{CustomModel, Lifecycle, Selectable, Shapes, VersionShape};
use crate::builtin::strategy;
use crate::fieldmanager::ResetFieldsOf;
use crate::registry::{Model, Resource, ScalePaths, StoredAs, Subresource, SubresourceKind};
use crate::storage::Revision;
use crate::table::{CustomColumns, Printer};

/// The expensive part of a definition: made once per generation.
#[derive(Debug)]
pub(super) struct Compiled {
    uid: String,
    generation: i64,
    since: Revision,
    versions: BTreeMap<String, CompiledVersion>,
    shapes: Arc<Shapes>,
}

#[derive(Debug)]
struct CompiledVersion {
    shape: Arc<VersionShape>,
    printer: Printer,
}

/// The resources of a definition.
#[derive(Debug, Default)]
pub(super) struct Resources {
    /// One for each version that is served.
    pub(super) served: Vec<Arc<Resource>>,
    /// The one of the version that objects are stored in, served or not.
    pub(super) storage: Option<Arc<Resource>>,
}

impl Compiled {
    /// Compiles every version. `since` is the revision from which on objects are written by this generation.
    pub(super) fn new(definition: &Definition, since: Revision, compiler: Option<&dyn RuleCompiler>) -> Self {
        let spec = &definition.spec;
        let versions: BTreeMap<String, CompiledVersion> = spec
            .versions
            .iter()
            .map(|version| (version.name.clone(), compile_version(version, compiler)))
            .collect();
        let shapes = versions
            .iter()
            .map(|(name, version)| (format!("{}/{name}", spec.group), version.shape.clone()))
            .collect();
        Self {
            uid: definition.metadata.uid.clone(),
            generation: definition.metadata.generation,
            since,
            versions,
            shapes: Arc::new(Shapes {
                versions: shapes,
                conversion: Conversion::new(&spec.conversion),
            }),
        }
    }

    /// Whether this is still what `definition` compiles to.
    pub(super) fn is_of(&self, definition: &Definition) -> bool {
        self.uid == definition.metadata.uid && self.generation == definition.metadata.generation
    }

    /// The resources under the names that the definition was given.
    pub(super) fn resources(&self, definition: &Definition, names: &Names) -> Resources {
        let mut resources = Resources::default();
        let stored = definition.spec.versions.iter().find(|version| version.storage);
        let Some(stored) = stored else {
            return resources;
        };
        for version in &definition.spec.versions {
            let Some(compiled) = self.versions.get(&version.name) else {
                continue;
            };
            let model = CustomModel {
                shape: compiled.shape.clone(),
                shapes: self.shapes.clone(),
                since: self.since,
                identity: format!("{}/{}", self.uid, self.generation),
                definition: format!("{}.{}", names.plural, definition.spec.group),
                lifecycle: if definition.is_terminating() {
                    Lifecycle::Terminating
                } else {
                    Lifecycle::Active
                },
            };
            let resource = Arc::new(resource(definition, version, stored, names, compiled, model));
            if version.storage {
                resources.storage = Some(resource.clone());
            }
            if version.served {
                resources.served.push(resource);
            }
        }
        resources
    }
}

fn compile_version(version: &Version, compiler: Option<&dyn RuleCompiler>) -> CompiledVersion {
    let text = version
        .schema
        .as_ref()
        .and_then(|validation| validation.schema.as_ref());
    let schema = text.map(|text| {
        let schema: Value = serde_json::from_str(text.get()).unwrap_or_default();
        StructuralSchema::parse(&schema)
    });
    let schema = match schema {
        Some(Ok(mut schema)) => {
            schema.prune_defaults();
            schema
        }
        // Validation has refused it, unless somebody else stored it: such a kind has no fields of its own.
        Some(Err(error)) => {
            tracing::error!(version = version.name, %error, "the schema of a stored definition is not usable");
            <StructuralSchema as Default>::default()
        }
        None => <StructuralSchema as Default>::default(),
    };
    let (columns, error) = CustomColumns::compile_leading(&version.additional_printer_columns);
    if let Some(error) = error {
        tracing::warn!(version = version.name, %error, "a printer column is left out");
    }
    let selectable = version
        .selectable_fields
        .iter()
        .filter_map(|field| Selectable::new(&field.json_path))
        .collect();
    CompiledVersion {
        shape: Arc::new(VersionShape::new(schema, selectable, compiler)),
        printer: Printer::Custom(Arc::new(columns)),
    }
}

fn resource(
    definition: &Definition,
    version: &Version,
    stored: &Version,
    names: &Names,
    compiled: &CompiledVersion,
    model: CustomModel,
) -> Resource {
    let group = &definition.spec.group;
    let has_status = version.subresources.status.is_some();
    Resource {
        group: group.clone(),
        version: version.name.clone(),
        kind: names.kind.clone(),
        list_kind: names.list_kind.clone(),
        plural: names.plural.clone(),
        singular: names.singular.clone(),
        scope: definition.scope(),
        short_names: names.short_names.clone(),
        categories: names.categories.clone(),
        verbs: owned(&[
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ]),
        subresources: subresources(definition, version, names),
        stored_as: (stored.name != version.name).then(|| StoredAs {
            group: group.clone(),
            version: stored.name.clone(),
        }),
        model: Model::Custom(Arc::new(model)),
        strategy: if has_status {
            &strategy::CUSTOM_WITH_STATUS
        } else {
            &strategy::CUSTOM
        },
        reset_fields: ResetFieldsOf::default(),
        printer: compiled.printer.clone(),
        deprecation: deprecation(definition, version, names),
    }
}

fn subresources(definition: &Definition, version: &Version, names: &Names) -> Vec<Subresource> {
    let mut all = Vec::new();
    let verbs = || owned(&["get", "patch", "update"]);
    if version.subresources.status.is_some() {
        all.push(Subresource {
            name: "status".into(),
            group: definition.spec.group.clone(),
            version: version.name.clone(),
            kind: names.kind.clone(),
            verbs: verbs(),
            behaviour: SubresourceKind::Part,
        });
    }
    if let Some(scale) = &version.subresources.scale {
        all.push(Subresource {
            name: "scale".into(),
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            verbs: verbs(),
            behaviour: SubresourceKind::Scale(ScalePaths {
                spec_replicas: fields_of(&scale.spec_replicas_path),
                status_replicas: fields_of(&scale.status_replicas_path),
                selector: scale
                    .label_selector_path
                    .as_deref()
                    .filter(|path| !path.is_empty())
                    .map(fields_of),
            }),
        });
    }
    all
}

/// The fields of a simple path such as `.spec.replicas`.
fn fields_of(path: &str) -> Vec<String> {
    path.split('.')
        .filter(|field| !field.is_empty())
        .map(str::to_owned)
        .collect()
}

/// apiextensions pkg/apiserver/customresource_handler.go, where request scopes are made.
fn deprecation(definition: &Definition, version: &Version, names: &Names) -> Option<String> {
    let own = version.deprecation_warning.clone();
    let (group, kind) = (&definition.spec.group, &names.kind);
    version
        .deprecated
        .then(|| own.unwrap_or_else(|| format!("{group}/{} {kind} is deprecated", version.name)))
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
