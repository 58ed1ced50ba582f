//! A server behind a socket: its own authority, its certificate, and the listener.
//!
//! The library chooses no crypto provider: the application hands one in.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_net::kubeconfig::{AuthInfo, Cluster, Data, Entry};
use kubewright_net::tls::{self, ClientCertificateVerifier};
use kubewright_net::{
    CertificateAndKey, CertificateAuthority, CertificateError, ClientAuth, Drained, Identity, ServeLimits,
    TlsError, Validity, serve,
};
use rustls::crypto::CryptoProvider;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::ApiServer;

/// The certificate authority of one server: it vouches for the server to clients, and for clients to the server.
///
/// It lives in memory, as its server does; whoever has its certificate knows this server and no other.
#[derive(Debug)]
pub struct Authority {
    ca: CertificateAuthority,
    provider: Arc<CryptoProvider>,
}

/// Why an authority could not be made, or could not issue what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// A certificate could not be issued.
    #[error("a certificate could not be issued")]
    Certificate(#[from] CertificateError),
    /// The certificate could not be put to use.
    #[error("the TLS settings could not be made")]
    Tls(#[from] TlsError),
}

impl Authority {
    /// Makes a new authority, valid for a year from now.
    ///
    /// # Errors
    /// When the random source fails.
    pub fn new(provider: Arc<CryptoProvider>) -> Result<Self, AuthorityError> {
        let validity = Validity::starting(Timestamp::now(), LIFETIME);
        Ok(Self {
            ca: CertificateAuthority::new("kubewright-ca", validity)?,
            provider,
        })
    }

    /// The authority's certificate as PEM: what clients trust.
    pub fn certificate_pem(&self) -> String {
        self.ca.certificate_pem()
    }

    /// Tells which client certificates are this authority's, for [`Options::client_certificates`].
    ///
    /// [`Options::client_certificates`]: crate::Options::client_certificates
    ///
    /// # Errors
    /// When the authority's own certificate cannot be used.
    pub fn verifier(&self) -> Result<ClientCertificateVerifier, AuthorityError> {
        Ok(ClientCertificateVerifier::new(
            self.ca.certificate_pem().as_bytes(),
            &self.provider,
        )?)
    }

    /// Issues a certificate to a user: the name and the groups of `identity`, as client certificates carry them.
    ///
    /// # Errors
    /// When the random source fails.
    pub fn issue_client(&self, identity: &Identity) -> Result<CertificateAndKey, AuthorityError> {
        let validity = Validity::starting(Timestamp::now(), LIFETIME);
        Ok(self.ca.issue_client(&identity.user, &identity.groups, validity)?)
    }

    /// The TLS settings of a listener that is reached at `addresses` besides localhost and the names within a cluster.
    ///
    /// # Errors
    /// When the random source fails.
    pub fn server_config(&self, addresses: &[IpAddr]) -> Result<Arc<rustls::ServerConfig>, AuthorityError> {
        let mut names: Vec<String> = SERVER_NAMES.iter().map(|&name| name.to_owned()).collect();
        names.extend(
            addresses
                .iter()
                .filter(|address| !address.is_unspecified())
                .map(IpAddr::to_string),
        );
        names.sort();
        names.dedup();
        let certificate = self
            .ca
            .issue_server(&names, Validity::starting(Timestamp::now(), LIFETIME))?;
        // Certificates are checked by the server's authenticator, which answers bad ones as upstream does.
        Ok(tls::server_config(
            &certificate,
            &ClientAuth::Requested,
            self.provider.clone(),
        )?)
    }

    /// A kubeconfig entry with which kubectl reaches the server at `address` as `identity`.
    ///
    /// # Errors
    /// When the random source fails.
    pub fn kubeconfig_entry(
        &self,
        name: &str,
        address: SocketAddr,
        identity: &Identity,
    ) -> Result<Entry, AuthorityError> {
        let client = self.issue_client(identity)?;
        Ok(Entry {
            name: name.to_owned(),
            cluster: Cluster {
                server: format!("https://{}", reachable(address)),
                certificate_authority_data: Some(Data(self.certificate_pem().into_bytes())),
                ..Cluster::default()
            },
            user: AuthInfo {
                client_certificate_data: Some(Data(client.certificate_pem().into_bytes())),
                client_key_data: Some(Data(client.key_pem().into_bytes())),
                ..AuthInfo::default()
            },
            namespace: None,
        })
    }
}

/// An address to connect to: a listener on all addresses is reached on the loopback one.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => SocketAddr::new(IpAddr::from([127, 0, 0, 1]), address.port()),
        IpAddr::V6(_) => SocketAddr::new(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]), address.port()),
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Listening {
    server: ApiServer,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Drained>,
}

impl Listening {
    /// Lets `server` answer on a bound listener, with TLS where there are settings for it.
    ///
    /// # Errors
    /// When the listener has no address.
    pub fn start(
        server: &ApiServer,
        listener: TcpListener,
        tls: Option<Arc<rustls::ServerConfig>>,
        limits: ServeLimits,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let service = server.service();
        let task = tokio::spawn(serve(listener, tls, service, limits, async move {
            // A dropped sender stops the listener too.
            let _ = stopped.await;
        }));
        Ok(Self {
            server: server.clone(),
            address,
            stop,
            task,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops in order: no more connections, watches end, requests in flight finish within the limits' grace.
    pub async fn stop(self) -> Drained {
        let _ = self.stop.send(());
        self.server.shut_down();
        match self.task.await {
            Ok(drained) => drained,
            // A listener that panicked is as gone as one that was stopped.
            Err(error) => {
                tracing::error!(%error, "the listener failed");
                Drained::default()
            }
        }
    }
}

const LIFETIME: Duration = Duration::from_secs(365 * 24 * 3600);
const SERVER_NAMES: [&str; 8] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
    "10.0.0.1",
];
