//! What a controller's author writes: the [`Reconciler`], with what it is given and what it answers.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use kubewright_core::ObjectKey;

use crate::context::Context;
use crate::error::Error;

/// Brings the world nearer to what an object asks for.
///
/// It is told which object to look at, not what happened: it reads the present state and compares. No two calls of one
/// controller have the same key at the same time. A call that panics counts as failed, and nothing else suffers.
pub trait Reconciler: Send + Sync + 'static {
    /// Handles one key. The object may be gone by now.
    ///
    /// # Errors
    ///
    /// The key is tried again after a growing delay, unless the error is [`terminal`](Error::terminal).
    fn reconcile(
        &self,
        ctx: &Context,
        request: Request,
    ) -> impl Future<Output = Result<Outcome, Error>> + Send;
}

/// A reconciler from an async function or closure.
pub fn reconcile_fn<F, Fut>(function: F) -> impl Reconciler
where
    F: Fn(Context, Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, Error>> + Send,
{
    struct Function<F>(F);
    impl<F, Fut> Reconciler for Function<F>
    where
        F: Fn(Context, Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Outcome, Error>> + Send,
    {
        async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
            (self.0)(ctx.clone(), request).await
        }
    }
    Function(function)
}

/// Which object to look at.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Request {
    /// Its key.
    pub key: ObjectKey,
}

impl Request {
    /// A request for a key, as tests of a reconciler make it.
    pub fn new(key: ObjectKey) -> Self {
        Self { key }
    }

    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.key.name
    }

    /// The object's namespace; empty for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.key.namespace.as_deref().unwrap_or_default()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({})", self.key)
    }
}

/// What comes after a successful reconciliation. A failure is an [`Error`], so the two cannot be returned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    requeue_after: Option<Duration>,
}

impl Outcome {
    /// Nothing more to do before something changes.
    pub const fn done() -> Self {
        Self { requeue_after: None }
    }

    /// Look again after this time, or earlier if something changes.
    pub const fn requeue_after(delay: Duration) -> Self {
        Self {
            requeue_after: Some(delay),
        }
    }

    /// The delay, if there is one.
    #[must_use]
    pub const fn delay(self) -> Option<Duration> {
        self.requeue_after
    }

    /// The earlier of two outcomes, for reconcilers that do several things.
    pub fn or_earlier(self, other: Self) -> Self {
        let requeue_after = match (self.requeue_after, other.requeue_after) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { requeue_after }
    }
}
