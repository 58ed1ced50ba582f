//! Tokens of service accounts: issued, borne, reviewed and ended.

use kubewright_apiserver::{Options, ServiceAccountOptions};
use kubewright_net::Identity;
use kubewright_net::signing::{PublicKey, SigningKey};
use serde_json::{Value, json};

use crate::harness::{Answer, Ask, PODS, Server, pod, text};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

fn request(spec: &Value) -> Ask {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    Ask::json(format!("POST {ACCOUNTS}/robot/token"), &body)
}

async fn with_account() -> Server {
    let server = Server::start().await;
    create_account(&server).await;
    server
}

async fn create_account(server: &Server) -> Value {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    server.ok(Ask::json(format!("POST {ACCOUNTS}"), &account)).await
}

async fn token(server: &Server, spec: &Value) -> String {
    text(&server.ok(request(spec)).await["status"]["token"]).to_owned()
}

/// Who a bearer of a token is told to be.
async fn who(server: &Server, token: &str) -> Answer {
    let ask = Ask::json(
        format!("POST {WHO}"),
        &json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
    );
    let ask = ask.header("authorization", &format!("Bearer {token}"));
    Answer::read(server.send_as(None::<Identity>, ask).await).await
}

/// What a review says of a token.
async fn review(server: &Server, token: &str, audiences: &[&str]) -> Value {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": token, "audiences": audiences}});
    server.ok(Ask::json(format!("POST {REVIEWS}"), &review)).await["status"].clone()
}

#[tokio::test]
async fn a_token_makes_its_bearer_the_account() {
    let server = with_account().await;
    let issued = server.ok(request(&json!({}))).await;
    assert_eq!(issued["kind"], "TokenRequest");
    assert_eq!(issued["metadata"]["name"], "robot");
    assert_eq!(issued["metadata"]["namespace"], "default");
    assert_eq!(issued["spec"]["audiences"], json!([ISSUER]));
    assert_eq!(issued["spec"]["expirationSeconds"], 3600);
    assert!(issued["status"]["expirationTimestamp"].is_string());
    let answer = who(&server, text(&issued["status"]["token"])).await;
    assert_eq!(answer.code, 201, "{:#}", answer.body);
    let user = &answer.body["status"]["userInfo"];
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    assert_eq!(user["uid"], issued["metadata"]["uid"]);
    assert_eq!(
        user["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );
    let credential = text(&user["extra"]["authentication.kubernetes.io/credential-id"][0]);
    assert!(credential.starts_with("JTI="), "{credential}");
    let status = review(&server, text(&issued["status"]["token"]), &[]).await;
    assert_eq!(status["authenticated"], true);
    assert_eq!(status["audiences"], json!([ISSUER]));
    assert_eq!(status["user"]["username"], "system:serviceaccount:default:robot");
}

#[tokio::test]
async fn requests_that_are_refused() {
    let server = with_account().await;
    server.ok(Ask::json(format!("POST {PODS}"), &pod("p"))).await;
    let bound = |kind: &str, name: &str, uid: &str| json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name, "uid": uid}});
    let mut other = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "metadata": {"name": "x"}, "spec": {}});
    let named = Ask::json(format!("POST {ACCOUNTS}/robot/token"), &other);
    other["metadata"] = json!({"uid": "x"});
    let identified = Ask::json(format!("POST {ACCOUNTS}/robot/token"), &other);
    other["metadata"] = json!({});
    let nobody = Ask::json(format!("POST {ACCOUNTS}/nobody/token"), &other);
    for (ask, code, why) in [
        (
            request(&json!({"expirationSeconds": 599})),
            422,
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a \
             duration less than 10 minutes",
        ),
        (
            request(&json!({"expirationSeconds": 4_294_967_297_i64})),
            422,
            "may not specify a duration larger than 2^32 seconds",
        ),
        (named, 422, "must match the service account name if specified"),
        (identified, 409, "the UID in the token request (x) does not match"),
        (nobody, 404, "serviceaccounts \"nobody\" not found"),
        (request(&bound("Pod", "none", "")), 404, "pods \"none\" not found"),
        (
            request(&bound("Pod", "p", "")),
            400,
            "cannot bind token for serviceaccount \"robot\" to pod running with different serviceaccount name.",
        ),
        (
            request(&bound("ConfigMap", "p", "")),
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (Ask::new(format!("GET {ACCOUNTS}/robot/token")), 405, ""),
    ] {
        server.refused(ask, code, why).await;
    }
}

