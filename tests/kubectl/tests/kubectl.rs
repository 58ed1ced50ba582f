//! Real kubectl, of several versions, against a real server.
//!
//! The binaries are fetched by `cargo xtask kubectl`; `KUBEWRIGHT_KUBECTL` names another folder with `<minor>/kubectl` in it. A version
//! that is not there is shown as skipped. A scenario has a server of its own where it looks at the whole cluster; the others share one for
//! each version and have a namespace each.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test tells what it skips"
)]

mod harness;
mod scenarios;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use crate::harness::{Behind, Kubectl, Shared, absence, binary, runtime};

/// The minor versions of kubectl that are run.
///
/// 1.27 is the oldest that is supported; up to 1.28, OpenAPI v2 is needed to apply; up to 1.29, aggregated discovery is asked for in a
/// version that is not served; 1.30 to 1.33 ask for both; the others are those that upstream supports.
const MINORS: [u32; 8] = [37, 36, 35, 34, 33, 31, 28, 27];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = runtime();
    let mut trials = Vec::new();
    let mut shared = Vec::new();
    for minor in MINORS {
        let binary = binary(minor);
        if binary.is_none() {
            let reason = absence(minor).unwrap_or_else(|| "`cargo xtask kubectl` fetches it".to_owned());
            eprintln!("skipped: kubectl 1.{minor} is not there; {reason}");
        }
        let server = Arc::new(Shared::new(runtime.handle().clone()));
        shared.push(server.clone());
        for scenario in scenarios::all().filter(|scenario| scenario.since <= minor) {
            let (binary, handle, server) = (binary.clone(), runtime.handle().clone(), server.clone());
            let is_missing = binary.is_none();
            let trial = Trial::test(format!("1.{minor}::{}", scenario.name), move || {
                let Some(binary) = binary else { return Ok(()) };
                let kubectl = match scenario.behind {
                    Behind::Shared => Kubectl::within(binary, &server, scenario.name),
                    behind => Kubectl::start(binary, &handle, behind),
                };
                let kubectl = kubectl.map_err(Failed::from)?;
                (scenario.run)(&kubectl).map_err(|error| Failed::from(format!("{error:#}")))
            });
            trials.push(trial.with_ignored_flag(is_missing));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
