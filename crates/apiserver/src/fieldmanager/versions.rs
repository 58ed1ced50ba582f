//! The versions of a kind, as the field manager asks for them.

use std::sync::Arc;

use kubewright_kinds as kinds;
use kubewright_smd::manager::{ConversionError, Versions};
use kubewright_smd::types::TypeRef;
use serde_json::Value;

use super::conversions::Conversions;
use crate::builtin::conversion;
use crate::custom::CustomModel;
use crate::registry::{Model, Registry, Resource};

/// The versions of a resource: those of the table of kinds, or those of a definition that are served.
pub(super) struct KindVersions<'a> {
    pub(super) resource: &'a Resource,
    pub(super) conversions: &'a Conversions,
    pub(super) registry: Arc<Registry>,
}

impl KindVersions<'_> {
    fn custom(&self, api_version: &str) -> Option<&CustomModel> {
        let (group, version) = split(api_version);
        let resource = self.resource;
        if group == resource.group && version == resource.version {
            return resource.model.custom();
        }
        self.registry
            .find(group, version, &resource.plural)?
            .model
            .custom()
    }
}

impl Versions for KindVersions<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        match &self.resource.model {
            Model::Builtin(ty) => {
                let (group, version) = split(api_version);
                if group == self.resource.group && version == self.resource.version {
                    return Some(TypeRef::from(*ty));
                }
                let ty = kinds::table().kind(group, version, &self.resource.kind)?;
                Some(TypeRef::from(ty))
            }
            Model::Custom(_) => self.custom(api_version).map(CustomModel::merge_type),
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let mut object = match self.resource.model.custom() {
            Some(model) if model.needs_webhook(object, api_version) => {
                return self.conversions.convert(object, api_version);
            }
            _ => object.clone(),
        };
        match &self.resource.model {
            Model::Builtin(_) => {
                let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
                conversion::convert(&mut object, &from, api_version);
                object["apiVersion"] = api_version.into();
            }
            Model::Custom(_) => {
                let model = self.custom(api_version).ok_or_else(|| ConversionError {
                    message: format!("{} is not served in {api_version}", self.resource.kind),
                })?;
                model.recast(&mut object, api_version);
            }
        }
        Ok(object)
    }
}

/// The group and the version of an `apiVersion`.
fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
