//! The Kubernetes API server, embedded.
//!
//! What it is: the whole request chain of kube-apiserver as a value that lives in a process of yours. [`ApiServer::start`] gives a
//! server; its [`service`](ApiServer::service) answers requests, from a client in the same process or from
//! [`kubewright_net::serve`] behind a socket.
//!
//! What it is not: it runs nothing (controllers are a crate of their own) and listens nowhere. Of itself it connects only to the webhooks that
//! objects in it name, with the cryptography of [`Options::crypto`].
//!
//! ```
//! use http::Request;
//! use kubewright_apiserver::{ApiServer, Options};
//! use kubewright_net::{Body, Identity};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::start(Options::default()).await?;
//! let request = Request::get("/api/v1/namespaces/default")
//!     .extension(Identity::new("admin", ["system:masters"]))
//!     .body(Body::empty())?;
//! let response = server.service().send(request).await?;
//! assert_eq!(response.status(), 200);
//! # Ok(()) }
//! ```
//!
//! The way of a request, each step a module: `chain` (audit id, `authentication`, `impersonation`, `authorization`), `request` (path, options, media
//! types), `registry` (what is served, `custom` kinds among it), `handlers` (verbs), `admission` (its plugins,
//! webhooks among them, which `webhook` calls), `codec` and `builtin` (what kinds need), [`storage`].

mod admission;
mod authentication;
mod authorization;
mod bootstrap;
pub(crate) mod builtin;
mod chain;
mod codec;
mod compaction;
mod compression;
mod custom;
mod discovery;
mod error;
mod fieldmanager;
mod handlers;
mod health;
mod ids;
mod impersonation;
mod json;
mod openapi;
mod recent;
mod registry;
mod request;
mod server;
mod service_account;
pub mod serving;
pub mod storage;
pub mod table;
#[cfg(test)]
mod test_support;
mod webhook;

pub use admission::{AdmissionPlugin, AdmissionPlugins, InvalidAdmissionPlugins};
pub use authorization::Authorization;
pub use openapi::Descriptions;
pub use registry::InvalidRuntimeConfig;
pub use server::{ApiServer, MAX_BODY_BYTES, Options, StartError};
pub use service_account::{DEFAULT_ISSUER, ServiceAccountOptions};
