//! Caches on disk that real kubectl and the client share, told by what a scripted server is asked for.
//!
//! `KUBEWRIGHT_KUBECTL` names the folder with `<minor>/kubectl` in it that `cargo xtask kubectl` fills. A version that is
//! not there is shown as skipped.

#![expect(clippy::print_stderr, reason = "a test tells what it skips")]
#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode, header};
use kubewright_client::discovery::{
    CachedDiscovery, Discovery, DiscoveryClient, DiskCache, HttpCacheLayer, OpenApiClient,
};
use kubewright_client::{Client, Config};
use kubewright_core::GroupVersion;
use kubewright_net::{Body, HttpService, ServeLimits, serve};
use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The minor versions of kubectl that are run. Up to 1.29 another version of aggregated discovery is asked for, and up to
/// 1.36 both.
const MINORS: [u32; 5] = [37, 35, 33, 31, 28];

type Scenario = fn(&Scene);

/// With the minor version since which they make sense: older ones read the document of OpenAPI v2.
const SCENARIOS: [(&str, u32, Scenario); 4] = [
    ("what_kubectl_found_is_read", 0, what_kubectl_found_is_read),
    (
        "what_was_found_is_read_by_kubectl",
        0,
        what_was_found_is_read_by_kubectl,
    ),
    ("answers_are_shared", 0, answers_are_shared),
    ("documents_are_shared", 30, documents_are_shared),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for minor in MINORS {
        let binary = binary(minor);
        if binary.is_none() {
            eprintln!("skipped: kubectl 1.{minor} is not there; `cargo xtask kubectl` fetches it");
        }
        for (name, _, scenario) in SCENARIOS.into_iter().filter(|(_, since, _)| *since <= minor) {
            let binary = binary.clone();
            let is_missing = binary.is_none();
            let trial = Trial::test(format!("1.{minor}::{name}"), move || {
                if let Some(binary) = binary {
                    // A path in the server's address is part of the names of folders.
                    for prefix in ["", "/k8s/clusters/c-1"] {
                        scenario(&Scene::new(minor, binary.clone(), prefix));
                    }
                }
                Ok(())
            });
            trials.push(trial.with_ignored_flag(is_missing));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn binary(minor: u32) -> Option<PathBuf> {
    let folder = std::env::var_os("KUBEWRIGHT_KUBECTL")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kubectl"));
    Some(folder.join(format!("1.{minor}/kubectl"))).filter(|path| path.is_file())
}

/// A server with a log, kubectl, and a client, which share a folder.
struct Scene {
    minor: u32,
    kubectl: PathBuf,
    runtime: Runtime,
    server: String,
    client: Client,
    log: Arc<Mutex<Vec<String>>>,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(minor: u32, kubectl: PathBuf, prefix: &'static str) -> Self {
        let runtime = Runtime::new().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let address = runtime.block_on(start(prefix, Arc::clone(&log)));
        let server = format!("http://{address}{prefix}");
        let config = Config::new(server.parse().unwrap());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = Client::new(config, provider).unwrap();
        Self {
            minor,
            kubectl,
            runtime,
            server,
            client,
            log,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs kubectl, whose answer is of no interest.
    fn run_kubectl(&self, arguments: &[&str]) {
        let output = Command::new(&self.kubectl)
            .args(["--server", &self.server, "--cache-dir"])
            .arg(self.folder.path())
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{arguments:?}: {stderr} {:?}",
            self.asked()
        );
    }

    fn disk(&self) -> DiskCache {
        let disk = DiskCache::new(self.folder.path(), self.client.server()).unwrap();
        assert_eq!(
            Some(&disk),
            DiskCache::new(self.folder.path(), &self.server).as_ref()
        );
        disk
    }

    /// Asks as a new process.
    fn discover(&self) -> Discovery {
        let cache = CachedDiscovery::on_disk(&self.client, self.disk());
        let partial = self.runtime.block_on(cache.discover()).unwrap();
        partial.as_ref().clone().into_parts().0
    }

    /// What is so without any cache.
    fn live(&self) -> Discovery {
        let partial = self
            .runtime
            .block_on(DiscoveryClient::new(&self.client).discover());
        self.asked();
        partial.unwrap().into_parts().0
    }

    /// What the server was asked for since the last question, and how it answered.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }

    fn forget_discovery(&self) {
        std::fs::remove_dir_all(self.folder.path().join("discovery")).unwrap();
    }
}

const WIDGETS: &str = "200 /apis/example.com/v1/namespaces/default/widgets?limit=500";

fn what_kubectl_found_is_read(scene: &Scene) {
    let live = scene.live();
    scene.run_kubectl(&["get", "widgets"]);
    assert_eq!(
        scene.asked(),
        ["200 /api?timeout=32s", "200 /apis?timeout=32s", WIDGETS]
    );
    let found = scene.discover();
    assert_eq!(scene.asked(), [""; 0]);
    assert_eq!(found, live);
    assert_eq!(
        found.find("wd").unwrap().subresource("scale").unwrap().kind.group,
        "autoscaling"
    );
}

fn what_was_found_is_read_by_kubectl(scene: &Scene) {
    scene.discover();
    assert_eq!(scene.asked(), ["200 /api?timeout=32s", "200 /apis?timeout=32s"]);
    for argument in [
        "widgets",
        "wd",
        "Widget",
        "widgets.v1.example.com",
        "widget.example",
    ] {
        scene.run_kubectl(&["get", argument]);
        assert_eq!(scene.asked(), [WIDGETS], "{argument}");
    }
    scene.run_kubectl(&["api-resources", "--cached"]);
    assert_eq!(scene.asked(), [""; 0]);
}

fn answers_are_shared(scene: &Scene) {
    let unchanged = ["304 /api?timeout=32s", "304 /apis?timeout=32s"];
    let live = scene.live();
    scene.run_kubectl(&["get", "widgets"]);
    scene.asked();
    scene.forget_discovery();
    assert_eq!(scene.discover(), live);
    // 1.28 knows an older format alone, of which the client cannot make use before it has been told that there is no newer.
    match scene.minor {
        ..30 => assert_eq!(scene.asked(), ["200 /api?timeout=32s", "200 /apis?timeout=32s"]),
        _ => assert_eq!(scene.asked(), unchanged),
    }
    scene.forget_discovery();
    std::fs::remove_dir_all(scene.folder.path().join("http")).unwrap();
    scene.discover();
    scene.asked();
    scene.forget_discovery();
    scene.run_kubectl(&["get", "widgets"]);
    let asked = scene.asked();
    // What older ones ask for differs in its words, and they compare those.
    match scene.minor {
        ..37 => assert_eq!(asked, ["200 /api?timeout=32s", "200 /apis?timeout=32s", WIDGETS]),
        _ => assert_eq!(asked, [unchanged[0], unchanged[1], WIDGETS]),
    }
}

fn documents_are_shared(scene: &Scene) {
    let document = "200 /openapi/v3/apis/example.com/v1?hash=H&timeout=32s";
    let explain = |expect: &[&str]| {
        scene.run_kubectl(&["explain", "widgets.spec"]);
        let asked = scene.asked();
        let asked: Vec<&str> = asked
            .iter()
            .map(String::as_str)
            .filter(|line| line.contains("openapi"))
            .collect();
        assert_eq!(asked, expect);
    };
    let read = || {
        let client = scene.client.layer(&HttpCacheLayer::new(scene.disk().http()));
        let openapi = OpenApiClient::new(&client);
        let version = GroupVersion::new("example.com", "v1");
        let document = scene
            .runtime
            .block_on(openapi.document_of(&version))
            .unwrap()
            .unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&document).unwrap(),
            openapi_document()
        );
        scene.asked()
    };
    explain(&["200 /openapi/v3?timeout=32s", document]);
    assert_eq!(read(), ["304 /openapi/v3?timeout=32s"]);
    std::fs::remove_dir_all(scene.folder.path().join("http")).unwrap();
    assert_eq!(read(), ["200 /openapi/v3?timeout=32s", document]);
    explain(&["304 /openapi/v3?timeout=32s"]);
}

async fn start(prefix: &'static str, log: Arc<Mutex<Vec<String>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = HttpService::from_fn(move |request| {
        let response = answer(prefix, &request);
        let target = request.uri().path_and_query().unwrap().as_str();
        let target = target.strip_prefix(prefix).unwrap_or(target);
        log.lock()
            .unwrap()
            .push(format!("{} {target}", response.status().as_u16()));
        async move { Ok(response) }
    });
    tokio::spawn(serve(
        listener,
        None,
        service,
        ServeLimits::default(),
        std::future::pending(),
    ));
    address
}

