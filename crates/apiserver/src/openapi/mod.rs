//! OpenAPI: of the third version an index and a document for each group-version, of the second one document of all.
//!
//! Upstream: kube-openapi `pkg/handler` and `pkg/handler3`, KEP-2896. A document of the third version has an address with a hash that
//! stands for its content, so clients keep documents for good. The hash is made from what the document would be made from (what is
//! served, and the generation of each definition), so the index costs no document; documents are made when asked for, in the form that
//! is asked for, and kept compressed until what they describe changes.

mod connect;
mod document;
mod gnostic;
mod operation;
mod parameter;
mod roots;
mod v2;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use jiff::{SignedDuration, Timestamp};
use kubewright_core::query;
use kubewright_net::Body;
pub use kubewright_schema::openapi::Descriptions;
use kubewright_schema::openapi::NoDescriptions;
use parking_lot::Mutex;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::codec;
use crate::error::json_response;
use crate::registry::{Registry, Resource, Version};
use crate::request::media::accept_clauses;
use crate::server::Server;

/// Makes and keeps the documents.
pub(crate) struct OpenApi {
    descriptions: Arc<dyn Descriptions>,
    /// Whether there are descriptions: a document without is another one.
    is_described: bool,
    kept: Mutex<Kept>,
    /// Held while the large document of the second version is made, so that it is made once for all that wait for it.
    making: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Kept {
    /// The index, and the registry that it is of.
    index: Option<(Arc<Registry>, Arc<Index>)>,
    /// Compressed documents by their hash and form: at most two for each name in the index, and two of the second version.
    documents: HashMap<(String, Format), Bytes>,
    /// What the documents of the second version say of built-in kinds.
    bases: HashMap<Format, Arc<v2::Base>>,
}

/// Which documents there are.
struct Index {
    body: Bytes,
    etag: String,
    hashes: BTreeMap<String, String>,
    /// The hash of the document of the second version.
    v2: String,
}

/// The form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Format {
    Json,
    Protobuf,
}

impl OpenApi {
    pub(crate) fn new(descriptions: Option<Arc<dyn Descriptions>>) -> Self {
        Self {
            is_described: descriptions.is_some(),
            descriptions: descriptions.unwrap_or_else(|| Arc::new(NoDescriptions)),
            kept: Mutex::default(),
            making: tokio::sync::Mutex::default(),
        }
    }

    /// The answer for an OpenAPI path; `None` for another path.
    pub(crate) async fn respond(
        &self,
        server: &Server,
        path: &str,
        query: &str,
        headers: &HeaderMap,
    ) -> Option<Response<Body>> {
        if path == "/openapi/v2" {
            return Some(self.respond_v2(server, headers).await);
        }
        let rest = path.strip_prefix("/openapi/v3")?;
        let registry = server.registry();
        let index = self.index(&registry);
        if rest.is_empty() {
            // As upstream, whatever the client accepts: the index has one form.
            let content = Content::Plain(index.body.clone());
            return Some(tagged(headers, &index.etag, JSON, content));
        }
        let name = rest.strip_prefix('/').unwrap_or_default();
        let Some(hash) = index.hashes.get(name) else {
            return Some(bare(StatusCode::NOT_FOUND));
        };
        let Some(format) = accepted(headers, &V3_PROTOBUF) else {
            return Some(bare(StatusCode::NOT_ACCEPTABLE));
        };
        let asked = query::first(query, "hash");
        if asked.as_ref().is_some_and(|asked| *asked != *hash) {
            return Some(moved(name, hash));
        }
        let key = (hash.clone(), format);
        let Some(document) = self.document(server, &registry, name, key, &index).await else {
            return Some(bare(StatusCode::NOT_FOUND));
        };
        let content_type = match format {
            Format::Json => JSON,
            Format::Protobuf => V3_PROTOBUF[0],
        };
        let mut response = tagged(headers, hash, content_type, Content::of(document, headers));
        if asked.is_some() {
            add_forever(server.now(), response.headers_mut());
        }
        Some(response)
    }

