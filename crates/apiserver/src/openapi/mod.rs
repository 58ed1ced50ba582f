//! OpenAPI v3: an index of group-versions and a document for each.
//!
//! Upstream: kube-openapi `pkg/handler3`, KEP-2896. A document's address carries a hash that stands for its content, so clients
//! keep documents for good. The hash is made from what the document would be made from (what is served, and the generation of
//! each definition), so the index costs no document; documents are made when asked for, and kept compressed.
//!
//! OpenAPI v2 describes no kind: see [`v2`].

mod document;
mod operation;
mod v2;

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use kubewright_net::Body;
pub use kubewright_schema::openapi::Descriptions;
use kubewright_schema::openapi::NoDescriptions;
use parking_lot::Mutex;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::codec;
use crate::error::{ApiResult, json_response};
use crate::registry::{Registry, Version};
use crate::request::media::{self, accept_clauses};
use crate::server::Server;

/// Makes and keeps the documents.
pub(crate) struct OpenApi {
    descriptions: Option<Arc<dyn Descriptions>>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The index, and the registry that it is of.
    index: Option<(Arc<Registry>, Arc<Index>)>,
    /// Compressed documents by their hash: at most one for each group-version that is served.
    documents: HashMap<String, Bytes>,
}

/// Which documents there are.
struct Index {
    body: Bytes,
    etag: String,
    hashes: BTreeMap<String, String>,
}

impl OpenApi {
    pub(crate) fn new(descriptions: Option<Arc<dyn Descriptions>>) -> Self {
        Self {
            descriptions,
            kept: Mutex::default(),
        }
    }

    /// The answer for an OpenAPI path; `None` for another path.
    ///
    /// # Errors
    /// 406 for a client that takes no JSON.
    pub(crate) async fn respond(
        &self,
        server: &Server,
        path: &str,
        query: &str,
        headers: &HeaderMap,
    ) -> ApiResult<Option<Response<Body>>> {
        if path == "/openapi/v2" {
            return v2::respond(headers).map(Some);
        }
        let Some(rest) = path.strip_prefix("/openapi/v3") else {
            return Ok(None);
        };
        let registry = server.registry();
        let index = self.index(&registry);
        if rest.is_empty() {
            check_accept(headers)?;
            return Ok(Some(tagged(
                headers,
                &index.etag,
                Content::Plain(index.body.clone()),
            )));
        }
        let Some(name) = rest.strip_prefix('/') else {
            return Ok(None);
        };
        let (Some(hash), Some(version)) = (index.hashes.get(name), version_of(&registry, name)) else {
            return Ok(None);
        };
        check_accept(headers)?;
        let asked = form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == "hash")
            .map(|(_, value)| value);
        if asked.as_ref().is_some_and(|asked| *asked != *hash) {
            return Ok(Some(moved(name, hash)));
        }
        let document = self.document(server, version, hash, &index).await;
        let content = if accepts_gzip(headers) {
            Content::Gzip(document)
        } else {
            Content::Plain(unzip(&document))
        };
        let mut response = tagged(headers, hash, content);
        if asked.is_some() {
            let forever = HeaderValue::from_static("public, immutable");
            response.headers_mut().insert(header::CACHE_CONTROL, forever);
        }
        Ok(Some(response))
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
            .retain(|hash, _| index.hashes.values().any(|served| served == hash));
        kept.index = Some((registry.clone(), index.clone()));
        index
    }

    fn make_index(&self, registry: &Registry) -> Index {
        let mut hashes = BTreeMap::new();
        for group in registry.groups() {
            for version in &group.versions {
                let name = if group.name.is_empty() {
                    format!("api/{}", version.name)
                } else {
                    format!("apis/{}/{}", group.name, version.name)
                };
                let hash = self.hash_of(&name, version);
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
        Index { body, etag, hashes }
    }

    /// A hash of all that a document is made from.
    fn hash_of(&self, name: &str, version: &Version) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text);
            hash.update([0]);
        };
        add(env!("CARGO_PKG_VERSION"));
        add(name);
        add(if self.descriptions.is_some() {
            "described"
        } else {
            ""
        });
        for resource in &version.resources {
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

    async fn document(&self, server: &Server, version: &Version, hash: &str, index: &Index) -> Bytes {
        if let Some(document) = self.kept.lock().documents.get(hash) {
            return document.clone();
        }
        let descriptions: &dyn Descriptions = match &self.descriptions {
            Some(descriptions) => &**descriptions,
            None => &NoDescriptions,
        };
        let schemas = document::custom_schemas(server, version).await;
        let document = zip(&codec::to_json(&document::make(version, &schemas, descriptions)));
        let mut kept = self.kept.lock();
        // The registry may have moved on meanwhile; what it no longer serves is not kept.
        if kept
            .index
            .as_ref()
            .is_some_and(|(_, present)| std::ptr::eq(&**present, index))
        {
            kept.documents.insert(hash.to_owned(), document.clone());
        }
        document
    }
}

enum Content {
    Plain(Bytes),
    Gzip(Bytes),
}

/// The group-version that a document's name stands for.
fn version_of<'a>(registry: &'a Registry, name: &str) -> Option<&'a Version> {
    match name.split('/').collect::<Vec<_>>()[..] {
        ["api", version] => registry.version("", version),
        ["apis", group, version] => registry.version(group, version),
        _ => None,
    }
}

/// Documents are JSON alone; clients that also know the protobuf form take it.
fn check_accept(headers: &HeaderMap) -> ApiResult<()> {
    let is_json = |essence: &str| matches!(essence, "application/json" | "application/*" | "*/*");
    if !headers.contains_key(header::ACCEPT) || accept_clauses(headers).any(|clause| is_json(clause.essence))
    {
        return Ok(());
    }
    Err(media::not_acceptable(&["application/json"]))
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
fn tagged(headers: &HeaderMap, hash: &str, content: Content) -> Response<Body> {
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
        .insert(header::VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
    response
}

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
    let _ = GzDecoder::new(document).read_to_end(&mut text);
    text.into()
}

#[cfg(test)]
mod tests;
