//! Ingresses, network policies and endpoint slices.
//!
//! Upstream: `pkg/apis/networking/validation/validation.go`, `pkg/apis/discovery/validation/validation.go`.

use super::super::super::value::{at, list_at, str_at};
use super::super::names::{port_name, port_number, subdomain, wildcard_subdomain};
use super::super::{immutable, invalid_each, required, supported};
use super::workloads::label_selector;
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

pub(crate) fn ingress(ingress: &Value) -> Vec<FieldError> {
    let (spec, path) = (&ingress["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    let rules = list_at(spec, "/rules");
    let default = at(spec, "/defaultBackend");
    if rules.is_empty() && default.is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(path.clone(), spec["rules"].clone(), detail));
    }
    if let Some(backend) = default {
        check_backend(&mut errors, backend, &path.child("defaultBackend"));
    }
    for (index, rule) in rules.iter().enumerate() {
        check_rule(&mut errors, rule, &path.child("rules").index(index));
    }
    let class = str_at(spec, "/ingressClassName");
    if !class.is_empty() {
        invalid_each(
            &mut errors,
            &path.child("ingressClassName"),
            class,
            subdomain(class),
        );
    }
    errors
}

fn check_rule(errors: &mut Vec<FieldError>, rule: &Value, path: &FieldPath) {
    let host = str_at(rule, "/host");
    if host.parse::<std::net::IpAddr>().is_ok() {
        errors.push(FieldError::invalid(
            path.child("host"),
            host,
            "must be a DNS name, not an IP address",
        ));
    } else if !host.is_empty() {
        let messages = if host.contains('*') {
            wildcard_subdomain(host)
        } else {
            subdomain(host)
        };
        invalid_each(errors, &path.child("host"), host, messages);
    }
    if at(rule, "/http").is_none() {
        return;
    }
    let paths = list_at(rule, "/http/paths");
    let path = path.child("http").child("paths");
    if paths.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    }
    for (index, entry) in paths.iter().enumerate() {
        let path = path.index(index);
        let text = str_at(entry, "/path");
        match str_at(entry, "/pathType") {
            "" => errors.push(FieldError::required(
                path.child("pathType"),
                "pathType must be specified",
            )),
            "Exact" | "Prefix" if !text.starts_with('/') => {
                errors.push(FieldError::invalid(
                    path.child("path"),
                    text,
                    "must be an absolute path",
                ));
            }
            "Exact" | "Prefix" => {
                for part in ["//", "/./", "/../", "%2f", "%2F"]
                    .into_iter()
                    .filter(|part| text.contains(part))
                {
                    errors.push(FieldError::invalid(
                        path.child("path"),
                        text,
                        format!("must not contain '{part}'"),
                    ));
                }
            }
            "ImplementationSpecific" if !text.is_empty() && !text.starts_with('/') => {
                errors.push(FieldError::invalid(
                    path.child("path"),
                    text,
                    "must be an absolute path",
                ));
            }
            "ImplementationSpecific" => {}
            other => {
                let types = ["Exact", "ImplementationSpecific", "Prefix"];
                errors.push(FieldError::not_supported(path.child("pathType"), other, &types));
            }
        }
        check_backend(errors, &entry["backend"], &path.child("backend"));
    }
}

fn check_backend(errors: &mut Vec<FieldError>, backend: &Value, path: &FieldPath) {
    match (at(backend, "/resource"), at(backend, "/service")) {
        (Some(_), Some(_)) => {
            errors.push(FieldError::invalid(
                path.clone(),
                "",
                "cannot set both resource and service backends",
            ));
        }
        (Some(_), None) => {}
        (None, None) => errors.push(FieldError::required(path.child("service"), "")),
        (None, Some(service)) => {
            let path = path.child("service");
            required(errors, path.child("name"), service.get("name"), "");
            let (name, number) = (
                str_at(service, "/port/name"),
                service["port"]["number"].as_i64().unwrap_or(0),
            );
            match (name, number) {
                ("", 0) => errors.push(FieldError::required(path, "port name or number is required")),
                ("", number) => {
                    let path = path.child("port").child("number");
                    let messages = port_number(number).into_iter();
                    errors.extend(messages.map(|message| FieldError::invalid(path.clone(), number, message)));
                }
                (name, 0) => invalid_each(errors, &path.child("port").child("name"), name, port_name(name)),
                _ => errors.push(FieldError::invalid(
                    path,
                    "",
                    "cannot set both port name & port number",
                )),
            }
        }
    }
}

