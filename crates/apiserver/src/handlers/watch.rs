//! Watch: a stream of events, of initial state and of bookmarks.
//!
//! Once the options are found valid, everything that goes wrong is told within the stream: HTTP 200 and an `ERROR` event with a
//! `Status` (apiserver pkg/endpoints/handlers/watch.go). The stream keeps no buffer: it holds a place in the history and reads on
//! when the client has taken what it was sent, so a slow client costs itself, and one that is too slow gets 410.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderValue, Response, StatusCode, header};
use kubewright_core::WatchEventKind;
use kubewright_net::Body;
use kubewright_net::websocket::is_request;
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep};

use super::list::malformed_unchecked;
use super::response::Rendering;
use super::selection::Selection;
use super::{Call, all_from_storage, frame, websocket};
use crate::compression;
use crate::error::{ApiError, ApiResult};
use crate::registry::Resource;
use crate::request::media::{Encoding, PROTOBUF_STREAM};
use crate::request::{AskedVersion, ReadOptions};
use crate::server::Server;
use crate::storage::{
    At, Change, Event, FRAME_AROUND, RangeRequest, Revision, StorageError, StoredObject, Watch, WatchItem,
    WatchRequest, WatchStart, write_frame,
};
use crate::table::IncludeObject;

/// Answers with a stream of events.
pub(crate) async fn watch(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let options = ReadOptions::read(call.query)?;
    let mut selection = Selection::new(&call.resource, &options)?;
    // Only the old paths of watches have a name in them.
    if let Some(name) = &call.info.name {
        selection.narrow_to_name(name)?;
    }
    let rendering = Rendering::for_stream(call)?;
    let is_protobuf = rendering.accepted.encoding == Encoding::Protobuf;
    let start = start(&options)?;
    let server = call.server;
    let timeout = timeout(options.timeout_seconds, server.options.min_watch_timeout);
    let extent = selection.extent(&call.resource, call.namespace());
    let now = Instant::now();
    let stream = EventStream {
        server: server.clone(),
        resource: call.resource.clone(),
        accepted: rendering.accepted,
        include: rendering.include,
        is_stored_form: rendering.is_stored_form(),
        is_kept_protobuf: rendering.is_kept_protobuf(),
        selection,
        start,
        watch: None,
        batch: Vec::new(),
        taken: 0,
        sent: None,
        began: Revision::default(),
        is_first: true,
        sends_bookmarks: options.allow_bookmarks,
        marks_initial_end: options.allow_bookmarks && options.send_initial_events == Some(true),
        deadline: now.checked_add(timeout).unwrap_or(now + MAX_TIMEOUT),
        next_bookmark: now + server.options.bookmark_interval,
        last_bookmark: timeout < BEFORE_END,
        alarm: Box::pin(tokio::time::sleep_until(now)),
        stopped: stopped(server),
        published: call.resource.model.custom().map(|_| published(server)),
        ended: false,
        prefix: extent.prefix,
    };
    // Upstream compresses the watches that stand for a list (endpoints/handlers/watch.go `BeginStream`).
    let is_list = options.allow_bookmarks && options.send_initial_events == Some(true);
    let is_websocket = is_request(call.headers);
    let is_gzip = is_list && !is_websocket && compression::accepts_gzip(call.headers);
    let body = Body::stream(stream::unfold(Box::new(stream), move |mut stream| async move {
        let chunk = stream.next_chunk().await?;
        let chunk = if is_gzip {
            compression::gzip_piece(&chunk)
        } else {
            chunk
        };
        Some((Ok(chunk), stream))
    }));
    if is_websocket {
        return Ok(websocket::answer(call.headers, rendering.accepted.encoding, body));
    }
    let mut response = Response::new(body);
    if is_gzip {
        compression::mark(response.headers_mut());
    }
    *response.status_mut() = StatusCode::OK;
    let media_type = if is_protobuf {
        PROTOBUF_STREAM
    } else {
        Encoding::Json.media_type()
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(response)
}

/// Where a watch begins, and whether the store must first have come to some version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    from: WatchStart,
    wait_for: Option<Revision>,
}

/// Without a version, or with 0, a watch begins with the present state; so does one that asks for initial events (apiserver
/// pkg/storage/cacher/cacher.go `Watch`, watch_cache.go `getAllEventsSinceLocked`).
///
/// # Errors
/// 500 for a version that is no number, as upstream.
fn start(options: &ReadOptions) -> ApiResult<Start> {
    let version = match &options.version {
        AskedVersion::At(version) if version.0 > 0 => Some(*version),
        AskedVersion::At(_) | AskedVersion::Any | AskedVersion::Unset => None,
        AskedVersion::Malformed(error) => return Err(malformed_unchecked(error)),
    };
    let (from, wait_for) = match (options.send_initial_events, version) {
        (Some(true), version) => (WatchStart::State, version),
        (_, Some(version)) => (WatchStart::After(version), None),
        (Some(false), None) => (WatchStart::After(NOW), None),
        (None, None) => (WatchStart::State, None),
    };
    Ok(Start { from, wait_for })
}

