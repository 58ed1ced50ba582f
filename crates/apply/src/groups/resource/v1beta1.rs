// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1beta1` of the group `resource`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::NodeSelector;
use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

object! {
    /// `AllocatedDeviceStatus`, as far as an applier sets it.
    AllocatedDeviceStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        data with_data "data" Value,
        device with_device "device" String,
        driver with_driver "driver" String,
        network_data with_network_data "networkData" NetworkDeviceData,
        pool with_pool "pool" String,
        /// Since 1.34.
        share_id with_share_id "shareID" String,
    }
}

object! {
    /// `AllocationResult`, as far as an applier sets it.
    AllocationResult {
        /// Since 1.34.
        allocation_timestamp with_allocation_timestamp "allocationTimestamp" Time,
        devices with_devices "devices" DeviceAllocationResult,
        node_selector with_node_selector "nodeSelector" NodeSelector,
    }
}

object! {
    /// `BasicDevice`, as far as an applier sets it.
    BasicDevice {
        all_nodes with_all_nodes "allNodes" bool,
        /// Since 1.34.
        allow_multiple_allocations with_allow_multiple_allocations "allowMultipleAllocations" bool,
        attributes with_attributes "attributes" {DeviceAttribute},
        /// It has one owner as a whole. Since 1.34.
        binding_conditions with_binding_conditions "bindingConditions" [String],
        /// It has one owner as a whole. Since 1.34.
        binding_failure_conditions with_binding_failure_conditions "bindingFailureConditions" [String],
        /// Since 1.34.
        binds_to_node with_binds_to_node "bindsToNode" bool,
        capacity with_capacity "capacity" {DeviceCapacity},
        /// It has one owner as a whole.
        consumes_counters with_consumes_counters "consumesCounters" [DeviceCounterConsumption],
        /// Since 1.37.
        node_allocatable_resources with_node_allocatable_resources "nodeAllocatableResources" {NodeAllocatableResource},
        node_name with_node_name "nodeName" String,
        node_selector with_node_selector "nodeSelector" NodeSelector,
        /// It has one owner as a whole.
        taints with_taints "taints" [DeviceTaint],
    }
}

object! {
    /// `CELDeviceSelector`, as far as an applier sets it.
    CELDeviceSelector {
        expression with_expression "expression" String,
    }
}

object! {
    /// `CapacityRequestPolicy`, as far as an applier sets it. Since 1.34.
    CapacityRequestPolicy {
        default with_default "default" Quantity,
        valid_range with_valid_range "validRange" CapacityRequestPolicyRange,
        /// It has one owner as a whole.
        valid_values with_valid_values "validValues" [Quantity],
    }
}

object! {
    /// `CapacityRequestPolicyRange`, as far as an applier sets it. Since 1.34.
    CapacityRequestPolicyRange {
        max with_max "max" Quantity,
        min with_min "min" Quantity,
        step with_step "step" Quantity,
    }
}

object! {
    /// `CapacityRequirements`, as far as an applier sets it. Since 1.34.
    CapacityRequirements {
        requests with_requests "requests" {Quantity},
    }
}

object! {
    /// `Counter`, as far as an applier sets it.
    Counter {
        value with_value "value" Quantity,
    }
}

object! {
    /// `CounterSet`, as far as an applier sets it.
    CounterSet {
        counters with_counters "counters" {Counter},
        name with_name "name" String,
    }
}

object! {
    /// `Device`, as far as an applier sets it.
    Device {
        basic with_basic "basic" BasicDevice,
        name with_name "name" String,
    }
}

object! {
    /// `DeviceAllocationConfiguration`, as far as an applier sets it.
    DeviceAllocationConfiguration {
        opaque with_opaque "opaque" OpaqueDeviceConfiguration,
        /// It has one owner as a whole.
        requests with_requests "requests" [String],
        /// One of `FromClaim`, `FromClass`.
        source with_source "source" String,
    }
}

