//! What is counted and measured of every request: [`MetricsLayer`], under the names that dashboards know.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use kubewright_net::{Body, HttpService, TransportError};
use tokio::time::Instant;
use tower_layer::Layer;

use super::rate_limit::Waited;
use super::retry::Attempt;
use super::{host, is_watch};

/// Names and buckets of the metrics, as `k8s.io/component-base/metrics/prometheus/restclient` registers them.
pub mod metric_names {
    /// Counter by `code` (`<error>` without an answer, also where nobody waited for it any more), `method` and `host`: tries,
    /// repeated ones included.
    pub const REQUESTS: &str = "rest_client_requests_total";
    /// Counter by `code`, `verb` and `host`: tries but the first.
    pub const RETRIES: &str = "rest_client_request_retries_total";
    /// Histogram by `verb` and `host`: seconds until the head of the answer came, or until it was given up, without [`RATE_LIMITER`].
    pub const DURATION: &str = "rest_client_request_duration_seconds";
    /// Histogram by `verb` and `host`: bytes of the request's body.
    pub const REQUEST_SIZE: &str = "rest_client_request_size_bytes";
    /// Histogram by `verb` and `host`: bytes of the answer's body; watches aside.
    pub const RESPONSE_SIZE: &str = "rest_client_response_size_bytes";
    /// Histogram by `verb` and `host`: seconds of waiting for the client's own rate limit, also 0, and also of requests that were given up meanwhile;
    /// nothing where there is none.
    pub const RATE_LIMITER: &str = "rest_client_rate_limiter_duration_seconds";

    /// Buckets of the histograms of seconds.
    pub const SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
    /// Buckets of the histograms of bytes.
    pub const BYTES: [f64; 11] = [
        64.0,
        256.0,
        512.0,
        1024.0,
        4096.0,
        16384.0,
        65536.0,
        262_144.0,
        1_048_576.0,
        4_194_304.0,
        16_777_216.0,
    ];
}

/// Where the numbers go. Every method does nothing unless it is written.
///
/// `verb` and `method` both are the method of HTTP, as in client-go; `host` is host and port of the server.
pub trait RestMetrics: Send + Sync {
    /// Adds one to [`metric_names::REQUESTS`].
    fn count_request(&self, code: &str, method: &str, host: &str) {
        let _ = (code, method, host);
    }
    /// Adds one to [`metric_names::RETRIES`].
    fn count_retry(&self, code: &str, verb: &str, host: &str) {
        let _ = (code, verb, host);
    }
    /// Observes [`metric_names::DURATION`].
    fn observe_duration(&self, verb: &str, host: &str, duration: Duration) {
        let _ = (verb, host, duration);
    }
    /// Observes [`metric_names::REQUEST_SIZE`].
    fn observe_request_size(&self, verb: &str, host: &str, bytes: u64) {
        let _ = (verb, host, bytes);
    }
    /// Observes [`metric_names::RESPONSE_SIZE`].
    fn observe_response_size(&self, verb: &str, host: &str, bytes: u64) {
        let _ = (verb, host, bytes);
    }
    /// Observes [`metric_names::RATE_LIMITER`].
    fn observe_rate_limiter(&self, verb: &str, host: &str, wait: Duration) {
        let _ = (verb, host, wait);
    }
}

/// Tells a [`RestMetrics`] of every request, and of its wait for a [`RateLimitLayer`](super::RateLimitLayer) on either side.
#[derive(Clone)]
pub struct MetricsLayer(pub(super) Arc<dyn RestMetrics>);

impl MetricsLayer {
    /// Tells `metrics`.
    pub fn new(metrics: Arc<dyn RestMetrics>) -> Self {
        Self(metrics)
    }
}

impl fmt::Debug for MetricsLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsLayer")
    }
}

impl Layer<HttpService> for MetricsLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let metrics = Arc::clone(&self.0);
        HttpService::from_fn(move |mut request| {
            let metrics = Arc::clone(&metrics);
            let (verb, host) = (request.method().clone(), host(&request));
            let is_retry = request.extensions().get::<Attempt>().is_some();
            let is_watch = is_watch(&request);
            if let Some(bytes) = request.body().length() {
                metrics.observe_request_size(verb.as_str(), &host, bytes);
            }
            if let Some(waited) = request.extensions().get::<Waited>() {
                waited.tell(&metrics, verb.as_str(), &host);
            }
            let outer = Arc::new(Outer {
                metrics: Arc::clone(&metrics),
                waited: Mutex::default(),
            });
            let told = request.extensions_mut().get_or_insert_default::<Told>();
            told.0.push(Arc::clone(&outer));
            let mut pending = Pending {
                report: Report { metrics, verb, host },
                outer,
                start: Instant::now(),
                is_retry,
                is_over: false,
            };
            let answer = inner.send(request);
            async move {
                let answer = answer.await;
                // Texts of errors have no end, so they are no labels.
                let status = answer.as_ref().ok().map(http::Response::status);
                pending.end(status.as_ref().map_or(NO_ANSWER, http::StatusCode::as_str));
                if is_watch {
                    return answer;
                }
                answer.map(|answer| {
                    answer.map(|body| match body.as_bytes().map(Bytes::len) {
                        Some(length) => {
                            pending.report.response_size(length as u64);
                            body
                        }
                        None => Body::new(Measured {
                            body,
                            bytes: 0,
                            report: Some(pending.report.clone()),
                        }),
                    })
                })
            }
        })
    }
}

/// A request extension: whom to tell of waits further in.
#[derive(Clone, Default)]
pub(super) struct Told(pub(super) Vec<Arc<Outer>>);

