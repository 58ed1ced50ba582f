//! More objects than one list, one task or one process should bear: shards.
//!
//! There are four ways to divide the objects of a resource, from the cheapest to the most capable:
//!
//! | what is too much | what helps | who selects |
//! |---|---|---|
//! | objects that nobody here needs | a namespace, label or field selector in [`WatchScope`](crate::WatchScope) | the server |
//! | one list or watch, read on one core | [`InformerOptions::shards`](crate::InformerOptions::shards) | the server, where it can |
//! | what is watched, for one process, and each object can be dealt with alone | a fixed range for each replica: [`ShardedSource`] | the server, where it can |
//! | what is *done*, for one process | replicas that share out keys as they come and go: [`Shard`] | each replica |
//!
//! A selector is always the first choice: what it leaves out costs nothing anywhere. Pods of one node, for instance, are
//! `spec.nodeName=this-node` for an agent on that node.
//!
//! # Ranges in one process
//!
//! With `shards` above one an informer lists and watches as many ranges of the uid's hash
//! ([`ShardRange`](kubewright_core::ShardRange)), each on a task of its own, into one store. Handlers and readers see no
//! difference: an informer has synced when all ranges have, its version is that which all have reached, and what expires in
//! one range is listed again in that range alone. It pays where a server that knows such ranges (KEP-5866, the gate
//! `ShardedListAndWatch`) has so many objects or changes of one kind that taking them in fills a core, on a runtime with
//! several threads.
//!
//! Any other server sends everything to each range. That is dropped after a look at the metadata, which is cheap beside
//! taking an object in but not free, and the server sends it all the same; so leave `shards` at one there. Where the
//! server does select, a range in which nothing happens learns how far the server has got from bookmarks only, about
//! once a minute, and the informer's version is as late: a read that waits for a deletion to be seen waits
//! as long.
//!
//! # A fixed range for each replica
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::Arc;
//!
//! use kubewright_cache::sharding::ShardedSource;
//! use kubewright_cache::{ClientSource, ListerWatcher, WatchScope};
//! use kubewright_client::Client;
//! use kubewright_core::{ApiResource, ShardField, ShardRange, ShardSelector};
//!
//! /// What replica `number` of `count` watches, as a StatefulSet numbers them.
//! fn source(
//!     client: Client,
//!     resource: &ApiResource,
//!     number: usize,
//!     count: NonZeroUsize,
//! ) -> Option<impl ListerWatcher + use<>> {
//!     let range = *ShardRange::ALL.split(count).get(number)?;
//!     let all = Arc::new(ClientSource::new(client, resource, &WatchScope::default()));
//!     Some(ShardedSource::new(all, ShardSelector::new(ShardField::Uid, range)))
//! }
//! ```
//!
//! Each replica has a part of the objects in memory, which fits exporters such as kube-state-metrics. Nobody coordinates
//! them: while their number changes an object may have two of them, or none. Children are not where their owners are.
//!
//! # Replicas that share out what is done
//!
//! A [`Shard`] is one of several replicas, none of which leads. Each keeps a lease, sees those of the others, and has the
//! keys that are its share of a consistent hash ring. Replicas are added and removed at any time; only what a new one gets,
//! or an old one had, moves. A key is never in the hands of two: who loses one finishes what runs of it before the other
//! takes it, and what a dead replica had is taken when it must have noticed itself.
//!
//! * Work on an object happens between [`Shard::begin`] and the drop of [`InHand`], and stops when it is
//!   [revoked](InHand::revoked).
//! * [`SharedInformer::add_sharded_handler`](crate::SharedInformer::add_sharded_handler) tells a handler of what belongs to
//!   the replica, comes to belong to it, and is released.
//! * [`ShardBy`] says what is kept together: an object with its children, which are found by their controller's name.
//! * [`Shard::leave`], awaited before the process ends, hands over within seconds.
//!
//! A manager of `kubewright-runtime` that is given a shard does all of that for its controllers. By hand it is:
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright_cache::sharding::{RingOptions, Shard, ShardBy, ShardKey, ShardedHandler, ShardedRegistration};
//! use kubewright_cache::{HandlerOptions, SharedInformer};
//! use kubewright_client::Client;
//! use kubewright_core::{ObjectKey, StaticResource};
//!
//! // Who drops the registration removes the handler.
//! fn join(
//!     client: &Client, pod: &str, maps: &SharedInformer<ConfigMap>, handler: impl ShardedHandler<ConfigMap>,
//! ) -> (Shard, ShardedRegistration) {
//!     let shard = Shard::join(client, RingOptions::new("widgets", "operators", pod));
//!     let by = ShardBy::Own(ConfigMap::api_resource());
//!     let registration = maps.add_sharded_handler(handler, HandlerOptions::default(), &shard, by);
//!     (shard, registration)
//! }
//!
//! async fn work_on(shard: &Shard, key: &ObjectKey) {
//!     let Some(hand) = shard.begin(ShardKey::of(&ConfigMap::api_resource(), key)) else {
//!         return; // Another replica's.
//!     };
//!     tokio::select! {
//!         () = hand.revoked() => {} // Cut off: whatever is left to do is not ours any more.
//!         () = reconcile(key) => {}
//!     }
//! }
//! # async fn reconcile(_: &ObjectKey) {}
//! ```
//!
//! Every replica watches everything, as all that is known of an object before it arrives is not enough to tell whose it is.
//! What is divided is the work, and what handlers keep. A lease is renewed, and all are listed, once in each retry
//! period: with `n` replicas that is `n` small lists of `n` leases in two seconds. A ring of some dozens is fine; of hundreds
//! it is not.
//!
//! The design is that of the kubernetes-controller-sharding project (leases, keys, ring), without its sharder, its webhook
//! and its labels: replicas agree among themselves, by what stands in their leases.

mod filter;
mod hash_ranges;
mod keeper;
mod key;
mod lease;
mod membership;
pub(crate) mod merge;
mod ring;
mod shard;
mod source;
mod timing;

pub use self::filter::{ShardedHandler, ShardedRegistration};
pub use self::key::{ShardBy, ShardKey};
pub use self::lease::{CLAIM_ANNOTATION, INCARNATION_ANNOTATION, MAX_REPLICAS, RING_LABEL};
pub use self::shard::{InHand, RingOptions, Shard, ShardStatus};
pub use self::source::ShardedSource;
pub use self::timing::{InvalidTiming, MAX_LEASE, RingTiming};
