//! Bodies to objects and objects to bodies.

use std::fmt;
use std::str::Utf8Error;

use bytes::Bytes;
use kubewright_core::{FieldValidation, GroupVersionKind, Status};
use kubewright_kinds::protobuf;
use serde_json::Value;

use crate::error::{ApiError, ApiResult};
use crate::json;

mod kind;

use crate::registry::path::{self, MAX_FINDINGS};
use crate::request::media::BodyFormat;
pub(crate) use kind::{KindFault, SCHEME, expect_kind, internal, kind_of_json, no_kind};

/// A body as it was read: not yet checked against a kind.
#[derive(Debug)]
pub(crate) struct Body {
    /// With members by name.
    pub(crate) value: Value,
    /// Paths of the first [`MAX_FINDINGS`] fields that were named twice; the last value counts.
    pub(crate) duplicate_fields: Vec<String>,
    format: BodyFormat,
}

/// Reads a body as one JSON value.
///
/// # Errors
/// 400 when it is malformed.
pub(crate) fn read(bytes: &[u8], format: BodyFormat) -> ApiResult<Body> {
    match format {
        BodyFormat::Json => read_json(bytes).map_err(|why| malformed("json parse error", &why)),
        BodyFormat::Yaml => read_yaml_or_json(bytes),
        BodyFormat::Protobuf => {
            let decoded = protobuf::decode(bytes).map_err(|why| no_protobuf(bytes, &why))?;
            let mut value = decoded.value;
            if let Value::Object(fields) = &mut value {
                fields.insert("apiVersion".into(), decoded.api_version.into());
                fields.insert("kind".into(), decoded.kind.into());
            }
            value.sort_all_objects();
            Ok(Body {
                value,
                duplicate_fields: Vec::new(),
                format,
            })
        }
    }
}

/// Reads JSON, noting fields that are named twice.
///
/// # Errors
/// What is wrong with it, in Go's words.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Body, String> {
    let document = json::read(bytes)?;
    Ok(Body {
        value: document.value,
        duplicate_fields: document.duplicate_fields,
        format: BodyFormat::Json,
    })
}

/// Reads a body as a value of a kind, which is named where it cannot be (apiserver pkg/endpoints/handlers/rest.go
/// `transformDecodeError`).
///
/// # Errors
/// 400 when it is malformed.
pub(crate) fn read_as(gvk: &GroupVersionKind, bytes: &[u8], format: BodyFormat) -> ApiResult<Body> {
    read(bytes, format).map_err(|error| {
        match json::out_of_range(bytes).filter(|_| format == BodyFormat::Json) {
            Some(number) => {
                let why = format!("json: cannot unmarshal number {number} into Go value of type float64");
                cannot_be_handled(gvk, &why)
            }
            None => unrecognized(&gvk.kind, bytes, &error.status().message),
        }
    })
}

/// 400 in upstream's words for a body that does not decode.
pub(crate) fn cannot_be_handled(gvk: &GroupVersionKind, why: &str) -> ApiError {
    let GroupVersionKind { kind, version, .. } = gvk;
    Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
    ))
    .into()
}

/// 400 for a body that does not tell what it is.
pub(crate) fn unrecognized(kind: &str, bytes: &[u8], why: &str) -> ApiError {
    let summary = summary(bytes);
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
    ))
    .into()
}

/// [`expect_kind`] for the object that a body holds.
///
/// # Errors
/// 400 for one of another kind.
pub(crate) fn expect_kind_of_body(
    value: &mut Value,
    expect: &GroupVersionKind,
    bytes: &[u8],
) -> ApiResult<()> {
    expect_kind(value, expect).map_err(|fault| match fault {
        KindFault::Unrecognized(why) => unrecognized(&expect.kind, bytes, &why),
        other => Status::bad_request(other.to_string()).into(),
    })
}

/// The beginning of a body: as it is where it may be JSON, in hexadecimal digits otherwise.
fn summary(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SUMMARY_BYTES)];
    let more = if bytes.len() > SUMMARY_BYTES { " ..." } else { "" };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}

/// How much of a body that cannot be read is shown.
const SUMMARY_BYTES: usize = 30;

