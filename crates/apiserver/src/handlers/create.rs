//! Create.

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{Scope, Status, StatusDetails, StatusReason, WriteOptions};
use kubewright_net::Body;
use serde_json::Value;

use super::response::Rendering;
use super::write::{self, WriteContext, Written, meta, metadata};
use super::{Call, lifecycle};
use crate::builtin::validation;
use crate::error::{ApiError, ApiResult};
use crate::ids;
use crate::storage::StorageError;

/// Creates the object in the body.
pub(crate) async fn create(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = write::options(call)?;
    let incoming = write::read(call, body, &options)?;
    let written = store(call, incoming.object, &options).await?;
    Ok(write::answer(
        &rendering,
        StatusCode::CREATED,
        &written,
        &incoming.warnings,
    ))
}

/// Stores a new object; a generated name that is taken is generated anew.
pub(super) async fn store(call: &Call<'_>, mut object: Value, options: &WriteOptions) -> ApiResult<Written> {
    place(call, &mut object)?;
    if !meta(&object, "resourceVersion").is_empty() {
        return Err(
            Status::internal_error("resourceVersion should not be set on objects to be created")
                .with_code(500)
                .into(),
        );
    }
    let is_generated = meta(&object, "name").is_empty() && !meta(&object, "generateName").is_empty();
    for _ in 0..GENERATED_NAME_TRIES {
        let mut object = object.clone();
        if is_generated {
            let name = ids::generated_name(meta(&object, "generateName"));
            metadata(&mut object).map(|metadata| metadata.insert("name".into(), name.into()));
        }
        match try_store(call, object, options).await {
            Err(error) if is_generated && error.status().reason == StatusReason::AlreadyExists => {}
            result => return result,
        }
    }
    let prefix = meta(&object, "generateName");
    let resource = call.group_resource();
    let message = format!(
        "{resource} {prefix:?} already exists, the server was not able to generate a unique name for the object"
    );
    Err(Status::failure(StatusReason::AlreadyExists, message)
        .with_details(StatusDetails {
            name: prefix.to_owned(),
            kind: resource.resource,
            retry_after_seconds: 1,
            ..StatusDetails::default()
        })
        .into())
}

async fn try_store(call: &Call<'_>, mut object: Value, options: &WriteOptions) -> ApiResult<Written> {
    let resource = &call.resource;
    let mut context = WriteContext::new(call).await?;
    if let Some(metadata) = metadata(&mut object) {
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "generation"] {
            metadata.remove(field);
        }
        metadata.insert("uid".into(), ids::uid().into());
        metadata.insert("creationTimestamp".into(), context.now.clone().into());
    }
    let name = meta(&object, "name").to_owned();
    resource
        .strategy
        .prepare_for_create(&mut object, &mut context.strategy())
        .or_else(|errors| write::refuse(call, &name, &errors))?;
    let mut errors = resource
        .strategy
        .validate_create(&object, write::table_scope(call));
    validation::merge(&mut errors, resource.model.validate(&object, None));
    write::refuse(call, &name, &errors)?;
    call.warnings.add(resource.strategy.warnings(&object, None));
    lifecycle::check_definition(call, &name)?;
    lifecycle::check_namespace(call, &name).await?;
    let key = resource.key(call.namespace(), &name);
    if options.dry_run {
        return match call
            .server
            .storage()
            .get(key)
            .await
            .map_err(|error| call.storage_error(error))?
        {
            Some(_) => Err(Status::already_exists(&call.group_resource(), &name).into()),
            None => Ok(Written::Shown(object)),
        };
    }
    let _definition = write::hold_definition(call, &name).await?;
    match call
        .server
        .storage()
        .create(key, write::encode(call, object))
        .await
    {
        Ok(stored) => Ok(Written::Stored(stored)),
        Err(StorageError::AlreadyExists { current }) => {
            let is_ending = current.value().pointer("/metadata/deletionTimestamp").is_some();
            let mut status = Status::already_exists(&call.group_resource(), &name);
            if is_ending {
                status.message = format!("object is being deleted: {}", status.message);
            }
            Err(status.into())
        }
        Err(error) => Err(ApiError::from_storage(error, &call.group_resource(), &name)),
    }
}

/// Puts the object into the namespace of the path.
///
/// # Errors
/// 400 when it says it belongs elsewhere, or has another name than the path.
pub(super) fn place(call: &Call<'_>, object: &mut Value) -> ApiResult<()> {
    let found = meta(object, "namespace").to_owned();
    match (call.resource.scope, call.namespace()) {
        (Scope::Namespaced, Some(namespace)) => {
            if !found.is_empty() && found != namespace {
                return Err(Status::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                )
                .into());
            }
            metadata(object).map(|metadata| metadata.insert("namespace".into(), namespace.into()));
        }
        _ if !found.is_empty() => {
            metadata(object).map(|metadata| metadata.remove("namespace"));
        }
        _ => {}
    }
    if let Some(name) = call.info.name.as_deref() {
        match meta(object, "name") {
            "" => {
                metadata(object).map(|metadata| metadata.insert("name".into(), name.into()));
            }
            found if found != name => {
                return Err(Status::bad_request(format!(
                    "the name of the object ({found}) does not match the name on the URL ({name})"
                ))
                .into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// As often as upstream tries (registry/generic/registry/store.go `maxNameGenerationCreateAttempts`).
const GENERATED_NAME_TRIES: usize = 8;
