//! Every built-in kind but pods: one object or more, and the cells it prints.

use serde_json::{Value, json};

use super::{ago, cells};
use crate::table::Printer;

/// Checks the cells of an object named `n`, created a minute ago. `expect` leaves the name out, and has `AGE` for the age.
fn check(api: &str, kind: &str, mut object: Value, expect: Value) {
    let (group, version) = api.split_once('/').unwrap_or(("", api));
    object["metadata"]["name"] = "n".into();
    object["metadata"]["creationTimestamp"] = ago(60);
    let mut printed = cells(group, version, kind, &object);
    let printed = printed.as_array_mut().unwrap();
    let at = if kind == "Event" { printed.len() - 1 } else { 0 };
    assert_eq!(printed.remove(at), "n", "{kind}");
    let expect: Vec<_> = expect
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| if cell == "AGE" { "60s".into() } else { cell.clone() })
        .collect();
    assert_eq!(*printed, expect, "{kind} {object}");
}

fn template() -> Value {
    json!({"metadata": {"labels": {"b": "2", "a": "1"}}, "spec": {
        "containers": [{"name": "c1", "image": "i1"}, {"name": "c2", "image": "i2"}],
        "nodeSelector": {"disk": "ssd"},
    }})
}

fn selector() -> Value {
    json!({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]})
}

#[test]
fn replicated_workloads() {
    let spec = json!({"replicas": 5, "selector": selector(), "template": template()});
    let status = json!({"replicas": 4, "readyReplicas": 3, "updatedReplicas": 2, "availableReplicas": 1});
    let object = json!({"spec": spec, "status": status});
    check(
        "apps/v1",
        "Deployment",
        object.clone(),
        json!(["3/5", 2, 1, "AGE", "c1,c2", "i1,i2", "a=1,b"]),
    );
    check(
        "apps/v1",
        "ReplicaSet",
        object.clone(),
        json!([5, 4, 3, "AGE", "c1,c2", "i1,i2", "a=1,b"]),
    );
    check(
        "apps/v1",
        "StatefulSet",
        object,
        json!(["3/5", "AGE", "c1,c2", "i1,i2"]),
    );
    check(
        "apps/v1",
        "Deployment",
        json!({"spec": {"selector": {}}}),
        json!(["0/0", 0, 0, "AGE", "", "", ""]),
    );
    let invalid = json!({"matchExpressions": [{"key": "a", "operator": "?"}]});
    check(
        "apps/v1",
        "Deployment",
        json!({"spec": {"selector": invalid}}),
        json!(["0/0", 0, 0, "AGE", "", "", "<invalid>"]),
    );
    check(
        "apps/v1",
        "ReplicaSet",
        json!({"spec": {"selector": invalid}}),
        json!([0, 0, 0, "AGE", "", "", "<error>"]),
    );
    check(
        "v1",
        "ReplicationController",
        json!({"spec": {"replicas": 1, "selector": {"a": "1"}}}),
        json!([1, 0, 0, "AGE", "", "", "a=1"]),
    );
    check(
        "apps/v1",
        "DaemonSet",
        json!({"spec": {"selector": selector(), "template": template()}, "status": {
            "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3, "updatedNumberScheduled": 2,
            "numberAvailable": 1,
        }}),
        json!([5, 4, 3, 2, 1, "disk=ssd", "AGE", "c1,c2", "i1,i2", "a=1,b"]),
    );
    check(
        "v1",
        "PodTemplate",
        json!({"template": template()}),
        json!(["c1,c2", "i1,i2", "a=1,b=2"]),
    );
    check("v1", "PodTemplate", json!({}), json!(["", "", "<none>"]));
}

#[test]
fn revisions_name_their_controller() {
    let revision = |owner: Value| json!({"metadata": {"ownerReferences": [owner]}, "revision": 3});
    let owner = |api: &str| json!({"apiVersion": api, "kind": "DaemonSet", "name": "d", "controller": true});
    check(
        "apps/v1",
        "ControllerRevision",
        revision(owner("apps/v1")),
        json!(["daemonset.apps/d", 3, "AGE"]),
    );
    check(
        "apps/v1",
        "ControllerRevision",
        revision(owner("v1")),
        json!(["daemonset/d", 3, "AGE"]),
    );
    check(
        "apps/v1",
        "ControllerRevision",
        revision(json!({"name": "d"})),
        json!(["<none>", 3, "AGE"]),
    );
}

