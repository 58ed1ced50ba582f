//! Logs go to stderr; stdout is for data.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::failure::Advised;

/// Installs the subscriber of the process.
pub(crate) fn start(filter: &str) -> anyhow::Result<()> {
    let filter: EnvFilter = filter.parse().map_err(|error| {
        Advised::new(
            format!("the log filter {filter:?} cannot be read"),
            "use a level such as `info`, or directives such as `kubewright_apiserver=debug,warn`",
            anyhow::Error::new::<tracing_subscriber::filter::ParseError>(error),
        )
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    Ok(())
}
