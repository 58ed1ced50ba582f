// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `scheduling`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;

object! {
    /// What an applier sets of a `PriorityClass` of `scheduling.k8s.io/v1`.
    PriorityClass as "scheduling.k8s.io/v1" "PriorityClass" {
        description with_description "description" String,
        global_default with_global_default "globalDefault" bool,
        metadata with_metadata "metadata" ObjectMeta,
        /// One of `Never`, `PreemptLowerPriority`.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        value with_value "value" i32,
    }
}
kind!(PriorityClass cluster);
applies! { PriorityClass: k8s_openapi::api::scheduling::v1::PriorityClass }
