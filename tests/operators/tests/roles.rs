//! Cluster roles that take in others, from the outside.

use k8s_openapi::api::rbac::v1::ClusterRole;
use kubewright_cache::Lister;
use kubewright_client::{Api, DeleteOptions};
use kubewright_controllers::{ControllerName, ControllerOptions, ControllerSet};
use kubewright_core::ObjectKey;
use kubewright_tests_operators::Cluster;
use serde_json::{Value, json};

const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

fn role(name: &str, adds_to: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {format!("{AGGREGATE_TO}{adds_to}"): "true"}},
        "rules": [{"verbs": ["get"], "apiGroups": ["example.com"], "resources": [name]}],
    })
}

/// Whether a role has a rule for the resource of that name.
fn has(roles: &Lister<ClusterRole>, role: &str, resource: &str) -> bool {
    let role = roles
        .get(&ObjectKey::cluster(role))
        .and_then(|role| role.object().ok());
    let rules = role.and_then(|role| role.rules.clone()).unwrap_or_default();
    rules
        .iter()
        .any(|rule| rule.resources.iter().flatten().any(|one| one == resource))
}

/// The default roles `view`, `edit` and `admin`, one taken in by the next, and one that a user made.
#[tokio::test]
async fn roles_take_in_those_with_their_label() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = Cluster::start().await;
    let options = ControllerOptions {
        controllers: [ControllerName::ClusterRoleAggregation].into(),
        ..ControllerOptions::default()
    };
    let running = ControllerSet::new(options)
        .start(&cluster.service())
        .ready()
        .await?;
    cluster.create::<ClusterRole>(None, role("widgets", "view")).await;
    let mut own = role("own", "nothing");
    own["aggregationRule"] =
        json!({"clusterRoleSelectors": [{"matchLabels": {format!("{AGGREGATE_TO}view"): "true"}}]});
    cluster.create::<ClusterRole>(None, own).await;
    for name in ["view", "edit", "admin", "own"] {
        cluster
            .eventually::<ClusterRole>(name, |roles| has(roles, name, "widgets"))
            .await;
    }
    // Its own rules are not kept, those of before are.
    cluster
        .eventually::<ClusterRole>("own", |roles| {
            !has(roles, "own", "own") && has(roles, "own", "pods")
        })
        .await;
    let roles = Api::<ClusterRole>::cluster(&cluster.client);
    roles.delete("widgets", &DeleteOptions::default()).await?;
    for name in ["view", "edit", "admin", "own"] {
        cluster
            .eventually::<ClusterRole>(name, |roles| !has(roles, name, "widgets"))
            .await;
    }
    running.stop().await?;
    Ok(())
}
