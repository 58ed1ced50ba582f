//! The request chain, outermost first: audit id, panic, authentication, authorization, dispatch.
//!
//! The order is upstream's (apiserver pkg/server/config.go `DefaultBuildHandlerChain`). Audit, impersonation, priority and
//! fairness will take their places between authentication and authorization.

use std::borrow::Cow;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response};
use kubewright_core::{Scope, Status, StatusReason};
use kubewright_net::{Body, BodyError, Identity};

use crate::error::{ApiError, ApiResult};
use crate::handlers::{self, Call};
use crate::request::{RequestInfo, Verb};
use crate::server::Server;
use crate::{discovery, health};

/// Answers a request. Whatever goes wrong is an answer too.
pub(crate) async fn handle(server: &Arc<Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let audit_id = parts.headers.get(&AUDIT_ID).cloned().unwrap_or_else(new_audit_id);
    let mut response = match route(server, &parts, body).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(AUDIT_ID, audit_id);
    // Clients must not keep answers that another identity might be refused (server/filters/cache_control.go).
    headers
        .entry(http::header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    response
}

async fn route(server: &Arc<Server>, parts: &Parts, body: Body) -> ApiResult<Response<Body>> {
    let identity = server.authenticator.authenticate(parts)?;
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default();
    match RequestInfo::parse(&parts.method, path, is_watch(query)) {
        Some(info) => {
            server.authorizer.authorize_resource(&identity, &info)?;
            resource(server, parts, body, identity, info, query).await
        }
        None => {
            server.authorizer.authorize_path(&identity, &parts.method, path)?;
            non_resource(server, parts, &clean(path)).await
        }
    }
}

async fn resource(
    server: &Arc<Server>,
    parts: &Parts,
    body: Body,
    identity: Identity,
    info: RequestInfo<'_>,
    query: &str,
) -> ApiResult<Response<Body>> {
    let registry = server.registry();
    let resource = registry
        .find(info.group, info.version, info.resource)
        .cloned()
        .ok_or_else(not_found)?;
    check_route(&info, resource.scope)?;
    let body = match info.verb {
        Verb::Get | Verb::List | Verb::Watch => bytes::Bytes::new(),
        _ => body
            .collect_limited(server.options.max_body_bytes)
            .await
            .map_err(unreadable)?,
    };
    let call = Call {
        server,
        identity,
        info,
        resource,
        query,
        headers: &parts.headers,
    };
    let deprecation = call
        .resource
        .model
        .custom()
        .and_then(|model| model.deprecation())
        .map(str::to_owned);
    let mut result = handlers::dispatch(call, body).await;
    if let (Ok(response), Some(text)) = (&mut result, deprecation) {
        handlers::warn(response, &[text]);
    }
    result
}

/// Which paths there are, and which methods each has.
///
/// # Errors
/// 404 for a path that no object can have: one in a namespace has no path without it, and a cluster's object none within one.
/// 405 for a method that a collection or an object does not have: only collections are created in, only objects are updated.
fn check_route(info: &RequestInfo<'_>, scope: Scope) -> ApiResult<()> {
    let is_object = info.name.is_some();
    match (scope, &info.namespace) {
        (Scope::Cluster, Some(_)) => return Err(not_found()),
        (Scope::Namespaced, None) if is_object => return Err(not_found()),
        // The list of all namespaces can be read alone.
        (Scope::Namespaced, None) if !matches!(info.verb, Verb::List | Verb::Watch) => {
            return Err(not_allowed());
        }
        _ => {}
    }
    let fits = match info.verb {
        // Some subresources are made by create.
        Verb::Create => !is_object || !info.subresource.is_empty(),
        Verb::Update | Verb::Patch => is_object,
        _ => true,
    };
    if fits { Ok(()) } else { Err(not_allowed()) }
}

async fn non_resource(server: &Server, parts: &Parts, path: &str) -> ApiResult<Response<Body>> {
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return Err(not_allowed());
    }
    let query = parts.uri.query().unwrap_or_default();
    if let Some(response) = health::respond(server, path, query) {
        return Ok(response);
    }
    if path == "/version" {
        return Ok(discovery::version());
    }
    if let Some(response) = discovery::respond(server, path, &parts.headers)? {
        return Ok(response);
    }
    if let Some(response) = server
        .openapi
        .respond(server, path, query, &parts.headers)
        .await?
    {
        return Ok(response);
    }
    Err(not_found())
}

/// Upstream's answer where nothing is served, matched by clients that ask whether a kind exists.
pub(crate) fn not_found() -> ApiError {
    Status::failure(
        StatusReason::NotFound,
        "the server could not find the requested resource",
    )
    .into()
}

/// Upstream's answer to a method that a path does not have.
fn not_allowed() -> ApiError {
    Status::failure(
        StatusReason::MethodNotAllowed,
        "the server does not allow this method on the requested resource",
    )
    .into()
}

fn unreadable(error: BodyError) -> ApiError {
    match error {
        BodyError::TooLarge { limit } => Status::failure(
            StatusReason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {limit}"),
        )
        .into(),
        _ => Status::bad_request("the request body could not be read to its end").into(),
    }
}

/// A path without doubled and trailing slashes.
fn clean(path: &str) -> Cow<'_, str> {
    if !path.contains("//") && (path.len() == 1 || !path.ends_with('/')) {
        return Cow::Borrowed(path);
    }
    let mut clean = String::with_capacity(path.len());
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        clean.push('/');
        clean.push_str(segment);
    }
    Cow::Owned(if clean.is_empty() { "/".to_owned() } else { clean })
}

/// The query's `watch`, read before all other options since it makes another verb of a list.
fn is_watch(query: &str) -> bool {
    query.contains("watch")
        && kubewright_core::ListOptions::from_query(query).is_ok_and(|options| options.watch)
}

fn new_audit_id() -> HeaderValue {
    HeaderValue::from_str(&crate::ids::uid()).unwrap_or(HeaderValue::from_static("unknown"))
}

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
