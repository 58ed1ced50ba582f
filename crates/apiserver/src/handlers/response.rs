//! Objects on their way to the client, in the shape it asked for.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use kubewright_core::Status;
use kubewright_net::Body;
use serde_json::{Map, Value, json};

use super::list_body::{self, Delivery};
use super::{Call, from_storage};
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::registry::Resource;
use crate::request::media::{self, Accepted, Encoding, Shape};
use crate::storage::StoredObject;
use crate::table::{self, IncludeObject, TableVersion};

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
        let mut pretty = false;
        let mut include = IncludeObject::Metadata;
        for (name, value) in form_urlencoded::parse(call.query.as_bytes()) {
            match &*name {
                "pretty" => pretty = !matches!(&*value, "false" | "0"),
                "includeObject" => {
                    include = IncludeObject::from_query(&value).ok_or_else(|| {
                        ApiError::from(Status::bad_request(format!(
                            "invalid includeObject value: {value:?}: supported values: \"None\", \"Metadata\", \"Object\""
                        )))
                    })?;
                }
                _ => {}
            }
        }
        let accepted = media::negotiate(call.headers, pretty)?;
        Ok(Self::with(&call.resource, accepted, include))
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

    /// One stored object.
    pub(crate) fn stored(&self, code: StatusCode, object: &StoredObject) -> Response<Body> {
        if self.is_stored_form() && self.resource.is_stored_form(object) {
            return self.respond(code, object.wire());
        }
        self.object(code, &from_storage(self.resource, object.value()))
    }

    /// One object in the served version.
    pub(crate) fn object(&self, code: StatusCode, object: &Value) -> Response<Body> {
        let shaped = match self.accepted.shape {
            Shape::Object => return self.respond(code, self.encode(object)),
            Shape::Metadata(version) => partial(object, version),
            Shape::Table(version) => {
                let rows = vec![self.resource.printer.row(object, self.include, version, self.now)];
                table::table(
                    &object["metadata"],
                    rows,
                    Some(&self.resource.printer.columns()),
                    version,
                )
            }
        };
        self.respond(code, self.encode(&shaped))
    }

    /// A list. `metadata` is that of the list.
    pub(crate) fn list(
        &self,
        metadata: &Value,
        items: Vec<StoredObject>,
        delivery: Delivery,
    ) -> Response<Body> {
        if self.is_stored_form() && items.iter().all(|item| self.resource.is_stored_form(item)) {
            let kind = &self.resource.list_kind;
            let body = list_body::json(kind, &self.resource.api_version(), metadata, items, delivery);
            return self.respond(StatusCode::OK, body);
        }
        let objects = items.iter().map(|item| from_storage(self.resource, item.value()));
        let shaped = match self.accepted.shape {
            Shape::Object => json!({
                "kind": self.resource.list_kind,
                "apiVersion": self.resource.api_version(),
                "metadata": metadata,
                "items": objects.collect::<Vec<_>>(),
            }),
            Shape::Metadata(version) => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": version.api_version(),
                "metadata": metadata,
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
        self.respond(StatusCode::OK, self.encode(&shaped))
    }

    /// The object of a watch event. `is_first` says whether a Table still has to name its columns.
    pub(crate) fn event_object(&self, object: &Value, is_first: bool) -> Value {
        match self.accepted.shape {
            Shape::Object => object.clone(),
            Shape::Metadata(version) => partial(object, version),
            Shape::Table(version) => {
                let rows = vec![self.resource.printer.row(object, self.include, version, self.now)];
                let columns = is_first.then(|| self.resource.printer.columns());
                table::table(&object["metadata"], rows, columns.as_deref(), version)
            }
        }
    }

    fn encode(&self, value: &Value) -> Bytes {
        match self.accepted.encoding {
            Encoding::Json => codec::to_json(value),
            Encoding::PrettyJson => serde_json::to_vec_pretty(value).unwrap_or_default().into(),
            Encoding::Yaml => kubewright_yaml::to_string(value).unwrap_or_default().into(),
        }
    }

    fn respond(&self, code: StatusCode, body: impl Into<Body>) -> Response<Body> {
        let mut response = Response::new(body.into());
        *response.status_mut() = code;
        let media_type = match self.accepted.encoding {
            Encoding::Json | Encoding::PrettyJson => "application/json",
            Encoding::Yaml => "application/yaml",
        };
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        response
    }
}

/// The metadata of an object alone.
fn partial(object: &Value, version: TableVersion) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version.api_version(),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| Value::Object(Map::new())),
    })
}
