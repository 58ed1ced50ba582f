//! Services and what is behind and before them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{AGE, NAME, string};
use crate::table::format::{NONE, SHOWN, UNKNOWN, UNSET, cut_short, label_selector, labels};
use crate::table::view::{Row, get, int, items, or, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer(
        "",
        "Service",
        &[
            NAME,
            string("Type", "How the service is exposed."),
            string("Cluster-IP", "Its address inside the cluster."),
            string("External-IP", "Its addresses outside the cluster."),
            string(
                "Port(s)",
                "Its ports, with the port on every node where there is one.",
            ),
            AGE,
            string("Selector", "Labels of the pods behind it.").wide(),
        ],
        service,
    ),
    printer(
        "",
        "Endpoints",
        &[
            NAME,
            string("Endpoints", "Addresses and ports behind the service."),
            AGE,
        ],
        |row| vec![row.name(), endpoints(row).into(), row.age()],
    ),
    printer(
        "discovery.k8s.io",
        "EndpointSlice",
        &[
            NAME,
            string("AddressType", "What kind of addresses it lists."),
            string("Ports", "Ports of the endpoints."),
            string("Endpoints", "Their addresses."),
            AGE,
        ],
        endpoint_slice,
    ),
    printer(
        "networking.k8s.io",
        "Ingress",
        &[
            NAME,
            string("Class", "The class of controller that serves it."),
            string("Hosts", "Host names that the rules match."),
            string("Address", "Addresses of the load balancer."),
            string("Ports", "Ports that are open, 443 with TLS."),
            AGE,
        ],
        ingress,
    ),
    printer(
        "networking.k8s.io",
        "IngressClass",
        &[
            NAME,
            string("Controller", "The controller that serves the class."),
            string("Parameters", "The object with further settings."),
            AGE,
        ],
        ingress_class,
    ),
    printer(
        "networking.k8s.io",
        "NetworkPolicy",
        &[
            NAME,
            string("Pod-Selector", "Labels of the pods that the policy is for."),
            AGE,
        ],
        |row| {
            vec![
                row.name(),
                label_selector(row.get("/spec/podSelector")).into(),
                row.age(),
            ]
        },
    ),
    printer(
        "networking.k8s.io",
        "ServiceCIDR",
        &[
            NAME,
            string("CIDRs", "Ranges that service addresses come from."),
            AGE,
        ],
        |row| {
            vec![
                row.name(),
                strings(row.items("/spec/cidrs")).join(",").into(),
                row.age(),
            ]
        },
    ),
    printer(
        "networking.k8s.io",
        "IPAddress",
        &[NAME, string("ParentRef", "The object that holds the address.")],
        ip_address,
    ),
];

fn service(row: &Row<'_>) -> Vec<Value> {
    let cluster_ip = or(row.text("/spec/clusterIPs/0"), row.text("/spec/clusterIP"));
    vec![
        row.name(),
        row.text("/spec/type").into(),
        or(cluster_ip, NONE).into(),
        external_ip(row).into(),
        or(&service_ports(row.items("/spec/ports")), NONE).into(),
        row.age(),
        labels(row.get("/spec/selector")).into(),
    ]
}

