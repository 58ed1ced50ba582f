//! A model of the server: it keeps objects and a log, and fails in every way that servers and networks do, as a seed
//! says.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use kubewright_core::{
    ListMeta, ListOptions, ShardInfo, ShardSelector, Status, StatusReason, WatchEventKind,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::json;
use kubewright_client::{RawEvent, RawList};

use crate::source::{BoxFuture, ItemSink, ListerWatcher, SourceError, WatchStream};

/// What can go wrong, each as a chance in a hundred for each request or event.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) requests_fail: u8,
    pub(crate) watches_break: u8,
    pub(crate) bookmarks_get_lost: u8,
    /// That end a streaming list: changes come in between.
    pub(crate) bookmarks_come_late: u8,
    pub(crate) streaming_is_refused: u8,
    pub(crate) malformed_objects: u8,
    /// By a server that does not know them, of several that are asked in turn.
    pub(crate) shards_are_ignored: u8,
}

pub(crate) struct Server(pub(crate) Mutex<State>);

pub(crate) struct State {
    random: fastrand::Rng,
    pub(crate) faults: Faults,
    pub(crate) version: u64,
    uids: u64,
    /// Key to uid and version.
    pub(crate) objects: BTreeMap<String, (String, u64)>,
    log: Vec<(u64, RawEvent)>,
    /// Watches and lists from before this are too old.
    compacted: u64,
    watches: Vec<Watch>,
    tokens: HashMap<String, Rest>,
    pub(crate) lists: u32,
    pub(crate) watched: u32,
}

/// What is left of a list, and by what it was selected.
struct Rest {
    version: u64,
    items: VecDeque<Bytes>,
    shard: Option<ShardSelector>,
}

struct Watch {
    shard: Option<ShardSelector>,
    /// Where it starts.
    from: u64,
    /// The bookmark that ends its initial state is still to come.
    owes_end: bool,
    events: mpsc::UnboundedSender<Result<RawEvent, SourceError>>,
}

fn failure(reason: StatusReason, message: &str) -> SourceError {
    SourceError::status(Status::failure(reason, message))
}

impl State {
    fn chance(&mut self, percent: u8) -> bool {
        self.random.u8(0..100) < percent
    }

    fn log(&mut self, kind: WatchEventKind, key: &str, uid: &str) {
        let object = Bytes::from(json(key, uid, self.version));
        let event = RawEvent { kind, object };
        self.log.push((self.version, event.clone()));
        let breaks = self.faults.watches_break;
        let random = &mut self.random;
        let version = self.version;
        self.watches.retain(
            |Watch {
                 from, events, shard, ..
             }| {
                if version <= *from || !is_in(shard.as_ref(), uid) {
                    return true;
                }
                if random.u8(0..100) < breaks {
                    match random.u8(0..4) {
                        0 => drop(events.send(Err(SourceError::Transport {
                            message: "reset".into(),
                        }))),
                        1 => drop(events.send(Ok(error_event(StatusReason::InternalError, "oops")))),
                        2 => drop(events.send(Ok(error_event(StatusReason::Expired, "too old")))),
                        _ => {}
                    }
                    return false;
                }
                events.send(Ok(event.clone())).is_ok()
            },
        );
    }

    pub(crate) fn put(&mut self, key: &str) {
        self.version += 1;
        match self.objects.get_mut(key) {
            Some((uid, version)) => {
                let uid = uid.clone();
                *version = self.version;
                self.log(WatchEventKind::Modified, key, &uid);
            }
            None => {
                self.uids += 1;
                // What differs comes first, so that hashes lie everywhere.
                let uid = format!(
                    "{:04x}-uid-{}",
                    self.uids.wrapping_mul(0x9e37) % 0x10000,
                    self.uids
                );
                self.objects.insert(key.to_owned(), (uid.clone(), self.version));
                self.log(WatchEventKind::Added, key, &uid);
            }
        }
    }

