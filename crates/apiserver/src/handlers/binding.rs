//! Binding: gives a pod to a node (pkg/registry/core/pod/storage/storage.go `BindingREST` and `LegacyBindingREST`).

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use kubewright_core::{
    FieldError, FieldPath, GroupResource, GroupVersionKind, Status, StatusReason, WriteOptions,
};
use kubewright_net::Body;
use serde_json::{Map, Value, json};

use super::subresource::{self, done};
use super::update;
use super::write::{self, meta};
use super::{Call, Recorder, admitted, create as creation, metadata};
use crate::builtin::validation::names::{NameRule, NameUse};
use crate::builtin::value::set_condition;
use crate::chain::not_found;
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::Conversions;
use crate::registry::{Resource, SubresourceKind};
use crate::request::RequestInfo;

/// Whether a request creates bindings as if they were objects: the older of the two ways.
pub(crate) fn is_binding(call: &Call<'_>) -> bool {
    call.resource.group.is_empty() && call.resource.kind == "Binding"
}

/// Binds the object that the body names, as [`create`] does with the one that the path names. Admission sees what was asked for.
pub(crate) async fn create_legacy(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let registry = call.server.registry();
    let version = registry.version(call.info.group, call.info.version);
    let bound = |resource: &&Arc<Resource>| {
        let mut all = resource.subresources.iter();
        all.any(|sub| matches!(sub.behaviour, SubresourceKind::Binding))
    };
    let mut resources = version.into_iter().flat_map(|version| &version.resources);
    let resource = resources.find(bound).cloned().ok_or_else(not_found)?;
    let options = write::options(call)?;
    let mut binding = read(call, body, &options)?;
    // So the uid that is wanted of the object counts in the other way alone.
    metadata::wipe(&mut binding);
    creation::place(call, &mut binding)?;
    let binding = admitted::mutate_new(call, binding, &options).await?;
    let node = check(&binding)?;
    admitted::validate_new(call, &binding, &options).await?;
    let call = Call {
        server: call.server,
        identity: call.identity.clone(),
        info: RequestInfo {
            resource: &resource.plural,
            subresource: "binding",
            name: Some(meta(&binding, "name").to_owned().into()),
            ..call.info.clone()
        },
        resource: resource.clone(),
        query: call.query,
        headers: call.headers,
        warnings: Recorder::default(),
        conversions: Conversions::default(),
    };
    bind(&call, &binding, &node, &options).await
}

/// Binds the object that the path names to the node in the body.
pub(crate) async fn create(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let options = write::options(call)?;
    let mut binding = read(call, body, &options)?;
    metadata::place_in_namespace(call, &mut binding)?;
    let binding = admitted::mutate_new(call, binding, &options).await?;
    if meta(&binding, "name") != call.name()? {
        return Err(Status::bad_request("name in URL does not match name in Binding object").into());
    }
    let node = check(&binding)?;
    admitted::validate_new(call, &binding, &options).await?;
    bind(call, &binding, &node, &options).await
}

/// The pod itself is changed without being looked at: its own admission is not asked.
async fn bind(
    call: &Call<'_>,
    binding: &Value,
    node: &str,
    options: &WriteOptions,
) -> ApiResult<Response<Body>> {
    let now = call.server.now().to_string();
    update::change_unchecked(call, options, |pod| bound(pod, binding, node, &now)).await?;
    done(call)
}

fn read(call: &Call<'_>, body: &Bytes, options: &WriteOptions) -> ApiResult<Value> {
    let gvk = GroupVersionKind::new("", "v1", "Binding");
    subresource::read(call, body, options, &gvk, &[])
}

/// The node's name.
///
/// # Errors
/// 500 without a reason, which is what upstream answers here.
fn check(binding: &Value) -> ApiResult<String> {
    let target = FieldPath::new("target");
    let text = |field: &str| binding["target"][field].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let is_node = matches!(kind, "" | "Node");
    let mut errors = Vec::new();
    if !is_node {
        let supported = ["Node", "<empty>"];
        errors.push(FieldError::not_supported(target.child("kind"), kind, &supported));
    }
    if name.is_empty() {
        errors.push(FieldError::required(target.child("name"), ""));
    } else if is_node {
        let messages = NameRule::Subdomain.check(name, NameUse::Whole);
        errors.extend(
            messages
                .into_iter()
                .map(|why| FieldError::invalid(target.child("name"), name, why)),
        );
    }
    let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let message = match messages.as_slice() {
        [] => return Ok(name.to_owned()),
        [message] => message.clone(),
        messages => format!("[{}]", messages.join(", ")),
    };
    Err(Status::failure(StatusReason::Unknown, message).into())
}

fn bound(pod: &Value, binding: &Value, node: &str, now: &str) -> ApiResult<Value> {
    let name = meta(pod, "name");
    check_preconditions(pod, binding)?;
    let conflict = |why: String| {
        let resource = GroupResource::new("", "pods/binding");
        Err(Status::conflict(&resource, name, why).into())
    };
    if pod["metadata"].get("deletionTimestamp").is_some() {
        return conflict(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    match pod["spec"]["nodeName"].as_str() {
        None | Some("") => {}
        Some(host) => return conflict(format!("pod {name} is already assigned to node {host:?}")),
    }
    let gates = pod["spec"]["schedulingGates"].as_array();
    if gates.is_some_and(|gates| !gates.is_empty()) {
        return conflict(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let mut pod = pod.clone();
    pod["spec"]["nodeName"] = node.into();
    for field in ["annotations", "labels"] {
        if let Some(Value::Object(entries)) = binding["metadata"].get(field) {
            let all = pod["metadata"]
                .as_object_mut()
                .map(|m| m.entry(field).or_insert_with(|| Map::new().into()));
            all.and_then(Value::as_object_mut)
                .into_iter()
                .for_each(|all| all.extend(entries.clone()));
        }
    }
    if let Some(status) = pod["status"].as_object_mut() {
        // Where the pod was hoped to go says nothing once it is somewhere.
        status.remove("nominatedNodeName");
    }
    set_condition(&mut pod, json!({"type": "PodScheduled", "status": "True"}), now);
    Ok(pod)
}

/// The uid and the version of a binding are those that the pod must have.
fn check_preconditions(pod: &Value, binding: &Value) -> ApiResult<()> {
    for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let (wanted, found) = (meta(binding, field), meta(pod, field));
        if !wanted.is_empty() && wanted != found {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            let status = Status::conflict(&GroupResource::new("", "pods"), meta(pod, "name"), why);
            return Err(ApiError::from(status));
        }
    }
    Ok(())
}
