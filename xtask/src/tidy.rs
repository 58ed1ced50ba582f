//! Checks of the workspace as a whole: what the documents say, who imports whom, files that nobody compiles.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::codegen::apply;
use crate::root;

/// Files above this length are split, or named below with the reason.
const MAX_LINES: usize = 800;
/// Longer ones, with the reason. Paths from the root.
const LONG: &[(&str, &str)] = &[(
    "crates/apply/src/groups/core/v1.rs",
    "written by `cargo xtask codegen apply`",
)];

/// The kinds that a file in `apiserver/src/handlers` may name, with the reason.
const KINDS_IN_HANDLERS: &[(&str, &[&str], &str)] = &[
    (
        "binding.rs",
        &["Binding", "Node", "pods"],
        "a subresource's own kind, and what it may point to",
    ),
    (
        "eviction.rs",
        &["Eviction", "Pod", "poddisruptionbudgets"],
        "a subresource's own kind, what it ends, and who has a say in it",
    ),
    (
        "lifecycle.rs",
        &["Namespace", "namespaces"],
        "every namespaced object needs its namespace",
    ),
    (
        "response.rs",
        &["PartialObjectMetadata", "PartialObjectMetadataList"],
        "a view of every kind",
    ),
    (
        "review.rs",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
            "TokenReview",
        ],
        "questions, which are answered and not stored",
    ),
    ("scale.rs", &["Scale"], "a subresource's own kind"),
    ("token.rs", &["TokenRequest"], "a subresource's own kind"),
];

/// What only a binary may do, as it stands in sources, and what is said of a library that does it.
const CHOICES: &[(&str, &str)] = &[
    ("#[global_allocator]", "a library sets a global allocator"),
    ("set_global_default(", "a library sets a global subscriber"),
    ("tracing_subscriber::", "a library sets up a log subscriber"),
];
/// The features of rustls, and of what is built on it, that choose a crypto provider.
const PROVIDERS: &[&str] = &["\"ring\"", "\"aws_lc_rs\"", "\"aws-lc-rs\"", "\"fips\""];

