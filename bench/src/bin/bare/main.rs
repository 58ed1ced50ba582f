//! What a connection costs by itself: a server that answers every request with the same object of a kilobyte.
//!
//! It takes the arguments of `kubewright up` that the other benchmark gives, so that `load --binary target/release/bare` asks it
//! instead. What kubewright takes more than this is its own work.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use kubewright_apiserver::serving::Authority;
use kubewright_net::{Body, HttpService, Identity, ServeLimits, kubeconfig, serve};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--kubeconfig");
    let path: PathBuf = arguments.nth(1).context("--kubeconfig PATH is needed")?.into();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let authority = Authority::new(Arc::new(rustls::crypto::ring::default_provider()))?;
    let tls = authority.server_config(&[address.ip()])?;
    let admin = Identity::new("kubernetes-admin", ["system:masters"]);
    kubeconfig::merge_entry(&path, &authority.kubeconfig_entry("bare", address, &admin)?)?;
    let object = Bytes::from(vec![b'x'; 1024]);
    let service = HttpService::from_fn(move |_| {
        let response = http::Response::builder()
            .header("content-type", "application/json")
            .body(Body::from(object.clone()));
        async move { response.map_err(|error| kubewright_net::TransportError::other("answering", error)) }
    });
    println!("ready https://{address}");
    serve(
        listener,
        Some(tls),
        service,
        ServeLimits::default(),
        std::future::pending(),
    )
    .await;
    Ok(())
}
