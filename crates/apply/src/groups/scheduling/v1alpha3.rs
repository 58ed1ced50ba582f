// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1alpha3` of the group `scheduling`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;

object! {
    /// `AllCompositeDisruptionMode`, as far as an applier sets it. Since 1.37.
    AllCompositeDisruptionMode {
    }
}

object! {
    /// `AllDisruptionMode`, as far as an applier sets it. Since 1.37.
    AllDisruptionMode {
    }
}

object! {
    /// `BasicSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    BasicSchedulingPolicy {
    }
}

object! {
    /// `CompositeBasicSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    CompositeBasicSchedulingPolicy {
    }
}

object! {
    /// `CompositeDisruptionMode`, as far as an applier sets it. Since 1.37.
    CompositeDisruptionMode {
        all with_all "all" AllCompositeDisruptionMode,
        single with_single "single" SingleCompositeDisruptionMode,
    }
}

object! {
    /// `CompositeGangSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    CompositeGangSchedulingPolicy {
        min_group_count with_min_group_count "minGroupCount" i32,
    }
}

object! {
    /// What an applier sets of a `CompositePodGroup` of `scheduling.k8s.io/v1alpha3`. Since 1.37.
    CompositePodGroup as "scheduling.k8s.io/v1alpha3" "CompositePodGroup" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" CompositePodGroupSpec,
        status with_status "status" CompositePodGroupStatus,
    }
}
kind!(CompositePodGroup namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { CompositePodGroup: k8s_openapi::api::scheduling::v1alpha3::CompositePodGroup } }

object! {
    /// `CompositePodGroupSchedulingConstraints`, as far as an applier sets it. Since 1.37.
    CompositePodGroupSchedulingConstraints {
        /// It has one owner as a whole.
        topology with_topology "topology" [TopologyConstraint],
    }
}

object! {
    /// `CompositePodGroupSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    CompositePodGroupSchedulingPolicy {
        basic with_basic "basic" CompositeBasicSchedulingPolicy,
        gang with_gang "gang" CompositeGangSchedulingPolicy,
    }
}

object! {
    /// `CompositePodGroupSpec`, as far as an applier sets it. Since 1.37.
    CompositePodGroupSpec {
        disruption_mode with_disruption_mode "disruptionMode" CompositeDisruptionMode,
        parent_composite_pod_group_name with_parent_composite_pod_group_name "parentCompositePodGroupName" String,
        /// One of `Never`, `PreemptLowerPriority`.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        priority with_priority "priority" i32,
        priority_class_name with_priority_class_name "priorityClassName" String,
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" CompositePodGroupSchedulingConstraints,
        scheduling_policy with_scheduling_policy "schedulingPolicy" CompositePodGroupSchedulingPolicy,
        workload_ref with_workload_ref "workloadRef" WorkloadReference,
    }
}

object! {
    /// `CompositePodGroupStatus`, as far as an applier sets it. Since 1.37.
    CompositePodGroupStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
    }
}

object! {
    /// `CompositePodGroupTemplate`, as far as an applier sets it. Since 1.37.
    CompositePodGroupTemplate {
        /// Items are owned one by one, by `name`.
        composite_pod_group_templates with_composite_pod_group_templates "compositePodGroupTemplates" [CompositePodGroupTemplate],
        disruption_mode with_disruption_mode "disruptionMode" CompositeDisruptionMode,
        name with_name "name" String,
        /// Items are owned one by one, by `name`.
        pod_group_templates with_pod_group_templates "podGroupTemplates" [PodGroupTemplate],
        /// One of `Never`, `PreemptLowerPriority`.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        priority with_priority "priority" i32,
        priority_class_name with_priority_class_name "priorityClassName" String,
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" CompositePodGroupSchedulingConstraints,
        scheduling_policy with_scheduling_policy "schedulingPolicy" CompositePodGroupSchedulingPolicy,
    }
}

object! {
    /// `DisruptionMode`, as far as an applier sets it. Since 1.37.
    DisruptionMode {
        all with_all "all" AllDisruptionMode,
        single with_single "single" SingleDisruptionMode,
    }
}

object! {
    /// `GangSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    GangSchedulingPolicy {
        min_count with_min_count "minCount" i32,
    }
}

object! {
    /// What an applier sets of a `PodGroup` of `scheduling.k8s.io/v1alpha3`. Since 1.37.
    PodGroup as "scheduling.k8s.io/v1alpha3" "PodGroup" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PodGroupSpec,
        status with_status "status" PodGroupStatus,
    }
}
kind!(PodGroup namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { PodGroup: k8s_openapi::api::scheduling::v1alpha3::PodGroup } }

object! {
    /// `PodGroupResourceClaim`, as far as an applier sets it. Since 1.37.
    PodGroupResourceClaim {
        name with_name "name" String,
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
        resource_claim_template_name with_resource_claim_template_name "resourceClaimTemplateName" String,
    }
}

object! {
    /// `PodGroupResourceClaimStatus`, as far as an applier sets it. Since 1.37.
    PodGroupResourceClaimStatus {
        name with_name "name" String,
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
    }
}

object! {
    /// `PodGroupSchedulingConstraints`, as far as an applier sets it. Since 1.37.
    PodGroupSchedulingConstraints {
        /// It has one owner as a whole.
        topology with_topology "topology" [TopologyConstraint],
    }
}

