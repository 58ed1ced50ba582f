//! What informers have done and what they have, for metrics and for people.

use std::fmt::{self, Write as _};
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
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
    /// What it has counted.
    pub counts: Counts,
    /// How long it is since anything came from the server; `None` before anything did. A sound watch has a bookmark
    /// each minute.
    pub silence: Option<Duration>,
    /// Failures.
    pub health: Health,
    /// How far each handler is behind, in the order in which they were added.
    pub handlers: Vec<Lag>,
}

/// What an informer has counted, or several of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Lists that were begun, by pages or streamed by a watch: all but the first of each range are relists.
    pub lists: u64,
    /// Watches that were begun, those that stream a list among them.
    pub watches: u64,
    /// Objects that came, by lists and watches.
    pub received: u64,
    /// Those of them that were in the store in the same version already, and cost no more than a look.
    pub unchanged: u64,
    /// What was decoded for handlers and readers: metadata, whole objects, and what types name of them.
    pub decoded: u64,
    /// What that took, over all threads.
    pub decode_time: Duration,
    /// How often an object could not be read: a new one is passed over, another one stays as it was.
    pub malformed: u64,
    /// How often the server's history was found rewound.
    pub rewound: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let Self {
            lists,
            watches,
            received,
            unchanged,
            decoded,
            decode_time,
            malformed,
            rewound,
        } = other;
        self.lists += lists;
        self.watches += watches;
        self.received += received;
        self.unchanged += unchanged;
        self.decoded += decoded;
        self.decode_time += decode_time;
        self.malformed += malformed;
        self.rewound += rewound;
    }
}

/// What [`Informers`](crate::Informers) have counted, by resource, those among them that have ended. A handle: clones are of the same
/// numbers, which never fall.
///
/// ```
/// # fn example(client: kubewright_client::Client) {
/// use kubewright_cache::{InformerOptions, Informers, Totals};
///
/// let totals = Totals::default();
/// let informers = Informers::new(client, InformerOptions::default()).counted_in(&totals);
/// // Later, whatever became of the informers:
/// for (resource, counts) in totals.read() {
///     println!("{}: {} objects received", resource.plural, counts.received);
/// }
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Totals(Arc<Mutex<HashMap<ApiResource, Total>>>);

#[derive(Debug, Default)]
struct Total {
    /// Something may count in these yet: an informer, or somebody who has an object of one that has ended.
    running: Vec<Arc<Counters>>,
    /// The sum of those in which nothing does.
    ended: Counts,
}

impl Totals {
    /// The numbers at present, in no order.
    #[must_use]
    pub fn read(&self) -> Vec<(ApiResource, Counts)> {
        let mut totals = self.0.lock();
        let read = |(resource, total): (&ApiResource, &mut Total)| (resource.clone(), total.read());
        totals.iter_mut().map(read).collect()
    }

    /// Counts in what these count from now on, and what they have counted.
    pub(crate) fn add(&self, resource: &ApiResource, counters: &Arc<Counters>) {
        let mut totals = self.0.lock();
        let total = totals.entry_ref(resource).or_default();
        // Nothing piles up where nobody reads.
        total.read();
        total.running.push(Arc::clone(counters));
    }
}

#[cfg(test)]
impl Totals {
    /// How many may count yet.
    pub(crate) fn running(&self) -> usize {
        let totals = self.0.lock();
        totals.values().map(|total| total.running.len()).sum()
    }
}

impl Total {
    fn read(&mut self) -> Counts {
        let mut sum = Counts::default();
        self.running.retain_mut(|counters| {
            // Asked first: what nobody else has does not change any more.
            let is_over = Arc::get_mut(counters).is_some();
            let to = if is_over { &mut self.ended } else { &mut sum };
            *to += counters.read();
            !is_over
        });
        sum += self.ended;
        sum
    }
}

/// What is counted while an informer works, and while somebody has objects of it.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) lists: AtomicU64,
    pub(crate) watches: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) unchanged: AtomicU64,
    pub(crate) malformed: AtomicU64,
    pub(crate) rewound: AtomicU64,
    decoded: AtomicU64,
    decode_nanos: AtomicU64,
    heard: Mutex<Option<Instant>>,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Decodes something, and counts it and its time.
    pub(crate) fn decode<T>(&self, decode: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let decoded = decode();
        let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Self::count(&self.decoded);
        self.decode_nanos.fetch_add(nanos, Ordering::Relaxed);
        decoded
    }

    pub(crate) fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            lists: read(&self.lists),
            watches: read(&self.watches),
            received: read(&self.received),
            unchanged: read(&self.unchanged),
            decoded: read(&self.decoded),
            decode_time: Duration::from_nanos(read(&self.decode_nanos)),
            malformed: read(&self.malformed),
            rewound: read(&self.rewound),
        }
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
        let mut report = String::new();
        self.report(&mut report)?;
        f.write_str(report.trim_end())
    }
}

impl Stats {
    fn report(&self, f: &mut String) -> fmt::Result {
        let Usage {
            objects,
            states,
            bytes,
            text_bytes,
            decoded_bytes,
            dictionary_bytes,
        } = self.usage;
        let Counts {
            lists,
            watches,
            received,
            unchanged,
            decoded,
            decode_time,
            malformed,
            rewound,
        } = self.counts;
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
            "  {lists} lists, {watches} watches, {received} objects received"
        )?;
        writeln!(f, ", {unchanged} of them unchanged")?;
        writeln!(f, "  {decoded} decoded in {decode_time:?}")?;
        match self.silence {
            None => writeln!(f, "  nothing heard of the server yet")?,
            Some(silence) => writeln!(f, "  last heard of the server {silence:.1?} ago")?,
        }
        if let Some(failure) = &self.health.failure {
            writeln!(f, "  {failure}")?;
        }
        if malformed > 0 || rewound > 0 {
            writeln!(
                f,
                "  {malformed} objects unreadable, history rewound {rewound} times"
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
