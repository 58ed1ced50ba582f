//! Nodes, storage, scaling and the server's own kinds: one object or more of each, and the cells it prints.

use serde_json::{Value, json};

use super::kinds::check;
use super::{ago, cells};
use crate::table::Printer;

#[test]
fn nodes() {
    let check = |labels: Value, spec: Value, status: Value, expect: [&str; 2]| {
        let object = json!({"metadata": {"name": "n", "labels": labels}, "spec": spec, "status": status});
        let printed = cells("", "v1", "Node", &object);
        assert_eq!(
            printed.as_array().unwrap()[1..3],
            expect.map(Value::from),
            "{object}"
        );
    };
    let ready = |status: &str| json!({"conditions": [{"type": "Other", "status": "True"}, {"type": "Ready", "status": status}]});
    check(json!({}), json!({}), ready("True"), ["Ready", "<none>"]);
    check(json!({}), json!({}), ready("False"), ["NotReady", "<none>"]);
    check(json!({}), json!({}), ready("Unknown"), ["NotReady", "<none>"]);
    check(
        json!({}),
        json!({"unschedulable": true}),
        json!({}),
        ["Unknown,SchedulingDisabled", "<none>"],
    );
    check(
        json!({"kubernetes.io/role": "c", "node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": "x", "node-role.kubernetes.io/": ""}),
        json!({"unschedulable": true}),
        ready("True"),
        ["Ready,SchedulingDisabled", "a,b,c"],
    );
    let status = json!({
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.37.0", "osImage": "os", "kernelVersion": "6", "containerRuntimeVersion": "c://2"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "fd00::1"},
                      {"type": "ExternalIP", "address": "1.1.1.1"}],
    });
    super::kinds::check(
        "v1",
        "Node",
        json!({ "status": status }),
        json!([
            "Ready", "<none>", "AGE", "v1.37.0", "10.0.0.1", "1.1.1.1", "os", "6", "c://2"
        ]),
    );
    super::kinds::check(
        "v1",
        "Node",
        json!({}),
        json!([
            "Unknown",
            "<none>",
            "AGE",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>"
        ]),
    );
}

#[test]
fn components_classes_and_leases() {
    let component = |status: &str| json!({"conditions": [{"type": "Healthy", "status": status, "message": "m", "error": "e"}]});
    check(
        "v1",
        "ComponentStatus",
        component("True"),
        json!(["Healthy", "m", "e"]),
    );
    check(
        "v1",
        "ComponentStatus",
        component("False"),
        json!(["Unhealthy", "m", "e"]),
    );
    check("v1", "ComponentStatus", json!({}), json!(["Unknown", "", ""]));
    check(
        "node.k8s.io/v1",
        "RuntimeClass",
        json!({"handler": "h"}),
        json!(["h", "AGE"]),
    );
    let class = json!({"value": 7, "globalDefault": true, "preemptionPolicy": "Never"});
    check(
        "scheduling.k8s.io/v1",
        "PriorityClass",
        class,
        json!([7, true, "AGE", "Never"]),
    );
    check(
        "coordination.k8s.io/v1",
        "Lease",
        json!({"spec": {"holderIdentity": "me"}}),
        json!(["me", "AGE"]),
    );
    let candidate =
        json!({"spec": {"leaseName": "l", "binaryVersion": "1.2.3", "emulationVersion": "1.2.0"}});
    check(
        "coordination.k8s.io/v1beta1",
        "LeaseCandidate",
        candidate,
        json!(["l", "1.2.3", "1.2.0", "AGE"]),
    );
}

