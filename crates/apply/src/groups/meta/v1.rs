// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `meta`: one module for each version, as in `k8s-openapi`, however long that is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// `Condition`, as far as an applier sets it.
    Condition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        observed_generation with_observed_generation "observedGeneration" i64,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `GroupResource`, as far as an applier sets it. Since 1.35.
    GroupResource {
        group with_group "group" String,
        resource with_resource "resource" String,
    }
}

object! {
    /// `LabelSelector`, as far as an applier sets it. It has one owner as a whole.
    LabelSelector {
        /// It has one owner as a whole.
        match_expressions with_match_expressions "matchExpressions" [LabelSelectorRequirement],
        match_labels with_match_labels "matchLabels" {String},
    }
}

object! {
    /// `LabelSelectorRequirement`, as far as an applier sets it.
    LabelSelectorRequirement {
        key with_key "key" String,
        operator with_operator "operator" String,
        /// It has one owner as a whole.
        values with_values "values" [String],
    }
}

object! {
    /// `ObjectMeta`, as far as an applier sets it.
    ObjectMeta {
        annotations with_annotations "annotations" {String},
        creation_timestamp with_creation_timestamp "creationTimestamp" Time,
        deletion_grace_period_seconds with_deletion_grace_period_seconds "deletionGracePeriodSeconds" i64,
        deletion_timestamp with_deletion_timestamp "deletionTimestamp" Time,
        /// Items are owned one by one.
        finalizers with_finalizers "finalizers" [String],
        generate_name with_generate_name "generateName" String,
        generation with_generation "generation" i64,
        labels with_labels "labels" {String},
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        /// Items are owned one by one, by `uid`.
        owner_references with_owner_references "ownerReferences" [OwnerReference],
        resource_version with_resource_version "resourceVersion" String,
        uid with_uid "uid" String,
    }
}

object! {
    /// `OwnerReference`, as far as an applier sets it. It has one owner as a whole.
    OwnerReference {
        api_version with_api_version "apiVersion" String,
        block_owner_deletion with_block_owner_deletion "blockOwnerDeletion" bool,
        controller with_controller "controller" bool,
        kind with_kind "kind" String,
        name with_name "name" String,
        uid with_uid "uid" String,
    }
}
