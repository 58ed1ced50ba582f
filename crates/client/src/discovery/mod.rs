//! What the server offers: groups, versions, resources, and the way from kinds to resources.
//!
//! One request to `/api` and one to `/apis` bring everything from servers with aggregated discovery (KEP-3352); older ones
//! are asked group by group. A group that cannot be had (its extension server is down) does not hide the others:
//! [`PartialDiscovery`] holds results and failures together.
//!
//! [`DiscoveryClient`] asks, [`CachedDiscovery`] remembers, and [`RestMapper`] goes from kinds and names to resources.

mod aggregated;
mod client;
mod disk;
mod files;
mod http_cache;
mod legacy;
mod mapper;
mod memory;
mod openapi;
mod partial;
mod resolve;

use kubewright_core::{ApiResource, GroupVersion, GroupVersionKind};

pub use self::client::{DISCOVERY_TIMEOUT, DiscoveryClient};
pub use self::disk::{DISK_CACHE_TTL, DiskCache};
pub use self::http_cache::{HttpCache, HttpCacheLayer, MAX_KEPT_BYTES, MAX_MEMORY_BYTES};
pub use self::mapper::{MAX_MISSES, MapperOptions, RestMapper};
pub use self::memory::CachedDiscovery;
pub use self::openapi::{MAX_DOCUMENTS, OpenApiClient, OpenApiFormat, OpenApiPath};
pub use self::partial::{DiscoveryFailure, IncompleteDiscovery, PartialDiscovery};

/// Everything a server offers, as far as it could tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Discovery {
    /// Groups, the core group first, then in the server's order of preference.
    pub groups: Vec<DiscoveredGroup>,
}

/// The name of a group with those of its versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerGroup {
    /// Name; empty for the core group.
    pub name: String,
    /// Versions, the preferred one first.
    pub versions: Vec<String>,
}

/// A group with its versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredGroup {
    /// Name; empty for the core group.
    pub name: String,
    /// Versions, the preferred one first.
    pub versions: Vec<DiscoveredVersion>,
}

/// A version with its resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredVersion {
    /// Name, for example `v1`.
    pub version: String,
    /// Resources in the server's order.
    pub resources: Vec<DiscoveredResource>,
}

/// A resource and what can be done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredResource {
    /// Its names and scope.
    pub resource: ApiResource,
    /// Name of a single one, for example `pod`; may be empty.
    pub singular: String,
    /// Verbs, for example `list`.
    pub verbs: Vec<String>,
    /// Short names, for example `po`.
    pub short_names: Vec<String>,
    /// Categories, for example `all`.
    pub categories: Vec<String>,
    /// Subresources.
    pub subresources: Vec<DiscoveredSubresource>,
}

/// A subresource of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiscoveredSubresource {
    /// Name, for example `status`.
    pub name: String,
    /// The kind it speaks, which may belong to another group: `autoscaling/v1, Kind=Scale`.
    pub kind: GroupVersionKind,
    /// Verbs.
    pub verbs: Vec<String>,
}

impl DiscoveredResource {
    /// True if the resource has the verb.
    pub fn supports(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&DiscoveredSubresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }
}

impl Discovery {
    /// Every resource of every version, preferred versions first within their group.
    pub fn resources(&self) -> impl Iterator<Item = &DiscoveredResource> {
        self.groups
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.resources)
    }

    /// The resources of one version.
    pub fn version(&self, group_version: &GroupVersion) -> Option<&DiscoveredVersion> {
        let group = self
            .groups
            .iter()
            .find(|group| group.name == group_version.group)?;
        group
            .versions
            .iter()
            .find(|version| version.version == group_version.version)
    }

    /// Every resource once, in the version its group prefers among those that have it.
    pub fn preferred_resources(&self) -> impl Iterator<Item = &DiscoveredResource> {
        self.groups.iter().flat_map(|group| {
            let mut seen = std::collections::HashSet::new();
            let all = group.versions.iter().flat_map(|version| &version.resources);
            all.filter(move |found| seen.insert(&found.resource.plural))
        })
    }
}

impl ServerGroup {
    fn of(group: &DiscoveredGroup) -> Self {
        Self {
            name: group.name.clone(),
            versions: group
                .versions
                .iter()
                .map(|version| version.version.clone())
                .collect(),
        }
    }

    /// The versions with the group's name.
    pub fn group_versions(&self) -> impl Iterator<Item = GroupVersion> {
        self.versions
            .iter()
            .map(|version| GroupVersion::new(&self.name, version))
    }
}

#[cfg(test)]
mod tests;
