//! Rights: what an operator may do, as far as its author says so.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;
use kubewright_core::{ApiResource, StaticResource};

/// A verb of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the verb of its name")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// The verb as RBAC knows it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// The right to use verbs on a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Right {
    group: String,
    resource: String,
    verbs: BTreeSet<Verb>,
}

impl Right {
    /// Verbs on the objects of a kind.
    #[must_use]
    pub fn to<K: StaticResource>(verbs: impl IntoIterator<Item = Verb>) -> Self {
        Self::to_resource(K::GROUP, K::PLURAL, verbs)
    }

    /// Verbs on a resource (a plural, or `plural/subresource`) of a group.
    #[must_use]
    pub fn to_resource(
        group: impl Into<String>,
        resource: impl Into<String>,
        verbs: impl IntoIterator<Item = Verb>,
    ) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
            verbs: verbs.into_iter().collect(),
        }
    }

    /// Verbs on a subresource of the objects of a kind.
    #[must_use]
    pub fn to_subresource<K: StaticResource>(
        subresource: &str,
        verbs: impl IntoIterator<Item = Verb>,
    ) -> Self {
        Self::to_resource(K::GROUP, format!("{}/{subresource}", K::PLURAL), verbs)
    }

    /// What an informer needs.
    pub(crate) fn to_follow(resource: &ApiResource) -> Self {
        Self::to_resource(
            &resource.group,
            &resource.plural,
            [Verb::Get, Verb::List, Verb::Watch],
        )
    }

    /// The rule for a role.
    #[must_use]
    pub fn to_rule(&self) -> PolicyRule {
        PolicyRule {
            api_groups: Some(vec![self.group.clone()]),
            resources: Some(vec![self.resource.clone()]),
            verbs: self.verbs.iter().map(|verb| verb.as_str().to_owned()).collect(),
            ..PolicyRule::default()
        }
    }

    /// One right for each resource, sorted.
    pub(crate) fn merge(rights: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut merged = std::collections::BTreeMap::<_, BTreeSet<Verb>>::new();
        for right in rights {
            merged
                .entry((right.group, right.resource))
                .or_default()
                .extend(right.verbs);
        }
        merged
            .into_iter()
            .map(|((group, resource), verbs)| Self {
                group,
                resource,
                verbs,
            })
            .collect()
    }
}

impl From<Right> for PolicyRule {
    fn from(right: Right) -> Self {
        right.to_rule()
    }
}
