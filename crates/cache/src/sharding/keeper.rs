//! The thin shell around the membership: keeps the lease, and tells the shard.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kubewright_client::{Api, Client, DeleteOptions, Error, ListOptions, Patch, WriteOptions};
use kubewright_core::{LabelSelector, Preconditions};
use tokio::time::{Instant, sleep_until, timeout};

use super::lease::{RING_LABEL, Writer, read};
use super::membership::{Effect, Event, LeaseRecord, LeaseWrite, Membership, WriteFailure};
use super::shard::{RingOptions, Shared};
use crate::source::BoxFuture;

/// The leases of a ring.
#[derive(Clone)]
struct Leases {
    api: Api<Lease>,
    writer: Writer,
}

/// Whatever ends the task: nobody renews the lease any more, and who waits for the end is told.
pub(super) struct Leaving(pub(super) Arc<Shared>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.has_left();
    }
}

/// Keeps a replica in its ring until it is told to leave and has left.
pub(super) async fn keep(client: Client, options: RingOptions, leaving: Leaving) {
    let shared = &*leaving.0;
    let name: Arc<str> = options.replica.into();
    let incarnation = format!("{:016x}", fastrand::u64(..));
    let leases = Leases {
        api: Api::namespaced(&client, options.namespace),
        writer: Writer {
            ring: options.ring,
            name: Arc::clone(&name),
            incarnation: incarnation.clone(),
            timing: options.timing,
        },
    };
    let now = Instant::now().into_std();
    let mut machine = Membership::new(name, incarnation, options.timing, now);
    let mut request: Option<BoxFuture<'static, Event>> = None;
    let mut event = Event::Timer;
    loop {
        for effect in machine.step(event, Instant::now().into_std()) {
            match effect {
                Effect::Write(write) => request = Some(Box::pin(leases.clone().write(write))),
                Effect::List => request = Some(Box::pin(leases.clone().list())),
                Effect::Remove { name, version } => drop(tokio::spawn(leases.clone().remove(name, version))),
                Effect::Share(share) => shared.set(share),
                Effect::Left => return,
            }
        }
        event = next(&machine, &mut request, shared).await;
    }
}

/// What happens next.
async fn next(
    machine: &Membership,
    request: &mut Option<BoxFuture<'static, Event>>,
    shared: &Shared,
) -> Event {
    loop {
        if let Some(generation) = shared.drained() {
            return Event::Drained(generation);
        }
        let wake = machine.wake().map(Instant::from_std);
        tokio::select! {
            answer = answer(request) => {
                *request = None;
                return answer;
            }
            () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => return Event::Timer,
            () = shared.leave.notified() => return Event::Leave,
            () = shared.ended.notified() => {}
        }
    }
}

/// The answer to the request that is under way; none comes if there is none.
async fn answer(request: &mut Option<BoxFuture<'static, Event>>) -> Event {
    match request {
        Some(request) => request.await,
        None => std::future::pending().await,
    }
}

impl Leases {
    /// A consistent list: whatever was written before it began is in it.
    async fn list(self) -> Event {
        let answer = timeout(self.writer.timing.request_timeout(), self.records()).await;
        Event::Listed(match answer {
            Ok(Ok(records)) => Some(records),
            Ok(Err(error)) => self.failed("list", &error),
            Err(_) => self.failed("list", &"no answer in time"),
        })
    }

    async fn records(&self) -> Result<Vec<LeaseRecord>, Error> {
        let selector = LabelSelector::from_labels([(RING_LABEL, &*self.writer.ring)]);
        let options = ListOptions::labels(selector);
        let list = self.api.list(&options).await?;
        Ok(list.into_iter().filter_map(read).collect())
    }

    async fn write(self, write: LeaseWrite) -> Event {
        let answer = timeout(self.writer.timing.request_timeout(), self.written(&write)).await;
        Event::Wrote(match answer {
            Ok(Ok(lease)) => Ok(lease.metadata.resource_version.unwrap_or_default()),
            Ok(Err(error)) if error.is_conflict() || error.is_already_exists() || error.is_not_found() => {
                Err(WriteFailure::Changed)
            }
            Ok(Err(error)) => Err(self.failed("write", &error).unwrap_or(WriteFailure::Unknown)),
            Err(_) => Err(self
                .failed("write", &"no answer in time")
                .unwrap_or(WriteFailure::Unknown)),
        })
    }

    async fn written(&self, write: &LeaseWrite) -> Result<Lease, Error> {
        let lease = self.writer.lease(write, MicroTime(Timestamp::now()));
        let options = WriteOptions::default();
        if write.version.is_none() {
            return self.api.create(&lease, &options).await;
        }
        // Labels and annotations of others stay, and another version is a conflict.
        let patch = Patch::Merge(serde_json::to_value(&lease).unwrap_or_default());
        self.api.patch(&self.writer.name, &patch, &options).await
    }

    async fn remove(self, name: Arc<str>, version: String) {
        let options = DeleteOptions {
            preconditions: Some(Preconditions {
                resource_version: Some(version),
                uid: None,
            }),
            ..DeleteOptions::default()
        };
        let deleted = timeout(
            self.writer.timing.request_timeout(),
            self.api.delete(&name, &options),
        );
        // Somebody else may have been faster, and who cannot will try again.
        if let Ok(Err(error)) = deleted.await
            && !error.is_conflict()
            && !error.is_not_found()
        {
            tracing::debug!(lease = %name, %error, "a lease that is over cannot be removed");
        }
    }

    fn failed<T>(&self, verb: &'static str, error: &dyn std::fmt::Display) -> Option<T> {
        let (ring, replica) = (&self.writer.ring, &self.writer.name);
        tracing::warn!(ring, %replica, verb, %error, "a replica cannot reach the leases of its ring and tries again");
        None
    }
}
