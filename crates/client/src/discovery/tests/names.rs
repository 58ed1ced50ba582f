//! From names and kinds to resources.

use kubewright_core::{GroupKind, GroupVersionResource};
use serde_json::json;

use super::*;
use crate::error::Error;

#[tokio::test]
async fn names_are_found_as_people_write_them() {
    let (client, _) = server(&aggregated());
    let (discovery, _) = client.discover().await.unwrap().into_parts();
    let rows = [
        ("pods", Some("v1/pods")),
        ("pod", Some("v1/pods")),
        ("Pod", Some("v1/pods")),
        ("po", Some("v1/pods")),
        ("pods.v1", Some("v1/pods")),
        ("events", Some("v1/events")),
        ("events.events.k8s.io", Some("events.k8s.io/v1/events")),
        ("ev.v1.events.k8s.io", Some("events.k8s.io/v1/events")),
        ("deploy", Some("apps/v1/deployments")),
        ("deployments.apps", Some("apps/v1/deployments")),
        ("deployments.v1beta1.apps", Some("apps/v1beta1/deployments")),
        ("deployments.v2.apps", None),
        ("nokind", None),
        ("", None),
    ];
    for (argument, expect) in rows {
        let found = discovery
            .find(argument)
            .ok()
            .map(|found| format!("{}/{}", found.resource.api_version(), found.resource.plural));
        assert_eq!(found.as_deref(), expect, "{argument}");
    }
}

fn discovery(groups: serde_json::Value) -> Discovery {
    let body = json!({ "items": groups }).to_string();
    aggregated::parse(body.as_bytes()).unwrap().into_parts().0
}

fn group(name: &str, versions: &[(&str, &[serde_json::Value])]) -> serde_json::Value {
    let versions: Vec<_> = versions
        .iter()
        .map(|(version, resources)| json!({ "version": version, "resources": resources }))
        .collect();
    json!({ "metadata": { "name": name }, "versions": versions })
}

/// Two of everything that may clash.
fn crowded() -> Discovery {
    let pods = resource("pods", "Pod", "Namespaced", &["po"]);
    let metrics = resource("pods", "PodMetrics", "Namespaced", &[]);
    let plain = json!({ "resource": "things", "responseKind": { "kind": "Thing" }, "scope": "Cluster" });
    discovery(json!([
        group("", &[("v1", &[pods])]),
        group(
            "storage.k8s.io",
            &[(
                "v1",
                &[resource("storageclasses", "StorageClass", "Cluster", &["sc"])]
            )],
        ),
        group(
            "a.example.com",
            &[
                ("v2", &[resource("widgets", "Widget", "Namespaced", &["w"])]),
                (
                    "v1",
                    &[
                        resource("widgets", "Widget", "Namespaced", &["w"]),
                        resource("gears", "Gear", "Namespaced", &["w"]),
                    ],
                ),
            ],
        ),
        group(
            "b.example.com",
            &[(
                "v1",
                &[
                    resource("widgets", "Widget", "Namespaced", &["w"]),
                    resource("cpu", "MetricValueList", "Namespaced", &["m"]),
                    resource("memory", "MetricValueList", "Namespaced", &["m"]),
                    plain,
                ],
            )],
        ),
        group("metrics.k8s.io", &[("v1beta1", &[metrics])]),
    ]))
}

#[test]
fn of_many_the_first_in_order_of_precedence_is_meant() {
    let discovery = crowded();
    let rows = [
        ("pods", "v1/pods"),
        ("pods.v1.", "v1/pods"),
        ("po.v1.", "v1/pods"),
        ("pods.metrics.k8s.io", "metrics.k8s.io/v1beta1/pods"),
        ("pods.metrics", "metrics.k8s.io/v1beta1/pods"),
        ("podmetrics", "metrics.k8s.io/v1beta1/pods"),
        ("storageclass.storage", "storage.k8s.io/v1/storageclasses"),
        ("sc.storage", "storage.k8s.io/v1/storageclasses"),
        (
            "StorageClass.v1.storage.k8s.io",
            "storage.k8s.io/v1/storageclasses",
        ),
        ("StorageClass.storage.k8s.io", "storage.k8s.io/v1/storageclasses"),
        ("WIDGETS", "a.example.com/v2/widgets"),
        ("w", "a.example.com/v2/widgets"),
        ("w.v1.a.example.com", "a.example.com/v1/widgets"),
        ("widgets.b", "b.example.com/v1/widgets"),
        ("widgets.v1.b.example.com", "b.example.com/v1/widgets"),
        ("widgets.v1", "a.example.com/v1/widgets"),
        ("gears", "a.example.com/v1/gears"),
        ("thing", "b.example.com/v1/things"),
        ("m", "b.example.com/v1/cpu"),
    ];
    for (argument, expect) in rows {
        let found = &discovery.find(argument).unwrap().resource;
        assert_eq!(
            format!("{}/{}", found.api_version(), found.plural),
            expect,
            "{argument}"
        );
        assert_eq!(&discovery.find_all(argument)[0].resource, found, "{argument}");
    }
    assert_eq!(discovery.find_all("w").len(), 4);
    for argument in ["gadgets", "pods.v2.", "widgets.c", ".v1.apps", "."] {
        assert!(discovery.find(argument).unwrap_err().is_no_match(), "{argument}");
        assert!(discovery.find_all(argument).is_empty(), "{argument}");
    }
}

#[test]
fn what_nobody_can_settle_lists_the_choices() {
    let discovery = crowded();
    let group_kind = GroupKind::new("b.example.com", "MetricValueList");
    let kind = GroupVersionKind::new("b.example.com", "v1", "MetricValueList");
    for (error, what) in [
        (
            discovery.resource_of_kind(&group_kind).unwrap_err(),
            "MetricValueList.b.example.com",
        ),
        (
            discovery.resource_of(&kind).unwrap_err(),
            "b.example.com/v1, Kind=MetricValueList",
        ),
        (
            discovery.find("metricvaluelist").unwrap_err(),
            "resource type \"metricvaluelist\"",
        ),
    ] {
        let text = format!("{what} may be any of cpu.v1.b.example.com, memory.v1.b.example.com");
        assert_eq!(error.to_string(), text);
        assert!(!error.is_no_match());
    }
    let choices = (0..12).map(|n| GroupVersionResource::new("", "v1", n.to_string()));
    let many = Error::Ambiguous {
        what: "x".to_owned(),
        choices: choices.collect(),
    };
    assert!(many.to_string().ends_with("9.v1. and 2 more"), "{many}");
}

#[test]
fn categories_name_each_resource_once() {
    let with = |mut resource: serde_json::Value| {
        resource["categories"] = json!(["all"]);
        resource
    };
    let widgets = || with(resource("widgets", "Widget", "Namespaced", &[]));
    let discovery = discovery(json!([
        group("", &[("v1", &[with(resource("pods", "Pod", "Namespaced", &[]))])]),
        group("a.example.com", &[("v2", &[widgets()]), ("v1", &[widgets()])]),
    ]));
    let all: Vec<String> = discovery
        .category("all")
        .map(|found| found.resource.group_version_resource().to_string())
        .collect();
    assert_eq!(all, ["v1, Resource=pods", "a.example.com/v2, Resource=widgets"]);
    assert_eq!(discovery.category("none").count(), 0);
}
