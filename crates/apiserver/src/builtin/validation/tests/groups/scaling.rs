//! What scales and protects workloads.

use super::*;

#[test]
fn autoscalers() {
    let scaler = |changes: &[(&str, Value)]| {
        let target = json!({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"});
        with(
            &json!({"spec": {"maxReplicas": 5, "scaleTargetRef": target}}),
            changes,
        )
    };
    let newer = ("autoscaling/v2", "horizontalpodautoscalers");
    for to in [newer, ("autoscaling/v1", "horizontalpodautoscalers")] {
        create(to, &scaler(&[]), &[]);
        create(
            to,
            &scaler(&[("/spec/minReplicas", json!(-1)), ("/spec/maxReplicas", json!(0))]),
            &[
                "spec.minReplicas: Invalid value: -1: must be greater than or equal to 0",
                "spec.maxReplicas: Required value",
            ],
        );
        create(
            to,
            &scaler(&[("/spec/minReplicas", json!(0))]),
            &[
                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
            ],
        );
        create(
            to,
            &scaler(&[(
                "/spec/scaleTargetRef",
                json!({"kind": "a/b", "name": "", "apiVersion": "v1"}),
            )]),
            &[
                "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.scaleTargetRef.name: Required value",
                "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group",
            ],
        );
        let controller = json!({"kind": "ReplicationController", "name": "r", "apiVersion": "v1"});
        create(to, &scaler(&[("/spec/scaleTargetRef", controller)]), &[]);
    }
    create(
        ("autoscaling/v1", "horizontalpodautoscalers"),
        &scaler(&[("/spec/targetCPUUtilizationPercentage", json!(0))]),
        &["spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0"],
    );
    let metric = |metric: Value| scaler(&[("/spec/metrics", json!([metric]))]);
    create(
        newer,
        &metric(json!({"type": "Pods", "resource": {"name": "cpu", "target": {"type": "Value"}}})),
        &[
            "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target \
             utilization",
            "spec.metrics[0].pods: Required value: must populate information for the given metric source",
        ],
    );
    create(
        newer,
        &metric(
            json!({"type": "External", "external": {"metric": {"name": "a%b"}, "target": {"type": "None", "value": "0", "averageValue": "1"}}}),
        ),
        &[
            "spec.metrics[0].external.metric.name: Invalid value: \"a%b\": may not contain '%'",
            "spec.metrics[0].external.target.type: Invalid value: \"None\": must be either Utilization, Value, or AverageValue",
            "spec.metrics[0].external.target.value: Invalid value: \"0\": must be positive",
            "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
        ],
    );
    create(
        newer,
        &scaler(&[(
            "/spec/behavior",
            json!({"scaleUp": {"stabilizationWindowSeconds": 3601, "policies": [], "selectPolicy": "Some"}, "scaleDown": {"policies": [{"type": "Pods", "value": 0, "periodSeconds": 1801}], "tolerance": "-1"}}),
        )]),
        &[
            "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
            "spec.behavior.scaleUp.selectPolicy: Unsupported value: \"Some\": supported values: \"Disabled\", \"Max\", \"Min\"",
            "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
            "spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero",
            "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
            "spec.behavior.scaleDown.tolerance: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    );
}

#[test]
fn budgets() {
    let to = ("policy/v1", "poddisruptionbudgets");
    create(
        to,
        &json!({"spec": {"minAvailable": "1", "maxUnavailable": "120%"}}),
        &[
            "spec: Invalid value: {\"maxUnavailable\":\"120%\",\"minAvailable\":\"1\"}: minAvailable and maxUnavailable cannot be \
             both set",
            "spec.minAvailable: Invalid value: \"1\": a valid percent string must be a numeric string followed by an ending '%' \
             (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
            "spec.maxUnavailable: Invalid value: \"120%\": must not be greater than 100%",
        ],
    );
    let condition = json!({"type": "A", "status": "Yes", "reason": "1", "observedGeneration": -1});
    report(
        to,
        &json!({"spec": {"minAvailable": 1}}),
        json!({"expectedPods": -1, "conditions": [condition, {"type": "A", "status": "True", "reason": "R", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}),
        json!({}),
        &[
            "status.conditions[0].status: Unsupported value: \"Yes\": supported values: \"False\", \"True\", \"Unknown\"",
            "status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
            "status.conditions[0].lastTransitionTime: Required value",
            "status.conditions[0].reason: Invalid value: \"1\": a condition reason must start with alphabetic character, optionally \
             followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. \
             'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
             '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
            "status.conditions[1]: Duplicate value: \"A\"",
            "status.expectedPods: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
}

#[test]
fn the_marker_of_the_first_budgets_stands_alone() {
    let marker = |operator: &str| json!({"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": operator});
    let check = |selector: Value, expect: Value| {
        let (object, _) = complete(
            ("policy/v1", "poddisruptionbudgets"),
            &json!({"spec": {"selector": selector}}),
            None,
        );
        assert_eq!(object["spec"]["selector"], expect);
    };
    let none = json!({"matchExpressions": [marker("Exists")]});
    check(none.clone(), none);
    check(json!({"matchExpressions": [marker("DoesNotExist")]}), json!({}));
    check(
        json!({"matchLabels": {"a": "b"}, "matchExpressions": [marker("Exists")]}),
        json!({"matchLabels": {"a": "b"}}),
    );
}
