// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `resource`.

use crate::core::v1::NodeSelector;
use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

object! {
    /// A `AllocatedDeviceStatus`, as far as an applier sets it. Since 1.34.
    AllocatedDeviceStatus {
        /// Items are owned one by one, by `type`. Since 1.34.
        conditions with_conditions "conditions" [Condition],
        /// Since 1.34.
        data with_data "data" Value,
        /// Since 1.34.
        device with_device "device" String,
        /// Since 1.34.
        driver with_driver "driver" String,
        /// Since 1.34.
        network_data with_network_data "networkData" NetworkDeviceData,
        /// Since 1.34.
        pool with_pool "pool" String,
        /// Since 1.34.
        share_id with_share_id "shareID" String,
    }
}

object! {
    /// A `AllocationResult`, as far as an applier sets it. Since 1.34.
    AllocationResult {
        /// Since 1.34.
        allocation_timestamp with_allocation_timestamp "allocationTimestamp" Time,
        /// Since 1.34.
        devices with_devices "devices" DeviceAllocationResult,
        /// Since 1.34.
        node_selector with_node_selector "nodeSelector" NodeSelector,
    }
}

object! {
    /// A `CELDeviceSelector`, as far as an applier sets it. Since 1.34.
    CELDeviceSelector {
        /// Since 1.34.
        expression with_expression "expression" String,
    }
}

object! {
    /// A `CapacityRequestPolicy`, as far as an applier sets it. Since 1.34.
    CapacityRequestPolicy {
        /// Since 1.34.
        default with_default "default" Quantity,
        /// Since 1.34.
        valid_range with_valid_range "validRange" CapacityRequestPolicyRange,
        /// It has one owner as a whole. Since 1.34.
        valid_values with_valid_values "validValues" [Quantity],
    }
}

object! {
    /// A `CapacityRequestPolicyRange`, as far as an applier sets it. Since 1.34.
    CapacityRequestPolicyRange {
        /// Since 1.34.
        max with_max "max" Quantity,
        /// Since 1.34.
        min with_min "min" Quantity,
        /// Since 1.34.
        step with_step "step" Quantity,
    }
}

object! {
    /// A `CapacityRequirements`, as far as an applier sets it. Since 1.34.
    CapacityRequirements {
        /// Since 1.34.
        requests with_requests "requests" {Quantity},
    }
}

object! {
    /// A `Counter`, as far as an applier sets it. Since 1.34.
    Counter {
        /// Since 1.34.
        value with_value "value" Quantity,
    }
}

object! {
    /// A `CounterSet`, as far as an applier sets it. Since 1.34.
    CounterSet {
        /// Since 1.34.
        counters with_counters "counters" {Counter},
        /// Since 1.34.
        name with_name "name" String,
    }
}

object! {
    /// A `Device`, as far as an applier sets it. Since 1.34.
    Device {
        /// Since 1.34.
        all_nodes with_all_nodes "allNodes" bool,
        /// Since 1.34.
        allow_multiple_allocations with_allow_multiple_allocations "allowMultipleAllocations" bool,
        /// Since 1.34.
        attributes with_attributes "attributes" {DeviceAttribute},
        /// It has one owner as a whole. Since 1.34.
        binding_conditions with_binding_conditions "bindingConditions" [String],
        /// It has one owner as a whole. Since 1.34.
        binding_failure_conditions with_binding_failure_conditions "bindingFailureConditions" [String],
        /// Since 1.34.
        binds_to_node with_binds_to_node "bindsToNode" bool,
        /// Since 1.34.
        capacity with_capacity "capacity" {DeviceCapacity},
        /// It has one owner as a whole. Since 1.34.
        consumes_counters with_consumes_counters "consumesCounters" [DeviceCounterConsumption],
        /// Since 1.34.
        name with_name "name" String,
        /// Since 1.37.
        node_allocatable_resources with_node_allocatable_resources "nodeAllocatableResources" {NodeAllocatableResource},
        /// Since 1.34.
        node_name with_node_name "nodeName" String,
        /// Since 1.34.
        node_selector with_node_selector "nodeSelector" NodeSelector,
        /// It has one owner as a whole. Since 1.34.
        taints with_taints "taints" [DeviceTaint],
    }
}

