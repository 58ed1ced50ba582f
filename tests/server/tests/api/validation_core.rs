//! What is wrong with objects of the core group, as clients are told: each field, and the text of the whole.
//!
//! Upstream: pkg/apis/core/validation, pkg/apis/core/v1/validation and the allocators of pkg/registry/core/service.

use serde_json::{Value, json};

use crate::harness::{Ask, MAPS, PODS, Server, text};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const NODES: &str = "/api/v1/nodes";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
const RANGES: &str = "/api/v1/namespaces/default/limitranges";
const OLD_EVENTS: &str = "/api/v1/namespaces/default/events";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// Nothing is wrong: rows that follow may need the object.
const STORED: &[&str] = &[];

/// Long texts, by what rows have in their place.
const TEXTS: [(&str, &str); 4] = [
    (
        "<label>",
        r"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ),
    (
        "<subdomain>",
        r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
    (
        "<qualified>",
        r"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ),
    (
        "<key>",
        r"a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ),
];

fn create(all: &str, name: &str, mut object: Value) -> Ask {
    object["metadata"]["name"] = json!(name);
    Ask::json(format!("POST {all}"), &object)
}

fn merge(path: &str, patch: Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed("application/merge-patch+json", patch.to_string())
}

fn strategic(path: &str, patch: Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed("application/strategic-merge-patch+json", patch.to_string())
}

/// Each row is a request to one server, in order, and what is wrong with it: `field: message`.
async fn check(rows: &[(Ask, &[&str])]) {
    let server = Server::start().await;
    let mut wrong = Vec::new();
    for (ask, expect) in rows {
        let expect: Vec<String> = expect.iter().map(|one| spelled_out(one)).collect();
        let answer = server.ask(ask.clone()).await;
        let stored = answer.code < 300;
        let found = if stored { Vec::new() } else { causes(&answer.body) };
        let same = found.len() == expect.len()
            && found
                .iter()
                .zip(&expect)
                .all(|(found, expect)| is_as(found, expect));
        if !same || (found.is_empty() != stored) {
            let body = String::from_utf8_lossy(&ask.body);
            wrong.push(format!(
                "{} {body}
  {expect:#?}
  {} {found:#?}",
                ask.line, answer.code
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "expected and found:
{}",
        wrong.join(
            "
"
        )
    );
}

/// The causes of a refusal, as `field: message`. The text of the whole has each of them once.
fn causes(status: &Value) -> Vec<String> {
    let details = &status["details"];
    let causes: Vec<String> = details["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(cause)
        .collect();
    let mut once = Vec::new();
    for cause in &causes {
        if !once.contains(cause) {
            once.push(cause.clone());
        }
    }
    let all = match &*once {
        [one] => one.clone(),
        more => format!("[{}]", more.join(", ")),
    };
    let (kind, name) = (text(&details["kind"]), text(&details["name"]));
    assert_eq!(
        text(&status["message"]),
        format!("{kind} {name:?} is invalid: {all}")
    );
    assert_eq!(
        (&status["code"], text(&status["reason"])),
        (&json!(422), "Invalid")
    );
    causes
}

/// Whether a text is the expected one, which may stop where only people read on.
fn is_as(found: &str, expect: &str) -> bool {
    expect
        .strip_suffix('…')
        .map_or(found == expect, |start| found.starts_with(start))
}

fn spelled_out(expect: &str) -> String {
    TEXTS
        .iter()
        .fold(expect.to_owned(), |text, (short, long)| text.replace(short, long))
}

/// A cause as `field: message`; its reason says in one word what its message begins with.
fn cause(cause: &Value) -> String {
    let message = text(&cause["message"]);
    let reason = match message.split(':').next().unwrap() {
        "Required value" => "FieldValueRequired",
        "Duplicate value" => "FieldValueDuplicate",
        "Unsupported value" => "FieldValueNotSupported",
        "Not found" => "FieldValueNotFound",
        "Forbidden" => "FieldValueForbidden",
        _ => "FieldValueInvalid",
    };
    assert_eq!(cause["reason"], reason, "{cause}");
    format!("{}: {message}", text(&cause["field"]))
}

#[tokio::test]
async fn pods() {
    check(&[
        (
            create(PODS, "p", json!({"spec": {"containers": []}})),
            &["spec.containers: Required value"],
        ),
        (
            create(PODS, "P_1", json!({"spec": {"containers": [{"name": "C", "image": ""}]}})),
            &[
                r#"metadata.name: Invalid value: "P_1": <subdomain>"#,
                r#"spec.containers[0].name: Invalid value: "C": <label>"#,
                "spec.containers[0].image: Required value",
            ],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 0}, {"containerPort": 70000, "protocol": "X"}]}]}})),
            &[
                "spec.containers[0].ports[0].containerPort: Required value",
                "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                r#"spec.containers[0].ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP""#,
            ],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 81}]}], "hostNetwork": true}})),
            &["spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Sometimes", "dnsPolicy": "X"}})),
            &[
                r#"spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never""#,
                r#"spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None""#,
            ],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}})),
            &[r#"spec.containers[0].volumeMounts[0].name: Not found: "v""#],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]}})),
            &["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]}})),
            &[r#"spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "a=b", "value": "1"}, {"name": "E", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}]}})),
            &[
                r#"spec.containers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='"#,
                r#"spec.containers[0].env[1].valueFrom: Invalid value: "": may not be specified when `value` is not empty"#,
            ],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i", "livenessProbe": {"httpGet": {"port": 80}, "exec": {"command": ["true"]}, "periodSeconds": -1}}]}})),
            &[
                "spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
                "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"operator": "Exists", "value": "x"}], "activeDeadlineSeconds": 0}})),
            &[
                "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
                r#"spec.tolerations[0].operator: Invalid value: "x": value must be empty when `operator` is 'Exists'"#,
            ],
        ),
        (
            create(PODS, "p", json!({"spec": {"containers": [{"name": "c", "image": "i"}], "ephemeralContainers": [{"name": "e", "image": "i"}]}})),
            &["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        ),
        (
            create(PODS, "web", json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}}]}})),
            STORED,
        ),
        (
            merge(&format!("{PODS}/web"), json!({"spec": {"restartPolicy": "Never"}})),
            &["spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n…"],
        ),
        (
            strategic(&format!("{PODS}/web"), json!({"spec": {"containers": [{"name": "c", "image": " "}]}})),
            &[r#"spec.containers[0].image: Invalid value: " ": must not have leading or trailing whitespace"#],
        ),
        (
            merge(&format!("{PODS}/web"), json!({"spec": {"activeDeadlineSeconds": -5}})),
            &[
                "spec.activeDeadlineSeconds: Invalid value: -5: must be between 1 and 2147483647, inclusive",
                "spec.activeDeadlineSeconds: Invalid value: -5: must be between 0 and 2147483647, inclusive",
            ],
        ),
        (
            strategic(&format!("{PODS}/web/resize"), json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "3Gi"}}}]}})),
            &[r#"spec.containers[0].resources.requests: Invalid value: "3Gi": must be less than or equal to memory limit of 2Gi"#],
        ),
        (
            strategic(&format!("{PODS}/web/ephemeralcontainers"), json!({"spec": {"ephemeralContainers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1}]}]}})),
            &[
                r#"spec.ephemeralContainers[0].name: Duplicate value: "c""#,
                "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
            ],
        ),
        (
            merge(&format!("{PODS}/web/status"), json!({"status": {"containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": -1}], "qosClass": "Guaranteed"}})),
            &[r#"status.qosClass: Invalid value: "Guaranteed": field is immutable"#],
        ),
    ])
    .await;
}

