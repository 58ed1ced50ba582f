//! A source that brings one shard of what another brings.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use kubewright_client::RawEvent;
use kubewright_core::{ListMeta, ListOptions, ShardSelector, WatchEventKind};

use crate::peek::peek;
use crate::source::{BoxFuture, ItemSink, ListerWatcher, SourceError, WatchStream};

/// Lists and watches the objects of a resource that a shard selector selects.
///
/// The server is asked to select (KEP-5866). Whether it did stands in a list's `metadata.shardInfo`; where it did not,
/// the objects of other shards are dropped here, before anything of them is decoded but their metadata. A watch has
/// nothing that would tell, and the next request may reach a server of another version, so its events are always
/// looked at: that costs a hash.
///
/// What is dropped from a watch still says how far the server has got, and goes on as a bookmark. Otherwise a shard
/// in which nothing happens would fall behind until its version expires.
#[derive(Clone)]
pub struct ShardedSource {
    source: Arc<dyn ListerWatcher>,
    selector: ShardSelector,
}

impl ShardedSource {
    /// The shard of a source that the selector selects.
    #[must_use]
    pub fn new(source: Arc<dyn ListerWatcher>, selector: ShardSelector) -> Self {
        Self { source, selector }
    }

    fn options(&self, options: ListOptions) -> ListOptions {
        ListOptions {
            shard_selector: Some(self.selector.clone()),
            ..options
        }
    }
}

impl std::fmt::Debug for ShardedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardedSource")
            .field("selector", &self.selector.to_string())
            .finish_non_exhaustive()
    }
}

impl ListerWatcher for ShardedSource {
    fn list_page<'a>(
        &'a self,
        options: ListOptions,
        sink: &'a mut dyn ItemSink,
    ) -> BoxFuture<'a, Result<ListMeta, SourceError>> {
        Box::pin(async move {
            let mut selecting = Selecting {
                selector: &self.selector,
                is_selected: false,
                sink,
            };
            self.source.list_page(self.options(options), &mut selecting).await
        })
    }

    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>> {
        Box::pin(async move {
            let events = self.source.watch(self.options(options)).await?;
            Ok(Box::pin(Selected {
                events,
                selector: self.selector.clone(),
                passed: None,
            }) as WatchStream)
        })
    }
}

/// Hands on the items of a page that the selector selects.
struct Selecting<'a> {
    selector: &'a ShardSelector,
    /// The server is known to have done so. Where it says that behind the items, they were looked at all the same.
    is_selected: bool,
    sink: &'a mut dyn ItemSink,
}

impl ItemSink for Selecting<'_> {
    fn begin(&mut self, metadata: &ListMeta) {
        let selected = metadata.shard_info.as_ref();
        // Another selector than the one asked for is as good as none.
        self.is_selected = selected.is_some_and(|info| info.selector.parse().as_ref() == Ok(self.selector));
        self.sink.begin(metadata);
    }

    fn item(&mut self, item: Bytes) {
        if self.is_selected || selects(self.selector, &item).is_none() {
            self.sink.item(item);
        }
    }
}

/// `None` if the object is selected, or else its version.
///
/// What cannot be read as an object goes to the shard of an empty uid or namespace, so that one of them reports it.
fn selects(selector: &ShardSelector, object: &[u8]) -> Option<String> {
    let head = peek(object).ok();
    let (uid, namespace) = head
        .as_ref()
        .map_or(("", ""), |head| (head.uid, &*head.namespace));
    if selector.matches(uid, namespace) {
        return None;
    }
    Some(head.map_or_else(String::new, |head| head.version.to_owned()))
}

/// The events of a watch that concern one shard, and bookmarks instead of the others.
struct Selected {
    events: WatchStream,
    selector: ShardSelector,
    /// The version of the last event that was dropped, if nothing has told of one as late since.
    passed: Option<String>,
}

/// Events that are dropped in a row before a bookmark tells of them.
const DROPPED_IN_A_ROW: u32 = 64;

