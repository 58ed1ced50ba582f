//! What Go calls the fields of the built-in kinds, which upstream's messages show: a Go program asks Go's reflection.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

const HEAD: &str = "\
# Go's names of Kubernetes 1.37. Written by `cargo xtask codegen names`; do not edit.
# The grammar is described in go.rs.
";

/// Runs the program in a folder over the table of kinds.
pub(super) fn table(program: &Path, kinds: &Path) -> Result<String> {
    let output = Command::new("go")
        .args(["run", "."])
        .current_dir(program)
        .stdin(File::open(kinds).with_context(|| format!("cannot read {}", kinds.display()))?)
        .output()
        .context("cannot run `go`")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`go run` failed:\n{log}");
    Ok(HEAD.to_owned() + std::str::from_utf8(&output.stdout)?)
}