/// How long a watch may take: what it asks for; without that, and with 0, between once and twice the server's least.
fn timeout(asked_seconds: Option<i64>, least: Duration) -> Duration {
    match asked_seconds.filter(|seconds| *seconds != 0) {
        None => least.mul_f64(1.0 + fastrand::f64()),
        // Less than no time is over at once.
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
    }
}

/// The state of one watch between two pieces of its body.
struct EventStream {
    server: Arc<Server>,
    resource: Arc<Resource>,
    prefix: crate::storage::KeyPrefix,
    selection: Selection,
    accepted: crate::request::media::Accepted,
    include: IncludeObject,
    is_stored_form: bool,
    is_kept_protobuf: bool,
    start: Start,
    watch: Option<Watch>,
    /// What was read; reused from piece to piece.
    batch: Vec<WatchItem>,
    /// How much of it went into pieces already.
    taken: usize,
    /// The revision up to which everything went into pieces; `None` within the initial state.
    sent: Option<Revision>,
    /// Where the changes began: what the client knows without a bookmark.
    began: Revision,
    /// Whether nothing was sent yet: a Table names its columns once.
    is_first: bool,
    sends_bookmarks: bool,
    marks_initial_end: bool,
    deadline: Instant,
    next_bookmark: Instant,
    /// Whether the bookmark shortly before the end was sent.
    last_bookmark: bool,
    /// Rings at the next bookmark or at the end. It is set anew only where that changes, which costs more than an event.
    alarm: Pin<Box<Sleep>>,
    /// Ready once the server is to end; not polled after that.
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Ready once other custom resources are served; there for these alone.
    published: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ended: bool,
}

/// Ready once the server is to end.
fn stopped(server: &Server) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let mut stop = server.stop.subscribe();
    Box::pin(async move {
        // A server that is gone has ended.
        let _ = stop.wait_for(|stop| *stop).await;
    })
}

/// Ready once other custom resources are served than now.
fn published(server: &Server) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let mut published = server.published.subscribe();
    Box::pin(async move {
        // A server that is gone has ended.
        let _ = published.changed().await;
    })
}

/// What woke the stream up.
enum Wake {
    Items(Result<(), StorageError>),
    Bookmark,
    /// Perhaps the kind is another one now, or gone.
    Published,
    End,
}

