//! Services, storage, configuration, rights and the kinds of a cluster.

use super::*;

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
}
