//! The text of a scrape, and what becomes of numbers that meet in one series.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::Response;
use k8s_openapi::api::core::v1::Pod;
use kubewright_cache::WatchScope;
use kubewright_client::{Client, RestMetrics as _};
use kubewright_net::{Body, HttpService};
use kubewright_queue::{LOW_PRIORITY, Metrics as _, Options, WorkQueue};
use tokio::sync::Notify;

use super::page::{Kind, Metric, Page};
use super::*;
use crate::{Controller, Manager, ManagerOptions, Operator, RunnableContext};

/// The lines of a scrape that begin with a name.
fn lines(text: &str, name: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_queue_is_measured_as_dashboards_expect() {
    let metrics = Metrics::new();
    assert_eq!(metrics.encode(), "");
    let figures = metrics.controller("pods");
    figures.added(0);
    figures.added(LOW_PRIORITY);
    figures.retried();
    figures.taken(0, Duration::from_millis(2));
    figures.finished(Duration::from_micros(30));
    figures.reconciled(Duration::from_secs(2));
    let text = metrics.encode();
    let expect = [
        r#"workqueue_adds_total{name="pods",controller="pods"} 2"#,
        r#"workqueue_retries_total{name="pods",controller="pods"} 1"#,
        r#"workqueue_queue_duration_seconds_sum{name="pods",controller="pods"} 0.002"#,
        r#"workqueue_queue_duration_seconds_count{name="pods",controller="pods"} 1"#,
        r#"workqueue_work_duration_seconds_sum{name="pods",controller="pods"} 0.00003"#,
        r#"controller_runtime_reconcile_time_seconds_count{controller="pods"} 1"#,
        r#"controller_runtime_reconcile_time_seconds_bucket{controller="pods",le="1.75"} 0"#,
        r#"controller_runtime_reconcile_time_seconds_bucket{controller="pods",le="2"} 1"#,
    ];
    for line in expect {
        assert_eq!(lines(&text, line), [line], "{text}");
    }
    // Whoever asks again for the same controller goes on with its numbers.
    metrics.queue("pods").added(0);
    assert_eq!(
        lines(&metrics.encode(), "workqueue_adds_total")[0]
            .rsplit(' ')
            .next(),
        Some("3")
    );
}

/// `prometheus.ExponentialBuckets(10e-9, 10, 12)`, as Go prints them.
#[test]
fn the_bounds_of_queue_durations_are_upstreams() {
    let metrics = Metrics::new();
    metrics.controller("a");
    let text = metrics.encode();
    let bounds: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("workqueue_work_duration_seconds_bucket"))
        .filter_map(|line| line.split("le=\"").nth(1)?.split('"').next())
        .collect();
    let expect = [
        "1e-08",
        "1e-07",
        "1e-06",
        "9.999999999999999e-06",
        "9.999999999999999e-05",
        "0.001",
        "0.01",
        "0.1",
        "1",
        "10",
        "100",
        "1000",
        "+Inf",
    ];
    assert_eq!(bounds, expect);
}