object! {
    /// A `DeviceAllocationConfiguration`, as far as an applier sets it. Since 1.34.
    DeviceAllocationConfiguration {
        /// Since 1.34.
        opaque with_opaque "opaque" OpaqueDeviceConfiguration,
        /// It has one owner as a whole. Since 1.34.
        requests with_requests "requests" [String],
        /// One of `FromClaim`, `FromClass`. Since 1.34.
        source with_source "source" String,
    }
}

object! {
    /// A `DeviceAllocationResult`, as far as an applier sets it. Since 1.34.
    DeviceAllocationResult {
        /// It has one owner as a whole. Since 1.34.
        config with_config "config" [DeviceAllocationConfiguration],
        /// It has one owner as a whole. Since 1.34.
        results with_results "results" [DeviceRequestAllocationResult],
    }
}

object! {
    /// A `DeviceAttribute`, as far as an applier sets it. Since 1.34.
    DeviceAttribute {
        /// Since 1.34.
        bool with_bool "bool" bool,
        /// It has one owner as a whole. Since 1.36.
        bools with_bools "bools" [bool],
        /// Since 1.34.
        int with_int "int" i64,
        /// It has one owner as a whole. Since 1.36.
        ints with_ints "ints" [i64],
        /// Since 1.34.
        string with_string "string" String,
        /// It has one owner as a whole. Since 1.36.
        strings with_strings "strings" [String],
        /// Since 1.34.
        version with_version "version" String,
        /// It has one owner as a whole. Since 1.36.
        versions with_versions "versions" [String],
    }
}

object! {
    /// A `DeviceCapacity`, as far as an applier sets it. Since 1.34.
    DeviceCapacity {
        /// Since 1.34.
        request_policy with_request_policy "requestPolicy" CapacityRequestPolicy,
        /// Since 1.34.
        value with_value "value" Quantity,
    }
}

object! {
    /// A `DeviceClaim`, as far as an applier sets it. Since 1.34.
    DeviceClaim {
        /// It has one owner as a whole. Since 1.34.
        config with_config "config" [DeviceClaimConfiguration],
        /// It has one owner as a whole. Since 1.34.
        constraints with_constraints "constraints" [DeviceConstraint],
        /// It has one owner as a whole. Since 1.34.
        requests with_requests "requests" [DeviceRequest],
    }
}

object! {
    /// A `DeviceClaimConfiguration`, as far as an applier sets it. Since 1.34.
    DeviceClaimConfiguration {
        /// Since 1.34.
        opaque with_opaque "opaque" OpaqueDeviceConfiguration,
        /// It has one owner as a whole. Since 1.34.
        requests with_requests "requests" [String],
    }
}

object! {
    /// What an applier sets of a `DeviceClass` of `resource.k8s.io/v1`. Since 1.34.
    DeviceClass as "resource.k8s.io/v1" "DeviceClass" {
        /// Since 1.34.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.34.
        spec with_spec "spec" DeviceClassSpec,
    }
}
kind!(DeviceClass cluster);
k8s_openapi::k8s_if_ge_1_34! { applies! { DeviceClass: k8s_openapi::api::resource::v1::DeviceClass } }

object! {
    /// A `DeviceClassConfiguration`, as far as an applier sets it. Since 1.34.
    DeviceClassConfiguration {
        /// Since 1.34.
        opaque with_opaque "opaque" OpaqueDeviceConfiguration,
    }
}

object! {
    /// A `DeviceClassSpec`, as far as an applier sets it. Since 1.34.
    DeviceClassSpec {
        /// It has one owner as a whole. Since 1.34.
        config with_config "config" [DeviceClassConfiguration],
        /// Since 1.34.
        extended_resource_name with_extended_resource_name "extendedResourceName" String,
        /// It has one owner as a whole. Since 1.34.
        selectors with_selectors "selectors" [DeviceSelector],
    }
}

object! {
    /// A `DeviceConstraint`, as far as an applier sets it. Since 1.34.
    DeviceConstraint {
        /// Since 1.34.
        distinct_attribute with_distinct_attribute "distinctAttribute" String,
        /// Since 1.34.
        match_attribute with_match_attribute "matchAttribute" String,
        /// It has one owner as a whole. Since 1.34.
        requests with_requests "requests" [String],
    }
}

object! {
    /// A `DeviceCounterConsumption`, as far as an applier sets it. Since 1.34.
    DeviceCounterConsumption {
        /// It has one owner as a whole. Since 1.37.
        compatibility_groups with_compatibility_groups "compatibilityGroups" [String],
        /// Since 1.34.
        counter_set with_counter_set "counterSet" String,
        /// Since 1.34.
        counters with_counters "counters" {Counter},
    }
}

