//! The one error of the client: [`Error`].

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use kubewright_core::{GroupVersionResource, Status, StatusCause, StatusDetails, StatusReason};
use kubewright_net::{BoxError, TransportError};

use crate::call::Call;

/// Why a request was not answered with what it asked for.
///
/// Each variant says which request failed, the server's own words are in the message, and [`hint`](Self::hint) says what can be done about
/// the usual mistakes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused. The predicates below sort the reasons.
    #[error("{call}: {}", describe(status))]
    Api {
        /// The request.
        call: Call,
        /// What the server said.
        status: Box<Status>,
    },
    /// The request could not be sent or its answer not be read.
    #[error("{call}: the server could not be reached")]
    Transport {
        /// The request.
        call: Call,
        /// What failed.
        #[source]
        source: TransportError,
    },
    /// The answer did not come in time.
    #[error("{call}: no answer within {after:?}")]
    Timeout {
        /// The request.
        call: Call,
        /// The limit that was reached.
        after: Duration,
    },
    /// The answer, or one event of a watch, is larger than the client accepts.
    #[error("{call}: answer is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The request.
        call: Call,
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer is not what was expected: no JSON, or JSON of another type.
    #[error("{call}: answer could not be decoded")]
    Decode {
        /// The request.
        call: Call,
        /// The decoder's message.
        #[source]
        source: BoxError,
    },
    /// The request cannot be made: an object without a name, a value that has no JSON form, an invalid header.
    #[error("{call}: invalid request: {why}")]
    Invalid {
        /// The request.
        call: Call,
        /// What is wrong with it.
        why: String,
    },
    /// No credentials could be had: the token file or the plugin failed.
    #[error("{call}: no credentials for the request")]
    Credentials {
        /// The request.
        call: Call,
        /// What failed.
        #[source]
        source: BoxError,
    },
    /// Discovery knows no such kind or resource.
    #[error("the server has no {what}")]
    NoMatch {
        /// What was looked for, for example `apps/v1, Kind=Widget`.
        what: String,
    },
    /// Discovery knows several resources that may be meant, and none comes before the others.
    #[error("{what} may be any of {}", choose(choices))]
    Ambiguous {
        /// What was looked for.
        what: String,
        /// What may be meant.
        choices: Vec<GroupVersionResource>,
    },
    /// A request that others had made already, and that all of them waited for, failed.
    #[error(transparent)]
    Shared(Arc<Self>),
}

