//! Descriptions of built-in kinds for OpenAPI, from the schemas of `k8s-openapi`.
//!
//! The texts are upstream's and are no part of this project: they come with that crate. They are made when an OpenAPI document is
//! asked for, a package at a time, and the server keeps what it makes of them compressed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::schemars::{JsonSchema, SchemaGenerator};
use kubewright_apiserver::Descriptions;
use serde_json::Value;

/// The descriptions that upstream gives its types.
#[derive(Default)]
pub(crate) struct UpstreamDescriptions {
    /// The packages asked for last, the latest at the end: a document asks for the types of few packages by turns.
    recent: Mutex<Vec<(&'static str, Arc<Package>)>>,
}

/// Descriptions by type, and by field within it.
type Package = HashMap<String, Described>;

#[derive(Default)]
struct Described {
    own: Option<String>,
    fields: HashMap<String, String>,
}

impl Descriptions for UpstreamDescriptions {
    fn describe(&self, type_name: &str, field: Option<&str>) -> Option<Cow<'_, str>> {
        let package = self.package(type_name)?;
        let described = package.get(type_name)?;
        let text = match field {
            None => described.own.as_ref(),
            Some(field) => described.fields.get(field),
        };
        text.cloned().map(Cow::Owned)
    }
}

impl UpstreamDescriptions {
    fn package(&self, type_name: &str) -> Option<Arc<Package>> {
        let (name, make) = PACKAGES
            .iter()
            .find(|(package, _)| is_within(type_name, package))?;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let known = recent
            .iter()
            .position(|(package, _)| package == name)
            .map(|at| recent.remove(at));
        let entry = known.unwrap_or_else(|| (*name, Arc::new(read(*make))));
        let package = entry.1.clone();
        recent.push(entry);
        if recent.len() > MAX_RECENT {
            recent.remove(0);
        }
        Some(package)
    }
}

/// Whether a type such as `io.k8s.api.core.v1.Pod` belongs to the module `api::core::v1`, as its definition's name says.
fn is_within(type_name: &str, module: &str) -> bool {
    let Some((package, _)) = type_name.rsplit_once('.') else {
        return false;
    };
    let Some(package) = package.strip_prefix("io.k8s.") else {
        return false;
    };
    let (package, module) = (package.replace('-', "_"), module.replace("::", "."));
    package == module
}

fn read(make: fn(&mut SchemaGenerator)) -> Package {
    let mut generator = SchemaGenerator::default();
    make(&mut generator);
    let definitions = generator.take_definitions(false);
    definitions
        .into_iter()
        .map(|(name, schema)| (name, Described::of(&schema)))
        .collect()
}

impl Described {
    fn of(schema: &Value) -> Self {
        let text = |value: &Value| value["description"].as_str().map(str::to_owned);
        let fields = schema["properties"].as_object().into_iter().flatten();
        Self {
            own: text(schema),
            fields: fields
                .filter_map(|(name, field)| Some((name.clone(), text(field)?)))
                .collect(),
        }
    }
}

/// How many packages are kept as they are.
const MAX_RECENT: usize = 4;

macro_rules! packages {
    ($($first:ident$(::$rest:ident)*: $($kind:ident),+;)+) => {
        /// The packages of upstream's types, and the kinds from which all types of each are reached.
        const PACKAGES: &[(&str, fn(&mut SchemaGenerator))] = &[$((
            concat!(stringify!($first) $(, "::", stringify!($rest))*),
            |generator| {
                use k8s_openapi::$first$(::$rest)* as package;
                $(add::<package::$kind>(generator);)+
            },
        )),+];
    };
}

fn add<K: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<K>();
}

