// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `admissionregistration`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::ByteString;

object! {
    /// `ApplyConfiguration`, as far as an applier sets it. Since 1.36.
    ApplyConfiguration {
        expression with_expression "expression" String,
    }
}

object! {
    /// `AuditAnnotation`, as far as an applier sets it.
    AuditAnnotation {
        key with_key "key" String,
        value_expression with_value_expression "valueExpression" String,
    }
}

object! {
    /// `ExpressionWarning`, as far as an applier sets it.
    ExpressionWarning {
        field_ref with_field_ref "fieldRef" String,
        warning with_warning "warning" String,
    }
}

object! {
    /// `JSONPatch`, as far as an applier sets it. Since 1.36.
    JSONPatch {
        expression with_expression "expression" String,
    }
}

object! {
    /// `MatchCondition`, as far as an applier sets it.
    MatchCondition {
        expression with_expression "expression" String,
        name with_name "name" String,
    }
}

object! {
    /// `MatchResources`, as far as an applier sets it. It has one owner as a whole.
    MatchResources {
        /// It has one owner as a whole.
        exclude_resource_rules with_exclude_resource_rules "excludeResourceRules" [NamedRuleWithOperations],
        /// One of `Equivalent`, `Exact`.
        match_policy with_match_policy "matchPolicy" String,
        namespace_selector with_namespace_selector "namespaceSelector" LabelSelector,
        object_selector with_object_selector "objectSelector" LabelSelector,
        /// It has one owner as a whole.
        resource_rules with_resource_rules "resourceRules" [NamedRuleWithOperations],
    }
}

object! {
    /// What an applier sets of a `MutatingAdmissionPolicy` of `admissionregistration.k8s.io/v1`. Since 1.36.
    MutatingAdmissionPolicy as "admissionregistration.k8s.io/v1" "MutatingAdmissionPolicy" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" MutatingAdmissionPolicySpec,
    }
}
kind!(MutatingAdmissionPolicy cluster);
k8s_openapi::k8s_if_ge_1_36! { applies! { MutatingAdmissionPolicy: k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicy } }

object! {
    /// What an applier sets of a `MutatingAdmissionPolicyBinding` of `admissionregistration.k8s.io/v1`. Since 1.36.
    MutatingAdmissionPolicyBinding as "admissionregistration.k8s.io/v1" "MutatingAdmissionPolicyBinding" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" MutatingAdmissionPolicyBindingSpec,
    }
}
kind!(MutatingAdmissionPolicyBinding cluster);
k8s_openapi::k8s_if_ge_1_36! { applies! { MutatingAdmissionPolicyBinding: k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicyBinding } }

object! {
    /// `MutatingAdmissionPolicyBindingSpec`, as far as an applier sets it. Since 1.36.
    MutatingAdmissionPolicyBindingSpec {
        match_resources with_match_resources "matchResources" MatchResources,
        param_ref with_param_ref "paramRef" ParamRef,
        policy_name with_policy_name "policyName" String,
    }
}

object! {
    /// `MutatingAdmissionPolicySpec`, as far as an applier sets it. Since 1.36.
    MutatingAdmissionPolicySpec {
        /// One of `Fail`, `Ignore`.
        failure_policy with_failure_policy "failurePolicy" String,
        /// Items are owned one by one, by `name`.
        match_conditions with_match_conditions "matchConditions" [MatchCondition],
        match_constraints with_match_constraints "matchConstraints" MatchResources,
        /// It has one owner as a whole.
        mutations with_mutations "mutations" [Mutation],
        param_kind with_param_kind "paramKind" ParamKind,
        /// One of `IfNeeded`, `Never`.
        reinvocation_policy with_reinvocation_policy "reinvocationPolicy" String,
        /// It has one owner as a whole.
        variables with_variables "variables" [Variable],
    }
}

