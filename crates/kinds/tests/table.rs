//! What the table says of well-known kinds, and that it is whole.

use std::collections::BTreeSet;

use kubewright_kinds::{ListType, MapType, Presence, Resource, Scope, Type, Value, table};

const TEXT: &str = include_str!("../src/table.txt");

/// The generator ends the text with the sum of all before, so that an edit by hand shows.
#[test]
fn the_text_is_as_generated() {
    let (body, last) = TEXT.trim_end().rsplit_once('\n').unwrap();
    let sum = body
        .bytes()
        .chain(*b"\n")
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    assert_eq!(
        last,
        format!("# fnv1a {sum:016x}"),
        "the table was edited; run `cargo xtask codegen kinds`"
    );
}

fn resource(group: &str, version: &str, plural: &str) -> &'static Resource {
    table()
        .resource(group, version, plural)
        .unwrap_or_else(|| panic!("no {group}/{version} {plural}"))
}

fn core(name: &str) -> &'static Type {
    table()
        .type_named(&format!("io.k8s.api.core.v1.{name}"))
        .unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn resources() {
    let check = |path: (&str, &str, &str), kind: &str, scope, short: &[&str], storage: &str, served: bool| {
        let (group, version, plural) = path;
        let found = resource(group, version, plural);
        assert_eq!((found.kind, found.scope), (kind, scope), "{path:?}");
        assert_eq!(found.short_names, short, "{path:?}");
        assert_eq!(
            (found.storage_version, found.served_by_default),
            (storage, served),
            "{path:?}"
        );
        assert!(
            std::ptr::eq(table().resource_of_kind(group, version, kind).unwrap(), found),
            "{path:?}"
        );
        assert!(
            std::ptr::eq(table().kind(group, version, kind).unwrap(), found.object_type()),
            "{path:?}"
        );
    };
    check(("", "v1", "pods"), "Pod", Scope::Namespaced, &["po"], "v1", true);
    check(("", "v1", "nodes"), "Node", Scope::Cluster, &["no"], "v1", true);
    check(
        ("apps", "v1", "deployments"),
        "Deployment",
        Scope::Namespaced,
        &["deploy"],
        "v1",
        true,
    );
    let hpa = ("autoscaling", "v1", "horizontalpodautoscalers");
    check(
        hpa,
        "HorizontalPodAutoscaler",
        Scope::Namespaced,
        &["hpa"],
        "v2",
        true,
    );
    let bundles = ("certificates.k8s.io", "v1", "clustertrustbundles");
    check(
        bundles,
        "ClusterTrustBundle",
        Scope::Cluster,
        &[],
        "v1beta1",
        true,
    );
    let claims = ("resource.k8s.io", "v1beta1", "resourceclaims");
    check(claims, "ResourceClaim", Scope::Namespaced, &[], "v1", false);
    let crds = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    check(
        crds,
        "CustomResourceDefinition",
        Scope::Cluster,
        &["crd", "crds"],
        "v1",
        true,
    );
    assert!(table().resource("apps", "v1beta1", "deployments").is_none());
}

#[test]
fn subresources() {
    let check = |path: (&str, &str, &str), name: &str, kind: &str, verbs: &[&str]| {
        let found = resource(path.0, path.1, path.2).subresource(name).unwrap();
        assert_eq!(
            format!("{}/{}/{}", found.group, found.version, found.kind),
            kind,
            "{name}"
        );
        assert_eq!(found.verbs, verbs, "{name}");
    };
    let update = ["get", "patch", "update"];
    check(
        ("apps", "v1", "deployments"),
        "scale",
        "autoscaling/v1/Scale",
        &update,
    );
    check(
        ("apps", "v1", "deployments"),
        "status",
        "apps/v1/Deployment",
        &update,
    );
    check(("", "v1", "pods"), "eviction", "policy/v1/Eviction", &["create"]);
    check(
        ("", "v1", "serviceaccounts"),
        "token",
        "authentication.k8s.io/v1/TokenRequest",
        &["create"],
    );
    check(("", "v1", "pods"), "log", "/v1/Pod", &["get"]);
}

#[test]
fn kinds_without_a_resource() {
    let check = |group, version, kind, name: &str| {
        assert_eq!(table().kind(group, version, kind).map(|t| t.name), Some(name));
    };
    check("autoscaling", "v1", "Scale", "io.k8s.api.autoscaling.v1.Scale");
    check("policy", "v1", "Eviction", "io.k8s.api.policy.v1.Eviction");
    check("", "v1", "Status", "io.k8s.apimachinery.pkg.apis.meta.v1.Status");
    check(
        "apps",
        "v1",
        "DeleteOptions",
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    );
    check(
        "apps",
        "v1",
        "WatchEvent",
        "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
    );
    check(
        "apps",
        "v1",
        "DeploymentList",
        "io.k8s.api.apps.v1.DeploymentList",
    );
    check(
        "admission.k8s.io",
        "v1",
        "AdmissionReview",
        "io.k8s.api.admission.v1.AdmissionReview",
    );
    let metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata";
    check("meta.k8s.io", "v1", "PartialObjectMetadata", metadata);
    check("meta.k8s.io", "v1beta1", "PartialObjectMetadata", metadata);
    let list = "io.k8s.apimachinery.pkg.apis.meta.v1beta1.PartialObjectMetadataList";
    check("meta.k8s.io", "v1beta1", "PartialObjectMetadataList", list);
    // The numbers are the other way around in the later version.
    let tags = |version| {
        let list = table()
            .kind("meta.k8s.io", version, "PartialObjectMetadataList")
            .unwrap();
        ["metadata", "items"].map(|name| list.field(name).unwrap().tag)
    };
    assert_eq!((tags("v1"), tags("v1beta1")), ([1, 2], [2, 1]));
    assert!(table().kind("apps", "v1", "Nothing").is_none());
}

