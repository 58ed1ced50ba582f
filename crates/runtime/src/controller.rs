//! A controller: what it follows, and what it does about it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cache::{
    Cached, HandlerOptions, Indexed, Informers, Lister, OWNER_INDEX, Registration, SharedInformer,
    WatchScope, owner_uids,
};
use kubewright_client::View;
use kubewright_core::{ApiResource, DynamicObject, ObjectKey, StaticResource};
use kubewright_queue::{MaxOf, RateLimiter, WorkQueue};

use crate::context::{Context, Followed};
use crate::error::Error;
use crate::handler::{Enqueue, Mapping, each_for_itself};
use crate::predicate::Predicate;
use crate::reconcile::{Outcome, Reconciler, Request};
use crate::right::Right;
use crate::share::Share;
use crate::writes::Writes;

/// A named reconciler with what makes it run. It is a value: nothing runs before a manager runs it, and it can be run more
/// than once.
#[derive(Clone)]
pub struct Controller {
    pub(crate) name: String,
    pub(crate) reconciler: Arc<dyn AnyReconciler>,
    pub(crate) sources: Vec<Arc<dyn AnySource>>,
    pub(crate) primary: Option<ApiResource>,
    pub(crate) concurrency: usize,
    pub(crate) limiter: LimiterFactory,
    pub(crate) timeout: Option<Duration>,
    rights: Vec<Right>,
}

pub(crate) type LimiterFactory = Arc<dyn Fn() -> Box<dyn RateLimiter<ObjectKey>> + Send + Sync>;

impl Controller {
    /// A controller that follows nothing yet. Names are those in logs, metrics and events; a manager refuses two of one
    /// name.
    pub fn new(name: impl Into<String>, reconciler: impl Reconciler) -> Self {
        Self {
            name: name.into(),
            reconciler: Arc::new(reconciler),
            sources: Vec::new(),
            primary: None,
            concurrency: 1,
            limiter: Arc::new(|| Box::new(MaxOf::default())),
            timeout: None,
            rights: Vec::new(),
        }
    }

