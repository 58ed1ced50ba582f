//! Services.
//!
//! Upstream: `validateService`, `ValidateServiceUpdate` and `ValidateServiceStatusUpdate`.

use std::collections::BTreeSet;

use super::super::addresses::{check_cidr, check_endpoint, check_ip, is_dual_stack, parse_lenient};
use super::super::field::{Errors, Field, unique};
use super::super::metadata;
use super::super::names::{label, port_number, qualified_name, subdomain};
use super::super::pod::{check_port, is_address};
use kubewright_core::{FieldError, FieldPath};
use serde_json::{Value, json};

/// A day: the longest time for which a client may be bound to a pod, in seconds.
const AFFINITY_SECONDS_MAX: i64 = 86_400;
const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const SET_ONCE: &str = "may not change once set";

pub(crate) fn service(service: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let spec = Field::of(service, "spec");
    if let Some(old) = old {
        check_update(&mut errors, &spec, &Field::of(old, "spec"));
    }
    check_topology_annotations(&mut errors, service);
    let kind = spec.get("type");
    let is_headless = is_headless(&spec);
    let ports = spec.get("ports");
    if ports.is_empty() && !is_headless && kind.text() != "ExternalName" {
        ports.required(&mut errors, "");
    }
    if is_headless && matches!(kind.text(), "NodePort" | "LoadBalancer") {
        let detail = format!("may not be set to 'None' for {} services", kind.text());
        let addresses = spec.get("clusterIPs");
        addresses.index(0).invalid(&mut errors, detail);
    }
    if kind.text() == "ExternalName" {
        check_external_name(&mut errors, &spec);
    }
    check_ports(&mut errors, &ports, kind.text());
    let selector = spec.get("selector");
    metadata::labels(&mut errors, selector.value, "", &selector.path());
    check_affinity(&mut errors, &spec);
    let null = Value::Null;
    let old_spec = Field::root("spec", old.map_or(&null, |old| &old["spec"]));
    check_cluster_ips(&mut errors, &spec, &old_spec);
    let external = old_spec.get("externalIPs");
    let known: Vec<&str> = external.texts().collect();
    for address in spec.get("externalIPs").items() {
        if check_ip(&mut errors, &address, &known) {
            check_endpoint(&mut errors, &address);
        }
    }
    kind.required_one_of(
        &mut errors,
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    check_source_ranges(&mut errors, service, &spec, old);
    check_balancer(&mut errors, &spec);
    check_traffic(&mut errors, &spec);
    errors
}

fn is_headless(spec: &Field<'_, '_>) -> bool {
    let addresses = spec.get("clusterIPs");
    addresses.len() == 1 && addresses.index(0).text() == "None"
}

fn check_topology_annotations(errors: &mut Errors, service: &Value) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    const MODE: &str = "service.kubernetes.io/topology-mode";
    let meta = Field::of(service, "metadata");
    let annotations = meta.get("annotations");
    let (hints, mode) = (annotations.key(HINTS), annotations.key(MODE));
    if hints.exists() && mode.exists() && hints.text() != mode.text() {
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        mode.invalid(errors, detail);
    }
}

fn check_external_name(errors: &mut Errors, spec: &Field<'_, '_>) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if spec.get(field).is_set() {
            let detail = "may not be set for ExternalName services";
            spec.get(field).forbidden(errors, detail);
        }
    }
    let at = spec.get("externalName");
    let name = at.text().strip_suffix('.').unwrap_or_else(|| at.text());
    if name.is_empty() {
        at.required(errors, "");
    }
    for message in subdomain(name).into_iter().filter(|_| !name.is_empty()) {
        at.invalid_as(errors, name, message);
    }
}

