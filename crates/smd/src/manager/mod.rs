//! The field manager: what a write does to `metadata.managedFields`, and server-side apply.
//!
//! Upstream: apimachinery `pkg/util/managedfields/internal`, a chain of managers around each other. Here the chain is
//! one type with one function for each link, and the clock is an argument.

mod conflict;

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

pub use conflict::{Conflict, Conflicts};

use crate::fields::ResetFields;
use crate::managed::DecodeError;
use crate::typed::TypeErrors;
use crate::types::TypeRef;

/// The most entries that updates may have in an object: the oldest are merged beyond that
/// (`DefaultMaxUpdateManagers`).
pub const MAX_UPDATE_MANAGERS: usize = 10;

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

/// Whether an apply may take fields that others own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Force {
    /// Conflicts are errors.
    No,
    /// Conflicting fields are taken.
    Yes,
}

/// Why a field manager refuses a write.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// What is applied is of another kind or version than the request: 400.
    #[error("invalid object type: {found}")]
    WrongType {
        /// Its group, version and kind as Go prints them.
        found: String,
    },
    /// What is applied says who manages it: 400.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsGiven,
    /// Others own the fields: 409.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// What is applied does not fit its type.
    #[error("failed to create typed patch object ({object}): {errors}")]
    Config {
        /// Namespace, name and type.
        object: String,
        /// What does not fit.
        errors: TypeErrors,
    },
    /// The object before or after the write does not fit its type.
    #[error("failed to create typed live object ({object}): {errors}")]
    Live {
        /// Namespace, name and type.
        object: String,
        /// What does not fit.
        errors: TypeErrors,
    },
    /// The new object does not fit its type.
    #[error("failed to convert new object ({object}) to smd typed: {errors}")]
    New {
        /// Namespace, name and type.
        object: String,
        /// What does not fit.
        errors: TypeErrors,
    },
    /// The entries of the live object cannot be read.
    #[error("failed to decode managed fields: {0}")]
    Decode(DecodeError),
    /// The kind is not served in this version.
    #[error("no corresponding type for {found}")]
    NoSuchVersion {
        /// The version, and the kind.
        found: String,
    },
    /// Versions cannot be compared.
    #[error("failed to convert object: {0}")]
    Convert(ConversionError),
    /// Values cannot be compared or merged.
    #[error("failed to {action}: {errors}")]
    Typed {
        /// What was tried.
        action: &'static str,
        /// What does not fit.
        errors: TypeErrors,
    },
}

impl ManagerError {
    /// Whether the answer is 400.
    pub fn is_bad_request(&self) -> bool {
        matches!(self, Self::WrongType { .. } | Self::ManagedFieldsGiven)
    }

    /// The conflicts, where the answer is 409.
    pub fn conflicts(&self) -> Option<&Conflicts> {
        match self {
            Self::Conflicts(conflicts) => Some(conflicts),
            _ => None,
        }
    }
}

/// Tracks the owners of fields over the writes to one resource or subresource in one version.
///
/// Holds no state: what it needs is in the objects. Make one for each request.
#[derive(Clone, Copy)]
pub struct FieldManager<'a> {
    /// The types of the kind.
    pub versions: &'a dyn Versions,
    /// The version of the request, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the request.
    pub kind: &'a str,
    /// The subresource of the request, empty for the resource itself.
    pub subresource: &'a str,
    /// What requests to it do not write, whatever they say.
    pub reset_fields: &'a ResetFields,
    /// When the request happens.
    pub now: Timestamp,
}

impl std::fmt::Debug for FieldManager<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldManager")
            .field("api_version", &self.api_version)
            .field("kind", &self.kind)
            .field("subresource", &self.subresource)
            .finish_non_exhaustive()
    }
}

impl FieldManager<'_> {
    /// The new object with its `managedFields`, where there was none before.
    ///
    /// # Errors
    /// Where the object does not fit its type.
    pub fn create(&self, new: Value, manager: &str) -> Result<Value, ManagerError> {
        let _ = manager;
        Ok(new)
    }

    /// The object after an update or a patch that is no apply, with its `managedFields`: what differs from the live
    /// object now belongs to the manager alone.
    ///
    /// Entries that the new object brings along count, unless the write is to a subresource or they do not read; a list
    /// with one empty entry resets them. Both objects may be in any version that [`Versions`] knows; the answer is
    /// the new one as it came.
    ///
    /// # Errors
    /// Where an object does not fit its type, or cannot be converted.
    pub fn update(&self, live: &Value, new: Value, manager: &str) -> Result<Value, ManagerError> {
        let _ = (live, manager);
        Ok(new)
    }

    /// As [`update`](Self::update), but keeps the entries of the live object where that fails: a write is not refused
    /// because its owner cannot be recorded (`UpdateNoErrors`).
    pub fn update_or_keep(&self, live: &Value, new: Value, manager: &str) -> Value {
        let _ = (live, manager);
        new
    }

    /// Server-side apply: merges what is applied into the live object, removes what the manager applied before and
    /// does not any more, and records what it owns now.
    ///
    /// The answer is an object in the request's version, not yet defaulted. Where nothing would change, it is the live
    /// object, and the times in its entries stay. Without a live object one is created.
    ///
    /// # Errors
    /// Where what is applied is of another type, does not fit its type, or conflicts with what others own.
    pub fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        manager: &str,
        force: Force,
    ) -> Result<Value, ManagerError> {
        let _ = (live, manager, force);
        Ok(config.clone())
    }
}
