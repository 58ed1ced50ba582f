//! When to compact.

use std::time::{Duration, Instant};

use super::Revision;

/// How old history gets at least, before it is discarded on purpose. Upstream's `DefaultCompactInterval`
/// (`storage/storagebackend/config.go`): 5 minutes.
pub const COMPACT_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Decides up to where to compact: to where the store was an interval ago, once an interval. So each revision can be read for one to
/// two intervals, unless there are more changes than [`Limits`](super::Limits) allows to keep.
#[derive(Clone, Debug)]
pub struct Compactor {
    interval: Duration,
    marked: Option<(Instant, Revision)>,
}

impl Compactor {
    /// A compactor with this interval; [`COMPACT_INTERVAL`] is upstream's.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self {
            interval,
            marked: None,
        }
    }

    /// Takes the time and the present revision of the store, and gives what to compact before, when it is time. May be called as often
    /// as one likes.
    pub fn step(&mut self, now: Instant, revision: Revision) -> Option<Revision> {
        match self.marked {
            Some((then, _)) if now.saturating_duration_since(then) < self.interval => None,
            marked => {
                self.marked = Some((now, revision));
                marked.map(|(_, before)| before)
            }
        }
    }
}

impl Default for Compactor {
    fn default() -> Self {
        Self::new(COMPACT_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacts_to_where_the_store_was_an_interval_ago() {
        let start = Instant::now();
        let mut compactor = Compactor::default();
        let mut check = |seconds: u64, revision: u64, expect: Option<u64>| {
            let found = compactor.step(start + Duration::from_secs(seconds), Revision(revision));
            assert_eq!(found, expect.map(Revision), "after {seconds} s");
        };
        check(0, 5, None);
        check(299, 9, None);
        check(300, 12, Some(5));
        check(301, 13, None);
        check(1000, 20, Some(12));
        check(1300, 20, Some(20));
    }
}
