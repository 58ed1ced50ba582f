// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `storagemigration`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::GroupResource;
use crate::meta::v1::ObjectMeta;

object! {
    /// What an applier sets of a `StorageVersionMigration` of `storagemigration.k8s.io/v1`. Since 1.37.
    StorageVersionMigration as "storagemigration.k8s.io/v1" "StorageVersionMigration" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" StorageVersionMigrationSpec,
        status with_status "status" StorageVersionMigrationStatus,
    }
}
kind!(StorageVersionMigration cluster);
k8s_openapi::k8s_if_ge_1_37! { applies! { StorageVersionMigration: k8s_openapi::api::storagemigration::v1::StorageVersionMigration } }

object! {
    /// `StorageVersionMigrationSpec`, as far as an applier sets it. Since 1.37.
    StorageVersionMigrationSpec {
        resource with_resource "resource" GroupResource,
    }
}

object! {
    /// `StorageVersionMigrationStatus`, as far as an applier sets it. Since 1.37.
    StorageVersionMigrationStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        resource_version with_resource_version "resourceVersion" String,
    }
}
