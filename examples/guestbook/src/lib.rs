//! An operator that serves guestbooks.
//!
//! A [`Guestbook`] asks for a page with a message and for a number of servers that show it. The operator keeps a
//! Deployment, a Service and a ConfigMap with the page for each, lists all guestbooks of a namespace in one more ConfigMap,
//! the [`directory`], and reports in the status how far it is.
//!
//! The files in the order to read them: [`resource`] is what users write; [`children`], [`directory`] and [`status`] are
//! pure functions from that to what should be; [`plan`] compares it with what is; the reconciler does what is left.
//!
//! ```
//! use guestbook::{Guestbook, operator};
//! use kubewright::CustomResourceExt;
//!
//! let operator = operator();
//! assert_eq!(operator.definitions()[0], Guestbook::definition());
//! assert_eq!(operator.controllers()[0].resources().count(), 5);
//! ```

pub mod children;
pub mod directory;
pub mod plan;
mod reconciler;
pub mod resource;
pub mod status;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kubewright::Verb::{Create, Delete, Patch, Update};
use kubewright::{Controller, Operator, Right};

pub use crate::reconciler::{FINALIZER, GuestbookReconciler};
pub use crate::resource::{Guestbook, GuestbookSpec, GuestbookStatus};

/// A guestbook to try the operator with, as YAML.
pub const SAMPLE: &str = include_str!("../config/sample.yaml");

/// The operator, ready to be run, or to have its manifests printed.
#[must_use]
pub fn operator() -> Operator {
    let controller = Controller::new("guestbook", GuestbookReconciler)
        .for_::<Guestbook>()
        .owns::<Deployment>()
        .owns::<Service>()
        .owns::<ConfigMap>()
        .watches::<ConfigMap>(directory::listed)
        .concurrency(4)
        .right(Right::to::<Guestbook>([Patch]))
        .right(Right::to_subresource::<Guestbook>("status", [Patch]))
        // Clusters may ask for this right from whoever writes owner references that block a deletion.
        .right(Right::to_subresource::<Guestbook>("finalizers", [Update]))
        .right(Right::to::<Deployment>([Create, Patch]))
        .right(Right::to::<Service>([Create, Patch]))
        .right(Right::to::<ConfigMap>([Create, Patch, Delete]));
    Operator::new("guestbook")
        .kind::<Guestbook>()
        .controller(controller)
}
