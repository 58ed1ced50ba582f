//! From kinds and from what people write to resources: pure searches in a [`Discovery`].
//!
//! The order of precedence is upstream's: `/v1` before all, then groups in the server's order, in each the preferred
//! version before the others (apimachinery `pkg/api/meta/{restmapper,priority}.go`, client-go
//! `restmapper/{discovery,shortcut}.go`); what an argument may look like is cli-runtime's (`pkg/resource/builder.go`,
//! `mappingFor`).

use kubewright_core::{GroupKind, GroupVersionKind, GroupVersionResource};

use super::{DiscoveredResource, Discovery};
use crate::error::Error;

impl DiscoveredResource {
    /// Whether it goes by this name, in lower case: its plural, its singular, or its kind where no singular is given.
    fn is_named(&self, name: &str) -> bool {
        let singular = || match self.singular.as_str() {
            "" => self.resource.kind.eq_ignore_ascii_case(name),
            singular => singular == name,
        };
        self.resource.plural == name || singular()
    }

    fn is_short_for(&self, name: &str) -> bool {
        self.short_names.iter().any(|short| short == name)
    }
}

/// What an argument was taken for, and what it means then.
enum Reading<'a> {
    /// Names and kinds: two in the same version are a mistake that nobody can settle.
    Names(Vec<&'a DiscoveredResource>),
    /// Short names, of which the first is meant.
    ShortNames(Vec<&'a DiscoveredResource>),
}

impl<'a> Reading<'a> {
    fn found(&self) -> &[&'a DiscoveredResource] {
        let (Self::Names(found) | Self::ShortNames(found)) = self;
        found
    }

    fn is_empty(&self) -> bool {
        self.found().is_empty()
    }
}

impl Discovery {
    /// The resource of a kind in this version.
    ///
    /// # Errors
    ///
    /// [`Error::NoMatch`]; [`Error::Ambiguous`] if several resources speak the kind. The same holds for the others.
    pub fn resource_of(&self, kind: &GroupVersionKind) -> Result<&DiscoveredResource, Error> {
        let found = self.resources().filter(|found| {
            let resource = &found.resource;
            resource.group == kind.group && resource.version == kind.version && resource.kind == kind.kind
        });
        first(found.collect(), || kind.to_string())
    }

    /// The resource of a kind in the version that the server prefers among those that have the kind.
    ///
    /// # Errors
    ///
    /// As [`resource_of`](Self::resource_of).
    pub fn resource_of_kind(&self, kind: &GroupKind) -> Result<&DiscoveredResource, Error> {
        let found = self
            .resources()
            .filter(|found| found.resource.group == kind.group && found.resource.kind == kind.kind);
        first(found.collect(), || kind.to_string())
    }

    /// The resource of this plural name in this version.
    ///
    /// # Errors
    ///
    /// As [`resource_of`](Self::resource_of).
    pub fn resource(&self, name: &GroupVersionResource) -> Result<&DiscoveredResource, Error> {
        let found = self.resources().filter(|found| {
            let resource = &found.resource;
            resource.group == name.group
                && resource.version == name.version
                && resource.plural == name.resource
        });
        first(found.collect(), || name.to_string())
    }

    /// The resource a person means, as kubectl understands it: a plural, singular or short name or a kind, in upper or
    /// lower case, alone or followed by `.GROUP`, `.VERSION.GROUP` or, for the core group, `.VERSION.`. A prefix of a
    /// group's name will do where no group has the name: `storageclass.storage`.
    ///
    /// Of several, the first in order of precedence is meant, so that `events` is the core group's. Unlike kubectl, a
    /// version counts also beside a short name, and `pods.v1` is accepted.
    ///
    /// # Errors
    ///
    /// As [`resource_of`](Self::resource_of).
    pub fn find(&self, argument: &str) -> Result<&DiscoveredResource, Error> {
        let what = || format!("resource type {argument:?}");
        match self.reading(argument) {
            Reading::Names(found) => first(found, what),
            Reading::ShortNames(found) => {
                let found = found.first().copied();
                found.ok_or_else(|| Error::NoMatch { what: what() })
            }
        }
    }

    /// All resources that an argument may mean, the one that [`find`](Self::find) chooses first: to warn of what else has
    /// the name, or to choose otherwise.
    pub fn find_all(&self, argument: &str) -> Vec<&DiscoveredResource> {
        self.reading(argument).found().to_vec()
    }

    /// The resources of a category, such as `all`, each in its preferred version.
    pub fn category(&self, name: &str) -> impl Iterator<Item = &DiscoveredResource> {
        self.preferred_resources()
            .filter(move |found| found.categories.iter().any(|category| category == name))
    }

    /// The first way of reading an argument by which anything is found.
    fn reading(&self, argument: &str) -> Reading<'_> {
        let (name, rest) = argument.split_once('.').unwrap_or((argument, ""));
        if name.is_empty() {
            return Reading::Names(Vec::new());
        }
        // Both `NAME.VERSION.GROUP` and `NAME.GROUP`, for groups have dots too; then `NAME.VERSION`.
        let full = rest.split_once('.');
        let lower = name.to_ascii_lowercase();
        let named = |(version, group)| self.named(&lower, version, group);
        let kinds = |(version, group)| Reading::Names(self.of_kind(name, version, group));
        let mut reading = named(full.unwrap_or(("", rest)));
        if reading.is_empty() && full.is_some() {
            reading = named(("", rest));
        }
        if let Some(full) = full.filter(|_| reading.is_empty()) {
            reading = kinds(full);
        }
        if reading.is_empty() {
            reading = kinds(("", rest));
        }
        if reading.is_empty() && full.is_none() && !rest.is_empty() {
            reading = named((rest, ""));
        }
        reading
    }

    /// Resources by a name, in lower case. Short names count after names, and a prefix of the group where nothing has the
    /// group itself.
    fn named(&self, name: &str, version: &str, group: &str) -> Reading<'_> {
        let exact = |found: &DiscoveredResource| group.is_empty() || found.resource.group == group;
        let prefix = |found: &DiscoveredResource| found.resource.group.starts_with(group);
        let groups: [&dyn Fn(&DiscoveredResource) -> bool; 2] = [&exact, &prefix];
        for in_group in groups {
            let all = || {
                self.resources().filter(|found| {
                    in_group(found) && (version.is_empty() || found.resource.version == version)
                })
            };
            let found: Vec<_> = all().filter(|found| found.is_named(name)).collect();
            if !found.is_empty() {
                return Reading::Names(found);
            }
            let found: Vec<_> = all().filter(|found| found.is_short_for(name)).collect();
            if !found.is_empty() {
                return Reading::ShortNames(found);
            }
        }
        Reading::Names(Vec::new())
    }

    fn of_kind(&self, kind: &str, version: &str, group: &str) -> Vec<&DiscoveredResource> {
        let found = self.resources().filter(|found| {
            let resource = &found.resource;
            resource.group == group
                && (version.is_empty() || resource.version == version)
                && (resource.kind == kind || resource.kind.to_lowercase() == kind)
        });
        found.collect()
    }
}

/// The first of some in order of precedence, unless there are others in its version.
fn first(found: Vec<&DiscoveredResource>, what: impl Fn() -> String) -> Result<&DiscoveredResource, Error> {
    let Some(&first) = found.first() else {
        return Err(Error::NoMatch { what: what() });
    };
    let version = first.resource.group_version();
    if found[1..]
        .iter()
        .all(|other| other.resource.group_version() != version)
    {
        return Ok(first);
    }
    Err(Error::Ambiguous {
        what: what(),
        choices: found
            .iter()
            .map(|found| found.resource.group_version_resource())
            .collect(),
    })
}
