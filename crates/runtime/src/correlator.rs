//! Which occurrences become events, and which only count: series and the spam filter, without clock or network.
//!
//! As client-go `tools/events/event_broadcaster.go` does for `events.k8s.io/v1`: the first occurrence is an event, the
//! second makes it a series, further ones count and are written again at intervals, and a series ends when nothing happened
//! for a while. The spam filter is that of the older recorder (`tools/record/events_cache.go`): a bucket for each object.

use std::time::{Duration, Instant};

use hashbrown::HashMap;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

/// Whether an event tells of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// All is well.
    Normal,
    /// It is not.
    Warning,
}

impl EventKind {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Most series, and most objects of the spam filter, that are remembered. Beyond that the one that was quiet longest is
/// forgotten.
pub const MAX_SERIES: usize = 4096;

/// A series ends when nothing happened for this long.
const FINISH_AFTER: Duration = Duration::from_secs(6 * 60);
/// A series that goes on is written again this often.
const REFRESH_AFTER: Duration = Duration::from_secs(30 * 60);
/// Events about one object that may come at once, and the time after which one more may.
const SPAM_BURST: f64 = 25.0;
const SPAM_REFILL: Duration = Duration::from_secs(300);

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Occurrence {
    pub(crate) controller: String,
    pub(crate) kind: EventKind,
    pub(crate) reason: String,
    pub(crate) action: String,
    pub(crate) note: String,
    pub(crate) regarding: ObjectReference,
    pub(crate) related: Option<ObjectReference>,
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Create {
        name: String,
        at: Timestamp,
        occurrence: Occurrence,
    },
    Series {
        name: String,
        occurrence: Occurrence,
        count: i32,
        last: Timestamp,
        first: Timestamp,
    },
}

/// What makes two occurrences the same: everything but the note.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SeriesKey {
    controller: String,
    kind: EventKind,
    reason: String,
    action: String,
    regarding: Subject,
    related: Option<Subject>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    kind: String,
    namespace: String,
    name: String,
    uid: String,
    field: String,
}

impl From<&ObjectReference> for Subject {
    fn from(reference: &ObjectReference) -> Self {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        Self {
            kind: text(&reference.kind),
            namespace: text(&reference.namespace),
            name: text(&reference.name),
            uid: text(&reference.uid),
            field: text(&reference.field_path),
        }
    }
}

#[derive(Debug)]
struct Series {
    name: String,
    occurrence: Occurrence,
    first: Timestamp,
    last: Timestamp,
    count: i32,
    /// Occurrences that are not written yet.
    unwritten: bool,
    seen_at: Instant,
    written_at: Instant,
}

impl Series {
    fn write(&mut self, now: Instant) -> Effect {
        self.unwritten = false;
        self.written_at = now;
        Effect::Series {
            name: self.name.clone(),
            occurrence: self.occurrence.clone(),
            count: self.count,
            last: self.last,
            first: self.first,
        }
    }
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// The memory of a recorder.
#[derive(Debug, Default)]
pub(crate) struct Correlator {
    series: HashMap<SeriesKey, Series>,
    buckets: HashMap<(String, Subject), Bucket>,
}

impl Correlator {
    /// Takes an occurrence in. `None` when it only counts, or is dropped as spam.
    pub(crate) fn observe(
        &mut self,
        occurrence: Occurrence,
        now: Instant,
        clock: Timestamp,
    ) -> Option<Effect> {
        let regarding = Subject::from(&occurrence.regarding);
        let key = SeriesKey {
            controller: occurrence.controller.clone(),
            kind: occurrence.kind,
            reason: occurrence.reason.clone(),
            action: occurrence.action.clone(),
            regarding: regarding.clone(),
            related: occurrence.related.as_ref().map(Subject::from),
        };
        if let Some(series) = self.series.get_mut(&key) {
            series.count = series.count.saturating_add(1);
            series.last = clock;
            series.seen_at = now;
            series.unwritten = true;
            return (series.count == 2).then(|| series.write(now));
        }
        if !self.take(occurrence.controller.clone(), regarding, now) {
            return None;
        }
        if self.series.len() >= MAX_SERIES {
            let quietest = self.series.iter().min_by_key(|(_, series)| series.seen_at);
            if let Some(key) = quietest.map(|(key, _)| key.clone()) {
                self.series.remove(&key);
            }
        }
        // As upstream names them: the object and the time in nanoseconds, in hexadecimal digits.
        let name = format!("{}.{:016x}", key.regarding.name, clock.as_nanosecond());
        self.series.insert(
            key,
            Series {
                name: name.clone(),
                occurrence: occurrence.clone(),
                first: clock,
                last: clock,
                count: 1,
                unwritten: false,
                seen_at: now,
                written_at: now,
            },
        );
        Some(Effect::Create {
            name,
            at: clock,
            occurrence,
        })
    }

