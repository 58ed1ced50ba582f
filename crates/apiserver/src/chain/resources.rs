//! Requests for resources: finds what is asked for, reads the body and calls the handler.

use std::sync::Arc;

use http::Response;
use http::request::Parts;
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
    parts: &Parts,
    body: Body,
    identity: Identity,
    info: RequestInfo<'_>,
) -> ApiResult<Response<Body>> {
    if info.goes_too_far() {
        return paths::nothing(server, parts.uri.path());
    }
    let find = || -> ApiResult<Arc<Resource>> {
        let registry = server.registry();
        let resource = registry.find(info.group, info.version, info.resource);
        let resource = resource.cloned().ok_or_else(not_found)?;
        check_route(&info, resource.scope)?;
        Ok(resource)
    };
    // Nobody need send a body to where nothing is.
    let mut resource = match find() {
        Ok(resource) => resource,
        Err(_) if !is_served(server, &info) => return paths::nothing(server, parts.uri.path()),
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
    let mut call = Call {
        server,
        identity,
        info: info.clone(),
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
    warnings.extend(call.resource.deprecation.clone());
    if warnings.is_empty() {
        return result;
    }
    let mut response = result.unwrap_or_else(|error| failure(parts, error));
    handlers::warn(&mut response, &warnings);
    Ok(response)
}

fn is_served(server: &Server, info: &RequestInfo<'_>) -> bool {
    let registry = server.registry();
    registry.find(info.group, info.version, info.resource).is_some()
}

/// How often a write is tried whose definition changes meanwhile.
const STALE_TRIES: usize = 4;

/// Which paths there are, and which methods each has.
///
/// # Errors
/// 404 for a path that no object can have: one in a namespace has no path without it, and a cluster's object none within one.
/// 405 for a method that a collection or an object does not have: only collections are created in, only objects are updated.
fn check_route(info: &RequestInfo<'_>, scope: Scope) -> ApiResult<()> {
    let is_object = info.name.is_some();
    match (scope, &info.namespace) {
        (Scope::Cluster, Some(_)) => return Err(not_found()),
        (Scope::Namespaced, None) if is_object => return Err(not_found()),
        // The list of all namespaces can be read alone.
        (Scope::Namespaced, None) if !matches!(info.verb, Verb::List | Verb::Watch) => {
            return Err(not_allowed());
        }
        _ => {}
    }
    let fits = match info.verb {
        // Some subresources are made by create.
        Verb::Create => !is_object || !info.subresource.is_empty(),
        Verb::Update | Verb::Patch => is_object,
        _ => true,
    };
    if fits { Ok(()) } else { Err(not_allowed()) }
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
}
