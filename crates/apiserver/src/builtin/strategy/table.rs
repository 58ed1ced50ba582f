//! The rows: one strategy per resource, found by group and plural name.

mod workloads;

use super::super::validation::declared::Declared;
use super::super::validation::groups;
use super::super::validation::names::NameRule;
use super::super::validation::{core as core_kinds, objects as check, pod as pods, storage as volumes};
use super::super::warnings;
use super::gates::Gated;
use super::{
    Allocation, CreateOnUpdate, Deletion, Dependents, FinalizerRule, Generation, StatusMetadata, StatusRule,
    Strategy, UnconditionalUpdate, certificates, fields, gates, groups as prepare, kinds, namespace,
    no_preparation, pod, service,
};
use kubewright_core::FieldErrorKind::{Invalid, NotSupported, Required, TooMany};

/// The strategy of a built-in resource. Resources without a row of their own get the plain one, with a status that
/// only `/status` writes where the table of kinds has that subresource.
pub(crate) fn strategy(group: &str, resource: &str) -> &'static Strategy {
    row(group, resource).unwrap_or_else(|| {
        let table = kubewright_kinds::table();
        let known = table
            .resources()
            .iter()
            .find(|known| known.group == group && known.plural == resource);
        if known.is_some_and(|known| known.subresource("status").is_some()) {
            &WITH_STATUS
        } else {
            &PLAIN
        }
    })
}

/// No status, no generation, everything may change.
const PLAIN_ROW: Strategy = Strategy {
    name: NameRule::Subdomain,
    finalizers: FinalizerRule::OwnOrQualified,
    status: StatusRule::None,
    status_metadata: StatusMetadata::Editable,
    generation: Generation::None,
    create_on_update: CreateOnUpdate::Refused,
    unconditional_update: UnconditionalUpdate::Allowed,
    deletion: Deletion::Immediate,
    allocation: Allocation::None,
    dependents: Dependents::Deleted,
    finalizer_on_delete: None,
    selectable: fields::META,
    gated: Gated::NONE,
    prepare: no_preparation,
    validate: |_| Vec::new(),
    validate_update: |_, _| Vec::new(),
    rules: |_, _| Vec::new(),
    validate_part: |_, _, _| Vec::new(),
    declared: &[],
    warnings: |_, _| Vec::new(),
    part_warnings: |_, _| Vec::new(),
};

const STATUS_ROW: Strategy = Strategy {
    status: StatusRule::Reset("{}"),
    ..PLAIN_ROW
};

/// A workload: a specification whose changes count and a status.
const COUNTED_ROW: Strategy = Strategy {
    generation: Generation::Content,
    ..STATUS_ROW
};

/// The kinds of RBAC: names are path segments, and `kubectl auth reconcile` puts.
const RBAC_ROW: Strategy = Strategy {
    name: NameRule::PathSegment,
    create_on_update: CreateOnUpdate::Allowed,
    ..PLAIN_ROW
};

static PLAIN: Strategy = PLAIN_ROW;
static WITH_STATUS: Strategy = STATUS_ROW;

fn row(group: &str, resource: &str) -> Option<&'static Strategy> {
    match group {
        "" => core(resource),
        "apps" => workloads::apps(resource),
        "batch" => workloads::batch(resource),
        "autoscaling" if resource == "horizontalpodautoscalers" => Some(&HPA),
        "networking.k8s.io" => networking(resource),
        "policy" if resource == "poddisruptionbudgets" => Some(&PDB),
        "rbac.authorization.k8s.io" => rbac(resource),
        "storage.k8s.io" => storage(resource),
        "scheduling.k8s.io" => scheduling(resource),
        "coordination.k8s.io" => coordination(resource),
        "discovery.k8s.io" if resource == "endpointslices" => Some(&ENDPOINT_SLICE),
        "events.k8s.io" if resource == "events" => Some(&EVENT_V1),
        "certificates.k8s.io" => certificates(resource),
        "admissionregistration.k8s.io" => admission(resource),
        "apiextensions.k8s.io" if resource == "customresourcedefinitions" => Some(&CRD),
        "apiregistration.k8s.io" if resource == "apiservices" => Some(&API_SERVICE),
        "flowcontrol.apiserver.k8s.io" => flow_control(resource),
        "node.k8s.io" if resource == "runtimeclasses" => Some(&RUNTIME_CLASS),
        "resource.k8s.io" => dynamic_resources(resource),
        _ => None,
    }
}

