//! Node ports of services.
//!
//! Upstream: `initNodePorts`, `updateNodePorts` and `allocHealthCheckNodePort` in `pkg/registry/core/service/storage/alloc.go`.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

use super::super::value::{at, list_at, str_at};
use super::Allocator;
use super::allocator::{AllocationError, NODE_PORTS, port_number};
use super::service::{has_health_check, spec_mut};

/// Whether a service of this type may have ports on nodes.
pub(super) fn has_node_ports(service: &Value) -> bool {
    matches!(str_at(service, "/spec/type"), "NodePort" | "LoadBalancer")
}

/// Whether it is given the ones that it does not ask for.
pub(super) fn is_given_ports(service: &Value) -> bool {
    match str_at(service, "/spec/type") {
        "NodePort" => true,
        "LoadBalancer" => at(service, "/spec/allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)),
        _ => false,
    }
}

/// The ports on nodes that a service has.
pub(super) fn node_ports(service: &Value) -> BTreeSet<i64> {
    list_at(service, "/spec/ports")
        .iter()
        .filter_map(|port| port_number(&port["nodePort"]))
        .collect()
}

/// Takes the ports that a service asks for and those that it is to be given.
pub(super) fn allocate_ports(
    service: &mut Value,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Vec<FieldError> {
    if !has_node_ports(service) {
        return Vec::new();
    }
    let is_given = is_given_ports(service);
    let mut ports = match old {
        None => Ports::New(by_port(service)),
        Some(old) => Ports::Changed(node_ports(old)),
    };
    let path = FieldPath::new("spec").child("ports");
    let list = spec_mut(service)
        .and_then(|spec| spec.get_mut("ports"))
        .and_then(Value::as_array_mut);
    for (index, port) in list.into_iter().flatten().enumerate() {
        let wanted = port_number(&port["nodePort"]);
        if wanted.is_none() && !is_given {
            continue;
        }
        match (ports.take(&port["port"], wanted, allocator), port.as_object_mut()) {
            (Ok(number), Some(port)) => {
                port.insert("nodePort".to_owned(), number.into());
            }
            (Ok(_), None) => {}
            (Err(error), _) => {
                let path = path.index(index).child("nodePort");
                return vec![port_error(path, wanted, &error)];
            }
        }
    }
    Vec::new()
}

/// What is known of the ports of a service while they are gone through.
enum Ports {
    /// Of a new one, by its own ports: one number serves all protocols of a port.
    New(BTreeMap<String, Known>),
    /// Of a changed one, what it has already.
    Changed(BTreeSet<i64>),
}

#[derive(Clone, Copy)]
enum Known {
    /// Asked for, here or further down.
    Asked(i64),
    Taken(i64),
}

impl Ports {
    fn take(
        &mut self,
        port: &Value,
        wanted: Option<i64>,
        allocator: &mut dyn Allocator,
    ) -> Result<i64, AllocationError> {
        match self {
            Self::New(by_port) => {
                let port = port.to_string();
                let asked = match by_port.get(&port) {
                    Some(Known::Taken(number)) => match wanted {
                        None => return Ok(*number),
                        Some(wanted) if wanted == *number => return Ok(wanted),
                        other => return allocator.take_port(other),
                    },
                    Some(Known::Asked(number)) => Some(*number),
                    None => None,
                };
                let number = allocator.take_port(asked)?;
                by_port.insert(port, Known::Taken(number));
                Ok(number)
            }
            Self::Changed(own) => match wanted {
                Some(wanted) if own.contains(&wanted) => Ok(wanted),
                wanted => {
                    let number = allocator.take_port(wanted)?;
                    own.insert(number);
                    Ok(number)
                }
            },
        }
    }
}

/// The first number that is asked for with each port.
fn by_port(service: &Value) -> BTreeMap<String, Known> {
    let mut asked = BTreeMap::new();
    for port in list_at(service, "/spec/ports") {
        if let Some(number) = port_number(&port["nodePort"]) {
            asked
                .entry(port["port"].to_string())
                .or_insert(Known::Asked(number));
        }
    }
    asked
}

/// Takes the port on which nodes tell whether they serve the service.
pub(super) fn allocate_health_check(
    service: &mut Value,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Vec<FieldError> {
    if !has_health_check(service) || old.is_some_and(has_health_check) {
        return Vec::new();
    }
    let wanted = port_number(&service["spec"]["healthCheckNodePort"]);
    match allocator.take_port(wanted) {
        Ok(number) => {
            if let Some(spec) = spec_mut(service) {
                spec.insert("healthCheckNodePort".to_owned(), number.into());
            }
            Vec::new()
        }
        // Upstream takes it for a failure of its own (`allocHealthCheckNodePort`).
        Err(error) => {
            let path = FieldPath::new("spec").child("healthCheckNodePort");
            let why = words(&error);
            let detail = match wanted {
                Some(wanted) => format!("failed to allocate requested HealthCheck NodePort {wanted}: {why}"),
                None => format!("failed to allocate a HealthCheck NodePort 0: {why}"),
            };
            vec![FieldError::internal(path, detail)]
        }
    }
}

fn port_error(path: FieldPath, wanted: Option<i64>, error: &AllocationError) -> FieldError {
    FieldError::invalid(path, wanted.unwrap_or(0), words(error))
}

fn words(error: &AllocationError) -> String {
    match error {
        AllocationError::Taken => "provided port is already allocated".to_owned(),
        AllocationError::Full => {
            let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
            format!("failed to allocate a nodePort: range {first}-{last} is full")
        }
        other => other.to_string(),
    }
}
