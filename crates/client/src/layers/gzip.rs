//! Answers that come compressed: [`GzipLayer`].

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderValue, Method, Request, Response};
use kubewright_net::{Body, HttpService};
use tower_layer::Layer;

use super::{is_watch, template};

/// Which answers are asked for in gzip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gzip {
    /// Those that may be large: lists, discovery and OpenAPI documents. None from servers on this machine, which are nearer than
    /// any compressor is fast. Single objects, logs and watches are small pieces, for which it is work at both ends for little.
    #[default]
    Large,
    /// All, watches too. For lines that are slow or paid for.
    Always,
    /// None, as `disable-compression` in a kubeconfig asks.
    Never,
}

/// Asks for answers in gzip and decompresses those that come so, of several members too: from 1.37 on the events of a watch are a
/// member each. Requests that have an `Accept-Encoding` header get their answer as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct GzipLayer(Gzip);

impl GzipLayer {
    /// Asks for what `gzip` says, wherever the server is.
    pub fn new(gzip: Gzip) -> Self {
        Self(gzip)
    }
}

impl Layer<HttpService> for GzipLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let gzip = self.0;
        HttpService::from_fn(move |mut request| {
            let is_ours = !request.headers().contains_key(ACCEPT_ENCODING);
            if is_ours && pays(gzip, &request) {
                request.headers_mut().insert(ACCEPT_ENCODING, GZIP);
            }
            let answer = inner.send(request);
            async move {
                let answer = answer.await?;
                Ok(if is_ours { decoded(answer) } else { answer })
            }
        })
    }
}

const GZIP: HeaderValue = HeaderValue::from_static("gzip");

fn pays(gzip: Gzip, request: &Request<Body>) -> bool {
    match gzip {
        Gzip::Always => true,
        Gzip::Never => false,
        Gzip::Large => {
            *request.method() == Method::GET
                && !is_watch(request)
                && !template::of_path(request.uri().path()).contains("{name}")
        }
    }
}

/// The answer without gzip, whatever asked for that.
pub(crate) fn decoded(mut answer: Response<Body>) -> Response<Body> {
    let headers = answer.headers_mut();
    if headers
        .get(CONTENT_ENCODING)
        .is_none_or(|value| !value.as_bytes().eq_ignore_ascii_case(b"gzip"))
    {
        return answer;
    }
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    answer.map(Body::gunzip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_may_be_large_is_asked_for_in_gzip() {
        let server = HttpService::from_fn(|request: Request<Body>| async move {
            let asked = request.headers().get(ACCEPT_ENCODING).cloned();
            Ok(Response::new(Body::from(
                asked.map_or_else(Vec::new, |value| value.as_bytes().to_vec()),
            )))
        });
        let rows = [
            (Gzip::Large, "GET", "/api/v1/pods?limit=500", "gzip"),
            (Gzip::Large, "GET", "/apis", "gzip"),
            (Gzip::Large, "GET", "/openapi/v3/apis/apps/v1", "gzip"),
            (Gzip::Large, "GET", "/api/v1/pods?watch=true", ""),
            (Gzip::Large, "GET", "/api/v1/namespaces/a/pods/p/log", ""),
            (Gzip::Large, "POST", "/api/v1/namespaces/a/pods", ""),
            (Gzip::Always, "GET", "/api/v1/pods?watch=true", "gzip"),
            (Gzip::Never, "GET", "/api/v1/pods", ""),
        ];
        for (gzip, method, uri, expect) in rows {
            let service = GzipLayer::new(gzip).layer(server.clone());
            let request = Request::builder()
                .method(method)
                .uri(uri)
                .body(Body::empty())
                .unwrap();
            let answer = service.send(request).await.unwrap().into_body();
            assert_eq!(
                answer.collect_limited(99).await.unwrap(),
                expect,
                "{gzip:?} {method} {uri}"
            );
        }
        let own = Request::get("/apis")
            .header(ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .unwrap();
        let answer = GzipLayer::new(Gzip::Always)
            .layer(server)
            .send(own)
            .await
            .unwrap();
        assert_eq!(answer.into_body().collect_limited(99).await.unwrap(), "identity");
    }

    #[tokio::test]
    async fn only_answers_that_were_not_asked_for_are_decoded() {
        // "a", by gzip(1).
        const ZIPPED: [u8; 21] = [
            31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 75, 4, 0, 67, 190, 183, 232, 1, 0, 0, 0,
        ];
        let server = HttpService::from_fn(|_| async {
            let answer = Response::builder()
                .header(CONTENT_ENCODING, "GZIP")
                .header(CONTENT_LENGTH, "21");
            Ok(answer.body(Body::from(&ZIPPED[..])).unwrap())
        });
        let service = GzipLayer::default().layer(server);
        for (own, expect) in [(false, &b"a"[..]), (true, &ZIPPED[..])] {
            let mut request = Request::get("/x").body(Body::empty()).unwrap();
            if own {
                request.headers_mut().insert(ACCEPT_ENCODING, GZIP);
            }
            let answer = service.send(request).await.unwrap();
            assert_eq!(answer.headers().contains_key(CONTENT_ENCODING), own);
            assert_eq!(answer.headers().contains_key(CONTENT_LENGTH), own);
            assert_eq!(answer.into_body().collect_limited(99).await.unwrap(), expect);
        }
    }
}
