//! Clients that vanish, clients that are slow, a server that stops under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kubewright_apiserver::storage::{
    Encoded, Key, Limits, MemoryStorage, RangeRequest, RangeResponse, Revision, Storage, StorageError,
    StoredObject, Watch, WatchItem, WatchRequest, WatchSource,
};
use kubewright_apiserver::{Options, serving::Listening};
use kubewright_net::{ConnectOptions, ServeLimits, connect};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::harness::*;
use crate::identity::Secure;

/// A store that knows how many watches are open, and in which somebody else can be quicker.
#[derive(Debug)]
struct Observed {
    store: MemoryStorage,
    open: Arc<watch::Sender<usize>>,
    interferes: Arc<AtomicBool>,
}

struct ObservedWatch {
    inner: Watch,
    open: Arc<watch::Sender<usize>>,
}

impl WatchSource for ObservedWatch {
    fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        out: &mut Vec<WatchItem>,
    ) -> Poll<Result<(), StorageError>> {
        self.inner.poll_batch(cx, max, out)
    }

    fn progress(&self) -> Option<Revision> {
        self.inner.progress()
    }
}

impl Drop for ObservedWatch {
    fn drop(&mut self) {
        self.open.send_modify(|open| *open -= 1);
    }
}

/// What a store answers, later.
type Later<'a, T> = std::pin::Pin<Box<dyn Future<Output = Result<T, StorageError>> + Send + 'a>>;

impl Storage for Observed {
    fn create(&self, key: Key, value: Encoded) -> Later<'_, StoredObject> {
        self.store.create(key, value)
    }

    fn update(&self, key: Key, expected: Revision, value: Encoded) -> Later<'_, StoredObject> {
        Box::pin(async move {
            self.interfere(&key).await?;
            self.store.update(key, expected, value).await
        })
    }

    fn delete(&self, key: Key, expected: Revision) -> Later<'_, StoredObject> {
        Box::pin(async move {
            self.interfere(&key).await?;
            self.store.delete(key, expected).await
        })
    }

    fn get(&self, key: Key) -> Later<'_, Option<StoredObject>> {
        self.store.get(key)
    }

    fn range(&self, request: RangeRequest) -> Later<'_, RangeResponse> {
        self.store.range(request)
    }

    fn watch(&self, request: WatchRequest) -> Result<Watch, StorageError> {
        let inner = self.store.watch(request)?;
        self.open.send_modify(|open| *open += 1);
        Ok(Watch::new(ObservedWatch {
            inner,
            open: self.open.clone(),
        }))
    }

    fn progress(&self) -> Later<'_, Revision> {
        self.store.progress()
    }
}

fn observed() -> (Options, watch::Receiver<usize>) {
    let (open, receiver) = watch::channel(0);
    let storage = Arc::new(Observed {
        store: MemoryStorage::new(),
        open: Arc::new(open),
        interferes: Arc::default(),
    });
    let options = Options {
        storage,
        ..Options::default()
    };
    (options, receiver)
}

