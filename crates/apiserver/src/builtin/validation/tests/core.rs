//! Services, nodes, quotas and the other kinds of the core group, by the cases of upstream's `TestValidateServiceCreate`,
//! `TestValidateServiceUpdate`, `TestValidateNodeUpdate`, `TestValidateLimitRange`, `TestValidateResourceQuota` and
//! `TestValidateEventForCoreV1Events`.

use super::*;

fn service(spec: Value) -> Value {
    let mut service = json!({"spec": spec});
    crate::builtin::defaults::apply("", "v1", "Service", &mut service);
    service
}

fn port(name: &str, port: u16) -> Value {
    json!({"name": name, "port": port, "protocol": "TCP", "targetPort": port})
}

#[test]
fn services() {
    let ports = json!([port("a", 80)]);
    let with = |extra: Value| {
        let mut spec = json!({"ports": ports});
        for (field, value) in extra.as_object().unwrap() {
            spec[field] = value.clone();
        }
        service(spec)
    };
    let balanced = |extra: Value| {
        let mut extra = extra;
        extra["type"] = json!("LoadBalancer");
        with(extra)
    };
    for (object, expect) in [
        (with(json!({})), &[][..]),
        (service(json!({})), &["spec.ports: Required value"]),
        (service(json!({"clusterIP": "None", "clusterIPs": ["None"]})), &[]),
        (
            service(json!({"ports": [port("a", 80), port("a", 81), port("", 80)]})),
            &[
                "spec.ports[1].name: Duplicate value: \"a\"",
                "spec.ports[2].name: Required value",
                "spec.ports[2]: Duplicate value: {\"port\":80,\"protocol\":\"TCP\"}",
            ],
        ),
        (
            service(json!({"ports": [{"port": 80, "nodePort": 30000}]})),
            &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            service(json!({"type": "ExternalName"})),
            &["spec.externalName: Required value"],
        ),
        (
            service(json!({"type": "ExternalName", "externalName": "a.b."})),
            &[],
        ),
        (
            with(json!({"externalTrafficPolicy": "Local"})),
            &[
                "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
            ],
        ),
        (
            with(json!({"type": "NodePort", "clusterIP": "None", "clusterIPs": ["None"]})),
            &["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
        ),
        (
            with(json!({"clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.4", "1.2.3.5", "x"]})),
            &[
                "spec.clusterIPs[2]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                "spec.clusterIPs: Invalid value: [\"1.2.3.4\",\"1.2.3.5\",\"x\"]: may only hold up to 2 values",
            ],
        ),
        (
            with(
                json!({"clusterIP": "::1", "clusterIPs": ["::1"], "ipFamilies": ["IPv4", "IPv4", "x"], "ipFamilyPolicy": "y"}),
            ),
            &[
                "spec.ipFamilies[1]: Duplicate value: \"IPv4\"",
                "spec.ipFamilies[2]: Unsupported value: \"x\": supported values: \"IPv4\", \"IPv6\"",
                "spec.ipFamilyPolicy: Unsupported value: \"y\": supported values: \"PreferDualStack\", \"RequireDualStack\", \
                 \"SingleStack\"",
                "spec.clusterIPs[0]: Invalid value: \"::1\": expected an IPv4 value as indicated by `ipFamilies[0]`",
            ],
        ),
        (
            with(json!({"externalIPs": ["127.0.0.1", "0.0.0.0"]})),
            &[
                "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
                "spec.externalIPs[1]: Invalid value: \"0.0.0.0\": may not be unspecified (0.0.0.0)",
            ],
        ),
        (
            with(
                json!({"loadBalancerSourceRanges": ["10.0.0.0/8"], "loadBalancerClass": "a/b", "healthCheckNodePort": 1}),
            ),
            &[
                "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
                "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
                "spec.healthCheckNodePort: Invalid value: 1: may only be set when `type` is 'LoadBalancer' and \
                 `externalTrafficPolicy` is 'Local'",
            ],
        ),
        (
            balanced(json!({"loadBalancerSourceRanges": ["10.0.0.1/8"], "externalTrafficPolicy": "Local"})),
            &[
                "spec.LoadBalancerSourceRanges[0]: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the prefix \
                 length",
                "spec.healthCheckNodePort: Required value",
            ],
        ),
        (
            with(json!({"trafficDistribution": "Near", "internalTrafficPolicy": "x"})),
            &[
                "spec.internalTrafficPolicy: Unsupported value: \"x\": supported values: \"Cluster\", \"Local\"",
                "spec.trafficDistribution: Unsupported value: \"Near\": supported values: \"PreferClose\", \"PreferSameZone\", \
                 \"PreferSameNode\"",
            ],
        ),
        (
            with(
                json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}}),
            ),
            &[
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than \
                 86400",
            ],
        ),
    ] {
        check("", "services", &object, expect);
    }
    // Since 1.37 a name may begin with a digit.
    let mut named = with(json!({}));
    named["metadata"] = json!({"name": "1a"});
    check("", "services", &named, &[]);
}