impl EventStream {
    /// The next piece of the body; `None` at its end.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        loop {
            if self.ended {
                return None;
            }
            if self.watch.is_none() {
                if let Err(error) = self.open().await {
                    return Some(self.fail(error));
                }
                // Since the request was routed.
                if !self.keep_up() {
                    return None;
                }
            }
            let wake = self.wait().await;
            let is_served = self.keep_up();
            let chunk = match wake {
                Wake::End => return None,
                // The last events of a kind that is gone were sent.
                Wake::Bookmark | Wake::Published if !is_served && self.is_drained() => return None,
                Wake::Published => None,
                Wake::Bookmark => self.bookmark(),
                Wake::Items(Ok(())) => self.take_batch().await,
                Wake::Items(Err(error)) => {
                    let error = ApiError::from_storage(error, &self.resource.group_resource(), "");
                    Some(self.fail(error))
                }
            };
            if let Some(chunk) = chunk.filter(|chunk| !chunk.is_empty()) {
                return Some(chunk);
            }
            // Nothing of what was read is for this watcher. Others have their turn before more is read.
            tokio::task::yield_now().await;
        }
    }

    /// Whether all there is has been sent. What there is otherwise comes next.
    fn is_drained(&mut self) -> bool {
        let Some(watch) = &mut self.watch else {
            return true;
        };
        self.batch.is_empty() && matches!(watch.try_next_batch(BATCH, &mut self.batch), Ok(0))
    }

    /// Goes by the present definition of a custom resource. Says whether the kind is still served.
    fn keep_up(&mut self) -> bool {
        if self.resource.model.custom().is_none() {
            return true;
        }
        let registry = self.server.registry();
        let Resource {
            group,
            version,
            plural,
            ..
        } = &*self.resource;
        match registry.find(group, version, plural) {
            Some(present) if Arc::ptr_eq(present, &self.resource) => true,
            Some(present) => {
                self.resource = present.clone();
                let rendering = Rendering::with(&self.resource, self.accepted, self.include);
                self.is_stored_form = rendering.is_stored_form();
                // The columns of a Table may be others now.
                self.is_first = true;
                true
            }
            None => false,
        }
    }

    async fn open(&mut self) -> ApiResult<()> {
        let storage = self.server.storage();
        let failed = |error| ApiError::from_storage(error, &self.resource.group_resource(), "");
        if let Some(version) = self.start.wait_for {
            let mut wait = RangeRequest::new(self.prefix.clone());
            (wait.at, wait.limit) = (At::NotOlderThan(version), Some(0));
            storage.range(wait).await.map_err(failed)?;
        }
        let mut start = self.start.from;
        if matches!(start, WatchStart::After(NOW) | WatchStart::State) {
            let now = storage.progress().await.map_err(failed)?;
            if start != WatchStart::State {
                start = WatchStart::After(now);
            }
        }
        let request = WatchRequest {
            prefix: self.prefix.clone(),
            start,
        };
        if let WatchStart::After(revision) = start {
            self.sent = Some(revision);
            self.began = revision;
        }
        self.watch = Some(storage.watch(request).map_err(failed)?);
        Ok(())
    }

    async fn wait(&mut self) -> Wake {
        let Some(watch) = &mut self.watch else {
            return Wake::End;
        };
        let wake_at = if self.sends_bookmarks {
            let last = self
                .deadline
                .checked_sub(BEFORE_END)
                .filter(|_| !self.last_bookmark);
            last.map_or(self.next_bookmark, |last| last.min(self.next_bookmark))
                .min(self.deadline)
        } else {
            self.deadline
        };
        if *self.server.stop.borrow() {
            return Wake::End;
        }
        // The clock comes first: where events never cease, the time is over all the same.
        if Instant::now() >= wake_at {
            return time_is_up(self.deadline);
        }
        if !self.batch.is_empty() {
            return Wake::Items(Ok(()));
        }
        if self.alarm.deadline() != wake_at {
            self.alarm.as_mut().reset(wake_at);
        }
        // What is most often ready first. The others have been asked above, or before this waited.
        poll_fn(|cx| {
            if let Poll::Ready(result) = watch.poll_batch(cx, BATCH, &mut self.batch) {
                return Poll::Ready(Wake::Items(result));
            }
            if self.stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Wake::End);
            }
            if let Some(present) = &mut self.published
                && present.as_mut().poll(cx).is_ready()
            {
                *present = published(&self.server);
                return Poll::Ready(Wake::Published);
            }
            self.alarm.as_mut().poll(cx).map(|()| time_is_up(self.deadline))
        })
        .await
    }

    /// Tells how far everything has been sent. The store may know that there is nothing beyond, if nothing waits here.
    fn bookmark(&mut self) -> Option<Bytes> {
        let now = Instant::now();
        self.last_bookmark = self
            .deadline
            .checked_sub(BEFORE_END)
            .is_none_or(|last| now >= last);
        self.next_bookmark = now + self.server.options.bookmark_interval;
        let progress = self.watch.as_ref()?.progress();
        let revision = progress.filter(|_| self.batch.is_empty()).or(self.sent)?;
        (revision > self.began).then(|| self.bookmark_frame(revision, false))
    }

    /// A piece of what was read: at least one item, and no further one once those before make [`CHUNK_BYTES`] as they are stored.
    async fn take_batch(&mut self) -> Option<Bytes> {
        let mut batch = std::mem::take(&mut self.batch);
        let chunk = match &batch[self.taken..] {
            // A single event that others get as well is sent without a copy.
            [item @ WatchItem::Event(event)] if self.is_shared(event) => {
                self.taken += 1;
                self.follow(item);
                event.frame().clone()
            }
            items => {
                let (count, bytes) = piece(items);
                self.taken += count;
                self.write_items(&items[..count], bytes).await
            }
        };
        if self.taken == batch.len() {
            batch.clear();
            self.taken = 0;
        }
        self.batch = batch;
        Some(chunk)
    }

    /// Whether this watcher gets an event just as it was stored. The frames of changes are kept for all; the initial state is this
    /// watcher's own.
    fn is_shared(&self, event: &Event) -> bool {
        self.sent.is_some()
            && self.is_stored_form
            && !self.selection.needs_webhook(&self.resource)
            && self
                .transition(event)
                .is_some_and(|(change, object)| change == event.change() && self.resource.is_current(&object))
    }

    /// Notes how far everything is sent. The initial state comes in no order, so only its end tells.
    fn follow(&mut self, item: &WatchItem) {
        match item {
            WatchItem::Synced(revision) => {
                self.sent = Some(*revision);
                self.began = *revision;
            }
            WatchItem::Event(event) if self.sent.is_some() => self.sent = Some(event.revision()),
            WatchItem::Progress(revision) if self.sent.is_some() => self.sent = Some(*revision),
            _ => {}
        }
    }

    /// The frames of some items, which a webhook that is needed converts together.
    async fn write_items(&mut self, items: &[WatchItem], bytes: usize) -> Bytes {
        let mut out = BytesMut::with_capacity(bytes);
        match self.frames(items, &mut out).await {
            Ok(()) => {}
            Err(error) => out.extend_from_slice(&self.fail(error)),
        }
        out.freeze()
    }

    async fn frames(&mut self, items: &[WatchItem], out: &mut BytesMut) -> ApiResult<()> {
        let events: Vec<&Event> = items
            .iter()
            .filter_map(|item| match item {
                WatchItem::Event(event) => Some(event),
                _ => None,
            })
            .collect();
        let (server, resource) = (&*self.server, &*self.resource);
        let transitions: Vec<Transition> = if self.selection.needs_webhook(resource) {
            judge(server, resource, &self.selection, &events).await?
        } else {
            events.iter().map(|event| self.transition(event)).collect()
        };
        let objects = transitions.iter().flatten().map(|(_, object)| object);
        let foreign: Vec<Value> = objects
            .filter(|object| !self.is_sent_as_stored(object) && !self.is_kept_protobuf)
            .map(StoredObject::value)
            .collect();
        let converted = all_from_storage(server, resource, foreign.into_iter()).await?;
        let (mut transitions, mut converted) = (transitions.into_iter(), converted.into_iter());
        for item in items {
            match item {
                WatchItem::Event(_) => {
                    if let Some((change, object)) = transitions.next().flatten() {
                        self.write_event(change, &object, &mut converted, out);
                    }
                }
                WatchItem::Synced(revision) if self.marks_initial_end => {
                    out.extend_from_slice(&self.bookmark_frame(*revision, true));
                }
                _ => {}
            }
            self.follow(item);
        }
        Ok(())
    }

    fn is_sent_as_stored(&self, object: &StoredObject) -> bool {
        self.is_stored_form && self.resource.is_current(object)
    }

    /// `converted` gives the object in the served version where it is not sent as it is stored.
    fn write_event(
        &mut self,
        change: Change,
        object: &StoredObject,
        converted: &mut impl Iterator<Item = Value>,
        out: &mut BytesMut,
    ) {
        if self.is_sent_as_stored(object) {
            write_frame(change, object, out);
            return;
        }
        let frame = if self.is_kept_protobuf {
            let frame = frame::stored(&self.resource, change.as_str(), object);
            frame.unwrap_or_else(|error| self.fail(error))
        } else {
            self.frame(change.as_str(), &converted.next().unwrap_or_default())
        };
        out.extend_from_slice(&frame);
    }

    /// What a change means to this watcher, where no webhook is needed to know.
    fn transition(&self, event: &Event) -> Transition {
        if self.selection.is_everything() {
            return Some((event.change(), event.object().clone()));
        }
        transition(event, |object| self.selection.matches(&self.resource, object))
    }

    fn bookmark_frame(&mut self, revision: Revision, is_initial_end: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.0.to_string()});
        if is_initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = json!({
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version(),
            "metadata": metadata,
        });
        self.frame(WatchEventKind::Bookmark.as_str(), &object)
    }

    fn frame(&mut self, kind: &str, object: &Value) -> Bytes {
        let rendering = Rendering::with(&self.resource, self.accepted, self.include);
        let frame = rendering.frame(kind, object, self.is_first);
        self.is_first = false;
        frame.unwrap_or_else(|error| self.fail(error))
    }

    fn fail(&mut self, error: ApiError) -> Bytes {
        self.ended = true;
        frame::failure(self.accepted.encoding, &error)
    }
}

