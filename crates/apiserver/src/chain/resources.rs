//! Requests for resources: finds what is asked for, reads the body and calls the handler.

use std::sync::Arc;

use http::request::Parts;
use http::{Method, Response};
use kubewright_core::{Scope, Status, StatusReason};
use kubewright_net::{Body, BodyError, Identity};

use super::{failure, not_allowed, not_found, paths};
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::Conversions;
use crate::handlers::{self, Call};
use crate::registry::Resource;
use crate::request::{RequestInfo, Verb};
use crate::server::Server;

/// Answers a request for a resource.
///
/// # Errors
/// 404 and 405 where there is nothing to be asked, 413 for a body that is too large, and those of the handlers.
pub(super) async fn answer(
    server: &Arc<Server>,
    (parts, path): (&Parts, &str),
    body: Body,
    identity: Identity,
    info: RequestInfo<'_>,
) -> ApiResult<Response<Body>> {
    if info.goes_too_far() {
        return paths::nothing(server, path);
    }
    let find = || -> ApiResult<Arc<Resource>> {
        let registry = server.registry();
        let resource = registry.find(info.group, info.version, info.resource);
        let resource = resource.cloned().ok_or_else(not_found)?;
        check_route(&info, &parts.method, &resource)?;
        Ok(resource)
    };
    // Nobody need send a body to where nothing is.
    let mut resource = match find() {
        Ok(resource) => resource,
        Err(error) if error.status().reason == StatusReason::NotFound => return paths::nothing(server, path),
        Err(error) => return Err(error),
    };
    let body = match info.verb {
        Verb::Get | Verb::List | Verb::Watch => bytes::Bytes::new(),
        _ => {
            let limit = server.options.max_body_bytes;
            let read = body.collect_limited(limit).await.map_err(unreadable)?;
            // A body may take its time, so what is served is asked again: the definition may be another by now.
            resource = find()?;
            read
        }
    };
    let is_custom_create = info.verb == Verb::Create && resource.model.custom().is_some();
    let mut call = Call {
        server,
        identity,
        info: RequestInfo {
            // Upstream does not look for it there.
            name: info.name.clone().filter(|_| !is_custom_create),
            ..info.clone()
        },
        resource,
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        warnings: handlers::Recorder::default(),
        conversions: Conversions::default(),
    };
    let mut result = handlers::dispatch(&call, &body).await;
    for _ in 1..STALE_TRIES {
        // A write that met a new definition stored nothing, and is done again by that.
        if !result
            .as_ref()
            .is_err_and(|error| error.status().reason == StatusReason::Conflict)
        {
            break;
        }
        let present = find()?;
        if Arc::ptr_eq(&present, &call.resource) {
            break;
        }
        call.resource = present;
        result = handlers::dispatch(&call, &body).await;
    }
    let mut warnings = call.warnings.take();
    let is_routed = |error: &ApiError| error.status().reason != StatusReason::MethodNotAllowed;
    if result.as_ref().err().is_none_or(is_routed) {
        warnings.extend(call.resource.deprecation.clone());
    }
    if warnings.is_empty() {
        return result;
    }
    let mut response = result.unwrap_or_else(|error| failure(parts, error));
    handlers::warn(&mut response, &warnings);
    Ok(response)
}

/// How often a write is tried whose definition changes meanwhile.
const STALE_TRIES: usize = 4;

/// Which paths there are, and which methods each has.
///
/// # Errors
/// 404 for a path that no object can have: one in a namespace has no path without it, and a cluster's object none within one.
/// Otherwise those of [`check_builtin`] and [`check_custom`].
fn check_route(info: &RequestInfo<'_>, method: &Method, resource: &Resource) -> ApiResult<()> {
    match (resource.scope, &info.namespace) {
        (Scope::Cluster, Some(_)) => return Err(not_found()),
        (Scope::Namespaced, None) if info.name.is_some() => return Err(not_found()),
        _ => {}
    }
    match (info.verb, resource.model.custom()) {
        (Verb::Other("proxy"), _) => return Err(not_found()),
        (Verb::Other(verb), Some(_)) => {
            return Err(Status::method_not_allowed(&resource.group_resource(), verb).into());
        }
        (Verb::Other(_), None) => return Err(not_allowed()),
        _ => {}
    }
    // The list of all namespaces can be read alone.
    let is_of_all = resource.scope == Scope::Namespaced && info.namespace.is_none();
    let is_read = matches!(info.verb, Verb::List | Verb::Watch);
    match resource.model.custom() {
        Some(_) if is_of_all && !is_read => Err(not_found()),
        Some(_) => check_custom(info),
        None if is_of_all && !is_read => Err(not_allowed()),
        None => check_builtin(info, method, resource),
    }
}