#[test]
fn fields() {
    let ports = core("Container").field("ports").unwrap();
    assert_eq!((ports.tag, ports.list_type), (6, Some(ListType::Map)));
    assert_eq!(ports.map_keys, ["containerPort", "protocol"]);
    assert_eq!(
        (ports.patch_strategy.merge, ports.merge_key),
        (true, Some("containerPort"))
    );

    let volumes = core("PodSpec").field("volumes").unwrap();
    assert!(volumes.patch_strategy.merge && volumes.patch_strategy.retain_keys);
    assert!(core("PodSpec").field("containers").unwrap().required);

    let protocol = core("ContainerPort").field("protocol").unwrap();
    assert_eq!(protocol.default, Some("\"TCP\""));
    assert_eq!(protocol.enum_values, ["SCTP", "TCP", "UDP"]);

    let host_path = core("Volume").field("hostPath").unwrap();
    assert_eq!((host_path.inlined_in, host_path.tag), ([2, 0], 1));
    assert_eq!(core("Volume").field_by_tag(1).unwrap().name, "name");
    assert!(core("Volume").field_by_tag(2).is_none());

    let limits = core("ResourceRequirements").field("limits").unwrap();
    assert_eq!(limits.value, Value::Map(&Value::Quantity));
    assert_eq!(
        core("PodSpec").field("nodeSelector").unwrap().map_type,
        MapType::Atomic
    );
    assert_eq!(
        core("ServiceSpec").field("selector").unwrap().map_type,
        MapType::Atomic
    );
    assert_eq!(
        core("EnvVarSource").field("configMapKeyRef").unwrap().map_type,
        MapType::Atomic
    );
    assert_eq!(core("PodSpec").field("hostUsers").unwrap().since, 25);
    assert_eq!(core("ContainerStatus").field("resources").unwrap().since, 27);
}

#[test]
fn presence() {
    let check = |owner: &str, field: &str, presence| {
        assert_eq!(
            core(owner).field(field).unwrap().presence,
            presence,
            "{owner}.{field}"
        );
    };
    check("Container", "name", Presence::Always);
    check("Container", "image", Presence::OmitZero);
    check("Container", "resources", Presence::Always);
    check("Container", "securityContext", Presence::Optional);
    check("Container", "command", Presence::Optional);
    check("PodList", "items", Presence::Always);
    check("PodSpec", "containers", Presence::Always);
    check("PodCondition", "lastProbeTime", Presence::Always);
}

#[test]
fn every_field_is_found_by_its_name_and_its_tag() {
    for object in table().types() {
        let names = object.fields().iter().map(|f| f.name).collect::<BTreeSet<_>>();
        assert_eq!(
            names.len(),
            object.fields().len(),
            "{} has a field twice",
            object.name
        );
        let tags = object
            .fields()
            .iter()
            .filter(|f| f.tag != 0)
            .map(|f| (f.inlined_in, f.tag));
        let tags = tags.collect::<Vec<_>>();
        assert_eq!(
            tags.iter().collect::<BTreeSet<_>>().len(),
            tags.len(),
            "{} has a tag twice",
            object.name
        );
        for field in object.fields() {
            assert_eq!(object.field(field.name).unwrap().tag, field.tag);
            if field.inlined_in[0] == 0 && field.tag != 0 {
                assert_eq!(
                    object.field_by_tag(field.tag).unwrap().name,
                    field.name,
                    "{}",
                    object.name
                );
            }
            assert!(field.since >= object.since, "{}.{}", object.name, field.name);
            if let Some(default) = field.default {
                serde_json::from_str::<serde_json::Value>(default).unwrap();
            }
            for key in field.map_keys {
                let Value::Array(Value::Object(item)) = field.value else {
                    panic!("{}.{}", object.name, field.name)
                };
                assert!(
                    item.get().field(key).is_some(),
                    "{}.{} has no key {key}",
                    object.name,
                    field.name
                );
            }
        }
    }
}

#[test]
fn every_resource_has_a_list_type_where_it_lists() {
    for resource in table().resources() {
        if resource.verbs.contains(&"list") {
            let list = format!("{}List", resource.kind);
            assert!(
                table().kind(resource.group, resource.version, &list).is_some(),
                "{list}"
            );
        }
        let storage = table().resource(resource.group, resource.storage_version, resource.plural);
        assert!(
            storage.is_some(),
            "{} is stored in a version that is not served",
            resource.plural
        );
    }
}
