//! Faults that informers and work queues of others had, and where it is held that ours do not have them.
//!
//! | what goes wrong there | test here |
//! |---|---|
//! | after a restart the first list is from an older cache: time runs backwards (kubernetes#59848) | `reflector::lists_and_pages` |
//! | a version that is too large for the server is asked for again and again (kubernetes#107133, #92537, #94316) | `reflector::a_version_from_the_future_is_dropped_at_once` |
//! | a version that expired is listed and watched for ever (kubernetes#133810); a watch answered with 410 never lists (kube-rs) | `reflector::expired_versions_never_loop` |
//! | a restored server rewinds versions, and changes are missed (kubernetes#107457) | `model::any_schedule_keeps_its_promises`, `informer::every_history_converges` |
//! | a connection that is half open holds an informer up (client-go#374, kubernetes#65012) | [`a_silent_connection_is_given_up`] |
//! | the bookmark that ends a streaming list never comes (kubernetes#135895, #129408) | `reflector::streaming_lists`; for all informers of a resource `lifecycle::that_lists_cannot_be_streamed_is_found_out_once` |
//! | a filter around a watch drops bookmarks (kube-state-metrics#2973, #1390) | `sharding::source::tests::a_dropped_event_becomes_a_bookmark` |
//! | one object keeps the whole list it came in in memory (kubernetes#113305, client-go#1138) | [`a_stored_object_does_not_hold_its_page`] |
//! | a transform changes what others read (kubernetes#124337) | `store::a_transform_owns_the_bytes_before_anyone_sees_them` |
//! | a slow handler has a buffer without end (kubernetes#103789, #121474) | `listener::a_slow_handler_is_told_the_difference`, `soak::memory_stays_flat` |
//! | readers keep the writer of the store waiting (kubernetes#130767) | `store::index_functions_keep_no_reader_waiting` |
//! | a list anew doubles the memory (client-go#1377, kube-rs#1209, #1487) | `store::what_is_stored_is_not_copied_again`, `soak::memory_stays_flat` |
//! | a queue that is shut down twice panics or hangs (controller-runtime#3239, #3538) | the queue's `interleavings::shutdowns_at_once_all_end` |
//! | low priorities never have their turn (controller-runtime#3496) | the queue's `tests::low_priorities_get_their_share_and_no_more` |
//! | what is forbidden, or not there, is waited for in silence (controller-runtime#1653) | [`what_is_forbidden_is_said`] |
//! | a kind that went away is asked for without end (controller-runtime#1884, #2983) | [`a_kind_may_go_and_come_back`]; informers that nobody holds stop: `informer::one_informer_for_all_who_ask_for_the_same` |
//! | all secrets of a cluster in memory (argocd-operator, cass-operator#947) | scopes and metadata alone: `client::metadata_alone_is_another_informer` |
//! | an addition leaves the delayed one behind, which runs once more (kubernetes#126027) | the queue's `tests::delays` |
//! | waits between failed lists do not grow (kube-rs#577) | `reflector::waits_grow_to_a_limit_and_start_small_again` |
//! | one watch that fails holds all up (trino-operator#936) | [`a_watch_that_fails_delays_no_other`] |
//! | a server that refuses streaming lists is asked for ever (kube-rs) | `reflector::streaming_lists` |
//! | a streaming list that breaks off, or a deletion within it, leaves ghosts (kube-rs) | `reflector::streaming_lists`, `model::any_schedule_keeps_its_promises` |
//! | a server that closes each watch at once gets thousands of requests a second (kube-rs) | [`watches_that_close_at_once_are_not_hammered`] |
//! | what came and went leaves a handler asleep (kube-rs#1590) | [`a_handler_wakes_after_what_came_and_went`] |
//! | one object that cannot be decoded stops all (kube-rs#774, #265) | `client::an_object_that_is_no_json_concerns_no_other`, `informer::failures_are_said_and_forgotten` |
//! | a watch that goes on has all objects sent again (kube-rs#1844) | [`a_watch_goes_on_without_the_initial_state`] |
//! | deletions and objects made anew are swallowed (kube-rs#1768, #1830; kubernetes#133565) | `store::changes`, `model::any_schedule_keeps_its_promises` |
//! | an informer that was stopped is of no use any more (client-go) | `lifecycle::a_stopped_informer_starts_again_where_it_was` |
//! | a resync of many objects delays what really changed (client-go) | `listener::a_change_goes_before_a_hundred_thousand_resynced_keys` |
//! | removing a handler from within itself hangs (client-go) | `handlers::a_handler_can_remove_itself` |

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use k8s_openapi::api::core::v1::Pod;
use kubewright_client::RawEvent;
use kubewright_core::{ApiResource, ListMeta, ListOptions, Status, StatusReason};
use parking_lot::Mutex;
use tokio::time::{Instant, advance, timeout};

