//! The typed client: [`Api`], with every verb of one resource. With [`DynamicObject`] it serves any kind.

mod logs;
mod options;
mod pages;
mod read;
mod subresource;
mod write;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use http::Method;
use kubewright_core::{
    ApiResource, Cluster, DynamicObject, Namespaced, PartialObject, Resource, Scope, ScopeKind,
    StaticResource,
};
use serde::de::DeserializeOwned;

pub use self::logs::{LogEnd, LogOf, LogOptions, LogOutput, LogSince, LogTimestamps, Logs, MAX_LINE_BYTES};
pub use self::options::{ApplyConflicts, ApplyOptions, Deleted, Persistence};
pub use self::pages::{PAGE_SIZE, Pages};
use crate::client::Client;
use crate::error::Error;
use crate::raw::{ResourcePath, Shape, View};
use crate::rest::RestRequest;

/// The objects of one kind: in a namespace, in all of them, or of the cluster.
///
/// Which of these is part of the type, so that a call that cannot work does not compile. `Api<K>` is where objects of the kind can
/// be found by name: one namespace for a namespaced kind, the cluster for others. `Api<K, AllNamespaces>` can be listed and
/// watched.
///
/// ```no_run
/// # async fn example(client: kubewright_client::Client) -> Result<(), kubewright_client::Error> {
/// use k8s_openapi::api::core::v1::{ConfigMap, Node};
/// use kubewright_client::{Api, ListOptions, WriteOptions};
///
/// let config_maps: Api<ConfigMap> = Api::namespaced(&client, "team");
/// let mut settings = config_maps.get("settings").await?;
/// settings.data.get_or_insert_default().insert("colour".to_owned(), "green".to_owned());
/// config_maps.replace("settings", &settings, &WriteOptions::default()).await?;
///
/// let everywhere = Api::<ConfigMap>::all(&client).list(&ListOptions::default()).await?;
/// let nodes: Api<Node> = Api::cluster(&client);
/// # Ok(()) }
/// ```
///
/// Nodes are no objects of a namespace:
///
/// ```compile_fail
/// # fn example(client: kubewright_client::Client) {
/// let nodes = kubewright_client::Api::<k8s_openapi::api::core::v1::Node>::namespaced(&client, "team");
/// # }
/// ```
///
/// nor are config maps objects of the cluster:
///
/// ```compile_fail
/// # fn example(client: kubewright_client::Client) {
/// let config_maps = kubewright_client::Api::<k8s_openapi::api::core::v1::ConfigMap>::cluster(&client);
/// # }
/// ```
///
/// and a name says nothing where the namespace is open:
///
/// ```compile_fail
/// # async fn example(client: kubewright_client::Client) {
/// let config_maps = kubewright_client::Api::<k8s_openapi::api::core::v1::ConfigMap>::all(&client);
/// config_maps.get("settings").await;
/// # }
/// ```
pub struct Api<K: Resource, S = <K as Resource>::Scope> {
    client: Client,
    resource: ApiResource,
    namespace: Option<String>,
    view: View,
    kind: PhantomData<fn() -> (K, S)>,
}

/// The client for kinds that are known at run time only, for example from [discovery](crate::discovery). What the compiler cannot know
/// of them is an [`Error::Invalid`]: to ask by name for an object of a namespaced kind without saying the namespace.
pub type DynamicApi = Api<DynamicObject>;

/// The scope of an [`Api`] of all namespaces: there are objects to list and to watch, and none that a name alone would find.
#[derive(Debug, Clone, Copy)]
pub enum AllNamespaces {}

impl<K: StaticResource + Resource<Scope = Cluster>> Api<K> {
    /// Objects of the cluster.
    pub fn cluster(client: &Client) -> Self {
        Self::of(client, K::api_resource(), None)
    }
}

impl<K: StaticResource + Resource<Scope = Namespaced>> Api<K> {
    /// Objects of all namespaces.
    pub fn all(client: &Client) -> Api<K, AllNamespaces> {
        Api::of(client, K::api_resource(), None)
    }

    /// Objects of a namespace.
    pub fn namespaced(client: &Client, namespace: impl Into<String>) -> Self {
        Self::of(client, K::api_resource(), Some(namespace.into()))
    }

