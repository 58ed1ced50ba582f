//! What requests do not write, whatever they say: fields that the strategies reset are nobody's.
//!
//! Upstream: `GetResetFields` and `GetResetFieldsFilter` of `pkg/registry/*/*/strategy.go` and of apiextensions
//! `pkg/registry/customresource/strategy.go`. The rule for most kinds is the same; the table below has the others.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use kubewright_kinds as kinds;
use kubewright_smd::fields::{Filter, ResetFields};

use crate::registry::Resource;

/// What requests to a subresource of a resource reset, or to the object itself where the name is empty.
pub(super) fn of(resource: &Resource, subresource: &str) -> Cow<'static, ResetFields> {
    static NONE: ResetFields = BTreeMap::new();
    if resource.model.custom().is_none() {
        let of = (resource.group.as_str(), resource.plural.as_str(), subresource);
        return Cow::Borrowed(builtin(of).unwrap_or(&NONE));
    }
    if resource.subresource("status").is_none() {
        return Cow::Borrowed(&NONE);
    }
    let fields: &[&[&str]] = match subresource {
        "" => STATUS,
        "status" => METADATA_AND_SPEC,
        _ => return Cow::Borrowed(&NONE),
    };
    Cow::Owned([(resource.api_version(), exclude(fields))].into())
}

/// Group, plural and subresource.
type Key<'a> = (&'a str, &'a str, &'a str);

fn builtin(of: Key<'_>) -> Option<&'static ResetFields> {
    let at = BUILTIN.binary_search_by(|(key, _)| key.cmp(&of)).ok()?;
    Some(&BUILTIN[at].1)
}

/// Of the built-in resources, in the order of their keys.
static BUILTIN: LazyLock<Vec<(Key<'static>, ResetFields)>> = LazyLock::new(|| {
    let mut all = BTreeMap::<Key<'_>, ResetFields>::new();
    for row in kinds::table().resources() {
        let names = row.subresources.iter().map(|sub| sub.name);
        for subresource in names.chain([""]) {
            if let Some(filter) = filter(row, subresource) {
                let key = (row.group, row.plural, subresource);
                all.entry(key).or_default().insert(row.api_version(), filter);
            }
        }
    }
    all.into_iter().collect()
});

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
    use super::*;

    #[test]
    fn every_kind_with_a_status_resets_it() {
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
            assert_eq!(
                builtin(key).and_then(|all| all.get(version)),
                Some(&exclude(fields)),
                "{key:?}"
            );
        }
        assert_eq!(builtin(("", "configmaps", "")), None);
        assert_eq!(builtin(("apps", "deployments", "scale")), None);
        // Their strategies have a filter, but their storage does not hand it out (pkg/registry/core/pod/storage/storage.go).
        for subresource in ["ephemeralcontainers", "resize"] {
            assert_eq!(builtin(("", "pods", subresource)), None);
        }
    }
}
