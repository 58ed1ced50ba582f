//! What the server knows of the shape of one version of a custom resource.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use kubewright_core::FieldError;
use kubewright_schema::{Malformed, RuleCompiler, Rules, StructuralSchema};
use kubewright_smd::types::{Schema, TypeRef};
use serde_json::Value;

use super::conversion::{Conversion, refuse};
use crate::builtin::validation::metadata;
use crate::error::ApiResult;
use crate::json;
use crate::server::Server;
use crate::storage::Revision;
use crate::table::jsonpath::{self, JsonPath};

/// The shape of one version of a custom resource, and how objects of the others come to have it.
#[derive(Debug)]
pub(crate) struct CustomModel {
    pub(super) shape: Arc<VersionShape>,
    /// All versions of the definition, served or not.
    pub(super) shapes: Arc<Shapes>,
    /// The revision at which the stored version got its present schema: objects written before may not fit it.
    pub(super) since: Revision,
    /// The identity of the definition and its generation, for what is derived from it.
    pub(super) identity: String,
    /// The name of the definition.
    pub(super) definition: String,
    pub(super) lifecycle: Lifecycle,
}

/// What all versions of a definition share.
#[derive(Debug)]
pub(super) struct Shapes {
    /// By what stands in `apiVersion`.
    pub(super) versions: BTreeMap<String, Arc<VersionShape>>,
    pub(super) conversion: Conversion,
}

/// Whether objects of a kind may still be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// They may.
    Active,
    /// The definition is being deleted, and all objects with it.
    Terminating,
}

/// What is compiled of one version.
#[derive(Debug)]
pub(super) struct VersionShape {
    pub(super) schema: StructuralSchema,
    pub(super) selectable: Vec<Selectable>,
    /// The rules of the schema; `None` where it has none, or nobody speaks their language.
    pub(super) rules: Option<Rules>,
    /// Made of the schema by the first write that has to know.
    merge_types: OnceLock<Schema>,
}

impl VersionShape {
    pub(super) fn new(
        schema: StructuralSchema,
        selectable: Vec<Selectable>,
        compiler: Option<&dyn RuleCompiler>,
    ) -> Self {
        Self {
            rules: compiler.and_then(|compiler| schema.compile_rules(compiler)),
            schema,
            selectable,
            merge_types: OnceLock::new(),
        }
    }
}

/// A field that field selectors may name.
#[derive(Debug)]
pub(super) struct Selectable {
    /// The path without its leading dot.
    name: String,
    path: JsonPath,
}

impl Selectable {
    /// `None` for a path that does not parse: validation of the definition has refused it, unless somebody else stored it.
    pub(super) fn new(path: &str) -> Option<Self> {
        Some(Self {
            name: path.strip_prefix('.').unwrap_or(path).to_owned(),
            path: JsonPath::parse(path).ok()?,
        })
    }
}

impl CustomModel {
    /// Brings an object from a client into shape: unknown fields, nulls that are none and unknown metadata go. Gives the
    /// paths of the unknown fields: those of the metadata, those that the schema does not have, and those of embedded metadata, each
    /// sorted.
    ///
    /// # Errors
    /// The first member of the metadata that has the wrong type.
    pub(crate) fn normalize(&self, object: &mut Value) -> Result<Vec<String>, FieldError> {
        let schema = &self.shape.schema;
        let mut unknown = schema.prune(object);
        schema.drop_nulls(object);
        let (own, embedded): (Vec<_>, Vec<_>) = schema
            .coerce_metadata(object, Malformed::Refuse)?
            .into_iter()
            .partition(|path| path.starts_with("metadata."));
        unknown.extend(embedded);
        Ok([own, unknown].concat())
    }

