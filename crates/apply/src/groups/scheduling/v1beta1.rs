// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1beta1` of the group `scheduling`.

use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;

object! {
    /// A `AllCompositeDisruptionMode`, as far as an applier sets it. Since 1.37.
    AllCompositeDisruptionMode {
    }
}

object! {
    /// A `AllDisruptionMode`, as far as an applier sets it. Since 1.37.
    AllDisruptionMode {
    }
}

object! {
    /// A `BasicSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    BasicSchedulingPolicy {
    }
}

object! {
    /// A `CompositeBasicSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    CompositeBasicSchedulingPolicy {
    }
}

object! {
    /// A `CompositeDisruptionMode`, as far as an applier sets it. Since 1.37.
    CompositeDisruptionMode {
        /// Since 1.37.
        all with_all "all" AllCompositeDisruptionMode,
        /// Since 1.37.
        single with_single "single" SingleCompositeDisruptionMode,
    }
}

object! {
    /// A `CompositeGangSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    CompositeGangSchedulingPolicy {
        /// Since 1.37.
        min_group_count with_min_group_count "minGroupCount" i32,
    }
}

object! {
    /// A `CompositePodGroupSchedulingConstraints`, as far as an applier sets it. Since 1.37.
    CompositePodGroupSchedulingConstraints {
        /// It has one owner as a whole. Since 1.37.
        topology with_topology "topology" [TopologyConstraint],
    }
}

object! {
    /// A `CompositePodGroupSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    CompositePodGroupSchedulingPolicy {
        /// Since 1.37.
        basic with_basic "basic" CompositeBasicSchedulingPolicy,
        /// Since 1.37.
        gang with_gang "gang" CompositeGangSchedulingPolicy,
    }
}

object! {
    /// A `CompositePodGroupTemplate`, as far as an applier sets it. Since 1.37.
    CompositePodGroupTemplate {
        /// Items are owned one by one, by `name`. Since 1.37.
        composite_pod_group_templates with_composite_pod_group_templates "compositePodGroupTemplates" [CompositePodGroupTemplate],
        /// Since 1.37.
        disruption_mode with_disruption_mode "disruptionMode" CompositeDisruptionMode,
        /// Since 1.37.
        name with_name "name" String,
        /// Items are owned one by one, by `name`. Since 1.37.
        pod_group_templates with_pod_group_templates "podGroupTemplates" [PodGroupTemplate],
        /// One of `Never`, `PreemptLowerPriority`. Since 1.37.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        /// Since 1.37.
        priority with_priority "priority" i32,
        /// Since 1.37.
        priority_class_name with_priority_class_name "priorityClassName" String,
        /// Since 1.37.
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" CompositePodGroupSchedulingConstraints,
        /// Since 1.37.
        scheduling_policy with_scheduling_policy "schedulingPolicy" CompositePodGroupSchedulingPolicy,
    }
}

object! {
    /// A `DisruptionMode`, as far as an applier sets it. Since 1.37.
    DisruptionMode {
        /// Since 1.37.
        all with_all "all" AllDisruptionMode,
        /// Since 1.37.
        single with_single "single" SingleDisruptionMode,
    }
}

object! {
    /// A `GangSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    GangSchedulingPolicy {
        /// Since 1.37.
        min_count with_min_count "minCount" i32,
    }
}

object! {
    /// What an applier sets of a `PodGroup` of `scheduling.k8s.io/v1beta1`. Since 1.37.
    PodGroup as "scheduling.k8s.io/v1beta1" "PodGroup" {
        /// Since 1.37.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.37.
        spec with_spec "spec" PodGroupSpec,
        /// Since 1.37.
        status with_status "status" PodGroupStatus,
    }
}
kind!(PodGroup namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { PodGroup: k8s_openapi::api::scheduling::v1beta1::PodGroup } }

object! {
    /// A `PodGroupResourceClaim`, as far as an applier sets it. Since 1.37.
    PodGroupResourceClaim {
        /// Since 1.37.
        name with_name "name" String,
        /// Since 1.37.
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
        /// Since 1.37.
        resource_claim_template_name with_resource_claim_template_name "resourceClaimTemplateName" String,
    }
}

object! {
    /// A `PodGroupResourceClaimStatus`, as far as an applier sets it. Since 1.37.
    PodGroupResourceClaimStatus {
        /// Since 1.37.
        name with_name "name" String,
        /// Since 1.37.
        resource_claim_name with_resource_claim_name "resourceClaimName" String,
    }
}

object! {
    /// A `PodGroupSchedulingConstraints`, as far as an applier sets it. Since 1.37.
    PodGroupSchedulingConstraints {
        /// It has one owner as a whole. Since 1.37.
        topology with_topology "topology" [TopologyConstraint],
    }
}

