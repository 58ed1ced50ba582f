//! Endpoints.
//!
//! Upstream: `ValidateEndpoints`.

use super::super::addresses::{check_endpoint, check_ip};
use super::super::field::{Errors, Field};
use super::super::names::{label, port_number, qualified_name, subdomain};
use kubewright_core::FieldError;
use serde_json::Value;

pub(crate) fn endpoints(endpoints: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let subsets = Field::of(endpoints, "subsets");
    if old.is_some_and(|old| Field::of(old, "subsets").same(&subsets)) {
        return errors;
    }
    for subset in subsets.items() {
        let lists = [subset.get("addresses"), subset.get("notReadyAddresses")];
        if lists.iter().all(|list| list.is_empty()) {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            subset.required(&mut errors, detail);
        }
        for address in lists.iter().flat_map(Field::items) {
            check_ip(&mut errors, &address.get("ip"), &[]);
            address.get("hostname").checked_if_set(&mut errors, label);
            let node = address.get("nodeName");
            if node.exists() {
                node.checked(&mut errors, subdomain);
            }
            check_endpoint(&mut errors, &address.get("ip"));
        }
        let ports = subset.get("ports");
        for port in ports.items() {
            check_port(&mut errors, &port, ports.len() > 1);
        }
    }
    errors
}

fn check_port(errors: &mut Errors, port: &Field<'_, '_>, is_one_of_several: bool) {
    let name = port.get("name");
    if name.is_set() {
        name.checked(errors, label);
    } else if is_one_of_several {
        name.required(errors, "");
    }
    let number = port.get("port");
    for message in port_number(number.int()) {
        number.invalid_as(errors, number.int(), message);
    }
    port.get("protocol")
        .required_one_of(errors, &["SCTP", "TCP", "UDP"]);
    let protocol = port.get("appProtocol");
    if protocol.exists() {
        protocol.checked(errors, qualified_name);
    }
}
