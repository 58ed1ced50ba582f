//! Websockets (RFC 6455): of the server's side the handshake and a stream of messages, of the client's an [`Offer`] and a [`ClientSocket`].
//!
//! The rules of the server's handshake are those of Go's `golang.org/x/net/websocket`, by which kube-apiserver serves watches: an `Origin` must
//! be there, and at most one sub-protocol. Messages go one way; what the client sends is read and dropped.

mod client;

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{
    CONNECTION, HeaderName, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message as Frames, Utf8Bytes};

pub use self::client::{ClientSocket, Offer, Received, Sent, SocketError};
use crate::body::Body;
use crate::upgrade::UpgradedIo;

/// The largest message of a client that is read, to be dropped: 64 KiB. A longer one ends the connection.
pub const MAX_RECEIVED_BYTES: usize = 64 << 10;

/// One message to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Text, which must be UTF-8; what is not ends the connection.
    Text(Bytes),
    /// Bytes.
    Binary(Bytes),
}

/// Whether a request asks for a websocket (k8s.io/streaming pkg/httpstream/wsstream `IsWebSocketRequest`).
pub fn is_request(headers: &HeaderMap) -> bool {
    let first = |name| headers.get(name).map_or(&b""[..], HeaderValue::as_bytes);
    let connections = headers.get_all(CONNECTION).iter();
    first(UPGRADE).eq_ignore_ascii_case(b"websocket")
        && connections
            .map(|value| value.as_bytes().to_ascii_lowercase())
            .any(|value| {
                value
                    .windows(UPGRADE_TOKEN.len())
                    .any(|word| word == UPGRADE_TOKEN)
            })
}

/// The sub-protocols that a client offers, in order.
pub fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|protocol| !protocol.is_empty())
}

/// The answer to a request that [asks](is_request) for a websocket and offers `protocols`: status 101, after which both sides speak
/// frames; or the refusal of a handshake that is none: status 400, and 403 for one whose origin is unknown.
pub fn handshake(headers: &HeaderMap, protocols: &[&str]) -> Response<Body> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(key) = text(SEC_WEBSOCKET_KEY).filter(|key| !key.is_empty()) else {
        return refusal(StatusCode::BAD_REQUEST, "mismatch challenge/response");
    };
    if text(SEC_WEBSOCKET_VERSION) != Some(SUPPORTED_VERSION) {
        let mut response = refusal(StatusCode::BAD_REQUEST, "missing or bad WebSocket Version");
        let version = HeaderValue::from_static(SUPPORTED_VERSION);
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, version);
        return response;
    }
    if !text(ORIGIN).is_some_and(is_uri) {
        return refusal(StatusCode::FORBIDDEN, "");
    }
    let protocol = match protocols {
        [] => None,
        [one] => HeaderValue::from_str(one).ok(),
        _ => return refusal(StatusCode::BAD_REQUEST, ""),
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    answer.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        answer.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(protocol) = protocol {
        answer.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

fn refusal(code: StatusCode, why: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(why));
    *response.status_mut() = code;
    // Whatever the client sends next may be frames.
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Whether a text is an absolute path or has a scheme: what Go's `url.ParseRequestURI` asks for, as far as an origin is concerned.
fn is_uri(text: &str) -> bool {
    let has_scheme = || {
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        let rest = scheme.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c));
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.is_empty()
    };
    !text.contains(' ') && (text.starts_with('/') || has_scheme())
}

