//! From an informer's events to keys on a work queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kubewright_cache::{Cached, EventHandler, FinalState, Initial, Lister};
use kubewright_core::{ApiResource, DynamicObject, ObjectKey, Scope};
use kubewright_queue::{Added, DEFAULT_PRIORITY, LOW_PRIORITY, WorkQueue};

use crate::predicate::{Event, Predicate};
use crate::share::Share;

/// Which keys an object stands for.
pub(crate) enum Mapping<K> {
    /// Its own.
    Itself,
    /// That of its controller, if that is of the controller's own kind.
    Owner,
    /// Whatever the function says.
    Function(Arc<Mapper<K>>),
    /// Whatever the function says, which may look at the objects the controller is for.
    Related(Arc<RelatedMapper<K>>),
}

pub(crate) type RelatedMapper<K> = dyn Fn(&Cached<K>, &Lister<DynamicObject>) -> Vec<ObjectKey> + Send + Sync;

pub(crate) type Mapper<K> = dyn Fn(&Cached<K>) -> Vec<ObjectKey> + Send + Sync;

impl<K> Clone for Mapping<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Itself => Self::Itself,
            Self::Owner => Self::Owner,
            Self::Function(function) => Self::Function(Arc::clone(function)),
            Self::Related(function) => Self::Related(Arc::clone(function)),
        }
    }
}

/// Puts keys on the queue of one controller.
pub(crate) struct Enqueue<K> {
    pub(crate) controller: String,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) predicate: Predicate<K>,
    pub(crate) mapping: Mapping<K>,
    /// The kind that the controller is for; owners of other kinds are not its business.
    pub(crate) primary: Option<ApiResource>,
    /// The objects of that kind.
    pub(crate) primaries: Option<Lister<DynamicObject>>,
    /// Which keys this replica works on; `None` if on all.
    pub(crate) share: Option<Share>,
}

impl<K: 'static> Enqueue<K> {
    /// What another replica's is comes to its queue, not to this one; should it come over, it is
    /// [looked for](Self::take_over) then.
    fn enqueue(&self, object: &Cached<K>, priority: i32) {
        self.each_key(object, |key| {
            if self.share.as_ref().is_none_or(|share| share.owns(&key)) {
                self.add(key, priority);
            }
        });
    }

    /// Of what an object stands for, enqueues what came over from other replicas since a generation of the share, as if the
    /// controller had begun with it.
    pub(crate) fn take_over(&self, object: &Cached<K>, since: u64) {
        let initial = Initial::Yes;
        let Some(share) = &self.share else { return };
        if !self.predicate.passes(&Event::Create { object, initial }) {
            return;
        }
        self.each_key(object, |key| {
            if share.owned_since(&key).is_some_and(|came| came > since) {
                self.add(key, LOW_PRIORITY);
            }
        });
    }

    fn each_key(&self, object: &Cached<K>, mut with: impl FnMut(ObjectKey)) {
        match &self.mapping {
            Mapping::Itself => with(object.key().clone()),
            Mapping::Owner => {
                let key = self.primary.as_ref().and_then(|primary| owner(object, primary));
                key.into_iter().for_each(with);
            }
            Mapping::Function(function) => function(object).into_iter().for_each(with),
            Mapping::Related(function) => {
                let primaries = self.primaries.iter();
                primaries
                    .flat_map(|primaries| function(object, primaries))
                    .for_each(with);
            }
        }
    }

    fn add(&self, key: ObjectKey, priority: i32) {
        if self.queue.add_with_priority(key.clone(), priority) == Added::Full {
            tracing::error!(controller = self.controller, %key, "the work queue is full; this key is lost");
        }
    }
}

