//! What `kubectl config` does to a kubeconfig: setting, renaming and deleting entries, in the file each of them lies in.
//!
//! Fields and entries that this version does not know stay as they are; only comments are lost, as with kubectl.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::PathBuf;

use super::edit::{Lock, empty, write};
use super::{AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError, NamedCluster, NamedContext, NamedUser};

impl Kubeconfig {
    /// Changes the cluster of that name, which is there afterwards (`kubectl config set-cluster`).
    pub fn set_cluster(&mut self, name: &str, change: impl FnOnce(&mut Cluster)) {
        let new = || NamedCluster {
            name: name.to_owned(),
            ..NamedCluster::default()
        };
        change(&mut find_or_add(&mut self.clusters, |entry| entry.name == name, new).cluster);
    }

    /// Changes the user of that name, which is there afterwards (`kubectl config set-credentials`).
    pub fn set_user(&mut self, name: &str, change: impl FnOnce(&mut AuthInfo)) {
        let new = || NamedUser {
            name: name.to_owned(),
            ..NamedUser::default()
        };
        change(&mut find_or_add(&mut self.users, |entry| entry.name == name, new).user);
    }

    /// Changes the context of that name, which is there afterwards (`kubectl config set-context`).
    pub fn set_context(&mut self, name: &str, change: impl FnOnce(&mut Context)) {
        let new = || NamedContext {
            name: name.to_owned(),
            ..NamedContext::default()
        };
        change(&mut find_or_add(&mut self.contexts, |entry| entry.name == name, new).context);
    }

    /// Makes the context of that name the current one (`kubectl config use-context`).
    ///
    /// # Errors
    ///
    /// [`KubeconfigError::NoEntry`] if there is none; nothing is changed then.
    pub fn use_context(&mut self, name: &str) -> Result<(), KubeconfigError> {
        self.must_have_context(name)?;
        name.clone_into(&mut self.current_context);
        Ok(())
    }

    /// Gives a context another name; it stays the current one if it was (`kubectl config rename-context`).
    ///
    /// # Errors
    ///
    /// [`KubeconfigError::NoEntry`] if there is none of the old name, [`KubeconfigError::NameTaken`] if there is one of the new
    /// name; nothing is changed then.
    pub fn rename_context(&mut self, from: &str, to: &str) -> Result<(), KubeconfigError> {
        self.must_have_context(from)?;
        if self.context(to).is_some() {
            return Err(KubeconfigError::NameTaken {
                kind: "context",
                name: to.to_owned(),
            });
        }
        for entry in self.contexts.iter_mut().filter(|entry| entry.name == from) {
            to.clone_into(&mut entry.name);
        }
        if self.current_context == from {
            to.clone_into(&mut self.current_context);
        }
        Ok(())
    }

    /// Takes out a context (`kubectl config delete-context`). The current context stays set, as with kubectl; what it leads to is
    /// then told of when it is used. True if there was one.
    pub fn delete_context(&mut self, name: &str) -> bool {
        remove(&mut self.contexts, |entry| entry.name == name)
    }

    /// Takes out a cluster (`kubectl config delete-cluster`); contexts that name it stay. True if there was one.
    pub fn delete_cluster(&mut self, name: &str) -> bool {
        remove(&mut self.clusters, |entry| entry.name == name)
    }

    /// Takes out a user (`kubectl config delete-user`); contexts that name it stay. True if there was one.
    pub fn delete_user(&mut self, name: &str) -> bool {
        remove(&mut self.users, |entry| entry.name == name)
    }

    /// What the context of that name needs and nothing else, which is the current one then (`kubectl config view --minify`).
    ///
    /// # Errors
    ///
    /// [`KubeconfigError::NoEntry`] if there is none.
    pub fn minified(&self, context: &str) -> Result<Self, KubeconfigError> {
        self.must_have_context(context)?;
        let mut small = self.clone();
        small.contexts.retain(|entry| entry.name == context);
        let names = small.context(context).cloned().unwrap_or_default();
        small.clusters.retain(|entry| entry.name == names.cluster);
        small.users.retain(|entry| entry.name == names.user);
        context.clone_into(&mut small.current_context);
        Ok(small)
    }

