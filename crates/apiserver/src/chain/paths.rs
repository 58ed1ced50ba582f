//! Requests for paths that are no resources: health, version, discovery, OpenAPI, keys of tokens.

use std::borrow::Cow;

use http::request::Parts;
use http::{Method, Response, StatusCode};
use kubewright_net::Body;

use super::{not_allowed, not_found};
use crate::error::ApiResult;
use crate::server::Server;
use crate::{discovery, health};

/// Answers a request for a path.
///
/// # Errors
/// 404 where nothing is served, 405 for other methods than those that read.
pub(super) async fn answer(server: &Server, parts: &Parts) -> ApiResult<Response<Body>> {
    let path = &*clean(parts.uri.path());
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
pub(super) fn nothing(server: &Server, path: &str) -> ApiResult<Response<Body>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_count_once() {
        for (path, expect) in [
            ("/", "/"),
            ("/healthz", "/healthz"),
            ("/healthz/", "/healthz"),
            ("//apis///apps/", "/apis/apps"),
            ("//", "/"),
        ] {
            assert_eq!(clean(path), expect);
        }
    }
}
