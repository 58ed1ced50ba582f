//! Schemas of Kubernetes' own types, for fields of custom types: each is written from the table of kinds.
//!
//! The list has the types of all stable groups that every supported version of `k8s-openapi` has.

use super::builtin::{QUANTITY_PATTERN, type_node};
use super::{Generator, Schema, SchemaNode};
use crate::structural::JsonType;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

macro_rules! kubernetes_type {
    (($($module:tt)+) $prefix:literal $name:ident) => {
        impl Schema for $($module)+::$name {
            fn schema(generator: &mut Generator) -> SchemaNode {
                type_node(generator, concat!($prefix, ".", stringify!($name)))
            }
        }
    };
}

macro_rules! kubernetes_types {
    ($($module:tt $prefix:literal: [$($name:ident,)+];)+) => {
        $($(kubernetes_type!($module $prefix $name);)+)+

        /// The definition names of the list, for the test that looks each up.
        #[cfg(test)]
        const NAMES: &[&str] = &[$($(concat!($prefix, ".", stringify!($name)),)+)+];
    };
}

macro_rules! nodes {
    ($($ty:ty => $node:expr;)+) => {
        $(impl Schema for $ty {
            fn schema(_: &mut Generator) -> SchemaNode {
                $node
            }
        })+
    };
}

nodes! {
    Time => SchemaNode::of(JsonType::String).with("format", "date-time");
    MicroTime => SchemaNode::of(JsonType::String).with("format", "date-time");
    IntOrString => SchemaNode::int_or_string();
    Quantity => SchemaNode::int_or_string().with("pattern", QUANTITY_PATTERN);
    RawExtension => SchemaNode::of(JsonType::Object).with("x-kubernetes-preserve-unknown-fields", true);
    JSON => SchemaNode::any();
    k8s_openapi::ByteString => SchemaNode::of(JsonType::String).with("format", "byte");
}