object! {
    /// A `PodGroupSchedulingPolicy`, as far as an applier sets it. Since 1.37.
    PodGroupSchedulingPolicy {
        /// Since 1.37.
        basic with_basic "basic" BasicSchedulingPolicy,
        /// Since 1.37.
        gang with_gang "gang" GangSchedulingPolicy,
    }
}

object! {
    /// A `PodGroupSpec`, as far as an applier sets it. Since 1.37.
    PodGroupSpec {
        /// Since 1.37.
        disruption_mode with_disruption_mode "disruptionMode" DisruptionMode,
        /// Since 1.37.
        parent_composite_pod_group_name with_parent_composite_pod_group_name "parentCompositePodGroupName" String,
        /// One of `Never`, `PreemptLowerPriority`. Since 1.37.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        /// Since 1.37.
        priority with_priority "priority" i32,
        /// Since 1.37.
        priority_class_name with_priority_class_name "priorityClassName" String,
        /// Items are owned one by one, by `name`. Since 1.37.
        resource_claims with_resource_claims "resourceClaims" [PodGroupResourceClaim],
        /// Since 1.37.
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" PodGroupSchedulingConstraints,
        /// Since 1.37.
        scheduling_policy with_scheduling_policy "schedulingPolicy" PodGroupSchedulingPolicy,
        /// Since 1.37.
        workload_ref with_workload_ref "workloadRef" WorkloadReference,
    }
}

object! {
    /// A `PodGroupStatus`, as far as an applier sets it. Since 1.37.
    PodGroupStatus {
        /// Items are owned one by one, by `type`. Since 1.37.
        conditions with_conditions "conditions" [Condition],
        /// Items are owned one by one, by `name`. Since 1.37.
        resource_claim_statuses with_resource_claim_statuses "resourceClaimStatuses" [PodGroupResourceClaimStatus],
    }
}

object! {
    /// A `PodGroupTemplate`, as far as an applier sets it. Since 1.37.
    PodGroupTemplate {
        /// Since 1.37.
        disruption_mode with_disruption_mode "disruptionMode" DisruptionMode,
        /// Since 1.37.
        name with_name "name" String,
        /// One of `Never`, `PreemptLowerPriority`. Since 1.37.
        preemption_policy with_preemption_policy "preemptionPolicy" String,
        /// Since 1.37.
        priority with_priority "priority" i32,
        /// Since 1.37.
        priority_class_name with_priority_class_name "priorityClassName" String,
        /// Items are owned one by one, by `name`. Since 1.37.
        resource_claims with_resource_claims "resourceClaims" [PodGroupResourceClaim],
        /// Since 1.37.
        scheduling_constraints with_scheduling_constraints "schedulingConstraints" PodGroupSchedulingConstraints,
        /// Since 1.37.
        scheduling_policy with_scheduling_policy "schedulingPolicy" PodGroupSchedulingPolicy,
    }
}

object! {
    /// A `SingleCompositeDisruptionMode`, as far as an applier sets it. Since 1.37.
    SingleCompositeDisruptionMode {
    }
}

object! {
    /// A `SingleDisruptionMode`, as far as an applier sets it. Since 1.37.
    SingleDisruptionMode {
    }
}

object! {
    /// A `TopologyConstraint`, as far as an applier sets it. Since 1.37.
    TopologyConstraint {
        /// Since 1.37.
        key with_key "key" String,
    }
}

object! {
    /// A `TypedLocalObjectReference`, as far as an applier sets it. Since 1.37.
    TypedLocalObjectReference {
        /// Since 1.37.
        api_group with_api_group "apiGroup" String,
        /// Since 1.37.
        kind with_kind "kind" String,
        /// Since 1.37.
        name with_name "name" String,
    }
}

object! {
    /// What an applier sets of a `Workload` of `scheduling.k8s.io/v1beta1`. Since 1.37.
    Workload as "scheduling.k8s.io/v1beta1" "Workload" {
        /// Since 1.37.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.37.
        spec with_spec "spec" WorkloadSpec,
    }
}
kind!(Workload namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { Workload: k8s_openapi::api::scheduling::v1beta1::Workload } }

object! {
    /// A `WorkloadReference`, as far as an applier sets it. Since 1.37.
    WorkloadReference {
        /// Since 1.37.
        template_name with_template_name "templateName" String,
        /// Since 1.37.
        workload_name with_workload_name "workloadName" String,
    }
}

object! {
    /// A `WorkloadSpec`, as far as an applier sets it. Since 1.37.
    WorkloadSpec {
        /// Items are owned one by one, by `name`. Since 1.37.
        composite_pod_group_templates with_composite_pod_group_templates "compositePodGroupTemplates" [CompositePodGroupTemplate],
        /// Since 1.37.
        controller_ref with_controller_ref "controllerRef" TypedLocalObjectReference,
        /// Items are owned one by one, by `name`. Since 1.37.
        pod_group_templates with_pod_group_templates "podGroupTemplates" [PodGroupTemplate],
    }
}