#[test]
fn a_queue_has_a_limited_number_of_priorities() {
    let figures = ControllerFigures::default();
    let priorities = figures.priorities();
    let queue = WorkQueue::new(Options::default());
    let depth = |queue: &WorkQueue<i32>| {
        let mut page = Page::default();
        figures.priorities().read_queue("q", &queue.snapshot(), &mut page);
        lines(&page.encode(), "workqueue_depth")
    };
    let series = |priority: &str, keys: usize| {
        format!(r#"workqueue_depth{{name="q",controller="q",priority="{priority}"}} {keys}"#)
    };
    assert_eq!(depth(&queue), [series("0", 0)]);
    for key in 1..=30 {
        queue.add_with_priority(key, key);
    }
    let full = depth(&queue);
    // The default, and the highest of the others, which the queue tells first.
    assert_eq!(full.len(), MAX_PRIORITIES + 1);
    assert!(
        full.contains(&series("0", 0)) && full.contains(&series("30", 1)),
        "{full:?}"
    );
    assert!(
        full.contains(&series(OTHER_PRIORITIES, 30 - (MAX_PRIORITIES - 1))),
        "{full:?}"
    );
    // A series does not end with its keys, that of all others neither.
    queue.shut_down_with(kubewright_queue::ShutDown::Now);
    let empty = depth(&queue);
    assert_eq!(empty.len(), MAX_PRIORITIES + 1);
    assert!(empty.contains(&series(OTHER_PRIORITIES, 0)), "{empty:?}");
    assert!(empty.iter().all(|line| line.ends_with(" 0")), "{empty:?}");
    // They are forgotten with the last queue of the name, of which there was one; those of the next are its own.
    let another = figures.priorities();
    drop(priorities);
    assert_eq!(depth(&queue).len(), MAX_PRIORITIES + 1);
    drop(another);
    assert_eq!(depth(&queue), [series("0", 0)]);
    let next = WorkQueue::new(Options::default());
    next.add_with_priority(1, 77);
    assert_eq!(depth(&next), [series("0", 0), series("77", 1)]);
}

#[test]
fn requests_are_counted_by_what_they_are() {
    let metrics = Metrics::new();
    metrics.count_request("200", "GET", "kube:6443");
    metrics.count_request("200", "GET", "kube:6443");
    metrics.count_request("<error>", "PUT", "kube:6443");
    metrics.count_retry("503", "GET", "kube:6443");
    metrics.observe_duration("GET", "kube:6443", Duration::from_millis(250));
    metrics.observe_request_size("PUT", "kube:6443", 4096);
    metrics.observe_response_size("GET", "kube:6443", 1 << 30);
    metrics.observe_rate_limiter("GET", "kube:6443", Duration::ZERO);
    let text = metrics.encode();
    let expect = [
        r#"rest_client_requests_total{code="200",method="GET",host="kube:6443"} 2"#,
        r#"rest_client_requests_total{code="<error>",method="PUT",host="kube:6443"} 1"#,
        r#"rest_client_request_retries_total{code="503",verb="GET",host="kube:6443"} 1"#,
        r#"rest_client_request_duration_seconds_bucket{verb="GET",host="kube:6443",le="0.1"} 0"#,
        r#"rest_client_request_duration_seconds_bucket{verb="GET",host="kube:6443",le="0.25"} 1"#,
        r#"rest_client_request_size_bytes_bucket{verb="PUT",host="kube:6443",le="4096"} 1"#,
        r#"rest_client_response_size_bytes_bucket{verb="GET",host="kube:6443",le="1.6777216e+07"} 0"#,
        r#"rest_client_response_size_bytes_sum{verb="GET",host="kube:6443"} 1073741824.0"#,
        r#"rest_client_rate_limiter_duration_seconds_count{verb="GET",host="kube:6443"} 1"#,
    ];
    for line in expect {
        assert_eq!(lines(&text, line), [line], "{text}");
    }
}

#[test]
fn no_series_comes_twice() {
    const fn metric(name: &'static str, kind: Kind) -> Metric {
        Metric {
            name,
            help: "A\nB\\",
            kind,
        }
    }
    const COUNTER: Metric = metric("a_total", Kind::Counter);
    const SUM: Metric = metric("b", Kind::Sum);
    const LARGEST: Metric = metric("c", Kind::Largest);
    const SMALLEST: Metric = metric("d", Kind::Smallest);
    let mut page = Page::default();
    for (metric, values) in [
        (&SMALLEST, [1.0, 0.0]),
        (&LARGEST, [0.25, 3.0]),
        (&SUM, [1.0, -2.0]),
        (&COUNTER, [0.5, 1.0]),
    ] {
        for value in values {
            page.number(metric, vec![("l", "\"x\"\n\\".into())], value);
        }
    }
    let labels = r#"{l="\"x\"\n\\"}"#;
    let family = |name: &str, kind: &str, value: &str| {
        format!("# HELP {name} A\\nB\\\\\n# TYPE {name} {kind}\n{name}{labels} {value}\n")
    };
    let expect = [
        family("a_total", "counter", "1.5"),
        family("b", "gauge", "-1.0"),
        family("c", "gauge", "3"),
        family("d", "gauge", "0"),
    ];
    assert_eq!(page.encode(), expect.concat());
}

/// The values of all counters.
fn counters(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(series, _)| {
            let name = series.split('{').next().unwrap_or_default();
            ["_total", "_count", "_bucket"]
                .iter()
                .any(|end| name.ends_with(end))
        })
        .map(|(series, value)| (series.to_owned(), value.parse().unwrap()))
        .collect()
}

