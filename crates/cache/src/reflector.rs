//! Keeping up with a resource on the server, as a state machine.
//!
//! The machine is told what a list or watch gave and says what to do next; [`driver`](crate::driver) does it. What it
//! follows is client-go's `tools/cache/reflector.go`, with its known faults avoided: a bookmark that never comes has a
//! deadline, expired versions never loop, a watch that ends at once is a failure, each attempt at a streaming list
//! begins with an empty buffer.

mod options;

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use kubewright_core::{
    ContinueTokens, ListOptions, ObjectKey, ResourceVersion, VersionMatch, WatchEventKind,
};

pub(crate) use self::options::LONGEST;
pub use self::options::{FirstList, ReflectorOptions, StreamingLists};
use crate::backoff::Backoff;
use crate::record::Record;
use crate::source::SourceError;
use crate::store::Versions;

/// Whether the server can stream lists of a resource, as far as is known. Shared by all reflectors of one resource, so
/// that only the first has to find out.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamingSupport(Arc<AtomicBool>);

impl StreamingSupport {
    pub(crate) fn is_missing(&self) -> bool {
        self.0.load(atomic::Ordering::Relaxed)
    }

    fn is_missing_from_now_on(&self) {
        self.0.store(true, atomic::Ordering::Relaxed);
    }
}

/// What the machine is told.
#[derive(Debug)]
pub(crate) enum Event {
    /// Begin, or time passed that [`Effect::Wait`] asked for.
    Timer,
    /// The answer to [`Effect::List`].
    Page(Result<Page, SourceError>),
    /// The answer to [`Effect::Watch`].
    Opened(Result<(), SourceError>),
    /// Something came over the watch.
    Object(WatchEventKind, Arc<Record>),
    /// Something came over the watch of which no more can be read than which object it is.
    Unreadable {
        kind: WatchEventKind,
        key: ObjectKey,
        /// What is stored of it.
        stored: Option<Arc<Record>>,
    },
    /// A bookmark came over the watch.
    Bookmark {
        version: ResourceVersion,
        initial_events_end: bool,
    },
    /// The watch ended, or carried an error.
    Closed(Option<SourceError>),
    /// Nothing came until the deadline of [`Effect::Watch`].
    Silent,
}

/// A page whose items are taken in.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) records: Vec<Arc<Record>>,
    pub(crate) version: String,
    pub(crate) continue_token: String,
}

/// What the machine wants done. The last effect of a step is a request, a wait or [`Effect::Read`].
#[derive(Debug)]
pub(crate) enum Effect {
    /// Ask for a page and answer with [`Event::Page`].
    List(ListOptions),
    /// Close what watch there is, open one and answer with [`Event::Opened`].
    Watch(ListOptions),
    /// Go on reading the watch; after this time without an event say [`Event::Silent`].
    Read(Instant),
    /// Close what watch there is and say [`Event::Timer`] at this time.
    Wait(Instant),
    /// The state of the server is this.
    Replace(Vec<Arc<Record>>, ResourceVersion),
    /// One object changed.
    Upsert(Arc<Record>),
    /// One object is gone.
    Delete(Arc<Record>),
    /// One object is gone, and what it was last cannot be read.
    Lose(ObjectKey),
    /// Nothing changed up to this version.
    Bookmark(ResourceVersion),
    /// A failure, for whoever watches over this.
    Report(Verb, SourceError),
    /// What was reported is over, though nothing changed since.
    Recovered,
    /// The server's history was rewound: versions go backwards.
    Rewound,
}

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// A list.
    List,
    /// A watch.
    Watch,
}

impl Verb {
    /// The verb as RBAC knows it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Watch => "watch",
        }
    }
}

