//! `/healthz`, `/livez` and `/readyz`.

use http::{HeaderValue, Response, StatusCode, header};
use kubewright_net::Body;

use crate::server::Server;

/// What is checked. A server answers only once it has started, so each of them holds then.
const CHECKS: [&str; 3] = ["ping", "log", "poststarthook/crd-informer-synced"];

/// The answer for a health path; `None` for another path.
pub(crate) fn respond(server: &Server, path: &str, query: &str) -> Option<Response<Body>> {
    let (root, check) = match path
        .split_once('/')
        .map(|(_, rest)| rest.split_once('/').unwrap_or((rest, "")))?
    {
        ("healthz", check) => ("healthz", check),
        ("livez", check) => ("livez", check),
        ("readyz", check) => ("readyz", check),
        _ => return None,
    };
    let is_stopping = *server.stop.borrow() && root == "readyz";
    if !check.is_empty() {
        return CHECKS
            .contains(&check)
            .then(|| text(StatusCode::OK, "ok".to_owned()));
    }
    let is_verbose = form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "verbose");
    if !is_verbose && !is_stopping {
        return Some(text(StatusCode::OK, "ok".to_owned()));
    }
    let mut lines: String = CHECKS.iter().map(|check| format!("[+]{check} ok\n")).collect();
    if root == "readyz" {
        lines.push_str(if is_stopping {
            "[-]shutdown failed: reason withheld\n"
        } else {
            "[+]shutdown ok\n"
        });
    }
    lines.push_str(&format!(
        "{root} check {}\n",
        if is_stopping { "failed" } else { "passed" }
    ));
    Some(text(
        if is_stopping {
            StatusCode::INTERNAL_SERVER_ERROR
        } else {
            StatusCode::OK
        },
        lines,
    ))
}

fn text(code: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}
