//! Delete and deletecollection.
//!
//! An object goes at once unless finalizers hold it or its kind ends gracefully; then it is marked with the time of its deletion
//! and goes with the last finalizer, or when whoever runs it says that it has ended (registry/generic/registry/store.go
//! `Delete`, registry/rest/delete.go `BeforeDelete`).

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use kubewright_core::{
    DeleteOptions, FieldError, FieldPath, GroupKind, PropagationPolicy, Status, StatusDetails,
};
use kubewright_net::Body;
use serde_json::{Value, json};

use super::response::Rendering;
use super::warning::warn;
use super::write::{self, Written, meta, metadata};
use super::{Call, from_storage, lifecycle, list};
use crate::builtin::strategy::Dependents;
use crate::codec;
use crate::error::{ApiError, ApiResult, json_response};
use crate::request::{ReadOptions, media};
use crate::storage::{GUARANTEED_UPDATE_TRIES, StorageError, StoredObject};

/// Deletes the object that the path names.
pub(crate) async fn delete(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = options(call, body)?;
    let name = call.name()?;
    lifecycle::check_immortal(call, name)?;
    let key = call.resource.key(call.namespace(), name);
    let found = call
        .server
        .storage()
        .get(key)
        .await
        .map_err(|error| call.storage_error(error))?;
    let found = found.ok_or_else(|| ApiError::from(Status::not_found(&call.group_resource(), name)))?;
    let mut response = match delete_object(call, found, &options).await? {
        Deleted::Gone(last) => {
            let resource = call.group_resource();
            let status = Status::success(StatusDetails {
                name: name.to_owned(),
                group: resource.group,
                kind: resource.resource,
                uid: meta(&last, "uid").to_owned(),
                ..StatusDetails::default()
            });
            json_response(StatusCode::OK, serde_json::to_vec(&status).unwrap_or_default())
        }
        Deleted::Ending(written) => {
            // Upstream keeps 200 here but for clients that asked by the old field (endpoints/handlers/delete.go).
            let code = if options.orphan_dependents == Some(false) {
                StatusCode::ACCEPTED
            } else {
                StatusCode::OK
            };
            write::answer(&rendering, code, &written, &[])
        }
    };
    warn(&mut response, &warnings(call, &options));
    Ok(response)
}

/// Deletes every object that the options select and answers with the list of them.
pub(crate) async fn delete_collection(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = options(call, body)?;
    let select = ReadOptions::read(call.query)?;
    let page = list::page(call, &select).await?;
    for object in &page.items {
        let result = delete_object(call, object.clone(), &options).await;
        // Somebody else may have deleted it meanwhile, which is what was wanted.
        if let Err(error) = result.map(drop)
            && error.status().code != 404
        {
            return Err(error);
        }
    }
    let mut response = rendering.list(&page.metadata(), &page.items);
    warn(&mut response, &warnings(call, &options));
    Ok(response)
}

/// Reads the options from the body and from the query.
fn options(call: &Call<'_>, body: &Bytes) -> ApiResult<DeleteOptions> {
    let refused = |error| ApiError::from_option(error, "DeleteOptions");
    let from_query = DeleteOptions::from_query(call.query).map_err(refused)?;
    let mut options = if body.is_empty() {
        from_query
    } else {
        let body = codec::read(body, media::body_format(call.headers)?)?.value;
        if !body.is_object() {
            return Err(
                Status::bad_request("the body of a delete is a DeleteOptions, which is an object").into(),
            );
        }
        let kind = body
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or("DeleteOptions");
        if kind != "DeleteOptions" {
            return Err(Status::bad_request(format!(
                "the body of a delete is a DeleteOptions, not a {kind}"
            ))
            .into());
        }
        // Checked before it is read, since it is refused otherwise than what cannot be read.
        if let Some(policy) = body.get("propagationPolicy").and_then(Value::as_str) {
            policy.parse::<PropagationPolicy>().map_err(refused)?;
        }
        let options: DeleteOptions = serde_json::from_value(body)
            .map_err(|error| Status::bad_request(format!("the DeleteOptions cannot be read: {error}")))?;
        DeleteOptions {
            dry_run: if options.dry_run.is_empty() {
                from_query.dry_run
            } else {
                options.dry_run.clone()
            },
            ..options
        }
    };
    check(&options)?;
    if options.propagation_policy.is_none() {
        options.propagation_policy = options.orphan_dependents.map(|orphan| match orphan {
            true => PropagationPolicy::Orphan,
            false => PropagationPolicy::Background,
        });
    }
    Ok(options)
}

