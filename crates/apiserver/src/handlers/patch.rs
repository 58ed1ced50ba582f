//! Patch: JSON patch, merge patch and strategic merge patch.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use kubewright_core::{
    FieldError, FieldPath, FieldValidation, GroupKind, GroupVersionKind, PatchKind, Status, StatusDetails,
    StatusReason, WriteOptions, go_json, query,
};
use kubewright_kinds as kinds;
use kubewright_net::Body;
use kubewright_smd::strategic::KindTypes;
use kubewright_smd::{json, merge, strategic};
use serde_json::Value;

use super::metadata;
use super::response::Rendering;
use super::{Call, apply, route, update, write};
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::registry::path::MAX_FINDINGS;
use crate::registry::{Dialect, Model, inconvertible};
use crate::request::media::{self, MediaType};

/// Patches the object that the path names.
pub(crate) async fn patch(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let kind = kind_of(call)?;
    let rendering = Rendering::new(call)?;
    if kind == PatchKind::Apply {
        return apply::apply(call, body, &rendering).await;
    }
    let patch = read(kind, body)?;
    let options = write::options(call)?;
    check_force(call)?;
    let owners = call.owners(&options);
    let written = update::change(call, &options, |current| {
        let patched = patched(call, &patch, current, &options)?;
        Ok(owners.update(current, patched))
    })
    .await?;
    write::answer(call, &rendering, StatusCode::OK, &written).await
}

/// `ValidatePatchOptions` of apimachinery pkg/apis/meta/v1/validation.
///
/// # Errors
/// 422 where the query names `force`, which means nothing here.
pub(super) fn check_force(call: &Call<'_>) -> ApiResult<()> {
    if query::first(call.query, "force").is_some() {
        let error = FieldError::forbidden(
            FieldPath::new("force"),
            "may not be specified for non-apply patch",
        );
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "PatchOptions"), "", &[error]).into());
    }
    Ok(())
}

/// A patch that was read but not applied.
pub(super) struct ReadPatch {
    kind: PatchKind,
    body: Value,
    /// What strict decoding finds in the patch itself.
    findings: Vec<String>,
}

/// To Go, no list is an empty one and no operation one without members.
fn fill_nulls(patch: &mut Value) {
    if patch.is_null() {
        *patch = Value::Array(Vec::new());
    }
    for operation in patch
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter(|one| one.is_null())
    {
        *operation = Value::Object(serde_json::Map::new());
    }
}

/// What a JSON patch consists of, as upstream decodes it (apiserver pkg/endpoints/handlers/patch.go `jsonPatchOp`).
///
/// # Errors
/// 400 for what is no operation.
fn check_operations(patch: &Value) -> ApiResult<()> {
    let fault = |operation: &Value| -> Option<String> {
        let Some(members) = operation.as_object() else {
            let found = codec::kind_of_json(operation);
            return Some(format!("{found} into Go value of type handlers.jsonPatchOp"));
        };
        let texts = ["op", "path", "from"].into_iter();
        let mut odd = texts.filter_map(|name| Some((name, members.get(name)?)));
        let (name, found) = odd.find(|(_, value)| !value.is_string() && !value.is_null())?;
        let found = codec::kind_of_json(found);
        Some(format!(
            "{found} into Go struct field jsonPatchOp.{name} of type string"
        ))
    };
    match patch.as_array().into_iter().flatten().find_map(fault) {
        Some(fault) => {
            Err(Status::bad_request(format!("error decoding patch: json: cannot unmarshal {fault}")).into())
        }
        None => Ok(()),
    }
}

/// The kind of patch, by its media type.
///
/// # Errors
/// 415 for a kind of patch that is not offered here.
pub(super) fn kind_of(call: &Call<'_>) -> ApiResult<PatchKind> {
    let offered = offered(call);
    let header = call
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = MediaType::parse(header).essence;
    PatchKind::from_media_type(essence)
        .filter(|kind| offered.contains(&kind.media_type()))
        .ok_or_else(|| match call.resource.model.custom() {
            Some(_) => media::unsupported_media_type(offered),
            None => route::generic(StatusReason::UnsupportedMediaType, "415: Unsupported Media Type"),
        })
}

/// The media types of patches that are offered on a resource.
fn offered(call: &Call<'_>) -> &'static [&'static str] {
    if call.resource.model.builtin_type().is_some() {
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ]
    } else {
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ]
    }
}

