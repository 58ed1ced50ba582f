//! Recording events about objects (`events.k8s.io/v1`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kubewright_client::{Api, Client, Error, Patch, WriteOptions};
use kubewright_core::{ObjectMeta, StaticResource, object_reference};
use serde_json::json;
use tokio::sync::mpsc;

use crate::correlator::{Correlator, Effect, EventKind, Occurrence};

/// Occurrences that wait to be written. What comes beyond that is dropped and counted.
pub const EVENT_QUEUE: usize = 1000;

/// Records events about objects. It never waits and never fails: events are a courtesy to readers, dropped when there are
/// too many. Repetitions are counted in one event, and an object that floods is cut off.
///
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct EventRecorder {
    controller: Arc<str>,
    sender: mpsc::Sender<Occurrence>,
    dropped: Arc<AtomicU64>,
}

/// What an event says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Note {
    /// Whether it tells of trouble.
    pub kind: EventKind,
    /// Why, as one word in camel case, at most 128 bytes: `FailedCreate`.
    pub reason: String,
    /// What was done, as one word in camel case, at most 128 bytes: `Create`.
    pub action: String,
    /// For people to read; cut to 1 kB.
    pub note: String,
    /// Another object that has to do with it.
    pub related: Option<ObjectReference>,
}

impl Note {
    /// All is well.
    pub fn normal(reason: impl Into<String>, action: impl Into<String>, note: impl Into<String>) -> Self {
        Self {
            kind: EventKind::Normal,
            reason: reason.into(),
            action: action.into(),
            note: note.into(),
            related: None,
        }
    }

    /// Something is wrong.
    pub fn warning(reason: impl Into<String>, action: impl Into<String>, note: impl Into<String>) -> Self {
        Self {
            kind: EventKind::Warning,
            ..Self::normal(reason, action, note)
        }
    }

    /// Names another object.
    #[must_use]
    pub fn related_to(mut self, related: ObjectReference) -> Self {
        self.related = Some(related);
        self
    }
}

impl EventRecorder {
    /// Records an event about an object.
    pub fn publish<K: StaticResource>(&self, object: &K, note: Note) {
        self.publish_about(object_reference(object), note);
    }

    /// Records an event about what a reference names.
    pub fn publish_about(&self, regarding: ObjectReference, note: Note) {
        let occurrence = Occurrence {
            controller: self.controller.as_ref().to_owned(),
            kind: note.kind,
            reason: note.reason,
            action: note.action,
            note: cut(note.note, MAX_NOTE_BYTES),
            regarding,
            related: note.related,
        };
        if self.sender.try_send(occurrence).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many events were dropped since the start, by all recorders of the manager, because too many waited.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The same recorder under another name.
    pub(crate) fn named(&self, controller: &str) -> Self {
        Self {
            controller: controller.into(),
            ..self.clone()
        }
    }
}

/// The end of the channel that writes. It runs until all recorders are gone.
pub(crate) struct EventWriter {
    receiver: mpsc::Receiver<Occurrence>,
    instance: String,
    client: Client,
}

/// A recorder and what writes its events. `instance` says which process reports.
pub(crate) fn recorder(client: &Client, instance: &str) -> (EventRecorder, EventWriter) {
    let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
    let recorder = EventRecorder {
        controller: "".into(),
        sender,
        dropped: Arc::default(),
    };
    let writer = EventWriter {
        receiver,
        instance: cut(instance.to_owned(), MAX_INSTANCE_BYTES),
        client: client.clone(),
    };
    (recorder, writer)
}

impl EventWriter {
    pub(crate) async fn run(mut self) {
        let mut correlator = Correlator::default();
        let mut tick = tokio::time::interval(TICK);
        loop {
            let effects = tokio::select! {
                occurrence = self.receiver.recv() => match occurrence {
                    None => return,
                    Some(occurrence) => {
                        let effect = correlator.observe(occurrence, now(), Timestamp::now());
                        effect.into_iter().collect()
                    }
                },
                _ = tick.tick() => correlator.tick(now()),
            };
            for effect in effects {
                self.write(&effect).await;
            }
        }
    }

    /// Tries a few times while the server cannot be reached; what it refuses is dropped.
    async fn write(&self, effect: &Effect) {
        for attempt in 1..=MAX_ATTEMPTS {
            let Err(error) = self.send(effect).await else {
                return;
            };
            if error.status().is_some() || attempt == MAX_ATTEMPTS {
                // A namespace that is being deleted takes no events, and that is no news.
                tracing::debug!(%error, "an event was not recorded");
                return;
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    async fn send(&self, effect: &Effect) -> Result<(), Error> {
        let options = WriteOptions::default();
        match effect {
            Effect::Create { name, at, occurrence } => {
                let event = self.event(name, *at, occurrence, None);
                self.api(occurrence).create(&event, &options).await?;
            }
            Effect::Series {
                name,
                occurrence,
                count,
                last,
                first,
            } => {
                let series = EventSeries {
                    count: *count,
                    last_observed_time: MicroTime(*last),
                };
                let api = self.api(occurrence);
                let patch = Patch::Merge(json!({ "series": series }));
                match api.patch(name, &patch, &options).await {
                    // Events live for an hour: the first one may be gone.
                    Err(error) if error.is_not_found() => {
                        let event = self.event(name, *first, occurrence, Some(series));
                        api.create(&event, &options).await?;
                    }
                    result => drop(result?),
                }
            }
        }
        Ok(())
    }

    fn api(&self, occurrence: &Occurrence) -> Api<Event> {
        Api::namespaced(&self.client, namespace(occurrence))
    }

    fn event(&self, name: &str, at: Timestamp, of: &Occurrence, series: Option<EventSeries>) -> Event {
        Event {
            action: Some(of.action.clone()),
            event_time: Some(MicroTime(at)),
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace(of).to_owned()),
                ..ObjectMeta::default()
            },
            note: Some(of.note.clone()),
            reason: Some(of.reason.clone()),
            regarding: Some(of.regarding.clone()),
            related: of.related.clone(),
            reporting_controller: Some(of.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            series,
            type_: Some(of.kind.as_str().to_owned()),
            ..Event::default()
        }
    }
}

/// Events about cluster-scoped objects live in the namespace `default`.
fn namespace(occurrence: &Occurrence) -> &str {
    let namespace = occurrence.regarding.namespace.as_deref();
    namespace
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or("default")
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Cuts a text at a character's end.
fn cut(mut text: String, limit: usize) -> String {
    let end = (0..=limit.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or(0));
    text
}

/// Limits of the API server (kubernetes `pkg/apis/core/validation/events.go`).
const MAX_NOTE_BYTES: usize = 1024;
const MAX_INSTANCE_BYTES: usize = 128;

const MAX_ATTEMPTS: u32 = 12;
const RETRY_AFTER: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_secs(60);
