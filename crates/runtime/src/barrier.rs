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
    pub(crate) labels: Vec<(String, String)>,
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
        if !matches(&scope.labels, &written.labels) {
            return Some(Expect::Gone { after: None });
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