    fn must_have_context(&self, name: &str) -> Result<(), KubeconfigError> {
        match self.context(name) {
            Some(_) => Ok(()),
            None => Err(KubeconfigError::NoEntry {
                kind: "context",
                name: name.to_owned(),
                known: self.contexts.iter().map(|entry| entry.name.clone()).collect(),
            }),
        }
    }
}

/// Changes the kubeconfig that several files make up together, and writes back those files that have changed
/// (`ModifyConfig` in client-go `tools/clientcmd/config.go`).
///
/// An entry is written to the file it came from, and taken out of that one alone: what another file has under the same name shows
/// then, as with kubectl. New entries go to the first file that exists, or to the last of the list if none
/// does; so does a current context, unless another file names one. Paths in entries are relative to the file that holds them. All files
/// are locked while they are changed, each is replaced as a whole, and a failure leaves the files that were not yet written alone.
///
/// # Errors
///
/// A file cannot be read or written, is no kubeconfig, or is locked by another program; or what `change` returned.
pub fn change_files(
    paths: &[PathBuf],
    change: impl FnOnce(&mut Kubeconfig) -> Result<(), KubeconfigError>,
) -> Result<(), KubeconfigError> {
    // In one order for everybody, so that two programs do not wait for each other, and by the names that links lead to.
    let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let sorted: BTreeSet<PathBuf> = paths.iter().map(real).collect();
    // The file that new entries would go to needs its folder for its lock, as others that make it at the same time take one.
    let exists = paths.iter().any(|path| path.exists());
    if let Some(folder) = paths.last().filter(|_| !exists).and_then(|path| path.parent()) {
        fs::create_dir_all(folder).map_err(|error| KubeconfigError::Write {
            path: folder.to_owned(),
            source: error.into(),
        })?;
    }
    // Any other folder that is not there holds no file to lock. That of a mere name is the one where we are.
    let is_there = |path: &&PathBuf| {
        let folder = path.parent();
        folder.is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir())
    };
    let locks: Result<Vec<Lock>, _> = sorted
        .iter()
        .filter(is_there)
        .map(|path| Lock::take(path))
        .collect();
    let _locks = locks?;
    let mut files: Vec<(PathBuf, Option<Kubeconfig>)> = Vec::new();
    for path in paths {
        let config = match Kubeconfig::read_as_is(path) {
            Ok(config) => Some(config),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        files.push((path.clone(), config));
    }
    let default = files
        .iter()
        .position(|(_, config)| config.is_some())
        .or_else(|| files.len().checked_sub(1));
    let Some(default) = default else {
        return Err(KubeconfigError::Missing { paths: Vec::new() });
    };
    let merged = files
        .iter()
        .filter_map(|(_, config)| config.clone())
        .reduce(Kubeconfig::merge);
    let mut changed = merged.unwrap_or_else(empty);
    change(&mut changed)?;
    for (path, config) in split(&files, &changed, default) {
        write(&path, &config)?;
    }
    Ok(())
}