fn core(resource: &str) -> Option<&'static Strategy> {
    static POD: Strategy = Strategy {
        gated: gates::POD,
        status_metadata: StatusMetadata::ExceptOwners,
        deletion: Deletion::GracefulPod,
        selectable: fields::POD,
        prepare: pod::prepare,
        rules: pods::pod,
        warnings: warnings::pod,
        part_warnings: warnings::pod_part,
        validate_part: pods::part,
        ..COUNTED_ROW
    };
    static POD_TEMPLATE: Strategy = Strategy {
        gated: Gated::pod("/template/spec"),
        generation: Generation::Content,
        validate: pods::template_object,
        warnings: warnings::pod_template,
        ..PLAIN_ROW
    };
    static REPLICATION_CONTROLLER: Strategy = Strategy {
        gated: gates::WORKLOAD,
        status: StatusRule::Reset(r#"{"replicas":0}"#),
        dependents: Dependents::Orphaned,
        selectable: fields::REPLICATION_CONTROLLER,
        validate: check::replication_controller,
        validate_part: groups::apps::replica_set_status,
        declared: &[("spec.replicas", Invalid)],
        warnings: warnings::replication_controller,
        ..COUNTED_ROW
    };
    static SERVICE: Strategy = Strategy {
        // Since 1.37 (KEP-5311).
        name: NameRule::Label,
        status: StatusRule::Reset(r#"{"loadBalancer":{}}"#),
        create_on_update: CreateOnUpdate::Allowed,
        allocation: Allocation::Service,
        selectable: fields::SERVICE,
        prepare: service::prepare,
        rules: core_kinds::service,
        warnings: warnings::service,
        part_warnings: warnings::balanced_part,
        validate_part: core_kinds::service_status,
        ..STATUS_ROW
    };
    static NAMESPACE: Strategy = Strategy {
        name: NameRule::Label,
        status: StatusRule::Reset(r#"{"phase":"Active"}"#),
        selectable: fields::NAMESPACE,
        prepare: kinds::namespace,
        rules: core_kinds::namespace,
        validate_part: namespace::part,
        ..STATUS_ROW
    };
    static NODE: Strategy = Strategy {
        gated: gates::NODE,
        status: StatusRule::KeptOnCreate,
        prepare: kinds::node,
        selectable: fields::NODE,
        rules: core_kinds::node,
        warnings: warnings::node,
        validate_part: core_kinds::node_part,
        ..PLAIN_ROW
    };
    static PERSISTENT_VOLUME: Strategy = Strategy {
        status: StatusRule::Reset(r#"{"phase":"Pending"}"#),
        prepare: kinds::persistent_volume,
        rules: volumes::persistent_volume,
        warnings: warnings::persistent_volume,
        ..STATUS_ROW
    };
    static CLAIM: Strategy = Strategy {
        gated: gates::CLAIM,
        status: StatusRule::Reset(r#"{"phase":"Pending"}"#),
        prepare: kinds::persistent_volume_claim,
        rules: volumes::persistent_volume_claim,
        warnings: warnings::persistent_volume_claim,
        validate_part: |_, new, _| volumes::persistent_volume_claim_status(new),
        ..STATUS_ROW
    };
    static SECRET: Strategy = Strategy {
        selectable: fields::SECRET,
        warnings: warnings::secret,
        validate: check::secret,
        validate_update: check::secret_update,
        ..PLAIN_ROW
    };
    static CONFIG_MAP: Strategy = Strategy {
        validate: check::config_map,
        validate_update: check::config_map_update,
        ..PLAIN_ROW
    };
    static SERVICE_ACCOUNT: Strategy = Strategy {
        prepare: kinds::service_account,
        warnings: warnings::service_account,
        ..PLAIN_ROW
    };
    static EVENT: Strategy = Strategy {
        create_on_update: CreateOnUpdate::Allowed,
        dependents: Dependents::Unsupported,
        selectable: fields::EVENT,
        validate: core_kinds::event,
        ..PLAIN_ROW
    };
    static ENDPOINTS: Strategy = Strategy {
        create_on_update: CreateOnUpdate::Allowed,
        rules: core_kinds::endpoints,
        warnings: warnings::endpoints,
        ..PLAIN_ROW
    };
    static LIMIT_RANGE: Strategy = Strategy {
        create_on_update: CreateOnUpdate::Allowed,
        validate: core_kinds::limit_range,
        ..PLAIN_ROW
    };
    static RESOURCE_QUOTA: Strategy = Strategy {
        rules: core_kinds::resource_quota,
        validate_part: |_, new, _| core_kinds::resource_quota_status(new),
        ..STATUS_ROW
    };
    Some(match resource {
        "pods" => &POD,
        "podtemplates" => &POD_TEMPLATE,
        "replicationcontrollers" => &REPLICATION_CONTROLLER,
        "services" => &SERVICE,
        "namespaces" => &NAMESPACE,
        "nodes" => &NODE,
        "persistentvolumes" => &PERSISTENT_VOLUME,
        "persistentvolumeclaims" => &CLAIM,
        "secrets" => &SECRET,
        "configmaps" => &CONFIG_MAP,
        "serviceaccounts" => &SERVICE_ACCOUNT,
        "events" => &EVENT,
        "endpoints" => &ENDPOINTS,
        "limitranges" => &LIMIT_RANGE,
        "resourcequotas" => &RESOURCE_QUOTA,
        _ => return None,
    })
}

static HPA: Strategy = Strategy {
    declared: &[("spec.minReplicas", Invalid), ("spec.maxReplicas", Required)],
    status: StatusRule::Reset(r#"{"desiredReplicas":0}"#),
    prepare: kinds::autoscaler,
    rules: groups::autoscaling::autoscaler,
    validate_part: groups::autoscaling::autoscaler_status,
    ..COUNTED_ROW
};

static PDB: Strategy = Strategy {
    finalizers: FinalizerRule::Any,
    status: StatusRule::Reset(
        r#"{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}"#,
    ),
    unconditional_update: UnconditionalUpdate::Refused,
    prepare: prepare::disruption_budget,
    rules: groups::policy::budget,
    validate_part: groups::policy::budget_status,
    ..COUNTED_ROW
};

fn networking(resource: &str) -> Option<&'static Strategy> {
    static INGRESS: Strategy = Strategy {
        status: StatusRule::Reset(r#"{"loadBalancer":{}}"#),
        rules: groups::ingress::ingress,
        validate_part: groups::ingress::ingress_status,
        warnings: groups::ingress::ingress_warnings,
        part_warnings: warnings::balanced_part,
        ..COUNTED_ROW
    };
    static INGRESS_CLASS: Strategy = Strategy {
        generation: Generation::Content,
        rules: groups::ingress::ingress_class,
        declared: &[
            ("spec.parameters.kind", Required),
            ("spec.parameters.name", Required),
        ],
        ..PLAIN_ROW
    };
    static NETWORK_POLICY: Strategy = Strategy {
        generation: Generation::Content,
        rules: groups::network::network_policy,
        warnings: groups::network::network_policy_warnings,
        ..PLAIN_ROW
    };
    static IP_ADDRESS: Strategy = Strategy {
        name: NameRule::IpAddress,
        generation: Generation::Content,
        rules: groups::network::ip_address,
        ..PLAIN_ROW
    };
    static SERVICE_CIDR: Strategy = Strategy {
        rules: groups::network::service_cidr,
        ..STATUS_ROW
    };
    Some(match resource {
        "ingresses" => &INGRESS,
        "ingressclasses" => &INGRESS_CLASS,
        "networkpolicies" => &NETWORK_POLICY,
        "ipaddresses" => &IP_ADDRESS,
        "servicecidrs" => &SERVICE_CIDR,
        _ => return None,
    })
}

/// What bindings declare.
const BINDING_DECLARED: &[Declared] = &[("subjects[].name", Required), ("roleRef.name", Required)];

fn rbac(resource: &str) -> Option<&'static Strategy> {
    static ROLE: Strategy = Strategy {
        declared: &[("rules[].verbs", Required)],
        rules: groups::rbac::role,
        ..RBAC_ROW
    };
    static CLUSTER_ROLE: Strategy = Strategy {
        declared: &[("rules[].verbs", Required)],
        rules: groups::rbac::cluster_role,
        ..RBAC_ROW
    };
    static BINDING: Strategy = Strategy {
        declared: BINDING_DECLARED,
        rules: groups::rbac::role_binding,
        ..RBAC_ROW
    };
    static CLUSTER_BINDING: Strategy = Strategy {
        declared: BINDING_DECLARED,
        rules: groups::rbac::cluster_role_binding,
        ..RBAC_ROW
    };
    Some(match resource {
        "roles" => &ROLE,
        "clusterroles" => &CLUSTER_ROLE,
        "rolebindings" => &BINDING,
        "clusterrolebindings" => &CLUSTER_BINDING,
        _ => return None,
    })
}

fn storage(resource: &str) -> Option<&'static Strategy> {
    static STORAGE_CLASS: Strategy = Strategy {
        rules: groups::storage::storage_class,
        warnings: warnings::storage_class,
        ..PLAIN_ROW
    };
    static CSI_DRIVER: Strategy = Strategy {
        generation: Generation::Changes,
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::storage::csi_driver,
        warnings: warnings::csi_driver,
        ..PLAIN_ROW
    };
    static CAPACITY: Strategy = Strategy {
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::storage::storage_capacity,
        warnings: warnings::storage_capacity,
        ..PLAIN_ROW
    };
    static ATTRIBUTES_CLASS: Strategy = Strategy {
        rules: groups::storage::attributes_class,
        ..PLAIN_ROW
    };
    static VOLUME_ATTACHMENT: Strategy = Strategy {
        status: StatusRule::Reset(r#"{"attached":false}"#),
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::storage::volume_attachment,
        declared: &[("spec.attacher", Required)],
        validate_part: groups::storage::volume_attachment_status,
        ..STATUS_ROW
    };
    static CSI_NODE: Strategy = Strategy {
        gated: gates::CSI_NODE,
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::storage::csi_node,
        ..STATUS_ROW
    };
    Some(match resource {
        "storageclasses" => &STORAGE_CLASS,
        "csidrivers" => &CSI_DRIVER,
        "csinodes" => &CSI_NODE,
        "csistoragecapacities" => &CAPACITY,
        "volumeattributesclasses" => &ATTRIBUTES_CLASS,
        "volumeattachments" => &VOLUME_ATTACHMENT,
        _ => return None,
    })
}

fn scheduling(resource: &str) -> Option<&'static Strategy> {
    static PRIORITY_CLASS: Strategy = Strategy {
        generation: Generation::Constant,
        rules: groups::cluster::priority_class,
        ..PLAIN_ROW
    };
    static COUNTED: Strategy = Strategy {
        status_metadata: StatusMetadata::Reset,
        unconditional_update: UnconditionalUpdate::Refused,
        ..COUNTED_ROW
    };
    static WORKLOAD: Strategy = Strategy {
        generation: Generation::Content,
        unconditional_update: UnconditionalUpdate::Refused,
        ..PLAIN_ROW
    };
    Some(match resource {
        "workloads" => &WORKLOAD,
        "priorityclasses" => &PRIORITY_CLASS,
        "podgroups" | "compositepodgroups" => &COUNTED,
        _ => return None,
    })
}

fn coordination(resource: &str) -> Option<&'static Strategy> {
    static LEASE: Strategy = Strategy {
        finalizers: FinalizerRule::Any,
        create_on_update: CreateOnUpdate::Allowed,
        unconditional_update: UnconditionalUpdate::Refused,
        prepare: prepare::lease,
        rules: groups::cluster::lease,
        ..PLAIN_ROW
    };
    static LEASE_CANDIDATE: Strategy = Strategy {
        finalizers: FinalizerRule::Any,
        name: NameRule::ConfigKey,
        rules: groups::cluster::lease_candidate,
        create_on_update: CreateOnUpdate::Allowed,
        unconditional_update: UnconditionalUpdate::Refused,
        ..PLAIN_ROW
    };
    Some(match resource {
        "leases" => &LEASE,
        "leasecandidates" => &LEASE_CANDIDATE,
        _ => return None,
    })
}

static ENDPOINT_SLICE: Strategy = Strategy {
    declared: &[
        ("addressType", Required),
        ("addressType", NotSupported),
        ("endpoints[].addresses", Required),
        ("endpoints[].addresses", TooMany),
    ],
    generation: Generation::Content,
    prepare: prepare::endpoint_slice,
    rules: groups::network::endpoint_slice,
    warnings: groups::network::endpoint_slice_warnings,
    ..PLAIN_ROW
};

static EVENT_V1: Strategy = Strategy {
    create_on_update: CreateOnUpdate::Allowed,
    dependents: Dependents::Unsupported,
    selectable: fields::EVENT_V1,
    rules: core_kinds::event_v1,
    ..PLAIN_ROW
};

fn certificates(resource: &str) -> Option<&'static Strategy> {
    static SIGNING_REQUEST: Strategy = Strategy {
        selectable: fields::SIGNER,
        name: NameRule::PathSegment,
        prepare: kinds::signing_request,
        rules: groups::certificates::signing_request,
        validate_part: certificates::part,
        ..STATUS_ROW
    };
    static CLUSTER_TRUST_BUNDLE: Strategy = Strategy {
        name: NameRule::TrustBundle,
        rules: groups::certificates::trust_bundle,
        unconditional_update: UnconditionalUpdate::Refused,
        selectable: fields::SIGNER,
        ..PLAIN_ROW
    };
    static POD_CERTIFICATE_REQUEST: Strategy = Strategy {
        unconditional_update: UnconditionalUpdate::Refused,
        selectable: fields::POD_CERTIFICATE_REQUEST,
        rules: groups::certificates::pod_request,
        ..STATUS_ROW
    };
    Some(match resource {
        "certificatesigningrequests" => &SIGNING_REQUEST,
        "clustertrustbundles" => &CLUSTER_TRUST_BUNDLE,
        "podcertificaterequests" => &POD_CERTIFICATE_REQUEST,
        _ => return None,
    })
}

fn admission(resource: &str) -> Option<&'static Strategy> {
    static WEBHOOKS: Strategy = Strategy {
        finalizers: FinalizerRule::Any,
        generation: Generation::Content,
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::admission::webhooks,
        warnings: warnings::webhooks,
        ..PLAIN_ROW
    };
    static POLICY: Strategy = Strategy {
        finalizers: FinalizerRule::Any,
        status_metadata: StatusMetadata::Reset,
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::admission_policy::validating,
        validate_part: groups::admission_policy::validating_status,
        ..COUNTED_ROW
    };
    static MUTATING: Strategy = Strategy {
        finalizers: FinalizerRule::Any,
        generation: Generation::Content,
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::admission_policy::mutating,
        ..PLAIN_ROW
    };
    static MUTATING_BINDING: Strategy = Strategy {
        finalizers: FinalizerRule::Any,
        generation: Generation::Content,
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::admission_policy::mutating_binding,
        ..PLAIN_ROW
    };
    static BINDING: Strategy = Strategy {
        finalizers: FinalizerRule::Any,
        generation: Generation::Content,
        unconditional_update: UnconditionalUpdate::Refused,
        rules: groups::admission_policy::validating_binding,
        declared: &[("spec.policyName", Required)],
        ..PLAIN_ROW
    };
    Some(match resource {
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => &WEBHOOKS,
        "validatingadmissionpolicies" => &POLICY,
        "validatingadmissionpolicybindings" => &BINDING,
        "mutatingadmissionpolicies" => &MUTATING,
        "mutatingadmissionpolicybindings" => &MUTATING_BINDING,
        _ => return None,
    })
}

