//! From one version of a custom resource to another.
//!
//! Upstream: apiextensions pkg/apiserver/conversion. A webhook gets objects together, up to a bound, and may change nothing of their
//! metadata but labels and annotations. Whatever goes wrong, nothing is stored and nothing is shown.

use std::time::Duration;

use kubewright_core::{ConversionResponse, ConversionReview, FieldError, FieldPath, Status, StatusReason};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::definition;
use crate::builtin::validation::metadata;
use crate::error::{ApiError, ApiResult};
use crate::ids;
use crate::json;
use crate::server::Server;
use crate::webhook::Webhook;

/// How objects get from one version to another.
#[derive(Debug)]
pub(super) enum Conversion {
    /// The versions differ in what they leave out, if in anything.
    None,
    /// A webhook knows.
    Webhook(ConversionWebhook),
}

/// A webhook that converts.
#[derive(Debug)]
pub(super) struct ConversionWebhook {
    webhook: Webhook,
    /// The version of the review that it is sent; `None` where it understands none that is known here.
    review: Option<ReviewVersion>,
}

/// A version of the review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    fn parse(version: &str) -> Option<Self> {
        match version {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "apiextensions.k8s.io/v1",
            Self::V1Beta1 => "apiextensions.k8s.io/v1beta1",
        }
    }
}

impl Conversion {
    pub(super) fn new(conversion: &definition::Conversion) -> Self {
        match &conversion.webhook {
            Some(webhook) if conversion.strategy == "Webhook" => Self::Webhook(ConversionWebhook {
                webhook: Webhook::new(webhook.client_config.clone(), TIMEOUT),
                review: webhook
                    .conversion_review_versions
                    .iter()
                    .find_map(|version| ReviewVersion::parse(version)),
            }),
            _ => Self::None,
        }
    }
}

impl ConversionWebhook {
    /// Has objects converted, which all are of other versions than `to`.
    ///
    /// # Errors
    /// 500 where the webhook fails, or answers with something else than the same objects in that version.
    pub(super) async fn convert(
        &self,
        server: &Server,
        objects: Vec<Value>,
        to: &str,
    ) -> ApiResult<Vec<Value>> {
        let mut converted = Vec::with_capacity(objects.len());
        let mut objects = objects.into_iter().peekable();
        while objects.peek().is_some() {
            let mut texts = Vec::new();
            let mut batch = Vec::new();
            while let Some(object) =
                objects.next_if(|_| texts.len() < BATCH_BYTES && batch.len() < BATCH_OBJECTS)
            {
                if !texts.is_empty() {
                    texts.push(b',');
                }
                json::write::value(&mut texts, &object);
                batch.push(object);
            }
            converted.extend(self.convert_batch(server, batch, &texts, to).await?);
        }
        Ok(converted)
    }

    /// `texts` are those of the objects, with commas between them.
    async fn convert_batch(
        &self,
        server: &Server,
        objects: Vec<Value>,
        texts: &[u8],
        to: &str,
    ) -> ApiResult<Vec<Value>> {
        let kind = objects.first().map(kind_of).unwrap_or_default();
        let failed = |why: String| refuse(format!("conversion webhook for {kind} {why}"));
        let Some(review) = self.review else {
            return Err(refuse("no supported conversion review versions".to_owned()));
        };
        let uid = ids::uid();
        let body = request(review, &uid, to, texts);
        let converted = self
            .webhook
            .post(server, body.into())
            .await
            .map_err(|error| error.to_string())
            .and_then(|answer| read(&answer, review, &uid))
            .map_err(|why| failed(format!("failed: {why}")))?;
        if converted.len() != objects.len() {
            return Err(failed(format!(
                "returned {} objects, expected {}",
                converted.len(),
                objects.len()
            )));
        }
        objects
            .into_iter()
            .zip(converted)
            .enumerate()
            .map(|(index, (object, converted))| {
                check(object, converted, to)
                    .map_err(|(what, why)| failed(format!("returned invalid {what} at index {index}: {why}")))
            })
            .collect()
    }
}

/// The text of a review.
fn request(review: ReviewVersion, uid: &str, to: &str, objects: &[u8]) -> Vec<u8> {
    let head = format!(
        r#"{{"kind":"{}","apiVersion":"{}","request":{{"uid":"{uid}","desiredAPIVersion":"{to}","objects":["#,
        ConversionReview::KIND,
        review.api_version()
    );
    [head.as_bytes(), objects, b"]}}"].concat()
}

