//! The thin shell around the reflector: does what it says and tells it what came of it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use kubewright_client::RawEvent;
use kubewright_core::{ListMeta, ListOptions, ResourceVersion, Status, WatchEventKind};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::{Instant, timeout, timeout_at};

use crate::delta_fifo::{Batch, Delta, DeltaFifo};
use crate::informer::Core;
use crate::lifecycle::{Ended, Rested, Stop};
use crate::record::Record;
use crate::reflector::{Effect, Event, Page, Reflector};
use crate::sharding::merge::Merge;
use crate::source::{ItemSink, ListerWatcher, SourceError, WatchStream};
use crate::stats::Counters;
use crate::store::Versions;

/// Keeps a core up to date from a source, until it is dropped.
pub(crate) struct Driver {
    pub(crate) core: Arc<Core>,
    /// Which of the core's drivers it is, and, if there are several, how they share the store.
    pub(crate) range: usize,
    pub(crate) merge: Option<Arc<Mutex<Merge>>>,
    pub(crate) source: Arc<dyn ListerWatcher>,
    pub(crate) reflector: Reflector,
    pub(crate) request_timeout: std::time::Duration,
    pub(crate) fifo: DeltaFifo,
    pub(crate) stream: Option<WatchStream>,
}

impl Driver {
    /// Runs and rests as the core's lifecycle says.
    pub(crate) async fn run(mut self) {
        let core = Arc::clone(&self.core);
        let mut rested = Rested::default();
        loop {
            core.lifecycle.wanted(rested).await;
            let why = match core.lifecycle.while_wanted(self.follow()).await {
                Ended::Stopped => {
                    self.reflector.interrupt();
                    Stop::Asked
                }
                Ended::Panicked(message) => {
                    core.ended(self.range, &message);
                    // Nobody knows how far the last step got: the whole state is asked for.
                    self.reflector.start_over();
                    self.fifo = DeltaFifo::default();
                    Stop::Broke
                }
                Ended::Finished(never) => match never {},
            };
            self.stream = None;
            rested = core.stopped(why);
        }
    }

    /// Follows the server. What is dropped at an `await` is asked for again.
    async fn follow(&mut self) -> Infallible {
        let mut event = Event::Timer;
        let mut steps = 0u32;
        loop {
            let effects = self.reflector.step(event, Instant::now().into_std());
            let mut request = None;
            for effect in effects {
                if let Some(effect) = self.take_in(effect) {
                    request = Some(effect);
                }
            }
            steps = steps.wrapping_add(1);
            let pause = steps.is_multiple_of(STEPS_IN_A_ROW);
            // What has arrived already is taken in together: the store publishes one state for all of it.
            // Not so behind a replacement: what comes is compared with what is stored.
            if !pause
                && !self.fifo.holds_replacement()
                && let Some(Effect::Read(_)) = request
                && let Some(ready) = self.read_ready()
            {
                event = ready;
                continue;
            }
            self.hand_over();
            if pause {
                tokio::task::yield_now().await;
            }
            event = match request {
                Some(request) => self.perform(request).await,
                None => Event::Timer,
            };
        }
    }

    pub(crate) fn apply(&self, batch: Batch) {
        let asked = self.core.store.ask(&batch);
        let Some(merge) = &self.merge else {
            return self.core.apply(self.range, batch, asked);
        };
        // Held until the store has it, so that no other range comes in between.
        let mut merge = merge.lock();
        let store = &self.core.store;
        let batch = merge.take_in(self.range, batch, &|key| store.get(key), &|| store.list());
        self.core.apply(self.range, batch, asked);
    }

    /// Has the store take in what waits.
    fn hand_over(&mut self) {
        while let Some(batch) = self.fifo.pop() {
            self.apply(batch);
        }
    }

