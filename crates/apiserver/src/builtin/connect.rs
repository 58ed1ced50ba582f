//! Where a connection to a container, a pod, a service or a node would go, and why it cannot.
//!
//! Pure: the handler reads the objects. Upstream: pkg/registry/core/pod/strategy.go (`LogLocation`, `streamLocation`,
//! `PortForwardLocation`, `ResourceLocation`), pkg/registry/core/service/storage/storage.go, pkg/registry/core/node/strategy.go,
//! pkg/kubelet/client/kubelet_client.go.

use std::net::IpAddr;

use kubewright_core::{FieldError, FieldPath, GroupKind, Status, StatusReason, query};
use serde_json::{Map, Value};

use super::value::{int_at, list_at, str_at};
use crate::error::{ApiError, ApiResult};
use crate::storage::{Key, KeyPrefix};

fn push(fields: &mut Map<String, Value>, name: &str, item: Value) {
    let list = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(items) = list {
        items.push(item);
    }
}

/// A subresource that is a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    /// The log of a container.
    Log,
    /// A process in a container: a new one, or the one that runs.
    Stream(Stream),
    /// The ports of a pod.
    PortForward,
    /// HTTP to a pod.
    PodProxy,
    /// HTTP to a pod behind a service.
    ServiceProxy,
    /// HTTP to a node's kubelet, or another port of the node.
    NodeProxy,
}

/// What a stream is joined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// A new process.
    Exec,
    /// The process that runs.
    Attach,
}

impl Connection {
    /// The connection that a subresource is, if it is one.
    pub(crate) fn of(plural: &str, subresource: &str) -> Option<Self> {
        Some(match (plural, subresource) {
            ("pods", "log") => Self::Log,
            ("pods", "exec") => Self::Stream(Stream::Exec),
            ("pods", "attach") => Self::Stream(Stream::Attach),
            ("pods", "portforward") => Self::PortForward,
            ("pods", "proxy") => Self::PodProxy,
            ("services", "proxy") => Self::ServiceProxy,
            ("nodes", "proxy") => Self::NodeProxy,
            _ => return None,
        })
    }
}

/// The options of a connection that bear on where it goes: those of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConnectOptions {
    /// The container; empty for a pod's only one.
    pub(crate) container: String,
    tail_lines: Option<i64>,
    limit_bytes: Option<i64>,
    since_seconds: Option<i64>,
    has_since_time: bool,
    has_stream: bool,
}

impl ConnectOptions {
    /// Reads a query, as Go's parameter codec does.
    ///
    /// # Errors
    /// 400 for a number or a time that is none.
    pub(crate) fn from_query(query: &str) -> ApiResult<Self> {
        let mut options = Self::default();
        for (name, value) in query::parameters(query) {
            let number = || {
                let parsed = query::integer(&value).map(Some);
                parsed.map_err(|why| ApiError::from(Status::bad_request(why)))
            };
            match &*name {
                "container" => options.container = value.into_owned(),
                "tailLines" => options.tail_lines = number()?,
                "limitBytes" => options.limit_bytes = number()?,
                "sinceSeconds" => options.since_seconds = number()?,
                "sinceTime" if !value.is_empty() => {
                    if value.parse::<jiff::Timestamp>().is_err() {
                        let layout = "2006-01-02T15:04:05Z07:00";
                        return Err(ApiError::from(Status::bad_request(format!(
                            "parsing time {value:?} as {layout:?}: cannot parse it"
                        ))));
                    }
                    options.has_since_time = true;
                }
                "stream" => options.has_stream = true,
                _ => {}
            }
        }
        Ok(options)
    }

    /// The options as an object of their kind, as admission sees them. `beyond` is the path behind a proxy, as it stands in the request.
    pub(crate) fn object(kind: &str, query: &str, beyond: &str) -> Value {
        let mut fields = Map::new();
        fields.insert("kind".into(), kind.into());
        fields.insert("apiVersion".into(), "v1".into());
        let is_of_streams = matches!(kind, "PodExecOptions" | "PodAttachOptions");
        for (name, value) in query::parameters(query) {
            match &*name {
                // Go takes everything for true that does not say otherwise.
                "stdin" | "stdout" | "stderr" | "tty"
                    if is_of_streams && !matches!(value.to_ascii_lowercase().as_str(), "false" | "0") =>
                {
                    fields.insert(name.into_owned(), true.into());
                }
                "container" if is_of_streams && !value.is_empty() => {
                    fields.entry("container").or_insert_with(|| value.as_ref().into());
                }
                "command" if kind == "PodExecOptions" => push(&mut fields, "command", value.as_ref().into()),
                "ports" if kind == "PodPortForwardOptions" => {
                    let ports = value.split(',').filter_map(|port| port.parse::<i32>().ok());
                    ports.for_each(|port| push(&mut fields, "ports", port.into()));
                }
                _ => {}
            }
        }
        if kind.ends_with("ProxyOptions") {
            let segments: Vec<&str> = beyond.split('/').filter(|segment| !segment.is_empty()).collect();
            let mut path: String = segments.iter().flat_map(|segment| ["/", segment]).collect();
            if beyond.ends_with('/') {
                path.push('/');
            }
            if !path.is_empty() {
                fields.insert("path".into(), path.into());
            }
        }
        Value::Object(fields)
    }

