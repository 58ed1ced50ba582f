//! gzip for clients that ask for it.
//!
//! A whole answer is compressed above 128 KiB, at the lowest level, which costs least and saves nearly as much (apiserver
//! pkg/endpoints/handlers/responsewriters). A watch is compressed when it begins with the state and marks its end
//! (`WatchListCompression`, on since 1.37): each piece of the body is a gzip member of its own, so that a watch that waits holds no
//! compressor.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue, Response};
use kubewright_net::Body;

/// Whether the client takes gzip. As upstream reads it: a coding with a weight is none.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT_ENCODING).is_some_and(|value| {
        value
            .as_bytes()
            .split(|byte| *byte == b',')
            .any(|coding| coding.trim_ascii() == b"gzip")
    })
}

/// Compresses an answer whose length is known, is large, and that is not compressed already: at once where it is there as a whole,
/// and piece by piece where it is made so.
pub(crate) async fn compress(accepts_gzip: bool, mut response: Response<Body>) -> Response<Body> {
    let is_large = response
        .body()
        .length()
        .is_some_and(|length| length > THRESHOLD_BYTES);
    if !accepts_gzip || !is_large || response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let zipped = match response.body().as_bytes().cloned() {
        None => gzip_stream(std::mem::take(response.body_mut())),
        // It may have many megabytes: that is no work for a thread that answers others.
        Some(body) => match tokio::task::spawn_blocking(move || gzip(&body)).await {
            Ok(zipped) => zipped.into(),
            Err(error) => {
                tracing::error!(%error, "an answer could not be compressed");
                return response;
            }
        },
    };
    *response.body_mut() = zipped;
    mark(response.headers_mut());
    response
}

/// One gzip member of a body that comes in pieces, each of which is compressed when the one before it was taken: a client that reads
/// slowly holds a compressor, and neither the body nor what it becomes.
fn gzip_stream(body: Body) -> Body {
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    Body::stream(stream::unfold(
        (body, Some(encoder)),
        |(mut body, encoder)| async move {
            let mut encoder = encoder?;
            loop {
                let piece = match body.chunk().await {
                    Ok(Some(piece)) => piece,
                    // Writing into memory cannot fail.
                    Ok(None) => return Some((Ok(encoder.finish().unwrap_or_default().into()), (body, None))),
                    Err(error) => return Some((Err(error), (body, None))),
                };
                let _ = encoder.write_all(&piece);
                let zipped = std::mem::take(encoder.get_mut());
                // Others have their turn: a socket that takes everything would not make this one wait.
                tokio::task::yield_now().await;
                if !zipped.is_empty() {
                    return Some((Ok(Bytes::from(zipped)), (body, Some(encoder))));
                }
            }
        },
    ))
}

/// Says that a body is compressed.
pub(crate) fn mark(headers: &mut HeaderMap) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// One gzip member.
pub(crate) fn gzip(text: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8 + 64), Compression::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default().into()
}

/// One gzip member of a stream that may wait after it.
///
/// The text is flushed before the member ends, as upstream does (apiserver pkg/endpoints/handlers/watch.go `perFlushGzipWriter`): Go's
/// reader keeps what came together with the end of a member until the next one begins.
pub(crate) fn gzip_piece(text: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8 + 64), Compression::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(text).and_then(|()| encoder.flush());
    encoder.finish().unwrap_or_default().into()
}

