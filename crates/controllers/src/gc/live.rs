//! Objects as the server has them, and the requests that change them.

use std::sync::Arc;

use hashbrown::HashMap;
use k8s_openapi::api::core::v1::ObjectReference;
use kubewright_client::discovery::Discovery;
use kubewright_client::{Api, DeleteOptions, DynamicApi, Error, Patch, PropagationPolicy, WriteOptions};
use kubewright_core::{
    ApiResource, DynamicObject, GroupResource, GroupVersionKind, ObjectKey, ObjectMeta, OwnerReference,
    PartialObject,
};
use kubewright_runtime::RunnableContext;
use serde_json::{Value, json};

use super::graph::{Deletion, FOREGROUND, ORPHAN, Object, Owner, OwnerState, Uid};

/// The resources that the server offers.
#[derive(Debug, Default)]
pub(super) struct Resources {
    by_name: HashMap<GroupResource, ApiResource>,
    by_kind: HashMap<GroupVersionKind, ApiResource>,
}

impl Resources {
    pub(super) fn new(discovery: &Discovery) -> Self {
        Self {
            by_name: discovery
                .preferred_resources()
                .map(|found| (found.resource.group_resource(), found.resource.clone()))
                .collect(),
            by_kind: discovery
                .resources()
                .map(|found| (found.resource.group_version_kind(), found.resource.clone()))
                .collect(),
        }
    }

    pub(super) fn get(&self, resource: &GroupResource) -> Option<&ApiResource> {
        self.by_name.get(resource)
    }

    /// The resource of an owner, in the version that the reference names.
    pub(super) fn of_owner(&self, owner: &OwnerReference) -> Option<&ApiResource> {
        let kind = GroupVersionKind::from_type_meta(&owner.api_version, &owner.kind).ok()?;
        self.by_kind.get(&kind)
    }
}

/// An object from its metadata; `None` if the server left out what every object has.
pub(super) fn object(resource: &ApiResource, metadata: &ObjectMeta) -> Option<Object> {
    let has = |name: &str| {
        metadata
            .finalizers
            .iter()
            .flatten()
            .any(|finalizer| finalizer == name)
    };
    Some(Object {
        uid: metadata.uid.as_deref()?.into(),
        resource: resource.group_resource(),
        key: ObjectKey::of(metadata.namespace.as_deref(), metadata.name.as_deref()?),
        owners: metadata
            .owner_references
            .iter()
            .flatten()
            .map(|owner| Owner {
                uid: owner.uid.as_str().into(),
                blocks: owner.block_owner_deletion == Some(true),
            })
            .collect(),
        deletion: if metadata.deletion_timestamp.is_none() {
            Deletion::No
        } else if has(FOREGROUND) {
            Deletion::Foreground
        } else if has(ORPHAN) {
            Deletion::Orphan
        } else {
            Deletion::Plain
        },
    })
}

/// What an owner is to its dependants, by its deletion.
pub(super) fn state(deletion: Deletion) -> OwnerState {
    match deletion {
        Deletion::Foreground => OwnerState::Waiting,
        Deletion::No | Deletion::Plain | Deletion::Orphan => OwnerState::Present,
    }
}

/// What the server says of an object.
#[derive(Debug)]
pub(super) enum Found {
    /// It is there.
    Live(Box<Live>),
    /// It is gone, or another has its name.
    Gone,
    /// Nobody knows: its kind is not offered at the moment, because discovery of its group failed or the kind is going.
    /// Only the end of the kind's watch tells the two apart.
    Unknown,
}

/// An object that was just read from the server.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) object: Object,
    resource: ApiResource,
    metadata: ObjectMeta,
    api: DynamicApi,
}

impl Live {
    /// Reads an object.
    pub(super) async fn get(
        ctx: &RunnableContext,
        resources: &Resources,
        known: &Object,
    ) -> Result<Found, Error> {
        let Some(resource) = resources.get(&known.resource) else {
            return Ok(Found::Unknown);
        };
        let namespace = known.key.namespace.as_deref();
        let (api, found) = read(ctx, resource, namespace, &known.key.name).await?;
        let found = found.and_then(|metadata| Some((object(resource, &metadata)?, metadata)));
        Ok(match found {
            Some((object, metadata)) if object.uid == known.uid => Found::Live(Box::new(Self {
                object,
                resource: resource.clone(),
                metadata,
                api,
            })),
            _ => Found::Gone,
        })
    }

