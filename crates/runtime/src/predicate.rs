//! Which events make a controller look at an object.

use std::fmt;
use std::sync::Arc;

use kubewright_cache::{Cached, FinalState, Initial};
use kubewright_core::{LabelSelector, ObjectMeta};

/// What an informer tells of one object.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a, K> {
    /// It is there and was not.
    Create {
        /// The object.
        object: &'a Cached<K>,
        /// Whether it was there when the informer began.
        initial: Initial,
    },
    /// It changed, or is shown again.
    Update {
        /// What was known.
        old: &'a Cached<K>,
        /// What is now.
        new: &'a Cached<K>,
    },
    /// It is gone.
    Delete {
        /// The last known state.
        object: &'a Cached<K>,
        /// Whether that was the final one.
        final_state: FinalState,
    },
}

/// Decides which events a controller looks at. A predicate may have an opinion on some types of events only, and what it
/// has no opinion on passes: those about changes never swallow creations, deletions or an object that took another's place
/// under the same name. [`not`](Self::not) turns opinions round and leaves the rest passing.
pub struct Predicate<K> {
    create: Option<Arc<OnCreate<K>>>,
    update: Option<Arc<OnUpdate<K>>>,
    delete: Option<Arc<OnDelete<K>>>,
}

type OnCreate<K> = dyn Fn(&Cached<K>, Initial) -> bool + Send + Sync;
type OnUpdate<K> = dyn Fn(&Cached<K>, &Cached<K>) -> bool + Send + Sync;
type OnDelete<K> = dyn Fn(&Cached<K>) -> bool + Send + Sync;

impl<K: 'static> Predicate<K> {
    /// Passes everything: the default.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Has an opinion on every type of event, by what is said of the object: an update passes if its old or its new state
    /// does.
    #[must_use]
    pub fn on_object(test: impl Fn(&Cached<K>) -> bool + Send + Sync + 'static) -> Self {
        let test = Arc::new(test);
        let (create, update) = (Arc::clone(&test), Arc::clone(&test));
        Self {
            create: Some(Arc::new(move |object, _| create(object))),
            update: Some(Arc::new(move |old, new| update(old) || update(new))),
            delete: Some(test),
        }
    }

    /// Has an opinion on changes of an object.
    #[must_use]
    pub fn on_update(test: impl Fn(&Cached<K>, &Cached<K>) -> bool + Send + Sync + 'static) -> Self {
        Self {
            update: Some(Arc::new(test)),
            ..Self::default()
        }
    }

    /// Has an opinion on creations.
    #[must_use]
    pub fn on_create(test: impl Fn(&Cached<K>, Initial) -> bool + Send + Sync + 'static) -> Self {
        Self {
            create: Some(Arc::new(test)),
            ..Self::default()
        }
    }

    /// Has an opinion on deletions.
    #[must_use]
    pub fn on_delete(test: impl Fn(&Cached<K>) -> bool + Send + Sync + 'static) -> Self {
        Self {
            delete: Some(Arc::new(test)),
            ..Self::default()
        }
    }

    /// Changes of `metadata.generation`, which the server increments when the spec changes or a deletion begins, but not
    /// for status or metadata. Kinds without generations pass whenever their version changes.
    #[must_use]
    pub fn generation_changed() -> Self {
        Self::on_update(|old, new| match (generation(old), generation(new)) {
            (Some(old), Some(new)) => old != new,
            _ => !old.same_version(new),
        })
    }

    /// Changes of the resource version: drops what a resync shows again.
    #[must_use]
    pub fn resource_version_changed() -> Self {
        Self::on_update(|old, new| !old.same_version(new))
    }

    /// Changes of labels.
    #[must_use]
    pub fn labels_changed() -> Self {
        Self::on_update(|old, new| old.labels() != new.labels())
    }

    /// Changes of annotations.
    #[must_use]
    pub fn annotations_changed() -> Self {
        Self::metadata_changed(|metadata| metadata.annotations.clone().unwrap_or_default())
    }

    /// Changes of something in the metadata.
    #[must_use]
    pub fn metadata_changed<T: PartialEq>(part: impl Fn(&ObjectMeta) -> T + Send + Sync + 'static) -> Self {
        Self::on_update(move |old, new| part(&old.metadata()) != part(&new.metadata()))
    }

    /// Objects whose labels match: an update passes if the old or the new ones do.
    #[must_use]
    pub fn labels_match(selector: LabelSelector) -> Self {
        Self::on_object(move |object| {
            let labels = object.labels();
            selector.matches(|key| labels.get(key))
        })
    }

    /// Passes what both pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            create: match (self.create, other.create) {
                (Some(a), Some(b)) => Some(Arc::new(move |object, initial| {
                    a(object, initial) && b(object, initial)
                })),
                (a, b) => a.or(b),
            },
            update: match (self.update, other.update) {
                (Some(a), Some(b)) => Some(Arc::new(move |old, new| a(old, new) && b(old, new))),
                (a, b) => a.or(b),
            },
            delete: match (self.delete, other.delete) {
                (Some(a), Some(b)) => Some(Arc::new(move |object| a(object) && b(object))),
                (a, b) => a.or(b),
            },
        }
    }

    /// Passes what either passes.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            create: match (self.create, other.create) {
                (Some(a), Some(b)) => Some(Arc::new(move |object, initial| {
                    a(object, initial) || b(object, initial)
                })),
                _ => None,
            },
            update: match (self.update, other.update) {
                (Some(a), Some(b)) => Some(Arc::new(move |old, new| a(old, new) || b(old, new))),
                _ => None,
            },
            delete: match (self.delete, other.delete) {
                (Some(a), Some(b)) => Some(Arc::new(move |object| a(object) || b(object))),
                _ => None,
            },
        }
    }

    /// Turns opinions round. What there is no opinion on still passes.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "a method chain reads better than an operator among and/or"
    )]
    pub fn not(self) -> Self {
        Self {
            create: self
                .create
                .map(|test| -> Arc<OnCreate<K>> { Arc::new(move |object, initial| !test(object, initial)) }),
            update: self
                .update
                .map(|test| -> Arc<OnUpdate<K>> { Arc::new(move |old, new| !test(old, new)) }),
            delete: self
                .delete
                .map(|test| -> Arc<OnDelete<K>> { Arc::new(move |object| !test(object)) }),
        }
    }

    /// Whether an event passes.
    #[must_use]
    pub fn passes(&self, event: &Event<'_, K>) -> bool {
        match event {
            Event::Create { object, initial } => {
                self.create.as_ref().is_none_or(|test| test(object, *initial))
            }
            // Another uid is another object, whatever else looks the same.
            Event::Update { old, new } if old.uid() != new.uid() => true,
            Event::Update { old, new } => self.update.as_ref().is_none_or(|test| test(old, new)),
            Event::Delete { object, .. } => self.delete.as_ref().is_none_or(|test| test(object)),
        }
    }
}