    async fn respond_v2(&self, server: &Server, headers: &HeaderMap) -> Response<Body> {
        let Some(format) = accepted(headers, &V2_PROTOBUF) else {
            return bare(StatusCode::NOT_ACCEPTABLE);
        };
        let registry = server.registry();
        let index = self.index(&registry);
        let key = (index.v2.clone(), format);
        let document = self.document_v2(server, &registry, key, &index).await;
        let content_type = match format {
            Format::Json => JSON,
            Format::Protobuf => V2_PROTOBUF[0],
        };
        tagged(headers, &index.v2, content_type, Content::of(document, headers))
    }

    fn index(&self, registry: &Arc<Registry>) -> Arc<Index> {
        let mut kept = self.kept.lock();
        if let Some((of, index)) = &kept.index
            && Arc::ptr_eq(of, registry)
        {
            return index.clone();
        }
        let index = Arc::new(self.make_index(registry));
        kept.documents
            .retain(|(hash, _), _| *hash == index.v2 || index.hashes.values().any(|served| served == hash));
        kept.index = Some((registry.clone(), index.clone()));
        index
    }

    fn make_index(&self, registry: &Registry) -> Index {
        let mut hashes = BTreeMap::new();
        for root in roots::all(registry) {
            let hash = self.hash_of(&root.name, &[]);
            hashes.insert(root.name, hash);
        }
        for version in v2::versions(registry) {
            if let Some(resource) = version.resources.first() {
                let name = operation::root(resource).trim_start_matches('/').to_owned();
                let hash = self.hash_of(&name, &version.resources);
                hashes.insert(name, hash);
            }
        }
        let paths = hashes.iter().map(|(name, hash)| {
            (
                name.clone(),
                json!({"serverRelativeURL": format!("/openapi/v3/{name}?hash={hash}")}),
            )
        });
        let body = codec::to_json(&json!({"paths": paths.collect::<serde_json::Map<_, _>>()}));
        let etag = hex(&Sha256::digest(&body));
        // The index names all that the other document is made from, too.
        let v2 = hex(&Sha256::new_with_prefix("v2").chain_update(&body).finalize());
        Index {
            body,
            etag,
            hashes,
            v2,
        }
    }

    /// A hash of all that a document is made from.
    fn hash_of(&self, name: &str, resources: &[Arc<Resource>]) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text);
            hash.update([0]);
        };
        add(env!("CARGO_PKG_VERSION"));
        add(name);
        add(if self.is_described { "described" } else { "" });
        for resource in resources {
            add(&resource.plural);
            add(&resource.kind);
            add(&resource.verbs.join(","));
            for subresource in &resource.subresources {
                add(&subresource.name);
            }
            add(resource.model.custom().map_or("", |model| model.identity()));
        }
        hex(&hash.finalize())
    }

    /// The compressed document with a name of the index; `None` if the registry does not serve it.
    async fn document(
        &self,
        server: &Server,
        registry: &Registry,
        name: &str,
        key: (String, Format),
        index: &Index,
    ) -> Option<Bytes> {
        if let Some(document) = self.kept.lock().documents.get(&key) {
            return Some(document.clone());
        }
        let document = match version_of(registry, name) {
            Some(version) => {
                let schemas = document::custom_schemas(server, version).await;
                document::make(version, &schemas, &*self.descriptions)
            }
            None => roots::all(registry)
                .iter()
                .find(|root| root.name == name)?
                .document(&*self.descriptions),
        };
        let document = match key.1 {
            Format::Json => zip(&codec::to_json(&document)),
            Format::Protobuf => zip(&gnostic::encode(&gnostic::v3::DOCUMENT, &document)),
        };
        self.keep(key, &document, index);
        Some(document)
    }

    /// The compressed document of the second version.
    async fn document_v2(
        &self,
        server: &Server,
        registry: &Arc<Registry>,
        key: (String, Format),
        index: &Index,
    ) -> Bytes {
        let _making = self.making.lock().await;
        if let Some(document) = self.kept.lock().documents.get(&key) {
            return document.clone();
        }
        let mut custom = Vec::new();
        for version in v2::versions(registry) {
            custom.push(document::custom_schemas(server, version).await);
        }
        let format = key.1;
        let base = self.kept.lock().bases.get(&format).cloned();
        let (builtin, registry, descriptions) = (
            server.builtin.clone(),
            registry.clone(),
            self.descriptions.clone(),
        );
        // Tens of milliseconds of work the first time: not on a thread that serves others.
        let made = tokio::task::spawn_blocking(move || {
            let base = base.unwrap_or_else(|| Arc::new(v2::base(&builtin, &*descriptions, format)));
            let document = v2::make(&base, &registry, &custom, &*descriptions, format);
            (base, Bytes::from(document))
        });
        let Ok((base, document)) = made.await else {
            return Bytes::new();
        };
        self.kept.lock().bases.insert(format, base);
        self.keep(key, &document, index);
        document
    }

    /// Keeps a document, unless the registry has moved on meanwhile: what it no longer serves is not kept.
    fn keep(&self, key: (String, Format), document: &Bytes, index: &Index) {
        let mut kept = self.kept.lock();
        if kept
            .index
            .as_ref()
            .is_some_and(|(_, present)| std::ptr::eq(&**present, index))
        {
            kept.documents.insert(key, document.clone());
        }
    }
}

