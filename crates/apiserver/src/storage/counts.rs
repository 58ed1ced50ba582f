//! How many objects come after the pages that were given out, so that the next page need not walk over them to count them.
//!
//! A list of n objects in pages would otherwise take steps in the square of n. What is remembered is a fact of one revision, so it
//! never becomes wrong; what is forgotten is counted again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::{KeyPrefix, Revision};

/// How many pages are remembered; the oldest is forgotten first. A list in progress needs one.
const MAX_PAGES: usize = 1024;

/// The pages that were given out last.
#[derive(Debug, Default)]
pub(super) struct PageCounts {
    counts: HashMap<Place, usize>,
    oldest: VecDeque<Place>,
}

/// Where a page begins, in which range and at which state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    revision: Revision,
    prefix: Arc<str>,
    start: Arc<str>,
}

impl PageCounts {
    /// Notes that at `revision` the range holds `count` objects from `start` on.
    pub(super) fn note(&mut self, revision: Revision, prefix: &KeyPrefix, start: &str, count: usize) {
        let place = Place::new(revision, prefix, start);
        if self.counts.insert(place.clone(), count).is_some() {
            return;
        }
        self.oldest.push_back(place);
        if self.oldest.len() > MAX_PAGES
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.counts.remove(&oldest);
        }
    }

    /// How many objects the range holds from `start` on at `revision`, if that was noted.
    pub(super) fn find(&self, revision: Revision, prefix: &KeyPrefix, start: &str) -> Option<usize> {
        self.counts.get(&Place::new(revision, prefix, start)).copied()
    }
}

impl Place {
    fn new(revision: Revision, prefix: &KeyPrefix, start: &str) -> Self {
        Self {
            revision,
            prefix: Arc::clone(prefix.shared()),
            start: start.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_pages_are_remembered() {
        let mut counts = PageCounts::default();
        let pods = KeyPrefix::resource("", "pods");
        for i in 0..=MAX_PAGES {
            counts.note(Revision(7), &pods, &format!("core/pods/a/{i}"), i);
            counts.note(Revision(7), &pods, &format!("core/pods/a/{i}"), i);
        }
        let check = |revision: u64, prefix: &KeyPrefix, start: &str, expect: Option<usize>| {
            assert_eq!(
                counts.find(Revision(revision), prefix, start),
                expect,
                "{revision} {prefix} {start}"
            );
        };
        check(7, &pods, "core/pods/a/0", None);
        check(7, &pods, "core/pods/a/1", Some(1));
        check(7, &pods, &format!("core/pods/a/{MAX_PAGES}"), Some(MAX_PAGES));
        check(8, &pods, "core/pods/a/1", None);
        check(7, &KeyPrefix::namespace("", "pods", "a"), "core/pods/a/1", None);
        assert_eq!(counts.counts.len(), MAX_PAGES);
        assert_eq!(counts.oldest.len(), MAX_PAGES);
    }
}
