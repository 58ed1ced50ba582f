//! Users and service accounts with the rights that a test names.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kubewright_client::{Api, Client, ListOptions};
use kubewright_core::{Namespaced, StaticResource};
use kubewright_net::Identity;
use kubewright_runtime::{Right, Verb};
use kubewright_testing::{ServedEnv, TestEnv, TestEnvOptions, User};
use serde::de::DeserializeOwned;

/// What the server says to a list of a namespace; nothing where it gives one.
async fn list<K>(client: &Client, namespace: &str) -> String
where
    K: StaticResource + kubewright_core::Resource<Scope = Namespaced> + DeserializeOwned + 'static,
{
    let api = Api::<K>::namespaced(client, namespace);
    match api.list(&ListOptions::default()).await {
        Ok(_) => String::new(),
        Err(error) => error.status().unwrap().message.clone(),
    }
}

fn refusal(user: &str, resource: &str, namespace: &str) -> String {
    format!(
        "{resource} is forbidden: User {user:?} cannot list resource {resource:?} in API group \"\" in the namespace {namespace:?}"
    )
}

#[tokio::test]
async fn users_may_do_what_they_are_allowed_and_no_more() {
    let env = TestEnv::start(TestEnvOptions::without_controllers())
        .await
        .unwrap();
    let maps = || Right::to::<ConfigMap>([Verb::List]);
    let alice = User::named("alice").allow_in("here", maps());
    let bob = User::named("bob").allow(maps());
    let carol = User::named("carol").group("system:masters");
    let robot = User::service_account("ops", "robot").allow_in("here", maps());
    let name = "system:serviceaccount:ops:robot";
    assert_eq!(robot.name(), name);
    for (user, here, there, secrets) in [
        (&alice, true, false, false),
        (&bob, true, true, false),
        (&carol, true, true, true),
        (&robot, true, false, false),
    ] {
        let client = env.client_for(user).await.unwrap();
        let name = user.name();
        let expect = |allowed: bool, resource: &str, namespace: &str| match allowed {
            true => String::new(),
            false => refusal(&name, resource, namespace),
        };
        let found = list::<ConfigMap>(&client, "here").await;
        assert_eq!(found, expect(here, "configmaps", "here"));
        let found = list::<ConfigMap>(&client, "default").await;
        assert_eq!(found, expect(there, "configmaps", "default"));
        let found = list::<Secret>(&client, "here").await;
        assert_eq!(found, expect(secrets, "secrets", "here"));
    }
    // The account is there, and its client is at home in its namespace.
    let accounts = Api::<ServiceAccount>::namespaced(env.client(), "ops");
    let account = accounts.get("robot").await.unwrap();
    let identity = env.identity_for(&robot).await.unwrap();
    assert_eq!(Some(identity.uid), account.metadata.uid);
    assert!(identity.groups.contains(&"system:serviceaccounts:ops".to_owned()));
    // What the same name is allowed now is all that counts.
    let alice = User::named("alice").allow_in("here", Right::to::<Secret>([Verb::List]));
    let client = env.client_for(&alice).await.unwrap();
    assert_eq!(list::<Secret>(&client, "here").await, "");
    let found = list::<ConfigMap>(&client, "here").await;
    assert_eq!(found, refusal("alice", "configmaps", "here"));
    // Nothing is made for an identity as it is.
    let stranger = env.client_as(Identity::new("stranger", [""; 0]));
    let found = list::<ConfigMap>(&stranger, "default").await;
    assert_eq!(found, refusal("stranger", "configmaps", "default"));
}

#[tokio::test]
async fn entries_of_a_kubeconfig_are_the_users_own() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let options = TestEnvOptions::without_controllers();
    let served = ServedEnv::start(options, provider).await.unwrap();
    let user = User::named("alice").group("dev");
    let entry = served.kubeconfig_entry_for("a", &user).await.unwrap();
    assert!(entry.user.client_certificate_data.is_some() && entry.user.token.is_none());
    assert_eq!(entry.namespace, None);
    let robot = User::service_account("ops", "robot");
    let entry = served.kubeconfig_entry_for("r", &robot).await.unwrap();
    assert!(entry.user.client_certificate_data.is_none());
    assert_eq!(entry.user.token.as_deref().unwrap().split('.').count(), 3);
    assert_eq!(entry.namespace.as_deref(), Some("ops"));
    served.stop().await.unwrap();
}
