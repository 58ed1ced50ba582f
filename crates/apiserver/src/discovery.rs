//! Discovery: which groups, versions and resources are served.
//!
//! Both forms of it: legacy documents, one per group and version, and the aggregated list of KEP-3352. Made from the
//! [`Registry`] when first asked for and kept until it changes.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use kubewright_core::{Scope, Status};
use kubewright_kinds::protobuf;
use kubewright_net::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::codec;
use crate::error::{ApiResult, json_response};
use crate::handlers::response;
use crate::registry::{Group, Registry, Resource, Version};
use crate::request::media::{self, Encoding, Endpoint, JSON, PROTOBUF, YAML, accept_clauses};
use crate::server::Server;

/// The aggregated documents of one registry.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Option<(Arc<Registry>, Aggregated, Aggregated)>>);

/// A document with its tag.
#[derive(Clone, Debug)]
struct Aggregated {
    body: bytes::Bytes,
    etag: HeaderValue,
}

/// The answer for a discovery path; `None` for another path.
///
/// # Errors
/// 406 when the client accepts no form of it.
pub(crate) fn respond(server: &Server, path: &str, headers: &HeaderMap) -> ApiResult<Option<Response<Body>>> {
    let registry = server.registry();
    let document = match path {
        "/api" | "/apis" => {
            let is_core = path == "/api";
            let encoding = match form(headers)? {
                Form::Aggregated(encoding) => {
                    return aggregated(server, &registry, is_core, (headers, encoding)).map(Some);
                }
                Form::Legacy(encoding) => encoding,
            };
            let document = if is_core {
                core_versions(server.options.advertise_address)
            } else {
                group_list(&registry)
            };
            return legacy(encoding, &document).map(Some);
        }
        "/" => {
            let document = json!({"paths": paths(&registry)});
            return Ok(Some(json_response(StatusCode::OK, codec::to_json(&document))));
        }
        _ => match path
            .strip_prefix("/apis/")
            .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
        {
            Some((group, "")) => match registry
                .groups()
                .iter()
                .find(|g| g.name == group && !group.is_empty())
            {
                Some(group) => with_type(group_document(group), "APIGroup"),
                None => return Ok(None),
            },
            Some((group, version)) => match registry.version(group, version) {
                Some(version) if !group.is_empty() => resource_list(group, version),
                _ => return Ok(None),
            },
            None => match path
                .strip_prefix("/api/")
                .and_then(|version| registry.version("", version))
            {
                Some(version) => resource_list("", version),
                None => return Ok(None),
            },
        },
    };
    let accepted = media::negotiate(headers, "", Endpoint::Status)?;
    legacy(accepted.encoding, &document).map(Some)
}

/// The version that is emulated, as `/version` tells it. Clients compare the minor with their own.
pub(crate) fn version() -> Response<Body> {
    let minor = kubewright_kinds::KUBERNETES_MINOR;
    let body = json!({
        "major": "1",
        "minor": minor.to_string(),
        "emulationMajor": "1",
        "emulationMinor": minor.to_string(),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": (minor - 1).to_string(),
        "gitVersion": format!("v1.{minor}.0+kubewright"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, go_arch()),
    });
    json_response(StatusCode::OK, codec::to_json(&body))
}

fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A form of the documents of `/api` and `/apis`.
enum Form {
    Legacy(Encoding),
    Aggregated(Encoding),
}

/// The first form that the client accepts and we offer.
fn form(headers: &HeaderMap) -> ApiResult<Form> {
    for clause in accept_clauses(headers) {
        let Some(encoding) = media::encoding_of(&clause) else {
            continue;
        };
        match (
            clause.parameter("g"),
            clause.parameter("v"),
            clause.parameter("as"),
        ) {
            (None, None, None) => {
                let accepted = media::negotiate(headers, "", Endpoint::Status)?;
                let is_same = matches!(
                    (encoding, accepted.encoding),
                    (Encoding::Json, Encoding::PrettyJson)
                );
                return Ok(Form::Legacy(if is_same { accepted.encoding } else { encoding }));
            }
            (Some("apidiscovery.k8s.io"), Some("v2"), Some("APIGroupDiscoveryList")) => {
                return Ok(Form::Aggregated(encoding));
            }
            _ => {}
        }
    }
    Err(media::not_acceptable(&[JSON, YAML, PROTOBUF]))
}

/// A legacy document. The first versions of them do not say of which version they are.
fn legacy(encoding: Encoding, document: &Value) -> ApiResult<Response<Body>> {
    let body = match encoding {
        Encoding::Protobuf => {
            let kind = document["kind"].as_str().unwrap_or_default();
            protobuf::encode("v1", kind, document)
                .map_err(Status::internal_error)?
                .into()
        }
        encoding => response::encode(encoding, document)?,
    };
    Ok(response::respond(encoding, StatusCode::OK, body))
}

