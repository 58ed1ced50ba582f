//! Results and failures of discovery, neither to be had without the other: [`PartialDiscovery`].

use std::fmt;
use std::sync::Arc;

use kubewright_core::GroupVersion;

use super::{DiscoveredGroup, DiscoveredVersion, Discovery};
use crate::error::Error;

/// What a server offers, and the versions it could not tell of.
///
/// A broken extension server must not hide the other groups, and whoever works with the others must not take what is
/// missing for gone: this type can only be taken apart into both.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct PartialDiscovery {
    discovery: Discovery,
    failures: Vec<DiscoveryFailure>,
    /// All versions as the server lists them, those that failed in their places.
    order: Vec<GroupVersion>,
}

/// A version that discovery could not read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiscoveryFailure {
    /// Which.
    pub group_version: GroupVersion,
    /// Why; `None` if the server itself said that what it knows is stale.
    pub error: Option<Arc<Error>>,
}

/// Some versions could not be read, for those who need all.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the server could not tell all that it offers: {}", list(failures))]
#[non_exhaustive]
pub struct IncompleteDiscovery {
    /// Which, and why.
    pub failures: Vec<DiscoveryFailure>,
}

fn list(failures: &[DiscoveryFailure]) -> String {
    let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
    failures.join("; ")
}

impl PartialDiscovery {
    /// Both, borrowed.
    pub fn parts(&self) -> (&Discovery, &[DiscoveryFailure]) {
        (&self.discovery, &self.failures)
    }

    /// Both.
    pub fn into_parts(self) -> (Discovery, Vec<DiscoveryFailure>) {
        (self.discovery, self.failures)
    }

    /// The results, if there are no failures.
    ///
    /// # Errors
    ///
    /// The failures.
    pub fn complete(self) -> Result<Discovery, IncompleteDiscovery> {
        if self.failures.is_empty() {
            Ok(self.discovery)
        } else {
            Err(IncompleteDiscovery {
                failures: self.failures,
            })
        }
    }

    pub(super) fn add(&mut self, group: &str, version: DiscoveredVersion) {
        self.note(GroupVersion::new(group, &version.version));
        let groups = &mut self.discovery.groups;
        match groups.iter_mut().find(|known| known.name == group) {
            Some(known) => known.versions.push(version),
            None => groups.push(DiscoveredGroup {
                name: group.to_owned(),
                versions: vec![version],
            }),
        }
    }

    /// Whether a version is among the results or the failures.
    pub(super) fn lists(&self, group_version: &GroupVersion) -> bool {
        self.order.contains(group_version)
    }

    fn note(&mut self, group_version: GroupVersion) {
        if !self.order.contains(&group_version) {
            self.order.push(group_version);
        }
    }

    pub(super) fn fail(&mut self, failure: DiscoveryFailure) {
        self.note(failure.group_version.clone());
        self.failures.push(failure);
    }

    pub(super) fn append(&mut self, other: Self) {
        self.discovery.groups.extend(other.discovery.groups);
        self.failures.extend(other.failures);
        self.order.extend(other.order);
    }

    /// Which version a group prefers is told by its place.
    fn restore_order(&mut self) {
        let place = |group: &str, version: &str| {
            let is_it = |known: &GroupVersion| known.group == group && known.version == version;
            self.order.iter().position(is_it).unwrap_or(usize::MAX)
        };
        for group in &mut self.discovery.groups {
            let name = &group.name;
            group
                .versions
                .sort_by_key(|version| place(name, &version.version));
        }
        let groups = &mut self.discovery.groups;
        groups.sort_by_key(|group| {
            let is_it = |known: &GroupVersion| known.group == group.name;
            self.order.iter().position(is_it).unwrap_or(usize::MAX)
        });
    }

    /// Puts the answer to a second question in the place of a failure.
    pub(super) fn amend(
        &mut self,
        group_version: &GroupVersion,
        answer: Result<DiscoveredVersion, Arc<Error>>,
    ) {
        match answer {
            Ok(version) => {
                self.failures
                    .retain(|failure| failure.group_version != *group_version);
                self.add(&group_version.group, version);
                self.restore_order();
            }
            Err(error) => {
                let failed = self
                    .failures
                    .iter_mut()
                    .find(|known| known.group_version == *group_version);
                if let Some(failed) = failed {
                    failed.error = Some(error);
                }
            }
        }
    }
}

impl DiscoveryFailure {
    pub(super) fn new(group_version: GroupVersion, error: Option<Error>) -> Self {
        Self {
            group_version,
            error: error.map(Arc::new),
        }
    }

    /// Whether asking again may help: the server was busy, down or unreachable. A version that the server calls stale is
    /// none of these, since what answers for it is known to fail (client-go `discovery/cached/memory`).
    pub fn is_transient(&self) -> bool {
        self.error.as_deref().is_some_and(|error| {
            error.is_timeout()
                || error.is_too_many_requests()
                || error.is_connection_refused()
                || error.is_connection_closed()
                || error.status().is_some_and(|status| status.code >= 500)
        })
    }
}

impl fmt::Display for DiscoveryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(f, "{}: {error}", self.group_version),
            None => write!(f, "{}: stale", self.group_version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_later_takes_its_place() {
        let version = |version: &str| DiscoveredVersion {
            version: version.to_owned(),
            ..DiscoveredVersion::default()
        };
        let failed = |group: &str, version: &str| {
            let group_version = GroupVersion::new(group, version);
            DiscoveryFailure {
                group_version,
                error: None,
            }
        };
        let mut partial = PartialDiscovery::default();
        partial.fail(failed("a", "v1"));
        partial.fail(failed("b", "v2"));
        partial.add("b", version("v1"));
        for (group, name) in [("b", "v2"), ("a", "v1")] {
            partial.amend(&GroupVersion::new(group, name), Ok(version(name)));
        }
        let discovery = partial.complete().unwrap();
        let found: Vec<(&str, Vec<&str>)> = discovery
            .groups
            .iter()
            .map(|group| {
                let versions = group.versions.iter().map(|version| version.version.as_str());
                (group.name.as_str(), versions.collect())
            })
            .collect();
        assert_eq!(found, [("a", vec!["v1"]), ("b", vec!["v2", "v1"])]);
    }
}
