//! The client's side of a websocket: what it [offers](Offer), and the [socket](ClientSocket) that comes of it.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream as _;
use futures_util::Sink as _;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, HeaderValue};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::SUPPORTED_VERSION;
use crate::error::{BoxError, TransportError};
use crate::upgrade::UpgradedIo;

/// A request for a websocket: the sub-protocols that the client speaks, the best first.
#[derive(Debug)]
pub struct Offer {
    key: String,
    protocols: &'static [&'static str],
}

impl Offer {
    /// An offer with a key of its own.
    pub fn new(protocols: &'static [&'static str]) -> Self {
        Self {
            key: generate_key(),
            protocols,
        }
    }

    /// Puts the offer into the headers of a GET request.
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(SUPPORTED_VERSION));
        let key = HeaderValue::from_str(&self.key);
        headers.extend(key.ok().map(|key| (SEC_WEBSOCKET_KEY, key)));
        let protocols = HeaderValue::from_str(&self.protocols.join(", "));
        headers.extend(
            protocols
                .ok()
                .map(|protocols| (SEC_WEBSOCKET_PROTOCOL, protocols)),
        );
    }

    /// Which of the sub-protocols the server has chosen, by the headers of its answer 101.
    ///
    /// # Errors
    ///
    /// [`SocketError::Handshake`] if the answer is to another offer, or to none of the sub-protocols.
    pub fn chosen(&self, headers: &HeaderMap) -> Result<&'static str, SocketError> {
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let refuse = |why: String| Err(SocketError::Handshake { why });
        if !text(UPGRADE).is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket")) {
            return refuse("the server switched to something else than a websocket".to_owned());
        }
        if text(SEC_WEBSOCKET_ACCEPT) != Some(&derive_accept_key(self.key.as_bytes())) {
            return refuse("the server's answer belongs to another handshake".to_owned());
        }
        let offered = || self.protocols.join(", ");
        let Some(name) = text(SEC_WEBSOCKET_PROTOCOL) else {
            return refuse(format!("the server speaks none of {}", offered()));
        };
        match self.protocols.iter().find(|protocol| **protocol == name) {
            Some(protocol) => Ok(protocol),
            None => refuse(format!("the server chose {name:?}, not one of {}", offered())),
        }
    }
}

/// What came from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A message of bytes.
    Binary(Bytes),
    /// A message of text.
    Text(Bytes),
    /// A ping or a pong: the server lives. Pings are answered by the socket itself.
    Sign,
    /// The server closes, with its reason. Nothing follows but the end.
    Close {
        /// The code of RFC 6455, section 7.4; 1005 if there was none.
        code: u16,
        /// The server's words.
        reason: String,
    },
}

/// What goes to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// A message of bytes.
    Binary(Bytes),
    /// A ping without content.
    Ping,
    /// The end, as what went well.
    Close,
}

/// Why a websocket is none, or is one no more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// The server's answer does not fit the offer.
    #[error("{why}")]
    Handshake {
        /// What is wrong with it.
        why: String,
    },
    /// A message is larger than the limit.
    #[error("a message is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// What came are no frames of RFC 6455.
    #[error("the server sends no proper frames")]
    Protocol(#[source] BoxError),
    /// The connection broke.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// A client's websocket: messages in both directions, to be driven by polls from one task.
///
/// Reading and writing do not wait for one another. Memory: one message that comes in, and 64 KiB beyond one that goes out.
pub struct ClientSocket {
    socket: WebSocketStream<UpgradedIo>,
    limit: usize,
}

/// Bytes that wait to be written to the connection, beyond one message: 64 KiB.
const MAX_UNSENT_BYTES: usize = 64 << 10;
/// Bytes that are asked of the connection at once: 16 KiB, as much as a TLS record holds.
const READ_BUFFER_BYTES: usize = 16 << 10;

impl ClientSocket {
    /// A socket over a connection after its handshake. A message may have `limit` bytes.
    pub async fn new(io: UpgradedIo, limit: usize) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(MAX_UNSENT_BYTES)
            .max_message_size(Some(limit))
            .max_frame_size(Some(limit));
        Self {
            socket: WebSocketStream::from_raw_socket(io, Role::Client, Some(config)).await,
            limit,
        }
    }

    /// The next thing that comes; `None` at the end of the connection, after [`Received::Close`] or without.
    ///
    /// # Errors
    ///
    /// [`SocketError`], after which nothing comes.
    pub fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Received, SocketError>>> {
        Poll::Ready(match ready!(Pin::new(&mut self.socket).poll_next(cx)) {
            Some(Ok(message)) => Some(Ok(received(message))),
            None | Some(Err(Error::ConnectionClosed | Error::AlreadyClosed)) => None,
            Some(Err(error)) => match sort(error, self.limit) {
                // The same end of a connection, which a server that sends no close frames makes.
                SocketError::Transport(error) if error.is_closed() => None,
                error => Some(Err(error)),
            },
        })
    }

    /// Whether something can be [sent](Self::send).
    ///
    /// # Errors
    ///
    /// The connection broke.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SocketError>> {
        let ready = ready!(Pin::new(&mut self.socket).poll_ready(cx));
        Poll::Ready(ready.map_err(|error| sort(error, self.limit)))
    }

    /// Takes something to send, once it is [ready](Self::poll_ready) for it.
    ///
    /// # Errors
    ///
    /// The connection broke, or is closed.
    pub fn send(&mut self, what: Sent) -> Result<(), SocketError> {
        let message = match what {
            Sent::Binary(bytes) => Message::Binary(bytes),
            Sent::Ping => Message::Ping(Bytes::new()),
            Sent::Close => Message::Close(Some(CloseFrame {
                code: CloseCode::Normal,
                reason: Utf8Bytes::default(),
            })),
        };
        let sent = Pin::new(&mut self.socket).start_send(message);
        sent.map_err(|error| sort(error, self.limit))
    }

    /// Writes what was taken.
    ///
    /// # Errors
    ///
    /// The connection broke.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SocketError>> {
        let flushed = ready!(Pin::new(&mut self.socket).poll_flush(cx));
        Poll::Ready(match flushed {
            // After a close frame went out there is nothing to write.
            Ok(()) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => Ok(()),
            Err(error) => Err(sort(error, self.limit)),
        })
    }
}

impl fmt::Debug for ClientSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSocket")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

fn received(message: Message) -> Received {
    match message {
        Message::Binary(bytes) => Received::Binary(bytes),
        Message::Text(text) => Received::Text(text.into()),
        Message::Close(frame) => {
            let code = frame.as_ref().map_or(NO_CODE, |frame| frame.code.into());
            let reason = frame.map_or_else(String::new, |frame| frame.reason.as_str().to_owned());
            Received::Close { code, reason }
        }
        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Received::Sign,
    }
}

/// A close frame that names no code (RFC 6455, section 7.1.5).
const NO_CODE: u16 = 1005;

fn sort(error: Error, limit: usize) -> SocketError {
    match error {
        Error::Io(error) => SocketError::Transport(error.into()),
        Error::ConnectionClosed | Error::AlreadyClosed => {
            SocketError::Transport(TransportError::closed(WEBSOCKET))
        }
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            SocketError::Transport(TransportError::closed(WEBSOCKET))
        }
        Error::Capacity(_) => SocketError::TooLarge { limit },
        error => SocketError::Protocol(error.into()),
    }
}

const WEBSOCKET: &str = "speaking over a websocket";
