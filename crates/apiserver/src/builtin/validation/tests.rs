use std::collections::BTreeMap;

use super::super::defaults::tests::arbitrary_object;
use super::super::strategy::{Context, Requester, ServicePool, strategy};
use super::names::{NameRule, NameUse};
use super::*;
use kubewright_kinds::Scope;
use proptest::prelude::*;
use serde_json::json;

/// Validates `object` as new; the texts must be exactly these, in any order.
#[track_caller]
fn check(group: &str, resource: &str, object: &Value, expect: &[&str]) {
    let (validate, scope) = (strategy(group, resource), Scope::Namespaced);
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!("ns");
    if object["metadata"].get("name").is_none() {
        object["metadata"]["name"] = json!("x");
    }
    compare(validate.validate_create(&object, scope), expect, &object);
}

/// Validates a change; both objects get the metadata that the server would have filled in.
#[track_caller]
fn check_update(group: &str, resource: &str, new: &Value, old: &Value, expect: &[&str]) {
    let complete = |object: &Value| {
        let mut object = object.clone();
        for (field, value) in [("name", "x"), ("namespace", "ns"), ("resourceVersion", "1")] {
            object["metadata"][field] = json!(value);
        }
        object
    };
    let (new, old) = (complete(new), complete(old));
    compare(
        strategy(group, resource).validate_update(&new, &old),
        expect,
        &new,
    );
}

#[track_caller]
fn compare(errors: Vec<FieldError>, expect: &[&str], object: &Value) {
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let mut expect: Vec<String> = expect.iter().map(|&text| text.to_owned()).collect();
    texts.sort();
    expect.sort();
    assert_eq!(texts, expect, "{object:#}");
}

#[test]
fn names() {
    #[track_caller]
    fn check(rule: NameRule, name: &str, valid: bool) {
        assert_eq!(
            rule.check(name, NameUse::Whole).is_empty(),
            valid,
            "{rule:?} {name}"
        );
    }
    for name in ["a", "a.b", "1.2", "a-b.c", &"a".repeat(63), &["a"; 127].join(".")] {
        check(NameRule::Subdomain, name, true);
    }
    for name in [
        "",
        "A",
        "a_b",
        "-a",
        "a-",
        "a..b",
        ".a",
        "a.",
        "a.-b",
        "ä",
        &"a".repeat(254),
    ] {
        check(NameRule::Subdomain, name, false);
    }
    check(NameRule::Label, "a.b", false);
    check(NameRule::Label, &"a".repeat(64), false);
    check(NameRule::Dns1035Label, "1a", false);
    check(NameRule::Dns1035Label, "a1", true);
    check(NameRule::PathSegment, "system:A b", true);
    check(NameRule::PathSegment, "a/b", false);
    check(NameRule::PathSegment, "..", false);
    check(NameRule::CronJob, &"a".repeat(52), true);
    check(NameRule::CronJob, &"a".repeat(53), false);
    check(NameRule::IpAddress, "10.0.0.1", true);
    check(NameRule::IpAddress, "2001:DB8::1", false);
    assert!(NameRule::Subdomain.check("web-", NameUse::Prefix).is_empty());
    assert!(!NameRule::Subdomain.check("-", NameUse::Prefix).is_empty());
    assert_eq!(
        NameRule::Label.check("A", NameUse::Whole),
        [
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
          an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
          '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        ]
    );
    assert_eq!(
        NameRule::Label.check("a.b", NameUse::Whole),
        ["must not contain dots"]
    );
}

#[test]
fn label_keys_and_values() {
    for key in ["a", "a/b", "example.com/A_b.c-d", "1", &"a".repeat(63)] {
        assert!(names::qualified_name(key).is_empty(), "{key}");
    }
    for key in ["", "/a", "a/", "a/b/c", "-a", "A.com/b", &"a".repeat(64)] {
        assert!(!names::qualified_name(key).is_empty(), "{key}");
    }
    for value in ["", "a", "A_b.c-d"] {
        assert!(names::label_value(value).is_empty(), "{value}");
    }
    for value in ["-", "a b", "a-", &"a".repeat(64)] {
        assert!(!names::label_value(value).is_empty(), "{value}");
    }
}

#[test]
fn metadata_of_new_objects() {
    check("", "configmaps", &json!({}), &[]);
    check(
        "",
        "configmaps",
        &json!({"metadata": {"name": "X"}}),
        &[
            "metadata.name: Invalid value: \"X\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
         characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"name": ""}}),
        &["metadata.name: Required value: name or generateName is required"],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"annotations": {"a": "x".repeat(256 * 1024)}}}),
        &["metadata.annotations: Too long: may not be more than 262144 bytes"],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"labels": {"a": "b c"}}}),
        &[
            "metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric \
         characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  \
         or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    );
    let owner =
        |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": true});
    let owners = json!([owner("a"), owner("b")]);
    let text = format!(
        "metadata.ownerReferences: Invalid value: {owners}: Only one reference can have Controller set to true. Found \
         \"true\" in references for Pod/a and Pod/b"
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"ownerReferences": owners}}),
        &[&text],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"ownerReferences": [{}]}}),
        &[
            "metadata.ownerReferences[0].apiVersion: Required value: must not be empty",
            "metadata.ownerReferences[0].kind: Required value: must not be empty",
            "metadata.ownerReferences[0].name: Required value: must not be empty",
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"finalizers": ["orphan", "foregroundDeletion"]}}),
        &[
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion \
         cannot be both set",
        ],
    );
    let cluster = strategy("", "nodes");
    let node = json!({"metadata": {"name": "n", "namespace": "x"}});
    compare(
        cluster.validate_create(&node, Scope::Cluster),
        &["metadata.namespace: Forbidden: not allowed on this type"],
        &node,
    );
}

