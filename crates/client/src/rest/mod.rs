//! Requests as the API speaks of them: [`RestClient`] and its [`RestRequest`], on which the other clients are built.

mod request;

use http::Method;
use kubewright_core::{ApiResource, GroupVersion, Patch};

pub(crate) use self::request::JSON;
pub use self::request::RestRequest;
use crate::client::Client;

/// Requests within one group and version, put together piece by piece, as client-go's `rest.RESTClient` makes them.
///
/// It is for what the typed clients do not have: subresources of one's own, answers in another media type, bodies that are
/// streams. What is sent, and how answers become values or [errors](crate::Error), is the same.
///
/// ```no_run
/// # async fn example(client: kubewright_client::Client) -> Result<(), kubewright_client::Error> {
/// use k8s_openapi::api::autoscaling::v1::Scale;
/// use kubewright_client::RestClient;
/// use kubewright_core::GroupVersion;
///
/// let apps = RestClient::new(&client, &GroupVersion::new("apps", "v1"));
/// let web = apps.get().namespace("team").resource("deployments").name("web").subresource("scale");
/// let scale: Scale = web.json().await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct RestClient {
    client: Client,
    /// `/api/v1` or `/apis/GROUP/VERSION`; empty for one of any path.
    root: String,
}

impl RestClient {
    /// Requests for a group and version; that of the core has the empty group.
    pub fn new(client: &Client, version: &GroupVersion) -> Self {
        Self {
            client: client.clone(),
            root: root(version),
        }
    }

    /// Requests for any path, which [`RestRequest::path`] says.
    pub fn unversioned(client: &Client) -> Self {
        Self {
            client: client.clone(),
            root: String::new(),
        }
    }

    /// The client it sends with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Reads an object, or lists a collection.
    pub fn get(&self) -> RestRequest {
        self.request(Method::GET)
    }

    /// Creates an object.
    pub fn post(&self) -> RestRequest {
        self.request(Method::POST)
    }

    /// Replaces an object.
    pub fn put(&self) -> RestRequest {
        self.request(Method::PUT)
    }

    /// Changes an object: the body and its media type are the patch's.
    pub fn patch(&self, patch: &Patch) -> RestRequest {
        self.request(Method::PATCH)
            .body_json_as(patch.kind().media_type(), patch.body())
    }

    /// Deletes an object or a collection.
    pub fn delete(&self) -> RestRequest {
        self.request(Method::DELETE)
    }

    /// A request with any method.
    pub fn request(&self, method: Method) -> RestRequest {
        RestRequest::new(&self.client, method, self.root.clone())
    }
}

/// The path of a group and version: `/api/v1` for that of the core, else `/apis/GROUP/VERSION`.
pub(crate) fn root(version: &GroupVersion) -> String {
    match version.group.as_str() {
        "" => format!("/api/{}", version.version),
        group => format!("/apis/{group}/{}", version.version),
    }
}

impl RestRequest {
    /// A request for the objects of a resource, in a namespace where one is given and the resource has them.
    pub(crate) fn of(
        client: &Client,
        method: Method,
        resource: &ApiResource,
        namespace: Option<&str>,
    ) -> Self {
        let rest = RestClient::new(client, &resource.group_version());
        let request = rest.request(method).resource(&resource.plural);
        match namespace.filter(|_| resource.scope == kubewright_core::Scope::Namespaced) {
            Some(namespace) => request.namespace(namespace),
            None => request,
        }
    }
}
