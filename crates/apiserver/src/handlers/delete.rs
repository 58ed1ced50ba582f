//! Delete and deletecollection.
//!
//! An object goes at once unless finalizers hold it or its kind ends gracefully; then it is marked with the time of its deletion
//! and goes with the last finalizer, or when whoever runs it says that it has ended. [`deletion`] decides, this module carries
//! it out (apiserver pkg/endpoints/handlers/delete.go, pkg/registry/generic/registry/store.go).

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{
    DeleteOptions, FieldError, FieldPath, GroupKind, GroupResource, GroupVersionKind, PropagationPolicy,
    Status, StatusDetails,
};
use kubewright_kinds as kinds;
use kubewright_net::Body;
use serde_json::{Value, json};

use super::response::Rendering;
use super::warning::warn;
use super::write::{self, Written, meta, metadata};
use super::{Call, admitted, from_storage, list};
use crate::builtin::strategy::Dependents;
use crate::builtin::strategy::deletion::{self, DeleteStep};
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::registry::Model;
use crate::request::{ReadOptions, media};
use crate::storage::{GUARANTEED_UPDATE_TRIES, Key, Revision, StorageError, StoredObject};

/// Deletes the object that the path names.
pub(crate) async fn delete(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = options(call, body)?;
    let name = call.name()?;
    let key = call.resource.key(call.namespace(), name);
    let found = call
        .server
        .storage()
        .get(key)
        .await
        .map_err(|error| call.storage_error(error))?;
    let found = found.ok_or_else(|| ApiError::from(Status::not_found(&call.group_resource(), name)))?;
    if options.ignore_store_read_error == Some(true) {
        return Err(is_readable(call, name));
    }
    let mut response = match delete_object(call, found, &options, Admission::Asked).await? {
        Deleted::Gone(last) if deletion::shows_deleted(&call.resource.group, &call.resource.plural) => {
            write::answer(call, &rendering, StatusCode::OK, &Written::Shown(last)).await?
        }
        Deleted::Gone(last) => {
            let resource = call.group_resource();
            let status = Status::success(StatusDetails {
                name: name.to_owned(),
                group: resource.group,
                kind: resource.resource,
                uid: meta(&last, "uid").to_owned(),
                ..StatusDetails::default()
            });
            rendering.other(StatusCode::OK, &status)
        }
        Deleted::Ending(written) => {
            // Upstream keeps 200 here but for clients that asked by the old field (endpoints/handlers/delete.go).
            let code = if options.orphan_dependents == Some(false) {
                StatusCode::ACCEPTED
            } else {
                StatusCode::OK
            };
            write::answer(call, &rendering, code, &written).await?
        }
    };
    warn(&mut response, &warnings(call, &options));
    Ok(response)
}

/// Deletes every object that the options select and answers with the list of them.
pub(crate) async fn delete_collection(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = options(call, body)?;
    if options.ignore_store_read_error == Some(true) {
        let why = "is not allowed with DELETECOLLECTION, try again after removing the option";
        let error = FieldError::invalid(FieldPath::new(UNSAFE), true, why);
        return Err(Status::invalid(&options_kind(), "", &[error]).into());
    }
    let select = ReadOptions::read(call.query)?;
    let page = list::page(call, &select).await?;
    for object in &page.items {
        let result = delete_object(call, object.clone(), &options, Admission::Asked).await;
        // Somebody else may have deleted it meanwhile, which is what was wanted.
        if let Err(error) = result.map(drop)
            && error.status().code != 404
        {
            return Err(error);
        }
    }
    let mut response = rendering.list(call.server, &page.metadata(), page.items).await?;
    warn(&mut response, &warnings(call, &options));
    Ok(response)
}