impl Observed {
    /// Once, when told to: labels the object just before a write reaches it.
    async fn interfere(&self, key: &Key) -> Result<(), StorageError> {
        if !self.interferes.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let Some(found) = self.store.get(key.clone()).await? else {
            return Ok(());
        };
        let mut value = found.value().clone();
        value["metadata"]["labels"]["quicker"] = json!("yes");
        value["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("resourceVersion");
        let written = self
            .store
            .update(key.clone(), found.revision(), Encoded::from_value(&value));
        written.await.map(drop)
    }
}

/// Who names no version loses to nobody: the write is made again on the newer state.
#[tokio::test]
async fn somebody_else_is_quicker() {
    let interferes = Arc::new(AtomicBool::default());
    let storage = Arc::new(Observed {
        store: MemoryStorage::new(),
        open: Arc::new(watch::channel(0).0),
        interferes: interferes.clone(),
    });
    let server = Server::with(Options {
        storage,
        ..Options::default()
    })
    .await;
    let merge = |patch: serde_json::Value| {
        Ask::new(format!("PATCH {MAPS}/a")).typed("application/merge-patch+json", patch.to_string())
    };
    for (what, held, asks) in [
        ("patch", false, vec![merge(json!({"data": {"new": "1"}}))]),
        (
            "update",
            false,
            vec![Ask::json(format!("PUT {MAPS}/a"), &config_map("a", "2"))],
        ),
        ("delete", false, vec![Ask::new(format!("DELETE {MAPS}/a"))]),
        ("delete", true, vec![Ask::new(format!("DELETE {MAPS}/a"))]),
        (
            "last finalizer",
            true,
            vec![
                Ask::new(format!("DELETE {MAPS}/a")),
                merge(json!({"metadata": {"finalizers": null}})),
            ],
        ),
    ] {
        let mut object = config_map("a", "1");
        object["metadata"]["labels"] = json!({"l": "x"});
        if held {
            object["metadata"]["finalizers"] = json!(["example.com/hold"]);
        }
        let made = server.ok(Ask::json(format!("POST {MAPS}"), &object)).await;
        let last = asks.len() - 1;
        for (i, ask) in asks.into_iter().enumerate() {
            interferes.store(i == last, Ordering::SeqCst);
            let answer = server.ok(ask).await;
            if i == last && what == "patch" {
                assert_eq!(
                    answer["metadata"]["labels"]["quicker"], "yes",
                    "nothing of the other's is lost"
                );
            }
        }
        assert!(!interferes.load(Ordering::SeqCst), "{what}: nobody interfered");
        // Who names a version is told.
        let mut stale = made.clone();
        stale["data"]["key"] = json!("9");
        if what == "patch" {
            let ask = Ask::json(format!("PUT {MAPS}/a"), &stale);
            server.refused(ask, 409, "the object has been modified").await;
        }
        server
            .ask(Ask::json(format!("DELETE {MAPS}/a"), &json!({})))
            .await;
        server.ask(merge(json!({"metadata": {"finalizers": null}}))).await;
        assert_eq!(server.ask(format!("GET {MAPS}/a")).await.code, 404, "{what}");
    }
}

/// Long, for a machine that is busy; nothing waits for it to pass.
const LIMIT: Duration = Duration::from_secs(60);

async fn until(open: &mut watch::Receiver<usize>, expect: usize) {
    tokio::time::timeout(LIMIT, open.wait_for(|open| *open == expect))
        .await
        .expect("in time")
        .unwrap();
}

#[tokio::test]
async fn a_client_that_vanishes_frees_its_watch() {
    let (options, mut open) = observed();
    let tokens = vec![("secret".to_owned(), admin())];
    let secure = Secure::start(Options { tokens, ..options }, ServeLimits::default()).await;
    let client = secure.admin();
    // The server's own watches stay, among them those that the first request opens.
    secure.ask(&client, "GET /api").await;
    let own = *open.borrow();
    let mut watches = Vec::new();
    for i in 0..3 {
        let request = Ask::new("GET /api/v1/namespaces?watch=true").build(&secure.origin());
        let mut events = Events::new(client.send(request).await.unwrap());
        events.names(4).await;
        watches.push(events);
        until(&mut open, own + i + 1).await;
    }
    watches.pop();
    until(&mut open, own + 2).await;
    drop(watches);
    until(&mut open, own).await;

    // Over HTTP/1.1 the connection breaks off in the middle.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain = Listening::start(&secure.api, listener, None, ServeLimits::default()).unwrap();
    let mut stream = TcpStream::connect(plain.address()).await.unwrap();
    let request =
        "GET /api/v1/namespaces?watch=true HTTP/1.1\r\nhost: a\r\nauthorization: Bearer secret\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    until(&mut open, own + 1).await;
    let mut read = [0; 15];
    stream.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"HTTP/1.1 200 OK");
    drop(stream);
    until(&mut open, own).await;
    plain.stop().await;
    secure.listening.stop().await;
}

