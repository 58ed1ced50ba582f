//! Peers in Go, which are built where Go is present.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Builds the program of a folder of `bench/peers`.
pub fn build(name: &str) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name);
    let output = Command::new("go")
        .args(["build", "-o"])
        .arg(binary(name)?)
        .arg(".")
        .current_dir(folder)
        .output()
        .context("Go is not installed")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "go build: {}", said.trim());
    Ok(())
}

/// Where it is then: beside this program, in the target folder.
pub fn binary(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(format!("{name}-go")))
}
