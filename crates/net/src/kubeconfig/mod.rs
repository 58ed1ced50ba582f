//! The kubeconfig file: reading, merging and changing it as client-go does.
//!
//! Rules of `client-go/tools/clientcmd/loader.go`: the variable `KUBECONFIG` is a list of files of which missing ones
//! are skipped; whoever names an entry first wins; paths in a file are relative to its folder; a writer holds
//! `FILE.lock` while it works.

mod change;
mod edit;
mod types;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub use self::change::change_files;
pub use self::edit::{Entry, merge_entry, remove_entry};
pub use self::types::{
    AuthInfo, AuthProviderConfig, Cluster, Context, Data, ExecConfig, ExecEnvVar, InteractiveMode,
    Kubeconfig, NamedCluster, NamedContext, NamedExtension, NamedUser, Preferences, Unknown,
};
use crate::error::BoxError;

/// Bytes of one file that are read at most: 16 MiB.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

impl Kubeconfig {
    /// Reads one file and makes the paths in it absolute.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no kubeconfig, or names an entry twice.
    pub fn read(path: &Path) -> Result<Self, KubeconfigError> {
        let mut config = Self::read_as_is(path)?;
        config.resolve_paths(path.parent().unwrap_or_else(|| Path::new("")));
        Ok(config)
    }

    /// Reads several files and merges them. Files that do not exist are skipped.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and [`KubeconfigError::Missing`] if no file exists.
    pub fn load(paths: &[PathBuf]) -> Result<Self, KubeconfigError> {
        let mut merged: Option<Self> = None;
        for path in paths {
            match Self::read(path) {
                Ok(next) => {
                    merged = Some(match merged {
                        None => next,
                        Some(first) => first.merge(next),
                    });
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        merged.ok_or_else(|| KubeconfigError::Missing {
            paths: paths.to_vec(),
        })
    }

    /// Parses the text of a file. Paths stay as they are.
    ///
    /// # Errors
    ///
    /// [`KubeconfigError::Parse`] and [`KubeconfigError::Duplicate`], both naming `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, KubeconfigError> {
        // An empty file is an empty configuration.
        let config: Option<Self> =
            kubewright_yaml::from_str(text).map_err(|source| KubeconfigError::Parse {
                path: path.to_owned(),
                source: source.into(),
            })?;
        let config = config.unwrap_or_default();
        let (version, kind) = (
            config.api_version.as_deref().unwrap_or_default(),
            config.kind.as_deref().unwrap_or_default(),
        );
        if !matches!((version, kind), ("" | "v1", "" | "Config")) {
            let source = format!("it holds {kind:?} of {version:?} instead of Config of v1").into();
            return Err(KubeconfigError::Parse {
                path: path.to_owned(),
                source,
            });
        }
        let duplicate = |kind, name: Option<String>| match name {
            Some(name) => Err(KubeconfigError::Duplicate {
                path: path.to_owned(),
                kind,
                name,
            }),
            None => Ok(()),
        };
        duplicate(
            "cluster",
            repeated(config.clusters.iter().map(|entry| &entry.name)),
        )?;
        duplicate("user", repeated(config.users.iter().map(|entry| &entry.name)))?;
        duplicate(
            "context",
            repeated(config.contexts.iter().map(|entry| &entry.name)),
        )?;
        Ok(config)
    }

    /// Adds what `other` has and `self` has not. An entry is taken whole: fields of entries of one name do not mix.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        add_missing(&mut self.clusters, other.clusters, |entry| &entry.name);
        add_missing(&mut self.users, other.users, |entry| &entry.name);
        add_missing(&mut self.contexts, other.contexts, |entry| &entry.name);
        add_missing(&mut self.extensions, other.extensions, |entry| &entry.name);
        add_missing(
            &mut self.preferences.extensions,
            other.preferences.extensions,
            |entry| &entry.name,
        );
        self.preferences.colors = self.preferences.colors.or(other.preferences.colors);
        if self.current_context.is_empty() {
            self.current_context = other.current_context;
        }
        for (key, value) in other.unknown {
            self.unknown.entry(key).or_insert(value);
        }
        self
    }

    /// The cluster of that name.
    pub fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| &entry.cluster)
    }

    /// The user of that name.
    pub fn user(&self, name: &str) -> Option<&AuthInfo> {
        self.users
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| &entry.user)
    }

    /// The context of that name.
    pub fn context(&self, name: &str) -> Option<&Context> {
        self.contexts
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| &entry.context)
    }

    fn read_as_is(path: &Path) -> Result<Self, KubeconfigError> {
        let fail = |source| KubeconfigError::Read {
            path: path.to_owned(),
            source,
        };
        let length = std::fs::metadata(path).map_err(fail)?.len();
        if length > MAX_FILE_BYTES {
            return Err(fail(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "larger than 16 MiB",
            )));
        }
        Self::parse(&std::fs::read_to_string(path).map_err(fail)?, path)
    }

    fn resolve_paths(&mut self, folder: &Path) {
        let resolve = |path: &mut Option<String>| {
            if let Some(path) = path.as_mut().filter(|path| !path.is_empty()) {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        };
        for entry in &mut self.clusters {
            resolve(&mut entry.cluster.certificate_authority);
        }
        for entry in &mut self.users {
            resolve(&mut entry.user.client_certificate);
            resolve(&mut entry.user.client_key);
            resolve(&mut entry.user.token_file);
            // A bare name is looked up in PATH.
            if let Some(exec) = entry.user.exec.as_mut().filter(|exec| exec.command.contains('/')) {
                exec.command = folder.join(&exec.command).to_string_lossy().into_owned();
            }
        }
    }
}

