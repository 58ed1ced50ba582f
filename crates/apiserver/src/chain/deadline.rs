//! How long a request may take (apiserver pkg/endpoints/filters/request_deadline.go, pkg/server/filters/timeout.go).

use std::time::Duration;

use kubewright_core::{Status, StatusReason};

use crate::error::ApiResult;
use crate::request::{RequestInfo, Verb, time_limit};

/// The limit of a request: what its query says, within `most`. A watch is answered at once, its events are no part of that, and what its query
/// says is for other requests.
///
/// # Errors
/// 400 for a query that says nothing that can be understood.
pub(super) fn of(info: Option<&RequestInfo<'_>>, query: &str, most: Duration) -> ApiResult<Duration> {
    match info {
        Some(info) if info.verb == Verb::Watch => Ok(most),
        _ => time_limit(query, most),
    }
}

/// An answer within its limit.
///
/// # Errors
/// 504 for what takes longer: the client to send its request, or the store to answer.
pub(super) async fn keep<T>(limit: Duration, answer: impl Future<Output = ApiResult<T>>) -> ApiResult<T> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = "Timeout: request did not complete within the allotted timeout";
            Err(Status::failure(StatusReason::Timeout, message).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http::Request;
    use kubewright_net::Body;

    use super::*;
    use crate::test_support::TestServer;

    #[test]
    fn a_watch_has_no_limit_of_its_own() {
        let most = Duration::from_secs(60);
        for (path, query, expect) in [
            ("/api/v1/pods", "", 5),
            ("/api/v1/pods", "watch=1", 60),
            ("/openapi/v2", "", 5),
        ] {
            let info = RequestInfo::parse(&http::Method::GET, path, query);
            let found = of(info.as_ref(), "timeout=5s", most).unwrap();
            assert_eq!(found.as_secs(), expect, "{path}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let server = TestServer::start().await;
        let began = tokio::time::Instant::now();
        let answer = server
            .call(
                Request::post("/api/v1/namespaces"),
                Body::stream(stream::pending()),
            )
            .await;
        assert_eq!(
            answer.message(504),
            "Timeout: request did not complete within the allotted timeout"
        );
        assert_eq!(began.elapsed().as_secs(), 60);
        // The client may give it less, and cannot give it more.
        for (timeout, expect) in [("5s", 5), ("2m", 60)] {
            let began = tokio::time::Instant::now();
            let request = Request::post(format!("/api/v1/namespaces?timeout={timeout}"));
            let answer = server.call(request, Body::stream(stream::pending())).await;
            assert_eq!(answer.code, 504);
            assert_eq!(began.elapsed().as_secs(), expect, "{timeout}");
        }
        let answer = server.get("/api/v1/namespaces?timeout=soon").await;
        let why = "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
        assert_eq!(answer.message(400), why);
        assert_eq!(server.get("/api/v1/namespaces?timeout=5s").await.code, 200);
    }
}
