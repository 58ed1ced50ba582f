// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1alpha2` of the group `coordination`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

object! {
    /// What an applier sets of a `LeaseCandidate` of `coordination.k8s.io/v1alpha2`.
    LeaseCandidate as "coordination.k8s.io/v1alpha2" "LeaseCandidate" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" LeaseCandidateSpec,
    }
}
kind!(LeaseCandidate namespaced);
applies! { LeaseCandidate: k8s_openapi::api::coordination::v1alpha2::LeaseCandidate }

object! {
    /// `LeaseCandidateSpec`, as far as an applier sets it.
    LeaseCandidateSpec {
        binary_version with_binary_version "binaryVersion" String,
        emulation_version with_emulation_version "emulationVersion" String,
        lease_name with_lease_name "leaseName" String,
        ping_time with_ping_time "pingTime" MicroTime,
        renew_time with_renew_time "renewTime" MicroTime,
        strategy with_strategy "strategy" String,
    }
}
