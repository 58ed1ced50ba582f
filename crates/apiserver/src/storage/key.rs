//! Keys of the store and ranges of them.
//!
//! A key is one text, so that a range of keys is a prefix and the order of a list is the order of the texts, as it is in etcd.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// How the core group, whose name is empty, is written in a key. No other group can have this name: all others contain a dot or
/// are upstream's own (`apps`, `batch`, ...).
const CORE: &str = "core";

/// The place of one object: `<group>/<resource>/<namespace>/<name>`, or `<group>/<resource>/<name>` without a namespace. The core
/// group is written `core`.
///
/// Cheap to clone. Ordered as bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// The key of an object. `group` is empty for the core group, `namespace` is `None` for a cluster-scoped object.
    ///
    /// The parts are taken as they are: names with a `/` are refused where requests are validated (upstream's
    /// `path.IsValidPathSegmentName`), long before a key is made of them.
    #[must_use]
    pub fn new(group: &str, resource: &str, namespace: Option<&str>, name: &str) -> Self {
        let mut text = resource_text(group, resource, namespace.map_or(0, |n| n.len() + 1) + name.len());
        if let Some(namespace) = namespace {
            text.push_str(namespace);
            text.push('/');
        }
        text.push_str(name);
        Self(text.into())
    }

    /// Reads a key back from its text, for stores that keep keys as bytes. `None` when there are not three or four parts.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split('/').count();
        ((3..=4).contains(&parts) && text.split('/').all(|part| !part.is_empty())).then(|| Self(text.into()))
    }

    /// The whole text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        match self.0.split('/').next() {
            Some(CORE) | None => "",
            Some(group) => group,
        }
    }

    /// The plural name of the resource.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.0.split('/').nth(1).unwrap_or_default()
    }

    /// The namespace; `None` for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        let rest = &self.0[self.resource_prefix().len()..];
        rest.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        let rest = &self.0[self.resource_prefix().len()..];
        rest.split_once('/').map_or(rest, |(_, name)| name)
    }

    /// The text of the prefix that holds every object of this one's resource.
    pub(super) fn resource_prefix(&self) -> &str {
        &self.0[..nth_slash(&self.0, 2)]
    }

    /// The text of the prefix that holds every object of this one's resource and namespace.
    pub(super) fn namespace_prefix(&self) -> Option<&str> {
        let end = nth_slash(&self.0, 3);
        (end > self.resource_prefix().len()).then(|| &self.0[..end])
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.0)
    }
}

/// A range of keys: everything, one resource, or one resource in one namespace. What a list or a watch covers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPrefix(Arc<str>);

impl KeyPrefix {
    /// Every key there is; what a cache of the whole store follows.
    #[must_use]
    pub fn all() -> Self {
        Self("".into())
    }

    /// All objects of a resource, in every namespace. `group` is empty for the core group.
    #[must_use]
    pub fn resource(group: &str, resource: &str) -> Self {
        Self(resource_text(group, resource, 0).into())
    }

    /// All objects of a resource in one namespace. `group` is empty for the core group.
    #[must_use]
    pub fn namespace(group: &str, resource: &str, namespace: &str) -> Self {
        let mut text = resource_text(group, resource, namespace.len() + 1);
        text.push_str(namespace);
        text.push('/');
        Self(text.into())
    }

    /// Whether the key lies in this range.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        key.0.starts_with(&*self.0)
    }

    /// The text that every key of the range begins with: empty, or ending in `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The least text above all keys of the range; `None` for the range of everything. Since a prefix ends in `/`, it is the same text
    /// with the next character in its place.
    pub(super) fn end(&self) -> Option<String> {
        let text = self.0.strip_suffix('/')?;
        Some(format!("{text}0"))
    }

    pub(super) fn shared(&self) -> &Arc<str> {
        &self.0
    }
}

impl fmt::Display for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPrefix({})", self.0)
    }
}

fn resource_text(group: &str, resource: &str, more: usize) -> String {
    let group = if group.is_empty() { CORE } else { group };
    let mut text = String::with_capacity(group.len() + resource.len() + 2 + more);
    text.push_str(group);
    text.push('/');
    text.push_str(resource);
    text.push('/');
    text
}

/// The offset right after the `n`th slash, or 0 when there are fewer.
fn nth_slash(text: &str, n: usize) -> usize {
    text.bytes()
        .enumerate()
        .filter(|(_, byte)| *byte == b'/')
        .nth(n - 1)
        .map_or(0, |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        let check = |group: &str, resource: &str, namespace: Option<&str>, name: &str, text: &str| {
            let key = Key::new(group, resource, namespace, name);
            assert_eq!(key.as_str(), text);
            assert_eq!(
                (key.group(), key.resource(), key.namespace(), key.name()),
                (group, resource, namespace, name)
            );
            assert_eq!(Key::parse(text), Some(key.clone()));
            assert_eq!(
                key.resource_prefix(),
                KeyPrefix::resource(group, resource).as_str()
            );
            let inside = namespace.map(|n| KeyPrefix::namespace(group, resource, n));
            assert_eq!(key.namespace_prefix(), inside.as_ref().map(KeyPrefix::as_str));
        };
        check("", "pods", Some("default"), "web", "core/pods/default/web");
        check("", "namespaces", None, "default", "core/namespaces/default");
        check("apps", "deployments", Some("a.b"), "c", "apps/deployments/a.b/c");
        check(
            "rbac.authorization.k8s.io",
            "clusterroles",
            None,
            "system:node",
            "rbac.authorization.k8s.io/clusterroles/system:node",
        );
    }

    #[test]
    fn malformed_texts_are_refused() {
        for text in ["", "a", "a/b", "a/b/", "/b/c", "a//c", "a/b/c/d/e"] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }

    #[test]
    fn prefixes_hold_their_own_only() {
        let pod = Key::new("", "pods", Some("a"), "x");
        let check = |prefix: KeyPrefix, expect: bool| {
            assert_eq!(prefix.contains(&pod), expect, "{prefix}");
            let below_end = prefix.end().is_none_or(|end| pod.as_str() < end.as_str());
            assert_eq!(pod.as_str() >= prefix.as_str() && below_end, expect, "{prefix}");
        };
        check(KeyPrefix::all(), true);
        check(KeyPrefix::resource("", "pods"), true);
        check(KeyPrefix::resource("", "pod"), false);
        check(KeyPrefix::resource("apps", "pods"), false);
        check(KeyPrefix::namespace("", "pods", "a"), true);
        check(KeyPrefix::namespace("", "pods", "ab"), false);
        check(KeyPrefix::namespace("", "pods", ""), false);
    }
}