#[derive(Debug)]
enum State {
    /// Nothing runs; what comes next when the time has come.
    Idle(Next),
    /// A list is under way.
    Listing(Listing),
    /// A watch that brings the initial state first.
    Streaming {
        buffer: HashMap<ObjectKey, Arc<Record>>,
        stream: Stream,
    },
    /// A watch.
    Watching(Stream),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Get the whole state, by list or streaming list.
    Sync,
    /// Get the whole state by a list.
    List,
    /// Go on watching from the last version.
    Watch,
}

#[derive(Debug, Default)]
struct Listing {
    records: Vec<Arc<Record>>,
    /// The version of the first page.
    version: Option<String>,
    /// What the pages so far lead to.
    tokens: ContinueTokens,
    /// Pages expired: everything is asked for at once.
    unpaged: bool,
}

#[derive(Debug)]
struct Stream {
    opened: Option<Instant>,
    /// What came over it that got further than others did before.
    changes: u64,
    /// When the initial state last made progress, while it comes over this stream.
    progress: Instant,
    /// Whether all of the initial state was told: what came was a change.
    told: bool,
    deadline: Instant,
}

/// Failures in a row after which something else is tried.
#[derive(Debug, Default)]
struct Failures {
    /// Versions that the server did not have, or was not yet at, without a watch in between that has lasted for
    /// [`ReflectorOptions::backoff_reset`]: one that works for a moment is no sign that it is over.
    expired: u32,
    /// Streaming lists that broke off.
    streams: u32,
    /// Watches that ended with an error of the server.
    watches: u32,
}

/// A watch that ends sooner than this without a change is a failure: what bookmarks say does not bring anybody further.
const VERY_SHORT_WATCH: Duration = Duration::from_secs(1);

/// After so many broken streaming lists in a row an ordinary list is tried.
const MAX_BROKEN_STREAMS: u32 = 2;

/// After so many internal errors of a watch in a row its state is fetched anew.
const MAX_WATCH_ERRORS: u32 = 5;

/// The longest wait that a server is granted: a header that says more is most likely wrong, and nobody would notice.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The machine.
#[derive(Debug)]
pub(crate) struct Reflector {
    options: ReflectorOptions,
    state: State,
    /// The version up to which everything was seen; empty before the first state.
    last: ResourceVersion,
    /// The server did not have `last`: the next state is asked for without it.
    last_unavailable: bool,
    /// The server seems to have been rewound: until the next state, versions prove nothing.
    doubt: bool,
    streaming: StreamingSupport,
    /// The server refused a streaming list: if it does not refuse the list, it is the streaming that it does not know.
    refused_streaming: bool,
    failures: Failures,
    /// A failure was reported, and nothing has shown since that it is over.
    failing: bool,
    backoff: Backoff,
    random: fastrand::Rng,
}

impl Reflector {
    pub(crate) fn new(options: ReflectorOptions, random: fastrand::Rng) -> Self {
        let options = options.bounded();
        let backoff = Backoff::new(options.backoff_base, options.backoff_max, options.backoff_reset);
        Self {
            options,
            state: State::Idle(Next::Sync),
            last: ResourceVersion::default(),
            last_unavailable: false,
            doubt: false,
            streaming: StreamingSupport::default(),
            refused_streaming: false,
            failures: Failures::default(),
            failing: false,
            backoff,
            random,
        }
    }

    /// The same, with what others know of the server.
    pub(crate) fn with_streaming(self, streaming: StreamingSupport) -> Self {
        Self { streaming, ..self }
    }

    /// What was under way is dropped. The next step goes on where that was: a watch from the last version that was seen,
    /// anything else from its start.
    pub(crate) fn interrupt(&mut self) {
        let next = match self.state {
            State::Idle(next) => next,
            State::Watching(_) => Next::Watch,
            State::Listing(_) | State::Streaming { .. } => Next::Sync,
        };
        self.state = State::Idle(next);
    }

    /// The next step asks for the whole state.
    pub(crate) fn start_over(&mut self) {
        self.state = State::Idle(Next::Sync);
    }

