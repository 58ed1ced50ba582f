//! Fewer requests than one could send: [`RateLimitLayer`].

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Request;
use kubewright_net::{Body, HttpService, TransportError};
use tokio::time::Instant;
use tower_layer::Layer;

use super::metrics::{RestMetrics, Told};
use super::retry::Deadline;
use super::{host, is_watch};

/// How many requests may be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Requests per second in the long run. A value that is not above 0 counts as 1 per day.
    pub per_second: f64,
    /// Requests at once after a time without any; 0 counts as 1.
    pub burst: u32,
}

/// Lets requests wait until a token bucket has one for them, as `util/flowcontrol` of client-go. Watches pass: they are few,
/// and one that waits misses changes.
///
/// A client has none by default, since servers of these days share out their time themselves (API priority and fairness).
/// Requests pass in the order in which they came; the place of one that is given up
/// is free again if nobody stands behind it.
///
/// Unless this layer has metrics of its own, each [`MetricsLayer`](super::MetricsLayer) of the same service is told how long requests
/// waited, on whichever side it is; nobody is told of requests that were given up while they waited. To a layer of metrics further out
/// the wait is a part of the request's duration.
#[derive(Clone)]
pub struct RateLimitLayer {
    bucket: Arc<Mutex<Bucket>>,
    metrics: Option<Arc<dyn RestMetrics>>,
}

impl RateLimitLayer {
    /// All services made with this layer share one bucket.
    pub fn new(limit: RateLimit) -> Self {
        Self {
            bucket: Arc::new(Mutex::new(Bucket::new(limit))),
            metrics: None,
        }
    }

    /// Tells how long requests wait (`rest_client_rate_limiter_duration_seconds`), in place of the layers of metrics.
    #[must_use]
    pub fn with_metrics(mut self, metrics: Arc<dyn RestMetrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Tells of a wait that is over: those further out at once, those further in when the request comes to them.
    fn tell(&self, request: &mut Request<Body>, wait: Duration) {
        let observe = |metrics: &Arc<dyn RestMetrics>| {
            metrics.observe_rate_limiter(request.method().as_str(), &host(request), wait);
        };
        if let Some(metrics) = &self.metrics {
            return observe(metrics);
        }
        if let Some(Told(metrics)) = request.extensions().get() {
            metrics.iter().for_each(observe);
        }
        let before = request
            .extensions()
            .get()
            .map_or(Duration::ZERO, |Waited(before)| *before);
        request.extensions_mut().insert(Waited(before + wait));
    }
}

/// A request extension: how long the request has waited for limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waited(pub(super) Duration);

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer").finish_non_exhaustive()
    }
}

impl Layer<HttpService> for RateLimitLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let layer = self.clone();
        HttpService::from_fn(move |mut request| {
            let (layer, inner) = (layer.clone(), inner.clone());
            async move {
                if is_watch(&request) {
                    return inner.send(request).await;
                }
                let now = Instant::now();
                let deadline = request.extensions().get().map(|Deadline(at)| *at);
                let (taken, number) = {
                    let mut bucket = locked(&layer.bucket);
                    (bucket.take(now, deadline), bucket.taken)
                };
                // Go's limiter, too, lets nobody wait in vain (golang.org/x/time/rate `Wait`).
                let wait = taken.map_err(|after| TransportError::Timeout {
                    what: "waiting for the client's rate limit".into(),
                    address: String::new(),
                    after,
                })?;
                let mut turn = Turn(Some((&layer.bucket, number)));
                if !wait.is_zero() {
                    tracing::debug!(
                        path = request.uri().path(),
                        ?wait,
                        "a request waits for the client's rate limit"
                    );
                    tokio::time::sleep_until(now + wait).await;
                }
                turn.0 = None;
                layer.tell(&mut request, wait);
                inner.send(request).await
            }
        })
    }
}

fn locked(bucket: &Mutex<Bucket>) -> MutexGuard<'_, Bucket> {
    bucket.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A token, by its number, that goes back where its request is given up while it waits. Where others wait behind it they have been told
/// when they pass: then it would be spent twice (Go's `Reservation.CancelAt`).
struct Turn<'b>(Option<(&'b Mutex<Bucket>, u64)>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some((bucket, number)) = self.0 {
            let mut bucket = locked(bucket);
            if bucket.taken == number {
                bucket.tokens = (bucket.tokens + 1.0).min(bucket.burst);
            }
        }
    }
}

