//! Media types: what a body is written in, and what a client will read.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use kubewright_core::{Status, StatusReason, query};

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
    /// As a `PartialObjectMetadataList` of this version of `meta.k8s.io`.
    MetadataList(TableVersion),
    /// As a `Table` of this version of `meta.k8s.io`.
    Table(TableVersion),
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    /// JSON with indentation, which upstream sends to people and on `?pretty`.
    PrettyJson,
    Yaml,
    Protobuf,
}

impl Encoding {
    /// The `Content-Type` of a whole answer.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json | Self::PrettyJson => JSON,
            Self::Yaml => YAML,
            Self::Protobuf => PROTOBUF,
        }
    }
}

/// What a client is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) encoding: Encoding,
    pub(crate) shape: Shape,
}

/// What an endpoint answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Objects of a built-in kind.
    Builtin,
    /// Objects of a built-in kind that has no table.
    Untabled,
    /// Objects of a custom kind, of which only the metadata has a form in protobuf.
    Custom,
    /// A `Status`, which is not turned into anything else.
    Status,
}

/// One clause of an `Accept` header, or a `Content-Type`.
#[derive(Clone, Copy, Debug)]
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
        // Most have none, and are asked for several.
        if self.parameters.is_empty() {
            return None;
        }
        self.parameters.split(';').find_map(|parameter| {
            let (key, value) = parameter.split_once('=')?;
            (key.trim() == name).then(|| value.trim().trim_matches('"'))
        })
    }

    /// The weight; what is no number weighs nothing.
    fn weight(&self) -> f32 {
        self.parameter("q")
            .map_or(1.0, |text| text.parse().unwrap_or_default())
    }

    fn is_any_type(&self) -> bool {
        self.essence.starts_with('*')
    }

    fn is_any_subtype(&self) -> bool {
        self.essence.ends_with('*')
    }

    /// Whether it goes before another one. This is no order: with weights and wildcards both may be before the other.
    fn goes_before(&self, other: &Self) -> bool {
        self.weight() > other.weight()
            || !self.is_any_type() && other.is_any_type()
            || !self.is_any_subtype() && other.is_any_subtype()
    }
}

/// The clauses of a request's `Accept` header, those that are preferred first; a client that sends none takes anything.
///
/// As upstream's negotiation does it (github.com/munnerz/goautoneg): only the first header counts, a larger `q` goes first, and what
/// names a type before what does not. Its comparison is no order, so that the way of sorting shows; up to a dozen clauses that is an
/// insertion sort there.
pub(crate) fn accept_clauses(headers: &HeaderMap) -> impl Iterator<Item = MediaType<'_>> {
    let given = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let given = given.filter(|text| !text.is_empty()).unwrap_or("*/*");
    let mut clauses: Vec<MediaType<'_>> = Vec::new();
    for clause in given.split(',').take(MAX_ACCEPT_CLAUSES).map(MediaType::parse) {
        let is_one = clause.essence == "*" || clause.essence.matches('/').count() == 1;
        if !is_one {
            continue;
        }
        let mut at = clauses.len();
        while at > 0 && clause.goes_before(&clauses[at - 1]) {
            at -= 1;
        }
        clauses.insert(at, clause);
    }
    clauses.into_iter()
}

/// How many clauses of an `Accept` header are looked at; clients send three or four.
const MAX_ACCEPT_CLAUSES: usize = 64;

/// Chooses how to answer with objects.
///
/// # Errors
/// 406 when nothing that the client accepts is offered.
pub(crate) fn negotiate(headers: &HeaderMap, query: &str, endpoint: Endpoint) -> ApiResult<Accepted> {
    for clause in accept_clauses(headers) {
        for encoding in OFFERED {
            if !matches(clause.essence, encoding.media_type()) || !streams_as_it_may(&clause, encoding) {
                continue;
            }
            let Some(shape) = shape(&clause, encoding, endpoint) else {
                continue;
            };
            let is_pretty = clause.parameter("pretty") == Some("1") || wants_pretty(headers, query);
            let encoding = match encoding {
                Encoding::Json if is_pretty => Encoding::PrettyJson,
                other => other,
            };
            return Ok(Accepted { encoding, shape });
        }
    }
    Err(not_acceptable(&[JSON, YAML, PROTOBUF]))
}