object! {
    /// `DeviceAllocationResult`, as far as an applier sets it.
    DeviceAllocationResult {
        /// It has one owner as a whole.
        config with_config "config" [DeviceAllocationConfiguration],
        /// It has one owner as a whole.
        results with_results "results" [DeviceRequestAllocationResult],
    }
}

object! {
    /// `DeviceAttribute`, as far as an applier sets it.
    DeviceAttribute {
        bool with_bool "bool" bool,
        /// It has one owner as a whole. Since 1.36.
        bools with_bools "bools" [bool],
        int with_int "int" i64,
        /// It has one owner as a whole. Since 1.36.
        ints with_ints "ints" [i64],
        string with_string "string" String,
        /// It has one owner as a whole. Since 1.36.
        strings with_strings "strings" [String],
        version with_version "version" String,
        /// It has one owner as a whole. Since 1.36.
        versions with_versions "versions" [String],
    }
}

object! {
    /// `DeviceCapacity`, as far as an applier sets it.
    DeviceCapacity {
        /// Since 1.34.
        request_policy with_request_policy "requestPolicy" CapacityRequestPolicy,
        value with_value "value" Quantity,
    }
}

object! {
    /// `DeviceClaim`, as far as an applier sets it.
    DeviceClaim {
        /// It has one owner as a whole.
        config with_config "config" [DeviceClaimConfiguration],
        /// It has one owner as a whole.
        constraints with_constraints "constraints" [DeviceConstraint],
        /// It has one owner as a whole.
        requests with_requests "requests" [DeviceRequest],
    }
}

object! {
    /// `DeviceClaimConfiguration`, as far as an applier sets it.
    DeviceClaimConfiguration {
        opaque with_opaque "opaque" OpaqueDeviceConfiguration,
        /// It has one owner as a whole.
        requests with_requests "requests" [String],
    }
}

object! {
    /// What an applier sets of a `DeviceClass` of `resource.k8s.io/v1beta1`.
    DeviceClass as "resource.k8s.io/v1beta1" "DeviceClass" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" DeviceClassSpec,
    }
}
kind!(DeviceClass cluster);
applies! { DeviceClass: k8s_openapi::api::resource::v1beta1::DeviceClass }

object! {
    /// `DeviceClassConfiguration`, as far as an applier sets it.
    DeviceClassConfiguration {
        opaque with_opaque "opaque" OpaqueDeviceConfiguration,
    }
}

object! {
    /// `DeviceClassSpec`, as far as an applier sets it.
    DeviceClassSpec {
        /// It has one owner as a whole.
        config with_config "config" [DeviceClassConfiguration],
        /// Since 1.34.
        extended_resource_name with_extended_resource_name "extendedResourceName" String,
        /// It has one owner as a whole.
        selectors with_selectors "selectors" [DeviceSelector],
    }
}

object! {
    /// `DeviceConstraint`, as far as an applier sets it.
    DeviceConstraint {
        /// Since 1.34.
        distinct_attribute with_distinct_attribute "distinctAttribute" String,
        match_attribute with_match_attribute "matchAttribute" String,
        /// It has one owner as a whole.
        requests with_requests "requests" [String],
    }
}

object! {
    /// `DeviceCounterConsumption`, as far as an applier sets it.
    DeviceCounterConsumption {
        /// It has one owner as a whole. Since 1.37.
        compatibility_groups with_compatibility_groups "compatibilityGroups" [String],
        counter_set with_counter_set "counterSet" String,
        counters with_counters "counters" {Counter},
    }
}

object! {
    /// `DeviceDerivedAttribute`, as far as an applier sets it. Since 1.37.
    DeviceDerivedAttribute {
        expression with_expression "expression" String,
        name with_name "name" String,
    }
}

