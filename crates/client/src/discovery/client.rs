//! The requests of discovery: [`DiscoveryClient`].

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, header};
use k8s_openapi::apimachinery::pkg::version::Info;
use kubewright_core::GroupVersion;

use super::{DiscoveredVersion, DiscoveryFailure, PartialDiscovery, ServerGroup, aggregated, legacy};
use crate::call::Call;
use crate::client::{Client, ClientOptions};
use crate::error::Error;

/// Asks a server what it offers. Nothing is remembered here, see [`CachedDiscovery`](super::CachedDiscovery).
///
/// One request to `/api` and one to `/apis` bring everything from servers with aggregated discovery (KEP-3352); older ones
/// are asked version by version, also where only one of the two is aggregated. Requests are those of client-go 0.37
/// (`discovery/discovery_client.go`), to the letter, so that caches on disk can be shared with kubectl.
///
/// ```
/// # use kubewright_client::{Client, Error, discovery::DiscoveryClient};
/// # async fn example(client: &Client) -> Result<(), Error> {
/// let (discovery, failures) = DiscoveryClient::new(client).discover().await?.into_parts();
/// for failure in &failures {
///     eprintln!("{failure}");
/// }
/// let deployments = discovery.find("deploy")?;
/// assert_eq!(deployments.resource.kind, "Deployment");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct DiscoveryClient {
    client: Client,
}

/// Limit for one request of discovery: 32 s, as client-go.
pub const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(32);

/// Requests at the same time where versions are asked for one by one: 16.
const CONCURRENT_REQUESTS: usize = 16;

/// What is asked for at `/api` and `/apis`, in this order until an answer is aggregated. The first is kubectl's, to the
/// letter: answers are cached by it. `v2beta1` was the format of Kubernetes 1.26 to 1.29.
const ACCEPTS: [&str; 2] = [
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
];

/// What everything else is asked for, as by client-go.
pub(super) const JSON: &str = "application/json, */*";

/// Where discovery begins: the core group, and all others.
const ROOTS: [&str; 2] = ["/api", "/apis"];

/// What a root answers.
enum Root {
    /// Everything.
    Whole(PartialDiscovery),
    /// The names of the versions, each to be asked for.
    Names(Vec<ServerGroup>),
}

impl DiscoveryClient {
    /// Sends by this client, with [`DISCOVERY_TIMEOUT`] as the time limit.
    pub fn new(client: &Client) -> Self {
        Self::with_timeout(client, DISCOVERY_TIMEOUT)
    }

    /// As [`new`](Self::new), with another time limit.
    pub fn with_timeout(client: &Client, timeout: Duration) -> Self {
        let options = ClientOptions {
            timeout: Some(timeout),
            ..client.options().clone()
        };
        Self {
            client: client.with_client_options(options),
        }
    }

    /// The client it sends with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Everything the server offers, and what it could not tell.
    ///
    /// # Errors
    ///
    /// Neither `/api` nor `/apis` could be read, or one of them failed otherwise than by not being there or being
    /// forbidden. Failures of single versions are part of the result.
    pub async fn discover(&self) -> Result<PartialDiscovery, Error> {
        let mut whole = PartialDiscovery::default();
        for root in self.roots().await? {
            whole.append(match root {
                Root::Whole(part) => part,
                Root::Names(groups) => self.one_by_one(&groups).await,
            });
        }
        Ok(whole)
    }

    /// The groups with their versions, in two requests to whatever server.
    ///
    /// # Errors
    ///
    /// As [`discover`](Self::discover).
    pub async fn groups(&self) -> Result<Vec<ServerGroup>, Error> {
        let mut all = Vec::new();
        for root in self.roots().await? {
            match root {
                Root::Whole(part) => all.extend(part.parts().0.groups.iter().map(ServerGroup::of)),
                Root::Names(groups) => all.extend(groups),
            }
        }
        Ok(all)
    }

    /// The resources of one version.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if the server does not offer it.
    pub async fn version(&self, group_version: &GroupVersion) -> Result<DiscoveredVersion, Error> {
        let call = self.client.call_to("discover", crate::rest::root(group_version));
        let (_, body) = self.send(&call, call.path(), JSON).await?;
        legacy::version(&body, group_version).map_err(|error| call.decode(error))
    }

