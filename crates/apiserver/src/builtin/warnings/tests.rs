//! Warnings, by the cases of upstream's `TestWarnings` in `pkg/api/pod` and its neighbours.

use super::{pod::pod, *};
use kubewright_core::FieldPath;
use serde_json::json;

#[track_caller]
fn compare(mut found: Vec<String>, expect: &[&str]) {
    let mut expect: Vec<&str> = expect.to_vec();
    found.sort();
    expect.sort_unstable();
    assert_eq!(found, expect);
}

#[test]
fn pods() {
    let port = |fields: Value| json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}, fields]}]});
    for (spec, expect) in [
        (json!({"containers": [{"name": "c", "image": "i"}]}), &[][..]),
        (
            json!({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}),
            &[
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
            ],
        ),
        (
            json!({"topologySpreadConstraints": [{"topologyKey": "failure-domain.beta.kubernetes.io/zone"}]}),
            &[
                "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since \
                 v1.17; use \"topology.kubernetes.io/zone\" instead",
                "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
            ],
        ),
        (
            json!({"volumes": [{"name": "v", "gitRepo": {}}, {"name": "w", "storageos": {}}]}),
            &[
                "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
                "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
            ],
        ),
        (
            json!({"volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"path": "a/b"}, {"path": "a"}, {"path": "ab"}]}}]}),
            &["volume \"v\" (ConfigMap \"m\"): overlapping paths: \"a\" with \"a/b\""],
        ),
        (
            json!({"volumes": [{"name": "v", "projected": {"sources": [
                {"secret": {"name": "s", "items": [{"path": "t"}]}}, {"serviceAccountToken": {"path": "t"}}, {}]}}]}),
            &[
                "volume \"v\" (Projected): overlapping paths: \"t\" (ServiceAccountToken) with \"t\" (Secret \"s\")",
                "volume \"v\" (Projected) has no sources provided",
            ],
        ),
        (
            json!({"hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}], "imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]}),
            &[
                "spec.hostAliases[1].ip: duplicate ip \"1.2.3.4\"",
                "spec.imagePullSecrets[1].name: duplicate name \"a\"",
                "spec.imagePullSecrets[2].name: invalid empty name \"\"",
            ],
        ),
        (
            json!({"containers": [{"name": "c", "resources": {"requests": {"memory": "100m", "cpu": "100m"}}}]}),
            &[
                "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\" is invalid, must be an integer",
            ],
        ),
        (
            json!({"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A", "value": "3"}]}]}),
            &[
                "spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using apply",
            ],
        ),
        (
            port(json!({"containerPort": 80, "protocol": "TCP"})),
            &["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
        ),
        (
            port(json!({"containerPort": 80, "protocol": "TCP", "hostPort": 80})),
            &["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
        ),
        (
            json!({"containers": [{"name": "a", "ports": [{"name": "p", "containerPort": 1}]}, {"name": "b", "ports": [{"name": "p", "containerPort": 2}]}]}),
            &[
                "spec.containers[1].ports[0]: duplicate port name \"p\" with spec.containers[0].ports[0], services and probes \
                 that select ports by name will use spec.containers[0].ports[0]",
            ],
        ),
        (
            json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k"}]}}}),
            &[
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null \
                 labelSelector results in matching no pod",
            ],
        ),
    ] {
        compare(
            pod(&json!({"metadata": {"name": "x"}, "spec": spec}), None),
            expect,
        );
    }
    compare(
        pod(&json!({"metadata": {"name": "a.b"}}), None),
        &[
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is \
           recommended: [must not contain dots]",
        ],
    );
    let old = json!({});
    compare(pod(&json!({"metadata": {"name": "a.b"}}), Some(&old)), &[]);
    let annotated = json!({"metadata": {"annotations": {
        "container.apparmor.security.beta.kubernetes.io/c": "unconfined", "seccomp.security.alpha.kubernetes.io/pod": "x"}},
        "spec": {"containers": [{"name": "c"}]}});
    compare(
        pod::template(&annotated, &FieldPath::new("template")),
        &[
            "template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the \
           \"appArmorProfile\" field instead",
            "template.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the \
           \"seccompProfile\" field instead",
        ],
    );
}

#[test]
fn other_kinds() {
    compare(
        service(
            &json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "externalIPs": ["1.2.3.4"], "sessionAffinity": "ClientIP"}}),
            None,
        ),
        &[
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    );
    compare(
        service(
            &json!({"spec": {"type": "NodePort", "externalIPs": ["1.2.3.4"], "externalName": "a", "trafficDistribution": "PreferClose"}}),
            None,
        ),
        &[
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
        ],
    );
    compare(
        persistent_volume(
            &json!({"spec": {"persistentVolumeReclaimPolicy": "Recycle", "rbd": {}}}),
            None,
        ),
        &[
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is \
           to use dynamic provisioning.",
            "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
        ],
    );
    compare(
        persistent_volume_claim(
            &json!({"spec": {"resources": {"requests": {"storage": "1500m"}}}}),
            None,
        ),
        &["spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer"],
    );
    compare(
        node(&json!({"spec": {"externalID": "x"}}), None),
        &["spec.externalID: this field is deprecated, and is unused by Kubernetes"],
    );
}
