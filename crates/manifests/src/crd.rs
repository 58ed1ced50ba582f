//! Custom resource definitions.

use std::collections::BTreeMap;

use kubewright_runtime::Operator;
use kubewright_schema::Definition;

use crate::error::ManifestError;
use crate::tree::Tree;

/// How definitions are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrdOptions {
    /// The version in which objects are stored, by the definition's name (`guestbooks.example.com`). Default: of several
    /// versions, the one that the operator was given first.
    pub storage_versions: BTreeMap<String, String>,
}

/// The custom resource definitions of an operator: one file `crd/bases/GROUP_PLURAL.yaml` for each, where controller-gen
/// puts them. Keys and versions are sorted, as there.
///
/// # Errors
///
/// Versions of one resource that do not fit together, and storage versions that do not exist.
pub fn crds(operator: &Operator, options: &CrdOptions) -> Result<Tree, ManifestError> {
    let mut versions = BTreeMap::<_, Vec<&Definition>>::new();
    for definition in operator.definitions() {
        versions
            .entry((&definition.group, &definition.plural))
            .or_default()
            .push(definition);
    }
    let mut chosen = options.storage_versions.clone();
    let mut tree = Tree::new();
    for ((group, plural), versions) in versions {
        let name = format!("{plural}.{group}");
        let stored = chosen
            .remove(&name)
            .unwrap_or_else(|| versions[0].version.clone());
        let mut sorted: Vec<_> = versions.into_iter().cloned().collect();
        sorted.sort_by(|a, b| a.version.cmp(&b.version));
        let merged = Definition::merge(&sorted, &stored).map_err(|source| ManifestError::Versions {
            definition: name,
            source,
        })?;
        tree.insert_object(&format!("crd/bases/{group}_{plural}.yaml"), &merged)?;
    }
    match chosen.pop_first() {
        None => Ok(tree),
        Some((definition, version)) => Err(ManifestError::UnknownDefinition { definition, version }),
    }
}
