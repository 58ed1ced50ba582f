//! Services are given addresses, which takes turns; webhooks are asked about them, which takes time.

use std::sync::Arc;
use std::time::Duration;

use http::Response;
use kubewright_net::Body;
use serde_json::json;
use tokio::sync::Semaphore;

use super::configure_validating;
use crate::harness::{Ask, text};
use crate::https::{Https, calling_server};

/// A webhook that thinks about one service keeps nobody from writing another, as it may do itself.
#[tokio::test]
async fn a_service_is_written_while_another_is_looked_at() {
    let (asked, answer) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (telling, waiting) = (asked.clone(), answer.clone());
    let https = Https::start(move |request| {
        let (telling, waiting) = (telling.clone(), waiting.clone());
        async move {
            let review = request.into_body().collect_limited(1 << 20).await.unwrap();
            let review: serde_json::Value = serde_json::from_slice(&review).unwrap();
            telling.add_permits(1);
            waiting.acquire().await.unwrap().forget();
            let response = json!({"uid": review["request"]["uid"], "allowed": true});
            let review =
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
            Response::new(Body::from(review.to_string()))
        }
    })
    .await;
    let server = calling_server().await;
    let hook = json!({
        "name": "slow.example.com", "clientConfig": https.by_url("/"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "objectSelector": {"matchLabels": {"slow": "yes"}},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"]}],
    });
    configure_validating(&server, "slow", &[hook]).await;
    let service = |name: &str, slow: &str| {
        let object =
            json!({"metadata": {"name": name, "labels": {"slow": slow}}, "spec": {"ports": [{"port": 80}]}});
        Ask::json("POST /api/v1/namespaces/default/services", &object)
    };
    let slow = server.ok(service("slow", "yes"));
    let quick = async {
        asked.acquire().await.unwrap().forget();
        let made = server.ok(service("quick", "no"));
        let made = tokio::time::timeout(Duration::from_secs(5), made).await;
        answer.add_permits(1);
        made.expect("nobody waits for a webhook that is not asked")
    };
    let (slow, quick) = tokio::join!(slow, quick);
    let addresses = [&slow, &quick].map(|service| text(&service["spec"]["clusterIP"]));
    assert!(
        addresses.iter().all(|address| address.starts_with("10.")),
        "{addresses:?}"
    );
    assert_ne!(addresses[0], addresses[1]);
}
