//! HTTP to pods, services and nodes through the server: [`ProxyTarget`].

use http::Method;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kubewright_core::{Resource, ScopeKind};

use crate::api::Api;
use crate::rest::RestRequest;

/// What to speak to behind a proxy: `[https:]NAME[:PORT]` (apimachinery pkg/util/net `SplitSchemeNamePort`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyTarget {
    name: String,
    port: Option<String>,
    scheme: Option<&'static str>,
}

impl ProxyTarget {
    /// An object by name: the first port of a pod, the only port of a service, the kubelet of a node.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            port: None,
            scheme: None,
        }
    }

    /// A port, by number, or of a service by name.
    #[must_use]
    pub fn port(mut self, port: impl ToString) -> Self {
        self.port = Some(port.to_string());
        self
    }

    /// Over TLS, whose certificate the server does not verify.
    #[must_use]
    pub fn https(mut self) -> Self {
        self.scheme = Some("https");
        self
    }

    /// As the last part of a path.
    fn segment(&self) -> String {
        match (self.scheme, &self.port) {
            (None, None) => self.name.clone(),
            (None, Some(port)) => format!("{}:{port}", self.name),
            (Some(scheme), port) => {
                format!("{scheme}:{}:{}", self.name, port.as_deref().unwrap_or_default())
            }
        }
    }
}

impl From<&str> for ProxyTarget {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl Api<Pod> {
    /// A request to what listens in a pod, to be completed and sent. `path` is as it stands in a URL, without a query.
    ///
    /// ```no_run
    /// # async fn example(client: kubewright_client::Client) -> Result<(), kubewright_client::Error> {
    /// use http::Method;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_client::{Api, ProxyTarget};
    ///
    /// let pods: Api<Pod> = Api::namespaced(&client, "team");
    /// let metrics = pods.proxy(Method::GET, &ProxyTarget::new("web").port(9090), "/metrics").bytes().await?;
    /// # Ok(()) }
    /// ```
    pub fn proxy(&self, method: Method, target: &ProxyTarget, path: &str) -> RestRequest {
        proxy(self, method, target, path)
    }
}

impl Api<Service> {
    /// A request to what is behind a service, to be completed and sent. `path` is as it stands in a URL, without a query.
    pub fn proxy(&self, method: Method, target: &ProxyTarget, path: &str) -> RestRequest {
        proxy(self, method, target, path)
    }
}

impl Api<Node> {
    /// A request to the kubelet of a node or to a port of it, to be completed and sent. `path` is as it stands in a URL, without a query.
    pub fn proxy(&self, method: Method, target: &ProxyTarget, path: &str) -> RestRequest {
        proxy(self, method, target, path)
    }
}

fn proxy<K: Resource, S: ScopeKind>(
    api: &Api<K, S>,
    method: Method,
    target: &ProxyTarget,
    path: &str,
) -> RestRequest {
    let path = path.strip_prefix('/').unwrap_or(path);
    let request = api.object_request(method, &target.segment());
    let mut request = request.subresource(&format!("proxy/{path}")).accept("*/*");
    if path.contains(['?', '#']) {
        request.refuse("the path of a proxied request holds no query: that has parameters of its own");
    }
    if target.name.contains(':') {
        request.refuse(format_args!("no object is named {:?}", target.name));
    }
    request
}
