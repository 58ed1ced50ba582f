//! Makes the programs ready that use other clients of Kubernetes (`tests/clients`): Python's, Go's and the `kube` crate.
//!
//! Each has dependencies of its own, pinned beside it, and is left out with a word where its language is not installed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::root;

/// Makes all of them, below `target/clients`.
pub(crate) fn prepare() -> Result<()> {
    let sources = root().join("tests/clients").canonicalize()?;
    let target = root().join("target/clients");
    std::fs::create_dir_all(&target)?;
    let target = target.canonicalize()?;
    if is_there("python3") {
        python(&sources.join("python"), &target.join("python"))?;
    }
    if is_there("go") {
        go(&sources.join("go"), &target.join("go"))?;
    }
    kube(&sources.join("kube"), &target.join("kube"))
}

fn python(sources: &Path, target: &Path) -> Result<()> {
    let wanted = sources.join("requirements.txt");
    // What was installed, so that nothing is asked of anybody when that is what is wanted.
    let installed = target.join("requirements.txt");
    let text = std::fs::read_to_string(&wanted)?;
    if std::fs::read_to_string(&installed).is_ok_and(|found| found == text) {
        return Ok(());
    }
    run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(target),
        "making a Python environment",
    )?;
    run(
        Command::new(target.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
            ])
            .arg(&wanted),
        "installing the Python client",
    )?;
    Ok(std::fs::write(installed, text)?)
}

fn go(sources: &Path, target: &Path) -> Result<()> {
    run(
        Command::new("go")
            .current_dir(sources)
            .args(["test", "-c", "-o"])
            .arg(target.join("scenarios.test"))
            .arg("."),
        "building the Go client",
    )
}

fn kube(sources: &Path, target: &Path) -> Result<()> {
    run(
        Command::new(env!("CARGO"))
            .args(["build", "--release", "--locked", "--manifest-path"])
            .arg(sources.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(target),
        "building the client with the kube crate",
    )
}

/// Whether a command can be started; says so if not.
fn is_there(command: &str) -> bool {
    // `go` answers to `version` alone, the others to both.
    let found = Command::new(command)
        .arg(if command == "go" { "version" } else { "--version" })
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("{command} is not installed: its client is left out");
    }
    found
}

fn run(command: &mut Command, what: &str) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{what}: {command:?} cannot be started"))?;
    ensure!(status.success(), "{what} failed with {status}: {command:?}");
    Ok(())
}