/// How many of the items make a piece, and about how many bytes that is if each is sent as it is stored.
fn piece(items: &[WatchItem]) -> (usize, usize) {
    let mut bytes = 0;
    for (index, item) in items.iter().enumerate() {
        bytes += match item {
            WatchItem::Event(event) => FRAME_AROUND + event.object().wire_len(),
            _ => 0,
        };
        if bytes >= CHUNK_BYTES {
            return (index + 1, bytes);
        }
    }
    (items.len(), bytes)
}

/// What a change means to a watcher: the change that it sees, if any, and of what.
type Transition = Option<(Change, StoredObject)>;

/// What changes mean to a watcher whose selector takes a webhook to know.
async fn judge(
    server: &Server,
    resource: &Resource,
    selection: &Selection,
    events: &[&Event],
) -> ApiResult<Vec<Transition>> {
    let objects: Vec<StoredObject> = events
        .iter()
        .flat_map(|event| std::iter::once(event.object()).chain(event.previous()))
        .cloned()
        .collect();
    let mut judged = selection.judge(server, resource, &objects).await?.into_iter();
    let judge = |event: &&Event| transition(event, |_| judged.next().unwrap_or_default());
    Ok(events.iter().map(judge).collect())
}

/// What a change means to a watcher whose selector `matches`: an object that comes to match is added, one that ceases to match is
/// deleted, shown in its last matching state with the version of the change. The object is asked about first, then the previous one.
fn transition(event: &Event, mut matches: impl FnMut(&StoredObject) -> bool) -> Transition {
    let object = event.object();
    let is_now = matches(object) && event.change() != Change::Deleted;
    let previous = event.previous().filter(|previous| matches(previous));
    match (is_now, previous) {
        (true, Some(_)) => Some((Change::Modified, object.clone())),
        (true, None) => Some((Change::Added, object.clone())),
        (false, Some(previous)) => Some((Change::Deleted, previous.at_revision(event.revision()))),
        (false, None) => None,
    }
}

