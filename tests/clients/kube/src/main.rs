//! The `kube` crate against the API server that `KUBECONFIG` names: one function for each scenario, named on the command line.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, EvictParams, ListParams, LogParams, Patch, PatchParams,
    PostParams,
};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, Client, CustomResource, CustomResourceExt as _, Discovery, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<()> {
    let scenario = std::env::args()
        .nth(1)
        .context("the name of a scenario is wanted")?;
    let client = Client::try_default().await?;
    let work = async {
        match scenario.as_str() {
            "crud" => crud(client).await,
            "watch" => watch(client).await,
            "patches" => patches(client).await,
            "server_side_apply" => server_side_apply(client).await,
            "pages" => pages(client).await,
            "subresources" => subresources(client).await,
            "custom_resources" => custom_resources(client).await,
            "discovery" => discovery(client).await,
            _ => bail!("there is no scenario {scenario}"),
        }
    };
    tokio::time::timeout(LIMIT, work).await.context("took too long")?
}

fn config_map(name: &str, value: &str) -> Result<ConfigMap> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"app": "kube"}},
        "data": {"key": value},
    }))?)
}

fn deployment(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
            },
        },
    })
}

/// The status with which something was refused.
fn refused<T: Debug>(result: kube::Result<T>, code: u16) -> Result<kube::core::Status> {
    match result {
        Err(kube::Error::Api(status)) if status.code == code => Ok(*status),
        other => bail!("should have been refused with {code}: {other:?}"),
    }
}

async fn crud(client: Client) -> Result<()> {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")?).await?;
    ensure!(created.uid().is_some() && created.creation_timestamp().is_some());
    let mut changed = api.get("a").await?;
    changed.data = config_map("a", "2")?.data;
    let replaced = api.replace("a", &PostParams::default(), &changed).await?;
    ensure!(replaced.resource_version() != created.resource_version());
    refused(api.replace("a", &PostParams::default(), &created).await, 409)?;
    let same = api.replace("a", &PostParams::default(), &replaced).await?;
    ensure!(
        same.resource_version() == replaced.resource_version(),
        "an equal write was one"
    );
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    api.create(&dry, &config_map("dry", "1")?).await?;
    ensure!(api.get_opt("dry").await?.is_none());
    let metadata = api.get_metadata("a").await?;
    ensure!(metadata.labels()["app"] == "kube");
    api.delete("a", &DeleteParams::background()).await?;
    refused(api.get("a").await, 404)?;
    api.create(&PostParams::default(), &config_map("b", "1")?).await?;
    let swept = ListParams::default().labels("app=kube");
    api.delete_collection(&DeleteParams::default(), &swept).await?;
    ensure!(api.list(&swept).await?.items.is_empty());
    Ok(())
}

async fn watch(client: Client) -> Result<()> {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("early", "1")?)
        .await?;
    for config in [
        watcher::Config::default().labels("app=kube"),
        watcher::Config::default().labels("app=kube").streaming_lists(),
    ] {
        let (store, writer) = reflector::store();
        let mut events = watcher(api.clone(), config)
            .reflect(writer)
            .applied_objects()
            .boxed();
        let first = events.try_next().await?.context("the watch ended")?;
        ensure!(first.name_any() == "early", "{first:?}");
        api.create(&PostParams::default(), &config_map("late", "1")?)
            .await?;
        let next = events.try_next().await?.context("the watch ended")?;
        ensure!(next.name_any() == "late", "{next:?}");
        let patch = json!({"data": {"key": "2"}});
        api.patch("late", &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        let changed = events.try_next().await?.context("the watch ended")?;
        ensure!(
            changed.data.as_ref().is_some_and(|data| data["key"] == "2"),
            "{changed:?}"
        );
        ensure!(store.state().len() == 2);
        api.delete("late", &DeleteParams::default()).await?;
    }
    Ok(())
}

async fn patches(client: Client) -> Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.create(&PostParams::default(), &config_map("a", "1")?)
        .await?;
    let operations = serde_json::from_value(json!([{"op": "replace", "path": "/data/key", "value": "2"}]))?;
    let patched = maps
        .patch("a", &PatchParams::default(), &Patch::Json::<()>(operations))
        .await?;
    ensure!(patched.data.context("data")?["key"] == "2");
    let patch = json!({"data": {"key": null, "other": "3"}});
    let patched = maps
        .patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    ensure!(
        patched
            .data
            .context("data")?
            .into_iter()
            .eq([("other".to_owned(), "3".to_owned())])
    );
    let api: Api<Deployment> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &serde_json::from_value(deployment(1))?)
        .await?;
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "example.com/side:1"}]}}}});
    let patched = api
        .patch("web", &PatchParams::default(), &Patch::Strategic(patch))
        .await?;
    let template = patched.spec.template.spec.context("template")?;
    ensure!(template.containers.len() == 2, "{template:?}");
    Ok(())
}

