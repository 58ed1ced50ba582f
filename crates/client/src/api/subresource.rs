//! Subresources: status aside, what hangs below the path of an object.

use http::Method;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Binding, Namespace, ObjectReference, Pod, ServiceAccount};
use kubewright_core::{DeleteOptions, ObjectMeta, Patch, Resource, ScopeKind, Status, WriteOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Api;
use crate::error::Error;

/// Subresources.
impl<K: Resource, S: ScopeKind> Api<K, S> {
    /// Reads a subresource.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn get_subresource<T: DeserializeOwned + 'static>(
        &self,
        name: &str,
        subresource: &str,
    ) -> Result<T, Error> {
        let request = self.object_request(Method::GET, name);
        request.subresource(subresource).json().await
    }

    /// Creates a subresource, as an eviction or a token.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub async fn create_subresource<B: Serialize + ?Sized, T: DeserializeOwned + 'static>(
        &self,
        name: &str,
        subresource: &str,
        body: &B,
        options: &WriteOptions,
    ) -> Result<T, Error> {
        let request = self.object_request(Method::POST, name).subresource(subresource);
        request.write_options(options).body_json(body).json().await
    }

    /// Replaces a subresource.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_subresource<B: Serialize + ?Sized, T: DeserializeOwned + 'static>(
        &self,
        name: &str,
        subresource: &str,
        body: &B,
        options: &WriteOptions,
    ) -> Result<T, Error> {
        let request = self.object_request(Method::PUT, name).subresource(subresource);
        request.write_options(options).body_json(body).json().await
    }

    /// Reads the scale of an object: how many replicas it should have and has.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_not_found`] also if the kind has no scale.
    pub async fn get_scale(&self, name: &str) -> Result<Scale, Error> {
        self.get_subresource(name, "scale").await
    }

    /// Replaces the scale of an object.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_scale(
        &self,
        name: &str,
        scale: &Scale,
        options: &WriteOptions,
    ) -> Result<Scale, Error> {
        self.replace_subresource(name, "scale", scale, options).await
    }
}

/// Patches of subresources.
impl<K: Resource + DeserializeOwned + 'static, S: ScopeKind> Api<K, S> {
    /// Changes a subresource by a patch.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub async fn patch_subresource<T: DeserializeOwned + 'static>(
        &self,
        name: &str,
        subresource: &str,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<T, Error> {
        let request = self.patch_request(name, patch, options);
        request.subresource(subresource).json().await
    }

    /// Changes the scale of an object by a patch.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub async fn patch_scale(
        &self,
        name: &str,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<Scale, Error> {
        self.patch_subresource(name, "scale", patch, options).await
    }
}

impl Api<Pod> {
    /// Evicts a pod: deletes it unless a disruption budget forbids that.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_too_many_requests`] while a budget forbids it.
    pub async fn evict(&self, name: &str, delete_options: Option<&DeleteOptions>) -> Result<Status, Error> {
        let mut eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "name": name, "namespace": self.namespace() },
        });
        if let Some(options) = delete_options {
            eviction["deleteOptions"] = json!(options);
        }
        self.create_subresource(name, "eviction", &eviction, &WriteOptions::default())
            .await
    }

    /// Puts a pod that has no node yet on one, as schedulers do.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_conflict`] if it has a node.
    pub async fn bind(&self, name: &str, node: &str) -> Result<Status, Error> {
        let binding = Binding {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: self.namespace.clone(),
                ..ObjectMeta::default()
            },
            target: ObjectReference {
                kind: Some("Node".to_owned()),
                name: Some(node.to_owned()),
                ..ObjectReference::default()
            },
        };
        self.create_subresource(name, "binding", &binding, &WriteOptions::default())
            .await
    }

    /// Adds containers for debugging to a running pod: those in the spec of `pod` that are not there yet.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_ephemeral_containers(
        &self,
        name: &str,
        pod: &Pod,
        options: &WriteOptions,
    ) -> Result<Pod, Error> {
        self.replace_subresource(name, "ephemeralcontainers", pod, options)
            .await
    }

    /// Changes what a running pod may use of processors and memory.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_resize(&self, name: &str, pod: &Pod, options: &WriteOptions) -> Result<Pod, Error> {
        self.replace_subresource(name, "resize", pod, options).await
    }
}

impl Api<ServiceAccount> {
    /// Has a token made for a service account.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn create_token(&self, name: &str, request: &TokenRequest) -> Result<TokenRequest, Error> {
        self.create_subresource(name, "token", request, &WriteOptions::default())
            .await
    }
}

impl Api<CertificateSigningRequest> {
    /// Replaces the conditions of a request for a certificate, among which are its approval and its denial.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_approval(
        &self,
        name: &str,
        request: &CertificateSigningRequest,
        options: &WriteOptions,
    ) -> Result<CertificateSigningRequest, Error> {
        self.replace_subresource(name, "approval", request, options).await
    }
}

impl Api<Namespace> {
    /// Replaces what holds a namespace that is being deleted, in `spec.finalizers`.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_finalize(
        &self,
        name: &str,
        namespace: &Namespace,
        options: &WriteOptions,
    ) -> Result<Namespace, Error> {
        self.replace_subresource(name, "finalize", namespace, options)
            .await
    }
}
