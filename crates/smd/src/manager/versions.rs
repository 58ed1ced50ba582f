//! The versions of a kind, as the field manager needs them.

use serde_json::Value;
use thiserror::Error;

use crate::types::TypeRef;

/// The versions of a kind: their types, and the way between them.
///
/// Managers own fields in the version in which they wrote. To see what a write takes from them, the object before and
/// after it is converted to each of these versions.
pub trait Versions {
    /// The type of the kind in a version such as `apps/v1`; `None` if there is no such version (any more), and then
    /// what was owned in it is forgotten.
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// The object in another version.
    ///
    /// # Errors
    /// Where it cannot be converted.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError>;
}

/// Why an object cannot be had in another version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ConversionError {
    /// What the converter says.
    pub message: String,
}

/// The [`Versions`] of a kind that is served in one version only, or whose versions all have the same fields.
#[derive(Debug, Clone, Copy)]
pub struct OneType<'t, 'v> {
    /// The type.
    pub ty: TypeRef<'t>,
    /// The versions.
    pub api_versions: &'v [&'v str],
}

impl Versions for OneType<'_, '_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.api_versions.contains(&api_version).then_some(self.ty)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let mut object = object.clone();
        if let Some(version) = object.get_mut("apiVersion") {
            *version = Value::from(api_version);
        }
        Ok(object)
    }
}
