//! What discovery said last, kept and shared: [`CachedDiscovery`].

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use kubewright_core::GroupVersion;
use tokio::time::Instant;

use super::{DiscoveredVersion, DiscoveryClient, DiskCache, HttpCacheLayer, PartialDiscovery};
use crate::client::Client;
use crate::error::Error;

/// Discovery that asks once and remembers. Cloning it shares what it remembers.
///
/// Those who ask while an answer is on its way wait for it, and share it, a failure too. Mirrors client-go
/// `discovery/cached/memory`.
#[derive(Clone)]
pub struct CachedDiscovery {
    inner: Arc<Inner>,
}

struct Inner {
    source: DiscoveryClient,
    disk: Option<DiskCache>,
    state: RwLock<State>,
    /// Held while the server is asked.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    known: Option<Known>,
    /// How many questions were answered or failed; tells those who waited that somebody asked in the meantime.
    asked: u64,
    /// When the last question began.
    last: Option<Instant>,
    /// What the last question failed with.
    failure: Option<Arc<Error>>,
    /// How often everything was forgotten: an answer to an earlier question is not kept.
    forgotten: u64,
}

/// An answer of discovery.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) partial: Arc<PartialDiscovery>,
    /// Which one: later ones have higher numbers.
    pub(super) number: u64,
    origin: Origin,
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The server, since this cache was made.
    Server,
    /// Files of an earlier process, which may lack what was installed since.
    Files,
}

impl CachedDiscovery {
    /// Remembers what this client finds out. Nothing is asked yet.
    pub fn new(client: &Client) -> Self {
        Self::of(DiscoveryClient::new(client))
    }

    /// Remembers on disk too, where kubectl does: the first answer may be one that kubectl got, up to
    /// [`DISK_CACHE_TTL`](super::DISK_CACHE_TTL) old, and whatever the server is asked for is asked for with the ETag of
    /// the last answer.
    ///
    /// The format has no place for versions of which the server said that they are stale: what was read from disk
    /// [is complete](PartialDiscovery::complete) without them, as it is to kubectl.
    ///
    /// What is on disk is not used after [`invalidate`](Self::invalidate), and a [`RestMapper`](super::RestMapper) that
    /// misses something in it asks the server.
    pub fn on_disk(client: &Client, disk: DiskCache) -> Self {
        let client = client.layer(&HttpCacheLayer::new(disk.http()));
        Self::with(DiscoveryClient::new(&client), Some(disk))
    }

    /// As [`new`](Self::new), with a discovery client.
    pub fn of(source: DiscoveryClient) -> Self {
        Self::with(source, None)
    }