object! {
    /// A `DeviceDerivedAttribute`, as far as an applier sets it. Since 1.37.
    DeviceDerivedAttribute {
        /// Since 1.37.
        expression with_expression "expression" String,
        /// Since 1.37.
        name with_name "name" String,
    }
}

object! {
    /// A `DeviceRequest`, as far as an applier sets it. Since 1.34.
    DeviceRequest {
        /// Since 1.34.
        exactly with_exactly "exactly" ExactDeviceRequest,
        /// It has one owner as a whole. Since 1.34.
        first_available with_first_available "firstAvailable" [DeviceSubRequest],
        /// Since 1.34.
        name with_name "name" String,
    }
}

object! {
    /// A `DeviceRequestAllocationResult`, as far as an applier sets it. Since 1.34.
    DeviceRequestAllocationResult {
        /// Since 1.34.
        admin_access with_admin_access "adminAccess" bool,
        /// It has one owner as a whole. Since 1.34.
        binding_conditions with_binding_conditions "bindingConditions" [String],
        /// It has one owner as a whole. Since 1.34.
        binding_failure_conditions with_binding_failure_conditions "bindingFailureConditions" [String],
        /// Since 1.34.
        consumed_capacity with_consumed_capacity "consumedCapacity" {Quantity},
        /// Since 1.34.
        device with_device "device" String,
        /// Since 1.34.
        driver with_driver "driver" String,
        /// Since 1.34.
        pool with_pool "pool" String,
        /// Since 1.34.
        request with_request "request" String,
        /// Since 1.34.
        share_id with_share_id "shareID" String,
        /// Items are owned one by one. One of `*`, `NodePrepareResources`, `NodeUnprepareResources`. Since 1.37.
        skip_node_operations with_skip_node_operations "skipNodeOperations" [String],
        /// It has one owner as a whole. Since 1.34.
        tolerations with_tolerations "tolerations" [DeviceToleration],
    }
}

object! {
    /// A `DeviceSelector`, as far as an applier sets it. Since 1.34.
    DeviceSelector {
        /// Since 1.34.
        cel with_cel "cel" CELDeviceSelector,
    }
}

object! {
    /// A `DeviceSubRequest`, as far as an applier sets it. Since 1.34.
    DeviceSubRequest {
        /// Since 1.34.
        allocation_mode with_allocation_mode "allocationMode" String,
        /// Since 1.34.
        capacity with_capacity "capacity" CapacityRequirements,
        /// Since 1.34.
        count with_count "count" i64,
        /// It has one owner as a whole. Since 1.37.
        derived_attributes with_derived_attributes "derivedAttributes" [DeviceDerivedAttribute],
        /// Since 1.34.
        device_class_name with_device_class_name "deviceClassName" String,
        /// Since 1.34.
        name with_name "name" String,
        /// It has one owner as a whole. Since 1.34.
        selectors with_selectors "selectors" [DeviceSelector],
        /// It has one owner as a whole. Since 1.34.
        tolerations with_tolerations "tolerations" [DeviceToleration],
    }
}

object! {
    /// A `DeviceTaint`, as far as an applier sets it. Since 1.34.
    DeviceTaint {
        /// One of `NoExecute`, `NoSchedule`, `None`. Since 1.34.
        effect with_effect "effect" String,
        /// Since 1.34.
        key with_key "key" String,
        /// Since 1.34.
        time_added with_time_added "timeAdded" Time,
        /// Since 1.34.
        value with_value "value" String,
    }
}

object! {
    /// What an applier sets of a `DeviceTaintRule` of `resource.k8s.io/v1`. Since 1.37.
    DeviceTaintRule as "resource.k8s.io/v1" "DeviceTaintRule" {
        /// Since 1.37.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.37.
        spec with_spec "spec" DeviceTaintRuleSpec,
        /// Since 1.37.
        status with_status "status" DeviceTaintRuleStatus,
    }
}
kind!(DeviceTaintRule cluster);
k8s_openapi::k8s_if_ge_1_37! { applies! { DeviceTaintRule: k8s_openapi::api::resource::v1::DeviceTaintRule } }