    /// Ends series that are over and writes those that go on.
    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.series.retain(|_, series| {
            let is_over = now.saturating_duration_since(series.seen_at) >= FINISH_AFTER;
            let is_due = now.saturating_duration_since(series.written_at) >= REFRESH_AFTER;
            if series.unwritten && (is_over || is_due) {
                effects.push(series.write(now));
            }
            !is_over
        });
        let full = SPAM_REFILL.mul_f64(SPAM_BURST);
        self.buckets
            .retain(|_, bucket| now.saturating_duration_since(bucket.at) < full);
        effects
    }

    fn take(&mut self, controller: String, regarding: Subject, now: Instant) -> bool {
        let key = (controller, regarding);
        if self.buckets.len() >= MAX_SERIES && !self.buckets.contains_key(&key) {
            let quietest = self.buckets.iter().min_by_key(|(_, bucket)| bucket.at);
            if let Some(key) = quietest.map(|(key, _)| key.clone()) {
                self.buckets.remove(&key);
            }
        }
        let bucket = self.buckets.entry(key).or_insert(Bucket {
            tokens: SPAM_BURST,
            at: now,
        });
        let refilled = now.saturating_duration_since(bucket.at).as_secs_f64() / SPAM_REFILL.as_secs_f64();
        bucket.tokens = (bucket.tokens + refilled).min(SPAM_BURST);
        bucket.at = now;
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(name: &str, reason: &str) -> Occurrence {
        Occurrence {
            controller: "c".into(),
            kind: EventKind::Normal,
            reason: reason.into(),
            action: "Act".into(),
            note: "n".into(),
            regarding: ObjectReference {
                kind: Some("Pod".into()),
                name: Some(name.into()),
                ..ObjectReference::default()
            },
            related: None,
        }
    }

    #[test]
    fn repetitions_become_a_series() {
        let (start, clock) = (Instant::now(), Timestamp::UNIX_EPOCH);
        let mut correlator = Correlator::default();
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = correlator.observe(occurrence("a", "R"), at(0), clock);
        assert!(matches!(first, Some(Effect::Create { .. })), "{first:?}");
        let second = correlator.observe(occurrence("a", "R"), at(1), clock);
        assert!(
            matches!(second, Some(Effect::Series { count: 2, .. })),
            "{second:?}"
        );
        assert_eq!(correlator.observe(occurrence("a", "R"), at(2), clock), None);
        assert_eq!(correlator.tick(at(300)), []);
        let ended = correlator.tick(at(2 + 360));
        assert!(
            matches!(ended[..], [Effect::Series { count: 3, .. }]),
            "{ended:?}"
        );
        let anew = correlator.observe(occurrence("a", "R"), at(400), clock);
        assert!(matches!(anew, Some(Effect::Create { .. })), "{anew:?}");
    }

    #[test]
    fn a_long_series_is_written_at_intervals() {
        let (start, clock) = (Instant::now(), Timestamp::UNIX_EPOCH);
        let mut correlator = Correlator::default();
        let mut written = Vec::new();
        for minute in 0..62 {
            let now = start + Duration::from_secs(60 * minute);
            written.extend(
                correlator
                    .observe(occurrence("a", "R"), now, clock)
                    .map(|_| minute),
            );
            written.extend(correlator.tick(now).iter().map(|_| minute));
        }
        assert_eq!(written, [0, 1, 31, 61]);
    }

    #[test]
    fn one_object_cannot_flood_the_server() {
        let (start, clock) = (Instant::now(), Timestamp::UNIX_EPOCH);
        let mut correlator = Correlator::default();
        let mut created = |name: &str, from: usize, now| {
            (from..from + 100)
                .filter(|i| {
                    correlator
                        .observe(occurrence(name, &format!("R{i}")), now, clock)
                        .is_some()
                })
                .count()
        };
        assert_eq!(created("a", 0, start), 25);
        assert_eq!(created("b", 0, start), 25);
        assert_eq!(created("a", 200, start + Duration::from_secs(601)), 2);
    }

    #[test]
    fn memory_is_bounded() {
        let (start, clock) = (Instant::now(), Timestamp::UNIX_EPOCH);
        let mut correlator = Correlator::default();
        for i in 0..MAX_SERIES + 10 {
            correlator.observe(occurrence(&format!("o{i}"), "R"), start, clock);
        }
        assert_eq!(
            (correlator.series.len(), correlator.buckets.len()),
            (MAX_SERIES, MAX_SERIES)
        );
    }
}
