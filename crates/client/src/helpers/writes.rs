//! What every write of a client carries: [`DryRunLayer`] and [`FieldManagerLayer`].

use http::{Method, Request, Uri, header};
use kubewright_core::DeleteOptions;
use kubewright_net::{Body, HttpService, TransportError};
use tower_layer::Layer;

use crate::client::Client;

/// Makes a dry run of every write: the server does all but store the result.
///
/// What a server would do all the same, such as running a command in a container, is refused here, as is a write that
/// cannot be told to store nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct DryRunLayer;

/// Names the field manager of every write that names none.
///
/// Server-side apply names its own at all times. Deletions have none.
#[derive(Debug, Clone)]
pub struct FieldManagerLayer(String);

impl FieldManagerLayer {
    /// Writes as this manager: at most 128 printable characters.
    pub fn new(manager: impl Into<String>) -> Self {
        Self(manager.into())
    }
}

impl Client {
    /// The same client, whose writes are all dry runs. See [`DryRunLayer`].
    #[must_use]
    pub fn dry_run(&self) -> Self {
        self.layer(&DryRunLayer)
    }

    /// The same client, whose writes are those of this field manager unless they name another. See [`FieldManagerLayer`].
    #[must_use]
    pub fn with_field_manager(&self, manager: impl Into<String>) -> Self {
        self.layer(&FieldManagerLayer::new(manager))
    }
}

impl Layer<HttpService> for DryRunLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        HttpService::from_fn(move |request| {
            let inner = inner.clone();
            async move { inner.send(without_effect(request)?).await }
        })
    }
}

impl Layer<HttpService> for FieldManagerLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let manager = self.0.clone();
        HttpService::from_fn(move |mut request| {
            let (inner, manager) = (inner.clone(), manager.clone());
            async move {
                let has_manager = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
                if has_manager && !connects(request.uri()) {
                    with_parameter(request.uri_mut(), "fieldManager", &manager)?;
                }
                inner.send(request).await
            }
        })
    }
}

/// The same request as a dry run.
fn without_effect(mut request: Request<Body>) -> Result<Request<Body>, TransportError> {
    let refuse = |why: &str| Err(TransportError::other("a dry run", why));
    // A stream to a container begins with a read, too.
    if connects(request.uri()) {
        return refuse("what is sent to a container, or through a proxy, has its effect there");
    }
    match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS => return Ok(request),
        Method::POST | Method::PUT | Method::PATCH | Method::DELETE => {}
        _ => return refuse("the method is none of a Kubernetes API"),
    }
    with_parameter(request.uri_mut(), "dryRun", "All")?;
    if request.method() != Method::DELETE {
        return Ok(request);
    }
    // Servers read either the body or the query of a deletion, so it has to be in both.
    let Some(body) = request.body().as_bytes() else {
        return refuse("the options of the deletion are a stream");
    };
    if body.is_empty() {
        return Ok(request);
    }
    let Ok(mut options) = serde_json::from_slice::<serde_json::Value>(body) else {
        return refuse("the options of the deletion are no JSON");
    };
    if !options.is_object() || serde_json::from_value::<DeleteOptions>(options.clone()).is_err() {
        return refuse("the options of the deletion cannot be read");
    }
    options["dryRun"] = serde_json::json!(["All"]);
    *request.body_mut() = Body::from(options.to_string());
    request.headers_mut().remove(header::CONTENT_LENGTH);
    Ok(request)
}

/// Whether the request is a connection to something behind the server, for which there is no dry run. Reads through a proxy
/// are among them: a service may do anything then.
fn connects(uri: &Uri) -> bool {
    let segments: Vec<&str> = uri.path().split('/').collect();
    segments.windows(3).any(|part| {
        matches!(
            part,
            ["pods", _, "exec" | "attach" | "portforward"] | ["pods" | "services" | "nodes", _, "proxy"]
        )
    })
}

