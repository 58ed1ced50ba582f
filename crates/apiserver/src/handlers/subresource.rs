//! What subresources share whose bodies are of a kind of their own: bindings, evictions, requests for tokens.

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{FieldValidation, GroupVersionKind, Status, StatusDetails, WriteOptions};
use kubewright_kinds as kinds;
use kubewright_net::Body;
use serde_json::{Map, Value};

use super::response::Rendering;
use super::{Call, Recorder};
use crate::builtin::defaults;
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::Conversions;
use crate::registry::Model;
use crate::request::{RequestInfo, Verb, media};
use crate::storage::StoredObject;

/// Reads a body as an object of the kind `gvk`, with its defaults. The versions in `synonyms` have the same fields.
///
/// # Errors
/// 415 for a format that is not understood, 400 for a body that is malformed or of another kind.
pub(super) fn read(
    call: &Call<'_>,
    body: &Bytes,
    options: &WriteOptions,
    gvk: &GroupVersionKind,
    synonyms: &[&str],
) -> ApiResult<Value> {
    // What cannot be answered is not done.
    Rendering::new(call)?;
    let mut read = codec::read_as(gvk, body, media::body_format(call.headers)?)?;
    let mut object = std::mem::take(&mut read.value);
    if object["apiVersion"]
        .as_str()
        .is_some_and(|found| synonyms.contains(&found))
    {
        object["apiVersion"] = gvk.api_version().into();
    }
    codec::expect_kind_of_body(&mut object, gvk, body)?;
    let mut unknown = Vec::new();
    if let Some(ty) = kinds::table().kind(&gvk.group, &gvk.version, &gvk.kind) {
        let found = Model::Builtin(ty).normalize(&mut object);
        if let Some(error) = &found.type_error {
            return Err(codec::cannot_be_handled(gvk, error));
        }
        unknown = found.unknown_fields;
    }
    let validation = options.field_validation.unwrap_or(FieldValidation::Warn);
    let found = read.findings(body, &unknown, codec::Decoder::Typed);
    let warnings = codec::judge_fields(validation, found, gvk)?;
    call.warnings.add(warnings);
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(Map::new());
    }
    defaults::apply(&gvk.group, &gvk.version, &gvk.kind, &mut object);
    Ok(object)
}

/// The object that the path names.
///
/// # Errors
/// 404 where there is none.
pub(super) async fn find(call: &Call<'_>) -> ApiResult<StoredObject> {
    let name = call.name()?;
    let found = call
        .server
        .storage()
        .get(call.resource.key(call.namespace(), name))
        .await
        .map_err(|error| call.storage_error(error))?;
    found.ok_or_else(|| ApiError::from(Status::not_found(&call.group_resource(), name)))
}

/// The same request, as one that writes the status of its object.
pub(super) fn of_status<'a>(call: &Call<'a>) -> Call<'a> {
    Call {
        server: call.server,
        identity: call.identity.clone(),
        info: RequestInfo {
            verb: Verb::Update,
            subresource: "status",
            ..call.info.clone()
        },
        resource: call.resource.clone(),
        query: "",
        headers: call.headers,
        warnings: Recorder::default(),
        conversions: Conversions::default(),
    }
}

/// The answer to what was done and has nothing to show.
///
/// # Errors
/// 406 for a client that does not read what is offered.
pub(super) fn done(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let status = Status {
        code: StatusCode::CREATED.as_u16(),
        details: None,
        ..Status::success(StatusDetails::default())
    };
    Ok(Rendering::new(call)?.other(StatusCode::CREATED, &status))
}