enum Content {
    Plain(Bytes),
    Gzip(Bytes),
}

impl Content {
    /// A compressed document, in the coding that the client takes.
    fn of(document: Bytes, headers: &HeaderMap) -> Self {
        if accepts_gzip(headers) {
            Self::Gzip(document)
        } else {
            Self::Plain(unzip(&document))
        }
    }
}

/// The group-version that a document's name stands for.
fn version_of<'a>(registry: &'a Registry, name: &str) -> Option<&'a Version> {
    match name.split('/').collect::<Vec<_>>()[..] {
        ["api", version] => registry.version("", version),
        ["apis", group, version] => registry.version(group, version),
        _ => None,
    }
}

/// The form that the client names first of those that there are.
fn accepted(headers: &HeaderMap, protobuf: &[&'static str; 2]) -> Option<Format> {
    accept_clauses(headers).find_map(|clause| match clause.essence {
        JSON | "application/*" | "*/*" => Some(Format::Json),
        essence => protobuf.contains(&essence).then_some(Format::Protobuf),
    })
}

/// A refusal without a body (k8s.io/kube-openapi pkg/handler, pkg/handler3).
fn bare(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
}

/// Lets clients keep an answer for good: what has a hash in its address does not change.
///
/// Client-go's cache knows no `immutable`, so upstream gives a year as well.
fn add_forever(now: Timestamp, headers: &mut HeaderMap) {
    let forever = HeaderValue::from_static("public, immutable");
    headers.insert(header::CACHE_CONTROL, forever);
    let expires = now
        .saturating_add(YEAR)
        .map(|at| at.strftime(HTTP_DATE).to_string());
    if let Some(expires) = expires.ok().and_then(|at| HeaderValue::from_str(&at).ok()) {
        headers.insert(header::EXPIRES, expires);
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(parameters.trim(), "q=0" | "q=0.0")
    })
}

/// 301 to the document as it is now.
fn moved(name: &str, hash: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(location) = HeaderValue::from_str(&format!("/openapi/v3/{name}?hash={hash}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// The content, or 304 for a client that has it.
fn tagged(headers: &HeaderMap, hash: &str, content_type: &'static str, content: Content) -> Response<Body> {
    let etag = format!("\"{hash}\"");
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok());
    let mut response = if known.is_some_and(|known| known.split(',').any(|one| one.trim() == etag)) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        match content {
            Content::Plain(body) => json_response(StatusCode::OK, body),
            Content::Gzip(body) => {
                let mut response = json_response(StatusCode::OK, body);
                response
                    .headers_mut()
                    .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                response
            }
        }
    };
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
        .headers_mut()
        .insert(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    response
}

const JSON: &str = "application/json";
/// What upstream calls the protobuf forms, and what older clients ask for: that is no valid media type, so Go could not read it in an
/// answer.
const V2_PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];
const V3_PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
];
const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);
const HTTP_DATE: &str = "%a, %d %b %Y %H:%M:%S GMT";

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn zip(text: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default().into()
}

fn unzip(document: &[u8]) -> Bytes {
    let mut text = Vec::new();
    // It was written by `zip`.
    let _ = MultiGzDecoder::new(document).read_to_end(&mut text);
    text.into()
}

#[cfg(test)]
mod tests;
