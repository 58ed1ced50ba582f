//! Handlers: how they leave, and what they see of the objects.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::informer::{Mirror, Shared, settle, spawn};
use super::server::{Faults, Server};
use super::{pods, record, show};
use crate::delta_fifo::{Batch, Delta};
use crate::informer::drivers;
use crate::listener_queue::Delivery;
use crate::reflector::StreamingSupport;
use crate::store::Change;
use crate::{
    Cached, EventHandler, FilteringHandler, FinalState, HandlerOptions, Indexed, InformerOptions, Initial,
    Registration, SharedInformer,
};

/// A handler whose calls wait until the test lets them go on.
struct Gate {
    begun: mpsc::UnboundedSender<String>,
    go_on: std::sync::Mutex<std::sync::mpsc::Receiver<()>>,
}

impl EventHandler<Pod> for Gate {
    fn on_add(&self, object: &Cached<Pod>, _: Initial) {
        self.begun.send(object.name().to_owned()).unwrap();
        self.go_on.lock().unwrap().recv().unwrap();
    }
    fn on_update(&self, _: &Cached<Pod>, _: &Cached<Pod>) {}
    fn on_delete(&self, _: &Cached<Pod>, _: FinalState) {}
}

/// client-go's `RemoveEventHandler` does not wait, and its `ShutDownEventHandler` deadlocks when a handler calls it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removing_a_handler_waits_for_its_last_call() {
    let server = Server::new(1, Faults::default());
    for key in ["n/a", "n/b", "n/c"] {
        server.0.lock().put(key);
    }
    let informer = spawn(&server, 1);
    let (begun, mut calls) = mpsc::unbounded_channel();
    let (go, go_on) = std::sync::mpsc::channel();
    let go_on = go_on.into();
    let registration = informer.add_handler(Gate { begun, go_on }, HandlerOptions::default());
    assert!(calls.recv().await.is_some());
    assert!(registration.lag().oldest.is_some());
    let mut removed = Box::pin(registration.remove());
    assert!(poll_fn(|cx| Poll::Ready(removed.as_mut().poll(cx).is_pending())).await);
    go.send(()).unwrap();
    timeout(Duration::from_secs(30), removed)
        .await
        .expect("the call ended");
    // Nothing more is said, and the handler with its sender is gone.
    assert_eq!(calls.recv().await, None);
    assert_eq!(server.open_watches(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_remove_itself() {
    struct Once {
        own: Arc<Mutex<Option<Registration>>>,
        /// For each call, whether the removal waited for nothing. (A panic here would go no further.)
        calls: Arc<Mutex<Vec<bool>>>,
    }
    impl EventHandler<Pod> for Once {
        fn on_add(&self, _: &Cached<Pod>, _: Initial) {
            let mut removed = Box::pin(self.own.lock().take().unwrap().remove());
            let polled = removed.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            self.calls.lock().push(polled.is_ready());
        }
        fn on_update(&self, _: &Cached<Pod>, _: &Cached<Pod>) {}
        fn on_delete(&self, _: &Cached<Pod>, _: FinalState) {}
    }
    let server = Server::new(1, Faults::default());
    for key in ["n/a", "n/b"] {
        server.0.lock().put(key);
    }
    let informer = spawn(&server, 1);
    let (own, calls): (Arc<_>, Arc<_>) = Default::default();
    let once = Once {
        own: Arc::clone(&own),
        calls: Arc::clone(&calls),
    };
    *own.lock() = Some(informer.add_handler(once, HandlerOptions::default()));
    informer.synced().await;
    settle().await;
    assert_eq!(*calls.lock(), [true]);
    assert_eq!(Arc::strong_count(&calls), 1, "the handler was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_filtered_handler_sees_objects_come_and_go() {
    let server = Server::new(1, Faults::default());
    for key in ["n/a", "n/b"] {
        server.0.lock().put(key);
    }
    let informer = spawn(&server, 1);
    let mirror: Arc<Mirror> = Arc::default();
    // Names that are listed here are let through; the model server's objects differ in nothing else.
    let wanted = Arc::new(Mutex::new(vec!["a"]));
    let filter = {
        let wanted = Arc::clone(&wanted);
        move |pod: &Cached<Pod>| wanted.lock().contains(&pod.name())
    };
    let handler = FilteringHandler::new(filter, Shared(mirror.clone()));
    let registration = informer.add_handler(handler, HandlerOptions::default());
    registration.synced().await;
    let lister = informer.lister();
    let rows: &[(&[&str], &[&str], &str)] = &[
        (&["a"], &["n/a", "n/b"], "update n/a"),
        (&["a", "b"], &["n/b"], "add n/b No"),
        (&["b"], &["n/a"], "delete n/a Known"),
        // It ceases to pass and is deleted before anyone looks.
        (&[], &["-n/b", "-n/a"], "delete n/b Known"),
        (&["a"], &["n/a"], "add n/a No"),
    ];
    for (names, changes, expect) in rows {
        *wanted.lock() = names.to_vec();
        for key in *changes {
            let mut state = server.0.lock();
            match key.strip_prefix('-') {
                Some(key) => state.delete(key),
                None => state.put(key),
            }
        }
        let version = server.0.lock().version.to_string();
        lister
            .wait_until(|lister| lister.version().as_str() == version)
            .await;
        settle().await;
        assert_eq!(
            mirror.calls.lock().drain(..).next_back().as_deref(),
            Some(*expect)
        );
    }
    assert_eq!(*mirror.faults.lock(), [""; 0]);
}

/// What a call wakes runs on the thread of the call, so it has to come before the calls that follow.
#[tokio::test]
async fn slow_calls_let_others_have_their_turn() {
    struct Slow(mpsc::UnboundedSender<()>, Arc<AtomicUsize>);
    impl EventHandler<Pod> for Slow {
        fn on_add(&self, _: &Cached<Pod>, _: Initial) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.send(()).unwrap();
            // Twice what a handler may take without a break.
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
        }
        fn on_update(&self, _: &Cached<Pod>, _: &Cached<Pod>) {}
        fn on_delete(&self, _: &Cached<Pod>, _: FinalState) {}
    }
    let server = Server::new(1, Faults::default());
    for nth in 0..40 {
        server.0.lock().put(&format!("n/{nth}"));
    }
    let informer = spawn(&server, 1);
    informer.synced().await;
    let (told, mut waiting) = mpsc::unbounded_channel();
    let calls = Arc::new(AtomicUsize::new(0));
    let _registration = informer.add_handler(Slow(told, Arc::clone(&calls)), HandlerOptions::default());
    waiting.recv().await.unwrap();
    assert_eq!(
        calls.load(Ordering::Relaxed),
        1,
        "calls before what the first has woken"
    );
}

/// Each of these would wait for a lock that the caller of the function may hold.
#[tokio::test(start_paused = true)]
async fn an_index_function_that_asks_too_much_is_told() {
    let server = Server::new(1, Faults::default());
    let informer = spawn(&server, 1);
    informer.synced().await;
    let held: Arc<Mutex<Option<SharedInformer<Pod>>>> = Arc::default();
    type Ask = fn(&SharedInformer<Pod>);
    let asks: [(&str, Ask); 3] = [
        ("index", |informer| {
            _ = informer.add_index("nested", |_| Vec::new())
        }),
        ("handler", |informer| {
            let mirror: Arc<Mirror> = Arc::default();
            drop(informer.add_handler(Shared(mirror), HandlerOptions::default()));
        }),
        ("stats", |informer| _ = informer.stats()),
    ];
    *held.lock() = Some(informer.clone());
    for (name, ask) in asks {
        let held = Arc::clone(&held);
        let added = informer.add_index(name, move |pod| {
            let informer = held.lock().clone().unwrap();
            if pod.name() == "a" {
                ask(&informer);
            }
            vec![informer.lister().len().to_string()]
        });
        assert_eq!(added, Indexed::Added);
    }
    for key in ["n/a", "n/b"] {
        server.0.lock().put(key);
    }
    let lister = informer.lister();
    timeout(
        Duration::from_secs(60),
        lister.wait_until(|lister| lister.len() == 2),
    )
    .await
    .expect("the store goes on");
    for name in ["index", "handler", "stats"] {
        let found = ["0", "1"].map(|value| lister.by_index(name, value).unwrap());
        let found: Vec<&str> = found.iter().flatten().map(Cached::name).collect();
        assert_eq!(found, ["b"], "by {name}");
    }
    assert_eq!(informer.stats().handlers.len(), 0);
    held.lock().take();
}

/// While a resync lists the store, others go on: the store takes in changes, and handlers are told of them.
#[test]
fn what_changes_during_a_resync_is_not_shown_as_it_was() {
    let core = drivers(
        pods(),
        Server::new(1, Faults::default()),
        InformerOptions::default(),
        StreamingSupport::default(),
    )
    .0;
    let record = |key: &str, version| record(&core.store, key, "u", version);
    let apply = |deltas| {
        let batch = Batch {
            deltas,
            version: None,
        };
        let asked = core.store.ask(&batch);
        core.apply(0, batch, asked);
    };
    let keys = ["n/changed", "n/gone", "n/same", "n/told"];
    apply(vec![Delta::Replace(
        keys.iter().map(|key| record(key, 1)).collect(),
    )]);
    let (_, listener) = core.listen();
    let tell = || {
        let mut calls = Vec::new();
        while let Some(delivery) = listener.queue.lock().pop() {
            if let Delivery::Change(change) = delivery {
                calls.push(match change {
                    Change::Added { new, .. } => format!("add {}", show(&new)),
                    Change::Updated { old, new } => format!("update {} {}", old.version(), show(&new)),
                    Change::Deleted { last, .. } => format!("delete {}", show(&last)),
                });
            }
        }
        calls
    };
    assert_eq!(tell().len(), keys.len());
    core.show_again(&listener, || {
        let listed = core.store.list();
        apply(vec![Delta::Upsert(record("n/told", 2))]);
        assert_eq!(tell(), ["update 1 n/told=u@2"]);
        apply(vec![
            Delta::Upsert(record("n/changed", 3)),
            Delta::Delete(record("n/gone", 4)),
        ]);
        listed
    });
    assert_eq!(
        tell(),
        [
            "update 1 n/changed=u@3",
            "delete n/gone=u@4",
            "update 1 n/same=u@1"
        ]
    );
    // The next one shows what there is then.
    core.resync(&listener);
    let mut calls = tell();
    calls.sort();
    assert_eq!(
        calls,
        [
            "update 1 n/same=u@1",
            "update 2 n/told=u@2",
            "update 3 n/changed=u@3"
        ]
    );
}