/// Kinds without generations have 0 or none.
fn generation<K>(object: &Cached<K>) -> Option<i64> {
    object.generation().filter(|generation| *generation > 0)
}

impl<K> Default for Predicate<K> {
    fn default() -> Self {
        Self {
            create: None,
            update: None,
            delete: None,
        }
    }
}

impl<K> Clone for Predicate<K> {
    fn clone(&self) -> Self {
        Self {
            create: self.create.clone(),
            update: self.update.clone(),
            delete: self.delete.clone(),
        }
    }
}

impl<K> fmt::Debug for Predicate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicate")
            .field("create", &self.create.is_some())
            .field("update", &self.update.is_some())
            .field("delete", &self.delete.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(uid: &str, version: u64, metadata: &str) -> Cached<()> {
        let text =
            format!(r#"{{"metadata":{{"name":"x","uid":"{uid}","resourceVersion":"{version}"{metadata}}}}}"#);
        Cached::from_json(text.as_bytes()).unwrap()
    }

    #[test]
    fn updates_pass_as_their_metadata_says() {
        type P = Predicate<()>;
        let gen1 = || object("u", 1, r#","generation":1"#);
        let gen2 = || object("u", 2, r#","generation":2"#);
        let same = || object("u", 3, r#","generation":1,"labels":{"a":"b"}"#);
        let noted = || object("u", 4, r#","generation":1,"annotations":{"a":"b"}"#);
        let bare = |version| object("u", version, "");
        let label = || P::labels_match("a=b".parse().unwrap());
        type Row = (&'static str, P, Cached<()>, Cached<()>, bool);
        let rows: [Row; 17] = [
            ("all", P::all(), gen1(), gen1(), true),
            ("generation", P::generation_changed(), gen1(), gen2(), true),
            ("generation", P::generation_changed(), gen1(), same(), false),
            ("no generation", P::generation_changed(), bare(1), bare(2), true),
            (
                "no generation, resync",
                P::generation_changed(),
                bare(1),
                bare(1),
                false,
            ),
            (
                "other uid",
                P::generation_changed(),
                gen1(),
                object("v", 9, r#","generation":1"#),
                true,
            ),
            ("version", P::resource_version_changed(), gen1(), gen1(), false),
            ("version", P::resource_version_changed(), gen1(), same(), true),
            ("labels", P::labels_changed(), gen1(), same(), true),
            ("labels", P::labels_changed(), gen1(), noted(), false),
            ("annotations", P::annotations_changed(), gen1(), noted(), true),
            (
                "either",
                P::labels_changed().or(P::annotations_changed()),
                gen1(),
                noted(),
                true,
            ),
            (
                "both",
                P::labels_changed().and(P::annotations_changed()),
                gen1(),
                noted(),
                false,
            ),
            ("not", P::labels_changed().not(), gen1(), noted(), true),
            ("match new", label(), gen1(), same(), true),
            ("match old", label(), same(), gen1(), true),
            ("match none", label(), gen1(), noted(), false),
        ];
        for (name, predicate, old, new, expect) in rows {
            let event = Event::Update { old: &old, new: &new };
            assert_eq!(predicate.passes(&event), expect, "{name}: {old:?} {new:?}");
        }
    }

    #[test]
    fn creations_and_deletions_pass_predicates_about_changes() {
        type P = Predicate<()>;
        let object = object("u", 1, "");
        for (name, predicate, expect) in [
            ("generation", P::generation_changed(), true),
            ("not generation", P::generation_changed().not(), true),
            (
                "generation and labels",
                P::generation_changed().and(P::labels_changed()),
                true,
            ),
            (
                "generation or match",
                P::generation_changed().or(P::labels_match("a=b".parse().unwrap())),
                true,
            ),
            ("match", P::labels_match("a=b".parse().unwrap()), false),
            ("not match", P::labels_match("a=b".parse().unwrap()).not(), true),
        ] {
            let create = Event::Create {
                object: &object,
                initial: Initial::No,
            };
            let delete = Event::Delete {
                object: &object,
                final_state: FinalState::Known,
            };
            assert_eq!(predicate.passes(&create), expect, "{name}, creation");
            assert_eq!(predicate.passes(&delete), expect, "{name}, deletion");
        }
    }
}