fn check_ports(errors: &mut Errors, ports: &Field<'_, '_>, kind: &str) {
    let (mut names, mut numbers, mut node_ports) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for port in ports.items() {
        let (name, protocol) = (port.get("name"), port.get("protocol"));
        if name.is_set() {
            name.checked(errors, label);
            unique(errors, &mut names, &name);
        } else if ports.len() > 1 {
            name.required(errors, "");
        }
        let number = port.get("port");
        for message in port_number(number.int()) {
            number.invalid_as(errors, number.int(), message);
        }
        protocol.required_one_of(errors, &["SCTP", "TCP", "UDP"]);
        check_port(errors, &port.get("targetPort"));
        let application = port.get("appProtocol");
        if application.exists() {
            application.checked(errors, qualified_name);
        }
        if !numbers.insert((protocol.text(), number.int())) {
            port.duplicate_as(errors, json!({"protocol": protocol.text(), "port": number.int()}));
        }
        let node_port = port.get("nodePort");
        if !node_port.is_set() {
            continue;
        }
        if kind == "ClusterIP" {
            let detail = "may not be used when `type` is 'ClusterIP'";
            node_port.forbidden(errors, detail);
        }
        if !node_ports.insert((protocol.text(), node_port.int())) {
            node_port.duplicate(errors);
        }
    }
}

fn check_affinity(errors: &mut Errors, spec: &Field<'_, '_>) {
    const WHEN: &str = "when session affinity type is ClientIP";
    let affinity = spec.get("sessionAffinity");
    affinity.required_one_of(errors, &["ClientIP", "None"]);
    let config = spec.get("sessionAffinityConfig");
    match affinity.text() {
        "ClientIP" => {
            let client = config.get("clientIP");
            let seconds = client.get("timeoutSeconds");
            if let Some(missing) = [config, client, seconds].iter().find(|field| !field.exists()) {
                missing.required(errors, WHEN);
            } else if !(1..=AFFINITY_SECONDS_MAX).contains(&seconds.int()) {
                let detail = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
                seconds.invalid(errors, detail);
            }
        }
        "None" if config.exists() => {
            config.forbidden(errors, "must not be set when session affinity is None");
        }
        _ => {}
    }
}

/// What is wrong with the addresses that a new service asks for; it is looked at before anything is allocated
/// (`initIPFamilyFields` in `pkg/registry/core/service/storage/alloc.go`).
pub(crate) fn wanted_addresses(service: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let null = Value::Null;
    check_cluster_ips(
        &mut errors,
        &Field::of(service, "spec"),
        &Field::root("spec", &null),
    );
    errors
}

/// `ValidateServiceClusterIPsRelatedFields` upstream.
fn check_cluster_ips(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>) {
    if spec.get("type").text() == "ExternalName" {
        return;
    }
    let (first, all) = (spec.get("clusterIP"), spec.get("clusterIPs"));
    if first.is_set() {
        if all.is_empty() {
            all.required(errors, "");
        } else if all.index(0).text() != first.text() {
            all.invalid(errors, "first value must match `clusterIP`");
        }
    } else if !all.is_empty() {
        all.invalid(errors, "must be empty when `clusterIP` is not specified");
    }
    let families = spec.get("ipFamilies");
    let mut seen = BTreeSet::new();
    for family in families.items() {
        family.one_of(errors, &["IPv4", "IPv6"]);
        unique(errors, &mut seen, &family);
    }
    spec.get("ipFamilyPolicy")
        .one_of(errors, &["PreferDualStack", "RequireDualStack", "SingleStack"]);
    let before = old.get("clusterIPs");
    let before: Vec<&str> = before.texts().collect();
    let mut is_valid = true;
    for (index, address) in all.items().enumerate() {
        if index > 0 || address.text() != "None" {
            is_valid &= check_ip(errors, &address, &before);
        } else if all.len() > 1 {
            is_valid = false;
            all.invalid(errors, "'None' must be the first and only value");
        }
    }
    if all.len() > 2 {
        all.invalid(errors, "may only hold up to 2 values");
    }
    if !is_valid {
        return;
    }
    let texts: Vec<&str> = all.texts().collect();
    if texts.len() > 1 && !is_dual_stack(&texts) {
        let detail = "may specify no more than one IP for each IP family";
        all.invalid(errors, detail);
    }
    if is_headless(spec) {
        return;
    }
    for (index, (address, family)) in all.items().zip(families.texts()).enumerate() {
        let is_v6 = parse_lenient(address.text()).is_some_and(|address| address.is_ipv6());
        if matches!((family, is_v6), ("IPv4", true) | ("IPv6", false)) {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            address.invalid(errors, detail);
        }
    }
}