    fn with(source: DiscoveryClient, disk: Option<DiskCache>) -> Self {
        let inner = Inner {
            source,
            disk,
            state: RwLock::default(),
            asking: tokio::sync::Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The client that it asks with.
    pub fn source(&self) -> &DiscoveryClient {
        &self.inner.source
    }

    /// What is known, asked for if nothing is.
    ///
    /// # Errors
    ///
    /// As [`DiscoveryClient::discover`].
    pub async fn discover(&self) -> Result<Arc<PartialDiscovery>, Error> {
        Ok(self.known().await?.0.partial)
    }

    /// The resources of one version. A version that could not be read because of trouble that may pass is asked for again,
    /// alone, and one that files do not list makes the server be asked for everything, once.
    ///
    /// # Errors
    ///
    /// As [`DiscoveryClient::discover`]; what the version failed with; [`Error::NoMatch`] if there is no such version.
    pub async fn version(&self, group_version: &GroupVersion) -> Result<DiscoveredVersion, Error> {
        let (mut known, _) = self.known().await?;
        if known.origin == Origin::Files && !known.partial.lists(group_version) {
            (known, _) = self.newer_than(Some(known.number), Duration::ZERO).await?;
        }
        let (discovery, failures) = known.partial.parts();
        if let Some(version) = discovery.version(group_version) {
            return Ok(version.clone());
        }
        let no_match = || Error::NoMatch {
            what: format!("version {group_version}"),
        };
        let failure = failures
            .iter()
            .find(|failure| failure.group_version == *group_version);
        let failure = failure.ok_or_else(no_match)?;
        if !failure.is_transient() {
            let error = failure.error.clone();
            return Err(error.map_or_else(no_match, Error::Shared));
        }
        let _asking = self.inner.asking.lock().await;
        let current = self.read().known.clone();
        // Whoever held the lock before may have brought it.
        let brought = current
            .as_ref()
            .and_then(|known| known.partial.parts().0.version(group_version));
        if let Some(version) = brought {
            return Ok(version.clone());
        }
        let answer = self.inner.source.version(group_version).await.map_err(Arc::new);
        if let Some(current) = current {
            let mut amended = PartialDiscovery::clone(&current.partial);
            amended.amend(group_version, answer.clone());
            let mut state = self.write();
            if let Some(known) = state
                .known
                .as_mut()
                .filter(|known| known.number == current.number)
            {
                known.partial = Arc::new(amended);
            }
        }
        answer.map_err(Error::Shared)
    }

    /// Forgets everything: what is asked from now on is answered by what the server says from now on.
    pub fn invalidate(&self) {
        let mut state = self.write();
        state.known = None;
        state.forgotten += 1;
    }

    /// What is known, and whether it was asked for just now.
    pub(super) async fn known(&self) -> Result<(Known, Freshness), Error> {
        if let Some(known) = self.read().known.clone() {
            return Ok((known, Freshness::Kept));
        }
        self.newer_than(None, Duration::ZERO).await
    }

    /// Asks the server, unless somebody has since answer `seen`. Two questions begin at least `distance` apart; whoever
    /// asks sooner waits.
    ///
    /// Without a `seen` answer, files will do. [`Freshness::New`] is only what this very call asked the server for.
    pub(super) async fn newer_than(
        &self,
        seen: Option<u64>,
        distance: Duration,
    ) -> Result<(Known, Freshness), Error> {
        let before = self.read().asked;
        let _asking = self.inner.asking.lock().await;
        let (asked, last, forgotten) = {
            let state = self.read();
            if let Some(known) = &state.known
                && seen.is_none_or(|seen| known.number > seen)
            {
                return Ok((known.clone(), Freshness::Kept));
            }
            if let Some(failure) = &state.failure
                && state.asked != before
            {
                return Err(Error::Shared(Arc::clone(failure)));
            }
            (state.asked, state.last, state.forgotten)
        };
        if seen.is_none()
            && forgotten == 0
            && let Some(partial) = self.load().await
        {
            let known = Known {
                partial: Arc::new(partial),
                number: asked + 1,
                origin: Origin::Files,
            };
            let mut state = self.write();
            state.asked += 1;
            state.failure = None;
            if state.forgotten == forgotten {
                state.known = Some(known.clone());
            }
            return Ok((known, Freshness::Kept));
        }
        if let Some(last) = last {
            tokio::time::sleep_until(last + distance).await;
        }
        let begun = Instant::now();
        let answer = self.inner.source.discover().await.map(Arc::new).map_err(Arc::new);
        if let (Some(disk), Ok(partial)) = (self.inner.disk.clone(), &answer) {
            let partial = Arc::clone(partial);
            // Only a panic or the end of the runtime is in the way of it, and both are told of elsewhere.
            let _ = tokio::task::spawn_blocking(move || disk.store(&partial)).await;
        }
        let mut state = self.write();
        state.asked += 1;
        state.last = Some(begun);
        state.failure = answer.as_ref().err().cloned();
        let known = Known {
            partial: answer.map_err(Error::Shared)?,
            number: asked + 1,
            origin: Origin::Server,
        };
        if state.forgotten == forgotten {
            state.known = Some(known.clone());
        }
        Ok((known, Freshness::New))
    }

    /// What is on disk, with what is listed there and missing asked for.
    async fn load(&self) -> Option<PartialDiscovery> {
        let disk = self.inner.disk.clone()?;
        let loaded = tokio::task::spawn_blocking(move || disk.load()).await.ok()??;
        let missing = loaded.missing();
        if missing.len() > MAX_MISSING {
            return None;
        }
        if missing.is_empty() {
            return Some(loaded.with(PartialDiscovery::default()));
        }
        let found = self.inner.source.versions(missing).await;
        if let Some(disk) = self.inner.disk.clone() {
            let groups = found.parts().0.groups.clone();
            let store = move || groups.iter().for_each(|group| disk.store_versions(group));
            let _ = tokio::task::spawn_blocking(store).await;
        }
        Some(loaded.with(found))
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.inner.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.inner.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Versions whose files are missing that are asked for one by one: 8. Beyond that, all is asked for at once.
const MAX_MISSING: usize = 8;

/// Whether an answer was there before the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// The server was asked for it just now.
    New,
    /// It was there, in memory or in files, or somebody else asked for it.
    Kept,
}

impl fmt::Debug for CachedDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedDiscovery")
            .field("source", &self.inner.source)
            .finish_non_exhaustive()
    }
}
