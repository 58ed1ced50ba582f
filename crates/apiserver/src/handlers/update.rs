//! Update: replaces an object, or the part of it that a subresource is.

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{FieldError, FieldPath, GroupKind, Status, StatusReason, WriteOptions};
use kubewright_net::Body;
use kubewright_smd::manager::restore_times;
use serde_json::Value;

use super::admitted::Change;
use super::create::{self, Origin};
use super::metadata::{self, OwnersOf};
use super::reserved::Reservation;
use super::response::Rendering;
use super::write::{self, WriteContext, Written, meta};
use super::{Call, from_storage, lifecycle, to_storage};
use crate::authorization::grants;
use crate::builtin::strategy::{CreateOnUpdate, UnconditionalUpdate};
use crate::custom::rules;
use crate::error::{ApiError, ApiResult};
use crate::storage::{Encoded, GUARANTEED_UPDATE_TRIES, StorageError, StoredObject};

/// Replaces the object with the one in the body.
pub(crate) async fn update(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = write::options(call)?;
    let incoming = read(call, body, &options)?;
    let uid = meta(&incoming, "uid").to_owned();
    let owners = call.owners(&options);
    let may_create = call.info.subresource.is_empty()
        && call.resource.strategy.create_on_update == CreateOnUpdate::Allowed;
    let mut object = Some(incoming);
    // It is read anew where somebody else was quicker: seldom enough not to keep a copy.
    let again = |object: Option<Value>| object.map_or_else(|| read(call, body, &options), Ok);
    for _ in 0..GUARANTEED_UPDATE_TRIES {
        let changed = change(call, &options, |current| {
            check_uid(call, &uid, meta(current, "uid"))?;
            Ok(owners.update(current, again(object.take())?))
        })
        .await;
        let written = match changed {
            Err(error) if may_create && error.status().code == 404 && is_gone(call).await? => {
                check_uid(call, &uid, "")?;
                let object = call.own(&owners, again(object.take())?).await?;
                create::store(call, object, Origin::Update, &options).await
            }
            written => return write::answer(call, &rendering, StatusCode::OK, &written?).await,
        };
        match written {
            // Somebody else created it in between: it is there to be changed now.
            Err(error) if error.status().reason == StatusReason::AlreadyExists && !is_gone(call).await? => {}
            written => return write::answer(call, &rendering, StatusCode::CREATED, &written?).await,
        }
    }
    Err(ApiError::modified(&call.group_resource(), call.name()?))
}

/// Whether the object that the path names is not there: a 404 may tell of something else that is missing, as the role that a binding names,
/// and what is refused as being there already may be so by the word of a webhook.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn is_gone(call: &Call<'_>) -> ApiResult<bool> {
    let key = call.resource.key(call.namespace(), call.name()?);
    let found = call.server.storage().get(key).await;
    Ok(found.map_err(|error| call.storage_error(error))?.is_none())
}

/// Reads a body as the object that is to be there.
fn read(call: &Call<'_>, body: &Bytes, options: &WriteOptions) -> ApiResult<Value> {
    let mut object = write::read(call, body, options)?;
    metadata::place_named(call, &mut object)?;
    metadata::dedup_owners(call, &mut object, OwnersOf::Body);
    Ok(object)
}

/// The precondition that a body with a uid is (apiserver pkg/storage/interfaces.go `Preconditions.Check`).
///
/// # Errors
/// 409 when the object there is another one.
pub(super) fn check_uid(call: &Call<'_>, wanted: &str, found: &str) -> ApiResult<()> {
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let name = call.name()?;
    let key = call.resource.etcd_key(call.namespace(), name);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
         precondition: {wanted}, UID in object meta: {found}"
    );
    Err(Status::conflict(&call.group_resource(), name, why).into())
}

/// Changes the object that the path names. `make` gives the new state for the present one, both in the served version, and is
/// asked again when somebody else was quicker and the new state names no version.
///
/// # Errors
/// 404 where there is no such object, 409 when it is not at the version that the new state names, what `make` fails with, and
/// 422 for a new state that is not valid.
pub(super) async fn change(
    call: &Call<'_>,
    options: &WriteOptions,
    make: impl FnMut(&Value) -> ApiResult<Value>,
) -> ApiResult<Written> {
    change_by(call, Rules::Of(call.info.subresource), options, make).await
}

/// The same for a change of the object itself, whatever subresource it came by.
pub(super) async fn change_whole(
    call: &Call<'_>,
    options: &WriteOptions,
    make: impl FnMut(&Value) -> ApiResult<Value>,
) -> ApiResult<Written> {
    change_by(call, Rules::Of(""), options, make).await
}

/// The same for a change that is part of something else, about which admission was asked.
pub(super) async fn change_unasked(
    call: &Call<'_>,
    options: &WriteOptions,
    make: impl FnMut(&Value) -> ApiResult<Value>,
) -> ApiResult<Written> {
    change_by(call, Rules::Unasked(call.info.subresource), options, make).await
}

/// The same for a change that `make` alone answers for: no strategy has a say in it.
pub(super) async fn change_unchecked(
    call: &Call<'_>,
    options: &WriteOptions,
    make: impl FnMut(&Value) -> ApiResult<Value>,
) -> ApiResult<Written> {
    change_by(call, Rules::None, options, make).await
}

