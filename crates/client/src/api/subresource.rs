//! Subresources: status aside, what hangs below the path of an object.

use bytes::Bytes;
use http::{Method, Request};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::policy::v1::Eviction;
use kubewright_core::{DeleteOptions, ObjectMeta, Patch, PatchKind, Status, WriteOptions};
use kubewright_net::Body;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Api, ApplyOptions, encode};
use crate::client::Call;
use crate::error::Error;
use crate::raw::with_query;

/// Subresources.
impl<K> Api<K> {
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
        self.send(
            self.object("get", name, Some(subresource))?,
            Method::GET,
            "",
            None,
        )
        .await
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
        self.write(
            self.object("create", name, Some(subresource))?,
            Method::POST,
            body,
            options,
        )
        .await
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
        self.write(
            self.object("update", name, Some(subresource))?,
            Method::PUT,
            body,
            options,
        )
        .await
    }

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
        self.patch_object(name, Some(subresource), patch, options).await
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

    pub(super) async fn patch_object<T: DeserializeOwned + 'static>(
        &self,
        name: &str,
        subresource: Option<&str>,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<T, Error> {
        let call = self.object("patch", name, subresource)?;
        if matches!(patch, Patch::Apply(_)) {
            if options.field_manager.is_empty() {
                return Err(call.invalid("server-side apply needs a field manager"));
            }
        } else if options.force {
            return Err(call.invalid("only server-side apply can be forced"));
        }
        let body = encode(&call, patch.body())?;
        let media_type = patch.kind().media_type();
        self.send(call, Method::PATCH, &options.to_query(), Some((media_type, body)))
            .await
    }

    pub(super) async fn apply_object<B: Serialize + ?Sized, T: DeserializeOwned + 'static>(
        &self,
        call: Call,
        object: &B,
        options: &ApplyOptions,
    ) -> Result<T, Error> {
        if options.field_manager.is_empty() {
            return Err(call.invalid("server-side apply needs a field manager"));
        }
        let body = encode(&call, object)?;
        let media_type = PatchKind::Apply.media_type();
        self.send(
            call,
            Method::PATCH,
            &options.to_write_options().to_query(),
            Some((media_type, body)),
        )
        .await
    }
}

impl Api<Pod> {
    /// Evicts a pod: deletes it unless a disruption budget forbids that.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_too_many_requests`] while a budget forbids it.
    pub async fn evict(&self, name: &str, delete_options: Option<&DeleteOptions>) -> Result<Status, Error> {
        let call = self.object("create", name, Some("eviction"))?;
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: self.namespace.clone(),
            ..ObjectMeta::default()
        };
        let mut eviction = encode_value(
            &call,
            &Eviction {
                metadata,
                delete_options: None,
            },
        )?;
        if let Some(options) = delete_options {
            eviction["deleteOptions"] = encode_value(&call, options)?;
        }
        self.write(call, Method::POST, &eviction, &WriteOptions::default())
            .await
    }

    /// What a container of a pod has written, as a stream: text, one line after the other.
    ///
    /// `query` holds the options of `PodLogOptions`, for example `container=main&follow=true&tailLines=10`.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_bad_request`] if the container has not started.
    pub async fn logs(&self, name: &str, query: &str) -> Result<Body, Error> {
        let call = self.object("get", name, Some("log"))?;
        let request = Request::builder()
            .uri(with_query(&call.path, query))
            .body(Bytes::new())
            .map_err(|error| call.invalid(error))?;
        Ok(self.client.open(&call, request).await?.into_body())
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

fn encode_value<B: Serialize>(call: &Call, body: &B) -> Result<serde_json::Value, Error> {
    serde_json::to_value(body).map_err(|error| call.invalid(error))
}
