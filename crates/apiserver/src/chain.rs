//! The request chain, outermost first: audit id, panic, authentication, impersonation, authorization, dispatch.
//!
//! The order is upstream's (apiserver pkg/server/config.go `DefaultBuildHandlerChain`). Audit and priority
//! and fairness will take their places between authentication and authorization.

use std::any::Any;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use kubewright_core::{Scope, Status, StatusReason};
use kubewright_net::{Body, BodyError, Identity};

use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::Conversions;
use crate::handlers::{self, Call};
use crate::registry::Resource;
use crate::request::{RequestInfo, Verb, is_watch, time_limit};
use crate::server::Server;
use crate::{compression, discovery, health, impersonation};

/// Answers a request. Whatever goes wrong is an answer too.
pub(crate) async fn handle(server: &Arc<Server>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let mut audit_id = parts.headers.get(&AUDIT_ID).cloned().unwrap_or_else(new_audit_id);
    // It never comes again, so on HTTP/2 it had better not take the place of what does in the table of known headers.
    audit_id.set_sensitive(true);
    // No lock is poisoned and nothing is half done in memory: a handler changes what is shared in one step, or in the store.
    let warnings = handlers::Recorder::default();
    let routed = AssertUnwindSafe(route(server, &parts, body, &warnings));
    let mut response = match routed.catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => failure(&parts, error),
        Err(panic) => failure(&parts, panicked(&parts, panic.as_ref())),
    };
    response = handlers::hand_over(server, &parts, response);
    handlers::warn(&mut response, &warnings.take());
    handlers::write_warnings(&mut response);
    response = compression::compress(compression::accepts_gzip(&parts.headers), response).await;
    let headers = response.headers_mut();
    headers.insert(AUDIT_ID, audit_id);
    // Clients must not keep answers that another identity might be refused (server/filters/cache_control.go).
    headers
        .entry(http::header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    response
}

/// A failure in the words that the client reads.
fn failure(parts: &Parts, error: ApiError) -> Response<Body> {
    handlers::failure(error, &parts.headers, parts.uri.query().unwrap_or_default())
}

/// The answer to a request that hit a fault of the server (server/filters/wrap.go).
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

async fn route(
    server: &Arc<Server>,
    parts: &Parts,
    body: Body,
    warnings: &handlers::Recorder,
) -> ApiResult<Response<Body>> {
    let identity = server.authenticator.authenticate(server, parts, warnings).await?;
    let rules = server.rules().await?;
    let identity = impersonation::impersonate(identity, &rules, &parts.headers)?;
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default();
    match RequestInfo::parse(&parts.method, path, is_watch(query)) {
        Some(info) => {
            rules.authorize_resource(&identity, &info)?;
            // A watch is answered at once: its events are no part of this.
            let limit = match info.verb {
                Verb::Watch => server.options.request_timeout,
                _ => time_limit(query, server.options.request_timeout)?,
            };
            let answer = Box::pin(resource(server, parts, body, identity, info, query));
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer,
                Err(_) => Err(timed_out()),
            }
        }
        None => {
            rules.authorize_path(&identity, &parts.method, path)?;
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
    let find = || -> ApiResult<Arc<Resource>> {
        let registry = server.registry();
        let resource = registry.find(info.group, info.version, info.resource);
        let resource = resource.cloned().ok_or_else(not_found)?;
        check_route(&info, resource.scope)?;
        Ok(resource)
    };
    // Nobody need send a body to where nothing is.
    let mut resource = match find() {
        Ok(resource) => resource,
        Err(_) if !is_served(server, &info) => return nothing(server, parts.uri.path()),
        Err(error) => return Err(error),
    };
    let body = match info.verb {
        Verb::Get | Verb::List | Verb::Watch => bytes::Bytes::new(),
        _ => {
            let limit = server.options.max_body_bytes;
            let read = body.collect_limited(limit).await.map_err(unreadable)?;
            // A body may take its time, so what is served is asked again: the definition may be another by now.
            resource = find()?;
            read
        }
    };
    let mut call = Call {
        server,
        identity,
        info: info.clone(),
        resource,
        query,
        headers: &parts.headers,
        warnings: handlers::Recorder::default(),
        conversions: Conversions::default(),
    };
    let mut result = handlers::dispatch(&call, &body).await;
    for _ in 1..STALE_TRIES {
        // A write that met a new definition stored nothing, and is done again by that.
        if !result
            .as_ref()
            .is_err_and(|error| error.status().reason == StatusReason::Conflict)
        {
            break;
        }
        let present = find()?;
        if Arc::ptr_eq(&present, &call.resource) {
            break;
        }
        call.resource = present;
        result = handlers::dispatch(&call, &body).await;
    }
    let mut warnings = call.warnings.take();
    warnings.extend(call.resource.deprecation.clone());
    if warnings.is_empty() {
        return result;
    }
    let mut response = result.unwrap_or_else(|error| failure(parts, error));
    handlers::warn(&mut response, &warnings);
    Ok(response)
}

fn is_served(server: &Server, info: &RequestInfo<'_>) -> bool {
    let registry = server.registry();
    registry.find(info.group, info.version, info.resource).is_some()
}

/// How often a write is tried whose definition changes meanwhile.
const STALE_TRIES: usize = 4;

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
        return match path.split('/').nth(1) {
            Some("" | "healthz" | "livez" | "readyz" | "openapi" | ".well-known" | "openid") => {
                Err(not_allowed())
            }
            _ if path == "/apis" || has_routes(server, path) => Err(not_allowed()),
            _ => Ok(page_not_found()),
        };
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
    let address = server.options.advertise_address;
    if let Some(response) = server.service_accounts.respond(path, address) {
        return Ok(response);
    }
    if let Some(response) = server.openapi.respond(server, path, query, &parts.headers).await {
        return Ok(response);
    }
    nothing(server, path)
}

