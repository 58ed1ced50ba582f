// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1alpha1` of the group `admissionregistration`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;

object! {
    /// `ApplyConfiguration`, as far as an applier sets it.
    ApplyConfiguration {
        expression with_expression "expression" String,
    }
}

object! {
    /// `JSONPatch`, as far as an applier sets it.
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
    /// What an applier sets of a `MutatingAdmissionPolicy` of `admissionregistration.k8s.io/v1alpha1`.
    MutatingAdmissionPolicy as "admissionregistration.k8s.io/v1alpha1" "MutatingAdmissionPolicy" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" MutatingAdmissionPolicySpec,
    }
}
kind!(MutatingAdmissionPolicy cluster);
applies! { MutatingAdmissionPolicy: k8s_openapi::api::admissionregistration::v1alpha1::MutatingAdmissionPolicy }

object! {
    /// What an applier sets of a `MutatingAdmissionPolicyBinding` of `admissionregistration.k8s.io/v1alpha1`.
    MutatingAdmissionPolicyBinding as "admissionregistration.k8s.io/v1alpha1" "MutatingAdmissionPolicyBinding" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" MutatingAdmissionPolicyBindingSpec,
    }
}
kind!(MutatingAdmissionPolicyBinding cluster);
applies! { MutatingAdmissionPolicyBinding: k8s_openapi::api::admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding }

object! {
    /// `MutatingAdmissionPolicyBindingSpec`, as far as an applier sets it.
    MutatingAdmissionPolicyBindingSpec {
        match_resources with_match_resources "matchResources" MatchResources,
        param_ref with_param_ref "paramRef" ParamRef,
        policy_name with_policy_name "policyName" String,
    }
}

object! {
    /// `MutatingAdmissionPolicySpec`, as far as an applier sets it.
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
    /// `Mutation`, as far as an applier sets it.
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
        /// One of `Allow`, `Deny`.
        parameter_not_found_action with_parameter_not_found_action "parameterNotFoundAction" String,
        selector with_selector "selector" LabelSelector,
    }
}

object! {
    /// `Variable`, as far as an applier sets it.
    Variable {
        expression with_expression "expression" String,
        name with_name "name" String,
    }
}