    /// Reads an owner.
    pub(super) async fn owner_state(
        ctx: &RunnableContext,
        resource: &ApiResource,
        namespace: Option<&str>,
        owner: &OwnerReference,
    ) -> Result<OwnerState, Error> {
        let (_, found) = read(ctx, resource, namespace, &owner.name).await?;
        let found = found.and_then(|metadata| object(resource, &metadata));
        Ok(match found.filter(|found| *found.uid == *owner.uid) {
            Some(found) => state(found.deletion),
            None => OwnerState::Absent,
        })
    }

    pub(super) fn owners(&self) -> &[OwnerReference] {
        self.metadata.owner_references.as_deref().unwrap_or_default()
    }

    pub(super) fn version(&self) -> Option<String> {
        self.metadata.resource_version.clone()
    }

    /// The policy that finalizers on the object ask for.
    pub(super) fn policy(&self) -> Option<PropagationPolicy> {
        let has = |name: &str| self.metadata.finalizers.iter().flatten().any(|f| f == name);
        if has(ORPHAN) {
            return Some(PropagationPolicy::Orphan);
        }
        has(FOREGROUND).then_some(PropagationPolicy::Foreground)
    }

    pub(super) fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.resource.api_version()),
            kind: Some(self.resource.kind.clone()),
            name: self.metadata.name.clone(),
            namespace: self.metadata.namespace.clone(),
            uid: self.metadata.uid.clone(),
            ..ObjectReference::default()
        }
    }

    /// Takes owners off the object.
    pub(super) async fn remove_owners(&self, owners: &[Uid]) -> Result<(), Error> {
        let mut kept = self.owners().to_vec();
        kept.retain(|owner| !owners.iter().any(|uid| **uid == *owner.uid));
        if kept.len() == self.owners().len() {
            return Ok(());
        }
        self.patch(json!({ "ownerReferences": kept })).await.map(drop)
    }

    /// Makes no reference to an owner block its deletion.
    pub(super) async fn unblock(&mut self) -> Result<(), Error> {
        let mut owners = self.owners().to_vec();
        owners
            .iter_mut()
            .for_each(|owner| owner.block_owner_deletion = Some(false));
        if let Some(metadata) = self.patch(json!({ "ownerReferences": owners })).await? {
            self.metadata = metadata;
        }
        Ok(())
    }

    pub(super) async fn remove_finalizer(&self, name: &str) -> Result<(), Error> {
        let mut finalizers = self.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|finalizer| finalizer != name);
        self.patch(json!({ "finalizers": finalizers })).await.map(drop)
    }

    pub(super) async fn delete(&self, options: &DeleteOptions) -> Result<(), Error> {
        match self.api.delete(&self.object.key.name, options).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Changes the metadata, if the object is still as it was read.
    async fn patch(&self, mut metadata: Value) -> Result<Option<ObjectMeta>, Error> {
        metadata["uid"] = json!(self.metadata.uid);
        metadata["resourceVersion"] = json!(self.metadata.resource_version);
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let patched = self
            .api
            .patch(&self.object.key.name, &patch, &WriteOptions::default())
            .await;
        match patched {
            Ok(object) => Ok(Some(object.metadata)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

async fn read(
    ctx: &RunnableContext,
    resource: &ApiResource,
    namespace: Option<&str>,
    name: &str,
) -> Result<(DynamicApi, Option<ObjectMeta>), Error> {
    let api = match namespace {
        Some(namespace) => DynamicApi::dynamic_namespaced(ctx.client(), resource, namespace),
        None => DynamicApi::dynamic_all(ctx.client(), resource),
    };
    let metadata: Api<PartialObject<DynamicObject>> = api.metadata_only();
    let found = metadata.get_opt(name).await?;
    Ok((api, found.map(|object| object.metadata)))
}

/// The uid as the graph has it.
pub(super) fn uid(text: &str) -> Uid {
    Arc::from(text)
}