/// Reads YAML. What clients send as such is JSON nearly always, which is YAML too, and quicker to read. Tabs are no blanks in YAML,
/// and numbers with a fraction or an exponent have a way of their own there.
fn read_yaml_or_json(bytes: &[u8]) -> ApiResult<Body> {
    let is_object = bytes.first() == Some(&b'{') && !bytes.contains(&b'\t');
    // libyaml knows no escaped slash, and no halves of surrogate pairs.
    let has = |escape: &[u8]| memchr::memmem::find(bytes, escape).is_some();
    let is_object = is_object && !has(br"\/") && !has(br"\u");
    let value = is_object.then(|| json::plain::read(bytes)).flatten();
    match value.filter(|value| !has_float(value)) {
        Some(value) => Ok(Body {
            value,
            duplicate_fields: Vec::new(),
            format: BodyFormat::Yaml,
        }),
        None => read_yaml(bytes),
    }
}

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(members) => members.values().any(has_float),
        _ => false,
    }
}

/// The first document; what comes after it is nobody's, as for upstream.
fn read_yaml(bytes: &[u8]) -> ApiResult<Body> {
    let refuse = |why: String| ApiError::from(Status::bad_request(why));
    let text = std::str::from_utf8(bytes).map_err(|why| refuse(no_utf8(bytes, why)))?;
    let options = kubewright_yaml::Options {
        duplicate_keys: kubewright_yaml::DuplicateKeys::KeepLast,
        limits: kubewright_yaml::Limits {
            depth: json::plain::MAX_DEPTH,
            ..kubewright_yaml::Limits::default()
        },
    };
    let document = kubewright_yaml::documents_with(text, &options).next();
    let Some(mut document) = document.transpose().map_err(|why| refuse(why.in_go_words()))? else {
        return Ok(Body {
            value: Value::Null,
            duplicate_fields: Vec::new(),
            format: BodyFormat::Yaml,
        });
    };
    let duplicate_fields = document
        .duplicates
        .iter()
        .take(MAX_FINDINGS)
        .map(|d| format!("line {}: key {}", d.value_line, path::beginning(&d.spelling)))
        .collect();
    document.value.sort_all_objects();
    Ok(Body {
        value: document.value,
        duplicate_fields,
        format: BodyFormat::Yaml,
    })
}

/// What libyaml says of bytes that are no UTF-8 (go.yaml.in/yaml/v2 readerc.go).
fn no_utf8(bytes: &[u8], why: Utf8Error) -> String {
    let rest = &bytes[why.valid_up_to()..];
    let what = match (rest.first(), why.error_len()) {
        (_, None) => "incomplete UTF-8 octet sequence",
        (Some(0x80..=0xbf | 0xf8..) | None, _) => "invalid leading UTF-8 octet",
        (Some(0xc0 | 0xc1), _) => "invalid length of a UTF-8 sequence",
        (Some(0xed), _) => "invalid Unicode character",
        _ => "invalid trailing UTF-8 octet",
    };
    format!("yaml: {what}")
}

/// As apimachinery pkg/runtime/serializer/protobuf tells it.
fn no_protobuf(bytes: &[u8], why: &protobuf::DecodeError) -> ApiError {
    let message = match why {
        _ if bytes.is_empty() => "empty data".to_owned(),
        protobuf::DecodeError::NoMagic => format!(
            "provided data does not appear to be a protobuf message, expected prefix {}",
            format!("{:?}", protobuf::MAGIC).replace(',', "")
        ),
        _ if bytes == protobuf::MAGIC => "empty body".to_owned(),
        other => other.to_string(),
    };
    Status::bad_request(message).into()
}

fn malformed(what: &str, why: &dyn fmt::Display) -> ApiError {
    Status::bad_request(format!("couldn't get version/kind; {what}: {why}")).into()
}

/// Treats fields that do not belong: refuses them, warns of them, or passes over them.
///
/// Gives the warnings for the client.
///
/// # Errors
/// 400 `strict decoding error: …` when they are to be refused.
pub(crate) fn judge_fields(
    validation: FieldValidation,
    found: Vec<String>,
    kind: &GroupVersionKind,
) -> ApiResult<Vec<String>> {
    match validation {
        FieldValidation::Strict if !found.is_empty() => Err(Status::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: strict decoding error: {}",
            kind.kind,
            kind.version,
            kind.kind,
            refusal(&found)
        ))
        .into()),
        FieldValidation::Warn => Ok(found),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

/// What strict decoding refuses, in one text.
fn refusal(found: &[String]) -> String {
    // What the reader of YAML finds comes first, and together.
    let of_yaml = found
        .iter()
        .take_while(|finding| finding.starts_with("line "))
        .count();
    let (of_yaml, others) = found.split_at(of_yaml);
    let mut parts = Vec::new();
    if !of_yaml.is_empty() {
        parts.push(format!("yaml: unmarshal errors:\n  {}", of_yaml.join("\n  ")));
    }
    parts.extend(others.iter().cloned());
    parts.join(", ")
}