use super::informer::{Mirror, Shared, settle, truth};
use super::server::{Faults, Server};
use super::{empty_store, json, pods};
use crate::source::{BoxFuture, ItemSink, ListerWatcher, SourceError, WatchStream};
use crate::store::Versions;
use crate::{HandlerOptions, InformerOptions, SharedInformer};

/// What becomes of a request on its way.
#[derive(Debug, Clone)]
enum Way {
    Through,
    /// Answered with this.
    Refused(StatusReason, u16),
    /// A watch that is opened, and nothing comes.
    Silent,
    /// A watch that is opened and closed.
    Closed,
}

/// The model server behind something that gets in the way.
struct Proxy {
    server: Arc<Server>,
    lists: Mutex<Way>,
    watches: Mutex<Way>,
    asked: Mutex<Vec<ListOptions>>,
}

impl Proxy {
    fn new() -> Arc<Self> {
        let server = Server::new(1, Faults::default());
        server.0.lock().put("n/a");
        Arc::new(Self {
            server,
            lists: Mutex::new(Way::Through),
            watches: Mutex::new(Way::Through),
            asked: Mutex::default(),
        })
    }

    fn informer(self: &Arc<Self>) -> SharedInformer<Pod> {
        let source: Arc<dyn ListerWatcher> = self.clone();
        let options = InformerOptions {
            seed: Some(1),
            ..InformerOptions::default()
        };
        SharedInformer::spawn(pods(), source, options)
    }

    fn set(&self, way: Way) {
        *self.lists.lock() = way.clone();
        *self.watches.lock() = way;
        self.server.0.lock().break_watches();
    }

    /// Lists, watches and the wish for streaming lists, of what was asked since the last look.
    fn asked(&self) -> Vec<&'static str> {
        let asked = self.asked.lock().drain(..).collect::<Vec<_>>();
        let asked = asked.iter().map(|options| match options {
            options if options.send_initial_events == Some(true) => "stream",
            options if options.watch => "watch",
            _ => "list",
        });
        asked.collect()
    }
}

struct Never;

impl Stream for Never {
    type Item = Result<RawEvent, SourceError>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

struct Ended;

impl Stream for Ended {
    type Item = Result<RawEvent, SourceError>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

fn refusal(reason: StatusReason, code: u16) -> SourceError {
    let mut status = Status::failure(reason, "not for you");
    status.code = code;
    SourceError::status(status)
}

impl ListerWatcher for Proxy {
    fn list_page<'a>(
        &'a self,
        options: ListOptions,
        items: &'a mut dyn ItemSink,
    ) -> BoxFuture<'a, Result<ListMeta, SourceError>> {
        self.asked.lock().push(options.clone());
        let way = self.lists.lock().clone();
        match way {
            Way::Refused(reason, code) => Box::pin(async move { Err(refusal(reason, code)) }),
            _ => self.server.list_page(options, items),
        }
    }

    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>> {
        self.asked.lock().push(options.clone());
        let way = self.watches.lock().clone();
        match way {
            Way::Through => self.server.watch(options),
            Way::Refused(reason, code) => Box::pin(async move { Err(refusal(reason, code)) }),
            Way::Silent => Box::pin(async { Ok(Box::pin(Never) as WatchStream) }),
            Way::Closed => Box::pin(async { Ok(Box::pin(Ended) as WatchStream) }),
        }
    }
}