#[test]
fn metadata_of_changed_objects() {
    let object = |metadata: Value| json!({"metadata": metadata});
    check_update(
        "",
        "configmaps",
        &object(json!({"uid": "2"})),
        &object(json!({"uid": "1"})),
        &["metadata.uid: Invalid value: \"2\": field is immutable"],
    );
    check_update(
        "",
        "configmaps",
        &object(json!({"generation": 1})),
        &object(json!({"generation": 2})),
        &["metadata.generation: Invalid value: 1: must not be decremented"],
    );
    let deleted = json!({"deletionTimestamp": "t", "finalizers": ["a"]});
    let added = json!({"deletionTimestamp": "t", "finalizers": ["a", "b/c"]});
    check_update(
        "",
        "configmaps",
        &object(added),
        &object(deleted),
        &[
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{\"b/c\"}",
        ],
    );
}

/// A pod specification that is valid, with `extra` merged into it.
fn pod_spec(extra: Value) -> Value {
    let mut spec = json!({
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
    });
    for (field, value) in extra.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

#[test]
fn pods() {
    #[track_caller]
    fn spec(extra: Value, expect: &[&str]) {
        check("", "pods", &json!({"spec": pod_spec(extra)}), expect);
    }
    #[track_caller]
    fn container(extra: Value, expect: &[&str]) {
        let mut container = json!({"name": "c", "image": "i"});
        for (field, value) in extra.as_object().unwrap() {
            container[field] = value.clone();
        }
        spec(json!({"containers": [container]}), expect);
    }
    spec(json!({}), &[]);
    spec(json!({"containers": []}), &["spec.containers: Required value"]);
    spec(
        json!({"containers": [{"name": "a", "image": "i"}, {"name": "a"}]}),
        &[
            "spec.containers[1].image: Required value",
            "spec.containers[1].name: Duplicate value: \"a\"",
        ],
    );
    spec(
        json!({"restartPolicy": "Sometimes"}),
        &[
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ],
    );
    spec(
        json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "secret": {}}, {"name": "w"}]}),
        &[
            "spec.volumes[1].name: Duplicate value: \"v\"",
            "spec.volumes[2]: Required value: must specify a volume type",
        ],
    );
    spec(
        json!({"volumes": [{"name": "v", "emptyDir": {}, "secret": {}}]}),
        &["spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type"],
    );
    spec(
        json!({"activeDeadlineSeconds": 0}),
        &["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    );
    spec(
        json!({"tolerations": [{"operator": "Equal"}]}),
        &[
            "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \
         \"match all values and all keys\"",
        ],
    );
    spec(
        json!({"initContainers": [{"name": "i", "image": "i", "livenessProbe": {"exec": {}}}]}),
        &[
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        ],
    );
    container(
        json!({"imagePullPolicy": "Never ever"}),
        &[
            "spec.containers[0].imagePullPolicy: Unsupported value: \"Never ever\": supported values: \"Always\", \
         \"IfNotPresent\", \"Never\"",
        ],
    );
    container(
        json!({"ports": [{"protocol": "TCP"}, {"containerPort": 70000, "protocol": "tcp"}]}),
        &[
            "spec.containers[0].ports[0].containerPort: Required value",
            "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "spec.containers[0].ports[1].protocol: Unsupported value: \"tcp\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
        ],
    );
    let port = |host: u16| json!({"containerPort": 1, "hostPort": host, "protocol": "TCP"});
    container(
        json!({"ports": [port(1), port(1)]}),
        &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//1\""],
    );
    container(
        json!({"volumeMounts": [{"name": "nope", "mountPath": "/a"}, {"name": "nope", "mountPath": "/a"}]}),
        &[
            "spec.containers[0].volumeMounts[0].name: Not found: \"nope\"",
            "spec.containers[0].volumeMounts[1].name: Not found: \"nope\"",
            "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
        ],
    );
    container(
        json!({"env": [{"name": ""}, {"name": "A", "value": "1", "valueFrom": {"fieldRef": {}}}]}),
        &[
            "spec.containers[0].env[0].name: Required value",
            "spec.containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
        ],
    );
    container(
        json!({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1", "foo": "1", "memory": "-1"}}}),
        &[
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
            "spec.containers[0].resources.limits[foo]: Invalid value: \"foo\": must be a standard resource for containers",
            "spec.containers[0].resources.limits[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified",
            "spec.containers[0].resources.limits[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    );
    container(
        json!({"livenessProbe": {"successThreshold": 2}}),
        &[
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ],
    );
}

#[test]
fn changed_pods() {
    #[track_caller]
    fn change(new: Value, old: Value, expect: &[&str]) {
        check_update(
            "",
            "pods",
            &json!({"spec": pod_spec(new)}),
            &json!({"spec": pod_spec(old)}),
            expect,
        );
    }
    let image = |image: &str| json!({"containers": [{"name": "c", "image": image}]});
    change(image("b"), image("a"), &[]);
    change(
        json!({"activeDeadlineSeconds": 5}),
        json!({"activeDeadlineSeconds": 9}),
        &[],
    );
    change(
        json!({"tolerations": [{"key": "k", "operator": "Exists"}]}),
        json!({}),
        &[],
    );
    change(
        json!({"schedulingGates": []}),
        json!({"schedulingGates": [{"name": "g"}]}),
        &[],
    );
    change(
        json!({"activeDeadlineSeconds": 9}),
        json!({"activeDeadlineSeconds": 5}),
        &["spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"],
    );
    change(
        json!({}),
        json!({"tolerations": [{"key": "k", "operator": "Exists"}]}),
        &[
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
        ],
    );
    change(
        json!({"schedulingGates": [{"name": "g"}]}),
        json!({}),
        &["spec.schedulingGates[0]: Forbidden: only deletion is allowed, but found new scheduling gate 'g'"],
    );
    let text = "spec: Forbidden: pod updates may not change fields other than \
                `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it \
                was previously negative)";
    change(json!({"nodeName": "n"}), json!({}), &[text]);
}

#[test]
fn workloads() {
    let set = |selector: Value, labels: Value, spec: Value| json!({"spec": {"selector": selector, "template": {"metadata": {"labels": labels}, "spec": pod_spec(spec)}}});
    let good = || json!({"matchLabels": {"a": "b"}});
    for (group, resource, kind) in [
        ("apps", "deployments", "deployment"),
        ("apps", "replicasets", "deployment"),
        ("apps", "daemonsets", "daemonset"),
        ("apps", "statefulsets", "statefulset"),
    ] {
        check(group, resource, &set(good(), json!({"a": "b"}), json!({})), &[]);
        check(
            group,
            resource,
            &set(Value::Null, json!({}), json!({})),
            &["spec.selector: Required value"],
        );
        let text = format!("spec.selector: Invalid value: {{}}: empty selector is invalid for {kind}");
        check(group, resource, &set(json!({}), json!({}), json!({})), &[&text]);
        check(
            group,
            resource,
            &set(good(), json!({"a": "c"}), json!({})),
            &[
                "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`",
            ],
        );
        check(
            group,
            resource,
            &set(good(), json!({"a": "b"}), json!({"restartPolicy": "Never"})),
            &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""],
        );
    }
    let mut deployment = set(good(), json!({"a": "b"}), json!({}));
    deployment["spec"]["replicas"] = json!(-1);
    deployment["spec"]["strategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}});
    check(
        "apps",
        "deployments",
        &deployment,
        &[
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ],
    );
    let old = set(good(), json!({"a": "b", "c": "d"}), json!({}));
    let new = set(
        json!({"matchLabels": {"c": "d"}}),
        json!({"a": "b", "c": "d"}),
        json!({}),
    );
    check_update(
        "apps",
        "deployments",
        &new,
        &old,
        &["spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable"],
    );
    let mut renamed = old.clone();
    renamed["spec"]["serviceName"] = json!("other");
    check_update(
        "apps",
        "statefulsets",
        &renamed,
        &old,
        &[
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
         'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ],
    );
    let expression = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Is"}]});
    check(
        "apps",
        "replicasets",
        &set(expression, json!({"a": "b"}), json!({})),
        &[
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            "spec.selector.matchExpressions[1].operator: Invalid value: \"Is\": not a valid selector operator",
            "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
        ],
    );
}

#[test]
fn jobs() {
    let job = |spec: Value| {
        let labels = json!({"batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "x"});
        let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}});
        let template =
            json!({"metadata": {"labels": labels}, "spec": pod_spec(json!({"restartPolicy": "Never"}))});
        let mut job = json!({"metadata": {"uid": "u"}, "spec": {"selector": selector, "template": template}});
        for (field, value) in spec.as_object().unwrap() {
            job["spec"][field] = value.clone();
        }
        job
    };
    check("batch", "jobs", &job(json!({})), &[]);
    check(
        "batch",
        "jobs",
        &job(json!({"backoffLimit": -1})),
        &["spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0"],
    );
    check(
        "batch",
        "jobs",
        &job(json!({"completionMode": "Indexed"})),
        &["spec.completions: Required value: when completion mode is Indexed"],
    );
    let mut always = job(json!({}));
    always["spec"]["template"]["spec"]["restartPolicy"] = json!("Always");
    check(
        "batch",
        "jobs",
        &always,
        &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
    );
    check_update(
        "batch",
        "jobs",
        &job(json!({"completions": 2})),
        &job(json!({"completions": 1})),
        &["spec.completions: Invalid value: 2: field is immutable"],
    );
    let mut changed = job(json!({}));
    changed["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b"});
    let suspended = job(json!({"suspend": true}));
    check_update("batch", "jobs", &changed, &suspended, &[]);
    let text = format!(
        "spec.template: Invalid value: {}: field is immutable",
        changed["spec"]["template"]
    );
    check_update("batch", "jobs", &changed, &job(json!({})), &[&text]);

    let cron = |schedule: &str| json!({"spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": pod_spec(json!({"restartPolicy": "Never"}))}}}}});
    check("batch", "cronjobs", &cron("*/5 * * * *"), &[]);
    check("batch", "cronjobs", &cron("@hourly"), &[]);
    check("batch", "cronjobs", &cron(""), &["spec.schedule: Required value"]);
    check(
        "batch",
        "cronjobs",
        &cron("* *"),
        &["spec.schedule: Invalid value: \"* *\": expected exactly 5 fields, found 2: [* *]"],
    );
}

