//! The one body type of requests and responses: [`Body`].

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Sleep;

use crate::error::TransportError;
use crate::gunzip::Gunzip;

/// The bytes of a request or a response: nothing, one piece, or a stream of pieces.
///
/// A body is read once. It is `Send`, `Sync` and `Unpin` whatever it is made from, so that a request can be borrowed
/// across an await. Trailers are dropped: Kubernetes sends none.
pub struct Body(Kind);

enum Kind {
    Full(Bytes),
    // Never locked: the lock makes a stream that is only `Send` shareable, and `get_mut` needs no locking.
    Boxed(Mutex<Pin<Box<dyn HttpBody<Data = Bytes, Error = TransportError> + Send>>>),
}

impl Body {
    /// No bytes at all.
    pub const fn empty() -> Self {
        Self(Kind::Full(Bytes::new()))
    }

    /// A body that sends each piece as it comes. Its length is unknown until it ends; an error aborts the message.
    pub fn stream<S>(stream: S) -> Self
    where
        S: Stream<Item = Result<Bytes, TransportError>> + Send + 'static,
    {
        Self::new(StreamBody { stream })
    }

    /// A body of `length` bytes that sends each piece as it comes: the receiver is told the length before the first. A stream that
    /// gives more or fewer aborts the message.
    pub fn sized_stream<S>(length: u64, stream: S) -> Self
    where
        S: Stream<Item = Result<Bytes, TransportError>> + Send + 'static,
    {
        Self::new(SizedBody { stream, left: length })
    }

    /// Wraps another body, for example one of `hyper`.
    pub fn new<B>(body: B) -> Self
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<TransportError>,
    {
        Self(Kind::Boxed(Mutex::new(Box::pin(IntoTransportError { body }))))
    }

    /// The same body, which fails with [`TransportError::Timeout`] if nothing of it comes for longer than `limit`. The time is
    /// taken only while somebody waits for a piece.
    #[must_use]
    pub fn idle_timeout(self, limit: Duration) -> Self {
        Self::new(Impatient {
            body: self,
            limit,
            sleep: None,
        })
    }

    /// The same body without its gzip encoding (RFC 1952). It may consist of several members, and what of a member has come is
    /// handed on at once, so that an event of a watch does not wait for the next.
    ///
    /// What is no gzip, or ends within a member, ends with an error.
    #[must_use]
    pub fn gunzip(self) -> Self {
        Self::new(Gunzip::new(self))
    }

