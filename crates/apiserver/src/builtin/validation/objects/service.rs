//! Services.
//!
//! Upstream: `ValidateService` and `ValidateServiceUpdate` in `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use super::super::super::value::{at, int_at, list_at, str_at};
use super::super::names::{label, port_name, port_number, subdomain};
use super::super::{invalid_each, metadata, required, supported};
use kubewright_core::{FieldError, FieldPath};
use serde_json::{Value, json};

/// A day: the longest time for which a client may be bound to a pod.
const AFFINITY_SECONDS_MAX: i64 = 86_400;

pub(crate) fn service(service: &Value) -> Vec<FieldError> {
    let (spec, path) = (&service["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    let kind = str_at(spec, "/type");
    let is_headless = str_at(spec, "/clusterIP") == "None";
    let ports = list_at(spec, "/ports");
    if ports.is_empty() && !is_headless && kind != "ExternalName" {
        errors.push(FieldError::required(path.child("ports"), ""));
    }
    supported(
        &mut errors,
        path.child("type"),
        at(spec, "/type"),
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    if is_headless && matches!(kind, "NodePort" | "LoadBalancer") {
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.push(FieldError::invalid(
            path.child("clusterIPs").index(0),
            "None",
            detail,
        ));
    }
    if kind == "ExternalName" {
        check_external_name(&mut errors, spec, &path);
    }
    check_cluster_ips(&mut errors, spec, &path);
    check_ports(&mut errors, ports, &path, kind);
    metadata::labels(&mut errors, spec, "/selector", &path.child("selector"));
    check_affinity(&mut errors, spec, &path);
    check_traffic(&mut errors, spec, &path, kind);
    errors
}

fn check_external_name(errors: &mut Vec<FieldError>, spec: &Value, path: &FieldPath) {
    let address = str_at(spec, "/clusterIP");
    if !address.is_empty() && address != "None" {
        let detail = "may not be set for ExternalName services";
        errors.push(FieldError::forbidden(path.child("clusterIPs"), detail));
    }
    let name = str_at(spec, "/externalName").trim_end_matches('.');
    if required(errors, path.child("externalName"), at(spec, "/externalName"), "") {
        invalid_each(errors, &path.child("externalName"), name, subdomain(name));
    }
}

fn check_cluster_ips(errors: &mut Vec<FieldError>, spec: &Value, path: &FieldPath) {
    let first = list_at(spec, "/clusterIPs")
        .first()
        .and_then(Value::as_str)
        .unwrap_or_default();
    let address = str_at(spec, "/clusterIP");
    if address != first {
        let addresses = spec["clusterIPs"].clone();
        errors.push(FieldError::invalid(
            path.child("clusterIPs"),
            addresses,
            "first value must match `clusterIP`",
        ));
    }
    if !address.is_empty() && address != "None" && address.parse::<std::net::IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid(
            path.child("clusterIPs").index(0),
            address,
            detail,
        ));
    }
}

fn check_ports(errors: &mut Vec<FieldError>, ports: &[Value], path: &FieldPath, kind: &str) {
    let mut names = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    let mut node_ports = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.child("ports").index(index);
        let (name, protocol) = (str_at(port, "/name"), str_at(port, "/protocol"));
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(FieldError::required(path.child("name"), ""));
            }
        } else {
            invalid_each(errors, &path.child("name"), name, label(name));
            if !names.insert(name) {
                errors.push(FieldError::duplicate(path.child("name"), name));
            }
        }
        let number = int_at(port, "/port").unwrap_or(0);
        let messages = port_number(number);
        errors.extend(
            messages
                .into_iter()
                .map(|message| FieldError::invalid(path.child("port"), number, message)),
        );
        if required(errors, path.child("protocol"), at(port, "/protocol"), "") {
            supported(
                errors,
                path.child("protocol"),
                at(port, "/protocol"),
                &["SCTP", "TCP", "UDP"],
            );
        }
        check_target(errors, &port["targetPort"], &path.child("targetPort"));
        if !numbers.insert((protocol, number)) {
            errors.push(FieldError::duplicate(
                path.clone(),
                json!({"protocol": protocol, "port": number}),
            ));
        }
        let Some(node_port) = int_at(port, "/nodePort").filter(|number| *number != 0) else {
            continue;
        };
        if matches!(kind, "ClusterIP" | "ExternalName") {
            let detail = format!("may not be used when `type` is '{kind}'");
            errors.push(FieldError::forbidden(path.child("nodePort"), detail));
        }
        if !node_ports.insert((protocol, node_port)) {
            errors.push(FieldError::duplicate(path.child("nodePort"), node_port));
        }
    }
}

