//! A kept answer and its form on disk, which is that of Go's `httputil.DumpResponse`.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use kubewright_net::Body;

/// An answer with status 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Where the cache remembers what a request asked for by a header that the answer varies with, as Go's `httpcache` does.
const VARIED: &str = "x-varied-";

/// Headers of one connection, or of nobody else's business.
const NOT_KEPT: [HeaderName; 5] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::CONTENT_LENGTH,
    header::SET_COOKIE,
    header::WARNING,
];

impl Entry {
    pub(super) fn new(mut headers: HeaderMap, asked: &HeaderMap, body: Bytes) -> Self {
        for name in NOT_KEPT {
            headers.remove(name);
        }
        let varied: Vec<_> = varies_with(&headers)
            .filter_map(|name| {
                let value = asked.get(&name)?;
                let name = HeaderName::try_from(format!("{VARIED}{name}")).ok()?;
                Some((name, value.clone()))
            })
            .collect();
        headers.extend(varied);
        Self { headers, body }
    }

    /// Whether it answers a request with these headers, as far as it varies with them.
    pub(super) fn answers(&self, asked: &HeaderMap) -> bool {
        varies_with(&self.headers).all(|name| {
            let before = self.headers.get(format!("{VARIED}{name}"));
            let now = asked.get(&name);
            before.map(HeaderValue::as_bytes).unwrap_or_default()
                == now.map(HeaderValue::as_bytes).unwrap_or_default()
        })
    }

    /// Whether it is of a type that a request with these headers names.
    pub(super) fn is_accepted(&self, asked: &HeaderMap) -> bool {
        let text = |headers: &HeaderMap, name| headers.get(name)?.to_str().ok().map(str::to_owned);
        let (Some(media_type), Some(accepted)) = (
            text(&self.headers, header::CONTENT_TYPE),
            text(asked, header::ACCEPT),
        ) else {
            return false;
        };
        accepted
            .split(',')
            .any(|accepted| accepted.trim() == media_type.trim())
    }

    pub(super) fn to_response(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body.clone()));
        let kept = self.headers.iter();
        let kept = kept.filter(|(name, _)| !name.as_str().starts_with(VARIED));
        *response.headers_mut() = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        response
    }

    /// As on the wire.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", self.body.len()).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Reads what was on the wire; `None` if it is no whole answer with status 200.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let end = memchr::memmem::find(bytes, b"\r\n\r\n")?;
        let (head, body) = (&bytes[..end], &bytes[end + 4..]);
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let status = std::str::from_utf8(lines.next()?).ok()?;
        let mut words = status.split(' ');
        let is_http = words.next()?.starts_with("HTTP/");
        if !is_http || words.next()?.parse() != Ok(StatusCode::OK.as_u16()) {
            return None;
        }
        let mut headers = HeaderMap::new();
        for line in lines {
            let colon = memchr::memchr(b':', line)?;
            let name = HeaderName::from_bytes(&line[..colon]).ok()?;
            let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
            headers.append(name, value);
        }
        let chunked = headers.get(header::TRANSFER_ENCODING).is_some();
        let body = match headers.get(header::CONTENT_LENGTH) {
            _ if chunked => unchunk(body)?,
            Some(length) => {
                let length: usize = length.to_str().ok()?.parse().ok()?;
                if length != body.len() {
                    return None;
                }
                body.to_vec()
            }
            // The sum of the file has told that it is whole.
            None => body.to_vec(),
        };
        for name in NOT_KEPT {
            headers.remove(name);
        }
        Some(Self {
            headers,
            body: body.into(),
        })
    }
}

/// Puts the pieces of a chunked body together (RFC 9112, section 7.1).
fn unchunk(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::with_capacity(bytes.len());
    loop {
        let end = memchr::memmem::find(bytes, b"\r\n")?;
        let size = std::str::from_utf8(&bytes[..end]).ok()?;
        let size = size.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        bytes = &bytes[end + 2..];
        if size == 0 {
            return Some(whole);
        }
        let (piece, rest) = bytes.split_at_checked(size)?;
        whole.extend_from_slice(piece);
        bytes = rest.strip_prefix(b"\r\n")?;
    }
}

/// The headers of a request that an answer varies with.
fn varies_with(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    let lists = headers.get_all(header::VARY).into_iter();
    let names = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    names.filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
}
