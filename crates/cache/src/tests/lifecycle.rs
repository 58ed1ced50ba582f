//! Stopping and starting, what is said of failures, and what informers learn from each other.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kubewright_core::{ListMeta, ListOptions};
use parking_lot::Mutex;
use tokio::time::{Instant, advance, timeout};

use super::informer::{Mirror, Shared, settle, spawn, truth};
use super::pods;
use super::server::{Faults, Server};
use crate::informer::{Core, drivers};
use crate::lifecycle::Stop;
use crate::reflector::{StreamingSupport, Verb};
use crate::source::{BoxFuture, ItemSink, ListerWatcher, SourceError, WatchStream};
use crate::{HandlerOptions, InformerOptions, Informers, SharedInformer, WatchErrorHook, WatchScope};

/// client-go's informers never run again.
#[tokio::test(start_paused = true)]
async fn a_stopped_informer_starts_again_where_it_was() {
    let server = Server::new(1, Faults::default());
    server.0.lock().put("n/a");
    server.0.lock().put("n/b");
    let informer = spawn(&server, 1);
    let mirror: Arc<Mirror> = Arc::default();
    let registration = informer.add_handler(Shared(mirror.clone()), HandlerOptions::default());
    registration.synced().await;
    assert_eq!(mirror.calls.lock().drain(..).count(), 2);

    informer.stop().await;
    settle().await;
    assert_eq!(server.open_watches(), 0);
    assert!(informer.is_stopped() && informer.health().borrow().stopped);
    let lists = server.0.lock().lists;
    {
        let mut state = server.0.lock();
        state.put("n/c");
        state.delete("n/b");
    }
    advance(Duration::from_secs(3600)).await;
    settle().await;
    assert_eq!(*mirror.calls.lock(), [""; 0]);
    // The present state can be read, and handlers can come meanwhile.
    assert_eq!(informer.lister().len(), 2);
    let late: Arc<Mirror> = Arc::default();
    let other = informer.add_handler(Shared(late.clone()), HandlerOptions::default());
    other.synced().await;
    assert_eq!(late.calls.lock().len(), 2);

    informer.start();
    informer.start();
    informer
        .lister()
        .wait_until(|lister| lister.version().as_str() == "14")
        .await;
    settle().await;
    assert_eq!(*mirror.calls.lock(), ["add n/c No", "delete n/b Known"]);
    assert_eq!(*late.objects.lock(), truth(&server));
    assert_eq!(
        server.0.lock().lists,
        lists,
        "the watch went on from the last version"
    );
    assert!(!informer.is_stopped() && !informer.health().borrow().stopped);

    // What the server has forgotten is found out by a list.
    informer.stop().await;
    mirror.calls.lock().clear();
    {
        let mut state = server.0.lock();
        state.delete("n/a");
        state.put("n/a");
        state.compact();
    }
    informer.start();
    informer
        .lister()
        .wait_until(|lister| lister.version().as_str() == "16")
        .await;
    settle().await;
    assert_eq!(*mirror.calls.lock(), ["delete n/a Unknown", "add n/a No"]);
    for mirror in [mirror, late] {
        assert_eq!(*mirror.faults.lock(), [""; 0]);
        assert_eq!(*mirror.objects.lock(), truth(&server));
    }
}

#[tokio::test(start_paused = true)]
async fn stops_and_starts_at_any_time_lose_nothing() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let server = Server::new(seed, Faults::default());
        let informer = spawn(&server, seed);
        let mirror: Arc<Mirror> = Arc::default();
        let registration = informer.add_handler(Shared(mirror.clone()), HandlerOptions::default());
        for _ in 0..30 {
            match random.u8(..6) {
                0 | 1 => server.0.lock().put(&format!("n/{}", random.u8(..4))),
                2 => server.0.lock().delete(&format!("n/{}", random.u8(..4))),
                3 => informer.start(),
                4 => informer.stop().await,
                _ => drop(informer.stop()),
            }
            for _ in 0..random.u8(..4) {
                tokio::task::yield_now().await;
            }
        }
        informer.start();
        server.0.lock().put("n/last");
        let version = server.0.lock().version.to_string();
        let lister = informer.lister();
        let reached = lister.wait_until(|lister| lister.version().as_str() == version);
        timeout(Duration::from_secs(600), reached)
            .await
            .unwrap_or_else(|_| panic!("seed {seed}: it does not go on"));
        registration.synced().await;
        settle().await;
        assert_eq!(
            *mirror.faults.lock(),
            [""; 0],
            "seed {seed}: {:?}",
            mirror.calls.lock()
        );
        assert_eq!(*mirror.objects.lock(), truth(&server), "seed {seed}");
    }
}

/// An informer that nothing drives, in so many ranges.
fn core(shards: usize) -> Arc<Core> {
    let options = InformerOptions {
        shards: NonZeroUsize::new(shards).unwrap(),
        ..InformerOptions::default()
    };
    let server = Server::new(1, Faults::default());
    drivers(pods(), server, options, StreamingSupport::default()).0
}

fn reset() -> SourceError {
    SourceError::Transport {
        message: "reset".into(),
    }
}

#[test]
fn failures_of_ranges_that_fail_at_once_all_count() {
    const EACH: u64 = 100_000;
    let core = core(2);
    let together = Barrier::new(2);
    std::thread::scope(|scope| {
        for range in 0..2 {
            let (core, together) = (&core, &together);
            scope.spawn(move || {
                together.wait();
                (0..EACH).for_each(|_| core.report(range, Verb::List, reset()));
            });
        }
    });
    assert_eq!(core.stats().health.failure.unwrap().count, 2 * EACH);
}

