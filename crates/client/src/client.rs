//! The [`Client`]: requests with credentials, retries, time limits and errors; everything else is built on it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri, header};
use kubewright_net::{Body, HttpService, Identity, TransportError, with_pipes};
use rustls::crypto::CryptoProvider;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tower_layer::Layer;

use crate::call::Call;
use crate::config::without_user;
use crate::config::{Config, ConfigError};
use crate::error::{Error, status_of};
use crate::layers::{
    Deadline, Gzip, GzipLayer, IdentityLayer, MAX_RETRIES, RateLimit, RateLimitLayer, RetryLayer,
    WarningHandler, WarningsLayer,
};

/// Talks to one API server as one user. Cloning it is cheap and shares connections.
///
/// Failed requests are sent again only where that is safe: an answer 429 or 5xx with `Retry-After` at most
/// [`MAX_RETRIES`](crate::MAX_RETRIES) times, and reads whose connection was lost. Anything else is the caller's decision.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    /// What leads to the server, as it was handed in.
    transport: HttpService,
    /// The same with rate limit and warnings of the options.
    once: HttpService,
    /// The same with retries.
    service: HttpService,
    base: Base,
    /// What errors call the server.
    server: Arc<str>,
    default_namespace: String,
    options: ClientOptions,
    /// The rate limit of the options, which clients derived from this one share.
    limit: Option<RateLimitLayer>,
    /// The user agent of the options; `None` if it cannot be sent, which the first request reports.
    agent: Option<HeaderValue>,
}

/// Settings of a [`Client`] that have nothing to do with where the server is.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// What the client calls itself; the server takes the part before the first `/` as field manager of writes that
    /// name none. Default: [`default_user_agent`].
    pub user_agent: String,
    /// Limit for a request with all its retries and its body; watches and streams have none. Default: 60 s, which is
    /// also kube-apiserver's. `None` waits for ever.
    pub timeout: Option<Duration>,
    /// How long a watch may bring nothing before it fails with a timeout. Servers send a bookmark a minute to watches that ask
    /// for them; others may be silent as long as nothing changes. Default: no limit, dead connections are found by pings.
    pub watch_silence: Option<Duration>,
    /// Bytes of an answer that is read whole. Default: 1 GiB, since a list without pages can be large.
    pub max_response_bytes: usize,
    /// Bytes of one event of a watch, or of one item of a list that is [read item by item](Client::list_items). Default: 16 MiB; etcd
    /// stores 1.5 MiB by default.
    pub max_event_bytes: usize,
    /// What to do with `Warning` headers. Default: log each text once.
    pub warnings: WarningHandler,
    /// How often a request is sent again at most, see [`RetryLayer`]. Default: [`MAX_RETRIES`].
    pub max_retries: u32,
    /// How many requests are sent at most. Clones of the client and those that are made of it share one limit, however they are layered, as all
    /// clients of a `Clientset` of client-go do; one that is given [options](Client::with_client_options) with another limit has that
    /// for itself, and so has each client that is made anew. Default: no limit, the server shares out its time itself.
    pub rate_limit: Option<RateLimit>,
    /// Which answers are asked for in gzip. Default: those that may be large, of servers elsewhere.
    pub gzip: Gzip,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            user_agent: default_user_agent().to_owned(),
            timeout: Some(Duration::from_secs(60)),
            watch_silence: None,
            max_response_bytes: 1 << 30,
            max_event_bytes: 16 << 20,
            warnings: WarningHandler::default(),
            max_retries: MAX_RETRIES,
            rate_limit: None,
            gzip: Gzip::Large,
        }
    }
}

/// `kubewright/VERSION (OS/ARCH)`.
pub fn default_user_agent() -> &'static str {
    static AGENT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        format!(
            "kubewright/{} ({}/{})",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        )
    });
    &AGENT
}

/// What stands in front of the path of every request.
#[derive(Clone, Default)]
struct Base {
    origin: Option<(Scheme, Authority)>,
    path: String,
}

impl Base {
    fn of(uri: &Uri) -> Self {
        let origin = uri.scheme().cloned().zip(uri.authority().cloned());
        Self {
            origin,
            path: uri.path().trim_end_matches('/').to_owned(),
        }
    }

