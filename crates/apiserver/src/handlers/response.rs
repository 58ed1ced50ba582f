//! Objects on their way to the client, in the shape it asked for.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use kubewright_core::json::Sorted;
use kubewright_core::{Status, StatusReason, query};
use kubewright_kinds::protobuf::{self, Versionless};
use kubewright_net::Body;
use serde::Serialize;
use serde_json::{Value, json};

use super::list::SHARD_INFO;
use super::list_body::{self, ItemForm};
use super::metadata::server_error;
use super::{Call, all_from_storage, from_storage};
use crate::builtin::conversion;
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::registry::Resource;
use crate::request::media::{self, Accepted, Encoding, Endpoint, Shape};
use crate::server::Server;
use crate::storage::StoredObject;
use crate::table::{self, IncludeObject, Printer, TableVersion};

/// How this request's answer is to look.
pub(crate) struct Rendering<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) accepted: Accepted,
    pub(crate) include: IncludeObject,
    now: Timestamp,
}

impl<'a> Rendering<'a> {
    /// Reads what the client accepts.
    ///
    /// # Errors
    /// 406 when nothing of it is offered, 400 for an `includeObject` that is none.
    pub(crate) fn new(call: &'a Call<'_>) -> ApiResult<Self> {
        let accepted = media::negotiate(call.headers, call.query, endpoint(call))?;
        Ok(Self::with(&call.resource, accepted, include_object(call.query)?))
    }

    /// The same for a stream of events.
    ///
    /// # Errors
    /// As [`Rendering::new`], and 406 for what cannot be a stream.
    pub(crate) fn for_stream(call: &'a Call<'_>) -> ApiResult<Self> {
        let accepted = media::negotiate_stream(call.headers, call.query, endpoint(call))?;
        Ok(Self::with(&call.resource, accepted, include_object(call.query)?))
    }

    /// The same for a stream, which outlives its request.
    pub(crate) fn with(resource: &'a Resource, accepted: Accepted, include: IncludeObject) -> Self {
        Self {
            resource,
            accepted,
            include,
            now: Timestamp::now(),
        }
    }

    /// Whether stored bytes can be sent as they are.
    pub(crate) fn is_stored_form(&self) -> bool {
        self.accepted
            == Accepted {
                encoding: Encoding::Json,
                shape: Shape::Object,
            }
            && self.resource.is_storage_version()
    }

    /// Whether stored objects can be sent as the protobuf that is kept of them.
    pub(super) fn is_kept_protobuf(&self) -> bool {
        self.accepted
            == Accepted {
                encoding: Encoding::Protobuf,
                shape: Shape::Object,
            }
            && self.resource.is_storage_version()
    }

    /// One stored object.
    ///
    /// # Errors
    /// 500 where it cannot be shown in the served version.
    pub(crate) async fn stored(
        &self,
        server: &Server,
        code: StatusCode,
        object: &StoredObject,
    ) -> ApiResult<Response<Body>> {
        if self.is_stored_form() && self.resource.is_current(object) {
            return Ok(self.respond(code, object.wire()));
        }
        if self.is_kept_protobuf() {
            let (version, kind) = (self.resource.api_version(), &self.resource.kind);
            return Ok(self.answer(
                code,
                protobuf_of(self.resource, object)
                    .map(|item| item.seal(&version, kind, &object.revision().to_string()).into()),
            ));
        }
        let object = from_storage(server, self.resource, object.value()).await?;
        Ok(self.object(code, &object))
    }

    /// One object in the served version.
    pub(crate) fn object(&self, code: StatusCode, object: &Value) -> Response<Body> {
        self.printed(code, object, &self.resource.printer)
    }

    /// The scale of one object, which has columns of its own.
    pub(crate) fn scale(&self, code: StatusCode, scale: &Value) -> Response<Body> {
        let printer = match self.resource.model.custom() {
            Some(_) => Printer::for_custom_scale(),
            None => Printer::for_builtin_scale(),
        };
        self.printed(code, scale, &printer)
    }

    fn printed(&self, code: StatusCode, object: &Value, printer: &Printer) -> Response<Body> {
        let shaped = match self.accepted.shape {
            Shape::Object => return self.answer(code, self.encode(object)),
            Shape::Metadata(version) => partial(object, version),
            Shape::MetadataList(_) => {
                return self.answer(code, Err(self.no_list(object)));
            }
            Shape::Table(version) => {
                let rows = vec![printer.row(object, self.include, version, self.now)];
                table::table(&object["metadata"], rows, Some(&printer.columns()), version)
            }
        };
        self.answer(code, self.encode(&shaped))
    }

