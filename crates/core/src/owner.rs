//! References to other objects: which one a dependant belongs to, and which one something is about.

use k8s_openapi::api::core::v1::ObjectReference;

use crate::{ApiResource, GroupVersion, ObjectMeta, OwnerReference, Resource, StaticResource};

/// A reference that makes `owner` the controller of a dependant, with `blockOwnerDeletion`.
///
/// `None` while `owner` has no uid yet, that is before the server has stored it.
/// Mirrors `metav1.NewControllerRef` of apimachinery.
pub fn owner_reference<K: StaticResource>(owner: &K) -> Option<OwnerReference> {
    reference(&K::api_resource(), owner.metadata(), Role::Controller)
}

/// What an owner is to its dependant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The one that made it and keeps it as it should be.
    Controller,
    /// One of those without which it has no use.
    Owner,
}

fn reference(resource: &ApiResource, owner: &ObjectMeta, role: Role) -> Option<OwnerReference> {
    let is_controller = (role == Role::Controller).then_some(true);
    Some(OwnerReference {
        api_version: resource.api_version(),
        kind: resource.kind.clone(),
        name: owner.name.clone().unwrap_or_default(),
        uid: owner.uid.clone()?,
        controller: is_controller,
        block_owner_deletion: is_controller,
    })
}

/// An object cannot belong to an owner. The texts are those of controller-runtime (`pkg/controller/controllerutil`).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// An owner in a namespace would take an object of the whole cluster with it.
    #[error(
        "cluster-scoped resource must not have a namespace-scoped owner, owner's namespace {owner_namespace}"
    )]
    OwnerInNamespace {
        /// Where the owner is.
        owner_namespace: String,
    },
    /// Owner and object are in different namespaces; the garbage collector would take the owner for gone.
    #[error(
        "cross-namespace owner references are disallowed, owner's namespace {owner_namespace}, obj's namespace {namespace}"
    )]
    OtherNamespace {
        /// Where the owner is.
        owner_namespace: String,
        /// Where the object is.
        namespace: String,
    },
    /// Another object is the controller already.
    #[error("Object {namespace}/{name} is already owned by another {} controller {}", owner.kind, owner.name)]
    AlreadyOwned {
        /// Where the object is.
        namespace: String,
        /// The object.
        name: String,
        /// Its controller.
        owner: Box<OwnerReference>,
    },
    /// The owner has no uid, since the server has not stored it yet.
    #[error("the owner {name} has no uid yet")]
    NotStored {
        /// The owner.
        name: String,
    },
}

/// Makes `owner` the controller of an object, which goes when the owner goes. A reference to the same owner is brought up to
/// date.
///
/// Mirrors controller-runtime's `SetControllerReference`.
///
/// # Errors
///
/// [`OwnerError`]; the object is as it was then.
pub fn set_controller_reference<K: StaticResource>(
    object: &mut impl Resource,
    owner: &K,
) -> Result<(), OwnerError> {
    set_controller_reference_as(object, &K::api_resource(), owner)
}

/// As [`set_controller_reference`], for an owner whose kind is known at run time.
///
/// # Errors
///
/// As there.
pub fn set_controller_reference_as(
    object: &mut impl Resource,
    resource: &ApiResource,
    owner: &impl Resource,
) -> Result<(), OwnerError> {
    let reference = checked(object, resource, owner, Role::Controller)?;
    if let Some(other) = controller_of(object).filter(|known| !is_same(known, &reference)) {
        return Err(OwnerError::AlreadyOwned {
            namespace: object.namespace().unwrap_or_default().to_owned(),
            name: object.name().to_owned(),
            owner: Box::new(other.clone()),
        });
    }
    put(object, reference);
    Ok(())
}

/// Makes `owner` one of the owners of an object, which goes when the last of them goes. A reference to the same owner is
/// replaced.
///
/// Mirrors controller-runtime's `SetOwnerReference`.
///
/// # Errors
///
/// [`OwnerError`]; the object is as it was then.
pub fn set_owner_reference<K: StaticResource>(
    object: &mut impl Resource,
    owner: &K,
) -> Result<(), OwnerError> {
    set_owner_reference_as(object, &K::api_resource(), owner)
}

/// As [`set_owner_reference`], for an owner whose kind is known at run time.
///
/// # Errors
///
/// As there.
pub fn set_owner_reference_as(
    object: &mut impl Resource,
    resource: &ApiResource,
    owner: &impl Resource,
) -> Result<(), OwnerError> {
    let reference = checked(object, resource, owner, Role::Owner)?;
    put(object, reference);
    Ok(())
}

/// Takes `owner` off an object; true if it was one of its owners. Owners are told apart by group, kind and name.
pub fn remove_owner_reference<K: StaticResource>(object: &mut impl Resource, owner: &K) -> bool {
    let Some(owners) = &mut object.metadata_mut().owner_references else {
        return false;
    };
    let resource = K::api_resource();
    let before = owners.len();
    owners.retain(|known| !names(known, &resource.group, &resource.kind, owner.name()));
    let removed = owners.len() < before;
    if owners.is_empty() {
        object.metadata_mut().owner_references = None;
    }
    removed
}

fn checked(
    object: &impl Resource,
    resource: &ApiResource,
    owner: &impl Resource,
    role: Role,
) -> Result<OwnerReference, OwnerError> {
    let owner_namespace = owner.namespace().unwrap_or_default();
    let namespace = object.namespace().unwrap_or_default();
    if !owner_namespace.is_empty() && namespace.is_empty() {
        return Err(OwnerError::OwnerInNamespace {
            owner_namespace: owner_namespace.to_owned(),
        });
    }
    if !owner_namespace.is_empty() && owner_namespace != namespace {
        return Err(OwnerError::OtherNamespace {
            owner_namespace: owner_namespace.to_owned(),
            namespace: namespace.to_owned(),
        });
    }
    reference(resource, owner.metadata(), role).ok_or_else(|| OwnerError::NotStored {
        name: owner.name().to_owned(),
    })
}