packages! {
    apimachinery::pkg::api::resource: Quantity;
    apimachinery::pkg::runtime: RawExtension;
    apimachinery::pkg::util::intstr: IntOrString;
    api::admissionregistration::v1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration;
    api::admissionregistration::v1alpha1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding;
    api::admissionregistration::v1beta1: MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding;
    api::apiserverinternal::v1alpha1: StorageVersion;
    api::apps::v1: ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet;
    api::authentication::v1: SelfSubjectReview, TokenRequest, TokenReview;
    api::authorization::v1: LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview;
    api::autoscaling::v1: HorizontalPodAutoscaler, Scale;
    api::autoscaling::v2: HorizontalPodAutoscaler;
    api::batch::v1: CronJob, Job;
    api::certificates::v1: CertificateSigningRequest, ClusterTrustBundle, PodCertificateRequest;
    api::certificates::v1beta1: ClusterTrustBundle, PodCertificateRequest;
    api::coordination::v1: Lease;
    api::coordination::v1alpha2: LeaseCandidate;
    api::coordination::v1beta1: LeaseCandidate;
    api::core::v1: Binding, ComponentStatus, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ResourceQuota, Secret, Service, ServiceAccount;
    api::discovery::v1: EndpointSlice;
    api::events::v1: Event;
    api::flowcontrol::v1: FlowSchema, PriorityLevelConfiguration;
    api::lifecycle::v1alpha1: Eviction, EvictionRequest;
    api::networking::v1: IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR;
    api::node::v1: RuntimeClass;
    api::policy::v1: Eviction, PodDisruptionBudget;
    api::rbac::v1: ClusterRole, ClusterRoleBinding, Role, RoleBinding;
    api::resource::v1: DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
    api::resource::v1alpha3: DeviceTaintRule, ResourcePoolStatusRequest;
    api::resource::v1beta1: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
    api::resource::v1beta2: DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice;
    api::scheduling::v1: PriorityClass;
    api::scheduling::v1alpha3: CompositePodGroup, PodGroup, Workload;
    api::scheduling::v1beta1: PodGroup, Workload;
    api::storage::v1: CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass;
    api::storagemigration::v1: StorageVersionMigration;
    api::storagemigration::v1beta1: StorageVersionMigration;
    apiextensions_apiserver::pkg::apis::apiextensions::v1: CustomResourceDefinition;
    kube_aggregator::pkg::apis::apiregistration::v1: APIService;
    apimachinery::pkg::apis::meta::v1: APIGroup, APIGroupList, APIResourceList, APIVersions, Condition, DeleteOptions, LabelSelector, ListMeta, MicroTime, ObjectMeta, Status, Time;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_every_type_and_field_of_the_table_is_described() {
        let descriptions = UpstreamDescriptions::default();
        let (mut described, mut all) = (0, 0);
        // `k8s-openapi` has one type for all lists.
        let is_list = |name: &str| name.ends_with("List");
        for ty in kubewright_kinds::table()
            .types()
            .iter()
            .filter(|ty| !is_list(ty.name))
        {
            for field in ty.fields() {
                all += 1;
                described += usize::from(descriptions.describe(ty.name, Some(field.name)).is_some());
            }
        }
        assert!(
            described * 100 > all * 90,
            "{described} of {all} fields are described"
        );
        assert!(
            descriptions
                .recent
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .len()
                <= MAX_RECENT
        );
    }

    #[test]
    fn types_are_found_by_their_package() {
        let descriptions = UpstreamDescriptions::default();
        for (type_name, field, word) in [
            ("io.k8s.api.core.v1.Pod", None, "containers"),
            ("io.k8s.api.core.v1.PodSpec", Some("containers"), "containers"),
            ("io.k8s.api.apps.v1.DeploymentSpec", Some("replicas"), "pods"),
            (
                "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                Some("labels"),
                "keys and values",
            ),
            ("io.k8s.apimachinery.pkg.api.resource.Quantity", None, "Quantity"),
            (
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
                None,
                "Definition",
            ),
        ] {
            let found = descriptions.describe(type_name, field);
            assert!(
                found.as_ref().is_some_and(|text| text.contains(word)),
                "{type_name} {field:?}: {found:?}"
            );
        }
        assert_eq!(descriptions.describe("io.k8s.api.core.v1.Strange", None), None);
        assert_eq!(descriptions.describe("Strange", None), None);
    }
}