#[tokio::test]
async fn one_manager_goes_on_where_another_has_ended() {
    let server = HttpService::from_fn(|request: http::Request<Body>| async move {
        if request.uri().path() != "/api/v1/pods" {
            return Ok(Response::new(Body::from("{}")));
        }
        let events = concat!(
            r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","#,
            r#""metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1"}}}"#,
            r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","#,
            r#""annotations":{"k8s.io/initial-events-end":"true"}}}}"#
        );
        let events = stream::iter([Ok(Bytes::from_static(events.as_bytes()))]);
        Ok(Response::new(Body::stream(events.chain(stream::pending()))))
    });
    let client = Client::from_service(server, "default");
    let metrics = Metrics::new();
    let worked_on = Arc::new(Notify::new());
    let reconciler = {
        let worked_on = Arc::clone(&worked_on);
        crate::reconcile_fn(move |_, _| {
            worked_on.notify_one();
            async { Ok::<_, crate::Error>(crate::Outcome::done()) }
        })
    };
    let let_go = Arc::new(Notify::new());
    let passing = {
        let let_go = Arc::clone(&let_go);
        move |env: RunnableContext| {
            let let_go = Arc::clone(&let_go);
            async move {
                let scope = WatchScope {
                    labels: "mine".parse().unwrap(),
                    ..WatchScope::default()
                };
                let informer = env.informers.informer::<Pod>(&scope);
                informer.synced().await;
                drop(informer);
                let_go.notify_one();
                Ok::<_, std::convert::Infallible>(())
            }
        }
    };
    let operator = Operator::new("op")
        .controller(Controller::new("pods", reconciler).for_::<Pod>())
        .runnable("passing", passing);
    let mut last = BTreeMap::new();
    let mut not_less = |when: &str| {
        let text = metrics.encode();
        let now = counters(&text);
        for (series, was) in &last {
            let is = now.get(series);
            assert!(
                is.is_some_and(|is| is >= was),
                "{when}: {series} was {was}, is {is:?}"
            );
        }
        last = now;
        text
    };
    let of_pods = r#"{name="op",group="",version="v1",resource="pods"}"#;
    for run in 1..=3 {
        let options = ManagerOptions {
            metrics: Some(metrics.clone()),
            ..ManagerOptions::default()
        };
        let handle = Manager::new(&client, &operator, options)
            .start()
            .ready()
            .await
            .unwrap();
        worked_on.notified().await;
        let_go.notified().await;
        not_less("at work");
        handle.stop().await.unwrap();
        let text = not_less("stopped");
        // One informer is the controller's, and one the runnable's, which no scrape has seen.
        for (series, count) in [
            (
                r#"controller_runtime_reconcile_total{controller="pods",result="success"}"#.to_owned(),
                run,
            ),
            (
                r#"controller_runtime_reconcile_time_seconds_count{controller="pods"}"#.to_owned(),
                run,
            ),
            (format!("kubewright_informer_lists_total{of_pods}"), 2 * run),
            (
                format!("kubewright_informer_received_objects_total{of_pods}"),
                2 * run,
            ),
        ] {
            let line = format!("{series} {count}");
            assert!(text.lines().any(|found| found == line), "no {line}:\n{text}");
        }
        // States end with what has them.
        assert_eq!(lines(&text, "kubewright_informer_objects"), [""; 0]);
        assert_eq!(lines(&text, "controller_runtime_active_workers"), [""; 0]);
    }
    assert!(metrics.0.running.lock().is_empty());
}

#[test]
fn versions_keep_their_last_digits() {
    for (version, expect) in [
        ("", None),
        ("0", Some(0)),
        ("42", Some(42)),
        ("123456789012345", Some(123_456_789_012_345)),
        ("99123456789012345", Some(123_456_789_012_345)),
        ("a1", None),
        ("é23456789012345", None),
    ] {
        let version = kubewright_core::ResourceVersion::new(version);
        assert_eq!(running::last_digits(&version), expect, "{version:?}");
    }
}
