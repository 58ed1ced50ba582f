//! Bodies that come compressed, see [`Body::gunzip`].

use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http_body::{Body as HttpBody, Frame};

use crate::body::Body;
use crate::error::TransportError;

/// Bytes that are decompressed at once: 8 KiB, which become at most some 8 MiB. More are not made before these were taken, so that
/// whoever bounds what is read bounds what is held.
const SLICE_BYTES: usize = 8 << 10;

/// Hands out what each piece of the body decompresses to.
pub(crate) struct Gunzip {
    body: Body,
    /// What of the newest piece was not looked at.
    input: Bytes,
    /// `None` at the end.
    decoder: Option<MultiGzDecoder<Vec<u8>>>,
    has_begun: bool,
}

impl Gunzip {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body,
            input: Bytes::new(),
            decoder: Some(MultiGzDecoder::new(Vec::new())),
            has_begun: false,
        }
    }

    /// What the next slice of the input makes; `None` if the body is needed.
    fn decompress(&mut self) -> io::Result<Option<Bytes>> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(None);
        };
        while !self.input.is_empty() {
            let slice = self.input.split_to(self.input.len().min(SLICE_BYTES));
            self.has_begun = true;
            decoder.write_all(&slice)?;
            decoder.flush()?;
            let output = std::mem::take(decoder.get_mut());
            if !output.is_empty() {
                return Ok(Some(output.into()));
            }
        }
        Ok(None)
    }

    /// The body has ended: what is left, or why that is too early.
    fn finish(&mut self) -> io::Result<Bytes> {
        match self.decoder.take() {
            Some(mut decoder) if self.has_begun => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
            // An answer without a body may still say how it would be encoded.
            _ => Ok(Bytes::new()),
        }
    }

    fn fail(&mut self, error: io::Error) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        self.decoder = None;
        let what = "decompressing a body";
        Poll::Ready(Some(Err(match error.kind() {
            io::ErrorKind::UnexpectedEof => TransportError::Closed {
                what: what.into(),
                source: Some(error.into()),
            },
            _ => TransportError::other(what, error),
        })))
    }
}

impl HttpBody for Gunzip {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        loop {
            if self.decoder.is_none() {
                return Poll::Ready(None);
            }
            match self.decompress() {
                Ok(Some(output)) => return Poll::Ready(Some(Ok(Frame::data(output)))),
                Ok(None) => {}
                Err(error) => return self.fail(error),
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => self.input = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    self.decoder = None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    return match self.finish() {
                        Ok(rest) if rest.is_empty() => Poll::Ready(None),
                        Ok(rest) => Poll::Ready(Some(Ok(Frame::data(rest)))),
                        Err(error) => self.fail(error),
                    };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use futures_util::{StreamExt as _, stream};
    use proptest::prelude::*;

    use super::*;
    use crate::body::BodyError;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn pieces(pieces: Vec<Vec<u8>>) -> Body {
        Body::stream(stream::iter(pieces.into_iter().map(|piece| Ok(piece.into()))))
    }

    #[tokio::test]
    async fn an_event_does_not_wait_for_the_next() {
        // Two members, then two halves of one that was flushed between them.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"three").unwrap();
        encoder.flush().unwrap();
        let third = std::mem::take(encoder.get_mut());
        encoder.write_all(b"four").unwrap();
        let rest = encoder.finish().unwrap();
        let open = stream::iter([gzip(b"one"), gzip(b"two"), third]).map(|piece| Ok(Bytes::from(piece)));
        let mut body = Body::stream(open.chain(stream::pending())).gunzip();
        for expect in ["one", "two", "three"] {
            assert_eq!(body.chunk().await.unwrap().unwrap(), expect);
        }
        let mut whole = Body::stream(stream::iter([Ok(Bytes::from(gzip(b"x"))), Ok(rest.into())])).gunzip();
        assert_eq!(whole.chunk().await.unwrap().unwrap(), "x");
        assert!(whole.chunk().await.is_err(), "a half of a member is none");
    }

    #[tokio::test]
    async fn what_is_no_gzip_is_an_error() {
        let whole = gzip(b"some text");
        let cut = whole[..whole.len() - 9].to_vec();
        let mut wrong = whole.clone();
        let sum = wrong.len() - 8;
        wrong[sum] ^= 1;
        let mut followed = whole.clone();
        followed.extend(b"rubbish, and more of it");
        // body, whether it is taken, whether what failed is the connection
        let rows: [(Vec<u8>, bool, bool); 6] = [
            (Vec::new(), true, false),
            (whole, true, false),
            (cut, false, true),
            (wrong, false, false),
            (followed, false, false),
            (b"{\"kind\":\"Status\"}, as plain text".to_vec(), false, false),
        ];
        for (number, (bytes, is_taken, is_closed)) in rows.into_iter().enumerate() {
            match pieces(vec![bytes]).gunzip().collect_limited(99).await {
                Ok(_) => assert!(is_taken, "{number}"),
                Err(BodyError::Transport(error)) => {
                    assert!(!is_taken && error.is_closed() == is_closed, "{number}: {error:?}");
                }
                Err(error) => panic!("{number}: {error:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_bomb_is_stopped_at_the_limit() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let body = Body::from(bomb).gunzip();
        assert!(matches!(
            body.collect_limited(1 << 20).await,
            Err(BodyError::TooLarge { .. })
        ));
    }

    proptest! {
        #[test]
        fn members_and_pieces_may_be_cut_anywhere(texts in prop::collection::vec(".{0,30}", 0..5), size in 1_usize..40) {
            let zipped: Vec<u8> = texts.iter().flat_map(|text| gzip(text.as_bytes())).collect();
            let body = pieces(zipped.chunks(size).map(<[u8]>::to_vec).collect()).gunzip();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let found = runtime.block_on(body.collect_limited(1 << 20)).unwrap();
            prop_assert_eq!(found, texts.concat());
        }
    }
}
