//! The client against servers that misbehave on the wire.
#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::collections::VecDeque;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request};
use kubewright_client::{
    Client, ClientOptions, Config, Error, Gzip, ListOptions, ResourcePath, WarningHandler, WatchEventKind,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a server does once it has read a request.
#[derive(Clone)]
enum Act {
    /// Sends this and closes the connection.
    Send(Vec<u8>),
    /// Sends the head, then the body in chunks of one byte each, and closes.
    ByteByByte(String, Vec<u8>),
    /// Sends this and then nothing, for ever.
    Hang(Vec<u8>),
    /// Resets the connection.
    Reset,
    /// Closes it without an answer.
    Close,
}

/// A server for one act a connection, and the heads of the requests that it read.
#[derive(Clone)]
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let mut acts: VecDeque<Act> = acts.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Some(act) = acts.pop_front() {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(play(stream, act, Arc::clone(&seen)));
            }
        });
        Self { address, heads }
    }

    fn client(&self, options: ClientOptions) -> Client {
        let config = Config::new(format!("http://{}", self.address).parse().unwrap());
        self.client_of(config, options)
    }

    fn client_of(&self, mut config: Config, options: ClientOptions) -> Client {
        config.server = format!("http://{}", self.address).parse().unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Client::with_options(config, options, provider).unwrap()
    }

    fn requests(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

async fn play(mut stream: TcpStream, act: Act, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    // A request of these tests has no body.
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    heads.lock().unwrap().push(String::from_utf8(head).unwrap());
    match act {
        Act::Send(bytes) => stream.write_all(&bytes).await.unwrap(),
        Act::ByteByByte(head, body) => {
            stream.write_all(head.as_bytes()).await.unwrap();
            for byte in body {
                stream
                    .write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n'])
                    .await
                    .unwrap();
                stream.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
            stream.write_all(b"0\r\n\r\n").await.unwrap();
        }
        Act::Hang(bytes) => {
            stream.write_all(&bytes).await.unwrap();
            std::future::pending().await
        }
        Act::Reset => stream.set_zero_linger().unwrap(),
        Act::Close => {}
    }
}

fn answer(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Send(
        format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )
}

fn request(method: Method) -> Request<Vec<u8>> {
    Request::builder()
        .method(method)
        .uri("/x")
        .body(Vec::new())
        .unwrap()
}

fn quiet() -> ClientOptions {
    ClientOptions {
        warnings: WarningHandler::ignore(),
        ..ClientOptions::default()
    }
}

#[tokio::test]
async fn lost_connections_are_survived_by_reads_alone() {
    for fault in [Act::Reset, Act::Close] {
        let server = Server::start([fault.clone(), answer("200 OK", "", "{}")]).await;
        let read = server.client(quiet()).request_bytes(request(Method::GET)).await;
        assert_eq!(read.unwrap(), "{}");
        assert_eq!(server.requests(), 2);

        let server = Server::start([fault, answer("200 OK", "", "{}")]).await;
        let write = server
            .client(quiet())
            .request_bytes(request(Method::DELETE))
            .await;
        assert!(write.unwrap_err().is_connection_closed());
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_again_only_if_it_says_when() {
    let busy = |headers: &str| answer("429 Too Many Requests", headers, "busy");
    let server = Server::start([busy("retry-after: 0\r\n"), answer("200 OK", "", "{}")]).await;
    server
        .client(quiet())
        .request_bytes(request(Method::POST))
        .await
        .unwrap();
    assert_eq!(server.requests(), 2);

    let server = Server::start([busy("")]).await;
    let error = server
        .client(quiet())
        .request_bytes(request(Method::GET))
        .await
        .unwrap_err();
    assert!(
        error.is_too_many_requests() && error.retry_after().is_none(),
        "{error}"
    );

    // Whoever has a queue of its own may want no retries at all.
    let server = Server::start([busy("retry-after: 7\r\n")]).await;
    let options = ClientOptions {
        max_retries: 0,
        ..quiet()
    };
    let error = server
        .client(options)
        .request_bytes(request(Method::GET))
        .await
        .unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn what_is_cut_short_is_no_answer() {
    let whole = r#"{"metadata":{},"items":[{"a":1}]}"#;
    for length in 0..whole.len() {
        let server = Server::start([answer("200 OK", "", &whole[..length])]).await;
        let list = server
            .client(quiet())
            .list_raw(&"/api/v1/pods".into(), &ListOptions::default())
            .await;
        assert!(matches!(list, Err(Error::Decode { .. })), "{length}: {list:?}");
        let server = Server::start([answer("200 OK", "", &whole[..length])]).await;
        let list = listed(&server.client(quiet())).await;
        assert!(matches!(list, Err(Error::Decode { .. })), "{length}: {list:?}");
    }
    // The connection ends before all that was announced has come.
    let short = Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"items\":[]}".to_vec());
    let server = Server::start([short.clone(), short]).await;
    let client = server.client(quiet());
    let list = client
        .list_raw(&"/api/v1/pods".into(), &ListOptions::default())
        .await;
    assert!(list.unwrap_err().is_connection_closed());
    assert!(listed(&client).await.unwrap_err().is_connection_closed());
}

/// The items of a list that are taken one by one, and its version.
async fn listed(client: &Client) -> Result<(Vec<String>, String), Error> {
    let path = ResourcePath::from("/api/v1/pods");
    let mut list = client.list_items(&path, &ListOptions::default()).await?;
    let mut items = Vec::new();
    while let Some(item) = list.next().await? {
        items.push(String::from_utf8(item.to_vec()).unwrap());
    }
    Ok((items, list.finish().await?.resource_version))
}

#[tokio::test]
async fn items_may_be_cut_at_every_byte_compressed_or_not() {
    let items = ["{\"note\":\"ä, 日本, 🦀 and \\u00e4\"}", "{\"b\":[\"}\\\"]\"]}"];
    let plain = format!(
        "{{\"kind\":\"PodList\",\"items\":[{}],\"metadata\":{{\"resourceVersion\":\"7\"}}}}\n",
        items.join(", ")
    );
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(plain.as_bytes()).unwrap();
    let zipped = zipped.finish().unwrap();
    for (encoding, body) in [
        ("", plain.into_bytes()),
        ("content-encoding: gzip\r\n", zipped.clone()),
    ] {
        let head =
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{encoding}transfer-encoding: chunked\r\n\r\n");
        let server = Server::start([Act::ByteByByte(head, body)]).await;
        let client = server.client(ClientOptions {
            gzip: Gzip::Always,
            ..quiet()
        });
        let (found, version) = listed(&client).await.unwrap();
        assert_eq!((found, &*version), (items.map(str::to_owned).to_vec(), "7"));
    }
    // Half of what is compressed is no list, though what came of it may have been taken.
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-encoding: gzip\r\n\r\n".as_bytes();
    let half = [head, &zipped[..zipped.len() - 4]].concat();
    let server = Server::start([Act::Send(half)]).await;
    let client = server.client(ClientOptions {
        gzip: Gzip::Always,
        ..quiet()
    });
    assert!(listed(&client).await.is_err());
}

const EVENTS: [&str; 3] = [
    "{\"type\":\"ADDED\",\"object\":{\"note\":\"ä, 日本, 🦀 and \\u00e4\"}}\n",
    "{\"type\":\"BOOKMARK\",\n  \"object\": {\n    \"kind\": \"Ü\"\n  }\n}\n",
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\n\"status\":\"Failure\",\n\"reason\":\"Expired\",\"code\":410}}",
];

/// The kinds of the events of a watch, and the text of the first.
async fn watched(client: &Client) -> Vec<(WatchEventKind, String)> {
    let path = ResourcePath::from("/api/v1/pods");
    let mut watch = client.watch_raw(&path, &ListOptions::default()).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = watch.next().await {
        let event = event.unwrap();
        events.push((event.kind, String::from_utf8(event.object.to_vec()).unwrap()));
    }
    events
}

#[tokio::test]
async fn events_may_be_cut_at_every_byte_compressed_or_not() {
    let plain = EVENTS.concat().into_bytes();
    // A member for each event, as servers send them from 1.37 on.
    let zipped = EVENTS
        .iter()
        .flat_map(|event| {
            let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            member.write_all(event.as_bytes()).unwrap();
            member.finish().unwrap()
        })
        .collect();
    for (encoding, body) in [("", plain), ("content-encoding: gzip\r\n", zipped)] {
        let head =
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{encoding}transfer-encoding: chunked\r\n\r\n");
        let server = Server::start([Act::ByteByByte(head, body)]).await;
        let client = server.client(ClientOptions {
            gzip: Gzip::Always,
            ..quiet()
        });
        let events = watched(&client).await;
        let kinds: Vec<_> = events.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [
                WatchEventKind::Added,
                WatchEventKind::Bookmark,
                WatchEventKind::Error
            ]
        );
        assert_eq!(events[0].1, "{\"note\":\"ä, 日本, 🦀 and \\u00e4\"}");
        assert!(server.heads.lock().unwrap()[0].contains("accept-encoding: gzip"));
    }
}

#[tokio::test]
async fn a_watch_that_falls_silent_ends_where_that_was_asked_for() {
    let event = EVENTS[0];
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n{event}");
    let server = Server::start([Act::Hang(head.into_bytes())]).await;
    let client = server.client(ClientOptions {
        watch_silence: Some(Duration::from_millis(50)),
        ..quiet()
    });
    let path = ResourcePath::from("/api/v1/pods");
    let mut watch = client.watch_raw(&path, &ListOptions::default()).await.unwrap();
    assert!(watch.next().await.unwrap().is_ok());
    assert!(watch.next().await.unwrap().unwrap_err().is_timeout());
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_token_that_is_replaced_is_used_at_once_when_the_old_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "old").unwrap();
    let refused = answer("401 Unauthorized", "", "");
    let server = Server::start([
        answer("200 OK", "", "{}"),
        refused.clone(),
        answer("200 OK", "", "{}"),
        refused,
    ])
    .await;
    let mut config = Config::new("http://unused".parse().unwrap());
    config.credentials.token_file = Some(file.clone());
    let client = server.client_of(config, quiet());
    client.request_bytes(request(Method::GET)).await.unwrap();
    std::fs::write(&file, "new").unwrap();
    client.request_bytes(request(Method::POST)).await.unwrap();
    // The same token again is of no use, so nothing is sent twice.
    let error = client.request_bytes(request(Method::GET)).await.unwrap_err();
    assert!(error.is_unauthorized() && error.hint().is_some(), "{error}");
    let tokens: Vec<bool> = server
        .heads
        .lock()
        .unwrap()
        .iter()
        .map(|head| head.contains("Bearer new"))
        .collect();
    assert_eq!(tokens, [false, false, true, true]);
}