#[test]
fn devices() {
    for kind in ["DeviceClass", "ResourceClaimTemplate"] {
        check("resource.k8s.io/v1", kind, json!({}), json!(["AGE"]));
    }
    let taint =
        json!({"spec": {"taint": {"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": ago(60)}}});
    check(
        "resource.k8s.io/v1",
        "DeviceTaintRule",
        taint,
        json!(["k", "v", "NoSchedule", "60s", "AGE"]),
    );
    check(
        "resource.k8s.io/v1",
        "DeviceTaintRule",
        json!({}),
        json!(["", "", "", "", "AGE"]),
    );
    let slice = json!({"spec": {"nodeName": "node", "driver": "d", "pool": {"name": "p"}}});
    check(
        "resource.k8s.io/v1",
        "ResourceSlice",
        slice,
        json!(["node", "d", "p", "AGE"]),
    );
    let deleted = json!({"deletionTimestamp": ago(1)});
    for (metadata, status, expect) in [
        (json!({}), json!({}), "pending"),
        (json!({}), json!({"allocation": {}}), "allocated"),
        (
            json!({}),
            json!({"allocation": {}, "reservedFor": [{}]}),
            "allocated,reserved",
        ),
        (deleted.clone(), json!({}), "deleted"),
        (
            deleted,
            json!({"allocation": {}, "reservedFor": [{}]}),
            "deleted,allocated,reserved",
        ),
    ] {
        let claim = json!({"metadata": metadata, "status": status});
        check(
            "resource.k8s.io/v1",
            "ResourceClaim",
            claim,
            json!([expect, "AGE"]),
        );
    }
}

#[test]
fn events() {
    let core = json!({
        "involvedObject": {"kind": "Deployment", "name": "d", "fieldPath": "spec.containers{c}"},
        "source": {"component": "kubelet", "host": "node"},
        "type": "Warning", "reason": "Broken", "message": "\thello \n",
        "firstTimestamp": ago(1800), "lastTimestamp": ago(300), "count": 6,
    });
    let expect = json!([
        "5m",
        "Warning",
        "Broken",
        "deployment/d",
        "spec.containers{c}",
        "kubelet, node",
        "hello",
        "30m",
        6
    ]);
    check("v1", "Event", core, expect.clone());
    let new = json!({
        "regarding": {"kind": "Deployment", "name": "d", "fieldPath": "spec.containers{c}"},
        "deprecatedSource": {"component": "kubelet", "host": "node"},
        "type": "Warning", "reason": "Broken", "note": "hello",
        "deprecatedFirstTimestamp": ago(1800), "deprecatedLastTimestamp": ago(300), "deprecatedCount": 6,
    });
    check("events.k8s.io/v1", "Event", new, expect);
    // One event of the newer kind, then a series of it.
    let single = json!({
        "involvedObject": {"kind": "Pod"}, "reportingComponent": "me", "reportingInstance": "me-1", "eventTime": ago(600),
        "firstTimestamp": null, "lastTimestamp": null,
    });
    check(
        "v1",
        "Event",
        single.clone(),
        json!(["10m", "", "", "pod", "", "me, me-1", "", "10m", 1]),
    );
    let mut series = single;
    series["series"] = json!({"count": 4, "lastObservedTime": ago(120)});
    check(
        "v1",
        "Event",
        series,
        json!(["2m", "", "", "pod", "", "me, me-1", "", "10m", 4]),
    );
    check(
        "v1",
        "Event",
        json!({}),
        json!(["<unknown>", "", "", "", "", "", "", "<unknown>", 1]),
    );
}