#[test]
fn jobs() {
    let tail = |status: &str, completions: &str, duration: &str| {
        json!([status, completions, duration, "AGE", "", "", "<none>"])
    };
    let check = |spec: Value, status: Value, expect: Value| {
        check("batch/v1", "Job", json!({"spec": spec, "status": status}), expect)
    };
    let condition = |type_: &str, status: &str| json!({"conditions": [{"type": type_, "status": status}]});
    check(
        json!({"completions": 4}),
        json!({"succeeded": 1}),
        tail("Running", "1/4", ""),
    );
    check(json!({}), json!({"succeeded": 1}), tail("Running", "1/1", ""));
    check(json!({"parallelism": 1}), json!({}), tail("Running", "0/1", ""));
    check(
        json!({"parallelism": 20}),
        json!({}),
        tail("Running", "0/1 of 20", ""),
    );
    check(
        json!({}),
        json!({"startTime": ago(40)}),
        tail("Running", "0/1", "40s"),
    );
    check(
        json!({}),
        json!({"startTime": ago(40), "completionTime": ago(10)}),
        tail("Running", "0/1", "30s"),
    );
    check(
        json!({}),
        condition("Complete", "True"),
        tail("Complete", "0/1", ""),
    );
    check(
        json!({}),
        condition("Complete", "False"),
        tail("Running", "0/1", ""),
    );
    check(json!({}), condition("Failed", "True"), tail("Failed", "0/1", ""));
    check(
        json!({}),
        condition("Suspended", "True"),
        tail("Suspended", "0/1", ""),
    );
    check(
        json!({}),
        condition("FailureTarget", "True"),
        tail("FailureTarget", "0/1", ""),
    );
    let deleting =
        json!({"metadata": {"deletionTimestamp": ago(1)}, "status": condition("Suspended", "True")});
    super::kinds::check("batch/v1", "Job", deleting, tail("Terminating", "0/1", ""));
}

#[test]
fn cron_jobs() {
    let spec = json!({
        "schedule": "0 * * * *", "timeZone": "Etc/UTC", "suspend": false,
        "jobTemplate": {"spec": {"selector": selector(), "template": template()}},
    });
    check(
        "batch/v1",
        "CronJob",
        json!({"spec": spec, "status": {"active": [{}, {}], "lastScheduleTime": ago(300)}}),
        json!([
            "0 * * * *",
            "Etc/UTC",
            "False",
            2,
            "5m",
            "AGE",
            "c1,c2",
            "i1,i2",
            "a=1,b"
        ]),
    );
    check(
        "batch/v1",
        "CronJob",
        json!({}),
        json!(["", "<none>", "<unset>", 0, "<none>", "AGE", "", "", "<none>"]),
    );
}

#[test]
fn disruption_budgets() {
    let budget = |spec: Value| json!({"spec": spec, "status": {"disruptionsAllowed": 5}});
    check(
        "policy/v1",
        "PodDisruptionBudget",
        budget(json!({"minAvailable": 22})),
        json!(["22", "N/A", 5, "AGE"]),
    );
    check(
        "policy/v1",
        "PodDisruptionBudget",
        budget(json!({"maxUnavailable": "11%"})),
        json!(["N/A", "11%", 5, "AGE"]),
    );
}

#[test]
fn configuration() {
    check(
        "v1",
        "Namespace",
        json!({"status": {"phase": "Active"}}),
        json!(["Active", "AGE"]),
    );
    let map = json!({"data": {"a": "", "b": ""}, "binaryData": {"c": ""}});
    check("v1", "ConfigMap", map, json!([3, "AGE"]));
    check(
        "v1",
        "Secret",
        json!({"type": "Opaque", "data": {"a": ""}}),
        json!(["Opaque", 1, "AGE"]),
    );
    check(
        "v1",
        "ServiceAccount",
        json!({"secrets": [{}, {}]}),
        json!([2, "AGE"]),
    );
    check(
        "v1",
        "ResourceQuota",
        json!({"status": {
            "hard": {"requests.cpu": "2000m", "limits.cpu": "4", "pods": "10", "limits.memory": "1024Mi"},
            "used": {"requests.cpu": "500m", "limits.cpu": "1"},
        }}),
        json!([
            "pods: 0/10, requests.cpu: 500m/2",
            "limits.cpu: 1/4, limits.memory: 0/1Gi",
            "AGE"
        ]),
    );
    let binding = json!({
        "roleRef": {"kind": "ClusterRole", "name": "admin"},
        "subjects": [
            {"kind": "User", "name": "u1"}, {"kind": "Group", "name": "g"}, {"kind": "User", "name": "u2"},
            {"kind": "ServiceAccount", "namespace": "ns", "name": "sa"},
        ],
    });
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        let expect = json!(["ClusterRole/admin", "AGE", "u1, u2", "g", "ns/sa"]);
        check("rbac.authorization.k8s.io/v1", kind, binding.clone(), expect);
    }
}

