//! Network policies, the addresses of services and endpoint slices.
//!
//! Upstream: `pkg/apis/{networking,discovery}/validation/validation.go` and `pkg/registry/{networking,discovery}/*/strategy.go`.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::Value;

use super::super::addresses::{AddressForm, Cidr, cidr_warnings, ip_warning};
use super::super::field::{Errors, Field};
use super::super::metadata;
use super::super::names::{label, label_value, port_name, port_number, qualified_name, subdomain};
use super::format::{cidr, fully_qualified_domain, given_path_segment, ip, label_selector, path_segment};

const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP"];
/// The two directions of a policy: the list of rules and that of peers.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

/// A network policy (`ValidateNetworkPolicy`, `ValidateNetworkPolicyUpdate`).
pub(crate) fn network_policy(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    label_selector(&mut errors, &spec.get("podSelector"));
    let known = old.map(known_ranges).unwrap_or_default();
    for (list, peers) in DIRECTIONS {
        for rule in spec.get(list).items() {
            for port in rule.get("ports").items() {
                check_policy_port(&mut errors, &port);
            }
            for peer in rule.get(peers).items() {
                check_peer(&mut errors, &peer, &known);
            }
        }
    }
    let types = spec.get("policyTypes");
    if types.list().len() > 2 {
        types.invalid(&mut errors, "may not specify more than two policyTypes");
        return errors;
    }
    for kind in types.items() {
        kind.one_of(&mut errors, &["Ingress", "Egress"]);
    }
    errors
}

/// Ranges that are stored may be in a form that is no longer valid.
fn known_ranges(old: &Value) -> HashSet<&str> {
    let lists = DIRECTIONS.iter().filter_map(|(list, peers)| {
        let rules = old["spec"][*list].as_array()?;
        Some(
            rules
                .iter()
                .filter_map(move |rule| rule[*peers].as_array())
                .flatten(),
        )
    });
    let blocks = lists.flatten().map(|peer| &peer["ipBlock"]);
    let ranges = blocks.flat_map(|block| {
        let except = block["except"].as_array().into_iter().flatten();
        except.chain(std::iter::once(&block["cidr"]))
    });
    ranges.filter_map(Value::as_str).collect()
}

fn check_policy_port(errors: &mut Errors, port: &Field<'_, '_>) {
    port.get("protocol").one_of(errors, PROTOCOLS);
    let (start, end) = (port.get("port"), port.get("endPort"));
    if !start.exists() {
        if end.exists() {
            end.invalid(errors, "may not be specified when `port` is not specified");
        }
    } else if let Some(number) = start.value.as_i64() {
        start.invalid_each(errors, port_number(number));
        if let Some(last) = end.value.as_i64() {
            if last < number {
                end.invalid(errors, "must be greater than or equal to `port`");
            }
            end.invalid_each(errors, port_number(last));
        }
    } else {
        if end.exists() {
            end.invalid(errors, "may not be specified when `port` is non-numeric");
        }
        start.invalid_each(errors, port_name(start.text()));
    }
}

fn check_peer(errors: &mut Errors, peer: &Field<'_, '_>, known: &HashSet<&str>) {
    let mut count = 0;
    for field in ["podSelector", "namespaceSelector"] {
        let selector = peer.get(field);
        if selector.exists() {
            count += 1;
            label_selector(errors, &selector);
        }
    }
    let block = peer.get("ipBlock");
    if block.exists() {
        count += 1;
        check_block(errors, &block, known);
    }
    if count == 0 {
        peer.required(errors, "must specify a peer");
    } else if count > 1 && block.exists() {
        peer.forbidden(errors, "may not specify both ipBlock and another peer");
    }
}

fn check_block(errors: &mut Errors, block: &Field<'_, '_>, known: &HashSet<&str>) {
    let range = block.get("cidr");
    if !range.check_given(errors, "") {
        return;
    }
    if !known.contains(range.text()) {
        cidr(errors, &range, AddressForm::Legacy);
    }
    let Some(whole) = Cidr::parse(range.text()) else {
        return;
    };
    for except in block.get("except").items() {
        if !known.contains(except.text()) {
            cidr(errors, &except, AddressForm::Legacy);
        }
        let is_within = |part: Cidr| whole.contains(part.first()) && whole.bits < part.bits;
        if Cidr::parse(except.text()).is_some_and(|part| !is_within(part)) {
            except.invalid(errors, "must be a strict subset of `cidr`");
        }
    }
}

