//! Rights, leases, priorities, runtimes, APIs and flow control.

use super::*;
use base64::Engine as _;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

#[test]
fn roles_and_bindings() {
    create(
        (RBAC, "roles"),
        &json!({"metadata": {"name": "a:b"}, "rules": [{}, {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]}),
        &[
            "rules[0].verbs: Required value",
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
            "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
            "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and non-resource URLs",
        ],
    );
    create(
        (RBAC, "clusterroles"),
        &json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}], "aggregationRule": {}}),
        &[
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is \
             non-nil",
        ],
    );
    let binding = |kind: &str, name: &str, subjects: Value| json!({"roleRef": {"kind": kind, "name": name}, "subjects": subjects});
    create(
        (RBAC, "rolebindings"),
        &binding(
            "Role",
            "",
            json!([{"kind": "Robot", "name": "r"}, {"kind": "User"}, {"kind": "ServiceAccount", "name": "A", "apiGroup": "x"}]),
        ),
        &[
            "roleRef.name: Required value",
            "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
            "subjects[1].name: Required value",
            "subjects[2].name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "subjects[2].apiGroup: Unsupported value: \"x\": supported values: \"\"",
        ],
    );
    create(
        (RBAC, "clusterrolebindings"),
        &binding("Role", "r", json!([{"kind": "ServiceAccount", "name": "a"}])),
        &[
            "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
            "subjects[0].namespace: Required value",
        ],
    );
    update(
        (RBAC, "rolebindings"),
        &binding("Role", "b", json!([])),
        &binding("Role", "a", json!([])),
        &[
            "roleRef: Invalid value: {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"b\"}: field is immutable",
        ],
    );
}

#[test]
fn leases() {
    let to = ("coordination.k8s.io/v1", "leases");
    create(
        to,
        &json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1, "preferredHolder": "x"}}),
        &[
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
    // What coordinates an election is left out unless it is stored already.
    create(to, &json!({"spec": {"strategy": "Newest"}}), &[]);
    let stored = |spec: Value| {
        let lease = json!({"spec": spec});
        let errors = crate::builtin::validation::groups::cluster::lease(&lease, Some(&lease));
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        stored(json!({"preferredHolder": "x"})),
        ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"]
    );
    assert_eq!(
        stored(json!({"strategy": "Newest"})),
        [
            "spec.strategy.strategy: Unsupported value: \"Newest\": supported values: \"OldestEmulationVersion\"",
        ]
    );
    let candidates = ("coordination.k8s.io/v1beta1", "leasecandidates");
    let candidate = |emulation: &str, binary: &str| json!({"metadata": {"name": "a_B"}, "spec": {"leaseName": "l", "emulationVersion": emulation, "binaryVersion": binary, "strategy": "OldestEmulationVersion"}});
    create(candidates, &candidate("1.36.0", "1.37.0-rc.1+abc"), &[]);
    create(
        candidates,
        &candidate("1.38.0", "1.37.0"),
        &[
            "spec.binaryVersion: Invalid value: \"1.37.0\": must be greater than or equal to `emulationVersion`",
        ],
    );
    create(
        candidates,
        &candidate("1.036.0", "1.37"),
        &[
            "spec.emulationVersion: Invalid value: \"1.036.0\": must be a valid semantic version",
            "spec.binaryVersion: Invalid value: \"1.37\": must be a valid semantic version",
            "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
        ],
    );
    update(
        candidates,
        &with(&candidate("1.36.0", "1.36.0"), &[("/spec/leaseName", json!("m"))]),
        &candidate("1.36.0", "1.36.0"),
        &["spec.leaseName: Invalid value: \"m\": field is immutable"],
    );
}