    /// Does what can be done at once, and gives back what takes time.
    pub(crate) fn take_in(&mut self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Replace(records, version) => self.fifo.replace(records, version),
            Effect::Lose(key) => {
                // What it was last may still wait.
                self.hand_over();
                if let Some(last) = self.core.store.get(&key) {
                    self.apply(Batch {
                        deltas: vec![Delta::Lose(last)],
                        version: None,
                    });
                }
            }
            Effect::Upsert(record) => self.fifo.upsert(record),
            Effect::Delete(record) => self.fifo.delete(record),
            Effect::Bookmark(version) => self.fifo.bookmark(version),
            Effect::Report(verb, error) => {
                // What came before the failure is no sign that it is over.
                self.hand_over();
                self.core.report(self.range, verb, error);
            }
            Effect::Rewound => self.core.rewound(),
            Effect::Recovered => self.core.recovered(self.range),
            Effect::List(_) | Effect::Watch(_) | Effect::Read(_) | Effect::Wait(_) => return Some(effect),
        }
        None
    }

    pub(crate) async fn perform(&mut self, request: Effect) -> Event {
        match request {
            Effect::List(options) => {
                self.stream = None;
                if options.continue_token.is_empty() {
                    Counters::count(&self.core.store.counters.lists);
                }
                Event::Page(self.list(options).await)
            }
            Effect::Watch(options) => {
                let counters = &self.core.store.counters;
                Counters::count(&counters.watches);
                if options.send_initial_events == Some(true) {
                    Counters::count(&counters.lists);
                }
                // The old watch is closed before the new one is opened.
                self.stream = None;
                match timeout(self.request_timeout, self.source.watch(options)).await {
                    Ok(Ok(stream)) => {
                        self.stream = Some(stream);
                        Event::Opened(Ok(()))
                    }
                    Ok(Err(error)) => Event::Opened(Err(error)),
                    Err(_) => Event::Opened(Err(no_answer())),
                }
            }
            Effect::Read(deadline) => self.read(Instant::from_std(deadline)).await,
            Effect::Wait(until) => {
                self.stream = None;
                tokio::time::sleep_until(Instant::from_std(until)).await;
                Event::Timer
            }
            _ => Event::Timer,
        }
    }

    async fn list(&mut self, options: ListOptions) -> Result<Page, SourceError> {
        // Where the version stands behind the items, they are taken in as of a server whose history goes on.
        let supposed = self.reflector.versions("");
        let (page, taken_as) = self.page(options.clone(), supposed).await?;
        let is_refuted = self.reflector.versions(&page.version) == Versions::Doubted;
        if is_refuted && taken_as == Versions::Trusted {
            // It was rewound, which is rare enough to read the page once more.
            return Ok(self.page(options, Versions::Doubted).await?.0);
        }
        Ok(page)
    }

    /// A page, and as what its items were taken in: as `supposed`, unless its version stands before them.
    async fn page(
        &mut self,
        options: ListOptions,
        supposed: Versions,
    ) -> Result<(Page, Versions), SourceError> {
        let mut intake = Intake {
            core: &self.core,
            reflector: &mut self.reflector,
            versions: supposed,
            records: Vec::new(),
        };
        let page = self.source.list_page(options, &mut intake);
        let metadata = timeout(self.request_timeout, page)
            .await
            .map_err(|_| no_answer())??;
        let (records, versions) = (intake.records, intake.versions);
        self.core.store.counters.heard(Instant::now().into_std());
        let page = Page {
            version: metadata.resource_version,
            continue_token: metadata.continue_token,
            records,
        };
        Ok((page, versions))
    }

    /// The next event of the watch that concerns the reflector.
    async fn read(&mut self, deadline: Instant) -> Event {
        loop {
            let Some(stream) = &mut self.stream else {
                return Event::Closed(None);
            };
            let next = poll_fn(|cx| stream.as_mut().poll_next(cx));
            let Ok(next) = timeout_at(deadline, next).await else {
                return Event::Silent;
            };
            if let Some(event) = self.event(next) {
                return event;
            }
            // However much nonsense there is, others get a turn and the deadline counts.
            tokio::task::yield_now().await;
            if deadline <= Instant::now() {
                return Event::Silent;
            }
        }
    }

    /// The same, if it is here already.
    pub(crate) fn read_ready(&mut self) -> Option<Event> {
        let stream = self.stream.as_mut()?;
        match stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => None,
            Poll::Ready(next) => self.event(next),
        }
    }

    /// What an item of the watch means to the reflector, if anything.
    fn event(&self, next: Option<Result<RawEvent, SourceError>>) -> Option<Event> {
        self.core.store.counters.heard(Instant::now().into_std());
        let RawEvent { kind, object } = match next {
            None => return Some(Event::Closed(None)),
            Some(Err(error)) => return Some(Event::Closed(Some(error))),
            Some(Ok(event)) => event,
        };
        match kind {
            WatchEventKind::Bookmark => bookmark(&object)
                .inspect_err(|error| tracing::warn!(error, "a bookmark cannot be read"))
                .ok(),
            WatchEventKind::Error => {
                let error = match serde_json::from_slice::<Status>(&object) {
                    Ok(status) => SourceError::status(status),
                    Err(error) => SourceError::Unreadable {
                        message: format!("an error event: {error}"),
                    },
                };
                Some(Event::Closed(Some(error)))
            }
            WatchEventKind::Added | WatchEventKind::Modified | WatchEventKind::Deleted => {
                let versions = self.reflector.versions("");
                match self.core.store.ingest(&object, versions) {
                    Ok(record) => Some(Event::Object(kind, record)),
                    Err(error) => {
                        self.core.malformed(&error);
                        // What has no name is none of those that are stored.
                        let key = error.key?;
                        let stored = self.core.store.get(&key);
                        Some(Event::Unreadable { kind, key, stored })
                    }
                }
            }
        }
    }
}

