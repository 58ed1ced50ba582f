//! Lists and watches as bytes: items and objects are cut out, not decoded.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body as _;
use kubewright_core::json::Nesting;
use kubewright_core::{ApiResource, ListMeta, ListOptions, Status, WatchEventKind};
use kubewright_net::{Body, TransportError};
use serde::Deserialize;
use serde::de::{self, Unexpected};
use serde_json::value::RawValue;

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;
use crate::frame::{Frame, FrameError, Framer};
use crate::rest::{JSON, RestClient, RestRequest};

/// A collection of objects of one kind, in one namespace or all, and how much of each object to ask for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResourcePath {
    /// URL path, for example `/api/v1/namespaces/default/pods`.
    pub path: String,
    /// What to ask for.
    pub view: View,
}

/// How much of each object the server sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum View {
    /// All of it.
    #[default]
    Full,
    /// Its metadata, as `PartialObjectMetadata`.
    Metadata,
}

impl ResourcePath {
    /// The objects of a resource in a namespace, or in all for `None`.
    pub fn new(resource: &ApiResource, namespace: Option<&str>) -> Self {
        Self {
            path: resource.path(namespace, None),
            view: View::Full,
        }
    }

    /// The same with metadata only.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.view = View::Metadata;
        self
    }
}

impl ResourcePath {
    pub(crate) fn request(&self, client: &Client, shape: Shape) -> RestRequest {
        let request = RestClient::unversioned(client).get().path(&self.path);
        request.accept(self.view.accept(shape))
    }

    /// A list, whatever the options say of watches.
    pub(crate) fn list_request(&self, client: &Client, options: &ListOptions) -> RestRequest {
        let options = ListOptions {
            watch: false,
            ..options.clone()
        };
        let request = self.request(client, Shape::List).verb("list");
        request.list_options(&options)
    }
}

impl From<&str> for ResourcePath {
    fn from(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            view: View::Full,
        }
    }
}

impl View {
    pub(crate) fn accept(self, list: Shape) -> &'static str {
        match (self, list) {
            (Self::Full, _) => JSON,
            (Self::Metadata, Shape::Object) => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            (Self::Metadata, Shape::List) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
        }
    }
}

/// What an answer holds.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Object,
    List,
}

/// A list whose items are JSON text.
///
/// The items are slices of the answer and keep all of it in memory: copy what outlives the list. Items of built-in kinds
/// come without `apiVersion` and `kind`, as the server sends them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawList {
    /// Version, continue token and count of what remains.
    pub metadata: ListMeta,
    /// The objects, undecoded.
    pub items: Vec<Bytes>,
}

impl RawList {
    /// Cuts a list into its items.
    ///
    /// # Errors
    ///
    /// The text is not one JSON object with `items`, which may be null, or something follows it.
    pub fn split(body: &Bytes) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Split<'a> {
            #[serde(default)]
            metadata: ListMeta,
            // Absent is not null, which is an empty list.
            #[serde(borrow)]
            items: Items<'a>,
        }
        #[derive(Deserialize)]
        struct Items<'a>(#[serde(borrow)] Option<Vec<&'a RawValue>>);
        refuse_array(body, &"a list, which is an object")?;
        let split: Split<'_> = serde_json::from_slice(body)?;
        let items = split.items.0.unwrap_or_default();
        let items = items
            .into_iter()
            .map(|item| body.slice_ref(item.get().as_bytes()))
            .collect();
        Ok(Self {
            metadata: split.metadata,
            items,
        })
    }
}

/// An event of a watch whose object is JSON text.
///
/// The object is a slice of what came from the network: copy what is kept for long. Whether it makes sense is found out by whoever decodes it,
/// so that one that makes none concerns no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    /// What happened.
    pub kind: WatchEventKind,
    /// The object; a `Status` for [`WatchEventKind::Error`].
    pub object: Bytes,
}

