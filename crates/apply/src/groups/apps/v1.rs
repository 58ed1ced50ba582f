// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `apps`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::PersistentVolumeClaim;
use crate::core::v1::PodTemplateSpec;
use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

object! {
    /// What an applier sets of a `ControllerRevision` of `apps/v1`.
    ControllerRevision as "apps/v1" "ControllerRevision" {
        data with_data "data" Value,
        metadata with_metadata "metadata" ObjectMeta,
        revision with_revision "revision" i64,
    }
}
kind!(ControllerRevision namespaced);
applies! { ControllerRevision: k8s_openapi::api::apps::v1::ControllerRevision }

object! {
    /// What an applier sets of a `DaemonSet` of `apps/v1`.
    DaemonSet as "apps/v1" "DaemonSet" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" DaemonSetSpec,
        status with_status "status" DaemonSetStatus,
    }
}
kind!(DaemonSet namespaced);
applies! { DaemonSet: k8s_openapi::api::apps::v1::DaemonSet }

object! {
    /// `DaemonSetCondition`, as far as an applier sets it.
    DaemonSetCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `DaemonSetSpec`, as far as an applier sets it.
    DaemonSetSpec {
        min_ready_seconds with_min_ready_seconds "minReadySeconds" i32,
        revision_history_limit with_revision_history_limit "revisionHistoryLimit" i32,
        selector with_selector "selector" LabelSelector,
        template with_template "template" PodTemplateSpec,
        update_strategy with_update_strategy "updateStrategy" DaemonSetUpdateStrategy,
    }
}

object! {
    /// `DaemonSetStatus`, as far as an applier sets it.
    DaemonSetStatus {
        collision_count with_collision_count "collisionCount" i32,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [DaemonSetCondition],
        current_number_scheduled with_current_number_scheduled "currentNumberScheduled" i32,
        desired_number_scheduled with_desired_number_scheduled "desiredNumberScheduled" i32,
        number_available with_number_available "numberAvailable" i32,
        number_misscheduled with_number_misscheduled "numberMisscheduled" i32,
        number_ready with_number_ready "numberReady" i32,
        number_unavailable with_number_unavailable "numberUnavailable" i32,
        observed_generation with_observed_generation "observedGeneration" i64,
        updated_number_scheduled with_updated_number_scheduled "updatedNumberScheduled" i32,
    }
}

object! {
    /// `DaemonSetUpdateStrategy`, as far as an applier sets it.
    DaemonSetUpdateStrategy {
        rolling_update with_rolling_update "rollingUpdate" RollingUpdateDaemonSet,
        /// One of `OnDelete`, `RollingUpdate`.
        type_ with_type "type" String,
    }
}

object! {
    /// What an applier sets of a `Deployment` of `apps/v1`.
    Deployment as "apps/v1" "Deployment" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" DeploymentSpec,
        status with_status "status" DeploymentStatus,
    }
}
kind!(Deployment namespaced);
applies! { Deployment: k8s_openapi::api::apps::v1::Deployment }

object! {
    /// `DeploymentCondition`, as far as an applier sets it.
    DeploymentCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        last_update_time with_last_update_time "lastUpdateTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `DeploymentSpec`, as far as an applier sets it.
    DeploymentSpec {
        min_ready_seconds with_min_ready_seconds "minReadySeconds" i32,
        paused with_paused "paused" bool,
        progress_deadline_seconds with_progress_deadline_seconds "progressDeadlineSeconds" i32,
        replicas with_replicas "replicas" i32,
        revision_history_limit with_revision_history_limit "revisionHistoryLimit" i32,
        selector with_selector "selector" LabelSelector,
        strategy with_strategy "strategy" DeploymentStrategy,
        template with_template "template" PodTemplateSpec,
    }
}

object! {
    /// `DeploymentStatus`, as far as an applier sets it.
    DeploymentStatus {
        available_replicas with_available_replicas "availableReplicas" i32,
        collision_count with_collision_count "collisionCount" i32,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [DeploymentCondition],
        observed_generation with_observed_generation "observedGeneration" i64,
        ready_replicas with_ready_replicas "readyReplicas" i32,
        replicas with_replicas "replicas" i32,
        terminating_replicas with_terminating_replicas "terminatingReplicas" i32,
        unavailable_replicas with_unavailable_replicas "unavailableReplicas" i32,
        updated_replicas with_updated_replicas "updatedReplicas" i32,
    }
}

object! {
    /// `DeploymentStrategy`, as far as an applier sets it.
    DeploymentStrategy {
        rolling_update with_rolling_update "rollingUpdate" RollingUpdateDeployment,
        /// One of `Recreate`, `RollingUpdate`.
        type_ with_type "type" String,
    }
}

object! {
    /// What an applier sets of a `ReplicaSet` of `apps/v1`.
    ReplicaSet as "apps/v1" "ReplicaSet" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ReplicaSetSpec,
        status with_status "status" ReplicaSetStatus,
    }
}
kind!(ReplicaSet namespaced);
applies! { ReplicaSet: k8s_openapi::api::apps::v1::ReplicaSet }

