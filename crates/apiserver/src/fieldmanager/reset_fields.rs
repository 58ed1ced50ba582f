//! What requests do not write, whatever they say: fields that the strategies reset are nobody's.
//!
//! Upstream: `GetResetFields` and `GetResetFieldsFilter` of `pkg/registry/*/*/strategy.go` and of apiextensions
//! `pkg/registry/customresource/strategy.go`. The rule for most kinds is the same; the table below has the others.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use kubewright_kinds as kinds;
use kubewright_smd::fields::{Filter, ResetFields};

use crate::registry::Resource;

/// What requests to one resource reset: by subresource, with an empty name for the object itself. Those that reset nothing are left out.
///
/// It follows from the names, the subresources and the model of the resource, which never change, and is found when it is first asked for, since
/// a server has to start in less time than it would take for all kinds.
#[derive(Default)]
pub(crate) struct ResetFieldsOf(OnceLock<BySubresource>);

type BySubresource = BTreeMap<String, ResetFields>;

/// What requests to a subresource of a resource reset, or to the object itself where the name is empty.
pub(super) fn of<'a>(resource: &'a Resource, subresource: &str) -> &'a ResetFields {
    static NONE: ResetFields = BTreeMap::new();
    let all = resource
        .reset_fields
        .0
        .get_or_init(|| match resource.model.custom() {
            Some(_) => custom(resource),
            None => builtin(&resource.group, &resource.plural),
        });
    all.get(subresource).unwrap_or(&NONE)
}

fn custom(resource: &Resource) -> BySubresource {
    if resource.subresource("status").is_none() {
        return BySubresource::new();
    }
    let rules = [("", STATUS), ("status", METADATA_AND_SPEC)];
    rules
        .map(|(subresource, fields)| {
            let resets = ResetFields::from([(resource.api_version(), exclude(fields))]);
            (subresource.to_owned(), resets)
        })
        .into()
}

/// Of a built-in resource in all its versions.
fn builtin(group: &str, plural: &str) -> BySubresource {
    let mut all = BySubresource::new();
    let versions = kinds::table().resources().iter();
    for row in versions.filter(|row| row.group == group && row.plural == plural) {
        let names = row.subresources.iter().map(|sub| sub.name);
        for subresource in names.chain([""]) {
            if let Some(filter) = filter(row, subresource) {
                let resets = all.entry(subresource.to_owned()).or_default();
                resets.insert(row.api_version(), filter);
            }
        }
    }
    all
}

fn filter(row: &kinds::Resource, subresource: &str) -> Option<Filter> {
    let fields: &[&[&str]] = match (row.group, row.plural, subresource) {
        ("certificates.k8s.io", "certificatesigningrequests", "") => &[&["spec"], &["status"]],
        ("certificates.k8s.io", "certificatesigningrequests", "status") => {
            &[&["spec"], &["status", "conditions"]]
        }
        ("certificates.k8s.io", "certificatesigningrequests", "approval") => {
            &[&["spec"], &["status", "certificate"]]
        }
        ("", "namespaces", "finalize") => STATUS,
        ("", "pods", "status") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        ("apps", "deployments", "status") => &[&["spec"], &["metadata", "labels"]],
        (_, _, "") if row.subresource("status").is_some() => STATUS,
        (group, plural, "status") if keeps_metadata(group, plural) => &[&["spec"]],
        (_, _, "status") => METADATA_AND_SPEC,
        _ => return None,
    };
    Some(exclude(fields))
}

/// Kinds whose status can be written with metadata: those that are older than the rule against it.
fn keeps_metadata(group: &str, plural: &str) -> bool {
    match group {
        "" => matches!(
            plural,
            "namespaces"
                | "nodes"
                | "persistentvolumes"
                | "persistentvolumeclaims"
                | "replicationcontrollers"
                | "resourcequotas"
                | "services"
        ),
        "apps" => matches!(plural, "daemonsets" | "replicasets" | "statefulsets"),
        "autoscaling" => plural == "horizontalpodautoscalers",
        "batch" => matches!(plural, "cronjobs" | "jobs"),
        "networking.k8s.io" => plural == "ingresses",
        "policy" => plural == "poddisruptionbudgets",
        _ => false,
    }
}

fn exclude(fields: &[&[&str]]) -> Filter {
    Filter::exclude(fields.iter().copied())
}

const STATUS: &[&[&str]] = &[&["status"]];
const METADATA_AND_SPEC: &[&[&str]] = &[&["metadata"], &["spec"]];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_support::{TestServer, definition};

    #[test]
    fn every_kind_with_a_status_resets_it() {
        let resets = |(group, plural, subresource): (&str, &str, &str)| {
            builtin(group, plural).remove(subresource).unwrap_or_default()
        };
        for (key, version, fields) in [
            (("apps", "deployments", ""), "apps/v1", &[&["status"][..]][..]),
            (
                ("apps", "deployments", "status"),
                "apps/v1",
                &[&["spec"], &["metadata", "labels"]],
            ),
            (("apps", "replicasets", "status"), "apps/v1", &[&["spec"]]),
            (
                ("autoscaling", "horizontalpodautoscalers", ""),
                "autoscaling/v1",
                &[&["status"]],
            ),
            (
                ("autoscaling", "horizontalpodautoscalers", "status"),
                "autoscaling/v2",
                &[&["spec"]],
            ),
            (("", "namespaces", "finalize"), "v1", &[&["status"]]),
            (
                ("resource.k8s.io", "resourceclaims", "status"),
                "resource.k8s.io/v1",
                &[&["metadata"], &["spec"]],
            ),
        ] {
            assert_eq!(resets(key).get(version), Some(&exclude(fields)), "{key:?}");
        }
        assert!(resets(("", "configmaps", "")).is_empty());
        assert!(resets(("apps", "deployments", "scale")).is_empty());
        // Their strategies have a filter, but their storage does not hand it out (pkg/registry/core/pod/storage/storage.go).
        for subresource in ["ephemeralcontainers", "resize"] {
            assert!(resets(("", "pods", subresource)).is_empty());
        }
    }

    #[tokio::test]
    async fn custom_kinds_do_by_their_status() {
        let widgets = "/apis/example.com/v1/namespaces/default/widgets";
        for (subresources, owned) in [
            (json!({}), vec![("", vec!["f:spec", "f:status"])]),
            (
                json!({"status": {}}),
                vec![("", vec!["f:spec"]), ("status", vec!["f:status"])],
            ),
        ] {
            let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let version = json!({
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": subresources,
            });
            let server = TestServer::start().await;
            server
                .define(&definition("widgets", "Widget", json!([version])))
                .await;
            let mut widget = json!({
                "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
                "spec": {"size": 1}, "status": {"ready": 1},
            });
            let mut stored = server.post(widgets, &widget).await.ok();
            if owned.len() > 1 {
                let version = stored["metadata"]["resourceVersion"].clone();
                widget["metadata"] = json!({"name": "w", "labels": {"a": "b"}, "resourceVersion": version});
                widget["spec"]["size"] = json!(2);
                stored = server.put(&format!("{widgets}/w/status"), &widget).await.ok();
            }
            let entries = stored["metadata"]["managedFields"].as_array().unwrap().iter();
            let found: Vec<_> = entries
                .map(|entry| {
                    let fields = entry["fieldsV1"].as_object().unwrap().keys();
                    let fields: Vec<&str> = fields.map(String::as_str).collect();
                    let subresource = entry.get("subresource").and_then(Value::as_str);
                    (subresource.unwrap_or_default(), fields)
                })
                .collect();
            assert_eq!(found, owned, "{subresources}");
        }
    }
}