fn answer(prefix: &str, request: &Request<Body>) -> Response<Body> {
    let path = request.uri().path();
    let json = "application/json";
    let (media_type, tag, caching, body) = match path.strip_prefix(prefix).unwrap_or_default() {
        "/api" => (aggregated(request), "core", "public", discovery(core())),
        "/apis" => (aggregated(request), "groups", "public", discovery(groups())),
        "/openapi/v3" => (json, "documents", "no-cache, private", openapi(prefix)),
        "/openapi/v3/apis/example.com/v1" => (json, "H", "public, immutable", openapi_document()),
        "/apis/example.com/v1/namespaces/default/widgets" => {
            let list =
                json!({ "kind": "WidgetList", "apiVersion": "example.com/v1", "metadata": {}, "items": [] });
            (json, "", "no-cache, private", list)
        }
        _ => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        }
    };
    let mut response = Response::new(Body::from(body.to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type.parse().unwrap());
    headers.insert(header::CACHE_CONTROL, caching.parse().unwrap());
    headers.insert(header::VARY, "Accept".parse().unwrap());
    if caching.contains("immutable") {
        let year = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * 365);
        let expires = jiff::fmt::rfc2822::DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&year)
            .unwrap();
        headers.insert(header::EXPIRES, expires.parse().unwrap());
    }
    if !tag.is_empty() {
        let tag = format!("\"{tag}-{}\"", media_type.len());
        headers.insert(header::ETAG, tag.parse().unwrap());
        if request.headers().get(header::IF_NONE_MATCH) == headers.get(header::ETAG) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
        }
    }
    response
}

