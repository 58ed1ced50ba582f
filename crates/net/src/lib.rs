//! What both ends of a Kubernetes connection share: bodies, services, TLS, certificates, connectors and the kubeconfig.
//!
//! Client and server meet in one type, [`HttpService`], from a request with a [`Body`] to a response with one. Over the
//! network, [`connect`] makes such a service from connections and [`serve`] runs one on a listener. Inside one process a
//! client calls the server's service directly, with an [`Identity`] as request extension, and no socket is opened.
//! A connection that is upgraded can speak frames from then on, see [`websocket`].
//!
//! This crate knows nothing of Kubernetes verbs, kinds or status objects.
//!
//! ```
//! use kubewright_net::{Body, ConnectOptions, HttpService, ServeLimits, connect, serve};
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let hello = HttpService::from_fn(|_| async { Ok(http::Response::new(Body::from("hello"))) });
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let uri = format!("http://{}/", listener.local_addr()?);
//! tokio::spawn(serve(listener, None, hello, ServeLimits::default(), std::future::pending()));
//!
//! let client = connect(ConnectOptions::default())?;
//! let response = client.send(http::Request::get(uri).body(Body::empty())?).await?;
//! assert_eq!(response.into_body().collect_limited(1024).await?, "hello");
//! # Ok(()) }
//! ```

mod body;
mod connect;
mod cork;
mod error;
mod gunzip;
mod identity;
mod linger;
mod proxy;
mod serve;
mod service;
mod upgrade;

pub mod certificate;
pub mod kubeconfig;
pub mod signing;
pub mod tls;
pub mod websocket;

pub use body::{Body, BodyError};
pub use certificate::{CertificateAuthority, CertificateError, CertificateInfo, Validity};
pub use connect::{ConnectOptions, Connections, Http2, connect, connect_closable};
pub use error::{BoxError, TransportError};
pub use identity::{Identity, Peer, Transport};
pub use kubeconfig::{Kubeconfig, KubeconfigError};
pub use proxy::{Loopback, ProxySettings};
pub use serve::{Drained, ServeLimits, serve};
pub use service::{HttpFuture, HttpService};
pub use tls::{CertificateAndKey, ClientAuth, ClientTls, ServerVerification, TlsError};
pub use upgrade::{PIPE_CAPACITY, Upgrade, UpgradedIo, with_pipes};
