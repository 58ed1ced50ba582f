//! Aggregated discovery, `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2` (and `v2beta1`, which looks the same).

use kubewright_core::{ApiResource, GroupVersion, GroupVersionKind, Scope};
use serde::Deserialize;

use super::legacy::nullable;
use super::{
    DiscoveredResource, DiscoveredSubresource, DiscoveredVersion, DiscoveryFailure, PartialDiscovery,
};

/// Whether an answer of this media type is of this format. Parameters come in any order.
pub(super) fn is_aggregated(media_type: &str) -> bool {
    let mut parameters = media_type.split(';').map(str::trim);
    let has = |wanted: &str| parameters.clone().any(|parameter| parameter == wanted);
    let found = has("g=apidiscovery.k8s.io") && has("as=APIGroupDiscoveryList");
    found && parameters.next() == Some("application/json")
}

/// Reads a list of groups. What has no kind is left out: it cannot be worked with.
pub(super) fn parse(body: &[u8]) -> Result<PartialDiscovery, serde_json::Error> {
    let list: GroupList = serde_json::from_slice(body)?;
    let mut discovery = PartialDiscovery::default();
    for group in list.items {
        let name = group.metadata.name;
        for version in group.versions {
            let group_version = GroupVersion::new(&name, &version.version);
            if version.freshness == "Stale" {
                discovery.fail(DiscoveryFailure::new(group_version, None));
                continue;
            }
            let resources = version
                .resources
                .into_iter()
                .filter_map(|found| resource(&group_version, found))
                .collect();
            discovery.add(
                &name,
                DiscoveredVersion {
                    version: version.version,
                    resources,
                },
            );
        }
    }
    Ok(discovery)
}

fn resource(group_version: &GroupVersion, found: Resource) -> Option<DiscoveredResource> {
    let kind = found.response_kind.filter(|kind| !kind.kind.is_empty())?;
    let subresources = found.subresources.into_iter().filter_map(|found| {
        let kind = found.response_kind.filter(|kind| !kind.kind.is_empty())?;
        // Group and version are given only where they differ from those of the resource.
        let kind = if kind.version.is_empty() {
            group_version.with_kind(kind.kind)
        } else {
            GroupVersionKind::new(kind.group, kind.version, kind.kind)
        };
        Some(DiscoveredSubresource {
            name: found.subresource,
            kind,
            verbs: found.verbs,
        })
    });
    Some(DiscoveredResource {
        resource: ApiResource {
            group: group_version.group.clone(),
            version: group_version.version.clone(),
            kind: kind.kind,
            plural: found.resource,
            scope: if found.scope == "Namespaced" {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
        },
        singular: found.singular_resource,
        verbs: found.verbs,
        short_names: found.short_names,
        categories: found.categories,
        subresources: subresources.collect(),
    })
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default, deserialize_with = "nullable")]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default, deserialize_with = "nullable")]
    versions: Vec<Version>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Version {
    version: String,
    #[serde(deserialize_with = "nullable")]
    resources: Vec<Resource>,
    freshness: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Resource {
    resource: String,
    response_kind: Option<Kind>,
    scope: String,
    singular_resource: String,
    #[serde(deserialize_with = "nullable")]
    verbs: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    short_names: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    categories: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    subresources: Vec<Subresource>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Subresource {
    subresource: String,
    response_kind: Option<Kind>,
    #[serde(deserialize_with = "nullable")]
    verbs: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}
