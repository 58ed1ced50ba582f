//! The request chain: what every request passes on its way to a handler, and its answer on the way back.
//!
//! | element | module | upstream |
//! |---|---|---|
//! | audit id | [`audit_id`] | `WithAuditInit` |
//! | panics | [`panics`] | `WithPanicRecovery` |
//! | compression | [`compression`] | the same, in pkg/endpoints/handlers/responsewriters |
//! | cache control | [`cache_control`] | `WithCacheControl` |
//! | warnings | [`handlers::Recorder`] | `WithWarningRecorder` |
//! | what is asked for | [`RequestInfo`] | `WithRequestInfo` |
//! | time limit | [`deadline`] | `WithRequestDeadline`, `WithTimeoutForNonLongRunningRequests` |
//! | who asks | [`authentication`](crate::authentication) | `WithAuthentication` |
//! | as whom | [`impersonation`] | `WithImpersonation` |
//! | may they | [`authorization`](crate::authorization) | `WithAuthorization` |
//! | the answer | [`resources`], [`paths`] | the handlers |
//!
//! The order is upstream's (apiserver pkg/server/config.go `DefaultBuildHandlerChain`), outermost first. The list is the three functions of
//! this module, a line for each element: in Rust, a list of values would cost each request an allocation per element, for the future that
//! each would have to give. An element is a module with tests of its own that takes what it needs of the request and gives what the next one needs; a
//! further one is one more line.

mod audit_id;
mod cache_control;
mod deadline;
mod panics;
mod paths;
mod resources;

use std::pin::pin;
use std::sync::Arc;

use http::request::Parts;
use http::{Request, Response};
use kubewright_core::StatusReason;
use kubewright_net::Body;

use self::audit_id::AuditId;
use crate::authorization::{Access, Attempt};
use crate::error::{ApiError, ApiResult};
use crate::handlers::{self, Recorder};
use crate::request::{self, RequestInfo};
use crate::server::Server;
use crate::{authorization, compression, impersonation};

/// Answers a request. Whatever goes wrong is an answer too.
pub(crate) async fn handle(server: &Arc<Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let audit_id = AuditId::of(&parts.headers);
    let warnings = Recorder::default();
    let answered = pin!(in_time(server, &parts, body, &warnings));
    let answered = panics::caught(&parts, answered).await;
    let mut response = answered.unwrap_or_else(|error| failure(&parts, error));
    response = handlers::hand_over(server, &parts, response);
    handlers::warn(&mut response, &warnings.take());
    handlers::write_warnings(&mut response);
    response = compression::compress(compression::accepts_gzip(&parts.headers), response).await;
    audit_id.write(&mut response);
    cache_control::write(&mut response);
    response
}

async fn in_time(
    server: &Arc<Server>,
    parts: &Parts,
    body: Body,
    warnings: &Recorder,
) -> ApiResult<Response<Body>> {
    let query = parts.uri.query().unwrap_or_default();
    let path = &*request::unescaped(parts.uri.path());
    let info = RequestInfo::parse(&parts.method, path, query);
    let limit = deadline::of(info.as_ref(), query, server.options.request_timeout)?;
    let answer = pin!(answer(server, (parts, path), body, info, warnings));
    deadline::keep(limit, answer).await
}

async fn answer(
    server: &Arc<Server>,
    (parts, path): (&Parts, &str),
    body: Body,
    info: Option<RequestInfo<'_>>,
    warnings: &Recorder,
) -> ApiResult<Response<Body>> {
    let identity = server.authenticator.authenticate(server, parts, warnings).await?;
    let identity = match impersonation::is_asked(&parts.headers) {
        true => {
            let rules = server.rules_for(&identity).await?;
            let verb = parts.method.as_str().to_ascii_lowercase();
            let access = match &info {
                Some(info) => Access::Resource(Attempt::of(info)),
                None => Access::Path { verb: &verb, path },
            };
            impersonation::impersonate(identity, &rules, &access, &parts.headers)?
        }
        false => identity,
    };
    if info.is_none() && authorization::is_always_allowed(&parts.method, path) {
        return paths::answer(server, parts, path).await;
    }
    let rules = server.rules_for(&identity).await?;
    match info {
        Some(info) => {
            rules.authorize_resource(&identity, &info)?;
            resources::answer(server, (parts, path), body, identity, info).await
        }
        None => {
            rules.authorize_path(&identity, &parts.method, path)?;
            paths::answer(server, parts, path).await
        }
    }
}

/// A failure in the words that the client reads.
fn failure(parts: &Parts, error: ApiError) -> Response<Body> {
    handlers::failure(error, &parts.headers, parts.uri.query().unwrap_or_default())
}

/// Upstream's answer where nothing is served, matched by clients that ask whether a kind exists.
pub(crate) fn not_found() -> ApiError {
    handlers::generic(
        StatusReason::NotFound,
        "the server could not find the requested resource",
    )
}

/// Upstream's answer to a method that a path does not have.
pub(crate) fn not_allowed() -> ApiError {
    handlers::generic(
        StatusReason::MethodNotAllowed,
        "the server does not allow this method on the requested resource",
    )
}
