//! Checks of the workspace as a whole: what the documents say, who imports whom, files that nobody compiles.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::root;

/// Files above this length are split, or named below with the reason.
const MAX_LINES: usize = 800;
/// Longer ones, with the reason. Paths from the root.
const LONG: &[(&str, &str)] = &[];

/// Runs every check and tells of all that is wrong.
pub(crate) fn run() -> Result<()> {
    let root = root();
    let mut faults = Vec::new();
    for check in [crates_in_order, lengths, orphans, versions_of_types, words] {
        check(&root, &mut faults)?;
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("tidy found {} faults:\n  {}", faults.len(), faults.join("\n  "))
}

/// ARCHITECTURE.md lists every crate, and each imports only from rows above its own.
fn crates_in_order(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let rows: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let folders: BTreeSet<String> = entries(&root.join("crates"))?
        .iter()
        .map(|path| name(path))
        .collect();
    for row in rows.iter().filter(|row| !folders.contains(**row)) {
        faults.push(format!(
            "ARCHITECTURE.md lists `{row}`, which is no folder of crates/"
        ));
    }
    for folder in &folders {
        let Some(at) = rows.iter().position(|row| row == folder) else {
            faults.push(format!("crates/{folder} is not listed in ARCHITECTURE.md"));
            continue;
        };
        let manifest = fs::read_to_string(root.join("crates").join(folder).join("Cargo.toml"))?;
        for import in imports(&manifest) {
            if !rows[..at].contains(&import.as_str()) {
                faults.push(format!(
                    "crates/{folder} imports `{import}`, which is not above it in ARCHITECTURE.md"
                ));
            }
        }
    }
    Ok(())
}

/// The folders of the workspace's own crates that a manifest depends on.
fn imports(manifest: &str) -> Vec<String> {
    let names = manifest
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next());
    let own = names.filter_map(|name| match name {
        "kubewright" => Some("kubewright"),
        name => name.strip_prefix("kubewright-"),
    });
    own.map(str::to_owned).collect()
}

/// No file is longer than is good for it.
fn lengths(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for path in sources(root)? {
        let lines = fs::read_to_string(&path)?.lines().count();
        let shown = shown(root, &path);
        if lines > MAX_LINES && !LONG.iter().any(|(path, _)| *path == shown) {
            faults.push(format!(
                "{shown} has {lines} lines, more than {MAX_LINES}: split it"
            ));
        }
    }
    Ok(())
}

/// Every source file belongs to some module.
fn orphans(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for path in sources(root)? {
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let folder = path.parent().context("a file has a folder")?;
        let (module, parent) = if stem == "mod" {
            (name(folder), folder.parent().context("a folder has a parent")?)
        } else {
            (stem, folder)
        };
        let is_target = ["lib", "main", "build"].contains(&module.as_str())
            || ["tests", "benches", "examples", "bin", "fuzz_targets"].contains(&name(parent).as_str());
        if is_target {
            continue;
        }
        // The module is declared beside it, in the file named as its folder, or by its path.
        let beside = entries(parent)?
            .into_iter()
            .filter(|other| other.extension().is_some_and(|e| e == "rs"));
        let above = parent.with_extension("rs");
        let is_declared = beside.chain([above]).any(|file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.lines().any(|line| {
                let line = line
                    .trim()
                    .trim_start_matches("pub(crate) ")
                    .trim_start_matches("pub(super) ");
                line.trim_start_matches("pub ") == format!("mod {module};")
                    || line == format!("#[path = \"{module}.rs\"]")
            })
        });
        if !is_declared {
            faults.push(format!(
                "{} is in no module: nothing compiles it",
                shown(root, &path)
            ));
        }
    }
    Ok(())
}

/// Only the command chooses a version of the Kubernetes types (invariant 9).
fn versions_of_types(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for folder in entries(&root.join("crates"))? {
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        if name(&folder) != "cli" && manifest.contains("\"v1_") {
            faults.push(format!(
                "crates/{} chooses a version of k8s-openapi",
                name(&folder)
            ));
        }
    }
    Ok(())
}

/// Nothing is left half done.
fn words(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    // Put together here, so that this file does not hold them.
    let banned = [
        ["TO", "DO"].concat(),
        ["FIX", "ME"].concat(),
        ["XX", "X"].concat(),
        ["```", "ignore"].concat(),
    ];
    for path in sources(root)? {
        let text = fs::read_to_string(&path)?;
        for (at, line) in text.lines().enumerate() {
            for word in banned.iter().filter(|word| line.contains(word.as_str())) {
                faults.push(format!("{}:{}: {word}", shown(root, &path), at + 1));
            }
        }
    }
    Ok(())
}

/// Every Rust file of the workspace.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = ["crates", "examples", "tests", "xtask"]
        .map(|top| root.join(top))
        .into();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