object! {
    /// `DeviceRequest`, as far as an applier sets it.
    DeviceRequest {
        admin_access with_admin_access "adminAccess" bool,
        allocation_mode with_allocation_mode "allocationMode" String,
        /// Since 1.34.
        capacity with_capacity "capacity" CapacityRequirements,
        count with_count "count" i64,
        /// It has one owner as a whole. Since 1.37.
        derived_attributes with_derived_attributes "derivedAttributes" [DeviceDerivedAttribute],
        device_class_name with_device_class_name "deviceClassName" String,
        /// It has one owner as a whole.
        first_available with_first_available "firstAvailable" [DeviceSubRequest],
        name with_name "name" String,
        /// It has one owner as a whole.
        selectors with_selectors "selectors" [DeviceSelector],
        /// It has one owner as a whole.
        tolerations with_tolerations "tolerations" [DeviceToleration],
    }
}

object! {
    /// `DeviceRequestAllocationResult`, as far as an applier sets it.
    DeviceRequestAllocationResult {
        admin_access with_admin_access "adminAccess" bool,
        /// It has one owner as a whole. Since 1.34.
        binding_conditions with_binding_conditions "bindingConditions" [String],
        /// It has one owner as a whole. Since 1.34.
        binding_failure_conditions with_binding_failure_conditions "bindingFailureConditions" [String],
        /// Since 1.34.
        consumed_capacity with_consumed_capacity "consumedCapacity" {Quantity},
        device with_device "device" String,
        driver with_driver "driver" String,
        pool with_pool "pool" String,
        request with_request "request" String,
        /// Since 1.34.
        share_id with_share_id "shareID" String,
        /// Items are owned one by one. One of `*`, `NodePrepareResources`, `NodeUnprepareResources`. Since 1.37.
        skip_node_operations with_skip_node_operations "skipNodeOperations" [String],
        /// It has one owner as a whole.
        tolerations with_tolerations "tolerations" [DeviceToleration],
    }
}

object! {
    /// `DeviceSelector`, as far as an applier sets it.
    DeviceSelector {
        cel with_cel "cel" CELDeviceSelector,
    }
}

object! {
    /// `DeviceSubRequest`, as far as an applier sets it.
    DeviceSubRequest {
        allocation_mode with_allocation_mode "allocationMode" String,
        /// Since 1.34.
        capacity with_capacity "capacity" CapacityRequirements,
        count with_count "count" i64,
        /// It has one owner as a whole. Since 1.37.
        derived_attributes with_derived_attributes "derivedAttributes" [DeviceDerivedAttribute],
        device_class_name with_device_class_name "deviceClassName" String,
        name with_name "name" String,
        /// It has one owner as a whole.
        selectors with_selectors "selectors" [DeviceSelector],
        /// It has one owner as a whole.
        tolerations with_tolerations "tolerations" [DeviceToleration],
    }
}

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
    /// `DeviceToleration`, as far as an applier sets it.
    DeviceToleration {
        /// One of `NoExecute`, `NoSchedule`, `None`.
        effect with_effect "effect" String,
        key with_key "key" String,
        /// One of `Equal`, `Exists`.
        operator with_operator "operator" String,
        toleration_seconds with_toleration_seconds "tolerationSeconds" i64,
        value with_value "value" String,
    }
}

object! {
    /// `NetworkDeviceData`, as far as an applier sets it.
    NetworkDeviceData {
        hardware_address with_hardware_address "hardwareAddress" String,
        interface_name with_interface_name "interfaceName" String,
        /// It has one owner as a whole.
        ips with_ips "ips" [String],
    }
}

object! {
    /// `NodeAllocatableMapping`, as far as an applier sets it. Since 1.37.
    NodeAllocatableMapping {
        capacity_key with_capacity_key "capacityKey" String,
        capacity_multiplier with_capacity_multiplier "capacityMultiplier" Quantity,
        device_multiplier with_device_multiplier "deviceMultiplier" Quantity,
    }
}

object! {
    /// `NodeAllocatableOverhead`, as far as an applier sets it. Since 1.37.
    NodeAllocatableOverhead {
        per_container with_per_container "perContainer" Quantity,
        per_pod with_per_pod "perPod" Quantity,
    }
}

