//! Secrets that hold tokens of service accounts: filled, believed for as long as they are there, and removed with their accounts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use http::{Request, header};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kubewright_apiserver::{Options, ServiceAccountOptions};
use kubewright_client::{Api, DeleteOptions, WriteOptions};
use kubewright_controllers::{ControllerName, ControllerOptions, ControllerSet};
use kubewright_core::ObjectKey;
use kubewright_net::Body;
use kubewright_net::signing::SigningKey;
use kubewright_runtime::Handle;
use kubewright_tests_operators::Cluster;
use serde_json::{Value, json};

const CERTIFICATE: &str = "a certificate";

/// A server, and the controller with its key.
async fn start() -> (Cluster, Handle) {
    let key = SigningKey::generate().unwrap();
    let cluster = Cluster::start_with(Options {
        service_accounts: ServiceAccountOptions {
            signing_key: Some(key.clone()),
            ..ServiceAccountOptions::default()
        },
        ..Options::default()
    })
    .await;
    let options = ControllerOptions {
        controllers: [ControllerName::ServiceAccountToken].into(),
        service_account_key: Some(key),
        root_ca: Some(CERTIFICATE.to_owned()),
        ..ControllerOptions::default()
    };
    let running = ControllerSet::new(options)
        .start(&cluster.service())
        .ready()
        .await;
    (cluster, running.unwrap())
}

fn account(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default"}})
}

fn token_of(account: &str, name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "default", "annotations": {"kubernetes.io/service-account.name": account}},
        "type": "kubernetes.io/service-account-token",
    })
}

fn secrets(cluster: &Cluster) -> Api<Secret> {
    Api::namespaced(&cluster.client, "default")
}

fn accounts(cluster: &Cluster) -> Api<ServiceAccount> {
    Api::namespaced(&cluster.client, "default")
}

/// A secret once it is filled.
async fn filled(cluster: &Cluster, name: &str) -> Secret {
    let has_all = |secret: &Secret| secret.data.as_ref().is_some_and(|data| data.len() == 3);
    cluster
        .eventually_one::<Secret>(&format!("default/{name}"), name, has_all)
        .await;
    secrets(cluster).get(name).await.unwrap()
}

async fn gone(cluster: &Cluster, name: &str) {
    let key = ObjectKey::namespaced("default", name);
    cluster
        .eventually::<Secret>(name, |secrets| secrets.get(&key).is_none())
        .await;
}

fn token(secret: &Secret) -> String {
    String::from_utf8(secret.data.as_ref().unwrap()["token"].0.clone()).unwrap()
}

/// Who the bearer of a token is, and what they are warned of; nobody where it does not hold.
async fn bearer(cluster: &Cluster, token: &str) -> Option<(Value, Option<String>)> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(review.to_string()))
        .unwrap();
    let answer = cluster.service().send(request).await.unwrap();
    let warning = answer.headers().get(header::WARNING);
    let warning = warning.map(|warning| warning.to_str().unwrap().to_owned());
    match answer.status().as_u16() {
        401 => None,
        201 => {
            let body = answer.into_body().collect_limited(1 << 20).await.unwrap();
            let review: Value = serde_json::from_slice(&body).unwrap();
            Some((review["status"]["userInfo"].clone(), warning))
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_secret_is_filled_and_its_token_holds_as_long_as_it_is_there() {
    let (cluster, running) = start().await;
    // Whatever comes first.
    let robot: ServiceAccount = cluster.create(Some("default"), account("robot")).await;
    cluster
        .create::<Secret>(Some("default"), token_of("robot", "a"))
        .await;
    let secret = filled(&cluster, "a").await;
    let data = secret.data.clone().unwrap();
    assert_eq!(data["ca.crt"].0, CERTIFICATE.as_bytes());
    assert_eq!(data["namespace"].0, b"default");
    let annotations = secret.metadata.annotations.clone().unwrap();
    let uid = robot.metadata.uid.unwrap();
    assert_eq!(annotations["kubernetes.io/service-account.uid"], uid);

    let (who, warning) = bearer(&cluster, &token(&secret)).await.unwrap();
    let expect = json!({
        "username": "system:serviceaccount:default:robot",
        "uid": uid,
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    });
    assert_eq!((&who, warning), (&expect, None));

    // What somebody takes out is put in again; another token is theirs.
    let mut emptied = secret.clone();
    emptied.data = None;
    secrets(&cluster)
        .replace("a", &emptied, &WriteOptions::default())
        .await
        .unwrap();
    let again = filled(&cluster, "a").await;
    assert_ne!(token(&again), token(&secret), "signatures are made anew");
    assert!(
        bearer(&cluster, &token(&secret)).await.is_none(),
        "it is not the server's copy"
    );
    let secret = again;

    // An account that names its secret is one of old.
    let mut robot = accounts(&cluster).get("robot").await.unwrap();
    robot.secrets = serde_json::from_value(json!([{"name": "other"}, {"name": "a"}])).unwrap();
    accounts(&cluster)
        .replace("robot", &robot, &WriteOptions::default())
        .await
        .unwrap();
    let (_, warning) = bearer(&cluster, &token(&secret)).await.unwrap();
    assert!(warning.unwrap().contains("Use tokens from the TokenRequest API"));

    secrets(&cluster)
        .delete("a", &DeleteOptions::default())
        .await
        .unwrap();
    assert!(bearer(&cluster, &token(&secret)).await.is_none());
    let names_other = |account: &ServiceAccount| {
        let names = account
            .secrets
            .iter()
            .flatten()
            .filter_map(|secret| secret.name.as_deref());
        names.collect::<Vec<_>>() == ["other"]
    };
    cluster
        .eventually_one::<ServiceAccount>("default/robot", "the account forgets its secret", names_other)
        .await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn secrets_go_with_their_accounts() {
    let (cluster, running) = start().await;
    for name in ["robot", "other"] {
        cluster
            .create::<ServiceAccount>(Some("default"), account(name))
            .await;
    }
    for (owner, name) in [("robot", "a"), ("robot", "b"), ("other", "c")] {
        cluster
            .create::<Secret>(Some("default"), token_of(owner, name))
            .await;
    }
    let plain = json!({"metadata": {"name": "plain", "namespace": "default",
        "annotations": {"kubernetes.io/service-account.name": "robot"}}});
    cluster.create::<Secret>(Some("default"), plain).await;
    let old = filled(&cluster, "a").await;
    filled(&cluster, "b").await;
    filled(&cluster, "c").await;
    accounts(&cluster)
        .delete("robot", &DeleteOptions::default())
        .await
        .unwrap();
    gone(&cluster, "a").await;
    gone(&cluster, "b").await;
    // One of the same name is another account: a secret of the old one goes, whoever brings it back.
    cluster
        .create::<ServiceAccount>(Some("default"), account("robot"))
        .await;
    let mut back = serde_json::to_value(&old).unwrap();
    back["metadata"] =
        json!({"name": "back", "namespace": "default", "annotations": old.metadata.annotations});
    cluster.create::<Secret>(Some("default"), back).await;
    cluster
        .create::<Secret>(Some("default"), token_of("nobody", "nobodys"))
        .await;
    gone(&cluster, "back").await;
    gone(&cluster, "nobodys").await;
    assert!(bearer(&cluster, &token(&old)).await.is_none());
    for name in ["c", "plain"] {
        secrets(&cluster).get(name).await.unwrap();
    }
    running.stop().await.unwrap();
}
