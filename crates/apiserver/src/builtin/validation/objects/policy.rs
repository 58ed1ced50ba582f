//! Requests for certificates.
//!
//! Upstream: `pkg/apis/certificates/validation/validation.go`.

use super::super::super::value::{at, int_at, list_at, str_at};
use super::super::required;
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

/// The shortest validity that may be asked for, in seconds.
const CERTIFICATE_SECONDS_MIN: i64 = 600;

pub(crate) fn signing_request(request: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    if list_at(request, "/spec/usages").is_empty() {
        errors.push(FieldError::required(path.child("usages"), ""));
    }
    let signer = str_at(request, "/spec/signerName");
    if required(
        &mut errors,
        path.child("signerName"),
        at(request, "/spec/signerName"),
        "",
    ) && !signer
        .split_once('/')
        .is_some_and(|(domain, rest)| domain.contains('.') && !rest.is_empty())
    {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(path.child("signerName"), signer, detail));
    }
    if let Some(seconds) =
        int_at(request, "/spec/expirationSeconds").filter(|seconds| *seconds < CERTIFICATE_SECONDS_MIN)
    {
        let detail =
            format!("may not specify a duration less than {CERTIFICATE_SECONDS_MIN} seconds (10 minutes)");
        errors.push(FieldError::invalid(
            path.child("expirationSeconds"),
            seconds,
            detail,
        ));
    }
    required(
        &mut errors,
        path.child("request"),
        at(request, "/spec/request"),
        "",
    );
    errors
}
