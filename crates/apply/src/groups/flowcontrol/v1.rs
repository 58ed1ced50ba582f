// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `flowcontrol`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// `ExemptPriorityLevelConfiguration`, as far as an applier sets it.
    ExemptPriorityLevelConfiguration {
        lendable_percent with_lendable_percent "lendablePercent" i32,
        nominal_concurrency_shares with_nominal_concurrency_shares "nominalConcurrencyShares" i32,
    }
}

object! {
    /// `FlowDistinguisherMethod`, as far as an applier sets it.
    FlowDistinguisherMethod {
        type_ with_type "type" String,
    }
}

object! {
    /// What an applier sets of a `FlowSchema` of `flowcontrol.apiserver.k8s.io/v1`.
    FlowSchema as "flowcontrol.apiserver.k8s.io/v1" "FlowSchema" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" FlowSchemaSpec,
        status with_status "status" FlowSchemaStatus,
    }
}
kind!(FlowSchema cluster);
applies! { FlowSchema: k8s_openapi::api::flowcontrol::v1::FlowSchema }

object! {
    /// `FlowSchemaCondition`, as far as an applier sets it.
    FlowSchemaCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `FlowSchemaSpec`, as far as an applier sets it.
    FlowSchemaSpec {
        distinguisher_method with_distinguisher_method "distinguisherMethod" FlowDistinguisherMethod,
        matching_precedence with_matching_precedence "matchingPrecedence" i32,
        priority_level_configuration with_priority_level_configuration "priorityLevelConfiguration" PriorityLevelConfigurationReference,
        /// It has one owner as a whole.
        rules with_rules "rules" [PolicyRulesWithSubjects],
    }
}

object! {
    /// `FlowSchemaStatus`, as far as an applier sets it.
    FlowSchemaStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [FlowSchemaCondition],
    }
}

object! {
    /// `GroupSubject`, as far as an applier sets it.
    GroupSubject {
        name with_name "name" String,
    }
}

object! {
    /// `LimitResponse`, as far as an applier sets it.
    LimitResponse {
        queuing with_queuing "queuing" QueuingConfiguration,
        type_ with_type "type" String,
    }
}

object! {
    /// `LimitedPriorityLevelConfiguration`, as far as an applier sets it.
    LimitedPriorityLevelConfiguration {
        borrowing_limit_percent with_borrowing_limit_percent "borrowingLimitPercent" i32,
        lendable_percent with_lendable_percent "lendablePercent" i32,
        limit_response with_limit_response "limitResponse" LimitResponse,
        nominal_concurrency_shares with_nominal_concurrency_shares "nominalConcurrencyShares" i32,
    }
}

object! {
    /// `NonResourcePolicyRule`, as far as an applier sets it.
    NonResourcePolicyRule {
        /// Items are owned one by one.
        non_resource_urls with_non_resource_urls "nonResourceURLs" [String],
        /// Items are owned one by one.
        verbs with_verbs "verbs" [String],
    }
}

object! {
    /// `PolicyRulesWithSubjects`, as far as an applier sets it.
    PolicyRulesWithSubjects {
        /// It has one owner as a whole.
        non_resource_rules with_non_resource_rules "nonResourceRules" [NonResourcePolicyRule],
        /// It has one owner as a whole.
        resource_rules with_resource_rules "resourceRules" [ResourcePolicyRule],
        /// It has one owner as a whole.
        subjects with_subjects "subjects" [Subject],
    }
}

object! {
    /// What an applier sets of a `PriorityLevelConfiguration` of `flowcontrol.apiserver.k8s.io/v1`.
    PriorityLevelConfiguration as "flowcontrol.apiserver.k8s.io/v1" "PriorityLevelConfiguration" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PriorityLevelConfigurationSpec,
        status with_status "status" PriorityLevelConfigurationStatus,
    }
}
kind!(PriorityLevelConfiguration cluster);
applies! { PriorityLevelConfiguration: k8s_openapi::api::flowcontrol::v1::PriorityLevelConfiguration }

object! {
    /// `PriorityLevelConfigurationCondition`, as far as an applier sets it.
    PriorityLevelConfigurationCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `PriorityLevelConfigurationReference`, as far as an applier sets it.
    PriorityLevelConfigurationReference {
        name with_name "name" String,
    }
}

object! {
    /// `PriorityLevelConfigurationSpec`, as far as an applier sets it.
    PriorityLevelConfigurationSpec {
        exempt with_exempt "exempt" ExemptPriorityLevelConfiguration,
        limited with_limited "limited" LimitedPriorityLevelConfiguration,
        type_ with_type "type" String,
    }
}

object! {
    /// `PriorityLevelConfigurationStatus`, as far as an applier sets it.
    PriorityLevelConfigurationStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [PriorityLevelConfigurationCondition],
    }
}

object! {
    /// `QueuingConfiguration`, as far as an applier sets it.
    QueuingConfiguration {
        hand_size with_hand_size "handSize" i32,
        queue_length_limit with_queue_length_limit "queueLengthLimit" i32,
        queues with_queues "queues" i32,
    }
}

object! {
    /// `ResourcePolicyRule`, as far as an applier sets it.
    ResourcePolicyRule {
        /// Items are owned one by one.
        api_groups with_api_groups "apiGroups" [String],
        cluster_scope with_cluster_scope "clusterScope" bool,
        /// Items are owned one by one.
        namespaces with_namespaces "namespaces" [String],
        /// Items are owned one by one.
        resources with_resources "resources" [String],
        /// Items are owned one by one.
        verbs with_verbs "verbs" [String],
    }
}

object! {
    /// `ServiceAccountSubject`, as far as an applier sets it.
    ServiceAccountSubject {
        name with_name "name" String,
        namespace with_namespace "namespace" String,
    }
}

object! {
    /// `Subject`, as far as an applier sets it.
    Subject {
        group with_group "group" GroupSubject,
        kind with_kind "kind" String,
        service_account with_service_account "serviceAccount" ServiceAccountSubject,
        user with_user "user" UserSubject,
    }
}

object! {
    /// `UserSubject`, as far as an applier sets it.
    UserSubject {
        name with_name "name" String,
    }
}