    /// What is wrong with them for a log (pkg/apis/core/validation `ValidatePodLogOptions`).
    ///
    /// # Errors
    /// 422.
    pub(crate) fn check_log(&self, name: &str) -> ApiResult<()> {
        let mut errors = Vec::new();
        let path = |field: &str| FieldPath::new(field);
        if let Some(lines) = self.tail_lines.filter(|lines| *lines < 0) {
            let why = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(path("tailLines"), lines, why));
        }
        if let Some(bytes) = self.limit_bytes.filter(|bytes| *bytes < 1) {
            errors.push(FieldError::invalid(path("limitBytes"), bytes, POSITIVE));
        }
        match self.since_seconds {
            Some(_) if self.has_since_time => {
                let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
                errors.push(FieldError::forbidden(path(""), why));
            }
            Some(seconds) if seconds < 1 => {
                errors.push(FieldError::invalid(path("sinceSeconds"), seconds, POSITIVE));
            }
            _ => {}
        }
        if self.has_stream {
            errors.push(FieldError::forbidden(path("stream"), "may not be specified"));
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(ApiError::from(Status::invalid(
            &GroupKind::new("", "PodLogOptions"),
            name,
            &errors,
        )))
    }
}

const POSITIVE: &str = "must be greater than 0";

/// The container that is meant: the one that is named, or the only one.
///
/// # Errors
/// 400 when the pod has no such container, or more than one and none is named.
pub(crate) fn container(pod: &Value, named: &str) -> ApiResult<String> {
    let pod_name = str_at(pod, "/metadata/name");
    let containers = list_at(pod, "/spec/containers");
    let mut all = ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|list| list_at(pod, &format!("/spec/{list}")))
        .map(|container| str_at(container, "/name"));
    if !named.is_empty() {
        return match all.any(|name| name == named) {
            true => Ok(named.to_owned()),
            false => Err(ApiError::from(Status::bad_request(format!(
                "container {named} is not valid for pod {pod_name}"
            )))),
        };
    }
    let why = format!("a container name must be specified for pod {pod_name}");
    match containers {
        [only] => Ok(str_at(only, "/name").to_owned()),
        [] => Err(ApiError::from(Status::bad_request(why))),
        _ => {
            let names: Vec<&str> = all.collect();
            Err(ApiError::from(Status::bad_request(format!(
                "{why}, choose one of: [{}]",
                names.join(" ")
            ))))
        }
    }
}

/// The node that a pod runs on; empty before it has one.
pub(crate) fn host(pod: &Value) -> &str {
    str_at(pod, "/spec/nodeName")
}

/// The answer to who wants into a pod that runs nowhere.
pub(crate) fn no_host(name: &str) -> Status {
    Status::bad_request(format!("pod {name} does not have a host assigned"))
}

/// Where a node is stored.
pub(crate) fn node_key(name: &str) -> Key {
    Key::new("", "nodes", None, name)
}

/// Where a service is stored.
pub(crate) fn service_key(namespace: &str, name: &str) -> Key {
    Key::new("", "services", Some(namespace), name)
}

/// Where the slices of the services of a namespace are stored.
pub(crate) fn slices_prefix(namespace: &str) -> KeyPrefix {
    KeyPrefix::namespace("discovery.k8s.io", "endpointslices", namespace)
}