/// The last wake-up, or one for a bookmark.
fn time_is_up(deadline: Instant) -> Wake {
    if Instant::now() >= deadline {
        Wake::End
    } else {
        Wake::Bookmark
    }
}

/// The present, which only the store knows, as a revision to watch from.
const NOW: Revision = Revision(u64::MAX);
/// How many events are read at once.
const BATCH: usize = 256;
/// A piece of a body that has as many bytes takes no further event: a slow client must not cost more memory than that and one
/// event.
const CHUNK_BYTES: usize = 64 * 1024;
/// How long before its end a watch gets a last bookmark (storage/cacher `bookmarkFrequency` and its comment).
const BEFORE_END: Duration = Duration::from_secs(2);
/// Where a timeout is too long to be counted.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_watch_begins() {
        let five = Revision(5);
        let not_older = "resourceVersionMatch=NotOlderThan&watch=1";
        for (query, from, wait_for) in [
            ("watch=1".to_owned(), WatchStart::State, None),
            ("watch=1&resourceVersion=0".to_owned(), WatchStart::State, None),
            (
                "watch=1&resourceVersion=5".to_owned(),
                WatchStart::After(five),
                None,
            ),
            // The old paths watch without saying so.
            (String::new(), WatchStart::State, None),
            ("resourceVersion=0".to_owned(), WatchStart::State, None),
            ("resourceVersion=5".to_owned(), WatchStart::After(five), None),
            (
                format!("sendInitialEvents=1&{not_older}"),
                WatchStart::State,
                None,
            ),
            (
                format!("sendInitialEvents=1&resourceVersion=0&{not_older}"),
                WatchStart::State,
                None,
            ),
            (
                format!("sendInitialEvents=1&resourceVersion=5&{not_older}"),
                WatchStart::State,
                Some(five),
            ),
            (
                format!("sendInitialEvents=0&{not_older}"),
                WatchStart::After(NOW),
                None,
            ),
            (
                format!("sendInitialEvents=0&resourceVersion=0&{not_older}"),
                WatchStart::After(NOW),
                None,
            ),
            (
                format!("sendInitialEvents=0&resourceVersion=5&{not_older}"),
                WatchStart::After(five),
                None,
            ),
        ] {
            let found = start(&ReadOptions::read(&query).unwrap()).unwrap();
            assert_eq!(found, Start { from, wait_for }, "{query}");
        }
        let error = start(&ReadOptions::read("watch=1&resourceVersion=x").unwrap()).unwrap_err();
        let status = error.status();
        assert_eq!((status.code, status.reason.as_str()), (500, ""));
        let why = "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax";
        assert_eq!(status.message, why);
    }

    #[test]
    fn how_long_a_watch_takes() {
        let least = Duration::from_secs(1800);
        for asked in [None, Some(0)] {
            let found = timeout(asked, least);
            assert!((least..least * 2).contains(&found), "{asked:?}: {found:?}");
        }
        for (asked, seconds) in [(1, 1), (7200, 7200), (-1, 0), (i64::MIN, 0)] {
            assert_eq!(timeout(Some(asked), least), Duration::from_secs(seconds));
        }
    }
}
