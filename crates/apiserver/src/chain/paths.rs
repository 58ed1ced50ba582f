//! Requests for paths that are no resources: health, version, discovery, OpenAPI, keys of tokens.

use http::request::Parts;
use http::{Method, Response, StatusCode};
use kubewright_net::Body;

use super::{not_allowed, not_found};
use crate::error::ApiResult;
use crate::request::media;
use crate::server::Server;
use crate::{discovery, handlers, health};

/// Answers a request for a path.
///
/// # Errors
/// 404 where nothing is served, 405 for other methods than GET where there is a table of routes.
pub(super) async fn answer(server: &Server, parts: &Parts, path: &str) -> ApiResult<Response<Body>> {
    let path = without_end(path);
    if parts.method != Method::GET && !takes_any_method(server, path) {
        return match path.split('/').nth(1) {
            Some(".well-known" | "openid") => Err(not_allowed()),
            _ if has_routes(server, path) && !path.contains("//") => Err(not_allowed()),
            _ if has_routes(server, path) => Err(not_found()),
            _ => Ok(page_not_found()),
        };
    }
    let query = parts.uri.query().unwrap_or_default();
    if let Some(response) = health::respond(server, path, query) {
        return Ok(response);
    }
    if path == "/version" {
        handlers::check_accept(&parts.headers, &[media::JSON])?;
        return Ok(discovery::version());
    }
    if is_routed_discovery(server, path) {
        handlers::check_accept(&parts.headers, &[media::JSON, media::YAML, media::PROTOBUF])?;
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

/// Whether upstream answers here by a table of routes, which looks at what the client accepts: for the versions of its own groups, and not for
/// the lists of all groups and of the versions of one.
fn is_routed_discovery(server: &Server, path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments[..] {
        ["api"] => true,
        ["api", version] => server.builtin.version("", version).is_some(),
        ["apis", group, version] if !group.is_empty() => server.builtin.version(group, version).is_some(),
        _ => false,
    }
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
        (Some("apis"), Some(group)) if !group.is_empty() => {
            server.builtin.groups().iter().any(|known| known.name == group)
        }
        _ => false,
    }
}

/// As Go's `http.NotFound` writes it.
fn page_not_found() -> Response<Body> {
    health::text(StatusCode::NOT_FOUND, "404 page not found\n".to_owned())
}

/// Whether upstream answers here without a look at the method: what stands in no table of routes.
fn takes_any_method(server: &Server, path: &str) -> bool {
    let mut segments = path.split('/').skip(1);
    match (segments.next(), segments.next(), segments.next()) {
        (Some("" | "healthz" | "livez" | "readyz" | "openapi"), ..) => true,
        (Some("apis"), _, None) => true,
        (Some("apis"), ..) => !has_routes(server, path),
        _ => false,
    }
}

/// A path without the slash at its end, where one may be: below the tables of routes.
fn without_end(path: &str) -> &str {
    let is_of_routes = ["/api/", "/apis/", "/version/"]
        .iter()
        .any(|root| path.starts_with(root));
    path.strip_suffix('/').filter(|_| is_of_routes).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_at_the_end() {
        for (path, expect) in [
            ("/", "/"),
            ("/healthz", "/healthz"),
            ("/healthz/", "/healthz/"),
            ("/version/", "/version"),
            ("/apis/", "/apis"),
            ("/apis/apps/", "/apis/apps"),
            ("/openapi/v3/", "/openapi/v3/"),
            ("//", "//"),
        ] {
            assert_eq!(without_end(path), expect);
        }
    }
}