    /// An object of a kind of its own, such as a `Status`: it says itself what it is, and takes no other shape.
    pub(crate) fn other(&self, code: StatusCode, object: &impl Serialize) -> Response<Body> {
        match serde_json::to_value(object) {
            Ok(object) => self.answer(code, self.encode(&object)),
            Err(error) => ApiError::from(Status::internal_error(error)).into_response(),
        }
    }

    /// A list. `metadata` is that of the list.
    ///
    /// # Errors
    /// 500 where any of its objects cannot be shown in the served version.
    pub(crate) async fn list(
        &self,
        server: &Server,
        metadata: &Value,
        items: Vec<StoredObject>,
    ) -> ApiResult<Response<Body>> {
        let (form, metadata) = match self.resource.model.custom() {
            None => (ItemForm::Untyped, Cow::Borrowed(metadata)),
            Some(_) => (ItemForm::Typed, self.untyped_list_metadata(metadata)),
        };
        let metadata = &*metadata;
        if self.is_stored_form() && items.iter().all(|item| self.resource.is_current(item)) {
            let kind = &self.resource.list_kind;
            let body = list_body::json(kind, &self.resource.api_version(), metadata, items, form);
            return Ok(self.respond(StatusCode::OK, body));
        }
        if self.is_kept_protobuf() {
            return Ok(self.answer(StatusCode::OK, self.list_protobuf(metadata, &items)));
        }
        let values = items.iter().map(StoredObject::value);
        let objects = all_from_storage(server, self.resource, values).await?.into_iter();
        let shaped = match self.accepted.shape {
            Shape::Object => json!({
                "kind": self.resource.list_kind,
                "apiVersion": self.resource.api_version(),
                "metadata": metadata,
                "items": objects.map(|object| form.shape(object)).collect::<Vec<_>>(),
            }),
            Shape::Metadata(_) => return Err(self.no_object()),
            Shape::MetadataList(version) => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": version.api_version(),
                "metadata": without_shard(metadata),
                "items": objects.map(|object| partial(&object, version)).collect::<Vec<_>>(),
            }),
            Shape::Table(version) => {
                let printer = &self.resource.printer;
                let objects: Vec<Value> = objects.collect();
                let mut shown: Vec<&Value> = objects.iter().collect();
                printer.sort(&mut shown);
                let rows = shown
                    .into_iter()
                    .map(|object| printer.row(object, self.include, version, self.now))
                    .collect();
                table::table(metadata, rows, Some(&printer.columns()), version)
            }
        };
        Ok(self.answer(StatusCode::OK, self.encode(&shaped)))
    }

    /// The metadata of a list that no Go type stands behind: it has a `continue` whether there is more or not (apimachinery
    /// pkg/apis/meta/v1/unstructured `UnstructuredList.SetContinue`).
    fn untyped_list_metadata<'v>(&self, metadata: &'v Value) -> Cow<'v, Value> {
        let is_said = self.accepted.shape != Shape::Object || metadata.get("continue").is_some();
        match metadata {
            Value::Object(members) if !is_said => {
                let mut members = members.clone();
                members.insert("continue".to_owned(), Value::String(String::new()));
                Cow::Owned(Value::Object(members))
            }
            _ => Cow::Borrowed(metadata),
        }
    }

    /// The object of a watch event. `is_first` says whether a Table still has to name its columns.
    pub(crate) fn event_object(&self, object: &Value, is_first: bool) -> Value {
        match self.accepted.shape {
            Shape::Object => object.clone(),
            Shape::Metadata(version) | Shape::MetadataList(version) => partial(object, version),
            Shape::Table(version) => {
                let rows = vec![self.resource.printer.row(object, self.include, version, self.now)];
                let columns = is_first.then(|| self.resource.printer.columns());
                table::table(&object["metadata"], rows, columns.as_deref(), version)
            }
        }
    }

    /// The metadata of one object was asked for, and this is a list (apiserver pkg/endpoints/handlers/response.go
    /// `asPartialObjectMetadata`).
    fn no_object(&self) -> ApiError {
        let found = match self.resource.model.custom() {
            Some(_) => "unstructured.UnstructuredList".to_owned(),
            None => codec::internal(&self.resource.group, &self.resource.list_kind),
        };
        let why =
            format!("you requested PartialObjectMetadata, but the requested object is a list (*{found})");
        Status::failure(StatusReason::NotAcceptable, why).into()
    }

    /// The other way around (`asPartialObjectMetadataList`).
    fn no_list(&self, object: &Value) -> ApiError {
        if self.resource.model.custom().is_some() {
            return server_error("content is not a list".to_owned());
        }
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let found = codec::internal(group, text("kind"));
        let why = format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list (*{found})"
        );
        Status::failure(StatusReason::NotAcceptable, why).into()
    }

    fn list_protobuf(&self, metadata: &Value, items: &[StoredObject]) -> ApiResult<Bytes> {
        let encoded = items
            .iter()
            .map(|item| Ok((protobuf_of(self.resource, item)?, item.revision().to_string())))
            .collect::<ApiResult<Vec<_>>>()?;
        let items = encoded.iter().map(|(item, version)| (&**item, version.as_str()));
        protobuf::seal_list(
            &self.resource.api_version(),
            &self.resource.list_kind,
            metadata,
            items,
        )
        .map(Bytes::from)
        .map_err(|error| Status::internal_error(error).into())
    }

    /// The bytes of an object that says what it is.
    ///
    /// # Errors
    /// 500 for one that protobuf cannot hold, which no object is that came through the checks of its kind.
    pub(crate) fn encode(&self, value: &Value) -> ApiResult<Bytes> {
        encode(self.accepted.encoding, value)
    }

    fn answer(&self, code: StatusCode, body: ApiResult<Bytes>) -> Response<Body> {
        match body {
            Ok(body) => self.respond(code, body),
            Err(error) => error.into_response(),
        }
    }

    fn respond(&self, code: StatusCode, body: impl Into<Body>) -> Response<Body> {
        respond(self.accepted.encoding, code, body)
    }
}