impl RawEvent {
    /// Cuts one event into kind and object.
    ///
    /// # Errors
    ///
    /// The text is no event, or of a kind that this version does not know.
    pub fn split(frame: &Bytes) -> Result<Self, serde_json::Error> {
        match Self::split_usual(frame) {
            Some(event) => Ok(event),
            None => Self::split_any(frame),
        }
    }

    /// The same for a frame of a stream, which was looked at already.
    fn of(frame: &Frame) -> Result<Self, serde_json::Error> {
        let text = &frame.text;
        // With one member that has brackets, what ends before the last bracket of all is that member.
        let is_end = |object: &[u8]| frame.members == 1 && matches!(object, [.., b'}' | b']']);
        let usual = usual(text).and_then(|(kind, rest)| {
            let object = rest.strip_suffix(b"}")?.trim_ascii_end();
            is_end(object).then(|| Self {
                kind,
                object: text.slice_ref(object),
            })
        });
        usual.map_or_else(|| Self::split_any(text), Ok)
    }

    fn split_usual(text: &Bytes) -> Option<Self> {
        let (kind, rest) = usual(text)?;
        let end = Nesting::default().scan(rest).ok()??;
        let (object, rest) = rest.split_at(end);
        (rest.trim_ascii() == b"}").then(|| Self {
            kind,
            object: text.slice_ref(object),
        })
    }

    fn split_any(frame: &Bytes) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Split<'a> {
            r#type: WatchEventKind,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        refuse_array(frame, &"an event, which is an object")?;
        let split: Split<'_> = serde_json::from_slice(frame)?;
        Ok(Self {
            kind: split.r#type,
            object: frame.slice_ref(split.object.get().as_bytes()),
        })
    }

    /// The status of an error event; `None` for others.
    pub fn status(&self) -> Option<Status> {
        (self.kind == WatchEventKind::Error).then(|| {
            serde_json::from_slice(&self.object).unwrap_or_else(|_| {
                Status::failure(
                    kubewright_core::StatusReason::InternalError,
                    "the watch ended with an unreadable error",
                )
            })
        })
    }
}

/// Else the fields could come in an array, one after the other.
fn refuse_array(text: &[u8], expected: &dyn de::Expected) -> Result<(), serde_json::Error> {
    match text.trim_ascii_start().starts_with(b"[") {
        true => Err(de::Error::invalid_type(Unexpected::Seq, expected)),
        false => Ok(()),
    }
}

/// The kind of an event that is written as servers write it, kind first, and the text that begins with its object.
fn usual(text: &[u8]) -> Option<(WatchEventKind, &[u8])> {
    let kind = text.strip_prefix(b"{\"type\":\"")?;
    let (kind, rest) = kind.split_at(memchr::memchr(b'"', kind)?);
    let kind = match kind {
        b"ADDED" => WatchEventKind::Added,
        b"MODIFIED" => WatchEventKind::Modified,
        b"DELETED" => WatchEventKind::Deleted,
        b"BOOKMARK" => WatchEventKind::Bookmark,
        b"ERROR" => WatchEventKind::Error,
        _ => return None,
    };
    let object = rest.strip_prefix(b"\",\"object\":")?;
    object.starts_with(b"{").then_some((kind, object))
}

impl Client {
    /// Lists a collection without decoding its items. The whole answer is read first; [`list_items`](Self::list_items) hands items out as they come.
    ///
    /// # Errors
    ///
    /// As [`request_bytes`](Self::request_bytes), and [`Error::Decode`] if the answer is no list.
    pub async fn list_raw(&self, path: &ResourcePath, options: &ListOptions) -> Result<RawList, Error> {
        let (call, body) = path.list_request(self, options).answer().await?;
        RawList::split(&body).map_err(|error| call.decode(error))
    }

