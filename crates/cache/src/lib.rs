//! The cache: a copy of what the server has, kept up to date by list and watch, for handlers and readers.
//!
//! The road of one change: a [`ListerWatcher`] brings bytes; the reflector decides what they mean; a delta FIFO holds
//! what the store has not taken in; the store keeps bytes by key and by index; every handler of the [`SharedInformer`]
//! is told of the difference on a queue of its own; a [`Lister`] reads. [`Informers`] shares one informer between all
//! who ask for the same resource and scope.
//!
//! The cache keeps bytes, not structs. It hands out [`Cached`]: key, uid and version at once, metadata and the typed
//! object decoded when first asked for. A large store compresses its objects. Readers take no lock and see each batch of
//! changes as a whole. Reflector, FIFO, store and listener queues are state machines without a network, which are told the
//! time; a task for each range of an informer drives them, and one for each handler calls it.
//!
//! [`sharding`] divides the objects: among watches of one process into one store, or among replicas. [`Stats`] says what
//! an informer has and has done, in numbers and as text.
//!
//! It writes nothing but the leases by which replicas agree ([`sharding::Shard`]), and it never hands out anything that a
//! caller could change for others.
//!
//! ```
//! # use std::sync::Arc;
//! use k8s_openapi::api::core::v1::Pod;
//! use kubewright_cache::{Cached, EventHandler, FinalState, HandlerOptions, Informers, Initial, WatchScope};
//!
//! struct Log;
//!
//! impl EventHandler<Pod> for Log {
//!     fn on_add(&self, pod: &Cached<Pod>, _: Initial) {
//!         println!("{} is there", pod.key());
//!     }
//!     fn on_update(&self, _: &Cached<Pod>, pod: &Cached<Pod>) {
//!         println!("{} changed", pod.key());
//!     }
//!     fn on_delete(&self, pod: &Cached<Pod>, _: FinalState) {
//!         println!("{} is gone", pod.key());
//!     }
//! }
//!
//! async fn follow(informers: &Informers) {
//!     let pods = informers.informer::<Pod>(&WatchScope::default());
//!     let handler = pods.add_handler(Log, HandlerOptions::default());
//!     handler.synced().await;
//!     for pod in pods.lister().list_namespace("default") {
//!         println!("{}: {:?}", pod.name(), pod.metadata().labels);
//!     }
//! }
//! ```

mod backoff;
mod cached;
mod client;
mod decoded;
mod delta_fifo;
mod differences;
mod driver;
mod factory;
mod filtering;
mod informer;
mod labels;
mod lifecycle;
mod listener;
mod listener_queue;
mod lister;
mod metadata;
mod owners;
mod packing;
mod patching;
mod peek;
mod pool;
mod published;
mod record;
mod reflector;
mod registration;
pub mod sharding;
mod snapshot;
mod source;
mod stats;
mod store;
#[cfg(test)]
mod tests;
mod training;

pub use crate::cached::Cached;
pub use crate::client::ClientSource;
pub use crate::factory::{Informers, Sources, WatchScope};
pub use crate::filtering::FilteringHandler;
pub use crate::informer::{
    Failure, HandlerOptions, Health, Indexed, InformerOptions, MAX_SHARDS, MIN_RESYNC, SharedInformer,
    WatchErrorHook,
};
pub use crate::labels::Labels;
pub use crate::listener::EventHandler;
pub use crate::listener_queue::Lag;
pub use crate::lister::{Lister, UnknownIndex};
pub use crate::owners::Owners;
pub use crate::peek::{MalformedObject, ManagedFields};
pub use crate::record::DecodeError;
pub use crate::reflector::{FirstList, ReflectorOptions, StreamingLists, Verb};
pub use crate::registration::Registration;
pub use crate::source::{BoxFuture, ItemSink, ListerWatcher, SourceError, WatchStream};
pub use crate::stats::{Counts, Stats, Totals};
pub use crate::store::{
    Compression, FinalState, Initial, NAMESPACE_INDEX, OWNER_INDEX, StoreOptions, Transform, Usage,
    owner_uids,
};