fn check_target(errors: &mut Vec<FieldError>, target: &Value, path: &FieldPath) {
    match target {
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(0);
            errors.extend(
                port_number(number)
                    .into_iter()
                    .map(|message| FieldError::invalid(path.clone(), number, message)),
            );
        }
        Value::String(name) => invalid_each(errors, path, name, port_name(name)),
        _ => {}
    }
}

fn check_affinity(errors: &mut Vec<FieldError>, spec: &Value, path: &FieldPath) {
    if required(
        errors,
        path.child("sessionAffinity"),
        at(spec, "/sessionAffinity"),
        "",
    ) {
        supported(
            errors,
            path.child("sessionAffinity"),
            at(spec, "/sessionAffinity"),
            &["ClientIP", "None"],
        );
    }
    let seconds = int_at(spec, "/sessionAffinityConfig/clientIP/timeoutSeconds");
    if let Some(seconds) = seconds.filter(|seconds| !(1..=AFFINITY_SECONDS_MAX).contains(seconds)) {
        let path = path
            .child("sessionAffinityConfig")
            .child("clientIP")
            .child("timeoutSeconds");
        let detail = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
        errors.push(FieldError::invalid(path, seconds, detail));
    }
}

fn check_traffic(errors: &mut Vec<FieldError>, spec: &Value, path: &FieldPath, kind: &str) {
    let policies = ["Cluster", "Local"];
    let external = at(spec, "/externalTrafficPolicy");
    let is_external = matches!(kind, "NodePort" | "LoadBalancer")
        || (kind == "ClusterIP" && !list_at(spec, "/externalIPs").is_empty());
    if let Some(policy) = external.filter(|_| !is_external) {
        let detail = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(
            path.child("externalTrafficPolicy"),
            policy.clone(),
            detail,
        ));
    } else {
        supported(errors, path.child("externalTrafficPolicy"), external, &policies);
    }
    supported(
        errors,
        path.child("internalTrafficPolicy"),
        at(spec, "/internalTrafficPolicy"),
        &policies,
    );
    if kind != "LoadBalancer" {
        for (field, detail) in [
            (
                "allocateLoadBalancerNodePorts",
                "may only be used when `type` is 'LoadBalancer'",
            ),
            (
                "loadBalancerClass",
                "may only be used when `type` is 'LoadBalancer'",
            ),
        ] {
            if spec.get(field).is_some_and(|value| !value.is_null()) {
                errors.push(FieldError::forbidden(path.child(field), detail));
            }
        }
    }
}

/// An address that was given to a service stays with it while the service has one.
pub(crate) fn service_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let has_address = |service: &Value| str_at(service, "/spec/type") != "ExternalName";
    let (before, after) = (str_at(old, "/spec/clusterIP"), str_at(new, "/spec/clusterIP"));
    if has_address(new) && has_address(old) && !before.is_empty() && before != after {
        let path = FieldPath::new("spec").child("clusterIPs").index(0);
        errors.push(FieldError::invalid(
            path,
            json!([after]),
            "may not change once set",
        ));
    }
    let class = "/spec/loadBalancerClass";
    let is_balanced = |service: &Value| str_at(service, "/spec/type") == "LoadBalancer";
    if is_balanced(new) && is_balanced(old) && at(new, class) != at(old, class) {
        let path = FieldPath::new("spec").child("loadBalancerClass");
        errors.push(FieldError::invalid(
            path,
            new["spec"]["loadBalancerClass"].clone(),
            "may not change once set",
        ));
    }
    errors
}
