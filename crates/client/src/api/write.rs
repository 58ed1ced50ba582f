//! Writing: create, replace, patch, apply, delete.

use http::Method;
use kubewright_core::{
    Applicable, DeleteOptions, ListOptions, Patch, PatchKind, Resource, ScopeKind, TypeMeta, WriteOptions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Api, ApplyOptions, Deleted};
use crate::error::Error;
use crate::rest::RestRequest;

/// Writing whole objects.
impl<K: Resource + Serialize + DeserializeOwned + 'static, S: ScopeKind> Api<K, S> {
    /// Creates an object; the server chooses the name if only `generateName` is set.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_already_exists`], [`Error::is_invalid`].
    pub async fn create(&self, object: &K, options: &WriteOptions) -> Result<K, Error> {
        let request = self.within_scope(Method::POST);
        self.send(request.write_options(options).body_json(object)).await
    }

    /// Replaces an object, if it has not changed since the version in its metadata.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_conflict`] if it has changed.
    pub async fn replace(&self, name: &str, object: &K, options: &WriteOptions) -> Result<K, Error> {
        let request = self.object_request(Method::PUT, name);
        self.send(request.write_options(options).body_json(object)).await
    }

    /// Replaces the status of an object; everything else in `object` but the version is ignored.
    ///
    /// # Errors
    ///
    /// As [`replace`](Self::replace).
    pub async fn replace_status(&self, name: &str, object: &K, options: &WriteOptions) -> Result<K, Error> {
        self.replace_subresource(name, "status", object, options).await
    }
}

/// Changing and deleting one object.
impl<K: Resource + DeserializeOwned + 'static, S: ScopeKind> Api<K, S> {
    /// Changes an object by a patch. `force` in the options goes with [`Patch::Apply`] only.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_invalid`] for an apply without a field manager, of the client neither.
    pub async fn patch(&self, name: &str, patch: &Patch, options: &WriteOptions) -> Result<K, Error> {
        self.send(self.patch_request(name, patch, options)).await
    }

    /// Changes the status of an object by a patch.
    ///
    /// # Errors
    ///
    /// As [`patch`](Self::patch).
    pub async fn patch_status(&self, name: &str, patch: &Patch, options: &WriteOptions) -> Result<K, Error> {
        self.patch_subresource(name, "status", patch, options).await
    }

    pub(super) fn patch_request(&self, name: &str, patch: &Patch, options: &WriteOptions) -> RestRequest {
        let request = self.object_request(Method::PATCH, name).write_options(options);
        let mut request = request.body_json_as(patch.kind().media_type(), patch.body());
        if options.force && !matches!(patch, Patch::Apply(_)) {
            request.refuse("only server-side apply can be forced");
        }
        request
    }

    /// Server-side apply: makes the fields of `object` what they are there, and gives them to the field manager. The
    /// object is created if there is none.
    ///
    /// `object` is a type of this kind with only those fields, such as `kubewright_apply::apps::v1::Deployment` for deployments. Of kinds
    /// without such a type it is the kind itself, or any JSON in [`Untyped`](kubewright_core::Untyped).
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_conflict`] if another manager owns a field and it is not forced.
    pub async fn apply<T: Applicable<K> + ?Sized>(
        &self,
        name: &str,
        object: &T,
        options: &ApplyOptions,
    ) -> Result<K, Error> {
        self.send(self.apply_request(name, object, options)).await
    }

    /// Server-side apply through the `status` subresource.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); [`Error::is_not_found`] if there is no such object.
    pub async fn apply_status<T: Applicable<K> + ?Sized>(
        &self,
        name: &str,
        object: &T,
        options: &ApplyOptions,
    ) -> Result<K, Error> {
        let request = self.apply_request(name, object, options);
        self.send(request.subresource("status")).await
    }

    pub(super) fn apply_request<T: Serialize + ?Sized>(
        &self,
        name: &str,
        object: &T,
        options: &ApplyOptions,
    ) -> RestRequest {
        let request = self.object_request(Method::PATCH, name).verb("apply");
        request
            .write_options(&options.to_write_options())
            .body_json_as(PatchKind::Apply.media_type(), object)
    }

    /// Deletes an object. It may stay for a while, until its finalizers are gone or its grace period is over.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_conflict`] if a precondition does not hold.
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted<K>, Error> {
        let request = self.object_request(Method::DELETE, name);
        let (call, bytes) = request.delete_options(options).answer().await?;
        let decode = |error| call.decode(error);
        let types: TypeMeta = serde_json::from_slice(&bytes).map_err(decode)?;
        if types.kind == "Status" && types.api_version == "v1" {
            return serde_json::from_slice(&bytes)
                .map(|status| Deleted::Status(Box::new(status)))
                .map_err(decode);
        }
        serde_json::from_slice(&bytes)
            .map(|object| Deleted::Object(Box::new(object)))
            .map_err(decode)
    }
}

/// Deleting many objects.
impl<K: Resource, S: ScopeKind> Api<K, S> {
    /// Deletes what the list options select: everything in the collection by default. Servers do this in one namespace at a time.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn delete_collection(
        &self,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<(), Error> {
        let selection = ListOptions {
            watch: false,
            ..selection.clone()
        };
        let request = self.within_scope(Method::DELETE).list_options(&selection);
        request.delete_options(options).bytes().await?;
        Ok(())
    }
}