object! {
    /// A `DeviceTaintRuleSpec`, as far as an applier sets it. Since 1.37.
    DeviceTaintRuleSpec {
        /// Since 1.37.
        device_selector with_device_selector "deviceSelector" DeviceTaintSelector,
        /// Since 1.37.
        taint with_taint "taint" DeviceTaint,
    }
}

object! {
    /// A `DeviceTaintRuleStatus`, as far as an applier sets it. Since 1.37.
    DeviceTaintRuleStatus {
        /// Items are owned one by one, by `type`. Since 1.37.
        conditions with_conditions "conditions" [Condition],
    }
}

object! {
    /// A `DeviceTaintSelector`, as far as an applier sets it. Since 1.37.
    DeviceTaintSelector {
        /// Since 1.37.
        device with_device "device" String,
        /// Since 1.37.
        driver with_driver "driver" String,
        /// Since 1.37.
        pool with_pool "pool" String,
    }
}

object! {
    /// A `DeviceToleration`, as far as an applier sets it. Since 1.34.
    DeviceToleration {
        /// One of `NoExecute`, `NoSchedule`, `None`. Since 1.34.
        effect with_effect "effect" String,
        /// Since 1.34.
        key with_key "key" String,
        /// One of `Equal`, `Exists`. Since 1.34.
        operator with_operator "operator" String,
        /// Since 1.34.
        toleration_seconds with_toleration_seconds "tolerationSeconds" i64,
        /// Since 1.34.
        value with_value "value" String,
    }
}

object! {
    /// A `ExactDeviceRequest`, as far as an applier sets it. Since 1.34.
    ExactDeviceRequest {
        /// Since 1.34.
        admin_access with_admin_access "adminAccess" bool,
        /// Since 1.34.
        allocation_mode with_allocation_mode "allocationMode" String,
        /// Since 1.34.
        capacity with_capacity "capacity" CapacityRequirements,
        /// Since 1.34.
        count with_count "count" i64,
        /// It has one owner as a whole. Since 1.37.
        derived_attributes with_derived_attributes "derivedAttributes" [DeviceDerivedAttribute],
        /// Since 1.34.
        device_class_name with_device_class_name "deviceClassName" String,
        /// It has one owner as a whole. Since 1.34.
        selectors with_selectors "selectors" [DeviceSelector],
        /// It has one owner as a whole. Since 1.34.
        tolerations with_tolerations "tolerations" [DeviceToleration],
    }
}

object! {
    /// A `NetworkDeviceData`, as far as an applier sets it. Since 1.34.
    NetworkDeviceData {
        /// Since 1.34.
        hardware_address with_hardware_address "hardwareAddress" String,
        /// Since 1.34.
        interface_name with_interface_name "interfaceName" String,
        /// It has one owner as a whole. Since 1.34.
        ips with_ips "ips" [String],
    }
}

object! {
    /// A `NodeAllocatableMapping`, as far as an applier sets it. Since 1.37.
    NodeAllocatableMapping {
        /// Since 1.37.
        capacity_key with_capacity_key "capacityKey" String,
        /// Since 1.37.
        capacity_multiplier with_capacity_multiplier "capacityMultiplier" Quantity,
        /// Since 1.37.
        device_multiplier with_device_multiplier "deviceMultiplier" Quantity,
    }
}

object! {
    /// A `NodeAllocatableOverhead`, as far as an applier sets it. Since 1.37.
    NodeAllocatableOverhead {
        /// Since 1.37.
        per_container with_per_container "perContainer" Quantity,
        /// Since 1.37.
        per_pod with_per_pod "perPod" Quantity,
    }
}

object! {
    /// A `NodeAllocatableResource`, as far as an applier sets it. Since 1.37.
    NodeAllocatableResource {
        /// Since 1.37.
        mapping with_mapping "mapping" NodeAllocatableMapping,
        /// Since 1.37.
        overhead with_overhead "overhead" NodeAllocatableOverhead,
    }
}

object! {
    /// A `OpaqueDeviceConfiguration`, as far as an applier sets it. Since 1.34.
    OpaqueDeviceConfiguration {
        /// Since 1.34.
        driver with_driver "driver" String,
        /// Since 1.34.
        parameters with_parameters "parameters" Value,
    }
}

