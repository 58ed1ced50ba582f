//! Watch: a stream of events, of initial state and of bookmarks.
//!
//! Once the options are found valid, everything that goes wrong is told within the stream: HTTP 200 and an `ERROR` event with a
//! `Status` (apiserver pkg/endpoints/handlers/watch.go). The stream keeps no buffer: it holds a place in the history and reads on
//! when the client has taken what it was sent, so a slow client costs itself, and one that is too slow gets 410.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderValue, Response, StatusCode, header};
use kubewright_core::{FieldError, FieldPath, ListOptions, VersionMatch, WatchEventKind};
use kubewright_net::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::list::{check_version, invalid_options};
use super::response::Rendering;
use super::selection::Selection;
use super::{Call, from_storage};
use crate::error::{ApiError, ApiResult};
use crate::registry::Resource;
use crate::request::media::Encoding;
use crate::server::Server;
use crate::storage::{
    At, Change, Event, RangeRequest, Revision, StorageError, StoredObject, Watch, WatchItem, WatchRequest,
    WatchStart, encode_frame,
};
use crate::table::IncludeObject;

/// Answers with a stream of events.
pub(crate) async fn watch(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let options =
        ListOptions::from_query(call.query).map_err(|error| ApiError::from_option(error, "ListOptions"))?;
    check_options(&options)?;
    let selection = Selection::new(&call.resource, &options)?;
    let rendering = Rendering::new(call)?;
    if rendering.accepted.encoding == Encoding::Yaml {
        return Err(crate::request::media::not_acceptable(&["application/json"]));
    }
    let version = check_version(&options.resource_version)?;
    let server = call.server;
    let timeout = options
        .timeout_seconds
        .filter(|seconds| *seconds > 0)
        .map_or_else(
            || server.options.min_watch_timeout.mul_f64(1.0 + fastrand::f64()),
            Duration::from_secs,
        );
    let now = Instant::now();
    let stream = EventStream {
        server: server.clone(),
        resource: call.resource.clone(),
        accepted: rendering.accepted,
        include: rendering.include,
        is_stored_form: rendering.is_stored_form(),
        selection,
        start: start(&options, version),
        watch: None,
        batch: Vec::new(),
        taken: 0,
        sent: None,
        is_first: true,
        sends_bookmarks: options.allow_bookmarks,
        marks_initial_end: options.allow_bookmarks && options.send_initial_events == Some(true),
        deadline: now.checked_add(timeout).unwrap_or(now + MAX_TIMEOUT),
        next_bookmark: now + server.options.bookmark_interval,
        last_bookmark: false,
        stop: server.stop.subscribe(),
        ended: false,
        prefix: call.resource.prefix(call.namespace()),
    };
    let body = Body::stream(stream::unfold(Box::new(stream), |mut stream| async {
        let chunk = stream.next_chunk().await?;
        Some((Ok(chunk), stream))
    }));
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::OK;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Where a watch begins, and whether the store must first have come to some version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    from: WatchStart,
    wait_for: Option<Revision>,
}

/// Without a version, or with 0, a watch begins with the present state; so does one that asks for initial events.
fn start(options: &ListOptions, version: Option<Revision>) -> Start {
    let version = version.filter(|version| version.0 > 0);
    match (options.send_initial_events, version) {
        (Some(true), version) => Start {
            from: WatchStart::State,
            wait_for: version,
        },
        (_, Some(version)) => Start {
            from: WatchStart::After(version),
            wait_for: None,
        },
        (Some(false), None) => Start {
            from: WatchStart::After(Revision(u64::MAX)),
            wait_for: None,
        },
        (None, None) => Start {
            from: WatchStart::State,
            wait_for: None,
        },
    }
}

