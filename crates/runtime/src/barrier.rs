//! Writes that a cache has not seen yet, so that reads after them can wait.
//!
//! Each informer of a manager has one [`Barrier`]. It is told of the manager's writes to objects in the informer's scope;
//! a read asks it which of them concern the read and are not in the store yet. The state is plain: store and clock are
//! arguments.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use kubewright_cache::WatchScope;
use kubewright_core::{LabelSelector, ObjectKey, ResourceVersion};
use parking_lot::Mutex;

/// Most writes that one barrier remembers. Beyond that the oldest is forgotten, and reads do not wait for it.
pub const MAX_PENDING_WRITES: usize = 10_000;

/// After how long a write is forgotten: reads that want to see it have waited or failed by then.
pub const WRITE_EXPIRY: Duration = Duration::from_secs(60);

/// What the answer to a write says of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) version: ResourceVersion,
    /// `None` where the answer does not say, as that of a scale.
    pub(crate) labels: Option<Vec<(String, String)>>,
    /// The object is gone, not only marked.
    pub(crate) gone: bool,
}

/// What a store knows.
pub(crate) trait Seen {
    /// Uid and version of an object.
    fn object(&self, key: &ObjectKey) -> Option<(String, ResourceVersion)>;
    /// The version up to which everything was seen.
    fn version(&self) -> ResourceVersion;
}

/// The writes that one informer has to see.
#[derive(Debug)]
pub(crate) struct Barrier {
    scope: WatchScope,
    pending: Mutex<HashMap<ObjectKey, Pending>>,
}

#[derive(Debug)]
struct Pending {
    uid: String,
    expect: Expect,
    at: Instant,
}

#[derive(Debug, PartialEq, Eq)]
enum Expect {
    /// The object has this version, or a newer one.
    Version(ResourceVersion),
    /// The store has no object with the uid, and knows everything up to the version.
    Gone { after: Option<ResourceVersion> },
}

/// Which objects a read looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reads<'a> {
    Key(&'a ObjectKey),
    Namespace(&'a str),
    All,
}

impl Reads<'_> {
    fn contains(self, key: &ObjectKey) -> bool {
        match self {
            Self::Key(wanted) => wanted == key,
            Self::Namespace(namespace) => key.namespace.as_deref() == Some(namespace),
            Self::All => true,
        }
    }
}

impl Barrier {
    pub(crate) fn new(scope: WatchScope) -> Self {
        Self {
            scope,
            pending: Mutex::default(),
        }
    }

    pub(crate) fn scope(&self) -> &WatchScope {
        &self.scope
    }

    /// Remembers a write, unless the informer will never see it.
    pub(crate) fn record(&self, written: &Written, now: Instant) {
        let Some(expect) = self.expectation(written) else {
            return;
        };
        let mut pending = self.pending.lock();
        if pending.len() >= MAX_PENDING_WRITES && !pending.contains_key(&written.key) {
            pending.retain(|_, write| !is_expired(write, now));
            forget_oldest(&mut pending);
        }
        let expect = match pending.remove(&written.key) {
            Some(before) if before.uid == written.uid => combine(before.expect, expect),
            _ => expect,
        };
        pending.insert(
            written.key.clone(),
            Pending {
                uid: written.uid.clone(),
                expect,
                at: now,
            },
        );
    }

    /// A write that the read should see and the store has not. What was seen is forgotten.
    pub(crate) fn unseen(&self, reads: Reads<'_>, seen: &impl Seen, now: Instant) -> Option<ObjectKey> {
        let mut pending = self.pending.lock();
        if pending.is_empty() {
            return None;
        }
        if let Reads::Key(key) = reads {
            let write = pending.get(key)?;
            if is_expired(write, now) || is_seen(key, write, seen) {
                pending.remove(key);
                return None;
            }
            return Some(key.clone());
        }
        pending.retain(|key, write| {
            !(is_expired(write, now) || reads.contains(key) && is_seen(key, write, seen))
        });
        pending.keys().find(|key| reads.contains(key)).cloned()
    }

