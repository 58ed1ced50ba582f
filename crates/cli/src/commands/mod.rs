//! The commands, a file each.

mod demo;
mod up;

use std::process::ExitCode;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show an operator reconcile against an embedded control plane.
    Demo(demo::Demo),
    /// Run a control plane until interrupted.
    Up(up::Up),
}

impl Command {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Demo(demo) => Box::pin(demo.run()).await,
            Self::Up(up) => up.run().await,
        }
    }
}
