//! `metav1.Status`: how the server says that something failed, or was done without an object to return.
//!
//! Reasons, codes and message forms are those of apimachinery pkg/api/errors/errors.go.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{FieldError, GroupKind, GroupResource};

/// The outcome of a request that returns no object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// Always `v1`.
    pub api_version: String,
    /// Always `Status`.
    pub kind: String,
    /// Metadata of the list that failed half-way: 410 carries a continue token here.
    pub metadata: crate::ListMeta,
    /// `Success` or `Failure`.
    pub status: String,
    /// What happened, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Why, for programs.
    #[serde(skip_serializing_if = "StatusReason::is_unknown")]
    pub reason: StatusReason,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
    /// The HTTP status code; 0 when absent.
    #[serde(skip_serializing_if = "is_zero")]
    pub code: u16,
}

impl Default for Status {
    fn default() -> Self {
        Self {
            api_version: "v1".into(),
            kind: "Status".into(),
            metadata: crate::ListMeta::default(),
            status: String::new(),
            message: String::new(),
            reason: StatusReason::Unknown,
            details: None,
            code: 0,
        }
    }
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind, or the resource where the kind was not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Each thing that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// After how many seconds to try again; 0 says nothing.
    #[serde(skip_serializing_if = "is_zero_u32")]
    pub retry_after_seconds: u32,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// Why, for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field it is about, as a path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// Why a request failed, for programs.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum StatusReason {
            /// None was given.
            #[default]
            Unknown,
            $($(#[$doc])* $name,)*
            /// A reason this version does not know.
            Other(String),
        }

        impl StatusReason {
            /// The word on the wire; empty for [`StatusReason::Unknown`].
            pub fn as_str(&self) -> &str {
                match self {
                    Self::Unknown => "",
                    $(Self::$name => stringify!($name),)*
                    Self::Other(word) => word,
                }
            }

            /// The HTTP status code upstream sends with this reason.
            pub fn code(&self) -> u16 {
                match self {
                    $(Self::$name => $code,)*
                    Self::Unknown | Self::Other(_) => 500,
                }
            }
        }

        impl From<String> for StatusReason {
            fn from(word: String) -> Self {
                match word.as_str() {
                    "" => Self::Unknown,
                    $(stringify!($name) => Self::$name,)*
                    _ => Self::Other(word),
                }
            }
        }
    };
}

reasons! {
    /// The request was not identified.
    Unauthorized = 401,
    /// The identity may not do this.
    Forbidden = 403,
    /// There is no such object.
    NotFound = 404,
    /// There is already such an object.
    AlreadyExists = 409,
    /// The object was changed in between.
    Conflict = 409,
    /// The object is gone and will not be back.
    Gone = 410,
    /// The object is malformed.
    Invalid = 422,
    /// The server cannot be reached in time; another might.
    ServerTimeout = 500,
    /// The store has no room.
    StoreReadError = 500,
    /// The request took too long.
    Timeout = 504,
    /// Too many requests at once.
    TooManyRequests = 429,
    /// The request is malformed.
    BadRequest = 400,
    /// The verb is not offered here.
    MethodNotAllowed = 405,
    /// None of the accepted media types is offered.
    NotAcceptable = 406,
    /// The body is larger than allowed.
    RequestEntityTooLarge = 413,
    /// The body's media type is not understood.
    UnsupportedMediaType = 415,
    /// The server failed.
    InternalError = 500,
    /// The version asked for is no longer kept.
    Expired = 410,
    /// The server is not ready, or going away.
    ServiceUnavailable = 503,
}

impl StatusReason {
    /// Whether none was given.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

impl Serialize for StatusReason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for StatusReason {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl Status {
    /// A failure with a reason, its usual code and a message.
    pub fn failure(reason: StatusReason, message: impl Into<String>) -> Self {
        let code = reason.code();
        Self {
            status: "Failure".into(),
            message: message.into(),
            reason,
            code,
            ..Self::default()
        }
    }

