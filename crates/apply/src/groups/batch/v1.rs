// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `batch`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::ObjectReference;
use crate::core::v1::PodTemplateSpec;
use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use crate::scheduling::v1alpha3::WorkloadPodGroupDisruptionMode;
use crate::scheduling::v1alpha3::WorkloadPodGroupResourceClaim;
use crate::scheduling::v1alpha3::WorkloadPodGroupSchedulingConstraints;
use crate::scheduling::v1alpha3::WorkloadPodGroupSchedulingPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `CronJob` of `batch/v1`.
    CronJob as "batch/v1" "CronJob" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" CronJobSpec,
        status with_status "status" CronJobStatus,
    }
}
kind!(CronJob namespaced);
applies! { CronJob: k8s_openapi::api::batch::v1::CronJob }

object! {
    /// `CronJobSpec`, as far as an applier sets it.
    CronJobSpec {
        /// One of `Allow`, `Forbid`, `Replace`.
        concurrency_policy with_concurrency_policy "concurrencyPolicy" String,
        failed_jobs_history_limit with_failed_jobs_history_limit "failedJobsHistoryLimit" i32,
        job_template with_job_template "jobTemplate" JobTemplateSpec,
        schedule with_schedule "schedule" String,
        starting_deadline_seconds with_starting_deadline_seconds "startingDeadlineSeconds" i64,
        successful_jobs_history_limit with_successful_jobs_history_limit "successfulJobsHistoryLimit" i32,
        suspend with_suspend "suspend" bool,
        time_zone with_time_zone "timeZone" String,
    }
}

object! {
    /// `CronJobStatus`, as far as an applier sets it.
    CronJobStatus {
        /// It has one owner as a whole.
        active with_active "active" [ObjectReference],
        last_schedule_time with_last_schedule_time "lastScheduleTime" Time,
        last_successful_time with_last_successful_time "lastSuccessfulTime" Time,
    }
}

object! {
    /// What an applier sets of a `Job` of `batch/v1`.
    Job as "batch/v1" "Job" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" JobSpec,
        status with_status "status" JobStatus,
    }
}
kind!(Job namespaced);
applies! { Job: k8s_openapi::api::batch::v1::Job }

object! {
    /// `JobCondition`, as far as an applier sets it.
    JobCondition {
        last_probe_time with_last_probe_time "lastProbeTime" Time,
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `JobSchedulingConfiguration`, as far as an applier sets it. Since 1.37.
    JobSchedulingConfiguration {
        disruption_mode with_disruption_mode "disruptionMode" WorkloadPodGroupDisruptionMode,
        /// Items are owned one by one, by `name`.
        resource_claims with_resource_claims "resourceClaims" [WorkloadPodGroupResourceClaim],
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" WorkloadPodGroupSchedulingConstraints,
        scheduling_policy with_scheduling_policy "schedulingPolicy" WorkloadPodGroupSchedulingPolicy,
    }
}

object! {
    /// `JobSpec`, as far as an applier sets it.
    JobSpec {
        active_deadline_seconds with_active_deadline_seconds "activeDeadlineSeconds" i64,
        backoff_limit with_backoff_limit "backoffLimit" i32,
        backoff_limit_per_index with_backoff_limit_per_index "backoffLimitPerIndex" i32,
        /// One of `Indexed`, `NonIndexed`.
        completion_mode with_completion_mode "completionMode" String,
        completions with_completions "completions" i32,
        managed_by with_managed_by "managedBy" String,
        manual_selector with_manual_selector "manualSelector" bool,
        max_failed_indexes with_max_failed_indexes "maxFailedIndexes" i32,
        parallelism with_parallelism "parallelism" i32,
        pod_failure_policy with_pod_failure_policy "podFailurePolicy" PodFailurePolicy,
        /// One of `Failed`, `TerminatingOrFailed`.
        pod_replacement_policy with_pod_replacement_policy "podReplacementPolicy" String,
        /// Since 1.37.
        scheduling with_scheduling "scheduling" JobSchedulingConfiguration,
        selector with_selector "selector" LabelSelector,
        success_policy with_success_policy "successPolicy" SuccessPolicy,
        suspend with_suspend "suspend" bool,
        template with_template "template" PodTemplateSpec,
        ttl_seconds_after_finished with_ttl_seconds_after_finished "ttlSecondsAfterFinished" i32,
    }
}

object! {
    /// `JobStatus`, as far as an applier sets it.
    JobStatus {
        active with_active "active" i32,
        completed_indexes with_completed_indexes "completedIndexes" String,
        completion_time with_completion_time "completionTime" Time,
        /// It has one owner as a whole.
        conditions with_conditions "conditions" [JobCondition],
        failed with_failed "failed" i32,
        failed_indexes with_failed_indexes "failedIndexes" String,
        ready with_ready "ready" i32,
        start_time with_start_time "startTime" Time,
        succeeded with_succeeded "succeeded" i32,
        terminating with_terminating "terminating" i32,
        uncounted_terminated_pods with_uncounted_terminated_pods "uncountedTerminatedPods" UncountedTerminatedPods,
    }
}

object! {
    /// `JobTemplateSpec`, as far as an applier sets it.
    JobTemplateSpec {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" JobSpec,
    }
}

object! {
    /// `PodFailurePolicy`, as far as an applier sets it.
    PodFailurePolicy {
        /// It has one owner as a whole.
        rules with_rules "rules" [PodFailurePolicyRule],
    }
}

object! {
    /// `PodFailurePolicyOnExitCodesRequirement`, as far as an applier sets it.
    PodFailurePolicyOnExitCodesRequirement {
        container_name with_container_name "containerName" String,
        /// One of `In`, `NotIn`.
        operator with_operator "operator" String,
        /// Items are owned one by one.
        values with_values "values" [i32],
    }
}

object! {
    /// `PodFailurePolicyOnPodConditionsPattern`, as far as an applier sets it.
    PodFailurePolicyOnPodConditionsPattern {
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `PodFailurePolicyRule`, as far as an applier sets it.
    PodFailurePolicyRule {
        /// One of `Count`, `FailIndex`, `FailJob`, `Ignore`.
        action with_action "action" String,
        on_exit_codes with_on_exit_codes "onExitCodes" PodFailurePolicyOnExitCodesRequirement,
        /// It has one owner as a whole.
        on_pod_conditions with_on_pod_conditions "onPodConditions" [PodFailurePolicyOnPodConditionsPattern],
    }
}

object! {
    /// `SuccessPolicy`, as far as an applier sets it.
    SuccessPolicy {
        /// It has one owner as a whole.
        rules with_rules "rules" [SuccessPolicyRule],
    }
}

object! {
    /// `SuccessPolicyRule`, as far as an applier sets it.
    SuccessPolicyRule {
        succeeded_count with_succeeded_count "succeededCount" i32,
        succeeded_indexes with_succeeded_indexes "succeededIndexes" String,
    }
}

object! {
    /// `UncountedTerminatedPods`, as far as an applier sets it.
    UncountedTerminatedPods {
        /// Items are owned one by one.
        failed with_failed "failed" [String],
        /// Items are owned one by one.
        succeeded with_succeeded "succeeded" [String],
    }
}