/// Lists leave piece by piece; what arrives is one list all the same, of a length that was told.
#[tokio::test]
async fn a_list_of_megabytes_over_both_versions_of_http() {
    let tokens = vec![("secret".to_owned(), admin())];
    let options = Options {
        tokens,
        ..Options::default()
    };
    let secure = Secure::start(options, ServeLimits::default()).await;
    let client = secure.admin();
    let large = "x".repeat(20_000);
    for i in 0..150 {
        let ask = Ask::json(format!("POST {MAPS}"), &config_map(&format!("m{i:03}"), &large));
        let made = client.send(ask.build(&secure.origin())).await.unwrap();
        assert_eq!(made.status(), 201);
    }
    let list = Ask::new(format!("GET {MAPS}"));
    let over_http2 = client.send(list.build(&secure.origin())).await.unwrap();
    assert_eq!(over_http2.version(), http::Version::HTTP_2);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain = Listening::start(&secure.api, listener, None, ServeLimits::default()).unwrap();
    let list = list.header("authorization", "Bearer secret");
    let client = connect(ConnectOptions::default()).unwrap();
    let origin = format!("http://{}", plain.address());
    let over_http1 = client.send(list.build(&origin)).await.unwrap();
    assert_eq!(over_http1.version(), http::Version::HTTP_11);
    for response in [over_http2, over_http1] {
        let answer = Answer::read(response).await;
        assert_eq!(answer.header("content-length"), answer.bytes.len().to_string());
        let items = answer.body["items"].as_array().unwrap();
        assert_eq!(items.len(), 150);
        assert!(items.iter().all(|item| item["data"]["key"] == large.as_str()));
    }
    plain.stop().await;
    secure.listening.stop().await;
}

