// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v2` of the group `autoscaling`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// `ContainerResourceMetricSource`, as far as an applier sets it.
    ContainerResourceMetricSource {
        container with_container "container" String,
        name with_name "name" String,
        target with_target "target" MetricTarget,
    }
}

object! {
    /// `ContainerResourceMetricStatus`, as far as an applier sets it.
    ContainerResourceMetricStatus {
        container with_container "container" String,
        current with_current "current" MetricValueStatus,
        name with_name "name" String,
    }
}

object! {
    /// `CrossVersionObjectReference`, as far as an applier sets it.
    CrossVersionObjectReference {
        api_version with_api_version "apiVersion" String,
        kind with_kind "kind" String,
        name with_name "name" String,
    }
}

object! {
    /// `ExternalMetricSource`, as far as an applier sets it.
    ExternalMetricSource {
        metric with_metric "metric" MetricIdentifier,
        target with_target "target" MetricTarget,
    }
}

object! {
    /// `ExternalMetricStatus`, as far as an applier sets it.
    ExternalMetricStatus {
        current with_current "current" MetricValueStatus,
        metric with_metric "metric" MetricIdentifier,
    }
}

object! {
    /// `HPAScalingPolicy`, as far as an applier sets it.
    HPAScalingPolicy {
        period_seconds with_period_seconds "periodSeconds" i32,
        type_ with_type "type" String,
        value with_value "value" i32,
    }
}

object! {
    /// `HPAScalingRules`, as far as an applier sets it.
    HPAScalingRules {
        /// It has one owner as a whole.
        policies with_policies "policies" [HPAScalingPolicy],
        select_policy with_select_policy "selectPolicy" String,
        stabilization_window_seconds with_stabilization_window_seconds "stabilizationWindowSeconds" i32,
        tolerance with_tolerance "tolerance" Quantity,
    }
}

object! {
    /// What an applier sets of a `HorizontalPodAutoscaler` of `autoscaling/v2`.
    HorizontalPodAutoscaler as "autoscaling/v2" "HorizontalPodAutoscaler" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" HorizontalPodAutoscalerSpec,
        status with_status "status" HorizontalPodAutoscalerStatus,
    }
}
kind!(HorizontalPodAutoscaler namespaced);
applies! { HorizontalPodAutoscaler: k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler }

object! {
    /// `HorizontalPodAutoscalerBehavior`, as far as an applier sets it.
    HorizontalPodAutoscalerBehavior {
        scale_down with_scale_down "scaleDown" HPAScalingRules,
        scale_up with_scale_up "scaleUp" HPAScalingRules,
    }
}

object! {
    /// `HorizontalPodAutoscalerCondition`, as far as an applier sets it.
    HorizontalPodAutoscalerCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        /// Since 1.37.
        observed_generation with_observed_generation "observedGeneration" i64,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `HorizontalPodAutoscalerSpec`, as far as an applier sets it.
    HorizontalPodAutoscalerSpec {
        behavior with_behavior "behavior" HorizontalPodAutoscalerBehavior,
        max_replicas with_max_replicas "maxReplicas" i32,
        /// It has one owner as a whole.
        metrics with_metrics "metrics" [MetricSpec],
        min_replicas with_min_replicas "minReplicas" i32,
        scale_target_ref with_scale_target_ref "scaleTargetRef" CrossVersionObjectReference,
    }
}

object! {
    /// `HorizontalPodAutoscalerStatus`, as far as an applier sets it.
    HorizontalPodAutoscalerStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [HorizontalPodAutoscalerCondition],
        /// It has one owner as a whole.
        current_metrics with_current_metrics "currentMetrics" [MetricStatus],
        current_replicas with_current_replicas "currentReplicas" i32,
        desired_replicas with_desired_replicas "desiredReplicas" i32,
        last_scale_time with_last_scale_time "lastScaleTime" Time,
        observed_generation with_observed_generation "observedGeneration" i64,
    }
}

object! {
    /// `MetricIdentifier`, as far as an applier sets it.
    MetricIdentifier {
        name with_name "name" String,
        selector with_selector "selector" LabelSelector,
    }
}

object! {
    /// `MetricSpec`, as far as an applier sets it.
    MetricSpec {
        container_resource with_container_resource "containerResource" ContainerResourceMetricSource,
        external with_external "external" ExternalMetricSource,
        object with_object "object" ObjectMetricSource,
        pods with_pods "pods" PodsMetricSource,
        resource with_resource "resource" ResourceMetricSource,
        type_ with_type "type" String,
    }
}

object! {
    /// `MetricStatus`, as far as an applier sets it.
    MetricStatus {
        container_resource with_container_resource "containerResource" ContainerResourceMetricStatus,
        external with_external "external" ExternalMetricStatus,
        object with_object "object" ObjectMetricStatus,
        pods with_pods "pods" PodsMetricStatus,
        resource with_resource "resource" ResourceMetricStatus,
        type_ with_type "type" String,
    }
}

object! {
    /// `MetricTarget`, as far as an applier sets it.
    MetricTarget {
        average_utilization with_average_utilization "averageUtilization" i32,
        average_value with_average_value "averageValue" Quantity,
        type_ with_type "type" String,
        value with_value "value" Quantity,
    }
}

object! {
    /// `MetricValueStatus`, as far as an applier sets it.
    MetricValueStatus {
        average_utilization with_average_utilization "averageUtilization" i32,
        average_value with_average_value "averageValue" Quantity,
        value with_value "value" Quantity,
    }
}

object! {
    /// `ObjectMetricSource`, as far as an applier sets it.
    ObjectMetricSource {
        described_object with_described_object "describedObject" CrossVersionObjectReference,
        metric with_metric "metric" MetricIdentifier,
        target with_target "target" MetricTarget,
    }
}

object! {
    /// `ObjectMetricStatus`, as far as an applier sets it.
    ObjectMetricStatus {
        current with_current "current" MetricValueStatus,
        described_object with_described_object "describedObject" CrossVersionObjectReference,
        metric with_metric "metric" MetricIdentifier,
    }
}

object! {
    /// `PodsMetricSource`, as far as an applier sets it.
    PodsMetricSource {
        metric with_metric "metric" MetricIdentifier,
        target with_target "target" MetricTarget,
    }
}

object! {
    /// `PodsMetricStatus`, as far as an applier sets it.
    PodsMetricStatus {
        current with_current "current" MetricValueStatus,
        metric with_metric "metric" MetricIdentifier,
    }
}

object! {
    /// `ResourceMetricSource`, as far as an applier sets it.
    ResourceMetricSource {
        name with_name "name" String,
        target with_target "target" MetricTarget,
    }
}

object! {
    /// `ResourceMetricStatus`, as far as an applier sets it.
    ResourceMetricStatus {
        current with_current "current" MetricValueStatus,
        name with_name "name" String,
    }
}