async fn server_side_apply(client: Client) -> Result<()> {
    let api: Api<Deployment> = Api::default_namespaced(client);
    let first = PatchParams::apply("first");
    let applied = api.patch("web", &first, &Patch::Apply(deployment(2))).await?;
    let again = api.patch("web", &first, &Patch::Apply(deployment(2))).await?;
    ensure!(
        applied.resource_version() == again.resource_version(),
        "an equal apply was a write"
    );
    let replicas = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 5}});
    let second = PatchParams::apply("second");
    let status = refused(api.patch("web", &second, &Patch::Apply(&replicas)).await, 409)?;
    let causes = status.details.context("details")?.causes;
    ensure!(
        causes.len() == 1 && causes[0].field == ".spec.replicas",
        "{causes:?}"
    );
    let forced = api
        .patch("web", &second.clone().force(), &Patch::Apply(&replicas))
        .await?;
    ensure!(forced.spec.replicas == Some(5));
    let status = json!({"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 5}});
    let shown = api
        .patch_status("web", &PatchParams::apply("controller"), &Patch::Apply(status))
        .await?;
    let managers: Vec<String> = shown
        .managed_fields()
        .iter()
        .filter_map(|entry| entry.manager.clone())
        .collect();
    ensure!(managers.len() == 3, "{managers:?}");
    Ok(())
}

async fn pages(client: Client) -> Result<()> {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for i in 0..7 {
        api.create(&PostParams::default(), &config_map(&format!("page-{i}"), "1")?)
            .await?;
    }
    let mut params = ListParams::default().labels("app=kube").limit(3);
    let mut names = Vec::new();
    loop {
        let page = api.list(&params).await?;
        names.extend(page.items.iter().map(ResourceExt::name_any));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => break,
        }
    }
    ensure!(
        names == (0..7).map(|i| format!("page-{i}")).collect::<Vec<_>>(),
        "{names:?}"
    );
    Ok(())
}

async fn subresources(client: Client) -> Result<()> {
    let api: Api<Deployment> = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &serde_json::from_value(deployment(1))?)
        .await?;
    let patch = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let scale = api.patch_scale("web", &PatchParams::default(), &patch).await?;
    ensure!(scale.spec.context("spec")?.replicas == Some(4));
    ensure!(api.get_scale("web").await?.status.context("status")?.replicas == 0);
    let patch = Patch::Merge(json!({"status": {"replicas": 4}, "spec": {"replicas": 9}}));
    let shown = api.patch_status("web", &PatchParams::default(), &patch).await?;
    ensure!(shown.spec.replicas == Some(4));
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod)?)
        .await?;
    // A pod without a node has logged nothing.
    ensure!(pods.logs("p", &LogParams::default()).await?.is_empty());
    pods.evict("p", &EvictParams::default()).await?;
    ensure!(pods.get_opt("p").await?.is_none());
    Ok(())
}

/// A thing of ours.
#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus"
)]
struct WidgetSpec {
    size: i64,
    #[serde(default)]
    color: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
struct WidgetStatus {
    ready: bool,
}

async fn custom_resources(client: Client) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let apply = PatchParams::apply("tests").force();
    definitions
        .patch("widgets.example.com", &apply, &Patch::Apply(Widget::crd()))
        .await?;
    await_condition(
        definitions.clone(),
        "widgets.example.com",
        conditions::is_crd_established(),
    )
    .await?;
    let widgets: Api<Widget> = Api::default_namespaced(client);
    let widget = Widget::new(
        "w",
        WidgetSpec {
            size: 9_007_199_254_740_993,
            color: None,
        },
    );
    let applied = widgets.patch("w", &apply, &Patch::Apply(&widget)).await?;
    ensure!(applied.spec.size == 9_007_199_254_740_993 && applied.metadata.generation == Some(1));
    let status = json!({"apiVersion": "example.com/v1", "kind": "Widget", "status": {"ready": true}});
    let shown = widgets.patch_status("w", &apply, &Patch::Apply(status)).await?;
    ensure!(shown.status.is_some_and(|status| status.ready) && shown.metadata.generation == Some(1));
    let wrong = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": "large"}});
    let refusal = widgets.patch("w", &apply, &Patch::Apply(wrong)).await;
    ensure!(refusal.is_err(), "{refusal:?}");
    definitions
        .delete("widgets.example.com", &DeleteParams::default())
        .await?;
    await_condition(
        definitions,
        "widgets.example.com",
        conditions::is_deleted(&String::new()),
    )
    .await
    .ok();
    Ok(())
}

async fn discovery(client: Client) -> Result<()> {
    for discovery in [
        Discovery::new(client.clone()).run().await?,
        Discovery::new(client.clone()).run_aggregated().await?,
    ] {
        let group = discovery.get("apps").context("there is no group apps")?;
        let (resource, capabilities): (ApiResource, _) = group
            .recommended_kind("Deployment")
            .context("there is no Deployment")?;
        ensure!(resource.plural == "deployments" && capabilities.supports_operation("patch"));
        let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        ensure!(api.list(&ListParams::default()).await?.items.is_empty());
    }
    ensure!(client.apiserver_version().await?.major == "1");
    Ok(())
}
