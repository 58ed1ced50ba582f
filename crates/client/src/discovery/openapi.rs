//! The server's OpenAPI documents: [`OpenApiClient`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kubewright_core::GroupVersion;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::DiscoveryClient;
use super::client::JSON;
use crate::client::Client;
use crate::error::Error;

/// Reads the OpenAPI documents of a server. Cloning it shares those it has read.
///
/// In version 3 there is a document for each group version, whose address holds a hash of it: a document is read anew only
/// when its hash changes, and those who want it at the same time wait for one answer. Mirrors client-go `openapi` and
/// `openapi/cached`.
#[derive(Clone)]
pub struct OpenApiClient {
    source: DiscoveryClient,
    documents: Arc<Mutex<BTreeMap<String, Document>>>,
}

struct Document {
    address: String,
    body: Arc<OnceCell<Bytes>>,
}

/// How many documents are remembered: 1,024. Beyond that all are forgotten.
pub const MAX_DOCUMENTS: usize = 1024;

/// Where a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenApiPath {
    /// What it describes, for example `apis/apps/v1`.
    pub name: String,
    /// Its address on the server, with a hash of the document.
    pub address: String,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenApiFormat {
    /// As JSON.
    #[default]
    Json,
    /// As a message of gnostic's protobuf schema.
    Protobuf,
}

impl OpenApiFormat {
    fn media_type(self, version: OpenApiVersion) -> &'static str {
        match (self, version) {
            (Self::Json, OpenApiVersion::V2) => JSON,
            (Self::Json, OpenApiVersion::V3) => "application/json",
            (Self::Protobuf, OpenApiVersion::V2) => {
                "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
            }
            (Self::Protobuf, OpenApiVersion::V3) => {
                "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
            }
        }
    }
}

#[derive(Clone, Copy)]
enum OpenApiVersion {
    V2,
    V3,
}

impl OpenApiClient {
    /// Sends by this client.
    pub fn new(client: &Client) -> Self {
        Self::of(DiscoveryClient::new(client))
    }

    /// Sends as this discovery client does.
    pub fn of(source: DiscoveryClient) -> Self {
        Self {
            source,
            documents: Arc::default(),
        }
    }

    /// What documents of version 3 there are, by what they describe.
    ///
    /// # Errors
    ///
    /// As [`Client::request_json`]; [`Error::is_not_found`] if the server is older than Kubernetes 1.24.
    pub async fn paths(&self) -> Result<BTreeMap<String, OpenApiPath>, Error> {
        #[derive(Deserialize)]
        struct Root {
            paths: BTreeMap<String, Path>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Path {
            #[serde(rename = "serverRelativeURL")]
            server_relative_url: String,
        }
        let call = self.source.client().call_to("get", "/openapi/v3");
        let (_, body) = self.source.send(&call, call.path(), JSON).await?;
        let root: Root = serde_json::from_slice(&body).map_err(|error| call.decode(error))?;
        let paths = root.paths.into_iter().map(|(name, path)| {
            let address = self.below_prefix(&path.server_relative_url);
            (name.clone(), OpenApiPath { name, address })
        });
        Ok(paths.collect())
    }

    /// A document of version 3, as JSON.
    ///
    /// # Errors
    ///
    /// As [`Client::request_bytes`].
    pub async fn document(&self, path: &OpenApiPath) -> Result<Bytes, Error> {
        let cell = self.cell(path);
        let read = || self.read(path, OpenApiFormat::Json);
        cell.get_or_try_init(read).await.cloned()
    }

    /// A document of version 3 in any format. Only JSON is remembered.
    ///
    /// # Errors
    ///
    /// As [`document`](Self::document).
    pub async fn document_as(&self, path: &OpenApiPath, format: OpenApiFormat) -> Result<Bytes, Error> {
        match format {
            OpenApiFormat::Json => self.document(path).await,
            OpenApiFormat::Protobuf => self.read(path, format).await,
        }
    }

    /// The document of a group version, as JSON; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`paths`](Self::paths).
    pub async fn document_of(&self, group_version: &GroupVersion) -> Result<Option<Bytes>, Error> {
        let root = crate::rest::root(group_version);
        match self.paths().await?.get(root.trim_start_matches('/')) {
            Some(path) => self.document(path).await.map(Some),
            None => Ok(None),
        }
    }

    /// The one document of version 2, which is large. It is not remembered.
    ///
    /// # Errors
    ///
    /// As [`Client::request_bytes`].
    pub async fn v2(&self, format: OpenApiFormat) -> Result<Bytes, Error> {
        let call = self.source.client().call_to("get", "/openapi/v2");
        let accept = format.media_type(OpenApiVersion::V2);
        Ok(self.source.send(&call, call.path(), accept).await?.1)
    }

    async fn read(&self, path: &OpenApiPath, format: OpenApiFormat) -> Result<Bytes, Error> {
        let bare = path.address.split('?').next().unwrap_or_default();
        let call = self.source.client().call_to("get", bare);
        let accept = format.media_type(OpenApiVersion::V3);
        Ok(self.source.send(&call, &path.address, accept).await?.1)
    }

    /// Where a document is or will be.
    fn cell(&self, path: &OpenApiPath) -> Arc<OnceCell<Bytes>> {
        let mut documents = self.documents();
        if let Some(known) = documents.get(&path.name)
            && known.address == path.address
        {
            return Arc::clone(&known.body);
        }
        if documents.len() >= MAX_DOCUMENTS {
            documents.clear();
        }
        let body = Arc::default();
        let document = Document {
            address: path.address.clone(),
            body: Arc::clone(&body),
        };
        documents.insert(path.name.clone(), document);
        body
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.documents().len()
    }

    fn documents(&self) -> MutexGuard<'_, BTreeMap<String, Document>> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An address without the path of the server's own address, which the client puts in front: a proxy may have put it
    /// there.
    fn below_prefix(&self, address: &str) -> String {
        let server = self.source.client().server();
        let prefix = server.split_once("://").map_or(server, |(_, rest)| rest);
        let prefix = prefix.find('/').map_or("", |at| &prefix[at..]);
        let below = address.strip_prefix(prefix).filter(|rest| rest.starts_with('/'));
        below.unwrap_or(address).to_owned()
    }
}

impl fmt::Debug for OpenApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApiClient")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