#[test]
fn services() {
    let check = |spec: Value, points: Value, expect: Value| {
        let object = json!({"spec": spec, "status": {"loadBalancer": {"ingress": points}}});
        super::kinds::check("v1", "Service", object, expect);
    };
    let ports = json!([
        {"port": 80, "protocol": "TCP"}, {"port": 8090, "protocol": "UDP"},
        {"port": 443, "nodePort": 30443, "protocol": "TCP"},
    ]);
    check(
        json!({"type": "ClusterIP", "clusterIPs": ["1.2.3.4"], "ports": ports, "selector": {"a": "1"}}),
        json!(null),
        json!([
            "ClusterIP",
            "1.2.3.4",
            "<none>",
            "80/TCP,8090/UDP,443:30443/TCP",
            "AGE",
            "a=1"
        ]),
    );
    check(
        json!({"type": "NodePort", "clusterIP": "None", "externalIPs": ["9.9.9.9", "8.8.8.8"]}),
        json!(null),
        json!(["NodePort", "None", "9.9.9.9,8.8.8.8", "<none>", "AGE", "<none>"]),
    );
    check(
        json!({"type": "ExternalName", "externalName": "example.com"}),
        json!(null),
        json!(["ExternalName", "<none>", "example.com", "<none>", "AGE", "<none>"]),
    );
    let balanced =
        |external: Value| json!({"type": "LoadBalancer", "clusterIPs": ["1.2.3.4"], "externalIPs": external});
    for (external, points, expect) in [
        (json!([]), json!([]), "<pending>"),
        (json!(["7.7.7.7"]), json!([]), "7.7.7.7"),
        (
            json!([]),
            json!([{"ip": "3.3.3.3"}, {"ip": "2.2.2.2", "hostname": "h"}, {"ip": "2.2.2.2"}]),
            "2.2.2.2,3.3.3.3",
        ),
        (json!(["7.7.7.7"]), json!([{"hostname": "host"}]), "host,7.7.7.7"),
    ] {
        check(
            balanced(external),
            points,
            json!(["LoadBalancer", "1.2.3.4", expect, "<none>", "AGE", "<none>"]),
        );
    }
    check(
        json!({}),
        json!(null),
        json!(["", "<none>", "<unknown>", "<none>", "AGE", "<none>"]),
    );
}

#[test]
fn endpoints() {
    let addresses = |ips: &[&str]| ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
    for (subsets, expect) in [
        (json!([]), "<none>"),
        (
            json!([{"addresses": addresses(&["1.1.1.1", "2.2.2.2"])}]),
            "1.1.1.1,2.2.2.2",
        ),
        (
            json!([{"addresses": addresses(&["1.1.1.1", "::1"]), "ports": [{"port": 80}]}]),
            "1.1.1.1:80,[::1]:80",
        ),
        (
            json!([{"addresses": addresses(&["1.1.1.1", "2.2.2.2"]), "ports": [{"port": 80}, {"port": 81}]}]),
            "1.1.1.1:80,2.2.2.2:80,1.1.1.1:81 + 1 more...",
        ),
        (
            json!([{"notReadyAddresses": addresses(&["1.1.1.1"]), "ports": [{"port": 80}]}]),
            "",
        ),
    ] {
        check(
            "v1",
            "Endpoints",
            json!({ "subsets": subsets }),
            json!([expect, "AGE"]),
        );
    }
    let slice = |ports: Value, endpoints: Value| json!({"addressType": "IPv4", "ports": ports, "endpoints": endpoints});
    check(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        slice(
            json!([{"name": "http", "port": 80}, {"name": "named"}, {}, {"port": 1}]),
            json!([{"addresses": ["1.1.1.1"]}, {"addresses": ["2.2.2.2", "3.3.3.3", "4.4.4.4", "5.5.5.5"]}]),
        ),
        json!([
            "IPv4",
            "80,named,* + 1 more...",
            "1.1.1.1,2.2.2.2,3.3.3.3 + 2 more...",
            "AGE"
        ]),
    );
    check(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        slice(json!(null), json!([])),
        json!(["IPv4", "<unset>", "<unset>", "AGE"]),
    );
}

