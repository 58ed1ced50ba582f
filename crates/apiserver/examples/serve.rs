//! The server on plain HTTP, every request as a member of `system:masters`: to try a client against it, never to be reached by
//! others.
//!
//! ```text
//! cargo run -p kubewright-apiserver --example serve -- 127.0.0.1:8001
//! kubectl --server http://127.0.0.1:8001 get namespaces
//! ```

use std::error::Error;

use kubewright_apiserver::{ApiServer, Options};
use kubewright_net::{Body, HttpService, Identity, ServeLimits, serve};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:8001".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let service = ApiServer::start(Options::default()).await?.service();
    let as_administrator = HttpService::from_fn(move |mut request: http::Request<Body>| {
        request
            .extensions_mut()
            .insert(Identity::new("admin", ["system:masters", "system:authenticated"]));
        service.send(request)
    });
    serve(
        listener,
        None,
        as_administrator,
        ServeLimits::default(),
        std::future::pending(),
    )
    .await;
    Ok(())
}