/// Sends messages until there are no more, or the client closes or breaks the connection. Then it is closed as what went well.
///
/// One message is taken when the one before it was handed to the connection. Pings are answered.
pub async fn send_all(io: UpgradedIo, messages: impl Stream<Item = Message> + Send) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(Some(MAX_RECEIVED_BYTES))
        .max_frame_size(Some(MAX_RECEIVED_BYTES));
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let mut messages = pin!(messages);
    let result = loop {
        tokio::select! {
            biased;
            received = socket.next() => match received {
                Some(Ok(Frames::Close(_))) | None => break Ok(()),
                Some(Ok(_)) => {}
                Some(Err(error)) => break Err(error),
            },
            message = messages.next() => {
                let Some(message) = message else { break Ok(()) };
                let sent = match frames(message) {
                    Ok(frames) => socket.send(frames).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = sent {
                    break Err(error);
                }
            }
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a websocket ended with an error");
    }
    let frame = CloseFrame {
        code: CloseCode::Normal,
        reason: Utf8Bytes::default(),
    };
    // A client that closed is answered already: that only has to go out. One that did not may still be sending, and a socket that is
    // closed with something unread loses what was sent last.
    let farewell = async {
        let _ = socket.close(Some(frame)).await;
        let _ = socket.flush().await;
        while let Some(Ok(_)) = socket.next().await {}
    };
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, farewell).await;
}

fn frames(message: Message) -> Result<Frames, Error> {
    Ok(match message {
        Message::Binary(bytes) => Frames::Binary(bytes),
        Message::Text(text) => Frames::Text(Utf8Bytes::try_from(text)?),
    })
}

