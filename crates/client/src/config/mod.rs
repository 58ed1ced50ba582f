//! Where the server is and who one is: [`Config`], from a kubeconfig or from inside a cluster.

mod infer;
mod kubeconfig;
mod overrides;
mod validate;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use kubewright_net::kubeconfig::{Entry, ExecConfig, KubeconfigError};
use kubewright_net::{
    BoxError, CertificateAndKey, ClientTls, ConnectOptions, HttpService, ProxySettings, ServerVerification,
    connect_closable, tls,
};
use rustls::crypto::CryptoProvider;
use serde_json::Value;
use tower_layer::Layer as _;

use crate::auth::{AuthError, Authenticator, TokenFile};
use crate::exec::ExecPlugin;
use crate::layers::{AuthLayer, DebugLayer, Gzip, Impersonation, ImpersonationLayer};
use crate::reload::{Close, Files, Material, Open, Opened, following};

pub use self::overrides::Overrides;

/// Everything a [`Client`](crate::Client) needs to know about a server and about its user.
#[derive(Clone)]
pub struct Config {
    /// Address of the server; a path in it is put in front of every request's.
    pub server: Uri,
    /// Namespace for requests that name none. Default: `default`.
    pub default_namespace: String,
    /// Which servers to trust. Default: what the operating system trusts.
    pub verification: ServerVerification,
    /// File from which the bundle in `verification` was read. It is read again every 5 minutes, and when a server turns out not
    /// to be trusted. Default: none.
    pub certificate_authority_file: Option<PathBuf>,
    /// Name to expect in the server's certificate. Default: the host of `server`.
    pub server_name: Option<String>,
    /// Who one is. Default: nobody.
    pub credentials: Credentials,
    /// As whom to act. Default: oneself.
    pub impersonation: Option<Impersonation>,
    /// Proxies. Default: none; [`Config::infer`] and [`Config::from_kubeconfig`] read the environment.
    pub proxy: ProxySettings,
    /// Time limits and sizes of connections. TLS settings, server name and proxies in it are those of this configuration.
    /// Default: as there; [`Config::infer`] and [`Config::from_kubeconfig`] read the environment.
    pub connect: ConnectOptions,
    /// Limit for each request that is no stream. Default: 60 s.
    pub timeout: Option<Duration>,
    /// What the client calls itself. Default: [`default_user_agent`](crate::default_user_agent).
    pub user_agent: Option<String>,
    /// Which answers are asked for in gzip. Default: [`Gzip::Large`]; a kubeconfig can turn it off.
    pub gzip: Gzip,
    /// Tells of every request once credentials have been added. Default: nothing is told.
    pub debug: Option<DebugLayer>,
}

/// What proves who one is. Several may be set; a client certificate goes with any of the others.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Certificate for TLS.
    pub certificate: Option<CertificateAndKey>,
    /// Files from which `certificate` was read, certificate and key. They are read again every 5 minutes, and when a handshake
    /// fails; connections are opened anew when they have changed.
    pub certificate_files: Option<(PathBuf, PathBuf)>,
    /// Bearer token.
    pub token: Option<String>,
    /// File with a bearer token. It is read again every minute and wins over `token`.
    pub token_file: Option<PathBuf>,
    /// User name and password; not together with a token.
    pub basic: Option<(String, String)>,
    /// A program that prints credentials. The others are used if they are there.
    pub exec: Option<ExecConfig>,
    /// What that program is told about the cluster.
    pub(crate) exec_cluster: Option<Value>,
}

impl Credentials {
    fn is_empty(&self) -> bool {
        self.certificate.is_none()
            && self.token.is_none()
            && self.token_file.is_none()
            && self.basic.is_none()
            && self.exec.is_none()
    }
}

impl fmt::Debug for Credentials {
    /// Which there are, never the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("certificate", &self.certificate.is_some())
            .field("certificate_files", &self.certificate_files)
            .field("token", &self.token.is_some())
            .field("token_file", &self.token_file)
            .field("basic", &self.basic.as_ref().map(|(user, _)| user))
            .field("exec", &self.exec.as_ref().map(|exec| &exec.command))
            .finish()
    }
}

impl fmt::Debug for Config {
    /// All of it, but for a user and a password in the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            server,
            default_namespace,
            verification,
            certificate_authority_file,
            server_name,
            credentials,
            impersonation,
            proxy,
            connect,
            timeout,
            user_agent,
            gzip,
            debug,
        } = self;
        f.debug_struct("Config")
            .field("server", &without_user(&server.to_string()))
            .field("default_namespace", default_namespace)
            .field("verification", verification)
            .field("certificate_authority_file", certificate_authority_file)
            .field("server_name", server_name)
            .field("credentials", credentials)
            .field("impersonation", impersonation)
            .field("proxy", proxy)
            .field("connect", connect)
            .field("timeout", timeout)
            .field("user_agent", user_agent)
            .field("gzip", gzip)
            .field("debug", debug)
            .finish()
    }
}

impl Config {
    /// An anonymous user of this server.
    pub fn new(server: Uri) -> Self {
        Self {
            server,
            default_namespace: "default".to_owned(),
            verification: ServerVerification::System,
            certificate_authority_file: None,
            server_name: None,
            credentials: Credentials::default(),
            impersonation: None,
            proxy: ProxySettings::default(),
            connect: ConnectOptions::default(),
            timeout: Some(Duration::from_secs(60)),
            user_agent: None,
            gzip: Gzip::Large,
            debug: None,
        }
    }

    /// What a server of one's own writes into a kubeconfig, without the way through a file.
    ///
    /// # Errors
    ///
    /// As [`from_kubeconfig`](Self::from_kubeconfig).
    pub fn from_entry(entry: &Entry) -> Result<Self, ConfigError> {
        Self::from_kubeconfig(&entry.clone().into_kubeconfig(), &Overrides::default())
    }