/// Takes in the items of a page while it comes; nobody sees them before the page is whole.
struct Intake<'a> {
    core: &'a Core,
    /// Read only; what it holds cannot be shared between threads.
    reflector: &'a mut Reflector,
    versions: Versions,
    records: Vec<Arc<Record>>,
}

impl ItemSink for Intake<'_> {
    fn begin(&mut self, metadata: &ListMeta) {
        self.versions = self.reflector.versions(&metadata.resource_version);
    }

    fn item(&mut self, item: Bytes) {
        match self.core.store.ingest(&item, self.versions) {
            Ok(record) => self.records.push(record),
            Err(error) => {
                self.core.malformed(&error);
                // It is there, whatever it says: what is stored of it stays.
                let stored = error.key.and_then(|key| self.core.store.get(&key));
                self.records.extend(stored);
            }
        }
    }
}

/// Steps before the store takes in what came and other tasks get a turn: a source in the same process may always be
/// ready.
const STEPS_IN_A_ROW: u32 = 64;

fn no_answer() -> SourceError {
    SourceError::Transport {
        message: "no answer within the request timeout".to_owned(),
    }
}

/// What a bookmark says. One without a version says nothing: the empty version would mean any.
fn bookmark(object: &[u8]) -> Result<Event, String> {
    let Bookmark { metadata } = serde_json::from_slice(object).map_err(|error| error.to_string())?;
    if metadata.resource_version.is_empty() {
        return Err("it has no version".to_owned());
    }
    Ok(Event::Bookmark {
        version: metadata.resource_version,
        initial_events_end: metadata
            .annotations
            .unwrap_or_default()
            .initial_events_end
            .as_deref()
            == Some("true"),
    })
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata {
    resource_version: ResourceVersion,
    annotations: Option<BookmarkAnnotations>,
}

#[derive(Deserialize, Default)]
struct BookmarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmarks_are_read() {
        let rows = [
            (r#"{"metadata":{"resourceVersion":"5"}}"#, Some(("5", false))),
            (
                r#"{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}"#,
                Some(("5", true)),
            ),
            (
                r#"{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"no"}}}"#,
                Some(("5", false)),
            ),
            // From the empty version a watch would begin anywhere.
            (
                r#"{"metadata":{"resourceVersion":"","annotations":{"k8s.io/initial-events-end":"true"}}}"#,
                None,
            ),
            (
                r#"{"metadata":{"resourceVersion":"5","annotations":null}}"#,
                Some(("5", false)),
            ),
            (
                r#"{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":null}}}"#,
                Some(("5", false)),
            ),
            (r#"{"metadata":{}}"#, None),
            ("nonsense", None),
        ];
        for (text, expect) in rows {
            let read = bookmark(text.as_bytes()).ok().map(|event| match event {
                Event::Bookmark {
                    version,
                    initial_events_end,
                } => (version.to_string(), initial_events_end),
                other => panic!("{other:?}"),
            });
            let read = read.as_ref().map(|(version, end)| (version.as_str(), *end));
            assert_eq!(read, expect, "{text}");
        }
    }
}
