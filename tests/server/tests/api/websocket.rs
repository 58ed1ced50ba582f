//! Watches over websockets, with a client of another make.

use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderName, HeaderValue};
use kubewright_apiserver::serving::Listening;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_kinds::protobuf;
use kubewright_net::{Identity, ServeLimits};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::harness::*;

type Socket = WebSocketStream<TcpStream>;

/// A server on a socket, and in this process.
struct Served {
    server: Server,
    listening: Listening,
}

impl Served {
    async fn start() -> Self {
        let options = Options {
            tokens: vec![("secret".to_owned(), Identity::new("me", ["system:masters"]))],
            ..Options::default()
        };
        let server = Server::with(options).await;
        let listening = listen(&server.api).await;
        Self { server, listening }
    }

    /// Opens a websocket with the headers that a client sends, but for these: one without a value is left out.
    async fn open(&self, path: &str, headers: &[(&'static str, &str)]) -> Result<Socket, Error> {
        let address = self.listening.address();
        let mut request = format!("ws://{address}{path}").into_client_request()?;
        let sent = request.headers_mut();
        for (name, value) in [("authorization", "Bearer secret"), ("origin", "http://test")]
            .iter()
            .chain(headers)
        {
            let name = HeaderName::from_static(name);
            match value.is_empty() {
                true => drop(sent.remove(name)),
                false => drop(sent.insert(name, HeaderValue::from_str(value).unwrap())),
            }
        }
        let stream = TcpStream::connect(address).await?;
        client_async(request, stream).await.map(|(socket, _)| socket)
    }
}

async fn listen(api: &ApiServer) -> Listening {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    Listening::start(api, listener, None, ServeLimits::default()).unwrap()
}

async fn next(socket: &mut Socket) -> Message {
    socket.next().await.expect("the connection is open").unwrap()
}

/// The next event of a watch in JSON, as `TYPE name`.
async fn event(socket: &mut Socket) -> String {
    let Message::Text(text) = next(socket).await else {
        panic!("JSON is text");
    };
    assert!(text.ends_with("}\n"), "{text}");
    let event: Value = serde_json::from_str(&text).unwrap();
    format!(
        "{} {}",
        event["type"].as_str().unwrap(),
        self::text(&event["object"]["metadata"]["name"])
    )
}

async fn closes(socket: &mut Socket) {
    match next(socket).await {
        Message::Close(Some(frame)) => assert_eq!(frame.code, CloseCode::Normal),
        other => panic!("{other:?}"),
    }
    assert!(socket.next().await.is_none());
}

#[tokio::test]
async fn a_watch_is_a_message_for_each_event() {
    let served = Served::start().await;
    let server = &served.server;
    for name in ["a", "b"] {
        server
            .ok(Ask::json(format!("POST {MAPS}"), &config_map(name, "1")))
            .await;
    }
    let watch = format!("{MAPS}?watch=true");
    let mut socket = served.open(&watch, &[]).await.unwrap();
    assert_eq!(event(&mut socket).await, "ADDED a");
    assert_eq!(event(&mut socket).await, "ADDED b");
    // What a client says is dropped.
    socket.send(Message::text("hello")).await.unwrap();
    server.ok(format!("DELETE {MAPS}/a")).await;
    assert_eq!(event(&mut socket).await, "DELETED a");
    socket.close(None).await.unwrap();
    assert!(matches!(next(&mut socket).await, Message::Close(_)));

    let old = "/api/v1/watch/namespaces/default/configmaps";
    let mut socket = served.open(old, &[]).await.unwrap();
    assert_eq!(event(&mut socket).await, "ADDED b");

    // No gzip, which is for plain HTTP.
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let gzip = ("accept-encoding", "gzip");
    let mut socket = served.open(&format!("{watch}&{initial}"), &[gzip]).await.unwrap();
    assert_eq!(event(&mut socket).await, "ADDED b");
    assert_eq!(event(&mut socket).await, "BOOKMARK ");
}

#[tokio::test]
async fn protobuf_is_binary() {
    let served = Served::start().await;
    for name in ["a", "b"] {
        let created = Ask::json(format!("POST {MAPS}"), &config_map(name, "1"));
        served.server.ok(created).await;
    }
    let accept = (
        "accept",
        "application/vnd.kubernetes.protobuf;stream=watch,application/vnd.kubernetes.protobuf",
    );
    let mut socket = served
        .open(&format!("{MAPS}?watch=true"), &[accept])
        .await
        .unwrap();
    for name in ["a", "b"] {
        let Message::Binary(bytes) = next(&mut socket).await else {
            panic!("protobuf is binary");
        };
        let (kind, object) = protobuf::decode_watch_event(&bytes).unwrap();
        let object = protobuf::decode(object).unwrap().value;
        assert_eq!((kind, text(&object["metadata"]["name"])), ("ADDED", name));
    }
}

#[tokio::test]
async fn a_watch_ends_with_its_time_and_with_its_server() {
    let served = Served::start().await;
    let mut socket = served
        .open(&format!("{PODS}?watch=true&timeoutSeconds=1"), &[])
        .await
        .unwrap();
    closes(&mut socket).await;
    let mut socket = served.open(&format!("{PODS}?watch=true"), &[]).await.unwrap();
    served.server.api.shut_down();
    closes(&mut socket).await;
}

#[tokio::test]
async fn handshakes_that_are_refused() {
    /// The sub-protocol that is the token `secret`.
    const TOKEN: &str = "base64url.bearer.authorization.k8s.io.c2VjcmV0";
    const NO_HEADER: (&str, &str) = ("authorization", "");
    let served = Served::start().await;
    let watch = &*format!("{MAPS}?watch=true");
    let with_token = format!("{TOKEN}, x");
    let with_wrong_token = format!("{TOKEN}x, x");
    let with_two = format!("x, {TOKEN}, y");
    let protocols = |value| ("sec-websocket-protocol", value);
    for (path, headers, expect) in [
        (watch, vec![], 101),
        (watch, vec![("origin", "null")], 403),
        (watch, vec![("origin", "")], 403),
        (watch, vec![("sec-websocket-version", "8")], 400),
        (watch, vec![protocols("x, y")], 400),
        (watch, vec![NO_HEADER], 403),
        (watch, vec![("authorization", "Bearer wrong")], 401),
        (watch, vec![NO_HEADER, protocols(&with_token)], 101),
        (watch, vec![NO_HEADER, protocols(&with_wrong_token)], 401),
        (watch, vec![NO_HEADER, protocols(TOKEN)], 401),
        (watch, vec![NO_HEADER, protocols(&with_two)], 400),
        ("/api/v1/namespaces/default/nothings?watch=true", vec![], 404),
        ("/api/v1/configmaps?watch=true&labelSelector=!!", vec![], 400),
        (watch, vec![("accept", "application/yaml")], 406),
        // Only a watch goes over a websocket.
        (MAPS, vec![], 200),
    ] {
        let code = match served.open(path, &headers).await {
            Ok(_) => 101,
            Err(Error::Http(response)) => response.status().as_u16(),
            // The answer speaks of no protocol that was asked for.
            Err(error) => panic!("{path} {headers:?}: {error}"),
        };
        assert_eq!(code, expect, "{path} {headers:?}");
    }
}

/// Within one process a pipe stands for the connection; where there is none, nothing can be upgraded.
#[tokio::test]
async fn without_a_connection_there_is_no_websocket() {
    let server = Server::start().await;
    let ask = Ask::new(format!("GET {MAPS}?watch=true"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("origin", "http://test")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-version", "13");
    server
        .refused(ask, 400, "the connection cannot be upgraded")
        .await;
}
