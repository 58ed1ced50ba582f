//! One write for what many streams of an HTTP/2 connection have to say at a time.
//!
//! The HTTP library flushes after each frame that carries data. When a change concerns ten watches of one connection, that would be
//! ten TLS records in ten system calls, each of which costs more than all the rest of an event. So while streamed answers are open,
//! frames gather in a buffer, and the connection has itself polled again before it flushes, a few times at most while streams of
//! it have been woken and not yet asked for their frame: what they are about to send goes along. Nothing waits for a clock; an answer
//! that comes whole on a connection without streams is written at once.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::body::Body;
use crate::error::TransportError;

/// So many bytes are written whether it is time to flush or not: as many as the TLS library takes at once.
const FULL_BYTES: usize = 64 << 10;

/// So many polls a flush waits at most for streams that are awake. One whose reader takes nothing more is not asked for a frame however
/// often it wakes; the others do not wait for it.
const MOST_ROUNDS: u32 = 4;

/// What the parts of one connection tell each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cork(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Streamed answers that are open.
    streams: AtomicUsize,
    /// Those of them that were woken and not polled since.
    awake: AtomicUsize,
    /// How often the connection was polled, so that a second flush within one poll is known from one in the next.
    polls: AtomicU64,
}

impl Cork {
    /// Polls a connection that writes through a [`Corked`] of this.
    pub(crate) fn drive<C: Future>(&self, connection: Pin<&mut C>) -> impl Future<Output = C::Output> {
        let mut connection = connection;
        std::future::poll_fn(move |cx| {
            self.begin_poll();
            connection.as_mut().poll(cx)
        })
    }

    fn begin_poll(&self) {
        self.0.polls.fetch_add(1, Ordering::Relaxed);
    }

    /// The body of an answer on this connection, which counts while it is open if it comes in pieces.
    pub(crate) fn watch(&self, body: Body) -> Body {
        if body.as_bytes().is_some() {
            return body;
        }
        self.0.streams.fetch_add(1, Ordering::Relaxed);
        let alarm = Arc::new(Alarm {
            cork: self.clone(),
            rang: AtomicBool::new(false),
            sleeper: AtomicWaker::new(),
        });
        Body::new(Counted {
            body,
            waker: Waker::from(alarm.clone()),
            alarm,
        })
    }

    /// Whether a stream is about to be asked for a frame.
    fn awaits(&self) -> bool {
        self.0.awake.load(Ordering::Relaxed) > 0
    }

    fn holds(&self) -> bool {
        self.0.streams.load(Ordering::Relaxed) > 0
    }

    fn poll_number(&self) -> u64 {
        self.0.polls.load(Ordering::Relaxed)
    }
}

/// A streamed body that counts while it is there, and as awake from when it is woken until it is polled.
struct Counted {
    body: Body,
    alarm: Arc<Alarm>,
    /// Rings the alarm.
    waker: Waker,
}

/// What wakes a stream, and tells its connection.
struct Alarm {
    cork: Cork,
    rang: AtomicBool,
    sleeper: AtomicWaker,
}

impl Alarm {
    fn stop(&self) {
        self.set(false);
    }

    /// As if it rang already, so that whoever still has the waker makes no difference.
    fn break_off(&self) {
        self.set(true);
    }