    /// What the versions of objects prove that come in a list of this version, or over a watch (empty).
    pub(crate) fn versions(&self, list: &str) -> Versions {
        let older = is_older(&ResourceVersion::new(list), &self.last);
        if self.doubt || older {
            Versions::Doubted
        } else {
            Versions::Trusted
        }
    }

    /// One step. An event that does not fit the state (a late answer) leads to nothing but the effect that goes on.
    pub(crate) fn step(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::with_capacity(2);
        match (std::mem::replace(&mut self.state, State::Idle(Next::Sync)), event) {
            (State::Idle(next), _) => self.begin(next, now, &mut effects),
            (State::Listing(listing), Event::Page(Ok(page))) => self.page(listing, page, now, &mut effects),
            (State::Listing(listing), Event::Page(Err(error))) => {
                self.list_failed(&listing, error, now, &mut effects);
            }
            (State::Streaming { buffer, stream }, event) => {
                self.streaming(buffer, stream, event, now, &mut effects);
            }
            (State::Watching(stream), event) => self.watching(stream, event, now, &mut effects),
            (State::Listing(_), _) => self.begin(Next::List, now, &mut effects),
        }
        effects
    }

    fn begin(&mut self, next: Next, now: Instant, effects: &mut Vec<Effect>) {
        let streaming = self.options.streaming_lists == StreamingLists::Try && !self.streaming.is_missing();
        match next {
            Next::Sync if streaming => {
                self.refused_streaming = false;
                let stream = self.new_stream(now);
                effects.push(Effect::Watch(ListOptions {
                    send_initial_events: Some(true),
                    version_match: Some(VersionMatch::NotOlderThan),
                    resource_version: self.wanted_version(),
                    ..self.watch_options(&stream, now)
                }));
                self.state = State::Streaming {
                    buffer: HashMap::new(),
                    stream,
                };
            }
            Next::Sync | Next::List => self.list(Listing::default(), String::new(), effects),
            Next::Watch => {
                let stream = self.new_stream(now);
                let resource_version = self.last.to_string();
                effects.push(Effect::Watch(ListOptions {
                    resource_version,
                    ..self.watch_options(&stream, now)
                }));
                self.state = State::Watching(stream);
            }
        }
    }

    /// The version to ask a list for: at least what was seen, so that time never runs backwards.
    fn wanted_version(&self) -> String {
        if self.last_unavailable {
            String::new()
        } else {
            self.last.to_string()
        }
    }

    fn list(&mut self, listing: Listing, continue_token: String, effects: &mut Vec<Effect>) {
        let mut options = ListOptions {
            limit: if listing.unpaged {
                0
            } else {
                self.options.page_size
            },
            ..ListOptions::default()
        };
        if continue_token.is_empty() {
            options.resource_version = self.wanted_version();
            if self.last.is_empty() && !self.last_unavailable && self.options.first_list == FirstList::Any {
                options.resource_version = "0".to_owned();
            } else if !options.resource_version.is_empty() {
                // With a limit, a version alone would mean exactly this one.
                options.version_match = Some(VersionMatch::NotOlderThan);
            }
        } else {
            options.continue_token = continue_token;
        }
        effects.push(Effect::List(options));
        self.state = State::Listing(listing);
    }

    fn page(&mut self, mut listing: Listing, page: Page, now: Instant, effects: &mut Vec<Effect>) {
        if page.version.is_empty() && listing.version.is_none() {
            // A watch from there would begin anywhere (kube-rs `NoResourceVersion`).
            let message = "the list has no resource version".to_owned();
            let error = SourceError::Unreadable { message };
            return self.fail(Verb::List, error, Next::Sync, now, effects);
        }
        listing.records.extend(page.records);
        let version = listing.version.get_or_insert(page.version).clone();
        if !page.continue_token.is_empty() {
            if listing.tokens.come_round(&page.continue_token) {
                let message = "the pages of the list lead back to one that has come".to_owned();
                let error = SourceError::Unreadable { message };
                return self.fail(Verb::List, error, Next::Sync, now, effects);
            }
            return self.list(listing, page.continue_token, effects);
        }
        if std::mem::take(&mut self.refused_streaming) {
            self.streaming.is_missing_from_now_on();
        }
        self.synced(listing.records, ResourceVersion::new(version), effects);
        self.begin(Next::Watch, now, effects);
    }

