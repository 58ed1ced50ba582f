//! The scripted server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kubewright_client::Client;
use kubewright_net::{Body, HttpService, TransportError};
use serde_json::json;

/// One request as the server saw it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) type Answer = Result<Response<Body>, TransportError>;

/// Plays answers in order and records what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            seen: Arc::default(),
        }
    }

    pub(crate) fn service(&self) -> HttpService {
        let script = self.clone();
        HttpService::from_fn(move |request: Request<Body>| {
            let script = script.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_limited(1 << 20).await.unwrap();
                script.seen.lock().unwrap().push(Seen {
                    line: format!("{} {}", parts.method, parts.uri),
                    headers: parts.headers,
                    body: String::from_utf8(body.to_vec()).unwrap(),
                });
                script.answers.lock().unwrap().pop_front().unwrap()
            }
        })
    }

    pub(crate) fn client(&self) -> Client {
        Client::from_service(self.service(), "team")
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }
}

pub(crate) fn ok(body: impl Into<String>) -> Answer {
    answer(200, &[], body)
}

pub(crate) fn answer(code: u16, headers: &[(&str, &str)], body: impl Into<String>) -> Answer {
    let mut response = Response::builder().status(code);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    Ok(response.body(Body::from(body.into())).unwrap())
}

pub(crate) fn status(reason: &str, code: u16) -> Answer {
    let body = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
        "message": format!("because {reason}") });
    answer(code, &[("content-type", "application/json")], body.to_string())
}

pub(crate) fn pod(name: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name } }).to_string()
}