/// What an endpoint for this resource can answer with.
fn endpoint(call: &Call<'_>) -> Endpoint {
    if call.resource.model.custom().is_some() {
        return Endpoint::Custom;
    }
    let has_no_table = match call.resource.subresource(call.info.subresource) {
        Some(part) => part.is_act(),
        None => call.resource.is_review(),
    };
    match has_no_table {
        true => Endpoint::Untabled,
        false => Endpoint::Builtin,
    }
}

fn include_object(query: &str) -> ApiResult<IncludeObject> {
    let mut include = IncludeObject::Metadata;
    for (name, value) in query::parameters(query) {
        if name == "includeObject" {
            include = IncludeObject::from_query(&value).ok_or_else(|| {
                ApiError::from(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {value:?}: must be 'Metadata', \
                     'Object', 'None', or empty"
                )))
            })?;
        }
    }
    Ok(include)
}

/// The protobuf of a stored object of a built-in kind, encoded once for all who ask.
///
/// # Errors
/// 500 for an object that is not of its kind.
pub(super) fn protobuf_of(resource: &Resource, object: &StoredObject) -> ApiResult<Arc<Versionless>> {
    let kind = resource.model.builtin_type();
    let kind = kind.ok_or_else(|| Status::internal_error("a custom resource has no protobuf"))?;
    object
        .protobuf(kind)
        .map_err(|error| Status::internal_error(error).into())
}

/// Writes a failure in the way the client reads, or as JSON where it reads none of ours (apiserver
/// pkg/endpoints/handlers/responsewriters/writers.go `ErrorNegotiated`).
pub(crate) fn failure(error: ApiError, headers: &HeaderMap, query: &str) -> Response<Body> {
    let Ok(accepted) = media::negotiate(headers, query, Endpoint::Status) else {
        return error.into_response();
    };
    if accepted.encoding == Encoding::Json {
        return error.into_response();
    }
    let encoded = serde_json::to_value(error.status()).map(|status| encode(accepted.encoding, &status));
    let mut response = error.into_response();
    if let Ok(Ok(body)) = encoded {
        *response.body_mut() = Body::from(body);
        let media_type = HeaderValue::from_static(accepted.encoding.media_type());
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    }
    response
}

/// The bytes of an object that says what it is.
///
/// # Errors
/// 500 for one that protobuf cannot hold.
pub(crate) fn encode(encoding: Encoding, value: &Value) -> ApiResult<Bytes> {
    let text = |field: &str| value[field].as_str().unwrap_or_default();
    Ok(match encoding {
        Encoding::Json => codec::to_json(value),
        Encoding::PrettyJson => serde_json::to_vec_pretty(&Sorted(value))
            .unwrap_or_default()
            .into(),
        Encoding::Yaml => kubewright_yaml::json_to_string(value).into(),
        Encoding::Protobuf => protobuf::encode(text("apiVersion"), text("kind"), value)
            .map_err(Status::internal_error)?
            .into(),
    })
}

/// An answer with a body that was encoded.
pub(crate) fn respond(encoding: Encoding, code: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    let media_type = HeaderValue::from_static(encoding.media_type());
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

/// The metadata of a list that is shown as one of metadata: upstream copies the members by name and leaves out which shard it is
/// (apiserver pkg/endpoints/handlers/response.go `asPartialObjectMetadataList`), so who asked for one takes it for everything.
fn without_shard(metadata: &Value) -> Value {
    let mut metadata = metadata.clone();
    if let Value::Object(members) = &mut metadata {
        members.remove(SHARD_INFO);
    }
    metadata
}

/// The metadata of an object alone.
fn partial(object: &Value, version: TableVersion) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version.api_version(),
        "metadata": conversion::shown_metadata(object),
    })
}