    /// Objects of the client's default namespace.
    pub fn default_namespaced(client: &Client) -> Self {
        Self::namespaced(client, client.default_namespace())
    }
}

impl<K: Resource<Scope = Namespaced>> Api<K> {
    /// The same objects in another namespace.
    #[must_use]
    pub fn within(&self, namespace: impl Into<String>) -> Self {
        Self {
            view: self.view,
            ..Self::of(&self.client, self.resource.clone(), Some(namespace.into()))
        }
    }
}

impl DynamicApi {
    /// Objects of a resource in the whole cluster.
    pub fn dynamic_all(client: &Client, resource: &ApiResource) -> Self {
        Self::of(client, resource.clone(), None)
    }

    /// Objects of a resource in a namespace; for cluster-scoped resources, those of the cluster.
    pub fn dynamic_namespaced(client: &Client, resource: &ApiResource, namespace: impl Into<String>) -> Self {
        let namespace = (resource.scope == Scope::Namespaced).then(|| namespace.into());
        Self::of(client, resource.clone(), namespace)
    }
}

impl<K: Resource, S> Api<K, S> {
    fn of(client: &Client, resource: ApiResource, namespace: Option<String>) -> Self {
        Self {
            client: client.clone(),
            resource,
            namespace,
            view: View::Full,
            kind: PhantomData,
        }
    }

    /// The same objects with their metadata only: the server sends a fraction of the bytes. They can be patched and deleted, not
    /// created or replaced.
    pub fn metadata_only(&self) -> Api<PartialObject<K>, S> {
        Api {
            view: View::Metadata,
            ..Api::of(&self.client, self.resource.clone(), self.namespace.clone())
        }
    }

    /// The resource.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The namespace; `None` for all of them and for the cluster.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The client it sends with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The collection, for raw lists and watches.
    pub fn path(&self) -> ResourcePath {
        ResourcePath {
            view: self.view,
            ..ResourcePath::new(&self.resource, self.namespace())
        }
    }

    /// A request for the collection, to be completed and sent.
    pub fn collection_request(&self, method: Method) -> RestRequest {
        let request = RestRequest::of(&self.client, method, &self.resource, self.namespace());
        request.accept(self.view.accept(Shape::List))
    }
}

/// Requests for one object.
impl<K: Resource, S: ScopeKind> Api<K, S> {
    /// A request for an object, to be completed and sent.
    pub fn object_request(&self, method: Method, name: &str) -> RestRequest {
        self.within_scope(method).name(name)
    }

    /// A request to where objects are, which is one namespace for those of namespaces.
    fn within_scope(&self, method: Method) -> RestRequest {
        let mut request = RestRequest::of(&self.client, method, &self.resource, self.namespace());
        if self.resource.scope == Scope::Namespaced && self.namespace.is_none() {
            request.refuse("a namespaced object needs a namespace");
        }
        request.accept(self.view.accept(Shape::Object))
    }
}

impl<K: Resource + DeserializeOwned + 'static, S> Api<K, S> {
    /// Sends a request that is answered with an object.
    async fn send(&self, request: RestRequest) -> Result<K, Error> {
        let mut object = request.json().await?;
        name_kind(&self.resource, &mut object);
        Ok(object)
    }
}

impl<K: Resource, S> Clone for Api<K, S> {
    fn clone(&self) -> Self {
        Self {
            view: self.view,
            ..Self::of(&self.client, self.resource.clone(), self.namespace.clone())
        }
    }
}

impl<K: Resource, S> fmt::Debug for Api<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("path", &self.path().path)
            .finish_non_exhaustive()
    }
}

/// Items of lists of built-in kinds come without `apiVersion` and `kind`; a dynamic object is lost without.
pub(crate) fn name_kind<T: 'static>(resource: &ApiResource, object: &mut T) {
    if let Some(object) = (object as &mut dyn Any).downcast_mut::<DynamicObject>()
        && object.types.kind.is_empty()
    {
        object.types.api_version = resource.api_version();
        object.types.kind.clone_from(&resource.kind);
    }
}
