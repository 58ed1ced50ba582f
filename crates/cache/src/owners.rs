//! Owner references, which the objects of one owner share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use kubewright_core::OwnerReference;

/// The owners of an object, as a slice of its owner references.
///
/// The pods of one replica set have one list of owners between them, so nothing is decoded to find out whose they are. An owner
/// that one object alone has is not worth keeping: its reference is decoded when it is asked for.
#[derive(Clone, Default)]
pub struct Owners(Option<Arc<Shared>>);

/// A list of owners, with the JSON text that it was read from.
#[derive(Debug)]
pub(crate) struct Shared {
    text: Box<str>,
    references: Box<[OwnerReference]>,
}

/// How a record has its owners.
#[derive(Debug, Clone, Default)]
pub(crate) enum Owned {
    #[default]
    ByNobody,
    Shared(Arc<Shared>),
    /// In the text of its metadata alone.
    InText,
}

impl Owned {
    /// Tells apart what is not the same: the place of what is shared, or which of the others it is.
    pub(crate) fn identity(&self) -> usize {
        match self {
            Self::ByNobody => 0,
            Self::InText => 1,
            Self::Shared(owners) => Arc::as_ptr(owners).addr(),
        }
    }
}

impl Owners {
    /// The controller: the one owner that manages the object (`controller: true`), if there is one.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.iter().find(|owner| owner.controller == Some(true))
    }

    /// Reads the JSON text of `metadata.ownerReferences`. What is none has no owners, and the log says so.
    pub(crate) fn read(text: &str) -> Self {
        Self(Shared::read(text).map(Arc::new))
    }

    pub(crate) fn shared(shared: &Arc<Shared>) -> Self {
        Self(Some(Arc::clone(shared)))
    }
}

impl Shared {
    pub(crate) fn read(text: &str) -> Option<Self> {
        match serde_json::from_str::<Option<Vec<OwnerReference>>>(text) {
            Ok(references) => {
                let references = references.unwrap_or_default().into_boxed_slice();
                (!references.is_empty()).then(|| Self {
                    text: text.into(),
                    references,
                })
            }
            Err(error) => {
                tracing::warn!(field = "ownerReferences", %error, "metadata field is not of its type, left out");
                None
            }
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Deref for Owners {
    type Target = [OwnerReference];

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().map_or(&[], |shared| &shared.references)
    }
}

impl PartialEq for Owners {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Owners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