object! {
    /// `NodeAllocatableResource`, as far as an applier sets it. Since 1.37.
    NodeAllocatableResource {
        mapping with_mapping "mapping" NodeAllocatableMapping,
        overhead with_overhead "overhead" NodeAllocatableOverhead,
    }
}

object! {
    /// `OpaqueDeviceConfiguration`, as far as an applier sets it.
    OpaqueDeviceConfiguration {
        driver with_driver "driver" String,
        parameters with_parameters "parameters" Value,
    }
}

object! {
    /// What an applier sets of a `ResourceClaim` of `resource.k8s.io/v1beta1`.
    ResourceClaim as "resource.k8s.io/v1beta1" "ResourceClaim" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ResourceClaimSpec,
        status with_status "status" ResourceClaimStatus,
    }
}
kind!(ResourceClaim namespaced);
applies! { ResourceClaim: k8s_openapi::api::resource::v1beta1::ResourceClaim }

object! {
    /// `ResourceClaimConsumerReference`, as far as an applier sets it.
    ResourceClaimConsumerReference {
        api_group with_api_group "apiGroup" String,
        name with_name "name" String,
        resource with_resource "resource" String,
        uid with_uid "uid" String,
    }
}

object! {
    /// `ResourceClaimSpec`, as far as an applier sets it.
    ResourceClaimSpec {
        devices with_devices "devices" DeviceClaim,
    }
}

object! {
    /// `ResourceClaimStatus`, as far as an applier sets it.
    ResourceClaimStatus {
        allocation with_allocation "allocation" AllocationResult,
        /// Items are owned one by one, by `driver` and `device` and `pool` and `shareID`.
        devices with_devices "devices" [AllocatedDeviceStatus],
        /// Items are owned one by one, by `uid`.
        reserved_for with_reserved_for "reservedFor" [ResourceClaimConsumerReference],
    }
}

object! {
    /// What an applier sets of a `ResourceClaimTemplate` of `resource.k8s.io/v1beta1`.
    ResourceClaimTemplate as "resource.k8s.io/v1beta1" "ResourceClaimTemplate" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ResourceClaimTemplateSpec,
    }
}
kind!(ResourceClaimTemplate namespaced);
applies! { ResourceClaimTemplate: k8s_openapi::api::resource::v1beta1::ResourceClaimTemplate }

object! {
    /// `ResourceClaimTemplateSpec`, as far as an applier sets it.
    ResourceClaimTemplateSpec {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ResourceClaimSpec,
    }
}

object! {
    /// `ResourcePool`, as far as an applier sets it.
    ResourcePool {
        generation with_generation "generation" i64,
        name with_name "name" String,
        resource_slice_count with_resource_slice_count "resourceSliceCount" i64,
    }
}

object! {
    /// What an applier sets of a `ResourceSlice` of `resource.k8s.io/v1beta1`.
    ResourceSlice as "resource.k8s.io/v1beta1" "ResourceSlice" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ResourceSliceSpec,
    }
}
kind!(ResourceSlice cluster);
applies! { ResourceSlice: k8s_openapi::api::resource::v1beta1::ResourceSlice }

object! {
    /// `ResourceSliceSpec`, as far as an applier sets it.
    ResourceSliceSpec {
        all_nodes with_all_nodes "allNodes" bool,
        /// It has one owner as a whole.
        devices with_devices "devices" [Device],
        driver with_driver "driver" String,
        node_name with_node_name "nodeName" String,
        node_selector with_node_selector "nodeSelector" NodeSelector,
        /// Since 1.37.
        partition_type_attribute with_partition_type_attribute "partitionTypeAttribute" String,
        per_device_node_selection with_per_device_node_selection "perDeviceNodeSelection" bool,
        pool with_pool "pool" ResourcePool,
        /// It has one owner as a whole.
        shared_counters with_shared_counters "sharedCounters" [CounterSet],
        /// Items are owned one by one. One of `*`, `NodePrepareResources`, `NodeUnprepareResources`. Since 1.37.
        skip_node_operations with_skip_node_operations "skipNodeOperations" [String],
    }
}
