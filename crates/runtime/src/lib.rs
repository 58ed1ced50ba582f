//! Operators at run time.
//!
//! An [`Operator`] is one value: its kinds, its [`Controller`]s and its rights. It is built without a cluster;
//! [`Operator::run`] runs it against one, its [`rights`](Operator::rights) and [`definitions`](Operator::definitions) are
//! what manifests are printed and audited from. A controller names the kinds it follows and has a [`Reconciler`], which is
//! called with the key of whatever changed, never twice at a time for one key, and brings the world nearer to what the
//! object asks for. The [`Manager`] shares informers between controllers, starts and stops everything in order.
//!
//! Replicas of an operator can share the keys of its controllers out between them ([`ManagerOptions::shard`]).
//!
//! It does no leader election and serves no webhooks; [`metrics`] gives the text of a metrics endpoint, which the application serves.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright_runtime::{Context, Controller, Error, Operator, Outcome, Reconciler, Request, Right, Verb};
//!
//! struct Greeter;
//!
//! impl Reconciler for Greeter {
//!     async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
//!         let Some(map) = ctx.lister::<ConfigMap>()?.get(&request.key).await? else {
//!             return Ok(Outcome::done());
//!         };
//!         println!("hello, {}", map.object()?.metadata.name.as_deref().unwrap_or_default());
//!         Ok(Outcome::done())
//!     }
//! }
//!
//! let operator = Operator::new("greeter").controller(
//!     Controller::new("greeter", Greeter)
//!         .for_::<ConfigMap>()
//!         .right(Right::to::<ConfigMap>([Verb::Patch])),
//! );
//! // Config maps, which it follows and patches, and events.
//! assert_eq!(operator.rights().len(), 2);
//! ```

mod barrier;
mod condition;
mod context;
mod controller;
mod correlator;
mod error;
mod events;
mod finalizer;
mod handler;
mod lister;
mod manager;
pub mod metrics;
mod operator;
mod predicate;
mod reconcile;
mod right;
mod running;
mod share;
mod stop;
mod worker;
mod writes;

pub use barrier::{MAX_PENDING_WRITES, WRITE_EXPIRY};
pub use condition::{condition_is_true, find_condition, remove_condition, set_condition};
pub use context::{Context, NotWatched};
pub use controller::{Controller, WatchOptions};
pub use correlator::{EventKind, MAX_SERIES};
pub use error::{Error, RunError, SyncFailure};
pub use events::{EVENT_QUEUE, EventRecorder, Note};
pub use finalizer::Finalizer;
pub use kubewright_cache::{Cached, FinalState, Initial, WatchScope};
pub use kubewright_client::helpers::FinalizerError;
pub use kubewright_core::{ObjectKey, object_reference};
pub use lister::{ConsistentLister, StaleRead};
pub use manager::{ClientFor, Handle, Health, Manager, ManagerOptions, QueueMetrics};
pub use metrics::Metrics;
pub use operator::{Operator, RunnableContext};
pub use predicate::{Event, Predicate};
pub use reconcile::{Outcome, Reconciler, Request, reconcile_fn};
pub use right::{Right, Verb};
pub use stop::Stop;
pub use worker::Counts;