#[test]
fn configuration() {
    check(
        "",
        "configmaps",
        &json!({"data": {"a b": "1"}}),
        &[
            "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
         'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ],
    );
    check(
        "",
        "configmaps",
        &json!({"data": {"a": "1"}, "binaryData": {"a": "MQ=="}}),
        &["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"],
    );
    check(
        "",
        "configmaps",
        &json!({"data": {"a": "x".repeat(1024 * 1024)}}),
        &[],
    );
    check(
        "",
        "configmaps",
        &json!({"data": {"a": "x".repeat(1024 * 1024 + 1)}}),
        &["[]: Too long: may not be more than 1048576 bytes"],
    );
    check(
        "",
        "secrets",
        &json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}),
        &["data[tls.key]: Required value"],
    );
    check(
        "",
        "secrets",
        &json!({"type": "kubernetes.io/basic-auth", "data": {"username": ""}}),
        &[],
    );
    check(
        "",
        "secrets",
        &json!({"type": "kubernetes.io/service-account-token"}),
        &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    );
    check_update(
        "",
        "secrets",
        &json!({"type": "b"}),
        &json!({"type": "a"}),
        &["type: Invalid value: \"b\": field is immutable"],
    );
    let frozen = json!({"immutable": true, "data": {"a": "MQ=="}});
    check_update(
        "",
        "configmaps",
        &json!({"immutable": true, "data": {"a": "Mg=="}}),
        &frozen,
        &["data: Forbidden: field is immutable when `immutable` is set"],
    );
    check_update(
        "",
        "secrets",
        &json!({"data": {"a": "MQ=="}}),
        &frozen,
        &["immutable: Forbidden: field is immutable when `immutable` is set"],
    );
    check(
        "",
        "events",
        &json!({"involvedObject": {"namespace": "other"}}),
        &["involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"],
    );
}

