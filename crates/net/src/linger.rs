//! Answering a request whose body was not read, so that the client reads the answer.
//!
//! A request that is refused before its body was read leaves bytes on the connection. HTTP/1.1 can only close it then, and closing a
//! socket with unread bytes resets it, by which the client may lose the answer that it was just sent. So the end is told first, and
//! what still comes is read and thrown away for a while (RFC 9112 section 9.6; Go's net/http `closeWriteAndWait`).
//!
//! HTTP/2 would reset the stream (RFC 9113 section 8.1). What the client has sent by then comes to a stream that is no more, which the HTTP library
//! takes for a fault of the client, and after a thousand of those it ends the connection with all its watches. So the body is read
//! here as well, by a task of its own.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;

use crate::body::Body;
use crate::error::TransportError;

/// Whether a request of a connection was answered without its body being read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    /// The body of a request of this connection, which came by this version of HTTP.
    pub(crate) fn watch(&self, body: Body, version: Version) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Watched {
            body,
            has_ended: false,
            unread: (version != Version::HTTP_2).then(|| self.clone()),
        })
    }
}

/// A body that tells when it is dropped before its end, or is read to its end then.
struct Watched {
    body: Body,
    /// A chunked body does not know its end before it has given it.
    has_ended: bool,
    /// Whom to tell; a stream of HTTP/2 is no matter of its connection.
    unread: Option<Unread>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.has_ended |= matches!(frame, Poll::Ready(None));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.has_ended || self.body.is_end_stream() {
            return;
        }
        if let Some(unread) = &self.unread {
            unread.0.store(true, Ordering::Relaxed);
        } else if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(discard(std::mem::take(&mut self.body)));
        }
    }
}

/// Reads what comes for a while, if it is not too much.
async fn discard(mut body: Body) {
    let read = async {
        let mut bytes_left = LINGER_BYTES;
        while let Ok(Some(piece)) = body.chunk().await
            && bytes_left > piece.len()
        {
            bytes_left -= piece.len();
        }
    };
    // Of who takes longer or sends more the stream is reset after the answer.
    let _ = tokio::time::timeout(LINGER, read).await;
}

/// A connection that is closed gently where something was left unread.
pub(crate) struct Lingering<S> {
    stream: S,
    unread: Unread,
    closing: Option<Closing>,
    /// What the connection counts as, until it is closed: also when it was handed over to speak something else.
    _slot: OwnedSemaphorePermit,
}

struct Closing {
    until: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S, unread: Unread, slot: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            unread,
            closing: None,
            _slot: slot,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self {
            stream,
            unread,
            closing,
            ..
        } = &mut *self;
        if closing.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
            if !unread.0.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
        }
        let closing = closing.get_or_insert_with(|| Closing {
            until: Box::pin(tokio::time::sleep(LINGER)),
            bytes_left: LINGER_BYTES,
        });
        if closing.until.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut scratch = [0; 8192];
        while closing.bytes_left > 0 {
            let mut buffer = ReadBuf::new(&mut scratch);
            // The end of what comes, and that nothing can come any more, are both the end.
            let is_over = ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer)).is_err();
            let count = buffer.filled().len();
            if is_over || count == 0 {
                break;
            }
            closing.bytes_left = closing.bytes_left.saturating_sub(count);
        }
        Poll::Ready(Ok(()))
    }
}

/// How long what still comes is read after an answer. Go waits for half a second.
const LINGER: Duration = Duration::from_secs(1);
/// How much of it is read.
const LINGER_BYTES: usize = 16 << 20;