/// Reads the options: from the body, and from the query where there is no body.
fn options(call: &Call<'_>, body: &Bytes) -> ApiResult<DeleteOptions> {
    let refused = |error| ApiError::from_option(error, "DeleteOptions");
    if body.is_empty() {
        return settle(DeleteOptions::from_query(call.query).map_err(refused)?);
    }
    let mut body = codec::read(body, media::body_format(call.headers)?)?.value;
    // Every group and version has this kind, and a body that names none is one.
    let expect = GroupVersionKind::new("", "v1", "DeleteOptions");
    if let Some(fields) = body.as_object_mut()
        && fields.get("kind").and_then(Value::as_str) == Some(&expect.kind)
    {
        fields.remove("apiVersion");
    }
    let bad = |why: String| ApiError::from(Status::bad_request(why));
    codec::expect_kind(&mut body, &expect).map_err(|fault| bad(options_fault(fault)))?;
    let ty = kinds::table().kind("", "v1", "DeleteOptions");
    if let Some(why) = ty.and_then(|ty| Model::Builtin(ty).normalize(&mut body).type_error) {
        return Err(bad(why));
    }
    // Checked before it is read, since it is refused otherwise than what cannot be read.
    if let Some(policy) = body.get("propagationPolicy").and_then(Value::as_str) {
        policy.parse::<PropagationPolicy>().map_err(refused)?;
    }
    let options = serde_json::from_value(body)
        .map_err(|error| Status::bad_request(format!("the DeleteOptions cannot be read: {error}")))?;
    settle(options)
}

/// Upstream decodes options by a scheme that has no other kinds.
fn options_fault(fault: codec::KindFault) -> String {
    match fault {
        codec::KindFault::Other { found, .. } => codec::no_kind(&found),
        other => other.step(),
    }
}

/// Checks options and brings the old spelling of the policy into the new one.
///
/// # Errors
/// 422 for options that contradict each other or have none of the values they may have.
pub(super) fn settle(mut options: DeleteOptions) -> ApiResult<DeleteOptions> {
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
    if options.ignore_store_read_error == Some(true) {
        let others = [
            ("propagationPolicy", options.propagation_policy.is_some()),
            ("orphanDependents", options.orphan_dependents.is_some()),
            ("gracePeriodSeconds", options.grace_period_seconds.is_some()),
            ("preconditions", options.preconditions.is_some()),
        ];
        for (other, _) in others.into_iter().filter(|(_, is_set)| *is_set) {
            let why = format!("cannot be set together with .{other}");
            errors.push(FieldError::invalid(FieldPath::new(UNSAFE), true, why));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&options_kind(), "", &errors).into())
}

fn options_kind() -> GroupKind {
    GroupKind::new("meta.k8s.io", "DeleteOptions")
}

/// 409 for an object that was to go because it cannot be read, and can be (apiserver pkg/registry/generic/registry/corrupt_obj_deleter.go).
/// This server stores nothing that it cannot read.
fn is_readable(call: &Call<'_>, name: &str) -> ApiError {
    let resource = call.group_resource();
    let place: String = [call.namespace(), Some(name)]
        .iter()
        .flatten()
        .map(|part| format!("/{part}"))
        .collect();
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}{place}, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is \
         not allowed because the object is decodable from storage",
        resource.resource
    );
    Status::conflict(&resource, name, why).into()
}

/// The option for what cannot be read.
const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// What became of an object.
pub(crate) enum Deleted {
    /// It is gone; this is what it was, shown with the version of its end.
    Gone(Value),
    /// It is marked and will go.
    Ending(Written),
}

/// Whether admission has a say in a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It has.
    Asked,
    /// It has none: it was asked about what the deletion is part of.
    Passed,
}

