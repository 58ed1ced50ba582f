//! Validation, warnings and versions of the kinds beyond the core group, as clients see them.

use kubewright_apiserver::Options;
use serde_json::{Value, json};

use crate::harness::{Ask, Server, text};

/// Everything that can be served is.
async fn everything() -> Server {
    Server::with(Options {
        runtime_config: "api/all=true".into(),
        ..Options::default()
    })
    .await
}

#[tokio::test]
async fn deprecated_versions_are_warned_of() {
    let server = everything().await;
    let check = async |path: &str, expect: &[&str]| {
        let answer = server.ask(format!("GET {path}")).await;
        assert_eq!(answer.warnings(), expect, "{path}");
    };
    check("/apis/resource.k8s.io/v1/deviceclasses", &[]).await;
    check(
        "/apis/resource.k8s.io/v1beta1/deviceclasses",
        &["299 - \"resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+\""],
    )
    .await;
    check(
        "/api/v1/namespaces/default/endpoints/absent",
        &["299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\""],
    )
    .await;
}

fn deployment(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }})
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn what_is_wrong_is_told_field_by_field() {
    let server = Server::start().await;
    let mut object = deployment("web");
    object["spec"]["strategy"] = json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}});
    object["spec"]["replicas"] = json!(-1);
    let answer = server
        .refused(
            Ask::json(format!("POST {DEPLOYMENTS}"), &object),
            422,
            "Deployment.apps \"web\" is invalid",
        )
        .await;
    assert_eq!(
        answer.body["details"]["causes"],
        json!([
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: -1: must be greater than or equal to 0",
                "field": "spec.replicas",
            },
            {
                "reason": "FieldValueForbidden",
                "message": "Forbidden: may not be specified when strategy `type` is 'Recreate'",
                "field": "spec.strategy.rollingUpdate",
            },
        ])
    );
    server
        .ok(Ask::json(format!("POST {DEPLOYMENTS}"), &deployment("web")))
        .await;
    let mut moved = deployment("web");
    moved["spec"]["selector"]["matchLabels"] = json!({"c": "d"});
    moved["spec"]["template"]["metadata"]["labels"] = json!({"c": "d"});
    server
        .refused(
            Ask::json(format!("PUT {DEPLOYMENTS}/web"), &moved),
            422,
            "spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable",
        )
        .await;
    let status = json!({"status": {"replicas": 1, "readyReplicas": 2}});
    server
        .refused(
            Ask::new(format!("PATCH {DEPLOYMENTS}/web/status"))
                .typed("application/merge-patch+json", status.to_string()),
            422,
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        )
        .await;
}

#[tokio::test]
async fn valid_objects_may_still_be_warned_of() {
    let server = Server::start().await;
    let warned = "299 - \"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS \
                  label is recommended: [must not contain dots]\"";
    let answer = server
        .ask(Ask::json(
            format!("POST {DEPLOYMENTS}?dryRun=All"),
            &deployment("a.b"),
        ))
        .await;
    assert_eq!((answer.code, answer.warnings()), (201, vec![warned]));
    let answer = server
        .ask(Ask::json(format!("POST {DEPLOYMENTS}"), &deployment("web")))
        .await;
    assert_eq!((answer.code, answer.warnings()), (201, vec![]));
    // What is refused is not warned of.
    let mut object = deployment("a.b");
    object["spec"]["replicas"] = json!(-1);
    let answer = server
        .refused(
            Ask::json(format!("POST {DEPLOYMENTS}"), &object),
            422,
            "spec.replicas",
        )
        .await;
    assert_eq!(answer.warnings(), Vec::<&str>::new());
}

