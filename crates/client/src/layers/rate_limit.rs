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
/// waited, on whichever side it is, also of those that were given up while they waited or would have waited in vain. (client-go
/// `rest/request.go`, `tryThrottleWithInfo`.) Those further in are known from the first request on that came to them, and are told once of all limits on the way. To none of them
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
}

/// A request extension: how long the request has waited for limits, for whoever measures it further in.
#[derive(Clone, Default)]
pub(super) struct Waited {
    /// Not counting limits that have metrics of their own; `None` if all have.
    time: Option<Duration>,
    limits: Vec<Arc<Within>>,
}

impl Waited {
    /// Tells metrics that the request has come to.
    pub(super) fn tell(&self, metrics: &Arc<dyn RestMetrics>, verb: &str, host: &str) {
        if let Some(time) = self.time {
            metrics.observe_rate_limiter(verb, host, time);
        }
        for Within(known) in self.limits.iter().map(Arc::as_ref) {
            let mut known = locked(known);
            let is_this = |other: &Arc<_>| std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(metrics));
            if !known.iter().any(is_this) {
                known.push(Arc::clone(metrics));
            }
        }
    }
}

/// The metrics further in than a limit, which a request that is given up never comes to. One for each service with the limit.
#[derive(Default)]
struct Within(Mutex<Vec<Arc<dyn RestMetrics>>>);

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer").finish_non_exhaustive()
    }
}

impl Layer<HttpService> for RateLimitLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let layer = self.clone();
        let within = Arc::<Within>::default();
        HttpService::from_fn(move |mut request| {
            let (layer, within, inner) = (layer.clone(), Arc::clone(&within), inner.clone());
            async move {
                if is_watch(&request) {
                    return inner.send(request).await;
                }
                let mut turn = Turn::new(&layer, &within, &mut request);
                let came = turn.come().await;
                drop(turn);
                came?;
                inner.send(request).await
            }
        })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that waits. Dropped when it passes or is given up, and tells in either case how long it has waited.
struct Turn<'a> {
    layer: &'a RateLimitLayer,
    within: &'a Arc<Within>,
    request: &'a mut Request<Body>,
    begun: Instant,
    stage: Stage,
}

enum Stage {
    /// It has no token.
    Refused,
    /// It has the token of this number.
    Waits(u64),
    Passes,
}

impl<'a> Turn<'a> {
    fn new(layer: &'a RateLimitLayer, within: &'a Arc<Within>, request: &'a mut Request<Body>) -> Self {
        Self {
            layer,
            within,
            request,
            begun: Instant::now(),
            stage: Stage::Refused,
        }
    }

    async fn come(&mut self) -> Result<(), TransportError> {
        let deadline = self.request.extensions().get().map(|Deadline(at)| *at);
        let (taken, number) = {
            let mut bucket = locked(&self.layer.bucket);
            (bucket.take(self.begun, deadline), bucket.taken)
        };
        // Go's limiter, too, lets nobody wait in vain (golang.org/x/time/rate `Wait`).
        let wait = taken.map_err(|after| TransportError::Timeout {
            what: "waiting for the client's rate limit".into(),
            address: String::new(),
            after,
        })?;
        self.stage = Stage::Waits(number);
        if !wait.is_zero() {
            let path = self.request.uri().path();
            tracing::debug!(path, ?wait, "a request waits for the client's rate limit");
            tokio::time::sleep_until(self.begun + wait).await;
        }
        self.stage = Stage::Passes;
        Ok(())
    }

    /// The token goes back. Where others wait behind it they have been told when they pass: then it would be spent twice (Go's
    /// `Reservation.CancelAt`).
    fn give_back(&self, number: u64) {
        let mut bucket = locked(&self.layer.bucket);
        if bucket.taken == number {
            bucket.tokens = (bucket.tokens + 1.0).min(bucket.burst);
            // Now the one before is the last.
            bucket.taken -= 1;
        }
    }