/// Ranges in an unusual form.
pub(crate) fn network_policy_warnings(object: &Value, _: Option<&Value>) -> Vec<String> {
    let root = Field::root("", object);
    let spec = root.get("spec");
    let mut warnings = Vec::new();
    for (list, peers) in DIRECTIONS {
        for rule in spec.get(list).items() {
            for peer in rule.get(peers).items() {
                let block = peer.get("ipBlock");
                let (whole, except) = (block.get("cidr"), block.get("except"));
                for range in std::iter::once(whole).chain(except.items()) {
                    warnings.extend(cidr_warnings(range.path().as_str(), range.text()));
                }
            }
        }
    }
    warnings
}

/// The address of a service (`ValidateIPAddress`, `ValidateIPAddressUpdate`).
pub(crate) fn ip_address(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let parent = spec.get("parentRef");
    if let Some(old) = old {
        let old = Field::root("", old);
        parent.check_unchanged_declared(&mut errors, &old.get("spec.parentRef"));
        return errors;
    }
    if !parent.exists() {
        parent.required(&mut errors, "");
        return errors;
    }
    let group = parent.get("group");
    if !group.is_empty() {
        group.invalid_each(&mut errors, subdomain(group.text()));
    }
    given_path_segment(&mut errors, &parent.get("resource"), "");
    given_path_segment(&mut errors, &parent.get("name"), "");
    let namespace = parent.get("namespace");
    namespace.invalid_each(&mut errors, path_segment(namespace.text()));
    errors
}

/// The ranges from which services get addresses (`ValidateServiceCIDR`, `ValidateServiceCIDRUpdate`).
pub(crate) fn service_cidr(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let ranges = spec.get("cidrs");
    let Some(old) = old else {
        service_ranges(&mut errors, &spec, &ranges);
        return errors;
    };
    let old = Field::root("", old);
    let before = old.get("spec.cidrs");
    let (count, known) = (ranges.list().len(), before.list().len());
    if count == known || (known, count) == (1, 2) {
        for (range, before) in ranges.items().zip(before.items()) {
            range.immutable(&mut errors, &before);
        }
        if count != known {
            // A second family may be added.
            service_ranges(&mut errors, &spec, &ranges);
        }
    } else {
        ranges.immutable(&mut errors, &before);
    }
    errors
}

fn service_ranges(errors: &mut Errors, spec: &Field<'_, '_>, ranges: &Field<'_, '_>) {
    match ranges.list().len() {
        0 => return ranges.required(errors, "at least one CIDR required"),
        1 | 2 => {}
        _ => {
            return ranges.invalid_as(errors, spec.value.clone(), "may only hold up to 2 values");
        }
    }
    for range in ranges.items() {
        cidr(errors, &range, AddressForm::Canonical);
    }
    let families: Vec<bool> = ranges
        .items()
        .filter_map(|range| Some(Cidr::parse(range.text())?.address.is_ipv4()))
        .collect();
    if matches!(families[..], [first, second] if first == second) {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        ranges.invalid(errors, detail);
    }
}

const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
/// Zones or nodes that an endpoint is a hint for.
const HINTS_MAX: usize = 8;
const TOPOLOGY_MAX: usize = 16;

/// A slice of a service's endpoints (`ValidateEndpointSliceCreate`, `ValidateEndpointSliceUpdate`).
pub(crate) fn endpoint_slice(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let (root, old) = (Field::root("", object), old.map(|object| Field::root("", object)));
    let kind = root.get("addressType");
    kind.check_choice(&mut errors, &["FQDN", "IPv4", "IPv6"], "");
    slice_ports(&mut errors, &root.get("ports"));
    let endpoints = root.get("endpoints");
    let mut found = Errors::new();
    if endpoints.check_count(&mut found, ENDPOINTS_MAX) {
        for endpoint in endpoints.items() {
            check_endpoint(&mut found, &endpoint, kind.text());
        }
    }
    // What is stored was valid once.
    let is_same = old
        .as_ref()
        .is_some_and(|old| !found.is_empty() && endpoints.same(&old.get("endpoints")));
    if !is_same {
        errors.append(&mut found);
    }
    if let Some(old) = &old {
        kind.check_unchanged_declared(&mut errors, &old.get("addressType"));
    }
    errors
}