#[tokio::test]
async fn autoscalers_are_one_object_in_two_versions() {
    let server = Server::start().await;
    let path =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    let (first, second) = (path("v1"), path("v2"));
    let mut events = server.watch(&format!("{second}?watch=true")).await;
    let target = json!({"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"});
    let object = json!({"metadata": {"name": "web"}, "spec": {
        "scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60,
    }});
    let made = server.ok(Ask::json(format!("POST {first}"), &object)).await;
    assert_eq!(made["apiVersion"], "autoscaling/v1");
    assert_eq!(made["spec"]["targetCPUUtilizationPercentage"], 60);
    assert_eq!(made["spec"]["minReplicas"], 1);
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}});
    let event = events.next().await.unwrap();
    assert_eq!(event["object"]["apiVersion"], "autoscaling/v2");
    assert_eq!(event["object"]["spec"]["metrics"], json!([cpu]));

    let mut seen = server.ok(format!("GET {second}/web")).await;
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "5"}}});
    seen["spec"]["metrics"] = json!([pods, cpu]);
    seen["spec"]["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 30}});
    let changed = server.ok(Ask::json(format!("PUT {second}/web"), &seen)).await;
    assert_eq!(changed["metadata"]["generation"], 2);

    let back = server.ok(format!("GET {first}/web")).await;
    assert_eq!(back["spec"]["targetCPUUtilizationPercentage"], 60);
    assert_eq!(back["spec"].get("metrics"), None);
    let kept = &back["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"];
    let kept: Value = serde_json::from_str(text(kept)).unwrap();
    assert_eq!(
        kept,
        json!([{"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "5"}}])
    );
    // Put back as it was read, nothing changes.
    let again = server.ok(Ask::json(format!("PUT {first}/web"), &back)).await;
    assert_eq!(
        again["metadata"]["resourceVersion"],
        back["metadata"]["resourceVersion"]
    );
    let list = server.ok(format!("GET {second}")).await;
    assert_eq!(list["items"][0]["spec"]["metrics"], json!([pods, cpu]));
    server
        .refused(
            Ask::json(
                format!("POST {first}"),
                &json!({"metadata": {"name": "x"}, "spec": {"scaleTargetRef": target, "maxReplicas": 1, "targetCPUUtilizationPercentage": 0}}),
            ),
            422,
            "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
        )
        .await;
}

#[tokio::test]
async fn claims_for_devices_are_one_object_in_three_versions() {
    let server = everything().await;
    let path = |version: &str| format!("/apis/resource.k8s.io/{version}/namespaces/default/resourceclaims");
    let flat = json!({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}});
    let made = server
        .ok(Ask::json(format!("POST {}", path("v1beta1")), &flat))
        .await;
    let request = json!({"name": "r", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
    assert_eq!(made["spec"]["devices"]["requests"], json!([request]));
    let exact = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
    for version in ["v1", "v1beta2"] {
        let seen = server.ok(format!("GET {}/c", path(version))).await;
        assert_eq!(seen["apiVersion"], format!("resource.k8s.io/{version}"));
        assert_eq!(
            seen["spec"]["devices"]["requests"],
            json!([{"name": "r", "exactly": exact}])
        );
        let list = server.ok(format!("GET {}", path(version))).await;
        assert_eq!(list["items"][0]["spec"], seen["spec"]);
    }
    let mut events = server.watch(&format!("{}?watch=true", path("v1beta1"))).await;
    let event = events.next().await.unwrap();
    assert_eq!(event["object"]["spec"]["devices"]["requests"], json!([request]));
    assert_eq!(event["object"]["apiVersion"], "resource.k8s.io/v1beta1");
}

#[tokio::test]
async fn events_are_selected_by_the_names_of_their_version() {
    let server = Server::start().await;
    let (core, newer) = (
        "/api/v1/namespaces/default/events",
        "/apis/events.k8s.io/v1/namespaces/default/events",
    );
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started", "message": "m", "type": "Normal",
    });
    server.ok(Ask::json(format!("POST {core}"), &event)).await;
    let seen = server
        .ok(format!(
            "GET {newer}?fieldSelector=regarding.name=p,reason=Started"
        ))
        .await;
    assert_eq!(seen["items"][0]["note"], "m");
    let none = server
        .ok(format!("GET {core}?fieldSelector=involvedObject.name=q"))
        .await;
    assert_eq!(none["items"], json!([]));
    server
        .refused(
            format!("GET {core}?fieldSelector=regarding.name=p"),
            400,
            "field label not supported: regarding.name",
        )
        .await;
}