    fn expectation(&self, written: &Written) -> Option<Expect> {
        let scope = &self.scope;
        if scope.namespace.is_some() && scope.namespace.as_deref() != written.key.namespace.as_deref() {
            return None;
        }
        // Which objects a field selector lets through is known to the server alone.
        if !scope.fields.is_everything() {
            return None;
        }
        // The versions of a selection advance with bookmarks, about once in a minute: too seldom to wait for.
        let after = scope
            .labels
            .is_everything()
            .then(|| written.version.clone())
            .filter(|version| !version.is_empty());
        if written.gone {
            return Some(Expect::Gone { after });
        }
        if !scope.labels.is_everything() {
            // Whether the informer sees the object is not known without its labels.
            if !matches(&scope.labels, written.labels.as_ref()?) {
                return Some(Expect::Gone { after: None });
            }
        }
        Some(Expect::Version(written.version.clone()))
    }
}

fn matches(selector: &LabelSelector, labels: &[(String, String)]) -> bool {
    selector.matches(|key| {
        let found = labels.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    })
}

/// Two writes of one object: the later state counts, and answers may come in any order.
fn combine(before: Expect, new: Expect) -> Expect {
    match (before, new) {
        (Expect::Version(a), Expect::Version(b)) => Expect::Version(later(a, b)),
        (Expect::Version(a), Expect::Gone { after }) | (Expect::Gone { after }, Expect::Version(a)) => {
            Expect::Gone {
                after: Some(match after {
                    Some(b) => later(a, b),
                    None => a,
                }),
            }
        }
        (Expect::Gone { after: a }, Expect::Gone { after: b }) => Expect::Gone {
            after: match (a, b) {
                (Some(a), Some(b)) => Some(later(a, b)),
                (a, b) => a.or(b),
            },
        },
    }
}

fn later(a: ResourceVersion, b: ResourceVersion) -> ResourceVersion {
    if a.compare(&b) == Some(Ordering::Greater) {
        a
    } else {
        b
    }
}

fn reached(has: &ResourceVersion, wanted: &ResourceVersion) -> bool {
    matches!(has.compare(wanted), Some(Ordering::Equal | Ordering::Greater))
}

fn is_seen(key: &ObjectKey, write: &Pending, seen: &impl Seen) -> bool {
    let object = seen.object(key).filter(|(uid, _)| *uid == write.uid);
    match (&write.expect, object) {
        (Expect::Version(wanted), Some((_, version))) => {
            reached(&version, wanted) || reached(&seen.version(), wanted)
        }
        (Expect::Version(wanted), None) => reached(&seen.version(), wanted),
        (Expect::Gone { .. }, Some(_)) => false,
        (Expect::Gone { after }, None) => after.as_ref().is_none_or(|after| reached(&seen.version(), after)),
    }
}

fn is_expired(write: &Pending, now: Instant) -> bool {
    now.saturating_duration_since(write.at) > WRITE_EXPIRY
}

