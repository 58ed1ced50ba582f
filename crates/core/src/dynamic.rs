//! Objects whose kind is known at run time alone.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApiResource, Namespaced, ObjectMeta, Resource};

/// `apiVersion` and `kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeMeta {
    /// Group and version, such as `apps/v1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The kind, such as `Deployment`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

/// An object of any kind: metadata typed, all else as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DynamicObject {
    /// `apiVersion` and `kind`.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// The object's metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Every other field.
    #[serde(flatten)]
    pub data: serde_json::Map<String, Value>,
}

impl DynamicObject {
    /// An object of a kind with a name and nothing else.
    pub fn new(resource: &ApiResource, name: impl Into<String>) -> Self {
        Self {
            types: TypeMeta {
                api_version: resource.api_version(),
                kind: resource.kind.clone(),
            },
            metadata: ObjectMeta {
                name: Some(name.into()),
                ..ObjectMeta::default()
            },
            data: serde_json::Map::new(),
        }
    }

    /// The object in a namespace.
    #[must_use]
    pub fn within(mut self, namespace: impl Into<String>) -> Self {
        self.metadata.namespace = Some(namespace.into());
        self
    }

    /// The object with a top-level field set.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.insert(field.into(), value.into());
        self
    }
}

impl Resource for DynamicObject {
    type Scope = Namespaced;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The metadata of an object alone, as `PartialObjectMetadata` carries it; `K` says of what kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartialObject<K = DynamicObject> {
    /// `meta.k8s.io/v1` and `PartialObjectMetadata` on the wire.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// The object's metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

impl<K: Resource> Resource for PartialObject<K> {
    type Scope = K::Scope;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