fn slice_ports(errors: &mut Errors, ports: &Field<'_, '_>) {
    if !ports.check_count(errors, PORTS_MAX) {
        return;
    }
    let mut names = HashSet::new();
    for port in ports.items() {
        let name = port.get("name");
        if !name.is_empty() {
            name.invalid_each(errors, label(name.text()));
        }
        if !names.insert(name.text()) {
            name.duplicate(errors);
        }
        let protocol = port.get("protocol");
        if !protocol.exists() {
            protocol.required(errors, "");
        }
        protocol.one_of(errors, &["SCTP", "TCP", "UDP"]);
        let application = port.get("appProtocol");
        if application.exists() {
            application.invalid_each(errors, qualified_name(application.text()));
        }
    }
}

fn check_endpoint(errors: &mut Errors, endpoint: &Field<'_, '_>, kind: &str) {
    let addresses = endpoint.get("addresses");
    if addresses.is_empty() {
        addresses.required(errors, "");
    }
    addresses.check_count(errors, ADDRESSES_MAX);
    for address in addresses.items() {
        match kind {
            "IPv4" if ip(errors, &address, AddressForm::Legacy) => {
                check_address(errors, &addresses, &address, kind);
            }
            "IPv6" if ip(errors, &address, AddressForm::Canonical) => {
                check_address(errors, &addresses, &address, kind);
            }
            "FQDN" => fully_qualified_domain(errors, &address),
            _ => {}
        }
    }
    let node = endpoint.get("nodeName");
    if node.exists() {
        node.invalid_each(errors, subdomain(node.text()));
    }
    let topology = endpoint.get("deprecatedTopology");
    topology.check_count(errors, TOPOLOGY_MAX);
    metadata::labels(errors, topology.value, "", &topology.path());
    let zone = topology.key("topology.kubernetes.io/zone");
    if zone.exists() {
        zone.internal(errors, "reserved key was not removed in conversion");
    }
    let host = endpoint.get("hostname");
    if host.exists() {
        host.invalid_each(errors, label(host.text()));
    }
    let hints = endpoint.get("hints");
    for (list, check) in [
        ("forZones", label_value as fn(&str) -> Vec<String>),
        ("forNodes", subdomain),
    ] {
        let hints = hints.get(list);
        if !hints.check_count(errors, HINTS_MAX) {
            return;
        }
        let mut names = HashSet::new();
        for hint in hints.items() {
            let name = hint.get("name");
            if !names.insert(name.text()) {
                name.duplicate(errors);
            }
            name.invalid_each(errors, check(name.text()));
        }
    }
}

/// An address of the right family that other machines can reach.
fn check_address(errors: &mut Errors, addresses: &Field<'_, '_>, field: &Field<'_, '_>, kind: &str) {
    let Ok(address) = field.text().parse::<IpAddr>() else {
        return;
    };
    if address.is_ipv4() != (kind == "IPv4") {
        let detail = format!("must be an {kind} address");
        addresses.invalid_as(errors, field.text(), detail);
    }
    let (is_link_local, is_link_multicast) = match address {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            (address.is_link_local(), (first, second, third) == (224, 0, 0))
        }
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    if address.is_unspecified() {
        field.invalid(errors, format!("may not be unspecified ({})", field.text()));
    }
    if address.is_loopback() {
        field.invalid(errors, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if is_link_local {
        let detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
        field.invalid(errors, detail);
    }
    if is_link_multicast {
        let detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        field.invalid(errors, detail);
    }
}

/// Slices of other controllers than the server's own may hold unusual addresses.
pub(crate) fn endpoint_slice_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let root = Field::root("", object);
    let mut warnings = Vec::new();
    if old.is_none() && root.get("addressType").text() == "FQDN" {
        warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    let labels = root.get("metadata.labels");
    let manager = labels.key("endpointslice.kubernetes.io/managed-by");
    let is_own = matches!(
        manager.text(),
        "endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io"
    );
    if !is_own {
        for endpoint in root.get("endpoints").items() {
            warnings.extend(
                endpoint
                    .get("addresses")
                    .items()
                    .filter_map(|field| ip_warning(field.path().as_str(), field.text())),
            );
        }
    }
    warnings
}