/// Reads the answer to a review.
///
/// # Errors
/// Why it has no objects.
fn read(answer: &[u8], review: ReviewVersion, uid: &str) -> Result<Vec<Value>, String> {
    let answer = json::read(answer)?.value;
    let found = ConversionReview::deserialize(answer).map_err(|error| error.to_string())?;
    if review == ReviewVersion::V1 {
        let expected = gvk(review.api_version(), ConversionReview::KIND);
        let got = gvk(&found.api_version, &found.kind);
        if got != expected {
            return Err(format!("expected webhook response of {expected}, got {got}"));
        }
    }
    let ConversionResponse {
        uid: found_uid,
        converted_objects,
        result,
    } = found.response.ok_or("no response provided")?;
    if review == ReviewVersion::V1 && found_uid != uid {
        return Err(format!("expected response.uid={uid:?}, got {found_uid:?}"));
    }
    match result.status.as_str() {
        "Success" => Ok(converted_objects),
        _ if !result.message.is_empty() => Err(result.message),
        status => Err(format!("response.result.status was '{status}', not 'Success'")),
    }
}

/// Checks what an object became, and gives it the metadata of the object back, but for labels and annotations.
///
/// # Errors
/// What of it is wrong, and why.
fn check(original: Value, mut converted: Value, to: &str) -> Result<Value, (&'static str, String)> {
    let object = |why: String| ("converted object", why);
    if !converted.is_object() {
        return Err(object("it is no object".to_owned()));
    }
    let got = text(&converted, "/apiVersion");
    if got != to {
        return Err(object(format!(
            "invalid groupVersion (expected {to}, received {got})"
        )));
    }
    for (what, pointer) in [
        ("kind", "/kind"),
        ("name", "/metadata/name"),
        ("namespace", "/metadata/namespace"),
        ("UID", "/metadata/uid"),
    ] {
        let (expected, got) = (text(&original, pointer), text(&converted, pointer));
        if expected == got {
            continue;
        }
        return Err(object(match what {
            "kind" => format!("invalid kind (expected {expected}, received {got})"),
            _ => format!("must have the same {what}: {expected} != {got}"),
        }));
    }
    let metadata = restore(original, &converted).map_err(|why| ("metadata in object", why))?;
    converted["metadata"] = metadata;
    Ok(converted)
}

/// The metadata of `original`, with the labels and annotations of `converted`.
fn restore(mut original: Value, converted: &Value) -> Result<Value, String> {
    let answered = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err("invalid metadata in converted object: it is no object".to_owned()),
    };
    let mut metadata = match original["metadata"].take() {
        Value::Object(metadata) => metadata,
        _ => Map::new(),
    };
    for field in ["labels", "annotations"] {
        let entries = match answered.get(field) {
            None | Some(Value::Null) => {
                metadata.remove(field);
                continue;
            }
            Some(Value::Object(entries)) => entries,
            Some(_) => {
                return Err(format!(
                    "invalid metadata.{field} in converted object: it is no object"
                ));
            }
        };
        if let Some((key, _)) = entries.iter().find(|(_, value)| !value.is_string()) {
            return Err(format!(
                "metadata.{field}[{key}] must be a string in converted object"
            ));
        }
        // What the object was stored with stays, whatever is thought of it today.
        let kept = metadata.get(field).and_then(Value::as_object);
        if kept != Some(entries) {
            check_entries(field, entries)?;
        }
        metadata.insert(field.to_owned(), Value::Object(entries.clone()));
    }
    Ok(Value::Object(metadata))
}

