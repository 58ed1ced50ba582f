//! `/healthz`, `/livez` and `/readyz`.

use http::{HeaderValue, Response, StatusCode, header};
use kubewright_core::query;
use kubewright_net::Body;

use crate::server::Server;

/// What is checked under each root, by upstream's names; `etcd` is the store (apiserver pkg/server/healthz.go, pkg/server/options
/// etcd.go). A server answers only once it has started, so each of them holds then.
fn checks(root: &str) -> impl Iterator<Item = &'static str> + use<> {
    let of_readiness: &[_] = match root {
        "readyz" => &["etcd-readiness", "informer-sync"],
        _ => &[],
    };
    ["ping", "log", "etcd"]
        .into_iter()
        .chain(of_readiness.iter().copied())
        .chain(["poststarthook/crd-informer-synced"])
}

/// The answer for a health path; `None` for another path.
pub(crate) fn respond(server: &Server, path: &str, query: &str) -> Option<Response<Body>> {
    if path.ends_with('/') {
        return None;
    }
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
        return checks(root)
            .any(|known| known == check)
            .then(|| text(StatusCode::OK, "ok".to_owned()));
    }
    let is_verbose = query::first(query, "verbose").is_some();
    if !is_verbose && !is_stopping {
        return Some(text(StatusCode::OK, "ok".to_owned()));
    }
    let excluded: Vec<_> = query::parameters(query)
        .filter(|(name, _)| name == "exclude")
        .map(|(_, check)| check)
        .collect();
    let mut lines: String = checks(root)
        .map(|check| {
            let how = if excluded.iter().any(|name| name == check) {
                "excluded: ok"
            } else {
                "ok"
            };
            format!("[+]{check} {how}\n")
        })
        .collect();
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

/// A page of text, as Go's `http.Error` sends it.
pub(crate) fn text(code: StatusCode, body: String) -> Response<Body> {
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
