//! A server that a kubeconfig leads to.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::Request;
use kubewright_net::kubeconfig::Kubeconfig;
use kubewright_net::tls::client_config;
use kubewright_net::{
    Body, CertificateAndKey, ClientTls, ConnectOptions, HttpService, ServerVerification, connect,
};
use rustls::ClientConfig;

use crate::process;

/// Where the objects are.
pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server and how to reach it.
#[derive(Debug)]
pub struct Remote {
    /// What rows call it.
    pub name: String,
    origin: String,
    tls: Arc<ClientConfig>,
    processes: Vec<u32>,
}

impl Remote {
    /// Reads a kubeconfig whose current context has an authority and a client certificate with its data.
    pub fn new(name: &str, kubeconfig: &Path, processes: Vec<u32>, http1: bool) -> Result<Self> {
        let config = Kubeconfig::load(&[kubeconfig.to_path_buf()])?;
        let context = config
            .context(&config.current_context)
            .context("the kubeconfig has no current context")?;
        let cluster = config
            .cluster(&context.cluster)
            .context("the context has no cluster")?;
        let user = config.user(&context.user).context("the context has no user")?;
        let authority = cluster
            .certificate_authority_data
            .clone()
            .context("no authority")?;
        let certificate = user.client_certificate_data.clone().context("no certificate")?;
        let key = user.client_key_data.clone().context("no key")?;
        let client = ClientTls {
            verification: ServerVerification::Bundle(authority.0),
            certificate: Some(CertificateAndKey::from_pem(&certificate.0, &key.0)?),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = client_config(&client, provider)?;
        if http1 {
            let mut only = (*tls).clone();
            only.alpn_protocols = vec![b"http/1.1".to_vec()];
            tls = Arc::new(only);
        }
        Ok(Self {
            name: name.to_owned(),
            origin: cluster.server.clone(),
            tls,
            processes,
        })
    }

    /// A connection of its own.
    pub fn connect(&self) -> Result<Connection> {
        let options = ConnectOptions {
            tls: Some(self.tls.clone()),
            ..ConnectOptions::default()
        };
        Ok(Connection {
            origin: self.origin.clone(),
            service: connect(options)?,
        })
    }

    /// The processor time it has had so far.
    pub fn cpu(&self) -> Result<Duration> {
        process::cpu(&self.processes)
    }

    /// Removes all objects that a benchmark made.
    pub async fn clear(&self) -> Result<()> {
        let connection = self.connect()?;
        connection
            .send("DELETE", &format!("{MAPS}?labelSelector=app%3Dbench"), Vec::new())
            .await?;
        Ok(())
    }
}

/// A connection to a server.
#[derive(Clone, Debug)]
pub struct Connection {
    origin: String,
    service: HttpService,
}

impl Connection {
    /// Sends a request, which must succeed, and gives the body of the answer as it comes.
    pub async fn open(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Body> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.origin))
            .header("content-type", "application/json")
            .body(Body::from(body))?;
        let response = self.service.send(request).await?;
        ensure!(
            response.status().is_success(),
            "{method} {path}: {}",
            response.status()
        );
        Ok(response.into_body())
    }

    /// The same, with the whole body.
    pub async fn send(&self, method: &str, path: &str, body: Vec<u8>) -> Result<Bytes> {
        let body = self.open(method, path, body).await?;
        Ok(body.collect_limited(usize::MAX).await?)
    }
}

/// A config map of which a server makes about a kilobyte. `note` is an annotation that differs from write to write.
pub fn object(name: &str, note: &str) -> Vec<u8> {
    let filling = "x".repeat(700);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench"}},"annotations":{{"note":"{note}"}}}},"data":{{"text":"{filling}"}}}}"#
    )
    .into_bytes()
}
