//! The commands, a file each.

mod admission;
mod demo;
mod kubeconfigs;
mod service_accounts;
mod tokens;
mod up;
mod users;

use std::process::ExitCode;
use std::sync::Arc;

use kubewright_apiserver::Descriptions;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show an operator reconcile against an embedded control plane.
    Demo(demo::Demo),
    /// Run a control plane until interrupted.
    Up(Box<up::Up>),
}

impl Command {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Demo(demo) => Box::pin(demo.run()).await,
            Self::Up(up) => up.run().await,
        }
    }
}

/// Upstream's descriptions of its kinds, where this binary was built with them.
fn descriptions() -> Option<Arc<dyn Descriptions>> {
    #[cfg(feature = "descriptions")]
    return Some(Arc::new(crate::descriptions::UpstreamDescriptions::default()));
    #[cfg(not(feature = "descriptions"))]
    return None;
}