const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

fn check_source_ranges(errors: &mut Errors, service: &Value, spec: &Field<'_, '_>, old: Option<&Value>) {
    let is_balanced = spec.get("type").text() == "LoadBalancer";
    let ranges = spec.get("loadBalancerSourceRanges");
    if !ranges.is_empty() {
        // The path is spelt so upstream.
        let shown = spec.get("LoadBalancerSourceRanges").with(ranges.value);
        if !is_balanced {
            shown.forbidden(errors, ONLY_BALANCED);
        }
        let old: Vec<&str> = old
            .map(|old| Field::root("", &old["spec"]["loadBalancerSourceRanges"]).texts())
            .into_iter()
            .flatten()
            .map(str::trim)
            .collect();
        for range in shown.items() {
            check_cidr(errors, &range, range.text().trim(), &old);
        }
        return;
    }
    let meta = Field::of(service, "metadata");
    let annotations = meta.get("annotations");
    let annotation = annotations.key(SOURCE_RANGES);
    if !annotation.exists() {
        return;
    }
    if !is_balanced {
        annotation.forbidden(errors, ONLY_BALANCED);
    }
    let is_old = old.is_some_and(|old| &old["metadata"]["annotations"][SOURCE_RANGES] == annotation.value);
    if is_old || annotation.text().trim().is_empty() {
        return;
    }
    for range in annotation.text().trim().split(',') {
        check_cidr(errors, &annotation, range.trim(), &[]);
    }
}

fn check_balancer(errors: &mut Errors, spec: &Field<'_, '_>) {
    let is_balanced = spec.get("type").text() == "LoadBalancer";
    let (allocates, class) = (
        spec.get("allocateLoadBalancerNodePorts"),
        spec.get("loadBalancerClass"),
    );
    if allocates.exists() && !is_balanced {
        allocates.forbidden(errors, ONLY_BALANCED);
    }
    if !allocates.exists() && is_balanced {
        let path = FieldPath::new("allocateLoadBalancerNodePorts");
        errors.push(FieldError::required(path, ""));
    }
    if class.exists() && is_balanced {
        class.checked(errors, qualified_name);
    } else if class.exists() {
        class.forbidden(errors, ONLY_BALANCED);
    }
}

fn needs_health_check(spec: &Field<'_, '_>) -> bool {
    spec.get("type").text() == "LoadBalancer" && spec.get("externalTrafficPolicy").text() == "Local"
}

fn check_traffic(errors: &mut Errors, spec: &Field<'_, '_>) {
    const POLICIES: &[&str] = &["Cluster", "Local"];
    let (external, internal) = (
        spec.get("externalTrafficPolicy"),
        spec.get("internalTrafficPolicy"),
    );
    let kind = spec.get("type").text();
    let is_external = matches!(kind, "NodePort" | "LoadBalancer")
        || (kind == "ClusterIP" && !spec.get("externalIPs").is_empty());
    if is_external {
        external.required_one_of(errors, POLICIES);
    } else if external.is_set() {
        external.invalid(errors, "may only be set for externally-accessible services");
    }
    let port = spec.get("healthCheckNodePort");
    if !needs_health_check(spec) {
        if port.is_set() {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            port.invalid(errors, detail);
        }
    } else if port.must_be_set(errors) {
        for message in port_number(port.int()) {
            port.invalid(errors, message);
        }
    }
    if !internal.exists() && matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") {
        internal.required(errors, "");
    }
    internal.one_of(errors, POLICIES);
    spec.get("trafficDistribution")
        .one_of(errors, &["PreferClose", "PreferSameZone", "PreferSameNode"]);
}