/// The table of routes of built-in kinds: only collections are created in, only objects are updated, and nothing is asked for by HEAD but
/// through a proxy.
///
/// # Errors
/// 405 for a method that a collection or an object does not have, 404 where there are no objects to be named.
fn check_builtin(info: &RequestInfo<'_>, method: &Method, resource: &Resource) -> ApiResult<()> {
    let is_object = info.name.is_some();
    if is_object && info.subresource.is_empty() {
        let mut verbs = ["get", "update", "patch", "delete"].into_iter();
        if !verbs.any(|verb| resource.offers(verb)) {
            return Err(not_found());
        }
    }
    if info.is_watch_path && !(info.subresource.is_empty() && resource.offers("watch")) {
        return Err(not_found());
    }
    let fits = match info.verb {
        // Some subresources are made by create.
        Verb::Create => !is_object || !info.subresource.is_empty(),
        Verb::Update | Verb::Patch => is_object,
        _ => true,
    };
    match fits && (method != Method::HEAD || info.subresource == "proxy") {
        true => Ok(()),
        false => Err(not_allowed()),
    }
}

/// There is no table for custom resources (apiextensions-apiserver pkg/apiserver/customresource_handler.go): a create looks at no name in
/// the path.
///
/// # Errors
/// 400 for a write that needs a name and has none.
fn check_custom(info: &RequestInfo<'_>) -> ApiResult<()> {
    match info.verb {
        Verb::Update | Verb::Patch if info.name.is_none() => {
            Err(Status::bad_request("name must be provided").into())
        }
        _ => Ok(()),
    }
}

fn unreadable(error: BodyError) -> ApiError {
    match error {
        BodyError::TooLarge { limit } => Status::failure(
            StatusReason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {limit}"),
        )
        .into(),
        _ => Status::bad_request("the request body could not be read to its end").into(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;
    use http::Request;
    use serde_json::json;

    use super::*;
    use crate::storage::{Encoded, Key};
    use crate::test_support::{DEFINITIONS, TestServer, definition};

    const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

    async fn with_widgets() -> Arc<TestServer> {
        let server = TestServer::start().await;
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let versions =
            json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
        server.define(&definition("widgets", "Widget", versions)).await;
        Arc::new(server)
    }

    fn post() -> http::request::Builder {
        Request::post(WIDGETS).header("content-type", "application/json")
    }

    fn widget() -> Bytes {
        let widget =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}});
        widget.to_string().into()
    }

    /// What is served is what is served when the body is there.
    #[tokio::test]
    async fn a_body_that_is_slower_than_a_change_of_definitions() {
        let server = with_widgets().await;
        let other = server.clone();
        let body = Body::stream(stream::once(async move {
            other
                .delete(&format!("{DEFINITIONS}/widgets.example.com"))
                .await
                .ok();
            other.eventually(WIDGETS, |answer| answer.code == 404).await;
            Ok(widget())
        }));
        assert_eq!(server.call(post(), body).await.code, 404);
    }

    /// A write is bound to the definition that it was made by until it is stored.
    #[tokio::test]
    async fn a_write_that_is_slower_than_a_change_of_definitions() {
        let server = with_widgets().await;
        let shared = server.server.shared();
        let alone = shared.definitions.write().await;
        let mut write = std::pin::pin!(server.call(post(), widget()));
        // It goes as far as to where it would be stored.
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(write.as_mut().poll(&mut context).is_pending());
        *shared.registry.write() = shared.builtin.clone();
        drop(alone);
        assert_eq!(write.await.code, 404);
    }
    /// What an update was to change goes, or comes, before it is stored: it is made, or changed, as upstream's `GuaranteedUpdate` sees to by
    /// looking again.
    #[tokio::test]
    async fn an_update_that_is_slower_than_others() {
        let server = TestServer::start().await;
        let services = "/api/v1/namespaces/default/services";
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
        let shared = server.server.shared();
        let mut before = service.clone();
        for (is_there, code) in [(true, 201), (false, 200)] {
            if is_there {
                assert_eq!(server.post(services, &service).await.code, 201);
            }
            let turn = shared.services.turn().await;
            let put = Request::put(format!("{services}/s")).header("content-type", "application/json");
            let mut changed = service.clone();
            changed["metadata"]["labels"] = json!({"is": "changed"});
            let mut put = std::pin::pin!(server.call(put, changed.to_string()));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(
                put.as_mut().poll(&mut context).is_pending(),
                "it waits for its turn"
            );
            let storage = shared.storage();
            let key = Key::new("", "services", Some("default"), "s");
            match is_there {
                true => {
                    let stored = storage.get(key.clone()).await.unwrap().unwrap();
                    storage.delete(key, stored.revision()).await.unwrap();
                }
                false => {
                    let other = Encoded::from_value(&before);
                    storage.create(key, other).await.unwrap();
                }
            }
            drop(turn);
            let answer = put.await;
            assert_eq!(answer.code, code, "{}", answer.body);
            before = answer.body;
            before["metadata"]["resourceVersion"].take();
            before["metadata"]["labels"].take();
            server.delete(&format!("{services}/s")).await.ok();
        }
    }
}
