//! Preparation of services: cluster addresses, address families and node ports.
//!
//! Upstream: `pkg/registry/core/service/storage/{alloc,storage}.go` and `pkg/registry/core/service/strategy.go`. The
//! server is single-stack IPv4, as a cluster without a second service range is.

use super::super::validation::core::wanted_addresses;
use super::super::value::{Object, is_nil, list_at, str_at, str_in};
use super::allocator::port_number;
use super::node_ports::{allocate_health_check, allocate_ports, has_node_ports, is_given_ports, node_ports};
use super::{Allocator, Context};
use kubewright_core::{FieldError, FieldPath};
use serde_json::{Value, json};

/// What a service says instead of an address when it wants none.
const HEADLESS: &str = "None";

pub(super) fn prepare(
    service: &mut Value,
    old: Option<&Value>,
    context: &mut Context<'_>,
) -> Vec<FieldError> {
    normalize_cluster_ips(service, old);
    if !has_address(service)
        && let Some(spec) = spec_mut(service)
    {
        // What has no address in the cluster has no traffic in it (`defaultOnReadInternalTrafficPolicy`).
        spec.remove("internalTrafficPolicy");
    }
    if let Some(old) = old {
        keep_allocated(service, old);
        drop_what_the_type_lacks(service, old);
    }
    if old.is_none() && has_address(service) {
        let errors = wanted_addresses(service);
        if !errors.is_empty() {
            return errors;
        }
    }
    let mut errors = set_families(service);
    let allocator = &mut *context.allocator;
    if let Some(old) = old {
        release(service, old, allocator);
    }
    // The first that cannot be had is the end of it.
    if errors.is_empty() {
        errors = allocate_address(service, old, allocator);
    }
    if errors.is_empty() {
        errors = allocate_ports(service, old, allocator);
    }
    if errors.is_empty() {
        errors = allocate_health_check(service, old, allocator);
    }
    errors
}

/// Whether the type has a cluster address, which may be `None`.
fn has_address(service: &Value) -> bool {
    str_at(service, "/spec/type") != "ExternalName"
}

pub(super) fn has_health_check(service: &Value) -> bool {
    str_at(service, "/spec/type") == "LoadBalancer"
        && str_at(service, "/spec/externalTrafficPolicy") == "Local"
}

pub(super) fn spec_mut(service: &mut Value) -> Option<&mut Object> {
    service.get_mut("spec").and_then(Value::as_object_mut)
}

/// `clusterIP` and the first of `clusterIPs` are one field under two names; a client that knows only the old name wins.
fn normalize_cluster_ips(service: &mut Value, old: Option<&Value>) {
    let address = str_at(service, "/spec/clusterIP").to_owned();
    let plural_unchanged =
        old.is_some_and(|old| list_at(old, "/spec/clusterIPs") == list_at(service, "/spec/clusterIPs"));
    let changed = old.is_some_and(|old| str_at(old, "/spec/clusterIP") != address);
    let is_missing = list_at(service, "/spec/clusterIPs").is_empty();
    if let Some(spec) = spec_mut(service).filter(|_| is_missing || (changed && plural_unchanged)) {
        if address.is_empty() {
            spec.remove("clusterIPs");
        } else {
            spec.insert("clusterIPs".to_owned(), json!([address]));
        }
    }
}

/// An update that leaves out what was allocated keeps it.
fn keep_allocated(service: &mut Value, old: &Value) {
    let keeps_address =
        has_address(service) && has_address(old) && str_at(service, "/spec/clusterIP").is_empty();
    let keeps_ports = is_given_ports(service) && is_given_ports(old);
    let keeps_check = has_health_check(service) && has_health_check(old);
    let Some(spec) = spec_mut(service) else { return };
    if keeps_address {
        copy(spec, old, "clusterIP");
        if is_nil(spec, "clusterIPs") {
            copy(spec, old, "clusterIPs");
        }
    }
    if keeps_ports {
        for port in spec
            .get_mut("ports")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let same =
                |other: &&Value| other["port"] == port["port"] && other["protocol"] == port["protocol"];
            let kept = list_at(old, "/spec/ports")
                .iter()
                .find(same)
                .and_then(|other| port_number(&other["nodePort"]));
            if let (None, Some(kept), Some(port)) =
                (port_number(&port["nodePort"]), kept, port.as_object_mut())
            {
                port.insert("nodePort".to_owned(), kept.into());
            }
        }
    }
    if keeps_check && spec.get("healthCheckNodePort").and_then(port_number).is_none() {
        copy(spec, old, "healthCheckNodePort");
    }
}

fn copy(spec: &mut Object, old: &Value, field: &str) {
    if let Some(value) = old["spec"].get(field) {
        spec.insert(field.to_owned(), value.clone());
    }
}

