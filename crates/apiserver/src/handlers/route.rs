//! What a request must be before its handler is asked, which differs between built-in and custom resources.
//!
//! Upstream routes requests for built-in kinds by tables of methods and media types (go-restful, jsr311.go `detectRoute`;
//! apiserver pkg/endpoints/installer.go), and those for custom ones by hand (apiextensions-apiserver
//! pkg/apiserver/customresource_handler.go). Both refuse the same requests, in words of their own.

use http::HeaderMap;
use http::header::ACCEPT;
use kubewright_core::{Status, StatusDetails, StatusReason};

use super::{Call, patch};
use crate::chain;
use crate::error::{ApiError, ApiResult};
use crate::registry::SubresourceKind;
use crate::request::{Verb, media};

/// Checks the method, the media type of a patch and what the client accepts, in this order. `verbs` are those that are offered.
///
/// # Errors
/// 405, 415 and 406.
pub(super) fn check(call: &Call<'_>, verbs: &[String]) -> ApiResult<()> {
    if !verbs.iter().any(|verb| verb == call.info.verb.as_str()) {
        return Err(not_offered(call));
    }
    if call.resource.model.custom().is_some() {
        return Ok(());
    }
    let subresource = call.resource.subresource(call.info.subresource);
    if subresource.is_some_and(|found| matches!(found.behaviour, SubresourceKind::Connect(_))) {
        return Ok(());
    }
    if call.info.verb == Verb::Patch {
        patch::kind_of(call)?;
    }
    let is_stream = matches!(call.info.verb, Verb::List | Verb::Watch) && call.resource.offers("watch");
    let produced = if is_stream { &PRODUCED[..] } else { &PRODUCED[..3] };
    check_accept(call.headers, produced)
}

/// Whether the client takes anything of what a route produces.
///
/// # Errors
/// 406.
pub(crate) fn check_accept(headers: &HeaderMap, produced: &[&str]) -> ApiResult<()> {
    let accepted = headers.get(ACCEPT).map_or(Ok(""), |value| value.to_str());
    if accepts(accepted.unwrap_or_default(), produced) {
        return Ok(());
    }
    let available = produced.join(", ");
    let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
    Err(generic(StatusReason::NotAcceptable, message))
}

/// The media types of objects, and those of events behind them.
const PRODUCED: [&str; 5] = [
    media::JSON,
    media::YAML,
    media::PROTOBUF,
    media::JSON_STREAM,
    media::PROTOBUF_STREAM,
];

/// Whether any clause is what is produced, by its name alone; `application/*` is no name of it (go-restful route.go
/// `matchesAccept`).
fn accepts(accept: &str, produced: &[&str]) -> bool {
    let mut names = accept
        .split(',')
        .map(|clause| clause.split(';').next().unwrap_or_default().trim());
    accept.is_empty() || names.any(|name| name == "*/*" || produced.contains(&name))
}

/// 405 for a verb that is not offered here.
pub(super) fn not_offered(call: &Call<'_>) -> ApiError {
    if call.resource.model.custom().is_some() {
        return Status::method_not_allowed(&call.group_resource(), call.info.verb.as_str()).into();
    }
    chain::not_allowed()
}

/// 404 for a subresource that is not there.
pub(super) fn no_subresource(call: &Call<'_>) -> ApiError {
    match (call.resource.model.custom(), &call.info.name) {
        (Some(_), Some(name)) => Status::not_found(&call.group_resource(), name).into(),
        _ => chain::not_found(),
    }
}

/// A refusal of the table of routes, which knows of no object (apimachinery pkg/api/errors `NewGenericServerResponse`).
pub(crate) fn generic(reason: StatusReason, message: impl Into<String>) -> ApiError {
    Status::failure(reason, message)
        .with_details(StatusDetails::default())
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_route_produces() {
        for (accept, expect) in [
            ("", true),
            ("*/*", true),
            ("application/json", true),
            ("text/html, application/yaml;q=0.1", true),
            ("application/json;as=Sculpture", true),
            ("text/html,*/*;q=0.8", true),
            ("application/*", false),
            ("*", false),
            ("text/html", false),
            ("application/cbor", false),
        ] {
            assert_eq!(accepts(accept, &PRODUCED), expect, "{accept}");
        }
    }
}
