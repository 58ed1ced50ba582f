//! What goes over the wire, for a person to read: [`DebugLayer`].

mod body;

use std::fmt::{self, Write as _};
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};
use kubewright_net::{Body, HttpService};
use tokio::time::Instant;
use tower_layer::Layer;

/// How much a [`DebugLayer`] tells: the levels of `kubectl -v`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DebugLevel {
    /// `-v 6`: after the answer, one line with verb, URL, status and time.
    V6,
    /// `-v 7`: URL and headers of the request, then status and time.
    V7,
    /// `-v 8`: as 7, with the headers of the answer, and the first 1 KiB of both bodies.
    V8,
    /// `-v 9`: a command of curl that does the same, then status, time and headers of the answer; the first 10 KiB of both bodies.
    V9,
}

impl DebugLevel {
    /// The level for a number after `-v`: none below 6, the highest above 9.
    pub fn from_verbosity(number: u8) -> Option<Self> {
        Some(match number {
            0..=5 => return None,
            6 => Self::V6,
            7 => Self::V7,
            8 => Self::V8,
            _ => Self::V9,
        })
    }
}

/// Tells of requests and answers what client-go's `transport/round_trippers.go` tells at the same level, headers that hold
/// secrets masked, and of bodies what its `rest/request.go` tells. Bodies of secrets and tokens, and what goes to processes and
/// through proxies, are not shown.
///
/// Put where credentials are added already ([`Config::debug`](crate::Config::debug) does that), it shows which kind there are.
#[derive(Clone)]
pub struct DebugLayer {
    level: DebugLevel,
    write: Write,
}

/// Takes a text without a line break at its end.
type Write = Arc<dyn Fn(&str) + Send + Sync>;

impl DebugLayer {
    /// Tells by `tracing`, at its level `DEBUG`.
    pub fn new(level: DebugLevel) -> Self {
        Self::with_writer(level, |text| tracing::debug!("{text}"))
    }

    /// Tells a function, which gets a text without a line break at its end.
    pub fn with_writer(level: DebugLevel, write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            level,
            write: Arc::new(write),
        }
    }
}

impl fmt::Debug for DebugLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugLayer")
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

impl Layer<HttpService> for DebugLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let layer = self.clone();
        HttpService::from_fn(move |request| {
            let layer = layer.clone();
            let shown = body::of_request(layer.level, request.uri(), request.headers(), request.body());
            for text in [shown, before(layer.level, &request)].into_iter().flatten() {
                (layer.write)(&text);
            }
            let (verb, uri, url) = (
                request.method().clone(),
                request.uri().clone(),
                url(request.uri()),
            );
            let start = Instant::now();
            let answer = inner.send(request);
            async move {
                let answer = answer.await;
                let mut text = "Response".to_owned();
                let timing = matches!(layer.level, DebugLevel::V6 | DebugLevel::V9);
                if timing {
                    let _ = write!(text, " verb={:?} url={url:?}", verb.as_str());
                }
                let status = answer
                    .as_ref()
                    .map_or_else(|_| String::new(), |answer| answer.status().to_string());
                let milliseconds = start.elapsed().as_millis();
                let _ = write!(text, " status={status:?} milliseconds={milliseconds}");
                if let Ok(answer) = &answer
                    && layer.level >= DebugLevel::V8
                {
                    headers(&mut text, answer.headers());
                }
                (layer.write)(&text);
                answer.map(|answer| {
                    let (parts, body) = answer.into_parts();
                    let body = body::of_answer(layer.level, &uri, &parts.headers, body, &layer.write);
                    http::Response::from_parts(parts, body)
                })
            }
        })
    }
}

fn before(level: DebugLevel, request: &Request<Body>) -> Option<String> {
    let (verb, url) = (request.method().as_str(), url(request.uri()));
    match level {
        DebugLevel::V6 => None,
        DebugLevel::V7 | DebugLevel::V8 => {
            let mut text = format!("Request verb={verb:?} url={url:?}");
            headers(&mut text, request.headers());
            Some(text)
        }
        DebugLevel::V9 => {
            let mut text = format!("Request curlCommand=curl -v -X{verb}");
            for (name, value) in request.headers() {
                let _ = write!(text, " -H {:?}", format!("{name}: {}", masked(name, value)));
            }
            let _ = write!(text, " '{url}'");
            Some(text)
        }
    }
}

/// A header a line, sorted by name.
fn headers(text: &mut String, headers: &HeaderMap) {
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("\n\t{name}: {}", masked(name, value)))
        .collect();
    lines.sort();
    text.push_str(" headers=");
    lines.iter().for_each(|line| text.push_str(line));
}

/// The URL without what may stand before its host.
fn url(uri: &Uri) -> String {
    match uri
        .authority()
        .and_then(|authority| authority.as_str().rsplit_once('@'))
    {
        Some((secret, _)) => uri.to_string().replacen(&format!("{secret}@"), "", 1),
        None => uri.to_string(),
    }
}