/// Definitions of custom resources.
static CRD: Strategy = Strategy {
    finalizers: FinalizerRule::Any,
    status_metadata: StatusMetadata::Reset,
    unconditional_update: UnconditionalUpdate::Refused,
    finalizer_on_delete: Some("customresourcecleanup.apiextensions.k8s.io"),
    prepare: kinds::custom_resource_definition,
    rules: check::custom_resource_definition,
    validate_part: check::custom_resource_definition_part,
    warnings: warnings::custom_resource_definition,
    ..COUNTED_ROW
};

/// Custom resources whose version has no status subresource (apiextensions `pkg/registry/customresource/strategy.go`).
pub(crate) static CUSTOM: Strategy = Strategy {
    finalizers: FinalizerRule::Any,
    status_metadata: StatusMetadata::Reset,
    generation: Generation::ContentAndStatus,
    unconditional_update: UnconditionalUpdate::Refused,
    warnings: warnings::custom_resource,
    ..PLAIN_ROW
};

/// Custom resources whose version has one.
pub(crate) static CUSTOM_WITH_STATUS: Strategy = Strategy {
    status: StatusRule::Absent,
    generation: Generation::Content,
    ..CUSTOM
};

static API_SERVICE: Strategy = Strategy {
    finalizers: FinalizerRule::Any,
    name: NameRule::PathSegment,
    status_metadata: StatusMetadata::Reset,
    unconditional_update: UnconditionalUpdate::Refused,
    prepare: kinds::api_service,
    rules: groups::cluster::api_service,
    validate_part: groups::cluster::api_service_status,
    ..STATUS_ROW
};

