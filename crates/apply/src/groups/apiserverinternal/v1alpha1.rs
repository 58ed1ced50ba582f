// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1alpha1` of the group `apiserverinternal`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// `ServerStorageVersion`, as far as an applier sets it.
    ServerStorageVersion {
        api_server_id with_api_server_id "apiServerID" String,
        /// Items are owned one by one.
        decodable_versions with_decodable_versions "decodableVersions" [String],
        encoding_version with_encoding_version "encodingVersion" String,
        /// Items are owned one by one.
        served_versions with_served_versions "servedVersions" [String],
    }
}

object! {
    /// What an applier sets of a `StorageVersion` of `internal.apiserver.k8s.io/v1alpha1`.
    StorageVersion as "internal.apiserver.k8s.io/v1alpha1" "StorageVersion" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" StorageVersionSpec,
        status with_status "status" StorageVersionStatus,
    }
}
kind!(StorageVersion cluster);
applies! { StorageVersion: k8s_openapi::api::apiserverinternal::v1alpha1::StorageVersion }

object! {
    /// `StorageVersionCondition`, as far as an applier sets it.
    StorageVersionCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        observed_generation with_observed_generation "observedGeneration" i64,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `StorageVersionSpec`, as far as an applier sets it.
    StorageVersionSpec {
    }
}

object! {
    /// `StorageVersionStatus`, as far as an applier sets it.
    StorageVersionStatus {
        common_encoding_version with_common_encoding_version "commonEncodingVersion" String,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [StorageVersionCondition],
        /// Items are owned one by one, by `apiServerID`.
        storage_versions with_storage_versions "storageVersions" [ServerStorageVersion],
    }
}
