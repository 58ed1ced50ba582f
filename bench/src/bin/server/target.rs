//! A server in this process, and an administrator's requests to it.

use anyhow::{Result, ensure};
use http::Request;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_net::{Body, HttpService, Identity};

/// Where the objects are.
pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server with its service.
#[derive(Debug)]
pub struct Target {
    /// The server.
    pub server: ApiServer,
    service: HttpService,
    admin: Identity,
}

impl Target {
    /// Starts a server.
    pub async fn start() -> Result<Self> {
        Self::with(Options::default()).await
    }

    /// Starts a server with options.
    pub async fn with(options: Options) -> Result<Self> {
        let server = ApiServer::start(options).await?;
        let service = server.service();
        Ok(Self {
            server,
            service,
            admin: Identity::new("admin", ["system:masters"]),
        })
    }

    /// Sends a request with a body in JSON, which must succeed, and gives the body of the answer.
    pub async fn send(&self, method: &str, path: &str, body: Vec<u8>) -> Result<bytes::Bytes> {
        self.send_as(method, path, "application/json", body).await
    }

    /// Sends a request, which must succeed, and gives the body of the answer.
    pub async fn send_as(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: Vec<u8>,
    ) -> Result<bytes::Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media_type)
            .extension(self.admin.clone())
            .body(Body::from(body))?;
        self.answer(request).await
    }

    /// Sends a request that says who sends it, which must succeed, and gives the body of the answer.
    pub async fn answer(&self, request: Request<Body>) -> Result<bytes::Bytes> {
        let what = format!("{} {}", request.method(), request.uri());
        let response = self.service.send(request).await?;
        ensure!(response.status().is_success(), "{what}: {}", response.status());
        Ok(response.into_body().collect_limited(usize::MAX).await?)
    }

    /// Creates an object and gives it as the server has it.
    pub async fn create(&self, object: &[u8]) -> Result<bytes::Bytes> {
        self.send("POST", MAPS, object.to_vec()).await
    }
}

/// An object of which the server makes about a kilobyte.
pub fn object(number: u64) -> Vec<u8> {
    let filling = "x".repeat(740);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m{number:07}","labels":{{"app":"bench"}}}},"data":{{"text":"{filling}"}}}}"#
    )
    .into_bytes()
}
