//! OpenAPI documents.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, Response};
use kubewright_net::Body;

use crate::error::ApiResult;
use crate::server::Server;

/// Descriptions of built-in kinds, from outside: the server itself carries none.
pub trait Descriptions: Send + Sync {
    /// The description of a type such as `io.k8s.api.core.v1.Pod`, or of one of its fields.
    fn describe(&self, type_name: &str, field: Option<&str>) -> Option<Cow<'_, str>>;
}

/// Makes and keeps the documents.
pub(crate) struct OpenApi {
    descriptions: Option<Arc<dyn Descriptions>>,
}

impl OpenApi {
    pub(crate) fn new(descriptions: Option<Arc<dyn Descriptions>>) -> Self {
        Self { descriptions }
    }

    /// The answer for an OpenAPI path; `None` for another path.
    pub(crate) fn respond(
        &self,
        _server: &Server,
        _path: &str,
        _query: &str,
        _headers: &HeaderMap,
    ) -> ApiResult<Option<Response<Body>>> {
        let _ = &self.descriptions;
        Ok(None)
    }
}
