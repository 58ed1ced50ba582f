//! A pipe within the process, of which both ends learn how the other ended: [`pipe`].
//!
//! Unlike tokio's pipes it can end with an error, which is what becomes of the output of a process whose connection broke.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A pipe that holds at most `capacity` bytes.
pub(super) fn pipe(capacity: usize) -> (PipeReader, PipeWriter) {
    let shared = Arc::new(Mutex::new(Shared {
        capacity,
        ..Shared::default()
    }));
    (PipeReader(Arc::clone(&shared)), PipeWriter(shared))
}

/// The end that is read. When it is dropped, what is written is refused.
pub(super) struct PipeReader(Arc<Mutex<Shared>>);

/// The end that is written. When it is dropped unfinished, the reader is told that the connection ended.
pub(super) struct PipeWriter(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    capacity: usize,
    buffer: BytesMut,
    end: Option<End>,
    is_refused: bool,
    /// The reader went before it had everything.
    is_lost: bool,
    /// Waits for bytes or the end.
    reader: Option<Waker>,
    /// Waits for room, or for all to be read.
    writer: Option<Waker>,
}

/// How the writing end ended.
#[derive(Clone)]
enum End {
    Finished,
    Failed(io::ErrorKind, Arc<str>),
}

impl Shared {
    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }

    /// Waits for bytes; `Ok(false)` at the end.
    fn poll_filled(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if !self.buffer.is_empty() {
            return Poll::Ready(Ok(true));
        }
        match &self.end {
            Some(End::Finished) => Poll::Ready(Ok(false)),
            Some(End::Failed(kind, why)) => Poll::Ready(Err(io::Error::new(*kind, why.to_string()))),
            None => {
                self.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn refuse(&self) -> io::Result<()> {
        match (&self.end, self.is_refused) {
            (None, false) => Ok(()),
            (None, true) => Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "the connection has ended, or takes no more input",
            )),
            (Some(_), _) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "it was shut down")),
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing in here panics while it is held.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PipeReader {
    /// The next bytes, at most `limit`; `None` at the end.
    pub(super) fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
        limit: usize,
    ) -> Poll<Option<io::Result<Bytes>>> {
        let mut shared = lock(&self.0);
        match shared.poll_filled(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(false)) => Poll::Ready(None),
            Poll::Ready(Err(error)) => Poll::Ready(Some(Err(error))),
            Poll::Ready(Ok(true)) => {
                let length = shared.buffer.len().min(limit);
                let chunk = Bytes::copy_from_slice(&shared.buffer[..length]);
                shared.buffer.advance(length);
                shared.wake_writer();
                Poll::Ready(Some(Ok(chunk)))
            }
        }
    }
}

impl AsyncRead for PipeReader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut shared = lock(&self.0);
        match shared.poll_filled(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(false)) => Poll::Ready(Ok(())),
            Poll::Ready(Ok(true)) => {
                let length = shared.buffer.len().min(buf.remaining());
                buf.put_slice(&shared.buffer[..length]);
                shared.buffer.advance(length);
                shared.wake_writer();
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        let mut shared = lock(&self.0);
        shared.is_refused = true;
        shared.is_lost = !shared.buffer.is_empty();
        shared.buffer = BytesMut::new();
        shared.wake_writer();
    }
}

