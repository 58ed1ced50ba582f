//! What the Kubernetes controller manager does, for tests and local work: namespaces that end, service accounts,
//! garbage collection, deployments, replica sets, and nodes that only pretend to run pods.
//!
//! Each controller is written with `kubewright-runtime`, like any operator, and acts under an identity of its own. They
//! need an API server and nothing else, and know nothing of how it works inside. For clusters in earnest there is
//! kube-controller-manager.
//!
//! ```no_run
//! use kubewright_controllers::{ControllerOptions, ControllerSet};
//! # async fn example(server: kubewright_net::HttpService) -> Result<(), kubewright_runtime::RunError> {
//! let running = ControllerSet::new(ControllerOptions::default()).start(&server).ready().await?;
//! // ...
//! running.stop().await
//! # }
//! ```

mod adoption;
mod cluster_roles;
mod deployment;
mod gc;
mod identity;
mod namespace;
mod node;
mod pods;
mod replica_set;
mod root_ca;
mod service_account;
mod set;
mod token;
mod update;
mod workload;

pub use node::NodeOptions;
pub use set::{ControllerName, ControllerOptions, ControllerSet};