#[test]
fn changed_services() {
    let at = |addresses: Value, extra: Value| {
        let mut spec = json!({"clusterIP": addresses[0], "clusterIPs": addresses, "ports": [port("a", 80)]});
        for (field, value) in extra.as_object().unwrap() {
            spec[field] = value.clone();
        }
        service(spec)
    };
    let one = |address: &str| at(json!([address]), json!({}));
    let both = at(
        json!(["10.0.0.1", "::1"]),
        json!({"ipFamilyPolicy": "RequireDualStack"}),
    );
    check_update("", "services", &one("10.0.0.1"), &one("10.0.0.1"), &[]);
    check_update(
        "",
        "services",
        &one("10.0.0.2"),
        &one("10.0.0.1"),
        &["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"],
    );
    check_update(
        "",
        "services",
        &one("10.0.0.1"),
        &both,
        &[
            "spec.ipFamilyPolicy: Invalid value: null: must be set to 'SingleStack' when releasing the secondary clusterIP",
        ],
    );
    // An address that older versions took is let be.
    check_update("", "services", &one("010.0.0.1"), &one("010.0.0.1"), &[]);
    let class = |class: &str| {
        at(
            json!(["10.0.0.1"]),
            json!({"type": "LoadBalancer", "loadBalancerClass": class}),
        )
    };
    check_update(
        "",
        "services",
        &class("a"),
        &class("b"),
        &["spec.loadBalancerClass: Invalid value: \"a\": may not change once set"],
    );
    let status = |ingress: Value| {
        let mut service = class("a");
        service["metadata"] = json!({"name": "x", "namespace": "n", "resourceVersion": "1"});
        service["status"] = json!({"loadBalancer": {"ingress": ingress}});
        service
    };
    let found = strategy("", "services").validate_subresource_update(
        "status",
        &status(json!([{"ip": "1.2.3.4", "ipMode": "x"}, {"hostname": "1.2.3.4", "ipMode": "VIP"}])),
        &status(json!([])),
    );
    compare(
        found,
        &[
            "status.loadBalancer.ingress[0].ipMode: Unsupported value: \"x\": supported values: \"Proxy\", \"VIP\"",
            "status.loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set",
            "status.loadBalancer.ingress[1].hostname: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
        ],
        &Value::Null,
    );
}

