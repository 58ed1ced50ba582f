//! Tests of the state machines as tables, and of the whole against a model server under random faults.

mod client;
mod handlers;
mod informer;
pub(crate) mod interleavings;
mod lifecycle;
mod listener;
mod model;
mod packing;
mod record;
mod reflector;
mod server;
mod stats;
mod store;
mod unreadable;
mod upstream;

use std::sync::Arc;

use kubewright_core::{ApiResource, Scope};

use crate::record::Record;
use crate::store::{Store, StoreOptions, Versions};

pub(crate) fn pods() -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".into(),
        kind: "Pod".into(),
        plural: "pods".into(),
        scope: Scope::Namespaced,
    }
}

pub(crate) fn empty_store() -> Store {
    Store::new("v1", "Pod", StoreOptions::default())
}

/// The JSON of an object: `namespace/name`, uid and version.
pub(crate) fn json(key: &str, uid: &str, version: u64) -> String {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}","labels":{{"app":"{name}"}}}},"spec":{{"containers":[]}}}}"#
    )
}

pub(crate) fn record(store: &Store, key: &str, uid: &str, version: u64) -> Arc<Record> {
    store
        .ingest(json(key, uid, version).as_bytes(), Versions::Trusted)
        .unwrap()
}

/// `key=uid@version`.
pub(crate) fn show(record: &Record) -> String {
    format!("{}={}@{}", record.key(), record.uid(), record.version())
}
