//! The Kubernetes operator stack in Rust: one dependency for an operator.
//!
//! The names that most operators need are here at the root; the rest is in one module for each crate of the stack. A whole
//! operator, with its kind, its reconciler and its rights:
//!
//! ```no_run
//! use kubewright::{
//!     Context, Controller, CustomResource, Error, Operator, Outcome, Patch, Request, Right, Schema, Verb, WriteOptions,
//! };
//! use serde::{Deserialize, Serialize};
//!
//! /// Somebody to greet.
//! #[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug)]
//! #[resource(group = "example.com", version = "v1", kind = "Greeting", status = "GreetingStatus")]
//! struct GreetingSpec {
//!     #[schema(min_length = 1)]
//!     name: String,
//! }
//!
//! #[derive(Schema, Serialize, Deserialize, Clone, Debug, PartialEq)]
//! struct GreetingStatus {
//!     text: String,
//! }
//!
//! async fn greet(ctx: Context, request: Request) -> Result<Outcome, Error> {
//!     let Some(greeting) = ctx.lister::<Greeting>()?.get(&request.key).await? else {
//!         return Ok(Outcome::done());
//!     };
//!     let greeting = greeting.object()?;
//!     let status = GreetingStatus { text: format!("Hello, {}!", greeting.spec.name) };
//!     if greeting.status.as_ref() != Some(&status) {
//!         let patch = Patch::Merge(serde_json::json!({ "status": status }));
//!         let greetings = ctx.api::<Greeting>(request.namespace());
//!         greetings.patch_status(request.name(), &patch, &WriteOptions::default()).await?;
//!     }
//!     Ok(Outcome::done())
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let greeter = Controller::new("greeting", kubewright::reconcile_fn(greet))
//!         .for_::<Greeting>()
//!         .right(Right::to_subresource::<Greeting>("status", [Verb::Patch]));
//!     let operator = Operator::new("greeter").kind::<Greeting>().controller(greeter);
//!     operator.run(&kubewright::default_client()?, kubewright::shutdown_signal()).await?;
//!     Ok(())
//! }
//! ```
//!
//! The types of Kubernetes are those of [`k8s_openapi`]; an application chooses the version of Kubernetes by a feature of
//! that crate, such as `v1_37`, and adds `serde` for its own types.
//!
//! # Features
//!
//! * `apply`: the module of that name, types for server-side apply, of the groups `apps` and `core`; others are features of `kubewright-apply`.
//! * `manifests` (default): the module of that name, which prints an operator's definitions and roles.
//! * `ring` (default): [`default_client`]. Without it the application hands the crypto provider of its choice to
//!   [`Client::new`].
//! * `testing`: the module of that name, a control plane in the test's own process.

mod setup;

pub use k8s_openapi;
#[doc(inline)]
pub use kubewright_client::{Api, Client, Config, ListOptions, Patch, WriteOptions};
#[doc(inline)]
pub use kubewright_core::{ObjectKey, ObjectMeta, owner_reference};
#[doc(inline)]
pub use kubewright_derive::{CustomResource, Schema};
#[doc(inline)]
pub use kubewright_runtime::{
    Cached, Context, Controller, Error, Finalizer, Manager, ManagerOptions, Note, Operator, Outcome,
    Predicate, Reconciler, Request, Right, Verb, reconcile_fn,
};
#[doc(inline)]
pub use kubewright_schema::{CustomResourceExt, Schema};

#[cfg(feature = "ring")]
pub use crate::setup::default_client;
pub use crate::setup::shutdown_signal;

#[cfg(feature = "apply")]
pub use kubewright_apply as apply;
pub use kubewright_cache as cache;
pub use kubewright_client as client;
pub use kubewright_core as core;
#[cfg(feature = "manifests")]
pub use kubewright_manifests as manifests;
pub use kubewright_net as net;
pub use kubewright_queue as queue;
pub use kubewright_runtime as runtime;
pub use kubewright_schema as schema;
#[cfg(feature = "testing")]
pub use kubewright_testing as testing;
pub use kubewright_yaml as yaml;

/// The README's examples, so that they keep compiling.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
