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
}

#[test]
fn nodes_quotas_and_ranges() {
    check_cluster(
        "",
        "nodes",
        &json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}, {"key": "b"}]}}),
        &[
            "spec.taints[1]: Duplicate value: {\"effect\":\"NoSchedule\",\"key\":\"a\"}: taints must be unique by key and effect pair",
            "spec.taints[2].effect: Required value",
        ],
    );
    check_update(
        "",
        "nodes",
        &json!({"spec": {"providerID": "b"}}),
        &json!({"spec": {"providerID": "a"}}),
        &["spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid"],
    );
    check_update(
        "",
        "nodes",
        &json!({"spec": {"providerID": "b"}}),
        &json!({"spec": {}}),
        &[],
    );
    check(
        "",
        "resourcequotas",
        &json!({"spec": {"hard": {"pods": "1", "example.com/x": "2", "apples": "3", "cpu": "-1"}}}),
        &[
            "spec.hard[apples]: Invalid value: \"apples\": must be a standard resource for quotas",
            "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    );
    let range = |limit: Value| json!({"spec": {"limits": [limit]}});
    check(
        "",
        "limitranges",
        &range(json!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "1000m"}})),
        &[],
    );
    check(
        "",
        "limitranges",
        &range(
            json!({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}, "default": {"cpu": "3"}}),
        ),
        &[
            "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
            "spec.limits[0].default[cpu]: Invalid value: \"3\": default value 3 is greater than max value 1",
        ],
    );
    check(
        "",
        "limitranges",
        &range(json!({"type": "Pod", "default": {"cpu": "1"}})),
        &["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
    );
    check(
        "",
        "endpoints",
        &json!({"subsets": [{"addresses": [{"ip": "nope"}], "ports": [{"port": 0}]}, {}]}),
        &[
            "subsets[0].addresses[0].ip: Invalid value: \"nope\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "subsets[1]: Required value: must specify `addresses` or `notReadyAddresses`",
        ],
    );
}
