//! Pods and what makes them.

use super::*;

/// A pod specification that is valid, with `extra` merged into it and the defaults of a template.
pub(super) fn pod_spec(extra: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    for (field, value) in extra.as_object().unwrap() {
        spec[field] = value.clone();
    }
    let mut object = json!({"template": {"spec": spec}});
    crate::builtin::defaults::apply("", "v1", "PodTemplate", &mut object);
    object["template"]["spec"].take()
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
        json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "secret": {}}]}),
        &[
            "spec.volumes[1].secret.secretName: Required value",
            "spec.volumes[1].name: Duplicate value: \"v\"",
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
            "spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Required value",
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
        &[
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
        ],
    );
    let text = "spec: Forbidden: pod updates may not change fields other than \
                `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it \
                was previously negative)";
    change(json!({"nodeName": "n"}), json!({}), &[text]);
}