fn flow_control(resource: &str) -> Option<&'static Strategy> {
    const ROW: Strategy = Strategy {
        status_metadata: StatusMetadata::Reset,
        validate_part: groups::flowcontrol::status,
        ..COUNTED_ROW
    };
    static FLOW_SCHEMA: Strategy = Strategy {
        rules: groups::flowcontrol::flow_schema,
        ..ROW
    };
    static PRIORITY_LEVEL: Strategy = Strategy {
        rules: groups::flowcontrol::priority_level,
        ..ROW
    };
    Some(match resource {
        "flowschemas" => &FLOW_SCHEMA,
        "prioritylevelconfigurations" => &PRIORITY_LEVEL,
        _ => return None,
    })
}

static RUNTIME_CLASS: Strategy = Strategy {
    unconditional_update: UnconditionalUpdate::Refused,
    create_on_update: CreateOnUpdate::Allowed,
    rules: groups::cluster::runtime_class,
    warnings: warnings::runtime_class,
    ..PLAIN_ROW
};

fn dynamic_resources(resource: &str) -> Option<&'static Strategy> {
    static CLAIM: Strategy = Strategy {
        gated: gates::DEVICE_CLAIM,
        status_metadata: StatusMetadata::Reset,
        rules: groups::devices::claim,
        validate_part: groups::devices::claim_status,
        ..STATUS_ROW
    };
    static TEMPLATE: Strategy = Strategy {
        gated: gates::DEVICE_CLAIM_TEMPLATE,
        rules: groups::devices::claim_template,
        ..PLAIN_ROW
    };
    static SLICE: Strategy = Strategy {
        gated: gates::SLICE,
        generation: Generation::Content,
        rules: groups::devices::slice,
        warnings: groups::devices::slice_warnings,
        selectable: fields::RESOURCE_SLICE,
        prepare: kinds::resource_slice,
        ..PLAIN_ROW
    };
    static CLASS: Strategy = Strategy {
        generation: Generation::Content,
        rules: groups::devices::class,
        ..PLAIN_ROW
    };
    static TAINT_RULE: Strategy = Strategy {
        status_metadata: StatusMetadata::Reset,
        rules: groups::devices::taint_rule,
        prepare: kinds::device_taint_rule,
        ..COUNTED_ROW
    };
    Some(match resource {
        "resourceclaims" => &CLAIM,
        "resourceclaimtemplates" => &TEMPLATE,
        "resourceslices" => &SLICE,
        "deviceclasses" => &CLASS,
        "devicetaintrules" => &TAINT_RULE,
        _ => return None,
    })
}
