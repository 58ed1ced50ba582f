//! A control plane in the test's own process: API server, controllers and client, without a socket or a download.
//!
//! A [`TestEnv`] starts in a few milliseconds, so each test has its own and none waits for another. It is the real server with
//! the real controllers: namespaces end, garbage is collected, deployments come up on simulated nodes.
//!
//! A [`ServedEnv`] is the same with a port and a kubeconfig, for programs outside.
//!
//! Requests are authorized by roles and bindings, as in a cluster: a [`User`] is somebody with the rights that a test names, and
//! [`TestEnv::client_for`] gives a client with them.
//!
//! What it is not: a mock. Nothing is recorded or scripted.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright_client::{Api, WriteOptions};
//! use kubewright_core::ObjectMeta;
//! use kubewright_testing::{TestEnv, TestEnvOptions};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let env = TestEnv::start(TestEnvOptions::without_controllers()).await?;
//! let maps: Api<ConfigMap> = Api::namespaced(env.client(), "default");
//! let metadata = ObjectMeta { name: Some("settings".into()), ..ObjectMeta::default() };
//! maps.create(&ConfigMap { metadata, ..ConfigMap::default() }, &WriteOptions::default()).await?;
//! let map = env.wait_for(&maps, "settings", |map| map.is_some()).await?;
//! assert!(map.is_some());
//! env.stop().await?;
//! # Ok(()) }
//! ```

mod env;
mod error;
mod served;
mod user;
mod wait;

pub use env::{TestEnv, TestEnvOptions};
pub use error::TestEnvError;
pub use served::ServedEnv;
pub use user::User;