/// How upstream decodes a kind, which decides in which order it finds what does not belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoder {
    /// Into a Go type: what it finds, it finds as it reads.
    Typed,
    /// Into a tree, which is pruned afterwards.
    Untyped,
}

impl Body {
    /// What strict decoding says of fields that do not belong: `text` is what was read, `unknown` the fields that the kind does not
    /// have.
    pub(crate) fn findings(&self, text: &[u8], unknown: &[String], decoder: Decoder) -> Vec<String> {
        let is_plain = self.duplicate_fields.is_empty() && unknown.len() < 2;
        if self.format == BodyFormat::Json && decoder == Decoder::Typed && !is_plain {
            return json::findings(text, unknown)
                .unwrap_or_else(|| findings(&self.duplicate_fields, unknown));
        }
        findings(&self.duplicate_fields, unknown)
    }
}

/// What strict decoding says of fields that do not belong: first of those that are there twice.
pub(crate) fn findings(duplicate: &[String], unknown: &[String]) -> Vec<String> {
    let duplicate = duplicate.iter().map(|path| match path.starts_with("line ") {
        true => format!("{path} already set in map"),
        false => duplicate_field(path),
    });
    duplicate
        .chain(unknown.iter().map(|path| unknown_field(path)))
        .collect()
}

/// As sigs.k8s.io/json says it.
pub(crate) fn duplicate_field(path: &str) -> String {
    format!("duplicate field {path:?}")
}

/// As sigs.k8s.io/json says it.
pub(crate) fn unknown_field(path: &str) -> String {
    format!("unknown field {path:?}")
}

/// The bytes of a value as JSON.
pub(crate) fn to_json(value: &Value) -> Bytes {
    let mut text = Vec::with_capacity(1024);
    json::write::value(&mut text, value);
    text.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_fields_are_found_and_the_last_counts() {
        let body = read_json(br#"{"a":1,"b":[{"c":1,"c":2}],"a":3}"#).unwrap();
        assert_eq!(body.value, json!({"a": 3, "b": [{"c": 2}]}));
        assert_eq!(body.duplicate_fields, ["b[0].c", "a"]);

        let name = "x".repeat(1 << 20);
        let body = read_json(format!("{{\"{name}\":1,\"{name}\":2}}").as_bytes()).unwrap();
        assert!(body.duplicate_fields[0].len() < path::MAX_PATH_BYTES + 8);
        let yaml: String = (0..2000).map(|i| format!("k{}: 1\n", i % 1000)).collect();
        let body = read(yaml.as_bytes(), BodyFormat::Yaml).unwrap();
        assert_eq!(body.duplicate_fields.len(), MAX_FINDINGS);
    }

    #[test]
    fn json_is_yaml() {
        for text in [
            r#"{"a": [1, -2, 18446744073709551615, true, null, "x\n\u003c\"", "yes", "1"], "b": {}, "c": []}"#,
            "{\"a\":\n {\"b\": \"#c\"}}\n",
            "{}",
            "{\"a\": \"\u{e4}\"}",
        ] {
            let expect = read_yaml(text.as_bytes()).unwrap();
            let found = read(text.as_bytes(), BodyFormat::Yaml).unwrap();
            assert_eq!(found.value, expect.value, "{text}");
            assert_eq!(json::plain::read(text.as_bytes()), Some(expect.value), "{text}");
        }
        for text in [r#"{"a": "\/"}"#, r#"{"a": "\ud83d\ude00"}"#] {
            assert!(read(text.as_bytes(), BodyFormat::Json).is_ok(), "{text}");
            assert!(read(text.as_bytes(), BodyFormat::Yaml).is_err(), "{text}");
        }
        let found = read(b"{\"a\": [1e3, 1.5]}", BodyFormat::Yaml).unwrap();
        assert_eq!(found.value, json!({"a": [1000, 1.5]}));
    }

    #[test]
    fn malformed_bodies_are_refused() {
        for (bytes, format) in [
            (&b"{"[..], BodyFormat::Json),
            (b"{} x", BodyFormat::Json),
            (b"", BodyFormat::Json),
            (b"\xff", BodyFormat::Yaml),
            (b"a: [", BodyFormat::Yaml),
            (b"k8s", BodyFormat::Protobuf),
        ] {
            assert_eq!(read(bytes, format).unwrap_err().status().code, 400, "{bytes:?}");
        }
    }
}