/// Deletes an object as far as can be done now.
///
/// # Errors
/// 409 where a precondition does not hold, 404 when somebody else was quicker.
pub(crate) async fn delete_object(
    call: &Call<'_>,
    found: StoredObject,
    options: &DeleteOptions,
    admission: Admission,
) -> ApiResult<Deleted> {
    let mut current = found;
    for _ in 0..GUARANTEED_UPDATE_TRIES {
        let old = from_storage(call.server, &call.resource, current.value()).await?;
        check_preconditions(call, &old, options)?;
        if admission == Admission::Asked {
            admitted::check_deletion(call, &old, options).await?;
        }
        let step = deletion::delete(call.resource.strategy, &old, options, call.server.now());
        let name = meta(&old, "name").to_owned();
        match take(call, &current, old, step, options).await {
            Ok(deleted) => return Ok(deleted),
            Err(Untaken::Unstored(StorageError::Conflict { current: newer, .. })) => current = newer,
            Err(Untaken::Unstored(error)) => {
                return Err(ApiError::from_storage(error, &call.group_resource(), &name));
            }
            Err(Untaken::Unconverted(error)) => return Err(error),
        }
    }
    Err(ApiError::modified(&call.group_resource(), current.key().name()))
}

/// Why a step was not taken.
enum Untaken {
    Unstored(StorageError),
    /// What it comes to cannot be brought to the version that is stored.
    Unconverted(ApiError),
}

impl From<StorageError> for Untaken {
    fn from(error: StorageError) -> Self {
        Self::Unstored(error)
    }
}

impl From<ApiError> for Untaken {
    fn from(error: ApiError) -> Self {
        Self::Unconverted(error)
    }
}

/// Takes one step with the object as it was read.
async fn take(
    call: &Call<'_>,
    current: &StoredObject,
    old: Value,
    step: DeleteStep,
    options: &DeleteOptions,
) -> Result<Deleted, Untaken> {
    let key = current.key().clone();
    // A dry run ends where the writing would begin.
    match step {
        DeleteStep::Keep => Ok(Deleted::Ending(Written::Stored(current.clone()))),
        DeleteStep::Remove if options.is_dry_run() => Ok(Deleted::Gone(old)),
        DeleteStep::Remove => Ok(remove(call, key, current.revision(), old).await?),
        DeleteStep::Mark(new) if options.is_dry_run() => Ok(Deleted::Ending(Written::Shown(new))),
        DeleteStep::Mark(new) => {
            let encoded = write::encode(call, new).await?;
            let marked = call
                .server
                .storage()
                .update(key, current.revision(), encoded)
                .await?;
            Ok(Deleted::Ending(Written::Stored(marked)))
        }
        DeleteStep::MarkThenRemove(new) if options.is_dry_run() => Ok(Deleted::Gone(new)),
        DeleteStep::MarkThenRemove(new) => {
            let encoded = write::encode(call, new.clone()).await?;
            let storage = call.server.storage();
            let marked = storage.update(key.clone(), current.revision(), encoded).await?;
            Ok(remove(call, key, marked.revision(), new).await?)
        }
    }
}

async fn remove(
    call: &Call<'_>,
    key: Key,
    expected: Revision,
    mut last: Value,
) -> Result<Deleted, StorageError> {
    let removed = call.server.storage().delete(key, expected).await?;
    if let Some(metadata) = metadata(&mut last) {
        metadata.insert("resourceVersion".into(), removed.revision().to_string().into());
    }
    Ok(Deleted::Gone(last))
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

/// `BeforeDelete` of apiserver pkg/registry/rest/delete.go, whose conflict names the kind in place of the resource.
fn check_preconditions(call: &Call<'_>, object: &Value, options: &DeleteOptions) -> ApiResult<()> {
    let Some(wanted) = &options.preconditions else {
        return Ok(());
    };
    let (uid, version) = (meta(object, "uid"), meta(object, "resourceVersion"));
    let why = if let Some(wanted) = wanted.uid.as_deref().filter(|wanted| *wanted != uid) {
        format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted \
             and then recreated"
        )
    } else if let Some(wanted) = wanted
        .resource_version
        .as_deref()
        .filter(|wanted| *wanted != version)
    {
        format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The \
             object might have been modified"
        )
    } else {
        return Ok(());
    };
    let kind = GroupResource::new(&call.resource.group, &call.resource.kind);
    Err(Status::conflict(&kind, meta(object, "name"), why).into())
}

/// What upstream says when a job goes and its pods stay (pkg/registry/batch/job/storage/storage.go).
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
     them or set propagationPolicy=Orphan to suppress this warning";