/// A change of type drops the fields that the new type lacks, unless the user changed them too: then validation speaks.
fn drop_what_the_type_lacks(service: &mut Value, old: &Value) {
    let mut fields: Vec<&str> = Vec::new();
    if has_address(old) && !has_address(service) {
        fields.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]);
    }
    if has_health_check(old) && !has_health_check(service) {
        fields.push("healthCheckNodePort");
    }
    if str_at(old, "/spec/type") == "LoadBalancer" && str_at(service, "/spec/type") != "LoadBalancer" {
        fields.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    let is_external = matches!(str_at(service, "/spec/type"), "NodePort" | "LoadBalancer")
        || !list_at(service, "/spec/externalIPs").is_empty();
    if !is_external {
        fields.push("externalTrafficPolicy");
    }
    let drops_ports = has_node_ports(old) && !has_node_ports(service);
    let old_ports = node_ports(old);
    let Some(spec) = spec_mut(service) else { return };
    for field in fields {
        if spec.get(field) == old["spec"].get(field) {
            spec.remove(field);
        }
    }
    if drops_ports {
        for port in spec
            .get_mut("ports")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let is_old = port_number(&port["nodePort"]).is_some_and(|number| old_ports.contains(&number));
            if let Some(port) = port.as_object_mut().filter(|_| is_old) {
                port.remove("nodePort");
            }
        }
    }
}

/// Fills in the address family and the policy of a service that has addresses.
fn set_families(service: &mut Value) -> Vec<FieldError> {
    if !has_address(service) {
        return Vec::new();
    }
    let without_selector = service
        .pointer("/spec/selector")
        .is_none_or(|selector| selector.as_object().is_none_or(Object::is_empty));
    let headless_by_hand = str_at(service, "/spec/clusterIP") == HEADLESS && without_selector;
    let Some(spec) = spec_mut(service) else {
        return Vec::new();
    };
    let path = FieldPath::new("spec");
    if !headless_by_hand {
        if str_in(spec, "ipFamilyPolicy") == "RequireDualStack" {
            let detail = "this cluster is not configured for dual-stack services";
            return vec![FieldError::invalid(
                path.child("ipFamilyPolicy"),
                "RequireDualStack",
                detail,
            )];
        }
        let families = spec
            .get("ipFamilies")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        if let Some((index, family)) = families
            .enumerate()
            .find(|(_, family)| family.as_str() != Some("IPv4"))
        {
            let detail = "not configured on this cluster";
            return vec![FieldError::invalid(
                path.child("ipFamilies").index(index),
                family.clone(),
                detail,
            )];
        }
    }
    // Nobody allocates for endpoints that the user writes, so they may well have both families.
    let (policy, families) = if headless_by_hand {
        ("RequireDualStack", json!(["IPv4", "IPv6"]))
    } else {
        ("SingleStack", json!(["IPv4"]))
    };
    if is_nil(spec, "ipFamilyPolicy") {
        spec.insert("ipFamilyPolicy".to_owned(), policy.into());
    }
    if spec
        .get("ipFamilies")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        let single = str_in(spec, "ipFamilyPolicy") == "SingleStack";
        spec.insert(
            "ipFamilies".to_owned(),
            if single { json!(["IPv4"]) } else { families },
        );
    }
    Vec::new()
}

/// The allocated address of a service, if it has one.
fn address(service: &Value) -> Option<&str> {
    Some(str_at(service, "/spec/clusterIP")).filter(|address| !address.is_empty() && *address != HEADLESS)
}

/// Gives back what the update dropped, so that the same request may take it for something else.
fn release(service: &Value, old: &Value, allocator: &mut dyn Allocator) {
    if let Some(old_address) = address(old).filter(|old| address(service) != Some(old)) {
        allocator.release_address(old_address);
    }
    let kept = node_ports(service);
    for port in node_ports(old).difference(&kept) {
        allocator.release_port(*port);
    }
    let check = port_number(&old["spec"]["healthCheckNodePort"]);
    if let Some(port) =
        check.filter(|port| port_number(&service["spec"]["healthCheckNodePort"]) != Some(*port))
    {
        allocator.release_port(port);
    }
}

fn allocate_address(
    service: &mut Value,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Vec<FieldError> {
    let wanted = str_at(service, "/spec/clusterIP").to_owned();
    let had = old.filter(|old| has_address(old)).and_then(address);
    // Another than the one it had is for validation to refuse: an address stays.
    let is_settled = !wanted.is_empty() && had.is_some();
    if !has_address(service) || wanted == HEADLESS || is_settled {
        return Vec::new();
    }
    match allocator.take_address(Some(wanted.as_str()).filter(|wanted| !wanted.is_empty())) {
        Ok(address) => {
            if let Some(spec) = spec_mut(service) {
                spec.insert("clusterIP".to_owned(), address.as_str().into());
                spec.insert("clusterIPs".to_owned(), json!([address]));
            }
            Vec::new()
        }
        Err(error) => {
            let addresses = service
                .pointer("/spec/clusterIPs")
                .cloned()
                .unwrap_or(Value::Null);
            let what = if wanted.is_empty() {
                "a serviceIP".to_owned()
            } else {
                format!("IP {wanted}")
            };
            let detail = format!("failed to allocate {what}: {error}");
            vec![FieldError::invalid(
                FieldPath::new("spec").child("clusterIPs"),
                addresses,
                detail,
            )]
        }
    }
}
