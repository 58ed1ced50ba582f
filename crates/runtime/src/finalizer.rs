//! Finalizers: cleaning up before an object goes.

use std::future::Future;

use kubewright_client::Api;
use kubewright_client::helpers::{self, FinalizerError};
use kubewright_core::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::reconcile::Outcome;

/// A finalizer: while its name is on an object, the object is deleted only in name.
///
/// All operations can be repeated, and meet other finalizers coming and going at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finalizer {
    inner: helpers::Finalizer,
}

impl Finalizer {
    /// A finalizer. Names look like `example.com/cleanup`.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            inner: helpers::Finalizer::new(name),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// Whether it is on an object.
    pub fn is_on(&self, object: &impl Resource) -> bool {
        self.inner.is_on(object)
    }

    /// Runs `apply` while the object lives, with the finalizer on it, and `cleanup` once it is being deleted, after which
    /// the finalizer is taken off. A cleanup that asks to be called again keeps the finalizer on until then.
    ///
    /// # Errors
    ///
    /// Those of the functions, and [`FinalizerError`].
    pub async fn run<K, A, C>(
        &self,
        api: &Api<K>,
        object: &K,
        apply: impl FnOnce() -> A + Send,
        cleanup: impl FnOnce() -> C + Send,
    ) -> Result<Outcome, Error>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
        A: Future<Output = Result<Outcome, Error>> + Send,
        C: Future<Output = Result<Outcome, Error>> + Send,
    {
        if object.metadata().deletion_timestamp.is_none() {
            self.add(api, object).await?;
            return apply().await;
        }
        if !self.is_on(object) {
            return Ok(Outcome::done());
        }
        let outcome = cleanup().await?;
        if outcome.delay().is_none() {
            self.remove(api, object).await?;
        }
        Ok(outcome)
    }

    /// Puts the finalizer on an object. Objects that are being deleted take none and stay as they are.
    ///
    /// # Errors
    ///
    /// [`FinalizerError`].
    pub async fn add<K>(&self, api: &Api<K>, object: &K) -> Result<(), FinalizerError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        self.inner.add(api, object).await
    }

    /// Takes the finalizer off an object. An object that is gone counts as done.
    ///
    /// # Errors
    ///
    /// [`FinalizerError`].
    pub async fn remove<K>(&self, api: &Api<K>, object: &K) -> Result<(), FinalizerError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        self.inner.remove(api, object).await
    }
}
