//! `NamespaceLifecycle`: nothing is made in a namespace that is not there or ends, and the first namespaces stay.
//!
//! Upstream: apiserver pkg/admission/plugin/namespace/lifecycle/admission.go. There it follows namespaces by a watch and waits for that; here it
//! reads the store, which is never behind.

use kubewright_core::{GroupResource, Status, StatusCause, StatusDetails};
use serde_json::Value;

use super::attributes::{Attributes, Operation};
use crate::error::{ApiError, ApiResult};
use crate::storage::Key;

/// Lets a request pass; `object` is the one that is sent.
///
/// # Errors
/// 404 where something is made in a namespace that is not there, 403 where that is being terminated, and for the deletion of a namespace that
/// every cluster needs.
pub(super) async fn check(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    match attributes.operation {
        Operation::Delete if attributes.is_namespace() && IMMORTAL.contains(&attributes.name.as_str()) => {
            Err(attributes.forbidden(object, "this namespace may not be deleted"))
        }
        Operation::Create if !attributes.is_namespace() => check_namespace(attributes, object).await,
        _ => Ok(()),
    }
}

async fn check_namespace(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    let call = attributes.call;
    let Some(namespace) = call.namespace() else {
        return Ok(());
    };
    let found = call
        .server
        .storage()
        .get(Key::new("", "namespaces", None, namespace))
        .await
        .map_err(|error| call.storage_error(error))?;
    let Some(found) = found else {
        return Err(Status::not_found(&GroupResource::new("", "namespaces"), namespace).into());
    };
    // Nearly always the text tells without being decoded.
    let is_terminating =
        || found.value().pointer("/status/phase").and_then(Value::as_str) == Some(TERMINATING);
    if !found.may_have(TERMINATING) || !is_terminating() {
        return Ok(());
    }
    Err(terminating(attributes, object, namespace))
}

fn terminating(attributes: &Attributes<'_>, object: Option<&Value>, namespace: &str) -> ApiError {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = attributes.forbidden(object, why).status().clone();
    let details = status.details.get_or_insert_with(StatusDetails::default);
    details.causes.push(StatusCause {
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    });
    status.into()
}

/// The phase of a namespace that is being deleted.
const TERMINATING: &str = "Terminating";

/// The namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::test_support::TestServer;
    use crate::{AdmissionPlugin, AdmissionPlugins, Options};

    fn map(name: &str, generate: &str) -> serde_json::Value {
        let metadata = match name {
            "" => json!({"generateName": generate}),
            name => json!({"name": name}),
        };
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    }

    #[tokio::test]
    async fn what_is_refused() {
        let server = TestServer::start().await;
        let maps = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps");
        let answer = server.post(&maps("none"), &map("m", "")).await;
        assert_eq!(answer.message(404), "namespaces \"none\" not found");
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}});
        assert_eq!(server.post("/api/v1/namespaces", &namespace).await.code, 201);
        assert_eq!(server.delete("/api/v1/namespaces/ending").await.code, 200);
        for (name, generate, shown) in [("m", "", "m"), ("", "m-", "m-")] {
            let answer = server.post(&maps("ending"), &map(name, generate)).await;
            let why = format!(
                "configmaps {shown:?} is forbidden: unable to create new content in namespace ending because it is being terminated"
            );
            assert_eq!(answer.message(403), why);
            let cause = &answer.body["details"]["causes"][0];
            assert_eq!(cause["reason"], "NamespaceTerminating");
            assert_eq!(cause["message"], "namespace ending is being terminated");
            assert_eq!(cause["field"], "metadata.namespace");
        }
        for name in super::IMMORTAL {
            let answer = server.delete(&format!("/api/v1/namespaces/{name}")).await;
            let why = format!("namespaces {name:?} is forbidden: this namespace may not be deleted");
            assert_eq!(answer.message(403), why);
        }
        assert_eq!(
            server.delete("/api/v1/namespaces/kube-node-lease").await.code,
            200
        );
    }

    #[tokio::test]
    async fn without_it_namespaces_are_only_words() {
        let server = TestServer::with(Options {
            admission: AdmissionPlugins::default().without(AdmissionPlugin::NamespaceLifecycle),
            ..Options::default()
        })
        .await;
        let answer = server
            .post("/api/v1/namespaces/none/configmaps", &map("m", ""))
            .await;
        assert_eq!(answer.code, 201);
    }
}