/// Which rules a change is prepared and checked by.
#[derive(Clone, Copy)]
enum Rules<'a> {
    /// Those of a subresource; of the object itself where the name is empty.
    Of(&'a str),
    /// The same without admission.
    Unasked(&'a str),
    /// None.
    None,
}

async fn change_by(
    call: &Call<'_>,
    rules: Rules<'_>,
    options: &WriteOptions,
    mut make: impl FnMut(&Value) -> ApiResult<Value>,
) -> ApiResult<Written> {
    let name = call.name()?;
    let key = call.resource.key(call.namespace(), name);
    let read = call
        .server
        .storage()
        .get(key)
        .await
        .map_err(|error| call.storage_error(error))?;
    let mut current = read.ok_or_else(|| ApiError::from(Status::not_found(&call.group_resource(), name)))?;
    for _ in 0..GUARANTEED_UPDATE_TRIES {
        let old = from_storage(call.server, &call.resource, call.server.recent.take(&current)).await?;
        let mut new = call.settled(|| make(&old)).await?;
        let admitted = matches!(rules, Rules::Of(_)).then(|| Change::new(call, options, &old));
        if let Some(change) = &admitted {
            new = change.mutate(new).await?;
        }
        grants::check(call, &new, Some(&old)).await?;
        // From here on, not before: a webhook may write what this locks.
        let mut context = WriteContext::new(call, options).await?;
        prepare(call, rules, &mut new, &old, &mut context)?;
        let mut reserved = context.done(&new);
        if let Some(change) = &admitted {
            change.validate(&new).await?;
        }
        restore_times(&mut new, &old);
        let result = if lifecycle::ends(&new, &old) {
            let _definition = write::hold_definition(call, name).await?;
            remove(call, options, &current, new).await
        } else {
            let shown = options.dry_run.then(|| new.clone());
            let mut new = to_storage(call.server, &call.resource, new).await?;
            if call.resource.model.custom().is_some()
                && !call.resource.is_storage_version()
                && matches!(rules, Rules::Of(""))
            {
                // What this version does not have may have gone, which counts as well.
                call.resource
                    .strategy
                    .count_generation(&mut new, &current.value());
            }
            let _definition = write::hold_definition(call, name).await?;
            Reservation::while_stored(&mut reserved, replace(call, &current, new, shown)).await
        };
        match result {
            Ok(written) => return Ok(written),
            Err(StorageError::Conflict { current: newer, .. }) => current = newer,
            Err(error) => return Err(call.storage_error(error)),
        }
    }
    Err(ApiError::modified(&call.group_resource(), name))
}

/// Brings the new state in line with the old one and checks it.
fn prepare(
    call: &Call<'_>,
    rules: Rules<'_>,
    new: &mut Value,
    old: &Value,
    context: &mut WriteContext<'_>,
) -> ApiResult<()> {
    let resource = &call.resource;
    let name = meta(old, "name").to_owned();
    check_version(call, new, old, &name)?;
    metadata::restore(new, old);
    let (Rules::Of(subresource) | Rules::Unasked(subresource)) = rules else {
        return Ok(());
    };
    if subresource.is_empty() {
        resource
            .strategy
            .prepare_for_update(new, old, &mut context.strategy())
            .or_else(|errors| write::unprepared(call, &name, &errors))?;
    } else {
        resource
            .strategy
            .prepare_for_subresource(subresource, new, old, &mut context.strategy());
    }
    let errors = if subresource.is_empty() {
        resource.strategy.validate_update(new, old)
    } else {
        resource
            .strategy
            .validate_subresource_update(subresource, new, old)
    };
    write::check(call, &name, new, Some(old), errors)?;
    if subresource.is_empty() {
        call.warnings.add(resource.strategy.warnings(new, Some(old)));
        call.warnings.add(rules::warnings(call.server, resource, new));
    } else {
        call.warnings
            .add(resource.strategy.part_warnings(subresource, new));
    }
    Ok(())
}

/// The optimistic lock: the version, where the new state names one (registry/generic/registry/store.go `Update`).
fn check_version(call: &Call<'_>, new: &Value, old: &Value, name: &str) -> ApiResult<()> {
    let wanted = metadata::version(new)?;
    if wanted == 0 {
        if call.resource.strategy.unconditional_update == UnconditionalUpdate::Allowed {
            return Ok(());
        }
        let path = FieldPath::new("metadata").child("resourceVersion");
        let error = FieldError::invalid(path, 0, "must be specified for an update");
        // Upstream puts the resource where the kind should be.
        let kind = GroupKind::new(&call.resource.group, &call.resource.plural);
        return Err(Status::invalid(&kind, name, &[error]).into());
    }
    if wanted == metadata::version(old)? {
        return Ok(());
    }
    Err(ApiError::modified(&call.group_resource(), name))
}

/// Stores the new state, unless it is the present one or nothing is to be stored but `shown`.
async fn replace(
    call: &Call<'_>,
    current: &StoredObject,
    new: Value,
    shown: Option<Value>,
) -> Result<Written, StorageError> {
    // The stored text has no version, so equal texts mean that nothing changed: nothing is written.
    let encoded = Encoded::from_value(&new);
    if encoded.bytes() == current.storage_bytes() {
        call.server.recent.put(current, new);
        return Ok(Written::Stored(current.clone()));
    }
    if let Some(shown) = shown {
        return Ok(Written::Shown(shown));
    }
    let (key, expected) = (current.key().clone(), current.revision());
    let stored = call.server.storage().update(key, expected, encoded).await?;
    call.server.recent.put(&stored, new);
    Ok(Written::Stored(stored))
}

/// The update took away the last thing that held an object which is being deleted: it goes, and the answer shows it as it was
/// to become.
async fn remove(
    call: &Call<'_>,
    options: &WriteOptions,
    current: &StoredObject,
    new: Value,
) -> Result<Written, StorageError> {
    if !options.dry_run {
        let (key, expected) = (current.key().clone(), current.revision());
        call.server.storage().delete(key, expected).await?;
    }
    Ok(Written::Shown(new))
}
