//! Custom resources: what definitions add to the registry.

use std::sync::Arc;

use kubewright_core::FieldError;
use serde_json::Value;

use crate::server::{Server, StartError};

/// What is known of the shape of one version of a custom resource.
#[derive(Debug)]
pub(crate) struct CustomModel {}

impl CustomModel {
    /// Drops the fields that the schema does not have and gives their paths.
    pub(crate) fn prune(&self, _object: &mut Value) -> Vec<String> {
        Vec::new()
    }

    /// Sets the schema's defaults.
    pub(crate) fn default(&self, _object: &mut Value) {}

    /// What the schema finds wrong.
    pub(crate) fn validate(&self, _object: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }

    /// Whether field selectors may name `field`.
    pub(crate) fn is_selectable(&self, _field: &str) -> bool {
        false
    }

    /// The value of such a field.
    pub(crate) fn selectable_field(&self, _object: &Value, _field: &str) -> Option<String> {
        None
    }
}

/// The part of the server that follows definitions.
#[derive(Debug, Default)]
pub(crate) struct CustomResources {}

impl CustomResources {
    /// Takes in the definitions that are stored and follows them from now on.
    pub(crate) async fn start(_server: &Arc<Server>) -> Result<(), StartError> {
        Ok(())
    }
}