/// Tokens that come back evenly. It may be in debt: whoever takes a token that is not there yet is told when it comes.
struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    /// How many were taken.
    taken: u64,
    /// When `tokens` was right; `None` before the first request.
    at: Option<Instant>,
}

impl Bucket {
    fn new(limit: RateLimit) -> Self {
        let burst = f64::from(limit.burst.max(1));
        let per_second = if limit.per_second > 0.0 {
            limit.per_second
        } else {
            SLOWEST
        };
        Self {
            per_second,
            burst,
            tokens: burst,
            taken: 0,
            at: None,
        }
    }

    /// Takes a token; the time until it is there.
    ///
    /// # Errors
    ///
    /// That time, where it is beyond `deadline`: then none is taken.
    fn take(&mut self, now: Instant, deadline: Option<Instant>) -> Result<Duration, Duration> {
        let passed = self
            .at
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.tokens = (self.tokens + passed.as_secs_f64() * self.per_second).min(self.burst);
        self.at = Some(self.at.map_or(now, |at| at.max(now)));
        let debt = (1.0 - self.tokens).max(0.0);
        let wait = Duration::try_from_secs_f64(debt / self.per_second).unwrap_or(LONGEST);
        let in_time = |deadline| now.checked_add(wait).is_some_and(|at| at <= deadline);
        if !deadline.is_none_or(in_time) {
            return Err(wait);
        }
        self.tokens -= 1.0;
        self.taken += 1;
        Ok(wait)
    }
}

/// One request per day.
const SLOWEST: f64 = 1.0 / 86_400.0;
/// What a wait that no clock can tell is cut to: 30 years.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 86_400);

#[cfg(test)]
mod tests {
    use http::Response;

    use super::super::{Attempt, MetricsLayer, RetryLayer};
    use super::*;
    use crate::{Client, ClientOptions};

