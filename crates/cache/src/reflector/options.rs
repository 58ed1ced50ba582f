//! How a reflector lists and watches.

use std::time::Duration;

/// How a reflector lists and watches. Every value is valid; times of more than a year count as a year.
#[derive(Debug, Clone)]
pub struct ReflectorOptions {
    /// Objects in one page of a list; 0 asks for all at once. Default: 500.
    pub page_size: u64,
    /// How fresh the first list must be. Default: [`FirstList::Consistent`].
    pub first_list: FirstList,
    /// Whether the initial state is taken from a watch (KEP-3157). Default: [`StreamingLists::Try`].
    pub streaming_lists: StreamingLists,
    /// How long a streaming list may go without another object of the initial state before its final bookmark; then the
    /// reflector lists instead, and keeps to it. Default: 10 s.
    pub bookmark_deadline: Duration,
    /// The shortest time for which a watch is asked for; each asks for a random time between this and twice this.
    /// Default: 5 min.
    pub min_watch: Duration,
    /// How long a page, or the answer to a watch, may take. Default: 60 s.
    pub request_timeout: Duration,
    /// How long after the end it asked for a watch is given up as dead. Default: 30 s.
    pub watch_grace: Duration,
    /// The first wait after a failure. Default: 800 ms.
    pub backoff_base: Duration,
    /// The longest wait before jitter, which can double it. Default: 30 s.
    pub backoff_max: Duration,
    /// After so long without a failure waits start small again. Default: 2 min.
    pub backoff_reset: Duration,
}

impl Default for ReflectorOptions {
    fn default() -> Self {
        Self {
            page_size: 500,
            first_list: FirstList::default(),
            streaming_lists: StreamingLists::default(),
            bookmark_deadline: Duration::from_secs(10),
            min_watch: Duration::from_secs(300),
            request_timeout: Duration::from_secs(60),
            watch_grace: Duration::from_secs(30),
            backoff_base: Duration::from_millis(800),
            backoff_max: Duration::from_secs(30),
            backoff_reset: Duration::from_secs(120),
        }
    }
}

impl ReflectorOptions {
    /// The same, with times that can be added to the present one.
    pub(super) fn bounded(self) -> Self {
        Self {
            bookmark_deadline: self.bookmark_deadline.min(LONGEST),
            min_watch: self.min_watch.min(LONGEST),
            request_timeout: self.request_timeout.min(LONGEST),
            watch_grace: self.watch_grace.min(LONGEST),
            backoff_base: self.backoff_base.min(LONGEST),
            backoff_max: self.backoff_max.min(LONGEST),
            backoff_reset: self.backoff_reset.min(LONGEST),
            ..self
        }
    }
}

/// Longest time that an option asks for: a year. No clock of any system ends before that.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// How fresh the first list must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstList {
    /// It has everything that was written before it. A controller that restarts never goes back in time.
    #[default]
    Consistent,
    /// Whatever the server has at hand (version "0"), as client-go does: cheaper for old servers, and possibly older
    /// than what was seen before a restart.
    Any,
}

/// Whether the initial state is taken from a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamingLists {
    /// Yes, falling back to lists where the server cannot.
    #[default]
    Try,
    /// No.
    Never,
}
