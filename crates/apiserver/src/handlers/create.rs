//! Create.

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{Status, StatusDetails, StatusReason, WriteOptions};
use kubewright_net::Body;
use serde_json::Value;

pub(super) use super::metadata::place;
use super::metadata::{self, OwnersOf};
use super::reserved::Reservation;
use super::response::Rendering;
use super::write::{self, WriteContext, Written, meta};
use super::{Call, admitted, lifecycle, to_storage};
use crate::authorization::grants;
use crate::custom::rules;
use crate::error::{ApiError, ApiResult};
use crate::ids;
use crate::storage::{Encoded, StorageError, StoredObject};

/// Creates the object in the body.
pub(crate) async fn create(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = write::options(call)?;
    let mut object = write::read(call, body, &options)?;
    metadata::wipe(&mut object);
    place(call, &mut object)?;
    metadata::dedup_owners(call, &mut object, OwnersOf::Body);
    let object = call.own(&call.owners(&options), object).await?;
    let written = store(call, object, Origin::Create, &options).await?;
    write::answer(call, &rendering, StatusCode::CREATED, &written).await
}

/// By which road an object comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A create, which may name no version.
    Create,
    /// An update or an apply of what is not there.
    Update,
}

/// Stores a new object; a generated name that is taken is generated anew.
pub(super) async fn store(
    call: &Call<'_>,
    object: Value,
    origin: Origin,
    options: &WriteOptions,
) -> ApiResult<Written> {
    let asked = meta(&object, "name").to_owned();
    let mut object = admitted::mutate_new(call, object, options).await?;
    // A webhook moves nothing elsewhere.
    place(call, &mut object)?;
    metadata::wipe(&mut object);
    grants::check(call, &object, None).await?;
    if meta(&object, "generateName").is_empty() || !meta(&object, "name").is_empty() {
        return try_store(call, object, &asked, origin, options).await;
    }
    let mut tries = 1;
    loop {
        let mut object = object.clone();
        let name = ids::generated_name(meta(&object, "generateName"));
        write::metadata(&mut object).map(|metadata| metadata.insert("name".into(), name.into()));
        match try_store(call, object, &asked, origin, options).await {
            Err(error)
                if error.status().reason == StatusReason::AlreadyExists && tries < GENERATED_NAME_TRIES =>
            {
                tries += 1;
            }
            result => return result,
        }
    }
}

/// `asked` is the name that the client gave it, which is empty where it gave none.
async fn try_store(
    call: &Call<'_>,
    mut object: Value,
    asked: &str,
    origin: Origin,
    options: &WriteOptions,
) -> ApiResult<Written> {
    let resource = &call.resource;
    let name = meta(&object, "name").to_owned();
    let may_generate = !meta(&object, "generateName").is_empty();
    let mut context = WriteContext::new(call, options).await?;
    if let Some(metadata) = write::metadata(&mut object) {
        metadata.insert("uid".into(), ids::uid().into());
        metadata.insert("creationTimestamp".into(), context.now.clone().into());
    }
    resource
        .strategy
        .prepare_for_create(&mut object, &mut context.strategy())
        .or_else(|errors| write::unprepared(call, &name, &errors))?;
    let errors = resource
        .strategy
        .validate_create(&object, write::table_scope(call));
    write::check(call, &name, &object, None, errors)?;
    call.warnings.add(resource.strategy.warnings(&object, None));
    call.warnings.add(rules::warnings(call.server, resource, &object));
    if origin == Origin::Update {
        // What lets somebody change an object does not let them make it. It is found out as late as upstream does, where validating
        // admission begins (apiserver pkg/endpoints/handlers/update.go `withAuthorization`).
        let rules = call.server.rules_for(&call.identity).await?;
        rules.authorize_creation(&call.identity, &call.info)?;
    }
    lifecycle::check_definition(call, &name)?;
    let mut reserved = context.done(&object);
    match asked {
        "" => admitted::validate_generated(call, &object, options).await?,
        _ => admitted::validate_new(call, &object, options).await?,
    }
    let key = resource.key(call.namespace(), &name);
    if options.dry_run {
        return match call
            .server
            .storage()
            .get(key)
            .await
            .map_err(|error| call.storage_error(error))?
        {
            Some(current) => Err(already_exists(call, &name, may_generate, &current)),
            None => Ok(Written::Shown(object)),
        };
    }
    // Seen only by who stores it, so a dry run passes with one.
    if origin == Origin::Create && metadata::version(&object).is_ok_and(|version| version != 0) {
        return Err(metadata::server_error(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let object = to_storage(call.server, resource, object).await?;
    let encoded = Encoded::from_value(&object);
    let _definition = write::hold_definition(call, &name).await?;
    let created = call.server.storage().create(key, encoded);
    match Reservation::while_stored(&mut reserved, created).await {
        Ok(stored) => {
            call.server.recent.put(&stored, object);
            Ok(Written::Stored(stored))
        }
        Err(StorageError::AlreadyExists { current }) => {
            Err(already_exists(call, &name, may_generate, &current))
        }
        Err(error) => Err(ApiError::from_storage(error, &call.group_resource(), &name)),
    }
}

/// There is such an object. One whose name may be generated is to be tried again, also where the client chose the name
/// (apiserver pkg/registry/rest/create.go `CheckGeneratedNameError`).
fn already_exists(call: &Call<'_>, name: &str, may_generate: bool, current: &StoredObject) -> ApiError {
    let mut status = Status::already_exists(&call.group_resource(), name);
    if may_generate {
        status.message += ", the server was not able to generate a unique name for the object";
        status
            .details
            .get_or_insert_with(StatusDetails::default)
            .retry_after_seconds = 1;
    }
    if current.value().pointer("/metadata/deletionTimestamp").is_some() {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status.into()
}

/// As often as upstream tries (registry/generic/registry/store.go `maxNameGenerationCreateAttempts`).
const GENERATED_NAME_TRIES: usize = 8;
