//! Adoption: what matches a selector and has no controller gets one (kubernetes `pkg/controller/controller_ref_manager.go`).

use std::fmt::Debug;

use kubewright_client::Api;
use kubewright_core::{ObjectMeta, OwnerReference, Resource};
use kubewright_runtime::Error;
use serde::de::DeserializeOwned;

/// An owner that may adopt, once it is known to be there still: its cached state may be older than its deletion, after which
/// nothing would ever let go of what it adopted. Asks the server at most once (upstream's `RecheckDeletionTimestamp`).
#[derive(Debug)]
pub(crate) struct Adopter<'a, K: Resource> {
    owner: &'a K,
    api: Api<K>,
    is_checked: bool,
}

impl<'a, K: Resource + DeserializeOwned + Debug + Send + 'static> Adopter<'a, K> {
    /// `api` is where the owner is read from.
    pub(crate) fn new(owner: &'a K, api: Api<K>) -> Self {
        Self {
            owner,
            api,
            is_checked: false,
        }
    }

    /// Makes sure that the owner is there and not being deleted.
    ///
    /// # Errors
    /// When it is not, or cannot be read: the cache is about to show why.
    pub(crate) async fn check(&mut self) -> Result<(), Error> {
        if self.is_checked {
            return Ok(());
        }
        let name = self.owner.metadata().name.as_deref().unwrap_or_default();
        let live = self.api.metadata_only().get_opt(name).await?;
        match refusal(self.owner.metadata(), live.as_ref().map(|live| &live.metadata)) {
            Some(why) => Err(Error::new(format!("{name} adopts nothing: {why}"))),
            None => {
                self.is_checked = true;
                Ok(())
            }
        }
    }
}

/// Why an owner may not adopt.
fn refusal(cached: &ObjectMeta, live: Option<&ObjectMeta>) -> Option<&'static str> {
    match live {
        None => Some("it is gone"),
        Some(live) if live.uid != cached.uid => Some("another has its name"),
        Some(live) if live.deletion_timestamp.is_some() => Some("it is being deleted"),
        Some(_) => None,
    }
}

/// The controller that an object's metadata name.
pub(crate) fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// Whether the metadata name this owner as controller.
pub(crate) fn is_owned(metadata: &ObjectMeta, owner: &impl Resource) -> bool {
    controller(metadata).is_some_and(|controller| owner.metadata().uid.as_ref() == Some(&controller.uid))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[test]
    fn only_an_owner_that_is_there_adopts() {
        let metadata = |uid: &str, deleted: Option<i64>| ObjectMeta {
            uid: Some(uid.to_owned()),
            deletion_timestamp: deleted.map(|at| Time(jiff::Timestamp::from_second(at).unwrap())),
            ..ObjectMeta::default()
        };
        let cached = metadata("a", None);
        for (live, expect) in [
            (Some(metadata("a", None)), None),
            (None, Some("it is gone")),
            (Some(metadata("b", None)), Some("another has its name")),
            (Some(metadata("a", Some(1))), Some("it is being deleted")),
        ] {
            assert_eq!(refusal(&cached, live.as_ref()), expect, "{live:?}");
        }
    }
}
