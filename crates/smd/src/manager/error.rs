//! Why a write is refused.

use thiserror::Error;

use super::{Conflicts, ConversionError};
use crate::managed::DecodeError;
use crate::typed::TypeErrors;

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
