//! A node that does what a test says: the server's side of the channel protocols, in this process or over sockets.

use std::future::Future;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderValue, Response, StatusCode};
use k8s_openapi::api::core::v1::Pod;
use kubewright_client::{Api, Client};
use kubewright_net::{Body, HttpService, Identity, Upgrade, UpgradedIo};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

pub(crate) const STDIN: u8 = 0;
pub(crate) const STDOUT: u8 = 1;
pub(crate) const STDERR: u8 = 2;
pub(crate) const ERROR: u8 = 3;
pub(crate) const RESIZE: u8 = 4;
pub(crate) const CLOSE: u8 = 255;

pub(crate) const V5: &str = "v5.channel.k8s.io";
pub(crate) const V4: &str = "v4.channel.k8s.io";

pub(crate) const SUCCESS: &str = r#"{"metadata":{},"status":"Success"}"#;

/// The status of a process that ended with a code.
pub(crate) fn exit(code: i32) -> String {
    format!(
        r#"{{"metadata":{{}},"status":"Failure","message":"command terminated with non-zero exit code: {code}","reason":"NonZeroExitCode","details":{{"causes":[{{"reason":"ExitCode","message":"{code}"}}]}}}}"#
    )
}

/// The server's side of a connection.
pub(crate) struct Socket(pub(crate) WebSocketStream<UpgradedIo>);

impl Socket {
    /// Sends a message on a channel.
    pub(crate) async fn send(&mut self, channel: u8, content: impl AsRef<[u8]>) {
        let message = [&[channel], content.as_ref()].concat();
        self.0.send(Message::binary(message)).await.unwrap();
    }

    /// The next message, whatever its channel; `None` at the end.
    pub(crate) async fn receive(&mut self) -> Option<Bytes> {
        loop {
            match self.0.next().await?.ok()? {
                Message::Binary(bytes) => return Some(bytes),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    /// Input to its end.
    pub(crate) async fn input(&mut self) -> Vec<u8> {
        let mut input = Vec::new();
        while let Some(message) = self.receive().await {
            match message.as_ref() {
                [STDIN, bytes @ ..] => input.extend_from_slice(bytes),
                [CLOSE, STDIN] => break,
                other => panic!("{other:?}"),
            }
        }
        input
    }

    /// Tells the end of the process, and closes.
    pub(crate) async fn end(mut self, status: impl AsRef<[u8]>) {
        self.send(ERROR, status).await;
        self.close().await;
    }

    pub(crate) async fn close(mut self) {
        let _ = self.0.close(None).await;
        while let Some(Ok(_)) = self.0.next().await {}
    }
}

/// What a node was asked.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A server that speaks one protocol, and does with each connection what `script` says: it is given the URI.
pub(crate) fn service<F, Fut>(protocol: &'static str, asked: Asked, script: F) -> HttpService
where
    F: Fn(String, Socket) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    HttpService::from_fn(move |mut request| {
        let (asked, script) = (asked.clone(), script.clone());
        async move {
            let header = |name| {
                request
                    .headers()
                    .get(name)
                    .map(|value: &HeaderValue| value.to_str().unwrap())
            };
            let offered = header(SEC_WEBSOCKET_PROTOCOL).unwrap_or_default().to_owned();
            let key = header(SEC_WEBSOCKET_KEY).unwrap_or_default().to_owned();
            let uri = request.uri().to_string();
            asked
                .0
                .lock()
                .unwrap()
                .push(format!("{} {uri} {offered}", request.method()));
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            let headers = response.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(
                SEC_WEBSOCKET_ACCEPT,
                derive_accept_key(key.as_bytes()).parse().unwrap(),
            );
            if offered.split(", ").any(|offer| offer == protocol) {
                headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
            }
            let upgrade = Upgrade::take(request.extensions_mut()).unwrap();
            tokio::spawn(async move {
                let io = upgrade.complete().await.unwrap();
                let socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
                script(uri, Socket(socket)).await;
            });
            Ok(response)
        }
    })
}

/// The pods of a server in this process.
pub(crate) fn pods(service: HttpService) -> Api<Pod> {
    let client = Client::in_process(service, Identity::new("me", ["system:masters"]), "team");
    Api::default_namespaced(&client)
}

/// The pods on a node that speaks one protocol.
pub(crate) fn pods_on<F, Fut>(protocol: &'static str, script: F) -> Api<Pod>
where
    F: Fn(String, Socket) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    pods(service(protocol, Asked::default(), script))
}