    /// Tells those further out at once; those further in when the request comes to them, or at once if it does not.
    fn tell(&mut self) {
        let wait = self.begun.elapsed();
        let (verb, host) = (self.request.method().clone(), host(self.request));
        let observe = |metrics: &Arc<dyn RestMetrics>, wait| {
            metrics.observe_rate_limiter(verb.as_str(), &host, wait);
        };
        let own = self.layer.metrics.as_ref();
        if let Some(own) = own {
            observe(own, wait);
        }
        let extensions = self.request.extensions_mut();
        for outer in extensions.get().into_iter().flat_map(|Told(outer)| outer) {
            outer.add_wait(wait);
            if own.is_none() {
                observe(&outer.metrics, wait);
            }
        }
        let waited = extensions.get_or_insert_default::<Waited>();
        if own.is_none() {
            *waited.time.get_or_insert_default() += wait;
        }
        if matches!(self.stage, Stage::Passes) {
            waited.limits.push(Arc::clone(self.within));
        } else if let Some(time) = waited.time {
            let within = locked(&self.within.0).clone();
            within.iter().for_each(|metrics| observe(metrics, time));
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Stage::Waits(number) = self.stage {
            self.give_back(number);
        }
        self.tell();
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

    /// Metrics behind a limit that has its own hear of what was waited for before it, whether the request comes to them or not.
    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_at_a_limit_with_metrics_of_its_own() {
        let server = HttpService::from_fn(|_| async { Ok(Response::new(Body::empty())) });
        let [own, inner] = [(), ()].map(|()| Arc::new(Waits::default()));
        let fast = RateLimit {
            per_second: 1.0,
            burst: 9,
        };
        let client = Client::from_service(server, "default")
            .layer(&MetricsLayer::new(inner.clone()))
            .layer(&RateLimitLayer::new(RARE).with_metrics(own.clone()))
            .layer(&RateLimitLayer::new(fast));
        let request = || Request::get("/a").body(Vec::new()).unwrap();
        client.request(request()).await.unwrap();
        let given_up = tokio::time::timeout(Duration::from_secs(1), client.request(request()));
        assert!(given_up.await.is_err());
        assert_eq!(*own.waits.lock().unwrap(), ["0 s GET ", "1 s GET "]);
        assert_eq!(*inner.waits.lock().unwrap(), ["0 s GET ", "0 s GET "]);
    }

    /// Whoever stands at the end of the row gives a token back, also when those behind have gone.
    #[tokio::test(start_paused = true)]
    async fn tokens_of_those_who_go_come_back_in_whatever_order() {
        for (given_up, seconds) in [([0, 1], 2), ([1, 0], 1)] {
            let server = HttpService::from_fn(|_| async { Ok(Response::new(Body::empty())) });
            let limited = RateLimitLayer::new(RateLimit {
                per_second: 1.0,
                burst: 1,
            })
            .layer(server);
            let send = || limited.send(Request::get("/a").body(Body::empty()).unwrap());
            let start = Instant::now();
            send().await.unwrap();
            let mut waiting = [Some(send()), Some(send())];
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            for one in waiting.iter_mut().flatten() {
                assert!(one.as_mut().poll(&mut context).is_pending());
            }
            for at in given_up {
                waiting[at] = None;
            }
            send().await.unwrap();
            assert_eq!(start.elapsed().as_secs(), seconds, "{given_up:?}");
        }
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
    struct Waits {
        waits: Mutex<Vec<String>>,
        /// Seconds of requests.
        durations: Mutex<Vec<u64>>,
    }

    impl RestMetrics for Waits {
        fn observe_duration(&self, _: &str, _: &str, duration: Duration) {
            self.durations.lock().unwrap().push(duration.as_secs());
        }

        fn observe_rate_limiter(&self, verb: &str, host: &str, wait: Duration) {
            self.waits
                .lock()
                .unwrap()
                .push(format!("{} s {verb} {host}", wait.as_secs()));
        }
    }

    type Build = fn(&Client, &MetricsLayer, RateLimit) -> Client;

    /// The ways in which a client comes to a limit and metrics.
    fn orders() -> [(&'static str, Build); 6] {
        fn limited(client: &Client, limit: RateLimit) -> Client {
            client.with_client_options(ClientOptions {
                rate_limit: Some(limit),
                ..client.options().clone()
            })
        }
        [
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
        ]
    }

    /// One request in two seconds.
    const RARE: RateLimit = RateLimit {
        per_second: 0.5,
        burst: 1,
    };

    #[tokio::test(start_paused = true)]
    async fn waits_are_observed_whatever_the_order() {
        for (what, build) in orders() {
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
            let client = build(&Client::from_service(server, "default"), &metrics, RARE);
            for path in ["/a", "/b", "/c?watch=true"] {
                let request = Request::get(path).body(Vec::new()).unwrap();
                client.request(request).await.unwrap();
            }
            let waited = std::mem::take(&mut *waits.waits.lock().unwrap());
            let second = if what.contains("repeated") {
                "1 s GET "
            } else {
                "2 s GET "
            };
            assert_eq!(waited, ["0 s GET ", second], "{what}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_of_what_is_given_up_are_observed() {
        for (what, build) in orders() {
            let server = HttpService::from_fn(|_| async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Ok(Response::new(Body::empty()))
            });
            let client = Client::from_service(server, "default");
            let client = client.with_client_options(ClientOptions {
                timeout: Some(Duration::from_millis(500)),
                ..client.options().clone()
            });
            let waits = Arc::new(Waits::default());
            let client = build(&client, &MetricsLayer::new(waits.clone()), RARE);
            let request = || Request::get("/a").body(Vec::new()).unwrap();
            // None is there for the second and the third of them.
            let asked = [client.request(request()), client.request(request())];
            let [first, second] = asked.map(|asked| tokio::time::timeout(Duration::from_secs(1), asked));
            let (first, second) = tokio::join!(first, second);
            assert!(first.is_err() && second.is_err(), "{what}");
            let refused = client.request_bytes(request()).await.unwrap_err();
            assert!(refused.is_timeout(), "{what}: {refused}");
            let waited = std::mem::take(&mut *waits.waits.lock().unwrap());
            assert_eq!(waited, ["0 s GET ", "1 s GET ", "0 s GET "], "{what}");
            // Only those that are further out are told of requests that were sent nowhere.
            let mut durations = std::mem::take(&mut *waits.durations.lock().unwrap());
            durations.sort_unstable();
            let expect: &[u64] = match what {
                "a layer within metrics" => &[0, 0, 1],
                _ => &[1],
            };
            assert_eq!(durations, expect, "{what}");
            // What waits and is answered takes as long as the answer.
            client.request(request()).await.unwrap();
            let last = waits.durations.lock().unwrap().pop();
            assert_eq!(last, Some(5), "{what}");
        }
    }
}
