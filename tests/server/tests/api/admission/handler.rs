//! The webhook of these tests: a handler whose path says what it answers.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kubewright_net::Body;
use serde_json::{Value, json};

use crate::harness::text;
use crate::https::{Https, base64};

/// What was asked, each question in the order in which it came.
type Questions = Arc<Mutex<Vec<Value>>>;

pub(super) struct Hooks {
    pub(super) https: Https,
    questions: Questions,
}

impl Hooks {
    /// A handler whose path says what it answers: `/set/FIELD/OF/OBJECT`, `/allow`, `/warn`, `/deny`, `/deny/CODE`, `/patch/NAME` (which adds a label of that name, or
    /// counts it up), `/text/TEXT`, `/huge`, `/close`, and `/code/CODE`.
    pub(super) async fn start() -> Self {
        let questions = Questions::default();
        let asked = questions.clone();
        let https = Https::start(move |request| {
            let asked = asked.clone();
            async move { answer(request, &asked).await }
        })
        .await;
        Self { https, questions }
    }

    /// The questions since this was called last.
    pub(super) fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut *self.questions.lock().unwrap())
    }

    /// The paths that were called since this was called last.
    pub(super) fn paths(&self) -> Vec<String> {
        self.asked()
            .iter()
            .map(|question| text(&question["path"]).to_owned())
            .collect()
    }

    /// A webhook that answers by `path`, for config maps, with `change` in its configuration.
    pub(super) fn hook(&self, path: &str, change: &Value) -> Value {
        let name: String = path
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let mut hook = json!({
            "name": format!("x{name}x.example.com"), "clientConfig": self.https.by_url(path),
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
        });
        for (field, value) in change.as_object().unwrap() {
            hook[field] = value.clone();
        }
        hook
    }
}

async fn answer(request: Request<Body>, questions: &Questions) -> Response<Body> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let bytes = body.collect_limited(64 << 20).await.unwrap();
    let review: Value = serde_json::from_slice(&bytes).unwrap();
    let mut question = review["request"].clone();
    question["path"] = path.clone().into();
    question["query"] = head.uri.query().into();
    question["version"] = review["apiVersion"].clone();
    questions.lock().unwrap().push(question.clone());
    let mut response = json!({"uid": question["uid"], "allowed": true});
    let (word, rest) = path
        .trim_start_matches('/')
        .split_once('/')
        .unwrap_or_else(|| (&path[1..], ""));
    match word {
        "allow" => {}
        "warn" => response["warnings"] = json!([format!("mind the {rest}")]),
        "deny" => {
            response["allowed"] = false.into();
            if !rest.is_empty() {
                response["status"] = json!({"message": "not today", "code": rest.parse::<u16>().unwrap(), "reason": "Forbidden"});
            }
        }
        "patch" => {
            let labels = &question["object"]["metadata"]["labels"];
            let count = text(&labels[rest]).parse::<u32>().unwrap_or(0) + 1;
            let patch = match labels.is_object() {
                true => {
                    json!([{"op": "add", "path": format!("/metadata/labels/{rest}"), "value": count.to_string()}])
                }
                false => {
                    json!([{"op": "add", "path": "/metadata/labels", "value": {rest: count.to_string()}}])
                }
            };
            response["patch"] = base64(&patch.to_string()).into();
            response["patchType"] = "JSONPatch".into();
        }
        // A text where another value belongs, or another one.
        "set" => {
            let patch = json!([{"op": "add", "path": format!("/{rest}"), "value": "odd"}]);
            response["patch"] = base64(&patch.to_string()).into();
            response["patchType"] = "JSONPatch".into();
        }
        // The first owner once more.
        "own" => {
            let owner = &question["object"]["metadata"]["ownerReferences"][0];
            let patch = json!([{"op": "add", "path": "/metadata/ownerReferences/-", "value": owner}]);
            response["patch"] = base64(&patch.to_string()).into();
            response["patchType"] = "JSONPatch".into();
        }
        // Once is enough.
        "once" => {
            if question["object"]["metadata"]["labels"].get(rest).is_none() {
                let patch = json!([{"op": "add", "path": format!("/metadata/labels/{rest}"), "value": "1"}]);
                response["patch"] = base64(&patch.to_string()).into();
                response["patchType"] = "JSONPatch".into();
            }
        }
        "text" => return Response::new(Body::from(rest.to_owned())),
        "huge" => {
            let piece = bytes::Bytes::from(vec![b' '; 1 << 20]);
            let pieces = std::iter::repeat_with(move || Ok(piece.clone()));
            return Response::new(Body::stream(futures_util::stream::iter(pieces)));
        }
        "close" => {
            let error = || Err(kubewright_net::TransportError::closed("answering"));
            return Response::new(Body::stream(futures_util::stream::iter([error()])));
        }
        "code" => {
            return Response::builder()
                .status(rest.parse::<u16>().unwrap())
                .body(Body::empty())
                .unwrap();
        }
        "never" => std::future::pending().await,
        other => panic!("{other}"),
    }
    let answer = json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response});
    Response::new(Body::from(answer.to_string()))
}