fn put(object: &mut impl Resource, reference: OwnerReference) {
    let owners = object.metadata_mut().owner_references.get_or_insert_default();
    match owners.iter_mut().find(|known| is_same(known, &reference)) {
        Some(known) => *known = reference,
        None => owners.push(reference),
    }
}

/// Whether two references name the same object, in whatever version.
fn is_same(known: &OwnerReference, other: &OwnerReference) -> bool {
    other
        .api_version
        .parse::<GroupVersion>()
        .is_ok_and(|version| names(known, &version.group, &other.kind, &other.name))
}

fn names(known: &OwnerReference, group: &str, kind: &str, name: &str) -> bool {
    let version = known.api_version.parse::<GroupVersion>();
    version.is_ok_and(|version| version.group == group) && known.kind == kind && known.name == name
}

/// A reference to an object, as events carry it.
#[must_use]
pub fn object_reference<K: StaticResource>(object: &K) -> ObjectReference {
    object_reference_as(&K::api_resource(), object)
}

/// As [`object_reference`], for an object whose kind is known at run time.
#[must_use]
pub fn object_reference_as(resource: &ApiResource, object: &impl Resource) -> ObjectReference {
    let metadata = object.metadata();
    ObjectReference {
        api_version: Some(resource.api_version()),
        kind: Some(resource.kind.clone()),
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        resource_version: metadata.resource_version.clone(),
        uid: metadata.uid.clone(),
        field_path: None,
    }
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
    use k8s_openapi::api::core::v1::Node;

    use super::*;

    fn metadata(namespace: Option<&str>, name: &str, uid: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            namespace: namespace.map(str::to_owned),
            name: Some(name.to_owned()),
            uid: uid.map(str::to_owned),
            ..ObjectMeta::default()
        }
    }

    fn deployment(namespace: Option<&str>, name: &str, uid: Option<&str>) -> Deployment {
        Deployment {
            metadata: metadata(namespace, name, uid),
            ..Deployment::default()
        }
    }

    fn set(namespace: Option<&str>) -> ReplicaSet {
        ReplicaSet {
            metadata: metadata(namespace, "set", None),
            ..ReplicaSet::default()
        }
    }

    #[test]
    fn what_may_not_own_does_not() {
        let rows = [
            (Some("a"), Some("a"), Some("u"), None),
            (None, Some("a"), Some("u"), None),
            (None, None, Some("u"), None),
            (
                Some("a"),
                None,
                Some("u"),
                Some("cluster-scoped resource must not have a namespace-scoped owner, owner's namespace a"),
            ),
            (
                Some("a"),
                Some("b"),
                Some("u"),
                Some(
                    "cross-namespace owner references are disallowed, owner's namespace a, obj's namespace b",
                ),
            ),
            (Some("a"), Some("a"), None, Some("the owner web has no uid yet")),
        ];
        for (owner_namespace, namespace, uid, expect) in rows {
            let owner = deployment(owner_namespace, "web", uid);
            for result in [
                set_controller_reference(&mut set(namespace), &owner),
                set_owner_reference(&mut set(namespace), &owner),
            ] {
                let found = result.err().map(|error| error.to_string());
                assert_eq!(found.as_deref(), expect, "{owner_namespace:?} {namespace:?}");
            }
        }
    }

    #[test]
    fn there_is_one_controller_and_one_reference_to_each_owner() {
        let mut set = set(Some("a"));
        let web = deployment(Some("a"), "web", Some("u1"));
        let node = Node {
            metadata: metadata(None, "n", Some("u2")),
            ..Node::default()
        };
        set_controller_reference(&mut set, &web).unwrap();
        set_owner_reference(&mut set, &node).unwrap();
        let error = set_controller_reference(&mut set, &node).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Object a/set is already owned by another Deployment controller web"
        );
        // Another version of the same kind, and another object of the same name, are the same owner.
        let mut beta = Deployment::api_resource();
        beta.version = "v1beta1".to_owned();
        let again = deployment(Some("a"), "web", Some("u3"));
        set_controller_reference_as(&mut set, &beta, &again).unwrap();
        let owners = set.metadata.owner_references.clone().unwrap();
        let found: Vec<_> = owners
            .iter()
            .map(|owner| (owner.api_version.as_str(), owner.uid.as_str(), owner.controller))
            .collect();
        assert_eq!(found, [("apps/v1beta1", "u3", Some(true)), ("v1", "u2", None)]);
        // An owner that was the controller can be one of many.
        set_owner_reference(&mut set, &web).unwrap();
        assert!(controller_of(&set).is_none());
        set_controller_reference(&mut set, &node).unwrap();
        assert!(is_controlled_by(&set, &node));
        assert!(remove_owner_reference(&mut set, &web) && !remove_owner_reference(&mut set, &web));
        assert!(remove_owner_reference(&mut set, &node));
        assert_eq!(set.metadata.owner_references, None);
    }

    #[test]
    fn references_name_the_object() {
        let reference = object_reference(&deployment(Some("a"), "web", Some("u")));
        assert_eq!(reference.api_version.as_deref(), Some("apps/v1"));
        assert_eq!(reference.kind.as_deref(), Some("Deployment"));
        assert_eq!(reference.namespace.as_deref(), Some("a"));
        assert_eq!(reference.uid.as_deref(), Some("u"));
    }
}