    fn set(&self, rings: bool) {
        if self.rang.swap(rings, Ordering::Relaxed) {
            self.cork.0.awake.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rang.swap(true, Ordering::Relaxed) {
            self.cork.0.awake.fetch_add(1, Ordering::Relaxed);
        }
        self.sleeper.wake();
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let this = self.get_mut();
        this.alarm.stop();
        this.alarm.sleeper.register(cx.waker());
        Pin::new(&mut this.body).poll_frame(&mut Context::from_waker(&this.waker))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alarm.break_off();
        self.alarm.cork.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection whose small writes gather. It is polled by [`Cork::drive`], and flushed in each poll, as the HTTP/2 library does.
pub(crate) struct Corked<S> {
    stream: S,
    cork: Cork,
    buffer: Vec<u8>,
    /// How much of it is written.
    written: usize,
    /// The poll in which the flush of what is in the buffer was put off last, and how often it was.
    put_off: Option<(u64, u32)>,
}

impl<S: AsyncWrite + Unpin> Corked<S> {
    pub(crate) fn new(stream: S, cork: Cork) -> Self {
        Self {
            stream,
            cork,
            buffer: Vec::new(),
            written: 0,
            put_off: None,
        }
    }

    /// Whether what is written now is to gather.
    fn gathers(&self) -> bool {
        !self.buffer.is_empty() || self.cork.holds()
    }

    /// Has the connection polled again behind all that is ready to run by now.
    fn put_off(&mut self, now: u64, rounds: u32, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.put_off = Some((now, rounds));
        cx.waker().wake_by_ref();
        Poll::Ready(Ok(()))
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.buffer.len() {
            let rest = &self.buffer[self.written..];
            let count = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.written = 0;
        self.put_off = None;
        if self.cork.holds() {
            self.buffer.clear();
        } else {
            self.buffer = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Corked<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Corked<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.gathers() {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        }
        if self.buffer.len() >= FULL_BYTES {
            ready!(self.poll_drain(cx))?;
        }
        let mut taken = 0;
        for piece in pieces {
            let room = FULL_BYTES.saturating_sub(self.buffer.len());
            let fits = &piece[..piece.len().min(room)];
            self.buffer.extend_from_slice(fits);
            taken += fits.len();
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.buffer.is_empty() {
            let now = self.cork.poll_number();
            match self.put_off {
                None => return self.put_off(now, 1, cx),
                Some((then, _)) if then == now => return Poll::Ready(Ok(())),
                Some((_, rounds)) if rounds < MOST_ROUNDS && self.cork.awaits() => {
                    return self.put_off(now, rounds + 1, cx);
                }
                Some(_) => ready!(self.poll_drain(cx))?,
            }
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    /// Takes at most so many bytes at a time, and every other time none.
    struct Slow {
        most: usize,
        is_ready: bool,
        writes: Vec<Vec<u8>>,
        flushes: usize,
    }

    impl Slow {
        fn new(most: usize) -> Self {
            Self {
                most,
                is_ready: true,
                writes: Vec::new(),
                flushes: 0,
            }
        }
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            if self.most < usize::MAX {
                self.is_ready = !self.is_ready;
                if self.is_ready {
                    return Poll::Pending;
                }
            }
            let count = bytes.len().min(self.most);
            self.writes.push(bytes[..count].to_vec());
            Poll::Ready(Ok(count))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flushes += 1;
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn open_stream() -> Body {
        Body::stream(stream::pending())
    }

    fn flush(corked: &mut Corked<Slow>) -> Poll<io::Result<()>> {
        Pin::new(corked).poll_flush(&mut Context::from_waker(Waker::noop()))
    }

    fn write(corked: &mut Corked<Slow>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(corked).poll_write(&mut Context::from_waker(Waker::noop()), bytes)
    }

    #[test]
    fn whole_answers_are_written_at_once() {
        let cork = Cork::default();
        let whole = cork.watch(Body::from("whole"));
        let mut corked = Corked::new(Slow::new(usize::MAX), cork.clone());
        cork.begin_poll();
        assert!(matches!(write(&mut corked, b"one"), Poll::Ready(Ok(3))));
        assert!(flush(&mut corked).is_ready());
        assert_eq!(
            (corked.stream.writes.as_slice(), corked.stream.flushes),
            (&[b"one".to_vec()][..], 1)
        );
        drop(whole);
        assert!(!cork.holds());
    }

    #[test]
    fn streams_share_a_write() {
        let cork = Cork::default();
        let streamed = cork.watch(open_stream());
        let mut corked = Corked::new(Slow::new(usize::MAX), cork.clone());
        for poll in 0..2 {
            cork.begin_poll();
            for piece in [b"one", b"two"] {
                // In the second poll this adds to what the first has put off.
                assert!(matches!(write(&mut corked, piece), Poll::Ready(Ok(3))));
                if poll == 0 {
                    assert!(flush(&mut corked).is_ready());
                }
            }
            assert!(corked.stream.writes.is_empty());
        }
        assert!(flush(&mut corked).is_ready());
        assert_eq!(corked.stream.writes, [b"onetwoonetwo".to_vec()]);
        // What is still in the buffer comes before what is no longer gathered.
        assert!(matches!(write(&mut corked, b"three"), Poll::Ready(Ok(5))));
        drop(streamed);
        assert!(matches!(write(&mut corked, b"four"), Poll::Ready(Ok(4))));
        assert!(flush(&mut corked).is_ready());
        cork.begin_poll();
        assert!(flush(&mut corked).is_ready());
        assert!(matches!(write(&mut corked, b"five"), Poll::Ready(Ok(4))));
        assert_eq!(
            corked.stream.writes[1..],
            [b"threefour".to_vec(), b"five".to_vec()]
        );
    }

    #[test]
    fn a_flush_that_was_put_off_asks_for_another_poll() {
        struct Told(AtomicUsize);
        impl std::task::Wake for Told {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let told = Arc::new(Told(AtomicUsize::new(0)));
        let waker = Waker::from(told.clone());
        let cx = &mut Context::from_waker(&waker);
        let cork = Cork::default();
        let _streamed = cork.watch(open_stream());
        let mut corked = Corked::new(Slow::new(usize::MAX), cork.clone());
        cork.begin_poll();
        assert!(write(&mut corked, b"one").is_ready());
        for _ in 0..3 {
            assert!(Pin::new(&mut corked).poll_flush(cx).is_ready());
        }
        assert_eq!(told.0.load(Ordering::Relaxed), 1);
        assert_eq!(corked.stream.flushes, 0);
    }

    /// However often they wake: none is waited for longer than a few polls, nor once it is gone.
    #[test]
    fn a_flush_waits_for_streams_that_are_awake() {
        const ONE_POLL: usize = 2;
        const MOST_POLLS: usize = MOST_ROUNDS as usize + 1;
        let polls_to_write = |cork: &Cork, then: &mut dyn FnMut(usize)| {
            let mut corked = Corked::new(Slow::new(usize::MAX), cork.clone());
            for poll in 1.. {
                cork.begin_poll();
                if poll == 1 {
                    assert!(write(&mut corked, b"one").is_ready());
                }
                assert!(flush(&mut corked).is_ready());
                if !corked.stream.writes.is_empty() {
                    return poll;
                }
                then(poll);
            }
            0
        };
        let cork = Cork::default();
        let (wakers, bodies): (Vec<_>, Vec<_>) = (0..2)
            .map(|_| {
                let waker = Arc::new(std::sync::Mutex::new(None));
                let seen = waker.clone();
                let body = Body::stream(stream::poll_fn(move |cx| {
                    *seen.lock().unwrap() = Some(cx.waker().clone());
                    Poll::<Option<Result<Bytes, TransportError>>>::Pending
                }));
                (waker, cork.watch(body))
            })
            .unzip();
        let mut bodies: Vec<_> = bodies.into_iter().map(Some).collect();
        let poll = |body: &mut Option<Body>| {
            let polled = Pin::new(body.as_mut().unwrap()).poll_frame(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        };
        bodies.iter_mut().for_each(poll);
        let wake = |index: usize| wakers[index].lock().unwrap().as_ref().unwrap().wake_by_ref();
        assert_eq!(polls_to_write(&cork, &mut |_| {}), ONE_POLL);

        (0..2).chain(0..2).for_each(wake);
        assert_eq!(polls_to_write(&cork, &mut |_| {}), MOST_POLLS);

        let polls = polls_to_write(&cork, &mut |round| {
            if round <= 2 {
                poll(&mut bodies[round - 1]);
            }
        });
        assert_eq!(polls, 3);

        (0..2).for_each(wake);
        bodies.iter_mut().for_each(|body| *body = None);
        (0..2).for_each(wake);
        let _other = cork.watch(open_stream());
        assert_eq!(polls_to_write(&cork, &mut |_| {}), ONE_POLL);
    }

    /// The buffer has an end, and a reader that takes little loses nothing.
    #[test]
    fn much_for_a_slow_reader() {
        let cork = Cork::default();
        let _streamed = cork.watch(open_stream());
        let mut corked = Corked::new(Slow::new(10_000), cork.clone());
        let text: Vec<u8> = (0..300_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        let mut left = text.as_slice();
        while !left.is_empty() {
            cork.begin_poll();
            if let Poll::Ready(taken) = write(&mut corked, &left[..left.len().min(20_000)]) {
                left = &left[taken.unwrap()..];
            }
            assert!(corked.buffer.len() <= FULL_BYTES);
        }
        let cx = &mut Context::from_waker(Waker::noop());
        while Pin::new(&mut corked).poll_shutdown(cx).is_pending() {}
        assert_eq!(corked.stream.writes.concat(), text);
    }
}
