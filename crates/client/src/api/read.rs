//! Reading: get, list, watch.

use http::Method;
use kubewright_core::{List, ListOptions, Resource, ScopeKind};
use serde::de::DeserializeOwned;

use super::{Api, name_kind};
use crate::error::Error;
use crate::watch::Watch;

/// Reading one object.
impl<K: Resource + DeserializeOwned + 'static, S: ScopeKind> Api<K, S> {
    /// Reads one object.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if there is none, and whatever else [`RestRequest::bytes`](crate::RestRequest::bytes) may
    /// answer; the same holds for every other verb.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        self.send(self.object_request(Method::GET, name)).await
    }

    /// Reads one object; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the object through its `status` subresource.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_not_found`] also if the kind has no status.
    pub async fn get_status(&self, name: &str) -> Result<K, Error> {
        self.get_subresource(name, "status").await
    }
}

/// Reading many objects.
impl<K: Resource + DeserializeOwned + 'static, S> Api<K, S> {
    /// Lists objects: one page if the options have a limit, otherwise all. [`pages`](Self::pages) reads all of them page by page.
    ///
    /// # Errors
    ///
    /// [`Error::is_expired`] if the continue token or the version is too old, and whatever else
    /// [`RestRequest::bytes`](crate::RestRequest::bytes) may answer.
    pub async fn list(&self, options: &ListOptions) -> Result<List<K>, Error> {
        let options = ListOptions {
            watch: false,
            ..options.clone()
        };
        let request = self.collection_request(Method::GET).verb("list");
        let mut list: List<K> = request.list_options(&options).json().await?;
        for item in &mut list.items {
            name_kind(&self.resource, item);
        }
        Ok(list)
    }

    /// Watches objects: a stream of changes from the version in the options on, or from now on.
    ///
    /// # Errors
    ///
    /// The watch could not be started; [`Error::is_expired`] if the version is too old.
    pub async fn watch(&self, options: &ListOptions) -> Result<Watch<K>, Error> {
        Ok(Watch::new(
            self.client.watch_raw(&self.path(), options).await?,
            self.resource.clone(),
        ))
    }
}
