//! Bodies to objects and objects to bodies.

use std::fmt;

use bytes::Bytes;
use kubewright_core::{FieldValidation, GroupVersionKind, Status};
use kubewright_kinds::protobuf;
use serde_json::{Map, Value};

use crate::error::{ApiError, ApiResult};
use crate::json;
use crate::registry::path::{self, MAX_FINDINGS};
use crate::request::media::BodyFormat;

/// A body as it was read: not yet checked against a kind.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) value: Value,
    /// Paths of the first [`MAX_FINDINGS`] fields that were named twice; the last value counts.
    pub(crate) duplicate_fields: Vec<String>,
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
            Ok(Body {
                value,
                duplicate_fields: Vec::new(),
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
    })
}

/// Reads a body as a value of a kind, which is named where it cannot be (apiserver pkg/endpoints/handlers/rest.go
/// `transformDecodeError`).
///
/// # Errors
/// 400 when it is malformed.
pub(crate) fn read_as(kind: &str, bytes: &[u8], format: BodyFormat) -> ApiResult<Body> {
    read(bytes, format).map_err(|error| {
        let (why, summary) = (&error.status().message, summary(bytes));
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
        ))
        .into()
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
    let value = is_object.then(|| json::plain::read(bytes)).flatten();
    match value.filter(|value| !has_float(value)) {
        Some(value) => Ok(Body {
            value,
            duplicate_fields: Vec::new(),
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

fn read_yaml(bytes: &[u8]) -> ApiResult<Body> {
    let text = std::str::from_utf8(bytes).map_err(|why| malformed("yaml is not UTF-8", &why))?;
    let options = kubewright_yaml::Options {
        duplicate_keys: kubewright_yaml::DuplicateKeys::KeepLast,
        ..kubewright_yaml::Options::default()
    };
    let mut documents = kubewright_yaml::documents_with(text, &options);
    let document = documents
        .next()
        .transpose()
        .map_err(|why| malformed("yaml parse error", &why))?;
    let Some(document) = document else {
        return Ok(Body {
            value: Value::Null,
            duplicate_fields: Vec::new(),
        });
    };
    if documents.next().is_some() {
        return Err(malformed(
            "yaml parse error",
            &"more than one document in the body",
        ));
    }
    let duplicate_fields = document
        .duplicates
        .iter()
        .take(MAX_FINDINGS)
        .map(|d| format!("line {}: key {:?}", d.line, path::beginning(&d.key)))
        .collect();
    Ok(Body {
        value: document.value,
        duplicate_fields,
    })
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

/// Checks that a body holds an object of a kind, or one that says nothing of its kind, and fills that in.
///
/// # Errors
/// 400 in the words of apiserver pkg/endpoints/handlers/create.go and apimachinery's serializer.
pub(crate) fn expect_kind(value: &mut Value, expect: &GroupVersionKind) -> ApiResult<()> {
    // Go decodes `null`, which is also what an empty YAML document is, into an object without any field.
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(fields) = value else {
        return Err(malformed(
            "json parse error",
            &"json: cannot unmarshal into Go value of type struct: not an object",
        ));
    };
    let expected_version = expect.api_version();
    let says = |name: &str, text: &str| fields.get(name).is_some_and(|found| found == text);
    if says("apiVersion", &expected_version) && says("kind", &expect.kind) {
        return Ok(());
    }
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(malformed("json parse error", &format!("{name} must be a string"))),
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    if !kind.is_empty() && kind != expect.kind || !api_version.is_empty() && api_version != expected_version {
        let found = if api_version.is_empty() {
            &expected_version
        } else {
            &api_version
        };
        if *found != expected_version {
            return Err(Status::bad_request(format!(
                "the API version in the data ({found}) does not match the expected API version ({expected_version})"
            ))
            .into());
        }
        return Err(Status::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {}: expected kind {:?}",
            expect.version, expect.kind, expect.kind
        ))
        .into());
    }
    fields.insert("apiVersion".into(), expected_version.into());
    fields.insert("kind".into(), expect.kind.clone().into());
    Ok(())
}

/// Treats fields that do not belong: refuses them, warns of them, or passes over them.
///
/// Gives the warnings for the client.
///
/// # Errors
/// 400 `strict decoding error: …` when they are to be refused.
pub(crate) fn judge_fields(
    validation: FieldValidation,
    duplicate: &[String],
    unknown: &[String],
    kind: &GroupVersionKind,
) -> ApiResult<Vec<String>> {
    let found = findings(duplicate, unknown);
    match validation {
        FieldValidation::Strict if !found.is_empty() => Err(Status::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: strict decoding error: {}",
            kind.kind,
            kind.version,
            kind.kind,
            found.join(", ")
        ))
        .into()),
        FieldValidation::Warn => Ok(found),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

/// What strict decoding says of fields that do not belong.
pub(crate) fn findings(duplicate: &[String], unknown: &[String]) -> Vec<String> {
    let mut found: Vec<String> = unknown
        .iter()
        .map(|path| format!("unknown field {path:?}"))
        .collect();
    found.extend(duplicate.iter().map(|path| {
        if path.starts_with("line ") {
            format!("yaml: {path} already set in map")
        } else {
            format!("duplicate field {path:?}")
        }
    }));
    found
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
            r#"{"a": [1, -2, 18446744073709551615, true, null, "x\n\u003c\"\/", "yes", "1"], "b": {}, "c": []}"#,
            "{\"a\":\n {\"b\": \"#c\"}}\n",
            "{}",
            "{\"a\": \"\u{e4}\"}",
        ] {
            let expect = read_yaml(text.as_bytes()).unwrap();
            let found = read(text.as_bytes(), BodyFormat::Yaml).unwrap();
            assert_eq!(found.value, expect.value, "{text}");
            assert_eq!(json::plain::read(text.as_bytes()), Some(expect.value), "{text}");
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
            (b"a: 1\n---\nb: 2\n", BodyFormat::Yaml),
            (b"k8s", BodyFormat::Protobuf),
        ] {
            assert_eq!(read(bytes, format).unwrap_err().status().code, 400, "{bytes:?}");
        }
    }

    #[test]
    fn kinds_must_match() {
        let expect = GroupVersionKind::new("apps", "v1", "Deployment");
        for (mut value, fits) in [
            (json!({}), true),
            (json!({"apiVersion": "apps/v1", "kind": "Deployment"}), true),
            (json!({"apiVersion": "apps/v1beta1", "kind": "Deployment"}), false),
            (json!({"apiVersion": "apps/v1", "kind": "Pod"}), false),
            (json!({"kind": 1}), false),
            (json!([]), false),
            (json!(null), true),
        ] {
            assert_eq!(expect_kind(&mut value, &expect).is_ok(), fits, "{value}");
            if fits {
                assert_eq!(value, json!({"apiVersion": "apps/v1", "kind": "Deployment"}));
            }
        }
    }
}
