//! An environment that programs outside this process reach: with a port, TLS and a kubeconfig.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kubewright_apiserver::serving::{Authority, Listening};
use kubewright_client::Api;
use kubewright_net::kubeconfig::{self, AuthInfo, Entry};
use kubewright_net::{Identity, ServeLimits};
use rustls::crypto::CryptoProvider;
use tokio::net::TcpListener;

use crate::{TestEnv, TestEnvError, TestEnvOptions, User};

/// A [`TestEnv`] that also listens on a port of the loopback address, for kubectl and for clients in other languages.
///
/// Every environment has a certificate authority of its own, which is gone with it. Dropping it ends everything without waiting.
#[derive(Debug)]
pub struct ServedEnv {
    env: TestEnv,
    authority: Authority,
    listening: Listening,
}

impl ServedEnv {
    /// Starts an environment and listens on a free port of 127.0.0.1, with the cryptography of `provider`.
    ///
    /// Of `options`, the client certificates, the advertised address and the root certificate are set here; webhooks are called with the
    /// same cryptography where `options` has none.
    ///
    /// # Errors
    /// When there is no port or no random number to be had, and as [`TestEnv::start`].
    pub async fn start(
        mut options: TestEnvOptions,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TestEnvError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let authority = Authority::new(provider.clone())?;
        options.server.crypto.get_or_insert(provider);
        options.server.client_certificates = Some(authority.verifier()?);
        options.server.advertise_address = address;
        options.controllers.root_ca = Some(authority.certificate_pem());
        let env = TestEnv::start(options).await?;
        let tls = authority.server_config(&[address.ip()])?;
        let listening = Listening::start(env.server(), listener, Some(tls), ServeLimits::default())?;
        Ok(Self {
            env,
            authority,
            listening,
        })
    }

    /// The environment itself, for requests from this process.
    pub fn env(&self) -> &TestEnv {
        &self.env
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// A kubeconfig entry of the given name for somebody, with a client certificate made for them.
    ///
    /// # Errors
    /// When there is no random number to be had.
    pub fn kubeconfig_entry(&self, name: &str, identity: &Identity) -> Result<Entry, TestEnvError> {
        Ok(self.authority.kubeconfig_entry(name, self.address(), identity)?)
    }

    /// A kubeconfig entry of the given name for a user with the rights that it names, which are made as by
    /// [`TestEnv::client_for`]: with a client certificate for a user, with a token for a service account.
    ///
    /// # Errors
    /// As [`TestEnv::client_for`], and when there is no random number to be had.
    pub async fn kubeconfig_entry_for(&self, name: &str, user: &User) -> Result<Entry, TestEnvError> {
        let identity = self.env.identity_for(user).await?;
        let mut entry = self.kubeconfig_entry(name, &identity)?;
        if let Some((namespace, account)) = user.account() {
            let accounts = Api::<ServiceAccount>::namespaced(self.env.client(), namespace);
            let request = TokenRequest::default();
            let issued = accounts.create_token(account, &request).await?;
            entry.user = AuthInfo {
                token: issued.status.and_then(|status| status.token),
                ..AuthInfo::default()
            };
            entry.namespace = Some(namespace.to_owned());
        }
        Ok(entry)
    }

    /// Writes a kubeconfig entry `kubewright` for the administrator into a file, which is made if it is not there.
    ///
    /// # Errors
    /// When the file cannot be written or is no kubeconfig.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), TestEnvError> {
        let admin = Identity::new("admin", ["system:masters"]);
        let entry = self.kubeconfig_entry("kubewright", &admin)?;
        Ok(kubeconfig::merge_entry(path, &entry)?)
    }

    /// Stops the controllers, then the listener: watches end, requests in flight finish.
    ///
    /// # Errors
    /// When a controller failed or did not stop in time; the listener is stopped all the same.
    pub async fn stop(self) -> Result<(), TestEnvError> {
        let stopped = self.env.stop().await;
        self.listening.stop().await;
        stopped
    }
}
