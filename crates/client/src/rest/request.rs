//! One request: what it is for, its query and body, and what becomes of the answer.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, header};
use kubewright_core::{DeleteOptions, ListOptions, WriteOptions, encode_segment};
use kubewright_net::Body;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::Call;
use crate::client::{Client, TimeLimit};
use crate::error::Error;
use crate::raw::RawWatch;

/// A request that is being put together; nothing is sent before one of [`json`](Self::json), [`bytes`](Self::bytes),
/// [`stream`](Self::stream) and [`watch`](Self::watch) is awaited.
///
/// A part that cannot be sent, such as a name with a slash, makes an [`Error::Invalid`] of the request. Each part may be
/// said once more, and the last one counts; parameters add up.
#[derive(Clone)]
#[must_use = "a request is sent by `json`, `bytes`, `stream` or `watch`"]
pub struct RestRequest {
    client: Client,
    method: Method,
    /// What errors call it, where the method does not say it.
    verb: Option<&'static str>,
    root: String,
    namespace: Option<String>,
    resource: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
    query: String,
    headers: http::HeaderMap,
    body: Bytes,
    timeout: Limit,
    /// The first thing that was wrong.
    wrong: Option<String>,
}

/// How long a request may take.
#[derive(Clone, Copy)]
enum Limit {
    /// As long as the client says.
    OfClient,
    Of(Duration),
}

impl Limit {
    fn of(self, client: &Client) -> Option<Duration> {
        match self {
            Self::OfClient => client.options().timeout,
            Self::Of(timeout) => Some(timeout),
        }
    }
}

/// The media type of objects.
pub(crate) const JSON: &str = "application/json";

impl RestRequest {
    pub(super) fn new(client: &Client, method: Method, root: String) -> Self {
        Self {
            client: client.clone(),
            method,
            verb: None,
            root,
            namespace: None,
            resource: None,
            name: None,
            subresource: None,
            query: String::new(),
            headers: http::HeaderMap::new(),
            body: Bytes::new(),
            timeout: Limit::OfClient,
            wrong: None,
        }
    }

    /// What errors call the request, such as `evict`. Default: the verb that the server authorizes, by method and name.
    pub fn verb(mut self, verb: &'static str) -> Self {
        self.verb = Some(verb);
        self
    }

    /// The whole path, in place of group, version and what else makes up a path.
    pub fn path(mut self, path: &str) -> Self {
        self.root = path.to_owned();
        if !path.starts_with('/') {
            self.refuse(format_args!("the path {path:?} does not begin with `/`"));
        }
        self
    }

    /// The namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.segment("namespace", namespace);
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The resource in the plural, such as `deployments`.
    pub fn resource(mut self, resource: &str) -> Self {
        self.segment("resource", resource);
        self.resource = Some(resource.to_owned());
        self
    }

    /// The name of the object.
    pub fn name(mut self, name: &str) -> Self {
        self.segment("object", name);
        self.name = Some(name.to_owned());
        self
    }

    /// What is asked for of the object, such as `status`. Behind a proxy it may be a path.
    pub fn subresource(mut self, subresource: &str) -> Self {
        if subresource.contains(['?', '#']) {
            self.refuse(format_args!("the subresource {subresource:?} holds a query"));
        }
        // Whatever normalises paths on the way would make another request of it.
        let is_dots =
            |segment: &str| matches!(&*segment.to_ascii_lowercase().replace("%2e", "."), "." | "..");
        if subresource.split('/').any(is_dots) {
            self.refuse(format_args!("the subresource {subresource:?} leads elsewhere"));
        }
        self.subresource = Some(subresource.to_owned());
        self
    }

    /// A parameter of the query.
    pub fn param(mut self, name: &str, value: &str) -> Self {
        let mut query = form_urlencoded::Serializer::new(std::mem::take(&mut self.query));
        query.append_pair(name, value);
        self.query = query.finish();
        self
    }

    /// The parameters of a list or watch.
    pub fn list_options(self, options: &ListOptions) -> Self {
        self.query(&options.to_query())
    }

    /// The parameters of a write.
    pub fn write_options(self, options: &WriteOptions) -> Self {
        self.query(&options.to_query())
    }

    /// The options of a deletion, as its body. What stands between client and server sees by the query that nothing is stored in
    /// a dry run; servers read the body alone.
    pub fn delete_options(self, options: &DeleteOptions) -> Self {
        let dry_run = WriteOptions {
            dry_run: options.is_dry_run(),
            ..WriteOptions::default()
        };
        self.write_options(&dry_run).body_json(options)
    }

    /// Parameters as they stand in a URL.
    pub fn query(mut self, query: &str) -> Self {
        if !query.is_empty() {
            if !self.query.is_empty() {
                self.query.push('&');
            }
            self.query.push_str(query);
        }
        self
    }

    /// A header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The media types that the answer may have. Default: `application/json`.
    ///
    /// The [`json`](Self::json) of a request decodes JSON; what else is asked for is read as [`bytes`](Self::bytes).
    pub fn accept(self, media_types: &'static str) -> Self {
        self.header(header::ACCEPT, HeaderValue::from_static(media_types))
    }

    /// A body of JSON.
    pub fn body_json<B: Serialize + ?Sized>(self, body: &B) -> Self {
        self.body_json_as(JSON, body)
    }

