//! `kubectl config` and `change_files` make the same of the same files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail, ensure};
use kubewright_net::kubeconfig::{Kubeconfig, KubeconfigError, change_files};

/// One command of `kubectl config`, and the same by the library.
pub(crate) struct Change {
    pub(crate) name: &'static str,
    arguments: &'static [&'static str],
    change: fn(&mut Kubeconfig) -> Result<(), KubeconfigError>,
    outcome: Outcome,
}

#[derive(PartialEq)]
enum Outcome {
    Changed,
    Refused,
}

/// The files of `KUBECONFIG`; the first does not exist.
const FILES: [&str; 3] = ["none", "one", "two"];

const ONE: &str = "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: a\n\
    clusters:\n- {name: c, cluster: {server: 'https://c', certificate-authority: pki/ca.crt}}\n- {name: shared, cluster: {server: 'https://first'}}\n\
    users:\n- {name: u, user: {token: t, as: jane, as-groups: [g]}}\n\
    contexts:\n- {name: a, context: {cluster: c, user: u}}\nextensions:\n- {name: e, extension: {x: 1}}\n";
const TWO: &str = "apiVersion: v1\nkind: Config\n\
    clusters:\n- {name: shared, cluster: {server: 'https://second'}}\n- {name: d, cluster: {server: 'https://d', insecure-skip-tls-verify: true}}\n\
    users:\n- {name: v, user: {username: me, password: p}}\n\
    contexts:\n- {name: b, context: {cluster: d, user: v, namespace: team}}\n";

pub(crate) fn all() -> Vec<Change> {
    let row = |name, arguments, change| Change {
        name,
        arguments,
        change,
        outcome: Outcome::Changed,
    };
    let refused = |name, arguments, change| Change {
        outcome: Outcome::Refused,
        ..row(name, arguments, change)
    };
    vec![
        row(
            "change::context_is_new",
            &["set-context", "n", "--cluster=c", "--user=u", "--namespace=x"],
            |config| {
                config.set_context("n", |context| {
                    context.cluster = "c".into();
                    context.user = "u".into();
                    context.namespace = Some("x".into());
                });
                Ok(())
            },
        ),
        row(
            "change::context_of_the_second_file",
            &["set-context", "b", "--namespace=other"],
            |config| {
                config.set_context("b", |context| context.namespace = Some("other".into()));
                Ok(())
            },
        ),
        row(
            "change::cluster_is_new",
            &["set-cluster", "n", "--server=https://n"],
            |config| {
                config.set_cluster("n", |cluster| cluster.server = "https://n".into());
                Ok(())
            },
        ),
        row(
            "change::cluster_with_a_path",
            &["set-cluster", "c", "--server=https://n"],
            |config| {
                config.set_cluster("c", |cluster| cluster.server = "https://n".into());
                Ok(())
            },
        ),
        row(
            "change::user",
            &["set-credentials", "u", "--token=other"],
            |config| {
                config.set_user("u", |user| user.token = Some("other".into()));
                Ok(())
            },
        ),
        row("change::use", &["use-context", "b"], |config| {
            config.use_context("b")
        }),
        refused("change::use_none", &["use-context", "x"], |config| {
            config.use_context("x")
        }),
        row(
            "change::rename_current",
            &["rename-context", "a", "z"],
            |config| config.rename_context("a", "z"),
        ),
        row("change::rename_other", &["rename-context", "b", "z"], |config| {
            config.rename_context("b", "z")
        }),
        refused("change::rename_none", &["rename-context", "x", "z"], |config| {
            config.rename_context("x", "z")
        }),
        refused(
            "change::rename_to_another",
            &["rename-context", "a", "b"],
            |config| config.rename_context("a", "b"),
        ),
        row("change::delete_context", &["delete-context", "b"], |config| {
            config.delete_context("b");
            Ok(())
        }),
        row(
            "change::delete_current_context",
            &["delete-context", "a"],
            |config| {
                config.delete_context("a");
                Ok(())
            },
        ),
        row("change::delete_cluster", &["delete-cluster", "d"], |config| {
            config.delete_cluster("d");
            Ok(())
        }),
        row(
            "change::delete_cluster_of_both",
            &["delete-cluster", "shared"],
            |config| {
                config.delete_cluster("shared");
                Ok(())
            },
        ),
        row("change::delete_user", &["delete-user", "v"], |config| {
            config.delete_user("v");
            Ok(())
        }),
        row(
            "change::no_current_context",
            &["unset", "current-context"],
            |config| {
                config.current_context.clear();
                Ok(())
            },
        ),
    ]
}

pub(crate) fn compare(kubectl: &Path, change: &Change) -> Result<()> {
    let [theirs, ours] = [files()?, files()?];
    let output = Command::new(kubectl)
        .arg("config")
        .args(change.arguments)
        .env("HOME", theirs.path())
        .env("KUBECONFIG", std::env::join_paths(paths(theirs.path()))?)
        .current_dir(theirs.path())
        .stdin(Stdio::null())
        .output()?;
    let result = change_files(&paths(ours.path()), change.change);
    let expected = change.outcome == Outcome::Changed;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success() == expected, "kubectl: {said}");
    ensure!(result.is_ok() == expected, "the client: {result:?}");
    for name in FILES {
        let read = |folder: &tempfile::TempDir| -> Result<Option<Kubeconfig>> {
            let path = folder.path().join(name);
            if !path.exists() {
                return Ok(None);
            }
            let mut config = Kubeconfig::parse(&std::fs::read_to_string(&path)?, &path)?;
            // kubectl sorts by name.
            config.clusters.sort_by(|one, other| one.name.cmp(&other.name));
            config.users.sort_by(|one, other| one.name.cmp(&other.name));
            config.contexts.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(Some(config))
        };
        let (theirs, ours) = (read(&theirs)?, read(&ours)?);
        if theirs != ours {
            bail!("{name}: kubectl: {theirs:#?}\nthe client: {ours:#?}");
        }
    }
    Ok(())
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    FILES.iter().map(|name| folder.join(name)).collect()
}

fn files() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("one"), ONE)?;
    std::fs::write(folder.path().join("two"), TWO)?;
    Ok(folder)
}