    /// Reconciles objects of this kind.
    #[must_use]
    pub fn for_<K: StaticResource + 'static>(self) -> Self {
        self.for_with::<K>(WatchOptions::default())
    }

    /// As [`for_`](Self::for_), with options.
    #[must_use]
    pub fn for_with<K: StaticResource + 'static>(self, options: WatchOptions<K>) -> Self {
        self.for_resource(&K::api_resource(), options)
    }

    /// As [`for_`](Self::for_), for a resource that is known at run time.
    #[must_use]
    pub fn for_resource<K: 'static>(mut self, resource: &ApiResource, options: WatchOptions<K>) -> Self {
        self.primary = Some(resource.clone());
        self.follow(resource, options, Some(Mapping::Itself))
    }

    /// Reconciles the controller (by owner reference) of each object of this kind that changes, if it is of the kind this
    /// controller is [for](Self::for_). Its lister has an index by owner.
    #[must_use]
    pub fn owns<K: StaticResource + 'static>(self) -> Self {
        self.owns_with::<K>(WatchOptions::default())
    }

    /// As [`owns`](Self::owns), with options.
    #[must_use]
    pub fn owns_with<K: StaticResource + 'static>(self, options: WatchOptions<K>) -> Self {
        self.owns_resource(&K::api_resource(), options)
    }

    /// As [`owns`](Self::owns), for a resource that is known at run time.
    #[must_use]
    pub fn owns_resource<K: 'static>(self, resource: &ApiResource, options: WatchOptions<K>) -> Self {
        let options = options.index(OWNER_INDEX, owner_uids);
        self.follow(resource, options, Some(Mapping::Owner))
    }

    /// Reconciles the keys that the function gives for each object of this kind that changes; for a change, those of the
    /// old and of the new state. The function must not block.
    #[must_use]
    pub fn watches<K: StaticResource + 'static>(
        self,
        mapper: impl Fn(&Cached<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.watches_with(WatchOptions::default(), mapper)
    }

    /// As [`watches`](Self::watches), with options.
    #[must_use]
    pub fn watches_with<K: StaticResource + 'static>(
        self,
        options: WatchOptions<K>,
        mapper: impl Fn(&Cached<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.watches_resource(&K::api_resource(), options, mapper)
    }

    /// As [`watches`](Self::watches), for a resource that is known at run time.
    #[must_use]
    pub fn watches_resource<K: 'static>(
        self,
        resource: &ApiResource,
        options: WatchOptions<K>,
        mapper: impl Fn(&Cached<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        self.follow(resource, options, Some(Mapping::Function(Arc::new(mapper))))
    }

    /// Reconciles the keys that the function gives for each object of this kind that changes, as [`watches`](Self::watches)
    /// does; it may look at the objects of `K`, the kind this controller is [for](Self::for_). Those that come later are
    /// reconciled anyway, so none is missed.
    #[must_use]
    pub fn watches_related<W: StaticResource + 'static, K: StaticResource + 'static>(
        self,
        mapper: impl Fn(&Cached<W>, &Lister<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        let mapper = move |object: &Cached<W>, primaries: &Lister<DynamicObject>| {
            mapper(object, &primaries.view::<K>())
        };
        let mapping = Mapping::Related(Arc::new(mapper));
        self.follow(&W::api_resource(), WatchOptions::default(), Some(mapping))
    }

    /// Keeps a cache of this kind for the [listers](Context::lister) of the controller; changes cause nothing.
    #[must_use]
    pub fn reads<K: StaticResource + 'static>(self) -> Self {
        self.reads_with::<K>(WatchOptions::default())
    }

    /// As [`reads`](Self::reads), with options.
    #[must_use]
    pub fn reads_with<K: StaticResource + 'static>(self, options: WatchOptions<K>) -> Self {
        self.follow(&K::api_resource(), options, None)
    }

    /// How many keys are worked on at a time; at least 1. Default: 1.
    #[must_use]
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.concurrency = workers.max(1);
        self
    }

    /// How long failed keys wait. Default: [`MaxOf::default`], 5 ms doubled with each failure up to 1000 s, and 10 in a
    /// second over all.
    #[must_use]
    pub fn rate_limiter<L: RateLimiter<ObjectKey> + 'static>(
        mut self,
        limiter: impl Fn() -> L + Send + Sync + 'static,
    ) -> Self {
        self.limiter = Arc::new(move || Box::new(limiter()));
        self
    }

    /// The longest that one reconciliation may take; after that it is dropped and counts as failed. Default: no limit.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// A right that the controller needs beyond following its kinds.
    #[must_use]
    pub fn right(mut self, right: Right) -> Self {
        self.rights.push(right);
        self
    }

    /// The controller's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the controller follows.
    pub fn resources(&self) -> impl Iterator<Item = &ApiResource> {
        self.sources.iter().map(|source| source.resource())
    }

    /// The rights that the controller needs: those to follow its kinds, and those it was given.
    #[must_use]
    pub fn rights(&self) -> Vec<Right> {
        let follow = self.resources().map(Right::to_follow);
        Right::merge(follow.chain(self.rights.iter().cloned()))
    }

    fn follow<K: 'static>(
        mut self,
        resource: &ApiResource,
        options: WatchOptions<K>,
        mapping: Option<Mapping<K>>,
    ) -> Self {
        self.sources.push(Arc::new(Watch {
            resource: resource.clone(),
            options,
            mapping,
        }));
        self
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resources: Vec<_> = self
            .resources()
            .map(|resource| resource.group_version_resource().to_string())
            .collect();
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("follows", &resources)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// How a controller follows a kind.
pub struct WatchOptions<K> {
    /// Which objects. Default: all.
    pub scope: WatchScope,
    /// Which events count. Default: all.
    pub predicate: Predicate<K>,
    /// After what time every object is looked at again, without asking the server. Default: never.
    pub resync: Option<Duration>,
    indexes: Vec<(String, IndexFunction<K>)>,
}

type IndexFunction<K> = Arc<dyn Fn(&Cached<K>) -> Vec<String> + Send + Sync>;

impl<K: 'static> WatchOptions<K> {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Events that count.
    #[must_use]
    pub fn predicate(mut self, predicate: Predicate<K>) -> Self {
        self.predicate = predicate;
        self
    }

    /// Objects to follow.
    #[must_use]
    pub fn scope(mut self, scope: WatchScope) -> Self {
        self.scope = scope;
        self
    }

    /// Keeps the metadata alone: readers must then be of `PartialObject` or `DynamicObject`.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.scope.view = View::Metadata;
        self
    }

    /// Shows every object again after each such period.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// Adds an index for [`by_index`](crate::ConsistentLister::by_index). Informers are shared: of several indexes with one
    /// name, the first counts.
    #[must_use]
    pub fn index(
        mut self,
        name: impl Into<String>,
        function: impl Fn(&Cached<K>) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.indexes.push((name.into(), Arc::new(function)));
        self
    }
}