    /// Sets the schema's defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        self.shape.schema.default(object);
    }

    /// What the schema finds wrong, and what is wrong with the metadata of embedded resources.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let errors = self.shape.schema.validate(object, old);
        self.check_embedded(object, errors)
    }

    /// What is wrong after a write to the status alone: what else is there was let in before.
    pub(crate) fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let errors = self.shape.schema.validate_status(object, old);
        self.check_embedded(object, errors)
    }

    fn check_embedded(&self, object: &Value, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        self.shape.schema.each_embedded(object, &mut |path, resource| {
            errors.extend(metadata::embedded(path, resource));
        });
        errors
    }

    /// The fields that a selector may name besides those of the metadata.
    pub(crate) fn selectable_names(&self) -> impl Iterator<Item = &str> {
        self.shape
            .selectable
            .iter()
            .map(|selectable| selectable.name.as_str())
    }

    /// The value of such a field.
    pub(crate) fn selectable_field(&self, object: &Value, field: &str) -> Option<String> {
        let selectable = self
            .shape
            .selectable
            .iter()
            .find(|selectable| selectable.name == field)?;
        let found = selectable.path.find(object).ok();
        Some(
            found
                .and_then(|found| found.first().map(|value| jsonpath::text(value)))
                .unwrap_or_default(),
        )
    }

    /// Whether an object that was written at `revision` fits the present schema, so that its bytes can be sent as they are.
    pub(crate) fn is_current(&self, revision: Revision) -> bool {
        revision >= self.since
    }

    /// Completes an object as it is stored: what an older schema let in is pruned and defaulted as if it came now.
    pub(crate) fn repair(&self, object: &mut Value) {
        let revision = object["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|version| version.parse().ok());
        if revision.is_some_and(|revision| self.is_current(Revision(revision))) {
            return;
        }
        if let Some(shape) = self.shapes.versions.get(version_of(object)) {
            shape.schema.prune(object);
            shape.schema.drop_nulls(object);
            shape.schema.default(object);
        }
    }

    /// Sets the defaults of the version that an object is stored in. Upstream does that whenever it reads one, which shows where it was
    /// written in another version.
    pub(crate) fn complete(&self, object: &mut Value) {
        if let Some(shape) = self.shapes.versions.get(version_of(object)) {
            shape.schema.default(object);
        }
    }

    /// Whether other versions take a webhook to become this one.
    pub(crate) fn has_webhook(&self) -> bool {
        matches!(self.shapes.conversion, Conversion::Webhook(_))
    }

    /// Whether it takes a webhook to bring an object to the version `to`.
    pub(crate) fn needs_webhook(&self, object: &Value, to: &str) -> bool {
        self.has_webhook() && version_of(object) != to
    }

    /// Objects of any version of the definition, in the version `to`. Those that are there already are left alone.
    ///
    /// # Errors
    /// 500 for an object of a version that the definition does not have, and where a webhook fails.
    pub(crate) async fn convert(
        &self,
        server: &Server,
        mut objects: Vec<Value>,
        to: &str,
    ) -> ApiResult<Vec<Value>> {
        let shape = self.shape_of(to, "to")?;
        let mut foreign = Vec::new();
        for (index, object) in objects.iter_mut().enumerate() {
            let from = version_of(object);
            if from == to {
                continue;
            }
            self.shape_of(from, "from")?;
            match &self.shapes.conversion {
                Conversion::None => recast(object, to, shape),
                Conversion::Webhook(_) => foreign.push(index),
            }
        }
        let Conversion::Webhook(webhook) = &self.shapes.conversion else {
            return Ok(objects);
        };
        if foreign.is_empty() {
            return Ok(objects);
        }
        let sent = foreign.iter().map(|&index| objects[index].take()).collect();
        let converted = webhook.convert(server, sent, to).await?;
        for (index, mut object) in foreign.into_iter().zip(converted) {
            json::make_integers(&mut object);
            shape.schema.prune(&mut object);
            objects[index] = object;
        }
        Ok(objects)
    }

    /// The same for one object where no webhook is needed. Of one of a version that the definition no longer has, what `to` has not is
    /// dropped.
    pub(crate) fn recast(&self, object: &mut Value, to: &str) {
        if version_of(object) != to
            && let Some(shape) = self.shapes.versions.get(to)
        {
            recast(object, to, shape);
        }
    }

    fn shape_of(&self, api_version: &str, direction: &str) -> ApiResult<&VersionShape> {
        self.shapes
            .versions
            .get(api_version)
            .map(|shape| &**shape)
            .ok_or_else(|| {
                refuse(format!(
                    "request to convert CR {direction} an invalid group/version: {api_version}"
                ))
            })
    }

    /// What server-side apply knows of the version.
    pub(crate) fn merge_type(&self) -> TypeRef<'_> {
        let shape = &*self.shape;
        shape
            .merge_types
            .get_or_init(|| shape.schema.apply_types())
            .root()
    }

    /// Whether objects may still be made.
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        self.lifecycle
    }

    /// What stays the same as long as the definition's specification does.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// The name of the definition.
    pub(crate) fn definition(&self) -> &str {
        &self.definition
    }
}

fn version_of(object: &Value) -> &str {
    object["apiVersion"].as_str().unwrap_or_default()
}

/// The conversion strategy `None`: only the name of the version changes, and fields that the other version does not have go.
fn recast(object: &mut Value, api_version: &str, to: &VersionShape) {
    if let Value::Object(fields) = object {
        fields.insert("apiVersion".into(), api_version.into());
    }
    to.schema.prune(object);
}