    /// The transport for this configuration: connections with credentials and impersonation.
    pub(crate) fn into_service(self, provider: Arc<CryptoProvider>) -> Result<HttpService, ConfigError> {
        let credentials = self.credentials;
        let options = ConnectOptions {
            server_name: self.server_name,
            proxy: self.proxy,
            ..self.connect
        };
        // Without TLS there is nothing to trust, and the system's certificates may not even exist.
        let secure = self.server.scheme() == Some(&http::uri::Scheme::HTTPS);
        let debug = self.debug;
        let open: Open = Arc::new(move |material: &Material| {
            let mut options = options.clone();
            if secure {
                let settings = ClientTls {
                    verification: material.verification.clone(),
                    certificate: material.certificate.clone(),
                };
                options.tls = Some(tls::client_config(&settings, Arc::clone(&provider))?);
            }
            let (service, connections) = connect_closable(options)?;
            Ok(Opened {
                service: match &debug {
                    Some(debug) => debug.layer(service),
                    None => service,
                },
                connections: Some(connections),
            })
        });
        let files = Files {
            authority: self.certificate_authority_file.filter(|_| secure),
            certificate: credentials.certificate_files.clone().filter(|_| secure),
        };
        let material = Material {
            verification: self.verification,
            certificate: credentials.certificate.clone(),
        };
        let (mut service, _) = following(files.clone(), material.clone(), Arc::clone(&open))
            .map_err(|source| ConfigError::Connection { source })?;
        // Connections that present a certificate which a plugin printed.
        let open = move |certificate: CertificateAndKey| {
            let files = Files {
                certificate: None,
                ..files.clone()
            };
            let material = Material {
                certificate: Some(certificate),
                ..material.clone()
            };
            following(files, material, Arc::clone(&open))
        };
        if let Some(authenticator) = authenticator(credentials, open)? {
            service = AuthLayer(Arc::new(authenticator)).layer(service);
        }
        if let Some(impersonation) = &self.impersonation {
            let layer =
                ImpersonationLayer::new(impersonation).map_err(|source| ConfigError::Credentials {
                    source: source.into(),
                })?;
            service = layer.layer(service);
        }
        Ok(service)
    }
}

fn authenticator(
    credentials: Credentials,
    open: impl Fn(CertificateAndKey) -> Result<(HttpService, Close), BoxError> + Send + Sync + 'static,
) -> Result<Option<Authenticator>, ConfigError> {
    let invalid = |source: AuthError| ConfigError::Credentials {
        source: source.into(),
    };
    let has_token = credentials.token.is_some() || credentials.token_file.is_some();
    if has_token && credentials.basic.is_some() {
        return Err(ConfigError::Conflict {
            what: "a user name with password and a bearer token",
        });
    }
    if let Some(path) = credentials.token_file {
        let file = TokenFile::new(path, credentials.token.as_deref()).map_err(invalid)?;
        return Ok(Some(Authenticator::TokenFile(file)));
    }
    if let Some(token) = credentials.token {
        return Authenticator::bearer(&token).map(Some).map_err(invalid);
    }
    if let Some((user, password)) = credentials.basic {
        return Authenticator::basic(&user, &password).map(Some).map_err(invalid);
    }
    // Whoever has a certificate needs no plugin (client-go plugin/pkg/client/auth/exec `UpdateTransportConfig`).
    let exec = credentials.exec.filter(|_| credentials.certificate.is_none());
    Ok(exec.map(|exec| {
        let plugin = ExecPlugin::shared(exec, credentials.exec_cluster, Box::new(open));
        Authenticator::Exec(Box::new(plugin))
    }))
}

/// An address, or the authority of one, without what may stand before its host: that is a password, most often.
pub(crate) fn without_user(address: &str) -> &str {
    address.rsplit_once('@').map_or(address, |(_, host)| host)
}

/// Why there is no usable configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A kubeconfig could not be read.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// Neither a kubeconfig was found nor is this a pod.
    #[error("no kubeconfig was found and this process does not run in a cluster")]
    NotFound {
        /// What was found instead of a kubeconfig.
        #[source]
        source: BoxError,
    },
    /// No context was asked for and the kubeconfig has no current one.
    #[error("kubeconfig has no current context")]
    NoContext {
        /// The contexts that there are.
        known: Vec<String>,
    },
    /// A setting has no usable value.
    #[error("{what} is not valid: {value:?}")]
    Invalid {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        #[source]
        source: BoxError,
    },
    /// A file that the configuration names cannot be read.
    #[error("{what} {} cannot be read", path.display())]
    File {
        /// What the file is for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// Two settings exclude each other.
    #[error("{what} cannot be used together")]
    Conflict {
        /// The settings.
        what: &'static str,
    },
    /// Something that upstream has removed.
    #[error("{what} is not supported")]
    Unsupported {
        /// What it is, with what to use instead.
        what: String,
    },
    /// Credentials cannot be used.
    #[error("credentials cannot be used")]
    Credentials {
        /// What is wrong with them.
        #[source]
        source: BoxError,
    },
    /// Certificates, server name or proxy cannot be used.
    #[error("connection settings cannot be used")]
    Connection {
        /// What is wrong with them.
        #[source]
        source: BoxError,
    },
}

impl ConfigError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Kubeconfig(error) => return error.hint(),
            Self::NotFound { .. } => "set KUBECONFIG, or start a local API server".to_owned(),
            Self::NoContext { known } => format!(
                "choose one with `kubectl config use-context NAME`{}{}",
                if known.is_empty() { "" } else { ": " },
                known.join(", ")
            ),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
