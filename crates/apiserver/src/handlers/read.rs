//! Get.

use http::{Response, StatusCode};
use kubewright_core::{Status, query};
use kubewright_net::Body;

use super::Call;
use super::list::malformed_unchecked;
use super::response::Rendering;
use crate::error::{ApiError, ApiResult};
use crate::request::AskedVersion;
use crate::storage::{At, RangeRequest};

/// Answers with one object.
pub(crate) async fn get(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    match asked_version(call.query)? {
        AskedVersion::Unset | AskedVersion::Any => {}
        AskedVersion::At(version) => {
            // Only waits until the store is there; what it holds by then is no older.
            let mut wait = RangeRequest::new(call.resource.prefix(call.namespace()));
            (wait.at, wait.limit) = (At::NotOlderThan(version), Some(0));
            call.server
                .storage()
                .range(wait)
                .await
                .map_err(|error| call.storage_error(error))?;
        }
        AskedVersion::Malformed(error) => return Err(malformed_unchecked(&error)),
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
        Some(object) => rendering.stored(call.server, StatusCode::OK, &object).await,
        None => Err(ApiError::from(Status::not_found(&call.group_resource(), name))),
    }
}

/// A get has but one option, and passes over those of lists (apiserver pkg/endpoints/handlers/get.go `GetResource`).
///
/// # Errors
/// 400 for an export, which upstream has given up.
fn asked_version(query: &str) -> ApiResult<AskedVersion> {
    let mut version = None;
    let mut export = None;
    for (name, value) in query::parameters(query) {
        match &*name {
            "resourceVersion" if version.is_none() => version = Some(AskedVersion::read(&value)),
            "export" if export.is_none() => {
                export = Some(!matches!(&*value.to_ascii_lowercase(), "0" | "false"));
            }
            _ => {}
        }
    }
    if export == Some(true) {
        let message = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(message).into());
    }
    Ok(version.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Revision;

    #[test]
    fn options() {
        for (query, expect) in [
            ("", Some(AskedVersion::Unset)),
            ("resourceVersion=0", Some(AskedVersion::Any)),
            (
                "resourceVersion=7&resourceVersion=8",
                Some(AskedVersion::At(Revision(7))),
            ),
            (
                "limit=x&labelSelector=%21%21&timeoutSeconds=x&resourceVersionMatch=y&continue=z&watch=1&sendInitialEvents=1",
                Some(AskedVersion::Unset),
            ),
            ("export=false&export=true", Some(AskedVersion::Unset)),
            ("export=0", Some(AskedVersion::Unset)),
            ("export", None),
            ("export=1", None),
        ] {
            assert_eq!(asked_version(query).ok(), expect, "{query}");
        }
    }
}
