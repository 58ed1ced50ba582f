//! An API server that has pods, and nothing else, over plain HTTP: what informers are measured against.
//!
//! It lists in pages, consistently, and watches; [`control`](Feed::control) makes it change or forget. It costs as little as it can, since it
//! shares the machine with what is measured.

mod pods;

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use http::{Method, Request, Response, StatusCode};
use kubewright_net::{Body, HttpService, ServeLimits, serve};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use self::pods::{FIRST_VERSION, Pod, generate, version_text};

/// Serves so many pods until standard input ends, and says where in a line.
pub async fn run(objects: usize, streaming: Streaming) -> Result<()> {
    let feed = Arc::new(Feed {
        world: Mutex::new(World {
            pods: generate(objects),
            version: FIRST_VERSION,
            watches: Vec::new(),
        }),
        watched: watch::Sender::new(0),
        streaming,
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("ready http://{}", listener.local_addr()?);
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Whoever started this has gone when nothing more can come.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    let service = HttpService::from_fn(move |request| {
        let feed = Arc::clone(&feed);
        async move {
            feed.answer(request)
                .await
                .map_err(|error| kubewright_net::TransportError::other("answering", error))
        }
    });
    let serving = serve(
        listener,
        None,
        service,
        ServeLimits::default(),
        std::future::pending(),
    );
    tokio::select! {
        _ = serving => {}
        _ = end => {}
    }
    Ok(())
}

/// Whether watches send what is there (KEP-3157).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streaming {
    /// Yes.
    Offered,
    /// It is refused, as by servers without the feature.
    Refused,
}

struct Feed {
    world: Mutex<World>,
    /// Changes with each watch that begins.
    watched: watch::Sender<u64>,
    streaming: Streaming,
}

struct World {
    pods: Vec<Pod>,
    version: u64,
    watches: Vec<mpsc::Sender<Line>>,
}

/// A line of a watch.
#[derive(Clone)]
struct Line {
    text: Bytes,
    version: u64,
}

type Query = HashMap<String, String>;

impl Feed {
    async fn answer(self: &Arc<Self>, request: Request<Body>) -> Result<Response<Body>, http::Error> {
        let query = query(request.uri().query().unwrap_or_default());
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/api/v1/pods") if query.contains_key("watch") => self.watch(&query),
            (&Method::GET, "/api/v1/pods") => self.list(&query),
            (&Method::POST, path) => {
                self.control(path).await;
                Response::builder().body(Body::empty())
            }
            _ => status(StatusCode::NOT_FOUND, "NotFound", "the server has pods alone"),
        }
    }

    /// What the benchmark asks for between the pieces of work. The answer comes when watches have been told.
    async fn control(&self, path: &str) {
        match path {
            // Every pod becomes another version.
            "/control/modify" => {
                let count = self.world().pods.len();
                self.modify(count).await;
            }
            // The first pod becomes another version.
            "/control/mark" => self.modify(1).await,
            // Watches end, since history was lost. What is there stays as it is.
            "/control/expire" => {
                self.watch_begun().await;
                let expired = expired();
                let watches = {
                    let mut world = self.world();
                    world.version += 1;
                    std::mem::take(&mut world.watches)
                };
                for watch in watches {
                    // One that has gone needs no telling.
                    let _ = watch.send(expired.clone()).await;
                }
            }
            // A peer has gone.
            "/control/reset" => self.world().watches.clear(),
            _ => {}
        }
    }

    async fn modify(&self, count: usize) {
        self.watch_begun().await;
        let watches = self.world().watches.clone();
        for at in 0..count {
            let line = self.world().modify(at);
            for watch in &watches {
                let _ = watch.send(line.clone()).await;
            }
        }
    }

    /// Waits until there is a watch.
    async fn watch_begun(&self) {
        let mut begun = self.watched.subscribe();
        // The sender lives as long as this.
        let _ = begun.wait_for(|_| !self.world().watches.is_empty()).await;
    }

    fn list(&self, query: &Query) -> Result<Response<Body>, http::Error> {
        let world = self.world();
        let limit = match number(query, "limit") {
            None | Some(0) => world.pods.len(),
            Some(limit) => limit,
        };
        let from = match query.get("continue").map(|token| token.split_once('-')) {
            None => 0,
            Some(Some((version, from))) if version == version_text(world.version) => {
                from.parse().unwrap_or(world.pods.len())
            }
            Some(_) => return status(StatusCode::GONE, "Expired", "the token is too old"),
        };
        let page = world.pods.get(from..).unwrap_or_default();
        let page = &page[..limit.min(page.len())];
        let left = world.pods.len().saturating_sub(from + page.len());
        let version = version_text(world.version);
        let mut text =
            format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}""#);
        if left > 0 {
            let next = from + page.len();
            text += &format!(r#","continue":"{version}-{next}","remainingItemCount":{left}"#);
        }
        text += r#"},"items":["#;
        let mut body = text.into_bytes();
        body.reserve(page.iter().map(|pod| pod.json().len() + 1).sum::<usize>() + 8);
        for (at, pod) in page.iter().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            body.extend_from_slice(pod.json());
        }
        body.extend_from_slice(b"]}\n");
        json(StatusCode::OK, Body::from(body))
    }

    fn watch(self: &Arc<Self>, query: &Query) -> Result<Response<Body>, http::Error> {
        let initial = query
            .get("sendInitialEvents")
            .is_some_and(|value| value == "true");
        if initial && self.streaming == Streaming::Refused {
            let why = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless \
                       the WatchList feature gate is enabled";
            return status(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", why);
        }
        let (sender, receiver) = mpsc::channel(WATCH_BUFFER);
        let (version, count) = {
            let mut world = self.world();
            let current = world.version.to_string();
            if !initial
                && query
                    .get("resourceVersion")
                    .is_none_or(|version| *version != current)
            {
                drop(world);
                let lines = stream::iter([expired().text]);
                return json(StatusCode::OK, Body::stream(lines.map(Ok)));
            }
            world.watches.push(sender);
            (world.version, world.pods.len())
        };
        self.watched.send_modify(|begun| *begun += 1);
        let bookmarks = query
            .get("allowWatchBookmarks")
            .is_some_and(|value| value == "true");
        let seconds = number(query, "timeoutSeconds").unwrap_or(1_800);
        let news = News {
            receiver,
            version,
            bookmarks: bookmarks.then_some(BOOKMARK_PERIOD),
            until: tokio::time::Instant::now() + Duration::from_secs(seconds as u64),
        };
        let there = if initial { count } else { 0 };
        let feed = Arc::clone(self);
        let there = stream::iter(0..there).map(move |at| added(feed.world().pods[at].json()));
        let end = stream::iter(initial.then(|| bookmark(version, INITIAL_EVENTS_END)));
        json(
            StatusCode::OK,
            Body::stream(there.chain(end).chain(news.lines()).map(Ok)),
        )
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World {
    fn modify(&mut self, at: usize) -> Line {
        self.version += 1;
        let version = self.version;
        let text = self.pods.get_mut(at).map(|pod| {
            pod.change(version);
            event("MODIFIED", pod.json())
        });
        Line {
            text: text.unwrap_or_default(),
            version,
        }
    }
}

/// What comes over a watch after what was there.
struct News {
    receiver: mpsc::Receiver<Line>,
    version: u64,
    bookmarks: Option<Duration>,
    until: tokio::time::Instant,
}

impl News {
    fn lines(self) -> impl Stream<Item = Bytes> {
        stream::unfold(self, async |mut news| {
            let now = tokio::time::Instant::now();
            let wait = news.bookmarks.unwrap_or(Duration::MAX);
            let wake = now.checked_add(wait).map_or(news.until, |at| at.min(news.until));
            match tokio::time::timeout_at(wake, news.receiver.recv()).await {
                Ok(None) => None,
                Ok(Some(line)) => {
                    news.version = line.version;
                    Some((line.text, news))
                }
                Err(_) if wake == news.until => None,
                Err(_) => Some((bookmark(news.version, ""), news)),
            }
        })
    }
}

/// An event of a watch, whose object says what it is.
fn event(kind: &str, pod: &[u8]) -> Bytes {
    let head = format!(r#"{{"type":"{kind}","object":{{"kind":"Pod","apiVersion":"v1","#);
    let rest = pod.strip_prefix(b"{").unwrap_or(pod);
    [head.as_bytes(), rest, b"}\n"].concat().into()
}

fn added(pod: &[u8]) -> Bytes {
    event("ADDED", pod)
}

fn bookmark(version: u64, annotations: &str) -> Bytes {
    let version = version_text(version);
    let metadata = format!(r#"{{"resourceVersion":"{version}","creationTimestamp":null{annotations}}}"#);
    let pod = format!(r#"{{"metadata":{metadata},"spec":{{"containers":null}},"status":{{}}}}"#);
    event("BOOKMARK", pod.as_bytes())
}

/// The end of a watch whose version is too old.
fn expired() -> Line {
    let object = status_text(StatusCode::GONE, "Expired", "too old resource version");
    Line {
        text: format!("{{\"type\":\"ERROR\",\"object\":{object}}}\n").into(),
        version: 0,
    }
}

fn status(code: StatusCode, reason: &str, message: &str) -> Result<Response<Body>, http::Error> {
    json(code, Body::from(status_text(code, reason, message)))
}

fn status_text(code: StatusCode, reason: &str, message: &str) -> String {
    serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    })
    .to_string()
}

fn json(code: StatusCode, body: Body) -> Result<Response<Body>, http::Error> {
    Response::builder()
        .status(code)
        .header("content-type", "application/json")
        .body(body)
}

/// None of the values that the feed looks at is ever escaped.
fn query(text: &str) -> Query {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn number(query: &Query, name: &str) -> Option<usize> {
    query.get(name)?.parse().ok()
}

/// Lines that wait for a watch.
const WATCH_BUFFER: usize = 256;
const BOOKMARK_PERIOD: Duration = Duration::from_secs(10);
const INITIAL_EVENTS_END: &str = r#","annotations":{"k8s.io/initial-events-end":"true"}"#;