impl Error {
    /// What the server said, if it answered at all.
    pub fn status(&self) -> Option<&Status> {
        match self.own() {
            Self::Api { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The error itself, whoever made the request.
    pub(crate) fn own(&self) -> &Self {
        match self {
            Self::Shared(error) => error.own(),
            error => error,
        }
    }

    /// Discovery knows no such kind or resource.
    pub fn is_no_match(&self) -> bool {
        matches!(self.own(), Self::NoMatch { .. })
    }

    /// The reason the server gave; for an answer without one, what its code means.
    pub fn reason(&self) -> Option<StatusReason> {
        let status = self.status()?;
        Some(if status.reason.is_unknown() {
            reason_for(status.code)
        } else {
            status.reason.clone()
        })
    }

    fn is(&self, reason: &StatusReason) -> bool {
        self.reason().as_ref() == Some(reason)
    }

    /// There is no such object, or no such resource.
    pub fn is_not_found(&self) -> bool {
        self.is(&StatusReason::NotFound)
    }

    /// There is already an object of that name.
    pub fn is_already_exists(&self) -> bool {
        self.is(&StatusReason::AlreadyExists)
    }

    /// The object was changed in between, or another field manager owns a field.
    pub fn is_conflict(&self) -> bool {
        self.is(&StatusReason::Conflict)
    }

    /// The resource version or the continue token is too old: list again.
    pub fn is_expired(&self) -> bool {
        self.is(&StatusReason::Expired) || self.is(&StatusReason::Gone)
    }

    /// The same as [`is_expired`](Self::is_expired): servers use both reasons.
    pub fn is_gone(&self) -> bool {
        self.is_expired()
    }

    /// The caller is known and may not do this.
    pub fn is_forbidden(&self) -> bool {
        self.is(&StatusReason::Forbidden)
    }

    /// The caller is not known.
    pub fn is_unauthorized(&self) -> bool {
        self.is(&StatusReason::Unauthorized)
    }

    /// The object breaks a rule of its kind.
    pub fn is_invalid(&self) -> bool {
        self.is(&StatusReason::Invalid)
    }

    /// The request is malformed.
    pub fn is_bad_request(&self) -> bool {
        self.is(&StatusReason::BadRequest)
    }

    /// The resource has no such verb.
    pub fn is_method_not_supported(&self) -> bool {
        self.is(&StatusReason::MethodNotAllowed)
    }

    /// The server asks to come back later.
    pub fn is_too_many_requests(&self) -> bool {
        self.is(&StatusReason::TooManyRequests)
    }

    /// The server failed.
    pub fn is_internal_error(&self) -> bool {
        self.is(&StatusReason::InternalError)
    }

    /// The server, or the one behind it, is not available at the moment.
    pub fn is_service_unavailable(&self) -> bool {
        self.is(&StatusReason::ServiceUnavailable)
    }

    /// The server or the client gave up waiting.
    pub fn is_timeout(&self) -> bool {
        match self.own() {
            Self::Timeout { .. } => true,
            Self::Transport { source, .. } => source.is_timeout(),
            _ => self.is(&StatusReason::Timeout) || self.is(&StatusReason::ServerTimeout),
        }
    }

    /// The namespace of the object is being deleted, so nothing can be created in it.
    pub fn is_namespace_terminating(&self) -> bool {
        self.is_forbidden()
            && self
                .status()
                .is_some_and(|status| status.has_cause("NamespaceTerminating"))
    }

    /// The resource version asked for is newer than what the server has seen
    /// ([`Status::is_too_large_resource_version`]).
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status().is_some_and(Status::is_too_large_resource_version)
    }

    /// Nothing listens at the server's address.
    pub fn is_connection_refused(&self) -> bool {
        matches!(self.own(), Self::Transport { source, .. } if source.is_connection_refused())
    }

    /// The connection was closed or reset under way.
    pub fn is_connection_closed(&self) -> bool {
        matches!(self.own(), Self::Transport { source, .. } if source.is_closed())
    }

    /// The request that failed; `None` where none was made.
    pub fn call(&self) -> Option<&Call> {
        match self.own() {
            Self::Api { call, .. }
            | Self::Transport { call, .. }
            | Self::Timeout { call, .. }
            | Self::TooLarge { call, .. }
            | Self::Decode { call, .. }
            | Self::Invalid { call, .. }
            | Self::Credentials { call, .. } => Some(call),
            Self::NoMatch { .. } | Self::Ambiguous { .. } | Self::Shared(_) => None,
        }
    }

    /// After what time the server wants to be asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.status()?.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Where a list whose continue token had expired goes on, in the present version of the collection: what was read and what follows are
    /// of different versions then.
    pub fn continue_token(&self) -> Option<&str> {
        let status = self.status().filter(|_| self.is_expired())?;
        Some(&*status.metadata.continue_token).filter(|token| !token.is_empty())
    }
}

/// The choices of [`Error::Ambiguous`] that are shown: 10.
const MAX_SHOWN_CHOICES: usize = 10;

fn choose(choices: &[GroupVersionResource]) -> String {
    let names = choices.iter().take(MAX_SHOWN_CHOICES).map(|choice| {
        let (resource, version) = (&choice.resource, &choice.version);
        format!("{resource}.{version}.{}", choice.group)
    });
    let mut text = names.collect::<Vec<_>>().join(", ");
    let more = choices.len().saturating_sub(MAX_SHOWN_CHOICES);
    if more > 0 {
        text = format!("{text} and {more} more");
    }
    text
}

fn describe(status: &Status) -> String {
    let message = if status.message.is_empty() {
        "no message"
    } else {
        &status.message
    };
    if status.reason.is_unknown() {
        format!("{message} (status {})", status.code)
    } else {
        format!("{message} ({})", status.reason.as_str())
    }
}

/// Reads the status out of an answer that is no success. Bodies that hold none (HTML of a proxy, plain text) make one
/// with what the code means, as apimachinery's `NewGenericServerResponse`.
pub(crate) fn status_of(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    if let Ok(mut status) = serde_json::from_slice::<Status>(body)
        && status.kind == "Status"
        && status.api_version == "v1"
        && status.is_failure()
    {
        if status.code == 0 {
            status.code = code.as_u16();
        }
        return status;
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_ERROR_TEXT)])
        .trim()
        .to_owned();
    let is_text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("text/plain"));
    let message = if is_text && !text.is_empty() {
        text.clone()
    } else {
        format!("the server answered {code} without a status")
    };
    let details = StatusDetails {
        causes: vec![StatusCause {
            reason: "UnexpectedServerResponse".to_owned(),
            message: text,
            field: String::new(),
        }],
        retry_after_seconds: retry_after_seconds(headers)
            .and_then(|s| u32::try_from(s).ok())
            .unwrap_or(0),
        ..StatusDetails::default()
    };
    Status::failure(reason_for(code.as_u16()), message)
        .with_code(code.as_u16())
        .with_details(details)
}

