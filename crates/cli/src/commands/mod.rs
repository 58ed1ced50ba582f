//! The commands, a file each.

mod up;

use std::process::ExitCode;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a control plane until interrupted.
    Up(up::Up),
}

impl Command {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Up(up) => up.run().await,
        }
    }
}
