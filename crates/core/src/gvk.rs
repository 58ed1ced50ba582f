//! Names of kinds and resources: group, version, kind and group, version, resource.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An API group with a version, as in `apiVersion`: `apps/v1`, or `v1` for the core group (whose name is empty).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion {
    /// The group's name; empty for the core group.
    pub group: String,
    /// The version's name, such as `v1beta1`.
    pub version: String,
}

impl GroupVersion {
    /// Names a group and a version.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
        }
    }

    /// The kind `kind` in this group and version.
    pub fn with_kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: kind.into(),
        }
    }

    /// The resource `resource` (a plural) in this group and version.
    pub fn with_resource(&self, resource: impl Into<String>) -> GroupVersionResource {
        GroupVersionResource {
            group: self.group.clone(),
            version: self.version.clone(),
            resource: resource.into(),
        }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_group_version(f, &self.group, &self.version)
    }
}

impl FromStr for GroupVersion {
    type Err = ParseGroupVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(version), None, None) if !version.is_empty() => Ok(Self::new("", version)),
            (Some(group), Some(version), None) if !version.is_empty() => Ok(Self::new(group, version)),
            _ => Err(ParseGroupVersionError {
                text: text.to_owned(),
            }),
        }
    }
}

/// An `apiVersion` that is neither `version` nor `group/version`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected GroupVersion string: {text}")]
pub struct ParseGroupVersionError {
    /// What was found.
    pub text: String,
}

/// A kind with the group and version it is written in: `apps/v1, Kind=Deployment`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupVersionKind {
    /// The group's name; empty for the core group.
    pub group: String,
    /// The version's name.
    pub version: String,
    /// The kind's name in camel case.
    pub kind: String,
}

impl GroupVersionKind {
    /// Names a kind.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// Reads `apiVersion` and `kind` of an object.
    ///
    /// # Errors
    /// When `api_version` has more than one slash or no version.
    pub fn from_type_meta(api_version: &str, kind: &str) -> Result<Self, ParseGroupVersionError> {
        Ok(api_version.parse::<GroupVersion>()?.with_kind(kind))
    }

    /// What stands in `apiVersion`: `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&self.group, &self.version)
    }

    /// The group and kind, which name a kind whatever version it is written in.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind {
            group: self.group.clone(),
            kind: self.kind.clone(),
        }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_group_version(f, &self.group, &self.version)?;
        write!(f, ", Kind={}", self.kind)
    }
}

/// A resource (a plural, as in URLs) with its group and version: `apps/v1, Resource=deployments`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupVersionResource {
    /// The group's name; empty for the core group.
    pub group: String,
    /// The version's name.
    pub version: String,
    /// The resource's plural name.
    pub resource: String,
}

impl GroupVersionResource {
    /// Names a resource.
    pub fn new(group: impl Into<String>, version: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
        }
    }

    /// The group and resource, whatever the version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.resource)
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_group_version(f, &self.group, &self.version)?;
        write!(f, ", Resource={}", self.resource)
    }
}

/// A kind whatever its version: `Deployment.apps`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// The group's name; empty for the core group.
    pub group: String,
    /// The kind's name.
    pub kind: String,
}

impl GroupKind {
    /// Names a kind.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(f, &self.kind, &self.group)
    }
}

/// A resource whatever its version: `deployments.apps`, or `pods` in the core group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource {
    /// The group's name; empty for the core group.
    pub group: String,
    /// The resource's plural name.
    pub resource: String,
}

impl GroupResource {
    /// Names a resource.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(f, &self.resource, &self.group)
    }
}

/// What stands in `apiVersion` for a group and a version.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

fn write_group_version(f: &mut fmt::Formatter<'_>, group: &str, version: &str) -> fmt::Result {
    if group.is_empty() {
        f.write_str(version)
    } else {
        write!(f, "{group}/{version}")
    }
}

fn write_qualified(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    if group.is_empty() {
        f.write_str(name)
    } else {
        write!(f, "{name}.{group}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_versions_parse_and_print() {
        for (text, expect) in [
            ("v1", Some(("", "v1"))),
            ("apps/v1", Some(("apps", "v1"))),
            ("a.example.com/v1beta1", Some(("a.example.com", "v1beta1"))),
            ("", None),
            ("apps/", None),
            ("a/b/c", None),
        ] {
            let parsed = text.parse::<GroupVersion>().ok();
            assert_eq!(parsed, expect.map(|(g, v)| GroupVersion::new(g, v)), "{text:?}");
            if let Some(parsed) = parsed {
                assert_eq!(parsed.to_string(), text);
            }
        }
    }

    #[test]
    fn names_print_as_upstream_does() {
        assert_eq!(
            GroupVersionKind::new("apps", "v1", "Deployment").to_string(),
            "apps/v1, Kind=Deployment"
        );
        assert_eq!(
            GroupVersionResource::new("", "v1", "pods").to_string(),
            "v1, Resource=pods"
        );
        assert_eq!(
            GroupResource::new("apps", "deployments").to_string(),
            "deployments.apps"
        );
        assert_eq!(GroupKind::new("", "Pod").to_string(), "Pod");
    }
}
