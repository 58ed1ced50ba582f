//! What can go wrong: the error of a reconciliation, and the errors of running a manager.

use std::fmt;
use std::time::Duration;

use kubewright_core::GroupVersionResource;

/// Why a reconciliation failed.
///
/// Any error turns into one with `?`, and is tried again after a delay that grows with each failure of the key. An error
/// that no retry can help is made [`terminal`](Self::terminal). It does not implement `std::error::Error` itself, since it
/// could then not be made from every error; [`source`](Self::source) gives what it holds.
pub struct Error {
    source: Box<dyn std::error::Error + Send + Sync>,
    retry: Retry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    RateLimited,
    Never,
}

impl Error {
    /// An error that is tried again, from a message or an error.
    pub fn new(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            source: source.into(),
            retry: Retry::RateLimited,
        }
    }

    /// An error that no retry can help, such as a nonsensical spec: the key is not tried again before it changes.
    pub fn terminal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            source: source.into(),
            retry: Retry::Never,
        }
    }

    /// Whether it was made [`terminal`](Self::terminal).
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.retry == Retry::Never
    }

    /// The error it holds.
    #[must_use]
    pub fn source(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.source
    }

    /// The error it holds, if it is an `E`.
    #[must_use]
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.source.downcast_ref()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(source: E) -> Self {
        Self::new(source)
    }
}

/// Prints the error and all it is caused by, since a log line is where it ends.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        let mut cause = self.source.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("source", &self.source)
            .field("retry", &self.retry)
            .finish()
    }
}

/// Why a manager could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Caches did not get the state of the server in time.
    #[error("caches did not sync within {timeout:?}: {}", list(failures))]
    CacheSync {
        /// The limit.
        timeout: Duration,
        /// What did not sync, and why as far as that is known.
        failures: Vec<SyncFailure>,
    },
    /// Work did not end in time and was cut off.
    #[error("did not stop within {grace:?}: {}", .unfinished.join(", "))]
    Grace {
        /// The limit.
        grace: Duration,
        /// The names of controllers and runnables that were cut off.
        unfinished: Vec<String>,
    },
    /// A runnable failed.
    #[error("runnable {name} failed")]
    Runnable {
        /// Its name.
        name: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A runnable panicked.
    #[error("runnable {name} panicked")]
    RunnablePanicked {
        /// Its name.
        name: String,
    },
    /// Two controllers or runnables have one name, which logs and metrics could not tell apart.
    #[error("two controllers or runnables are named {name:?}")]
    DuplicateName {
        /// The name.
        name: String,
    },
}

fn list(failures: &[SyncFailure]) -> String {
    let texts: Vec<_> = failures.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// One cache that has not synced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncFailure {
    /// The controller that needs it.
    pub controller: String,
    /// What it follows.
    pub resource: GroupVersionResource,
    /// The request that fails: `list` or `watch`; empty while none has failed.
    pub verb: &'static str,
    /// What the server or the network said; empty while no request has failed.
    pub reason: String,
}

impl fmt::Display for SyncFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            controller,
            resource,
            verb,
            reason,
        } = self;
        if verb.is_empty() {
            return write!(f, "controller {controller}: {resource}: no answer yet");
        }
        write!(f, "controller {controller}: cannot {verb} {resource}: {reason}")
    }
}
