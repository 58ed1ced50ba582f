//! Code generation and checks that cargo cannot do.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command tells what it does"
)]

mod clients;
mod codegen;
mod fuzz;
mod kubectl;
mod tidy;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

const USAGE: &str = "usage:
  cargo xtask clients       make the clients ready that the black-box suites run
  cargo xtask codegen ...   write the generated files (says what it needs)
  cargo xtask fuzz [SECONDS [TARGET]]
                            run the fuzz targets, 60 seconds each; 0 for the seeds alone
  cargo xtask kubectl       fetch the versions of kubectl that the black-box suites run
  cargo xtask tidy          check what neither the compiler nor clippy can";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((command, [])) if command == "clients" => clients::prepare(),
        Some((command, rest)) if command == "codegen" => codegen::run(rest),
        Some((command, rest)) if command == "fuzz" => fuzz::run(rest),
        Some((command, [])) if command == "kubectl" => kubectl::fetch(),
        Some((command, [])) if command == "tidy" => tidy::run(),
        _ => bail!("{USAGE}"),
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
