//! The objects that every cluster has: made by the server itself when it starts, if they are not there, and made again if somebody
//! deletes those that clients find the server by.
//!
//! Upstream: pkg/controlplane/controller/systemnamespaces, pkg/controlplane/controller/kubernetesservice,
//! pkg/controlplane/reconcilers and pkg/registry/scheduling/rest/storage_scheduling.go.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Method};
use kubewright_core::GroupResource;
use kubewright_net::Identity;
use serde_json::{Value, json};

use crate::authorization::{Authorization, bootstrap as policy};
use crate::chain::not_found;
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::Conversions;
use crate::handlers::{self, Call};
use crate::ids;
use crate::request::RequestInfo;
use crate::server::Server;
use crate::storage::{Encoded, GUARANTEED_UPDATE_TRIES, StorageError};

/// Creates what is missing.
pub(crate) async fn create_objects(server: &Arc<Server>) -> ApiResult<()> {
    create_namespaces(server).await?;
    create_service(server).await?;
    create_priority_classes(server).await
}

/// Starts the task that makes again what was deleted; it ends with the server.
pub(crate) fn keep_objects(server: &Arc<Server>) {
    // It does not keep the server alive.
    let (server, mut stop) = (Arc::downgrade(server), server.stop.subscribe());
    tokio::spawn(async move {
        for round in 1_u64.. {
            tokio::select! {
                biased;
                // Also when the server is gone, which drops the sender.
                _ = stop.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(SERVICE_INTERVAL) => {}
            }
            let Some(server) = server.upgrade() else { return };
            let mut made = create_service(&server).await;
            if made.is_ok() && round.is_multiple_of(NAMESPACE_ROUNDS) {
                made = create_namespaces(&server).await;
            }
            if let Err(error) = made {
                let why = &error.status().message;
                tracing::warn!(%why, "what every cluster has cannot be made; it is tried again");
            }
        }
    });
}

/// How long clients may be without the service of the server (`DefaultEndpointReconcilerInterval`).
const SERVICE_INTERVAL: Duration = Duration::from_secs(10);
/// In how many of these intervals namespaces are looked at once: upstream does every minute.
const NAMESPACE_ROUNDS: u64 = 6;

async fn create_namespaces(server: &Arc<Server>) -> ApiResult<()> {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        create(server, "/api/v1/namespaces", &namespace).await?;
    }
    Ok(())
}

/// Creates the service by which clients in the cluster find the server, and where it leads to. Endpoints have no addresses that mean
/// another machine to each.
async fn create_service(server: &Arc<Server>) -> ApiResult<()> {
    let address = server.options.advertise_address;
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {
            "clusterIP": FIRST_SERVICE_ADDRESS,
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": address.port()}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    });
    create(server, "/api/v1/namespaces/default/services", &service).await?;
    let ip = address.ip();
    if ip.is_loopback() || ip.is_unspecified() {
        return Ok(());
    }
    let port = json!({"name": "https", "port": address.port(), "protocol": "TCP"});
    let endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "kubernetes", "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": ip.to_string()}], "ports": [port]}],
    });
    create(server, "/api/v1/namespaces/default/endpoints", &endpoints).await?;
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": if ip.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [ip.to_string()], "conditions": {"ready": true}}],
        "ports": [port],
    });
    let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    unless_unserved(create(server, path, &slice).await)
}

async fn create_priority_classes(server: &Arc<Server>) -> ApiResult<()> {
    for (name, value, description) in PRIORITY_CLASSES {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": description,
        });
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        unless_unserved(create(server, path, &class).await)?;
    }
    if server.options.authorization == Authorization::Rbac {
        reconcile_policy(server).await?;
    }
    Ok(())
}

/// Makes the roles and bindings that every cluster has, and adds to those that are there what they lack.
async fn reconcile_policy(server: &Arc<Server>) -> ApiResult<()> {
    let storage = server.storage();
    let now = server.now().to_string();
    for template in policy::templates() {
        let key = &template.key;
        let resource = GroupResource::new(key.group(), key.resource());
        let failed = |error| ApiError::from_storage(error, &resource, key.name());
        let mut written = storage
            .create(key.clone(), template.fill(&ids::uid(), &now))
            .await;
        // Another server on the same store may be about the same.
        for _ in 0..GUARANTEED_UPDATE_TRIES {
            written = match written {
                Err(StorageError::AlreadyExists { current } | StorageError::Conflict { current, .. }) => {
                    match template.wanted.reconcile(&current.value()) {
                        None => Ok(current),
                        Some(new) => {
                            let new = Encoded::from_value(&new);
                            storage.update(key.clone(), current.revision(), new).await
                        }
                    }
                }
                Err(StorageError::NotFound { .. }) => {
                    storage
                        .create(key.clone(), template.fill(&ids::uid(), &now))
                        .await
                }
                written => written,
            };
            if written.is_ok() {
                break;
            }
        }
        written.map_err(failed)?;
    }
    Ok(())
}

/// A server may be told to serve no such group.
fn unless_unserved(made: ApiResult<()>) -> ApiResult<()> {
    made.or_else(|error| match error.status().code {
        404 => Ok(()),
        _ => Err(error),
    })
}

/// The classes of pods that a cluster cannot be without: name, value, description.
const PRIORITY_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Creates an object as the server itself; one that is there already stays.
async fn create(server: &Arc<Server>, path: &str, object: &Value) -> ApiResult<()> {
    let info = RequestInfo::parse(&Method::POST, path, "").ok_or_else(not_found)?;
    let registry = server.registry();
    let resource = registry
        .find(info.group, info.version, info.resource)
        .cloned()
        .ok_or_else(not_found)?;
    // Not left to the store's conflict: a service's address would be found taken, by the service itself.
    let key = resource.key(
        info.namespace.as_deref(),
        object["metadata"]["name"].as_str().unwrap_or_default(),
    );
    let found = server.storage().get(key).await;
    if found
        .map_err(|error| ApiError::from_storage(error, &resource.group_resource(), ""))?
        .is_some()
    {
        return Ok(());
    }
    let identity = Identity::new("system:apiserver", ["system:masters"]);
    let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static("kube-apiserver"))]);
    let call = Call {
        server,
        identity,
        info,
        resource,
        query: "",
        headers: &headers,
        warnings: handlers::Recorder::default(),
        conversions: Conversions::default(),
    };
    let body: Bytes = codec::to_json(object);
    match handlers::dispatch(&call, &body).await {
        Err(error) if error.status().code != 409 => Err(error),
        _ => Ok(()),
    }
}

/// The first address of the default service range, 10.0.0.0/24.
const FIRST_SERVICE_ADDRESS: &str = "10.0.0.1";
