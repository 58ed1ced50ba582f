//! HTTPS handlers of a test, as webhooks are.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use http::{Request, Response};
use jiff::Timestamp;
use kubewright_apiserver::Options;
use kubewright_net::tls::{ClientAuth, server_config};
use kubewright_net::{Body, CertificateAuthority, HttpService, ServeLimits, Validity, serve};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::harness::Server;

/// A handler behind TLS on a port of its own. It ends with the test.
pub(crate) struct Https {
    authority: CertificateAuthority,
    certificate: String,
    port: u16,
}

impl Https {
    pub(crate) async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(Request<Body>) -> A + Clone + Send + Sync + 'static,
        A: Future<Output = Response<Body>> + Send + 'static,
    {
        let authority = authority("hooks");
        let leaf = authority
            .issue_server(&["127.0.0.1", "hook.default.svc"], validity())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = server_config(&leaf, &ClientAuth::Off, provider).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let service = HttpService::from_fn(move |request| {
            let answer = answer(request);
            async move { Ok(answer.await) }
        });
        let forever = std::future::pending();
        tokio::spawn(serve(
            listener,
            Some(tls),
            service,
            ServeLimits::default(),
            forever,
        ));
        Self {
            certificate: leaf.certificate_pem(),
            authority,
            port,
        }
    }

    /// How a configuration names it by URL. The handler's own certificate vouches for it as well as its authority does.
    pub(crate) fn by_url(&self, path: &str) -> Value {
        json!({"url": format!("https://127.0.0.1:{}{path}", self.port), "caBundle": base64(&self.certificate)})
    }

    /// How a configuration names it by the service `hook`, which [`define_service`] makes.
    pub(crate) fn by_service(&self, path: &str) -> Value {
        let service = json!({"namespace": "default", "name": "hook", "path": path, "port": self.port});
        json!({"service": service, "caBundle": base64(&self.authority.certificate_pem())})
    }
}

/// A server that can call webhooks.
pub(crate) async fn calling_server() -> Server {
    Server::with(Options {
        crypto: Some(Arc::new(rustls::crypto::ring::default_provider())),
        ..Options::default()
    })
    .await
}

/// Makes the service `hook` in the namespace `default`, which leads to this machine.
pub(crate) async fn define_service(server: &Server) {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"},
        "spec": {"type": "ExternalName", "externalName": "localhost"}});
    let ask = crate::harness::Ask::json("POST /api/v1/namespaces/default/services", &service);
    server.ok(ask).await;
}

/// An authority that vouches for nobody yet.
pub(crate) fn authority(name: &str) -> CertificateAuthority {
    CertificateAuthority::new(name, validity()).unwrap()
}

fn validity() -> Validity {
    Validity::starting(Timestamp::now(), Duration::from_secs(3600))
}

pub(crate) fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}