/// apimachinery pkg/apis/meta/v1/validation `ValidateDeleteOptions`.
fn check(options: &DeleteOptions) -> ApiResult<()> {
    let mut errors = Vec::new();
    if options.propagation_policy.is_some() && options.orphan_dependents.is_some() {
        let policy = json!(options.propagation_policy);
        let why = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(
            FieldPath::new("propagationPolicy"),
            policy,
            why,
        ));
    }
    if options.dry_run.iter().any(|value| value != "All") {
        errors.push(FieldError::not_supported(
            FieldPath::new("dryRun"),
            json!(options.dry_run),
            &["All"],
        ));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&GroupKind::new("meta.k8s.io", "DeleteOptions"), "", &errors).into())
}

/// What became of an object.
pub(crate) enum Deleted {
    /// It is gone; this is what it was.
    Gone(Value),
    /// It is marked and will go.
    Ending(Written),
}

/// Deletes an object as far as can be done now.
///
/// # Errors
/// 409 where a precondition does not hold, 404 when somebody else was quicker.
pub(crate) async fn delete_object(
    call: &Call<'_>,
    found: StoredObject,
    options: &DeleteOptions,
) -> ApiResult<Deleted> {
    let mut current = found;
    for _ in 0..GUARANTEED_UPDATE_TRIES {
        let old = from_storage(&call.resource, current.value());
        check_preconditions(call, &old, options)?;
        let name = meta(&old, "name").to_owned();
        let key = current.key().clone();
        let fail = |error| ApiError::from_storage(error, &call.group_resource(), &name);
        let conflict = match mark(call, &old, options) {
            // A dry run ends where the writing would begin.
            Mark::Remove if options.is_dry_run() => return Ok(Deleted::Gone(old)),
            Mark::Keep => return Ok(Deleted::Ending(Written::Stored(current))),
            Mark::Change(new) if options.is_dry_run() => return Ok(Deleted::Ending(Written::Shown(new))),
            Mark::Remove => match call.server.storage().delete(key, current.revision()).await {
                Ok(_) => return Ok(Deleted::Gone(old)),
                Err(error) => error,
            },
            Mark::Change(new) => {
                match call
                    .server
                    .storage()
                    .update(key, current.revision(), write::encode(call, new))
                    .await
                {
                    Ok(stored) => return Ok(Deleted::Ending(Written::Stored(stored))),
                    Err(error) => error,
                }
            }
        };
        match conflict {
            StorageError::Conflict { current: newer, .. } => current = newer,
            error => return Err(fail(error)),
        }
    }
    Err(ApiError::modified(&call.group_resource(), current.key().name()))
}

/// What a delete does to an object.
enum Mark {
    Remove,
    Change(Value),
    /// It is ending already and nothing is to be changed.
    Keep,
}

