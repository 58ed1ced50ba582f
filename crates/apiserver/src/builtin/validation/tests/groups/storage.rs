//! Classes, drivers and attachments of storage.

use super::*;

const STORAGE: &str = "storage.k8s.io/v1";

#[test]
fn storage_classes() {
    let to = (STORAGE, "storageclasses");
    create(to, &json!({"provisioner": "p"}), &[]);
    let term =
        json!({"matchLabelExpressions": [{"key": "a", "values": ["x", "x"]}, {"key": "a", "values": []}]});
    create(
        to,
        &json!({"provisioner": "-", "reclaimPolicy": "Recycle", "allowedTopologies": [term], "parameters": {"": "x"}}),
        &[
            "provisioner: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start \
             and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "parameters: Invalid value: \"\": field can not be empty.",
            "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"",
            "allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: \"x\"",
            "allowedTopologies[0].matchLabelExpressions[1].values: Required value",
            "allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: \"a\"",
        ],
    );
    update(
        to,
        &json!({"provisioner": "p", "parameters": {"a": "1"}}),
        &json!({"provisioner": "p"}),
        &["parameters: Invalid value: null: field is immutable"],
    );
    let classes = (STORAGE, "volumeattributesclasses");
    create(
        classes,
        &json!({"driverName": "d"}),
        &["parameters: Required value: must contain at least one key/value pair"],
    );
    update(
        classes,
        &json!({"driverName": "e", "parameters": {"a": "1"}}),
        &json!({"driverName": "d", "parameters": {"a": "1"}}),
        &["driverName: Forbidden: updates to driverName are forbidden."],
    );
    let capacities = (STORAGE, "csistoragecapacities");
    create(
        capacities,
        &json!({"storageClassName": "c", "capacity": "-1"}),
        &["capacity: Invalid value: \"-1\": must be greater than or equal to 0"],
    );
    update(
        capacities,
        &json!({"storageClassName": "d"}),
        &json!({"storageClassName": "c"}),
        &["storageClassName: Invalid value: \"d\": field is immutable"],
    );
}

#[test]
fn drivers() {
    let to = (STORAGE, "csidrivers");
    create(to, &json!({"spec": {}}), &[]);
    create(
        to,
        &json!({"spec": {"fsGroupPolicy": "Some", "volumeLifecycleModes": ["Eternal"], "serviceAccountTokenInSecrets": true, "nodeAllocatableUpdatePeriodSeconds": 9}}),
        &[
            "spec.fsGroupPolicy: Unsupported value: \"Some\": supported values: \"File\", \"None\", \"ReadWriteOnceWithFSType\"",
            "spec.volumeLifecycleModes: Unsupported value: \"Eternal\": supported values: \"Persistent\", \"Ephemeral\"",
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
            "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are \
             specified",
        ],
    );
    create(
        to,
        &json!({"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}]}}),
        &[
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
            "spec.tokenRequests[1].audience: Duplicate value: \"a\"",
        ],
    );
    update(
        to,
        &json!({"spec": {"attachRequired": false}}),
        &json!({"spec": {"attachRequired": true}}),
        &["spec.attachedRequired: Invalid value: false: field is immutable"],
    );
    let nodes = (STORAGE, "csinodes");
    let node = |driver: Value| json!({"spec": {"drivers": [driver]}});
    create(
        nodes,
        &node(json!({"name": "A_", "topologyKeys": ["k", "k"], "allocatable": {"count": -1}})),
        &[
            "spec.drivers[0].name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.drivers[0].nodeID: Required value",
            "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
            "spec.drivers[0]: Duplicate value: \"k\"",
        ],
    );
    let driver =
        |id: &str, count: u32| node(json!({"name": "d", "nodeID": id, "allocatable": {"count": count}}));
    update(nodes, &driver("a", 2), &driver("a", 1), &[]);
    update(
        nodes,
        &driver("b", 2),
        &driver("a", 1),
        &["spec.drivers: Invalid value: {\"name\":\"d\",\"nodeID\":\"b\"}: field is immutable"],
    );
}

#[test]
fn attachments() {
    let to = (STORAGE, "volumeattachments");
    let attachment = |node: &str| json!({"spec": {"attacher": "a.b", "nodeName": node, "source": {"persistentVolumeName": "v"}}});
    create(to, &attachment("n"), &[]);
    create(
        to,
        &with(
            &attachment("n"),
            &[
                ("/spec/source", json!({})),
                ("/spec/attacher", json!("a".repeat(64))),
            ],
        ),
        &[
            "spec.attacher: Too long: may not be more than 63 characters",
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
        ],
    );
    update(
        to,
        &attachment("m"),
        &attachment("n"),
        &["spec: Invalid value: null: field is immutable"],
    );
    report(
        to,
        &attachment("n"),
        json!({"attached": false, "attachError": {"message": "x".repeat(1025), "errorCode": -1}}),
        json!({"attached": false}),
        &[
            "status.attachError.message: Too long: may not be more than 1024 bytes",
            "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ],
    );
}
