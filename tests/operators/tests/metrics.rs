//! What a manager at work reports, as Prometheus reads it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_client::RestMetrics as _;
use kubewright_runtime::{
    Context, Controller, Error, Manager, ManagerOptions, Metrics, Operator, Outcome, Request, reconcile_fn,
};
use kubewright_tests_operators::{Cluster, LIMIT};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

/// The value of a series, by its name and labels as they are written.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series))?;
    Some(line.strip_prefix(' ')?.parse().unwrap())
}

/// Every name, label, bucket and help text is a contract with dashboards; values are not.
fn without_values(text: &str) -> String {
    let line = |line: &str| match line.starts_with('#') {
        true => format!("{line}\n"),
        false => format!("{} _\n", line.rsplit_once(' ').unwrap().0),
    };
    text.lines().map(line).collect()
}

/// A manager of one controller that waits for a permit before each key, and tells which key it has worked on.
struct Bench {
    cluster: Cluster,
    metrics: Metrics,
    permits: Arc<Semaphore>,
    told: mpsc::UnboundedReceiver<String>,
    running: kubewright_runtime::Handle,
}

impl Bench {
    async fn start() -> Self {
        let cluster = Cluster::start().await;
        let metrics = Metrics::new();
        let permits = Arc::new(Semaphore::new(0));
        let (tell, told) = mpsc::unbounded_channel();
        let reconciler = {
            let permits = Arc::clone(&permits);
            reconcile_fn(move |ctx: Context, request: Request| {
                let (permits, tell) = (Arc::clone(&permits), tell.clone());
                async move {
                    permits.acquire().await?.forget();
                    let found = ctx.lister::<ConfigMap>()?.get(&request.key).await?;
                    let fails = found.is_some() && request.name() == "fails";
                    tell.send(request.name().to_owned())?;
                    match fails {
                        true => Err(Error::terminal("as it should")),
                        false => Ok(Outcome::done()),
                    }
                }
            })
        };
        let controller = Controller::new("maps", reconciler)
            .for_::<ConfigMap>()
            .reads::<Secret>();
        let options = ManagerOptions {
            metrics: Some(metrics.clone()),
            ..ManagerOptions::default()
        };
        let operator = Operator::new("tests").controller(controller);
        let running = Manager::new(&cluster.client, &operator, options).start();
        let running = running.ready().await.unwrap();
        Self {
            cluster,
            metrics,
            permits,
            told,
            running,
        }
    }

    async fn create(&self, name: &str) {
        let map = json!({"metadata": {"name": name}});
        self.cluster.create::<ConfigMap>(Some("default"), map).await;
    }

    /// Lets the reconciler work on one key.
    async fn work(&mut self) -> String {
        self.permits.add_permits(1);
        let told = tokio::time::timeout(LIMIT, self.told.recv()).await;
        told.expect("a key is worked on").unwrap()
    }

    /// Waits until a series has a value.
    async fn until(&self, series: &str, expect: f64) -> String {
        let wait = async {
            loop {
                let text = self.metrics.encode();
                if value(&text, series) == Some(expect) {
                    return text;
                }
                tokio::task::yield_now().await;
            }
        };
        let found = tokio::time::timeout(LIMIT, wait).await;
        found.unwrap_or_else(|_| panic!("{series} is not {expect}:\n{}", self.metrics.encode()))
    }
}

#[tokio::test]
async fn numbers_follow_the_work() {
    let mut bench = Bench::start().await;
    for name in ["one", "two", "fails"] {
        bench.create(name).await;
    }
    let depth = r#"workqueue_depth{name="maps",controller="maps",priority="0"}"#;
    // The one worker has the first, and waits for its permit.
    let text = bench.until(depth, 2.0).await;
    let of_maps = r#"{name="tests",group="",version="v1",resource="configmaps"}"#;
    let get =
        |text: &str, series: &str| value(text, series).unwrap_or_else(|| panic!("no {series}:\n{text}"));
    assert_eq!(
        get(&text, r#"controller_runtime_active_workers{controller="maps"}"#),
        1.0
    );
    assert_eq!(
        get(
            &text,
            r#"controller_runtime_max_concurrent_reconciles{controller="maps"}"#
        ),
        1.0
    );
    assert!(
        get(
            &text,
            r#"workqueue_longest_running_processor_seconds{name="maps",controller="maps"}"#
        ) > 0.0
    );
    assert_eq!(get(&text, &format!("kubewright_informer_synced{of_maps}")), 1.0);
    assert_eq!(get(&text, &format!("kubewright_informer_objects{of_maps}")), 3.0);
    assert_eq!(
        get(&text, &format!("kubewright_informer_lists_total{of_maps}")),
        1.0
    );
    assert!(get(&text, &format!("informer_store_resource_version{of_maps}")) > 0.0);
    assert_eq!(
        get(&text, r#"workqueue_adds_total{name="maps",controller="maps"}"#),
        3.0
    );

    for _ in 0..3 {
        bench.work().await;
    }
    let text = bench
        .until(
            r#"workqueue_work_duration_seconds_count{name="maps",controller="maps"}"#,
            3.0,
        )
        .await;
    assert_eq!(get(&text, depth), 0.0);
    for (result, expect) in [("success", 2.0), ("error", 1.0), ("requeue_after", 0.0)] {
        let series = format!(r#"controller_runtime_reconcile_total{{controller="maps",result="{result}"}}"#);
        assert_eq!(get(&text, &series), expect, "{text}");
    }
    assert_eq!(
        get(
            &text,
            r#"controller_runtime_terminal_reconcile_errors_total{controller="maps"}"#
        ),
        1.0
    );
    assert_eq!(
        get(
            &text,
            r#"controller_runtime_reconcile_time_seconds_count{controller="maps"}"#
        ),
        3.0
    );
    // Two informers, each with a request that is under way; a server in this process has no host.
    assert!(
        get(
            &text,
            r#"rest_client_requests_total{code="200",method="GET",host=""}"#
        ) >= 2.0
    );

    bench.running.stop().await.unwrap();
    let after = bench.metrics.encode();
    assert_eq!(
        get(&after, r#"workqueue_adds_total{name="maps",controller="maps"}"#),
        3.0
    );
    assert_eq!(value(&after, depth), None, "the queue is gone");
}

#[tokio::test]
async fn names_labels_and_buckets_are_a_contract() {
    let mut bench = Bench::start().await;
    bench.create("one").await;
    bench.work().await;
    // What this manager's client does not come to do.
    bench.metrics.count_retry("503", "GET", "kube:6443");
    bench
        .metrics
        .observe_rate_limiter("GET", "kube:6443", Duration::ZERO);
    bench.metrics.observe_response_size("GET", "kube:6443", 0);
    let text = bench
        .until(
            r#"workqueue_work_duration_seconds_count{name="maps",controller="maps"}"#,
            1.0,
        )
        .await;
    insta::assert_snapshot!(without_values(&text));
    bench.running.stop().await.unwrap();
}
