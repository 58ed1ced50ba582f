//! Webhooks and policies of admission.

use super::*;

const ADMISSION: &str = "admissionregistration.k8s.io/v1";

#[test]
fn webhooks() {
    let good = json!({"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"url": "https://host/path"}});
    let hook = |changes: &[(&str, Value)]| json!({"webhooks": [with(&good, changes)]});
    for resource in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let to = (ADMISSION, resource);
        create(to, &hook(&[]), &[]);
        let reserved = "metadata.name: Invalid value: \"a.static.k8s.io\": names ending with \".static.k8s.io\" are reserved for \
                        static manifest-based configurations and cannot be managed via the API";
        create(to, &json!({"metadata": {"name": "a.static.k8s.io"}}), &[reserved]);
        create(
            to,
            &json!({"webhooks": [{"name": "short", "clientConfig": {}, "timeoutSeconds": 31}]}),
            &[
                "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
                "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
                "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
                "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
            ],
        );
        create(
            to,
            &hook(&[
                ("/admissionReviewVersions", json!(["v2", "v2"])),
                ("/clientConfig", json!({"url": "http://u:p@/x?q=1#f"})),
            ]),
            &[
                "webhooks[0].admissionReviewVersions[1]: Invalid value: \"v2\": duplicate version",
                "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\",\"v2\"]: must include at least one of v1, v1beta1",
                "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: \
                 https://host[/path]",
                "webhooks[0].clientConfig.url: Invalid value: \"\": host must be specified; desired format: https://host[/path]",
                "webhooks[0].clientConfig.url: Invalid value: \"u:p\": user information is not permitted in the URL",
                "webhooks[0].clientConfig.url: Invalid value: \"f\": fragments are not permitted in the URL",
                "webhooks[0].clientConfig.url: Invalid value: \"q=1\": query parameters are not permitted in the URL",
            ],
        );
        create(
            to,
            &hook(&[("/clientConfig", json!({"url": "https://@host:x/"}))]),
            &[
                "webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse \"https://@host:x/\": invalid port \":x\" after \
                 host; desired format: https://host[/path]",
            ],
        );
        create(
            to,
            &hook(&[("/clientConfig", json!({"url": "https://@host/"}))]),
            &[
                "webhooks[0].clientConfig.url: Invalid value: \"\": user information is not permitted in the URL",
            ],
        );
        create(
            to,
            &hook(&[(
                "/clientConfig",
                json!({"service": {"port": 70000, "path": "a//b"}}),
            )]),
            &[
                "webhooks[0].clientConfig.service.name: Required value",
                "webhooks[0].clientConfig.service.namespace: Required value",
                "webhooks[0].clientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, \
                 inclusive",
                "webhooks[0].clientConfig.service.path: Invalid value: \"a//b\": must start with a '/'",
                "webhooks[0].clientConfig.service.path: Invalid value: \"a//b\": segment[0] may not be empty",
                "webhooks[0].clientConfig.service.path: Invalid value: \"a//b\": segment[1] may not be empty",
            ],
        );
        let rule = json!([{"operations": ["*", "CREATE", "READ"], "apiGroups": ["*", "x"], "apiVersions": [""], "resources": ["pods/*", "pods/log", "*"], "scope": "All"}]);
        create(
            to,
            &hook(&[
                ("/rules", rule),
                (
                    "/matchConditions",
                    json!([{"name": "a", "expression": " "}, {"name": "a", "expression": "true"}]),
                ),
            ]),
            &[
                "webhooks[0].rules[0].operations: Invalid value: [\"*\",\"CREATE\",\"READ\"]: if '*' is present, must not specify \
                 other operations",
                "webhooks[0].rules[0].operations[2]: Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \
                 \"DELETE\", \"UPDATE\"",
                "webhooks[0].rules[0].apiGroups: Invalid value: [\"*\",\"x\"]: if '*' is present, must not specify other API groups",
                "webhooks[0].rules[0].apiVersions[0]: Required value",
                "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify pods/log",
                "webhooks[0].rules[0].scope: Unsupported value: \"All\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
                "webhooks[0].matchConditions[0].expression: Required value",
                "webhooks[0].matchConditions[1].name: Duplicate value: \"a\"",
            ],
        );
        let twice = json!({"webhooks": [good, good]});
        create(to, &twice, &["webhooks[1].name: Duplicate value: \"a.b.c\""]);
        update(to, &twice, &twice, &[]);
    }
}

#[test]
fn policies() {
    let to = (ADMISSION, "validatingadmissionpolicies");
    create(
        to,
        &json!({"spec": {}}),
        &[
            "spec.matchConstraints: Required value",
            "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
            "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
        ],
    );
    let rule = json!({"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "resourceNames": ["a", "a"]});
    create(
        to,
        &json!({"spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "paramKind": {"apiVersion": "a/b/c", "kind": "K_"},
            "variables": [{"name": "in", "expression": ""}],
            "validations": [{"expression": "", "message": "a\nb", "reason": "Because"}],
            "auditAnnotations": [{"key": "_", "valueExpression": ""}],
        }}),
        &[
            "spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: \"a\"",
            "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            "spec.paramKind.kind: Invalid value: \"K_\": may have mixed case, but should otherwise match: a DNS-1035 label must \
             consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric \
             character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
            "spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier",
            "spec.variables[0].expression: Required value: expression is not specified",
            "spec.validations[0].expression: Required value: expression is not specified",
            "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
            "spec.validations[0].reason: Unsupported value: \"Because\": supported values: \"Forbidden\", \"Invalid\", \
             \"RequestEntityTooLarge\"",
            "spec.auditAnnotations[0].key: Invalid value: \"x/_\": name part must consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
             validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified",
        ],
    );
    create(
        (ADMISSION, "mutatingadmissionpolicies"),
        &json!({"spec": {
            "matchConstraints": {"resourceRules": [with(&rule, &[("/resourceNames", Value::Null)])]},
            "mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "x"}}],
        }}),
        &[
            "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \
             \"CREATE\", \"UPDATE\"",
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
            "spec.mutations[0].applyConfiguration: Invalid value: \"{applyConfiguration}\": must not be specified when patchType is \
             JSONPatch",
            "spec.reinvocationPolicy: Required value",
        ],
    );
}

#[test]
fn policy_bindings() {
    let to = (ADMISSION, "validatingadmissionpolicybindings");
    create(
        to,
        &json!({"spec": {}}),
        &[
            "spec.policyName: Required value",
            "spec.validationActions: Required value",
        ],
    );
    create(
        to,
        &json!({"spec": {"policyName": "p", "validationActions": ["Deny", "Warn", "Deny"], "paramRef": {"name": "a", "selector": {}}}}),
        &[
            "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.parameterNotFoundAction: Required value",
            "spec.validationActions[2]: Duplicate value: \"Deny\"",
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\",\"Deny\"]: must not contain both Deny and Warn (repeating the \
             same validation failure information in the API response and headers serves no purpose)",
        ],
    );
    create(
        (ADMISSION, "mutatingadmissionpolicybindings"),
        &json!({"spec": {"policyName": "p", "paramRef": {}}}),
        &[
            "spec.paramRef: Required value: one of name or selector must be specified",
            "spec.paramRef.parameterNotFoundAction: Required value",
        ],
    );
}