#[tokio::test]
async fn watches_within_the_process_are_freed_too() {
    let (options, mut open) = observed();
    let server = Server::with(options).await;
    server.ok("GET /api").await;
    let own = *open.borrow();
    let mut first = server.watch("/api/v1/namespaces?watch=true").await;
    first.names(4).await;
    let second = server.watch("/api/v1/namespaces?watch=true").await;
    until(&mut open, own + 1).await;
    drop(second);
    drop(first);
    until(&mut open, own).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_stops_under_load() {
    let limits = ServeLimits {
        grace: Duration::from_secs(5),
        ..ServeLimits::default()
    };
    let secure = Secure::start(Options::default(), limits).await;
    let stopping = Arc::new(AtomicBool::new(false));
    let written = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for i in 0..8 {
        let (client, origin) = (secure.admin(), secure.origin());
        let (stopping, written) = (stopping.clone(), written.clone());
        tasks.push(tokio::spawn(async move {
            for n in 0.. {
                let ask = Ask::json(format!("POST {MAPS}"), &config_map(&format!("m{i}-{n}"), "1"));
                match client.send(ask.build(&origin)).await {
                    Ok(response) => assert_eq!(response.status(), 201),
                    Err(error) => {
                        assert!(stopping.load(Ordering::SeqCst), "{error}");
                        return;
                    }
                }
                written.fetch_add(1, Ordering::SeqCst);
            }
        }));
        let (client, origin) = (secure.admin(), secure.origin());
        tasks.push(tokio::spawn(async move {
            let request = Ask::new(format!("GET {MAPS}?watch=true")).build(&origin);
            let mut events = Events::new(client.send(request).await.unwrap());
            while events.next().await.is_some() {}
        }));
    }
    let mut events = Events::new(
        secure
            .admin()
            .send(Ask::new(format!("GET {MAPS}?watch=true")).build(&secure.origin()))
            .await
            .unwrap(),
    );
    events.names(200).await;
    stopping.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let api = secure.api.clone();
    let drained = tokio::time::timeout(LIMIT, secure.listening.stop())
        .await
        .expect("a server stops");
    assert_eq!(drained.aborted, 0, "all requests were answered");
    assert!(began.elapsed() < LIMIT);
    for task in tasks {
        tokio::time::timeout(LIMIT, task)
            .await
            .expect("a client ends")
            .unwrap();
    }
    // What was acknowledged is there.
    let server = api.service();
    let mut request = Ask::new(format!("GET {MAPS}")).build("");
    request.extensions_mut().insert(admin());
    let list = Answer::read(server.send(request).await.unwrap()).await.body;
    assert!(list["items"].as_array().unwrap().len() >= written.load(Ordering::SeqCst));
}

/// A hundred thousand changes pass by a watcher that does not read. It costs the store no more than its limits, and it alone is told
/// that it was too slow.
#[tokio::test]
async fn a_slow_watcher_costs_itself() {
    const CHANGES: usize = 100_000;
    let limits = Limits {
        max_events: 2_000,
        max_bytes: 4 << 20,
    };
    let store = MemoryStorage::with_limits(limits);
    let server = Server::with(Options {
        storage: Arc::new(store.clone()),
        ..Options::default()
    })
    .await;
    let made = server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "0")))
        .await;
    let from = version(&made);
    let path = format!("{MAPS}?watch=true&resourceVersion={from}");
    let mut slow = server.watch(&path).await;
    let mut quick = server.watch(&path).await;
    let mut elsewhere = server
        .watch(&format!("/api/v1/secrets?watch=true&resourceVersion={from}"))
        .await;
    // All are open before the first change.
    let open = async |events: &mut Events| {
        assert!(tokio::time::timeout(Duration::ZERO, events.next()).await.is_err())
    };
    open(&mut slow).await;
    open(&mut quick).await;
    open(&mut elsewhere).await;

    let key = Key::new("", "configmaps", Some("default"), "a");
    let mut revision = Revision(from);
    let mut last = None;
    for round in 0..CHANGES / 500 {
        for i in 0..500 {
            let mut object = made.clone();
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("resourceVersion");
            object["data"]["key"] = json!((round * 500 + i).to_string());
            revision = store
                .update(key.clone(), revision, Encoded::from_value(&object))
                .await
                .unwrap()
                .revision();
        }
        for _ in 0..500 {
            last = quick.next().await;
        }
        let (events, bytes) = store.history_size();
        assert!(
            events <= 2_000 && bytes <= 4 << 20,
            "{events} events, {bytes} bytes"
        );
    }
    let last = last.unwrap();
    assert_eq!(last["object"]["data"]["key"], (CHANGES - 1).to_string());
    assert_eq!(version(&last["object"]), revision.0);

    let told = slow.next().await.unwrap();
    assert_eq!(
        (text(&told["type"]), &told["object"]["code"]),
        ("ERROR", &json!(410)),
        "{told}"
    );
    assert_eq!(slow.next().await, None);

    server
        .ok(Ask::json(
            "POST /api/v1/namespaces/default/secrets",
            &json!({"metadata": {"name": "s"}}),
        ))
        .await;
    assert_eq!(
        elsewhere.names(1).await,
        ["ADDED s"],
        "a watcher of what did not change missed nothing"
    );
}

/// Whoever only sends, and never reads what comes back, stops being served and stops nobody.
#[tokio::test]
async fn a_client_that_does_not_read_is_not_buffered_for() {
    let secure = Secure::start(Options::default(), ServeLimits::default()).await;
    let client = secure.admin();
    for i in 0..20 {
        let object = config_map(&format!("m{i}"), &"x".repeat(500 << 10));
        assert_eq!(
            secure
                .ask(&client, Ask::json(format!("POST {MAPS}"), &object))
                .await
                .code,
            201
        );
    }
    let mut unread = Vec::new();
    for _ in 0..8 {
        unread.push(
            client
                .send(Ask::new(format!("GET {MAPS}?watch=true")).build(&secure.origin()))
                .await
                .unwrap(),
        );
    }
    let found = tokio::time::timeout(LIMIT, secure.ask(&client, "GET /readyz"))
        .await
        .expect("others are served");
    assert_eq!(found.bytes, Bytes::from_static(b"ok"));
    drop(unread);
    let limits = tokio::time::timeout(LIMIT, secure.listening.stop())
        .await
        .expect("it stops");
    assert_eq!(limits.aborted, 0);
}