/// RFC 6455; all others came before it.
const SUPPORTED_VERSION: &str = "13";
const UPGRADE_TOKEN: &[u8] = b"upgrade";
/// Clients send next to nothing, and each connection has a buffer.
const READ_BUFFER_BYTES: usize = 4096;
/// How long the client may take to close its side.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;
    use crate::upgrade::Upgrade;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let parse = |(name, value): &(&str, &str)| {
            (
                name.parse::<HeaderName>().unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        };
        let mut headers = HeaderMap::new();
        for (name, value) in lines.iter().map(parse) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn what_asks_for_a_websocket() {
        for (lines, expect) in [
            (vec![("upgrade", "websocket"), ("connection", "Upgrade")], true),
            (
                vec![("upgrade", "WebSocket"), ("connection", "keep-alive, UPGRADE")],
                true,
            ),
            (
                vec![
                    ("upgrade", "websocket"),
                    ("connection", "close"),
                    ("connection", "upgrade"),
                ],
                true,
            ),
            (vec![("upgrade", "websocket")], false),
            (vec![("upgrade", "SPDY/3.1"), ("connection", "Upgrade")], false),
            (vec![("connection", "Upgrade")], false),
        ] {
            assert_eq!(is_request(&headers(&lines)), expect, "{lines:?}");
        }
    }

    #[test]
    fn handshakes() {
        /// The example of RFC 6455, section 1.3.
        const KEY: (&str, &str) = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        const VERSION: (&str, &str) = ("sec-websocket-version", "13");
        const FROM: (&str, &str) = ("origin", "http://a");
        for (lines, code) in [
            (vec![KEY, VERSION, FROM], 101),
            (vec![KEY, VERSION, ("origin", "/path")], 101),
            (vec![KEY, VERSION, FROM, ("sec-websocket-protocol", "a")], 101),
            (vec![KEY, VERSION, FROM, ("sec-websocket-protocol", "a, b")], 400),
            (
                vec![
                    KEY,
                    VERSION,
                    FROM,
                    ("sec-websocket-protocol", "a"),
                    ("sec-websocket-protocol", "b"),
                ],
                400,
            ),
            (vec![VERSION, FROM], 400),
            (vec![("sec-websocket-key", ""), VERSION, FROM], 400),
            (vec![KEY, FROM], 400),
            (vec![KEY, ("sec-websocket-version", "8"), FROM], 400),
            (vec![KEY, VERSION], 403),
            (vec![KEY, VERSION, ("origin", "null")], 403),
            (vec![KEY, VERSION, ("origin", "1a:b")], 403),
            (vec![KEY, VERSION, ("origin", "http://a b")], 403),
        ] {
            let headers = headers(&lines);
            let offered: Vec<&str> = protocols(&headers).collect();
            let response = handshake(&headers, &offered);
            assert_eq!(response.status(), code, "{lines:?}");
            let header = |name: HeaderName| response.headers().get(name).map(|value| value.to_str().unwrap());
            if code == 101 {
                assert_eq!(header(SEC_WEBSOCKET_ACCEPT), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
                assert_eq!(header(SEC_WEBSOCKET_PROTOCOL), offered.first().copied());
            } else {
                assert_eq!(header(CONNECTION), Some("close"));
            }
        }
    }

    /// Both ends of a connection, the server's sending `messages`.
    async fn open(
        messages: impl Stream<Item = Message> + Send + 'static,
    ) -> (WebSocketStream<UpgradedIo>, tokio::task::JoinHandle<()>) {
        let (client, server) = Upgrade::pipe();
        let (client, server) = (client.complete().await.unwrap(), server.complete().await.unwrap());
        let sending = tokio::spawn(send_all(server, messages));
        (
            WebSocketStream::from_raw_socket(client, Role::Client, None).await,
            sending,
        )
    }

    #[tokio::test]
    async fn messages_arrive_and_the_end_is_said() {
        let messages = [
            Message::Text(Bytes::from_static("grüß\n".as_bytes())),
            Message::Binary(Bytes::from_static(b"\xff\x00")),
            Message::Text(Bytes::from(vec![b'x'; 1 << 20])),
        ];
        let (mut socket, sending) = open(stream::iter(messages)).await;
        assert_eq!(socket.next().await.unwrap().unwrap(), Frames::text("grüß\n"));
        assert_eq!(
            socket.next().await.unwrap().unwrap(),
            Frames::binary(&b"\xff\x00"[..])
        );
        assert_eq!(socket.next().await.unwrap().unwrap().len(), 1 << 20);
        match socket.next().await.unwrap().unwrap() {
            Frames::Close(Some(frame)) => assert_eq!(frame.code, CloseCode::Normal),
            other => panic!("{other:?}"),
        }
        assert!(socket.next().await.is_none());
        sending.await.unwrap();
    }

    /// Whatever ends the connection, what makes the messages ends as well.
    #[tokio::test]
    async fn what_ends_a_connection() {
        let (mut socket, sending) = open(stream::pending()).await;
        // What a client says is dropped, and its pings are answered.
        socket.send(Frames::text("hello")).await.unwrap();
        socket.send(Frames::Ping(Bytes::from_static(b"p"))).await.unwrap();
        assert_eq!(
            socket.next().await.unwrap().unwrap(),
            Frames::Pong(Bytes::from_static(b"p"))
        );
        socket.close(None).await.unwrap();
        let answer = socket.next().await;
        assert!(matches!(answer, Some(Ok(Frames::Close(_)))), "{answer:?}");
        sending.await.unwrap();

        let (socket, sending) = open(stream::pending()).await;
        drop(socket);
        sending.await.unwrap();

        let (mut socket, sending) = open(stream::pending()).await;
        socket
            .send(Frames::binary(vec![0; MAX_RECEIVED_BYTES]))
            .await
            .unwrap();
        socket.send(Frames::Ping(Bytes::new())).await.unwrap();
        assert!(
            matches!(socket.next().await, Some(Ok(Frames::Pong(_)))),
            "as large as may be"
        );
        // The other side may be gone before all of it was taken.
        let _ = socket.send(Frames::binary(vec![0; MAX_RECEIVED_BYTES + 1])).await;
        drop(socket);
        sending.await.unwrap();

        let (mut socket, sending) = open(stream::iter([Message::Text(Bytes::from_static(b"\xff"))])).await;
        assert!(
            matches!(socket.next().await, Some(Ok(Frames::Close(_)))),
            "no UTF-8"
        );
        drop(socket);
        sending.await.unwrap();
    }
}