/// Reads a patch that is no apply.
///
/// # Errors
/// 400 for one that is malformed.
pub(super) fn read(kind: PatchKind, body: &Bytes) -> ApiResult<ReadPatch> {
    let mut body = codec::read_json(body).map_err(|_| Status::bad_request("invalid JSON patch"))?;
    match kind {
        PatchKind::Json => fill_nulls(&mut body.value),
        PatchKind::Merge if body.value.is_null() => {
            return Err(Status::bad_request("Invalid JSON Patch").into());
        }
        // No map is an empty one.
        PatchKind::Strategic if body.value.is_null() => body.value = Value::Object(serde_json::Map::new()),
        _ => {}
    }
    let expected = match kind {
        PatchKind::Json if body.value.is_array() => None,
        PatchKind::Json => Some("[]handlers.jsonPatchOp"),
        _ if body.value.is_object() => None,
        _ => Some("map[string]interface {}"),
    };
    if let Some(expected) = expected {
        // Upstream leaves the beginning out for this one kind.
        let what = match kind {
            PatchKind::Strategic => "",
            _ => "error decoding patch: ",
        };
        let found = codec::kind_of_json(&body.value);
        return Err(Status::bad_request(format!(
            "{what}json: cannot unmarshal {found} into Go value of type {expected}"
        ))
        .into());
    }
    if kind == PatchKind::Json {
        check_operations(&body.value)?;
    }
    let mut findings = codec::findings(&body.duplicate_fields, &[]);
    if kind == PatchKind::Json {
        findings = unknown_members(&body.value).into_iter().chain(findings).collect();
        findings
            .iter_mut()
            .for_each(|finding| finding.insert_str(0, "json patch "));
    }
    Ok(ReadPatch {
        kind,
        body: body.value,
        findings,
    })
}

/// What the operations of a JSON patch have besides what they may have.
fn unknown_members(patch: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (i, operation) in patch.as_array().into_iter().flatten().enumerate() {
        let members = operation.as_object().into_iter().flatten();
        let unknown = members.filter(|(name, _)| !matches!(name.as_str(), "op" | "path" | "from" | "value"));
        found.extend(unknown.map(|(name, _)| format!("unknown field {:?}", format!("[{i}].{name}"))));
        if found.len() >= MAX_FINDINGS {
            break;
        }
    }
    found.truncate(MAX_FINDINGS);
    found
}

impl ReadPatch {
    /// Applies the patch to an object as it is served; `ty` is its type, which a strategic merge patch goes by.
    ///
    /// # Errors
    /// 400 or 422 when it does not fit the object.
    pub(super) fn apply_to(&self, ty: Option<&'static kinds::Type>, object: Value) -> ApiResult<Value> {
        let mut patched = self.patched(ty, object)?;
        patched.sort_all_objects();
        Ok(patched)
    }

    fn patched(&self, ty: Option<&'static kinds::Type>, object: Value) -> ApiResult<Value> {
        match self.kind {
            PatchKind::Json => json::patch(object, &self.body).map_err(|error| json_patch_error(&error)),
            PatchKind::Merge => Ok(merge::patch(object, &self.body)),
            PatchKind::Strategic => match ty {
                Some(ty) => strategic::patch(object, &self.body, &KindTypes::from(ty)).map_err(|error| {
                    if error.is_unprocessable() {
                        unprocessable()
                    } else if error.is_bad_request() {
                        Status::bad_request(error.to_string()).into()
                    } else {
                        metadata::server_error(error.to_string())
                    }
                }),
                None => Err(media::unsupported_media_type(&[])),
            },
            PatchKind::Apply => Err(media::unsupported_media_type(&[])),
        }
    }

    /// The same, decoded as an object of a kind; gives what strict decoding finds in it and in the patch.
    ///
    /// # Errors
    /// Also 422 for what is no object of the kind.
    pub(super) fn decode(
        &self,
        kind: (&GroupVersionKind, &Model),
        current: &Value,
        validation: FieldValidation,
    ) -> ApiResult<(Value, Vec<String>)> {
        let ty = kind.1.builtin_type();
        let mut patched = self.apply_to(ty, current.clone())?;
        let decoded = self.take_kind(kind.0, &mut patched);
        let decoded = decoded.and_then(|dialect| write::decode_patched(kind, &mut patched, dialect));
        let warnings = decoded.and_then(|unknown| {
            let mut findings = self.findings.clone();
            findings.extend(codec::findings(&[], &unknown));
            write::judge_patched(validation, findings)
        });
        match warnings {
            Ok(warnings) => Ok((patched, warnings)),
            Err(why) => Err(self.refused(ty, current, why)),
        }
    }

    /// By which decoder an object that was patched is read. What a strategic merge patch comes to is decoded as what the object is,
    /// whatever it says (`DefaultUnstructuredConverter`).
    ///
    /// # Errors
    /// Why what it says is no text.
    fn take_kind(&self, gvk: &GroupVersionKind, patched: &mut Value) -> Result<Dialect, String> {
        if self.kind != PatchKind::Strategic {
            return Ok(Dialect::Json);
        }
        for (field, text) in [("apiVersion", gvk.api_version()), ("kind", gvk.kind.clone())] {
            if !matches!(patched[field], Value::Null | Value::String(_)) {
                return Err(inconvertible(&patched[field], &kinds::Value::String, "string"));
            }
            patched[field] = text.into();
        }
        Ok(Dialect::Unstructured)
    }

