//! Operations that carry a stream or text rather than an object: `exec`, `proxy`, `log` and their like.
//!
//! Upstream: apiserver `pkg/endpoints/installer.go`, where actions are `CONNECT`, and the options that each kind of connection takes as
//! parameters of its query (`k8s.io/api` `core/v1/types.go`).

use serde_json::{Map, Value, json};

use super::operation::{capitalized, tag, words};
use super::parameter::{Parameter, list};
use crate::builtin::connect::Connection;
use crate::registry::{Resource, Subresource, SubresourceKind};
use kubewright_core::Scope;

/// Whether a subresource is a connection. Logs are not: they are read as an object is.
pub(super) fn is_connection(subresource: &Subresource) -> bool {
    matches!(&subresource.behaviour, SubresourceKind::Connect(connection) if *connection != Connection::Log)
}

/// Adds the paths of a connection. What is passed through a proxy has paths of its own, below.
pub(super) fn add_paths(
    paths: &mut Map<String, Value>,
    path: &str,
    resource: &Resource,
    subresource: &Subresource,
    place: &[Parameter],
) {
    let options = options(&subresource.kind);
    let add = |paths: &mut Map<String, Value>, path: String, suffix: &str, below: &[Parameter]| {
        let mut item: Map<String, Value> = methods(subresource)
            .map(|method| {
                let operation = operation(method, resource, subresource, suffix);
                (method.to_owned(), operation)
            })
            .collect();
        let parameters = place.iter().chain(below).chain(options);
        item.insert("parameters".to_owned(), list(parameters));
        paths.insert(path, item.into());
    };
    add(paths, path.to_owned(), "", &[]);
    if options == PROXY {
        add(
            paths,
            format!("{path}/{{path}}"),
            "WithPath",
            &[Parameter::path("path")],
        );
    }
}

/// The methods behind the verbs of discovery. Who may do everything may also ask what there is.
fn methods(subresource: &Subresource) -> impl Iterator<Item = &'static str> {
    let passes_all = subresource.verbs.iter().any(|verb| verb == "delete");
    let of_verbs = subresource.verbs.iter().filter_map(|verb| match verb.as_str() {
        "create" => Some("post"),
        "get" => Some("get"),
        "update" => Some("put"),
        "patch" => Some("patch"),
        "delete" => Some("delete"),
        _ => None,
    });
    of_verbs.chain(passes_all.then_some(["head", "options"]).into_iter().flatten())
}

fn operation(method: &str, resource: &Resource, subresource: &Subresource, suffix: &str) -> Value {
    let Resource {
        group,
        version,
        kind,
        scope,
        ..
    } = resource;
    let namespaced = match scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "",
    };
    let (words, name) = (words(group, Some(version)), capitalized(&subresource.name));
    json!({
        "tags": [tag(group, Some(version))],
        "description": format!("connect {} requests to {} of {kind}", method.to_uppercase(), subresource.name),
        "operationId": format!("connect{words}{}{namespaced}{kind}{name}{suffix}", capitalized(method)),
        "responses": text_responses(&["*/*"]),
        "x-kubernetes-action": "connect",
        "x-kubernetes-group-version-kind":
            {"group": subresource.group, "version": subresource.version, "kind": subresource.kind},
    })
}

/// Answers that carry text.
pub(super) fn text_responses(types: &[&str]) -> Value {
    let content: Map<String, Value> = types
        .iter()
        .map(|&ty| (ty.to_owned(), json!({"schema": {"type": "string"}})))
        .collect();
    json!({"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}})
}

/// What the query may say, by the kind of the options.
fn options(kind: &str) -> &'static [Parameter] {
    match kind {
        "PodExecOptions" => EXEC,
        "PodAttachOptions" => ATTACH,
        "PodPortForwardOptions" => PORT_FORWARD,
        "PodProxyOptions" | "ServiceProxyOptions" | "NodeProxyOptions" => PROXY,
        _ => &[],
    }
}

/// What the query of a pod's log may say (`PodLogOptions`, which discovery does not name).
pub(super) const LOG: &[Parameter] = &[
    Parameter::text("container"),
    Parameter::flag("follow"),
    Parameter::flag("insecureSkipTLSVerifyBackend"),
    Parameter::number("limitBytes"),
    Parameter::flag("previous"),
    Parameter::number("sinceSeconds"),
    Parameter::text("stream"),
    Parameter::number("tailLines"),
    Parameter::flag("timestamps"),
];
/// In which forms a log is sent.
pub(super) const LOG_TYPES: &[&str] = &[
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
    "text/plain",
];
const EXEC: &[Parameter] = &[
    Parameter::text("command"),
    Parameter::text("container"),
    Parameter::flag("stderr"),
    Parameter::flag("stdin"),
    Parameter::flag("stdout"),
    Parameter::flag("tty"),
];
const ATTACH: &[Parameter] = &[
    Parameter::text("container"),
    Parameter::flag("stderr"),
    Parameter::flag("stdin"),
    Parameter::flag("stdout"),
    Parameter::flag("tty"),
];
const PORT_FORWARD: &[Parameter] = &[Parameter::number("ports")];
const PROXY: &[Parameter] = &[Parameter::text("path")];