#[test]
fn nodes() {
    let taints =
        json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}, {"key": "b"}]);
    for (node, expect) in [
        (
            json!({"spec": {"taints": taints}}),
            &[
                "metadata.taints[1]: Duplicate value: {\"effect\":\"NoSchedule\",\"key\":\"a\"}: taints must be unique by key \
                 and effect pair",
                "metadata.taints[2].effect: Required value",
            ][..],
        ),
        (
            json!({"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}}),
            &[
                "spec.podCIDRs: Invalid value: [\"10.0.0.0/24\",\"10.0.1.0/24\"]: may specify no more than one CIDR for each IP \
                 family",
            ],
        ),
        (
            json!({"status": {"capacity": {"pods": "500m", "cpu": "-1"}, "declaredFeatures": ["B", "A/b", "c"]}}),
            &[
                "status.capacity.pods: Invalid value: \"500m\": must be an integer",
                "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0",
                "status.declaredFeatures[1]: Invalid value: \"A/b\": list must be sorted alphabetically",
                "status.declaredFeatures[2]: Invalid value: \"c\": invalid feature name \"c\": must start with an UpperCamelCase \
                 segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain \
                 only alphanumeric characters and slashes",
            ],
        ),
    ] {
        check_cluster("", "nodes", &node, expect);
    }
    let spec = |spec: Value| json!({"spec": spec});
    for (new, old, expect) in [
        (
            json!({"providerID": "b"}),
            json!({"providerID": "a"}),
            Some("spec.providerID: Invalid value: null: field cannot be modified once set"),
        ),
        (
            json!({}),
            json!({"providerID": "a"}),
            Some("spec.providerID: Invalid value: null: field cannot be cleared once set"),
        ),
        (json!({"providerID": "b"}), json!({}), None),
        (
            json!({"podCIDRs": ["10.0.1.0/24"]}),
            json!({"podCIDRs": ["10.0.0.0/24"]}),
            Some("spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid"),
        ),
        (
            json!({"configSource": {}}),
            json!({}),
            Some("spec.configSource: Invalid value: {}: exactly one reference subfield must be non-nil"),
        ),
    ] {
        let expect: Vec<&str> = expect.into_iter().collect();
        check_update("", "nodes", &spec(new), &spec(old), &expect);
    }
}

#[test]
fn quotas() {
    for (spec, expect) in [
        (
            json!({"hard": {"pods": "1", "requests.example.com/x": "2", "count/x.y": "1", "apples": "3", "cpu": "-1"}}),
            &[
                "spec.hard[apples]: Invalid value: \"apples\": must be a standard resource type or fully qualified",
                "spec.hard[apples]: Invalid value: \"apples\": must be a standard resource for quota",
                "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
            ][..],
        ),
        (
            json!({"hard": {"services": "1"}, "scopes": ["Terminating", "NotTerminating", "x"]}),
            &[
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\",\"x\"]: unsupported scope applied to resource",
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\",\"x\"]: unsupported scope applied to resource",
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\",\"x\"]: unsupported scope",
                "spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\",\"x\"]: conflicting scopes",
            ],
        ),
        (
            json!({"scopeSelector": {"matchExpressions": [
                {"scopeName": "BestEffort", "operator": "In", "values": ["a"]},
                {"scopeName": "PriorityClass", "operator": "In"},
                {"scopeName": "PriorityClass", "operator": "Is"}]}}),
            &[
                "spec.scopeSelector.matchExpressions.operator: Invalid value: \"In\": must be 'Exists' when scope is any of \
                 ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                 ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
                "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' \
                 or 'NotIn' for scope selector",
                "spec.scopeSelector.matchExpressions.operator: Invalid value: \"Is\": not a valid selector operator",
            ],
        ),
    ] {
        check("", "resourcequotas", &json!({"spec": spec}), expect);
    }
    let scopes = |scope: &str| json!({"spec": {"scopes": [scope]}});
    check_update(
        "",
        "resourcequotas",
        &scopes("BestEffort"),
        &scopes("NotBestEffort"),
        &["spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable"],
    );
}

#[test]
fn ranges() {
    for (limit, expect) in [
        (
            json!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "1000m"}}),
            &[][..],
        ),
        (
            json!({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}, "default": {"cpu": "3"}}),
            &[
                "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
                "spec.limits[0].default[cpu]: Invalid value: \"1\": default value 3 is greater than max value 1",
            ],
        ),
        (
            json!({"type": "Pod", "default": {"cpu": "1"}}),
            &["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
        ),
        (
            json!({"type": "PersistentVolumeClaim", "default": {"storage": "1"}}),
            &[
                "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was \
                 provided",
            ],
        ),
        (
            json!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3", "memory": "0"}}),
            &[
                "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater than max/min = 2.000000",
                "spec.limits[0].maxLimitRequestRatio[memory]: Invalid value: \"0\": ratio 0 is less than 1",
            ],
        ),
        (
            json!({"type": "Container", "default": {"example.com/gpu": "2"}, "defaultRequest": {"example.com/gpu": "1"}}),
            &[
                "spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: \"1\": default value 2 must equal to \
                 defaultRequest value 1 in example.com/gpu",
            ],
        ),
        (
            json!({"type": "Node"}),
            &[
                "spec.limits[0].type: Invalid value: \"Node\": must be a standard limit type or fully qualified",
            ],
        ),
    ] {
        check("", "limitranges", &json!({"spec": {"limits": [limit]}}), expect);
    }
}