    /// 422 for a patch whose result does not decode. Upstream shows a strategic merge patch, and of the others what they come to, as Go's
    /// encoder writes it. What the patch does not touch has its members in the order of Go's fields there, and by name here.
    fn refused(&self, ty: Option<&'static kinds::Type>, current: &Value, why: String) -> ApiError {
        let shown = match self.kind {
            PatchKind::Strategic => Ok(kubewright_smd::go_print(&self.body)),
            _ => self
                .apply_to(ty, current.clone())
                .map(|patched| go_json(&patched)),
        };
        shown.map_or_else(|error| error, |shown| refused(shown, why))
    }
}

fn patched(call: &Call<'_>, patch: &ReadPatch, current: &Value, options: &WriteOptions) -> ApiResult<Value> {
    // The patched object keeps the version of the present one, so it conflicts only where the patch sets another.
    let ty = call.resource.model.builtin_type();
    let mut patched = patch.apply_to(ty, current.clone())?;
    let dialect = patch
        .take_kind(&call.resource.gvk(), &mut patched)
        .map_err(|why| patch.refused(ty, current, why))?;
    let has_no_kind = patched["kind"].is_null() || patched["kind"] == "";
    if call.resource.model.custom().is_some() && has_no_kind {
        let shown = go_json(&patched);
        let why = format!("Object 'Kind' is missing in '{shown}'");
        return Err(refused(shown, why));
    }
    let validation = options.field_validation.unwrap_or(FieldValidation::Warn);
    if let Err(other) = write::check_custom_kind(call, &patched) {
        let findings = patch
            .findings
            .iter()
            .cloned()
            .chain(foreign_fields(call, patched));
        return Err(match write::judge_patched(validation, findings.collect()) {
            Ok(warnings) => {
                call.warnings.add(warnings);
                other
            }
            Err(why) => patch.refused(ty, current, why),
        });
    }
    let findings = patch.findings.clone();
    let mut object = write::reshape(call, patched, findings, validation, dialect)
        .map_err(|why| patch.refused(ty, current, why))?;
    through_storage(call, &mut object);
    metadata::place_named(call, &mut object)?;
    Ok(object)
}

/// What strict decoding finds in a custom resource that a patch made one of another version: upstream goes by that version's schema, and without
/// one nothing but metadata is known (apiextensions `pkg/apiserver/customresource_handler.go` `schemaCoercingDecoder`).
fn foreign_fields(call: &Call<'_>, mut object: Value) -> Vec<String> {
    let resource = &call.resource;
    let version = object["apiVersion"]
        .as_str()
        .and_then(|text| text.split_once('/'));
    let Some((group, version)) = version.filter(|_| object["kind"] == *resource.kind) else {
        return Vec::new();
    };
    if group != resource.group {
        return Vec::new();
    }
    let registry = call.server.registry();
    if let Some(other) = registry.find(group, version, &resource.plural) {
        return codec::findings(&[], &other.model.normalize(&mut object).unknown_fields);
    }
    let fields = object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(field, _)| field.clone());
    let mut unknown: Vec<String> = fields
        .filter(|field| !matches!(field.as_str(), "apiVersion" | "kind" | "metadata"))
        .collect();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|field, _| !unknown.contains(field));
    }
    unknown.extend(resource.model.normalize(&mut object).unknown_fields);
    unknown.sort_unstable();
    codec::findings(&[], &unknown)
}

/// Takes from a custom resource what its stored version cannot hold, where no webhook converts: upstream does so before it looks at
/// who sets which fields, so nobody owns those (apiextensions `pkg/apiserver/customresource_handler.go`
/// `schemaCoercingConverter`).
fn through_storage(call: &Call<'_>, object: &mut Value) {
    let resource = &call.resource;
    if let Some(model) = resource.model.custom().filter(|model| !model.has_webhook())
        && !resource.is_storage_version()
    {
        model.recast(object, &resource.storage_api_version());
        model.recast(object, &resource.api_version());
    }
}

/// 422 for a patch whose result does not decode.
fn refused(shown: String, why: String) -> ApiError {
    let error = FieldError::invalid(FieldPath::new("patch"), shown, why);
    Status::invalid(&GroupKind::default(), "", &[error]).into()
}

/// As apiserver pkg/endpoints/handlers/patch.go tells them apart.
fn json_patch_error(error: &json::PatchError) -> ApiError {
    if error.is_too_large() {
        let message = format!("Request entity too large: {error}");
        return Status::failure(StatusReason::RequestEntityTooLarge, message).into();
    }
    if error.is_malformed() {
        return Status::bad_request(error.to_string()).into();
    }
    unprocessable()
}

/// 422 without saying why, as upstream.
fn unprocessable() -> ApiError {
    let message = "the server rejected our request due to an error in our request";
    Status::failure(StatusReason::Invalid, message)
        .with_details(StatusDetails::default())
        .into()
}
