//! Validation of the kinds of the core group other than pods and volumes.
//!
//! Upstream: `pkg/apis/core/validation/validation.go` and `events.go`. A function takes the object and, for an update, the
//! stored one.

mod endpoints;
mod event;
mod namespace;
mod node;
mod quota;
mod range;
mod service;

pub(crate) use endpoints::endpoints;
pub(crate) use event::{event, event_v1};
pub(crate) use namespace::namespace;
pub(crate) use node::{node, node_part};
pub(crate) use quota::{resource_quota, resource_quota_status};
pub(crate) use range::limit_range;
pub(crate) use service::{service, service_status, wanted_addresses};

use super::field::{Errors, Field};
use super::names::qualified_name;

/// Checks the name of a finalizer, which is one of Kubernetes' own or has a domain (`validateFinalizerName`).
fn check_finalizer(errors: &mut Errors, at: &Field<'_, '_>, name: &str) {
    for message in qualified_name(name) {
        at.invalid_as(errors, name, message);
    }
    let is_own = matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
    if !name.contains('/') && !is_own {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        at.invalid_as(errors, name, detail);
    }
}