/// The files client-go would read: those of `KUBECONFIG`, or `.kube/config` in the home folder if it is unset or empty.
pub fn default_paths(variable: impl Fn(&str) -> Option<OsString>, home: Option<&Path>) -> Vec<PathBuf> {
    match variable("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => {
            let mut seen = HashSet::new();
            std::env::split_paths(&list)
                .filter(|path| !path.as_os_str().is_empty() && seen.insert(path.clone()))
                .collect()
        }
        None => home
            .map(|home| home.join(".kube").join("config"))
            .into_iter()
            .collect(),
    }
}

/// Why a kubeconfig could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// The file cannot be read.
    #[error("kubeconfig {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// None of the files exists.
    #[error("no kubeconfig found, looked for {}", list(paths))]
    Missing {
        /// The files.
        paths: Vec<PathBuf>,
    },
    /// The text is no kubeconfig.
    #[error("kubeconfig {} is not valid", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        #[source]
        source: BoxError,
    },
    /// Two entries of one kind have the same name.
    #[error("kubeconfig {} names {kind} {name:?} twice", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// `cluster`, `user` or `context`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// There is no entry of that name.
    #[error("kubeconfig has no {kind} {name:?}")]
    NoEntry {
        /// `cluster`, `user` or `context`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// An entry cannot be renamed to the name of another.
    #[error("kubeconfig has a {kind} {name:?} already")]
    NameTaken {
        /// `cluster`, `user` or `context`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Another program is changing the file, or was killed while it did.
    #[error("kubeconfig {} is locked", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The lock file.
        lock: PathBuf,
    },
    /// The file cannot be written.
    #[error("kubeconfig {} cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What failed.
        #[source]
        source: BoxError,
    },
}

impl KubeconfigError {
    /// True if the file does not exist.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Read { source, .. } => source.kind() == io::ErrorKind::NotFound,
            Self::Missing { .. } => true,
            _ => false,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            error if error.is_not_found() => "set KUBECONFIG or pass the path of an existing file".to_owned(),
            Self::Parse { .. } => "the file should be YAML with `kind: Config`".to_owned(),
            Self::NoEntry { known, .. } if !known.is_empty() => format!("there are: {}", known.join(", ")),
            Self::Duplicate { kind, .. } => format!("rename or remove one {kind}"),
            Self::Locked { lock, .. } => {
                format!(
                    "if no other program is changing the file, remove {}",
                    lock.display()
                )
            }
            _ => return None,
        })
    }
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

fn repeated<'a>(names: impl Iterator<Item = &'a String>) -> Option<String> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name)).cloned()
}

fn add_missing<T>(to: &mut Vec<T>, from: Vec<T>, name: impl Fn(&T) -> &String) {
    for entry in from {
        if !to.iter().any(|present| name(present) == name(&entry)) {
            to.push(entry);
        }
    }
}

#[cfg(test)]
mod tests;