#[test]
fn volumes() {
    let volume = json!({
        "spec": {
            "capacity": {"storage": "4096Mi"}, "persistentVolumeReclaimPolicy": "Retain",
            "accessModes": ["ReadWriteMany", "ReadOnlyMany", "ReadWriteMany"],
            "claimRef": {"namespace": "ns", "name": "c"}, "storageClassName": "fast", "volumeMode": "Block",
            "volumeAttributesClassName": "gold",
        },
        "status": {"phase": "Bound", "reason": "r"},
    });
    let expect = json!([
        "4Gi", "ROX,RWX", "Retain", "Bound", "ns/c", "fast", "gold", "r", "AGE", "Block"
    ]);
    check("v1", "PersistentVolume", volume, expect);
    let old = json!({
        "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}, "deletionTimestamp": ago(1)},
        "spec": {"storageClassName": "fast"},
    });
    let expect = json!([
        "0",
        "",
        "",
        "Terminating",
        "",
        "old",
        "<unset>",
        "",
        "AGE",
        "<unset>"
    ]);
    check("v1", "PersistentVolume", old, expect);

    let claim = |volume: &str| {
        json!({
            "spec": {"volumeName": volume, "storageClassName": "fast", "volumeMode": "Filesystem"},
            "status": {"phase": "Bound", "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"], "capacity": {"storage": "8Gi"}},
        })
    };
    let expect = json!([
        "Bound",
        "v",
        "8Gi",
        "RWO,RWOP",
        "fast",
        "<unset>",
        "AGE",
        "Filesystem"
    ]);
    check("v1", "PersistentVolumeClaim", claim("v"), expect);
    let expect = json!(["Bound", "", "", "", "fast", "<unset>", "AGE", "Filesystem"]);
    check("v1", "PersistentVolumeClaim", claim(""), expect);
}

