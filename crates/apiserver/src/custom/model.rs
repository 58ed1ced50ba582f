//! What the server knows of the shape of one version of a custom resource.

use std::sync::{Arc, OnceLock};

use kubewright_core::FieldError;
use kubewright_schema::{Malformed, StructuralSchema};
use kubewright_smd::types::{Schema, TypeRef};
use serde_json::Value;

use crate::storage::Revision;
use crate::table::jsonpath::{self, JsonPath};

/// The shape of one version of a custom resource: its schema, and that of the version it is stored in.
#[derive(Debug)]
pub(crate) struct CustomModel {
    pub(super) shape: Arc<VersionShape>,
    pub(super) storage: Arc<VersionShape>,
    /// The revision at which the stored version got its present schema: objects written before may not fit it.
    pub(super) since: Revision,
    /// The identity of the definition and its generation, for what is derived from it.
    pub(super) identity: String,
    /// The name of the definition.
    pub(super) definition: String,
    pub(super) lifecycle: Lifecycle,
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
    /// Made of the schema by the first write that has to know.
    merge_types: OnceLock<Schema>,
}

impl VersionShape {
    pub(super) fn new(schema: StructuralSchema, selectable: Vec<Selectable>) -> Self {
        Self {
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
    /// Brings an object from a client into shape: unknown fields, nulls that are none and unknown metadata go. Gives the sorted
    /// paths of the unknown fields.
    ///
    /// # Errors
    /// The first member of the metadata that has the wrong type.
    pub(crate) fn normalize(&self, object: &mut Value) -> Result<Vec<String>, FieldError> {
        let schema = &self.shape.schema;
        let mut unknown = schema.prune(object);
        schema.drop_nulls(object);
        unknown.extend(schema.coerce_metadata(object, Malformed::Refuse)?);
        unknown.sort_unstable();
        Ok(unknown)
    }

    /// Sets the schema's defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        self.shape.schema.default(object);
    }

    /// What the schema finds wrong.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.shape.schema.validate(object, old)
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

    /// An object as it is stored, in this version. What an older schema let in is pruned and completed as if it came now.
    pub(crate) fn read(&self, object: &mut Value, api_version: &str) {
        let revision = object["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|version| version.parse().ok());
        if !revision.is_some_and(|revision| self.is_current(Revision(revision))) {
            let schema = &self.storage.schema;
            schema.prune(object);
            schema.drop_nulls(object);
            schema.default(object);
        }
        if !Arc::ptr_eq(&self.shape, &self.storage) {
            recast(object, api_version, &self.shape);
        }
    }

    /// An object of this version, as it is to be stored.
    pub(crate) fn write(&self, object: &mut Value, api_version: &str) {
        if !Arc::ptr_eq(&self.shape, &self.storage) {
            recast(object, api_version, &self.storage);
        }
    }

    /// An object of any version, in this one.
    pub(crate) fn recast(&self, object: &mut Value, api_version: &str) {
        recast(object, api_version, &self.shape);
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

/// The conversion strategy `None`: only the name of the version changes, and fields that the other version does not have go.
fn recast(object: &mut Value, api_version: &str, to: &VersionShape) {
    if let Value::Object(fields) = object {
        fields.insert("apiVersion".into(), api_version.into());
    }
    to.schema.prune(object);
}