fn external_ip(row: &Row<'_>) -> String {
    let external = strings(row.items("/spec/externalIPs"));
    match row.text("/spec/type") {
        "ClusterIP" | "NodePort" => or(&external.join(","), NONE).to_owned(),
        "LoadBalancer" => {
            let mut all = load_balancer(row);
            all.extend(external.into_iter().map(str::to_owned));
            or(&all.join(","), "<pending>").to_owned()
        }
        "ExternalName" => row.text("/spec/externalName").to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// Addresses, or else host names, of a load balancer, sorted and each once.
fn load_balancer(row: &Row<'_>) -> Vec<String> {
    let points = row.items("/status/loadBalancer/ingress").iter();
    let addresses: BTreeSet<_> = points
        .map(|point| or(text(point, "/ip"), text(point, "/hostname")))
        .collect();
    addresses
        .into_iter()
        .filter(|address| !address.is_empty())
        .map(str::to_owned)
        .collect()
}

fn service_ports(ports: &[Value]) -> String {
    let ports = ports.iter().map(|port| {
        let (number, protocol) = (int(port, "/port"), text(port, "/protocol"));
        match int(port, "/nodePort") {
            node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    });
    ports.collect::<Vec<_>>().join(",")
}

fn endpoints(row: &Row<'_>) -> String {
    let subsets = row.items("/subsets");
    if subsets.is_empty() {
        return NONE.to_owned();
    }
    let mut list = Vec::new();
    let mut count = 0;
    let mut add = |addresses: &[Value], port: Option<i64>| {
        count += addresses.len();
        let room = SHOWN.saturating_sub(list.len());
        list.extend(addresses.iter().take(room).map(|address| {
            let ip = text(address, "/ip");
            match port {
                None => ip.to_owned(),
                Some(port) if ip.contains(':') => format!("[{ip}]:{port}"),
                Some(port) => format!("{ip}:{port}"),
            }
        }));
    };
    for subset in subsets {
        let addresses = items(subset, "/addresses");
        match items(subset, "/ports") {
            // A headless service may have no ports.
            [] => add(addresses, None),
            ports => ports
                .iter()
                .for_each(|port| add(addresses, Some(int(port, "/port")))),
        }
    }
    cut_short(&list, count, "")
}

fn endpoint_slice(row: &Row<'_>) -> Vec<Value> {
    let port = |port| match get(port, "/port").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => get(port, "/name")
            .and_then(Value::as_str)
            .unwrap_or("*")
            .to_owned(),
    };
    let ports: Vec<_> = row.items("/ports").iter().map(port).collect();
    let addresses: Vec<_> = row
        .items("/endpoints")
        .iter()
        .flat_map(|endpoint| strings(items(endpoint, "/addresses")))
        .map(str::to_owned)
        .collect();
    vec![
        row.name(),
        row.text("/addressType").into(),
        cut_short(&ports, ports.len(), UNSET).into(),
        cut_short(&addresses, addresses.len(), UNSET).into(),
        row.age(),
    ]
}

fn ingress(row: &Row<'_>) -> Vec<Value> {
    let class = row.get("/spec/ingressClassName").and_then(Value::as_str);
    let ports = if row.items("/spec/tls").is_empty() {
        "80"
    } else {
        "80, 443"
    };
    vec![
        row.name(),
        class.unwrap_or(NONE).into(),
        ingress_hosts(row.items("/spec/rules")).into(),
        load_balancer(row).join(",").into(),
        ports.into(),
        row.age(),
    ]
}

/// The hosts of the rules. Upstream counts what it leaves out by rules, not hosts, and only notices a rule beyond the
/// third host.
fn ingress_hosts(rules: &[Value]) -> String {
    let mut hosts = Vec::new();
    let mut more = false;
    for rule in rules {
        more = more || hosts.len() == SHOWN;
        let host = text(rule, "/host");
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    match (hosts.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => hosts.join(","),
        (false, true) => format!("{} + {} more...", hosts.join(","), rules.len() - SHOWN),
    }
}

fn ingress_class(row: &Row<'_>) -> Vec<Value> {
    let parameters = row.get("/spec/parameters").map_or_else(
        || NONE.to_owned(),
        |parameters| {
            let (kind, name) = (text(parameters, "/kind"), text(parameters, "/name"));
            match get(parameters, "/apiGroup").and_then(Value::as_str) {
                Some(group) => format!("{kind}.{group}/{name}"),
                None => format!("{kind}/{name}"),
            }
        },
    );
    vec![
        row.name(),
        row.text("/spec/controller").into(),
        parameters.into(),
        row.age(),
    ]
}

fn ip_address(row: &Row<'_>) -> Vec<Value> {
    let parent = row.get("/spec/parentRef").map_or_else(
        || NONE.to_owned(),
        |parent| {
            let resource = match (text(parent, "/resource"), text(parent, "/group")) {
                (resource, "") => resource.to_owned(),
                (resource, group) => format!("{resource}.{group}"),
            };
            let mut path = vec![resource.to_lowercase()];
            path.extend(
                [text(parent, "/namespace")]
                    .into_iter()
                    .filter(|namespace| !namespace.is_empty())
                    .map(str::to_owned),
            );
            path.push(text(parent, "/name").to_owned());
            path.join("/")
        },
    );
    vec![row.name(), parent.into()]
}

fn strings(values: &[Value]) -> Vec<&str> {
    values.iter().filter_map(Value::as_str).collect()
}
