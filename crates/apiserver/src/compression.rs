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

/// Compresses an answer that is there as a whole, is large, and is not compressed already.
pub(crate) async fn compress(accepts_gzip: bool, mut response: Response<Body>) -> Response<Body> {
    let large = response
        .body()
        .as_bytes()
        .filter(|body| body.len() > THRESHOLD_BYTES);
    let Some(body) = large.filter(|_| accepts_gzip && !response.headers().contains_key(CONTENT_ENCODING))
    else {
        return response;
    };
    let body = body.clone();
    // A list may have many megabytes: that is no work for a thread that answers others.
    let zipped = match tokio::task::spawn_blocking(move || gzip(&body)).await {
        Ok(zipped) => zipped,
        Err(error) => {
            tracing::error!(%error, "an answer could not be compressed");
            return response;
        }
    };
    *response.body_mut() = Body::from(zipped);
    mark(response.headers_mut());
    response
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
const THRESHOLD_BYTES: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::MultiGzDecoder;

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

    #[tokio::test]
    async fn large_answers_are_compressed() {
        let text = "0123456789abcdef".repeat(THRESHOLD_BYTES / 16);
        for (accepts, length, expect) in [
            (true, THRESHOLD_BYTES, false),
            (false, THRESHOLD_BYTES + 1, false),
            (true, THRESHOLD_BYTES + 1, true),
        ] {
            let body: String = text.chars().chain("x".chars()).take(length).collect();
            let response = compress(accepts, Response::new(Body::from(body.clone()))).await;
            assert_eq!(response.headers().contains_key(CONTENT_ENCODING), expect);
            assert_eq!(response.headers().contains_key(VARY), expect);
            let sent = response.into_body().collect_limited(1 << 20).await.unwrap();
            let mut read = Vec::new();
            if expect {
                assert!(sent.len() < length / 10);
                MultiGzDecoder::new(&*sent).read_to_end(&mut read).unwrap();
            } else {
                read.extend_from_slice(&sent);
            }
            assert_eq!(read, body.as_bytes());
        }
        let mut zipped = Response::new(Body::from(text.repeat(2)));
        mark(zipped.headers_mut());
        let same = compress(true, zipped).await;
        assert_eq!(same.into_body().as_bytes().unwrap().len(), text.len() * 2);
    }
}
