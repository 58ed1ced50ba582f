//! Media types: what a body is written in, and what a client will read.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use kubewright_core::{Status, StatusReason};

use crate::error::ApiResult;
use crate::table::TableVersion;

/// How a request's body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFormat {
    Json,
    Yaml,
    Protobuf,
}

/// In which shape a client wants objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As they are.
    Object,
    /// As `PartialObjectMetadata` of this version of `meta.k8s.io`.
    Metadata(TableVersion),
    /// As a `Table` of this version of `meta.k8s.io`.
    Table(TableVersion),
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    /// JSON with indentation, which upstream sends to browsers and on `?pretty`.
    PrettyJson,
    Yaml,
}

/// What a client is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) encoding: Encoding,
    pub(crate) shape: Shape,
}

/// One clause of an `Accept` header, or a `Content-Type`.
pub(crate) struct MediaType<'a> {
    pub(crate) essence: &'a str,
    parameters: &'a str,
}

impl<'a> MediaType<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
        Self {
            essence: essence.trim(),
            parameters,
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.split(';').find_map(|parameter| {
            let (key, value) = parameter.split_once('=')?;
            (key.trim() == name).then(|| value.trim().trim_matches('"'))
        })
    }
}

/// The clauses of a request's `Accept` headers in the client's order; a client that sends none takes anything.
///
/// Weights (`;q=`) are not honoured, as upstream's are only in so far as its clients order by them.
pub(crate) fn accept_clauses(headers: &HeaderMap) -> impl Iterator<Item = MediaType<'_>> {
    let none = headers.get(ACCEPT).is_none().then_some("*/*");
    let given = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|v| v.split(','));
    given.chain(none).map(MediaType::parse)
}

/// Chooses how to answer with objects.
///
/// # Errors
/// 406 when nothing that the client accepts is offered.
pub(crate) fn negotiate(headers: &HeaderMap, pretty: bool) -> ApiResult<Accepted> {
    for clause in accept_clauses(headers) {
        let Some(encoding) = (match clause.essence {
            "application/json" | "*/*" | "application/*" => Some(Encoding::Json),
            "application/yaml" => Some(Encoding::Yaml),
            _ => None,
        }) else {
            continue;
        };
        let Some(shape) = shape(&clause) else { continue };
        let encoding = if pretty && encoding == Encoding::Json {
            Encoding::PrettyJson
        } else {
            encoding
        };
        return Ok(Accepted { encoding, shape });
    }
    Err(not_acceptable(&["application/json", "application/yaml"]))
}

fn shape(clause: &MediaType<'_>) -> Option<Shape> {
    let Some(kind) = clause.parameter("as") else {
        return Some(Shape::Object);
    };
    if clause.parameter("g").is_some_and(|group| group != "meta.k8s.io") {
        return None;
    }
    let version = TableVersion::from_name(clause.parameter("v").unwrap_or("v1"))?;
    match kind {
        "Table" => Some(Shape::Table(version)),
        "PartialObjectMetadata" | "PartialObjectMetadataList" => Some(Shape::Metadata(version)),
        _ => None,
    }
}

/// The format of a request's body. A body without a type is JSON, as upstream takes it.
///
/// # Errors
/// 415 for anything else.
pub(crate) fn body_format(headers: &HeaderMap) -> ApiResult<BodyFormat> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Ok(BodyFormat::Json);
    };
    let text = value.to_str().unwrap_or_default();
    match MediaType::parse(text).essence {
        "" | "application/json" => Ok(BodyFormat::Json),
        "application/yaml" => Ok(BodyFormat::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(BodyFormat::Protobuf),
        other => Err(unsupported_media_type(
            other,
            &[
                "application/json",
                "application/yaml",
                "application/vnd.kubernetes.protobuf",
            ],
        )),
    }
}

pub(crate) fn not_acceptable(offered: &[&str]) -> crate::error::ApiError {
    let message = format!(
        "only the following media types are accepted: {}",
        offered.join(", ")
    );
    Status::failure(StatusReason::NotAcceptable, message).into()
}

pub(crate) fn unsupported_media_type(found: &str, offered: &[&str]) -> crate::error::ApiError {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {} (found {found:?})",
        offered.join(", ")
    );
    Status::failure(StatusReason::UnsupportedMediaType, message).into()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accepted(accept: &[&'static str]) -> Option<Accepted> {
        let mut headers = HeaderMap::new();
        for one in accept {
            headers.append(ACCEPT, HeaderValue::from_static(one));
        }
        negotiate(&headers, false).ok()
    }

    #[test]
    fn negotiation() {
        let as_table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        let json = |shape| {
            Some(Accepted {
                encoding: Encoding::Json,
                shape,
            })
        };
        for (accept, expect) in [
            (&[][..], json(Shape::Object)),
            (&["application/json"], json(Shape::Object)),
            (
                &["application/vnd.kubernetes.protobuf,application/json"],
                json(Shape::Object),
            ),
            (
                &["application/vnd.kubernetes.protobuf", "*/*"],
                json(Shape::Object),
            ),
            (&[as_table], json(Shape::Table(TableVersion::V1))),
            (
                &["application/json; g=meta.k8s.io; as=PartialObjectMetadata; v=v1"],
                json(Shape::Metadata(TableVersion::V1)),
            ),
            (
                &["application/json;as=Strange;g=meta.k8s.io;v=v1, application/json"],
                json(Shape::Object),
            ),
            (
                &["application/yaml"],
                Some(Accepted {
                    encoding: Encoding::Yaml,
                    shape: Shape::Object,
                }),
            ),
            (&["text/html"], None),
            (&["application/vnd.kubernetes.protobuf"], None),
        ] {
            assert_eq!(accepted(accept), expect, "{accept:?}");
        }
    }
}