    /// Reads to the end, at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// [`BodyError::TooLarge`] as soon as more than `limit` bytes are announced or have come; the rest is not read.
    /// [`BodyError::Transport`] if the connection breaks.
    pub async fn collect_limited(self, limit: usize) -> Result<Bytes, BodyError> {
        let mut body = match self.0 {
            Kind::Full(bytes) if bytes.len() > limit => return Err(BodyError::TooLarge { limit }),
            Kind::Full(bytes) => return Ok(bytes),
            Kind::Boxed(body) => body.into_inner().unwrap_or_else(PoisonError::into_inner),
        };
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(BodyError::TooLarge { limit });
        }
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        let mut length = 0_usize;
        while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let Ok(data) = frame?.into_data() else { continue };
            length = length.saturating_add(data.len());
            if length > limit {
                return Err(BodyError::TooLarge { limit });
            }
            // One piece is the common case and is handed on without a copy.
            if first.is_empty() && rest.is_empty() {
                first = data;
                continue;
            }
            if rest.is_empty() {
                rest.reserve(announced.max(length));
                rest.extend_from_slice(&first);
                first = Bytes::new();
            }
            rest.extend_from_slice(&data);
        }
        Ok(if rest.is_empty() { first } else { rest.freeze() })
    }

    /// The whole body if it is in memory already, for a caller that may have to send it again.
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Full(bytes) => Some(bytes),
            Kind::Boxed(_) => None,
        }
    }

    /// How many bytes are left, where that is known.
    pub fn length(&self) -> Option<u64> {
        self.size_hint().exact()
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// What the connection or the stream reported; nothing follows an error.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        loop {
            match std::future::poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await {
                None => return Ok(None),
                Some(Err(error)) => return Err(error),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

/// Why a body could not be read whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The body is longer than the reader allows.
    #[error("body is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The connection or the stream failed.
    #[error("body could not be read")]
    Transport(#[from] TransportError),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        match &mut self.0 {
            Kind::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Boxed(body) => body
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .as_mut()
                .poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Boxed(body) => body
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Boxed(body) => body.lock().unwrap_or_else(PoisonError::into_inner).size_hint(),
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Full(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Kind::Boxed(_) => f.write_str("Body(stream)"),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Kind::Full(bytes))
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Kind::Full(bytes.into()))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self(Kind::Full(text.into()))
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self(Kind::Full(Bytes::from_static(text.as_bytes())))
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Self {
        Self(Kind::Full(Bytes::from_static(bytes)))
    }
}

impl From<hyper::body::Incoming> for Body {
    fn from(body: hyper::body::Incoming) -> Self {
        if body.is_end_stream() {
            Self::empty()
        } else {
            Self::new(Incoming(body))
        }
    }
}

pin_project_lite::pin_project! {
    struct StreamBody<S> { #[pin] stream: S }
}

impl<S: Stream<Item = Result<Bytes, TransportError>>> HttpBody for StreamBody<S> {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        self.project().stream.poll_next(cx).map_ok(Frame::data)
    }
}

pin_project_lite::pin_project! {
    struct SizedBody<S> { #[pin] stream: S, left: u64 }
}

impl<S: Stream<Item = Result<Bytes, TransportError>>> HttpBody for SizedBody<S> {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let this = self.project();
        let piece = ready!(this.stream.poll_next(cx));
        let promised = *this.left;
        let is_kept = match &piece {
            Some(Ok(data)) => {
                let rest = promised.checked_sub(data.len() as u64);
                *this.left = rest.unwrap_or(0);
                rest.is_some()
            }
            Some(Err(_)) => true,
            None => promised == 0,
        };
        Poll::Ready(if is_kept {
            piece.map(|piece| piece.map(Frame::data))
        } else {
            Some(Err(TransportError::other(
                "sending a body",
                "it is not as long as was said",
            )))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// See [`Body::idle_timeout`].
struct Impatient {
    body: Body,
    limit: Duration,
    /// Runs while a piece is waited for.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Impatient {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.sleep = None;
            return Poll::Ready(frame);
        }
        let after = self.limit;
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
        ready!(sleep.as_mut().poll(cx));
        // Whatever is polled after an error ends.
        self.body = Body::empty();
        self.sleep = None;
        Poll::Ready(Some(Err(TransportError::Timeout {
            what: "waiting for more of a body".into(),
            address: String::new(),
            after,
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pin_project_lite::pin_project! {
    struct IntoTransportError<B> { #[pin] body: B }
}

impl<B> HttpBody for IntoTransportError<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<TransportError>,
{
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let mut body = self.project().body;
        loop {
            return Poll::Ready(match ready!(body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) if frame.is_trailers() => continue,
                other => other.map(|frame| frame.map_err(Into::into)),
            });
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body read from a connection; apart from [`IntoTransportError`] because `hyper`'s error needs to be told what was
/// being done.
struct Incoming(hyper::body::Incoming);

impl HttpBody for Incoming {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        Pin::new(&mut self.0)
            .poll_frame(cx)
            .map_err(|error| TransportError::from_hyper("reading a body", error))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    fn pieces(pieces: &[&'static str]) -> Body {
        let pieces: Vec<_> = pieces
            .iter()
            .map(|piece| Ok(Bytes::from_static(piece.as_bytes())))
            .collect();
        Body::stream(stream::iter(pieces))
    }

    fn shareable<T: Send + Sync + Unpin>(_: &T) {}

    #[tokio::test]
    async fn collects_up_to_the_limit() {
        type Row = (fn() -> Body, usize, Option<&'static str>);
        let rows: [Row; 9] = [
            (Body::empty, 0, Some("")),
            (|| Body::from("abc"), 3, Some("abc")),
            (|| Body::from("abc"), 2, None),
            (|| Body::from(vec![b'a']), 1, Some("a")),
            (|| Body::from(String::from("x")), 0, None),
            (|| pieces(&[]), 0, Some("")),
            (|| pieces(&["ab", "", "cd", "e"]), 5, Some("abcde")),
            (|| pieces(&["abcde"]), 5, Some("abcde")),
            (|| pieces(&["ab", "cd", "e"]), 4, None),
        ];
        for (body, limit, expect) in rows {
            let body = body();
            shareable(&body);
            match (body.collect_limited(limit).await, expect) {
                (Ok(bytes), Some(text)) => assert_eq!(bytes, text),
                (Err(BodyError::TooLarge { limit: found }), None) => assert_eq!(found, limit),
                (found, expect) => panic!("limit {limit}: expected {expect:?}, found {found:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_length_that_is_told_is_kept() {
        let sized = |length: u64, pieces: &[&'static str]| {
            let pieces: Vec<_> = pieces
                .iter()
                .map(|piece| Ok(Bytes::from_static(piece.as_bytes())))
                .collect();
            Body::sized_stream(length, stream::iter(pieces))
        };
        for (length, pieces, fits) in [
            (0, &[][..], true),
            (3, &["a", "bc"], true),
            (3, &["a", "", "bc"], true),
            (3, &["a"], false),
            (3, &["abcd"], false),
            (3, &["abc", "d"], false),
        ] {
            let body = sized(length, pieces);
            assert_eq!(body.length(), Some(length));
            let collected = body.collect_limited(10).await;
            assert_eq!(collected.is_ok(), fits, "{length} {pieces:?}");
        }
        // Nobody polls a body that says it is at its end.
        let mut body = sized(1, &["a"]);
        assert!(!body.is_end_stream());
        assert_eq!(body.chunk().await.unwrap().as_deref(), Some(&b"a"[..]));
        assert!(body.is_end_stream());
    }

    #[tokio::test]
    async fn chunks_end_with_the_error() {
        let parts = vec![
            Ok(Bytes::from_static(b"a")),
            Err(TransportError::closed("reading a body")),
        ];
        let mut body = Body::stream(stream::iter(parts));
        assert_eq!(body.chunk().await.unwrap().as_deref(), Some(&b"a"[..]));
        assert!(body.chunk().await.unwrap_err().is_closed());
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_body_that_has_a_limit() {
        let seconds = [1, 2, 4, 1];
        let stream = stream::iter(seconds).then(|wait| async move {
            tokio::time::sleep(Duration::from_secs(wait)).await;
            Ok(Bytes::from_static(b"a"))
        });
        let mut body = Body::stream(stream).idle_timeout(Duration::from_secs(3));
        assert_eq!(body.chunk().await.unwrap().as_deref(), Some(&b"a"[..]));
        // Who does not ask is not kept waiting.
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(body.chunk().await.unwrap().as_deref(), Some(&b"a"[..]));
        assert!(body.chunk().await.unwrap_err().is_timeout());
        assert_eq!(body.chunk().await.unwrap(), None);
    }

    #[test]
    fn size_hint_is_exact_where_the_length_is_known() {
        assert_eq!(Body::from("abc").size_hint().exact(), Some(3));
        assert_eq!(Body::empty().size_hint().exact(), Some(0));
        assert!(Body::empty().is_end_stream());
        assert_eq!(pieces(&["a"]).size_hint().exact(), None);
        assert_eq!(
            Body::new(http_body_util::Full::new(Bytes::from_static(b"ab")))
                .size_hint()
                .exact(),
            Some(2)
        );
    }
}