object! {
    /// `MutatingWebhook`, as far as an applier sets it.
    MutatingWebhook {
        /// It has one owner as a whole.
        admission_review_versions with_admission_review_versions "admissionReviewVersions" [String],
        client_config with_client_config "clientConfig" WebhookClientConfig,
        /// One of `Fail`, `Ignore`.
        failure_policy with_failure_policy "failurePolicy" String,
        /// Items are owned one by one, by `name`.
        match_conditions with_match_conditions "matchConditions" [MatchCondition],
        /// One of `Equivalent`, `Exact`.
        match_policy with_match_policy "matchPolicy" String,
        name with_name "name" String,
        namespace_selector with_namespace_selector "namespaceSelector" LabelSelector,
        object_selector with_object_selector "objectSelector" LabelSelector,
        /// One of `IfNeeded`, `Never`.
        reinvocation_policy with_reinvocation_policy "reinvocationPolicy" String,
        /// It has one owner as a whole.
        rules with_rules "rules" [RuleWithOperations],
        /// One of `None`, `NoneOnDryRun`, `Some`, `Unknown`.
        side_effects with_side_effects "sideEffects" String,
        timeout_seconds with_timeout_seconds "timeoutSeconds" i32,
    }
}

object! {
    /// What an applier sets of a `MutatingWebhookConfiguration` of `admissionregistration.k8s.io/v1`.
    MutatingWebhookConfiguration as "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" {
        metadata with_metadata "metadata" ObjectMeta,
        /// Items are owned one by one, by `name`.
        webhooks with_webhooks "webhooks" [MutatingWebhook],
    }
}
kind!(MutatingWebhookConfiguration cluster);
applies! { MutatingWebhookConfiguration: k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration }

object! {
    /// `Mutation`, as far as an applier sets it. Since 1.36.
    Mutation {
        apply_configuration with_apply_configuration "applyConfiguration" ApplyConfiguration,
        json_patch with_json_patch "jsonPatch" JSONPatch,
        /// One of `ApplyConfiguration`, `JSONPatch`.
        patch_type with_patch_type "patchType" String,
    }
}

object! {
    /// `NamedRuleWithOperations`, as far as an applier sets it. It has one owner as a whole.
    NamedRuleWithOperations {
        /// It has one owner as a whole.
        api_groups with_api_groups "apiGroups" [String],
        /// It has one owner as a whole.
        api_versions with_api_versions "apiVersions" [String],
        /// It has one owner as a whole. One of `*`, `CONNECT`, `CREATE`, `DELETE`, `UPDATE`.
        operations with_operations "operations" [String],
        /// It has one owner as a whole.
        resource_names with_resource_names "resourceNames" [String],
        /// It has one owner as a whole.
        resources with_resources "resources" [String],
        /// One of `*`, `Cluster`, `Namespaced`.
        scope with_scope "scope" String,
    }
}

object! {
    /// `ParamKind`, as far as an applier sets it. It has one owner as a whole.
    ParamKind {
        api_version with_api_version "apiVersion" String,
        kind with_kind "kind" String,
    }
}

object! {
    /// `ParamRef`, as far as an applier sets it. It has one owner as a whole.
    ParamRef {
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        parameter_not_found_action with_parameter_not_found_action "parameterNotFoundAction" String,
        selector with_selector "selector" LabelSelector,
    }
}

object! {
    /// `RuleWithOperations`, as far as an applier sets it.
    RuleWithOperations {
        /// It has one owner as a whole.
        api_groups with_api_groups "apiGroups" [String],
        /// It has one owner as a whole.
        api_versions with_api_versions "apiVersions" [String],
        /// It has one owner as a whole. One of `*`, `CONNECT`, `CREATE`, `DELETE`, `UPDATE`.
        operations with_operations "operations" [String],
        /// It has one owner as a whole.
        resources with_resources "resources" [String],
        /// One of `*`, `Cluster`, `Namespaced`.
        scope with_scope "scope" String,
    }
}

object! {
    /// `ServiceReference`, as far as an applier sets it.
    ServiceReference {
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        path with_path "path" String,
        port with_port "port" i32,
    }
}

object! {
    /// `TypeChecking`, as far as an applier sets it.
    TypeChecking {
        /// It has one owner as a whole.
        expression_warnings with_expression_warnings "expressionWarnings" [ExpressionWarning],
    }
}

object! {
    /// What an applier sets of a `ValidatingAdmissionPolicy` of `admissionregistration.k8s.io/v1`.
    ValidatingAdmissionPolicy as "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ValidatingAdmissionPolicySpec,
        status with_status "status" ValidatingAdmissionPolicyStatus,
    }
}
kind!(ValidatingAdmissionPolicy cluster);
applies! { ValidatingAdmissionPolicy: k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy }

object! {
    /// What an applier sets of a `ValidatingAdmissionPolicyBinding` of `admissionregistration.k8s.io/v1`.
    ValidatingAdmissionPolicyBinding as "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ValidatingAdmissionPolicyBindingSpec,
    }
}
kind!(ValidatingAdmissionPolicyBinding cluster);
applies! { ValidatingAdmissionPolicyBinding: k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding }

object! {
    /// `ValidatingAdmissionPolicyBindingSpec`, as far as an applier sets it.
    ValidatingAdmissionPolicyBindingSpec {
        match_resources with_match_resources "matchResources" MatchResources,
        param_ref with_param_ref "paramRef" ParamRef,
        policy_name with_policy_name "policyName" String,
        /// Items are owned one by one. One of `Audit`, `Deny`, `Warn`.
        validation_actions with_validation_actions "validationActions" [String],
    }
}

object! {
    /// `ValidatingAdmissionPolicySpec`, as far as an applier sets it.
    ValidatingAdmissionPolicySpec {
        /// It has one owner as a whole.
        audit_annotations with_audit_annotations "auditAnnotations" [AuditAnnotation],
        /// One of `Fail`, `Ignore`.
        failure_policy with_failure_policy "failurePolicy" String,
        /// Items are owned one by one, by `name`.
        match_conditions with_match_conditions "matchConditions" [MatchCondition],
        match_constraints with_match_constraints "matchConstraints" MatchResources,
        param_kind with_param_kind "paramKind" ParamKind,
        /// It has one owner as a whole.
        validations with_validations "validations" [Validation],
        /// Items are owned one by one, by `name`.
        variables with_variables "variables" [Variable],
    }
}

object! {
    /// `ValidatingAdmissionPolicyStatus`, as far as an applier sets it.
    ValidatingAdmissionPolicyStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        observed_generation with_observed_generation "observedGeneration" i64,
        type_checking with_type_checking "typeChecking" TypeChecking,
    }
}

object! {
    /// `ValidatingWebhook`, as far as an applier sets it.
    ValidatingWebhook {
        /// It has one owner as a whole.
        admission_review_versions with_admission_review_versions "admissionReviewVersions" [String],
        client_config with_client_config "clientConfig" WebhookClientConfig,
        /// One of `Fail`, `Ignore`.
        failure_policy with_failure_policy "failurePolicy" String,
        /// Items are owned one by one, by `name`.
        match_conditions with_match_conditions "matchConditions" [MatchCondition],
        /// One of `Equivalent`, `Exact`.
        match_policy with_match_policy "matchPolicy" String,
        name with_name "name" String,
        namespace_selector with_namespace_selector "namespaceSelector" LabelSelector,
        object_selector with_object_selector "objectSelector" LabelSelector,
        /// It has one owner as a whole.
        rules with_rules "rules" [RuleWithOperations],
        /// One of `None`, `NoneOnDryRun`, `Some`, `Unknown`.
        side_effects with_side_effects "sideEffects" String,
        timeout_seconds with_timeout_seconds "timeoutSeconds" i32,
    }
}

object! {
    /// What an applier sets of a `ValidatingWebhookConfiguration` of `admissionregistration.k8s.io/v1`.
    ValidatingWebhookConfiguration as "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" {
        metadata with_metadata "metadata" ObjectMeta,
        /// Items are owned one by one, by `name`.
        webhooks with_webhooks "webhooks" [ValidatingWebhook],
    }
}
kind!(ValidatingWebhookConfiguration cluster);
applies! { ValidatingWebhookConfiguration: k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration }

object! {
    /// `Validation`, as far as an applier sets it.
    Validation {
        expression with_expression "expression" String,
        message with_message "message" String,
        message_expression with_message_expression "messageExpression" String,
        reason with_reason "reason" String,
    }
}

object! {
    /// `Variable`, as far as an applier sets it. It has one owner as a whole.
    Variable {
        expression with_expression "expression" String,
        name with_name "name" String,
    }
}

object! {
    /// `WebhookClientConfig`, as far as an applier sets it.
    WebhookClientConfig {
        ca_bundle with_ca_bundle "caBundle" ByteString,
        service with_service "service" ServiceReference,
        url with_url "url" String,
    }
}