#[test]
fn storage_classes_and_drivers() {
    let class = json!({"provisioner": "p"});
    check(
        "storage.k8s.io/v1",
        "StorageClass",
        class,
        json!(["p", "Delete", "Immediate", false, "AGE"]),
    );
    let class = json!({
        "provisioner": "p", "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": true,
    });
    check(
        "storage.k8s.io/v1",
        "StorageClass",
        class,
        json!(["p", "Retain", "WaitForFirstConsumer", true, "AGE"]),
    );
    for (kind, key) in [
        ("StorageClass", "storageclass.kubernetes.io/is-default-class"),
        ("StorageClass", "storageclass.beta.kubernetes.io/is-default-class"),
        (
            "VolumeAttributesClass",
            "volumeattributesclass.alpha.kubernetes.io/is-default-class",
        ),
    ] {
        let name = |value: &str| {
            let object = json!({"metadata": {"name": "n", "annotations": {key: value}}});
            cells("storage.k8s.io", "v1", kind, &object)[0].clone()
        };
        assert_eq!(name("true"), "n (default)");
        assert_eq!(name("false"), "n");
    }
    let class = json!({"driverName": "d"});
    check(
        "storage.k8s.io/v1",
        "VolumeAttributesClass",
        class,
        json!(["d", "AGE"]),
    );
    let attachment = json!({
        "spec": {"attacher": "a", "source": {"persistentVolumeName": "pv"}, "nodeName": "node"},
        "status": {"attached": true},
    });
    check(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        attachment,
        json!(["a", "pv", "node", true, "AGE"]),
    );
    check(
        "storage.k8s.io/v1",
        "CSINode",
        json!({"spec": {"drivers": [{}, {}]}}),
        json!([2, "AGE"]),
    );
    let expect = json!([true, false, false, "<unset>", false, "<none>", "AGE"]);
    check("storage.k8s.io/v1", "CSIDriver", json!({"spec": {}}), expect);
    let driver = json!({"spec": {
        "attachRequired": false, "podInfoOnMount": true, "storageCapacity": true, "requiresRepublish": true,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}], "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }});
    let expect = json!([false, true, true, "a,b", true, "Persistent,Ephemeral", "AGE"]);
    check("storage.k8s.io/v1", "CSIDriver", driver, expect);
}

#[test]
fn autoscalers() {
    let check = |metrics: Value, current: Value, expect: &str| {
        let object = json!({
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 2, "maxReplicas": 10, "metrics": metrics},
            "status": {"currentReplicas": 4, "currentMetrics": current},
        });
        super::kinds::check(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            object,
            json!(["Deployment/d", expect, "2", 10, 4, "AGE"]),
        );
    };
    let external = |field: &str, target: Value| json!({"type": "External", "external": {field: target}});
    let pods = |field: &str, value: &str| json!({"type": "Pods", "pods": {field: {"averageValue": value}}});
    let object = |field: &str, target: Value| json!({"type": "Object", "object": {field: target}});
    let resource =
        |field: &str, target: Value| json!({"type": "Resource", "resource": {"name": "cpu", field: target}});
    let container = |field: &str, target: Value| json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", field: target}});
    let average = || json!({"averageValue": "100m"});
    let share = |percent: i64| json!({"averageUtilization": percent});
    check(json!([]), json!([]), "<none>");
    check(json!([{"type": "New"}]), json!([]), "<unknown type>");
    check(
        json!([external("target", average())]),
        json!([]),
        "<unknown>/100m (avg)",
    );
    check(
        json!([external("target", average())]),
        json!([external("current", json!({"averageValue": "50m"}))]),
        "50m/100m (avg)",
    );
    check(
        json!([external("target", json!({"value": "10"}))]),
        json!([]),
        "<unknown>/10",
    );
    check(
        json!([external("target", json!({"value": "10"}))]),
        json!([external("current", json!({"value": "5"}))]),
        "5/10",
    );
    check(json!([pods("target", "100m")]), json!([]), "<unknown>/100m");
    check(
        json!([pods("target", "100m")]),
        json!([pods("current", "50m")]),
        "50m/100m",
    );
    check(
        json!([object("target", json!({"value": "100"}))]),
        json!([object("current", json!({"value": "50"}))]),
        "50/100",
    );
    check(
        json!([object("target", average())]),
        json!([object("current", json!({}))]),
        "<unknown>/100m (avg)",
    );
    check(
        json!([external("target", json!({}))]),
        json!([external("current", json!({}))]),
        "<nil>/<nil>",
    );
    check(
        json!([resource("target", average())]),
        json!([]),
        "cpu: <unknown>/100m",
    );
    check(
        json!([resource("target", average())]),
        json!([resource("current", average())]),
        "cpu: 100m/100m",
    );
    check(
        json!([resource("target", share(80))]),
        json!([resource("current", share(50))]),
        "cpu: 50%/80%",
    );
    check(
        json!([resource("target", share(80))]),
        json!([]),
        "cpu: <unknown>/80%",
    );
    check(
        json!([resource("target", json!({}))]),
        json!([]),
        "cpu: <unknown>/<auto>",
    );
    check(
        json!([container("target", share(80))]),
        json!([container("current", share(50))]),
        "cpu: 50%/80%",
    );
    check(
        json!([
            pods("target", "1"),
            pods("target", "2"),
            pods("target", "3"),
            pods("target", "4")
        ]),
        json!([pods("current", "1"), resource("current", share(1))]),
        "1/1, <unknown>/2 + 2 more...",
    );
    super::kinds::check(
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        json!({
            "apiVersion": "autoscaling/v1",
            "kind": "HorizontalPodAutoscaler",
            "spec": {"scaleTargetRef": {"kind": "K", "name": "t"}, "maxReplicas": 5, "targetCPUUtilizationPercentage": 80},
            "status": {"currentCPUUtilizationPercentage": 50},
        }),
        json!(["K/t", "cpu: 50%/80%", "<unset>", 5, 0, "AGE"]),
    );
    // What the first version cannot say is in annotations.
    let metrics =
        json!([{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 60}}]);
    super::kinds::check(
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        json!({
            "apiVersion": "autoscaling/v1",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": metrics.to_string()}},
            "spec": {"scaleTargetRef": {"kind": "K", "name": "t"}, "maxReplicas": 5},
        }),
        json!(["K/t", "memory: <unknown>/60%", "<unset>", 5, 0, "AGE"]),
    );
    let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 2}});
    super::kinds::check("autoscaling/v1", "Scale", scale, json!([3, 2, "AGE"]));
}

