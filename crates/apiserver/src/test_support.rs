//! A server under test, spoken to through its service alone.

use http::{Method, Request, Response, StatusCode};
use kubewright_net::{Body, HttpService, Identity};
use serde_json::{Value, json};

use crate::{ApiServer, Options};

/// A server of its own for one test.
pub(crate) struct TestServer {
    pub(crate) server: ApiServer,
    service: HttpService,
}

/// The events of a watch.
pub(crate) struct Events {
    body: Body,
    read: Vec<u8>,
}

impl Events {
    /// The next event, awaited.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return serde_json::from_slice(&line).unwrap();
            }
            let chunk = self.body.chunk().await.unwrap().expect("the watch ended");
            self.read.extend_from_slice(&chunk);
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let server = ApiServer::start(options).await.unwrap();
        let service = server.service();
        Self { server, service }
    }

    /// Sends a request as an administrator.
    pub(crate) async fn send(
        &self,
        request: http::request::Builder,
        body: impl Into<Body>,
    ) -> Response<Body> {
        let request = request.extension(Identity::new("admin", ["system:masters", "system:authenticated"]));
        self.service
            .send(request.body(body.into()).unwrap())
            .await
            .unwrap()
    }

    /// Sends a request and reads the answer to its end.
    pub(crate) async fn call(&self, request: http::request::Builder, body: impl Into<Body>) -> Answer {
        let response = self.send(request, body).await;
        let (parts, body) = response.into_parts();
        let body = body.collect_limited(64 << 20).await.unwrap();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            body,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Request::get(path), Body::empty()).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Answer {
        self.json(Method::POST, path, object).await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Answer {
        self.json(Method::PUT, path, object).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(Request::delete(path), Body::empty()).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Answer {
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        self.call(request, patch.to_string()).await
    }

    /// Opens a watch.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        let response = self.send(Request::get(path), Body::empty()).await;
        assert_eq!(response.status(), 200);
        Events {
            body: response.into_body(),
            read: Vec::new(),
        }
    }

    async fn json(&self, method: Method, path: &str, object: &Value) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json");
        self.call(request, object.to_string()).await
    }

    /// Asks for a path until the answer is as `until` wants it, giving the server's tasks their turn in between.
    pub(crate) async fn eventually(&self, path: &str, until: impl Fn(&Answer) -> bool) -> Answer {
        let mut last = None;
        for _ in 0..TURNS {
            let answer = self.get(path).await;
            if until(&answer) {
                return answer;
            }
            last = Some(answer);
            tokio::task::yield_now().await;
        }
        panic!("{path} did not become what was awaited: {last:#?}");
    }

    /// Creates a definition and waits until its kind is served.
    pub(crate) async fn define(&self, definition: &Value) -> Value {
        let answer = self.post(DEFINITIONS, definition).await;
        assert_eq!(answer.code, 201, "{:#}", answer.body);
        let name = definition["metadata"]["name"].as_str().unwrap();
        self.eventually(&format!("{DEFINITIONS}/{name}"), |answer| {
            is(&answer.body, "Established")
        })
        .await
        .body
    }
}

impl Answer {
    /// The body, of an answer that went well.
    pub(crate) fn ok(self) -> Value {
        assert!(
            StatusCode::from_u16(self.code).unwrap().is_success(),
            "{} {:#}",
            self.code,
            self.body
        );
        self.body
    }

    /// The message of a failure with this code.
    pub(crate) fn message(&self, code: u16) -> &str {
        assert_eq!(self.code, code, "{:#}", self.body);
        self.body["message"].as_str().unwrap()
    }
}

/// Whether a condition holds.
pub(crate) fn is(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|one| one["type"] == condition && one["status"] == "True")
    })
}

/// A definition in group `example.com` with the given versions.
pub(crate) fn definition(plural: &str, kind: &str, versions: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com",
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": versions,
        },
    })
}

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// More turns than any of the server's tasks needs.
const TURNS: usize = 10_000;

/// A built-in resource of a scope: pods, or nodes.
pub(crate) fn resource_of(scope: kubewright_core::Scope) -> std::sync::Arc<crate::registry::Resource> {
    let plural = match scope {
        kubewright_core::Scope::Namespaced => "pods",
        kubewright_core::Scope::Cluster => "nodes",
    };
    let registry = crate::registry::Registry::builtin(&crate::registry::RuntimeConfig::default());
    registry.find("", "v1", plural).expect("a resource").clone()
}
