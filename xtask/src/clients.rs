//! Makes the programs ready that use other clients of Kubernetes (`tests/clients`): Python's, JavaScript's, Go's and
//! the `kube` crate.
//!
//! Each has dependencies of its own, pinned beside it, and is left out with a word where its language is not installed.

use std::path::{Path, PathBuf};
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
    if is_there("node") && is_there("npm") {
        node(&sources.join("node"), &target.join("node"))?;
    }
    if is_there("go") {
        go(&sources.join("go"), &target.join("go"))?;
        kubelet(&sources.join("kubelet"), &target.join("kubelet"))?;
    }
    kube(&sources.join("kube"), &target.join("kube"))
}

fn python(sources: &Path, target: &Path) -> Result<()> {
    let wanted = sources.join("requirements.txt");
    let Some(installed) = Installed::unless_current(&wanted, target)? else {
        return Ok(());
    };
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
    installed.note()
}

/// The packages, and beside them links to the scenarios, which look for packages where they are, and to the interpreter.
fn node(sources: &Path, target: &Path) -> Result<()> {
    let wanted = sources.join("package-lock.json");
    let Some(installed) = Installed::unless_current(&wanted, target)? else {
        return Ok(());
    };
    let _ = std::fs::remove_dir_all(target);
    std::fs::create_dir_all(target)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(sources.join(file), target.join(file))?;
    }
    run(
        Command::new("npm")
            .current_dir(target)
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]),
        "installing the JavaScript client",
    )?;
    let interpreter = Command::new("node").args(["-p", "process.execPath"]).output()?;
    let interpreter = String::from_utf8(interpreter.stdout)?;
    std::os::unix::fs::symlink(sources.join("scenarios.mjs"), target.join("scenarios.mjs"))?;
    std::os::unix::fs::symlink(interpreter.trim(), target.join("node"))?;
    installed.note()
}

/// What is to be noted as installed, so that nothing is asked of anybody when that is what is wanted.
struct Installed {
    note: PathBuf,
    wanted: String,
}

impl Installed {
    /// `None` if what the file `wanted` asks for is there already.
    fn unless_current(wanted: &Path, target: &Path) -> Result<Option<Self>> {
        let note = target.join("installed.txt");
        let wanted = std::fs::read_to_string(wanted)?;
        let is_current = std::fs::read_to_string(&note).is_ok_and(|found| found == wanted);
        Ok((!is_current).then_some(Self { note, wanted }))
    }

    fn note(self) -> Result<()> {
        Ok(std::fs::write(self.note, self.wanted)?)
    }
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

/// The one that is no client: a server for ours.
fn kubelet(sources: &Path, target: &Path) -> Result<()> {
    run(
        Command::new("go")
            .current_dir(sources)
            .args(["build", "-o"])
            .arg(target.join("kubelet"))
            .arg("."),
        "building the streaming server",
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
