//! Patch: JSON patch, merge patch and strategic merge patch.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use kubewright_core::{PatchKind, Status, StatusReason, WriteOptions};
use kubewright_kinds as kinds;
use kubewright_net::Body;
use kubewright_smd::strategic::KindTypes;
use kubewright_smd::{json, merge, strategic};
use serde_json::Value;

use super::response::Rendering;
use super::write;
use super::{Call, create, update};
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::request::media::{self, MediaType};

/// Patches the object that the path names.
pub(crate) async fn patch(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = write::options(call)?;
    let patch = read(call, body)?;
    let mut warnings = Vec::new();
    let written = update::change(call, &options, |current| {
        let incoming = apply(call, &patch, current, &options)?;
        warnings = incoming.warnings;
        Ok(incoming.object)
    })
    .await?;
    Ok(write::answer(&rendering, StatusCode::OK, &written, &warnings))
}

/// A patch that was read but not applied.
pub(super) struct ReadPatch {
    kind: PatchKind,
    body: Value,
    duplicate_fields: Vec<String>,
}

/// Reads a patch.
///
/// # Errors
/// 415 for a kind of patch that is not offered here, 400 for one that is malformed.
pub(super) fn read(call: &Call<'_>, body: &Bytes) -> ApiResult<ReadPatch> {
    let offered: &[&str] = if call.resource.model.builtin_type().is_some() {
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ]
    } else {
        &["application/json-patch+json", "application/merge-patch+json"]
    };
    let header = call
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = MediaType::parse(header).essence;
    let kind = PatchKind::from_media_type(essence)
        .filter(|kind| offered.contains(&kind.media_type()))
        .ok_or_else(|| media::unsupported_media_type(essence, offered))?;
    let body =
        codec::read_json(body).map_err(|why| Status::bad_request(format!("error decoding patch: {why}")))?;
    if kind != PatchKind::Json && !body.value.is_object() {
        return Err(Status::bad_request("error decoding patch: a merge patch is an object").into());
    }
    Ok(ReadPatch {
        kind,
        body: body.value,
        duplicate_fields: body.duplicate_fields,
    })
}

impl ReadPatch {
    /// Applies the patch to an object as it is served; `ty` is its type, which a strategic merge patch goes by.
    ///
    /// # Errors
    /// 400 or 422 when it does not fit the object.
    pub(super) fn apply_to(&self, ty: Option<&'static kinds::Type>, object: Value) -> ApiResult<Value> {
        match self.kind {
            PatchKind::Json => json::patch(object, &self.body).map_err(|error| json_patch_error(&error)),
            PatchKind::Merge => Ok(merge::patch(object, &self.body)),
            PatchKind::Strategic => match ty {
                Some(ty) => strategic::patch(object, &self.body, &KindTypes::from(ty)).map_err(|error| {
                    if error.is_unprocessable() {
                        unprocessable(&error)
                    } else {
                        Status::bad_request(error.to_string()).into()
                    }
                }),
                None => Err(media::unsupported_media_type(self.kind.media_type(), &[])),
            },
            PatchKind::Apply => Err(media::unsupported_media_type(self.kind.media_type(), &[])),
        }
    }
}

fn apply(
    call: &Call<'_>,
    patch: &ReadPatch,
    current: &Value,
    options: &WriteOptions,
) -> ApiResult<write::Incoming> {
    // The patched object keeps the version of the present one, so it conflicts only where the patch sets another.
    let patched = patch.apply_to(call.resource.model.builtin_type(), current.clone())?;
    let mut incoming = write::shape(call, patched, &patch.duplicate_fields, options)?;
    create::place(call, &mut incoming.object)?;
    Ok(incoming)
}

/// As apiserver pkg/endpoints/handlers/patch.go tells them apart.
fn json_patch_error(error: &json::PatchError) -> ApiError {
    if error.is_too_large() {
        return Status::failure(StatusReason::RequestEntityTooLarge, error.to_string()).into();
    }
    if error.is_malformed() {
        return Status::bad_request(error.to_string()).into();
    }
    unprocessable(error)
}

fn unprocessable(error: &dyn std::fmt::Display) -> ApiError {
    let message = format!("the server rejected our request due to an error in our request: {error}");
    Status::failure(StatusReason::Invalid, message).into()
}
