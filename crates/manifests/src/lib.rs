//! From an operator to the YAML that installs it.
//!
//! [`crds`] makes the custom resource definitions of an [`Operator`], [`rbac`] the account that it runs as, with the
//! rights it asks for, and [`install`] both. What they make is a [`Tree`]: texts by path, in the layout of kubebuilder's
//! `config` folder, which can be printed or written. The same operator gives the same bytes.
//!
//! It talks to no cluster, and nothing but a [`Tree`] touches the disk.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright_manifests::{RbacOptions, rbac};
//! use kubewright_runtime::{Operator, Right, Verb};
//!
//! let operator = Operator::new("greeter").right(Right::to::<ConfigMap>([Verb::List, Verb::Get]));
//! let tree = rbac(&operator, &RbacOptions::default())?;
//! assert_eq!(tree.get("rbac/role.yaml"), Some("\
//! ---
//! apiVersion: rbac.authorization.k8s.io/v1
//! kind: ClusterRole
//! metadata:
//!   name: greeter
//! rules:
//! - apiGroups:
//!   - \"\"
//!   resources:
//!   - configmaps
//!   verbs:
//!   - get
//!   - list
//! "));
//! # Ok::<(), kubewright_manifests::ManifestError>(())
//! ```

mod crd;
mod error;
mod rbac;
mod tree;

pub use crd::{CrdOptions, crds};
pub use error::ManifestError;
pub use rbac::{RbacOptions, rbac};
pub use tree::{Difference, Tree, TreeError};

use kubewright_runtime::Operator;

/// What [`install`] makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Of the definitions.
    pub crds: CrdOptions,
    /// Of the account and its rights.
    pub rbac: RbacOptions,
}

/// All that [`crds`] and [`rbac`] make, in one tree.
///
/// # Errors
///
/// As [`crds`] and [`rbac`].
pub fn install(operator: &Operator, options: &Options) -> Result<Tree, ManifestError> {
    let mut tree = crds(operator, &options.crds)?;
    tree.merge(rbac(operator, &options.rbac)?)?;
    Ok(tree)
}
