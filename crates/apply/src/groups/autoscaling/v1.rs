// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `autoscaling`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// `CrossVersionObjectReference`, as far as an applier sets it. It has one owner as a whole.
    CrossVersionObjectReference {
        api_version with_api_version "apiVersion" String,
        kind with_kind "kind" String,
        name with_name "name" String,
    }
}

object! {
    /// What an applier sets of a `HorizontalPodAutoscaler` of `autoscaling/v1`.
    HorizontalPodAutoscaler as "autoscaling/v1" "HorizontalPodAutoscaler" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" HorizontalPodAutoscalerSpec,
        status with_status "status" HorizontalPodAutoscalerStatus,
    }
}
kind!(HorizontalPodAutoscaler namespaced);
applies! { HorizontalPodAutoscaler: k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler }

object! {
    /// `HorizontalPodAutoscalerSpec`, as far as an applier sets it.
    HorizontalPodAutoscalerSpec {
        max_replicas with_max_replicas "maxReplicas" i32,
        min_replicas with_min_replicas "minReplicas" i32,
        scale_target_ref with_scale_target_ref "scaleTargetRef" CrossVersionObjectReference,
        target_cpu_utilization_percentage with_target_cpu_utilization_percentage "targetCPUUtilizationPercentage" i32,
    }
}

object! {
    /// `HorizontalPodAutoscalerStatus`, as far as an applier sets it.
    HorizontalPodAutoscalerStatus {
        current_cpu_utilization_percentage with_current_cpu_utilization_percentage "currentCPUUtilizationPercentage" i32,
        current_replicas with_current_replicas "currentReplicas" i32,
        desired_replicas with_desired_replicas "desiredReplicas" i32,
        last_scale_time with_last_scale_time "lastScaleTime" Time,
        observed_generation with_observed_generation "observedGeneration" i64,
    }
}

object! {
    /// What an applier sets of a `Scale` of `autoscaling/v1`.
    Scale as "autoscaling/v1" "Scale" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ScaleSpec,
        status with_status "status" ScaleStatus,
    }
}
kind!(Scale namespaced);
applies! { Scale: k8s_openapi::api::autoscaling::v1::Scale }

object! {
    /// `ScaleSpec`, as far as an applier sets it.
    ScaleSpec {
        replicas with_replicas "replicas" i32,
    }
}

object! {
    /// `ScaleStatus`, as far as an applier sets it.
    ScaleStatus {
        replicas with_replicas "replicas" i32,
        selector with_selector "selector" String,
    }
}