impl PipeWriter {
    /// Takes what there is room for from the front of `chunk`; ready once nothing is left, or nobody reads.
    pub(super) fn poll_push(&mut self, cx: &mut Context<'_>, chunk: &mut Bytes) -> Poll<()> {
        let mut shared = lock(&self.0);
        if shared.is_refused || shared.end.is_some() {
            chunk.clear();
            return Poll::Ready(());
        }
        let length = chunk
            .len()
            .min(shared.capacity.saturating_sub(shared.buffer.len()));
        if length > 0 {
            shared.buffer.extend_from_slice(&chunk.split_to(length));
            shared.wake_reader();
        }
        if chunk.is_empty() {
            return Poll::Ready(());
        }
        shared.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends it well: the reader gets what is there, and then the end.
    pub(super) fn finish(self) {
        self.end(End::Finished);
    }

    /// Ends it with an error that the reader gets after what is there.
    pub(super) fn fail(self, kind: io::ErrorKind, why: &str) {
        self.end(End::Failed(kind, why.into()));
    }

    fn end(&self, end: End) {
        let mut shared = lock(&self.0);
        shared.end.get_or_insert(end);
        shared.wake_reader();
    }

    /// Waits until everything is read.
    fn poll_drained(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut shared = lock(&self.0);
        if shared.is_lost {
            let why = "the other side went before it had everything";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, why)));
        }
        if shared.buffer.is_empty() {
            return Poll::Ready(Ok(()));
        }
        shared.writer = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for PipeWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut shared = lock(&self.0);
        shared.refuse()?;
        let length = buf.len().min(shared.capacity.saturating_sub(shared.buffer.len()));
        if length == 0 && !buf.is_empty() {
            shared.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        shared.buffer.extend_from_slice(&buf[..length]);
        shared.wake_reader();
        Poll::Ready(Ok(length))
    }

    /// Waits until the connection has taken everything.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drained(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end(End::Finished);
        self.poll_drained(cx)
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.end(End::Failed(
            io::ErrorKind::ConnectionAborted,
            "the connection was given up".into(),
        ));
    }
}

impl fmt::Debug for PipeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PipeReader")
    }
}

impl fmt::Debug for PipeWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PipeWriter")
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn ends_are_told_to_the_other_side() {
        let (mut reader, mut writer) = pipe(8);
        writer.write_all(b"last").await.unwrap();
        writer.finish();
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "last");

        let (mut reader, mut writer) = pipe(8);
        writer.write_all(b"half").await.unwrap();
        writer.fail(io::ErrorKind::ConnectionReset, "it broke");
        let mut bytes = Vec::new();
        let error = reader.read_to_end(&mut bytes).await.unwrap_err();
        assert_eq!(
            (&*bytes, error.to_string()),
            (&b"half"[..], "it broke".to_owned())
        );

        let (mut reader, writer) = pipe(8);
        drop(writer);
        let error = reader.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);

        let (reader, mut writer) = pipe(8);
        writer.write_all(b"half").await.unwrap();
        drop(reader);
        assert_eq!(
            writer.flush().await.unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );

        let (reader, mut writer) = pipe(8);
        drop(reader);
        let error = writer.write_all(b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        // What shut down is not written to.
        let (_reader, mut writer) = pipe(8);
        writer.shutdown().await.unwrap();
        assert!(writer.write_all(b"x").await.is_err());
    }

    #[tokio::test]
    async fn who_waits_for_room_is_woken_by_reads_and_by_the_end_of_the_reader() {
        let (mut reader, mut writer) = pipe(4);
        let writing = tokio::spawn(async move {
            writer.write_all(b"0123456789").await?;
            writer.shutdown().await
        });
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, b"0123456789");
        writing.await.unwrap().unwrap();

        let (reader, mut writer) = pipe(4);
        let writing = tokio::spawn(async move { writer.write_all(b"0123456789").await });
        tokio::task::yield_now().await;
        drop(reader);
        assert!(writing.await.unwrap().is_err());
    }

    proptest! {
        /// Whatever the sizes, what is read is what was written, and the pipe never holds more than it may.
        #[test]
        fn bytes_pass_in_order(
            capacity in 1_usize..20,
            writes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10),
            limit in 1_usize..30,
        ) {
            let (mut reader, mut writer) = pipe(capacity);
            let mut cx = Context::from_waker(Waker::noop());
            let mut read = Vec::new();
            for write in &writes {
                let mut chunk = Bytes::from(write.clone());
                while writer.poll_push(&mut cx, &mut chunk).is_pending() {
                    prop_assert_eq!(lock(&writer.0).buffer.len(), capacity);
                    let Poll::Ready(Some(Ok(part))) = reader.poll_chunk(&mut cx, limit) else {
                        panic!("nothing to read of a full pipe");
                    };
                    prop_assert!(part.len() <= limit);
                    read.extend_from_slice(&part);
                }
            }
            writer.finish();
            while let Poll::Ready(Some(part)) = reader.poll_chunk(&mut cx, limit) {
                read.extend_from_slice(&part.unwrap());
            }
            prop_assert_eq!(read, writes.concat());
        }
    }
}