/// The files that are to be written for `changed` to be what they make up.
fn split(
    files: &[(PathBuf, Option<Kubeconfig>)],
    changed: &Kubeconfig,
    default: usize,
) -> Vec<(PathBuf, Kubeconfig)> {
    let mut after: Vec<Kubeconfig> = files
        .iter()
        .map(|(_, config)| config.clone().unwrap_or_else(empty))
        .collect();
    spread(
        &mut after,
        default,
        &changed.clusters,
        Kind {
            list: |file| &mut file.clusters,
            name: |entry| &entry.name,
            is_same: |one, other| one.cluster == other.cluster,
        },
    );
    spread(
        &mut after,
        default,
        &changed.users,
        Kind {
            list: |file| &mut file.users,
            name: |entry| &entry.name,
            is_same: |one, other| one.user == other.user,
        },
    );
    spread(
        &mut after,
        default,
        &changed.contexts,
        Kind {
            list: |file| &mut file.contexts,
            name: |entry| &entry.name,
            is_same: |one, other| one.context == other.context,
        },
    );
    spread(
        &mut after,
        default,
        &changed.extensions,
        Kind {
            list: |file| &mut file.extensions,
            name: |entry| &entry.name,
            is_same: |one, other| one.extension == other.extension,
        },
    );
    let names_one = after.iter().position(|file| !file.current_context.is_empty());
    let holder = &mut after[names_one.unwrap_or(default)];
    holder.current_context.clone_from(&changed.current_context);
    if changed.current_context.is_empty() {
        // Otherwise that of a later file would count.
        after.iter_mut().for_each(|file| file.current_context.clear());
    }
    let preferences = after
        .iter()
        .position(|file| file.preferences != Default::default())
        .unwrap_or(default);
    after[preferences].preferences.clone_from(&changed.preferences);
    files
        .iter()
        .zip(after)
        .filter(|((_, before), after)| match before {
            Some(before) => before != after,
            None => *after != empty(),
        })
        .map(|((path, _), after)| (path.clone(), after))
        .collect()
}

/// How entries of one kind are found, and told apart.
#[derive(Clone, Copy)]
struct Kind<T> {
    list: fn(&mut Kubeconfig) -> &mut Vec<T>,
    name: fn(&T) -> &String,
    /// True for entries that differ in nothing but the name.
    is_same: fn(&T, &T) -> bool,
}

/// Puts each entry where one of its name is, or where the one is that was renamed to it, and takes those that are no longer
/// there out of the first file that has them.
fn spread<T: Clone>(files: &mut [Kubeconfig], default: usize, entries: &[T], kind: Kind<T>) {
    let Kind { list, name, is_same } = kind;
    let is_kept = |present: &T| entries.iter().any(|entry| name(entry) == name(present));
    let mut homes = Vec::new();
    for entry in entries {
        let mut home_of =
            |is: &dyn Fn(&T) -> bool| files.iter_mut().position(|file| list(file).iter().any(is));
        let home = home_of(&|present| name(present) == name(entry))
            .or_else(|| home_of(&|present| !is_kept(present) && is_same(present, entry)));
        homes.push(home.unwrap_or(default));
    }
    let mut gone = HashSet::new();
    for file in &mut *files {
        list(file).retain(|present| is_kept(present) || !gone.insert(name(present).clone()));
    }
    for (entry, home) in entries.iter().zip(homes) {
        let present = list(&mut files[home]);
        *find_or_add(present, |present| name(present) == name(entry), || entry.clone()) = entry.clone();
    }
}

fn find_or_add<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(is).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[at]
}