#[test]
fn priorities_and_runtimes() {
    let classes = ("scheduling.k8s.io/v1", "priorityclasses");
    let class = |name: &str, value: i64| json!({"metadata": {"name": name}, "value": value});
    create(classes, &class("system-node-critical", 2_000_001_000), &[]);
    create(
        classes,
        &class("system-x", 1),
        &[
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: \
           system-x is not a known system priority class",
        ],
    );
    create(
        classes,
        &class("system-node-critical", 1),
        &[
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value \
           of system-node-critical PriorityClass must be 2000001000",
        ],
    );
    create(
        classes,
        &class("x", 1_000_000_001),
        &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    );
    update(
        classes,
        &with(&class("x", 2), &[("/preemptionPolicy", json!("Never"))]),
        &class("x", 1),
        &[
            "value: Forbidden: may not be changed in an update.",
            "preemptionPolicy: Invalid value: \"Never\": field is immutable",
        ],
    );
    let runtimes = ("node.k8s.io/v1", "runtimeclasses");
    create(
        runtimes,
        &json!({"handler": "A.b", "scheduling": {"tolerations": [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Exists"}]}}),
        &[
            "handler: Invalid value: \"A.b\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
             and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "scheduling.tolerations[1]: Duplicate value: {\"key\":\"a\",\"operator\":\"Exists\"}",
        ],
    );
    update(
        runtimes,
        &json!({"handler": "b"}),
        &json!({"handler": "a"}),
        &["handler: Invalid value: null: field is immutable"],
    );
}

#[test]
fn api_services() {
    let to = ("apiregistration.k8s.io/v1", "apiservices");
    let service = |spec: Value| json!({"metadata": {"name": "v1.example.com"}, "spec": spec});
    let good =
        json!({"group": "example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1});
    create(to, &service(good.clone()), &[]);
    create(
        to,
        &service(with(
            &good,
            &[
                ("/caBundle", json!("YWJj")),
                ("/insecureSkipTLSVerify", json!(true)),
            ],
        )),
        &[
            "spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not have a caBundle",
            "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
        ],
    );
    create(
        to,
        &service(with(
            &good,
            &[
                ("/service", json!({"port": 0})),
                ("/versionPriority", json!(1001)),
                ("/group", json!("")),
            ],
        )),
        &[
            "metadata.name: Invalid value: \"v1.example.com\": must be `spec.version+\".\"+spec.group`: \"v1.\"",
            "spec.service.namespace: Required value",
            "spec.service.name: Required value",
            "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
            "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
        ],
    );
}

#[test]
fn flow_control() {
    let schemas = ("flowcontrol.apiserver.k8s.io/v1", "flowschemas");
    let schema =
        |rule: Value| json!({"spec": {"priorityLevelConfiguration": {"name": "p"}, "rules": [rule]}});
    let user = json!([{"kind": "User", "user": {"name": "u"}}]);
    create(
        schemas,
        &schema(
            json!({"subjects": user, "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/a/*"]}]}),
        ),
        &[],
    );
    create(
        schemas,
        &schema(
            json!({"subjects": [{"kind": "User", "group": {"name": "g"}}], "nonResourceRules": [{"verbs": ["get", "*"], "nonResourceURLs": ["a", "/a*"]}]}),
        ),
        &[
            "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
            "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
            "spec.rules[0].nonResourceRules[0].verbs: Invalid value: [\"get\",\"*\"]: if '*' is present, must not specify other \
             verbs",
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"a\": must start with slash",
            "spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: \"/a*\": wildcard can only do suffix matching",
        ],
    );
    create(
        schemas,
        &with(
            &schema(json!({"subjects": user})),
            &[
                ("/spec/matchingPrecedence", json!(1)),
                ("/spec/priorityLevelConfiguration/name", json!("")),
            ],
        ),
        &[
            "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
            "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
            "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
        ],
    );
    let levels = ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations");
    let level = |queuing: Value| json!({"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": queuing}}}});
    create(levels, &level(json!({})), &[]);
    create(
        levels,
        &level(json!({"queues": 512, "handSize": 8, "queueLengthLimit": -1})),
        &[
            "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 512 and handSize 8 \
             should not be greater than 60",
        ],
    );
    create(
        levels,
        &json!({"spec": {"type": "Exempt", "limited": {"limitResponse": {"type": "Reject"}}}}),
        &[
            "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
            "spec.limited: Forbidden",
        ],
    );
    create(
        levels,
        &json!({"metadata": {"name": "catch-all"}, "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}}}),
        &[],
    );
}

/// A request of `/CN=a` with an elliptic key.
const REQUEST: &str = "-----BEGIN CERTIFICATE REQUEST-----
MIHGMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BBWEpggLV8WNAIu2NshtmRbRE7V44s8bpVYIS3GM4p2PKqRdHJ1yvau8MTiI52P8
z3H+vF4jjZk/cWjC4yOInHqgADAKBggqhkjOPQQDAgNIADBFAiAkcXjcxETN+qtA
l7TxFGbHdnj02pXGbGGI9bcVUrMydwIhAPkqUwj6dqqepVMtZoiuX0zGhHkySKnP
BpakWTeO7Eto
-----END CERTIFICATE REQUEST-----
";

#[test]
fn requests_of_users_for_certificates() {
    let to = ("certificates.k8s.io/v1", "certificatesigningrequests");
    let pem = |kind: &str| {
        let text = format!("-----BEGIN {kind}-----\nMQ==\n-----END {kind}-----\n");
        base64::engine::general_purpose::STANDARD.encode(text)
    };
    let request = |request: &str, signer: &str, usages: Value| json!({"metadata": {"name": "A:b"}, "spec": {"request": request, "signerName": signer, "usages": usages}});
    let good = request(
        &base64::engine::general_purpose::STANDARD.encode(REQUEST),
        "example.com/a",
        json!(["client auth"]),
    );
    create(to, &good, &[]);
    let none = pem("CERTIFICATE REQUEST");
    create(
        to,
        &request(&none, "example.com/a", json!(["client auth"])),
        &[&format!(
            "spec.request: Invalid value: \"{none}\": asn1: syntax error: truncated tag or length"
        )],
    );
    create(
        to,
        &request(&pem("CERTIFICATE"), "kubernetes.io/legacy-unknown", json!([])),
        &[
            &format!(
                "spec.request: Invalid value: \"{}\": PEM block type must be CERTIFICATE REQUEST",
                pem("CERTIFICATE")
            ),
            "spec.usages: Required value",
            "spec.signerName: Invalid value: \"kubernetes.io/legacy-unknown\": the legacy signerName is not allowed via this API \
             version",
        ],
    );
    create(
        to,
        &with(
            &request("Zm9v", "x", json!(["client auth", "foo", "client auth"])),
            &[("/spec/expirationSeconds", json!(599))],
        ),
        &[
            "spec.request: Invalid value: \"Zm9v\": PEM block type must be CERTIFICATE REQUEST",
            "spec.usages[1]: Unsupported value: \"foo\": supported values: \"any\", \"cert sign\", \"client auth\", \"code signing\", \
             \"content commitment\", \"crl sign\", \"data encipherment\", \"decipher only\", \"digital signature\", \"email \
             protection\", \"encipher only\", \"ipsec end system\", \"ipsec tunnel\", \"ipsec user\", \"key agreement\", \"key \
             encipherment\", \"microsoft sgc\", \"netscape sgc\", \"ocsp signing\", \"s/mime\", \"server auth\", \"signing\", \
             \"timestamping\"",
            "spec.usages[2]: Duplicate value: \"client auth\"",
            "spec.signerName: Invalid value: \"x\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
        ],
    );
}

#[test]
fn certificates() {
    let bundles = ("certificates.k8s.io/v1", "clustertrustbundles");
    let block = |kind: &str, body: &str| format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n");
    let bundle = |name: &str, signer: &str, text: &str| json!({"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": text}});
    let good = block("CERTIFICATE", "MQ==");
    create(
        bundles,
        &bundle("example.com:signer:a", "example.com/signer", &good),
        &[],
    );
    create(bundles, &bundle("a", "", &good), &[]);
    create(
        bundles,
        &bundle("a", "example.com/signer", &block("KEY", "MQ==")),
        &[
            "metadata.name: Invalid value: \"a\": ClusterTrustBundle for signerName example.com/signer must be named with prefix \
             example.com:signer:",
            "spec.trustBundle: Invalid value: \"<value omitted>\": entry 0 has bad block type: KEY",
        ],
    );
    create(
        bundles,
        &bundle("a", "", &format!("{good}{good}")),
        &["spec.trustBundle: Invalid value: \"<value omitted>\": duplicate trust anchor (indices [0 1])"],
    );
    create(
        bundles,
        &bundle("a", "", ""),
        &["spec.trustBundle: Invalid value: \"<value omitted>\": at least one trust anchor must be provided"],
    );
    let request = json!({"spec": {
        "signerName": "local", "podName": "p", "podUID": "1", "serviceAccountName": "s", "serviceAccountUID": "2",
        "nodeName": "n", "nodeUID": "", "maxExpirationSeconds": 60,
    }});
    create(
        ("certificates.k8s.io/v1beta1", "podcertificaterequests"),
        &request,
        &[
            "spec.signerName: Invalid value: \"local\": must be a fully qualified domain and path of the form \
             'example.com/signer-name'",
            "spec.nodeUID: Invalid value: \"\": must not be empty",
            "spec.maxExpirationSeconds: Invalid value: 60: must be in the range [3600, 7862400]",
            "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set",
        ],
    );
}
