//! What was found while a namespace was emptied, as its conditions say it
//! (kubernetes `pkg/controller/namespace/deletion/status_condition_utils.go`, whose types and reasons are the API).

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::NamespaceCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubewright_client::discovery::{Discovery, DiscoveryFailure};
use kubewright_core::{ApiResource, ObjectMeta};

/// What is left of one resource.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    resource: String,
    objects: usize,
    finalizers: BTreeMap<String, usize>,
}

impl Left {
    pub(super) fn new<'a>(resource: &ApiResource, objects: impl Iterator<Item = &'a ObjectMeta>) -> Self {
        let mut left = Self {
            resource: qualified(resource),
            ..Self::default()
        };
        for object in objects {
            left.objects += 1;
            for finalizer in object.finalizers.iter().flatten() {
                *left.finalizers.entry(finalizer.clone()).or_default() += 1;
            }
        }
        left
    }
}

/// What one pass over a namespace found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) left: Vec<Left>,
    discovery: Vec<String>,
    deletion: Vec<String>,
}

impl Findings {
    pub(super) fn discovery(&mut self, discovery: &Discovery, failures: &[DiscoveryFailure]) {
        let failures = failures.iter().map(ToString::to_string);
        self.discovery = hidden(discovery, failures.collect());
    }

    pub(super) fn failed(&mut self, resource: &ApiResource, error: &kubewright_client::Error) {
        self.deletion.push(format!("{}: {error}", qualified(resource)));
    }

    /// Nothing is left, and nothing hides what might be.
    pub(super) fn is_clean(&self) -> bool {
        self.left.is_empty() && !self.has_failed()
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.discovery.is_empty() || !self.deletion.is_empty()
    }

    /// The conditions, if they are not the present ones. Times change with the status.
    pub(super) fn conditions(
        &self,
        present: &[NamespaceCondition],
        now: Timestamp,
    ) -> Option<Vec<NamespaceCondition>> {
        let mut conditions = present.to_vec();
        let mut changed = false;
        for (type_, status, reason, message) in self.rows() {
            let at = conditions.iter().position(|condition| condition.type_ == type_);
            let before = at.map(|at| conditions[at].clone());
            let time = before
                .as_ref()
                .filter(|before| before.status == status)
                .and_then(|before| before.last_transition_time.clone());
            let condition = NamespaceCondition {
                last_transition_time: time.or(Some(Time(now))),
                message: Some(message),
                reason: Some(reason.to_owned()),
                status: status.to_owned(),
                type_: type_.to_owned(),
            };
            changed |= before.as_ref() != Some(&condition);
            match at {
                Some(at) => conditions[at] = condition,
                None => conditions.push(condition),
            }
        }
        changed.then_some(conditions)
    }