    pub(crate) fn delete(&mut self, key: &str) {
        if let Some((uid, _)) = self.objects.remove(key) {
            self.version += 1;
            self.log(WatchEventKind::Deleted, key, &uid);
        }
    }

    /// Forgets history, and with it what watches and pages need.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.version;
        self.log.clear();
        self.tokens.clear();
    }

    pub(crate) fn break_watches(&mut self) {
        self.watches.clear();
    }

    /// The one that was opened first.
    pub(crate) fn break_one_watch(&mut self) {
        self.watches.remove(0);
    }

    /// A backup is restored: versions go backwards.
    pub(crate) fn restore(&mut self, objects: BTreeMap<String, (String, u64)>, version: u64) {
        self.objects = objects;
        self.version = version;
        self.compacted = version;
        self.log.clear();
        self.tokens.clear();
        self.break_watches();
    }

    pub(crate) fn bookmark(&mut self) {
        let version = self.version;
        self.watches.retain_mut(|watch| {
            let end = std::mem::take(&mut watch.owes_end);
            watch.events.send(Ok(bookmark(version, end))).is_ok()
        });
    }

    fn request(&mut self, options: &ListOptions) -> Result<(), SourceError> {
        let asked: u64 = options.resource_version.parse().unwrap_or(0);
        let waits_for_the_future =
            options.watch && options.send_initial_events.is_none() && self.random.bool();
        if asked > self.version && !waits_for_the_future {
            return Err(failure(StatusReason::Timeout, "Too large resource version").into_504());
        }
        if !self.chance(self.faults.requests_fail) {
            return Ok(());
        }
        Err(match self.random.u8(0..5) {
            0 => SourceError::ConnectionRefused {
                message: "refused".into(),
            },
            1 => SourceError::Transport {
                message: "reset".into(),
            },
            2 => failure(StatusReason::TooManyRequests, "slow down"),
            3 => failure(StatusReason::ServiceUnavailable, "starting"),
            _ => failure(StatusReason::InternalError, "oops"),
        })
    }

    /// By what the server selects, if it is one that does.
    fn shard(&mut self, options: &ListOptions) -> Option<ShardSelector> {
        let shard = options.shard_selector.clone()?;
        (!self.chance(self.faults.shards_are_ignored)).then_some(shard)
    }

    fn list(&mut self, options: &ListOptions) -> Result<RawList, SourceError> {
        self.lists += 1;
        self.request(options)?;
        let limit = if options.limit == 0 {
            usize::MAX
        } else {
            usize::try_from(options.limit).unwrap()
        };
        let mut rest = if options.continue_token.is_empty() {
            let shard = self.shard(options);
            let mut items: VecDeque<Bytes> = self
                .objects
                .iter()
                .filter(|(_, (uid, _))| is_in(shard.as_ref(), uid))
                .map(|(key, (uid, version))| Bytes::from(json(key, uid, *version)))
                .collect();
            if self.chance(self.faults.malformed_objects) {
                items.push_front(Bytes::from_static(b"{\"metadata\":{\"name\":7}}"));
            }
            Rest {
                version: self.version,
                items,
                shard,
            }
        } else {
            let kept = self.tokens.remove(&options.continue_token);
            kept.ok_or_else(|| {
                failure(
                    StatusReason::Expired,
                    "The provided continue parameter is too old",
                )
            })?
        };
        let items: Vec<_> = (0..limit).map_while(|_| rest.items.pop_front()).collect();
        let continue_token = if rest.items.is_empty() {
            String::new()
        } else {
            format!("token-{}", self.random.u64(..))
        };
        let metadata = ListMeta {
            resource_version: rest.version.to_string(),
            continue_token: continue_token.clone(),
            remaining_item_count: None,
            shard_info: rest.shard.as_ref().map(|shard| ShardInfo {
                selector: shard.to_string(),
            }),
        };
        if !rest.items.is_empty() {
            self.tokens.insert(continue_token, rest);
        }
        Ok(RawList { metadata, items })
    }

    fn watch(&mut self, options: &ListOptions) -> Result<WatchStream, SourceError> {
        self.watched += 1;
        self.request(options)?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut from = 0;
        let mut owes_end = false;
        let send = |event: RawEvent| drop(sender.send(Ok(event)));
        let shard = self.shard(options);
        if options.send_initial_events == Some(true) {
            if self.chance(self.faults.streaming_is_refused) {
                return Err(failure(StatusReason::Invalid, "sendInitialEvents is forbidden"));
            }
            let objects = self.objects.iter();
            for (key, (uid, version)) in objects.filter(|(_, (uid, _))| is_in(shard.as_ref(), uid)) {
                send(RawEvent {
                    kind: WatchEventKind::Added,
                    object: Bytes::from(json(key, uid, *version)),
                });
            }
            if !self.chance(self.faults.bookmarks_get_lost) {
                owes_end = self.chance(self.faults.bookmarks_come_late);
                if !owes_end {
                    send(bookmark(self.version, true));
                }
            }
        } else {
            from = options.resource_version.parse().unwrap();
            if from < self.compacted {
                if self.random.bool() {
                    return Err(failure(StatusReason::Expired, "too old resource version"));
                }
                send(error_event(StatusReason::Expired, "too old resource version"));
                return Ok(Box::pin(Events(receiver)));
            }
            self.log
                .iter()
                .filter(|(version, event)| *version > from && is_in(shard.as_ref(), &uid_of(event)))
                .for_each(|(_, event)| send(event.clone()));
        }
        self.watches.push(Watch {
            shard,
            from,
            owes_end,
            events: sender,
        });
        Ok(Box::pin(Events(receiver)))
    }
}

