// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `node`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::Toleration;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

object! {
    /// `Overhead`, as far as an applier sets it.
    Overhead {
        pod_fixed with_pod_fixed "podFixed" {Quantity},
    }
}

object! {
    /// What an applier sets of a `RuntimeClass` of `node.k8s.io/v1`.
    RuntimeClass as "node.k8s.io/v1" "RuntimeClass" {
        handler with_handler "handler" String,
        metadata with_metadata "metadata" ObjectMeta,
        overhead with_overhead "overhead" Overhead,
        scheduling with_scheduling "scheduling" Scheduling,
    }
}
kind!(RuntimeClass cluster);
applies! { RuntimeClass: k8s_openapi::api::node::v1::RuntimeClass }

object! {
    /// `Scheduling`, as far as an applier sets it.
    Scheduling {
        /// It has one owner as a whole.
        node_selector with_node_selector "nodeSelector" {String},
        /// It has one owner as a whole.
        tolerations with_tolerations "tolerations" [Toleration],
    }
}