/// Adds a parameter to the query, unless it is there.
fn with_parameter(uri: &mut Uri, name: &str, value: &str) -> Result<(), TransportError> {
    let query = uri.query().unwrap_or_default();
    if form_urlencoded::parse(query.as_bytes()).any(|(known, value)| known == name && !value.is_empty()) {
        return Ok(());
    }
    let mut query = form_urlencoded::Serializer::new(query.to_owned());
    query.append_pair(name, value);
    let target = format!("{}?{}", uri.path(), query.finish());
    let mut parts = std::mem::take(uri).into_parts();
    let target = target.parse();
    parts.path_and_query = Some(target.map_err(|error| TransportError::other("adding a parameter", error))?);
    *uri = Uri::from_parts(parts).map_err(|error| TransportError::other("adding a parameter", error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str, body: &'static str) -> Request<Body> {
        let request = Request::builder().method(method).uri(target);
        request.body(Body::from(body)).unwrap()
    }

    #[test]
    fn no_write_has_an_effect() {
        const MAPS: &str = "https://h/api/v1/namespaces/n/configmaps";
        let dry = |target: &str| format!("{target}?dryRun=All");
        // The request, and its target and body on the way; `None` if it is refused.
        type Row = (
            &'static str,
            &'static str,
            &'static str,
            Option<(String, &'static str)>,
        );
        let rows: [Row; 18] = [
            ("GET", MAPS, "", Some((MAPS.to_owned(), ""))),
            ("POST", MAPS, "{}", Some((dry(MAPS), "{}"))),
            ("PUT", MAPS, "{}", Some((dry(MAPS), "{}"))),
            (
                "PATCH",
                "/a?force=true",
                "{}",
                Some(("/a?force=true&dryRun=All".to_owned(), "{}")),
            ),
            ("POST", "/a?dryRun=All", "{}", Some((dry("/a"), "{}"))),
            (
                "POST",
                "/a?dryRun=",
                "{}",
                Some(("/a?dryRun=&dryRun=All".to_owned(), "{}")),
            ),
            ("DELETE", MAPS, "", Some((dry(MAPS), ""))),
            (
                "DELETE",
                MAPS,
                r#"{"gracePeriodSeconds":0}"#,
                Some((dry(MAPS), r#"{"dryRun":["All"],"gracePeriodSeconds":0}"#)),
            ),
            (
                "DELETE",
                MAPS,
                r#"{"dryRun":[]}"#,
                Some((dry(MAPS), r#"{"dryRun":["All"]}"#)),
            ),
            ("DELETE", MAPS, "[]", None),
            ("DELETE", MAPS, "k8s\0", None),
            ("DELETE", MAPS, r#"{"dryRun":1}"#, None),
            ("CONNECT", MAPS, "", None),
            ("GET", "/api/v1/namespaces/pods/pods/x/exec?command=rm", "", None),
            ("POST", "/prefix/api/v1/namespaces/n/pods/x/attach", "", None),
            ("GET", "/api/v1/namespaces/n/services/x/proxy/delete", "", None),
            ("POST", "/api/v1/nodes/x/proxy", "", None),
            (
                "GET",
                "/api/v1/namespaces/n/pods/proxy",
                "",
                Some(("/api/v1/namespaces/n/pods/proxy".to_owned(), "")),
            ),
        ];
        let json = |body: &str| match body {
            "" => serde_json::Value::Null,
            body => serde_json::from_str(body).unwrap(),
        };
        for (method, target, body, expect) in rows {
            let found = without_effect(request(method, target, body)).ok();
            let found = found.map(|request| {
                let body = String::from_utf8(request.body().as_bytes().unwrap().to_vec()).unwrap();
                (request.uri().to_string(), json(&body))
            });
            let expect = expect.map(|(target, body)| (target, json(body)));
            assert_eq!(found, expect, "{method} {target} {body}");
        }
        let stream = Body::stream(futures_util::stream::empty());
        let request = Request::delete("/a").body(stream).unwrap();
        assert!(without_effect(request).is_err());
    }

    #[tokio::test]
    async fn writes_name_their_manager() {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let target = std::sync::Arc::clone(&seen);
        let server = HttpService::from_fn(move |request| {
            *target.lock().unwrap() = request.uri().to_string();
            async move { Ok(http::Response::new(Body::empty())) }
        });
        let service = FieldManagerLayer::new("me & you").layer(server);
        let rows = [
            ("POST", "/a", "/a?fieldManager=me+%26+you"),
            ("PUT", "/a?x=1", "/a?x=1&fieldManager=me+%26+you"),
            ("PATCH", "/a?fieldManager=other", "/a?fieldManager=other"),
            ("GET", "/a", "/a"),
            ("DELETE", "/a", "/a"),
            (
                "POST",
                "/api/v1/namespaces/n/pods/x/exec",
                "/api/v1/namespaces/n/pods/x/exec",
            ),
        ];
        for (method, target, expect) in rows {
            service.send(request(method, target, "")).await.unwrap();
            assert_eq!(*seen.lock().unwrap(), expect);
        }
    }
}
