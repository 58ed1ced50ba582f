//! The kubewright command: an embedded Kubernetes control plane, and the tools around it.

mod commands;
#[cfg(feature = "descriptions")]
mod descriptions;
mod failure;
mod logging;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The Kubernetes operator stack: an embedded control plane, and the tools around it.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, arg_required_else_help = true)]
struct Arguments {
    /// What is logged to stderr, in the syntax of tracing's EnvFilter.
    #[arg(
        long,
        global = true,
        env = "KUBEWRIGHT_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    log: String,

    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    keep_pages_small();
    let arguments = Arguments::parse();
    let run = || -> anyhow::Result<ExitCode> {
        logging::start(&arguments.log)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .event_interval(TASKS_BETWEEN_EVENTS)
            .enable_all()
            .build()?;
        runtime.block_on(arguments.command.run())
    };
    run().unwrap_or_else(|error| failure::report(&error))
}

/// So many tasks run before sockets are looked at. While the controllers begin there are always tasks that can run, of up to a tenth of a
/// millisecond each, and a client that comes then needs three rounds for its first answer; tokio's own 61 let it wait for all of them.
const TASKS_BETWEEN_EVENTS: u32 = 8;

/// The allocator asks for huge pages, of which an idle server touches a little each: half its memory would be unused.
fn keep_pages_small() {
    // A kernel that does not know the call leaves everything as it was.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
