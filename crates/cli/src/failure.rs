//! How a command fails: what, why, and what to do, on stderr.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// An error with advice. Its source is the reason.
#[derive(Debug)]
pub(crate) struct Advised {
    what: String,
    hint: String,
    source: anyhow::Error,
}

impl Advised {
    pub(crate) fn new(
        what: impl Into<String>,
        hint: impl Into<String>,
        source: impl Into<anyhow::Error>,
    ) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
            source: source.into(),
        }
    }
}

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Advised {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

/// Prints the chain of reasons on one line each, and the hint if there is one.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let mut stderr = std::io::stderr().lock();
    // With stderr gone there is nobody to tell.
    let _ = writeln!(stderr, "error: {error}");
    for reason in error.chain().skip(1) {
        let _ = writeln!(stderr, "  because: {reason}");
    }
    for hint in error.chain().filter_map(hint) {
        let _ = writeln!(stderr, "hint: {hint}");
    }
    ExitCode::FAILURE
}

/// What an error says can be done about it.
fn hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(advised) = error.downcast_ref::<Advised>() {
        return Some(advised.hint.clone());
    }
    if let Some(error) = error.downcast_ref::<kubewright_client::ConfigError>() {
        return error.hint();
    }
    error.downcast_ref::<kubewright_client::Error>()?.hint()
}
