//! The steps of the demo, and how long each took.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use guestbook::Guestbook;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kubewright_client::{Api, DeleteOptions, ListOptions, Patch, WriteOptions};
use kubewright_core::{DynamicObject, Namespaced, Resource as _, StaticResource};
use kubewright_testing::{TestEnv, User};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::live::Live;
use super::narrator::{Narrator, milliseconds};

/// Tells the steps one after the other.
pub(super) struct Story<'a> {
    narrator: &'a Narrator,
    steps: Vec<(&'static str, Duration)>,
    began: Instant,
}

/// The namespace where everything happens.
const NAMESPACE: &str = "default";

impl<'a> Story<'a> {
    pub(super) fn new(narrator: &'a Narrator) -> Self {
        Self {
            narrator,
            steps: Vec::new(),
            began: Instant::now(),
        }
    }

    /// Carries a step out and notes how long it took; a failure says which step it was.
    pub(super) async fn step<T>(
        &mut self,
        title: &'static str,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let number = self.steps.len() + 1;
        self.narrator.begin(number, title);
        let began = Instant::now();
        let result = work
            .await
            .with_context(|| format!("step {number}, {title:?}, failed"))?;
        let took = began.elapsed();
        self.narrator.quiet().await;
        self.narrator.happened(&self.narrator.mark(true, "done"));
        self.steps.push((title, took));
        Ok(result)
    }

    /// Everything after the start.
    pub(super) async fn perform(&mut self, env: &TestEnv) -> Result<()> {
        let operator = guestbook::operator();
        let cast = Cast::new(env)?;
        self.step("install the custom resource definition", async {
            Ok(env.install(&operator).await?)
        })
        .await?;
        let running = self
            .step("run the operator", async {
                // As its manifests have it: an account with the rights that it asks for, and no others.
                let account = User::service_account("guestbook-system", "guestbook");
                Ok(env.run_as(account, &operator).await?)
            })
            .await?;
        let live = Live::start(env.client(), NAMESPACE, self.narrator).await?;
        self.step(
            "apply the sample and wait until it is available",
            Box::pin(cast.create()),
        )
        .await?;
        self.step(
            "change its spec: five replicas and another message",
            Box::pin(cast.change()),
        )
        .await?;
        self.step(
            "delete its service by hand; the operator repairs the drift",
            Box::pin(cast.repair()),
        )
        .await?;
        self.step(
            "delete it; finalizer and garbage collection do the rest",
            Box::pin(cast.delete()),
        )
        .await?;
        drop(live);
        self.step("stop the operator", async { Ok(running.stop().await?) })
            .await
    }

    /// All steps with their times.
    pub(super) fn summary(&self) {
        let width = self.steps.iter().map(|(title, _)| title.len()).max().unwrap_or(0);
        self.narrator
            .line(&format!("\n{:<width$}  {:>10}", "STEP", "TIME"));
        for (title, took) in &self.steps {
            self.narrator
                .line(&format!("{title:<width$}  {:>10}", milliseconds(*took)));
        }
        self.narrator.line(&format!(
            "{:<width$}  {:>10}",
            "all",
            milliseconds(self.began.elapsed())
        ));
    }
}

/// The resources that the steps work on.
struct Cast<'a> {
    env: &'a TestEnv,
    sample: DynamicObject,
    name: String,
    guestbooks: Api<DynamicObject>,
    services: Api<Service>,
}

impl<'a> Cast<'a> {
    fn new(env: &'a TestEnv) -> Result<Self> {
        let sample: DynamicObject =
            kubewright_yaml::from_str(guestbook::SAMPLE).context("the sample cannot be read")?;
        let resource = Guestbook::api_resource();
        Ok(Self {
            env,
            name: sample.name().to_owned(),
            sample,
            guestbooks: Api::dynamic_namespaced(env.client(), &resource, NAMESPACE),
            services: Api::namespaced(env.client(), NAMESPACE),
        })
    }

    async fn create(&self) -> Result<()> {
        self.guestbooks
            .create(&self.sample, &WriteOptions::default())
            .await?;
        self.settled().await
    }

    async fn change(&self) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": 5, "message": "Hello again"}}));
        self.guestbooks
            .patch(&self.name, &patch, &WriteOptions::default())
            .await?;
        self.settled().await
    }

    async fn repair(&self) -> Result<()> {
        let before = self.services.get(&self.name).await?.metadata.uid;
        self.services
            .delete(&self.name, &DeleteOptions::default())
            .await?;
        let is_new =
            |service: Option<&Service>| service.is_some_and(|service| service.metadata.uid != before);
        self.env.wait_for(&self.services, &self.name, is_new).await?;
        Ok(())
    }

    async fn delete(&self) -> Result<()> {
        let uid = self
            .guestbooks
            .get(&self.name)
            .await?
            .metadata
            .uid
            .unwrap_or_default();
        self.guestbooks
            .delete(&self.name, &DeleteOptions::default())
            .await?;
        self.env
            .wait_for(&self.guestbooks, &self.name, |found| found.is_none())
            .await?;
        self.collected::<Deployment>(&uid).await?;
        self.collected::<Service>(&uid).await?;
        self.collected::<ConfigMap>(&uid).await?;
        let pods: Api<Pod> = Api::namespaced(self.env.client(), NAMESPACE);
        for pod in pods.list(&ListOptions::default()).await? {
            self.env
                .wait_for(&pods, pod.name(), |found| found.is_none())
                .await?;
        }
        Ok(())
    }

    /// Waits until no object of a kind is left that the guestbook with this uid owned.
    async fn collected<K>(&self, uid: &str) -> Result<()>
    where
        K: StaticResource<Scope = Namespaced> + Serialize + DeserializeOwned + Send + 'static,
    {
        let api: Api<K> = Api::namespaced(self.env.client(), NAMESPACE);
        for object in api.list(&ListOptions::default()).await? {
            let owners = object.metadata().owner_references.as_deref().unwrap_or_default();
            if owners.iter().any(|owner| owner.uid == uid) {
                self.env
                    .wait_for(&api, object.name(), |found| found.is_none())
                    .await?;
            }
        }
        Ok(())
    }

    /// Waits until the operator has seen the present spec and all replicas are ready.
    async fn settled(&self) -> Result<()> {
        self.env
            .wait_for(&self.guestbooks, &self.name, |found| {
                found.is_some_and(is_settled)
            })
            .await?;
        Ok(())
    }
}

fn is_settled(object: &DynamicObject) -> bool {
    let (Some(spec), Some(status)) = (object.data.get("spec"), object.data.get("status")) else {
        return false;
    };
    let is_available = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Available" && condition["status"] == "True");
    is_available
        && status["observedGeneration"].as_i64() == object.metadata.generation
        && status["readyReplicas"].as_i64() == Some(spec["replicas"].as_i64().unwrap_or(1))
}
