//! Claims for devices, classes and slices; and which resources a PUT may create.

use super::super::super::super::strategy::{CreateOnUpdate, UnconditionalUpdate};
use super::*;

const V1: &str = "resource.k8s.io/v1";

#[test]
fn claims() {
    let claim = |devices: Value| json!({"spec": {"devices": devices}});
    let good = json!({"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]});
    create((V1, "resourceclaims"), &claim(good.clone()), &[]);
    create(
        (V1, "resourceclaimtemplates"),
        &json!({"spec": {"spec": {"devices": good}}}),
        &[],
    );
    let flat = json!({"requests": [{"name": "r", "deviceClassName": "c", "count": -1}]});
    create(
        ("resource.k8s.io/v1beta1", "resourceclaims"),
        &claim(flat),
        &["spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"],
    );
    create(
        (V1, "resourceclaims"),
        &claim(json!({
            "requests": [{"name": "A"}, {"name": "b", "exactly": {"allocationMode": "All", "count": 2}}, {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "c"}]}],
            "constraints": [{"requests": ["b/x", "b/y", "a/b/c"]}, {"matchAttribute": "name"}],
            "config": [{"opaque": {"driver": "d", "parameters": [1]}}],
        })),
        &[
            "spec.devices.requests[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric \
             characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used \
             for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
            "spec.devices.requests[1].exactly.deviceClassName: Required value",
            "spec.devices.requests[1].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
            "spec.devices.requests[2]: Duplicate value: \"b\"",
            "spec.devices.constraints[0].requests[1]: Invalid value: \"b/y\": must be the name of a request in the claim or the name \
             of a request and a subrequest separated by '/'",
            "spec.devices.constraints[0].requests[2]: Invalid value: \"a/b/c\": must be the name of a request in the claim or the \
             name of a request and a subrequest separated by '/'",
            "spec.devices.constraints[0]: Required value: exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but \
             multiple fields are set",
            "spec.devices.constraints[1].matchAttribute: Invalid value: \"name\": a fully qualified name must be a domain and a name \
             separated by a slash",
            "spec.devices.config[0].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object",
        ],
    );
    let other = json!({"requests": [{"name": "s", "exactly": {"deviceClassName": "c"}}]});
    update(
        (V1, "resourceclaims"),
        &claim(other),
        &claim(good.clone()),
        &["spec: Invalid value: null: field is immutable"],
    );
    report(
        (V1, "resourceclaims"),
        &claim(good),
        json!({"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}, {"resource": "pods", "uid": "1"}]}),
        json!({}),
        &[
            "status.reservedFor[1]: Duplicate value: \"1\"",
            "status.reservedFor[1].name: Required value",
            "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
        ],
    );
}

#[test]
fn slices_and_classes() {
    let slice = |changes: &[(&str, Value)]| {
        let pool = json!({"name": "p", "resourceSliceCount": 1});
        with(
            &json!({"spec": {"driver": "d", "pool": pool, "nodeName": "n"}}),
            changes,
        )
    };
    create((V1, "resourceslices"), &slice(&[]), &[]);
    create(
        (V1, "resourceslices"),
        &slice(&[
            ("/spec/allNodes", json!(true)),
            ("/spec/pool", json!({"name": "", "resourceSliceCount": 0})),
            (
                "/spec/devices",
                json!([{"name": "a", "attributes": {"1x": {"int": 1}}, "nodeName": "n"}, {"name": "a", "taints": [{"key": "k"}]}]),
            ),
        ]),
        &[
            "spec.pool.name: Required value",
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, \
             `perDeviceNodeSelection` is required, but multiple fields are set",
            "spec.devices[0].attributes[1x]: Invalid value: \"1x\": a valid C identifier must start with alphabetic character or '_', \
             followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for \
             validation is '[A-Za-z_][A-Za-z0-9_]*')",
            "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if \
             `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
            "spec.devices[1]: Duplicate value: \"a\"",
            "spec.devices[1].taints[0].effect: Required value",
        ],
    );
    update(
        (V1, "resourceslices"),
        &slice(&[("/spec/driver", json!("e"))]),
        &slice(&[]),
        &["spec.driver: Invalid value: \"e\": field is immutable"],
    );
    let many: Vec<Value> = (0..65)
        .map(|n| json!({"name": format!("d{n}"), "taints": [{"key": "k", "effect": "None"}]}))
        .collect();
    create(
        (V1, "resourceslices"),
        &slice(&[("/spec/devices", many.into())]),
        &["spec.devices: Too many: 65: must have at most 64 items"],
    );
    create(
        (V1, "deviceclasses"),
        &json!({"spec": {"selectors": [{}], "config": [{}]}}),
        &[
            "spec.selectors[0].cel: Required value",
            "spec.config[0].opaque: Required value",
        ],
    );
    create(
        (V1, "devicetaintrules"),
        &json!({"spec": {"deviceSelector": {"pool": "A"}, "taint": {"key": "k", "effect": "Evict"}}}),
        &[
            "spec.deviceSelector.pool: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.taint.effect: Unsupported value: \"Evict\": supported values: \"NoExecute\", \"NoSchedule\", \"None\"",
        ],
    );
}

/// Upstream: `AllowCreateOnUpdate` and `AllowUnconditionalUpdate` of every strategy.
#[test]
fn what_a_put_may_do() {
    let creates = [
        "roles",
        "clusterroles",
        "rolebindings",
        "clusterrolebindings",
        "leases",
        "leasecandidates",
        "runtimeclasses",
    ];
    let needs_version = [
        "poddisruptionbudgets",
        "csidrivers",
        "csistoragecapacities",
        "volumeattachments",
        "csinodes",
        "leases",
        "leasecandidates",
        "podgroups",
        "compositepodgroups",
        "workloads",
        "runtimeclasses",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "podcertificaterequests",
        "clustertrustbundles",
    ];
    let groups = [
        "apps",
        "batch",
        "autoscaling",
        "policy",
        "networking.k8s.io",
        "discovery.k8s.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "coordination.k8s.io",
        "scheduling.k8s.io",
        "node.k8s.io",
        "admissionregistration.k8s.io",
        "certificates.k8s.io",
        "flowcontrol.apiserver.k8s.io",
    ];
    for row in kubewright_kinds::table()
        .resources()
        .iter()
        .filter(|row| groups.contains(&row.group))
    {
        let strategy = strategy(row.group, row.plural);
        assert_eq!(
            strategy.create_on_update == CreateOnUpdate::Allowed,
            creates.contains(&row.plural),
            "{} is created by an update",
            row.plural
        );
        assert_eq!(
            strategy.unconditional_update == UnconditionalUpdate::Refused,
            needs_version.contains(&row.plural),
            "{} needs its version",
            row.plural
        );
    }
}
