//! What kinds require and which values they know: told as each kind's own rules tell it, not as the published schema would.

use super::*;

const STORAGE: &str = "storage.k8s.io/v1";

#[test]
fn volumes_of_attachments() {
    let to = (STORAGE, "volumeattachments");
    let inline = |spec: Value| json!({"spec": {"attacher": "a.b", "nodeName": "n", "source": {"inlineVolumeSpec": spec}}});
    let csi = json!({"driver": "d", "volumeHandle": "h"});
    create(
        to,
        &inline(json!({"accessModes": ["ReadWriteOnce"], "csi": csi})),
        &[],
    );
    create(
        to,
        &inline(json!({})),
        &[
            "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes",
            "spec.source.inlineVolumeSpec.accessModes: Required value",
            "spec.source.inlineVolumeSpec: Required value: must specify a volume type",
        ],
    );
    create(
        to,
        &inline(json!({
            "accessModes": ["Some"], "csi": {"driver": "d"}, "capacity": {"storage": "1"}, "claimRef": {"name": "c"},
            "persistentVolumeReclaimPolicy": "Delete", "nodeAffinity": {},
        })),
        &[
            "spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of inline volumes",
            "spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes",
            "spec.source.inlineVolumeSpec.accessModes: Unsupported value: \"Some\": supported values: \"ReadOnlyMany\", \
             \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"",
            "spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline \
             volumes",
            "spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the context of inline volumes",
            "spec.source.inlineVolumeSpec.csi.volumeHandle: Required value",
        ],
    );
    create(
        to,
        &json!({"spec": {"attacher": "A_", "nodeName": "", "source": {"persistentVolumeName": "v"}}}),
        &[
            "spec.attacher: Invalid value: \"A_\": an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and \
             must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.nodeName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    );
    create(
        (STORAGE, "storageclasses"),
        &json!({"provisioner": "p", "allowedTopologies": [{}]}),
        &["allowedTopologies[0].matchLabelExpressions: Duplicate value: \"\""],
    );
}

#[test]
fn what_only_the_published_schema_requires() {
    for (to, object) in [
        (("v1", "limitranges"), json!({})),
        ((STORAGE, "csinodes"), json!({})),
        (
            ("batch/v1", "jobs"),
            json!({"spec": {"podFailurePolicy": {}, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
        ),
        (
            ("discovery.k8s.io/v1", "endpointslices"),
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forZones": [{}]}}]}),
        ),
        (
            ("apps/v1", "statefulsets"),
            json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "containers": [{"name": "c", "image": "i"}]}}, "volumeClaimTemplates": [claim("v"), claim("v")]}}),
        ),
    ] {
        create(to, &object, &[]);
    }
    create(
        ("rbac.authorization.k8s.io/v1", "rolebindings"),
        &json!({"roleRef": {}}),
        &[
            "roleRef.kind: Unsupported value: \"\": supported values: \"Role\", \"ClusterRole\"",
            "roleRef.name: Required value",
        ],
    );
    create(
        ("rbac.authorization.k8s.io/v1", "clusterroles"),
        &json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b c"}}]}}),
        &[
            "aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: \"b c\": a valid label must be an empty string or \
             consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
             'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
        ],
    );
}

fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
}

#[test]
fn claims_without_a_name() {
    let mut set = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
        "containers": [{"name": "c", "image": "i"}]}}, "volumeClaimTemplates": [claim("v")]}});
    set["spec"]["volumeClaimTemplates"][0]["metadata"] = json!({});
    create(
        ("apps/v1", "statefulsets"),
        &set,
        &[
            "spec.template.spec.volumes[0].name: Required value",
            "spec.template.spec.volumes[0].persistentVolumeClaim.claimName: Required value",
        ],
    );
}

#[test]
fn choices_that_are_there_but_empty() {
    let admission = "admissionregistration.k8s.io/v1";
    create(
        (admission, "validatingadmissionpolicies"),
        &json!({"spec": {"failurePolicy": "", "validations": [{"expression": "true"}], "matchConstraints": {
            "matchPolicy": "", "resourceRules": [{
                "apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["b"]}]}}}),
        &[
            "spec.failurePolicy: Unsupported value: \"\": supported values: \"Fail\", \"Ignore\"",
            "spec.matchConstraints.matchPolicy: Unsupported value: \"\": supported values: \"Equivalent\", \"Exact\"",
        ],
    );
    create(
        (admission, "validatingwebhookconfigurations"),
        &json!({"webhooks": [{
            "name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"name": "s"}}}]}),
        // As upstream has it: what is missing is the namespace.
        &["webhooks[0].clientConfig.service.name: Required value"],
    );
    create(
        ("scheduling.k8s.io/v1", "priorityclasses"),
        &json!({"value": 1, "preemptionPolicy": ""}),
        &["preemptionPolicy: Required value"],
    );
    create(
        ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations"),
        &json!({"spec": {"limited": {"limitResponse": {"type": "Reject"}}}}),
        &["spec.type: Required value", "spec.limited: Forbidden"],
    );
    create(
        ("autoscaling/v2", "horizontalpodautoscalers"),
        &json!({"spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "metrics": [{
            "type": "ContainerResource",
            "containerResource": {"name": "bogus", "container": "c", "target": {"type": "Utilization", "averageUtilization": 5}},
        }]}}),
        &[
            "spec.metrics[0].containerResource.name: Invalid value: \"bogus\": must be a standard resource type or fully qualified",
            "spec.metrics[0].containerResource.name: Invalid value: \"bogus\": must be a standard resource for containers",
        ],
    );
}

#[test]
fn attributes_of_devices() {
    const ONE: &str =
        "must specify one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`";
    let check = |attribute: Value, expect: &[&str]| {
        let slice = json!({"spec": {
            "driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n",
            "devices": [{"name": "d", "attributes": {"a": attribute}}]}});
        let expect: Vec<String> = expect
            .iter()
            .map(|text| format!("spec.devices[0].attributes[a]{text}"))
            .collect();
        let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
        create(("resource.k8s.io/v1", "resourceslices"), &slice, &expect);
    };
    for version in ["1.2.3", "0.0.0-alpha.1+build.01", "1.0.0--", "1.0.0-0a.b"] {
        check(json!({"version": version}), &[]);
    }
    for version in [
        "1.2", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+", "v1.2.3", "1.2.3.4",
    ] {
        let text = format!(
            ".version: Invalid value: {version:?}: must be a string compatible with semver.org spec 2.0.0"
        );
        check(json!({"version": version}), &[&text]);
    }
    let none = format!(": Invalid value: \"\": {ONE}");
    check(json!({}), &[&none]);
    // Lists are behind a feature gate that is off.
    check(json!({"strings": ["a"]}), &[&none]);
    let two = format!(
        ": Invalid value: \"{{int, string}}\": {}",
        ONE.replace("specify one of", "specify exactly one of")
    );
    check(json!({"string": "a", "int": 1}), &[&two]);
    let selector = json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Bogus"}]}]});
    create(
        ("resource.k8s.io/v1", "resourceslices"),
        &json!({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeSelector": selector}}),
        &[
            "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Bogus\": not a valid selector \
             operator",
        ],
    );
}
