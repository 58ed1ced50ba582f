// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `storage`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::PersistentVolumeSpec;
use crate::core::v1::TopologySelectorTerm;
use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `CSIDriver` of `storage.k8s.io/v1`.
    CSIDriver as "storage.k8s.io/v1" "CSIDriver" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" CSIDriverSpec,
    }
}
kind!(CSIDriver cluster);
applies! { CSIDriver: k8s_openapi::api::storage::v1::CSIDriver }

object! {
    /// `CSIDriverSpec`, as far as an applier sets it.
    CSIDriverSpec {
        attach_required with_attach_required "attachRequired" bool,
        fs_group_policy with_fs_group_policy "fsGroupPolicy" String,
        node_allocatable_update_period_seconds with_node_allocatable_update_period_seconds "nodeAllocatableUpdatePeriodSeconds" i64,
        pod_info_on_mount with_pod_info_on_mount "podInfoOnMount" bool,
        /// Since 1.36.
        prevent_pod_scheduling_if_missing with_prevent_pod_scheduling_if_missing "preventPodSchedulingIfMissing" bool,
        requires_republish with_requires_republish "requiresRepublish" bool,
        se_linux_mount with_se_linux_mount "seLinuxMount" bool,
        /// Since 1.35.
        service_account_token_in_secrets with_service_account_token_in_secrets "serviceAccountTokenInSecrets" bool,
        storage_capacity with_storage_capacity "storageCapacity" bool,
        /// It has one owner as a whole.
        token_requests with_token_requests "tokenRequests" [TokenRequest],
        /// Items are owned one by one.
        volume_lifecycle_modes with_volume_lifecycle_modes "volumeLifecycleModes" [String],
    }
}

object! {
    /// What an applier sets of a `CSINode` of `storage.k8s.io/v1`.
    CSINode as "storage.k8s.io/v1" "CSINode" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" CSINodeSpec,
        /// Since 1.37.
        status with_status "status" CSINodeStatus,
    }
}
kind!(CSINode cluster);
applies! { CSINode: k8s_openapi::api::storage::v1::CSINode }

object! {
    /// `CSINodeDriver`, as far as an applier sets it.
    CSINodeDriver {
        allocatable with_allocatable "allocatable" VolumeNodeResources,
        name with_name "name" String,
        node_id with_node_id "nodeID" String,
        /// It has one owner as a whole.
        topology_keys with_topology_keys "topologyKeys" [String],
    }
}

object! {
    /// `CSINodeSpec`, as far as an applier sets it.
    CSINodeSpec {
        /// Items are owned one by one, by `name`.
        drivers with_drivers "drivers" [CSINodeDriver],
    }
}

object! {
    /// `CSINodeStatus`, as far as an applier sets it. Since 1.37.
    CSINodeStatus {
        /// Items are owned one by one, by `name`.
        storage_health with_storage_health "storageHealth" [StorageHealth],
    }
}

object! {
    /// What an applier sets of a `CSIStorageCapacity` of `storage.k8s.io/v1`.
    CSIStorageCapacity as "storage.k8s.io/v1" "CSIStorageCapacity" {
        capacity with_capacity "capacity" Quantity,
        maximum_volume_size with_maximum_volume_size "maximumVolumeSize" Quantity,
        metadata with_metadata "metadata" ObjectMeta,
        node_topology with_node_topology "nodeTopology" LabelSelector,
        storage_class_name with_storage_class_name "storageClassName" String,
    }
}
kind!(CSIStorageCapacity namespaced);
applies! { CSIStorageCapacity: k8s_openapi::api::storage::v1::CSIStorageCapacity }