#[test]
fn certificates() {
    let check = |conditions: &[&str], certificate: &str, expect: &str| {
        let conditions: Vec<_> = conditions.iter().map(|type_| json!({"type": type_})).collect();
        let object = json!({
            "spec": {"signerName": "s", "username": "u", "expirationSeconds": 3600},
            "status": {"conditions": conditions, "certificate": certificate},
        });
        super::kinds::check(
            "certificates.k8s.io/v1",
            "CertificateSigningRequest",
            object,
            json!(["AGE", "s", "u", "60m", expect]),
        );
    };
    check(&[], "", "Pending");
    check(&["Approved"], "", "Approved");
    check(&["Approved"], "Zm9v", "Approved,Issued");
    check(&["Approved", "Denied"], "", "Denied");
    check(&["Approved", "Failed"], "", "Approved,Failed");
    check(&["Failed"], "Zm9v", "Pending,Failed,Issued");
    let check = super::kinds::check;
    check(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        json!({}),
        json!(["AGE", "<none>", "", "<none>", "Pending"]),
    );
    check(
        "certificates.k8s.io/v1",
        "ClusterTrustBundle",
        json!({"spec": {"signerName": "s"}}),
        json!(["s"]),
    );
    check(
        "certificates.k8s.io/v1",
        "ClusterTrustBundle",
        json!({}),
        json!(["<none>"]),
    );
    let request = |conditions: Value| {
        let spec = json!({"podName": "p", "serviceAccountName": "sa", "nodeName": "node", "signerName": "s", "unverifiedUserAnnotations": {"a": "b"}});
        json!({"spec": spec, "status": {"conditions": conditions}})
    };
    let cells = |state: &str| json!(["p", "sa", "node", "s", state, "a=b"]);
    check(
        "certificates.k8s.io/v1",
        "PodCertificateRequest",
        request(json!([])),
        cells("Pending"),
    );
    check(
        "certificates.k8s.io/v1",
        "PodCertificateRequest",
        request(json!([{"type": "Issued"}])),
        cells("Issued"),
    );
}

#[test]
fn admission() {
    const API: &str = "admissionregistration.k8s.io/v1";
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        check(API, kind, json!({"webhooks": [{}, {}]}), json!([2, "AGE"]));
    }
    let policy = json!({"spec": {"validations": [{}], "mutations": [{}, {}], "paramKind": {"apiVersion": "g/v1", "kind": "K"}}});
    check(
        API,
        "ValidatingAdmissionPolicy",
        policy.clone(),
        json!([1, "g/v1/K", "AGE"]),
    );
    check(
        API,
        "MutatingAdmissionPolicy",
        policy,
        json!([2, "g/v1/K", "AGE"]),
    );
    check(
        API,
        "ValidatingAdmissionPolicy",
        json!({}),
        json!([0, "<unset>", "AGE"]),
    );
    for (params, expect) in [
        (json!(null), "<unset>"),
        (json!({}), "<unset>"),
        (json!({"name": "p"}), "*/p"),
        (json!({"name": "p", "namespace": "ns"}), "ns/p"),
        (
            json!({"selector": {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}}),
            "&LabelSelector{MatchLabels:map[string]string{a: 1,},MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}",
        ),
    ] {
        for kind in [
            "ValidatingAdmissionPolicyBinding",
            "MutatingAdmissionPolicyBinding",
        ] {
            let binding = json!({"spec": {"policyName": "policy", "paramRef": params}});
            check(API, kind, binding, json!(["policy", expect, "AGE"]));
        }
    }
}

