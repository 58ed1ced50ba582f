//! The server as a value: options in, an [`HttpService`] out.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_net::tls::ClientCertificateVerifier;
use kubewright_net::{Body, HttpService, Identity};
use kubewright_schema::RuleCompiler;
use parking_lot::RwLock;
use rustls::crypto::CryptoProvider;
use tokio::sync::watch;

use crate::admission::{AdmissionPlugin, AdmissionPlugins, Hooks};
use crate::authentication::Authenticator;
use crate::authorization::{Authorization, Authorizer, Rules};
use crate::chain;
use crate::error::ApiError;
use crate::error::ApiResult;
use crate::handlers::Reserved;
use crate::openapi::{Descriptions, OpenApi};
use crate::recent::Recent;
use crate::registry::{InvalidRuntimeConfig, Registry, RuntimeConfig};
use crate::service_account::{ServiceAccountOptions, ServiceAccounts};
use crate::storage::{COMPACT_INTERVAL, MemoryStorage, Storage, StorageError};
use crate::{bootstrap, compaction, custom, discovery};

/// The largest request body that is read, in bytes: upstream's limit for a resource request.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// How an [`ApiServer`] is set up. Every value is valid but `runtime_config`, which is read when the server starts.
pub struct Options {
    /// Where objects are kept. Default: in memory, gone with the server.
    pub storage: Arc<dyn Storage>,
    /// Which resources are served beyond upstream's default, in the syntax of kube-apiserver's `--runtime-config`.
    /// Default: none.
    pub runtime_config: String,
    /// Bearer tokens and who bears them. Default: none.
    pub tokens: Vec<(String, Identity)>,
    /// Says which client certificates count. Default: none does.
    pub client_certificates: Option<ClientCertificateVerifier>,
    /// Who issues tokens of service accounts, and with which keys. Default: the server itself, with a key of its own.
    pub service_accounts: ServiceAccountOptions,
    /// By what requests are decided on. Default: [`Authorization::Rbac`].
    pub authorization: Authorization,
    /// Which admission plugins are asked. Default: upstream's of those that are here, but [`AdmissionPlugin::ServiceAccount`]; whoever runs the
    /// service account controller turns that on.
    pub admission: AdmissionPlugins,
    /// The address that the service `kubernetes` in namespace `default` points at. Default: 127.0.0.1:443.
    pub advertise_address: std::net::SocketAddr,
    /// The cryptography with which webhooks are called. Default: what the process has installed as its default; where there is none
    /// either, calls fail and say so.
    pub crypto: Option<Arc<CryptoProvider>>,
    /// Who speaks the language of `x-kubernetes-validations`. Default: nobody; then such rules are kept and not run, and whoever stores a
    /// definition with any is warned.
    pub rule_compiler: Option<Arc<dyn RuleCompiler>>,
    /// Descriptions of built-in kinds for OpenAPI. Default: none.
    pub descriptions: Option<Arc<dyn Descriptions>>,
    /// The largest request body, in bytes. Default: [`MAX_BODY_BYTES`]; larger ones get 413.
    pub max_body_bytes: usize,
    /// How long history is kept at least: a list or watch from an older version gets 410. Default: 5 minutes, as upstream.
    pub compact_interval: Duration,
    /// How long a request may take until it is answered, its body included; then it gets 504. Watches go on after their answer
    /// began. Default: 60 s, as upstream.
    pub request_timeout: Duration,
    /// How often a watch that allows bookmarks gets one. Default: 60 s, as upstream.
    pub bookmark_interval: Duration,
    /// How long a watch lasts that names no `timeoutSeconds`: between once and twice this. Default: 30 minutes, as upstream.
    pub min_watch_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            storage: Arc::new(MemoryStorage::new()),
            runtime_config: String::new(),
            tokens: Vec::new(),
            client_certificates: None,
            service_accounts: ServiceAccountOptions::default(),
            authorization: Authorization::default(),
            admission: AdmissionPlugins::default(),
            advertise_address: std::net::SocketAddr::from(([127, 0, 0, 1], 443)),
            crypto: None,
            rule_compiler: None,
            descriptions: None,
            max_body_bytes: MAX_BODY_BYTES,
            compact_interval: COMPACT_INTERVAL,
            request_timeout: Duration::from_secs(60),
            bookmark_interval: Duration::from_secs(60),
            min_watch_timeout: Duration::from_secs(30 * 60),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Tokens are secrets.
        f.debug_struct("Options")
            .field("storage", &self.storage)
            .field("runtime_config", &self.runtime_config)
            .field("tokens", &self.tokens.len())
            .finish_non_exhaustive()
    }
}