fn remove<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool) -> bool {
    let before = list.len();
    list.retain(|entry| !is(entry));
    list.len() < before
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const ONE: &str = "apiVersion: v1\nkind: Config\nclusters:\n- {name: c, cluster: {server: 'https://c', certificate-authority: ca.crt, new-field: 1}}\n\
        - {name: shared, cluster: {server: 'https://first'}}\nfuture: {a: 1}\n";
    const TWO: &str = "current-context: x\nclusters: [{name: shared, cluster: {server: 'https://second'}}]\n\
        users: [{name: u, user: {token: t}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}, {name: v, context: {cluster: shared, user: u}}]\n";

    fn two() -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["none", "one", "two"]
            .map(|name| folder.path().join(name))
            .to_vec();
        fs::write(&paths[1], ONE).unwrap();
        fs::write(&paths[2], TWO).unwrap();
        (folder, paths)
    }

    #[test]
    fn each_entry_goes_to_the_file_it_came_from() {
        let (_folder, paths) = two();
        change_files(&paths, |config| {
            config.set_cluster("c", |cluster| cluster.server = "https://changed".to_owned());
            config.set_context("v", |context| context.namespace = Some("team".to_owned()));
            config.set_user("new", |user| user.token = Some("n".to_owned()));
            config.use_context("v")
        })
        .unwrap();
        assert!(!paths[0].exists());
        let read = |path: &Path| Kubeconfig::read_as_is(path).unwrap();
        let (one, two) = (read(&paths[1]), read(&paths[2]));
        let cluster = one.cluster("c").unwrap();
        assert_eq!(cluster.server, "https://changed");
        assert_eq!(
            cluster.certificate_authority.as_deref(),
            Some("ca.crt"),
            "it stays relative"
        );
        assert!(cluster.unknown.contains_key("new-field") && one.unknown.contains_key("future"));
        assert!(one.user("new").is_some() && one.current_context.is_empty());
        assert_eq!(two.context("v").unwrap().namespace.as_deref(), Some("team"));
        assert_eq!(two.current_context, "v");
        // An entry that another file hides is not ours to change.
        assert_eq!(two.cluster("shared").unwrap().server, "https://second");

        change_files(&paths, |config| {
            assert!(config.delete_cluster("shared") && !config.delete_cluster("shared"));
            assert!(config.delete_user("u"));
            config.current_context.clear();
            config.rename_context("x", "z")
        })
        .unwrap();
        let merged = Kubeconfig::load(&paths).unwrap();
        assert!(merged.user("u").is_none());
        assert_eq!(
            merged.cluster("shared").unwrap().server,
            "https://second",
            "it shows now"
        );
        assert_eq!(merged.current_context, "");
        assert!(merged.context("z").is_some() && merged.context("x").is_none());
    }

    #[test]
    fn what_has_not_changed_is_not_written() {
        let (folder, paths) = two();
        change_files(&paths, |config| {
            config.set_user("u", |user| user.token = Some("other".to_owned()));
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&paths[1]).unwrap(), ONE);
        let failed = change_files(&paths, |config| {
            config.delete_user("u");
            config.use_context("nowhere")
        });
        let error = failed.unwrap_err();
        assert_eq!(error.hint().unwrap(), "there are: x, v");
        assert!(Kubeconfig::load(&paths).unwrap().user("u").is_some());
        fs::write(folder.path().join("two.lock"), "").unwrap();
        let locked = change_files(&paths, |_| Ok(())).unwrap_err();
        assert!(matches!(locked, KubeconfigError::Locked { .. }));
        assert!(
            !folder.path().join("one.lock").exists(),
            "what was locked is free again"
        );
    }

    #[test]
    fn a_file_is_made_where_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["first", "deep/last"]
            .map(|name| folder.path().join(name))
            .to_vec();
        change_files(&paths, |config| {
            config.set_context("a", |context| context.cluster = "b".to_owned());
            config.use_context("a")
        })
        .unwrap();
        assert!(!paths[0].exists());
        assert_eq!(Kubeconfig::load(&paths).unwrap().current_context, "a");
    }

    #[test]
    fn contexts_are_renamed_and_taken_alone() {
        let mut config = Kubeconfig::parse(TWO, Path::new("two")).unwrap();
        assert!(matches!(
            config.rename_context("x", "v"),
            Err(KubeconfigError::NameTaken { .. })
        ));
        assert!(matches!(
            config.rename_context("none", "z"),
            Err(KubeconfigError::NoEntry { .. })
        ));
        config.rename_context("x", "z").unwrap();
        assert_eq!(config.current_context, "z");
        let small = config.minified("v").unwrap();
        assert_eq!(
            (small.contexts.len(), small.clusters.len(), small.users.len()),
            (1, 1, 1)
        );
        assert_eq!(small.current_context, "v");
        assert!(config.minified("x").is_err());
        assert!(config.delete_context("z"));
        assert_eq!(config.current_context, "z");
    }
}
