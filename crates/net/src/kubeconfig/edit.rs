//! Changing a kubeconfig file that belongs to the user: add an [`Entry`], and take exactly it out again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError, NamedCluster, NamedContext, NamedUser};
use crate::error::BoxError;

/// A cluster, a user and a context of the same name that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// Name of all three.
    pub name: String,
    /// The server.
    pub cluster: Cluster,
    /// The credentials.
    pub user: AuthInfo,
    /// Namespace of the context. Default: none.
    pub namespace: Option<String>,
}

impl Entry {
    /// A kubeconfig with this entry alone, which is its current context.
    pub fn into_kubeconfig(self) -> Kubeconfig {
        let mut config = empty();
        self.add_to(&mut config);
        config
    }

    fn context(&self) -> Context {
        Context {
            cluster: self.name.clone(),
            user: self.name.clone(),
            namespace: self.namespace.clone(),
            ..Context::default()
        }
    }

    /// Replaces what has the name already; becomes current if nothing else is.
    fn add_to(&self, config: &mut Kubeconfig) {
        let name = || self.name.clone();
        let cluster = NamedCluster {
            name: name(),
            cluster: self.cluster.clone(),
        };
        put(&mut config.clusters, cluster, |entry| entry.name == self.name);
        let user = NamedUser {
            name: name(),
            user: self.user.clone(),
        };
        put(&mut config.users, user, |entry| entry.name == self.name);
        let context = NamedContext {
            name: name(),
            context: self.context(),
        };
        put(&mut config.contexts, context, |entry| entry.name == self.name);
        if config.current_context.is_empty() {
            config.current_context = name();
        }
    }

    /// Leaves alone what somebody has changed since; true if something was removed.
    ///
    /// Contexts of the same name look alike whatever they lead to, so ours is known by the cluster or the user that goes with it:
    /// where both were replaced meanwhile, the context is somebody else's by now.
    fn remove_from(&self, config: &mut Kubeconfig) -> bool {
        let before = config.clusters.len() + config.users.len();
        config
            .clusters
            .retain(|entry| entry.name != self.name || entry.cluster != self.cluster);
        config
            .users
            .retain(|entry| entry.name != self.name || entry.user != self.user);
        if before == config.clusters.len() + config.users.len() {
            return false;
        }
        let context = self.context();
        config
            .contexts
            .retain(|entry| entry.name != self.name || entry.context != context);
        if config.current_context == self.name && config.context(&self.name).is_none() {
            config.current_context.clear();
        }
        true
    }
}

/// Adds an entry to a file, which is created (with its folder) if need be. Everything else in the file stays, its
/// current context included; only comments are lost, as with kubectl.
///
/// # Errors
///
/// The file cannot be read or written, is no kubeconfig, or is locked by another program.
pub fn merge_entry(path: &Path, entry: &Entry) -> Result<(), KubeconfigError> {
    change(path, |config| {
        entry.add_to(config);
        Change::Write
    })
}

/// Takes an entry out of a file again: its cluster, user and context as far as they still are what was added, and the
/// current context if it was this one. A file that does not exist any more is fine.
///
/// # Errors
///
/// As [`merge_entry`].
pub fn remove_entry(path: &Path, entry: &Entry) -> Result<(), KubeconfigError> {
    if !path.exists() {
        return Ok(());
    }
    change(path, |config| {
        if entry.remove_from(config) {
            Change::Write
        } else {
            Change::Nothing
        }
    })
}

enum Change {
    Write,
    Nothing,
}

fn change(path: &Path, edit: impl FnOnce(&mut Kubeconfig) -> Change) -> Result<(), KubeconfigError> {
    let fail = |source: BoxError| KubeconfigError::Write {
        path: path.to_owned(),
        source,
    };
    // A link to the file stays a link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| fail(error.into()))?;
    }
    let _lock = Lock::take(path)?;
    let mut config = match Kubeconfig::read_as_is(path) {
        Ok(config) => config,
        Err(error) if error.is_not_found() => empty(),
        Err(error) => return Err(error),
    };
    match edit(&mut config) {
        Change::Nothing => Ok(()),
        Change::Write => write(path, &config),
    }
}

/// Replaces the file, which is created (with its folder) if need be. Whoever calls it holds the lock.
pub(super) fn write(path: &Path, config: &Kubeconfig) -> Result<(), KubeconfigError> {
    let fail = |source: BoxError| KubeconfigError::Write {
        path: path.to_owned(),
        source,
    };
    // A link to the file stays a link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| fail(error.into()))?;
    }
    let text = kubewright_yaml::to_string(config).map_err(|error| fail(error.into()))?;
    write_atomically(path, text.as_bytes()).map_err(|error| fail(error.into()))
}

pub(super) fn empty() -> Kubeconfig {
    Kubeconfig {
        api_version: Some("v1".to_owned()),
        kind: Some("Config".to_owned()),
        ..Kubeconfig::default()
    }
}

fn put<T>(list: &mut Vec<T>, entry: T, same: impl Fn(&T) -> bool) {
    match list.iter_mut().find(|present| same(present)) {
        Some(present) => *present = entry,
        None => list.push(entry),
    }
}

/// Readers see the old text or the new one. Only the owner may read it, since it holds credentials.
fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let temporary = with_suffix(path, ".tmp");
    let result = (|| {
        // What a killed process left is of no use, and may have looser permissions.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(&temporary)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The lock kubectl takes: a file that only one program can create.
pub(super) struct Lock(PathBuf);

impl Lock {
    pub(super) fn take(path: &Path) -> Result<Self, KubeconfigError> {
        let lock = with_suffix(path, ".lock");
        match File::create_new(&lock) {
            Ok(_) => Ok(Self(lock)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(KubeconfigError::Locked {
                path: path.to_owned(),
                lock,
            }),
            Err(error) => Err(KubeconfigError::Write {
                path: path.to_owned(),
                source: error.into(),
            }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::warn!(lock = %self.0.display(), %error, "lock file could not be removed");
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
