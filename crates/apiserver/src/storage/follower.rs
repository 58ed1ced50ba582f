//! What is derived from objects of a few resources, as new as the store can tell.

use std::fmt::Debug;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Event, KeyPrefix, Storage, StorageError, Watch, WatchItem, WatchRequest, WatchStart};

/// What is made of the objects.
pub(crate) trait Digest: Debug + Default + Send {
    /// What of it is handed out; cheap to clone.
    type Snapshot;
    /// What the objects are, for the log.
    const OBJECTS: &'static str;

    /// Takes in a change.
    fn take(&mut self, event: &Event);

    /// What there is now.
    fn snapshot(&mut self) -> Self::Snapshot;
}

/// Follows objects in the store. It has no task of its own: whoever needs what is made of them has it catch up, which takes in what was
/// written since; so what a write changes counts as soon as the store knows of it.
#[derive(Debug)]
pub(crate) struct Follower<D> {
    prefixes: Vec<KeyPrefix>,
    present: Mutex<Present<D>>,
    /// Held by the one who reads everything anew; others wait for them.
    beginning: tokio::sync::Mutex<()>,
}

/// What is known.
#[derive(Debug, Default)]
struct Present<D> {
    digest: D,
    /// One for each prefix; none before the first use, and after one broke off.
    watches: Vec<Watch>,
    /// Reused; empty between calls.
    batch: Vec<WatchItem>,
    /// Until when nothing is read anew, since that failed.
    rests_until: Option<Instant>,
    is_known: bool,
}

impl<D: Digest> Follower<D> {
    /// Follows all below these prefixes, those of the first before those of the next when they are read anew.
    pub(crate) fn new(prefixes: impl IntoIterator<Item = KeyPrefix>) -> Self {
        Self {
            prefixes: prefixes.into_iter().collect(),
            present: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        }
    }

    /// What there is by all that the store knows of now. While the store cannot be read, it is the last that was known, as with upstream's
    /// informers, and [`BEGIN_LIMIT`] is waited once in [`REST`] at most.
    ///
    /// # Errors
    /// When the store could never be read.
    pub(crate) async fn catch_up(&self, storage: &dyn Storage) -> Result<D::Snapshot, StorageError> {
        // The lock is not held across a wait.
        let known = self.present.lock().catch_up();
        match known {
            Some(snapshot) => Ok(snapshot),
            None => Box::pin(self.begin(storage)).await,
        }
    }

    async fn begin(&self, storage: &dyn Storage) -> Result<D::Snapshot, StorageError> {
        let begun = tokio::time::timeout(BEGIN_LIMIT, async {
            let _one = self.beginning.lock().await;
            // Somebody else was about it.
            let known = self.present.lock().catch_up();
            if let Some(snapshot) = known {
                return Ok(snapshot);
            }
            let mut fresh = Present::<D>::begin(storage, &self.prefixes).await?;
            let snapshot = fresh.digest.snapshot();
            *self.present.lock() = fresh;
            Ok(snapshot)
        });
        let error = match begun.await {
            Ok(Ok(snapshot)) => return Ok(snapshot),
            Ok(Err(error)) => error,
            Err(_) => StorageError::Unavailable {
                reason: "reading everything anew takes too long",
                source: None,
            },
        };
        let mut present = self.present.lock();
        if !present.is_known {
            return Err(error);
        }
        tracing::warn!(objects = D::OBJECTS, %error, "the store cannot be read; those that were known last still count");
        present.rests_until = Some(Instant::now() + REST);
        Ok(present.digest.snapshot())
    }
}

impl<D: Digest> Present<D> {
    /// What there is with what came since; `None` where everything is to be read anew.
    fn catch_up(&mut self) -> Option<D::Snapshot> {
        if self.rests_until.is_none_or(|until| Instant::now() >= until) {
            self.rests_until = None;
            // Also after a time in which nobody asked, when the changes since are no longer known.
            if self.watches.is_empty() || self.take_news().is_err() {
                self.watches.clear();
                return None;
            }
        }
        Some(self.digest.snapshot())
    }

