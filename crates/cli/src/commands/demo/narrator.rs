//! What the demo prints: plain lines, with colour on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Prints lines, each with the time since the present step began. Clones print to the same place.
#[derive(Clone, Debug)]
pub(super) struct Narrator {
    shared: Arc<Mutex<Times>>,
    is_coloured: bool,
}

#[derive(Debug)]
struct Times {
    /// When the present step began.
    began: Instant,
    /// When the last line was printed.
    printed: Instant,
}

impl Narrator {
    pub(super) fn new() -> Self {
        let is_coloured =
            std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let now = Instant::now();
        Self {
            shared: Arc::new(Mutex::new(Times {
                began: now,
                printed: now,
            })),
            is_coloured,
        }
    }

    /// Begins a step.
    pub(super) fn begin(&self, number: usize, title: &str) {
        self.times().began = Instant::now();
        self.line(&format!("\n{}", self.paint(BOLD, &format!("{number}. {title}"))));
    }

    /// Tells of something that happened within a step.
    pub(super) fn happened(&self, what: &str) {
        let since = self.times().began;
        let time = self.paint(DIM, &format!("{:>9}", milliseconds(since.elapsed())));
        self.line(&format!("{time}  {what}"));
    }

    /// Marks a text as good or bad news; the words say it too.
    pub(super) fn mark(&self, is_good: bool, text: &str) -> String {
        self.paint(if is_good { GREEN } else { YELLOW }, text)
    }

    /// Waits until nothing was told for a moment: what a step caused reaches the watches a little after its end.
    pub(super) async fn quiet(&self) {
        for _ in 0..MAX_MOMENTS {
            tokio::time::sleep(MOMENT).await;
            if self.times().printed.elapsed() >= MOMENT {
                return;
            }
        }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn line(&self, text: &str) {
        self.times().printed = Instant::now();
        // A reader that went away is no reason to stop.
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.is_coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A duration as people read it.
pub(super) fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

const MOMENT: Duration = Duration::from_millis(15);
const MAX_MOMENTS: usize = 20;
const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const YELLOW: &str = "33";
