//! Binding: gives a pod to a node (pkg/registry/core/pod/storage/storage.go `BindingREST`).

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{FieldError, FieldPath, GroupKind, GroupVersionKind, Status, StatusDetails};
use kubewright_net::Body;
use serde_json::{Map, Value, json};

use super::Call;
use super::update;
use super::write::{self, meta};
use crate::codec;
use crate::error::{ApiResult, json_response};
use crate::request::media;

/// Binds the object that the path names to the node in the body.
pub(crate) async fn create(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let options = write::options(call)?;
    let mut binding = codec::read(body, media::body_format(call.headers)?)?.value;
    codec::expect_kind(&mut binding, &GroupVersionKind::new("", "v1", "Binding"))?;
    let node = check(call, &binding)?;
    let now = call.server.now().to_string();
    update::change_unchecked(call, &options, |pod| bound(call, pod, &binding, &node, &now)).await?;
    let status = Status {
        code: 201,
        ..Status::success(StatusDetails::default())
    };
    Ok(json_response(
        StatusCode::CREATED,
        serde_json::to_vec(&status).unwrap_or_default(),
    ))
}

/// The node's name.
fn check(call: &Call<'_>, binding: &Value) -> ApiResult<String> {
    let target = FieldPath::new("target");
    let text = |field: &str| binding["target"][field].as_str().unwrap_or_default();
    let mut errors = Vec::new();
    if !matches!(text("kind"), "" | "Node") {
        errors.push(FieldError::not_supported(
            target.child("kind"),
            text("kind"),
            &["Node", "<empty>"],
        ));
    }
    if text("name").is_empty() {
        errors.push(FieldError::required(target.child("name"), ""));
    }
    let name = call.name()?;
    let found = meta(binding, "name");
    if !found.is_empty() && found != name {
        let path = FieldPath::new("metadata").child("name");
        errors.push(FieldError::invalid(path, found, "must match the name on the URL"));
    }
    if errors.is_empty() {
        return Ok(text("name").to_owned());
    }
    Err(Status::invalid(&GroupKind::new("", "Binding"), name, &errors).into())
}

fn bound(call: &Call<'_>, pod: &Value, binding: &Value, node: &str, now: &str) -> ApiResult<Value> {
    let name = meta(pod, "name");
    let conflict = |why: String| Err(Status::conflict(&call.group_resource(), name, why).into());
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
    let uid = meta(binding, "uid");
    if !uid.is_empty() && uid != meta(pod, "uid") {
        return conflict(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            meta(pod, "uid")
        ));
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
    if !pod["status"].is_object() {
        pod["status"] = json!({});
    }
    let mut conditions = pod["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    conditions.retain(|condition| condition["type"] != "PodScheduled");
    conditions.push(json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now}));
    pod["status"]["conditions"] = conditions.into();
    Ok(pod)
}