    fn rows(&self) -> [(&'static str, &'static str, &'static str, String); 5] {
        let mut finalizers = BTreeMap::<&str, usize>::new();
        for (name, count) in self.left.iter().flat_map(|left| &left.finalizers) {
            *finalizers.entry(name).or_default() += count;
        }
        let left: Vec<_> = self
            .left
            .iter()
            .map(|left| format!("{} has {} resource instances", left.resource, left.objects))
            .collect();
        let finalizers: Vec<_> = finalizers
            .iter()
            .map(|(name, count)| format!("{name} in {count} resource instances"))
            .collect();
        [
            row(
                "NamespaceDeletionDiscoveryFailure",
                ("ResourcesDiscovered", "All resources successfully discovered"),
                ("DiscoveryFailed", "Discovery failed for some groups: "),
                &self.discovery,
            ),
            row(
                "NamespaceDeletionGroupVersionParsingFailure",
                ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
                ("GroupVersionParsingFailed", ""),
                &[],
            ),
            row(
                "NamespaceDeletionContentFailure",
                (
                    "ContentDeleted",
                    "All content successfully deleted, may be waiting on finalization",
                ),
                ("ContentDeletionFailed", "Failed to delete all resource types: "),
                &self.deletion,
            ),
            row(
                "NamespaceContentRemaining",
                ("ContentRemoved", "All content successfully removed"),
                ("SomeResourcesRemain", "Some resources are remaining: "),
                &left,
            ),
            row(
                "NamespaceFinalizersRemaining",
                (
                    "ContentHasNoFinalizers",
                    "All content-preserving finalizers finished",
                ),
                (
                    "SomeFinalizersRemain",
                    "Some content in the namespace has finalizers remaining: ",
                ),
                &finalizers,
            ),
        ]
    }
}

fn row(
    type_: &'static str,
    good: (&'static str, &'static str),
    bad: (&'static str, &'static str),
    what: &[String],
) -> (&'static str, &'static str, &'static str, String) {
    if what.is_empty() {
        return (type_, "False", good.0, good.1.to_owned());
    }
    (type_, "True", bad.0, format!("{}{}", bad.1, what.join(", ")))
}

/// What discovery does not show: the failures, and the core group. No server is without that, so an answer without it hides
/// most of what there may be.
fn hidden(discovery: &Discovery, mut failures: Vec<String>) -> Vec<String> {
    if failures.is_empty() && !discovery.groups.iter().any(|group| group.name.is_empty()) {
        failures.push("v1: not offered".to_owned());
    }
    failures
}

/// `pods.` or `deployments.apps`, as upstream prints it.
fn qualified(resource: &ApiResource) -> String {
    format!("{}.{}", resource.plural, resource.group)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kubewright_client::discovery::DiscoveredGroup;
    use kubewright_core::StaticResource;

    use super::*;

    #[test]
    fn what_discovery_hides_keeps_the_namespace() {
        let group = |name: &str| {
            let mut group = DiscoveredGroup::default();
            group.name = name.to_owned();
            group
        };
        for (groups, failure, expect) in [
            (&["", "apps"][..], None, None),
            (&["apps"], None, Some("v1: not offered")),
            (&[], None, Some("v1: not offered")),
            (&["", "apps"], Some("x.io/v1: stale"), Some("x.io/v1: stale")),
            (&["apps"], Some("v1: stale"), Some("v1: stale")),
        ] {
            let mut discovery = Discovery::default();
            discovery.groups = groups.iter().map(|name| group(name)).collect();
            let failures: Vec<String> = failure.into_iter().map(str::to_owned).collect();
            let findings = Findings {
                discovery: hidden(&discovery, failures),
                ..Findings::default()
            };
            assert_eq!(findings.is_clean(), expect.is_none(), "{groups:?} {failure:?}");
            let conditions = findings.conditions(&[], Timestamp::UNIX_EPOCH).unwrap();
            let message = conditions[0]
                .message
                .clone()
                .filter(|_| conditions[0].status == "True");
            let expect = expect.map(|what| format!("Discovery failed for some groups: {what}"));
            assert_eq!(message, expect, "{groups:?} {failure:?}");
        }
    }

    #[test]
    fn conditions_say_what_is_left_and_keep_their_times() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let object = ObjectMeta {
            finalizers: Some(vec!["a.io/x".into()]),
            ..ObjectMeta::default()
        };
        let mut findings = Findings::default();
        findings
            .left
            .push(Left::new(&Pod::api_resource(), [&object, &object].into_iter()));
        let first = findings.conditions(&[], at(1)).unwrap();
        let texts: Vec<_> = first
            .iter()
            .map(|c| (c.status.as_str(), c.message.as_deref().unwrap()))
            .collect();
        assert_eq!(
            texts[3],
            (
                "True",
                "Some resources are remaining: pods. has 2 resource instances"
            )
        );
        assert_eq!(
            texts[4],
            (
                "True",
                "Some content in the namespace has finalizers remaining: a.io/x in 2 resource instances"
            )
        );
        assert_eq!(findings.conditions(&first, at(2)), None);
        let clean = Findings::default().conditions(&first, at(3)).unwrap();
        let times: Vec<_> = clean
            .iter()
            .map(|c| {
                (
                    c.status.as_str(),
                    c.last_transition_time.as_ref().unwrap().0.as_second(),
                )
            })
            .collect();
        assert_eq!(
            times,
            [
                ("False", 1),
                ("False", 1),
                ("False", 1),
                ("False", 3),
                ("False", 3)
            ]
        );
    }
}
