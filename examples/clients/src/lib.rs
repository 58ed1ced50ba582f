//! One task four times: how many replicas has a deployment? Each client answers it in its own way.
//!
//! * [`RestClient`]: the path is yours, and so is the type of the answer.
//! * [`Api`]: a kind that the program knows. What cannot be asked does not compile.
//! * [`DynamicApi`]: a kind that is known at run time only.
//! * [`DiscoveryClient`]: which kinds there are.
//!
//! All of them are made of one [`Client`], and so share its connections and credentials.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v1::Scale;
use kubewright::client::discovery::DiscoveryClient;
use kubewright::client::{Api, Client, DynamicApi, Error, Patch, RestClient, WriteOptions};
use kubewright::core::GroupVersion;
use serde_json::json;

/// The namespace of it all.
pub const NAMESPACE: &str = "default";
/// The deployment.
pub const NAME: &str = "web";

/// Any request: here a subresource, into the type that it is known to have.
///
/// # Errors
///
/// What the server says.
pub async fn by_rest(client: &Client) -> Result<Option<i32>, Error> {
    let apps = RestClient::new(client, &GroupVersion::new("apps", "v1"));
    let request = apps.get().namespace(NAMESPACE).resource("deployments").name(NAME);
    let scale: Scale = request.subresource("scale").json().await?;
    Ok(scale.spec.and_then(|spec| spec.replicas))
}

/// A kind with a type: fields are checked by the compiler.
///
/// # Errors
///
/// What the server says.
pub async fn by_type(client: &Client) -> Result<Option<i32>, Error> {
    let deployments: Api<Deployment> = Api::namespaced(client, NAMESPACE);
    let patch = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    deployments.patch(NAME, &patch, &WriteOptions::default()).await?;
    let deployment = deployments.get(NAME).await?;
    Ok(deployment.spec.replicas)
}

/// A kind by what a user calls it: discovery tells where it is, and objects are trees of JSON.
///
/// # Errors
///
/// What the server says; [`Error::NoMatch`] if nothing is called so.
pub async fn by_name(client: &Client, kind: &str) -> Result<Option<i64>, Error> {
    // A group whose own server is down does not hide the others.
    let (found, _failures) = DiscoveryClient::new(client).discover().await?.into_parts();
    let resource = found.find(kind)?;
    let objects = DynamicApi::dynamic_namespaced(client, &resource.resource, NAMESPACE);
    let object = objects.get(NAME).await?;
    Ok(object.data.get("spec").and_then(|spec| spec["replicas"].as_i64()))
}

/// What the server has: every kind whose objects have a scale.
///
/// # Errors
///
/// What the server says.
pub async fn scalable(client: &Client) -> Result<Vec<String>, Error> {
    let (found, _failures) = DiscoveryClient::new(client).discover().await?.into_parts();
    let resources = found.preferred_resources();
    let with_scale = resources.filter(|resource| resource.subresource("scale").is_some());
    Ok(with_scale
        .map(|resource| resource.resource.plural.clone())
        .collect())
}

/// Makes the deployment that all of them look at.
///
/// # Errors
///
/// What the server says.
pub async fn create(client: &Client) -> Result<(), Error> {
    let deployment = json!({
        "metadata": { "name": NAME },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": NAME } },
            "template": {
                "metadata": { "labels": { "app": NAME } },
                "spec": { "containers": [{ "name": "app", "image": "nginx" }] },
            },
        },
    });
    let apps = RestClient::new(client, &GroupVersion::new("apps", "v1"));
    let request = apps.post().namespace(NAMESPACE).resource("deployments");
    request.body_json(&deployment).bytes().await?;
    Ok(())
}