/// The first encoding that a clause allows, whatever its parameters are.
pub(crate) fn encoding_of(clause: &MediaType<'_>) -> Option<Encoding> {
    OFFERED
        .into_iter()
        .find(|encoding| matches(clause.essence, encoding.media_type()))
}

/// The same for a stream of events, which YAML has no form for.
///
/// # Errors
/// 406 when nothing that the client accepts is offered, or the first of it cannot be a stream.
pub(crate) fn negotiate_stream(headers: &HeaderMap, query: &str, endpoint: Endpoint) -> ApiResult<Accepted> {
    let accepted = negotiate(headers, query, endpoint)?;
    match accepted.encoding {
        Encoding::Yaml => Err(not_acceptable(&[JSON_STREAM, PROTOBUF_STREAM])),
        Encoding::PrettyJson => Ok(Accepted {
            encoding: Encoding::Json,
            ..accepted
        }),
        _ => Ok(accepted),
    }
}

/// In the order of preference that a client has which does not care (apimachinery pkg/runtime/serializer/codec_factory.go).
const OFFERED: [Encoding; 3] = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf];

pub(crate) const JSON: &str = "application/json";
pub(crate) const YAML: &str = "application/yaml";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const JSON_STREAM: &str = "application/json;stream=watch";
/// The `Content-Type` of a watch in protobuf.
pub(crate) const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";

fn matches(essence: &str, offered: &str) -> bool {
    matches!(essence, "*" | "*/*" | "application/*") || essence == offered
}

/// Whether the parameters `stream` and `sv`, where they are given, are such as there are.
fn streams_as_it_may(clause: &MediaType<'_>, encoding: Encoding) -> bool {
    let stream = match clause.parameter("stream") {
        None | Some("") => true,
        Some("watch") => encoding != Encoding::Yaml,
        Some(_) => false,
    };
    stream && matches!(clause.parameter("sv"), None | Some("" | "v1"))
}

/// The shape that a clause asks for, where the endpoint has it in this encoding (apiserver pkg/endpoints/handlers/rest.go
/// `AllowsMediaTypeTransform`).
fn shape(clause: &MediaType<'_>, encoding: Encoding, endpoint: Endpoint) -> Option<Shape> {
    let [kind, group, version] = ["as", "g", "v"].map(|name| clause.parameter(name));
    if kind.is_none() && group.is_none() && version.is_none() {
        let is_offered = endpoint != Endpoint::Custom || encoding != Encoding::Protobuf;
        return is_offered.then_some(Shape::Object);
    }
    if endpoint == Endpoint::Status || group != Some("meta.k8s.io") {
        return None;
    }
    let version = TableVersion::from_name(version?)?;
    match kind? {
        "Table" if encoding != Encoding::Protobuf && endpoint != Endpoint::Untabled => {
            Some(Shape::Table(version))
        }
        "PartialObjectMetadata" => Some(Shape::Metadata(version)),
        "PartialObjectMetadataList" => Some(Shape::MetadataList(version)),
        _ => None,
    }
}