/// Smaller answers are sent as they are (`defaultGzipThresholdBytes`).
const THRESHOLD_BYTES: u64 = 128 << 10;

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::MultiGzDecoder;
    use kubewright_net::TransportError;

    use super::*;

    #[test]
    fn who_takes_gzip() {
        for (header, expect) in [
            ("gzip", true),
            ("deflate, gzip ,br", true),
            ("gzip;q=0", false),
            ("gzip;q=1", false),
            ("GZIP", false),
            ("*", false),
            ("identity", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(header))]);
            assert_eq!(accepts_gzip(&headers), expect, "{header}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    /// All of the text comes before the block that ends the member, and that block holds nothing.
    #[test]
    fn pieces_of_a_stream_are_readable_before_their_end() {
        const HEADER: usize = 10;
        const TRAILER: usize = 8;
        const EMPTY_FINAL_BLOCK: usize = 2;
        let text = b"{\"type\":\"BOOKMARK\"}\n";
        let piece = gzip_piece(text);
        let deflated = &piece[HEADER..piece.len() - TRAILER - EMPTY_FINAL_BLOCK];
        assert!(deflated.ends_with(&[0, 0, 0xff, 0xff]), "{deflated:x?}");
        let mut read = Vec::with_capacity(1024);
        let mut inflate = flate2::Decompress::new(false);
        let status = inflate.decompress_vec(deflated, &mut read, flate2::FlushDecompress::Sync);
        assert_eq!((status.unwrap(), &*read), (flate2::Status::Ok, &text[..]));
        let mut whole = Vec::new();
        MultiGzDecoder::new(&*[&*piece, &*piece].concat())
            .read_to_end(&mut whole)
            .unwrap();
        assert_eq!(whole, text.repeat(2));
    }

    type Form = fn(&str) -> Body;

    #[tokio::test]
    async fn large_answers_are_compressed() {
        let threshold = usize::try_from(THRESHOLD_BYTES).unwrap();
        let text = "0123456789abcdef".repeat(threshold);
        let whole = |text: &str| Body::from(text.to_owned());
        let in_pieces = |text: &str| {
            let pieces: Vec<_> = text
                .as_bytes()
                .chunks(10_000)
                .map(|piece| Ok(Bytes::copy_from_slice(piece)))
                .collect();
            Body::sized_stream(text.len() as u64, stream::iter(pieces))
        };
        let of_unknown_length =
            |text: &str| Body::stream(stream::iter([Ok(Bytes::copy_from_slice(text.as_bytes()))]));
        let forms: [(Form, bool); 3] = [(whole, true), (in_pieces, true), (of_unknown_length, false)];
        for (form, is_sized) in forms {
            for (accepts, length, expect) in [
                (true, threshold, false),
                (false, threshold + 1, false),
                (true, threshold + 1, true),
                (true, text.len(), true),
            ] {
                let expect = expect && is_sized;
                let response = compress(accepts, Response::new(form(&text[..length]))).await;
                assert_eq!(response.headers().contains_key(CONTENT_ENCODING), expect);
                assert_eq!(response.headers().contains_key(VARY), expect);
                let sent = response.into_body().collect_limited(4 << 20).await.unwrap();
                let mut read = Vec::new();
                if expect {
                    assert!(sent.len() < length / 10);
                    MultiGzDecoder::new(&*sent).read_to_end(&mut read).unwrap();
                } else {
                    read.extend_from_slice(&sent);
                }
                assert_eq!(read, &text.as_bytes()[..length]);
            }
        }
        let mut zipped = Response::new(whole(&text));
        mark(zipped.headers_mut());
        let same = compress(true, zipped).await;
        assert_eq!(same.into_body().as_bytes().unwrap().len(), text.len());
    }

    /// What is compressed is sent before the next piece is asked for, and a body that breaks stays broken.
    #[tokio::test]
    async fn a_body_in_pieces_is_compressed_as_it_comes() {
        let mut state = 1_u32;
        // Noise, which no compressor can hold back.
        let mut noise = move || {
            let bytes = std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            });
            bytes.take(64 << 10).collect::<Bytes>()
        };
        let pieces: Vec<Bytes> = (0..20).map(|_| noise()).collect();
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = asked.clone();
        let broken = pieces
            .clone()
            .into_iter()
            .map(Ok)
            .chain([Err(TransportError::other("reading", "broken"))]);
        let stream = stream::iter(broken.inspect(move |_| {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }));
        let response = Response::new(Body::sized_stream(1 << 30, stream));
        let mut body = compress(true, response).await.into_body();
        let mut sent = 0;
        loop {
            match body.chunk().await {
                Ok(Some(piece)) => {
                    sent += piece.len();
                    let read = asked.load(std::sync::atomic::Ordering::Relaxed) * (64 << 10);
                    assert!(
                        read - sent.min(read) <= 128 << 10,
                        "{read} were read and {sent} sent"
                    );
                }
                Ok(None) => panic!("a body that broke has no end"),
                Err(error) => break assert!(error.to_string().contains("reading"), "{error}"),
            }
        }
        assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), pieces.len() + 1);
    }
}