/// A running API server. Cheap to clone: all clones are one server.
///
/// It does no networking: [`service`](Self::service) is given to an in-process client or to [`kubewright_net::serve`].
#[derive(Clone, Debug)]
pub struct ApiServer(Arc<Server>);

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// `runtime_config` cannot be read.
    #[error("the runtime configuration is invalid")]
    RuntimeConfig(#[from] InvalidRuntimeConfig),
    /// The store cannot be read or written.
    #[error("the store failed while the server started")]
    Storage(#[from] StorageError),
    /// The first objects could not be made.
    #[error("the server's own objects could not be created: {message}")]
    Bootstrap {
        /// What the server answered itself.
        message: String,
    },
}

impl ApiServer {
    /// Starts a server: reads what the store holds and makes the objects that every cluster has. It is ready when this returns.
    ///
    /// Must be called within a tokio runtime, on which the server keeps the task that follows custom resource definitions.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(mut options: Options) -> Result<Self, StartError> {
        let config: RuntimeConfig = options.runtime_config.parse()?;
        let builtin = Arc::new(Registry::builtin(&config));
        let authenticator = Authenticator::new(&options);
        let service_accounts = ServiceAccounts::new(std::mem::take(&mut options.service_accounts));
        let (stop, _) = watch::channel(false);
        let server = Arc::new(Server {
            registry: RwLock::new(builtin.clone()),
            builtin,
            authenticator,
            service_accounts,
            authorizer: Authorizer::new(options.authorization),
            admission: options.admission.in_order(),
            definitions: tokio::sync::RwLock::new(()),
            services: Reserved::default(),
            discovery: discovery::Cache::default(),
            openapi: OpenApi::new(options.descriptions.clone()),
            recent: Recent::default(),
            hooks: Hooks::default(),
            stop,
            published: watch::Sender::default(),
            options,
        });
        // It holds all of a write, and is awaited by whoever starts a server.
        Box::pin(bootstrap::create_objects(&server))
            .await
            .map_err(|error: ApiError| StartError::Bootstrap {
                message: error.status().message.clone(),
            })?;
        custom::start(&server).await?;
        bootstrap::keep_objects(&server);
        compaction::start(&server);
        Ok(Self(server))
    }

    /// The server as a service. A request carries its caller as an [`Identity`] extension (in process), as the certificates
    /// of its [`Peer`](kubewright_net::Peer), or as a bearer token; else it is anonymous.
    pub fn service(&self) -> HttpService {
        let server = self.0.clone();
        HttpService::from_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move { Ok(chain::handle(&server, request).await) }
        })
    }

    /// The store, for tests and tools that look beneath the API.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.0.options.storage
    }

    /// What all requests share, for tests that look inside.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Server> {
        &self.0
    }

    /// Ends every watch and the server's own tasks. Requests that come later are answered as before: stop listening first.
    pub fn shut_down(&self) {
        self.0.stop.send_replace(true);
    }
}

/// What all requests share.
pub(crate) struct Server {
    pub(crate) options: Options,
    /// What is served now: built-in and custom resources.
    pub(crate) registry: RwLock<Arc<Registry>>,
    /// The built-in part, to which custom resources are added.
    pub(crate) builtin: Arc<Registry>,
    pub(crate) authenticator: Authenticator,
    pub(crate) service_accounts: ServiceAccounts,
    pub(crate) authorizer: Authorizer,
    /// The plugins that have a say in writes, in their order.
    pub(crate) admission: Box<[AdmissionPlugin]>,
    /// Held shared while a custom resource is written by the definition that is served, alone while that is replaced.
    pub(crate) definitions: tokio::sync::RwLock<()>,
    /// So that no two services get one address.
    pub(crate) services: Reserved,
    pub(crate) discovery: discovery::Cache,
    pub(crate) openapi: OpenApi,
    pub(crate) recent: Recent,
    /// Webhooks that have a say in writes.
    pub(crate) hooks: Hooks,
    /// True once the server is to end.
    pub(crate) stop: watch::Sender<bool>,
    /// Sends whenever other custom resources are served than before.
    pub(crate) published: watch::Sender<()>,
}

impl Server {
    /// The store.
    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.options.storage
    }

    /// Who may do what at this moment.
    ///
    /// # Errors
    /// 500 when the store cannot be read.
    pub(crate) async fn rules(&self) -> ApiResult<Rules> {
        self.authorizer.rules(self.storage()).await
    }

    /// The same for what somebody does themselves: nothing is read for who may do everything.
    ///
    /// # Errors
    /// As [`Self::rules`].
    pub(crate) async fn rules_for(&self, identity: &Identity) -> ApiResult<Rules> {
        match Rules::of_master(identity, &self.authorizer) {
            Some(rules) => Ok(rules),
            None => self.rules().await,
        }
    }

    /// What is served at this moment.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.read().clone()
    }

    /// The time, as objects carry it: to the second.
    pub(crate) fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
