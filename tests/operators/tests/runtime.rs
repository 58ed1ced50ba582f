//! Controllers of the runtime against the server: what reaches a reconciler, and what becomes of its answers.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::{Response, StatusCode};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use kubewright_client::{Api, Client, DeleteOptions, Patch, WriteOptions};
use kubewright_core::{ObjectKey, Resource, Status, StatusReason, owner_reference};
use kubewright_net::{Body, HttpService};
use kubewright_runtime::{
    Context, Controller, Error, Finalizer, Handle, Manager, ManagerOptions, Note, Operator, Outcome,
    Predicate, Request, RunError, StaleRead, WatchOptions, reconcile_fn,
};
use kubewright_tests_operators::{Cluster, LIMIT};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{mpsc, watch};

async fn start(client: &Client, controller: Controller) -> Handle {
    start_with(client, controller, ManagerOptions::default()).await
}

async fn start_with(client: &Client, controller: Controller, options: ManagerOptions) -> Handle {
    let operator = Operator::new("tests").controller(controller);
    Manager::new(client, &operator, options)
        .start()
        .ready()
        .await
        .unwrap()
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future)
        .await
        .unwrap_or_else(|_| panic!("{what} takes too long"))
}

fn map(name: &str) -> serde_json::Value {
    json!({"metadata": {"name": name}})
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

#[tokio::test]
async fn creations_changes_and_deletions_are_reconciled() {
    let cluster = Cluster::start().await;
    cluster.create::<ConfigMap>(Some("default"), map("before")).await;
    let (told, mut seen) = mpsc::unbounded_channel();
    let reconciler = reconcile_fn(move |ctx: Context, request: Request| {
        let told = told.clone();
        async move {
            let found = ctx.lister::<ConfigMap>()?.get(&request.key).await?;
            let data = match found {
                Some(map) => Some(map.object()?.data.clone().unwrap_or_default()),
                None => None,
            };
            told.send((request.name().to_owned(), data))?;
            Ok(Outcome::done())
        }
    });
    let ours = Predicate::on_object(|map: &kubewright_runtime::Cached<ConfigMap>| {
        map.namespace() == Some("default")
    });
    let controller = Controller::new("maps", reconciler).for_with(WatchOptions::new().predicate(ours));
    let running = start(&cluster.client, controller).await;
    let data = |value: &str| BTreeMap::from([("k".to_owned(), value.to_owned())]);
    assert_eq!(
        within("the initial state", seen.recv()).await.unwrap(),
        ("before".into(), Some(BTreeMap::new()))
    );
    cluster.create::<ConfigMap>(Some("default"), map("new")).await;
    assert_eq!(
        within("a creation", seen.recv()).await.unwrap(),
        ("new".into(), Some(BTreeMap::new()))
    );
    let patch = Patch::Merge(json!({"data": {"k": "v"}}));
    maps(&cluster.client)
        .patch("new", &patch, &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!(
        within("a change", seen.recv()).await.unwrap(),
        ("new".into(), Some(data("v")))
    );
    maps(&cluster.client)
        .delete("new", &DeleteOptions::default())
        .await
        .unwrap();
    assert_eq!(
        within("a deletion", seen.recv()).await.unwrap(),
        ("new".into(), None)
    );
    running.stop().await.unwrap();
}

#[tokio::test]
async fn failures_and_panics_are_tried_again_and_concern_nobody_else() {
    let cluster = Cluster::start().await;
    let tries = Arc::new(Mutex::new(BTreeMap::<String, u32>::new()));
    let (done, mut finished) = mpsc::unbounded_channel();
    let reconciler = {
        let tries = Arc::clone(&tries);
        reconcile_fn(move |_, request: Request| {
            let (tries, done) = (Arc::clone(&tries), done.clone());
            async move {
                let count = {
                    let mut tries = tries.lock();
                    let count = tries.entry(request.name().to_owned()).or_default();
                    *count += 1;
                    *count
                };
                match (request.name(), count) {
                    ("panics", 1..=2) => panic!("as it should"),
                    ("fails", 1..=3) => return Err(Error::new("not yet")),
                    ("terminal", _) => {
                        done.send(request.name().to_owned())?;
                        return Err(Error::terminal("never"));
                    }
                    ("again", 1) => return Ok(Outcome::requeue_after(Duration::from_millis(1))),
                    ("panics" | "fails" | "again" | "fine", _) => done.send(request.name().to_owned())?,
                    _ => {}
                }
                Ok(Outcome::done())
            }
        })
    };
    let running = start(
        &cluster.client,
        Controller::new("maps", reconciler).for_::<ConfigMap>(),
    )
    .await;
    for name in ["panics", "fails", "terminal", "again", "fine"] {
        cluster.create::<ConfigMap>(Some("default"), map(name)).await;
    }
    let mut names = Vec::new();
    while names.len() < 5 {
        names.push(within("every key", finished.recv()).await.unwrap());
    }
    names.sort();
    assert_eq!(names, ["again", "fails", "fine", "panics", "terminal"]);
    let counts = running.health().controllers[0].1;
    assert_eq!(
        (counts.panics, counts.terminal_errors, counts.requeue_after),
        (2, 1, 1)
    );
    assert_eq!(counts.errors, 5, "three failures and two panics");
    assert_eq!(tries.lock()["terminal"], 1);
    running.stop().await.unwrap();
}

/// Keeps one config map of its own for each service account named `owner`.
fn keeper() -> Controller {
    let reconciler = reconcile_fn(|ctx: Context, request: Request| async move {
        if !request.name().starts_with("owner") {
            return Ok(Outcome::done());
        }
        let Some(account) = ctx.lister::<ServiceAccount>()?.get(&request.key).await? else {
            return Ok(Outcome::done());
        };
        if !ctx
            .lister::<ConfigMap>()?
            .owned_by(account.uid())
            .await?
            .is_empty()
        {
            return Ok(Outcome::done());
        }
        let mut owned = ConfigMap::default();
        owned.metadata.generate_name = Some("owned-".into());
        owned.metadata.namespace = Some(request.namespace().to_owned());
        owned.metadata.owner_references = owner_reference(&*account.object()?).map(|owner| vec![owner]);
        ctx.api::<ConfigMap>(request.namespace())
            .create(&owned, &WriteOptions::default())
            .await?;
        Ok(Outcome::done())
    });
    Controller::new("keeper", reconciler)
        .for_::<ServiceAccount>()
        .owns::<ConfigMap>()
        .concurrency(4)
}

fn owned(maps: &kubewright_cache::Lister<ConfigMap>) -> Vec<String> {
    let maps = maps.list_namespace("default");
    maps.iter()
        .map(|map| map.name().to_owned())
        .filter(|name| name.starts_with("owned-"))
        .collect()
}

#[tokio::test]
async fn owners_hear_of_what_they_own_and_a_restart_goes_on_where_it_was() {
    let cluster = Cluster::start().await;
    let running = start(&cluster.client, keeper()).await;
    cluster
        .create::<ServiceAccount>(Some("default"), map("owner"))
        .await;
    cluster
        .eventually::<ConfigMap>("an owned map", |maps| owned(maps).len() == 1)
        .await;
    let mut first = String::new();
    for map in maps(&cluster.client)
        .list(&kubewright_client::ListOptions::default())
        .await
        .unwrap()
        .items
    {
        if map.name().starts_with("owned-") {
            first = map.name().to_owned();
        }
    }
    maps(&cluster.client)
        .delete(&first, &DeleteOptions::default())
        .await
        .unwrap();
    cluster
        .eventually::<ConfigMap>("another", |maps| {
            let owned = owned(maps);
            owned.len() == 1 && owned[0] != first
        })
        .await;
    running.stop().await.unwrap();
    // What happens while nobody looks is made up for.
    for number in 0..5 {
        cluster
            .create::<ServiceAccount>(Some("default"), map(&format!("owner{number}")))
            .await;
    }
    let running = start(&cluster.client, keeper()).await;
    cluster
        .eventually::<ConfigMap>("six owned maps", |maps| owned(maps).len() == 6)
        .await;
    running.stop().await.unwrap();
}

/// A client whose watches are cut after each event.
fn cut(client: &Client) -> Client {
    client.layer(&layer(|inner, request| async move {
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        let response = inner.send(request).await?;
        if !is_watch {
            return Ok(response);
        }
        let (parts, mut body) = response.into_parts();
        let first = body.chunk().await?.unwrap_or_default();
        Ok(Response::from_parts(parts, Body::from(first)))
    }))
}

fn layer<F, Fut>(function: F) -> impl tower_layer::Layer<HttpService, Service = HttpService>
where
    F: Fn(HttpService, http::Request<Body>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Response<Body>, kubewright_net::TransportError>> + Send + 'static,
{
    tower_layer::layer_fn(move |inner: HttpService| {
        let function = function.clone();
        HttpService::from_fn(move |request| function(inner.clone(), request))
    })
}

#[tokio::test]
async fn watches_that_are_cut_lose_nothing() {
    let cluster = Cluster::start().await;
    let running = start(&cut(&cluster.client), keeper()).await;
    for number in 0..3 {
        cluster
            .create::<ServiceAccount>(Some("default"), map(&format!("owner{number}")))
            .await;
    }
    cluster
        .eventually::<ConfigMap>("three owned maps", |maps| owned(maps).len() == 3)
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn stopping_waits_for_running_work_up_to_the_grace_period() {
    for (grace, is_released) in [(LIMIT, true), (Duration::from_millis(50), false)] {
        let cluster = Cluster::start().await;
        let (begun, release) = (watch::Sender::new(0_u32), watch::Sender::new(false));
        let finished = Arc::new(AtomicU32::new(0));
        let reconciler = {
            let (begun, release, finished) = (begun.clone(), release.clone(), Arc::clone(&finished));
            reconcile_fn(move |_, _| {
                begun.send_modify(|begun| *begun += 1);
                let (mut release, finished) = (release.subscribe(), Arc::clone(&finished));
                async move {
                    let _ = release.wait_for(|released| *released).await;
                    finished.fetch_add(1, Ordering::SeqCst);
                    Ok(Outcome::done())
                }
            })
        };
        // Whatever passes the predicate is on the queue before anything else runs here.
        let queued = watch::Sender::new(false);
        let passing = queued.clone();
        let predicate = Predicate::on_object(move |secret: &kubewright_runtime::Cached<Secret>| {
            passing.send_if_modified(|queued| {
                *queued |= secret.name() == "two";
                *queued
            });
            true
        });
        let only = WatchOptions::new()
            .scope(kubewright_runtime::WatchScope::namespace("default"))
            .predicate(predicate);
        let controller = Controller::new("slow", reconciler).for_with::<Secret>(only);
        let options = ManagerOptions {
            grace,
            ..ManagerOptions::default()
        };
        let running = start_with(&cluster.client, controller, options).await;
        cluster.create::<Secret>(Some("default"), map("one")).await;
        within("the first run", begun.subscribe().wait_for(|begun| *begun == 1))
            .await
            .unwrap();
        cluster.create::<Secret>(Some("default"), map("two")).await;
        within(
            "the second on the queue",
            queued.subscribe().wait_for(|queued| *queued),
        )
        .await
        .unwrap();
        // Only once the stop was requested may the run end.
        running.stopper().request();
        if is_released {
            release.send_replace(true);
        }
        let stopped = within("the stop", running.stop()).await;
        assert_eq!(stopped.is_ok(), is_released, "{stopped:?}");
        if let Err(RunError::Grace { unfinished, .. }) = &stopped {
            assert_eq!(unfinished, &["slow"]);
        }
        // What was queued behind it is not begun any more.
        assert_eq!(*begun.borrow(), 1);
        assert_eq!(finished.load(Ordering::SeqCst), u32::from(is_released));
    }
}

/// A client whose watch events are held back while the gate is shut.
fn gated(client: &Client, gate: &watch::Sender<bool>) -> Client {
    let gate = gate.clone();
    client.layer(&layer(move |inner, request| {
        let gate = gate.clone();
        async move {
            let is_watch = request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"));
            let response = inner.send(request).await?;
            if !is_watch {
                return Ok(response);
            }
            let (parts, body) = response.into_parts();
            let stream = futures_util::stream::unfold((body, gate), |(mut body, gate)| async move {
                let chunk = body.chunk().await.transpose()?;
                let mut open = gate.subscribe();
                let _ = open.wait_for(|open| *open).await;
                Some((chunk, (body, gate)))
            });
            Ok(Response::from_parts(parts, Body::stream(stream)))
        }
    }))
}

#[tokio::test]
async fn reads_see_ones_own_writes_or_fail() {
    for opens in [true, false] {
        let cluster = Cluster::start().await;
        let gate = watch::Sender::new(true);
        let (told, mut seen) = mpsc::unbounded_channel();
        let reconciler = reconcile_fn(move |ctx: Context, request: Request| {
            let told = told.clone();
            async move {
                if request.name() != "go" {
                    return Ok(Outcome::done());
                }
                let child = ConfigMap {
                    metadata: kubewright_core::ObjectMeta {
                        name: Some("child".into()),
                        ..Default::default()
                    },
                    ..ConfigMap::default()
                };
                ctx.api::<ConfigMap>("default")
                    .create(&child, &WriteOptions::default())
                    .await?;
                told.send("written")?;
                let read = ctx
                    .lister::<ConfigMap>()?
                    .get(&ObjectKey::namespaced("default", "child"))
                    .await;
                told.send(match read {
                    Ok(Some(_)) => "seen",
                    Ok(None) => "missed",
                    Err(StaleRead { .. }) => "stale",
                })?;
                Ok(Outcome::done())
            }
        });
        let controller = Controller::new("writer", reconciler)
            .for_::<Secret>()
            .reads::<ConfigMap>();
        let options = ManagerOptions {
            read_limit: if opens { LIMIT } else { Duration::from_millis(50) },
            ..ManagerOptions::default()
        };
        // Only the watch of config maps is held back.
        let held = {
            let (gated, plain) = (gated(&cluster.client, &gate), cluster.client.clone());
            cluster.client.layer(&layer(move |_, request| {
                let is_maps = request.uri().path().ends_with("/configmaps");
                let client = if is_maps { gated.clone() } else { plain.clone() };
                async move {
                    client
                        .request_stream(request)
                        .await
                        .map_err(|e| kubewright_net::TransportError::other("testing", e))
                }
            }))
        };
        let running = start_with(&held, controller, options).await;
        gate.send_replace(false);
        cluster.create::<Secret>(Some("default"), map("go")).await;
        assert_eq!(within("the write", seen.recv()).await, Some("written"));
        if opens {
            assert!(seen.try_recv().is_err(), "the read waits");
            gate.send_replace(true);
        }
        let expect = if opens { "seen" } else { "stale" };
        assert_eq!(within("the read", seen.recv()).await, Some(expect));
        gate.send_replace(true);
        running.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_cache_that_cannot_sync_is_named() {
    let cluster = Cluster::start().await;
    let client = cluster.client.layer(&layer(|inner, request| async move {
        if !request.uri().path().ends_with("/secrets") {
            return inner.send(request).await;
        }
        let status =
            Status::failure(StatusReason::Forbidden, "secrets is forbidden: not for you").with_code(403);
        let mut response = Response::new(Body::from(serde_json::to_vec(&status).unwrap()));
        *response.status_mut() = StatusCode::FORBIDDEN;
        Ok(response)
    }));
    let reconciler = reconcile_fn(|_, _| async { Ok(Outcome::done()) });
    let controller = Controller::new("blind", reconciler)
        .for_::<ConfigMap>()
        .owns::<Secret>();
    let operator = Operator::new("tests").controller(controller);
    let options = ManagerOptions {
        sync_timeout: Duration::from_millis(300),
        ..ManagerOptions::default()
    };
    let ended = within(
        "the failure",
        Manager::new(&client, &operator, options).start().ready(),
    )
    .await;
    let Err(RunError::CacheSync { failures, .. }) = ended else {
        panic!("{ended:?}")
    };
    let texts: Vec<_> = failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures.len(), 1, "{texts:?}");
    assert_eq!(failures[0].resource.resource, "secrets");
    assert!(
        texts[0].contains("blind") && texts[0].contains("not for you"),
        "{texts:?}"
    );
}

#[tokio::test]
async fn finalizers_come_and_go_beside_others() {
    let cluster = Cluster::start().await;
    let (ours, theirs) = (
        Finalizer::new("example.com/ours"),
        Finalizer::new("example.com/theirs"),
    );
    let api = maps(&cluster.client);
    let before = cluster.create::<ConfigMap>(Some("default"), map("m")).await;
    // Both start from the same, stale state.
    theirs.add(&api, &before).await.unwrap();
    ours.add(&api, &before).await.unwrap();
    ours.add(&api, &before).await.unwrap();
    let both = api.get("m").await.unwrap();
    assert_eq!(
        both.metadata.finalizers.as_deref().unwrap().len(),
        2,
        "{:?}",
        both.metadata
    );
    api.delete("m", &DeleteOptions::default()).await.unwrap();
    let going = api.get("m").await.unwrap();
    let cleaned = AtomicU32::new(0);
    let nothing = || async { Ok(Outcome::done()) };
    let clean = || async {
        cleaned.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::done())
    };
    theirs.remove(&api, &both).await.unwrap();
    let outcome = ours.run(&api, &going, nothing, clean).await.unwrap();
    assert_eq!(outcome, Outcome::done());
    assert_eq!(cleaned.load(Ordering::SeqCst), 1);
    assert!(api.get_opt("m").await.unwrap().is_none());
    ours.remove(&api, &going).await.unwrap();
}

#[tokio::test]
async fn events_are_recorded_as_series() {
    let cluster = Cluster::start().await;
    let reconciler = reconcile_fn(|ctx: Context, request: Request| async move {
        let map = ctx.lister::<ConfigMap>()?.get(&request.key).await?;
        if let Some(map) = map.filter(|map| map.name() == "loud") {
            for _ in 0..2 {
                ctx.events()
                    .publish(&*map.object()?, Note::normal("Heard", "Listen", "it is loud"));
            }
        }
        Ok(Outcome::done())
    });
    let running = start(
        &cluster.client,
        Controller::new("listener", reconciler).for_::<ConfigMap>(),
    )
    .await;
    cluster.create::<ConfigMap>(Some("default"), map("loud")).await;
    cluster
        .eventually::<Event>("one event, twice", |events| {
            let events = events.list_namespace("default");
            events.len() == 1 && {
                let event = events[0].object().unwrap();
                event.reporting_controller.as_deref() == Some("listener")
                    && event.series.as_ref().is_some_and(|series| series.count == 2)
            }
        })
        .await;
    running.stop().await.unwrap();
}