pub(crate) fn ingress_class_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/spec/controller");
    errors
}

pub(crate) fn network_policy(policy: &Value) -> Vec<FieldError> {
    let (spec, path) = (&policy["spec"], FieldPath::new("spec"));
    let mut errors = Vec::new();
    label_selector(&mut errors, &spec["podSelector"], &path.child("podSelector"));
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list_at(spec, &format!("/{list}")).iter().enumerate() {
            let path = path.child(list).index(index);
            for (index, peer) in list_at(rule, &format!("/{peers}")).iter().enumerate() {
                check_peer(&mut errors, peer, &path.child(peers).index(index));
            }
            for (index, port) in list_at(rule, "/ports").iter().enumerate() {
                let path = path.child("ports").index(index);
                supported(
                    &mut errors,
                    path.child("protocol"),
                    at(port, "/protocol"),
                    &["SCTP", "TCP", "UDP"],
                );
                match port.get("port") {
                    Some(Value::Number(number)) => {
                        let number = number.as_i64().unwrap_or(0);
                        let messages = port_number(number).into_iter();
                        errors.extend(
                            messages.map(|message| FieldError::invalid(path.child("port"), number, message)),
                        );
                    }
                    Some(Value::String(name)) => {
                        invalid_each(&mut errors, &path.child("port"), name, port_name(name))
                    }
                    _ => {}
                }
            }
        }
    }
    for (index, kind) in list_at(spec, "/policyTypes").iter().enumerate() {
        supported(
            &mut errors,
            path.child("policyTypes").index(index),
            Some(kind),
            &["Egress", "Ingress"],
        );
    }
    errors
}

fn check_peer(errors: &mut Vec<FieldError>, peer: &Value, path: &FieldPath) {
    let mut selectors = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = peer.get(field).filter(|selector| !selector.is_null()) {
            selectors += 1;
            label_selector(errors, selector, &path.child(field));
        }
    }
    match at(peer, "/ipBlock") {
        None if selectors == 0 => errors.push(FieldError::required(path.clone(), "must specify a peer")),
        None => {}
        Some(_) if selectors > 0 => {
            let detail = "may not specify both ipBlock and another peer";
            errors.push(FieldError::forbidden(path.clone(), detail));
        }
        Some(block) => {
            let path = path.child("ipBlock").child("cidr");
            let cidr = str_at(block, "/cidr");
            if required(errors, path.clone(), block.get("cidr"), "") && !is_cidr(cidr) {
                let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
                errors.push(FieldError::invalid(path, cidr, detail));
            }
        }
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    prefix.parse::<u8>().is_ok_and(|prefix| prefix <= most)
}

/// The most endpoints of one slice.
const ENDPOINTS_MAX: usize = 1000;
/// The most addresses of one endpoint.
const ADDRESSES_MAX: usize = 100;

pub(crate) fn endpoint_slice(slice: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let types = ["FQDN", "IPv4", "IPv6"];
    if required(
        &mut errors,
        FieldPath::new("addressType"),
        slice.get("addressType"),
        "",
    ) {
        supported(
            &mut errors,
            FieldPath::new("addressType"),
            slice.get("addressType"),
            &types,
        );
    }
    let path = FieldPath::new("endpoints");
    let endpoints = list_at(slice, "/endpoints");
    if endpoints.len() > ENDPOINTS_MAX {
        errors.push(FieldError::too_many(path.clone(), endpoints.len(), ENDPOINTS_MAX));
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(index).child("addresses");
        match list_at(endpoint, "/addresses").len() {
            0 => errors.push(FieldError::required(path, "must contain at least 1 address")),
            count if count > ADDRESSES_MAX => errors.push(FieldError::too_many(path, count, ADDRESSES_MAX)),
            _ => {}
        }
    }
    errors
}

pub(crate) fn endpoint_slice_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/addressType");
    errors
}
