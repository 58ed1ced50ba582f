//! What informers have done and what they have, for metrics and for people.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kubewright_core::{ApiResource, ResourceVersion};
use parking_lot::Mutex;

use crate::informer::Health;
use crate::listener_queue::Lag;
use crate::store::Usage;

/// An informer at one moment. Counts are since it was made.
///
/// Its [`Display`](fmt::Display) form is a report of a few lines, for a debug page or a log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// What is listed and watched.
    pub resource: ApiResource,
    /// Whether the store has had the whole state of the server at one time.
    pub synced: bool,
    /// The version up to which the store has seen every change.
    pub version: ResourceVersion,
    /// What the store has in memory.
    pub usage: Usage,
    /// Lists that were begun, by pages or streamed by a watch: all but the first are relists.
    pub lists: u64,
    /// Watches that were begun, those that stream a list among them.
    pub watches: u64,
    /// Objects that came, by lists and watches.
    pub received: u64,
    /// Those of them that were in the store in the same version already, and cost no more than a look.
    pub unchanged: u64,
    /// How long it is since anything came from the server; `None` before anything did. A sound watch has a bookmark
    /// each minute.
    pub silence: Option<Duration>,
    /// What was decoded for handlers and readers, metadata and whole objects.
    pub decoded: u64,
    /// What that took, over all threads.
    pub decode_time: Duration,
    /// Failures.
    pub health: Health,
    /// How far each handler is behind, in the order in which they were added.
    pub handlers: Vec<Lag>,
}

/// What is counted while an informer works.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) lists: AtomicU64,
    pub(crate) watches: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) unchanged: AtomicU64,
    heard: Mutex<Option<Instant>>,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Something came from the server.
    pub(crate) fn heard(&self, now: Instant) {
        *self.heard.lock() = Some(now);
    }

    pub(crate) fn silence(&self, now: Instant) -> Option<Duration> {
        let heard = *self.heard.lock();
        heard.map(|heard| now.saturating_duration_since(heard))
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage {
            objects,
            states,
            bytes,
            text_bytes,
            decoded_bytes,
            dictionary_bytes,
        } = self.usage;
        let resource = self.resource.group_version_resource();
        let synced = if self.synced { "synced" } else { "not synced" };
        writeln!(f, "{resource}: {synced}, version {:?}", self.version.as_str())?;
        writeln!(f, "  {objects} objects in {}, {states} states", Bytes(bytes))?;
        write!(
            f,
            "  text {}, decoded {}",
            Bytes(text_bytes),
            Bytes(decoded_bytes)
        )?;
        match dictionary_bytes {
            0 => writeln!(f, ", not compressed")?,
            bytes => writeln!(f, ", compressed with a dictionary of {}", Bytes(bytes))?,
        }
        write!(
            f,
            "  {} lists, {} watches, {} objects received",
            self.lists, self.watches, self.received
        )?;
        writeln!(f, ", {} of them unchanged", self.unchanged)?;
        writeln!(f, "  {} decoded in {:?}", self.decoded, self.decode_time)?;
        match self.silence {
            None => writeln!(f, "  nothing heard of the server yet")?,
            Some(silence) => writeln!(f, "  last heard of the server {silence:.1?} ago")?,
        }
        if let Some(failure) = &self.health.failure {
            writeln!(f, "  {failure}")?;
        }
        if self.health.malformed > 0 || self.health.rewound > 0 {
            let Health {
                malformed, rewound, ..
            } = self.health;
            writeln!(
                f,
                "  {malformed} objects skipped, history rewound {rewound} times"
            )?;
        }
        for (nth, lag) in self.handlers.iter().enumerate() {
            write!(f, "  handler {nth}: {} calls to come", lag.pending)?;
            if let Some(oldest) = lag.oldest {
                write!(f, ", the oldest for {oldest:.1?}")?;
            }
            writeln!(f, ", {} resynced; at most {} so far", lag.resynced, lag.longest)?;
        }
        Ok(())
    }
}

/// A number of bytes, for people.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
        let bytes = self.0 as f64;
        match self.0 {
            0..10_000 => write!(f, "{} B", self.0),
            10_000..10_000_000 => write!(f, "{:.1} kB", bytes / 1e3),
            _ => write!(f, "{:.1} MB", bytes / 1e6),
        }
    }
}
