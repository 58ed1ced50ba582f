//! Bodies as a [`DebugLayer`](super::DebugLayer) shows them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Uri, header};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kubewright_net::{Body, TransportError};

use super::{DebugLevel, MASK, Write};

/// How many bytes of a body are shown (client-go rest/request.go `truncateBody`).
fn limit(level: DebugLevel) -> Option<usize> {
    match level {
        DebugLevel::V6 | DebugLevel::V7 => None,
        DebugLevel::V8 => Some(1 << 10),
        DebugLevel::V9 => Some(10 << 10),
    }
}

/// The body of a request, where it is not a stream and the level shows bodies.
pub(super) fn of_request(level: DebugLevel, uri: &Uri, headers: &HeaderMap, body: &Body) -> Option<String> {
    let (limit, bytes) = (limit(level)?, body.as_bytes()?);
    if bytes.is_empty() {
        return None;
    }
    let start = &bytes[..bytes.len().min(limit)];
    Some(text("Request", is_secret(uri), headers, start, bytes.len()))
}

/// The body of an answer, which is shown once it has ended or is no longer read.
pub(super) fn of_answer(
    level: DebugLevel,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
    write: &Write,
) -> Body {
    let Some(limit) = limit(level) else { return body };
    Body::new(Watched {
        body,
        limit,
        is_secret: is_secret(uri),
        headers: headers.clone(),
        start: Vec::new(),
        length: 0,
        write: Arc::clone(write),
    })
}

/// Whether what is sent there, or answered from there, are secrets, or may be: what goes to processes and through proxies.
fn is_secret(uri: &Uri) -> bool {
    uri.path().split('/').any(|segment| {
        matches!(
            segment,
            "secrets" | "token" | "tokenreviews" | "exec" | "attach" | "portforward" | "proxy" | "log"
        )
    })
}

fn text(of: &str, is_secret: bool, headers: &HeaderMap, start: &[u8], length: usize) -> String {
    let shown = match str_of(start) {
        _ if is_secret => format!("{MASK} [{length} bytes]"),
        _ if headers.contains_key(header::CONTENT_ENCODING) => format!("<compressed> [{length} bytes]"),
        // As upstream tells what is binary.
        None => format!("<binary> [{length} bytes]"),
        Some(text) => match length - text.len() {
            0 => format!("{text:?}"),
            more => format!("{text:?} [truncated {more} bytes]"),
        },
    };
    format!("{of} Body body={shown}")
}

/// Text, of which the last character may have been cut.
fn str_of(bytes: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    (!text.bytes().any(|byte| byte < b'\t')).then_some(text)
}

struct Watched {
    body: Body,
    limit: usize,
    is_secret: bool,
    headers: HeaderMap,
    /// What has come first, at most `limit` bytes.
    start: Vec<u8>,
    /// How much has come.
    length: usize,
    write: Write,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            let room = self.limit - self.start.len();
            self.start.extend_from_slice(&data[..data.len().min(room)]);
            self.length += data.len();
        }
        Poll::Ready(frame)
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
        let text = text(
            "Response",
            self.is_secret,
            &self.headers,
            &self.start,
            self.length,
        );
        (self.write)(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_bodies() {
        let plain = HeaderMap::new();
        let mut packed = HeaderMap::new();
        packed.insert(header::CONTENT_ENCODING, header::HeaderValue::from_static("gzip"));
        let long = "x".repeat(1500);
        let umlauts = "\u{e4}".repeat(600);
        let odd = format!("x{umlauts}");
        type Row<'r> = (&'r str, &'r HeaderMap, &'r [u8], DebugLevel, Option<String>);
        let rows: [Row<'_>; 9] = [
            ("/api/v1/pods", &plain, b"{\"a\":1}", DebugLevel::V7, None),
            ("/api/v1/pods", &plain, b"", DebugLevel::V8, None),
            (
                "/api/v1/pods",
                &plain,
                b"{\"a\":1}",
                DebugLevel::V8,
                Some(r#""{\"a\":1}""#.to_owned()),
            ),
            (
                "/api/v1/pods",
                &plain,
                long.as_bytes(),
                DebugLevel::V8,
                Some(format!("{:?} [truncated 476 bytes]", &long[..1024])),
            ),
            (
                "/api/v1/pods",
                &plain,
                long.as_bytes(),
                DebugLevel::V9,
                Some(format!("{long:?}")),
            ),
            (
                "/api/v1/pods",
                &plain,
                odd.as_bytes(),
                DebugLevel::V8,
                Some(format!(
                    "{:?} [truncated 178 bytes]",
                    format!("x{}", &umlauts[..1022])
                )),
            ),
            (
                "/api/v1/pods",
                &plain,
                b"k8s\0\x0a",
                DebugLevel::V9,
                Some("<binary> [5 bytes]".to_owned()),
            ),
            (
                "/api/v1/pods",
                &packed,
                b"abc",
                DebugLevel::V9,
                Some("<compressed> [3 bytes]".to_owned()),
            ),
            (
                "/api/v1/namespaces/n/secrets/s",
                &plain,
                b"hush",
                DebugLevel::V9,
                Some("<masked> [4 bytes]".to_owned()),
            ),
        ];
        for (path, headers, bytes, level, expect) in rows {
            let body = Body::from(Bytes::copy_from_slice(bytes));
            let found = of_request(level, &path.parse().unwrap(), headers, &body);
            let expect = expect.map(|expect| format!("Request Body body={expect}"));
            assert_eq!(found, expect, "{path} {level:?}");
        }
    }
}