    /// Watches a collection without decoding its objects. `watch` in the options is implied.
    ///
    /// # Errors
    ///
    /// The watch could not be started: as [`request_bytes`](Self::request_bytes), without a time limit. What happens
    /// later is an item of the stream.
    pub async fn watch_raw(&self, path: &ResourcePath, options: &ListOptions) -> Result<RawWatch, Error> {
        let options = ListOptions {
            watch: true,
            limit: 0,
            continue_token: String::new(),
            ..options.clone()
        };
        path.request(self, Shape::Object)
            .list_options(&options)
            .watch()
            .await
    }
}

/// The events of a watch, undecoded: a stream that ends when the server ends the watch.
///
/// An error event of the server is an item like others; errors of the stream are its last item. Dropping it ends the
/// watch.
#[derive(Debug)]
pub struct RawWatch {
    /// `None` once the stream has ended.
    body: Option<Body>,
    framer: Framer,
    limit: usize,
    call: Call,
}

impl RawWatch {
    pub(crate) fn new(body: Body, limit: usize, call: Call) -> Self {
        Self {
            body: Some(body),
            framer: Framer::new(limit),
            limit,
            call,
        }
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    ///
    /// The connection broke, or what came is no event. Nothing follows an error.
    pub async fn next(&mut self) -> Option<Result<RawEvent, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    fn frame_error(&self, error: FrameError) -> Error {
        match error {
            FrameError::TooLarge => self.call.too_large(self.limit),
            FrameError::TooDeep => self.call.decode("an event with too many brackets in each other"),
            FrameError::NotAnObject => self.call.decode("text between events"),
            FrameError::Truncated => self.call.transport(TransportError::closed("reading an event")),
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<RawEvent, Error>>> {
        loop {
            match self.framer.next() {
                Ok(Some(frame)) => {
                    let event = RawEvent::of(&frame);
                    let event = event.map_err(|error| self.call.decode(error));
                    return Poll::Ready(Some(event));
                }
                Ok(None) => {}
                Err(error) => return Poll::Ready(Some(Err(self.frame_error(error)))),
            }
            let Some(body) = &mut self.body else {
                return Poll::Ready(None);
            };
            match ready!(Pin::new(body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.framer.push(chunk);
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(self.call.transport(error)))),
                None => {
                    let end = self.framer.finish().err();
                    return Poll::Ready(end.map(|error| Err(self.frame_error(error))));
                }
            }
        }
    }
}

impl Stream for RawWatch {
    type Item = Result<RawEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.body.is_none() {
            return Poll::Ready(None);
        }
        let event = ready!(self.poll_event(cx));
        if !matches!(event, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_cut_into_their_items() {
        type Row = (&'static str, Option<(&'static str, &'static [&'static str])>);
        let rows: [Row; 11] = [
            (
                r#"{"metadata":{"resourceVersion":"7"},"items":[{"a": 1},{}]}"#,
                Some(("7", &[r#"{"a": 1}"#, "{}"])),
            ),
            (
                r#"{"kind":"PodList","items":null,"metadata":{"resourceVersion":"8","x":1}}"#,
                Some(("8", &[])),
            ),
            (r#"{"metadata":{"resourceVersion":"9"}}"#, None),
            (r#"{"kind":"Status","status":"Failure"}"#, None),
            (r#" {"items":["é",[ ]]} "#, Some(("", &["\"é\"", "[ ]"]))),
            (r#"{"items":[]} trailing"#, None),
            (r#"{"items":[}"#, None),
            (r#"{"items":{}}"#, None),
            (r#"[{},[]]"#, None),
            ("", None),
            ("<html>", None),
        ];
        for (text, expect) in rows {
            let list = RawList::split(&Bytes::from_static(text.as_bytes())).ok();
            let found = list
                .as_ref()
                .map(|list| (list.metadata.resource_version.as_str(), list.items.clone()));
            let expect = expect.map(|(version, items)| {
                (
                    version,
                    items
                        .iter()
                        .map(|item| Bytes::from_static(item.as_bytes()))
                        .collect(),
                )
            });
            assert_eq!(found, expect, "{text}");
        }
        assert!(RawList::split(&Bytes::from_static(b"{\"items\":[\"\xff\"]}")).is_err());
    }

    /// What comes of a text in a stream; `None` if it is not one object.
    fn framed(text: &Bytes) -> Option<Option<RawEvent>> {
        let mut framer = Framer::new(1000);
        framer.push(text.clone());
        let frame = framer.next().ok()??;
        (framer.next() == Ok(None) && framer.finish().is_ok()).then(|| RawEvent::of(&frame).ok())
    }

    #[test]
    fn events_are_cut_into_kind_and_object() {
        let rows = [
            (
                r#"{"type":"ADDED","object":{"a":[1, 2]}}"#,
                Some((WatchEventKind::Added, r#"{"a":[1, 2]}"#)),
            ),
            (
                r#"{"object":{},"type":"BOOKMARK"}"#,
                Some((WatchEventKind::Bookmark, "{}")),
            ),
            (
                "{\"type\":\"DELETED\",\"object\":{}\n }\n",
                Some((WatchEventKind::Deleted, "{}")),
            ),
            (
                r#"{"type":"MODIFIED","object":{"a":"}\""},"more":1}"#,
                Some((WatchEventKind::Modified, r#"{"a":"}\""}"#)),
            ),
            (
                r#"{ "type" : "ERROR", "object" : {"code":410}}"#,
                Some((WatchEventKind::Error, r#"{"code":410}"#)),
            ),
            // It is cut out of what is around it, whatever it is.
            (
                r#"{"type":"ADDED","object":{"a" 1}}"#,
                Some((WatchEventKind::Added, r#"{"a" 1}"#)),
            ),
            (r#"{"type":"ADDED","object":{},"object":{}}"#, None),
            (r#"{"type":"ADDED","object":{}}}"#, None),
            (r#"{"type":"ADDED","object":{}"#, None),
            (r#"{"type":"RENAMED","object":{}}"#, None),
            (r#"{"type":"ADDED"}"#, None),
            (r#"{"kind":"Status"}"#, None),
            (r#"["ADDED",{}]"#, None),
        ];
        for (text, expect) in rows {
            let event = RawEvent::split(&Bytes::from_static(text.as_bytes())).ok();
            assert_eq!(
                framed(&Bytes::from_static(text.as_bytes())).unwrap_or_default(),
                event,
                "{text}"
            );
            let expect = expect.map(|(kind, object)| RawEvent {
                kind,
                object: Bytes::from_static(object.as_bytes()),
            });
            assert_eq!(event, expect, "{text}");
        }
    }

    proptest! {
        /// The short way leads where the long one does, but for objects that are no JSON.
        #[test]
        fn usual_events_are_read_as_any_others(
            object in "[a-z\\\\\"{}\\[\\],: ]{0,20}",
            kind in prop::sample::select(&["ADDED", "BOOKMARK", "", "X"][..]),
            place in any::<prop::sample::Index>(),
            byte in prop::sample::select(&b"\"\\{}[],: 0n"[..]),
            is_damaged in any::<bool>(),
        ) {
            let object = serde_json::json!({ "a": object, "b": [{}] });
            let mut text = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into_bytes();
            if is_damaged {
                let place = place.index(text.len());
                text[place] = byte;
            }
            let text = Bytes::from(text);
            if let Some(event) = framed(&text) {
                prop_assert_eq!(event, RawEvent::split(&text).ok());
            }
            match (RawEvent::split(&text), RawEvent::split_any(&text)) {
                (Ok(event), Ok(slow)) => prop_assert_eq!(event, slow),
                (Ok(event), Err(_)) => prop_assert!(serde_json::from_slice::<&RawValue>(&event.object).is_err()),
                (Err(_), slow) => prop_assert!(slow.is_err()),
            }
        }
    }
}