fn forget_oldest(pending: &mut HashMap<ObjectKey, Pending>) {
    if pending.len() < MAX_PENDING_WRITES {
        return;
    }
    let oldest = pending.iter().min_by_key(|(_, write)| write.at);
    if let Some(key) = oldest.map(|(key, _)| key.clone()) {
        tracing::warn!(%key, "more writes than can be waited for; reads may miss one of them");
        pending.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store by hand: uid and version of the object `n/x`, and the version of the store.
    struct Store(Option<(&'static str, u64)>, u64);

    impl Seen for Store {
        fn object(&self, _: &ObjectKey) -> Option<(String, ResourceVersion)> {
            self.0.map(|(uid, version)| (uid.to_owned(), version.into()))
        }

        fn version(&self) -> ResourceVersion {
            self.1.into()
        }
    }

    fn key() -> ObjectKey {
        ObjectKey::namespaced("n", "x")
    }

    fn wrote(uid: &str, version: u64) -> Written {
        Written {
            key: key(),
            uid: uid.to_owned(),
            version: version.into(),
            labels: Some(vec![("app".to_owned(), "a".to_owned())]),
            gone: false,
        }
    }

    fn deleted(uid: &str) -> Written {
        Written {
            version: ResourceVersion::default(),
            gone: true,
            ..wrote(uid, 0)
        }
    }

    fn scaled(uid: &str, version: u64) -> Written {
        Written {
            labels: None,
            ..wrote(uid, version)
        }
    }

    #[test]
    fn reads_wait_for_what_was_written() {
        let all = WatchScope::default;
        let elsewhere = || WatchScope::namespace("m");
        let labelled = |labels: &str| WatchScope {
            labels: labels.parse().unwrap(),
            ..WatchScope::default()
        };
        let by_field = || WatchScope {
            fields: "status.phase=Running".parse().unwrap(),
            ..WatchScope::default()
        };
        // scope, writes, store, whether a read has to wait
        let rows: Vec<(WatchScope, Vec<Written>, Store, bool)> = vec![
            (all(), vec![], Store(None, 1), false),
            (all(), vec![wrote("u", 5)], Store(None, 4), true),
            (all(), vec![wrote("u", 5)], Store(Some(("u", 4)), 4), true),
            (all(), vec![wrote("u", 5)], Store(Some(("u", 5)), 5), false),
            (all(), vec![wrote("u", 5)], Store(Some(("u", 6)), 4), false),
            // Made and gone again since, or replaced by another of the name.
            (all(), vec![wrote("u", 5)], Store(None, 7), false),
            (all(), vec![wrote("u", 5)], Store(Some(("v", 7)), 7), false),
            (all(), vec![wrote("u", 5)], Store(Some(("old", 3)), 4), true),
            (all(), vec![deleted("u")], Store(Some(("u", 5)), 5), true),
            (all(), vec![deleted("u")], Store(None, 5), false),
            (all(), vec![deleted("u")], Store(Some(("v", 6)), 6), false),
            // It has not even been seen to come.
            (all(), vec![wrote("u", 5), deleted("u")], Store(None, 4), true),
            (all(), vec![wrote("u", 5), deleted("u")], Store(None, 6), false),
            // Answers come in any order; the newest write counts.
            (
                all(),
                vec![wrote("u", 9), wrote("u", 5)],
                Store(Some(("u", 6)), 6),
                true,
            ),
            (all(), vec![deleted("u"), wrote("v", 9)], Store(None, 8), true),
            (elsewhere(), vec![wrote("u", 5)], Store(None, 4), false),
            (labelled("app=a"), vec![wrote("u", 5)], Store(None, 4), true),
            (labelled("app=b"), vec![wrote("u", 5)], Store(None, 4), false),
            // It was in the selection and leaves it.
            (
                labelled("app=b"),
                vec![wrote("u", 5)],
                Store(Some(("u", 4)), 4),
                true,
            ),
            (by_field(), vec![wrote("u", 5)], Store(None, 4), false),
            (
                labelled("app=b"),
                vec![scaled("u", 5)],
                Store(Some(("u", 4)), 4),
                false,
            ),
            (all(), vec![scaled("u", 5)], Store(Some(("u", 4)), 4), true),
        ];
        let now = Instant::now();
        for (scope, writes, store, waits) in rows {
            let text = format!("{scope:?} {writes:?} {:?} {}", store.0, store.1);
            for (reads, waits) in [
                (Reads::Key(&key()), waits),
                (Reads::All, waits),
                (Reads::Namespace("n"), waits),
                (Reads::Namespace("other"), false),
                (Reads::Key(&ObjectKey::namespaced("n", "y")), false),
            ] {
                let barrier = Barrier::new(scope.clone());
                writes.iter().for_each(|write| barrier.record(write, now));
                assert_eq!(
                    barrier.unseen(reads, &store, now).is_some(),
                    waits,
                    "{reads:?} {text}"
                );
            }
        }
    }

    #[test]
    fn writes_are_forgotten_by_time_and_by_number() {
        let (barrier, start) = (Barrier::new(WatchScope::default()), Instant::now());
        let nothing = Store(None, 0);
        barrier.record(&wrote("u", 5), start);
        let later = start + WRITE_EXPIRY + Duration::from_secs(1);
        assert!(barrier.unseen(Reads::All, &nothing, start).is_some());
        assert!(barrier.unseen(Reads::All, &nothing, later).is_none());
        for number in 0..=MAX_PENDING_WRITES {
            let write = Written {
                key: ObjectKey::namespaced("n", format!("o{number}")),
                ..wrote("u", 5)
            };
            barrier.record(&write, later + Duration::from_nanos(number as u64));
        }
        assert_eq!(barrier.pending.lock().len(), MAX_PENDING_WRITES);
        let first = ObjectKey::namespaced("n", "o0");
        assert!(barrier.unseen(Reads::Key(&first), &nothing, later).is_none());
    }
}
