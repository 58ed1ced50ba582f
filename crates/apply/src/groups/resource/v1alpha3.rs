// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1alpha3` of the group `resource`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// `DeviceTaint`, as far as an applier sets it.
    DeviceTaint {
        /// One of `NoExecute`, `NoSchedule`, `None`.
        effect with_effect "effect" String,
        key with_key "key" String,
        time_added with_time_added "timeAdded" Time,
        value with_value "value" String,
    }
}

object! {
    /// What an applier sets of a `DeviceTaintRule` of `resource.k8s.io/v1alpha3`.
    DeviceTaintRule as "resource.k8s.io/v1alpha3" "DeviceTaintRule" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" DeviceTaintRuleSpec,
        /// Since 1.35.
        status with_status "status" DeviceTaintRuleStatus,
    }
}
kind!(DeviceTaintRule cluster);
applies! { DeviceTaintRule: k8s_openapi::api::resource::v1alpha3::DeviceTaintRule }

object! {
    /// `DeviceTaintRuleSpec`, as far as an applier sets it.
    DeviceTaintRuleSpec {
        device_selector with_device_selector "deviceSelector" DeviceTaintSelector,
        taint with_taint "taint" DeviceTaint,
    }
}

object! {
    /// `DeviceTaintRuleStatus`, as far as an applier sets it. Since 1.35.
    DeviceTaintRuleStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
    }
}

object! {
    /// `DeviceTaintSelector`, as far as an applier sets it.
    DeviceTaintSelector {
        device with_device "device" String,
        driver with_driver "driver" String,
        pool with_pool "pool" String,
    }
}

object! {
    /// `PartitionTypeStatus`, as far as an applier sets it. Since 1.37.
    PartitionTypeStatus {
        allocatable with_allocatable "allocatable" i32,
        attribute with_attribute "attribute" String,
        total with_total "total" i32,
        type_ with_type "type" String,
    }
}

object! {
    /// `PoolStatus`, as far as an applier sets it. Since 1.36.
    PoolStatus {
        allocated_devices with_allocated_devices "allocatedDevices" i32,
        available_devices with_available_devices "availableDevices" i32,
        driver with_driver "driver" String,
        generation with_generation "generation" i64,
        node_name with_node_name "nodeName" String,
        /// It has one owner as a whole. Since 1.37.
        partition_summary with_partition_summary "partitionSummary" [PartitionTypeStatus],
        pool_name with_pool_name "poolName" String,
        resource_slice_count with_resource_slice_count "resourceSliceCount" i32,
        /// Since 1.37.
        shareable_summary with_shareable_summary "shareableSummary" ShareableSummaryStatus,
        total_devices with_total_devices "totalDevices" i32,
        unavailable_devices with_unavailable_devices "unavailableDevices" i32,
        validation_error with_validation_error "validationError" String,
    }
}

object! {
    /// What an applier sets of a `ResourcePoolStatusRequest` of `resource.k8s.io/v1alpha3`. Since 1.36.
    ResourcePoolStatusRequest as "resource.k8s.io/v1alpha3" "ResourcePoolStatusRequest" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ResourcePoolStatusRequestSpec,
        status with_status "status" ResourcePoolStatusRequestStatus,
    }
}
kind!(ResourcePoolStatusRequest cluster);
k8s_openapi::k8s_if_ge_1_36! { applies! { ResourcePoolStatusRequest: k8s_openapi::api::resource::v1alpha3::ResourcePoolStatusRequest } }

object! {
    /// `ResourcePoolStatusRequestSpec`, as far as an applier sets it. Since 1.36.
    ResourcePoolStatusRequestSpec {
        /// Since 1.37.
        default_partition_type_attribute with_default_partition_type_attribute "defaultPartitionTypeAttribute" String,
        driver with_driver "driver" String,
        limit with_limit "limit" i32,
        pool_name with_pool_name "poolName" String,
    }
}

object! {
    /// `ResourcePoolStatusRequestStatus`, as far as an applier sets it. Since 1.36.
    ResourcePoolStatusRequestStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        pool_count with_pool_count "poolCount" i32,
        /// It has one owner as a whole.
        pools with_pools "pools" [PoolStatus],
    }
}

object! {
    /// `ShareableCapacityStatus`, as far as an applier sets it. Since 1.37.
    ShareableCapacityStatus {
        available with_available "available" Quantity,
        consumed with_consumed "consumed" Quantity,
        name with_name "name" String,
        total with_total "total" Quantity,
    }
}

object! {
    /// `ShareableSummaryStatus`, as far as an applier sets it. Since 1.37.
    ShareableSummaryStatus {
        /// It has one owner as a whole.
        capacity with_capacity "capacity" [ShareableCapacityStatus],
        fully_available_devices with_fully_available_devices "fullyAvailableDevices" i32,
        partially_available_devices with_partially_available_devices "partiallyAvailableDevices" i32,
    }
}