/// Addresses and families that a service was given stay with it while it has any.
fn check_update(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>) {
    let is_named = |spec: &Field<'_, '_>| spec.get("type").text() == "ExternalName";
    if !is_named(spec) && !is_named(old) {
        let (new_headless, old_headless) = (is_headless(spec), is_headless(old));
        if !(new_headless && old_headless) {
            check_kept(errors, spec, old, "clusterIPs", "clusterIP");
        }
        if !new_headless && !old_headless {
            check_kept(errors, spec, old, "ipFamilies", "ipFamily");
        }
    }
    let is_balanced = |spec: &Field<'_, '_>| spec.get("type").text() == "LoadBalancer";
    let class = spec.get("loadBalancerClass");
    if is_balanced(spec) && is_balanced(old) && class.value != old.get("loadBalancerClass").value {
        class.invalid(errors, SET_ONCE);
    }
    let port = spec.get("healthCheckNodePort");
    if needs_health_check(spec)
        && needs_health_check(old)
        && port.int() != old.get("healthCheckNodePort").int()
    {
        port.forbidden(errors, super::super::IMMUTABLE);
    }
}

/// `validateUpgradeDowngradeClusterIPs` and `validateUpgradeDowngradeIPFamilies` upstream: a second item may come and go.
fn check_kept(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>, list: &str, what: &str) {
    let (after, before) = (spec.get(list), old.get(list));
    if after.len() == before.len() {
        for (index, (after_item, before_item)) in after.texts().zip(before.texts()).enumerate() {
            if after_item != before_item {
                let index = if list == "ipFamilies" { 0 } else { index };
                after
                    .index(index)
                    .invalid_as(errors, after.value.clone(), SET_ONCE);
            }
        }
        return;
    }
    let first = after.index(0);
    // Without any address there is no family either.
    if after.len() < before.len() && spec.get("clusterIPs").is_empty() {
        first.invalid_as(
            errors,
            after.value.clone(),
            format!("primary {what} can not be unset"),
        );
    }
    if !after.is_empty() && !before.is_empty() && first.text() != before.index(0).text() {
        let shown = spec.get("clusterIPs").value.clone();
        first.invalid_as(errors, shown, SET_ONCE);
    }
    let policy = spec.get("ipFamilyPolicy");
    if after.len() < before.len() && after.len() == 1 && policy.text() != "SingleStack" {
        let detail = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        policy.invalid(errors, detail);
    }
}

/// Checks what a load balancer reports.
pub(crate) fn service_status(subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    if subresource != "status" {
        return errors;
    }
    let is_balanced = new["spec"]["type"] == "LoadBalancer";
    load_balancer(&mut errors, new, old, is_balanced);
    errors
}

fn load_balancer(errors: &mut Errors, new: &Value, old: &Value, is_balanced: bool) {
    let status = Field::of(new, "status");
    let balancer = status.get("loadBalancer");
    let ingress = balancer.get("ingress");
    if !is_balanced {
        if !ingress.is_empty() {
            let detail = "may only be used when `spec.type` is 'LoadBalancer'";
            ingress.forbidden(errors, detail);
        }
        return;
    }
    let known: Vec<&str> = old["status"]["loadBalancer"]["ingress"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|ingress| ingress["ip"].as_str())
        .collect();
    for item in ingress.items() {
        let (ip, mode, host) = (item.get("ip"), item.get("ipMode"), item.get("hostname"));
        if ip.is_set() {
            check_ip(errors, &ip, &known);
        }
        match (mode.exists(), ip.is_set()) {
            (false, true) => mode.required(errors, "must be specified when `ip` is set"),
            (true, false) => mode.forbidden(errors, "may not be specified when `ip` is not set"),
            _ => mode.one_of(errors, &["Proxy", "VIP"]),
        }
        if host.is_set() {
            host.checked(errors, subdomain);
            if is_address(host.text()) {
                host.invalid(errors, "must be a DNS name, not an IP address");
            }
        }
    }
}