#[tokio::test]
async fn a_token_ends_with_what_it_is_bound_to() {
    let server = with_account().await;
    let mut new = pod("p");
    new["spec"]["serviceAccountName"] = "robot".into();
    new["spec"]["nodeName"] = "n".into();
    let pod = server.ok(Ask::json(format!("POST {PODS}"), &new)).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    let secrets = "/api/v1/namespaces/default/secrets";
    server.ok(Ask::json(format!("POST {secrets}"), &secret)).await;
    let bound = |kind: &str, name: &str| json!({"expirationSeconds": 3607, "boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}});
    let wrong = json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "x"}});
    server
        .refused(
            request(&wrong),
            409,
            "the UID in the bound object reference (x) does not match the UID in record",
        )
        .await;
    let by_pod = token(&server, &bound("Pod", "p")).await;
    let by_secret = token(&server, &bound("Secret", "s")).await;
    let extra = who(&server, &by_pod).await.body["status"]["userInfo"]["extra"].clone();
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], json!(["p"]));
    assert_eq!(
        extra["authentication.kubernetes.io/pod-uid"],
        json!([pod["metadata"]["uid"]])
    );
    assert_eq!(extra["authentication.kubernetes.io/node-name"], json!(["n"]));
    assert_eq!(who(&server, &by_secret).await.code, 201);
    server.ok(format!("DELETE {PODS}/p?gracePeriodSeconds=0")).await;
    server.ok(format!("DELETE {secrets}/s")).await;
    for token in [&by_pod, &by_secret] {
        assert_eq!(who(&server, token).await.code, 401);
        let status = review(&server, token, &[]).await;
        let why = "[invalid bearer token, service account token has been invalidated]";
        assert_eq!(status, json!({"user": {}, "error": why}));
    }
    // Another secret of that name is not the one.
    server.ok(Ask::json(format!("POST {secrets}"), &secret)).await;
    let status = review(&server, &by_secret, &[]).await;
    let why = text(&status["error"]);
    assert!(
        why.contains("does not match service account secret ref claim"),
        "{why}"
    );
}

#[tokio::test]
async fn a_token_ends_with_its_account() {
    let server = with_account().await;
    let old = token(&server, &json!({})).await;
    server.ok(format!("DELETE {ACCOUNTS}/robot")).await;
    let status = review(&server, &old, &[]).await;
    assert_eq!(
        status["error"],
        "[invalid bearer token, serviceaccounts \"robot\" not found]"
    );
    create_account(&server).await;
    let why = review(&server, &old, &[]).await["error"].clone();
    assert!(text(&why).contains("service account UID ("), "{why}");
    assert_eq!(who(&server, &old).await.code, 401);
}

#[tokio::test]
async fn audiences() {
    let server = with_account().await;
    let vault = token(&server, &json!({"audiences": ["vault", "other"]})).await;
    let why = format!(
        "[invalid bearer token, token audiences [\"vault\" \"other\"] is invalid for the target audiences [\"{ISSUER}\"]]"
    );
    assert_eq!(who(&server, &vault).await.code, 401, "not meant for this server");
    assert_eq!(review(&server, &vault, &[]).await["error"], why.as_str());
    let status = review(&server, &vault, &["vault", "third"]).await;
    assert_eq!(status["authenticated"], true);
    assert_eq!(status["audiences"], json!(["vault"]));
    let status = review(&server, "no token at all", &[]).await;
    assert_eq!(status, json!({"user": {}, "error": "invalid bearer token"}));
    let empty =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": ""}});
    server
        .refused(
            Ask::json(format!("POST {REVIEWS}"), &empty),
            400,
            "token is required",
        )
        .await;
}

#[tokio::test]
async fn keys_and_limits_are_the_options() {
    let key = SigningKey::generate().unwrap();
    let public = key.public().clone();
    let old = SigningKey::generate().unwrap().public().clone();
    let server = Server::with(Options {
        service_accounts: ServiceAccountOptions {
            issuers: vec!["https://me.example.com".into()],
            audiences: vec!["api".into()],
            signing_key: Some(key),
            verification_keys: vec![old.clone()],
            max_token_expiration: Some(std::time::Duration::from_secs(3600)),
        },
        ..Options::default()
    })
    .await;
    create_account(&server).await;
    let answer = server.ask(request(&json!({"expirationSeconds": 7200}))).await;
    assert_eq!(answer.body["spec"]["expirationSeconds"], 3600);
    assert_eq!(answer.body["spec"]["audiences"], json!(["api"]));
    let warnings = answer.warnings().concat();
    assert!(
        warnings.contains("requested expiration of 7200 seconds shortened to 3600 seconds"),
        "{warnings}"
    );
    assert_eq!(
        who(&server, text(&answer.body["status"]["token"])).await.code,
        201
    );
    // A token of another server does not hold here.
    let foreign = token(&with_account().await, &json!({})).await;
    assert_eq!(
        review(&server, &foreign, &[]).await["error"],
        "invalid bearer token"
    );

    let configuration = server.ask("GET /.well-known/openid-configuration").await;
    assert_eq!(configuration.body["issuer"], "https://me.example.com");
    assert_eq!(
        configuration.body["id_token_signing_alg_values_supported"],
        json!(["ES256"])
    );
    assert_eq!(configuration.header("cache-control"), "public, max-age=3600");
    let jwks = server.ask("GET /openid/v1/jwks").await;
    assert_eq!(jwks.header("content-type"), "application/jwk-set+json");
    let ids: Vec<&str> = jwks.body["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| text(&key["kid"]))
        .collect();
    assert_eq!(ids, [&public, &old].map(PublicKey::id));
}