    /// Success, as the answer to a delete that left nothing.
    pub fn success(details: StatusDetails) -> Self {
        Self {
            status: "Success".into(),
            details: Some(details),
            ..Self::default()
        }
    }

    /// The same with another HTTP code.
    #[must_use]
    pub fn with_code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// The same with details.
    #[must_use]
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(details);
        self
    }

    /// There is no such object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::failure(StatusReason::NotFound, format!("{resource} \"{name}\" not found"))
            .with_details(details(resource, name))
    }

    /// There is already such an object.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::failure(
            StatusReason::AlreadyExists,
            format!("{resource} \"{name}\" already exists"),
        )
        .with_details(details(resource, name))
    }

    /// The object was changed in between, or a precondition does not hold.
    pub fn conflict(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::failure(StatusReason::Conflict, message).with_details(details(resource, name))
    }

    /// The identity may not do this.
    pub fn forbidden(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = match (resource.resource.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {why}"),
            (false, true) => format!("{resource} is forbidden: {why}"),
            (false, false) => format!("{resource} \"{name}\" is forbidden: {why}"),
        };
        Self::failure(StatusReason::Forbidden, message).with_details(details(resource, name))
    }

    /// The request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(StatusReason::BadRequest, message)
    }

    /// The server failed.
    pub fn internal_error(why: impl fmt::Display) -> Self {
        let cause = StatusCause {
            message: why.to_string(),
            ..StatusCause::default()
        };
        Self::failure(
            StatusReason::InternalError,
            format!("Internal error occurred: {why}"),
        )
        .with_details(StatusDetails {
            causes: vec![cause],
            ..StatusDetails::default()
        })
    }

    /// The version asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(StatusReason::Expired, message)
    }

    /// The verb is not offered on this resource.
    pub fn method_not_allowed(resource: &GroupResource, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self::failure(StatusReason::MethodNotAllowed, message).with_details(details(resource, ""))
    }

    /// Fields of the object are wrong.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Self {
        let why = match errors {
            [] => String::new(),
            [one] => format!(": {one}"),
            many => {
                // Upstream's aggregate prints each distinct message once.
                let texts: Vec<String> = many.iter().map(ToString::to_string).collect();
                let mut seen = HashSet::with_capacity(texts.len());
                let distinct: Vec<&str> = texts
                    .iter()
                    .map(String::as_str)
                    .filter(|text| seen.insert(*text))
                    .collect();
                match distinct[..] {
                    [one] => format!(": {one}"),
                    _ => format!(": [{}]", distinct.join(", ")),
                }
            }
        };
        let causes = errors.iter().map(FieldError::to_cause).collect();
        Self::failure(
            StatusReason::Invalid,
            format!("{kind} \"{name}\" is invalid{why}"),
        )
        .with_details(StatusDetails {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes,
            ..StatusDetails::default()
        })
    }

    /// Whether this tells of a failure.
    pub fn is_failure(&self) -> bool {
        self.status != "Success"
    }

    /// Whether a cause with this reason is among the details.
    pub fn has_cause(&self, reason: &str) -> bool {
        self.details
            .iter()
            .flat_map(|d| &d.causes)
            .any(|cause| cause.reason == reason)
    }

    /// Whether the resource version asked for is newer than what the server has seen.
    ///
    /// Servers say it in three ways: as the cause `ResourceVersionTooLarge`, as a cause with the message "Too large
    /// resource version", or, the oldest, as a 504 whose own message says so (apimachinery `errors.go`,
    /// `IsTooLargeResourceVersion`; client-go `reflector.go`, `isTooLargeResourceVersionError`).
    pub fn is_too_large_resource_version(&self) -> bool {
        const TEXT: &str = "Too large resource version";
        let mut causes = self.details.iter().flat_map(|details| &details.causes);
        self.has_cause("ResourceVersionTooLarge")
            || (self.reason == StatusReason::Timeout || self.code == 504)
                && (self.message.contains(TEXT) || causes.any(|cause| cause.message.contains(TEXT)))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message.is_empty(), self.reason.as_str()) {
            (false, _) => f.write_str(&self.message),
            (true, "") => write!(f, "{} (code {})", self.status, self.code),
            (true, reason) => write!(f, "{reason} (code {})", self.code),
        }
    }
}