/// Looks at the failure of an informer when it is woken.
struct Looks {
    core: Arc<Core>,
    failing: Mutex<Vec<bool>>,
}

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        let failing = self.core.stats().health.failure.is_some();
        self.failing.lock().push(failing);
    }
}

/// A driver that is woken may fail before the start has returned.
#[test]
fn failures_are_forgotten_before_anything_runs() {
    let core = core(1);
    core.report(0, Verb::List, reset());
    drop(core.lifecycle.stop());
    let rested = core.stopped(Stop::Asked);
    let mut driver = Box::pin(core.lifecycle.wanted(rested));
    let looks = Arc::new(Looks {
        core: Arc::clone(&core),
        failing: Mutex::default(),
    });
    let waker = Waker::from(Arc::clone(&looks));
    assert!(
        driver
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    core.start();
    assert_eq!(*looks.failing.lock(), [false]);
    assert!(driver.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    core.report(0, Verb::List, reset());
    core.start();
    let health = core.stats().health;
    assert!(health.failure.is_some() && !health.stopped, "it ran already");
}

/// A source that panics until it is mended.
struct Broken {
    server: Arc<Server>,
    mended: AtomicBool,
}

impl ListerWatcher for Broken {
    fn list_page<'a>(
        &'a self,
        options: ListOptions,
        items: &'a mut dyn ItemSink,
    ) -> BoxFuture<'a, Result<ListMeta, SourceError>> {
        self.server.list_page(options, items)
    }

    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>> {
        assert!(self.mended.load(Ordering::Relaxed), "no luck today");
        self.server.watch(options)
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_broke_says_so_and_can_be_started_again() {
    let server = Server::new(1, Faults::default());
    server.0.lock().put("n/a");
    let source = Arc::new(Broken {
        server,
        mended: AtomicBool::new(false),
    });
    let informer: SharedInformer<Pod> =
        SharedInformer::spawn(pods(), source.clone(), InformerOptions::default());
    let mut health = informer.health();
    let broken = timeout(Duration::from_secs(60), health.wait_for(|health| health.stopped));
    let failure = broken.await.unwrap().unwrap().failure.clone().unwrap();
    assert!(matches!(failure.error, SourceError::Ended { .. }), "{failure}");
    assert!(failure.to_string().contains("no luck today"), "{failure}");
    source.mended.store(true, Ordering::Relaxed);
    informer.start();
    informer.synced().await;
    assert_eq!(informer.lister().len(), 1);
    assert!(informer.health().borrow().failure.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_told_of_failures_and_may_panic() {
    let faults = Faults {
        requests_fail: 100,
        ..Faults::default()
    };
    let server = Server::new(1, faults);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let hook: WatchErrorHook = {
        let told = Arc::clone(&told);
        Arc::new(move |failure| {
            told.lock().push(failure.to_string());
            panic!("on purpose");
        })
    };
    let source: Arc<dyn ListerWatcher> = server.clone();
    let options = InformerOptions {
        watch_error_hook: Some(hook),
        seed: Some(1),
        ..InformerOptions::default()
    };
    let informer: SharedInformer<Pod> = SharedInformer::spawn(pods(), source, options);
    let mut health = informer.health();
    let failing = |health: &crate::Health| health.failure.as_ref().is_some_and(|failure| failure.count >= 4);
    health.wait_for(failing).await.unwrap();
    server.0.lock().faults = Faults::default();
    informer.synced().await;
    let told = told.lock();
    for (n, text) in told.iter().enumerate() {
        assert!(
            text.starts_with("cannot list ") || text.starts_with("cannot watch "),
            "{text}"
        );
        assert!(text.ends_with(&format!("(failure {} in a row)", n + 1)), "{text}");
    }
    assert!(told.len() >= 4, "{told:?}");
}

/// openyurt#2745, istio#59268: behind a proxy that drops bookmarks each informer waits for its own deadline.
#[tokio::test(start_paused = true)]
async fn that_lists_cannot_be_streamed_is_found_out_once() {
    for (faults, waits) in [
        (
            Faults {
                bookmarks_get_lost: 100,
                ..Faults::default()
            },
            Duration::from_secs(10),
        ),
        (
            Faults {
                streaming_is_refused: 100,
                ..Faults::default()
            },
            Duration::ZERO,
        ),
    ] {
        let server = Server::new(1, faults);
        server.0.lock().put("n/a");
        let source = server.clone();
        let informers = Informers::new(
            move |_: &kubewright_core::ApiResource, _: &WatchScope| -> Arc<dyn ListerWatcher> {
                source.clone()
            },
            InformerOptions::default(),
        );
        let mut scopes = vec![WatchScope::default(), WatchScope::namespace("n")].into_iter();
        let mut held = Vec::new();
        for (waits, watches) in [(waits, 2), (Duration::ZERO, 1)] {
            let (begun, before) = (Instant::now(), server.0.lock().watched);
            let informer = informers.informer::<Pod>(&scopes.next().unwrap());
            informer.synced().await;
            settle().await;
            assert_eq!(begun.elapsed().as_secs(), waits.as_secs());
            assert_eq!(server.0.lock().watched - before, watches);
            held.push(informer);
        }
        assert_eq!(informers.running(), 2);
    }
}
