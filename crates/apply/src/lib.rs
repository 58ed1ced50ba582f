//! The built-in kinds of Kubernetes with every field optional, for server-side apply.
//!
//! An applier sends the fields that it cares about and owns them from then on (KEP-555). The types of `k8s-openapi` cannot always say "I do not
//! care", as some of their fields are not optional; those here can, as client-go's apply configurations can. They are generated from
//! the table of kinds and know nothing of requests: `kubewright_client::Api::apply` sends them, and takes those of its own kind only.
//!
//! ```
//! use kubewright_apply::apps::v1::{Deployment, DeploymentSpec};
//! use kubewright_apply::core::v1::{Container, PodSpec, PodTemplateSpec, ResourceRequirements};
//!
//! let container = Container::default()
//!     .with_name("web")
//!     .with_image("example.com/web:1")
//!     .with_resources(ResourceRequirements::default().with_limits([("cpu", "100m")]));
//! let template = PodTemplateSpec::default().with_spec(PodSpec::default().with_containers([container]));
//! let web = Deployment::new("web", "team")
//!     .with_labels([("app", "web")])
//!     .with_spec(DeploymentSpec { replicas: Some(3), template: Some(template), ..DeploymentSpec::default() });
//!
//! // `apiVersion` and `kind` are always there; nothing else is that was not set.
//! assert_eq!(serde_json::to_value(&web).unwrap(), serde_json::json!({
//!     "apiVersion": "apps/v1", "kind": "Deployment",
//!     "metadata": {"name": "web", "namespace": "team", "labels": {"app": "web"}},
//!     "spec": {"replicas": 3, "template": {"spec": {"containers": [
//!         {"name": "web", "image": "example.com/web:1", "resources": {"limits": {"cpu": "100m"}}},
//!     ]}}},
//! }));
//! ```
//!
//! Modules are named as in `k8s-openapi`, fields and types as well. Every field is public and an `Option`; the methods named `with_` set
//! one, lists and maps are added to. Reading ignores unknown fields, and refuses an object of another kind.
//!
//! # Features
//!
//! * One for each group, named as its module: its stable versions, and the groups that those use. The default is `apps` and `core`.
//! * `prerelease`: the alpha and beta versions too, of the groups that are chosen.
//! * `all`: all of these.
//! * `extract`: the function of that name, what an applier owns of an object.

#[macro_use]
mod object;
#[cfg(feature = "extract")]
mod extract;
mod groups;
mod into_field;

#[cfg(feature = "extract")]
pub use crate::extract::{ExtractError, extract};
pub use crate::groups::*;
pub use crate::into_field::IntoField;