fn check_entries(field: &str, entries: &Map<String, Value>) -> Result<(), String> {
    let mut errors: Vec<FieldError> = Vec::new();
    let holder = Value::Object(Map::from_iter([(
        "entries".to_owned(),
        Value::Object(entries.clone()),
    )]));
    if field == "labels" {
        let path = FieldPath::new("metadata").child("labels");
        metadata::labels(&mut errors, &holder, "/entries", &path);
    } else {
        // Upstream names this path so.
        let path = FieldPath::new("metadata").child("annotation");
        metadata::annotations(&mut errors, &holder, "/entries", &path);
    }
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// Group, version and kind as Go prints them.
fn gvk(api_version: &str, kind: &str) -> String {
    let api_version = if api_version.contains('/') {
        api_version.to_owned()
    } else {
        format!("/{api_version}")
    };
    format!("{api_version}, Kind={kind}")
}

fn kind_of(object: &Value) -> String {
    gvk(text(object, "/apiVersion"), text(object, "/kind"))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Errors of conversion have no reason of their own upstream.
pub(super) fn refuse(message: String) -> ApiError {
    Status::failure(StatusReason::Unknown, message).into()
}

/// How long a webhook may take for an answer, as upstream.
const TIMEOUT: Duration = Duration::from_secs(30);
/// So many objects go to a webhook together at most.
const BATCH_OBJECTS: usize = 500;
/// No further object goes along once those before have so many bytes.
const BATCH_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use kubewright_schema::StructuralSchema;
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::model::{CustomModel, Lifecycle, Shapes, VersionShape};
    use super::*;
    use crate::storage::Revision;

    /// Any value, of few names, so that schemas and objects meet.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!({"type": "string"})),
            Just(json!({"type": "integer", "nullable": true})),
            Just(json!({"x-kubernetes-int-or-string": true})),
            Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        ];
        leaf.prop_recursive(3, 24, 3, |inner| {
            prop_oneof![
                inner
                    .clone()
                    .prop_map(|items| json!({"type": "array", "items": items})),
                inner
                    .clone()
                    .prop_map(|values| json!({"type": "object", "additionalProperties": values})),
                prop::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|properties| json!({"type": "object", "properties": properties})),
            ]
        })
    }

    /// The model of the first of two versions that have the same schema.
    fn model(schema: &Value) -> CustomModel {
        let shape = || {
            let schema = StructuralSchema::parse(schema).unwrap();
            Arc::new(VersionShape::new(schema, Vec::new(), None))
        };
        let versions: BTreeMap<_, _> = ["a.io/v1", "a.io/v2"]
            .map(|name| (name.to_owned(), shape()))
            .into();
        CustomModel {
            shape: versions["a.io/v1"].clone(),
            shapes: Arc::new(Shapes {
                versions,
                conversion: Conversion::None,
            }),
            since: Revision(0),
            identity: String::new(),
            definition: String::new(),
            lifecycle: Lifecycle::Active,
        }
    }

    proptest! {
        #[test]
        fn there_and_back_is_where_it_was(spec in schema(), object in value()) {
            let model = model(&json!({"type": "object", "properties": {"spec": spec}}));
            let mut object = json!({"apiVersion": "a.io/v1", "kind": "A", "metadata": {"name": "a"}, "spec": object});
            model.shape.schema.prune(&mut object);
            let mut converted = object.clone();
            model.recast(&mut converted, "a.io/v2");
            prop_assert_eq!(&converted["apiVersion"], "a.io/v2");
            model.recast(&mut converted, "a.io/v1");
            prop_assert_eq!(converted, object);
        }

        #[test]
        fn of_metadata_only_labels_and_annotations_are_the_webhook_s(answer in value(), metadata in value()) {
            let original = json!({"apiVersion": "a.io/v1", "kind": "A", "metadata": {
                "name": "a", "uid": "u", "generation": 3, "labels": {"a": "b"}, "finalizers": ["x"],
            }});
            let mut answer = answer;
            if let Value::Object(fields) = &mut answer {
                fields.insert("apiVersion".into(), "a.io/v2".into());
                fields.insert("kind".into(), "A".into());
                let mut found = json!({"name": "a", "uid": "u", "labels": metadata["a"], "annotations": metadata["b"]});
                if let (Value::Object(found), Value::Object(more)) = (&mut found, metadata) {
                    found.extend(more);
                }
                fields.insert("metadata".into(), found);
            }
            if let Ok(mut converted) = check(original.clone(), answer, "a.io/v2") {
                for object in [&mut converted, &mut original.clone()] {
                    if let Some(metadata) = object["metadata"].as_object_mut() {
                        metadata.retain(|name, _| !matches!(name.as_str(), "labels" | "annotations"));
                    }
                }
                let mut expect = original["metadata"].clone();
                expect.as_object_mut().unwrap().remove("labels");
                prop_assert_eq!(&converted["metadata"], &expect);
            }
        }

        #[test]
        fn no_answer_is_too_odd(text in "\\PC{0,40}", object in value()) {
            for version in [ReviewVersion::V1, ReviewVersion::V1Beta1] {
                let _ = read(text.as_bytes(), version, "u");
                let _ = read(object.to_string().as_bytes(), version, "u");
                let response = json!({"apiVersion": version.api_version(), "kind": "ConversionReview", "response": object});
                let _ = read(response.to_string().as_bytes(), version, "u");
            }
        }
    }
}
