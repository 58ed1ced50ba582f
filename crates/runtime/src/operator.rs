//! An operator as one value.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use k8s_openapi::api::events::v1::Event;
use kubewright_cache::Informers;
use kubewright_client::Client;
use kubewright_schema::{CustomResourceExt, Definition};

use crate::controller::Controller;
use crate::error::RunError;
use crate::events::EventRecorder;
use crate::manager::{Manager, ManagerOptions};
use crate::right::{Right, Verb};
use crate::stop::Stop;

/// An operator: its kinds, its controllers and its rights, built without a cluster.
///
/// Running it, printing its manifests and auditing its rights are uses of the same value.
#[derive(Clone)]
pub struct Operator {
    name: String,
    definitions: Vec<Definition>,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) runnables: Vec<Runnable>,
    rights: Vec<Right>,
}

impl Operator {
    /// An operator with nothing in it.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            definitions: Vec::new(),
            controllers: Vec::new(),
            runnables: Vec::new(),
            rights: Vec::new(),
        }
    }

    /// Adds a custom resource.
    #[must_use]
    pub fn kind<K: CustomResourceExt>(mut self) -> Self {
        self.definitions.push(K::definition());
        self
    }

    /// Adds a controller.
    #[must_use]
    pub fn controller(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// Adds work of another form: it starts with the controllers, once their caches have synced, and should end soon after
    /// it is [told to stop](RunnableContext::stop). Ending early is fine; an error ends the manager.
    #[must_use]
    pub fn runnable<F, Fut, E>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(RunnableContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.runnables.push(Runnable {
            name: name.into(),
            run: Arc::new(move |ctx| {
                let work = function(ctx);
                Box::pin(async move { work.await.map_err(Into::into) })
            }),
        });
        self
    }

    /// Adds a right that no controller names.
    #[must_use]
    pub fn right(mut self, right: Right) -> Self {
        self.rights.push(right);
        self
    }

    /// The operator's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its custom resources.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// Its controllers.
    #[must_use]
    pub fn controllers(&self) -> &[Controller] {
        &self.controllers
    }

    /// All rights it needs: one entry for each resource, sorted by group and resource. Recording events is among them if
    /// there is a controller, since each can.
    #[must_use]
    pub fn rights(&self) -> Vec<Right> {
        let controllers = self.controllers.iter().flat_map(Controller::rights);
        let events = (!self.controllers.is_empty()).then(|| Right::to::<Event>([Verb::Create, Verb::Patch]));
        Right::merge(controllers.chain(events).chain(self.rights.iter().cloned()))
    }

    /// Runs the operator until `cancel` is ready, then stops it in order. The same as [`Manager::run`] with the default
    /// options.
    ///
    /// # Errors
    ///
    /// As [`Manager::run`].
    pub async fn run(&self, client: &Client, cancel: impl Future<Output = ()>) -> Result<(), RunError> {
        Manager::new(client, self, ManagerOptions::default())
            .run(cancel)
            .await
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field("controllers", &self.controllers)
            .finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub(crate) struct Runnable {
    pub(crate) name: String,
    pub(crate) run: Arc<dyn Fn(RunnableContext) -> RunnableFuture + Send + Sync>,
}

pub(crate) type RunnableFuture =
    Pin<Box<dyn Future<Output = Result<(), Box<dyn std::error::Error + Send + Sync>>> + Send>>;

/// What a [runnable](Operator::runnable) works with. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunnableContext {
    pub(crate) client: Client,
    pub(crate) informers: Arc<Informers>,
    pub(crate) events: EventRecorder,
    pub(crate) stop: Stop,
}

impl RunnableContext {
    /// The client, whose writes are seen by the reads of controllers.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The manager's informers, shared with its controllers.
    #[must_use]
    pub fn informers(&self) -> &Arc<Informers> {
        &self.informers
    }

    /// Records events under the runnable's name.
    #[must_use]
    pub fn events(&self) -> &EventRecorder {
        &self.events
    }

    /// Tells when to stop.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}