fn aggregated(
    server: &Server,
    registry: &Arc<Registry>,
    is_core: bool,
    (headers, encoding): (&HeaderMap, Encoding),
) -> ApiResult<Response<Body>> {
    let document = {
        let mut cache = server.discovery.0.lock();
        let (_, core, groups) = match &mut *cache {
            Some(kept) if Arc::ptr_eq(&kept.0, registry) => kept,
            other => other.insert((
                registry.clone(),
                aggregate(registry, true),
                aggregate(registry, false),
            )),
        };
        if is_core { core.clone() } else { groups.clone() }
    };
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known == document.etag);
    let mut response = if is_known {
        Response::new(Body::empty())
    } else if encoding == Encoding::Json {
        json_response(StatusCode::OK, document.body)
    } else {
        let value = codec::read_json(&document.body)
            .map_err(Status::internal_error)?
            .value;
        response::respond(encoding, StatusCode::OK, response::encode(encoding, &value)?)
    };
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::ETAG, document.etag);
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    let media_type = format!(
        "{};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        encoding.media_type()
    );
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::try_from(media_type).map_err(Status::internal_error)?,
    );
    Ok(response)
}

fn aggregate(registry: &Registry, is_core: bool) -> Aggregated {
    let groups = registry
        .groups()
        .iter()
        .filter(|group| group.name.is_empty() == is_core);
    let items: Vec<Value> = groups.map(discovered_group).collect();
    let body = codec::to_json(&json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }));
    let hash = Sha256::digest(&body);
    let tag: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
    let etag = HeaderValue::from_str(&format!("\"{tag}\"")).unwrap_or(HeaderValue::from_static("\"\""));
    Aggregated { body, etag }
}

fn discovered_group(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = version
                .resources
                .iter()
                .map(|resource| discovered(resource))
                .collect();
            json!({"version": version.name, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let metadata = if group.name.is_empty() {
        json!({})
    } else {
        json!({"name": group.name})
    };
    json!({"metadata": metadata, "versions": versions})
}

fn discovered(resource: &Resource) -> Value {
    // Of built-in resources, upstream leaves out what is the same as that of the document (apiserver `pkg/endpoints/installer.go`).
    let is_builtin = resource.model.builtin_type().is_some();
    let kind = |group: &str, version: &str, kind: &str| {
        if is_builtin && (group, version) == (&*resource.group, &*resource.version) {
            return json!({"group": "", "version": "", "kind": kind});
        }
        json!({"group": group, "version": version, "kind": kind})
    };
    let mut item = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": match resource.scope { Scope::Namespaced => "Namespaced", Scope::Cluster => "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        item["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        item["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        let subresource = |sub: &crate::registry::Subresource| {
            json!({
                "subresource": sub.name,
                "responseKind": kind(&sub.group, &sub.version, &sub.kind),
                "verbs": sub.verbs,
            })
        };
        item["subresources"] = resource.subresources.iter().map(subresource).collect();
    }
    item
}

fn core_versions(address: std::net::SocketAddr) -> Value {
    let everywhere = json!({"clientCIDR": "0.0.0.0/0", "serverAddress": address.to_string()});
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [everywhere]})
}

fn group_list(registry: &Registry) -> Value {
    let groups = registry.groups().iter().filter(|group| !group.name.is_empty());
    with_type(
        json!({"groups": groups.map(group_document).collect::<Vec<_>>()}),
        "APIGroupList",
    )
}

fn group_document(group: &Group) -> Value {
    let version = |version: &Version| json!({"groupVersion": format!("{}/{}", group.name, version.name), "version": version.name});
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "preferredVersion": versions.first(), "versions": versions})
}

fn resource_list(group: &str, version: &Version) -> Value {
    let group_version = if group.is_empty() {
        version.name.clone()
    } else {
        format!("{group}/{}", version.name)
    };
    let mut resources = Vec::new();
    for resource in &version.resources {
        let is_namespaced = resource.scope == Scope::Namespaced;
        let mut item = json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": is_namespaced,
            "kind": resource.kind,
            "verbs": resource.verbs,
        });
        if !resource.short_names.is_empty() {
            item["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            item["categories"] = json!(resource.categories);
        }
        // What only can be read is computed, not stored.
        if resource.offers("list") && resource.offers("create") {
            item["storageVersionHash"] = storage_version_hash(resource).into();
        }
        resources.push(item);
        for sub in &resource.subresources {
            let mut item = json!({
                "name": format!("{}/{}", resource.plural, sub.name),
                "singularName": "",
                "namespaced": is_namespaced,
                "kind": sub.kind,
                "verbs": sub.verbs,
            });
            if (sub.group.as_str(), sub.version.as_str()) != (group, version.name.as_str()) {
                item["group"] = json!(sub.group);
                item["version"] = json!(sub.version);
            }
            resources.push(item);
        }
    }
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    if !group.is_empty() {
        list["apiVersion"] = json!("v1");
    }
    list
}

/// As apiserver pkg/endpoints/discovery/storageversionhash.go makes it.
fn storage_version_hash(resource: &Resource) -> String {
    use base64::Engine;
    let name = format!(
        "{}/{}/{}",
        resource.storage_group(),
        resource.storage_version(),
        resource.kind
    );
    base64::engine::general_purpose::STANDARD.encode(&Sha256::digest(name)[..8])
}

fn paths(registry: &Registry) -> Vec<String> {
    let mut paths = vec![
        "/api".to_owned(),
        "/api/v1".to_owned(),
        "/apis".to_owned(),
        "/apis/".to_owned(),
    ];
    for group in registry.groups().iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(
            group
                .versions
                .iter()
                .map(|version| format!("/apis/{}/{}", group.name, version.name)),
        );
    }
    let others = ["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"];
    paths.extend(others.map(str::to_owned));
    paths.sort();
    paths
}

fn with_type(mut document: Value, kind: &str) -> Value {
    document["kind"] = kind.into();
    document["apiVersion"] = "v1".into();
    document
}
