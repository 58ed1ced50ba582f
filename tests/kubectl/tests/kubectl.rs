//! Real kubectl, of several versions, against a server of its own for each scenario.
//!
//! The binaries are fetched by `cargo xtask kubectl`; `KUBEWRIGHT_KUBECTL` names another folder with `<minor>/kubectl` in it. A version
//! that is not there is shown as skipped.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test tells what it skips"
)]

mod harness;
mod scenarios;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::harness::{Kubectl, binary, runtime};

/// The minor versions of kubectl that are run.
const VERSIONS: [&str; 2] = ["1.37", "1.33"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = runtime();
    let mut trials = Vec::new();
    for version in VERSIONS {
        let binary = binary(version);
        for (name, behind, scenario) in scenarios::ALL {
            let (binary, handle) = (binary.clone(), runtime.handle().clone());
            let is_missing = binary.is_none();
            let trial = Trial::test(format!("{version}::{name}"), move || {
                let Some(binary) = binary else { return Ok(()) };
                let kubectl = Kubectl::start(binary, &handle, *behind).map_err(Failed::from)?;
                scenario(&kubectl).map_err(|error| Failed::from(format!("{error:#}")))
            });
            trials.push(trial.with_ignored_flag(is_missing));
        }
        if binary.is_none() {
            eprintln!("skipped: kubectl {version} is not there; `cargo xtask kubectl` fetches it");
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