object! {
    /// What an applier sets of a `StorageClass` of `storage.k8s.io/v1`.
    StorageClass as "storage.k8s.io/v1" "StorageClass" {
        allow_volume_expansion with_allow_volume_expansion "allowVolumeExpansion" bool,
        /// It has one owner as a whole.
        allowed_topologies with_allowed_topologies "allowedTopologies" [TopologySelectorTerm],
        metadata with_metadata "metadata" ObjectMeta,
        /// It has one owner as a whole.
        mount_options with_mount_options "mountOptions" [String],
        parameters with_parameters "parameters" {String},
        provisioner with_provisioner "provisioner" String,
        /// One of `Delete`, `Recycle`, `Retain`.
        reclaim_policy with_reclaim_policy "reclaimPolicy" String,
        /// One of `Immediate`, `WaitForFirstConsumer`.
        volume_binding_mode with_volume_binding_mode "volumeBindingMode" String,
    }
}
kind!(StorageClass cluster);
applies! { StorageClass: k8s_openapi::api::storage::v1::StorageClass }

object! {
    /// `StorageHealth`, as far as an applier sets it. Since 1.37.
    StorageHealth {
        /// It has one owner as a whole.
        health_conditions with_health_conditions "healthConditions" [StorageHealthCondition],
        name with_name "name" String,
    }
}

object! {
    /// `StorageHealthCondition`, as far as an applier sets it. Since 1.37.
    StorageHealthCondition {
        /// One of `ReadOnlyMany`, `ReadWriteMany`, `ReadWriteOnce`, `ReadWriteOncePod`.
        access_mode with_access_mode "accessMode" String,
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        /// One of `StorageDegraded`, `StorageUnreachable`.
        status with_status "status" String,
        /// One of `Block`, `Filesystem`.
        volume_mode with_volume_mode "volumeMode" String,
    }
}

object! {
    /// `TokenRequest`, as far as an applier sets it.
    TokenRequest {
        audience with_audience "audience" String,
        expiration_seconds with_expiration_seconds "expirationSeconds" i64,
    }
}

object! {
    /// What an applier sets of a `VolumeAttachment` of `storage.k8s.io/v1`.
    VolumeAttachment as "storage.k8s.io/v1" "VolumeAttachment" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" VolumeAttachmentSpec,
        status with_status "status" VolumeAttachmentStatus,
    }
}
kind!(VolumeAttachment cluster);
applies! { VolumeAttachment: k8s_openapi::api::storage::v1::VolumeAttachment }

object! {
    /// `VolumeAttachmentSource`, as far as an applier sets it.
    VolumeAttachmentSource {
        inline_volume_spec with_inline_volume_spec "inlineVolumeSpec" PersistentVolumeSpec,
        persistent_volume_name with_persistent_volume_name "persistentVolumeName" String,
    }
}

object! {
    /// `VolumeAttachmentSpec`, as far as an applier sets it.
    VolumeAttachmentSpec {
        attacher with_attacher "attacher" String,
        node_name with_node_name "nodeName" String,
        source with_source "source" VolumeAttachmentSource,
    }
}

object! {
    /// `VolumeAttachmentStatus`, as far as an applier sets it.
    VolumeAttachmentStatus {
        attach_error with_attach_error "attachError" VolumeError,
        attached with_attached "attached" bool,
        attachment_metadata with_attachment_metadata "attachmentMetadata" {String},
        detach_error with_detach_error "detachError" VolumeError,
    }
}

object! {
    /// What an applier sets of a `VolumeAttributesClass` of `storage.k8s.io/v1`. Since 1.34.
    VolumeAttributesClass as "storage.k8s.io/v1" "VolumeAttributesClass" {
        driver_name with_driver_name "driverName" String,
        metadata with_metadata "metadata" ObjectMeta,
        parameters with_parameters "parameters" {String},
    }
}
kind!(VolumeAttributesClass cluster);
k8s_openapi::k8s_if_ge_1_34! { applies! { VolumeAttributesClass: k8s_openapi::api::storage::v1::VolumeAttributesClass } }

object! {
    /// `VolumeError`, as far as an applier sets it.
    VolumeError {
        error_code with_error_code "errorCode" i32,
        message with_message "message" String,
        time with_time "time" Time,
    }
}

object! {
    /// `VolumeNodeResources`, as far as an applier sets it.
    VolumeNodeResources {
        count with_count "count" i32,
    }
}
