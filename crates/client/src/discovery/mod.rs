//! What the server offers: groups, versions, resources, and the way from kinds to resources.
//!
//! One request to `/api` and one to `/apis` bring everything from servers with aggregated discovery (KEP-3352); older ones
//! are asked group by group. A group that cannot be had (its extension server is down) does not hide the others:
//! [`Discovery`] holds results and failures together.

mod aggregated;
mod legacy;
mod mapper;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, header};
use kubewright_core::{ApiResource, GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource};

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;

pub use self::mapper::{MapperOptions, RestMapper};

/// Everything the server offers, and what it could not tell.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Discovery {
    /// Groups, the core group first, then in the server's order of preference.
    pub groups: Vec<DiscoveredGroup>,
    /// Group versions whose resources are not known at the moment.
    pub failures: Vec<DiscoveryFailure>,
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

/// A group version that discovery could not read.
#[derive(Debug)]
#[non_exhaustive]
pub struct DiscoveryFailure {
    /// Which.
    pub group_version: GroupVersion,
    /// Why; `None` if the server itself said that what it knows is stale.
    pub error: Option<Error>,
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

    fn is_named(&self, name: &str) -> bool {
        self.resource.plural == name
            || self.singular == name
            || self.short_names.iter().any(|short| short == name)
            || self.resource.kind.eq_ignore_ascii_case(name)
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

    /// Every resource once, in the version its group prefers among those that have it.
    pub fn preferred_resources(&self) -> impl Iterator<Item = &DiscoveredResource> {
        self.groups.iter().flat_map(|group| {
            let mut seen = std::collections::HashSet::new();
            let all = group.versions.iter().flat_map(|version| &version.resources);
            all.filter(move |found| seen.insert(&found.resource.plural))
        })
    }

    /// The resource of a kind in this version.
    pub fn resource_of(&self, kind: &GroupVersionKind) -> Option<&DiscoveredResource> {
        self.resources().find(|found| {
            let resource = &found.resource;
            resource.group == kind.group && resource.version == kind.version && resource.kind == kind.kind
        })
    }

    /// The resource of a kind in the preferred version.
    pub fn resource_of_kind(&self, kind: &GroupKind) -> Option<&DiscoveredResource> {
        self.resources()
            .find(|found| found.resource.group == kind.group && found.resource.kind == kind.kind)
    }

    /// The resource of this plural name in this version.
    pub fn resource(&self, name: &GroupVersionResource) -> Option<&DiscoveredResource> {
        self.resources().find(|found| {
            let resource = &found.resource;
            resource.group == name.group
                && resource.version == name.version
                && resource.plural == name.resource
        })
    }

    /// The resource a person means: a plural, singular or short name or a kind, alone or followed by `.GROUP` or
    /// `.VERSION.GROUP`. Without a group the first match wins, so that `events` is the core group's.
    pub fn find(&self, argument: &str) -> Option<&DiscoveredResource> {
        let (name, suffix) = argument.split_once('.').unwrap_or((argument, ""));
        let name = name.to_ascii_lowercase();
        let matches = |found: &&DiscoveredResource| {
            let resource = &found.resource;
            let version_and_group = || match suffix.split_once('.') {
                Some((version, group)) => resource.version == version && resource.group == group,
                // `pods.v1` is the core group's.
                None => resource.version == suffix && resource.group.is_empty(),
            };
            found.is_named(&name) && (suffix.is_empty() || resource.group == suffix || version_and_group())
        };
        // A resource called by its own name comes before one of that short name.
        let mut found: Vec<&DiscoveredResource> = self.resources().filter(matches).collect();
        let exact = found
            .iter()
            .position(|found| found.resource.plural == name || found.singular == name);
        if found.is_empty() {
            None
        } else {
            Some(found.swap_remove(exact.unwrap_or(0)))
        }
    }
}

/// What was asked for at an endpoint, in order of preference.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Requests at the same time where groups are asked for one by one: 16.
const CONCURRENT_REQUESTS: usize = 16;

impl Client {
    /// Asks the server what it offers.
    ///
    /// # Errors
    ///
    /// Neither `/api` nor `/apis` could be read, or one of them failed otherwise than by not being there or being
    /// forbidden. Failures of single groups are part of the result.
    pub async fn discover(&self) -> Result<Discovery, Error> {
        let mut discovery = Discovery::default();
        let mut refused = None;
        for path in ["/api", "/apis"] {
            match self.discover_at(path).await {
                Ok(part) => {
                    discovery.groups.extend(part.groups);
                    discovery.failures.extend(part.failures);
                }
                // A server may offer only one of the two, or only one of them to this user (client-go
                // `discovery/discovery_client.go`). One that offers neither is no API server, or not for this user.
                Err(error) if refused.is_none() && (error.is_not_found() || error.is_forbidden()) => {
                    refused = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(discovery)
    }

    /// Asks the server for the resources of one group version.
    ///
    /// # Errors
    ///
    /// [`Error::is_not_found`] if it does not offer that version.
    pub async fn discover_version(&self, group_version: &GroupVersion) -> Result<DiscoveredVersion, Error> {
        let path = match group_version.group.as_str() {
            "" => format!("/api/{}", group_version.version),
            group => format!("/apis/{group}/{}", group_version.version),
        };
        let call = self.call_to("discover", path);
        let (_, body) = self.discovery_request(&call).await?;
        legacy::version(&body, group_version).map_err(|error| call.decode(error))
    }

    /// Asks the server for its version.
    ///
    /// # Errors
    ///
    /// As [`request_json`](Self::request_json).
    pub async fn server_version(&self) -> Result<k8s_openapi::apimachinery::pkg::version::Info, Error> {
        let call = self.call_to("get", "/version");
        let (_, body) = self.discovery_request(&call).await?;
        serde_json::from_slice(&body).map_err(|error| call.decode(error))
    }

    async fn discover_at(&self, path: &str) -> Result<Discovery, Error> {
        let call = self.call_to("discover", path);
        let (media_type, body) = self.discovery_request(&call).await?;
        let fail = |error| call.decode(error);
        if media_type.contains("as=APIGroupDiscoveryList") {
            return aggregated::parse(&body).map_err(fail);
        }
        let group_versions = match path {
            "/api" => legacy::core_versions(&body),
            _ => legacy::group_versions(&body),
        }
        .map_err(fail)?;
        Ok(self.discover_one_by_one(group_versions).await)
    }

    async fn discover_one_by_one(&self, group_versions: Vec<GroupVersion>) -> Discovery {
        let mut discovery = Discovery::default();
        let mut answers = futures_util::stream::iter(group_versions)
            .map(|group_version| async move { (self.discover_version(&group_version).await, group_version) })
            .buffered(CONCURRENT_REQUESTS);
        while let Some((answer, group_version)) = answers.next().await {
            match answer {
                Ok(version) => discovery.add(&group_version.group, version),
                Err(error) => discovery.failures.push(DiscoveryFailure {
                    group_version,
                    error: Some(error),
                }),
            }
        }
        discovery
    }

    async fn discovery_request(&self, call: &Call) -> Result<(String, Bytes), Error> {
        let request = Request::builder()
            .uri(call.path())
            .header(header::ACCEPT, ACCEPT)
            .body(Bytes::new())
            .map_err(|error| call.invalid(error))?;
        let (parts, body) = self.exchange(call, request).await?;
        let media_type = parts
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        Ok((media_type.unwrap_or_default().to_owned(), body))
    }
}

impl Discovery {
    fn add(&mut self, group: &str, version: DiscoveredVersion) {
        match self.groups.iter_mut().find(|known| known.name == group) {
            Some(known) => known.versions.push(version),
            None => self.groups.push(DiscoveredGroup {
                name: group.to_owned(),
                versions: vec![version],
            }),
        }
    }
}

#[cfg(test)]
mod tests;
