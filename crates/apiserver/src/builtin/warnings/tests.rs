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

#[test]
fn beyond_pods_and_services() {
    compare(
        pod_part(
            "status",
            &json!({"status": {"podIPs": [{"ip": "010.0.0.1"}, {"ip": "10.0.0.2"}]}}),
        ),
        &["status.podIPs[0].ip: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\""],
    );
    compare(
        pod_part("resize", &json!({"status": {"podIPs": [{"ip": "010.0.0.1"}]}})),
        &[],
    );
    compare(
        balanced_part(
            "status",
            &json!({"status": {"loadBalancer": {"ingress": [{"hostname": "a"}, {"ip": "::0"}]}}}),
        ),
        &[
            "status.loadBalancer.ingress[1]: IPv6 address \"::0\" should be in RFC 5952 canonical format (\"::\")",
        ],
    );
    let account = json!({"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}});
    let deprecated = "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to \
                      isolate access to mounted secrets";
    compare(service_account(&account, None), &[deprecated]);
    compare(service_account(&account, Some(&account)), &[]);
    compare(
        runtime_class(
            &json!({"scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}}),
            None,
        ),
        &["scheduling.nodeSelector: deprecated since v1.14; use \"kubernetes.io/os\" instead"],
    );
    compare(
        storage_class(
            &json!({"allowedTopologies": [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os"}]}]}),
            None,
        ),
        &[
            "allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use \"kubernetes.io/os\" instead",
        ],
    );
    compare(
        storage_capacity(
            &json!({"nodeTopology": {"matchLabels": {"beta.kubernetes.io/os": "linux"}, "matchExpressions": [{"key": "beta.kubernetes.io/os"}]}}),
            None,
        ),
        &[
            "nodeTopology.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use \"kubernetes.io/os\" instead",
            "nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use \"kubernetes.io/os\" instead",
        ],
    );
    let driver = json!({"spec": {"tokenRequests": [{"audience": "a"}]}});
    assert_eq!(csi_driver(&driver, None).len(), 1);
    compare(csi_driver(&driver, Some(&driver)), &[]);
    compare(
        csi_driver(
            &json!({"spec": {"tokenRequests": [{"audience": "a"}], "serviceAccountTokenInSecrets": false}}),
            None,
        ),
        &[],
    );
    compare(
        webhooks(
            &json!({"webhooks": [{"rules": [
                {"apiGroups": ["*"], "resources": ["tokenreviews"]},
                {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews", "tokenreviews"]},
            ]}]}),
            None,
        ),
        &[
            "webhooks[0].rules[1]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule will have no effect",
        ],
    );
}

#[test]
fn pairs_that_are_none() {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let block = |label: &str| format!("-----BEGIN {label}-----\nYQ==\n-----END {label}-----\n");
    let check = |certificate: &str, key: &str, expect: &[&str]| {
        let pair = json!({"type": "kubernetes.io/tls", "data": {"tls.crt": encode(certificate), "tls.key": encode(key)}});
        compare(secret(&pair, None), expect);
    };
    let (certificate, key) = (block("CERTIFICATE"), block("RSA PRIVATE KEY"));
    check(&certificate, &key, &[]);
    check(&certificate, &block("PRIVATE KEY"), &[]);
    check(
        "",
        &key,
        &["tls: failed to find any PEM data in certificate input"],
    );
    check(
        &certificate,
        "x",
        &["tls: failed to find any PEM data in key input"],
    );
    check(
        &key,
        &certificate,
        &[
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been \
             switched",
        ],
    );
    check(
        &certificate,
        &certificate,
        &["tls: found a certificate rather than a key in the PEM for the private key"],
    );
    check(
        &format!("{}{}", block("A"), block("B")),
        &key,
        &[
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: \
             [A B]",
        ],
    );
    check(
        &certificate,
        &block("A"),
        &[
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the \
             following types: [A]",
        ],
    );
    compare(secret(&json!({"type": "Opaque"}), None), &[]);
}
