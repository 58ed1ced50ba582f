//! Ingresses, network policies and addresses.

use super::*;

#[test]
fn ingresses() {
    let to = ("networking.k8s.io/v1", "ingresses");
    create(
        to,
        &json!({"spec": {}}),
        &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    );
    let good = json!({"pathType": "Prefix", "path": "/", "backend": {"service": {"name": "s", "port": {"number": 80}}}});
    let rule =
        |host: &str, path: Value| json!({"spec": {"rules": [{"host": host, "http": {"paths": [path]}}]}});
    create(to, &rule("a.b", good.clone()), &[]);
    create(to, &rule("*.a.b", good.clone()), &[]);
    create(
        to,
        &rule("10.0.0.1", good.clone()),
        &["spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address"],
    );
    create(
        to,
        &rule(
            "",
            with(
                &good,
                &[("/path", json!("/a//b/../%2f/.")), ("/pathType", json!("Exact"))],
            ),
        ),
        &[
            "spec.rules[0].http.paths[0].path: Invalid value: \"/a//b/../%2f/.\": must not contain '//'",
            "spec.rules[0].http.paths[0].path: Invalid value: \"/a//b/../%2f/.\": must not contain '/../'",
            "spec.rules[0].http.paths[0].path: Invalid value: \"/a//b/../%2f/.\": must not contain '%2f'",
            "spec.rules[0].http.paths[0].path: Invalid value: \"/a//b/../%2f/.\": cannot end with '/.'",
        ],
    );
    create(
        to,
        &rule("", with(&good, &[("/pathType", json!("Regex"))])),
        &[
            "spec.rules[0].http.paths[0].pathType: Unsupported value: \"Regex\": supported values: \"Exact\", \
           \"ImplementationSpecific\", \"Prefix\"",
        ],
    );
    create(
        to,
        &rule("", with(&good, &[("/backend", json!({"service": {"port": {}}}))])),
        &[
            "spec.rules[0].http.paths[0].backend.service.name: Required value",
            "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
        ],
    );
    create(
        to,
        &rule(
            "",
            with(
                &good,
                &[(
                    "/backend",
                    json!({"resource": {"apiGroup": "A", "kind": "", "name": "a/b"}}),
                )],
            ),
        ),
        &[
            "spec.rules[0].http.paths[0].backend.resource.apiGroup: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist \
             of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
             'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.rules[0].http.paths[0].backend.resource.kind: Required value",
            "spec.rules[0].http.paths[0].backend.resource.name: Invalid value: \"a/b\": may not contain '/'",
        ],
    );
    let wildcard = rule("*.a.b", with(&good, &[("/backend", json!({}))]));
    create(
        to,
        &wildcard,
        &[
            "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
        ],
    );
    update(to, &wildcard, &wildcard, &[]);
    warned(
        to,
        &with(
            &rule("a.b", good),
            &[(
                "/metadata",
                json!({"annotations": {"kubernetes.io/ingress.class": "c"}}),
            )],
        ),
        &[
            "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
        ],
    );
    let both = json!({
        "metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}},
        "spec": {"ingressClassName": "b", "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    });
    create(
        to,
        &both,
        &[
            "annotations.kubernetes.io/ingress.class: Invalid value: \"a\": must match `ingressClassName` when both are specified",
        ],
    );
    create(to, &with(&both, &[("/spec/ingressClassName", json!("a"))]), &[]);
    let classes = ("networking.k8s.io/v1", "ingressclasses");
    let class = |parameters: Value| json!({"spec": {"controller": "a.b/c", "parameters": parameters}});
    create(classes, &class(json!({"kind": "K", "name": "n"})), &[]);
    create(
        classes,
        &class(json!({"kind": "K", "name": "n", "scope": "Namespace"})),
        &["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    );
    create(
        classes,
        &class(json!({"kind": "K", "name": "n", "namespace": "x"})),
        &["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    );
    create(
        classes,
        &json!({"spec": {"controller": "me"}}),
        &["spec.controller: Invalid value: \"me\": must be a domain-prefixed path (such as \"acme.io/foo\")"],
    );
}

#[test]
fn network_policies_and_addresses() {
    let to = ("networking.k8s.io/v1", "networkpolicies");
    let block = |cidr: &str, except: &str| json!({"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": cidr, "except": [except]}}]}]}});
    create(to, &block("10.0.0.0/8", "10.1.0.0/16"), &[]);
    let path = "spec.ingress[0].from[0].ipBlock";
    create(
        to,
        &block("10.0.0.0/8", "11.1.0.0/16"),
        &[&format!(
            "{path}.except[0]: Invalid value: \"11.1.0.0/16\": must be a strict subset of `cidr`"
        )],
    );
    create(
        to,
        &block("10.0.0.1/8", "x"),
        &[
            &format!(
                "{path}.cidr: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the prefix length"
            ),
            &format!(
                "{path}.except[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            ),
        ],
    );
    update(
        to,
        &block("10.0.0.1/8", "10.1.0.0/16"),
        &block("10.0.0.1/8", "10.1.0.0/16"),
        &[],
    );
    warned(
        to,
        &block("2001:DB8::/32", "2001:db8::/64"),
        &[
            "spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value \"2001:DB8::/32\" should be in RFC 5952 canonical format \
           (\"2001:db8::/32\")",
        ],
    );
    create(
        to,
        &json!({"spec": {"podSelector": {}, "policyTypes": ["Both"], "ingress": [{"from": [{}]}], "egress": [{"ports": [{"port": 90, "endPort": 80}, {"port": "web", "endPort": 1}, {"endPort": 2}, {"protocol": "ICMP"}]}]}}),
        &[
            "spec.policyTypes[0]: Unsupported value: \"Both\": supported values: \"Ingress\", \"Egress\"",
            "spec.ingress[0].from[0]: Required value: must specify a peer",
            "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
            "spec.egress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is non-numeric",
            "spec.egress[0].ports[2].endPort: Invalid value: 2: may not be specified when `port` is not specified",
            "spec.egress[0].ports[3].protocol: Unsupported value: \"ICMP\": supported values: \"TCP\", \"UDP\", \"SCTP\"",
        ],
    );
    let addresses = ("networking.k8s.io/v1", "ipaddresses");
    let address = |name: &str| json!({"metadata": {"name": name}, "spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "n"}}});
    create(addresses, &address("10.0.0.1"), &[]);
    create(
        addresses,
        &with(
            &address("2001:DB8::1"),
            &[("/spec/parentRef", json!({"name": "s"}))],
        ),
        &[
            "metadata.name: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")",
            "spec.parentRef.resource: Required value",
        ],
    );
    let ranges = ("networking.k8s.io/v1", "servicecidrs");
    let range = |ranges: Value| json!({"spec": {"cidrs": ranges}});
    create(ranges, &range(json!(["10.0.0.0/24", "2001:db8::/64"])), &[]);
    create(
        ranges,
        &range(json!([])),
        &["spec.cidrs: Required value: at least one CIDR required"],
    );
    create(
        ranges,
        &range(json!(["10.0.0.0/24", "10.1.0.0/024"])),
        &[
            "spec.cidrs[1]: Invalid value: \"10.1.0.0/024\": must not have leading 0s in IP or prefix length",
            "spec.cidrs: Invalid value: [\"10.0.0.0/24\",\"10.1.0.0/024\"]: may specify no more than one IP for each IP family, \
             i.e 192.168.0.0/24 and 2001:db8::/64",
        ],
    );
    update(
        ranges,
        &range(json!(["10.0.0.0/24", "2001:db8::/64"])),
        &range(json!(["10.0.0.0/24"])),
        &[],
    );
    update(
        ranges,
        &range(json!(["10.1.0.0/24"])),
        &range(json!(["10.0.0.0/24"])),
        &["spec.cidrs[0]: Invalid value: \"10.1.0.0/24\": field is immutable"],
    );
}

#[test]
fn endpoint_slices() {
    let to = ("discovery.k8s.io/v1", "endpointslices");
    let slice =
        |kind: &str, address: &str| json!({"addressType": kind, "endpoints": [{"addresses": [address]}]});
    create(to, &slice("IPv4", "10.0.0.1"), &[]);
    create(to, &slice("FQDN", "a.b."), &[]);
    create(
        to,
        &slice("IPv4", "127.0.0.1"),
        &[
            "endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ],
    );
    create(
        to,
        &slice("IPv4", "010.0.0.1"),
        &["endpoints[0].addresses[0]: Invalid value: \"010.0.0.1\": must not have leading 0s"],
    );
    create(
        to,
        &slice("IPv6", "10.0.0.1"),
        &["endpoints[0].addresses: Invalid value: \"10.0.0.1\": must be an IPv6 address"],
    );
    create(
        to,
        &slice("FQDN", "a"),
        &[
            "endpoints[0].addresses[0]: Invalid value: \"a\": should be a domain with at least two segments separated by dots",
        ],
    );
    create(
        to,
        &json!({"endpoints": [{}, {"addresses": ["x"], "hostname": "a.b", "hints": {"forZones": [{"name": "z"}, {"name": "z"}]}}], "ports": [{"name": "a"}, {"name": "a", "protocol": "ICMP"}]}),
        &[
            "addressType: Required value",
            "endpoints[0].addresses: Required value",
            "endpoints[1].hostname: Invalid value: \"a.b\": must not contain dots",
            "endpoints[1].hints.forZones[1].name: Duplicate value: \"z\"",
            "ports[1].name: Duplicate value: \"a\"",
            "ports[1].protocol: Unsupported value: \"ICMP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
        ],
    );
    update(
        to,
        &slice("IPv6", "2001:db8::1"),
        &slice("IPv4", "10.0.0.1"),
        &["addressType: Invalid value: null: field is immutable"],
    );
    warned(
        to,
        &slice("FQDN", "a.b"),
        &["spec.addressType: FQDN endpoints are deprecated"],
    );
}

#[test]
fn the_old_topology_of_endpoints_is_read_once_more() {
    let to = ("discovery.k8s.io/v1", "endpointslices");
    let slice = |address: &str, node: &str| json!({"addressType": "IPv4", "endpoints": [{"addresses": [address], "deprecatedTopology": {"kubernetes.io/hostname": node}}]});
    let stored = slice("10.0.0.1", "n");
    let (created, _) = complete(to, &stored, None);
    assert_eq!(created["endpoints"], json!([{"addresses": ["10.0.0.1"]}]));
    let (same, _) = complete(to, &stored, Some(&stored));
    assert_eq!(same["endpoints"], stored["endpoints"]);
    let (moved, _) = complete(to, &slice("10.0.0.2", "n"), Some(&stored));
    assert_eq!(
        moved["endpoints"],
        json!([{"addresses": ["10.0.0.2"], "nodeName": "n"}])
    );
    let (other, _) = complete(to, &slice("10.0.0.2", "m"), Some(&stored));
    assert_eq!(other["endpoints"], json!([{"addresses": ["10.0.0.2"]}]));
}
