//! The cache as a layer: [`HttpCacheLayer`].

use bytes::BytesMut;
use http::{Method, Request, Response, StatusCode, header};
use jiff::Timestamp;
use kubewright_net::{Body, HttpService, TransportError};
use tower_layer::Layer;

use super::entry::Entry;
use super::{HttpCache, freshness};
use crate::layers::gzip;

/// Keeps answers to reads that carry an ETag, and asks with `If-None-Match` the next time.
///
/// What the server says may be used for a while, such as documents of OpenAPI whose address holds their hash, is used
/// without asking. Nothing else is: lists, objects and watches of the API have no ETag, and what comes through a proxy or from a log
/// is left alone. Who asks is no part of what is kept, so a cache belongs to one user.
///
/// Answers that come in gzip are decoded before they are kept and handed on, so that one answer does for requests with any
/// `Accept-Encoding`; files of kubectl hold no others.
#[derive(Debug, Clone)]
pub struct HttpCacheLayer {
    cache: HttpCache,
}

/// Bytes of an answer that is kept: 32 MiB. A larger one is handed on as it comes.
pub const MAX_KEPT_BYTES: usize = 32 << 20;

impl HttpCacheLayer {
    /// Keeps answers there.
    pub fn new(cache: HttpCache) -> Self {
        Self { cache }
    }
}

impl Layer<HttpService> for HttpCacheLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let cache = self.cache.clone();
        HttpService::from_fn(move |request| send(cache.clone(), inner.clone(), request))
    }
}

async fn send(
    cache: HttpCache,
    inner: HttpService,
    mut request: Request<Body>,
) -> Result<Response<Body>, TransportError> {
    let by_caller = [header::RANGE, header::IF_NONE_MATCH, header::IF_MATCH];
    // Whatever answers behind a proxy may give its answers ETags, and may give them bit by bit.
    let is_foreign = |segment: &str| matches!(segment, "proxy" | "log");
    if request.uri().path().split('/').any(is_foreign)
        || request.method() != Method::GET
        || by_caller.iter().any(|name| request.headers().contains_key(name))
    {
        return inner.send(request).await;
    }
    let address = request.uri().to_string();
    let mut asked = request.headers().clone();
    asked.remove(header::ACCEPT_ENCODING);
    let kept = cache.get(&address).await;
    if let Some(kept) = &kept {
        let is_answer = kept.answers(&asked);
        if is_answer && freshness::is_fresh(&kept.headers, Timestamp::now()) {
            return Ok(kept.to_response());
        }
        // kubectl asks for the same in other words from version to version. The ETag does not tell forms apart everywhere:
        // a document of OpenAPI has the same in JSON and protobuf.
        if let Some(tag) = kept.headers.get(header::ETAG)
            && (is_answer || kept.is_accepted(&asked))
        {
            request.headers_mut().insert(header::IF_NONE_MATCH, tag.clone());
        }
    }
    let response = gzip::decoded(inner.send(request).await?);
    match kept {
        Some(kept) if response.status() == StatusCode::NOT_MODIFIED => Ok(kept.to_response()),
        _ => keep(cache, address, &asked, response).await,
    }
}

/// Keeps an answer that is worth it, and hands it on.
async fn keep(
    cache: HttpCache,
    address: String,
    asked: &http::HeaderMap,
    response: Response<Body>,
) -> Result<Response<Body>, TransportError> {
    let headers = response.headers();
    let is_plain = headers.get(header::CONTENT_ENCODING).is_none();
    let is_small = response
        .body()
        .length()
        .is_none_or(|length| length <= MAX_KEPT_BYTES as u64);
    let is_kept = response.status() == StatusCode::OK && is_plain && is_small;
    if !is_kept || !freshness::is_worth_keeping(headers) {
        return Ok(response);
    }
    let (parts, mut body) = response.into_parts();
    let mut whole = BytesMut::new();
    while let Some(piece) = body.chunk().await? {
        whole.extend_from_slice(&piece);
        if whole.len() > MAX_KEPT_BYTES {
            let begin = futures_util::stream::once(std::future::ready(Ok(whole.freeze())));
            let rest = futures_util::stream::unfold(body, async |mut body| {
                Some((body.chunk().await.transpose()?, body))
            });
            let body = Body::stream(futures_util::StreamExt::chain(begin, rest));
            return Ok(Response::from_parts(parts, body));
        }
    }
    let entry = Entry::new(parts.headers.clone(), asked, whole.freeze());
    let body = Body::from(entry.body.clone());
    cache.put(address, entry).await;
    Ok(Response::from_parts(parts, body))
}