impl std::error::Error for Status {}

fn details(resource: &GroupResource, name: &str) -> StatusDetails {
    StatusDetails {
        name: name.to_owned(),
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..StatusDetails::default()
    }
}

// The signatures are serde's.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(code: &u16) -> bool {
    *code == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero_u32(n: &u32) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FieldPath;

    #[test]
    fn too_large_versions_are_recognised_in_all_forms() {
        let text = "Timeout: Too large resource version: 9, current: 8";
        let cause = |reason: &str, message: &str| {
            Status::failure(StatusReason::Timeout, "x").with_details(StatusDetails {
                causes: vec![StatusCause {
                    reason: reason.to_owned(),
                    message: message.to_owned(),
                    field: String::new(),
                }],
                ..StatusDetails::default()
            })
        };
        for (status, expect) in [
            (cause("ResourceVersionTooLarge", ""), true),
            (cause("", "Too large resource version"), true),
            (cause("", "other"), false),
            (Status::failure(StatusReason::Timeout, text), true),
            (
                Status::failure(StatusReason::default(), text).with_code(504),
                true,
            ),
            (Status::failure(StatusReason::InternalError, text), false),
        ] {
            assert_eq!(status.is_too_large_resource_version(), expect, "{status:?}");
        }
    }

    #[test]
    fn messages_are_upstreams() {
        let deployments = GroupResource::new("apps", "deployments");
        let pods = GroupResource::new("", "pods");
        for (status, code, message) in [
            (
                Status::not_found(&deployments, "a"),
                404,
                "deployments.apps \"a\" not found",
            ),
            (
                Status::already_exists(&pods, "a"),
                409,
                "pods \"a\" already exists",
            ),
            (Status::forbidden(&pods, "", "no"), 403, "pods is forbidden: no"),
            (
                Status::invalid(
                    &GroupKind::new("", "Pod"),
                    "a",
                    &[FieldError::required(FieldPath::new("spec"), "")],
                ),
                422,
                "Pod \"a\" is invalid: spec: Required value",
            ),
            (
                Status::conflict(&pods, "a", "changed"),
                409,
                "Operation cannot be fulfilled on pods \"a\": changed",
            ),
        ] {
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }

    #[test]
    fn invalid_tells_each_distinct_message_once() {
        let path = FieldPath::new("spec");
        let error = |i| FieldError::required(path.index(i), "");
        let kind = GroupKind::new("", "Pod");
        for (errors, message) in [
            (
                vec![error(0), error(0)],
                "Pod \"a\" is invalid: spec[0]: Required value",
            ),
            (
                vec![error(0), error(1), error(0)],
                "Pod \"a\" is invalid: [spec[0]: Required value, spec[1]: Required value]",
            ),
        ] {
            let status = Status::invalid(&kind, "a", &errors);
            assert_eq!(status.message, message);
            assert_eq!(status.details.unwrap().causes.len(), errors.len());
        }
        // So many that comparing each with all others would take minutes.
        let many: Vec<FieldError> = (0..100_000).map(error).collect();
        let status = Status::invalid(&kind, "a", &many);
        assert_eq!(status.details.unwrap().causes.len(), many.len());
    }

    #[test]
    fn round_trip() {
        let status = Status::not_found(&GroupResource::new("apps", "deployments"), "a");
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
        let other: Status = serde_json::from_str(r#"{"reason":"Strange","status":"Failure"}"#).unwrap();
        assert_eq!(other.reason, StatusReason::Other("Strange".into()));
    }
}