async fn pass(seconds: u64) {
    for _ in 0..seconds {
        advance(Duration::from_secs(1)).await;
        settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_given_up() {
    let proxy = Proxy::new();
    let informer = proxy.informer();
    informer.synced().await;
    *proxy.watches.lock() = Way::Silent;
    proxy.server.0.lock().break_watches();
    pass(5).await;
    // The connection is dead and nobody says so. What happens meanwhile is not lost, and not waited for longer than the
    // longest watch and its grace.
    *proxy.watches.lock() = Way::Through;
    proxy.server.0.lock().put("n/b");
    let lister = informer.lister();
    let before = Instant::now();
    timeout(
        Duration::from_secs(3600),
        lister.wait_until(|lister| lister.len() == 2),
    )
    .await
    .expect("it goes on");
    assert!(
        before.elapsed() <= Duration::from_secs(630),
        "{:?}",
        before.elapsed()
    );
}

#[test]
fn a_stored_object_does_not_hold_its_page() {
    let store = empty_store();
    let page = Bytes::from(["n/a", "n/b"].map(|key| json(key, "u", 1)).concat());
    let item = page.slice(..json("n/a", "u", 1).len());
    let record = store.ingest(&item, Versions::Trusted).unwrap();
    drop(item);
    assert!(page.is_unique(), "{record:?} holds all of the page");
}

#[tokio::test(start_paused = true)]
async fn what_is_forbidden_is_said() {
    let proxy = Proxy::new();
    proxy.set(Way::Refused(StatusReason::Forbidden, 403));
    let informer = proxy.informer();
    let mut health = informer.health();
    let health = timeout(
        Duration::from_secs(5),
        health.wait_for(|health| health.failure.is_some()),
    );
    let failure = health.await.unwrap().unwrap().failure.clone().unwrap();
    let text = failure.to_string();
    assert!(text.starts_with("cannot watch v1, Resource=pods: "), "{text}");
    assert!(
        text.contains("not for you") && failure.error.as_status().is_some(),
        "{text}"
    );
    // The right is granted: nothing has to be restarted.
    proxy.set(Way::Through);
    timeout(Duration::from_secs(60), informer.synced()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_may_go_and_come_back() {
    let proxy = Proxy::new();
    let informer = proxy.informer();
    let mirror: Arc<Mirror> = Arc::default();
    let registration = informer.add_handler(Shared(mirror.clone()), HandlerOptions::default());
    registration.synced().await;
    proxy.asked();
    // The definition is deleted, and with it its objects.
    proxy.server.0.lock().delete("n/a");
    settle().await;
    proxy.set(Way::Refused(StatusReason::NotFound, 404));
    pass(600).await;
    let asked = proxy.asked().len();
    assert!((5..60).contains(&asked), "{asked} requests in ten minutes");
    assert!(informer.health().borrow().failure.is_some());
    proxy.set(Way::Through);
    proxy.server.0.lock().put("n/b");
    pass(61).await;
    assert!(informer.health().borrow().failure.is_none());
    assert_eq!(
        *mirror.calls.lock(),
        ["add n/a Yes", "delete n/a Known", "add n/b No"]
    );
    assert_eq!(*mirror.objects.lock(), truth(&proxy.server));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_delays_no_other() {
    let (bad, good) = (Proxy::new(), Proxy::new());
    bad.set(Way::Refused(StatusReason::Forbidden, 403));
    let (source, other): (Arc<dyn ListerWatcher>, Arc<dyn ListerWatcher>) = (bad.clone(), good.clone());
    let informers = crate::Informers::new(
        move |resource: &ApiResource, _: &crate::WatchScope| match resource.plural.as_str() {
            "pods" => Arc::clone(&other),
            _ => Arc::clone(&source),
        },
        InformerOptions::default(),
    );
    let secrets = ApiResource {
        kind: "Secret".into(),
        plural: "secrets".into(),
        ..pods()
    };
    let scope = crate::WatchScope::default();
    let failing = informers.informer_for::<Pod>(&secrets, &scope);
    pass(300).await;
    assert!(failing.health().borrow().failure.is_some());
    let before = Instant::now();
    let informer = informers.informer_for::<Pod>(&pods(), &scope);
    informer.synced().await;
    for version in 0..20 {
        good.server.0.lock().put(&format!("n/{version}"));
        settle().await;
        assert_eq!(informer.lister().len(), 2 + version);
    }
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn watches_that_close_at_once_are_not_hammered() {
    let proxy = Proxy::new();
    let informer = proxy.informer();
    informer.synced().await;
    proxy.asked();
    *proxy.watches.lock() = Way::Closed;
    proxy.server.0.lock().break_watches();
    pass(600).await;
    let asked = proxy.asked();
    assert!(
        (5..60).contains(&asked.len()),
        "{} requests in ten minutes",
        asked.len()
    );
    assert!(informer.health().borrow().failure.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_handler_wakes_after_what_came_and_went() {
    let proxy = Proxy::new();
    let informer = proxy.informer();
    let mirror: Arc<Mirror> = Arc::default();
    let registration = informer.add_handler(Shared(mirror.clone()), HandlerOptions::default());
    registration.synced().await;
    for round in 0..3 {
        mirror.calls.lock().clear();
        {
            let mut server = proxy.server.0.lock();
            server.put("n/x");
            server.delete("n/x");
            server.put(&format!("n/{round}"));
        }
        settle().await;
        assert_eq!(mirror.calls.lock().last().unwrap(), &format!("add n/{round} No"));
        assert_eq!(registration.pending(), 0);
    }
    assert_eq!(*mirror.faults.lock(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_without_the_initial_state() {
    let proxy = Proxy::new();
    let informer = proxy.informer();
    informer.synced().await;
    assert_eq!(proxy.asked(), ["stream"]);
    for _ in 0..5 {
        pass(290).await;
        proxy.server.0.lock().bookmark();
        settle().await;
        proxy.server.0.lock().break_watches();
        settle().await;
        assert_eq!(proxy.asked(), ["watch"]);
    }
}

/// All Rust files in a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_table_names_tests_that_exist() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for folder in ["src", "tests", "../queue/src"] {
        sources(&crates.join(folder), &mut text);
    }
    let table = include_str!("upstream.rs")
        .lines()
        .filter(|line| line.starts_with("//! |"));
    let mut names = 0;
    for name in table.flat_map(|line| line.split('`').skip(1).step_by(2)) {
        let function = name.rsplit("::").next().unwrap_or(name);
        assert!(
            text.contains(&format!("fn {function}(")),
            "no test is named {name}"
        );
        names += 1;
    }
    assert!(names > 30, "{names}");
}