#[test]
fn endpoints() {
    let subsets = json!([{"addresses": [{"ip": "nope"}, {"ip": "169.254.0.1"}], "ports": [{"port": 0, "protocol": "TCP"}]}, {}]);
    check(
        "",
        "endpoints",
        &json!({"subsets": subsets}),
        &[
            "subsets[0].addresses[0].ip: Invalid value: \"nope\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "subsets[0].addresses[0].ip: Invalid value: \"nope\": must be a valid IP address",
            "subsets[0].addresses[1].ip: Invalid value: \"169.254.0.1\": may not be in the link-local range (169.254.0.0/16, \
             fe80::/10)",
            "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "subsets[1]: Required value: must specify `addresses` or `notReadyAddresses`",
        ],
    );
    // What is stored may stay.
    let stored = json!({"subsets": subsets});
    check_update("", "endpoints", &stored, &stored, &[]);
}

#[test]
fn events() {
    let new = json!({"eventTime": "2026-01-02T03:04:05.000000Z", "regarding": {"namespace": "ns"}, "type": "Normal",
        "reportingController": "example.com/c", "reportingInstance": "i", "action": "a", "reason": "r"});
    let with = |extra: Value| {
        let mut event = new.clone();
        for (field, value) in extra.as_object().unwrap() {
            event[field] = value.clone();
        }
        event
    };
    for (event, expect) in [
        (with(json!({})), &[][..]),
        (
            with(
                json!({"type": "Bad", "deprecatedCount": 1, "series": {"count": 1}, "action": "x".repeat(129), "note": "x".repeat(1025)}),
            ),
            &[
                "action: Invalid value: \"\": can have at most 128 characters",
                "message: Invalid value: \"\": can have at most 1024 characters",
                "series.count: Invalid value: \"\": should be at least 2",
                "series.lastObservedTime: Required value",
                "type: Invalid value: \"\": has invalid value: Bad",
                "count: Invalid value: \"\": needs to be unset",
            ],
        ),
        (
            json!({"type": "Normal"}),
            &[
                "eventTime: Required value",
                "involvedObject.namespace: Invalid value: \"\": does not match event.namespace",
            ],
        ),
    ] {
        check("events.k8s.io", "events", &event, expect);
    }
    check_update(
        "events.k8s.io",
        "events",
        &with(json!({"note": "b"})),
        &with(json!({"note": "a"})),
        &["message: Invalid value: \"b\": field is immutable"],
    );
    check(
        "",
        "events",
        &json!({"eventTime": "2026-01-02T03:04:05.000000Z", "involvedObject": {"namespace": "ns"}, "reportingInstance": "i",
            "action": "a", "reason": "r", "reportingComponent": "c"}),
        &[],
    );
}

#[test]
fn namespaces() {
    check_cluster(
        "",
        "namespaces",
        &json!({"spec": {"finalizers": ["kubernetes", "other"]}}),
        &[
            "spec.finalizers: Invalid value: \"other\": name is neither a standard finalizer name nor is it fully qualified",
        ],
    );
}
