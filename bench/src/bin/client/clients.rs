//! The two clients, each with the settings that it has by itself.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;

/// What is asked of a client.
pub trait Requests: Clone {
    /// Reads an object.
    fn get(&self, name: &str) -> impl Future<Output = Result<ConfigMap>>;
    /// Makes an object.
    fn create(&self, object: &ConfigMap) -> impl Future<Output = Result<ConfigMap>>;
    /// Reads all objects with a label, in one answer.
    fn list(&self, labels: &str) -> impl Future<Output = Result<Vec<ConfigMap>>>;
    /// Removes all objects with a label.
    fn clear(&self, labels: &str) -> impl Future<Output = Result<()>>;
}

/// Ours.
#[derive(Clone)]
pub struct Ours(kubewright_client::Api<ConfigMap>);

impl Ours {
    /// For the server of a kubeconfig.
    pub fn new(kubeconfig: &Path) -> Result<Self> {
        let config =
            kubewright_client::Config::from_file(kubeconfig, &kubewright_client::Overrides::default())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = kubewright_client::Client::new(config, provider)?;
        Ok(Self(kubewright_client::Api::namespaced(&client, "default")))
    }
}

impl Requests for Ours {
    async fn get(&self, name: &str) -> Result<ConfigMap> {
        Ok(self.0.get(name).await?)
    }

    async fn create(&self, object: &ConfigMap) -> Result<ConfigMap> {
        Ok(self
            .0
            .create(object, &kubewright_client::WriteOptions::default())
            .await?)
    }

    async fn list(&self, labels: &str) -> Result<Vec<ConfigMap>> {
        Ok(self.0.list(&selected(labels)?).await?.items)
    }

    async fn clear(&self, labels: &str) -> Result<()> {
        let options = kubewright_client::DeleteOptions::default();
        Ok(self.0.delete_collection(&options, &selected(labels)?).await?)
    }
}

fn selected(labels: &str) -> Result<kubewright_client::ListOptions> {
    Ok(kubewright_client::ListOptions {
        label_selector: labels.parse()?,
        ..Default::default()
    })
}

/// The `kube` crate.
#[derive(Clone)]
pub struct Kube(kube::Api<ConfigMap>);

impl Kube {
    /// For the server of a kubeconfig.
    pub async fn new(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
        Ok(Self(kube::Api::namespaced(
            kube::Client::try_from(config)?,
            "default",
        )))
    }
}

impl Requests for Kube {
    async fn get(&self, name: &str) -> Result<ConfigMap> {
        Ok(self.0.get(name).await?)
    }

    async fn create(&self, object: &ConfigMap) -> Result<ConfigMap> {
        Ok(self.0.create(&Default::default(), object).await?)
    }

    async fn list(&self, labels: &str) -> Result<Vec<ConfigMap>> {
        let options = kube::api::ListParams::default().labels(labels);
        Ok(self.0.list(&options).await?.items)
    }

    async fn clear(&self, labels: &str) -> Result<()> {
        let options = kube::api::ListParams::default().labels(labels);
        self.0.delete_collection(&Default::default(), &options).await?;
        Ok(())
    }
}