    /// True for a server on this machine, or in this process.
    fn is_near(&self) -> bool {
        let Some((_, authority)) = &self.origin else {
            return true;
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn join(&self, relative: &Uri) -> Result<Uri, http::Error> {
        if self.path.is_empty() && self.origin.is_none() && relative.scheme().is_none() {
            return Ok(relative.clone());
        }
        let path = relative.path_and_query().map_or("/", PathAndQuery::as_str);
        let mut parts = http::uri::Parts::default();
        parts.path_and_query = Some(if self.path.is_empty() {
            path.parse()?
        } else {
            format!("{}{path}", self.path).parse()?
        });
        if let Some((scheme, authority)) = &self.origin {
            parts.scheme = Some(scheme.clone());
            parts.authority = Some(authority.clone());
        }
        Ok(Uri::from_parts(parts)?)
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((scheme, authority)) = &self.origin {
            write!(f, "{scheme}://{}", without_user(authority.as_str()))?;
        }
        f.write_str(&self.path)
    }
}

impl Client {
    /// A client for the server that `config` describes. No connection is opened yet.
    ///
    /// # Errors
    ///
    /// Certificates, proxy or server name in the configuration are unusable.
    pub fn new(config: Config, provider: Arc<CryptoProvider>) -> Result<Self, ConfigError> {
        let options = ClientOptions {
            user_agent: config
                .user_agent
                .clone()
                .unwrap_or_else(|| default_user_agent().to_owned()),
            timeout: config.timeout,
            gzip: config.gzip,
            ..ClientOptions::default()
        };
        Self::with_options(config, options, provider)
    }

    /// As [`new`](Self::new), with options that win over those of the configuration.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_options(
        config: Config,
        options: ClientOptions,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, ConfigError> {
        let base = Base::of(&config.server);
        let default_namespace = config.default_namespace.clone();
        let service = config.into_service(provider)?;
        let limit = options.rate_limit.map(RateLimitLayer::new);
        Ok(Self::assemble(service, base, default_namespace, options, limit))
    }

    /// A client of a server in this process, acting as `identity`. It opens no socket; the server must trust the
    /// [`Identity`] extension.
    pub fn in_process(
        service: HttpService,
        identity: Identity,
        default_namespace: impl Into<String>,
    ) -> Self {
        let service = IdentityLayer::new(identity).layer(with_pipes(service));
        Self::from_service(service, default_namespace)
    }

    /// A client that sends requests with relative URIs through a service, as it is: for tests, and for transports of
    /// another kind.
    pub fn from_service(service: HttpService, default_namespace: impl Into<String>) -> Self {
        Self::assemble(
            service,
            Base::default(),
            default_namespace.into(),
            ClientOptions::default(),
            None,
        )
    }

    fn assemble(
        transport: HttpService,
        base: Base,
        default_namespace: String,
        options: ClientOptions,
        limit: Option<RateLimitLayer>,
    ) -> Self {
        let agent = HeaderValue::from_str(&options.user_agent).ok();
        let gzip = match options.gzip {
            Gzip::Large if base.is_near() => Gzip::Never,
            other => other,
        };
        let once = GzipLayer::new(gzip).layer(transport.clone());
        let mut once = WarningsLayer::new(options.warnings.clone()).layer(once);
        if let Some(limit) = &limit {
            once = limit.layer(once);
        }
        Self {
            inner: Arc::new(Inner {
                service: RetryLayer::new(options.max_retries).layer(once.clone()),
                once,
                transport,
                server: base.to_string().into(),
                base,
                default_namespace,
                options,
                limit,
                agent,
            }),
        }
    }

    /// The same client with other options. Where their rate limit is that of this client, the two share it.
    #[must_use]
    pub fn with_client_options(&self, options: ClientOptions) -> Self {
        let inner = &self.inner;
        let limit = match options.rate_limit == inner.options.rate_limit {
            true => inner.limit.clone(),
            false => options.rate_limit.map(RateLimitLayer::new),
        };
        Self::assemble(
            inner.transport.clone(),
            inner.base.clone(),
            inner.default_namespace.clone(),
            options,
            limit,
        )
    }

    /// The same client with a layer around its transport: it sees every request first, retries included. The two share the rate limit
    /// of the options.
    #[must_use]
    pub fn layer<L>(&self, layer: &L) -> Self
    where
        L: Layer<HttpService>,
        L::Service:
            tower_service::Service<Request<Body>, Response = Response<Body>> + Clone + Send + Sync + 'static,
        <L::Service as tower_service::Service<Request<Body>>>::Error: Into<TransportError> + Send,
        <L::Service as tower_service::Service<Request<Body>>>::Future: Send,
    {
        let inner = &self.inner;
        let service = HttpService::new(layer.layer(inner.transport.clone()));
        Self::assemble(
            service,
            inner.base.clone(),
            inner.default_namespace.clone(),
            inner.options.clone(),
            inner.limit.clone(),
        )
    }

    /// The namespace for requests that name none.
    pub fn default_namespace(&self) -> &str {
        &self.inner.default_namespace
    }

    /// What errors say of a request.
    pub(crate) fn call_to(&self, verb: &'static str, path: impl Into<String>) -> Call {
        Call::new(verb, Arc::clone(&self.inner.server), path)
    }

    fn call_of<B>(&self, request: &Request<B>) -> Call {
        Call::of(&self.inner.server, request)
    }

    /// The address of the server; empty for one in this process.
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// The options in force.
    pub fn options(&self) -> &ClientOptions {
        &self.inner.options
    }

    /// Sends a request whose URI is a path with an optional query, and returns the answer whatever its status.
    ///
    /// Retries, credentials and warnings are taken care of; the time limit is not, since the body may be a stream.
    ///
    /// # Errors
    ///
    /// The server could not be reached, or no credentials could be had.
    pub async fn request(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, Error> {
        let call = self.call_of(&request);
        self.send(&call, request.map(Bytes::from), None).await
    }

    /// Sends a request whose body is a stream. It is never sent again.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn request_stream(&self, request: Request<Body>) -> Result<Response<Body>, Error> {
        let call = self.call_of(&request);
        self.send_once(&call, request).await
    }

    /// Sends a request that is never sent again.
    pub(crate) async fn send_once(
        &self,
        call: &Call,
        request: Request<Body>,
    ) -> Result<Response<Body>, Error> {
        let request = self.prepare(call, request)?;
        let answer = self.inner.once.send(request).await;
        answer.map_err(|error| call.transport(error))
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request), and [`Error::Api`] for a status that is no success, [`Error::Timeout`],
    /// [`Error::TooLarge`].
    pub async fn request_bytes(&self, request: Request<Vec<u8>>) -> Result<Bytes, Error> {
        let call = self.call_of(&request);
        self.call(&call, request.map(Bytes::from)).await
    }

    /// Sends a request and decodes the answer as JSON.
    ///
    /// # Errors
    ///
    /// As [`request_bytes`](Self::request_bytes), and [`Error::Decode`].
    pub async fn request_json<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, Error> {
        let call = self.call_of(&request);
        let bytes = self.call(&call, request.map(Bytes::from)).await?;
        serde_json::from_slice(&bytes).map_err(|error| call.decode(error))
    }

    /// A request with its answer, status checked, within the time limit.
    pub(crate) async fn call(&self, call: &Call, request: Request<Bytes>) -> Result<Bytes, Error> {
        Ok(self.exchange(call, request).await?.1)
    }

    pub(crate) async fn exchange(
        &self,
        call: &Call,
        request: Request<Bytes>,
    ) -> Result<(http::response::Parts, Bytes), Error> {
        self.exchange_within(call, request, self.inner.options.timeout)
            .await
    }

    /// The same with a time limit of its own.
    pub(crate) async fn exchange_within(
        &self,
        call: &Call,
        request: Request<Bytes>,
        timeout: Option<Duration>,
    ) -> Result<(http::response::Parts, Bytes), Error> {
        let limit = TimeLimit::begin(timeout);
        let whole = async {
            let response = self.send(call, request, limit.deadline()).await?;
            self.read(call, response).await
        };
        limit.hold(call, whole).await
    }

    /// A request whose answer is read piece by piece: the status is checked, the body and what is left of the time are the caller's.
    pub(crate) async fn open_within(
        &self,
        call: &Call,
        request: Request<Bytes>,
        limit: TimeLimit,
    ) -> Result<Response<Body>, Error> {
        let begun = async {
            let response = self.send(call, request, limit.deadline()).await?;
            self.successful(call, response).await
        };
        limit.hold(call, begun).await
    }

    /// A request whose answer is a stream: the status is checked, the body left to the caller.
    pub(crate) async fn open(&self, call: &Call, request: Request<Bytes>) -> Result<Response<Body>, Error> {
        let response = self.send(call, request, None).await?;
        let response = self.successful(call, response).await?;
        Ok(match self.inner.options.watch_silence {
            Some(limit) if call.verb() == "watch" => response.map(|body| body.idle_timeout(limit)),
            _ => response,
        })
    }

    /// An answer with a status that is a success.
    async fn successful(&self, call: &Call, response: Response<Body>) -> Result<Response<Body>, Error> {
        if response.status().is_success() {
            return Ok(response);
        }
        match self.read(call, response).await {
            Err(error) => Err(error),
            // `read` turns every other status into an error.
            Ok(_) => Err(call.decode("unexpected status")),
        }
    }

    /// The whole answer, if it is a success.
    pub(crate) async fn read(
        &self,
        call: &Call,
        response: Response<Body>,
    ) -> Result<(http::response::Parts, Bytes), Error> {
        let (parts, body) = response.into_parts();
        if parts.status.is_success() {
            let bytes = body
                .collect_limited(self.inner.options.max_response_bytes)
                .await
                .map_err(|error| call.body(error))?;
            return Ok((parts, bytes));
        }
        // A body that cannot be read must not hide the status.
        let bytes = body.collect_limited(MAX_ERROR_BYTES).await.unwrap_or_default();
        Err(call.api(status_of(parts.status, &parts.headers, &bytes)))
    }

    async fn send(
        &self,
        call: &Call,
        request: Request<Bytes>,
        deadline: Option<Instant>,
    ) -> Result<Response<Body>, Error> {
        let mut request = self.prepare(call, request.map(Body::from))?;
        if let Some(deadline) = deadline {
            request.extensions_mut().insert(Deadline(deadline));
        }
        let answer = self.inner.service.send(request).await;
        answer.map_err(|error| call.transport(error))
    }

    fn prepare(&self, call: &Call, mut request: Request<Body>) -> Result<Request<Body>, Error> {
        let uri = self.inner.base.join(request.uri());
        *request.uri_mut() = uri.map_err(|error| call.invalid(error))?;
        if !request.headers().contains_key(header::USER_AGENT) {
            let agent = self.inner.agent.clone();
            let agent = agent.ok_or_else(|| call.invalid("the user agent cannot be sent in a header"))?;
            request.headers_mut().insert(header::USER_AGENT, agent);
        }
        Ok(request)
    }
}

/// A limit on the time of a request, which has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimit(Option<(Duration, Instant)>);

impl TimeLimit {
    /// From now on; one beyond what clocks can tell is none.
    pub(crate) fn begin(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| Some((timeout, Instant::now().checked_add(timeout)?))))
    }

    fn deadline(self) -> Option<Instant> {
        self.0.map(|(_, deadline)| deadline)
    }

    /// Waits for what belongs to the request.
    pub(crate) async fn hold<T>(
        self,
        call: &Call,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some((after, deadline)) = self.0 else {
            return work.await;
        };
        match tokio::time::timeout_at(deadline, work).await {
            Ok(result) => result,
            Err(_) => Err(Error::Timeout {
                call: call.clone(),
                after,
            }),
        }
    }
}

/// Bytes of the body of a failure that are read: 1 MiB.
const MAX_ERROR_BYTES: usize = 1 << 20;

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.inner.server)
            .field("default_namespace", &self.inner.default_namespace)
            .finish_non_exhaustive()
    }
}
