//! Waiting until something holds of an object: by watching it, never by sleeping.

use kubewright_client::{Api, ListOptions};
use kubewright_core::{ApiResource, DynamicObject, FieldSelector, Resource, Scope, WatchEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

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
        let deadline = Instant::now() + self.wait_limit;
        let mut last = None;
        match timeout_at(deadline, watch_until(api, name, &mut holds, &mut last)).await {
            Ok(result) => {
                result?;
                Ok(last)
            }
            Err(_) => Err(TestEnvError::TimedOut {
                what: format!("the condition on {} {name}", api.resource().plural),
                limit: self.wait_limit,
                last: last.map_or_else(
                    || "absent".to_owned(),
                    |object| serde_json::to_string(&object).unwrap_or_default(),
                ),
            }),
        }
    }
}

/// Reads the object and then follows it, anew whenever the server ends the watch.
async fn watch_until<K>(
    api: &Api<K>,
    name: &str,
    holds: &mut impl FnMut(Option<&K>) -> bool,
    last: &mut Option<K>,
) -> Result<(), TestEnvError>
where
    K: Resource + Serialize + DeserializeOwned + Send + 'static,
{
    let select = ListOptions {
        field_selector: FieldSelector::equals("metadata.name", name),
        ..ListOptions::default()
    };
    loop {
        // The watch begins at the version of the list, so nothing is missed in between.
        let list = api.list(&select).await?;
        *last = list.items.into_iter().next();
        if holds(last.as_ref()) {
            return Ok(());
        }
        let from = ListOptions {
            resource_version: list.metadata.resource_version,
            ..select.clone()
        };
        let mut watch = api.watch(&from).await?;
        while let Some(event) = watch.next().await {
            *last = match event {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => Some(object),
                Ok(WatchEvent::Deleted(_)) => None,
                Ok(_) => continue,
                // Too old a version, or a lost connection: the list tells where things stand.
                Err(_) => break,
            };
            if holds(last.as_ref()) {
                return Ok(());
            }
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

/// Whether a definition's kind is served.
pub(crate) fn is_established(definition: &DynamicObject) -> bool {
    let conditions = definition
        .data
        .get("status")
        .and_then(|status| status["conditions"].as_array());
    conditions
        .into_iter()
        .flatten()
        .any(|condition: &Value| condition["type"] == "Established" && condition["status"] == "True")
}