#[test]
fn services() {
    let service = |spec: Value| {
        let mut service = json!({"spec": {"type": "ClusterIP", "sessionAffinity": "None"}});
        for (field, value) in spec.as_object().unwrap() {
            service["spec"][field] = value.clone();
        }
        service
    };
    let port =
        |name: &str, port: u16| json!({"name": name, "port": port, "protocol": "TCP", "targetPort": port});
    check("", "services", &service(json!({"ports": [port("a", 80)]})), &[]);
    check(
        "",
        "services",
        &service(json!({})),
        &["spec.ports: Required value"],
    );
    check(
        "",
        "services",
        &service(json!({"clusterIP": "None", "clusterIPs": ["None"]})),
        &[],
    );
    check(
        "",
        "services",
        &service(json!({"ports": [port("a", 80), port("a", 81), port("", 82)]})),
        &[
            "spec.ports[1].name: Duplicate value: \"a\"",
            "spec.ports[2].name: Required value",
        ],
    );
    check(
        "",
        "services",
        &service(json!({"ports": [{"port": 80, "protocol": "TCP", "nodePort": 30000}]})),
        &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    );
    check(
        "",
        "services",
        &service(json!({"type": "ExternalName"})),
        &["spec.externalName: Required value"],
    );
    check(
        "",
        "services",
        &service(json!({"ports": [port("a", 80)], "externalTrafficPolicy": "Local"})),
        &[
            "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
        ],
    );
    let at = |address: &str| {
        service(json!({"clusterIP": address, "clusterIPs": [address], "ports": [port("a", 80)]}))
    };
    check_update(
        "",
        "services",
        &at("10.0.0.2"),
        &at("10.0.0.1"),
        &["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"],
    );
}

