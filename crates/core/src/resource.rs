//! The trait of every object that has metadata, and of those whose kind is known at compile time.

use crate::{ApiResource, ObjectMeta, Scope};

/// An object with metadata.
///
/// Implemented for every type of `k8s-openapi` that has `ObjectMeta`, for derived custom resources (which implement the
/// same two traits) and for [`DynamicObject`](crate::DynamicObject) and [`PartialObject`](crate::PartialObject).
pub trait Resource {
    /// [`Namespaced`] or [`Cluster`]: makes misuse of scope a compile error in typed clients. Dynamic objects, whose scope
    /// is known at run time alone, are [`Namespaced`] for the compiler and follow their [`ApiResource`].
    type Scope: ScopeKind;

    /// The object's metadata.
    fn metadata(&self) -> &ObjectMeta;

    /// The object's metadata, to change.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;

    /// The object's name, or the empty string before the server made one from `generateName`.
    fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }

    /// The object's namespace, if it has one.
    fn namespace(&self) -> Option<&str> {
        self.metadata().namespace.as_deref()
    }

    /// The object's key.
    fn key(&self) -> crate::ObjectKey {
        crate::ObjectKey::of(self.namespace(), self.name())
    }
}

/// A resource whose group, version, kind and plural are known at compile time.
pub trait StaticResource: Resource {
    /// The group's name; empty for the core group.
    const GROUP: &'static str;
    /// The version's name.
    const VERSION: &'static str;
    /// The kind's name.
    const KIND: &'static str;
    /// The plural name, as in URLs.
    const PLURAL: &'static str;

    /// The same as a value.
    fn api_resource() -> ApiResource {
        ApiResource {
            group: Self::GROUP.to_owned(),
            version: Self::VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            plural: Self::PLURAL.to_owned(),
            scope: <Self::Scope as ScopeKind>::SCOPE,
        }
    }
}

/// A scope at compile time.
pub trait ScopeKind {
    /// The same as a value.
    const SCOPE: Scope;
}

/// Objects live in namespaces.
#[derive(Clone, Copy, Debug)]
pub enum Namespaced {}

/// Objects belong to the cluster as a whole.
#[derive(Clone, Copy, Debug)]
pub enum Cluster {}

impl ScopeKind for Namespaced {
    const SCOPE: Scope = Scope::Namespaced;
}

impl ScopeKind for Cluster {
    const SCOPE: Scope = Scope::Cluster;
}

impl<K, S> Resource for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + k8s_openapi::Resource<Scope = S>,
    S: FromOpenapiScope,
{
    type Scope = S::Scope;

    fn metadata(&self) -> &ObjectMeta {
        k8s_openapi::Metadata::metadata(self)
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        k8s_openapi::Metadata::metadata_mut(self)
    }
}

impl<K, S> StaticResource for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + k8s_openapi::Resource<Scope = S>,
    S: FromOpenapiScope,
{
    const GROUP: &'static str = <K as k8s_openapi::Resource>::GROUP;
    const VERSION: &'static str = <K as k8s_openapi::Resource>::VERSION;
    const KIND: &'static str = <K as k8s_openapi::Resource>::KIND;
    const PLURAL: &'static str = <K as k8s_openapi::Resource>::URL_PATH_SEGMENT;
}

/// Translates the scopes of `k8s-openapi` into ours.
pub trait FromOpenapiScope {
    /// Our scope.
    type Scope: ScopeKind;
}

impl FromOpenapiScope for k8s_openapi::NamespaceResourceScope {
    type Scope = Namespaced;
}

impl FromOpenapiScope for k8s_openapi::ClusterResourceScope {
    type Scope = Cluster;
}