/// Whether JSON is to be indented: `?pretty` says so, or else a client that people sit before.
fn wants_pretty(headers: &HeaderMap, query: &str) -> bool {
    if let Some(value) = query::first(query, "pretty").filter(|value| !value.is_empty()) {
        return matches!(&*value, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = headers.get(USER_AGENT).map_or(&b""[..], |agent| agent.as_bytes());
    [&b"curl"[..], b"Wget", b"Mozilla/5.0"]
        .iter()
        .any(|name| agent.starts_with(name))
}

/// The format of a request's body. A body without a type is JSON, as upstream takes it.
///
/// # Errors
/// 415 for anything else.
pub(crate) fn body_format(headers: &HeaderMap) -> ApiResult<BodyFormat> {
    let unknown = || unsupported_media_type(&[JSON, YAML, PROTOBUF]);
    let Some(value) = headers.get(CONTENT_TYPE).filter(|value| !value.is_empty()) else {
        return Ok(BodyFormat::Json);
    };
    let text = value.to_str().map_err(|_| unknown())?;
    let media_type = MediaType::parse(text);
    if !is_well_formed(media_type.parameters) {
        return Err(unknown());
    }
    match media_type.essence.to_ascii_lowercase().as_str() {
        JSON => Ok(BodyFormat::Json),
        YAML => Ok(BodyFormat::Yaml),
        PROTOBUF => Ok(BodyFormat::Protobuf),
        _ => Err(unknown()),
    }
}

/// Whether Go's `mime.ParseMediaType` takes the parameters: each a name and a value, none twice.
fn is_well_formed(parameters: &str) -> bool {
    let mut names: Vec<String> = Vec::new();
    let parameters: Vec<&str> = parameters.split(';').map(str::trim).collect();
    parameters.iter().enumerate().all(|(at, parameter)| {
        if parameter.is_empty() {
            // One semicolon too many is let through at the end.
            return at + 1 == parameters.len();
        }
        let Some((name, value)) = parameter.split_once('=') else {
            return false;
        };
        let name = name.to_ascii_lowercase();
        let is_new = !names.contains(&name) && names.len() < MAX_PARAMETERS;
        names.push(name);
        is_new && !value.is_empty()
    })
}

/// How many parameters a `Content-Type` may have.
const MAX_PARAMETERS: usize = 16;

pub(crate) fn not_acceptable(offered: &[&str]) -> crate::error::ApiError {
    let message = format!(
        "only the following media types are accepted: {}",
        offered.join(", ")
    );
    Status::failure(StatusReason::NotAcceptable, message).into()
}

pub(crate) fn unsupported_media_type(offered: &[&str]) -> crate::error::ApiError {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        offered.join(", ")
    );
    Status::failure(StatusReason::UnsupportedMediaType, message).into()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(accept: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
        headers
    }

    #[test]
    fn negotiation() {
        use Encoding::{Json, PrettyJson, Protobuf, Yaml};
        let object = |encoding| Some((encoding, Shape::Object));
        let table = |version| Some((Json, Shape::Table(version)));
        let metadata = |encoding| Some((encoding, Shape::MetadataList(TableVersion::V1)));
        let older = Some((Protobuf, Shape::Metadata(TableVersion::V1beta1)));
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        let client_go = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        for (accept, builtin, custom) in [
            ("", object(Json), object(Json)),
            ("*/*", object(Json), object(Json)),
            ("*", object(Json), object(Json)),
            ("application/*", object(Json), object(Json)),
            ("text/*", None, None),
            ("application/json", object(Json), object(Json)),
            (
                "application/json;pretty=1",
                object(PrettyJson),
                object(PrettyJson),
            ),
            ("application/yaml", object(Yaml), object(Yaml)),
            ("application/vnd.kubernetes.protobuf", object(Protobuf), None),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                object(Protobuf),
                object(Json),
            ),
            (
                "application/json,application/vnd.kubernetes.protobuf",
                object(Json),
                object(Json),
            ),
            (
                "application/vnd.kubernetes.protobuf,*/*",
                object(Protobuf),
                object(Json),
            ),
            (
                "*/*,application/vnd.kubernetes.protobuf",
                object(Protobuf),
                object(Json),
            ),
            (
                "application/json;q=0.5,application/yaml;q=0.9",
                object(Yaml),
                object(Yaml),
            ),
            (
                "application/json;q=x,application/yaml;q=0.1",
                object(Yaml),
                object(Yaml),
            ),
            // Neither goes before the other, so the order they come in decides.
            ("application/yaml;q=0.5,*/*", object(Json), object(Json)),
            ("*/*,application/yaml;q=0.5", object(Yaml), object(Yaml)),
            (kubectl, table(TableVersion::V1), table(TableVersion::V1)),
            (client_go, metadata(Protobuf), metadata(Protobuf)),
            (
                "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
                None,
                None,
            ),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
                older,
                older,
            ),
            (
                "*/*;as=Table;v=v1;g=meta.k8s.io",
                table(TableVersion::V1),
                table(TableVersion::V1),
            ),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                table(TableVersion::V1beta1),
                table(TableVersion::V1beta1),
            ),
            ("application/json;as=Table;v=v2;g=meta.k8s.io", None, None),
            ("application/json;as=Table;v=v1", None, None),
            ("application/json;g=meta.k8s.io", None, None),
            (
                "application/json;as=Strange;g=meta.k8s.io;v=v1, application/json",
                object(Json),
                object(Json),
            ),
            ("application/json;stream=watch", object(Json), object(Json)),
            ("application/yaml;stream=watch", None, None),
            ("application/json;stream=strange", None, None),
            ("application/json;sv=v1", object(Json), object(Json)),
            ("application/json;sv=v2", None, None),
            ("application/json;odd=1", object(Json), object(Json)),
            ("application/cbor,application/json", object(Json), object(Json)),
            ("application/cbor", None, None),
            ("json", None, None),
            ("a/b/c", None, None),
        ] {
            for (endpoint, expect) in [(Endpoint::Builtin, builtin), (Endpoint::Custom, custom)] {
                let found = negotiate(&headers(accept), "", endpoint).ok();
                let expect = expect.map(|(encoding, shape)| Accepted { encoding, shape });
                assert_eq!(found, expect, "{accept} {endpoint:?}");
            }
        }
        assert_eq!(
            negotiate(&headers(kubectl), "", Endpoint::Status).unwrap().shape,
            Shape::Object
        );
    }

    #[test]
    fn only_the_first_header_and_some_clauses_count() {
        let mut two = headers("text/html");
        two.append(ACCEPT, HeaderValue::from_static("application/json"));
        assert!(negotiate(&two, "", Endpoint::Builtin).is_err());
        let many = format!("{}application/json", "text/html,".repeat(MAX_ACCEPT_CLAUSES));
        assert!(negotiate(&headers(&many), "", Endpoint::Builtin).is_err());
    }

    #[test]
    fn streams() {
        for (accept, expect) in [
            ("application/json", Some(Encoding::Json)),
            ("application/json;pretty=1", Some(Encoding::Json)),
            (
                "application/vnd.kubernetes.protobuf;stream=watch",
                Some(Encoding::Protobuf),
            ),
            ("application/yaml, application/json", None),
        ] {
            let found = negotiate_stream(&headers(accept), "", Endpoint::Builtin);
            assert_eq!(found.ok().map(|accepted| accepted.encoding), expect, "{accept}");
        }
    }

    #[test]
    fn indentation() {
        for (query, agent, expect) in [
            ("pretty=true", "", true),
            ("pretty=1", "", true),
            ("pretty=0", "curl/8", false),
            ("pretty=strange", "curl/8", false),
            ("pretty=", "curl/8", true),
            ("limit=1", "Mozilla/5.0 (X11)", true),
            ("", "Wget/1", true),
            ("", "kubectl/v1.37", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(USER_AGENT, HeaderValue::from_static(agent));
            assert_eq!(wants_pretty(&headers, query), expect, "{query} {agent}");
        }
    }

    #[test]
    fn formats_of_bodies() {
        for (content_type, expect) in [
            ("", Some(BodyFormat::Json)),
            ("application/json", Some(BodyFormat::Json)),
            ("Application/JSON; charset=utf-8", Some(BodyFormat::Json)),
            ("application/json;", Some(BodyFormat::Json)),
            ("application/yaml", Some(BodyFormat::Yaml)),
            ("application/vnd.kubernetes.protobuf", Some(BodyFormat::Protobuf)),
            ("application/json; charset", None),
            ("application/json; a=1; a=2", None),
            ("application/json;;", None),
            ("application/cbor", None),
            ("application/x-www-form-urlencoded", None),
            ("*/*", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            assert_eq!(body_format(&headers).ok(), expect, "{content_type}");
        }
        assert_eq!(body_format(&HeaderMap::new()).ok(), Some(BodyFormat::Json));
    }
}