object! {
    /// `PodGroupSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    PodGroupSchedulingPolicy {
        basic with_basic "basic" BasicSchedulingPolicy,
        gang with_gang "gang" GangSchedulingPolicy,
    }
}

object! {
    /// `PodGroupSpec`, as far as an applier sets it. Since 1.37.
    PodGroupSpec {
        disruption_mode with_disruption_mode "disruptionMode" DisruptionMode,
        parent_composite_pod_group_name with_parent_composite_pod_group_name "parentCompositePodGroupName" String,
        /// One of `Never`, `PreemptLowerPriority`.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        priority with_priority "priority" i32,
        priority_class_name with_priority_class_name "priorityClassName" String,
        /// Items are owned one by one, by `name`.
        resource_claims with_resource_claims "resourceClaims" [PodGroupResourceClaim],
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" PodGroupSchedulingConstraints,
        scheduling_policy with_scheduling_policy "schedulingPolicy" PodGroupSchedulingPolicy,
        workload_ref with_workload_ref "workloadRef" WorkloadReference,
    }
}

object! {
    /// `PodGroupStatus`, as far as an applier sets it. Since 1.37.
    PodGroupStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        /// Items are owned one by one, by `name`.
        resource_claim_statuses with_resource_claim_statuses "resourceClaimStatuses" [PodGroupResourceClaimStatus],
    }
}

object! {
    /// `PodGroupTemplate`, as far as an applier sets it. Since 1.37.
    PodGroupTemplate {
        disruption_mode with_disruption_mode "disruptionMode" DisruptionMode,
        name with_name "name" String,
        /// One of `Never`, `PreemptLowerPriority`.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        priority with_priority "priority" i32,
        priority_class_name with_priority_class_name "priorityClassName" String,
        /// Items are owned one by one, by `name`.
        resource_claims with_resource_claims "resourceClaims" [PodGroupResourceClaim],
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" PodGroupSchedulingConstraints,
        scheduling_policy with_scheduling_policy "schedulingPolicy" PodGroupSchedulingPolicy,
    }
}

object! {
    /// `SingleCompositeDisruptionMode`, as far as an applier sets it. Since 1.37.
    SingleCompositeDisruptionMode {
    }
}

object! {
    /// `SingleDisruptionMode`, as far as an applier sets it. Since 1.37.
    SingleDisruptionMode {
    }
}

object! {
    /// `TopologyConstraint`, as far as an applier sets it. Since 1.37.
    TopologyConstraint {
        key with_key "key" String,
    }
}

object! {
    /// `TypedLocalObjectReference`, as far as an applier sets it. Since 1.37.
    TypedLocalObjectReference {
        api_group with_api_group "apiGroup" String,
        kind with_kind "kind" String,
        name with_name "name" String,
    }
}

object! {
    /// What an applier sets of a `Workload` of `scheduling.k8s.io/v1alpha3`. Since 1.37.
    Workload as "scheduling.k8s.io/v1alpha3" "Workload" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" WorkloadSpec,
    }
}
kind!(Workload namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { Workload: k8s_openapi::api::scheduling::v1alpha3::Workload } }

object! {
    /// `WorkloadPodGroupAllDisruptionMode`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupAllDisruptionMode {
    }
}

object! {
    /// `WorkloadPodGroupBasicSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupBasicSchedulingPolicy {
    }
}

object! {
    /// `WorkloadPodGroupDisruptionMode`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupDisruptionMode {
        all with_all "all" WorkloadPodGroupAllDisruptionMode,
        single with_single "single" WorkloadPodGroupSingleDisruptionMode,
    }
}

object! {
    /// `WorkloadPodGroupGangSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupGangSchedulingPolicy {
        min_count with_min_count "minCount" i32,
    }
}

object! {
    /// `WorkloadPodGroupResourceClaim`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupResourceClaim {
        name with_name "name" String,
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
        resource_claim_template_name with_resource_claim_template_name "resourceClaimTemplateName" String,
    }
}

object! {
    /// `WorkloadPodGroupSchedulingConstraints`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupSchedulingConstraints {
        /// It has one owner as a whole.
        topology with_topology "topology" [TopologyConstraint],
    }
}

object! {
    /// `WorkloadPodGroupSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupSchedulingPolicy {
        basic with_basic "basic" WorkloadPodGroupBasicSchedulingPolicy,
        gang with_gang "gang" WorkloadPodGroupGangSchedulingPolicy,
    }
}

object! {
    /// `WorkloadPodGroupSingleDisruptionMode`, as far as an applier sets it. Since 1.37.
    WorkloadPodGroupSingleDisruptionMode {
    }
}

object! {
    /// `WorkloadReference`, as far as an applier sets it. Since 1.37.
    WorkloadReference {
        template_name with_template_name "templateName" String,
        workload_name with_workload_name "workloadName" String,
    }
}

object! {
    /// `WorkloadSpec`, as far as an applier sets it. Since 1.37.
    WorkloadSpec {
        /// Items are owned one by one, by `name`.
        composite_pod_group_templates with_composite_pod_group_templates "compositePodGroupTemplates" [CompositePodGroupTemplate],
        controller_ref with_controller_ref "controllerRef" TypedLocalObjectReference,
        /// Items are owned one by one, by `name`.
        pod_group_templates with_pod_group_templates "podGroupTemplates" [PodGroupTemplate],
    }
}
