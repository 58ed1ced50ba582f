//! Where objects may come into being, and when they are done with: namespaces, finalizers, owners.

use kubewright_core::{GroupResource, Scope, Status, StatusCause, StatusDetails};
use serde_json::Value;

use super::Call;
use crate::builtin::strategy::deletion;
use crate::custom::{CustomModel, Lifecycle};
use crate::error::{ApiError, ApiResult};
use crate::storage::Key;

/// Lets an object be created in a namespace that exists and is not ending (admission plugin `NamespaceLifecycle`).
///
/// # Errors
/// 404 where there is no such namespace, 403 where it is being terminated.
pub(crate) async fn check_namespace(call: &Call<'_>, name: &str) -> ApiResult<()> {
    let (Scope::Namespaced, Some(namespace)) = (call.resource.scope, call.namespace()) else {
        return Ok(());
    };
    let key = Key::new("", "namespaces", None, namespace);
    let found = call
        .server
        .storage()
        .get(key)
        .await
        .map_err(|error| call.storage_error(error))?;
    let Some(found) = found else {
        return Err(Status::not_found(&GroupResource::new("", "namespaces"), namespace).into());
    };
    // Nearly always the text tells without being decoded.
    let is_terminating =
        || found.value().pointer("/status/phase").and_then(Value::as_str) == Some(TERMINATING);
    if !found.may_have(TERMINATING) || !is_terminating() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(&call.group_resource(), name, why);
    let details = status.details.get_or_insert_with(StatusDetails::default);
    details.causes.push(StatusCause {
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    });
    Err(ApiError::from(status))
}

/// The phase of a namespace that is being deleted.
const TERMINATING: &str = "Terminating";

/// Lets no custom resource be created while its definition is being deleted with all instances (apiextensions
/// pkg/apiserver/customresource_handler.go `forbidCreateAdmission`).
///
/// # Errors
/// 403.
pub(crate) fn check_definition(call: &Call<'_>, name: &str) -> ApiResult<()> {
    match call.resource.model.custom().map(CustomModel::lifecycle) {
        None | Some(Lifecycle::Active) => Ok(()),
        Some(Lifecycle::Terminating) => {
            let why = "create not allowed while custom resource definition is terminating";
            Err(Status::forbidden(&call.group_resource(), name, why).into())
        }
    }
}

/// Refuses to delete what every cluster needs (same plugin).
///
/// # Errors
/// 403 for the namespaces `default`, `kube-system` and `kube-public`.
pub(crate) fn check_immortal(call: &Call<'_>, name: &str) -> ApiResult<()> {
    let is_namespace = call.resource.group.is_empty() && call.resource.plural == "namespaces";
    if is_namespace && matches!(name, "default" | "kube-system" | "kube-public") {
        return Err(
            Status::forbidden(&call.group_resource(), name, "this namespace may not be deleted").into(),
        );
    }
    Ok(())
}

/// Whether an update ends an object: it was being deleted, nothing holds it any longer, and its time is up
/// (registry/generic/registry/store.go `ShouldDeleteDuringUpdate`).
pub(crate) fn ends(new: &Value, old: &Value) -> bool {
    let metadata = &old["metadata"];
    let grace = || metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
    metadata.get("deletionTimestamp").is_some() && grace().unwrap_or(0) == 0 && !deletion::is_held(new)
}
