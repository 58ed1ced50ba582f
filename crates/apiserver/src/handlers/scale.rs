//! The scale subresource: the number of replicas of any kind that has one, as `autoscaling/v1` `Scale`.

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{
    FieldError, FieldPath, FieldValidation, GroupKind, GroupResource, GroupVersionKind, PatchKind, Status,
    StatusReason, WriteOptions,
};
use kubewright_kinds as kinds;
use kubewright_net::Body;
use serde_json::{Map, Value, json};

use super::response::Rendering;
use super::write::{self, Written, meta};
use super::{Call, apply, from_storage, metadata, patch, subresource, update};
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::ScaleOwners;
use crate::registry::{Dialect, Model, ScalePaths};

/// Answers with the scale of an object.
pub(crate) async fn get(call: &Call<'_>, paths: &ScalePaths) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let key = call.resource.key(call.namespace(), call.name()?);
    let found = call
        .server
        .storage()
        .get(key)
        .await
        .map_err(|error| call.storage_error(error))?;
    let found = found.ok_or_else(|| {
        ApiError::from(Status::not_found(
            &call.group_resource(),
            call.info.name.as_deref().unwrap_or(""),
        ))
    })?;
    let object = from_storage(call.server, &call.resource, found.value()).await?;
    if call.resource.model.custom().is_some() && get_path(&object, &paths.spec_replicas).is_none() {
        // apiextensions pkg/registry/customresource/etcd.go
        let path = paths.spec_replicas.join(".");
        let why = format!("the spec replicas field \".{path}\" does not exist");
        return Err(Status::internal_error(why).into());
    }
    let scale = of(&object, paths);
    Ok(rendering.scale(StatusCode::OK, &scale))
}

/// Sets the number of replicas from a `Scale`.
pub(crate) async fn update(call: &Call<'_>, paths: &ScalePaths, body: &Bytes) -> ApiResult<Response<Body>> {
    let options = write::options(call)?;
    let wanted = place(call, read(call, body, &options)?)?;
    let owners = owners(call, &options);
    write(call, paths, &options, &owners, |scale| {
        update::check_uid(call, meta(&wanted, "uid"), meta(scale, "uid"))?;
        check(call, &wanted)?;
        Ok(owners.update(scale, wanted.clone()))
    })
    .await
}

/// Sets the number of replicas by a patch of the `Scale`.
pub(crate) async fn patch(call: &Call<'_>, paths: &ScalePaths, body: &Bytes) -> ApiResult<Response<Body>> {
    let kind = patch::kind_of(call)?;
    if kind == PatchKind::Apply {
        let options = apply::options(call)?;
        let config = apply::Config::read(body, &options)?;
        let owners = owners(call, &options);
        return write(call, paths, &options, &owners, |scale| {
            let merged = owners.apply(scale, &config.object, apply::force(&options));
            config.check(call)?;
            placed(call, scale, merged.map_err(|error| apply::refused(&error))?)
        })
        .await;
    }
    let options = write::options(call)?;
    patch::check_force(call)?;
    let patch = patch::read(kind, body)?;
    let model = Model::Builtin(scale_type()?);
    let validation = options.field_validation.unwrap_or(FieldValidation::Warn);
    let owners = owners(call, &options);
    write(call, paths, &options, &owners, |scale| {
        let (patched, warnings) = patch.decode((&scale_kind(), &model), scale, validation)?;
        let patched = placed(call, scale, patched)?;
        call.warnings.add(warnings);
        Ok(owners.update(scale, patched))
    })
    .await
}

/// Reads a body as a `Scale`.
///
/// # Errors
/// 400 for one that is none. Of custom resources nobody is told why, since upstream asks a scheme of kinds that has no `Scale`.
fn read(call: &Call<'_>, body: &Bytes, options: &WriteOptions) -> ApiResult<Value> {
    let read = subresource::read(call, body, options, &scale_kind(), &[]);
    match (read, call.resource.model.custom()) {
        (Err(error), Some(_)) if error.status().reason == StatusReason::BadRequest => {
            let why = format!(
                "no kind is registered for the type v1.Scale in scheme {:?}",
                codec::SCHEME
            );
            Err(Status::bad_request(why).into())
        }
        (read, _) => read,
    }
}

fn owners(call: &Call<'_>, options: &WriteOptions) -> ScaleOwners {
    ScaleOwners::new(
        &call.resource,
        &call.server.registry(),
        &options.field_manager,
        call.headers,
        call.server.now(),
    )
}

async fn write(
    call: &Call<'_>,
    paths: &ScalePaths,
    options: &WriteOptions,
    owners: &ScaleOwners,
    mut wanted: impl FnMut(&Value) -> ApiResult<Value>,
) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let written = update::change_whole(call, options, |current| {
        let mut present = of(current, paths);
        owners.to_scale(current, &mut present);
        let scale = wanted(&present)?;
        let version = meta(&scale, "resourceVersion");
        if !version.is_empty() && version != meta(current, "resourceVersion") {
            return Err(ApiError::modified(&call.group_resource(), meta(current, "name")));
        }
        let mut changed = current.clone();
        set_replicas(&mut changed, &scale, paths);
        owners.to_object(&scale, &mut changed);
        Ok(changed)
    })
    .await?;
    let scale = match written {
        Written::Stored(object) => {
            let object = from_storage(call.server, &call.resource, object.value()).await?;
            of(&object, paths)
        }
        Written::Shown(object) => of(&object, paths),
    };
    Ok(rendering.scale(StatusCode::OK, &scale))
}