impl<K: 'static> EventHandler<K> for Enqueue<K> {
    fn on_add(&self, object: &Cached<K>, initial: Initial) {
        if self.predicate.passes(&Event::Create { object, initial }) {
            self.enqueue(
                object,
                match initial {
                    // What was there before is not news: fresh changes go first.
                    Initial::Yes => LOW_PRIORITY,
                    Initial::No => DEFAULT_PRIORITY,
                },
            );
        }
    }

    /// Both states are mapped: what the old one stood for has lost something.
    fn on_update(&self, old: &Cached<K>, new: &Cached<K>) {
        if self.predicate.passes(&Event::Update { old, new }) {
            let priority = if old.same_version(new) {
                LOW_PRIORITY
            } else {
                DEFAULT_PRIORITY
            };
            self.enqueue(new, priority);
            if !matches!(self.mapping, Mapping::Itself) {
                self.enqueue(old, priority);
            }
        }
    }

    fn on_delete(&self, object: &Cached<K>, final_state: FinalState) {
        if self.predicate.passes(&Event::Delete { object, final_state }) {
            self.enqueue(object, DEFAULT_PRIORITY);
        }
    }
}

/// The key of an object's controller if that is of this kind, in whatever version (controller-runtime
/// `pkg/handler/enqueue_owner.go`).
fn owner<K>(object: &Cached<K>, primary: &ApiResource) -> Option<ObjectKey> {
    let owners = object.owners();
    let controller = owners.controller()?;
    let group = controller
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    if controller.kind != primary.kind || group != primary.group {
        return None;
    }
    let namespace = (primary.scope == Scope::Namespaced)
        .then(|| object.namespace())
        .flatten();
    Some(ObjectKey::of(namespace, &controller.name))
}

/// Does something with each object. A predicate or function that panics for one concerns no other, as where handlers are told.
pub(crate) fn each_for_itself<K>(objects: &[Cached<K>], work: impl Fn(&Cached<K>)) {
    for object in objects {
        if catch_unwind(AssertUnwindSafe(|| work(object))).is_err() {
            tracing::error!(key = %object.key(), "what came over from another replica is left out: a predicate or mapping panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::Node;
    use kubewright_core::StaticResource;

    use super::*;

    fn owned(reference: &str) -> Cached<()> {
        let text = format!(
            r#"{{"metadata":{{"namespace":"n","name":"x","uid":"u","resourceVersion":"1","ownerReferences":[{reference}]}}}}"#
        );
        Cached::from_json(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_panic_concerns_one_object() {
        let object = |name: &str| {
            let text = format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"1"}}}}"#);
            Cached::<()>::from_json(text.as_bytes()).unwrap()
        };
        let seen = std::cell::RefCell::new(Vec::new());
        each_for_itself(&["a", "b", "c"].map(object), |object| {
            assert_ne!(object.name(), "b", "on purpose");
            seen.borrow_mut().push(object.name().to_owned());
        });
        assert_eq!(*seen.borrow(), ["a", "c"]);
    }

    #[test]
    fn owners_are_found_by_group_and_kind_of_the_controller() {
        let set = ReplicaSet::api_resource();
        let rows = [
            (
                r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"1","controller":true}"#,
                &set,
                Some("n/a"),
            ),
            (
                r#"{"apiVersion":"apps/v1beta9","kind":"ReplicaSet","name":"a","uid":"1","controller":true}"#,
                &set,
                Some("n/a"),
            ),
            (
                r#"{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a","uid":"1"}"#,
                &set,
                None,
            ),
            (
                r#"{"apiVersion":"v1","kind":"ReplicaSet","name":"a","uid":"1","controller":true}"#,
                &set,
                None,
            ),
            (
                r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"a","uid":"1","controller":true}"#,
                &set,
                None,
            ),
            (
                r#"{"apiVersion":"v1","kind":"Node","name":"a","uid":"1","controller":true}"#,
                &Node::api_resource(),
                Some("a"),
            ),
            ("", &set, None),
        ];
        for (reference, primary, expect) in rows {
            let found = owner(&owned(reference), primary).map(|key| key.to_string());
            assert_eq!(found.as_deref(), expect, "{reference}");
        }
    }
}
