//! The layer on a manager's client that tells barriers of writes.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hashbrown::HashMap;
use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::NamespaceSpec;
use kubewright_cache::WatchScope;
use kubewright_client::Client;
use kubewright_core::{DeleteOptions, GroupResource, ObjectKey, ObjectMeta, ResourceVersion, WriteOptions};
use kubewright_net::{Body, HttpService, TransportError};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::barrier::{Barrier, Written};

/// The barriers of all informers of a manager.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes(Arc<Mutex<HashMap<GroupResource, Vec<Arc<Barrier>>>>>);

impl Writes {
    /// The barrier of the informer of a resource in a scope.
    pub(crate) fn barrier(&self, resource: &GroupResource, scope: &WatchScope) -> Arc<Barrier> {
        let mut barriers = self.0.lock();
        let barriers = barriers.entry(resource.clone()).or_default();
        if let Some(barrier) = barriers.iter().find(|barrier| barrier.scope() == scope) {
            return Arc::clone(barrier);
        }
        let barrier = Arc::new(Barrier::new(scope.clone()));
        barriers.push(Arc::clone(&barrier));
        barrier
    }

    /// The client with its writes remembered here.
    pub(crate) fn follow(&self, client: &Client) -> Client {
        let writes = self.clone();
        client.layer(&tower_layer::layer_fn(move |inner: HttpService| {
            let writes = writes.clone();
            HttpService::from_fn(move |request| Self::send(writes.clone(), inner.clone(), request))
        }))
    }

    async fn send(
        self,
        inner: HttpService,
        request: Request<Body>,
    ) -> Result<Response<Body>, TransportError> {
        let target = self.target(&request);
        let response = inner.send(request).await?;
        let Some(target) = target.filter(|_| response.status().is_success()) else {
            return Ok(response);
        };
        let (parts, body) = response.into_parts();
        let bytes = match body.as_bytes() {
            Some(bytes) => bytes.clone(),
            None => body
                .collect_limited(MAX_ANSWER_BYTES)
                .await
                .map_err(|error| TransportError::other("reading the answer to a write", error))?,
        };
        if let Some(written) = read(&target, &bytes) {
            let now = Instant::now();
            for barrier in &target.barriers {
                barrier.record(&written, now);
            }
        }
        Ok(Response::from_parts(parts, Body::from(bytes)))
    }

    /// What a request writes, if it writes one object that an informer follows.
    fn target(&self, request: &Request<Body>) -> Option<Target> {
        let method = request.method();
        if ![Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(method) || is_dry_run(request)
        {
            return None;
        }
        let path = parse(request.uri().path())?;
        // A delete without a name is that of a collection.
        if path.name.is_none() && *method != Method::POST {
            return None;
        }
        let barriers = self.0.lock().get(&path.resource).cloned()?;
        Some(Target { path, barriers })
    }
}

/// Whether nothing is to be stored. A query that cannot be read is refused by the server anyway; a delete may say it in
/// its body.
fn is_dry_run(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    if WriteOptions::from_query(query).is_ok_and(|options| options.dry_run) {
        return true;
    }
    let body = match *request.method() {
        Method::DELETE => request.body().as_bytes(),
        _ => None,
    };
    body.and_then(|body| serde_json::from_slice::<DeleteOptions>(body).ok())
        .is_some_and(|options| options.is_dry_run())
}

struct Target {
    path: WritePath,
    barriers: Vec<Arc<Barrier>>,
}

#[derive(Debug, PartialEq, Eq)]
struct WritePath {
    resource: GroupResource,
    namespace: Option<String>,
    name: Option<String>,
}

/// Reads a path of the API, whatever stands before it. `None` for subresources that do not answer with the state of their
/// object.
fn parse(path: &str) -> Option<WritePath> {
    let mut segments = path.split('/').skip_while(|s| *s != "api" && *s != "apis");
    let group = match segments.next()? {
        "api" => "",
        _ => segments.next()?,
    };
    let _version = segments.next()?;
    let mut rest: Vec<&str> = segments.filter(|segment| !segment.is_empty()).collect();
    let mut namespace = None;
    // /namespaces/NAME and /namespaces/NAME/status are those of a namespace itself.
    if rest.len() > 2 && rest[0] == "namespaces" && !NAMESPACE_SUBRESOURCES.contains(&rest[2]) {
        namespace = Some(rest[1].to_owned());
        rest.drain(..2);
    }
    let (resource, name) = match rest[..] {
        [resource] => (resource, None),
        [resource, name] => (resource, Some(name)),
        [resource, name, subresource] if STATE_SUBRESOURCES.contains(&subresource) => (resource, Some(name)),
        _ => return None,
    };
    Some(WritePath {
        resource: GroupResource::new(group, resource),
        namespace,
        name: name.map(str::to_owned),
    })
}

/// Reads what the answer says; `None` when it does not say enough.
fn read(target: &Target, body: &Bytes) -> Option<Written> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        metadata: ObjectMeta,
        #[serde(borrow)]
        spec: Option<&'a RawValue>,
        details: Option<Details>,
    }
    #[derive(Deserialize)]
    struct Details {
        #[serde(default)]
        uid: String,
    }
    let answer: Answer<'_> = serde_json::from_slice(body).ok()?;
    let path = &target.path;
    if answer.kind == "Status" {
        let (uid, name) = (answer.details?.uid, path.name.as_deref()?);
        return (!uid.is_empty()).then(|| Written {
            key: ObjectKey::of(path.namespace.as_deref(), name),
            uid,
            version: ResourceVersion::default(),
            labels: None,
            gone: true,
        });
    }
    let metadata = answer.metadata;
    let name = path.name.clone().or(metadata.name)?;
    // Whatever waits for nothing any more is gone, with this write at the latest.
    let gone = metadata.deletion_timestamp.is_some()
        && metadata.finalizers.is_none_or(|finalizers| finalizers.is_empty())
        && metadata.deletion_grace_period_seconds.unwrap_or(0) == 0
        && !(path.resource == GroupResource::new("", "namespaces")
            && answer.spec.is_some_and(has_finalizers));
    Some(Written {
        key: ObjectKey::of(path.namespace.as_deref(), &name),
        uid: metadata.uid?,
        version: ResourceVersion::new(metadata.resource_version?),
        labels: (answer.kind != "Scale").then(|| metadata.labels.unwrap_or_default().into_iter().collect()),
        gone,
    })
}

