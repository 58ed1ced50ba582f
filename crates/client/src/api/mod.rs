//! The typed client: [`Api`], with every verb of one resource. With [`DynamicObject`] it serves any kind.

mod options;
mod subresource;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use http::{Method, Request, header};
use kubewright_core::{
    ApiResource, DeleteOptions, DynamicObject, List, ListOptions, Namespaced, PartialObject, Patch, Resource,
    Scope, StaticResource, WriteOptions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::options::{ApplyConflicts, ApplyOptions, Deleted, Persistence};
use crate::client::{Call, Client};
use crate::error::Error;
use crate::raw::{ResourcePath, Shape, View, with_query};
use crate::watch::Watch;

/// The objects of one kind, in one namespace or in the whole cluster.
///
/// Scope is checked by the compiler for static types: a cluster-scoped type has only [`all`](Self::all), and the objects
/// of a namespaced type cannot be read or written by name without a namespace, since [`all`](Self::all) then answers
/// [`Error::Invalid`] to such calls.
///
/// ```no_run
/// # async fn example(client: kubewright_client::Client) -> Result<(), kubewright_client::Error> {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_client::{Api, WriteOptions};
///
/// let config_maps: Api<ConfigMap> = Api::namespaced(&client, "team");
/// let mut settings = config_maps.get("settings").await?;
/// settings.data.get_or_insert_default().insert("colour".to_owned(), "green".to_owned());
/// config_maps.replace("settings", &settings, &WriteOptions::default()).await?;
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
pub struct Api<K> {
    client: Client,
    resource: ApiResource,
    namespace: Option<String>,
    view: View,
    kind: PhantomData<fn() -> K>,
}

/// The client for kinds that are known at run time only, for example from [discovery](crate::discovery).
pub type DynamicApi = Api<DynamicObject>;

impl<K: StaticResource> Api<K> {
    /// Objects of the whole cluster.
    pub fn all(client: &Client) -> Self {
        Self::of(client, K::api_resource(), None)
    }
}

impl<K: StaticResource + Resource<Scope = Namespaced>> Api<K> {
    /// Objects of a namespace.
    pub fn namespaced(client: &Client, namespace: impl Into<String>) -> Self {
        Self::of(client, K::api_resource(), Some(namespace.into()))
    }

    /// Objects of the client's default namespace.
    pub fn default_namespaced(client: &Client) -> Self {
        Self::namespaced(client, client.default_namespace())
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

impl<K> Api<K> {
    fn of(client: &Client, resource: ApiResource, namespace: Option<String>) -> Self {
        Self {
            client: client.clone(),
            resource,
            namespace,
            view: View::Full,
            kind: PhantomData,
        }
    }

    /// The same objects with their metadata only: the server sends a fraction of the bytes. Read-only.
    pub fn metadata_only(&self) -> Api<PartialObject<K>> {
        Api {
            view: View::Metadata,
            ..Api::of(&self.client, self.resource.clone(), self.namespace.clone())
        }
    }

    /// The resource.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// The namespace; `None` for the whole cluster.
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

    fn collection(&self, verb: &'static str) -> Call {
        Call::new(verb, self.resource.path(self.namespace(), None))
    }

    /// The path of an object or of one of its subresources.
    fn object(&self, verb: &'static str, name: &str, subresource: Option<&str>) -> Result<Call, Error> {
        let path = match subresource {
            Some(subresource) => self
                .resource
                .subresource_path(self.namespace(), name, subresource),
            None => self.resource.path(self.namespace(), Some(name)),
        };
        let call = Call::new(verb, path);
        if name.is_empty() {
            return Err(call.invalid("an object needs a name"));
        }
        if self.resource.scope == Scope::Namespaced && self.namespace().is_none_or(str::is_empty) {
            return Err(call.invalid("a namespaced object needs a namespace"));
        }
        Ok(call)
    }

    async fn send<T: DeserializeOwned + 'static>(
        &self,
        call: Call,
        method: Method,
        query: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<T, Error> {
        let bytes = self.send_raw(&call, method, query, body, Shape::Object).await?;
        let mut object =
            serde_json::from_slice(&bytes).map_err(|error| Error::decode(call.verb, &call.path, error))?;
        name_kind(&self.resource, &mut object);
        Ok(object)
    }

    async fn send_raw(
        &self,
        call: &Call,
        method: Method,
        query: &str,
        body: Option<(&str, Vec<u8>)>,
        shape: Shape,
    ) -> Result<Bytes, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(with_query(&call.path, query))
            .header(header::ACCEPT, self.view.accept(shape));
        let mut bytes = Bytes::new();
        if let Some((media_type, body)) = body {
            request = request.header(header::CONTENT_TYPE, media_type);
            bytes = body.into();
        }
        let request = request.body(bytes).map_err(|error| call.invalid(error))?;
        self.client.call(call, request).await
    }

    async fn write<B: Serialize + ?Sized, T: DeserializeOwned + 'static>(
        &self,
        call: Call,
        method: Method,
        body: &B,
        options: &WriteOptions,
    ) -> Result<T, Error> {
        let body = encode(&call, body)?;
        self.send(call, method, &options.to_query(), Some((JSON, body)))
            .await
    }
}

/// Reading.
impl<K: DeserializeOwned + 'static> Api<K> {
    /// Reads one object.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if there is none, and whatever else [`Client::request_json`] may answer; the same holds
    /// for every other verb.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        self.send(self.object("get", name, None)?, Method::GET, "", None)
            .await
    }

    /// Reads one object; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists objects: one page if the options have a limit, otherwise all.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get). [`Error::is_expired`] if the continue token or the version is too old.
    pub async fn list(&self, options: &ListOptions) -> Result<List<K>, Error> {
        let call = self.collection("list");
        let query = ListOptions {
            watch: false,
            ..options.clone()
        }
        .to_query();
        let bytes = self
            .send_raw(&call, Method::GET, &query, None, Shape::List)
            .await?;
        let mut list: List<K> =
            serde_json::from_slice(&bytes).map_err(|error| Error::decode(call.verb, &call.path, error))?;
        list.items
            .iter_mut()
            .for_each(|item| name_kind(&self.resource, item));
        Ok(list)
    }

    /// Watches objects: a stream of changes from the version in the options on, or from now on.
    ///
    /// # Errors
    ///
    /// The watch could not be started; [`Error::is_expired`] if the version is too old.
    pub async fn watch(&self, options: &ListOptions) -> Result<Watch<K>, Error> {
        Ok(Watch::new(
            self.client.watch_raw(&self.path(), options).await?,
            self.resource.clone(),
        ))
    }

    /// Reads the object through its `status` subresource.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_not_found`] also if the kind has no status.
    pub async fn get_status(&self, name: &str) -> Result<K, Error> {
        self.get_subresource(name, "status").await
    }
}