    /// The version of the server.
    ///
    /// # Errors
    ///
    /// As [`Client::request_json`].
    pub async fn server_version(&self) -> Result<Info, Error> {
        let call = self.client.call_to("get", "/version");
        let (_, body) = self.send(&call, call.path(), JSON).await?;
        serde_json::from_slice(&body).map_err(|error| call.decode(error))
    }

    /// A server may offer only one of the two roots, or only one of them to this user. One that offers neither is no API
    /// server, or not for this user.
    async fn roots(&self) -> Result<Vec<Root>, Error> {
        let mut roots = Vec::with_capacity(ROOTS.len());
        let mut refused = false;
        for path in ROOTS {
            match self.root(path).await {
                Ok(root) => roots.push(root),
                Err(error) if !refused && (error.is_not_found() || error.is_forbidden()) => refused = true,
                Err(error) => return Err(error),
            }
        }
        Ok(roots)
    }

    async fn root(&self, path: &str) -> Result<Root, Error> {
        let call = self.client.call_to("discover", path);
        let fail = |error| call.decode(error);
        let mut names = Vec::new();
        for accept in ACCEPTS {
            let (media_type, body) = self.send(&call, call.path(), accept).await?;
            if aggregated::is_aggregated(&media_type) {
                return aggregated::parse(&body).map(Root::Whole).map_err(fail);
            }
            names = match path {
                "/api" => legacy::core_group(&body),
                _ => legacy::groups(&body),
            }
            .map_err(fail)?;
        }
        Ok(Root::Names(names))
    }

    async fn one_by_one(&self, groups: &[ServerGroup]) -> PartialDiscovery {
        let versions: Vec<GroupVersion> = groups.iter().flat_map(ServerGroup::group_versions).collect();
        self.versions(versions).await
    }

    /// Some versions, all at the same time.
    pub(super) async fn versions(&self, versions: Vec<GroupVersion>) -> PartialDiscovery {
        let mut whole = PartialDiscovery::default();
        let mut answers = futures_util::stream::iter(versions)
            .map(|group_version| async move { (self.version(&group_version).await, group_version) })
            .buffered(CONCURRENT_REQUESTS);
        while let Some((answer, group_version)) = answers.next().await {
            match answer {
                Ok(version) => whole.add(&group_version.group, version),
                Err(error) => whole.fail(DiscoveryFailure::new(group_version, Some(error))),
            }
        }
        whole
    }

    /// Sends a read of this address, and gives the type of the answer with it.
    pub(super) async fn send(
        &self,
        call: &Call,
        address: &str,
        accept: &'static str,
    ) -> Result<(String, Bytes), Error> {
        let request = Request::builder()
            .uri(self.with_timeout_query(address))
            .header(header::ACCEPT, accept)
            .body(Bytes::new())
            .map_err(|error| call.invalid(error))?;
        let (parts, body) = self.client.exchange(call, request).await?;
        let media_type = parts
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        Ok((media_type.unwrap_or_default().to_owned(), body))
    }

    /// client-go tells servers its time limit; it is part of the address by which kubectl caches answers.
    fn with_timeout_query(&self, path: &str) -> String {
        let Some(timeout) = self.client.options().timeout else {
            return path.to_owned();
        };
        let separator = if path.contains('?') { '&' } else { '?' };
        format!("{path}{separator}timeout={}s", timeout.as_secs().max(1))
    }
}

impl Client {
    /// Asks the server what it offers, see [`DiscoveryClient::discover`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn discover(&self) -> Result<PartialDiscovery, Error> {
        DiscoveryClient::new(self).discover().await
    }

    /// Asks the server for the resources of one version, see [`DiscoveryClient::version`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn discover_version(&self, group_version: &GroupVersion) -> Result<DiscoveredVersion, Error> {
        DiscoveryClient::new(self).version(group_version).await
    }

    /// Asks the server for its version.
    ///
    /// # Errors
    ///
    /// As [`request_json`](Self::request_json).
    pub async fn server_version(&self) -> Result<Info, Error> {
        DiscoveryClient::new(self).server_version().await
    }
}
