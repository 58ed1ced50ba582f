// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `policy`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

object! {
    /// What an applier sets of a `PodDisruptionBudget` of `policy/v1`.
    PodDisruptionBudget as "policy/v1" "PodDisruptionBudget" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PodDisruptionBudgetSpec,
        status with_status "status" PodDisruptionBudgetStatus,
    }
}
kind!(PodDisruptionBudget namespaced);
applies! { PodDisruptionBudget: k8s_openapi::api::policy::v1::PodDisruptionBudget }

object! {
    /// `PodDisruptionBudgetSpec`, as far as an applier sets it.
    PodDisruptionBudgetSpec {
        max_unavailable with_max_unavailable "maxUnavailable" IntOrString,
        min_available with_min_available "minAvailable" IntOrString,
        selector with_selector "selector" LabelSelector,
        /// One of `AlwaysAllow`, `IfHealthyBudget`.
        unhealthy_pod_eviction_policy with_unhealthy_pod_eviction_policy "unhealthyPodEvictionPolicy" String,
    }
}

object! {
    /// `PodDisruptionBudgetStatus`, as far as an applier sets it.
    PodDisruptionBudgetStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        current_healthy with_current_healthy "currentHealthy" i32,
        desired_healthy with_desired_healthy "desiredHealthy" i32,
        disrupted_pods with_disrupted_pods "disruptedPods" {Time},
        disruptions_allowed with_disruptions_allowed "disruptionsAllowed" i32,
        expected_pods with_expected_pods "expectedPods" i32,
        observed_generation with_observed_generation "observedGeneration" i64,
    }
}