    /// The whole state is here.
    fn synced(&mut self, records: Vec<Arc<Record>>, version: ResourceVersion, effects: &mut Vec<Effect>) {
        if is_older(&version, &self.last) {
            effects.push(Effect::Rewound);
        }
        effects.push(Effect::Replace(records, version.clone()));
        self.last = version;
        self.last_unavailable = false;
        self.doubt = false;
        self.failing = false;
        self.failures.streams = 0;
    }

    fn list_failed(
        &mut self,
        listing: &Listing,
        error: SourceError,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        let expired = error.is_expired();
        if expired && listing.version.is_some() && !listing.unpaged {
            // The continue token went stale: slow pages of a large list. All at once cannot.
            return self.list(
                Listing {
                    unpaged: true,
                    ..Listing::default()
                },
                String::new(),
                effects,
            );
        }
        if (expired || error.is_too_large_version()) && !self.last_unavailable {
            self.last_unavailable = true;
            self.doubt |= !expired;
            return self.list(Listing::default(), String::new(), effects);
        }
        self.refused_streaming = false;
        self.fail(Verb::List, error, Next::Sync, now, effects);
    }

    fn streaming(
        &mut self,
        mut buffer: HashMap<ObjectKey, Arc<Record>>,
        mut stream: Stream,
        event: Event,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        if let Event::Object(kind, record) = &event {
            // Changes are no progress: a server that ignores the wish for a bookmark sends them for ever. The initial
            // state comes before them, as one addition of each object (apiserver `pkg/storage/cacher/cache_watcher.go`).
            stream.told |= *kind != WatchEventKind::Added || buffer.contains_key(record.key());
            if !stream.told {
                stream.progress = now;
            }
        }
        match event {
            Event::Opened(Ok(())) => {
                stream.progress = now;
                stream.open(now);
            }
            Event::Object(kind, record) if now < self.bookmark_due(&stream) => {
                stream.changes += 1;
                if kind == WatchEventKind::Deleted {
                    buffer.remove(record.key());
                } else {
                    buffer.insert(record.key().clone(), record);
                }
            }
            Event::Unreadable { kind, key, stored } if now < self.bookmark_due(&stream) => {
                stream.changes += 1;
                if kind == WatchEventKind::Deleted {
                    buffer.remove(&key);
                } else if let Some(stored) = stored {
                    // It is there, whatever it says: what is known of it stays.
                    buffer.entry(key).or_insert(stored);
                }
            }
            Event::Bookmark {
                version,
                initial_events_end: true,
            } => {
                let records = buffer.into_values().collect();
                self.synced(records, version, effects);
                stream.changes += 1;
                // The watch begins here, however long the state took.
                stream.opened = Some(now);
                effects.push(Effect::Read(stream.deadline));
                self.state = State::Watching(stream);
                return;
            }
            Event::Bookmark { .. } if now < self.bookmark_due(&stream) => {}
            Event::Timer | Event::Page(_) => {}
            Event::Opened(Err(error)) | Event::Closed(Some(error)) => {
                return self.stream_failed(error, now, effects);
            }
            Event::Closed(None) => {
                let message = "the streaming list ended before its last bookmark".to_owned();
                return self.stream_failed(SourceError::Transport { message }, now, effects);
            }
            Event::Silent | Event::Object(..) | Event::Unreadable { .. } | Event::Bookmark { .. } => {
                // A proxy that drops bookmarks, or a server that never sends this one.
                self.streaming.is_missing_from_now_on();
                let message = "the last bookmark of the streaming list does not come".to_owned();
                self.report(Verb::Watch, SourceError::Transport { message }, effects);
                return self.begin(Next::List, now, effects);
            }
        }
        effects.push(Effect::Read(self.bookmark_due(&stream)));
        self.state = State::Streaming { buffer, stream };
    }