/// The answer where nothing is served.
///
/// # Errors
/// 404 below the paths that have a table of routes, which answers with a `Status`; elsewhere it is a page.
fn nothing(server: &Server, path: &str) -> ApiResult<Response<Body>> {
    if has_routes(server, path) {
        Err(not_found())
    } else {
        Ok(page_not_found())
    }
}

/// Whether a path is below one that upstream has a table of routes for: those of built-in groups (apiserver pkg/server/handler.go
/// `director`).
fn has_routes(server: &Server, path: &str) -> bool {
    let mut segments = path.split('/').skip(1);
    match (segments.next(), segments.next()) {
        (Some("api" | "version"), _) => true,
        (Some("apis"), Some(group)) => server.builtin.groups().iter().any(|known| known.name == group),
        _ => false,
    }
}

/// As Go's `http.NotFound` writes it.
fn page_not_found() -> Response<Body> {
    health::text(StatusCode::NOT_FOUND, "404 page not found\n".to_owned())
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

/// The client took too long to send its request, or the store to answer (server/filters/timeout.go).
fn timed_out() -> ApiError {
    let message = "Timeout: request did not complete within the allotted timeout";
    Status::failure(StatusReason::Timeout, message).into()
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

fn new_audit_id() -> HeaderValue {
    HeaderValue::from_str(&crate::ids::uid()).unwrap_or(HeaderValue::from_static("unknown"))
}

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;
    use serde_json::json;

    use super::*;
    use crate::test_support::{DEFINITIONS, TestServer, definition};

    const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

    async fn with_widgets() -> Arc<TestServer> {
        let server = TestServer::start().await;
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let versions =
            json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
        server.define(&definition("widgets", "Widget", versions)).await;
        Arc::new(server)
    }

    fn post() -> http::request::Builder {
        Request::post(WIDGETS).header("content-type", "application/json")
    }

    fn widget() -> Bytes {
        let widget =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}});
        widget.to_string().into()
    }

    #[tokio::test]
    async fn a_panic_is_answered() {
        let server = TestServer::start().await;
        let body = Body::stream(stream::poll_fn(|_| panic!("a fault")));
        let answer = server.call(Request::post("/api/v1/namespaces"), body).await;
        let why =
            "This request caused apiserver to panic. Look in the logs for details: POST /api/v1/namespaces";
        assert_eq!(answer.message(500), why);
        assert_eq!(answer.body["reason"], "InternalError");
        assert!(answer.headers.contains_key(AUDIT_ID));
        assert_eq!(server.get("/readyz").await.code, 200);
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

    /// What is served is what is served when the body is there.
    #[tokio::test]
    async fn a_body_that_is_slower_than_a_change_of_definitions() {
        let server = with_widgets().await;
        let other = server.clone();
        let body = Body::stream(stream::once(async move {
            other
                .delete(&format!("{DEFINITIONS}/widgets.example.com"))
                .await
                .ok();
            other.eventually(WIDGETS, |answer| answer.code == 404).await;
            Ok(widget())
        }));
        assert_eq!(server.call(post(), body).await.code, 404);
    }

    /// A write is bound to the definition that it was made by until it is stored.
    #[tokio::test]
    async fn a_write_that_is_slower_than_a_change_of_definitions() {
        let server = with_widgets().await;
        let shared = server.server.shared();
        let alone = shared.definitions.write().await;
        let mut write = std::pin::pin!(server.call(post(), widget()));
        // It goes as far as to where it would be stored.
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(write.as_mut().poll(&mut context).is_pending());
        *shared.registry.write() = shared.builtin.clone();
        drop(alone);
        assert_eq!(write.await.code, 404);
    }
}
