//! Tests of the stores as wholes: what every store does, what a model says, many watchers, faults.

mod conformance;
pub(crate) mod faults;
mod model;
mod watchers;

use std::future::Future;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::*;

/// The result of a future that does not wait.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits"),
    }
}

fn pods() -> KeyPrefix {
    KeyPrefix::resource("", "pods")
}

fn pods_in(namespace: &str) -> KeyPrefix {
    KeyPrefix::namespace("", "pods", namespace)
}

fn pod(namespace: &str, name: &str) -> Key {
    Key::new("", "pods", Some(namespace), name)
}

fn body(generation: u64) -> Value {
    json!({"kind": "Pod", "metadata": {"generation": generation}})
}

fn encoded(generation: u64) -> Encoded {
    Encoded::from_value(&body(generation))
}

fn generation(object: &StoredObject) -> u64 {
    object.value()["metadata"]["generation"].as_u64().unwrap()
}

/// `ADDED core/pods/a/x at 3`, as events show themselves.
fn shown(items: &[WatchItem]) -> Vec<String> {
    items
        .iter()
        .map(|item| match item {
            WatchItem::Event(event) => format!("{event:?}"),
            WatchItem::Synced(revision) => format!("synced at {revision}"),
            WatchItem::Progress(revision) => format!("progress {revision}"),
        })
        .collect()
}

async fn take(watch: &mut Watch, count: usize) -> Vec<WatchItem> {
    let mut items = Vec::new();
    while items.len() < count {
        watch.next_batch(count - items.len(), &mut items).await.unwrap();
    }
    items
}
