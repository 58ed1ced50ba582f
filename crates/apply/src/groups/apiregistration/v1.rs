// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `apiregistration`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `APIService` of `apiregistration.k8s.io/v1`.
    APIService as "apiregistration.k8s.io/v1" "APIService" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" APIServiceSpec,
        status with_status "status" APIServiceStatus,
    }
}
kind!(APIService cluster);
applies! { APIService: k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService }

object! {
    /// `APIServiceCondition`, as far as an applier sets it.
    APIServiceCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `APIServiceSpec`, as far as an applier sets it.
    APIServiceSpec {
        ca_bundle with_ca_bundle "caBundle" ByteString,
        group with_group "group" String,
        group_priority_minimum with_group_priority_minimum "groupPriorityMinimum" i32,
        insecure_skip_tls_verify with_insecure_skip_tls_verify "insecureSkipTLSVerify" bool,
        service with_service "service" ServiceReference,
        version with_version "version" String,
        version_priority with_version_priority "versionPriority" i32,
    }
}

object! {
    /// `APIServiceStatus`, as far as an applier sets it.
    APIServiceStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [APIServiceCondition],
    }
}

object! {
    /// `ServiceReference`, as far as an applier sets it.
    ServiceReference {
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        port with_port "port" i32,
    }
}