impl<K> Default for WatchOptions<K> {
    fn default() -> Self {
        Self {
            scope: WatchScope::default(),
            predicate: Predicate::default(),
            resync: None,
            indexes: Vec::new(),
        }
    }
}

impl<K> fmt::Debug for WatchOptions<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchOptions")
            .field("scope", &self.scope)
            .field("predicate", &self.predicate)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}

/// A reconciler as an object.
pub(crate) trait AnyReconciler: Send + Sync {
    fn reconcile<'a>(
        &'a self,
        ctx: &'a Context,
        request: Request,
    ) -> Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send + 'a>>;
}

impl<R: Reconciler> AnyReconciler for R {
    fn reconcile<'a>(
        &'a self,
        ctx: &'a Context,
        request: Request,
    ) -> Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send + 'a>> {
        // Within the future, so that what panics before the first wait is caught with it.
        Box::pin(async move { Reconciler::reconcile(self, ctx, request).await })
    }
}

/// A source of events, whatever its type.
pub(crate) trait AnySource: Send + Sync {
    fn resource(&self) -> &ApiResource;
    fn scope(&self) -> &WatchScope;
    fn attach(&self, to: &Attach<'_>) -> Attached;
}

/// What a source is attached to.
pub(crate) struct Attach<'a> {
    pub(crate) controller: &'a Controller,
    pub(crate) queue: &'a WorkQueue<ObjectKey>,
    pub(crate) informers: &'a Informers,
    pub(crate) writes: &'a Writes,
    /// The objects that the controller is for.
    pub(crate) primaries: Option<Lister<DynamicObject>>,
    /// Which keys this replica works on; `None` if on all.
    pub(crate) share: Option<Share>,
}

/// A source at work, until it is dropped.
pub(crate) struct Attached {
    pub(crate) followed: Followed,
    pub(crate) registration: Option<Registration>,
    /// Where replicas share keys out and the source gives some.
    pub(crate) take_over: Option<TakeOver>,
}

/// Enqueues what came over from other replicas since a generation of the share.
pub(crate) type TakeOver = Box<dyn Fn(u64) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

struct Watch<K> {
    resource: ApiResource,
    options: WatchOptions<K>,
    mapping: Option<Mapping<K>>,
}

impl<K: 'static> AnySource for Watch<K> {
    fn resource(&self) -> &ApiResource {
        &self.resource
    }

    fn scope(&self) -> &WatchScope {
        &self.options.scope
    }

    fn attach(&self, to: &Attach<'_>) -> Attached {
        let options = &self.options;
        let informer: SharedInformer<K> = to.informers.informer_for(&self.resource, &options.scope);
        for (name, function) in &options.indexes {
            let function = Arc::clone(function);
            if informer.add_index(name, move |object| function(object)) == Indexed::Existed {
                // Controllers share informers, and mostly their indices: the function of the first one counts.
                let resource = self.resource.group_version_resource();
                tracing::debug!(%resource, name, "there is an index of this name already, which stays");
            }
        }
        let handler = self.mapping.as_ref().map(|mapping| {
            Arc::new(Enqueue {
                controller: to.controller.name.clone(),
                queue: to.queue.clone(),
                predicate: options.predicate.clone(),
                mapping: mapping.clone(),
                primary: to.controller.primary.clone(),
                primaries: to.primaries.clone(),
                share: to.share.clone(),
            })
        });
        let resync = options.resync;
        let registration = handler
            .as_ref()
            .map(|handler| informer.add_handler(Arc::clone(handler), HandlerOptions { resync }));
        let shared_out = handler.filter(|_| to.share.is_some());
        Attached {
            followed: Followed {
                informer: informer.view::<DynamicObject>(),
                barrier: to.writes.barrier(&self.resource.group_resource(), &options.scope),
            },
            registration,
            take_over: shared_out.map(|handler| take_over(informer.lister(), handler)),
        }
    }
}

fn take_over<K: 'static>(objects: Lister<K>, handler: Arc<Enqueue<K>>) -> TakeOver {
    Box::new(move |since| {
        let (objects, handler) = (objects.clone(), Arc::clone(&handler));
        Box::pin(async move {
            for some in objects.list().chunks(OBJECTS_IN_A_ROW) {
                each_for_itself(some, |object| handler.take_over(object, since));
                tokio::task::yield_now().await;
            }
        })
    })
}

/// Objects that are looked at before other tasks get a turn.
const OBJECTS_IN_A_ROW: usize = 64;