object! {
    /// What an applier sets of a `ResourceClaim` of `resource.k8s.io/v1`. Since 1.34.
    ResourceClaim as "resource.k8s.io/v1" "ResourceClaim" {
        /// Since 1.34.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.34.
        spec with_spec "spec" ResourceClaimSpec,
        /// Since 1.34.
        status with_status "status" ResourceClaimStatus,
    }
}
kind!(ResourceClaim namespaced);
k8s_openapi::k8s_if_ge_1_34! { applies! { ResourceClaim: k8s_openapi::api::resource::v1::ResourceClaim } }

object! {
    /// A `ResourceClaimConsumerReference`, as far as an applier sets it. Since 1.34.
    ResourceClaimConsumerReference {
        /// Since 1.34.
        api_group with_api_group "apiGroup" String,
        /// Since 1.34.
        name with_name "name" String,
        /// Since 1.34.
        resource with_resource "resource" String,
        /// Since 1.34.
        uid with_uid "uid" String,
    }
}

object! {
    /// A `ResourceClaimSpec`, as far as an applier sets it. Since 1.34.
    ResourceClaimSpec {
        /// Since 1.34.
        devices with_devices "devices" DeviceClaim,
    }
}

object! {
    /// A `ResourceClaimStatus`, as far as an applier sets it. Since 1.34.
    ResourceClaimStatus {
        /// Since 1.34.
        allocation with_allocation "allocation" AllocationResult,
        /// Items are owned one by one, by `driver` and `device` and `pool` and `shareID`. Since 1.34.
        devices with_devices "devices" [AllocatedDeviceStatus],
        /// Items are owned one by one, by `uid`. Since 1.34.
        reserved_for with_reserved_for "reservedFor" [ResourceClaimConsumerReference],
    }
}

object! {
    /// What an applier sets of a `ResourceClaimTemplate` of `resource.k8s.io/v1`. Since 1.34.
    ResourceClaimTemplate as "resource.k8s.io/v1" "ResourceClaimTemplate" {
        /// Since 1.34.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.34.
        spec with_spec "spec" ResourceClaimTemplateSpec,
    }
}
kind!(ResourceClaimTemplate namespaced);
k8s_openapi::k8s_if_ge_1_34! { applies! { ResourceClaimTemplate: k8s_openapi::api::resource::v1::ResourceClaimTemplate } }

object! {
    /// A `ResourceClaimTemplateSpec`, as far as an applier sets it. Since 1.34.
    ResourceClaimTemplateSpec {
        /// Since 1.34.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.34.
        spec with_spec "spec" ResourceClaimSpec,
    }
}

object! {
    /// A `ResourcePool`, as far as an applier sets it. Since 1.34.
    ResourcePool {
        /// Since 1.34.
        generation with_generation "generation" i64,
        /// Since 1.34.
        name with_name "name" String,
        /// Since 1.34.
        resource_slice_count with_resource_slice_count "resourceSliceCount" i64,
    }
}

object! {
    /// What an applier sets of a `ResourceSlice` of `resource.k8s.io/v1`. Since 1.34.
    ResourceSlice as "resource.k8s.io/v1" "ResourceSlice" {
        /// Since 1.34.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.34.
        spec with_spec "spec" ResourceSliceSpec,
    }
}
kind!(ResourceSlice cluster);
k8s_openapi::k8s_if_ge_1_34! { applies! { ResourceSlice: k8s_openapi::api::resource::v1::ResourceSlice } }

object! {
    /// A `ResourceSliceSpec`, as far as an applier sets it. Since 1.34.
    ResourceSliceSpec {
        /// Since 1.34.
        all_nodes with_all_nodes "allNodes" bool,
        /// It has one owner as a whole. Since 1.34.
        devices with_devices "devices" [Device],
        /// Since 1.34.
        driver with_driver "driver" String,
        /// Since 1.34.
        node_name with_node_name "nodeName" String,
        /// Since 1.34.
        node_selector with_node_selector "nodeSelector" NodeSelector,
        /// Since 1.37.
        partition_type_attribute with_partition_type_attribute "partitionTypeAttribute" String,
        /// Since 1.34.
        per_device_node_selection with_per_device_node_selection "perDeviceNodeSelection" bool,
        /// Since 1.34.
        pool with_pool "pool" ResourcePool,
        /// It has one owner as a whole. Since 1.34.
        shared_counters with_shared_counters "sharedCounters" [CounterSet],
        /// Items are owned one by one. One of `*`, `NodePrepareResources`, `NodeUnprepareResources`. Since 1.37.
        skip_node_operations with_skip_node_operations "skipNodeOperations" [String],
    }
}