/// Namespaces are held by finalizers in their spec too.
fn has_finalizers(spec: &RawValue) -> bool {
    let spec: Option<NamespaceSpec> = serde_json::from_str(spec.get()).ok();
    spec.and_then(|spec| spec.finalizers)
        .is_some_and(|finalizers| !finalizers.is_empty())
}

const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Subresources that answer with their object, or, as scales do, with its uid and version.
const STATE_SUBRESOURCES: [&str; 6] = [
    "status",
    "scale",
    "finalize",
    "approval",
    "resize",
    "ephemeralcontainers",
];

/// Bytes of the answer to a write that is read here: more than any server stores.
const MAX_ANSWER_BYTES: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dry_runs_write_nothing() {
        let body = r#"{"kind":"DeleteOptions","dryRun":["All"]}"#;
        let rows = [
            ("DELETE", "", "", false),
            ("DELETE", "", "{}", false),
            ("DELETE", "", body, true),
            ("DELETE", "?dryRun=All", "", true),
            ("DELETE", "?dryRun=", "", false),
            ("PUT", "?dryRun=All&fieldManager=a", "{}", true),
            ("PUT", "?dry%52un=All", "{}", true),
            ("PUT", "?fieldManager=dryRun", "{}", false),
            ("PUT", "?fieldManager=dryRun%3DAll", "{}", false),
            // The object of another verb is no delete options.
            ("PUT", "", body, false),
        ];
        let writes = Writes::default();
        writes.barrier(&GroupResource::new("", "pods"), &WatchScope::default());
        for (method, query, body, expect) in rows {
            let request = Request::builder()
                .method(method)
                .uri(format!("/api/v1/namespaces/a/pods/b{query}"))
                .body(Body::from(body))
                .unwrap();
            let followed = writes.target(&request).is_some();
            assert_eq!(!followed, expect, "{method} {query} {body}");
        }
    }

    #[test]
    fn paths_name_what_is_written() {
        type Row<'a> = (
            &'a str,
            Option<(&'a str, &'a str, Option<&'a str>, Option<&'a str>)>,
        );
        let rows: [Row<'_>; 12] = [
            ("/api/v1/namespaces/a/pods", Some(("", "pods", Some("a"), None))),
            (
                "/api/v1/namespaces/a/pods/b",
                Some(("", "pods", Some("a"), Some("b"))),
            ),
            (
                "/api/v1/namespaces/a/pods/b/status",
                Some(("", "pods", Some("a"), Some("b"))),
            ),
            ("/api/v1/namespaces/a/pods/b/exec", None),
            ("/api/v1/namespaces/a/pods/b/binding", None),
            ("/api/v1/namespaces/a", Some(("", "namespaces", None, Some("a")))),
            (
                "/api/v1/namespaces/a/finalize",
                Some(("", "namespaces", None, Some("a"))),
            ),
            ("/api/v1/namespaces", Some(("", "namespaces", None, None))),
            (
                "/apis/apps/v1/namespaces/a/deployments/b/scale",
                Some(("apps", "deployments", Some("a"), Some("b"))),
            ),
            (
                "/k8s/clusters/x/apis/e.io/v1/widgets/w",
                Some(("e.io", "widgets", None, Some("w"))),
            ),
            ("/apis/e.io", None),
            ("/healthz", None),
        ];
        for (path, expect) in rows {
            let found = parse(path);
            let expect = expect.map(|(group, resource, namespace, name)| WritePath {
                resource: GroupResource::new(group, resource),
                namespace: namespace.map(str::to_owned),
                name: name.map(str::to_owned),
            });
            assert_eq!(found, expect, "{path}");
        }
    }
}