#[test]
fn flow_control() {
    const API: &str = "flowcontrol.apiserver.k8s.io/v1";
    let schema = json!({
        "spec": {"priorityLevelConfiguration": {"name": "pl"}, "matchingPrecedence": 9, "distinguisherMethod": {"type": "ByUser"}},
        "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
    });
    check(
        API,
        "FlowSchema",
        schema,
        json!(["pl", 9, "ByUser", "AGE", "False"]),
    );
    check(API, "FlowSchema", json!({}), json!(["", 0, "<none>", "AGE", "?"]));
    let schema = |name: &str, precedence: i64| json!({"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}});
    let schemas = [schema("c", 9), schema("b", 9), schema("a", 10), schema("d", 1)];
    let mut sorted: Vec<_> = schemas.iter().collect();
    Printer::for_builtin("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema").sort(&mut sorted);
    let names: Vec<_> = sorted
        .iter()
        .map(|schema| schema["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["d", "b", "c", "a"]);
    let mut kept: Vec<_> = schemas.iter().collect();
    Printer::for_builtin("", "v1", "Pod").sort(&mut kept);
    assert_eq!(kept, schemas.iter().collect::<Vec<_>>());
    let level = |limited: Value| json!({"spec": {"type": "Limited", "limited": limited}});
    let queuing = json!({"queues": 64, "handSize": 6, "queueLengthLimit": 50});
    check(
        API,
        "PriorityLevelConfiguration",
        level(json!({"nominalConcurrencyShares": 30, "limitResponse": {"queuing": queuing}})),
        json!(["Limited", 30, 64, 6, 50, "AGE"]),
    );
    check(
        API,
        "PriorityLevelConfiguration",
        level(json!({"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}})),
        json!(["Limited", 0, "<none>", "<none>", "<none>", "AGE"]),
    );
    check(
        API,
        "PriorityLevelConfiguration",
        json!({}),
        json!(["", "<none>", "<none>", "<none>", "<none>", "AGE"]),
    );
}

#[test]
fn the_server_itself() {
    let servers: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|id| json!({"apiServerID": id, "encodingVersion": "v1"}))
        .collect();
    check(
        "internal.apiserver.k8s.io/v1alpha1",
        "StorageVersion",
        json!({"status": {"commonEncodingVersion": "v1", "storageVersions": servers}}),
        json!(["v1", "a=v1,b=v1,c=v1 + 1 more...", "AGE"]),
    );
    check(
        "internal.apiserver.k8s.io/v1alpha1",
        "StorageVersion",
        json!({}),
        json!(["<unset>", "<unset>", "AGE"]),
    );
    let migration = json!({"spec": {"resource": {"group": "g", "resource": "r"}}});
    check(
        "storagemigration.k8s.io/v1beta1",
        "StorageVersionMigration",
        migration,
        json!(["r.g", "Unknown"]),
    );
    let migration = json!({"spec": {"resource": {"group": "", "resource": "secrets"}}, "status": {"conditions": [
        {"type": "Running", "status": "False"}, {"type": "Succeeded", "status": "True"},
    ]}});
    check(
        "storagemigration.k8s.io/v1",
        "StorageVersionMigration",
        migration,
        json!(["secrets", "Succeeded"]),
    );
    let service = |condition: Value| json!({"spec": {"service": {"namespace": "ns", "name": "s"}}, "status": {"conditions": [condition]}});
    let available =
        |status: &str, reason: &str| json!({"type": "Available", "status": status, "reason": reason});
    const API: &str = "apiregistration.k8s.io/v1";
    check(
        API,
        "APIService",
        service(available("True", "Passed")),
        json!(["ns/s", "True", "AGE"]),
    );
    check(
        API,
        "APIService",
        service(available("False", "Missing")),
        json!(["ns/s", "False (Missing)", "AGE"]),
    );
    check(
        API,
        "APIService",
        service(available("False", "")),
        json!(["ns/s", "False", "AGE"]),
    );
    check(API, "APIService", json!({}), json!(["Local", "Unknown", "AGE"]));
}

#[test]
fn definitions() {
    let definition = json!({
        "metadata": {"name": "foos.e.com", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "group": "e.com", "scope": "Cluster", "names": {"kind": "Foo", "shortNames": ["f", "fo"]},
            "versions": [
                {"name": "v2", "served": true}, {"name": "v1", "served": true, "storage": true}, {"name": "v0", "served": false},
            ],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    assert_eq!(
        cells(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            &definition
        ),
        json!([
            "foos.e.com",
            "Cluster",
            "v1(storage),v2",
            "2026-01-01T00:00:00Z",
            "e.com",
            "Foo",
            "f,fo",
            true
        ])
    );
    let bare = cells(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        &json!({}),
    );
    assert_eq!(
        (&bare[3], &bare[7]),
        (&json!("0001-01-01T00:00:00Z"), &json!(false))
    );
}
