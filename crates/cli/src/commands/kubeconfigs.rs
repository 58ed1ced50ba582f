//! The kubeconfigs that `kubewright up` writes, and takes back when it ends.

use std::path::{Path, PathBuf};

use anyhow::Context;
use kubewright_net::kubeconfig::{self, Entry, KubeconfigError};

use crate::failure::Advised;

/// Entries in files, in the order in which they were written.
#[derive(Debug, Default)]
pub(super) struct Kubeconfigs(Vec<Written>);

#[derive(Debug)]
struct Written {
    path: PathBuf,
    entry: Entry,
    left: Left,
}

/// What becomes of a file when the entry is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// It goes, whatever is in it.
    Nothing,
    /// It goes if nothing else is in it.
    Others,
    /// It stays.
    File,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody else's than this command's.
    Command,
    /// The user's, who named it.
    User,
}

impl Kubeconfigs {
    /// Adds an entry to a file, which is made where it is not there.
    pub(super) fn write(&mut self, path: &Path, entry: Entry, owner: Owner) -> anyhow::Result<()> {
        let left = match owner {
            Owner::Command => Left::Nothing,
            Owner::User if path.exists() => Left::File,
            Owner::User => Left::Others,
        };
        kubeconfig::merge_entry(path, &entry).map_err(|error| unwritable(path, error))?;
        self.0.push(Written {
            path: path.to_owned(),
            entry,
            left,
        });
        Ok(())
    }

    /// Takes everything back, all of it even where some of it fails; then the first failure is told.
    pub(super) fn take_back(&self) -> anyhow::Result<()> {
        let results: Vec<anyhow::Result<()>> = self.0.iter().map(Written::take_back).collect();
        results.into_iter().collect()
    }
}

impl Written {
    fn take_back(&self) -> anyhow::Result<()> {
        if self.left != Left::Nothing {
            let removed = kubeconfig::remove_entry(&self.path, &self.entry);
            removed.map_err(|error| unwritable(&self.path, error))?;
        }
        if self.left == Left::File || (self.left == Left::Others && !holds_nothing(&self.path)) {
            return Ok(());
        }
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.path.display()))
            }
            _ => Ok(()),
        }
    }
}

fn holds_nothing(path: &Path) -> bool {
    kubeconfig::Kubeconfig::read(path).is_ok_and(|config| {
        config.clusters.is_empty() && config.users.is_empty() && config.contexts.is_empty()
    })
}

fn unwritable(path: &Path, error: KubeconfigError) -> Advised {
    let hint = error
        .hint()
        .unwrap_or_else(|| "choose another path with --kubeconfig or --user".to_owned());
    Advised::new(
        format!("cannot write the kubeconfig {}", path.display()),
        hint,
        error,
    )
}
