//! Where objects may come into being, and when they are done with: definitions, finalizers.

use kubewright_core::Status;
use serde_json::Value;

use super::Call;
use crate::builtin::strategy::deletion;
use crate::custom::{CustomModel, Lifecycle};
use crate::error::ApiResult;

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

/// Whether an update ends an object: it was being deleted, nothing holds it any longer, and its time is up
/// (registry/generic/registry/store.go `ShouldDeleteDuringUpdate`).
pub(crate) fn ends(new: &Value, old: &Value) -> bool {
    let metadata = &old["metadata"];
    let grace = || metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
    metadata.get("deletionTimestamp").is_some() && grace().unwrap_or(0) == 0 && !deletion::is_held(new)
}
