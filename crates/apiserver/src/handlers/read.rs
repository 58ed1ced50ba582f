//! Get.

use http::{Response, StatusCode};
use kubewright_core::{ListOptions, Status};
use kubewright_net::Body;

use super::Call;
use super::list::check_version;
use super::response::Rendering;
use crate::error::{ApiError, ApiResult};
use crate::storage::{At, RangeRequest};

/// Answers with one object.
pub(crate) async fn get(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options =
        ListOptions::from_query(call.query).map_err(|error| ApiError::from_option(error, "ListOptions"))?;
    if let Some(version) = check_version(&options.resource_version)?.filter(|version| version.0 > 0) {
        // Only waits until the store is there; what it holds by then is no older.
        let mut wait = RangeRequest::new(call.resource.prefix(call.namespace()));
        (wait.at, wait.limit) = (At::NotOlderThan(version), Some(0));
        call.server
            .storage()
            .range(wait)
            .await
            .map_err(|error| call.storage_error(error))?;
    }
    let name = call.name()?;
    let key = call.resource.key(call.namespace(), name);
    match call
        .server
        .storage()
        .get(key)
        .await
        .map_err(|error| call.storage_error(error))?
    {
        Some(object) => Ok(rendering.stored(StatusCode::OK, &object)),
        None => Err(ApiError::from(Status::not_found(&call.group_resource(), name))),
    }
}