#[tokio::test]
async fn services() {
    check(&[
        (
            create(SERVICES, "s", json!({"spec": {}})),
            &["spec.ports: Required value"],
        ),
        (
            create(SERVICES, "1s", json!({"spec": {"ports": [{"port": 80}]}})),
            STORED,
        ),
        (
            create(SERVICES, "s", json!({"spec": {"ports": [{"port": 80}, {"port": 80}]}})),
            &[
                "spec.ports[0].name: Required value",
                "spec.ports[1].name: Required value",
                "spec.ports[1]: Duplicate value: {…",
            ],
        ),
        (
            create(SERVICES, "s", json!({"spec": {"ports": [{"port": 0, "protocol": "X", "targetPort": "Bad_Name"}]}})),
            &[
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                r#"spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP""#,
                r#"spec.ports[0].targetPort: Invalid value: "Bad_Name": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"#,
            ],
        ),
        (
            create(SERVICES, "s", json!({"spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.x"}})),
            &[r#"spec.clusterIPs[0]: Invalid value: "10.0.0.x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#],
        ),
        (
            create(SERVICES, "s", json!({"spec": {"ports": [{"port": 80}], "type": "Other", "sessionAffinity": "Maybe"}})),
            &[
                r#"spec.sessionAffinity: Unsupported value: "Maybe": supported values: "ClientIP", "None""#,
                r#"spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#,
            ],
        ),
        (
            create(SERVICES, "s", json!({"spec": {"type": "ExternalName", "externalName": "Not_A.Name"}})),
            &[r#"spec.externalName: Invalid value: "Not_A.Name": <subdomain>"#],
        ),
        (
            create(SERVICES, "s", json!({"spec": {"ports": [{"port": 80}], "type": "NodePort", "clusterIP": "None"}})),
            &[r#"spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services"#],
        ),
        (
            create(SERVICES, "s", json!({"spec": {"ports": [{"port": 80, "nodePort": 30100}]}})),
            &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            create(SERVICES, "s", json!({"spec": {"ports": [{"port": 80, "nodePort": 80}], "type": "NodePort"}})),
            &["spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"],
        ),
        (
            create(SERVICES, "one", json!({"spec": {"ports": [{"port": 80, "nodePort": 30100}], "type": "NodePort", "clusterIP": "10.0.0.77"}})),
            STORED,
        ),
        (
            create(SERVICES, "two", json!({"spec": {"ports": [{"port": 80, "nodePort": 30100}], "type": "NodePort"}})),
            &["spec.ports[0].nodePort: Invalid value: 30100: provided port is already allocated"],
        ),
        (
            create(SERVICES, "two", json!({"spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.77"}})),
            &[r#"spec.clusterIPs: Invalid value: ["10.0.0.77"]: failed to allocate IP 10.0.0.77: provided IP is already allocated"#],
        ),
        (
            create(SERVICES, "two", json!({"spec": {"ports": [{"port": 80}], "clusterIP": "192.168.0.1"}})),
            &[r#"spec.clusterIPs: Invalid value: ["192.168.0.1"]: failed to allocate IP 192.168.0.1: the provided network does not match the current range"#],
        ),
        (
            create(SERVICES, "two", json!({"spec": {"ports": [{"port": 80}], "ipFamilies": ["IPv4", "IPv4"], "ipFamilyPolicy": "SingleStack"}})),
            &[r#"spec.ipFamilies[1]: Duplicate value: "IPv4""#],
        ),
        (
            create(SERVICES, "two", json!({"spec": {"ports": [{"port": 80}], "loadBalancerIP": "x", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30200}})),
            &[
                r#"spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services"#,
                "spec.healthCheckNodePort: Invalid value: 30200: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            ],
        ),
        (
            merge(&format!("{SERVICES}/one"), json!({"spec": {"clusterIP": "10.0.0.78", "clusterIPs": ["10.0.0.78"]}})),
            &[r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.78"]: may not change once set"#],
        ),
        (
            merge(&format!("{SERVICES}/one"), json!({"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/40"]}})),
            &[r#"spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/40": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#],
        ),
        (
            merge(&format!("{SERVICES}/one/status"), json!({"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3"}]}}})),
            &["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn secrets_and_config_maps() {
    check(&[
        (
            create(MAPS, "m", json!({"data": {"a b": "1"}})),
            &[r#"data[a b]: Invalid value: "a b": <key>"#],
        ),
        (
            create(MAPS, "m", json!({"data": {"a": "1"}, "binaryData": {"a": "MQ=="}})),
            &[r#"data[a]: Invalid value: "a": duplicate of key present in binaryData"#],
        ),
        (
            create(MAPS, "m", json!({"data": {"a": "1"}, "immutable": true})),
            STORED,
        ),
        (
            merge(&format!("{MAPS}/m"), json!({"data": {"a": "2"}})),
            &["data: Forbidden: field is immutable when `immutable` is set"],
        ),
        (
            merge(&format!("{MAPS}/m"), json!({"immutable": false})),
            &["immutable: Forbidden: field is immutable when `immutable` is set"],
        ),
        (
            create(SECRETS, "s", json!({"data": {"a/b": "MQ=="}})),
            &[r#"data[a/b]: Invalid value: "a/b": <key>"#],
        ),
        (
            create(SECRETS, "s", json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}})),
            &["data[tls.key]: Required value"],
        ),
        (
            create(SECRETS, "s", json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{"}})),
            &[r#"data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input"#],
        ),
        (
            create(SECRETS, "s", json!({"type": "kubernetes.io/basic-auth"})),
            &[
                "data[username]: Required value",
                "data[password]: Required value",
            ],
        ),
        (
            create(SECRETS, "s", json!({"type": "kubernetes.io/ssh-auth"})),
            &["data[ssh-privatekey]: Required value"],
        ),
        (
            create(SECRETS, "s", json!({"type": "kubernetes.io/service-account-token"})),
            &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        (
            create(SECRETS, "s", json!({"stringData": {"a": "1"}, "immutable": true})),
            STORED,
        ),
        (
            merge(&format!("{SECRETS}/s"), json!({"type": "other"})),
            &[r#"type: Invalid value: "other": field is immutable"#],
        ),
        (
            merge(&format!("{SECRETS}/s"), json!({"stringData": {"a": "2"}})),
            &["data: Forbidden: field is immutable when `immutable` is set"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn volumes_and_claims() {
    check(&[
        (
            create(VOLUMES, "v", json!({"spec": {}})),
            &[
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                r#"spec.capacity: Unsupported value: null: supported values: "storage""#,
                "spec: Required value: must specify a volume type",
            ],
        ),
        (
            create(VOLUMES, "v", json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadSometimes"], "hostPath": {"path": "/a"}, "persistentVolumeReclaimPolicy": "Keep"}})),
            &[
                r#"spec.accessModes: Unsupported value: "ReadSometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod""#,
                r#"spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain""#,
            ],
        ),
        (
            create(VOLUMES, "v", json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a/../b", "type": "Tape"}}})),
            &[
                r#"spec.hostPath.path: Invalid value: "/a/../b": must not contain '..'"#,
                r#"spec.hostPath.type: Unsupported value: "Tape": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket""#,
            ],
        ),
        (
            create(VOLUMES, "v", json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/a"}}})),
            &["spec.nodeAffinity: Required value: Local volume requires node affinity"],
        ),
        (
            create(VOLUMES, "v", json!({"spec": {"capacity": {"storage": "0"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}, "storageClassName": "Fast!", "volumeMode": "Tape"}})),
            &[
                r#"spec.capacity[storage]: Invalid value: "0": must be greater than zero"#,
                r#"spec.storageClassName: Invalid value: "Fast!": <subdomain>"#,
                r#"spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem""#,
            ],
        ),
        (
            create(VOLUMES, "reel", json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}})),
            STORED,
        ),
        (
            merge(&format!("{VOLUMES}/reel"), json!({"spec": {"volumeMode": "Block"}})),
            &[r#"volumeMode: Invalid value: "Block": field is immutable"#],
        ),
        (
            create(CLAIMS, "c", json!({"spec": {}})),
            &[
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        ),
        (
            create(CLAIMS, "c", json!({"spec": {"accessModes": ["ReadSometimes"], "resources": {"requests": {"storage": "-1"}}}})),
            &[
                r#"spec.accessModes: Unsupported value: "ReadSometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod""#,
                r#"spec.resources[storage]: Invalid value: "-1": must be greater than zero"#,
            ],
        ),
        (
            create(CLAIMS, "c", json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Tape", "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}})),
            &[
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                r#"spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem""#,
            ],
        ),
        (
            create(CLAIMS, "c", json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "dataSource": {"kind": "PersistentVolumeClaim", "name": ""}}})),
            &[
                "spec.dataSource.name: Required value",
                "spec.dataSourceRef.name: Required value",
            ],
        ),
        (
            create(CLAIMS, "need", json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}})),
            STORED,
        ),
        (
            merge(&format!("{CLAIMS}/need"), json!({"spec": {"accessModes": ["ReadOnlyMany"]}})),
            &["spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n…"],
        ),
        (
            merge(&format!("{CLAIMS}/need"), json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}})),
            &["spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n…"],
        ),
        (
            merge(&format!("{CLAIMS}/need/status"), json!({"status": {"capacity": {"storage": "-1"}}})),
            &["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn nodes() {
    check(&[
        (
            create(NODES, "n", json!({"spec": {"taints": [{"key": "a", "effect": "Sometimes"}, {"key": "b c", "effect": "NoSchedule"}]}})),
            &[
                r#"metadata.taints[0].effect: Unsupported value: "Sometimes": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
                r#"metadata.taints[1].key: Invalid value: "b c": <qualified>"#,
            ],
        ),
        (
            create(NODES, "n", json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "x"}]}})),
            &["metadata.taints[1]: Duplicate value: {…"],
        ),
        (
            create(NODES, "n", json!({"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}})),
            &[r#"spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family"#],
        ),
        (
            create(NODES, "node", json!({"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "a://b"}})),
            STORED,
        ),
        (
            merge(&format!("{NODES}/node"), json!({"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}})),
            &[r#"spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid"#],
        ),
        (
            merge(&format!("{NODES}/node"), json!({"spec": {"providerID": "a://c"}})),
            &["spec.providerID: Invalid value: null: field cannot be modified once set"],
        ),
        (
            merge(&format!("{NODES}/node/status"), json!({"status": {"addresses": [{"type": "InternalIP", "address": "1.1.1.1"}, {"type": "InternalIP", "address": "1.1.1.1"}], "capacity": {"cpu": "-1"}}})),
            &[
                r#"status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0"#,
                r#"status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0"#,
                "status.addresses[1]: Duplicate value: {…",
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn quotas_and_ranges() {
    check(&[
        (
            create(QUOTAS, "q", json!({"spec": {"hard": {"unheard": "1"}}})),
            &[
                r#"spec.hard[unheard]: Invalid value: "unheard": must be a standard resource type or fully qualified"#,
                r#"spec.hard[unheard]: Invalid value: "unheard": must be a standard resource for quota"#,
            ],
        ),
        (
            create(QUOTAS, "q", json!({"spec": {"hard": {"pods": "1.5"}, "scopes": ["BestEffort", "NotBestEffort"]}})),
            &[
                r#"spec.hard[pods]: Invalid value: "1500m": must be an integer"#,
                r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes"#,
            ],
        ),
        (
            create(QUOTAS, "quota", json!({"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}})),
            STORED,
        ),
        (
            merge(&format!("{QUOTAS}/quota"), json!({"spec": {"scopes": ["NotBestEffort"]}})),
            &[r#"spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable"#],
        ),
        (
            merge(&format!("{QUOTAS}/quota/status"), json!({"status": {"hard": {"pods": "1"}, "used": {"pods": "-2"}}})),
            &[r#"status.used[pods]: Invalid value: "-2": must be greater than or equal to 0"#],
        ),
        (
            create(RANGES, "l", json!({"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, {"type": "Container"}]}})),
            &[
                r#"spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1"#,
                r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1"#,
                r#"spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1"#,
                r#"spec.limits[1].type: Duplicate value: "Container""#,
            ],
        ),
        (
            create(RANGES, "l", json!({"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}, {"type": "Car"}]}})),
            &[
                "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
                r#"spec.limits[1].type: Invalid value: "Car": must be a standard limit type or fully qualified"#,
            ],
        ),
        (
            create(RANGES, "l", json!({"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "500m"}}]}})),
            &[
                r#"spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1"#,
                r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1"#,
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn events() {
    check(&[
        (
            create(OLD_EVENTS, "e", json!({"involvedObject": {"kind": "Pod", "name": "p", "namespace": "other"}})),
            &[r#"involvedObject.namespace: Invalid value: "other": does not match event.namespace"#],
        ),
        (
            create(OLD_EVENTS, "e", json!({"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "eventTime": "2020-01-01T00:00:00.000000Z"})),
            &[
                "reportingComponent: Required value",
                r#"reportingComponent: Invalid value: "": name part must be non-empty"#,
                r#"reportingComponent: Invalid value: "": <qualified>"#,
                "reportingInstance: Required value",
                "action: Required value",
                "reason: Required value",
            ],
        ),
        (
            create(EVENTS, "e", json!({"regarding": {"kind": "Pod", "name": "p", "namespace": "default"}})),
            &[
                "eventTime: Required value",
                r#"type: Invalid value: "": has invalid value: "#,
            ],
        ),
        (
            create(EVENTS, "e", json!({"regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "eventTime": "2020-01-01T00:00:00.000000Z", "type": "Odd", "reportingController": "a b", "reportingInstance": "i", "action": "A", "reason": "R"})),
            &[
                r#"reportingController: Invalid value: "a b": <qualified>"#,
                r#"type: Invalid value: "": has invalid value: Odd"#,
            ],
        ),
        (
            create(EVENTS, "e", json!({"regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "eventTime": "2020-01-01T00:00:00.000000Z", "type": "Normal", "reportingController": "c", "reportingInstance": "i", "action": "A", "reason": "R", "series": {"count": 1, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}})),
            &[r#"series.count: Invalid value: "": should be at least 2"#],
        ),
        (
            create(EVENTS, "event", json!({"regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "eventTime": "2020-01-01T00:00:00.000000Z", "type": "Normal", "reportingController": "c", "reportingInstance": "i", "action": "A", "reason": "R"})),
            STORED,
        ),
        (
            merge(&format!("{EVENTS}/event"), json!({"reason": "Other", "note": "n"})),
            &[
                r#"reason: Invalid value: "Other": field is immutable"#,
                r#"message: Invalid value: "n": field is immutable"#,
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn namespaces_and_accounts() {
    check(&[
        (
            create("/api/v1/namespaces", "A.b", json!({})),
            &[r#"metadata.name: Invalid value: "A.b": <label>"#],
        ),
        (
            create("/api/v1/namespaces", "a", json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}, "spec": {"finalizers": ["x y"]}})),
            &[
                r#"spec.finalizers: Invalid value: "x y": <qualified>"#,
                r#"spec.finalizers: Invalid value: "x y": name is neither a standard finalizer name nor is it fully qualified"#,
            ],
        ),
        (
            create("/api/v1/namespaces/default/serviceaccounts", "No_Name", json!({})),
            &[r#"metadata.name: Invalid value: "No_Name": <subdomain>"#],
        ),
        (
            create("/api/v1/namespaces/default/serviceaccounts", "a", json!({"metadata": {"annotations": {"A b": "1"}, "finalizers": ["x"]}})),
            &[
                r#"metadata.annotations: Invalid value: "A b": <qualified>"#,
                r#"metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified"#,
            ],
        ),
        (
            create("/api/v1/namespaces/default/endpoints", "e", json!({"subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 0}]}, {}]})),
            &[
                r#"subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)"#,
                "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "subsets[1]: Required value: must specify `addresses` or `notReadyAddresses`",
            ],
        ),
        (
            create("/api/v1/namespaces/default/replicationcontrollers", "r", json!({"spec": {"replicas": -1, "selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "c"}}, "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}})),
            &[
                r#"spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`"#,
                r#"spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#,
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            create("/api/v1/namespaces/default/podtemplates", "t", json!({"template": {"spec": {"containers": []}}})),
            &["template.spec.containers: Required value"],
        ),
    ])
    .await;
}