fn is_in(shard: Option<&ShardSelector>, uid: &str) -> bool {
    shard.is_none_or(|shard| shard.matches(uid, ""))
}

fn uid_of(event: &RawEvent) -> String {
    let object: serde_json::Value = serde_json::from_slice(&event.object).unwrap();
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

trait Into504 {
    fn into_504(self) -> Self;
}

impl Into504 for SourceError {
    fn into_504(mut self) -> Self {
        if let Self::Status { status, .. } = &mut self {
            status.code = 504;
        }
        self
    }
}

fn bookmark(version: u64, end: bool) -> RawEvent {
    let annotations = if end {
        r#","annotations":{"k8s.io/initial-events-end":"true"}"#
    } else {
        ""
    };
    let object = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"{annotations}}}}}"#
    );
    RawEvent {
        kind: WatchEventKind::Bookmark,
        object: Bytes::from(object),
    }
}

fn error_event(reason: StatusReason, message: &str) -> RawEvent {
    let status = serde_json::to_vec(&Status::failure(reason, message)).unwrap();
    RawEvent {
        kind: WatchEventKind::Error,
        object: Bytes::from(status),
    }
}

struct Events(mpsc::UnboundedReceiver<Result<RawEvent, SourceError>>);

impl Stream for Events {
    type Item = Result<RawEvent, SourceError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

impl Server {
    pub(crate) fn new(seed: u64, faults: Faults) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            random: fastrand::Rng::with_seed(seed),
            faults,
            version: 10,
            uids: 0,
            objects: BTreeMap::new(),
            log: Vec::new(),
            compacted: 0,
            watches: Vec::new(),
            tokens: HashMap::new(),
            lists: 0,
            watched: 0,
        })))
    }

    pub(crate) fn open_watches(&self) -> usize {
        self.0
            .lock()
            .watches
            .iter()
            .filter(|watch| !watch.events.is_closed())
            .count()
    }
}

impl ListerWatcher for Server {
    fn list_page<'a>(
        &'a self,
        options: ListOptions,
        sink: &'a mut dyn ItemSink,
    ) -> BoxFuture<'a, Result<ListMeta, SourceError>> {
        Box::pin(async move { Ok(sink.page(self.0.lock().list(&options)?)) })
    }

    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>> {
        Box::pin(async move { self.0.lock().watch(&options) })
    }
}
