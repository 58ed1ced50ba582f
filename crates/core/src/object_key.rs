//! The key of an object within its kind.

use std::fmt;
use std::sync::Arc;

/// Namespace and name: what names an object within its kind, and what a work queue carries.
///
/// Cheap to clone. Prints as `namespace/name`, or the name alone for cluster-scoped objects.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace; `None` for a cluster-scoped object.
    pub namespace: Option<Arc<str>>,
    /// The object's name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The key of a namespaced object.
    pub fn namespaced(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            name: name.into(),
        }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: None,
            name: name.into(),
        }
    }

    /// The key for a namespace, if any (an empty one counts as none), and a name.
    pub fn of(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.filter(|n| !n.is_empty()).map(Arc::from),
            name: name.into(),
        }
    }

    /// Reads `namespace/name` or `name`. Names hold no slash, so every text has one meaning: the first slash divides.
    pub fn parse(text: &str) -> Self {
        match text.split_once('/') {
            Some((namespace, name)) => Self::of(Some(namespace), name),
            None => Self::cluster(text),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectKey({self})")
    }
}
