//! Watches whose objects are decoded: [`Watch`].

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use kubewright_core::{ApiResource, PartialObject, ResourceVersion, Status, WatchEvent, WatchEventKind};
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::raw::{RawEvent, RawWatch};

/// The changes of a collection: a stream that ends when the server ends the watch.
///
/// An object that cannot be decoded is an error in the stream, after which it goes on. An error event of the server
/// ([`Error::Api`]) and a broken connection end it.
#[derive(Debug)]
pub struct Watch<K> {
    raw: RawWatch,
    resource: ApiResource,
    ended: Ended,
    kind: PhantomData<fn() -> K>,
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    No,
    ByError,
}

/// Marks the bookmark after the initial state (KEP-3157).
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

impl<K: DeserializeOwned + 'static> Watch<K> {
    pub(crate) fn new(raw: RawWatch, resource: ApiResource) -> Self {
        Self {
            raw,
            resource,
            ended: Ended::No,
            kind: PhantomData,
        }
    }

    /// The next change; `None` at the end.
    ///
    /// # Errors
    ///
    /// See the type.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<K>, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    fn decode(&self, event: &RawEvent) -> Result<WatchEvent<K>, Error> {
        let call = self.raw.call();
        let fail = |error: serde_json::Error| call.decode(error);
        let object = || {
            let mut object: K = serde_json::from_slice(&event.object).map_err(fail)?;
            crate::api::name_kind(&self.resource, &mut object);
            Ok(object)
        };
        Ok(match event.kind {
            WatchEventKind::Added => WatchEvent::Added(object()?),
            WatchEventKind::Modified => WatchEvent::Modified(object()?),
            WatchEventKind::Deleted => WatchEvent::Deleted(object()?),
            WatchEventKind::Bookmark => {
                let object: PartialObject = serde_json::from_slice(&event.object).map_err(fail)?;
                let annotations = object.metadata.annotations.unwrap_or_default();
                WatchEvent::Bookmark {
                    resource_version: ResourceVersion::new(
                        object.metadata.resource_version.unwrap_or_default(),
                    ),
                    initial_events_end: annotations
                        .get(INITIAL_EVENTS_END)
                        .is_some_and(|value| value == "true"),
                }
            }
            WatchEventKind::Error => {
                let status: Status = serde_json::from_slice(&event.object).map_err(fail)?;
                return Err(call.api(status));
            }
        })
    }
}

impl<K: DeserializeOwned + 'static> Stream for Watch<K> {
    type Item = Result<WatchEvent<K>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended == Ended::ByError {
            return Poll::Ready(None);
        }
        let Some(event) = ready!(Pin::new(&mut self.raw).poll_next(cx)) else {
            return Poll::Ready(None);
        };
        Poll::Ready(Some(event.and_then(|event| {
            if event.kind == WatchEventKind::Error {
                self.ended = Ended::ByError;
            }
            self.decode(&event)
        })))
    }
}