#[test]
fn ingresses() {
    let hosts = |names: &[&str]| names.iter().map(|name| json!({"host": name})).collect::<Vec<_>>();
    for (names, expect) in [
        (&[][..], "*"),
        (&[""], "*"),
        (&["a", "b", "c"], "a,b,c"),
        (&["a", "b", "c", "d", "e"], "a,b,c + 2 more..."),
        (&["a", "", "b"], "a,b"),
    ] {
        let object = json!({"spec": {"rules": hosts(names)}});
        check(
            "networking.k8s.io/v1",
            "Ingress",
            object,
            json!(["<none>", expect, "", "80", "AGE"]),
        );
    }
    let object = json!({
        "spec": {"ingressClassName": "external", "rules": hosts(&["a"]), "tls": [{}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "2.3.4.5"}, {"hostname": "localhost.localdomain"}]}},
    });
    let expect = json!(["external", "a", "2.3.4.5,localhost.localdomain", "80, 443", "AGE"]);
    check("networking.k8s.io/v1", "Ingress", object, expect);
    for (parameters, expect) in [
        (json!(null), "<none>"),
        (json!({"kind": "K", "name": "p"}), "K/p"),
        (json!({"apiGroup": "g", "kind": "K", "name": "p"}), "K.g/p"),
    ] {
        let object = json!({"spec": {"controller": "example.com/c", "parameters": parameters}});
        check(
            "networking.k8s.io/v1",
            "IngressClass",
            object,
            json!(["example.com/c", expect, "AGE"]),
        );
    }
}

#[test]
fn addresses_and_policies() {
    let policy = json!({"spec": {"podSelector": selector()}});
    check(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        policy,
        json!(["a=1,b", "AGE"]),
    );
    check(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        json!({"spec": {"podSelector": {}}}),
        json!(["<none>", "AGE"]),
    );
    let cidr = json!({"spec": {"cidrs": ["10.1.0.0/16", "fd00::/64"]}});
    check(
        "networking.k8s.io/v1",
        "ServiceCIDR",
        cidr,
        json!(["10.1.0.0/16,fd00::/64", "AGE"]),
    );
    for (parent, expect) in [
        (
            json!({"group": "MyGroup", "resource": "r", "namespace": "ns", "name": "N"}),
            "r.mygroup/ns/N",
        ),
        (
            json!({"group": "", "resource": "services", "namespace": "default", "name": "kubernetes"}),
            "services/default/kubernetes",
        ),
        (json!({"group": "g", "resource": "r", "name": "n"}), "r.g/n"),
        (json!(null), "<none>"),
    ] {
        check(
            "networking.k8s.io/v1",
            "IPAddress",
            json!({"spec": {"parentRef": parent}}),
            json!([expect]),
        );
    }
}

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
    for kind in ["DeviceClass", "DeviceTaintRule", "ResourceClaimTemplate"] {
        check("resource.k8s.io/v1", kind, json!({}), json!(["AGE"]));
    }
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
    let capacity = json!({"storageClassName": "fast", "capacity": "0.5Gi"});
    check(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        capacity,
        json!(["fast", "512Mi"]),
    );
    check(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        json!({}),
        json!(["", "<unset>"]),
    );
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
            "spec": {"scaleTargetRef": {"kind": "K", "name": "t"}, "maxReplicas": 5, "targetCPUUtilizationPercentage": 80},
            "status": {"currentCPUUtilizationPercentage": 50},
        }),
        json!(["K/t", "cpu: 50%/80%", "<unset>", 5, 0, "AGE"]),
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
        let spec = json!({"podName": "p", "serviceAccountName": "sa", "nodeName": "node", "signerName": "s"});
        json!({"spec": spec, "status": {"conditions": conditions}})
    };
    let cells = |state: &str| json!(["p", "sa", "node", "s", state]);
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
        json!(["r.g"]),
    );
    let migration = json!({"spec": {"resource": {"group": "", "resource": "secrets"}}});
    check(
        "storagemigration.k8s.io/v1",
        "StorageVersionMigration",
        migration,
        json!(["secrets"]),
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
