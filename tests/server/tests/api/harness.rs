//! A server, requests to it, and what came back.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_kinds::protobuf;
use kubewright_net::{Body, HttpService, Identity};
use serde_json::{Value, json};

/// A server of its own for one test, spoken to as an administrator.
pub(crate) struct Server {
    pub(crate) api: ApiServer,
    service: HttpService,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    pub(crate) body: Value,
}

/// A request: `GET /api/v1/namespaces`, with headers and a body.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// With an object as JSON.
    pub(crate) fn json(line: impl Into<String>, object: &Value) -> Self {
        Self::new(line).typed("application/json", object.to_string())
    }

    /// With a body of a media type.
    pub(crate) fn typed(self, media_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..self.header("content-type", media_type)
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The request, its address below `origin`.
    pub(crate) fn build(&self, origin: &str) -> Request<Body> {
        let (method, path) = self.line.split_once(' ').expect("a method and a path");
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request
            .uri(format!("{origin}{path}"))
            .body(Body::from(self.body.clone()))
            .unwrap()
    }
}

impl From<&str> for Ask {
    fn from(line: &str) -> Self {
        Self::new(line)
    }
}

impl From<String> for Ask {
    fn from(line: String) -> Self {
        Self::new(line)
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let api = ApiServer::start(options).await.unwrap();
        let service = api.service();
        Self { api, service }
    }

    /// Sends a request as an administrator and leaves the answer's body to be read.
    pub(crate) async fn send(&self, ask: impl Into<Ask>) -> Response<Body> {
        self.send_as(Some(admin()), ask).await
    }

    /// Sends a request as somebody, or as nobody.
    pub(crate) async fn send_as(&self, identity: Option<Identity>, ask: impl Into<Ask>) -> Response<Body> {
        let mut request = ask.into().build("");
        if let Some(identity) = identity {
            request.extensions_mut().insert(identity);
        }
        self.service.send(request).await.unwrap()
    }

    /// Sends a request and reads the answer to its end.
    pub(crate) async fn ask(&self, ask: impl Into<Ask>) -> Answer {
        Answer::read(self.send(ask).await).await
    }

    /// The object that a request which must succeed gives.
    pub(crate) async fn ok(&self, ask: impl Into<Ask>) -> Value {
        let ask = ask.into();
        let line = ask.line.clone();
        let answer = self.ask(ask).await;
        assert!(
            (200..300).contains(&answer.code),
            "{line}: {} {:#}",
            answer.code,
            answer.body
        );
        answer.body
    }

    /// The answer to a request that must fail with this code and this text in its message, and must change nothing.
    pub(crate) async fn refused(&self, ask: impl Into<Ask>, code: u16, text: &str) -> Answer {
        let ask = ask.into();
        let before = self.revision().await;
        let line = ask.line.clone();
        let answer = self.ask(ask).await;
        assert_eq!(answer.code, code, "{line}: {:#}", answer.body);
        assert_eq!(answer.body["kind"], "Status", "{line}");
        assert_eq!(answer.body["status"], "Failure", "{line}");
        assert_eq!(answer.body["code"], code, "{line}");
        let message = answer.body["message"].as_str().unwrap();
        assert!(
            message.contains(text),
            "{line}: {message:?} does not contain {text:?}"
        );
        assert_eq!(self.revision().await, before, "{line} changed the store");
        answer
    }

    /// How far the store has come.
    pub(crate) async fn revision(&self) -> u64 {
        self.api.storage().progress().await.unwrap().0
    }

    /// Opens a watch.
    pub(crate) async fn watch(&self, path: &str) -> Events {
        self.watch_as(Ask::new(format!("GET {path}"))).await
    }

    pub(crate) async fn watch_as(&self, ask: Ask) -> Events {
        let response = self.send(ask).await;
        assert_eq!(response.status(), 200);
        Events::new(response)
    }

    /// Creates a definition of `Widget` in `example.com` and waits until it is served.
    pub(crate) async fn define_widgets(&self) {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer"}, "note": {"type": "string"}, "color": {"type": "string", "default": "red"},
            }},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        }});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "scope": "Namespaced",
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }],
            },
        });
        let all = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let mut events = self.watch(&format!("{all}?watch=true")).await;
        self.ok(Ask::json(format!("POST {all}"), &definition)).await;
        loop {
            let event = events.next().await.expect("the watch goes on");
            let conditions = event["object"]["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            if conditions
                .iter()
                .any(|one| one["type"] == "Established" && one["status"] == "True")
            {
                break;
            }
        }
        // Served from one moment to the next after that.
        while self.ask("GET /apis/example.com/v1").await.code != 200 {
            tokio::task::yield_now().await;
        }
    }
}

impl Answer {
    pub(crate) async fn read(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = body.collect_limited(256 << 20).await.unwrap();
        let body = decode(&parts.headers, &bytes);
        Self {
            code: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
            body,
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The texts of all `Warning` headers.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers
            .get_all("warning")
            .iter()
            .map(|value| std::str::from_utf8(value.as_bytes()).unwrap())
            .collect()
    }
}

/// The object in an answer, in whichever of the three encodings it came; `null` for what is no object.
fn decode(headers: &HeaderMap, bytes: &[u8]) -> Value {
    let media_type = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    match media_type {
        PROTOBUF => protobuf::decode(bytes).unwrap().value,
        "application/yaml" => kubewright_yaml::from_slice(bytes).unwrap(),
        _ => serde_json::from_slice(bytes).unwrap_or(Value::Null),
    }
}

/// The events of a watch.
pub(crate) struct Events {
    body: Body,
    read: Vec<u8>,
}

impl Events {
    pub(crate) fn new(response: Response<Body>) -> Self {
        Self {
            body: response.into_body(),
            read: Vec::new(),
        }
    }

    /// The next event, awaited; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let Some(chunk) = self.body.chunk().await.unwrap() else {
                assert!(self.read.is_empty(), "the stream ended within an event");
                return None;
            };
            self.read.extend_from_slice(&chunk);
        }
    }

    /// The next events, each as `TYPE name`.
    pub(crate) async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        while names.len() < count {
            let event = self.next().await.expect("the watch goes on");
            names.push(format!(
                "{} {}",
                text(&event["type"]),
                text(&event["object"]["metadata"]["name"])
            ));
        }
        names
    }
}

pub(crate) fn admin() -> Identity {
    Identity::new("admin", ["system:masters"])
}

/// A text, empty where there is none.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A version as a number.
pub(crate) fn version(object: &Value) -> u64 {
    text(&object["metadata"]["resourceVersion"])
        .parse()
        .expect("a version")
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}

pub(crate) fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1}})
}

pub(crate) fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]}})
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "nginx"}]}},
    }})
}

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