/// A value with its secret masked. Of `Authorization` the kind stays where it is a known one (client-go's `maskValue`);
/// websockets carry a token as a protocol.
fn masked(name: &HeaderName, value: &HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes());
    if *name == header::AUTHORIZATION || *name == header::PROXY_AUTHORIZATION {
        let (kind, secret) = text
            .split_once(' ')
            .map_or((&*text, None), |(kind, secret)| (kind, Some(secret)));
        let known = ["bearer", "basic", "negotiate"].contains(&kind.to_ascii_lowercase().as_str());
        return match (known, secret) {
            _ if text.is_empty() => String::new(),
            (true, Some(secret)) if !secret.is_empty() => format!("{kind} {MASK}"),
            (true, _) => kind.to_owned(),
            (false, _) => MASK.to_owned(),
        };
    }
    if *name == header::SEC_WEBSOCKET_PROTOCOL {
        let protocols = text
            .split(',')
            .map(|protocol| match protocol.trim().strip_prefix(TOKEN_PROTOCOL) {
                Some(_) => format!("{TOKEN_PROTOCOL}{MASK}"),
                None => protocol.trim().to_owned(),
            });
        return protocols.collect::<Vec<_>>().join(", ");
    }
    if value.is_sensitive() || *name == header::COOKIE || *name == header::SET_COOKIE {
        return MASK.to_owned();
    }
    text.into_owned()
}

const MASK: &str = "<masked>";
/// How a websocket carries a token (apiserver `authentication/request/websocket/protocol.go`).
const TOKEN_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use http::Response;

    use super::*;

    async fn told(level: DebugLevel) -> String {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let layer = DebugLayer::with_writer(level, move |text| sink.lock().unwrap().push(text.to_owned()));
        let server = HttpService::from_fn(|_| async {
            let answer = Response::builder()
                .status(404)
                .header("audit-id", "a")
                .header("set-cookie", "hush");
            Ok(answer.body(Body::from("gone")).unwrap())
        });
        let request = Request::get("https://u:hush@kube/x?a=b")
            .header("b", "1")
            .header("authorization", "Bearer hush")
            .header("accept", "*/*")
            .body(Body::from("{}"))
            .unwrap();
        let answer = layer.layer(server).send(request).await.unwrap();
        answer.into_body().collect_limited(100).await.unwrap();
        let told = told.lock().unwrap().join("\n");
        assert!(!told.contains("hush"), "{told}");
        told
    }

    #[tokio::test(start_paused = true)]
    async fn levels_are_those_of_kubectl() {
        let request = "Request verb=\"GET\" url=\"https://kube/x?a=b\" headers=\n\taccept: */*\n\tauthorization: Bearer <masked>\n\tb: 1";
        let status = "status=\"404 Not Found\" milliseconds=0";
        let headers = "headers=\n\taudit-id: a\n\tset-cookie: <masked>";
        let url = "verb=\"GET\" url=\"https://kube/x?a=b\"";
        let curl = "Request curlCommand=curl -v -XGET -H \"b: 1\" -H \"authorization: Bearer <masked>\" -H \"accept: */*\" \
            'https://kube/x?a=b'";
        let (sent, received) = ("Request Body body=\"{}\"", "Response Body body=\"gone\"");
        let rows = [
            (6, format!("Response {url} {status}")),
            (7, format!("{request}\nResponse {status}")),
            (
                8,
                format!("{sent}\n{request}\nResponse {status} {headers}\n{received}"),
            ),
            (
                9,
                format!("{sent}\n{curl}\nResponse {url} {status} {headers}\n{received}"),
            ),
        ];
        for (verbosity, expect) in rows {
            let level = DebugLevel::from_verbosity(verbosity).unwrap();
            assert_eq!(told(level).await, expect, "-v {verbosity}");
        }
        assert_eq!(DebugLevel::from_verbosity(5), None);
        assert_eq!(DebugLevel::from_verbosity(10), Some(DebugLevel::V9));
    }

    #[test]
    fn secrets_are_masked() {
        let rows = [
            ("authorization", "Bearer x", "Bearer <masked>"),
            ("authorization", "basic x", "basic <masked>"),
            ("authorization", "Basic", "Basic"),
            ("authorization", "Basic ", "Basic"),
            ("authorization", "Unknown x", "<masked>"),
            ("authorization", "x", "<masked>"),
            ("authorization", "", ""),
            ("proxy-authorization", "Basic x", "Basic <masked>"),
            (
                "sec-websocket-protocol",
                "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.eA",
                "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.<masked>",
            ),
            ("accept", "Bearer x", "Bearer x"),
        ];
        for (name, value, expect) in rows {
            let found = masked(&HeaderName::from_static(name), &HeaderValue::from_static(value));
            assert_eq!(found, expect, "{name}: {value}");
        }
        let mut secret = HeaderValue::from_static("x");
        secret.set_sensitive(true);
        assert_eq!(masked(&header::ACCEPT, &secret), "<masked>");
    }
}