/// A request on its way from a layer of metrics.
pub(super) struct Outer {
    pub(super) metrics: Arc<dyn RestMetrics>,
    /// How long it has waited for limits since it was there.
    waited: Mutex<Duration>,
}

impl Outer {
    pub(super) fn add_wait(&self, wait: Duration) {
        *self.waited() += wait;
    }

    fn waited(&self) -> MutexGuard<'_, Duration> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A try whose answer has not come. It is counted once: by what comes, or as one without an answer where whoever waited gives
/// up, since a server that hangs would not be seen otherwise (client-go counts a context that ends likewise).
struct Pending {
    report: Report,
    outer: Arc<Outer>,
    start: Instant,
    is_retry: bool,
    is_over: bool,
}

impl Pending {
    fn end(&mut self, code: &str) {
        self.is_over = true;
        let Report { metrics, verb, host } = &self.report;
        // Waits are told apart: they are not the server's.
        let duration = self.start.elapsed().saturating_sub(*self.outer.waited());
        metrics.observe_duration(verb.as_str(), host, duration);
        metrics.count_request(code, verb.as_str(), host);
        if self.is_retry {
            metrics.count_retry(code, verb.as_str(), host);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_over {
            self.end(NO_ANSWER);
        }
    }
}

/// The code of a request that got no answer.
const NO_ANSWER: &str = "<error>";

/// A body that counts what is read of it, and reports it at its end.
struct Measured {
    body: Body,
    bytes: u64,
    /// Taken when it has reported.
    report: Option<Report>,
}

/// Who is told, and of which request.
#[derive(Clone)]
struct Report {
    metrics: Arc<dyn RestMetrics>,
    verb: http::Method,
    host: String,
}

impl Report {
    fn response_size(&self, bytes: u64) {
        self.metrics
            .observe_response_size(self.verb.as_str(), &self.host, bytes);
    }
}

impl Measured {
    fn end(&mut self) {
        if let Some(report) = self.report.take() {
            report.response_size(self.bytes);
        }
    }
}

impl HttpBody for Measured {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                self.bytes += frame.data_ref().map_or(0, Bytes::len) as u64;
                // Whoever knows the length does not ask for the end.
                if self.body.is_end_stream() {
                    self.end();
                }
            }
            Some(Err(_)) | None => self.end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http::{Request, Response};

    use super::super::RetryLayer;
    use super::*;

    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl RestMetrics for Notes {
        fn count_request(&self, code: &str, method: &str, host: &str) {
            self.0
                .lock()
                .unwrap()
                .push(format!("request {code} {method} {host}"));
        }
        fn count_retry(&self, code: &str, verb: &str, host: &str) {
            self.0.lock().unwrap().push(format!("retry {code} {verb} {host}"));
        }
        fn observe_duration(&self, verb: &str, host: &str, duration: Duration) {
            let seconds = duration.as_secs();
            self.0.lock().unwrap().push(format!("{seconds} s {verb} {host}"));
        }
        fn observe_request_size(&self, verb: &str, host: &str, bytes: u64) {
            self.0.lock().unwrap().push(format!("sent {bytes} {verb} {host}"));
        }
        fn observe_response_size(&self, verb: &str, host: &str, bytes: u64) {
            self.0.lock().unwrap().push(format!("got {bytes} {verb} {host}"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_try_is_counted() {
        let notes = Arc::new(Notes::default());
        let server = HttpService::from_fn(|request: Request<Body>| async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            if request.extensions().get::<Attempt>().is_none() {
                return Err(TransportError::closed("testing"));
            }
            let pieces = [Ok(Bytes::from_static(b"ab")), Ok(Bytes::from_static(b"c"))];
            Ok(Response::new(Body::stream(stream::iter(pieces))))
        });
        let metrics: Arc<dyn RestMetrics> = notes.clone();
        let service = RetryLayer::default().layer(MetricsLayer::new(metrics).layer(server));
        let request = Request::get("https://u:p@kube:6443/x")
            .body(Body::from("four"))
            .unwrap();
        let answer = service.send(request).await.unwrap();
        assert_eq!(answer.into_body().collect_limited(9).await.unwrap(), "abc");
        let expect = [
            "sent 4 GET kube:6443",
            "2 s GET kube:6443",
            "request <error> GET kube:6443",
            "sent 4 GET kube:6443",
            "2 s GET kube:6443",
            "request 200 GET kube:6443",
            "retry 200 GET kube:6443",
            "got 3 GET kube:6443",
        ];
        assert_eq!(*notes.0.lock().unwrap(), expect);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_up_is_counted() {
        let notes = Arc::new(Notes::default());
        let server = HttpService::from_fn(|_| std::future::pending());
        let metrics: Arc<dyn RestMetrics> = notes.clone();
        let service = MetricsLayer::new(metrics).layer(server);
        for (uri, attempt) in [("/x", None), ("/x", Some(Attempt(1))), ("/x?watch=true", None)] {
            let mut request = Request::get(uri).body(Body::empty()).unwrap();
            if let Some(attempt) = attempt {
                request.extensions_mut().insert(attempt);
            }
            let given_up = tokio::time::timeout(Duration::from_secs(3), service.send(request)).await;
            assert!(given_up.is_err(), "{uri}");
        }
        let each = ["sent 0 GET ", "3 s GET ", "request <error> GET "];
        let expect: Vec<_> = [&each[..], &each, &["retry <error> GET "], &each].concat();
        assert_eq!(*notes.0.lock().unwrap(), expect);
    }
}
