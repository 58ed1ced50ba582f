//! Connections to what runs on nodes: logs, processes, ports and proxies.
//!
//! This server connects to no nodes, so each of these ends with an answer: the one that upstream gives where nothing runs, and
//! where something does, the one it gives when the node cannot be reached. The order of the checks is upstream's
//! (pkg/registry/core/pod/rest, apiserver pkg/endpoints/handlers/rest.go `ConnectResource`).

use http::header::{CONNECTION, UPGRADE};
use http::{Response, StatusCode};
use kubewright_core::{Status, query};
use kubewright_net::Body;
use serde_json::Value;

use super::subresource::find;
use super::{Call, Recorder, admitted, from_storage};
use crate::builtin::connect::{self, ConnectOptions, Connection, Target};
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::Conversions;
use crate::request::RequestInfo;
use crate::storage::{Key, RangeRequest};

/// Answers a connection.
pub(crate) async fn connect(call: &Call<'_>, connection: Connection) -> ApiResult<Response<Body>> {
    let is_log = connection == Connection::Log;
    if !is_log && query::first(call.query, "dryRun").is_some() {
        return Err(Status::bad_request("dryRun is not supported").into());
    }
    let options = ConnectOptions::from_query(call.query)?;
    if !is_log && let Some(subresource) = call.resource.subresource(call.info.subresource) {
        let sent = ConnectOptions::object(&subresource.kind, call.query, call.info.beyond);
        admitted::check_connection(call, sent).await?;
    }
    let status = match connection {
        Connection::Log => {
            options.check_log(call.name()?)?;
            match log(call, &options).await? {
                Some(status) => status,
                None => return Ok(empty()),
            }
        }
        Connection::Stream(_) => {
            let pod = object(call).await?;
            connect::container(&pod, &options.container)?;
            stream(call, &pod).await?
        }
        Connection::PortForward => stream(call, &object(call).await?).await?,
        Connection::PodProxy => {
            let target = Target::parse(call.name()?, "pod")?;
            let pod = object(&named(call, target.name)).await?;
            connect::unreachable(&connect::pod_address(&pod, target.port)?)
        }
        Connection::ServiceProxy => connect::unreachable(&service(call).await?),
        Connection::NodeProxy => {
            let target = Target::parse(call.name()?, "node")?;
            let node = object(&named(call, target.name)).await?;
            connect::unreachable(&connect::kubelet_address(&node)?)
        }
    };
    Err(status.into())
}

/// Why a log cannot be read; `None` for a pod that runs nowhere yet, whose log is empty.
async fn log(call: &Call<'_>, options: &ConnectOptions) -> ApiResult<Option<Status>> {
    let pod = object(call).await?;
    connect::container(&pod, &options.container)?;
    match connect::host(&pod) {
        "" => Ok(None),
        host => Ok(Some(connect::undialled(&kubelet(call, host).await?))),
    }
}

/// Why a stream cannot be opened.
async fn stream(call: &Call<'_>, pod: &Value) -> ApiResult<Status> {
    let host = connect::host(pod);
    if host.is_empty() {
        return Err(connect::no_host(call.name()?).into());
    }
    let address = kubelet(call, host).await?;
    if !is_upgrade(call) {
        return Err(Status::bad_request("Upgrade request required").into());
    }
    Ok(connect::undialled(&address))
}

fn is_upgrade(call: &Call<'_>) -> bool {
    let connection = call.headers.get(CONNECTION).and_then(|value| value.to_str().ok());
    let asks = connection.is_some_and(|value| {
        value
            .split(',')
            .any(|token| token.trim().eq_ignore_ascii_case("upgrade"))
    });
    asks && call.headers.contains_key(UPGRADE)
}

/// The address of the kubelet of a node. A node that is gone is told of as one of the resource of the request, as upstream does.
async fn kubelet(call: &Call<'_>, node: &str) -> ApiResult<String> {
    let key = connect::node_key(node);
    let found = stored(call, key).await?;
    let found = found.ok_or_else(|| ApiError::from(Status::not_found(&call.group_resource(), node)))?;
    connect::kubelet_address(&found)
}

/// An address behind the service that the path names.
async fn service(call: &Call<'_>) -> ApiResult<String> {
    let target = Target::parse(call.name()?, "service")?;
    let namespace = call.namespace().unwrap_or_default();
    let port = match target.port.parse::<i64>() {
        Ok(number) => {
            let found = stored(call, connect::service_key(namespace, target.name)).await?;
            let found = found
                .ok_or_else(|| ApiError::from(Status::not_found(&call.group_resource(), target.name)))?;
            connect::service_port(&found, target.name, number)?
        }
        Err(_) => target.port.to_owned(),
    };
    let slices = RangeRequest::new(connect::slices_prefix(namespace));
    let slices = call.server.storage().range(slices).await;
    let slices = slices.map_err(|error| call.storage_error(error))?;
    let slices: Vec<Value> = slices.items.iter().map(|slice| slice.value()).collect();
    connect::endpoint(&slices, target.name, &port)
}

async fn stored(call: &Call<'_>, key: Key) -> ApiResult<Option<Value>> {
    let found = call.server.storage().get(key).await;
    let found = found.map_err(|error| call.storage_error(error))?;
    Ok(found.map(|found| found.value()))
}

/// The object that the path names.
async fn object(call: &Call<'_>) -> ApiResult<Value> {
    from_storage(call.server, &call.resource, find(call).await?.value()).await
}

/// The same request for an object whose name is only a part of the path's segment.
fn named<'a>(call: &Call<'a>, name: &'a str) -> Call<'a> {
    Call {
        server: call.server,
        identity: call.identity.clone(),
        info: RequestInfo {
            name: Some(name.into()),
            ..call.info.clone()
        },
        resource: call.resource.clone(),
        query: call.query,
        headers: call.headers,
        warnings: Recorder::default(),
        conversions: Conversions::default(),
    }
}

fn empty() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