/// The format that the client likes best.
fn aggregated(request: &Request<Body>) -> &'static str {
    let accept = request.headers()[header::ACCEPT].to_str().unwrap();
    if accept.contains("v=v2;") {
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    } else {
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    }
}

fn discovery(items: Value) -> Value {
    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items })
}

fn resource(plural: &str, kind: &str, short: &str) -> Value {
    json!({
        "resource": plural,
        "responseKind": { "group": "", "version": "", "kind": kind },
        "scope": "Namespaced",
        "singularResource": kind.to_lowercase(),
        "verbs": ["get", "list"],
        "shortNames": [short],
        "categories": ["all"],
        "subresources": [
            { "subresource": "status", "responseKind": { "group": "", "version": "", "kind": kind }, "verbs": ["get"] },
            { "subresource": "scale", "responseKind": { "group": "autoscaling", "version": "v1", "kind": "Scale" },
              "verbs": ["get"] },
        ],
    })
}

fn core() -> Value {
    json!([{ "metadata": {}, "versions": [
        { "version": "v1", "freshness": "Current", "resources": [resource("pods", "Pod", "po")] },
    ] }])
}

fn groups() -> Value {
    json!([
        { "metadata": { "name": "example.com" }, "versions": [
            { "version": "v1", "freshness": "Current", "resources": [resource("widgets", "Widget", "wd")] },
            { "version": "v1beta1", "freshness": "Current", "resources": [resource("widgets", "Widget", "wd")] },
        ] },
        { "metadata": { "name": "metrics.k8s.io" }, "versions": [{ "version": "v1beta1", "freshness": "Stale" }] },
    ])
}

fn openapi(prefix: &str) -> Value {
    // As a proxy has it that knows of its prefix.
    json!({ "paths": { "apis/example.com/v1": {
        "serverRelativeURL": format!("{prefix}/openapi/v3/apis/example.com/v1?hash=H"),
    } } })
}

fn openapi_document() -> Value {
    let kind = json!({ "group": "example.com", "version": "v1", "kind": "Widget" });
    json!({
        "openapi": "3.0.0",
        "info": { "title": "widgets", "version": "v1" },
        "paths": { "/apis/example.com/v1/namespaces/{namespace}/widgets": { "get": {
            "responses": { "200": { "description": "OK" } },
            "x-kubernetes-action": "list",
            "x-kubernetes-group-version-kind": kind,
        } } },
        "components": { "schemas": { "com.example.v1.Widget": {
            "type": "object",
            "properties": { "spec": { "type": "string", "description": "What it is." } },
            "x-kubernetes-group-version-kind": [kind],
        } } },
    })
}