    /// A body of JSON that has a media type of its own, as patches do.
    pub fn body_json_as<B: Serialize + ?Sized>(mut self, media_type: &'static str, body: &B) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.body(media_type, bytes),
            Err(error) => {
                self.refuse(format_args!("the body has no JSON form: {error}"));
                self
            }
        }
    }

    /// A body.
    pub fn body(mut self, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header(header::CONTENT_TYPE, HeaderValue::from_static(media_type))
    }

    /// How long it may take, with all of its retries and its answer. Default: what the client says. Streams and watches have no
    /// such limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Limit::Of(timeout);
        self
    }

    /// Makes the request invalid.
    pub(crate) fn refuse(&mut self, why: impl fmt::Display) {
        if self.wrong.is_none() {
            self.wrong = Some(why.to_string());
        }
    }

    /// A part of the path must not be taken for several (apimachinery pkg/api/validation/path `IsValidPathSegmentName`).
    fn segment(&mut self, what: &str, value: &str) {
        match value {
            "" => self.refuse(format_args!("the {what} has no name")),
            "." | ".." => self.refuse(format_args!("the {what} cannot be named {value:?}")),
            _ if value.contains(['/', '%']) => {
                self.refuse(format_args!(
                    "the name of the {what}, {value:?}, holds `/` or `%`"
                ));
            }
            _ => {}
        }
    }

    /// The path with its query.
    fn uri(&self) -> String {
        let mut uri = String::with_capacity(128);
        uri.push_str(&self.root);
        if let Some(namespace) = &self.namespace {
            uri.push_str("/namespaces/");
            uri.extend(encode_segment(namespace));
        }
        for segment in [&self.resource, &self.name].into_iter().flatten() {
            uri.push('/');
            uri.extend(encode_segment(segment));
        }
        if let Some(subresource) = &self.subresource {
            uri.push('/');
            uri.push_str(subresource);
        }
        if !self.query.is_empty() {
            uri.push('?');
            uri.push_str(&self.query);
        }
        uri
    }

    /// What the server authorizes it as, which errors name it by.
    fn authorized_verb(&self) -> &'static str {
        match (self.method.as_str(), &self.name) {
            ("GET", None) if self.resource.is_some() => "list",
            ("GET", _) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", None) if self.resource.is_some() => "deletecollection",
            ("DELETE", _) => "delete",
            ("HEAD", _) => "head",
            _ => "request",
        }
    }

    /// What errors call it.
    pub(crate) fn call(&self) -> Call {
        let uri = self.uri();
        let path = uri.split_once('?').map_or(&*uri, |(path, _)| path);
        let verb = self.verb.unwrap_or_else(|| self.authorized_verb());
        self.client.call_to(verb, path)
    }

    fn build(self) -> Result<(Client, Call, Request<Bytes>, Limit), Error> {
        let call = self.call();
        let uri = self.uri();
        if let Some(why) = self.wrong {
            return Err(call.invalid(why));
        }
        if self.name.is_none() && self.subresource.is_some() {
            return Err(call.invalid("a subresource needs the name of its object"));
        }
        let mut request = Request::new(self.body);
        *request.method_mut() = self.method;
        *request.uri_mut() = uri.parse().map_err(|error| call.invalid(error))?;
        *request.headers_mut() = self.headers;
        let headers = request.headers_mut();
        headers
            .entry(header::ACCEPT)
            .or_insert(HeaderValue::from_static(JSON));
        Ok((self.client, call, request, self.timeout))
    }

    /// The request as it is, for what neither reads nor streams the answer.
    pub(crate) fn prepare(self) -> Result<(Client, Call, Request<Bytes>), Error> {
        let (client, call, request, _) = self.build()?;
        Ok((client, call, request))
    }

    /// Sends it, and decodes the answer.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), and [`Error::Decode`].
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, Error> {
        let (call, bytes) = self.answer().await?;
        serde_json::from_slice(&bytes).map_err(|error| call.decode(error))
    }

    /// Sends it, and reads the whole answer.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it cannot be sent as it is, [`Error::Api`] for a status that is no success, and
    /// [`Error::Transport`], [`Error::Timeout`], [`Error::TooLarge`], [`Error::Credentials`].
    pub async fn bytes(self) -> Result<Bytes, Error> {
        Ok(self.answer().await?.1)
    }

    /// The answer, with what errors about it say of the request.
    pub(crate) async fn answer(self) -> Result<(Call, Bytes), Error> {
        let (client, call, request, limit) = self.build()?;
        let (_, bytes) = client.exchange_within(&call, request, limit.of(&client)).await?;
        Ok((call, bytes))
    }

    /// Sends it; the answer, once it is known to be a success, is left to the caller, who keeps to the time limit.
    pub(crate) async fn begin(self) -> Result<(Call, Body, TimeLimit), Error> {
        let (client, call, request, limit) = self.build()?;
        let limit = TimeLimit::begin(limit.of(&client));
        let response = client.open_within(&call, request, limit).await?;
        Ok((call, response.into_body(), limit))
    }

    /// Sends it; the answer, once it is known to be a success, is a stream.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes), without a time limit.
    pub async fn stream(self) -> Result<Response<Body>, Error> {
        let (client, call, request, _) = self.build()?;
        client.open(&call, request).await
    }

    /// Sends it; the answer is a watch, which the parameters must have asked for.
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream). What happens later is an item of the watch.
    pub async fn watch(self) -> Result<RawWatch, Error> {
        let (client, call, request, _) = self.verb("watch").build()?;
        let response = client.open(&call, request).await?;
        Ok(RawWatch::new(
            response.into_body(),
            client.options().max_event_bytes,
            call,
        ))
    }
}

impl fmt::Debug for RestRequest {
    /// The method and the path: bodies and headers may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestRequest")
            .field("method", &self.method)
            .field("uri", &self.uri())
            .finish_non_exhaustive()
    }
}
