//! Watches over websockets: a message for each event, text for JSON and bytes for protobuf (apiserver pkg/endpoints/handlers/watch.go
//! `HandleWS`).
//!
//! An event is what it is over plain HTTP but for the length before those in protobuf, which a message has anyway. A server that stops,
//! and a watch whose time is over, close the connection as one that ended well.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use futures_util::stream::{self, Stream};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use kubewright_core::Status;
use kubewright_net::websocket::{self, Message};
use kubewright_net::{Body, Upgrade};

use crate::authentication::BEARER_PROTOCOL;
use crate::error::ApiError;
use crate::request::media::Encoding;
use crate::server::Server;

/// How events become messages: an extension of a response whose body is to go over a websocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Framing(Encoding);

/// The answer to a watch that asks for a websocket, with the events as its body until [`hand_over`] takes them. A handshake that is none
/// is refused.
pub(super) fn answer(headers: &HeaderMap, encoding: Encoding, events: Body) -> Response<Body> {
    // The token was for this server, and is nothing that it could speak.
    let offered = websocket::protocols(headers).filter(|protocol| !protocol.starts_with(BEARER_PROTOCOL));
    let mut response = websocket::handshake(headers, &offered.collect::<Vec<_>>());
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        *response.body_mut() = events;
        response.extensions_mut().insert(Framing(encoding));
    }
    response
}

/// Sends the body of an answer by [`answer`] over the connection that its request came on, once the answer is out. Others are given back
/// as they are.
pub(crate) fn hand_over(server: &Arc<Server>, parts: &Parts, mut response: Response<Body>) -> Response<Body> {
    let Some(Framing(encoding)) = response.extensions_mut().remove() else {
        return response;
    };
    let Some(upgrade) = parts.extensions.get::<Upgrade>().cloned() else {
        // The request has the headers, and came over something that cannot change what it speaks.
        return ApiError::from(Status::bad_request("the connection cannot be upgraded")).into_response();
    };
    let events = std::mem::take(response.body_mut());
    let mut stop = server.stop.subscribe();
    tokio::spawn(async move {
        let io = match upgrade.complete().await {
            Ok(io) => io,
            Err(error) => return tracing::debug!(%error, "a websocket was not opened"),
        };
        let stopped = async {
            let _ = stop.wait_for(|stop| *stop).await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        tokio::select! {
            () = websocket::send_all(io, messages(events, encoding)) => {}
            // The events end by themselves then, unless the client does not take what is left.
            () = stopped => {}
        }
    });
    response
}

/// A message for each event of a body.
fn messages(body: Body, encoding: Encoding) -> impl Stream<Item = Message> + Send {
    stream::unfold((body, Bytes::new()), move |(mut body, mut read)| async move {
        loop {
            if let Some(message) = split(&mut read, encoding) {
                return Some((message, (body, read)));
            }
            match body.chunk().await {
                // A piece holds whole events, so that nothing is left of the one before it.
                Ok(Some(piece)) if read.is_empty() => read = piece,
                Ok(Some(piece)) => read = [read, piece].concat().into(),
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a watch over a websocket broke off");
                    return None;
                }
            }
        }
    })
}

/// Takes the first event of what was read, if it is there as a whole.
fn split(read: &mut Bytes, encoding: Encoding) -> Option<Message> {
    if encoding != Encoding::Protobuf {
        let end = read.iter().position(|byte| *byte == b'\n')?;
        return Some(Message::Text(read.split_to(end + 1)));
    }
    let length = u32::from_be_bytes(*read.first_chunk()?);
    let length = usize::try_from(length).ok()?;
    if read.len() - LENGTH_BYTES < length {
        return None;
    }
    read.advance(LENGTH_BYTES);
    Some(Message::Binary(read.split_to(length)))
}

/// The length before each event in protobuf.
const LENGTH_BYTES: usize = 4;
/// How long a client may take for what is left when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn events_become_messages_however_they_are_cut() {
        let text = |text: &'static str| Message::Text(Bytes::from_static(text.as_bytes()));
        let binary = |bytes: &'static [u8]| Message::Binary(Bytes::from_static(bytes));
        let long = [&[0, 0, 1, 0][..], &[7; 256]].concat();
        let protobuf = [b"\0\0\0\x01a\0\0\0\0\0\0\0\x02bc", &long[..]].concat();
        for (encoding, bytes, expect) in [
            (Encoding::Json, b"".to_vec(), vec![]),
            (
                Encoding::Json,
                b"{1}\n{22}\n{333}\n".to_vec(),
                vec![text("{1}\n"), text("{22}\n"), text("{333}\n")],
            ),
            (
                Encoding::Protobuf,
                protobuf,
                vec![
                    binary(b"a"),
                    binary(b""),
                    binary(b"bc"),
                    Message::Binary(Bytes::from(vec![7; 256])),
                ],
            ),
        ] {
            for size in 1..=bytes.len().max(1) {
                let pieces: Vec<_> = bytes
                    .chunks(size)
                    .map(|piece| Ok(Bytes::copy_from_slice(piece)))
                    .collect();
                let body = Body::stream(stream::iter(pieces));
                let found: Vec<Message> = messages(body, encoding).collect().await;
                assert_eq!(found, expect, "{encoding:?} in pieces of {size}");
            }
        }
    }
}
