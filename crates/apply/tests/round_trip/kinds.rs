// Written by `cargo xtask codegen apply`; do not edit.

//! The type of each kind.

use serde_json::Value;

use super::{Written, written};

/// The object as its type writes it again; `None` if its group is not compiled in.
pub(super) fn round_trip(api_version: &str, kind: &str, object: &Value) -> Option<Written> {
    let write: fn(&Value) -> Written = match (api_version, kind) {
        #[cfg(feature = "admissionregistration")]
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy") => written::<kubewright_apply::admissionregistration::v1::MutatingAdmissionPolicy>,
        #[cfg(feature = "admissionregistration")]
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding") => written::<kubewright_apply::admissionregistration::v1::MutatingAdmissionPolicyBinding>,
        #[cfg(feature = "admissionregistration")]
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration") => written::<kubewright_apply::admissionregistration::v1::MutatingWebhookConfiguration>,
        #[cfg(feature = "admissionregistration")]
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy") => written::<kubewright_apply::admissionregistration::v1::ValidatingAdmissionPolicy>,
        #[cfg(feature = "admissionregistration")]
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding") => written::<kubewright_apply::admissionregistration::v1::ValidatingAdmissionPolicyBinding>,
        #[cfg(feature = "admissionregistration")]
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") => written::<kubewright_apply::admissionregistration::v1::ValidatingWebhookConfiguration>,
        #[cfg(all(feature = "admissionregistration", feature = "prerelease"))]
        ("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicy") => written::<kubewright_apply::admissionregistration::v1alpha1::MutatingAdmissionPolicy>,
        #[cfg(all(feature = "admissionregistration", feature = "prerelease"))]
        ("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyBinding") => written::<kubewright_apply::admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding>,
        #[cfg(all(feature = "admissionregistration", feature = "prerelease"))]
        ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy") => written::<kubewright_apply::admissionregistration::v1beta1::MutatingAdmissionPolicy>,
        #[cfg(all(feature = "admissionregistration", feature = "prerelease"))]
        ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyBinding") => written::<kubewright_apply::admissionregistration::v1beta1::MutatingAdmissionPolicyBinding>,
        #[cfg(all(feature = "apiserverinternal", feature = "prerelease"))]
        ("internal.apiserver.k8s.io/v1alpha1", "StorageVersion") => written::<kubewright_apply::apiserverinternal::v1alpha1::StorageVersion>,
        #[cfg(feature = "apps")]
        ("apps/v1", "ControllerRevision") => written::<kubewright_apply::apps::v1::ControllerRevision>,
        #[cfg(feature = "apps")]
        ("apps/v1", "DaemonSet") => written::<kubewright_apply::apps::v1::DaemonSet>,
        #[cfg(feature = "apps")]
        ("apps/v1", "Deployment") => written::<kubewright_apply::apps::v1::Deployment>,
        #[cfg(feature = "apps")]
        ("apps/v1", "ReplicaSet") => written::<kubewright_apply::apps::v1::ReplicaSet>,
        #[cfg(feature = "apps")]
        ("apps/v1", "StatefulSet") => written::<kubewright_apply::apps::v1::StatefulSet>,
        #[cfg(feature = "autoscaling")]
        ("autoscaling/v1", "HorizontalPodAutoscaler") => written::<kubewright_apply::autoscaling::v1::HorizontalPodAutoscaler>,
        #[cfg(feature = "autoscaling")]
        ("autoscaling/v1", "Scale") => written::<kubewright_apply::autoscaling::v1::Scale>,
        #[cfg(feature = "autoscaling")]
        ("autoscaling/v2", "HorizontalPodAutoscaler") => written::<kubewright_apply::autoscaling::v2::HorizontalPodAutoscaler>,
        #[cfg(feature = "batch")]
        ("batch/v1", "CronJob") => written::<kubewright_apply::batch::v1::CronJob>,
        #[cfg(feature = "batch")]
        ("batch/v1", "Job") => written::<kubewright_apply::batch::v1::Job>,
        #[cfg(feature = "certificates")]
        ("certificates.k8s.io/v1", "CertificateSigningRequest") => written::<kubewright_apply::certificates::v1::CertificateSigningRequest>,
        #[cfg(feature = "certificates")]
        ("certificates.k8s.io/v1", "ClusterTrustBundle") => written::<kubewright_apply::certificates::v1::ClusterTrustBundle>,
        #[cfg(feature = "certificates")]
        ("certificates.k8s.io/v1", "PodCertificateRequest") => written::<kubewright_apply::certificates::v1::PodCertificateRequest>,
        #[cfg(all(feature = "certificates", feature = "prerelease"))]
        ("certificates.k8s.io/v1beta1", "ClusterTrustBundle") => written::<kubewright_apply::certificates::v1beta1::ClusterTrustBundle>,
        #[cfg(all(feature = "certificates", feature = "prerelease"))]
        ("certificates.k8s.io/v1beta1", "PodCertificateRequest") => written::<kubewright_apply::certificates::v1beta1::PodCertificateRequest>,
        #[cfg(feature = "coordination")]
        ("coordination.k8s.io/v1", "Lease") => written::<kubewright_apply::coordination::v1::Lease>,
        #[cfg(all(feature = "coordination", feature = "prerelease"))]
        ("coordination.k8s.io/v1alpha2", "LeaseCandidate") => written::<kubewright_apply::coordination::v1alpha2::LeaseCandidate>,
        #[cfg(all(feature = "coordination", feature = "prerelease"))]
        ("coordination.k8s.io/v1beta1", "LeaseCandidate") => written::<kubewright_apply::coordination::v1beta1::LeaseCandidate>,
        #[cfg(feature = "core")]
        ("v1", "ConfigMap") => written::<kubewright_apply::core::v1::ConfigMap>,
        #[cfg(feature = "core")]
        ("v1", "Endpoints") => written::<kubewright_apply::core::v1::Endpoints>,
        #[cfg(feature = "core")]
        ("v1", "Event") => written::<kubewright_apply::core::v1::Event>,
        #[cfg(feature = "core")]
        ("v1", "LimitRange") => written::<kubewright_apply::core::v1::LimitRange>,
        #[cfg(feature = "core")]
        ("v1", "Namespace") => written::<kubewright_apply::core::v1::Namespace>,
        #[cfg(feature = "core")]
        ("v1", "Node") => written::<kubewright_apply::core::v1::Node>,
        #[cfg(feature = "core")]
        ("v1", "PersistentVolume") => written::<kubewright_apply::core::v1::PersistentVolume>,
        #[cfg(feature = "core")]
        ("v1", "PersistentVolumeClaim") => written::<kubewright_apply::core::v1::PersistentVolumeClaim>,
        #[cfg(feature = "core")]
        ("v1", "Pod") => written::<kubewright_apply::core::v1::Pod>,
        #[cfg(feature = "core")]
        ("v1", "PodTemplate") => written::<kubewright_apply::core::v1::PodTemplate>,
        #[cfg(feature = "core")]
        ("v1", "ReplicationController") => written::<kubewright_apply::core::v1::ReplicationController>,
        #[cfg(feature = "core")]
        ("v1", "ResourceQuota") => written::<kubewright_apply::core::v1::ResourceQuota>,
        #[cfg(feature = "core")]
        ("v1", "Secret") => written::<kubewright_apply::core::v1::Secret>,
        #[cfg(feature = "core")]
        ("v1", "Service") => written::<kubewright_apply::core::v1::Service>,
        #[cfg(feature = "core")]
        ("v1", "ServiceAccount") => written::<kubewright_apply::core::v1::ServiceAccount>,
        #[cfg(feature = "discovery")]
        ("discovery.k8s.io/v1", "EndpointSlice") => written::<kubewright_apply::discovery::v1::EndpointSlice>,
        #[cfg(feature = "events")]
        ("events.k8s.io/v1", "Event") => written::<kubewright_apply::events::v1::Event>,
        #[cfg(feature = "flowcontrol")]
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema") => written::<kubewright_apply::flowcontrol::v1::FlowSchema>,
        #[cfg(feature = "flowcontrol")]
        ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration") => written::<kubewright_apply::flowcontrol::v1::PriorityLevelConfiguration>,
        #[cfg(all(feature = "lifecycle", feature = "prerelease"))]
        ("lifecycle.k8s.io/v1alpha1", "Eviction") => written::<kubewright_apply::lifecycle::v1alpha1::Eviction>,
        #[cfg(all(feature = "lifecycle", feature = "prerelease"))]
        ("lifecycle.k8s.io/v1alpha1", "EvictionRequest") => written::<kubewright_apply::lifecycle::v1alpha1::EvictionRequest>,
        #[cfg(feature = "networking")]
        ("networking.k8s.io/v1", "IPAddress") => written::<kubewright_apply::networking::v1::IPAddress>,
        #[cfg(feature = "networking")]
        ("networking.k8s.io/v1", "Ingress") => written::<kubewright_apply::networking::v1::Ingress>,
        #[cfg(feature = "networking")]
        ("networking.k8s.io/v1", "IngressClass") => written::<kubewright_apply::networking::v1::IngressClass>,
        #[cfg(feature = "networking")]
        ("networking.k8s.io/v1", "NetworkPolicy") => written::<kubewright_apply::networking::v1::NetworkPolicy>,
        #[cfg(feature = "networking")]
        ("networking.k8s.io/v1", "ServiceCIDR") => written::<kubewright_apply::networking::v1::ServiceCIDR>,
        #[cfg(feature = "node")]
        ("node.k8s.io/v1", "RuntimeClass") => written::<kubewright_apply::node::v1::RuntimeClass>,
        #[cfg(feature = "policy")]
        ("policy/v1", "PodDisruptionBudget") => written::<kubewright_apply::policy::v1::PodDisruptionBudget>,
        #[cfg(feature = "rbac")]
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => written::<kubewright_apply::rbac::v1::ClusterRole>,
        #[cfg(feature = "rbac")]
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => written::<kubewright_apply::rbac::v1::ClusterRoleBinding>,
        #[cfg(feature = "rbac")]
        ("rbac.authorization.k8s.io/v1", "Role") => written::<kubewright_apply::rbac::v1::Role>,
        #[cfg(feature = "rbac")]
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => written::<kubewright_apply::rbac::v1::RoleBinding>,
        #[cfg(feature = "resource")]
        ("resource.k8s.io/v1", "DeviceClass") => written::<kubewright_apply::resource::v1::DeviceClass>,
        #[cfg(feature = "resource")]
        ("resource.k8s.io/v1", "DeviceTaintRule") => written::<kubewright_apply::resource::v1::DeviceTaintRule>,
        #[cfg(feature = "resource")]
        ("resource.k8s.io/v1", "ResourceClaim") => written::<kubewright_apply::resource::v1::ResourceClaim>,
        #[cfg(feature = "resource")]
        ("resource.k8s.io/v1", "ResourceClaimTemplate") => written::<kubewright_apply::resource::v1::ResourceClaimTemplate>,
        #[cfg(feature = "resource")]
        ("resource.k8s.io/v1", "ResourceSlice") => written::<kubewright_apply::resource::v1::ResourceSlice>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule") => written::<kubewright_apply::resource::v1alpha3::DeviceTaintRule>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest") => written::<kubewright_apply::resource::v1alpha3::ResourcePoolStatusRequest>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta1", "DeviceClass") => written::<kubewright_apply::resource::v1beta1::DeviceClass>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta1", "ResourceClaim") => written::<kubewright_apply::resource::v1beta1::ResourceClaim>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta1", "ResourceClaimTemplate") => written::<kubewright_apply::resource::v1beta1::ResourceClaimTemplate>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta1", "ResourceSlice") => written::<kubewright_apply::resource::v1beta1::ResourceSlice>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta2", "DeviceClass") => written::<kubewright_apply::resource::v1beta2::DeviceClass>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta2", "DeviceTaintRule") => written::<kubewright_apply::resource::v1beta2::DeviceTaintRule>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta2", "ResourceClaim") => written::<kubewright_apply::resource::v1beta2::ResourceClaim>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta2", "ResourceClaimTemplate") => written::<kubewright_apply::resource::v1beta2::ResourceClaimTemplate>,
        #[cfg(all(feature = "resource", feature = "prerelease"))]
        ("resource.k8s.io/v1beta2", "ResourceSlice") => written::<kubewright_apply::resource::v1beta2::ResourceSlice>,
        #[cfg(feature = "scheduling")]
        ("scheduling.k8s.io/v1", "PriorityClass") => written::<kubewright_apply::scheduling::v1::PriorityClass>,
        #[cfg(feature = "scheduling")]
        ("scheduling.k8s.io/v1alpha3", "CompositePodGroup") => written::<kubewright_apply::scheduling::v1alpha3::CompositePodGroup>,
        #[cfg(feature = "scheduling")]
        ("scheduling.k8s.io/v1alpha3", "PodGroup") => written::<kubewright_apply::scheduling::v1alpha3::PodGroup>,
        #[cfg(feature = "scheduling")]
        ("scheduling.k8s.io/v1alpha3", "Workload") => written::<kubewright_apply::scheduling::v1alpha3::Workload>,
        #[cfg(all(feature = "scheduling", feature = "prerelease"))]
        ("scheduling.k8s.io/v1beta1", "PodGroup") => written::<kubewright_apply::scheduling::v1beta1::PodGroup>,
        #[cfg(all(feature = "scheduling", feature = "prerelease"))]
        ("scheduling.k8s.io/v1beta1", "Workload") => written::<kubewright_apply::scheduling::v1beta1::Workload>,
        #[cfg(feature = "storage")]
        ("storage.k8s.io/v1", "CSIDriver") => written::<kubewright_apply::storage::v1::CSIDriver>,
        #[cfg(feature = "storage")]
        ("storage.k8s.io/v1", "CSINode") => written::<kubewright_apply::storage::v1::CSINode>,
        #[cfg(feature = "storage")]
        ("storage.k8s.io/v1", "CSIStorageCapacity") => written::<kubewright_apply::storage::v1::CSIStorageCapacity>,
        #[cfg(feature = "storage")]
        ("storage.k8s.io/v1", "StorageClass") => written::<kubewright_apply::storage::v1::StorageClass>,
        #[cfg(feature = "storage")]
        ("storage.k8s.io/v1", "VolumeAttachment") => written::<kubewright_apply::storage::v1::VolumeAttachment>,
        #[cfg(feature = "storage")]
        ("storage.k8s.io/v1", "VolumeAttributesClass") => written::<kubewright_apply::storage::v1::VolumeAttributesClass>,
        #[cfg(feature = "storagemigration")]
        ("storagemigration.k8s.io/v1", "StorageVersionMigration") => written::<kubewright_apply::storagemigration::v1::StorageVersionMigration>,
        #[cfg(all(feature = "storagemigration", feature = "prerelease"))]
        ("storagemigration.k8s.io/v1beta1", "StorageVersionMigration") => written::<kubewright_apply::storagemigration::v1beta1::StorageVersionMigration>,
        #[cfg(feature = "apiextensions")]
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => written::<kubewright_apply::apiextensions::v1::CustomResourceDefinition>,
        #[cfg(feature = "apiregistration")]
        ("apiregistration.k8s.io/v1", "APIService") => written::<kubewright_apply::apiregistration::v1::APIService>,
        _ => return None,
    };
    Some(write(object))
}