/// The address of a node's kubelet: the first of the preferred types of address, and its port.
///
/// # Errors
/// 500 for a node that tells no address.
pub(crate) fn kubelet_address(node: &Value) -> ApiResult<String> {
    let addresses = list_at(node, "/status/addresses");
    let preferred = PREFERRED_ADDRESSES.iter().find_map(|wanted| {
        addresses
            .iter()
            .find(|address| str_at(address, "/type") == *wanted)
    });
    let Some(address) = preferred.map(|address| str_at(address, "/address")) else {
        let known: Vec<String> = addresses
            .iter()
            .map(|address| format!("{{{} {}}}", str_at(address, "/type"), str_at(address, "/address")))
            .collect();
        let message = format!(
            "no preferred addresses found; known addresses: [{}]",
            known.join(" ")
        );
        return Err(ApiError::from(Status::failure(StatusReason::Unknown, message)));
    };
    let port = int_at(node, "/status/daemonEndpoints/kubeletEndpoint/Port").filter(|port| *port > 0);
    Ok(join(address, &port.unwrap_or(KUBELET_PORT).to_string()))
}

/// A target of a proxy: `name`, `name:port` or `scheme:name:port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) name: &'a str,
    /// A number or a name; empty for the default.
    pub(crate) port: &'a str,
}

impl<'a> Target<'a> {
    /// Takes an id apart (apimachinery pkg/util/net/port_split.go).
    ///
    /// # Errors
    /// 400 for an id that is none; `what` is the kind of target.
    pub(crate) fn parse(id: &'a str, what: &str) -> ApiResult<Self> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => ("", "", ""),
        };
        if name.is_empty() || !matches!(scheme, "" | "http" | "https") {
            return Err(ApiError::from(Status::bad_request(format!(
                "invalid {what} request {id:?}"
            ))));
        }
        Ok(Self { name, port })
    }
}

/// The address that a proxy to a pod goes to.
///
/// # Errors
/// 400 while the pod has no address, or one that is nobody's to reach.
pub(crate) fn pod_address(pod: &Value, port: &str) -> ApiResult<String> {
    let address = list_at(pod, "/status/podIPs")
        .first()
        .map_or("", |address| str_at(address, "/ip"));
    if !address.parse::<IpAddr>().is_ok_and(is_global_unicast) {
        return Err(ApiError::from(Status::bad_request("address not allowed")));
    }
    let first = list_at(pod, "/spec/containers")
        .iter()
        .find_map(|container| int_at(container, "/ports/0/containerPort"));
    let port = match (port, first) {
        ("", Some(port)) => port.to_string(),
        (port, _) => port.to_owned(),
    };
    Ok(join(address, &port))
}

/// The name of the port of a service that a proxy names by number.
///
/// # Errors
/// 503 for a number that the service does not have.
pub(crate) fn service_port(service: &Value, name: &str, number: i64) -> ApiResult<String> {
    let mut ports = list_at(service, "/spec/ports").iter();
    let port = ports.find(|port| int_at(port, "/port") == Some(number));
    port.map(|port| str_at(port, "/name").to_owned())
        .ok_or_else(|| unavailable(format!("no service port {number} found for service {name:?}")).into())
}

/// An address behind a service: of a ready endpoint that is a pod, at the port with this name.
///
/// # Errors
/// 503 where there is none.
pub(crate) fn endpoint(slices: &[Value], service: &str, port: &str) -> ApiResult<String> {
    let of_service = |slice: &&Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service;
    slices
        .iter()
        .filter(of_service)
        .find_map(|slice| {
            let mut ports = list_at(slice, "/ports").iter();
            let number = ports
                .find(|found| str_at(found, "/name") == port)
                .and_then(|found| int_at(found, "/port"))?;
            let mut endpoints = list_at(slice, "/endpoints").iter();
            let ready = endpoints.find(|endpoint| {
                endpoint["conditions"]["ready"] != false && endpoint["targetRef"]["kind"] == "Pod"
            })?;
            Some(join(str_at(ready, "/addresses/0"), &number.to_string()))
        })
        .ok_or_else(|| unavailable(format!("no endpoints available for service {service:?}")).into())
}

/// The answer to HTTP that is to go to an address which this server, having no nodes, does not reach.
pub(crate) fn unreachable(address: &str) -> Status {
    unavailable(format!("error trying to reach service: {}", dial(address)))
}

/// The same for a stream, and for a log.
pub(crate) fn undialled(address: &str) -> Status {
    Status::failure(
        StatusReason::Unknown,
        format!("error dialing backend: {}", dial(address)),
    )
}

fn dial(address: &str) -> String {
    format!("dial tcp {address}: this server connects to no nodes")
}

fn unavailable(message: String) -> Status {
    Status::failure(StatusReason::ServiceUnavailable, message)
}