/// Writing.
impl<K: Serialize + DeserializeOwned + 'static> Api<K> {
    /// Creates an object; the server chooses the name if only `generateName` is set.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_already_exists`], [`Error::is_invalid`].
    pub async fn create(&self, object: &K, options: &WriteOptions) -> Result<K, Error> {
        let call = self.collection("create");
        if self.resource.scope == Scope::Namespaced && self.namespace().is_none_or(str::is_empty) {
            return Err(call.invalid("a namespaced object needs a namespace"));
        }
        self.write(call, Method::POST, object, options).await
    }

    /// Replaces an object, if it has not changed since the version in its metadata.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_conflict`] if it has changed.
    pub async fn replace(&self, name: &str, object: &K, options: &WriteOptions) -> Result<K, Error> {
        self.write(self.object("update", name, None)?, Method::PUT, object, options)
            .await
    }

    /// Changes an object by a patch. `force` in the options goes with [`Patch::Apply`] only.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::Invalid`] for an apply without a field manager.
    pub async fn patch(&self, name: &str, patch: &Patch, options: &WriteOptions) -> Result<K, Error> {
        self.patch_object(name, None, patch, options).await
    }

    /// Server-side apply: makes the fields of `object` what they are there, and gives them to the field manager. The
    /// object is created if there is none.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_conflict`] if another manager owns a field and it is not forced.
    pub async fn apply<T: Serialize + ?Sized>(
        &self,
        name: &str,
        object: &T,
        options: &ApplyOptions,
    ) -> Result<K, Error> {
        let call = self.object("apply", name, None)?;
        self.apply_object(call, object, options).await
    }

    /// Server-side apply through the `status` subresource.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); [`Error::is_not_found`] if there is no such object.
    pub async fn apply_status<T: Serialize + ?Sized>(
        &self,
        name: &str,
        object: &T,
        options: &ApplyOptions,
    ) -> Result<K, Error> {
        let call = self.object("apply", name, Some("status"))?;
        self.apply_object(call, object, options).await
    }

    /// Replaces the status of an object; everything else in `object` but the version is ignored.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_status(&self, name: &str, object: &K, options: &WriteOptions) -> Result<K, Error> {
        self.write(
            self.object("update", name, Some("status"))?,
            Method::PUT,
            object,
            options,
        )
        .await
    }

    /// Changes the status of an object by a patch.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub async fn patch_status(&self, name: &str, patch: &Patch, options: &WriteOptions) -> Result<K, Error> {
        self.patch_object(name, Some("status"), patch, options).await
    }

    /// Deletes an object. It may stay for a while, until its finalizers are gone or its grace period is over.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_conflict`] if a precondition does not hold.
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted<K>, Error> {
        let call = self.object("delete", name, None)?;
        let body = encode(&call, options)?;
        // Servers read the body alone; what stands between sees by the query that nothing is stored.
        let dry_run = options.is_dry_run();
        let query = WriteOptions {
            dry_run,
            ..WriteOptions::default()
        }
        .to_query();
        let bytes = self
            .send_raw(&call, Method::DELETE, &query, Some((JSON, body)), Shape::Object)
            .await?;
        let decode = |error| Error::decode(call.verb, &call.path, error);
        let types: kubewright_core::TypeMeta = serde_json::from_slice(&bytes).map_err(decode)?;
        if types.kind == "Status" && types.api_version == "v1" {
            return serde_json::from_slice(&bytes)
                .map(|status| Deleted::Status(Box::new(status)))
                .map_err(decode);
        }
        serde_json::from_slice(&bytes)
            .map(|object| Deleted::Object(Box::new(object)))
            .map_err(decode)
    }

    /// Deletes what the list options select: everything in the collection by default.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn delete_collection(
        &self,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<(), Error> {
        let call = self.collection("deletecollection");
        let body = encode(&call, options)?;
        let query = ListOptions {
            watch: false,
            ..selection.clone()
        }
        .to_query();
        self.send_raw(&call, Method::DELETE, &query, Some((JSON, body)), Shape::List)
            .await?;
        Ok(())
    }
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            view: self.view,
            ..Self::of(&self.client, self.resource.clone(), self.namespace.clone())
        }
    }
}

impl<K> fmt::Debug for Api<K> {
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

const JSON: &str = "application/json";

fn encode<B: Serialize + ?Sized>(call: &Call, body: &B) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(|error| call.invalid(error))
}