    #[test]
    fn tokens_come_back_evenly_up_to_the_burst() {
        // per second, burst, [(asked at, waits)] in milliseconds
        type Row = (f64, u32, &'static [(u64, u64)]);
        let rows: [Row; 4] = [
            (
                5.0,
                2,
                &[
                    (0, 0),
                    (0, 0),
                    (0, 200),
                    (0, 400),
                    (400, 200),
                    (10_000, 0),
                    (10_000, 0),
                    (10_000, 200),
                ],
            ),
            (1.0, 0, &[(0, 0), (0, 1000), (1000, 1000)]),
            (0.0, 1, &[(0, 0), (0, 86_400_000)]),
            (f64::NAN, 1, &[(0, 0), (0, 86_400_000)]),
        ];
        let start = Instant::now();
        for (per_second, burst, asked) in rows {
            let mut bucket = Bucket::new(RateLimit { per_second, burst });
            for &(at, expect) in asked {
                let wait = bucket.take(start + Duration::from_millis(at), None).unwrap();
                let difference = wait.as_secs_f64() - Duration::from_millis(expect).as_secs_f64();
                assert!(difference.abs() < 1e-6, "{per_second} {burst} at {at}: {wait:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_wait_and_watches_do_not() {
        let server = HttpService::from_fn(|_| async { Ok(Response::new(Body::empty())) });
        let limit = RateLimit {
            per_second: 1.0,
            burst: 1,
        };
        let service = RateLimitLayer::new(limit).layer(server);
        let start = Instant::now();
        for (uri, seconds) in [("/a", 0), ("/b?watch=true", 0), ("/c", 1), ("/c?watch=false", 2)] {
            service
                .send(Request::get(uri).body(Body::empty()).unwrap())
                .await
                .unwrap();
            assert_eq!(start.elapsed().as_secs(), seconds, "{uri}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_in_vain() {
        let server = HttpService::from_fn(|_| async { Ok(Response::new(Body::empty())) });
        let limit = RateLimit {
            per_second: 1.0,
            burst: 1,
        };
        let service = RateLimitLayer::new(limit).layer(server);
        let request = |deadline: Option<u64>| {
            let mut request = Request::get("/a").body(Body::empty()).unwrap();
            if let Some(seconds) = deadline {
                let deadline = Deadline::after(Duration::from_secs(seconds));
                request.extensions_mut().insert(deadline);
            }
            service.send(request)
        };
        let start = Instant::now();
        request(None).await.unwrap();
        // More than the limit allows of, each of which would wait too long: none makes others wait.
        for _ in 0..100 {
            assert!(request(Some(0)).await.unwrap_err().is_timeout());
        }
        // One that is given up gives back its turn.
        let given_up = tokio::time::timeout(Duration::from_millis(500), request(None)).await;
        assert!(given_up.is_err());
        request(Some(2)).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn clients_made_of_one_share_its_limit() {
        let server = HttpService::from_fn(|_| async { Ok(Response::new(Body::empty())) });
        let client = Client::from_service(server, "default");
        let limited = |client: &Client, per_second: f64| {
            client.with_client_options(ClientOptions {
                rate_limit: Some(RateLimit { per_second, burst: 1 }),
                ..client.options().clone()
            })
        };
        let metrics = MetricsLayer::new(Arc::new(Waits::default()));
        let one = limited(&client, 1.0);
        let patient = one.with_client_options(ClientOptions {
            timeout: None,
            ..one.options().clone()
        });
        let rows = [
            ("the first", one.clone(), 0),
            ("a clone", one.clone(), 1),
            ("with a layer", one.layer(&metrics), 2),
            ("with other options", patient.layer(&metrics), 3),
            ("with another limit", limited(&one, 2.0), 3),
            ("without a limit", client.clone(), 3),
            ("made anew", limited(&client, 1.0), 3),
            ("the first again", one, 4),
        ];
        let start = Instant::now();
        for (what, client, seconds) in rows {
            let request = Request::get("/a").body(Vec::new()).unwrap();
            client.request(request).await.unwrap();
            assert_eq!(start.elapsed().as_secs(), seconds, "{what}");
        }
    }

    #[derive(Default)]
    struct Waits(Mutex<Vec<String>>);

    impl RestMetrics for Waits {
        fn observe_rate_limiter(&self, verb: &str, host: &str, wait: Duration) {
            self.0
                .lock()
                .unwrap()
                .push(format!("{} s {verb} {host}", wait.as_secs()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_are_observed_whatever_the_order() {
        type Build = fn(&Client, &MetricsLayer, RateLimit) -> Client;
        fn limited(client: &Client, limit: RateLimit) -> Client {
            client.with_client_options(ClientOptions {
                rate_limit: Some(limit),
                ..client.options().clone()
            })
        }
        let rows: [(&str, Build); 6] = [
            ("limit, metrics", |client, metrics, limit| {
                limited(client, limit).layer(metrics)
            }),
            ("metrics, limit", |client, metrics, limit| {
                limited(&client.layer(metrics), limit)
            }),
            ("a layer within metrics", |client, metrics, limit| {
                client.layer(&RateLimitLayer::new(limit)).layer(metrics)
            }),
            ("a layer around metrics", |client, metrics, limit| {
                client.layer(metrics).layer(&RateLimitLayer::new(limit))
            }),
            (
                "a try that is repeated within the limit",
                |client, metrics, limit| {
                    let client = client.layer(metrics).layer(&RetryLayer::default());
                    limited(&client, limit)
                },
            ),
            ("metrics of its own", |client, metrics, limit| {
                let own = RateLimitLayer::new(limit).with_metrics(Arc::clone(&metrics.0));
                client.layer(metrics).layer(&own)
            }),
        ];
        let limit = RateLimit {
            per_second: 0.5,
            burst: 1,
        };
        for (what, build) in rows {
            // A lost connection is tried again after a second, by the innermost who repeats.
            let server = HttpService::from_fn(move |request: Request<Body>| async move {
                let again = what.contains("repeated") && request.extensions().get::<Attempt>().is_none();
                match again {
                    true => Err(TransportError::closed("testing")),
                    false => Ok(Response::new(Body::empty())),
                }
            });
            let waits = Arc::new(Waits::default());
            let metrics = MetricsLayer::new(waits.clone());
            let client = build(&Client::from_service(server, "default"), &metrics, limit);
            for path in ["/a", "/b", "/c?watch=true"] {
                let request = Request::get(path).body(Vec::new()).unwrap();
                client.request(request).await.unwrap();
            }
            let waited = std::mem::take(&mut *waits.0.lock().unwrap());
            let second = if what.contains("repeated") {
                "1 s GET "
            } else {
                "2 s GET "
            };
            assert_eq!(waited, ["0 s GET ", second], "{what}");
        }
    }
}