/// Runs every check and tells of all that is wrong.
pub(crate) fn run() -> Result<()> {
    let root = root();
    let mut faults = Vec::new();
    for check in [
        crates_in_order,
        lengths,
        orphans,
        kinds_in_handlers,
        choices_of_binaries,
        words,
        generated,
    ] {
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

/// The generated types are those of the table of kinds.
fn generated(_: &Path, faults: &mut Vec<String>) -> Result<()> {
    faults.extend(apply::faults()?);
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

/// One path serves every kind: handlers name none (invariant 3).
fn kinds_in_handlers(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let names = kinds(&fs::read_to_string(root.join("crates/kinds/src/table.txt"))?);
    if names.is_empty() {
        bail!("crates/kinds/src/table.txt names no kinds");
    }
    let handlers = root.join("crates/apiserver/src/handlers");
    for path in sources(root)?.iter().filter(|path| path.starts_with(&handlers)) {
        let file = name(path);
        let allowed = |word: &str| {
            KINDS_IN_HANDLERS
                .iter()
                .any(|(of, words, _)| *of == file && words.contains(&word))
        };
        let text = fs::read_to_string(path)?;
        for (at, line) in text.lines().enumerate() {
            for word in literals(line).filter(|word| names.contains(*word) && !allowed(word)) {
                faults.push(format!(
                    "{}:{}: names the kind {word}, which is for the registry to do",
                    shown(root, path),
                    at + 1
                ));
            }
        }
    }
    Ok(())
}

/// Libraries choose no crypto provider, no allocator, no log subscriber and no version of the Kubernetes types (invariant 9).
fn choices_of_binaries(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    for folder in entries(&root.join("crates"))? {
        let krate = name(&folder);
        if krate == "cli" {
            continue;
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        for choice in choices(&manifest) {
            faults.push(format!("crates/{krate} {choice}"));
        }
        let library = folder.join("src");
        for path in sources(root)?.iter().filter(|path| path.starts_with(&library)) {
            let text = fs::read_to_string(path)?;
            for (word, what) in CHOICES {
                if text.contains(word) {
                    faults.push(format!("{}: {what}", shown(root, path)));
                }
            }
        }
    }
    Ok(())
}

/// What a manifest chooses for everybody who depends on the crate. Features are theirs to take or leave, and what tests use
/// is nobody's business.
fn choices(manifest: &str) -> Vec<&'static str> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        }
        if line.contains("\"v1_") {
            found.push("chooses a version of k8s-openapi");
        }
        // `[dependencies]`, `[dependencies.rustls]` and both of a target.
        let Some((_, of)) = section.rsplit_once("dependencies") else {
            continue;
        };
        if section.contains("-dependencies") {
            continue;
        }
        let dependency = match of.strip_prefix('.') {
            Some(dependency) => dependency,
            None => line.split(['.', ' ', '=']).next().unwrap_or_default(),
        };
        let is_rustls = ["rustls", "tokio-rustls", "hyper-rustls"].contains(&dependency);
        if is_rustls && PROVIDERS.iter().any(|provider| line.contains(provider)) {
            found.push("chooses a crypto provider outside an optional feature");
        }
        if dependency == "tracing-subscriber" {
            found.push("depends on a log subscriber");
        }
    }
    found
}

/// The names of the kinds in the generated table, and those of their resources as far as English is regular. Options are no
/// kinds that are stored: they belong to the requests for all.
fn kinds(table: &str) -> BTreeSet<String> {
    let rows = table.lines().filter_map(|line| line.strip_prefix("kind "));
    rows.filter_map(|row| row.split(' ').next())
        .filter(|kind| !kind.ends_with("Options"))
        .flat_map(|kind| {
            let lower = kind.to_lowercase();
            let plural = match lower.strip_suffix('y') {
                Some(stem) => format!("{stem}ies"),
                None if lower.ends_with('s') => format!("{lower}es"),
                None => format!("{lower}s"),
            };
            [kind.to_owned(), plural]
        })
        .collect()
}

/// What stands between quotes on a line that is no comment.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let line = if line.trim_start().starts_with("//") {
        ""
    } else {
        line
    };
    line.split('"').skip(1).step_by(2)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_seen_in_manifests() {
        for (manifest, expect) in [
            (
                "[features]\nring = [\"rustls/ring\"]\n[dependencies]\nrustls.workspace = true\n",
                0,
            ),
            (
                "[dev-dependencies]\nrustls = { workspace = true, features = [\"ring\"] }\n",
                0,
            ),
            (
                "[dependencies]\nrustls = { workspace = true, features = [\"ring\"] }\n",
                1,
            ),
            (
                "[dependencies]\ntokio-rustls = { workspace = true, features = [\"aws-lc-rs\"] }\n",
                1,
            ),
            ("[dependencies.rustls]\nfeatures = [\"ring\"]\n", 1),
            ("[dependencies]\ntracing-subscriber.workspace = true\n", 1),
            ("[dev-dependencies]\ntracing-subscriber.workspace = true\n", 0),
            (
                "[dependencies]\nk8s-openapi = { workspace = true, features = [\"v1_37\"] }\n",
                1,
            ),
        ] {
            assert_eq!(choices(manifest).len(), expect, "{manifest}");
        }
    }

    #[test]
    fn kinds_are_seen_in_literals() {
        let names = kinds(
            "# x\ntype a.b.Pod\nkind Pod v1\n kind 2 string\nkind NetworkPolicy x/v1\nkind Ingress x/v1\nkind ListOptions v1\n",
        );
        let expect = [
            "Ingress",
            "NetworkPolicy",
            "Pod",
            "ingresses",
            "networkpolicies",
            "pods",
        ];
        assert!(names.iter().eq(expect), "{names:?}");
        for (line, expect) in [
            ("if kind == \"Pod\" || plural == \"pods\" {", 2),
            ("// \"Pod\"", 0),
            ("PodScheduled(\"PodScheduled\", Pod)", 0),
        ] {
            let found = literals(line).filter(|word| names.contains(*word));
            assert_eq!(found.count(), expect, "{line}");
        }
    }
}
