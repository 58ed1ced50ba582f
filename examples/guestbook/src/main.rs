//! The command: runs the operator, or prints what installs it.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use kubewright::client::ConfigError;
use kubewright::manifests::{CrdOptions, Options, crds, install};

/// Serves guestbooks.
#[derive(Debug, Parser)]
#[command(version)]
enum Command {
    /// Run the operator until interrupted, against the cluster of the kubeconfig or of the pod it runs in.
    Run,
    /// Print the custom resource definition.
    Crd,
    /// Print the definition, the account that the operator runs as and its rights.
    Manifests {
        /// Write them to this folder instead, one file each.
        #[arg(long, value_name = "FOLDER")]
        output: Option<PathBuf>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    match Command::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&*error);
            ExitCode::FAILURE
        }
    }
}

impl Command {
    async fn run(self) -> Result<(), Box<dyn Error>> {
        let operator = guestbook::operator();
        match self {
            Self::Run => {
                tracing_subscriber::fmt()
                    .with_writer(io::stderr)
                    .with_ansi(io::stderr().is_terminal())
                    .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
                    .init();
                let client = kubewright::default_client()?;
                operator.run(&client, kubewright::shutdown_signal()).await?;
            }
            Self::Crd => print(&crds(&operator, &CrdOptions::default())?.to_stream())?,
            Self::Manifests { output } => {
                let tree = install(&operator, &Options::default())?;
                match output {
                    None => print(&tree.to_stream())?,
                    Some(folder) => drop(tree.write_to(&folder)?),
                }
            }
        }
        Ok(())
    }
}

fn print(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// Prints what, why and what to do.
fn report(error: &(dyn Error + 'static)) {
    let mut stderr = io::stderr().lock();
    // With stderr gone there is nobody to tell.
    let _ = writeln!(stderr, "error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = writeln!(stderr, "  because: {error}");
        cause = error.source();
    }
    if let Some(hint) = error.downcast_ref().and_then(ConfigError::hint) {
        let _ = writeln!(stderr, "hint: {hint}");
    }
}
