//! Programs that use other clients of Kubernetes, each against a server of its own.
//!
//! `python/`, `node/`, `go/` and `kube/` hold a program each, with dependencies of its own that never enter this workspace. `cargo xtask
//! clients` makes them ready; `KUBEWRIGHT_CLIENTS` names another folder where they are. A client whose program is not there is
//! shown as skipped.
//!
//! A program is given a kubeconfig in `KUBECONFIG` and the name of a scenario. It ends with 0 when the scenario went as it should, else it
//! says why on its standard error.

#![expect(clippy::print_stderr, reason = "a test tells what it skips")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use kubewright_testing::{ServedEnv, TestEnvOptions};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Handle;

/// A client: how its program is called, and what it can be asked to do.
struct Client {
    name: &'static str,
    /// The program, below the folder of `cargo xtask clients`.
    program: &'static str,
    /// What comes before the name of the scenario; `{sources}` is the client's folder here, and `{made}` the program's.
    arguments: &'static [&'static str],
    scenarios: &'static [&'static str],
}

const CLIENTS: [Client; 4] = [
    Client {
        name: "python",
        program: "python/bin/python",
        arguments: &["{sources}/scenarios.py"],
        scenarios: &[
            "crud",
            "watch",
            "websockets",
            "patches",
            "server_side_apply",
            "pages",
            "subresources",
            "custom_resources",
            "errors",
        ],
    },
    Client {
        name: "node",
        program: "node/node",
        // The script is a link beside the packages it needs, which are looked for where the link is.
        arguments: &["--preserve-symlinks-main", "{made}/scenarios.mjs"],
        scenarios: &[
            "crud",
            "list",
            "watch",
            "informer",
            "patches",
            "server_side_apply",
            "dynamic_objects",
        ],
    },
    Client {
        name: "go",
        program: "go/scenarios.test",
        arguments: &["-test.v", "-test.timeout=100s", "-test.run"],
        scenarios: &[
            "^TestInformerJSON$",
            "^TestInformerProtobuf$",
            "^TestInformerWithoutStreamingLists$",
            "^TestDynamicAndMetadataInformers$",
            "^TestTypedClientProtobuf$",
            "^TestServerSideApply$",
            "^TestDiscoveryAndMapping$",
            "^TestLeaderElection$",
        ],
    },
    Client {
        name: "kube",
        program: "kube/release/scenarios",
        arguments: &[],
        scenarios: &[
            "crud",
            "watch",
            "patches",
            "server_side_apply",
            "pages",
            "subresources",
            "custom_resources",
            "discovery",
        ],
    },
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    let folder = std::env::var_os("KUBEWRIGHT_CLIENTS")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients"));
    let mut trials = Vec::new();
    for client in &CLIENTS {
        let program = folder.join(client.program);
        let is_missing = !program.exists();
        if is_missing {
            eprintln!(
                "skipped: clients: {} is not there; `cargo xtask clients` makes it",
                program.display()
            );
        }
        for scenario in client.scenarios {
            let (program, handle) = (program.clone(), runtime.handle().clone());
            let name = format!("{}::{}", client.name, scenario.trim_matches(['^', '$']));
            let trial = Trial::test(name, move || {
                run(client, &program, scenario, &handle).map_err(|error| Failed::from(format!("{error:#}")))
            });
            trials.push(trial.with_ignored_flag(is_missing));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a scenario against a server without controllers: what happens is what the client did.
fn run(client: &Client, program: &Path, scenario: &str, runtime: &Handle) -> Result<()> {
    let home = tempfile::tempdir()?;
    let config = home.path().join("config");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let env = runtime.block_on(ServedEnv::start(TestEnvOptions::without_controllers(), provider))?;
    env.write_kubeconfig(&config)?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(client.name);
    let made = program.parent().unwrap_or(program);
    let arguments = client.arguments.iter().map(|argument| {
        argument
            .replace("{sources}", &sources.display().to_string())
            .replace("{made}", &made.display().to_string())
    });
    let output = Command::new(program)
        .args(arguments)
        .arg(scenario)
        .env_clear()
        .env("HOME", home.path())
        .env("KUBECONFIG", &config)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} cannot be run", program.display()))?;
    runtime.block_on(env.stop())?;
    ensure!(
        output.status.success(),
        "{} ended with {}\n{}{}",
        client.name,
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
