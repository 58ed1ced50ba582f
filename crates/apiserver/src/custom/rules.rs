//! Rules in CEL (`x-kubernetes-validations`) of custom resources and of their definitions.
//!
//! Upstream: apiextensions pkg/registry/customresource/strategy.go, pkg/apis/apiextensions/validation/validation.go. The language itself
//! comes with [`Options::rule_compiler`](crate::Options::rule_compiler); a server without one keeps rules, runs none and says so.

use kubewright_core::{FieldError, FieldErrorKind, FieldPath};
use kubewright_schema::{RULE_COST_BUDGET, RuleFindings, StructuralSchema};
use serde_json::Value;

use super::follow::{GROUP, PLURAL};
use super::model::CustomModel;
use crate::registry::Resource;
use crate::server::Server;

impl CustomModel {
    /// What rules find in an object. `errors` are those found before: where they are such that rules could not rely on types and sizes, no
    /// rule is run.
    pub(crate) fn run_rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        errors: &[FieldError],
    ) -> RuleFindings {
        let Some(rules) = &self.shape.rules else {
            return RuleFindings::default();
        };
        if errors.iter().any(is_blocking) {
            return RuleFindings {
                errors: vec![FieldError::invalid(FieldPath::root(), Value::Null, NOT_CHECKED)],
                ..RuleFindings::default()
            };
        }
        rules.validate(&self.shape.schema, object, old, RULE_COST_BUDGET)
    }
}

/// `hasBlockingErr`.
fn is_blocking(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}

/// What is wrong with the rules of a definition that is to be stored.
pub(crate) fn check_definition(server: &Server, resource: &Resource, object: &Value) -> Vec<FieldError> {
    let Some(compiler) = server
        .options
        .rule_compiler
        .as_deref()
        .filter(|_| is_definition(resource))
    else {
        return Vec::new();
    };
    schemas(object)
        .flat_map(|(path, schema)| schema.check_rules(compiler, &path))
        .collect()
}

/// What whoever stores a definition is to be warned of: rules that this server does not run.
pub(crate) fn warnings(server: &Server, resource: &Resource, object: &Value) -> Vec<String> {
    if server.options.rule_compiler.is_some() || !is_definition(resource) {
        return Vec::new();
    }
    schemas(object)
        .filter(|(_, schema)| schema.has_rules())
        .map(|(path, _)| {
            format!("{path}: x-kubernetes-validations are stored, but this server does not enforce them yet")
        })
        .collect()
}

fn is_definition(resource: &Resource) -> bool {
    resource.group == GROUP && resource.plural == PLURAL
}

/// The schemas of a definition's versions, and where they stand. What is no schema was refused before.
fn schemas(definition: &Value) -> impl Iterator<Item = (FieldPath, StructuralSchema)> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let versions = versions.into_iter().flatten().enumerate();
    versions.filter_map(|(index, version)| {
        let schema = version.pointer("/schema/openAPIV3Schema")?;
        let schema = StructuralSchema::parse(schema).ok()?;
        let version = FieldPath::new("spec").child("versions").index(index);
        Some((version.child("schema").child("openAPIV3Schema"), schema))
    })
}

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
