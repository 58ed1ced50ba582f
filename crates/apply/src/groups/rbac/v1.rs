// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `rbac`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;

object! {
    /// `AggregationRule`, as far as an applier sets it.
    AggregationRule {
        /// It has one owner as a whole.
        cluster_role_selectors with_cluster_role_selectors "clusterRoleSelectors" [LabelSelector],
    }
}

object! {
    /// What an applier sets of a `ClusterRole` of `rbac.authorization.k8s.io/v1`.
    ClusterRole as "rbac.authorization.k8s.io/v1" "ClusterRole" {
        aggregation_rule with_aggregation_rule "aggregationRule" AggregationRule,
        metadata with_metadata "metadata" ObjectMeta,
        /// It has one owner as a whole.
        rules with_rules "rules" [PolicyRule],
    }
}
kind!(ClusterRole cluster);
applies! { ClusterRole: k8s_openapi::api::rbac::v1::ClusterRole }

object! {
    /// What an applier sets of a `ClusterRoleBinding` of `rbac.authorization.k8s.io/v1`.
    ClusterRoleBinding as "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" {
        metadata with_metadata "metadata" ObjectMeta,
        role_ref with_role_ref "roleRef" RoleRef,
        /// It has one owner as a whole.
        subjects with_subjects "subjects" [Subject],
    }
}
kind!(ClusterRoleBinding cluster);
applies! { ClusterRoleBinding: k8s_openapi::api::rbac::v1::ClusterRoleBinding }

object! {
    /// `PolicyRule`, as far as an applier sets it.
    PolicyRule {
        /// It has one owner as a whole.
        api_groups with_api_groups "apiGroups" [String],
        /// It has one owner as a whole.
        non_resource_urls with_non_resource_urls "nonResourceURLs" [String],
        /// It has one owner as a whole.
        resource_names with_resource_names "resourceNames" [String],
        /// It has one owner as a whole.
        resources with_resources "resources" [String],
        /// It has one owner as a whole.
        verbs with_verbs "verbs" [String],
    }
}

object! {
    /// What an applier sets of a `Role` of `rbac.authorization.k8s.io/v1`.
    Role as "rbac.authorization.k8s.io/v1" "Role" {
        metadata with_metadata "metadata" ObjectMeta,
        /// It has one owner as a whole.
        rules with_rules "rules" [PolicyRule],
    }
}
kind!(Role namespaced);
applies! { Role: k8s_openapi::api::rbac::v1::Role }

object! {
    /// What an applier sets of a `RoleBinding` of `rbac.authorization.k8s.io/v1`.
    RoleBinding as "rbac.authorization.k8s.io/v1" "RoleBinding" {
        metadata with_metadata "metadata" ObjectMeta,
        role_ref with_role_ref "roleRef" RoleRef,
        /// It has one owner as a whole.
        subjects with_subjects "subjects" [Subject],
    }
}
kind!(RoleBinding namespaced);
applies! { RoleBinding: k8s_openapi::api::rbac::v1::RoleBinding }

object! {
    /// `RoleRef`, as far as an applier sets it. It has one owner as a whole.
    RoleRef {
        api_group with_api_group "apiGroup" String,
        kind with_kind "kind" String,
        name with_name "name" String,
    }
}

object! {
    /// `Subject`, as far as an applier sets it. It has one owner as a whole.
    Subject {
        api_group with_api_group "apiGroup" String,
        kind with_kind "kind" String,
        name with_name "name" String,
        namespace with_namespace "namespace" String,
    }
}