#[test]
fn storage() {
    let claim = |spec: Value| {
        let mut claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}});
        for (field, value) in spec.as_object().unwrap() {
            claim["spec"][field] = value.clone();
        }
        claim
    };
    check("", "persistentvolumeclaims", &claim(json!({})), &[]);
    check(
        "",
        "persistentvolumeclaims",
        &claim(json!({"accessModes": [], "resources": {}})),
        &[
            "spec.accessModes: Required value: at least 1 access mode is required",
            "spec.resources[storage]: Required value",
        ],
    );
    check(
        "",
        "persistentvolumeclaims",
        &claim(json!({"resources": {"requests": {"storage": "0"}}})),
        &["spec.resources[storage]: Invalid value: \"0\": must be greater than zero"],
    );
    let fixed = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for \
                 bound claims";
    let larger = claim(json!({"resources": {"requests": {"storage": "3Gi"}}}));
    check_update("", "persistentvolumeclaims", &larger, &claim(json!({})), &[fixed]);
    let mut bound = claim(json!({"volumeName": "v"}));
    bound["status"] = json!({"phase": "Bound", "capacity": {"storage": "2Gi"}});
    let mut grown = bound.clone();
    grown["spec"]["resources"]["requests"]["storage"] = json!("3Gi");
    check_update("", "persistentvolumeclaims", &grown, &bound, &[]);
    let mut shrunk = bound.clone();
    shrunk["spec"]["resources"]["requests"]["storage"] = json!("1Gi");
    check_update(
        "",
        "persistentvolumeclaims",
        &shrunk,
        &bound,
        &["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    );
    check_update(
        "",
        "persistentvolumeclaims",
        &claim(json!({"volumeName": "v"})),
        &claim(json!({})),
        &[],
    );
    let class = |parameter: &str| json!({"provisioner": "p", "volumeBindingMode": "Immediate", "parameters": {"a": parameter}});
    check_update(
        "storage.k8s.io",
        "storageclasses",
        &class("1"),
        &class("2"),
        &["parameters: Forbidden: updates to parameters are forbidden."],
    );
}

#[test]
fn rights() {
    check(
        "rbac.authorization.k8s.io",
        "roles",
        &json!({"metadata": {"name": "a:b"}, "rules": [{}]}),
        &[
            "rules[0].verbs: Required value: verbs must contain at least one value",
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
        ],
    );
    check(
        "rbac.authorization.k8s.io",
        "roles",
        &json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
        &[
            "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
        ],
    );
    check(
        "rbac.authorization.k8s.io",
        "clusterroles",
        &json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
        &[],
    );
    let binding = |name: &str, subjects: Value| {
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        json!({"roleRef": role, "subjects": subjects})
    };
    check(
        "rbac.authorization.k8s.io",
        "rolebindings",
        &binding("", json!([{"kind": "Robot", "name": "r"}])),
        &[
            "roleRef.name: Required value",
            "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
        ],
    );
    check_update(
        "rbac.authorization.k8s.io",
        "rolebindings",
        &binding("b", json!([])),
        &binding("a", json!([])),
        &[
            "roleRef: Invalid value: {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"b\"}: cannot change \
         roleRef",
        ],
    );
}

#[test]
fn other_groups() {
    let class = |value: i64| json!({"metadata": {"name": "x"}, "value": value});
    check_update(
        "scheduling.k8s.io",
        "priorityclasses",
        &class(2),
        &class(1),
        &["value: Forbidden: may not be changed in an update."],
    );
    check(
        "autoscaling",
        "horizontalpodautoscalers",
        &json!({"spec": {"minReplicas": 3, "maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}}),
        &["spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"],
    );
    check(
        "policy",
        "poddisruptionbudgets",
        &json!({"spec": {"minAvailable": "1", "maxUnavailable": "120%"}}),
        &[
            "spec: Invalid value: {\"maxUnavailable\":\"120%\",\"minAvailable\":\"1\"}: minAvailable and maxUnavailable cannot be \
         both set",
            "spec.minAvailable: Invalid value: \"1\": a valid percent string must be a numeric string followed by an ending '%' \
         (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
            "spec.maxUnavailable: Invalid value: \"120%\": must not be greater than 100%",
        ],
    );
    check(
        "networking.k8s.io",
        "ingresses",
        &json!({"spec": {}}),
        &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    );
    let rule = |path: Value| json!({"spec": {"rules": [{"host": "a.b", "http": {"paths": [path]}}]}});
    check(
        "networking.k8s.io",
        "ingresses",
        &rule(
            json!({"pathType": "Prefix", "path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}}),
        ),
        &[],
    );
    check(
        "networking.k8s.io",
        "ingresses",
        &rule(json!({"backend": {"service": {"port": {}}}})),
        &[
            "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
            "spec.rules[0].http.paths[0].backend.service.name: Required value",
            "spec.rules[0].http.paths[0].backend.service: Required value: port name or number is required",
        ],
    );
    check(
        "networking.k8s.io",
        "networkpolicies",
        &json!({"spec": {"podSelector": {}, "policyTypes": ["Both"], "ingress": [{"from": [{}]}]}}),
        &[
            "spec.policyTypes[0]: Unsupported value: \"Both\": supported values: \"Egress\", \"Ingress\"",
            "spec.ingress[0].from[0]: Required value: must specify a peer",
        ],
    );
    check(
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        &json!({"webhooks": [{"name": "short", "clientConfig": {}, "timeoutSeconds": 31}]}),
        &[
            "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
            "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ],
    );
    check(
        "coordination.k8s.io",
        "leases",
        &json!({"spec": {"leaseDurationSeconds": 0}}),
        &["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    );
}

#[test]
fn two_validators_report_a_fault_once() {
    let path = FieldPath::new("spec");
    let mut errors = vec![FieldError::required(path.child("selector"), "by hand")];
    let more = vec![
        FieldError::required(path.child("selector"), ""),
        FieldError::forbidden(path.child("selector"), "x"),
    ];
    merge(&mut errors, more);
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0].detail, "by hand");
}

proptest! {
    // Each case goes through every resource of the table.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_object_is_survived(new in arbitrary_object(), old in arbitrary_object()) {
        let (groups, extra) = (Vec::new(), BTreeMap::new());
        for resource in kubewright_kinds::table().resources() {
            let strategy = strategy(resource.group, resource.plural);
            let mut pool = ServicePool::default();
            let requester = Requester { username: "", uid: "", groups: &groups, extra: &extra };
            let mut context = Context { now: "2026-01-02T03:04:05Z", requester, allocator: &mut pool };
            let mut created = new.clone();
            let _ = strategy.prepare_for_create(&mut created, &mut context);
            let mut updated = new.clone();
            let _ = strategy.prepare_for_update(&mut updated, &old, &mut context);
            for name in ["status", "finalize", "approval", "ephemeralcontainers", "resize"] {
                let mut part = new.clone();
                strategy.prepare_for_subresource(name, &mut part, &old, &mut context);
                let _ = strategy.validate_subresource_update(name, &part, &old);
            }
            let _ = strategy.validate_create(&created, resource.scope);
            let _ = strategy.validate_update(&updated, &old);
            let _ = strategy.grace_period(&new, None);
        }
    }
}
