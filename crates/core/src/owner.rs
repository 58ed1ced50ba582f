//! Owner references: which object a dependant belongs to.

use crate::{OwnerReference, Resource, StaticResource};

/// A reference that makes `owner` the controller of a dependant, with `blockOwnerDeletion`.
///
/// `None` while `owner` has no uid yet, that is before the server has stored it.
/// Mirrors `metav1.NewControllerRef` of apimachinery.
pub fn owner_reference<K: StaticResource>(owner: &K) -> Option<OwnerReference> {
    let uid = owner.metadata().uid.clone()?;
    Some(OwnerReference {
        api_version: K::api_resource().api_version(),
        kind: K::KIND.to_owned(),
        name: owner.name().to_owned(),
        uid,
        controller: Some(true),
        block_owner_deletion: Some(true),
    })
}

/// The reference to the object's controller, if it has one.
pub fn controller_of(object: &impl Resource) -> Option<&OwnerReference> {
    object
        .metadata()
        .owner_references
        .as_deref()
        .unwrap_or_default()
        .iter()
        .find(|r| r.controller == Some(true))
}

/// Whether `owner` (by uid) is the controller of `object`.
pub fn is_controlled_by(object: &impl Resource, owner: &impl Resource) -> bool {
    controller_of(object).is_some_and(|reference| owner.metadata().uid.as_ref() == Some(&reference.uid))
}
