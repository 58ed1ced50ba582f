//! When a request is sent again: a pure decision, as client-go's `rest/with_retry.go` takes it.

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};

use crate::error::retry_after_seconds;

/// How often a request is sent again at most: 10 times.
pub const MAX_RETRIES: u32 = 10;

/// How long to wait before a read is sent again after its connection was lost: 1 s.
pub(crate) const AFTER_LOST_CONNECTION: Duration = Duration::from_secs(1);

/// The wait before sending again after this answer; `None` to hand the answer on.
///
/// Only an answer with `Retry-After` is followed by another try: a server that sends it has not acted on the request.
/// Without it, a write that timed out may have happened.
pub(crate) fn after_answer(retries: u32, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let may = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    if retries >= MAX_RETRIES || !may {
        return None;
    }
    retry_after_seconds(headers).map(Duration::from_secs)
}

/// The wait before sending again after the connection was lost; `None` to report it. Only reads are repeated, since the
/// server may have acted before the connection broke.
pub(crate) fn after_lost_connection(retries: u32, method: &Method) -> Option<Duration> {
    (retries < MAX_RETRIES && *method == Method::GET).then_some(AFTER_LOST_CONNECTION)
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
            let found = after_answer(retries, StatusCode::from_u16(code).unwrap(), &headers);
            assert_eq!(
                found,
                expect.map(Duration::from_secs),
                "{retries} {code} {header:?}"
            );
        }
    }

    #[test]
    fn only_reads_survive_a_lost_connection() {
        assert!(after_lost_connection(0, &Method::GET).is_some());
        assert!(after_lost_connection(MAX_RETRIES, &Method::GET).is_none());
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert!(after_lost_connection(0, &method).is_none(), "{method}");
        }
    }
}
