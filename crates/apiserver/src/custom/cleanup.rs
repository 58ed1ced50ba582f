//! The end of a definition: all its instances are deleted, then its finalizer goes.
//!
//! Upstream: apiextensions `pkg/controller/finalizer/crd_finalizer.go`.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use kubewright_net::Identity;
use serde_json::Value;
use tokio::sync::watch as signal;

use super::definition::{Condition, FALSE, FINALIZER, TERMINATING, TRUE};
use crate::fieldmanager::Conversions;
use crate::handlers::{self, Call};
use crate::registry::Resource;
use crate::request::RequestInfo;
use crate::server::Server;
use crate::storage::{
    Change, Encoded, GUARANTEED_UPDATE_TRIES, GuaranteedUpdateError, Key, Storage, StorageError, WatchItem,
    WatchRequest, WatchStart, guaranteed_update,
};

/// Begins the cleanup of the definition at `key`. `resource` is how its instances are reached; `None` when it never had any.
pub(super) fn start(server: &Arc<Server>, key: Key, resource: Option<Arc<Resource>>) {
    let cleanup = Cleanup {
        server: Arc::downgrade(server),
        storage: server.options.storage.clone(),
        key,
        resource,
    };
    tokio::spawn(cleanup.run(server.stop.subscribe()));
}

struct Cleanup {
    /// Weak, since an instance with a finalizer that nobody removes would hold the server for ever.
    server: Weak<Server>,
    storage: Arc<dyn Storage>,
    key: Key,
    resource: Option<Arc<Resource>>,
}

/// What is found when instances are waited for.
#[derive(Debug, PartialEq, Eq)]
enum Remaining {
    /// Nothing.
    None,
    /// One that nobody has deleted yet.
    Undeleted,
}

impl Cleanup {
    async fn run(self, mut stop: signal::Receiver<bool>) {
        loop {
            let result = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return,
                result = self.step() => result,
            };
            match result {
                Ok(Remaining::None) => return,
                Ok(Remaining::Undeleted) => {}
                // It was deleted by force.
                Err(StorageError::NotFound { .. }) => return,
                Err(error) => {
                    tracing::warn!(definition = self.key.name(), %error, "instances cannot be deleted")
                }
            }
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(RETRY) => {}
            }
        }
    }

    /// Deletes what there is and waits for it to go.
    async fn step(&self) -> Result<Remaining, StorageError> {
        self.tell(
            TRUE,
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        )
        .await?;
        let Some(resource) = &self.resource else {
            self.finish("NeverEstablished", "resource was never established")
                .await?;
            return Ok(Remaining::None);
        };
        let Some(server) = self.server.upgrade() else {
            return Ok(Remaining::None);
        };
        if let Err(message) = delete_instances(&server, resource).await {
            self.tell(
                TRUE,
                "InstanceDeletionFailed",
                &format!("could not issue all deletes: {message}"),
            )
            .await?;
            return Ok(Remaining::Undeleted);
        }
        drop(server);
        match self.wait(resource).await? {
            Remaining::None => {
                self.finish("InstanceDeletionCompleted", "removed all instances")
                    .await?;
                Ok(Remaining::None)
            }
            Remaining::Undeleted => Ok(Remaining::Undeleted),
        }
    }

    /// Waits until no instance is left, or one shows up that was made while the others were deleted.
    async fn wait(&self, resource: &Resource) -> Result<Remaining, StorageError> {
        self.storage.progress().await?;
        let request = WatchRequest {
            prefix: resource.prefix(None),
            start: WatchStart::State,
        };
        let mut watch = self.storage.watch(request)?;
        let mut left = HashSet::new();
        let mut is_synced = false;
        while !is_synced || !left.is_empty() {
            match watch.next().await? {
                WatchItem::Synced(_) => is_synced = true,
                WatchItem::Progress(_) => {}
                WatchItem::Event(event) if event.change() == Change::Deleted => {
                    left.remove(event.object().key());
                }
                WatchItem::Event(event) => {
                    let object = event.object();
                    if object.value().pointer("/metadata/deletionTimestamp").is_none() {
                        return Ok(Remaining::Undeleted);
                    }
                    left.insert(object.key().clone());
                }
            }
        }
        Ok(Remaining::None)
    }

    async fn tell(&self, status: &str, reason: &str, message: &str) -> Result<(), StorageError> {
        let condition = Condition::new(TERMINATING, status, reason, message);
        let changed = guaranteed_update(&*self.storage, &self.key, |object| {
            let mut definition = object.value();
            condition.set_in(&mut definition, &self.now());
            Ok::<_, Infallible>(Some(Encoded::from_value(&definition)))
        });
        match changed.await {
            Ok(_) => Ok(()),
            Err(GuaranteedUpdateError::Storage(error)) => Err(error),
        }
    }

    /// Takes the finalizer off. The definition goes when it was the last one.
    async fn finish(&self, reason: &str, message: &str) -> Result<(), StorageError> {
        let condition = Condition::new(TERMINATING, FALSE, reason, message);
        let missing = || StorageError::NotFound {
            key: self.key.clone(),
        };
        let mut current = self.storage.get(self.key.clone()).await?.ok_or_else(missing)?;
        for _ in 0..GUARANTEED_UPDATE_TRIES {
            let mut definition = current.value();
            condition.set_in(&mut definition, &self.now());
            let is_free = release(&mut definition);
            let result = if is_free {
                self.storage.delete(self.key.clone(), current.revision()).await
            } else {
                self.storage
                    .update(
                        self.key.clone(),
                        current.revision(),
                        Encoded::from_value(&definition),
                    )
                    .await
            };
            match result {
                Err(StorageError::Conflict { current: newer, .. }) => current = newer,
                result => return result.map(drop),
            }
        }
        Ok(())
    }

    fn now(&self) -> String {
        self.server
            .upgrade()
            .map(|server| server.now().to_string())
            .unwrap_or_default()
    }
}

/// Removes the finalizer. Says whether nothing else holds the object.
fn release(definition: &mut Value) -> bool {
    let Some(metadata) = definition.get_mut("metadata").and_then(Value::as_object_mut) else {
        return false;
    };
    let is_deleted = metadata.contains_key("deletionTimestamp");
    let finalizers = metadata.get_mut("finalizers").and_then(Value::as_array_mut);
    let is_free = finalizers.is_none_or(|finalizers| {
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        finalizers.is_empty()
    });
    if is_free {
        metadata.remove("finalizers");
    }
    is_free && is_deleted
}

/// Deletes all instances the way a client would, so that finalizers and admission count.
async fn delete_instances(server: &Arc<Server>, resource: &Arc<Resource>) -> Result<(), String> {
    let path = format!(
        "/apis/{}/{}/{}",
        resource.group, resource.version, resource.plural
    );
    let info = RequestInfo::parse(&Method::DELETE, &path, "").ok_or("the resource has no path")?;
    let identity = Identity::new("system:apiserver", ["system:masters"]);
    let headers = HeaderMap::new();
    let call = Call {
        server,
        identity,
        info,
        resource: resource.clone(),
        query: "",
        headers: &headers,
        warnings: handlers::Recorder::default(),
        conversions: Conversions::default(),
    };
    match handlers::dispatch(&call, &Bytes::new()).await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.status().message.clone()),
    }
}

/// How long to wait before deletion is tried again.
const RETRY: Duration = Duration::from_secs(1);
