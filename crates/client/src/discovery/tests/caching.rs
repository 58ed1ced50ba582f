//! What is remembered, shared and asked for again.

use std::time::Duration;

use kubewright_core::{GroupKind, GroupVersionResource};

use super::*;

#[tokio::test(start_paused = true)]
async fn the_mapper_looks_again_once_and_keeps_its_distance() {
    let answers = aggregated();
    let (client, count) = server(&answers);
    let mapper = RestMapper::new(&client, MapperOptions::default());
    let widget = GroupVersionKind::new("example.com", "v1", "Widget");
    let pod = GroupVersionKind::new("", "v1", "Pod");
    assert_eq!(mapper.resource_of(&pod).await.unwrap().resource.plural, "pods");
    assert_eq!(mapper.resource_of(&pod).await.unwrap().resource.plural, "pods");
    assert_eq!(count.load(Ordering::Relaxed), 2);

    // Many who miss the same share one refresh, which waits for the interval to pass.
    let start = tokio::time::Instant::now();
    let (one, two) = tokio::join!(mapper.resource_of(&widget), mapper.resource_of(&widget));
    let message = one.unwrap_err().to_string();
    assert!(
        message.contains("example.com/v1, Kind=Widget") && message.contains("metrics.k8s.io"),
        "{message}"
    );
    assert!(two.is_err());
    assert_eq!(count.load(Ordering::Relaxed), 4);
    assert!(start.elapsed() >= Duration::from_secs(1));

    let list = json!({ "items": [{ "metadata": { "name": "example.com" }, "versions": [
        { "version": "v1", "resources": [resource("widgets", "Widget", "Namespaced", &["wd"])] },
    ] }] });
    answers
        .lock()
        .unwrap()
        .insert("/apis", (200, AGGREGATED, list.to_string()));
    assert_eq!(mapper.find("wd").await.unwrap().resource.plural, "widgets");
    let by_group_kind = GroupKind {
        group: "example.com".to_owned(),
        kind: "Widget".to_owned(),
    };
    assert_eq!(
        mapper
            .resource_of_kind(&by_group_kind)
            .await
            .unwrap()
            .resource
            .version,
        "v1"
    );
    let widgets = GroupVersionResource::new("example.com", "v1", "widgets");
    assert_eq!(mapper.kind_of(&widgets).await.unwrap(), widget);
    assert_eq!(count.load(Ordering::Relaxed), 6);
    mapper.invalidate();
    assert!(mapper.discovery().await.unwrap().parts().1.is_empty());
    assert_eq!(count.load(Ordering::Relaxed), 8);
}

fn counted(count: &AtomicUsize) -> usize {
    count.swap(0, Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn misses_are_remembered_for_a_while() {
    let (client, count) = server(&aggregated());
    let mapper = RestMapper::new(&client, MapperOptions::default());
    let missing = async |name: &str| assert!(mapper.find(name).await.unwrap_err().is_no_match(), "{name}");
    mapper.discovery().await.unwrap();
    missing("widgets").await;
    missing("gears").await;
    assert_eq!(counted(&count), 6);
    let start = tokio::time::Instant::now();
    for _ in 0..100 {
        missing("widgets").await;
        missing("gears").await;
    }
    assert_eq!((counted(&count), start.elapsed()), (0, Duration::ZERO));
    tokio::time::advance(MapperOptions::default().remember_misses).await;
    missing("widgets").await;
    assert_eq!(counted(&count), 2);
    // What is forgotten on purpose is asked for at once.
    mapper.invalidate();
    missing("widgets").await;
    assert_eq!(counted(&count), 2);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_misses_are_remembered() {
    let (client, count) = server(&aggregated());
    let options = MapperOptions {
        min_refresh_interval: Duration::ZERO,
        remember_misses: Duration::from_secs(3600),
    };
    let mapper = RestMapper::new(&client, options);
    let missing = async |n: usize| assert!(mapper.find(&format!("x{n}")).await.is_err());
    mapper.discovery().await.unwrap();
    for n in 0..=MAX_MISSES {
        missing(n).await;
    }
    counted(&count);
    missing(MAX_MISSES).await;
    assert_eq!(counted(&count), 0);
    missing(0).await;
    assert_eq!(counted(&count), 2);
}

#[tokio::test]
async fn those_who_ask_at_the_same_time_share_the_answer() {
    let answers = aggregated();
    let (client, count) = server(&answers);
    let cache = CachedDiscovery::new(&client);
    let ask = || futures_util::future::join_all((0..10).map(|_| cache.discover()));
    for answer in ask().await {
        answer.unwrap();
    }
    assert_eq!(counted(&count), 2);
    cache.discover().await.unwrap();
    assert_eq!(counted(&count), 0);

    // A failure too; the next question asks anew.
    cache.invalidate();
    answers
        .lock()
        .unwrap()
        .insert("/api", (500, "text/plain", "no".to_owned()));
    for answer in ask().await {
        assert!(answer.unwrap_err().is_internal_error());
    }
    assert_eq!(counted(&count), 1);
    assert!(cache.discover().await.is_err());
    assert_eq!(counted(&count), 1);
}

#[tokio::test]
async fn an_answer_to_an_older_question_is_not_kept() {
    let (client, count) = server(&aggregated());
    let cache = CachedDiscovery::new(&client);
    let (answer, ()) = tokio::join!(cache.discover(), async { cache.invalidate() });
    answer.unwrap();
    cache.discover().await.unwrap();
    assert_eq!(counted(&count), 4);
}

#[tokio::test]
async fn versions_whose_trouble_may_pass_are_asked_for_again() {
    let answers = legacy();
    let (client, count) = server(&answers);
    let cache = CachedDiscovery::new(&client);
    let metrics = GroupVersion::new("metrics.k8s.io", "v1beta1");
    cache.discover().await.unwrap();
    counted(&count);
    for _ in 0..2 {
        assert!(
            cache
                .version(&metrics)
                .await
                .unwrap_err()
                .is_service_unavailable()
        );
        assert_eq!(counted(&count), 1);
    }
    let body = json!({ "resources": [{ "name": "nodes", "kind": "NodeMetrics" }] }).to_string();
    let answer = (200, "application/json", body);
    answers
        .lock()
        .unwrap()
        .insert("/apis/metrics.k8s.io/v1beta1", answer);
    for expect in [1, 0] {
        assert_eq!(cache.version(&metrics).await.unwrap().resources.len(), 1);
        assert_eq!(counted(&count), expect);
    }
    cache
        .discover()
        .await
        .unwrap()
        .as_ref()
        .clone()
        .complete()
        .unwrap();

    // Others are not.
    let (client, count) = server(&aggregated());
    let cache = CachedDiscovery::new(&client);
    cache.discover().await.unwrap();
    counted(&count);
    assert!(cache.version(&metrics).await.unwrap_err().is_no_match());
    let unknown = GroupVersion::new("example.com", "v1");
    assert!(cache.version(&unknown).await.unwrap_err().is_no_match());
    assert_eq!(counted(&count), 0);
}
