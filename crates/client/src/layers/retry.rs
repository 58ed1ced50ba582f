//! When a request is sent again: [`RetryLayer`], as client-go's `rest/with_retry.go` decides it.

use std::time::Duration;

use http::{HeaderMap, Method, Request, Response, StatusCode};
use kubewright_net::{Body, HttpService, TransportError};
use tokio::time::Instant;
use tower_layer::Layer;

use super::replay;
use crate::error::retry_after_seconds;

/// Sends requests again where that is safe: an answer 429 or 5xx with `Retry-After`, and reads whose connection was lost.
///
/// A body that is a stream is never sent again. A wait that would end after the request's [`Deadline`] is not begun: what
/// the server said is worth more than a timeout. Requests that are sent again carry an [`Attempt`] extension.
#[derive(Debug, Clone)]
pub struct RetryLayer {
    max_retries: u32,
}

impl RetryLayer {
    /// Sends a request again at most so often; never for 0.
    pub fn new(max_retries: u32) -> Self {
        Self { max_retries }
    }
}

impl Default for RetryLayer {
    /// At most [`MAX_RETRIES`] times.
    fn default() -> Self {
        Self::new(MAX_RETRIES)
    }
}

/// A request extension: when whoever sent the request stops waiting for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(pub(crate) Instant);

impl Deadline {
    /// So long from now.
    pub fn after(time: Duration) -> Self {
        let now = Instant::now();
        Self(now.checked_add(time).unwrap_or(now + FAR))
    }
}

/// As good as never: thirty years.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A request extension: how often the request has been sent before, from 1. Absent on the first try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt(pub u32);

impl Layer<HttpService> for RetryLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let max = self.max_retries;
        HttpService::from_fn(move |request| {
            let inner = inner.clone();
            async move { send(&inner, max, request).await }
        })
    }
}

async fn send(
    inner: &HttpService,
    max: u32,
    request: Request<Body>,
) -> Result<Response<Body>, TransportError> {
    let deadline = request.extensions().get::<Deadline>().copied();
    let mut next = request;
    let mut retries = 0;
    loop {
        let request = next;
        let Some(copy) = replay(&request) else {
            return inner.send(request).await;
        };
        next = copy;
        let result = inner.send(request).await;
        let wait = match &result {
            Ok(response) => after_answer(retries, max, response.status(), response.headers()),
            Err(error) if error.is_closed() => after_lost_connection(retries, max, next.method()),
            Err(_) => None,
        };
        // No server says in earnest that it will be back after more than an hour, and no caller waits that long.
        let in_time = |wait: &Duration| {
            let end = Instant::now().checked_add(*wait).filter(|_| *wait <= MAX_WAIT);
            end.is_some_and(|end| deadline.is_none_or(|Deadline(deadline)| end < deadline))
        };
        let Some(wait) = wait.filter(in_time) else {
            return result;
        };
        drop(result);
        retries += 1;
        let (method, path) = (next.method(), next.uri().path());
        tracing::debug!(%method, path, ?wait, retries, "sending a request again");
        tokio::time::sleep(wait).await;
        next.extensions_mut().insert(Attempt(retries));
    }
}

/// The longest `Retry-After` that is waited for: an hour. An answer that asks for more is handed on.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// How often a request is sent again at most: 10 times.
pub const MAX_RETRIES: u32 = 10;

/// How long to wait before a read is sent again after its connection was lost: 1 s.
const AFTER_LOST_CONNECTION: Duration = Duration::from_secs(1);

/// The wait before sending again after this answer; `None` to hand the answer on.
///
/// Only an answer with `Retry-After` is followed by another try: a server that sends it has not acted on the request.
/// Without it, a write that timed out may have happened.
fn after_answer(retries: u32, max: u32, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let may = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    if retries >= max || !may {
        return None;
    }
    retry_after_seconds(headers).map(Duration::from_secs)
}

/// The wait before sending again after the connection was lost; `None` to report it. Only reads are repeated, since the
/// server may have acted before the connection broke.
fn after_lost_connection(retries: u32, max: u32, method: &Method) -> Option<Duration> {
    (retries < max && (*method == Method::GET || *method == Method::HEAD)).then_some(AFTER_LOST_CONNECTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_that_ask_for_it_are_retried() {
        let rows = [
            (0, 429, Some("3"), Some(3)),
            (9, 503, Some("0"), Some(0)),
            (10, 503, Some("1"), None),
            (0, 500, None, None),
            (0, 504, Some("soon"), None),
            (0, 409, Some("1"), None),
            (0, 200, Some("1"), None),
        ];
        for (retries, code, header, expect) in rows {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(http::header::RETRY_AFTER, header.parse().unwrap());
            }
            let found = after_answer(
                retries,
                MAX_RETRIES,
                StatusCode::from_u16(code).unwrap(),
                &headers,
            );
            assert_eq!(
                found,
                expect.map(Duration::from_secs),
                "{retries} {code} {header:?}"
            );
        }
    }

    #[test]
    fn only_reads_survive_a_lost_connection() {
        assert!(after_lost_connection(0, MAX_RETRIES, &Method::GET).is_some());
        assert!(after_lost_connection(MAX_RETRIES, MAX_RETRIES, &Method::GET).is_none());
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert!(
                after_lost_connection(0, MAX_RETRIES, &method).is_none(),
                "{method}"
            );
        }
    }
}
