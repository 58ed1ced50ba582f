//! A fault of the server is the answer to the request that hit it, and to no other (apiserver pkg/server/filters/wrap.go).

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use http::request::Parts;
use kubewright_core::{Status, StatusReason};

use crate::error::{ApiError, ApiResult};

/// An answer, or 500 where finding it panics.
///
/// # Errors
/// That, and those of `answer`.
pub(super) async fn caught<T>(parts: &Parts, answer: impl Future<Output = ApiResult<T>>) -> ApiResult<T> {
    // No lock is poisoned and nothing is half done in memory: a handler changes what is shared in one step, or in the store.
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(answer) => answer,
        Err(panic) => Err(panicked(parts, panic.as_ref())),
    }
}

fn panicked(parts: &Parts, panic: &(dyn Any + Send)) -> ApiError {
    let reason = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("of unknown kind");
    let (method, path) = (&parts.method, parts.uri.path());
    tracing::error!(%method, path, reason, "panic while answering a request");
    Status::failure(
        StatusReason::InternalError,
        format!("This request caused apiserver to panic. Look in the logs for details: {method} {path}"),
    )
    .into()
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http::Request;
    use kubewright_net::Body;

    use crate::test_support::TestServer;

    #[tokio::test]
    async fn a_panic_is_answered() {
        let server = TestServer::start().await;
        let body = Body::stream(stream::poll_fn(|_| panic!("a fault")));
        let answer = server.call(Request::post("/api/v1/namespaces"), body).await;
        let why =
            "This request caused apiserver to panic. Look in the logs for details: POST /api/v1/namespaces";
        assert_eq!(answer.message(500), why);
        assert_eq!(answer.body["reason"], "InternalError");
        assert!(answer.headers.contains_key("audit-id"));
        assert_eq!(server.get("/readyz").await.code, 200);
    }
}
