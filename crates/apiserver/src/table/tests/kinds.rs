//! Workloads, configuration and networking: one object or more of each kind, and the cells it prints.

use serde_json::{Value, json};

use super::{ago, cells};

/// Checks the cells of an object named `n`, created a minute ago. `expect` leaves the name out, and has `AGE` for the age.
pub(super) fn check(api: &str, kind: &str, mut object: Value, expect: Value) {
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
        json!(["AGE"]),
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
