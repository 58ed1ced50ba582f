//! What a connection costs by itself: a server that answers every request with the same object of a kilobyte, and a list with ten
//! thousand of them, in pieces of 64 KiB.
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
    let object = Bytes::from(vec![b'x'; OBJECT_BYTES]);
    let list = Bytes::from(vec![b'x'; LIST_BYTES]);
    let service = HttpService::from_fn(move |request: http::Request<Body>| {
        let is_list = request.method() == http::Method::GET && request.uri().path().ends_with("/configmaps");
        let body = if is_list {
            pieces(&list)
        } else {
            Body::from(object.clone())
        };
        let response = http::Response::builder()
            .header("content-type", "application/json")
            .body(body);
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

fn pieces(list: &Bytes) -> Body {
    let list = list.clone();
    let starts = (0..list.len()).step_by(PIECE_BYTES);
    let pieces = starts.map(move |start| Ok(list.slice(start..list.len().min(start + PIECE_BYTES))));
    Body::stream(futures_util::stream::iter(pieces))
}

const OBJECT_BYTES: usize = 1024;
const LIST_BYTES: usize = 10_000 * 1205;
const PIECE_BYTES: usize = 64 << 10;
