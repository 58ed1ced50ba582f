use super::apply;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Applies the defaults and looks at some of the result: every `(JSON pointer, value)` must be there.
#[track_caller]
fn check(gvk: &str, mut object: Value, expect: &[(&str, Value)]) {
    let (group, version, kind) = split(gvk);
    apply(group, version, kind, &mut object);
    for (pointer, value) in expect {
        let found = object.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, value, "{gvk} {pointer} in {object:#}");
    }
    let once = object.clone();
    apply(group, version, kind, &mut object);
    assert_eq!(object, once, "{gvk}: a second run changed something");
}

fn split(gvk: &str) -> (&str, &str, &str) {
    let mut parts = gvk.rsplitn(3, '/');
    let (kind, version) = (parts.next().unwrap(), parts.next().unwrap());
    (parts.next().unwrap_or_default(), version, kind)
}

#[test]
fn pods() {
    let pod = |spec: Value| json!({"metadata": {"name": "p"}, "spec": spec});
    check(
        "v1/Pod",
        pod(json!({"containers": [{"name": "c", "image": "nginx"}]})),
        &[
            ("/spec/restartPolicy", json!("Always")),
            ("/spec/dnsPolicy", json!("ClusterFirst")),
            ("/spec/schedulerName", json!("default-scheduler")),
            ("/spec/terminationGracePeriodSeconds", json!(30)),
            ("/spec/securityContext", json!({})),
            ("/spec/enableServiceLinks", json!(true)),
            ("/spec/containers/0/imagePullPolicy", json!("Always")),
            (
                "/spec/containers/0/terminationMessagePath",
                json!("/dev/termination-log"),
            ),
            ("/spec/containers/0/terminationMessagePolicy", json!("File")),
            ("/spec/containers/0/resources", json!({})),
        ],
    );
    // What is set stays, also a zero behind a pointer.
    check(
        "v1/Pod",
        pod(
            json!({"terminationGracePeriodSeconds": 0, "restartPolicy": "Never", "enableServiceLinks": false}),
        ),
        &[
            ("/spec/terminationGracePeriodSeconds", json!(0)),
            ("/spec/restartPolicy", json!("Never")),
            ("/spec/enableServiceLinks", json!(false)),
        ],
    );
    check(
        "v1/Pod",
        pod(
            json!({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}}}]}),
        ),
        &[(
            "/spec/containers/0/resources/requests",
            json!({"cpu": "100m", "memory": "1Gi"}),
        )],
    );
    check(
        "v1/Pod",
        pod(json!({"containers": [{
            "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 0},
            "readinessProbe": {"grpc": {"port": 9}, "failureThreshold": 7},
            "lifecycle": {"preStop": {"httpGet": {"port": 1, "scheme": "HTTPS"}}},
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "ports": [{"containerPort": 80}]
        }]})),
        &[
            (
                "/spec/containers/0/livenessProbe",
                json!({"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1,
                       "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}),
            ),
            ("/spec/containers/0/readinessProbe/failureThreshold", json!(7)),
            ("/spec/containers/0/readinessProbe/grpc/service", json!("")),
            (
                "/spec/containers/0/lifecycle/preStop/httpGet/scheme",
                json!("HTTPS"),
            ),
            (
                "/spec/containers/0/env/0/valueFrom/fieldRef/apiVersion",
                json!("v1"),
            ),
            (
                "/spec/containers/0/ports/0",
                json!({"containerPort": 80, "protocol": "TCP"}),
            ),
        ],
    );
    check(
        "v1/Pod",
        pod(json!({"hostNetwork": true, "containers": [{"ports": [{"containerPort": 80}]}]})),
        &[("/spec/containers/0/ports/0/hostPort", json!(80))],
    );
    check(
        "v1/Pod",
        pod(json!({"serviceAccount": "builder"})),
        &[
            ("/spec/serviceAccountName", json!("builder")),
            ("/spec/serviceAccount", json!("builder")),
        ],
    );
}

#[test]
fn volumes() {
    #[track_caller]
    fn volume(given: Value, expect: Value) {
        check(
            "v1/Pod",
            json!({"spec": {"volumes": [given]}}),
            &[("/spec/volumes/0", expect)],
        );
    }
    volume(json!({"name": "v"}), json!({"name": "v", "emptyDir": {}}));
    volume(
        json!({"secret": {"secretName": "s"}}),
        json!({"secret": {"secretName": "s", "defaultMode": 420}}),
    );
    volume(
        json!({"configMap": {"defaultMode": 256}}),
        json!({"configMap": {"defaultMode": 256}}),
    );
    volume(
        json!({"hostPath": {"path": "/"}}),
        json!({"hostPath": {"path": "/", "type": ""}}),
    );
    volume(
        json!({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}),
        json!({"projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}}),
    );
    volume(
        json!({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}),
        json!({"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}}),
    );
}

#[test]
fn workloads() {
    check(
        "apps/v1/Deployment",
        json!({"spec": {"template": {"spec": {"containers": [{"image": "a:1"}]}}}}),
        &[
            ("/spec/replicas", json!(1)),
            (
                "/spec/strategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}),
            ),
            ("/spec/revisionHistoryLimit", json!(10)),
            ("/spec/progressDeadlineSeconds", json!(600)),
            (
                "/spec/template/spec/containers/0/imagePullPolicy",
                json!("IfNotPresent"),
            ),
            // Only pods get it, so that templates did not change when the field came.
            ("/spec/template/spec/enableServiceLinks", json!(null)),
        ],
    );
    check(
        "apps/v1/Deployment",
        json!({"spec": {"replicas": 0, "strategy": {"type": "Recreate"}}}),
        &[
            ("/spec/replicas", json!(0)),
            ("/spec/strategy", json!({"type": "Recreate"})),
        ],
    );
    check(
        "apps/v1/DaemonSet",
        json!({}),
        &[(
            "/spec/updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}),
        )],
    );
    check(
        "apps/v1/StatefulSet",
        json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]}}),
        &[
            ("/spec/podManagementPolicy", json!("OrderedReady")),
            ("/spec/updateStrategy/rollingUpdate/partition", json!(0)),
            (
                "/spec/persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            ),
            (
                "/spec/volumeClaimTemplates/0",
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d"},
                       "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}),
            ),
        ],
    );
    check(
        "apps/v1/StatefulSet",
        json!({"spec": {"updateStrategy": {"type": "RollingUpdate"}}}),
        &[("/spec/updateStrategy", json!({"type": "RollingUpdate"}))],
    );
    check("apps/v1/ReplicaSet", json!({}), &[("/spec/replicas", json!(1))]);
    check(
        "v1/ReplicationController",
        json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
        &[
            ("/spec/selector", json!({"a": "b"})),
            ("/metadata/labels", json!({"a": "b"})),
            ("/spec/replicas", json!(1)),
        ],
    );
}

#[test]
fn daemon_sets_show_how_often_their_template_changed() {
    const PLACE: &str = "/metadata/annotations/deprecated.daemonset.template.generation";
    let with = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    check("apps/v1/DaemonSet", json!({}), &[(PLACE, json!("0"))]);
    let known = with(json!({"deprecated.daemonset.template.generation": "4"}));
    check("apps/v1/DaemonSet", known, &[(PLACE, json!("4"))]);
}

#[test]
fn one_field_under_two_names_and_times_below_zero() {
    let node = |spec: Value| json!({"spec": spec});
    let both = |range: &str, ranges: Value| [("/spec/podCIDR", json!(range)), ("/spec/podCIDRs", ranges)];
    let (a, b) = ("10.0.0.0/24", "10.0.1.0/24");
    check("v1/Node", node(json!({"podCIDR": a})), &both(a, json!([a])));
    check(
        "v1/Node",
        node(json!({"podCIDRs": [a, "fd00::/64"]})),
        &both(a, json!([a, "fd00::/64"])),
    );
    check(
        "v1/Node",
        node(json!({"podCIDR": b, "podCIDRs": [a]})),
        &both(b, json!([b])),
    );
    check("v1/Node", node(json!({})), &[("/spec/podCIDRs", json!(null))]);

    let pod = json!({"spec": {"terminationGracePeriodSeconds": -5}});
    check(
        "v1/Pod",
        pod,
        &[("/spec/terminationGracePeriodSeconds", json!(1))],
    );

    const SHARE: &str = "/spec/targetCPUUtilizationPercentage";
    let scaler = |metrics: &str, spec: Value| json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": metrics}}, "spec": spec});
    let to = "autoscaling/v1/HorizontalPodAutoscaler";
    check(to, json!({"spec": {}}), &[(SHARE, json!(80))]);
    check(to, scaler("[]", json!({})), &[(SHARE, json!(80))]);
    check(to, scaler("[{}]", json!({})), &[(SHARE, json!(null))]);
    check(
        to,
        scaler("[{}]", json!({"targetCPUUtilizationPercentage": 5})),
        &[(SHARE, json!(5))],
    );
}

#[test]
fn jobs() {
    let job = |spec: Value| json!({"spec": spec});
    check(
        "batch/v1/Job",
        job(json!({"template": {"metadata": {"labels": {"a": "b"}}}})),
        &[
            ("/spec/completions", json!(1)),
            ("/spec/parallelism", json!(1)),
            ("/spec/backoffLimit", json!(6)),
            ("/spec/completionMode", json!("NonIndexed")),
            ("/spec/suspend", json!(false)),
            ("/spec/manualSelector", json!(false)),
            ("/spec/podReplacementPolicy", json!("TerminatingOrFailed")),
            ("/metadata/labels", json!({"a": "b"})),
        ],
    );
    // A work queue: parallelism alone leaves completions open.
    check(
        "batch/v1/Job",
        job(json!({"parallelism": 2})),
        &[("/spec/completions", json!(null))],
    );
    check(
        "batch/v1/Job",
        job(json!({"completions": 2})),
        &[("/spec/parallelism", json!(1))],
    );
    check(
        "batch/v1/Job",
        job(json!({"backoffLimitPerIndex": 1})),
        &[("/spec/backoffLimit", json!(i32::MAX))],
    );
    check(
        "batch/v1/Job",
        job(json!({"podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "T"}]}]}})),
        &[
            ("/spec/podReplacementPolicy", json!("Failed")),
            (
                "/spec/podFailurePolicy/rules/0/onPodConditions/0/status",
                json!("True"),
            ),
        ],
    );
    check(
        "batch/v1/CronJob",
        json!({"spec": {"schedule": "* * * * *"}}),
        &[
            ("/spec/concurrencyPolicy", json!("Allow")),
            ("/spec/successfulJobsHistoryLimit", json!(3)),
            ("/spec/failedJobsHistoryLimit", json!(1)),
            (
                "/spec/jobTemplate/spec/template/spec/dnsPolicy",
                json!("ClusterFirst"),
            ),
            ("/spec/jobTemplate/spec/backoffLimit", json!(null)),
        ],
    );
}

#[test]
fn services() {
    let service = |spec: Value| json!({"spec": spec});
    check(
        "v1/Service",
        service(json!({"ports": [{"port": 80}], "sessionAffinityConfig": {"clientIP": {}}})),
        &[
            ("/spec/type", json!("ClusterIP")),
            ("/spec/sessionAffinity", json!("None")),
            ("/spec/sessionAffinityConfig", json!(null)),
            ("/spec/internalTrafficPolicy", json!("Cluster")),
            ("/spec/externalTrafficPolicy", json!(null)),
            (
                "/spec/ports/0",
                json!({"port": 80, "targetPort": 80, "protocol": "TCP"}),
            ),
        ],
    );
    check(
        "v1/Service",
        service(json!({"sessionAffinity": "ClientIP"})),
        &[(
            "/spec/sessionAffinityConfig/clientIP/timeoutSeconds",
            json!(10_800),
        )],
    );
    check(
        "v1/Service",
        service(json!({"type": "LoadBalancer"})),
        &[
            ("/spec/externalTrafficPolicy", json!("Cluster")),
            ("/spec/allocateLoadBalancerNodePorts", json!(true)),
        ],
    );
    check(
        "v1/Service",
        service(json!({"type": "ExternalName"})),
        &[
            ("/spec/internalTrafficPolicy", json!(null)),
            ("/spec/externalTrafficPolicy", json!(null)),
        ],
    );
    check(
        "v1/Service",
        service(json!({"externalIPs": ["1.2.3.4"]})),
        &[("/spec/externalTrafficPolicy", json!("Cluster"))],
    );
}

#[test]
fn other_core_kinds() {
    check("v1/Secret", json!({}), &[("/type", json!("Opaque"))]);
    check("v1/Secret", json!({"type": "x/y"}), &[("/type", json!("x/y"))]);
    check(
        "v1/Secret",
        json!({"data": {"a": "MQ==", "b": "MQ=="}, "stringData": {"b": "2", "c": ""}}),
        &[
            ("/data", json!({"a": "MQ==", "b": "Mg==", "c": ""})),
            ("/stringData", json!(null)),
        ],
    );
    check(
        "v1/Namespace",
        json!({"metadata": {"name": "n"}}),
        &[
            ("/metadata/labels", json!({"kubernetes.io/metadata.name": "n"})),
            ("/status/phase", json!("Active")),
        ],
    );
    check(
        "v1/Namespace",
        json!({"metadata": {"generateName": "n-"}}),
        &[("/metadata/labels", json!(null))],
    );
    check(
        "v1/Node",
        json!({"status": {"capacity": {"cpu": "4"}}}),
        &[("/status/allocatable", json!({"cpu": "4"}))],
    );
    check(
        "v1/PersistentVolume",
        json!({"spec": {"iscsi": {}}}),
        &[
            ("/spec/persistentVolumeReclaimPolicy", json!("Retain")),
            ("/spec/volumeMode", json!("Filesystem")),
            ("/spec/iscsi/iscsiInterface", json!("default")),
            ("/status/phase", json!("Pending")),
        ],
    );
    check(
        "v1/Endpoints",
        json!({"subsets": [{"ports": [{"port": 1}]}]}),
        &[("/subsets/0/ports/0/protocol", json!("TCP"))],
    );
    check(
        "v1/LimitRange",
        json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}}),
        &[
            ("/spec/limits/0/default", json!({"cpu": "2"})),
            (
                "/spec/limits/0/defaultRequest",
                json!({"cpu": "2", "memory": "1Mi"}),
            ),
        ],
    );
    check(
        "v1/LimitRange",
        json!({"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}),
        &[("/spec/limits/0/default", json!(null))],
    );
}

#[test]
fn other_groups() {
    check(
        "autoscaling/v2/HorizontalPodAutoscaler",
        json!({"spec": {"behavior": {"scaleDown": {"selectPolicy": "Min"}}}}),
        &[
            ("/spec/minReplicas", json!(1)),
            ("/spec/metrics/0/resource/target/averageUtilization", json!(80)),
            ("/spec/behavior/scaleUp/stabilizationWindowSeconds", json!(0)),
            ("/spec/behavior/scaleUp/policies/0/value", json!(4)),
            ("/spec/behavior/scaleDown/selectPolicy", json!("Min")),
            ("/spec/behavior/scaleDown/stabilizationWindowSeconds", json!(null)),
        ],
    );
    check(
        "networking.k8s.io/v1/NetworkPolicy",
        json!({"spec": {"egress": [{"ports": [{"port": 1}]}]}}),
        &[
            ("/spec/policyTypes", json!(["Ingress", "Egress"])),
            ("/spec/egress/0/ports/0/protocol", json!("TCP")),
        ],
    );
    check(
        "networking.k8s.io/v1/IngressClass",
        json!({"spec": {"parameters": {}}}),
        &[("/spec/parameters/scope", json!("Cluster"))],
    );
    check(
        "storage.k8s.io/v1/StorageClass",
        json!({}),
        &[
            ("/reclaimPolicy", json!("Delete")),
            ("/volumeBindingMode", json!("Immediate")),
        ],
    );
    check(
        "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
        json!({"roleRef": {"kind": "ClusterRole"}, "subjects": [{"kind": "User"}, {"kind": "ServiceAccount"}]}),
        &[
            ("/roleRef/apiGroup", json!("rbac.authorization.k8s.io")),
            ("/subjects/0/apiGroup", json!("rbac.authorization.k8s.io")),
            ("/subjects/1/apiGroup", json!(null)),
        ],
    );
    check(
        "scheduling.k8s.io/v1/PriorityClass",
        json!({}),
        &[("/preemptionPolicy", json!("PreemptLowerPriority"))],
    );
    check(
        "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration",
        json!({"webhooks": [{"rules": [{}], "clientConfig": {"service": {"name": "s"}}}]}),
        &[(
            "/webhooks/0",
            json!({"rules": [{"scope": "*"}], "clientConfig": {"service": {"name": "s", "port": 443}},
                   "failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {},
                   "objectSelector": {}, "timeoutSeconds": 10, "reinvocationPolicy": "Never"}),
        )],
    );
    check(
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
        json!({"spec": {"names": {"kind": "Foo"}, "versions": [{"name": "v1", "storage": true}]}}),
        &[
            (
                "/spec/names",
                json!({"kind": "Foo", "singular": "foo", "listKind": "FooList"}),
            ),
            ("/spec/conversion/strategy", json!("None")),
            ("/status/storedVersions", json!(["v1"])),
        ],
    );
    check(
        "flowcontrol.apiserver.k8s.io/v1/FlowSchema",
        json!({}),
        &[("/spec/matchingPrecedence", json!(1000))],
    );
    check(
        "resource.k8s.io/v1/ResourceClaim",
        json!({"spec": {"devices": {"requests": [{"exactly": {}}, {"firstAvailable": [{"allocationMode": "All"}]}]}}}),
        &[
            (
                "/spec/devices/requests/0/exactly",
                json!({"allocationMode": "ExactCount", "count": 1}),
            ),
            ("/spec/devices/requests/1/firstAvailable/0/count", json!(null)),
        ],
    );
    check(
        "example.com/v1/Unknown",
        json!({"spec": {}}),
        &[("/spec", json!({}))],
    );
}

/// Objects out of the field names that the rules look at, with any value in any place.
pub(crate) fn arbitrary_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!(0)),
        "[a-zA-Z0-9:/@.-]{0,6}".prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "spec",
        "template",
        "metadata",
        "labels",
        "name",
        "containers",
        "volumes",
        "ports",
        "resources",
        "limits",
        "requests",
        "strategy",
        "type",
        "rollingUpdate",
        "status",
        "webhooks",
        "rules",
        "names",
        "versions",
        "subjects",
        "devices",
        "behavior",
        "scaleUp",
        "metrics",
        "jobTemplate",
        "hostNetwork",
        "image",
        "data",
        "selector",
        "matchLabels",
        "conversion",
        "service",
        "clientConfig",
        "clusterIP",
        "clusterIPs",
        "finalizers",
        "ownerReferences",
        "annotations",
        "stringData",
        "subsets",
        "kind",
        "sessionAffinity",
        "loadBalancer",
        "port",
    ]);
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone(), inner, 0..6).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// Every kind that has rules, as `group/version/Kind`.
pub(crate) const KINDS: &[&str] = &[
    "v1/Pod",
    "v1/PodTemplate",
    "v1/ReplicationController",
    "v1/Service",
    "v1/Secret",
    "v1/Namespace",
    "v1/Node",
    "v1/PersistentVolume",
    "v1/PersistentVolumeClaim",
    "v1/Endpoints",
    "v1/LimitRange",
    "apps/v1/Deployment",
    "apps/v1/ReplicaSet",
    "apps/v1/DaemonSet",
    "apps/v1/StatefulSet",
    "batch/v1/Job",
    "batch/v1/CronJob",
    "autoscaling/v1/HorizontalPodAutoscaler",
    "autoscaling/v2/HorizontalPodAutoscaler",
    "networking.k8s.io/v1/NetworkPolicy",
    "networking.k8s.io/v1/IngressClass",
    "discovery.k8s.io/v1/EndpointSlice",
    "storage.k8s.io/v1/StorageClass",
    "storage.k8s.io/v1/CSIDriver",
    "rbac.authorization.k8s.io/v1/RoleBinding",
    "scheduling.k8s.io/v1/PriorityClass",
    "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding",
    "apiextensions.k8s.io/v1/CustomResourceDefinition",
    "apiregistration.k8s.io/v1/APIService",
    "flowcontrol.apiserver.k8s.io/v1/FlowSchema",
    "flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration",
    "resource.k8s.io/v1beta1/ResourceClaim",
    "resource.k8s.io/v1/ResourceClaimTemplate",
];

proptest! {
    #[test]
    fn any_object_is_survived_and_a_second_run_changes_nothing(object in arbitrary_object()) {
        for gvk in KINDS {
            let (group, version, kind) = split(gvk);
            let mut once = object.clone();
            apply(group, version, kind, &mut once);
            let mut twice = once.clone();
            apply(group, version, kind, &mut twice);
            prop_assert_eq!(&once, &twice, "{}", gvk);
        }
    }
}
