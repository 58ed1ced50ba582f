//! Ports, host names and name resolution of pods.

use std::collections::BTreeSet;

use super::super::addresses::check_ip;
use super::super::field::{Errors, Field};
use super::super::names::{port_name, port_number, subdomain, subdomain_with_underscores};
use super::Owner;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

pub(super) fn check_ports(errors: &mut Errors, ports: &Field<'_, '_>) {
    let mut names = BTreeSet::new();
    for port in ports.items() {
        let name = port.get("name");
        if name.is_set() {
            let messages = port_name(name.text());
            if messages.is_empty() {
                super::super::field::unique(errors, &mut names, &name);
            }
            name.invalid_each(errors, messages);
        }
        let (inside, outside) = (port.get("containerPort"), port.get("hostPort"));
        if inside.must_be_set(errors) {
            check_number(errors, &inside);
        }
        if outside.is_set() {
            check_number(errors, &outside);
        }
        port.get("protocol").required_one_of(errors, PROTOCOLS);
    }
}

fn check_number(errors: &mut Errors, port: &Field<'_, '_>) {
    for message in port_number(port.int()) {
        port.invalid(errors, message);
    }
}

/// Reports ports of the host that several of the containers ask for (`AccumulateUniqueHostPorts`).
pub(super) fn check_port_conflicts<'p, 'v: 'p>(
    errors: &mut Errors,
    containers: impl Iterator<Item = Field<'p, 'v>>,
) {
    let mut seen = BTreeSet::new();
    for container in containers {
        for port in container.get("ports").items() {
            let number = port.get("hostPort");
            if !number.is_set() {
                continue;
            }
            let (protocol, ip) = (port.get("protocol"), port.get("hostIP"));
            let key = format!("{}/{}/{}", protocol.text(), ip.text(), number.int());
            if seen.contains(&key) {
                number.duplicate_as(errors, key);
            } else {
                seen.insert(key);
            }
        }
    }
}

/// With the host's network a container's port is one of the host.
pub(super) fn check_host_ports(errors: &mut Errors, spec: &Field<'_, '_>, owner: Owner<'_>) {
    if !spec.get("hostNetwork").is_true() {
        return;
    }
    for container in spec.get("containers").items() {
        for port in container.get("ports").items() {
            let (outside, inside) = (port.get("hostPort"), port.get("containerPort"));
            let is_checked = outside.is_set() || matches!(owner, Owner::Pod(_));
            if is_checked && outside.int() != inside.int() {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                outside.invalid_as(errors, outside.int(), detail);
            }
        }
    }
}

/// As many name servers as a resolver asks.
const NAME_SERVERS_MAX: usize = 3;
/// The most domains that are searched (KEP-2595).
const SEARCHES_MAX: usize = 32;
/// The most bytes that the domains have together, with a space between two.
const SEARCH_BYTES_MAX: usize = 2048;

pub(super) fn check_dns(errors: &mut Errors, spec: &Field<'_, '_>) {
    let config = spec.get("dnsConfig");
    let (servers, searches) = (config.get("nameservers"), config.get("searches"));
    if spec.get("dnsPolicy").text() == "None" {
        if !config.exists() {
            config.required(errors, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            servers.required(errors, detail);
            return;
        }
    }
    if servers.len() > NAME_SERVERS_MAX {
        let detail = format!("must not have more than {NAME_SERVERS_MAX} nameservers");
        servers.invalid(errors, detail);
    }
    for server in servers.items() {
        check_ip(errors, &server, &[]);
    }
    if searches.len() > SEARCHES_MAX {
        let detail = format!("must not have more than {SEARCHES_MAX} search paths");
        searches.invalid(errors, detail);
    }
    let spaces = searches.len().saturating_sub(1);
    let bytes = searches.texts().map(str::len).sum::<usize>() + spaces;
    if bytes > SEARCH_BYTES_MAX {
        let detail = format!(
            "must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list"
        );
        searches.invalid(errors, detail);
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let text = search.text();
        let domain = text.strip_suffix('.').unwrap_or(text);
        for message in subdomain_with_underscores(domain) {
            search.invalid_as(errors, domain, message);
        }
    }
    for option in config.get("options").items() {
        if !option.get("name").is_set() {
            option.required(errors, "must not be empty");
        }
    }
}

pub(super) fn check_host_aliases(errors: &mut Errors, aliases: &Field<'_, '_>) {
    for alias in aliases.items() {
        check_ip(errors, &alias.get("ip"), &[]);
        for name in alias.get("hostnames").items() {
            name.checked(errors, subdomain);
        }
    }
}

/// The longest host name that Linux takes, in bytes.
const HOSTNAME_MAX: usize = 64;

/// A host name that replaces the one made from the pod's (KEP-4762).
pub(super) fn check_hostname_override(errors: &mut Errors, spec: &Field<'_, '_>) {
    let name = spec.get("hostnameOverride");
    if !name.exists() {
        return;
    }
    for (field, detail) in [
        (
            "setHostnameAsFQDN",
            "may not be specified when setHostnameAsFQDN is true",
        ),
        ("hostNetwork", "may not be specified when hostNetwork is true"),
    ] {
        if spec.get(field).is_true() {
            name.forbidden(errors, detail);
        }
    }
    if name.text().len() > HOSTNAME_MAX {
        name.too_long(errors, HOSTNAME_MAX);
    }
    name.checked(errors, subdomain);
}
