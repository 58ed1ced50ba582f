//! Rules of roles, and what they allow (pkg/apis/rbac/v1/evaluation_helpers.go).

use serde::{Deserialize, Deserializer, Serialize};

use crate::authorization::{Access, Attempt};

/// A rule of a role: what may be done to resources, or to paths that are no resources. Lists that are `null` are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct PolicyRule {
    // In the order of stored texts, which is that of the names.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    /// Paths, or beginnings of paths with a `*` at their end.
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(crate) non_resource_urls: Vec<String>,
    /// Empty for objects of all names.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    /// Plurals, `plural/subresource`, `*/subresource`, or `*` for all, subresources included.
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(deserialize_with = "list")]
    pub(crate) verbs: Vec<String>,
}

/// A list, or `null` for an empty one.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl PolicyRule {
    /// What it says of resources.
    pub(crate) fn without_paths(self) -> Self {
        Self {
            non_resource_urls: Vec::new(),
            ..self
        }
    }

    /// What it says of paths that are no resources.
    pub(crate) fn without_resources(self) -> Self {
        Self {
            verbs: self.verbs,
            non_resource_urls: self.non_resource_urls,
            ..Self::default()
        }
    }

    /// Whether this rule allows `access`.
    pub(crate) fn allows(&self, access: &Access<'_>) -> bool {
        match access {
            Access::Resource(attempt) => self.allows_attempt(attempt),
            Access::Path { verb, path } => {
                has(&self.verbs, verb) && self.non_resource_urls.iter().any(|url| url_covers(url, path))
            }
        }
    }

    fn allows_attempt(&self, attempt: &Attempt<'_>) -> bool {
        has(&self.verbs, attempt.verb)
            && has(&self.api_groups, attempt.group)
            && self.resources.iter().any(|one| is_resource(one, attempt))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|one| one == attempt.name))
    }
}

/// Whether the list names `wanted` or everything.
pub(super) fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|one| one == "*" || one == wanted)
}

/// Whether `url` is the path or a beginning of it. One without a `*` at its end covers itself alone.
pub(super) fn url_covers(url: &str, path: &str) -> bool {
    url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
}

fn is_resource(named: &str, attempt: &Attempt<'_>) -> bool {
    if named == "*" {
        return true;
    }
    if attempt.subresource.is_empty() {
        return named == attempt.resource;
    }
    named
        .strip_suffix(attempt.subresource)
        .and_then(|named| named.strip_suffix('/'))
        .is_some_and(|named| named == "*" || named == attempt.resource)
}