kubernetes_types! {
    (k8s_openapi::api::admissionregistration::v1) "io.k8s.api.admissionregistration.v1": [
        AuditAnnotation, ExpressionWarning, MatchCondition, MatchResources, MutatingWebhook,
        MutatingWebhookConfiguration, NamedRuleWithOperations, ParamKind, ParamRef, RuleWithOperations,
        ServiceReference, TypeChecking, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
        ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
        ValidatingAdmissionPolicyStatus, ValidatingWebhook, ValidatingWebhookConfiguration, Validation,
        Variable, WebhookClientConfig,
    ];
    (k8s_openapi::api::apps::v1) "io.k8s.api.apps.v1": [
        ControllerRevision, DaemonSet, DaemonSetCondition, DaemonSetSpec, DaemonSetStatus,
        DaemonSetUpdateStrategy, Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus,
        DeploymentStrategy, ReplicaSet, ReplicaSetCondition, ReplicaSetSpec, ReplicaSetStatus,
        RollingUpdateDaemonSet, RollingUpdateDeployment, RollingUpdateStatefulSetStrategy, StatefulSet,
        StatefulSetCondition, StatefulSetOrdinals, StatefulSetPersistentVolumeClaimRetentionPolicy,
        StatefulSetSpec, StatefulSetStatus, StatefulSetUpdateStrategy,
    ];
    (k8s_openapi::api::authentication::v1) "io.k8s.api.authentication.v1": [
        BoundObjectReference, SelfSubjectReview, SelfSubjectReviewStatus, TokenRequest, TokenRequestSpec,
        TokenRequestStatus, TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo,
    ];
    (k8s_openapi::api::authorization::v1) "io.k8s.api.authorization.v1": [
        FieldSelectorAttributes, LabelSelectorAttributes, LocalSubjectAccessReview, NonResourceAttributes,
        NonResourceRule, ResourceAttributes, ResourceRule, SelfSubjectAccessReview,
        SelfSubjectAccessReviewSpec, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec,
        SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus, SubjectRulesReviewStatus,
    ];
    (k8s_openapi::api::autoscaling::v1) "io.k8s.api.autoscaling.v1": [
        CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec,
        HorizontalPodAutoscalerStatus, Scale, ScaleSpec, ScaleStatus,
    ];
    (k8s_openapi::api::autoscaling::v2) "io.k8s.api.autoscaling.v2": [
        ContainerResourceMetricSource, ContainerResourceMetricStatus, CrossVersionObjectReference,
        ExternalMetricSource, ExternalMetricStatus, HPAScalingPolicy, HPAScalingRules,
        HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerCondition,
        HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus, MetricIdentifier, MetricSpec,
        MetricStatus, MetricTarget, MetricValueStatus, ObjectMetricSource, ObjectMetricStatus,
        PodsMetricSource, PodsMetricStatus, ResourceMetricSource, ResourceMetricStatus,
    ];
    (k8s_openapi::api::batch::v1) "io.k8s.api.batch.v1": [
        CronJob, CronJobSpec, CronJobStatus, Job, JobCondition, JobSpec, JobStatus, JobTemplateSpec,
        PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern,
        PodFailurePolicyRule, SuccessPolicy, SuccessPolicyRule, UncountedTerminatedPods,
    ];
    (k8s_openapi::api::certificates::v1) "io.k8s.api.certificates.v1": [
        CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
        CertificateSigningRequestStatus,
    ];
    (k8s_openapi::api::coordination::v1) "io.k8s.api.coordination.v1": [
        Lease, LeaseSpec,
    ];
    (k8s_openapi::api::core::v1) "io.k8s.api.core.v1": [
        AWSElasticBlockStoreVolumeSource, Affinity, AppArmorProfile, AttachedVolume, AzureDiskVolumeSource,
        AzureFilePersistentVolumeSource, AzureFileVolumeSource, Binding, CSIPersistentVolumeSource,
        CSIVolumeSource, Capabilities, CephFSPersistentVolumeSource, CephFSVolumeSource,
        CinderPersistentVolumeSource, CinderVolumeSource, ClientIPConfig, ClusterTrustBundleProjection,
        ComponentCondition, ComponentStatus, ConfigMap, ConfigMapEnvSource, ConfigMapKeySelector,
        ConfigMapNodeConfigSource, ConfigMapProjection, ConfigMapVolumeSource, Container, ContainerImage,
        ContainerPort, ContainerResizePolicy, ContainerState, ContainerStateRunning,
        ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, ContainerUser, DaemonEndpoint,
        DownwardAPIProjection, DownwardAPIVolumeFile, DownwardAPIVolumeSource, EmptyDirVolumeSource,
        EndpointAddress, EndpointPort, EndpointSubset, Endpoints, EnvFromSource, EnvVar, EnvVarSource,
        EphemeralContainer, EphemeralVolumeSource, Event, EventSeries, EventSource, ExecAction,
        FCVolumeSource, FlexPersistentVolumeSource, FlexVolumeSource, FlockerVolumeSource,
        GCEPersistentDiskVolumeSource, GRPCAction, GitRepoVolumeSource, GlusterfsPersistentVolumeSource,
        GlusterfsVolumeSource, HTTPGetAction, HTTPHeader, HostAlias, HostIP, HostPathVolumeSource,
        ISCSIPersistentVolumeSource, ISCSIVolumeSource, ImageVolumeSource, KeyToPath, Lifecycle,
        LifecycleHandler, LimitRange, LimitRangeItem, LimitRangeSpec, LinuxContainerUser,
        LoadBalancerIngress, LoadBalancerStatus, LocalObjectReference, LocalVolumeSource,
        ModifyVolumeStatus, NFSVolumeSource, Namespace, NamespaceCondition, NamespaceSpec, NamespaceStatus,
        Node, NodeAddress, NodeAffinity, NodeCondition, NodeConfigSource, NodeConfigStatus,
        NodeDaemonEndpoints, NodeFeatures, NodeRuntimeHandler, NodeRuntimeHandlerFeatures, NodeSelector,
        NodeSelectorRequirement, NodeSelectorTerm, NodeSpec, NodeStatus, NodeSwapStatus, NodeSystemInfo,
        ObjectFieldSelector, ObjectReference, PersistentVolume, PersistentVolumeClaim,
        PersistentVolumeClaimCondition, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
        PersistentVolumeClaimTemplate, PersistentVolumeClaimVolumeSource, PersistentVolumeSpec,
        PersistentVolumeStatus, PhotonPersistentDiskVolumeSource, Pod, PodAffinity, PodAffinityTerm,
        PodAntiAffinity, PodCondition, PodDNSConfig, PodDNSConfigOption, PodIP, PodOS, PodReadinessGate,
        PodResourceClaim, PodResourceClaimStatus, PodSchedulingGate, PodSecurityContext, PodSpec, PodStatus,
        PodTemplate, PodTemplateSpec, PortStatus, PortworxVolumeSource, PreferredSchedulingTerm, Probe,
        ProjectedVolumeSource, QuobyteVolumeSource, RBDPersistentVolumeSource, RBDVolumeSource,
        ReplicationController, ReplicationControllerCondition, ReplicationControllerSpec,
        ReplicationControllerStatus, ResourceClaim, ResourceFieldSelector, ResourceHealth, ResourceQuota,
        ResourceQuotaSpec, ResourceQuotaStatus, ResourceRequirements, ResourceStatus, SELinuxOptions,
        ScaleIOPersistentVolumeSource, ScaleIOVolumeSource, ScopeSelector,
        ScopedResourceSelectorRequirement, SeccompProfile, Secret, SecretEnvSource, SecretKeySelector,
        SecretProjection, SecretReference, SecretVolumeSource, SecurityContext, Service, ServiceAccount,
        ServiceAccountTokenProjection, ServicePort, ServiceSpec, ServiceStatus, SessionAffinityConfig,
        SleepAction, StorageOSPersistentVolumeSource, StorageOSVolumeSource, Sysctl, TCPSocketAction, Taint,
        Toleration, TopologySelectorLabelRequirement, TopologySelectorTerm, TopologySpreadConstraint,
        TypedLocalObjectReference, TypedObjectReference, Volume, VolumeDevice, VolumeMount,
        VolumeMountStatus, VolumeNodeAffinity, VolumeProjection, VolumeResourceRequirements,
        VsphereVirtualDiskVolumeSource, WeightedPodAffinityTerm, WindowsSecurityContextOptions,
    ];
    (k8s_openapi::api::discovery::v1) "io.k8s.api.discovery.v1": [
        Endpoint, EndpointConditions, EndpointHints, EndpointPort, EndpointSlice, ForNode, ForZone,
    ];
    (k8s_openapi::api::events::v1) "io.k8s.api.events.v1": [
        Event, EventSeries,
    ];
    (k8s_openapi::api::flowcontrol::v1) "io.k8s.api.flowcontrol.v1": [
        ExemptPriorityLevelConfiguration, FlowDistinguisherMethod, FlowSchema, FlowSchemaCondition,
        FlowSchemaSpec, FlowSchemaStatus, GroupSubject, LimitResponse, LimitedPriorityLevelConfiguration,
        NonResourcePolicyRule, PolicyRulesWithSubjects, PriorityLevelConfiguration,
        PriorityLevelConfigurationCondition, PriorityLevelConfigurationReference,
        PriorityLevelConfigurationSpec, PriorityLevelConfigurationStatus, QueuingConfiguration,
        ResourcePolicyRule, ServiceAccountSubject, Subject, UserSubject,
    ];
    (k8s_openapi::api::networking::v1) "io.k8s.api.networking.v1": [
        HTTPIngressPath, HTTPIngressRuleValue, IPAddress, IPAddressSpec, IPBlock, Ingress, IngressBackend,
        IngressClass, IngressClassParametersReference, IngressClassSpec, IngressLoadBalancerIngress,
        IngressLoadBalancerStatus, IngressPortStatus, IngressRule, IngressServiceBackend, IngressSpec,
        IngressStatus, IngressTLS, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule,
        NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec, ParentReference, ServiceBackendPort,
        ServiceCIDR, ServiceCIDRSpec, ServiceCIDRStatus,
    ];
    (k8s_openapi::api::node::v1) "io.k8s.api.node.v1": [
        Overhead, RuntimeClass, Scheduling,
    ];
    (k8s_openapi::api::policy::v1) "io.k8s.api.policy.v1": [
        Eviction, PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus,
    ];
    (k8s_openapi::api::rbac::v1) "io.k8s.api.rbac.v1": [
        AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
    ];
    (k8s_openapi::api::scheduling::v1) "io.k8s.api.scheduling.v1": [
        PriorityClass,
    ];
    (k8s_openapi::api::storage::v1) "io.k8s.api.storage.v1": [
        CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity, StorageClass,
        TokenRequest, VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec,
        VolumeAttachmentStatus, VolumeError, VolumeNodeResources,
    ];
    (k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1) "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": [
        CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceDefinition,
        CustomResourceDefinitionCondition, CustomResourceDefinitionNames, CustomResourceDefinitionSpec,
        CustomResourceDefinitionStatus, CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
        CustomResourceSubresources, CustomResourceValidation, ExternalDocumentation, JSONSchemaProps,
        SelectableField, ServiceReference, ValidationRule, WebhookClientConfig, WebhookConversion,
    ];
    (k8s_openapi::apimachinery::pkg::apis::meta::v1) "io.k8s.apimachinery.pkg.apis.meta.v1": [
        APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions, Condition, DeleteOptions,
        FieldSelectorRequirement, GroupVersionForDiscovery, LabelSelector, LabelSelectorRequirement,
        ListMeta, ManagedFieldsEntry, ObjectMeta, OwnerReference, Preconditions, ServerAddressByClientCIDR,
        Status, StatusCause, StatusDetails,
    ];
    (k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1) "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": [
        APIService, APIServiceCondition, APIServiceSpec, APIServiceStatus, ServiceReference,
    ];
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Container, PodTemplateSpec, ResourceRequirements};
    use kubewright_core::FieldPath;
    use serde_json::{Value, json};

    use super::*;

    fn schema_of<T: Schema>() -> Value {
        T::schema(&mut Generator::default()).into_value()
    }

    #[test]
    fn every_type_is_in_the_table() {
        for name in NAMES {
            assert!(kubewright_kinds::table().type_named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_type_is_structural() {
        for name in NAMES {
            let node = type_node(&mut Generator::default(), name).into_value();
            let schema = json!({"type": "object", "properties": {"field": node}});
            let errors =
                crate::check_definition(&schema, &FieldPath::root(), crate::Status::Absent, &|_, _| {
                    Vec::new()
                });
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
    }

    #[test]
    fn keeps_what_appliers_need() {
        let ports = &schema_of::<Container>()["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-type"], "map");
        assert_eq!(
            ports["x-kubernetes-list-map-keys"],
            json!(["containerPort", "protocol"])
        );
        assert_eq!(ports["items"]["properties"]["protocol"]["default"], "TCP");
        let limits = &schema_of::<ResourceRequirements>()["properties"]["limits"]["additionalProperties"];
        assert_eq!(limits["x-kubernetes-int-or-string"], true);
        let metadata = &schema_of::<PodTemplateSpec>()["properties"]["metadata"]["properties"];
        assert_eq!(
            metadata["labels"]["additionalProperties"],
            json!({"type": "string"})
        );
    }
}