/// As Go's `net.IP.IsGlobalUnicast`: private addresses count.
fn is_global_unicast(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_unspecified() || address.is_loopback() || address.is_multicast() || link_local)
}

fn join(host: &str, port: &str) -> String {
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    match port {
        "" => host,
        port => format!("{host}:{port}"),
    }
}

/// The default of `--kubelet-preferred-address-types`.
const PREFERRED_ADDRESSES: [&str; 5] = [
    "Hostname",
    "InternalDNS",
    "InternalIP",
    "ExternalDNS",
    "ExternalIP",
];
const KUBELET_PORT: i64 = 10250;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn containers() {
        #[track_caller]
        fn check(pod: Value, named: &str, expect: Result<&str, &str>) {
            let found = container(&pod, named).map_err(|error| error.status().message.clone());
            assert_eq!(found.as_deref().map_err(String::as_str), expect);
        }
        let one = json!({"metadata": {"name": "p"}, "spec": {"initContainers": [{"name": "i"}], "containers": [{"name": "a"}]}});
        let two = json!({"metadata": {"name": "p"}, "spec": {"initContainers": [{"name": "i"}],
            "containers": [{"name": "a"}, {"name": "b"}], "ephemeralContainers": [{"name": "e"}]}});
        check(one.clone(), "", Ok("a"));
        check(one.clone(), "i", Ok("i"));
        check(two.clone(), "e", Ok("e"));
        check(one, "z", Err("container z is not valid for pod p"));
        check(
            two,
            "",
            Err("a container name must be specified for pod p, choose one of: [i a b e]"),
        );
    }

    #[test]
    fn targets() {
        #[track_caller]
        fn check(id: &str, expect: Option<(&str, &str)>) {
            let found = Target::parse(id, "pod")
                .ok()
                .map(|target| (target.name, target.port));
            assert_eq!(found, expect, "{id}");
        }
        check("a", Some(("a", "")));
        check("a:80", Some(("a", "80")));
        check("https:a:web", Some(("a", "web")));
        check("http:a:", Some(("a", "")));
        check("ftp:a:80", None);
        check(":80", None);
        check("a:b:c:d", None);
    }

    #[test]
    fn log_options() {
        #[track_caller]
        fn check(query: &str, code: u16, text: &str) {
            let found = ConnectOptions::from_query(query).and_then(|options| options.check_log("p"));
            match found {
                Ok(()) => assert_eq!(code, 200, "{query}"),
                Err(error) => {
                    let status = error.status();
                    assert_eq!(status.code, code, "{query}");
                    assert!(status.message.contains(text), "{query}: {}", status.message);
                }
            }
        }
        check("tailLines=5&follow=true&sinceSeconds=3&limitBytes=1", 200, "");
        check(
            "tailLines=-1",
            422,
            "tailLines: Invalid value: -1: must be greater than or equal to 0",
        );
        check(
            "limitBytes=0",
            422,
            "limitBytes: Invalid value: 0: must be greater than 0",
        );
        check(
            "sinceSeconds=0",
            422,
            "sinceSeconds: Invalid value: 0: must be greater than 0",
        );
        check(
            "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
            422,
            "at most one of `sinceTime` or `sinceSeconds`",
        );
        check("stream=Stdout", 422, "stream: Forbidden: may not be specified");
        check(
            "tailLines=x",
            400,
            "strconv.ParseInt: parsing \"x\": invalid syntax",
        );
        check("sinceTime=yesterday", 400, "parsing time \"yesterday\"");
    }

    #[test]
    fn addresses() {
        let node = json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
        assert_eq!(kubelet_address(&node).unwrap(), "10.0.0.1:10250");
        let none = kubelet_address(&json!({})).unwrap_err();
        let none = none.status();
        assert_eq!(
            (none.code, none.message.as_str()),
            (500, "no preferred addresses found; known addresses: []")
        );
        let pod = |ip: &str| json!({"spec": {"containers": [{"ports": [{"containerPort": 80}]}]}, "status": {"podIPs": [{"ip": ip}]}});
        assert_eq!(pod_address(&pod("10.1.0.1"), "").unwrap(), "10.1.0.1:80");
        assert_eq!(pod_address(&pod("fd00::1"), "web").unwrap(), "[fd00::1]:web");
        for refused in ["", "127.0.0.1", "169.254.0.1", "224.0.0.1", "::1", "fe80::1"] {
            assert_eq!(
                pod_address(&pod(refused), "").unwrap_err().status().message,
                "address not allowed"
            );
        }
    }
}