    /// Until when the last bookmark of a streaming list has to come, or more of the initial state.
    fn bookmark_due(&self, stream: &Stream) -> Instant {
        (stream.progress + self.options.bookmark_deadline).min(stream.deadline)
    }

    fn stream_failed(&mut self, error: SourceError, now: Instant, effects: &mut Vec<Effect>) {
        if error.is_unsupported() {
            // Or it is something else of the request that it refuses, as it will refuse the list then.
            self.refused_streaming = true;
            return self.begin(Next::List, now, effects);
        }
        if (error.is_expired() || error.is_too_large_version()) && !self.last_unavailable {
            self.last_unavailable = true;
            self.doubt |= error.is_too_large_version();
            return self.begin(Next::Sync, now, effects);
        }
        self.failures.streams += 1;
        let next = if self.failures.streams < MAX_BROKEN_STREAMS {
            Next::Sync
        } else {
            Next::List
        };
        self.fail(Verb::Watch, error, next, now, effects);
    }

    fn watching(&mut self, mut stream: Stream, event: Event, now: Instant, effects: &mut Vec<Effect>) {
        // However it ends: what comes behind it is another matter.
        let lasted = |opened: Instant| now.saturating_duration_since(opened) > self.options.backoff_reset;
        if stream.opened.is_some_and(lasted) {
            self.failures.expired = 0;
        }
        match event {
            Event::Opened(Ok(())) => stream.open(now),
            Event::Object(kind, record) => {
                let version = record.resource_version();
                effects.push(match kind {
                    WatchEventKind::Deleted => Effect::Delete(record),
                    _ => Effect::Upsert(record),
                });
                if is_older(&version, &self.last) {
                    // What was seen was seen. Whether the server was rewound is said by bookmarks.
                    effects.push(Effect::Bookmark(self.last.clone()));
                } else {
                    stream.changes += 1;
                    self.progress(version);
                }
            }
            // One object that makes no sense concerns no other, and stays as it was.
            Event::Unreadable { kind, key, .. } => {
                if kind == WatchEventKind::Deleted {
                    effects.push(Effect::Lose(key));
                }
            }
            Event::Bookmark { version, .. } if is_older(&version, &self.last) => {
                // A server whose data was restored takes a watch from its future, and is silent until it gets there.
                self.last_unavailable = true;
                self.doubt = true;
                self.failures.expired += 1;
                // One whose bookmarks lag behind its lists says so behind each list.
                if self.failures.expired > 2 {
                    let message = format!("a bookmark of version {version} after version {}", self.last);
                    let error = SourceError::Transport { message };
                    return self.fail(Verb::Watch, error, Next::Sync, now, effects);
                }
                return self.begin(Next::Sync, now, effects);
            }
            Event::Bookmark { version, .. } => {
                self.progress(version.clone());
                effects.push(Effect::Bookmark(version));
            }
            Event::Timer | Event::Page(_) => {}
            Event::Opened(Err(error)) => return self.watch_failed(error, now, effects),
            Event::Closed(Some(error))
                if stream.was_short(now) || !matches!(error, SourceError::Transport { .. }) =>
            {
                return self.watch_failed(error, now, effects);
            }
            // A quiet watch that lasts is a sound one.
            Event::Silent if self.failing && now < stream.deadline && !stream.was_short(now) => {
                self.failing = false;
                effects.push(Effect::Recovered);
            }
            // Connections break now and then: the first thing to do is to go on where it broke.
            Event::Closed(_) | Event::Silent => {
                if stream.was_short(now) {
                    let message = "the watch ended at once without a change".to_owned();
                    return self.fail(
                        Verb::Watch,
                        SourceError::Transport { message },
                        Next::Watch,
                        now,
                        effects,
                    );
                }
                return self.begin(Next::Watch, now, effects);
            }
        }
        effects.push(Effect::Read(match stream.opened {
            Some(opened) if self.failing => stream.deadline.min(opened + VERY_SHORT_WATCH),
            _ => stream.deadline,
        }));
        self.state = State::Watching(stream);
    }

