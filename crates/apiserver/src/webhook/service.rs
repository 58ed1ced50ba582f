//! Services as the server itself reaches them.
//!
//! There may be no network of the cluster between the server and its services, so one is reached at an endpoint that is ready, as
//! kube-apiserver does with `--enable-aggregator-routing` (apiserver pkg/util/proxy/proxy.go `ResolveEndpoint`), or by its external name.

use memchr::memmem;
use serde_json::Value;

use super::ServiceReference;
use crate::storage::{Key, KeyPrefix, RangeRequest, Storage};

/// Where to connect to: host and port.
///
/// # Errors
/// Why the service leads nowhere.
pub(super) async fn resolve(storage: &dyn Storage, reference: &ServiceReference) -> Result<String, String> {
    let ServiceReference { namespace, name, .. } = reference;
    let unreadable = |error| format!("service {name:?} cannot be looked up: {error}");
    let found = storage
        .get(Key::new("", "services", Some(namespace), name))
        .await
        .map_err(unreadable)?;
    let service = found
        .ok_or_else(|| format!("service {name:?} not found"))?
        .value();
    let wanted = reference.port();
    match text(&service["spec"]["type"]) {
        "ExternalName" => return Ok(format!("{}:{wanted}", text(&service["spec"]["externalName"]))),
        "" | "ClusterIP" | "NodePort" | "LoadBalancer" => {}
        other => return Err(format!("unsupported service type {other:?}")),
    }
    let ports = list(&service["spec"]["ports"]);
    let port = ports
        .iter()
        .find(|port| port["port"] == wanted)
        .ok_or_else(|| format!("no service port {wanted} found for service {name:?}"))?;
    let slices = storage
        .range(RangeRequest::new(KeyPrefix::namespace(
            "discovery.k8s.io",
            "endpointslices",
            namespace,
        )))
        .await
        .map_err(unreadable)?;
    // Few of a namespace's are of one service, and those name it: the others are not read.
    let named = memmem::Finder::new(name);
    let slices = slices
        .items
        .iter()
        .filter(|slice| named.find(slice.storage_bytes()).is_some());
    let slices = slices.map(|slice| slice.value());
    let addresses: Vec<String> = slices
        .filter(|slice| slice["metadata"]["labels"][SERVICE_NAME] == name.as_str())
        .flat_map(|slice| addresses(&slice, text(&port["name"])))
        .collect();
    fastrand::choice(addresses).ok_or_else(|| format!("no endpoints available for service {name:?}"))
}

/// The addresses of a slice that are ready, with the number of the port of that name.
fn addresses(slice: &Value, port: &str) -> Vec<String> {
    let ports = list(&slice["ports"]);
    let Some(number) = ports
        .iter()
        .find(|candidate| text(&candidate["name"]) == port)
        .and_then(|port| port["port"].as_u64())
    else {
        return Vec::new();
    };
    let is_v6 = slice["addressType"] == "IPv6";
    list(&slice["endpoints"])
        .iter()
        .filter(|endpoint| endpoint["conditions"]["ready"] != false)
        .filter_map(|endpoint| endpoint["addresses"].get(0)?.as_str())
        .map(|address| match is_v6 {
            true => format!("[{address}]:{number}"),
            false => format!("{address}:{number}"),
        })
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

const SERVICE_NAME: &str = "kubernetes.io/service-name";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::{Encoded, MemoryStorage};

    #[tokio::test]
    async fn services_lead_to_endpoints_that_are_ready() {
        let storage = MemoryStorage::new();
        let put = async |group: &str, plural: &str, object: Value| {
            let name = text(&object["metadata"]["name"]).to_owned();
            let key = Key::new(group, plural, Some("n"), &name);
            storage.create(key, Encoded::from_value(&object)).await.unwrap();
        };
        let service =
            |name: &str, spec: Value| json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec});
        let ports = json!([{"name": "https", "port": 443}, {"port": 80}]);
        for (name, spec) in [
            (
                "external",
                json!({"type": "ExternalName", "externalName": "a.io"}),
            ),
            ("ready", json!({"ports": ports})),
            ("v6", json!({"type": "NodePort", "ports": ports})),
            ("none", json!({"type": "ClusterIP", "ports": ports})),
            ("odd", json!({"type": "Odd"})),
        ] {
            put("", "services", service(name, spec)).await;
        }
        for (service, kind, endpoints) in [
            (
                "ready",
                "IPv4",
                json!([{"addresses": ["10.0.0.1"], "conditions": {"ready": false}}, {"addresses": ["10.0.0.2", "10.0.0.3"]}]),
            ),
            (
                "v6",
                "IPv6",
                json!([{"addresses": ["fd00::1"], "conditions": {"ready": true}}]),
            ),
            (
                "none",
                "IPv4",
                json!([{"addresses": ["10.0.0.1"], "conditions": {"ready": false}}]),
            ),
        ] {
            let metadata = json!({"name": format!("{service}-x"), "labels": {SERVICE_NAME: service}});
            let slice = json!({"metadata": metadata, "addressType": kind, "endpoints": endpoints,
                "ports": [{"name": "https", "port": 8443}, {"name": "", "port": 8080}]});
            put("discovery.k8s.io", "endpointslices", slice).await;
        }
        for (name, port, expect) in [
            ("external", None, Ok("a.io:443")),
            ("external", Some(8443), Ok("a.io:8443")),
            ("ready", None, Ok("10.0.0.2:8443")),
            ("ready", Some(80), Ok("10.0.0.2:8080")),
            (
                "ready",
                Some(81),
                Err("no service port 81 found for service \"ready\""),
            ),
            ("v6", None, Ok("[fd00::1]:8443")),
            ("none", None, Err("no endpoints available for service \"none\"")),
            ("odd", None, Err("unsupported service type \"Odd\"")),
            ("gone", None, Err("service \"gone\" not found")),
        ] {
            let reference = ServiceReference {
                namespace: "n".into(),
                name: name.into(),
                path: None,
                port,
            };
            let found = resolve(&storage, &reference).await;
            assert_eq!(
                found.as_deref().map_err(String::as_str),
                expect,
                "{name} {port:?}"
            );
        }
    }
}
