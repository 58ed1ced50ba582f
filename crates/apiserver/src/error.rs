//! How a request fails: a `Status` on its way to the wire.

use http::{HeaderValue, Response, StatusCode, header};
use kubewright_core::{
    GroupKind, GroupResource, InvalidOption, Status, StatusCause, StatusDetails, StatusReason,
};
use kubewright_net::Body;

use crate::storage::StorageError;

/// A failed request. Everything a client is told is in the [`Status`].
///
/// Boxed, since nearly every function of this crate returns it and hardly any call fails.
#[derive(Debug)]
pub(crate) struct ApiError(Box<Status>);

/// The result of everything a handler does.
pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// The status to send.
    pub(crate) fn status(&self) -> &Status {
        &self.0
    }

    /// The answer: the status as JSON. Errors are JSON whatever the client accepts, which every client reads.
    pub(crate) fn into_response(self) -> Response<Body> {
        let code = StatusCode::from_u16(self.0.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = self.0.details.as_ref().map_or(0, |d| d.retry_after_seconds);
        let mut response = json_response(code, serde_json::to_vec(&*self.0).unwrap_or_default());
        if retry_after > 0 {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
        }
        response
    }

    /// What the store says, told of the object `name` of `resource`.
    pub(crate) fn from_storage(error: StorageError, resource: &GroupResource, name: &str) -> Self {
        match error {
            StorageError::NotFound { .. } => Status::not_found(resource, name).into(),
            StorageError::AlreadyExists { .. } => Status::already_exists(resource, name).into(),
            StorageError::Conflict { .. } => Self::modified(resource, name),
            StorageError::Compacted { requested, oldest } => {
                Status::expired(format!("too old resource version: {requested} ({oldest})")).into()
            }
            StorageError::Future { requested, current } => {
                too_large_resource_version(requested.0, current.0).into()
            }
            other => Status::internal_error(other).into(),
        }
    }

    /// A query parameter does not do; `kind` is that of the options, such as `ListOptions`.
    pub(crate) fn from_option(error: InvalidOption, kind: &str) -> Self {
        match error.refusal {
            Some(refusal) => Status::invalid(&GroupKind::new("meta.k8s.io", kind), "", &[*refusal]).into(),
            None => Status::bad_request(error.why).into(),
        }
    }

    /// The optimistic lock failed. Clients match the text (apimachinery `OptimisticLockErrorMsg`).
    pub(crate) fn modified(resource: &GroupResource, name: &str) -> Self {
        Status::conflict(resource, name, MODIFIED).into()
    }
}

impl From<Status> for ApiError {
    fn from(status: Status) -> Self {
        Self(Box::new(status))
    }
}

/// A JSON answer.
pub(crate) fn json_response(code: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The version asked for lies ahead of the store's (apiserver pkg/storage/errors.go `NewTooLargeResourceVersionError`).
fn too_large_resource_version(requested: u64, current: u64) -> Status {
    let cause = StatusCause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        field: String::new(),
    };
    Status::failure(
        StatusReason::Timeout,
        format!("Timeout: Too large resource version: {requested}, current: {current}"),
    )
    .with_details(StatusDetails {
        causes: vec![cause],
        retry_after_seconds: 1,
        ..StatusDetails::default()
    })
}

const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";