object! {
    /// `ReplicaSetCondition`, as far as an applier sets it.
    ReplicaSetCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `ReplicaSetSpec`, as far as an applier sets it.
    ReplicaSetSpec {
        min_ready_seconds with_min_ready_seconds "minReadySeconds" i32,
        replicas with_replicas "replicas" i32,
        selector with_selector "selector" LabelSelector,
        template with_template "template" PodTemplateSpec,
    }
}

object! {
    /// `ReplicaSetStatus`, as far as an applier sets it.
    ReplicaSetStatus {
        available_replicas with_available_replicas "availableReplicas" i32,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [ReplicaSetCondition],
        fully_labeled_replicas with_fully_labeled_replicas "fullyLabeledReplicas" i32,
        observed_generation with_observed_generation "observedGeneration" i64,
        ready_replicas with_ready_replicas "readyReplicas" i32,
        replicas with_replicas "replicas" i32,
        terminating_replicas with_terminating_replicas "terminatingReplicas" i32,
    }
}

object! {
    /// `RollingUpdateDaemonSet`, as far as an applier sets it.
    RollingUpdateDaemonSet {
        max_surge with_max_surge "maxSurge" IntOrString,
        max_unavailable with_max_unavailable "maxUnavailable" IntOrString,
    }
}

object! {
    /// `RollingUpdateDeployment`, as far as an applier sets it.
    RollingUpdateDeployment {
        max_surge with_max_surge "maxSurge" IntOrString,
        max_unavailable with_max_unavailable "maxUnavailable" IntOrString,
    }
}

object! {
    /// `RollingUpdateStatefulSetStrategy`, as far as an applier sets it.
    RollingUpdateStatefulSetStrategy {
        max_unavailable with_max_unavailable "maxUnavailable" IntOrString,
        partition with_partition "partition" i32,
    }
}

object! {
    /// What an applier sets of a `StatefulSet` of `apps/v1`.
    StatefulSet as "apps/v1" "StatefulSet" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" StatefulSetSpec,
        status with_status "status" StatefulSetStatus,
    }
}
kind!(StatefulSet namespaced);
applies! { StatefulSet: k8s_openapi::api::apps::v1::StatefulSet }

object! {
    /// `StatefulSetCondition`, as far as an applier sets it.
    StatefulSetCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `StatefulSetOrdinals`, as far as an applier sets it.
    StatefulSetOrdinals {
        start with_start "start" i32,
    }
}

object! {
    /// `StatefulSetPersistentVolumeClaimRetentionPolicy`, as far as an applier sets it.
    StatefulSetPersistentVolumeClaimRetentionPolicy {
        when_deleted with_when_deleted "whenDeleted" String,
        when_scaled with_when_scaled "whenScaled" String,
    }
}

object! {
    /// `StatefulSetSpec`, as far as an applier sets it.
    StatefulSetSpec {
        min_ready_seconds with_min_ready_seconds "minReadySeconds" i32,
        ordinals with_ordinals "ordinals" StatefulSetOrdinals,
        persistent_volume_claim_retention_policy with_persistent_volume_claim_retention_policy "persistentVolumeClaimRetentionPolicy" StatefulSetPersistentVolumeClaimRetentionPolicy,
        /// One of `OrderedReady`, `Parallel`.
        pod_management_policy with_pod_management_policy "podManagementPolicy" String,
        replicas with_replicas "replicas" i32,
        revision_history_limit with_revision_history_limit "revisionHistoryLimit" i32,
        selector with_selector "selector" LabelSelector,
        service_name with_service_name "serviceName" String,
        template with_template "template" PodTemplateSpec,
        update_strategy with_update_strategy "updateStrategy" StatefulSetUpdateStrategy,
        /// It has one owner as a whole.
        volume_claim_templates with_volume_claim_templates "volumeClaimTemplates" [PersistentVolumeClaim],
    }
}

object! {
    /// `StatefulSetStatus`, as far as an applier sets it.
    StatefulSetStatus {
        available_replicas with_available_replicas "availableReplicas" i32,
        collision_count with_collision_count "collisionCount" i32,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [StatefulSetCondition],
        current_replicas with_current_replicas "currentReplicas" i32,
        current_revision with_current_revision "currentRevision" String,
        observed_generation with_observed_generation "observedGeneration" i64,
        ready_replicas with_ready_replicas "readyReplicas" i32,
        replicas with_replicas "replicas" i32,
        update_revision with_update_revision "updateRevision" String,
        updated_replicas with_updated_replicas "updatedReplicas" i32,
    }
}

object! {
    /// `StatefulSetUpdateStrategy`, as far as an applier sets it.
    StatefulSetUpdateStrategy {
        rolling_update with_rolling_update "rollingUpdate" RollingUpdateStatefulSetStrategy,
        /// One of `OnDelete`, `Recreate`, `RollingUpdate`.
        type_ with_type "type" String,
    }
}
