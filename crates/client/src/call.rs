//! What errors say of the request they come from: [`Call`].

use std::fmt;
use std::sync::Arc;

use http::Request;
use kubewright_core::Status;
use kubewright_net::{BodyError, BoxError, TransportError};

use crate::error::Error;
use crate::layers::error_from_layers;

/// Which request it was: verb, server and path, without the query.
///
/// It is written as `get https://127.0.0.1:6443/api/v1/namespaces/team/configmaps/settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    verb: &'static str,
    server: Arc<str>,
    path: String,
}

impl Call {
    pub(crate) fn new(verb: &'static str, server: impl Into<Arc<str>>, path: impl Into<String>) -> Self {
        Self(Arc::new(Parts {
            verb,
            server: server.into(),
            path: path.into(),
        }))
    }

    /// Of a request that was put together elsewhere.
    pub(crate) fn of<B>(server: &Arc<str>, request: &Request<B>) -> Self {
        let verb = match request.method().as_str() {
            "GET" => "get",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            "HEAD" => "head",
            _ => "request",
        };
        Self::new(verb, Arc::clone(server), request.uri().path())
    }

    /// The verb that the server authorizes, such as `get` or `deletecollection`, or what the method is named after, such as `apply`.
    pub fn verb(&self) -> &'static str {
        self.0.verb
    }

    /// The address of the server; empty for one in this process.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// The path of the request.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    pub(crate) fn api(&self, status: Status) -> Error {
        Error::Api {
            call: self.clone(),
            status: Box::new(status),
        }
    }

    pub(crate) fn invalid(&self, why: impl fmt::Display) -> Error {
        Error::Invalid {
            call: self.clone(),
            why: why.to_string(),
        }
    }

    pub(crate) fn transport(&self, error: TransportError) -> Error {
        error_from_layers(self, error)
    }

    pub(crate) fn decode(&self, source: impl Into<BoxError>) -> Error {
        Error::Decode {
            call: self.clone(),
            source: source.into(),
        }
    }

    pub(crate) fn too_large(&self, limit: usize) -> Error {
        Error::TooLarge {
            call: self.clone(),
            limit,
        }
    }

    /// The answer could not be read.
    pub(crate) fn body(&self, error: BodyError) -> Error {
        match error {
            BodyError::TooLarge { limit } => self.too_large(limit),
            BodyError::Transport(source) => self.transport(source),
            other => self.decode(other),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0.verb, self.0.server, self.0.path)
    }
}