    /// The watch works, and this is how far it got.
    fn progress(&mut self, version: ResourceVersion) {
        self.last = version;
        self.failing = false;
        self.failures.watches = 0;
    }

    fn watch_failed(&mut self, error: SourceError, now: Instant, effects: &mut Vec<Effect>) {
        if error.is_expired() || error.is_too_large_version() {
            self.failures.expired += 1;
            // A list "not older than" an expired version may well be served from a cache that is as old: the second
            // time in a row the version is left out. One that is too large will not come at all.
            self.doubt |= error.is_too_large_version();
            self.last_unavailable = self.failures.expired > 1 || error.is_too_large_version();
            if self.failures.expired > 2 {
                return self.fail(Verb::Watch, error, Next::Sync, now, effects);
            }
            return self.begin(Next::Sync, now, effects);
        }
        let same_version = match &error {
            SourceError::ConnectionRefused { .. } | SourceError::Transport { .. } => true,
            // The same version would bring the same event again; a list may get past it (client-go
            // `tools/cache/reflector.go`: an event that cannot be decoded ends in a list).
            SourceError::Unreadable { .. } | SourceError::Ended { .. } => false,
            SourceError::Status { status, .. } => {
                let passing = error.is_too_many_requests() || matches!(status.code, 500 | 503 | 504);
                self.failures.watches += u32::from(passing && !error.is_too_many_requests());
                passing && self.failures.watches < MAX_WATCH_ERRORS
            }
        };
        if !same_version {
            self.failures.watches = 0;
        }
        let next = if same_version { Next::Watch } else { Next::Sync };
        self.fail(Verb::Watch, error, next, now, effects);
    }

    /// Waits, and says why. What the server asks for counts up to [`MAX_RETRY_AFTER`].
    fn fail(&mut self, verb: Verb, error: SourceError, next: Next, now: Instant, effects: &mut Vec<Effect>) {
        let asked = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER);
        let wait = self.backoff.next(now, &mut self.random).max(asked);
        self.report(verb, error, effects);
        effects.push(Effect::Wait(now + wait));
        self.state = State::Idle(next);
    }

    fn report(&mut self, verb: Verb, error: SourceError, effects: &mut Vec<Effect>) {
        self.failing = true;
        effects.push(Effect::Report(verb, error));
    }

    fn new_stream(&mut self, now: Instant) -> Stream {
        let seconds = self.options.min_watch.as_secs().max(1);
        let asked = Duration::from_secs(seconds + self.random.u64(0..=seconds));
        Stream {
            opened: None,
            changes: 0,
            progress: now,
            told: false,
            deadline: now + asked + self.options.watch_grace,
        }
    }

    fn watch_options(&self, stream: &Stream, now: Instant) -> ListOptions {
        let asked = stream
            .deadline
            .saturating_duration_since(now)
            .saturating_sub(self.options.watch_grace);
        ListOptions {
            watch: true,
            allow_bookmarks: true,
            timeout_seconds: Some(asked.as_secs()),
            ..ListOptions::default()
        }
    }
}

fn is_older(a: &ResourceVersion, b: &ResourceVersion) -> bool {
    a.compare(b) == Some(Ordering::Less)
}

impl Stream {
    fn open(&mut self, now: Instant) {
        self.opened.get_or_insert(now);
    }

    fn was_short(&self, now: Instant) -> bool {
        self.changes == 0 && self.opened.is_none_or(|opened| now < opened + VERY_SHORT_WATCH)
    }
}