/// apimachinery pkg/apis/meta/internalversion/validation.
fn check_options(options: &ListOptions) -> ApiResult<()> {
    let mut errors = Vec::new();
    let mut forbid = |field: &str, why: &str| errors.push(FieldError::forbidden(FieldPath::new(field), why));
    match (options.send_initial_events, options.version_match) {
        (None, None) | (Some(_), Some(VersionMatch::NotOlderThan)) => {}
        (None, Some(_)) => forbid(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (Some(_), _) => forbid(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
    }
    if !options.continue_token.is_empty() {
        forbid("continue", "continue is forbidden for watch");
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(invalid_options(&errors))
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
    start: Start,
    watch: Option<Watch>,
    /// What was read; reused from piece to piece.
    batch: Vec<WatchItem>,
    /// How much of it went into pieces already.
    taken: usize,
    /// The revision up to which everything went into pieces; `None` within the initial state.
    sent: Option<Revision>,
    /// Whether nothing was sent yet: a Table names its columns once.
    is_first: bool,
    sends_bookmarks: bool,
    marks_initial_end: bool,
    deadline: Instant,
    next_bookmark: Instant,
    /// Whether the bookmark shortly before the end was sent.
    last_bookmark: bool,
    stop: tokio::sync::watch::Receiver<bool>,
    ended: bool,
}

/// What woke the stream up.
enum Wake {
    Items(Result<(), StorageError>),
    Bookmark,
    End,
}

impl EventStream {
    /// The next piece of the body; `None` at its end.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        loop {
            if self.ended {
                return None;
            }
            if self.watch.is_none()
                && let Err(error) = self.open().await
            {
                return Some(self.fail(error));
            }
            let wake = self.wait().await;
            let is_served = self.keep_up();
            let chunk = match wake {
                Wake::End => return None,
                // The last events of a kind that is gone were sent.
                Wake::Bookmark if !is_served && self.is_drained() => return None,
                Wake::Bookmark => self.bookmark(),
                Wake::Items(Ok(())) => self.take_batch(),
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
        if start == WatchStart::After(Revision(u64::MAX)) || start == WatchStart::State {
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
        // The clock comes first: where events never cease, the time is over all the same.
        let is_due = Instant::now() >= wake_at;
        if !is_due && !self.batch.is_empty() && !*self.stop.borrow() {
            return Wake::Items(Ok(()));
        }
        let deadline = self.deadline;
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stop| *stop) => Wake::End,
            () = std::future::ready(()), if is_due => time_is_up(deadline),
            result = watch.next_batch(BATCH, &mut self.batch) => Wake::Items(result),
            () = tokio::time::sleep_until(wake_at) => time_is_up(deadline),
        }
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
        Some(self.bookmark_frame(revision, false))
    }

    /// A piece of what was read: at least one item, and no further one once it has [`CHUNK_BYTES`].
    fn take_batch(&mut self) -> Option<Bytes> {
        let mut batch = std::mem::take(&mut self.batch);
        let chunk = match &batch[self.taken..] {
            // A single event that everybody gets alike is sent without a copy.
            [item @ WatchItem::Event(event)]
                if self.is_stored_form
                    && self.selection.is_everything()
                    && self.resource.is_stored_form(event.object()) =>
            {
                self.taken += 1;
                self.follow(item);
                event.frame().clone()
            }
            items => {
                let mut chunk = BytesMut::new();
                for item in items {
                    self.write_item(item, &mut chunk);
                    self.taken += 1;
                    self.follow(item);
                    if chunk.len() >= CHUNK_BYTES {
                        break;
                    }
                }
                chunk.freeze()
            }
        };
        if self.taken == batch.len() {
            batch.clear();
            self.taken = 0;
        }
        self.batch = batch;
        Some(chunk)
    }

    /// Notes how far everything is sent. The initial state comes in no order, so only its end tells.
    fn follow(&mut self, item: &WatchItem) {
        match item {
            WatchItem::Synced(revision) => self.sent = Some(*revision),
            WatchItem::Event(event) if self.sent.is_some() => self.sent = Some(event.revision()),
            WatchItem::Progress(revision) if self.sent.is_some() => self.sent = Some(*revision),
            _ => {}
        }
    }

    fn write_item(&mut self, item: &WatchItem, out: &mut BytesMut) {
        match item {
            WatchItem::Event(event) => self.write_event(event, out),
            WatchItem::Synced(revision) if self.marks_initial_end => {
                out.extend_from_slice(&self.bookmark_frame(*revision, true));
            }
            _ => {}
        }
    }

    fn write_event(&mut self, event: &Event, out: &mut BytesMut) {
        let Some((change, object)) = self.transition(event) else {
            return;
        };
        if self.is_stored_form && self.resource.is_stored_form(&object) {
            if change == event.change() {
                out.extend_from_slice(event.frame());
            } else {
                out.extend_from_slice(&encode_frame(change, &object));
            }
            return;
        }
        let value = from_storage(&self.resource, object.value());
        let frame = self.frame(change.as_str(), &value);
        out.extend_from_slice(&frame);
    }

    /// What a change means to this watcher: an object that comes to match is added, one that ceases to match is deleted, shown
    /// in its last matching state with the version of the change.
    fn transition(&self, event: &Event) -> Option<(Change, StoredObject)> {
        let object = event.object();
        if self.selection.is_everything() {
            return Some((event.change(), object.clone()));
        }
        let is_now = event.change() != Change::Deleted && self.selection.matches(&self.resource, object);
        let previous = event
            .previous()
            .filter(|previous| self.selection.matches(&self.resource, previous));
        match (is_now, previous) {
            (true, Some(_)) => Some((Change::Modified, object.clone())),
            (true, None) => Some((Change::Added, object.clone())),
            (false, Some(previous)) => Some((Change::Deleted, previous.at_revision(event.revision()))),
            (false, None) => None,
        }
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
        let object = rendering.event_object(object, self.is_first);
        self.is_first = false;
        let mut text = serde_json::to_vec(&json!({"type": kind, "object": object})).unwrap_or_default();
        text.push(b'\n');
        text.into()
    }

    fn fail(&mut self, error: ApiError) -> Bytes {
        self.ended = true;
        let mut text = serde_json::to_vec(&json!({
            "type": WatchEventKind::Error.as_str(),
            "object": error.status(),
        }))
        .unwrap_or_default();
        text.push(b'\n');
        text.into()
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

/// How many events are read at once.
const BATCH: usize = 256;
/// A piece of a body that has as many bytes takes no further event: a slow client must not cost more memory than that and one
/// event.
const CHUNK_BYTES: usize = 64 * 1024;
/// How long before its end a watch gets a last bookmark (storage/cacher `bookmarkFrequency` and its comment).
const BEFORE_END: Duration = Duration::from_secs(2);
/// Where a timeout is too long to be counted.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);
