//! Which resources are served, in which versions, and what is known of each.
//!
//! A [`Registry`] is an immutable value: built-in resources come from the table of kinds, custom ones are added from
//! definitions; a change makes a new registry that replaces the old one as a whole. A request takes one and keeps it to its
//! end, so it never sees half a change.

mod builtin;
mod decode;
mod model;
mod normalize;
pub(crate) mod path;
mod resource;

use std::collections::HashMap;
use std::sync::Arc;

pub use builtin::InvalidRuntimeConfig;
pub(crate) use builtin::RuntimeConfig;
pub(crate) use decode::inconvertible;
pub(crate) use model::Model;
pub(crate) use normalize::Dialect;
pub(crate) use resource::{Resource, ScalePaths, StoredAs, Subresource, SubresourceKind};

/// Every resource that is served at one moment.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    groups: Vec<Group>,
    /// By plural: a request then allocates nothing to find its resource, and few plurals are those of several groups or versions.
    index: HashMap<String, Vec<Arc<Resource>>>,
}

/// A group with its versions, the preferred one first.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) versions: Vec<Version>,
}

/// A version of a group with its resources, by plural.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) resources: Vec<Arc<Resource>>,
}

impl Registry {
    /// The built-in resources that `config` turns on.
    pub(crate) fn builtin(config: &RuntimeConfig) -> Self {
        Self::new(builtin::groups(config))
    }

    /// This registry's resources and `custom` ones. Groups of custom resources follow the built-in ones by name; their
    /// versions are in the order given.
    pub(crate) fn with_custom(&self, custom: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let mut groups = self.groups.clone();
        let builtin = groups.len();
        for resource in custom {
            let at = groups
                .iter()
                .position(|g| g.name == resource.group)
                .unwrap_or_else(|| {
                    groups.push(Group {
                        name: resource.group.clone(),
                        versions: Vec::new(),
                    });
                    groups.len() - 1
                });
            let versions = &mut groups[at].versions;
            match versions.iter_mut().find(|v| v.name == resource.version) {
                Some(version) => version.resources.push(resource),
                None => versions.push(Version {
                    name: resource.version.clone(),
                    resources: vec![resource],
                }),
            }
        }
        groups[builtin..].sort_by(|a, b| a.name.cmp(&b.name));
        for version in groups[builtin..].iter_mut().flat_map(|g| &mut g.versions) {
            version.resources.sort_by(|a, b| a.plural.cmp(&b.plural));
        }
        Self::new(groups)
    }

    fn new(groups: Vec<Group>) -> Self {
        let resources = groups.iter().flat_map(|g| &g.versions).flat_map(|v| &v.resources);
        let mut index = HashMap::<String, Vec<_>>::new();
        for resource in resources {
            let same = index.entry(resource.plural.clone()).or_default();
            same.push(resource.clone());
        }
        Self { groups, index }
    }

    /// The groups in the order of discovery.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The version of a group, if anything is served in it.
    pub(crate) fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.groups
            .iter()
            .find(|g| g.name == group)?
            .versions
            .iter()
            .find(|v| v.name == version)
    }

    /// The resource at a path.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.index
            .get(plural)?
            .iter()
            .find(|resource| resource.group == group && resource.version == version)
    }
}
