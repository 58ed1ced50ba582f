//! Why manifests cannot be made.

use kubewright_schema::MergeError;

use crate::tree::TreeError;

/// Why manifests cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The versions of a resource do not make one definition.
    #[error("the versions of {definition} do not make one definition")]
    Versions {
        /// The definition's name.
        definition: String,
        /// What is wrong with them.
        source: MergeError,
    },
    /// A storage version was chosen for a definition that the operator does not have.
    #[error(
        "the operator has no definition {definition:?}, for which the storage version {version:?} was chosen"
    )]
    UnknownDefinition {
        /// The definition's name.
        definition: String,
        /// The version.
        version: String,
    },
    /// An object has no form as YAML.
    #[error("{path} cannot be written as YAML")]
    Encode {
        /// The file it was for.
        path: String,
        /// Why.
        source: kubewright_yaml::Error,
    },
    /// Two files have one path, or a path leads elsewhere.
    #[error(transparent)]
    Tree(#[from] TreeError),
}
