//! Deployments and replica sets as this crate reads them: from the bytes, since their types differ between versions of
//! Kubernetes and leave out what they do not know.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright_cache::Cached;
use kubewright_core::ObjectMeta;
use kubewright_runtime::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A deployment or a replica set.
#[derive(Debug)]
pub(crate) struct Workload<K> {
    pub(crate) object: Arc<K>,
    pub(crate) spec: Spec,
    /// The whole object.
    pub(crate) value: Value,
}

impl<K: DeserializeOwned + Send + Sync + 'static> Workload<K> {
    pub(crate) fn of(cached: &Cached<K>) -> Result<Self, Error> {
        let value: Value = serde_json::from_slice(&cached.raw())?;
        Ok(Self {
            object: cached.object()?,
            spec: Spec::deserialize(&value["spec"])?,
            value,
        })
    }

    /// A number of the status; 0 where there is none.
    pub(crate) fn count(&self, field: &str) -> i64 {
        self.value["status"][field].as_i64().unwrap_or(0)
    }
}

/// What the controllers look at in both kinds' specs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) replicas: Option<i32>,
    pub(crate) selector: LabelSelector,
    pub(crate) min_ready_seconds: Option<i32>,
    pub(crate) paused: bool,
    pub(crate) progress_deadline_seconds: Option<i32>,
    pub(crate) revision_history_limit: Option<i32>,
    pub(crate) strategy: StrategySpec,
    pub(crate) template: TemplateSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StrategySpec {
    pub(crate) r#type: String,
    pub(crate) rolling_update: RollingUpdate,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RollingUpdate {
    pub(crate) max_surge: Option<IntOrString>,
    pub(crate) max_unavailable: Option<IntOrString>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TemplateSpec {
    pub(crate) metadata: ObjectMeta,
}
