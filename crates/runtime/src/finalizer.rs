//! Finalizers: cleaning up before an object goes.

use std::future::Future;

use kubewright_client::{Api, Error as ClientError, Patch, WriteOptions};
use kubewright_core::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::Error;
use crate::reconcile::Outcome;

/// A finalizer: while its name is on an object, the object is deleted only in name.
///
/// All operations can be repeated, and meet other finalizers coming and going at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finalizer {
    name: String,
}

/// A finalizer could not be put on or taken off an object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinalizerError {
    /// The server refused or could not be reached.
    #[error("could not change finalizer {finalizer} of {object}")]
    Client {
        /// The finalizer.
        finalizer: String,
        /// The object's name.
        object: String,
        /// Why.
        source: ClientError,
    },
    /// Others changed the object each time in between.
    #[error("finalizer {finalizer} of {object} could not be changed in {attempts} attempts")]
    Contended {
        /// The finalizer.
        finalizer: String,
        /// The object's name.
        object: String,
        /// How often it was tried.
        attempts: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Add,
    Remove,
}

impl Finalizer {
    /// A finalizer. Names look like `example.com/cleanup`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is on an object.
    pub fn is_on(&self, object: &impl Resource) -> bool {
        position(object, &self.name).is_some()
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
        self.change(api, object, Change::Add).await
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
        self.change(api, object, Change::Remove).await
    }

    async fn change<K>(&self, api: &Api<K>, object: &K, change: Change) -> Result<(), FinalizerError>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        let failed = |source| FinalizerError::Client {
            finalizer: self.name.clone(),
            object: object.name().to_owned(),
            source,
        };
        let mut current = object.clone();
        for _ in 0..MAX_ATTEMPTS {
            let Some(patch) = self.patch(&current, change) else {
                return Ok(());
            };
            match api.patch(object.name(), &patch, &WriteOptions::default()).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() && change == Change::Remove => return Ok(()),
                // A test that does not hold is answered as invalid, a version that has passed as a conflict.
                Err(error) if error.is_conflict() || error.is_invalid() => {
                    match api.get_opt(object.name()).await.map_err(failed)? {
                        Some(newer) if newer.metadata().uid == object.metadata().uid => current = newer,
                        _ if change == Change::Remove => return Ok(()),
                        _ => return Err(failed(error)),
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(FinalizerError::Contended {
            finalizer: self.name.clone(),
            object: object.name().to_owned(),
            attempts: MAX_ATTEMPTS,
        })
    }

    /// The patch that makes the change, or `None` when there is nothing to change.
    fn patch<K: Resource>(&self, object: &K, change: Change) -> Option<Patch> {
        let metadata = object.metadata();
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let uid = json!({"op": "test", "path": "/metadata/uid", "value": metadata.uid});
        let at = position(object, &self.name);
        let operations: Vec<Value> = match (change, at) {
            (Change::Add, Some(_)) | (Change::Remove, None) => return None,
            (Change::Add, None) if metadata.deletion_timestamp.is_some() => return None,
            // Nothing to append to, and JSON patch cannot test for that: the version guards the list.
            (Change::Add, None) if finalizers.is_empty() => {
                return Some(Patch::Merge(json!({"metadata": {
                    "uid": metadata.uid,
                    "resourceVersion": metadata.resource_version,
                    "finalizers": [self.name],
                }})));
            }
            (Change::Add, None) => vec![
                uid,
                json!({"op": "test", "path": "/metadata/finalizers/0", "value": finalizers[0]}),
                json!({"op": "add", "path": "/metadata/finalizers/-", "value": self.name}),
            ],
            (Change::Remove, Some(at)) => {
                let path = format!("/metadata/finalizers/{at}");
                vec![
                    uid,
                    json!({"op": "test", "path": path, "value": self.name}),
                    json!({"op": "remove", "path": path}),
                ]
            }
        };
        Some(Patch::Json(operations.into()))
    }
}

fn position(object: &impl Resource, name: &str) -> Option<usize> {
    let finalizers = object.metadata().finalizers.as_deref().unwrap_or_default();
    finalizers.iter().position(|finalizer| finalizer == name)
}

const MAX_ATTEMPTS: u32 = 5;
