// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `coordination`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

object! {
    /// What an applier sets of a `Lease` of `coordination.k8s.io/v1`.
    Lease as "coordination.k8s.io/v1" "Lease" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" LeaseSpec,
    }
}
kind!(Lease namespaced);
applies! { Lease: k8s_openapi::api::coordination::v1::Lease }

object! {
    /// `LeaseSpec`, as far as an applier sets it.
    LeaseSpec {
        acquire_time with_acquire_time "acquireTime" MicroTime,
        holder_identity with_holder_identity "holderIdentity" String,
        lease_duration_seconds with_lease_duration_seconds "leaseDurationSeconds" i32,
        lease_transitions with_lease_transitions "leaseTransitions" i32,
        preferred_holder with_preferred_holder "preferredHolder" String,
        renew_time with_renew_time "renewTime" MicroTime,
        strategy with_strategy "strategy" String,
    }
}