fn mark(call: &Call<'_>, old: &Value, options: &DeleteOptions) -> Mark {
    let mut new = old.clone();
    set_propagation(
        &mut new,
        options.propagation_policy,
        call.resource.strategy.dependents,
    );
    let is_ending = old["metadata"].get("deletionTimestamp").is_some();
    if let Some(finalizer) = call.resource.strategy.finalizer_on_delete.filter(|_| !is_ending) {
        add_finalizer(&mut new, finalizer);
    }
    let grace = call
        .resource
        .strategy
        .grace_period(old, options.grace_period_seconds);
    let is_held = lifecycle::has_finalizers(&new);
    if !is_held && grace.unwrap_or(0) == 0 {
        return Mark::Remove;
    }
    let grace = if is_held && grace.is_none() {
        0
    } else {
        grace.unwrap_or(0)
    };
    let now = call.server.now();
    if is_ending {
        let present = old["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(0);
        // A later delete may bring the end nearer, not put it off.
        if grace < present {
            set_deletion(&mut new, shortened(old, present, grace, now), grace);
        }
    } else {
        set_deletion(&mut new, later(now, grace), grace);
        if let Some(generation) = new["metadata"]["generation"].as_i64() {
            new["metadata"]["generation"] = (generation + 1).into();
        }
    }
    if new["kind"] == "Namespace" && new["apiVersion"] == "v1" {
        new["status"]["phase"] = json!("Terminating");
    }
    if new == *old {
        Mark::Keep
    } else {
        Mark::Change(new)
    }
}

fn set_deletion(object: &mut Value, when: Timestamp, grace: i64) {
    if let Some(metadata) = metadata(object) {
        metadata.insert("deletionTimestamp".into(), when.to_string().into());
        metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
    }
}

fn shortened(old: &Value, present: i64, grace: i64, now: Timestamp) -> Timestamp {
    let due: Option<Timestamp> = meta(old, "deletionTimestamp").parse().ok();
    let began = due.map_or(now, |due| later(due, -present));
    later(began, grace).max(began)
}

fn later(from: Timestamp, seconds: i64) -> Timestamp {
    from.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(from)
}

fn add_finalizer(object: &mut Value, finalizer: &str) {
    let Some(metadata) = metadata(object) else { return };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers
        .as_array_mut()
        .filter(|all| all.iter().all(|one| one != finalizer))
    {
        finalizers.push(finalizer.into());
    }
}

/// What the client is warned of: dependents that stay although nobody said so.
fn warnings(call: &Call<'_>, options: &DeleteOptions) -> Vec<String> {
    let is_silent = options.propagation_policy.is_none();
    if is_silent && call.resource.strategy.dependents == Dependents::OrphanedWithWarning {
        vec![ORPHANED_PODS.to_owned()]
    } else {
        Vec::new()
    }
}

/// The policy is kept as a finalizer, which the garbage collector acts on and removes. Without one, what is there stays, and
/// where nothing is there the kind's default counts (registry/generic/registry/store.go `shouldOrphanDependents`).
fn set_propagation(object: &mut Value, policy: Option<PropagationPolicy>, default: Dependents) {
    let is_set = |object: &Value| {
        let finalizers = object["metadata"]["finalizers"].as_array();
        finalizers.is_some_and(|all| all.iter().any(|one| *one == ORPHAN || *one == FOREGROUND))
    };
    let policy = match policy {
        Some(policy) => policy,
        None if default == Dependents::Deleted || is_set(object) => return,
        None => PropagationPolicy::Orphan,
    };
    let Some(metadata) = metadata(object) else { return };
    let present = metadata.get("finalizers").and_then(Value::as_array);
    let mut finalizers: Vec<Value> = present
        .into_iter()
        .flatten()
        .filter(|name| *name != ORPHAN && *name != FOREGROUND)
        .cloned()
        .collect();
    match policy {
        PropagationPolicy::Orphan => finalizers.push(ORPHAN.into()),
        PropagationPolicy::Foreground => finalizers.push(FOREGROUND.into()),
        PropagationPolicy::Background => {}
    }
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), finalizers.into());
    }
}

fn check_preconditions(call: &Call<'_>, object: &Value, options: &DeleteOptions) -> ApiResult<()> {
    let Some(wanted) = &options.preconditions else {
        return Ok(());
    };
    let name = meta(object, "name");
    for (what, wanted, found) in [
        ("UID", wanted.uid.as_deref(), meta(object, "uid")),
        (
            "ResourceVersion",
            wanted.resource_version.as_deref(),
            meta(object, "resourceVersion"),
        ),
    ] {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            return Err(Status::conflict(&call.group_resource(), name, why).into());
        }
    }
    Ok(())
}

/// What upstream says when a job goes and its pods stay (pkg/registry/batch/job/storage/storage.go).
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
     them or set propagationPolicy=Orphan to suppress this warning";
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