impl Stream for Selected {
    type Item = Result<RawEvent, SourceError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        for _ in 0..DROPPED_IN_A_ROW {
            match self.events.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(event))) if is_change(event.kind) => {
                    match selects(&self.selector, &event.object) {
                        // Later than what was dropped before it.
                        None => {
                            self.passed = None;
                            return Poll::Ready(Some(Ok(event)));
                        }
                        Some(version) if version.is_empty() => {}
                        dropped => self.passed = dropped,
                    }
                }
                Poll::Ready(other) => {
                    self.passed = None;
                    return Poll::Ready(other);
                }
                Poll::Pending => {
                    let bookmark = self.passed.take().map(|version| Ok(bookmark(&version)));
                    return bookmark.map_or(Poll::Pending, |bookmark| Poll::Ready(Some(bookmark)));
                }
            }
        }
        match self.passed.take() {
            Some(version) => Poll::Ready(Some(Ok(bookmark(&version)))),
            // Nothing but what cannot be read: others get a turn.
            None => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

fn is_change(kind: WatchEventKind) -> bool {
    matches!(
        kind,
        WatchEventKind::Added | WatchEventKind::Modified | WatchEventKind::Deleted
    )
}

fn bookmark(version: &str) -> RawEvent {
    let object = serde_json::json!({ "metadata": { "resourceVersion": version } });
    RawEvent {
        kind: WatchEventKind::Bookmark,
        object: Bytes::from(object.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use kubewright_client::RawList;
    use kubewright_core::{ShardField, ShardInfo, ShardRange, shard_hash};
    use parking_lot::Mutex;

    use super::*;
    use crate::tests::json;

    /// The half of the space in which the hash of an uid lies.
    fn half(of: &str) -> ShardSelector {
        let two = std::num::NonZeroUsize::MIN.saturating_add(1);
        let mut halves = ShardRange::ALL.split(two).into_iter();
        let range = halves.find(|half| half.contains(shard_hash(of)));
        ShardSelector::new(ShardField::Uid, range.unwrap())
    }

    const MINE: &str = "uid-1";

    /// An uid whose hash lies in the other half.
    fn foreign() -> String {
        let mut uids = (0..).map(|i| format!("{i}-uid"));
        uids.find(|uid| half(uid) != half(MINE)).unwrap()
    }

    type Polled = Poll<Option<Result<RawEvent, SourceError>>>;

    /// Answers with what it is given, and notes what it was asked.
    #[derive(Default)]
    struct Script {
        list: RawList,
        events: Mutex<VecDeque<Polled>>,
        asked: Mutex<Vec<String>>,
    }

    struct Events(VecDeque<Polled>);

    impl Stream for Events {
        type Item = Result<RawEvent, SourceError>;

        fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            cx.waker().wake_by_ref();
            self.0.pop_front().unwrap_or(Poll::Ready(None))
        }
    }

    impl ListerWatcher for Script {
        fn list_page<'a>(
            &'a self,
            options: ListOptions,
            sink: &'a mut dyn ItemSink,
        ) -> BoxFuture<'a, Result<ListMeta, SourceError>> {
            self.asked.lock().push(options.to_query());
            Box::pin(async { Ok(sink.page(self.list.clone())) })
        }

        fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>> {
            self.asked.lock().push(options.to_query());
            let events = std::mem::take(&mut *self.events.lock());
            Box::pin(async { Ok(Box::pin(Events(events)) as WatchStream) })
        }
    }

    const MALFORMED: &str = "{\"metadata\":{\"name\":7}}";

    #[tokio::test]
    async fn lists_are_selected_here_where_the_server_did_not() {
        let others = &foreign();
        let items = [json("n/a", MINE, 1), json("n/b", others, 2), MALFORMED.to_owned()];
        let show = |list: RawList| -> Vec<String> {
            let items = list.items.iter();
            items
                .map(|item| String::from_utf8_lossy(item).into_owned())
                .collect()
        };
        // Who selected, and whether it has to be done here.
        let rows = [
            (None, true),
            (Some(half(MINE)), false),
            (Some(half(others)), true),
        ];
        for (by, filtered) in rows {
            let shard_info = by.map(|selector| ShardInfo {
                selector: selector.to_string(),
            });
            let script = Arc::new(Script {
                list: RawList {
                    metadata: ListMeta {
                        shard_info,
                        ..ListMeta::default()
                    },
                    items: items.iter().map(|item| Bytes::from(item.clone())).collect(),
                },
                ..Script::default()
            });
            let source = ShardedSource::new(script.clone(), half(MINE));
            let mut list = RawList::default();
            let page = source.list_page(ListOptions::default(), &mut list);
            assert_eq!(page.await.unwrap(), list.metadata);
            let list = show(list);
            // What is malformed belongs to where the empty uid belongs.
            let mut expect = vec![items[0].clone()];
            expect.extend((half("") == half(MINE)).then(|| MALFORMED.to_owned()));
            assert_eq!(list, if filtered { expect } else { items.to_vec() });
            let asked = ListOptions::from_query(&script.asked.lock()[0]).unwrap();
            assert_eq!(asked.shard_selector, Some(half(MINE)));
        }
    }

    #[tokio::test]
    async fn a_dropped_event_becomes_a_bookmark() {
        let event = |kind, object: String| {
            Poll::Ready(Some(Ok(RawEvent {
                kind,
                object: object.into(),
            })))
        };
        let others = &foreign();
        let foreign = |version: u64| event(WatchEventKind::Modified, json("n/b", others, version));
        let mut events = VecDeque::from([
            event(WatchEventKind::Added, json("n/a", MINE, 1)),
            foreign(2),
            foreign(3),
            Poll::Pending,
            foreign(4),
            // Later than what was dropped: that needs no bookmark of its own.
            event(WatchEventKind::Deleted, json("n/a", MINE, 5)),
            event(
                WatchEventKind::Bookmark,
                r#"{"metadata":{"resourceVersion":"6"}}"#.into(),
            ),
        ]);
        events.extend((7..7 + u64::from(DROPPED_IN_A_ROW)).map(foreign));
        let script = Script {
            events: Mutex::new(events),
            ..Script::default()
        };
        let source = ShardedSource::new(Arc::new(script), half(MINE));
        let mut watch = source.watch(ListOptions::default()).await.unwrap();
        let mut seen = Vec::new();
        while let Some(event) = std::future::poll_fn(|cx| watch.as_mut().poll_next(cx)).await {
            let event = event.unwrap();
            let object: serde_json::Value = serde_json::from_slice(&event.object).unwrap();
            let version = object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
            seen.push(format!("{:?} {version}", event.kind));
        }
        assert_eq!(
            seen,
            ["Added 1", "Bookmark 3", "Deleted 5", "Bookmark 6", "Bookmark 70"]
        );
    }
}
