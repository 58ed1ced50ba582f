//! Waiting until something holds of an object: by watching it, never by sleeping.

use kubewright_client::Api;
use kubewright_client::helpers::WaitError;
use kubewright_core::{ApiResource, Resource, Scope};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{TestEnv, TestEnvError};

impl TestEnv {
    /// Waits until `holds` is true of the object called `name`; it is given `None` while there is no such object. Gives the
    /// state that it held of.
    ///
    /// # Errors
    /// When a request fails, or when the options' `wait_limit` is over: then the error shows the last state.
    pub async fn wait_for<K>(
        &self,
        api: &Api<K>,
        name: &str,
        mut holds: impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>, TestEnvError>
    where
        K: Resource + Serialize + DeserializeOwned + Send + 'static,
    {
        // What there was last is worth more to a reader of the failure than its version.
        let mut last = "absent".to_owned();
        let seen = |object: Option<&K>| {
            last = object.map_or_else(
                || "absent".to_owned(),
                |object| serde_json::to_string(object).unwrap_or_default(),
            );
            holds(object)
        };
        match api.wait_for(name, self.wait_limit, seen).await {
            Ok(object) => Ok(object),
            Err(WaitError::Client(error)) => Err(error.into()),
            Err(_) => Err(TestEnvError::TimedOut {
                what: format!("the condition on {} {name}", api.resource().plural),
                limit: self.wait_limit,
                last,
            }),
        }
    }
}

/// The resource of custom resource definitions.
pub(crate) fn definitions() -> ApiResource {
    ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
        scope: Scope::Cluster,
    }
}
