//! What a client must know of a kind to speak of it: its names, its scope and its paths.

use crate::gvk::{
    GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, api_version,
};

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Each object lives in a namespace.
    Namespaced,
    /// Objects belong to the cluster as a whole.
    Cluster,
}

/// A resource as a client addresses it. Made from a static type ([`StaticResource::api_resource`]) or from discovery.
///
/// [`StaticResource::api_resource`]: crate::StaticResource::api_resource
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApiResource {
    /// The group's name; empty for the core group.
    pub group: String,
    /// The version's name.
    pub version: String,
    /// The kind's name.
    pub kind: String,
    /// The plural name, as it stands in URLs.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub scope: Scope,
}

impl ApiResource {
    /// What stands in `apiVersion`.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Group and version.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&self.group, &self.version)
    }

    /// Group, version and kind.
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind::new(&self.group, &self.version, &self.kind)
    }

    /// Group, version and plural.
    pub fn group_version_resource(&self) -> GroupVersionResource {
        GroupVersionResource::new(&self.group, &self.version, &self.plural)
    }

    /// Group and plural.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.plural)
    }

    /// Group and kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }

    /// The URL path of the collection (`name` is `None`) or of one object; without a namespace, of all namespaces.
    ///
    /// A namespace given for a cluster-scoped resource is left out.
    pub fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let mut path = String::with_capacity(64);
        if self.group.is_empty() {
            path.push_str("/api/");
        } else {
            path.push_str("/apis/");
            path.push_str(&self.group);
            path.push('/');
        }
        path.push_str(&self.version);
        if let (Some(namespace), Scope::Namespaced) = (namespace, self.scope) {
            path.push_str("/namespaces/");
            path.extend(encode_segment(namespace));
        }
        path.push('/');
        path.push_str(&self.plural);
        if let Some(name) = name {
            path.push('/');
            path.extend(encode_segment(name));
        }
        path
    }

    /// The path of a subresource of one object.
    pub fn subresource_path(&self, namespace: Option<&str>, name: &str, subresource: &str) -> String {
        let mut path = self.path(namespace, Some(name));
        path.push('/');
        path.push_str(subresource);
        path
    }
}

/// Percent-encodes what may not stand in a path segment. Valid names (RBAC names may hold `:`) pass through unchanged.
/// The characters of a name within a path: what would end the segment is escaped.
pub fn encode_segment(segment: &str) -> impl Iterator<Item = char> + '_ {
    segment.bytes().flat_map(|byte| {
        let plain = byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte);
        let hex = |nibble: u8| char::from_digit(u32::from(nibble), 16).map(|c| c.to_ascii_uppercase());
        let encoded = if plain {
            [Some(char::from(byte)), None, None]
        } else {
            [Some('%'), hex(byte >> 4), hex(byte & 15)]
        };
        encoded.into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let pods = ApiResource {
            group: String::new(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            scope: Scope::Namespaced,
        };
        let roles = ApiResource {
            group: "rbac.authorization.k8s.io".into(),
            version: "v1".into(),
            kind: "ClusterRole".into(),
            plural: "clusterroles".into(),
            scope: Scope::Cluster,
        };
        let rbac = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        for (resource, namespace, name, expect) in [
            (&pods, None, None, "/api/v1/pods".to_owned()),
            (&pods, Some("a"), None, "/api/v1/namespaces/a/pods".to_owned()),
            (
                &pods,
                Some("a"),
                Some("b"),
                "/api/v1/namespaces/a/pods/b".to_owned(),
            ),
            (
                &roles,
                Some("a"),
                Some("system:node"),
                format!("{rbac}/system:node"),
            ),
            (
                &roles,
                None,
                Some("a/../b?c%"),
                format!("{rbac}/a%2F..%2Fb%3Fc%25"),
            ),
        ] {
            assert_eq!(resource.path(namespace, name), expect);
        }
        assert_eq!(
            pods.subresource_path(Some("a"), "b", "status"),
            "/api/v1/namespaces/a/pods/b/status"
        );
    }
}