    async fn begin(storage: &dyn Storage, prefixes: &[KeyPrefix]) -> Result<Self, StorageError> {
        // A watch from the state may show a cached one; afterwards the cache knows all that was stored before.
        storage.progress().await?;
        let mut fresh = Self {
            is_known: true,
            ..Self::default()
        };
        for prefix in prefixes {
            let mut watch = storage.watch(WatchRequest {
                prefix: prefix.clone(),
                start: WatchStart::State,
            })?;
            loop {
                match watch.next().await? {
                    WatchItem::Event(event) => fresh.digest.take(&event),
                    WatchItem::Synced(_) => break,
                    WatchItem::Progress(_) => {}
                }
            }
            fresh.watches.push(watch);
        }
        Ok(fresh)
    }

    fn take_news(&mut self) -> Result<(), StorageError> {
        for watch in &mut self.watches {
            while watch.try_next_batch(BATCH, &mut self.batch)? > 0 {
                for item in self.batch.drain(..) {
                    if let WatchItem::Event(event) = item {
                        self.digest.take(&event);
                    }
                }
            }
        }
        Ok(())
    }
}

/// So many changes are taken in at once.
const BATCH: usize = 256;
/// How long a request waits for everything to be read.
const BEGIN_LIMIT: Duration = Duration::from_secs(1);
/// How long nothing is read anew after it failed.
const REST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::tests::faults::{Flaky, LOST};
    use super::*;
    use crate::storage::{Change, Encoded, Key};

    /// The names of the objects.
    #[derive(Debug, Default)]
    struct Names(BTreeSet<String>);

    impl Digest for Names {
        type Snapshot = String;
        const OBJECTS: &'static str = "names";

        fn take(&mut self, event: &Event) {
            let name = event.object().key().name().to_owned();
            match event.change() {
                Change::Added | Change::Modified => self.0.insert(name),
                Change::Deleted => self.0.remove(&name),
            };
        }

        fn snapshot(&mut self) -> String {
            self.0.iter().cloned().collect()
        }
    }

    fn key(plural: &str, name: &str) -> Key {
        Key::new("g", plural, None, name)
    }

    async fn put(store: &Flaky, plural: &str, name: &str) {
        let object = json!({"metadata": {"name": name}});
        store
            .create(key(plural, name), Encoded::from_value(&object))
            .await
            .unwrap();
    }

    fn follower() -> Follower<Names> {
        Follower::new(["as", "bs"].map(|plural| KeyPrefix::resource("g", plural)))
    }

    async fn known(follower: &Follower<Names>, store: &Flaky) -> Result<String, String> {
        follower.catch_up(store).await.map_err(|error| error.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_counts_while_the_store_cannot_be_read() {
        let store = Flaky::default();
        let follower = follower();
        store.break_off(LOST);
        assert_eq!(
            known(&follower, &store).await,
            Err(LOST.to_string()),
            "nothing was ever known"
        );
        store.heal();
        put(&store, "as", "a").await;
        put(&store, "other", "x").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "a");
        put(&store, "bs", "b").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "ab", "at once");
        // A watch that broke off is begun anew by whoever comes.
        store.break_off(LOST);
        store.heal();
        put(&store, "as", "c").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "abc");
        store.break_off(LOST);
        assert_eq!(known(&follower, &store).await.unwrap(), "abc");
        store.heal();
        let stored = store.get(key("as", "a")).await.unwrap().unwrap();
        store.delete(key("as", "a"), stored.revision()).await.unwrap();
        assert_eq!(
            known(&follower, &store).await.unwrap(),
            "abc",
            "it rests after a failure"
        );
        tokio::time::advance(REST).await;
        assert_eq!(known(&follower, &store).await.unwrap(), "bc");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_waited_for_once() {
        let store = Flaky::default();
        put(&store, "as", "a").await;
        let follower = follower();
        assert_eq!(known(&follower, &store).await.unwrap(), "a");
        store.stall_after(Some(0));
        store.break_off(LOST);
        store.heal();
        let begun = Instant::now();
        let many = (0..10).map(|_| known(&follower, &store));
        for known in futures_util::future::join_all(many).await {
            assert_eq!(known.unwrap(), "a");
        }
        assert_eq!(begun.elapsed(), BEGIN_LIMIT);
        assert_eq!(known(&follower, &store).await.unwrap(), "a");
        assert_eq!(begun.elapsed(), BEGIN_LIMIT);
        store.stall_after(None);
        tokio::time::advance(REST).await;
        put(&store, "bs", "b").await;
        assert_eq!(known(&follower, &store).await.unwrap(), "ab");
    }
}