/// # Errors
/// 500 without the kind in the table, where it always is.
fn scale_type() -> ApiResult<&'static kinds::Type> {
    let ty = kinds::table().kind("autoscaling", "v1", "Scale");
    ty.ok_or_else(|| Status::internal_error("there is no kind Scale").into())
}

fn scale_kind() -> GroupVersionKind {
    GroupVersionKind::new("autoscaling", "v1", "Scale")
}

/// A `Scale` from a client, which says of what it is one.
///
/// # Errors
/// 400 for another kind, and for the scale of something else than the path names.
fn place(call: &Call<'_>, mut scale: Value) -> ApiResult<Value> {
    codec::expect_kind(&mut scale, &scale_kind()).map_err(|fault| Status::bad_request(fault.to_string()))?;
    metadata::place_named(call, &mut scale)?;
    Ok(scale)
}

/// What a patch made of a `Scale`.
///
/// # Errors
/// Those of [`place`] and [`check`], and 409 for the scale of an object with another uid (`scaleUpdatedObjectInfo` in
/// `pkg/registry/apps/deployment/storage/storage.go`).
fn placed(call: &Call<'_>, scale: &Value, patched: Value) -> ApiResult<Value> {
    let patched = place(call, patched)?;
    check(call, &patched)?;
    let (wanted, found) = (meta(&patched, "uid"), meta(scale, "uid"));
    if !wanted.is_empty() && wanted != found {
        let resource = call.group_resource();
        let resource = GroupResource::new(&resource.group, format!("{}/scale", resource.resource));
        let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
        return Err(Status::conflict(&resource, call.name()?, why).into());
    }
    Ok(patched)
}

/// Checks the number of a `Scale`.
///
/// # Errors
/// 422 for a negative number. Of custom resources, the rules look at the object afterwards.
fn check(call: &Call<'_>, scale: &Value) -> ApiResult<()> {
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64);
    let Some(replicas) = replicas.filter(|n| *n < 0 && call.resource.model.custom().is_none()) else {
        return Ok(());
    };
    let path = FieldPath::new("spec").child("replicas");
    let error = FieldError::invalid(path, replicas, "must be greater than or equal to 0");
    Err(Status::invalid(&GroupKind::new("autoscaling", "Scale"), call.name()?, &[error]).into())
}

/// What admission made of a `Scale`.
///
/// # Errors
/// 400 for what is none, and those of [`check`].
pub(super) fn admitted(call: &Call<'_>, mut scale: Value) -> ApiResult<Value> {
    let model = Model::Builtin(scale_type()?);
    write::decode_patched((&scale_kind(), &model), &mut scale, Dialect::Json)
        .map_err(|why| codec::cannot_be_handled(&scale_kind(), &why))?;
    check(call, &scale)?;
    Ok(scale)
}

/// Takes the number of replicas from a `Scale`.
pub(super) fn set_replicas(object: &mut Value, scale: &Value, paths: &ScalePaths) {
    let replicas = scale.pointer("/spec/replicas").cloned();
    set(object, &paths.spec_replicas, replicas.unwrap_or_else(|| json!(0)));
}

/// The scale of an object.
pub(super) fn of(object: &Value, paths: &ScalePaths) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut spec = Map::new();
    if let Some(replicas) = get_path(object, &paths.spec_replicas).filter(|replicas| **replicas != 0) {
        spec.insert("replicas".into(), replicas.clone());
    }
    let mut status = Map::new();
    status.insert(
        "replicas".into(),
        get_path(object, &paths.status_replicas)
            .cloned()
            .unwrap_or_else(|| json!(0)),
    );
    if let Some(text) = paths
        .selector
        .as_ref()
        .and_then(|path| get_path(object, path))
        .and_then(selector_text)
    {
        status.insert("selector".into(), text.into());
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}

/// A selector as text: from a `metav1.LabelSelector`, a map of labels, or text already.
fn selector_text(selector: &Value) -> Option<String> {
    if let Some(text) = selector.as_str() {
        return Some(text.to_owned());
    }
    let fields = selector.as_object()?;
    if fields.contains_key("matchLabels") || fields.contains_key("matchExpressions") {
        let spec = serde_json::from_value(selector.clone()).ok()?;
        return kubewright_core::LabelSelector::from_spec(&spec)
            .ok()
            .map(|selector| selector.to_string());
    }
    let labels = fields
        .iter()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    Some(kubewright_core::LabelSelector::from_labels(labels).to_string())
}

fn get_path<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, field| value.get(field))
}

fn set(object: &mut Value, path: &[String], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut at = object;
    for field in parents {
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(field.as_str()).or_insert_with(|| json!({}));
    }
    if let Some(fields) = at.as_object_mut() {
        fields.insert(last.clone(), value);
    }
}
