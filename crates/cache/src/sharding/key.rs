//! Which share an object belongs to.

use kubewright_core::{ApiResource, GroupVersion, ObjectKey, OwnerReference, Scope};

use super::ring::ring_hash;
use crate::cached::Cached;

/// What decides to which replica an object belongs: the text `group/kind/namespace/name` of the object itself or of its
/// controller, hashed.
///
/// That is the key of the kubernetes-controller-sharding project (`pkg/sharding/key`). It has no uid in it, so that
/// whoever has but a key, such as a worker whose object is gone, knows whose it is, and an object that is deleted and
/// made again stays where it was. It has no version in it either, so that a change of version moves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShardKey(u64);

impl ShardKey {
    /// The key of an object, be it there or not.
    #[must_use]
    pub fn of(resource: &ApiResource, key: &ObjectKey) -> Self {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        Self::of_parts(&resource.group, &resource.kind, namespace, &key.name)
    }

    fn of_parts(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self(ring_hash(&format!("{group}/{kind}/{namespace}/{name}")))
    }

    pub(crate) fn hash(self) -> u64 {
        self.0
    }
}

/// How the objects of a kind are shared out.
///
/// A controller uses [`Own`](Self::Own) for its main kind and [`Controller`](Self::Controller) for the kinds that it
/// creates: then an object and its children belong to the same replica. That goes one level deep: the pods of a
/// deployment belong to their replica set, not to the deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardBy {
    /// Each by itself, whoever controls it.
    Own(ApiResource),
    /// With its controller (the owner reference with `controller: true`), or by itself where it has none.
    Controller {
        /// The kind that is shared out.
        resource: ApiResource,
        /// Where the controllers live. An owner reference does not say, and the key of a cluster-scoped controller has
        /// no namespace.
        owners: Scope,
    },
}

impl ShardBy {
    /// The key of an object.
    #[must_use]
    pub fn key<K>(&self, object: &Cached<K>) -> ShardKey {
        match self {
            Self::Own(resource) => ShardKey::of(resource, object.key()),
            Self::Controller { resource, owners } => {
                controller_key(object.owners().controller(), object.namespace(), *owners)
                    .unwrap_or_else(|| ShardKey::of(resource, object.key()))
            }
        }
    }
}

fn controller_key(
    controller: Option<&OwnerReference>,
    namespace: Option<&str>,
    owners: Scope,
) -> Option<ShardKey> {
    let owner = controller?;
    let version: GroupVersion = owner.api_version.parse().ok()?;
    let namespace = match owners {
        Scope::Namespaced => namespace.unwrap_or_default(),
        Scope::Cluster => "",
    };
    Some(ShardKey::of_parts(
        &version.group,
        &owner.kind,
        namespace,
        &owner.name,
    ))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::{Node, Pod};
    use kubewright_core::StaticResource;

    use super::*;

    #[test]
    fn children_are_with_their_controller() {
        let pod = |owners: &str| {
            let json = format!(
                r#"{{"metadata":{{"name":"p","namespace":"n","resourceVersion":"1","ownerReferences":[{owners}]}}}}"#
            );
            Cached::<Pod>::from_json(json.as_bytes()).unwrap()
        };
        let owner = |version: &str, kind: &str, controller: bool| {
            format!(
                r#"{{"apiVersion":"{version}","kind":"{kind}","name":"o","uid":"u","controller":{controller}}}"#
            )
        };
        let (sets, nodes, pods) = (
            ReplicaSet::api_resource(),
            Node::api_resource(),
            Pod::api_resource(),
        );
        let set = ShardKey::of(&sets, &ObjectKey::parse("n/o"));
        let node = ShardKey::of(&nodes, &ObjectKey::parse("o"));
        let own = ShardKey::of(&pods, &ObjectKey::parse("n/p"));
        let with = |owners| ShardBy::Controller {
            resource: Pod::api_resource(),
            owners,
        };
        let (in_namespace, in_cluster) = (with(Scope::Namespaced), with(Scope::Cluster));
        let rows = [
            (owner("apps/v1", "ReplicaSet", true), &in_namespace, set),
            // Another version is the same kind.
            (owner("apps/v2", "ReplicaSet", true), &in_namespace, set),
            (owner("v1", "Node", true), &in_cluster, node),
            (owner("apps/v1", "ReplicaSet", false), &in_namespace, own),
            (String::new(), &in_namespace, own),
            (
                owner("apps/v1", "ReplicaSet", true),
                &ShardBy::Own(Pod::api_resource()),
                own,
            ),
        ];
        for (owners, by, expect) in rows {
            assert_eq!(by.key(&pod(&owners)), expect, "{owners} {by:?}");
        }
        assert_ne!(set, node);
        assert_ne!(set, own);
    }
}
