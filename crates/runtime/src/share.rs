//! Which keys of a controller are this replica's, where several replicas share them out.

use std::sync::Arc;

use kubewright_cache::sharding::{InHand, Shard, ShardKey};
use kubewright_core::{ApiResource, ObjectKey, Scope};
use tokio::sync::watch;

use crate::controller::Controller;

/// The keys of one controller, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    shard: Shard,
    /// Whose keys they are, so that an object is with the same replica in every controller of its kind.
    resource: Arc<ApiResource>,
}

impl Share {
    pub(crate) fn of(controller: &Controller, shard: &Shard) -> Self {
        let primary = controller.primary.clone();
        Self {
            shard: shard.clone(),
            resource: Arc::new(primary.unwrap_or_else(|| keys_of_its_own(&controller.name))),
        }
    }

    fn key(&self, key: &ObjectKey) -> ShardKey {
        ShardKey::of(&self.resource, key)
    }

    pub(crate) fn owns(&self, key: &ObjectKey) -> bool {
        self.shard.owns(self.key(key))
    }

    pub(crate) fn owned_since(&self, key: &ObjectKey) -> Option<u64> {
        self.shard.owned_since(self.key(key))
    }

    pub(crate) fn begin(&self, key: &ObjectKey) -> Option<InHand> {
        self.shard.begin(self.key(key))
    }

    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.shard.generations()
    }
}

/// What stands for a kind where a controller is for none, and its keys are whatever its functions give: something that all
/// replicas say alike.
fn keys_of_its_own(controller: &str) -> ApiResource {
    ApiResource {
        group: "controller".to_owned(),
        version: String::new(),
        kind: controller.to_owned(),
        plural: String::new(),
        scope: Scope::Namespaced,
    }
}