/// Bytes of an unexpected answer that are kept in the error: 2 KiB, as client-go.
const MAX_ERROR_TEXT: usize = 2048;

/// `Retry-After` in seconds; the form with a date is not used by Kubernetes.
pub(crate) fn retry_after_seconds(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

fn reason_for(code: u16) -> StatusReason {
    match code {
        400 => StatusReason::BadRequest,
        401 => StatusReason::Unauthorized,
        403 => StatusReason::Forbidden,
        404 => StatusReason::NotFound,
        405 => StatusReason::MethodNotAllowed,
        406 => StatusReason::NotAcceptable,
        409 => StatusReason::Conflict,
        410 => StatusReason::Gone,
        413 => StatusReason::RequestEntityTooLarge,
        415 => StatusReason::UnsupportedMediaType,
        422 => StatusReason::Invalid,
        429 => StatusReason::TooManyRequests,
        503 => StatusReason::ServiceUnavailable,
        504 => StatusReason::Timeout,
        500.. => StatusReason::InternalError,
        _ => StatusReason::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(status: Status) -> Error {
        Call::new("get", "", "/x").api(status)
    }

    fn answer(code: u16, media_type: &str, body: &str) -> Error {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, media_type.parse().unwrap());
        headers.insert(header::RETRY_AFTER, "7".parse().unwrap());
        api(status_of(
            StatusCode::from_u16(code).unwrap(),
            &headers,
            body.as_bytes(),
        ))
    }

    #[test]
    fn predicates_follow_reason_and_code() {
        type Predicate = fn(&Error) -> bool;
        let json = |reason: &str, code: u16| {
            format!(
                r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"{reason}","code":{code}}}"#
            )
        };
        let rows: [(u16, String, Predicate); 16] = [
            (404, json("NotFound", 404), Error::is_not_found),
            (409, json("AlreadyExists", 409), Error::is_already_exists),
            (409, json("Conflict", 409), Error::is_conflict),
            (410, json("Expired", 410), Error::is_expired),
            (410, json("Gone", 410), Error::is_gone),
            (403, json("Forbidden", 403), Error::is_forbidden),
            (401, json("", 401), Error::is_unauthorized),
            (422, json("Invalid", 422), Error::is_invalid),
            (504, json("Timeout", 504), Error::is_timeout),
            (500, json("ServerTimeout", 500), Error::is_timeout),
            (429, json("TooManyRequests", 429), Error::is_too_many_requests),
            (400, json("BadRequest", 400), Error::is_bad_request),
            (405, json("MethodNotAllowed", 405), Error::is_method_not_supported),
            (503, "<html>".to_owned(), Error::is_service_unavailable),
            (502, String::new(), Error::is_internal_error),
            (404, "404 page not found".to_owned(), Error::is_not_found),
        ];
        for (row, (code, body, predicate)) in rows.iter().enumerate() {
            let error = answer(*code, "application/json", body);
            assert!(predicate(&error), "{error}");
            for (other, (_, _, unrelated)) in rows.iter().enumerate().take(3) {
                assert!(
                    other == row || !unrelated(&error) || row == 15,
                    "{error} also matches row {other}"
                );
            }
        }
    }

    #[test]
    fn answers_without_a_status_make_one() {
        let error = answer(503, "text/html", "<html>proxy says no</html>");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        let status = error.status().unwrap();
        assert!(status.has_cause("UnexpectedServerResponse"));
        assert!(!status.message.contains("html"), "{}", status.message);
        assert_eq!(
            answer(404, "text/plain", "404 page not found\n")
                .status()
                .unwrap()
                .message,
            "404 page not found"
        );
        // A success status in an error answer is not believed.
        let odd = answer(
            500,
            "application/json",
            r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#,
        );
        assert!(odd.is_internal_error());
    }
}
