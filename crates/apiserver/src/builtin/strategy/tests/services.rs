//! Addresses and node ports of services.

use super::*;

#[test]
fn services_get_addresses_and_ports() {
    let service = |spec: Value| create("", "services", json!({"metadata": {"name": "s"}, "spec": spec}));
    expect(
        &service(json!({"type": "ClusterIP", "selector": {"a": "b"}, "ports": [{"port": 80}]})),
        &[
            ("/spec/clusterIP", json!("10.0.0.17")),
            ("/spec/clusterIPs", json!(["10.0.0.17"])),
            ("/spec/ipFamilies", json!(["IPv4"])),
            ("/spec/ipFamilyPolicy", json!("SingleStack")),
            ("/spec/ports/0/nodePort", json!(null)),
            ("/status", json!({"loadBalancer": {}})),
        ],
    );
    expect(
        &service(
            json!({"type": "NodePort", "ports": [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}, {"port": 80}]}),
        ),
        &[
            ("/spec/ports/0/nodePort", json!(30_086)),
            ("/spec/ports/1/nodePort", json!(30_086)),
            ("/spec/ports/2/nodePort", json!(30_087)),
        ],
    );
    expect(
        &service(json!({"type": "ClusterIP", "clusterIP": "None", "selector": {"a": "b"}})),
        &[
            ("/spec/clusterIPs", json!(["None"])),
            ("/spec/ipFamilies", json!(["IPv4"])),
        ],
    );
    expect(
        &service(json!({"type": "ClusterIP", "clusterIP": "None"})),
        &[
            ("/spec/ipFamilyPolicy", json!("RequireDualStack")),
            ("/spec/ipFamilies", json!(["IPv4", "IPv6"])),
        ],
    );
    expect(
        &service(json!({"type": "ExternalName", "externalName": "a.b"})),
        &[
            ("/spec/clusterIP", json!(null)),
            ("/spec/ipFamilies", json!(null)),
        ],
    );
    expect(
        &service(
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 1}]}),
        ),
        &[
            ("/spec/healthCheckNodePort", json!(30_086)),
            ("/spec/ports/0/nodePort", json!(null)),
        ],
    );
}

#[test]
fn ports_of_one_number_share_a_node_port() {
    let service = create(
        "",
        "services",
        json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [
            {"port": 1}, {"port": 1}, {"port": 2}, {"port": 2, "nodePort": 30_002}, {"port": 2, "nodePort": 30_003},
        ]}}),
    );
    let ports: Vec<i64> = (0..5)
        .map(|i| service["spec"]["ports"][i]["nodePort"].as_i64().unwrap())
        .collect();
    assert_eq!(ports, [30_086, 30_086, 30_002, 30_002, 30_003]);
}

#[test]
fn what_is_taken_is_refused() {
    #[track_caller]
    fn check(spec: Value, message: &str) {
        let mut pool = ServicePool::default();
        pool.record(&json!({"spec": {"clusterIP": "10.0.0.5", "ports": [{"nodePort": 30_001}]}}));
        let mut service = json!({"metadata": {}, "spec": spec});
        let result = with_context(&mut pool, |context| {
            strategy("", "services").prepare_for_create(&mut service, context)
        });
        let messages: Vec<String> = result.unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(messages, [message]);
    }
    check(
        json!({"type": "ClusterIP", "clusterIP": "10.0.0.5"}),
        "spec.clusterIPs: Invalid value: [\"10.0.0.5\"]: failed to allocate IP 10.0.0.5: provided IP is already allocated",
    );
    check(
        json!({"type": "ClusterIP", "clusterIP": "10.1.0.5"}),
        "spec.clusterIPs: Invalid value: [\"10.1.0.5\"]: failed to allocate IP 10.1.0.5: the provided network does not \
         match the current range",
    );
    check(
        json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30_001}]}),
        "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated",
    );
    check(
        json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 1, "nodePort": 30_001}]}),
        "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated",
    );
    check(
        json!({"type": "NodePort", "ports": [{"port": 1}, {"port": 2, "nodePort": -1}, {"port": 3, "nodePort": 30_001}]}),
        "spec.ports[1].nodePort: Invalid value: -1: provided port is not in the valid range. The range of valid ports is \
         30000-32767",
    );
    check(
        json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 70_000}),
        "spec.healthCheckNodePort: Internal error: failed to allocate requested HealthCheck NodePort 70000: provided \
         port is not in the valid range. The range of valid ports is 30000-32767",
    );
    check(
        json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}),
        "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is \
         30000-32767",
    );
}

#[test]
fn services_keep_what_they_have_and_drop_what_their_type_lacks() {
    let old = create(
        "",
        "services",
        json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "internalTrafficPolicy": "Cluster",
               "ports": [{"port": 80, "protocol": "TCP"}]}}),
    );
    let change = |spec: Value| {
        update(
            "",
            "services",
            json!({"metadata": {"name": "s"}, "spec": spec}),
            &old,
        )
    };
    expect(
        &change(
            json!({"type": "NodePort", "ports": [{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP"}]}),
        ),
        &[
            ("/spec/clusterIP", json!("10.0.0.17")),
            ("/spec/clusterIPs", json!(["10.0.0.17"])),
            ("/spec/ports/0/nodePort", json!(30_086)),
            ("/spec/ports/1/nodePort", json!(30_087)),
        ],
    );
    let mut to_cluster = old["spec"].clone();
    to_cluster["type"] = json!("ClusterIP");
    expect(
        &change(to_cluster),
        &[
            ("/spec/ports/0/nodePort", json!(null)),
            ("/spec/clusterIP", json!("10.0.0.17")),
        ],
    );
    let mut to_name = old["spec"].clone();
    to_name["type"] = json!("ExternalName");
    expect(
        &change(to_name),
        &[
            ("/spec/clusterIP", json!(null)),
            ("/spec/clusterIPs", json!(null)),
            ("/spec/ipFamilies", json!(null)),
            ("/spec/internalTrafficPolicy", json!(null)),
        ],
    );
    // Another address is not allocated but left for validation to refuse.
    let mut moved = old.clone();
    moved["spec"]["clusterIP"] = json!("10.96.0.1");
    moved["metadata"]["resourceVersion"] = json!("1");
    let moved = update("", "services", moved, &old);
    let errors = strategy("", "services").validate_update(&moved, &old);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expect = "spec.clusterIPs[0]: Invalid value: [\"10.96.0.1\"]: may not change once set";
    assert!(errors.iter().any(|error| error == expect), "{errors:?}");
}
