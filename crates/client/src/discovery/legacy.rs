//! Discovery group by group: `APIVersions`, `APIGroupList` and `APIResourceList`.

use kubewright_core::{ApiResource, GroupVersion, GroupVersionKind, Scope};
use serde::Deserialize;

use super::{DiscoveredResource, DiscoveredSubresource, DiscoveredVersion, ServerGroup};

/// The core group.
pub(super) fn core_group(body: &[u8]) -> Result<Vec<ServerGroup>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Versions {
        versions: Vec<String>,
    }
    let found: Versions = serde_json::from_slice(body)?;
    Ok(vec![ServerGroup {
        name: String::new(),
        versions: found.versions,
    }])
}

/// All other groups. In a list from a cache the core group is among them.
pub(super) fn groups(body: &[u8]) -> Result<Vec<ServerGroup>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Groups {
        #[serde(deserialize_with = "nullable")]
        groups: Vec<Group>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Group {
        name: String,
        #[serde(default, deserialize_with = "nullable")]
        versions: Vec<Version>,
        preferred_version: Option<Version>,
    }
    #[derive(Deserialize)]
    struct Version {
        version: String,
    }
    let found: Groups = serde_json::from_slice(body)?;
    let groups = found.groups.into_iter().map(|group| {
        let preferred = group.preferred_version.map(|version| version.version);
        let mut versions: Vec<String> = group
            .versions
            .into_iter()
            .map(|version| version.version)
            .collect();
        // Stable, so that the others keep their order.
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        ServerGroup {
            name: group.name,
            versions,
        }
    });
    Ok(groups.collect())
}

/// The resources of one version. Subresources stand beside their resources here, as `pods/status`.
pub(super) fn version(
    body: &[u8],
    group_version: &GroupVersion,
) -> Result<DiscoveredVersion, serde_json::Error> {
    #[derive(Deserialize)]
    struct Resources {
        #[serde(deserialize_with = "nullable")]
        resources: Vec<Entry>,
    }
    let found: Resources = serde_json::from_slice(body)?;
    let (subresources, resources): (Vec<Entry>, Vec<Entry>) = found
        .resources
        .into_iter()
        .partition(|entry| entry.name.contains('/'));
    let mut resources: Vec<DiscoveredResource> = resources
        .into_iter()
        .map(|entry| entry.into_resource(group_version))
        .collect();
    for entry in subresources {
        let Some((parent, name)) = entry.name.split_once('/') else {
            continue;
        };
        let Some(parent) = resources.iter_mut().find(|found| found.resource.plural == parent) else {
            continue;
        };
        let name = name.to_owned();
        parent
            .subresources
            .push(entry.into_subresource(name, group_version));
    }
    Ok(DiscoveredVersion {
        version: group_version.version.clone(),
        resources,
    })
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Entry {
    name: String,
    singular_name: String,
    namespaced: bool,
    group: String,
    version: String,
    kind: String,
    #[serde(deserialize_with = "nullable")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    short_names: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    categories: Vec<String>,
}

/// Go writes a list with nothing in it as `null`, as kubectl's files have it for a group whose versions are all stale.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Entry {
    fn into_resource(self, group_version: &GroupVersion) -> DiscoveredResource {
        DiscoveredResource {
            resource: ApiResource {
                group: group_version.group.clone(),
                version: group_version.version.clone(),
                kind: self.kind,
                plural: self.name,
                scope: if self.namespaced {
                    Scope::Namespaced
                } else {
                    Scope::Cluster
                },
            },
            singular: self.singular_name,
            verbs: self.verbs,
            short_names: self.short_names,
            categories: self.categories,
            subresources: Vec::new(),
        }
    }

    fn into_subresource(self, name: String, of: &GroupVersion) -> DiscoveredSubresource {
        // Group and version are given only where they differ from those of the list.
        let kind = if self.version.is_empty() {
            of.with_kind(self.kind)
        } else {
            GroupVersionKind::new(self.group, self.version, self.kind)
        };
        DiscoveredSubresource {
            name,
            kind,
            verbs: self.verbs,
        }
    }
}
