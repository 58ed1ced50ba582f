//! Objects between the version they are stored in and the one they are served in.

use serde_json::Value;

use crate::builtin::conversion;
use crate::error::ApiResult;
use crate::registry::Resource;
use crate::server::Server;

/// An object as it is stored, in the served version.
///
/// # Errors
/// 500 where it takes a webhook, and that fails.
pub(crate) async fn from_storage(server: &Server, resource: &Resource, object: Value) -> ApiResult<Value> {
    match try_from_storage(resource, object) {
        Ok(object) => Ok(object),
        Err(object) => one(server, resource, object, &resource.api_version()).await,
    }
}

/// The same for many, which a webhook gets together.
///
/// # Errors
/// As [`from_storage`]: one that fails makes all fail, as upstream.
pub(crate) async fn all_from_storage(
    server: &Server,
    resource: &Resource,
    objects: impl Iterator<Item = Value>,
) -> ApiResult<Vec<Value>> {
    let mut is_foreign = false;
    let objects: Vec<Value> = objects
        .map(|object| {
            try_from_storage(resource, object).unwrap_or_else(|object| {
                is_foreign = true;
                object
            })
        })
        .collect();
    match resource.model.custom() {
        Some(model) if is_foreign => Box::pin(model.convert(server, objects, &resource.api_version())).await,
        _ => Ok(objects),
    }
}

/// An object as it is stored, in the served version.
///
/// # Errors
/// The object as it is, where it takes a webhook.
pub(crate) fn try_from_storage(resource: &Resource, mut object: Value) -> Result<Value, Value> {
    let Some(model) = resource.model.custom() else {
        return Ok(if resource.is_storage_version() {
            object
        } else {
            convert(object, &resource.storage_api_version(), &resource.api_version())
        });
    };
    model.repair(&mut object);
    let to = resource.api_version();
    if model.needs_webhook(&object, &to) {
        return Err(object);
    }
    model.recast(&mut object, &to);
    Ok(object)
}

/// An object in the served version, as it is to be stored.
///
/// # Errors
/// 500 where it takes a webhook, and that fails.
pub(crate) async fn to_storage(server: &Server, resource: &Resource, mut object: Value) -> ApiResult<Value> {
    if resource.is_storage_version() {
        return Ok(object);
    }
    let to = resource.storage_api_version();
    let Some(model) = resource.model.custom() else {
        return Ok(convert(object, &resource.api_version(), &to));
    };
    if model.needs_webhook(&object, &to) {
        object = one(server, resource, object, &to).await?;
    } else {
        model.recast(&mut object, &to);
    }
    model.complete(&mut object);
    Ok(object)
}

/// One object of a custom resource, by its webhook.
pub(crate) async fn one(server: &Server, resource: &Resource, object: Value, to: &str) -> ApiResult<Value> {
    let Some(model) = resource.model.custom() else {
        return Ok(object);
    };
    let converted = Box::pin(model.convert(server, vec![object], to)).await?;
    Ok(converted.into_iter().next().unwrap_or_default())
}

fn convert(mut object: Value, from: &str, to: &str) -> Value {
    conversion::convert(&mut object, from, to);
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".into(), to.into());
    }
    object
}
