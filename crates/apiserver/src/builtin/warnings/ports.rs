//! Ports of containers that clash or are named twice.

use std::collections::BTreeMap;

use super::super::validation::field::Field;
use super::super::validation::pod::each_container;

/// A port that came before.
struct Known<'v> {
    path: String,
    host_ip: &'v str,
    host_port: i64,
}

pub(super) fn check(warnings: &mut Vec<String>, spec: &Field<'_, '_>) {
    let mut all: BTreeMap<(i64, &str), Vec<Known<'_>>> = BTreeMap::new();
    each_container(spec, |container| {
        for port in container.get("ports").items() {
            let path = port.path().to_string();
            let known = Known {
                host_ip: port.get("hostIP").text(),
                host_port: port.get("hostPort").int(),
                path,
            };
            let (number, protocol) = (port.get("containerPort").int(), port.get("protocol").text());
            if !known.host_ip.is_empty() && known.host_port == 0 {
                // Go's notation of the port.
                warnings.push(format!(
                    "{}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{}}}",
                    known.path,
                    port.get("name").text(),
                    known.host_ip
                ));
            }
            let others = all.entry((number, protocol)).or_default();
            warnings.extend(others.iter().filter_map(|other| clash(&known, other)));
            others.push(known);
        }
    });
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    each_container(spec, |container| {
        for port in container.get("ports").items() {
            let (name, path) = (port.get("name").text(), port.path().to_string());
            if name.is_empty() {
                continue;
            }
            if let Some(other) = names.get(name) {
                warnings.push(format!(
                    "{path}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use \
                     {other}"
                ));
            } else {
                names.insert(name, path);
            }
        }
    });
}

/// What is said of two ports of one number and protocol.
fn clash(port: &Known<'_>, other: &Known<'_>) -> Option<String> {
    let same_port = port.host_port == other.host_port;
    let what = if port.host_ip == other.host_ip && same_port {
        "duplicate"
    } else if port.host_port == 0 || other.host_port == 0 {
        "overlapping"
    } else if same_port && port.host_ip.is_empty() != other.host_ip.is_empty() {
        "dangerously ambiguous"
    } else {
        return None;
    };
    Some(format!(
        "{}: {what} port definition with {}",
        port.path, other.path
    ))
}
